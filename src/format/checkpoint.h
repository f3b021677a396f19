/* Opening what is not a path: bytes in memory, for tests and fuzzing, and files that are open already. */
#ifndef TN_FORMAT_CHECKPOINT_H
#define TN_FORMAT_CHECKPOINT_H

#include <tenure/checkpoint.h>

#include "io/source.h"

/* Open one file by its content, as tn_checkpoint_open does without looking at what lies beside it. */
tn_status tn_checkpoint_open_source(tn_source *source, tn_checkpoint **out, tn_error *err);

#endif
