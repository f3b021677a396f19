/* An import as a job of a known number: what `jobs run` calls. */
#ifndef TN_LIBRARY_IMPORT_H
#define TN_LIBRARY_IMPORT_H

#include "library/inside.h"

/* `job` 0: a new one, or the interrupted one over the same paths. `summary` may be NULL. */
tn_status tn_import_run(tn_library *library, const char *const *paths, size_t count, int64_t job,
                        const tn_import_options *options, tn_import_summary **summary, tn_error *err);

#endif
