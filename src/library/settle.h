/* What every transaction ends with: what is derived from the rows it changed. */
#ifndef TN_LIBRARY_SETTLE_H
#define TN_LIBRARY_SETTLE_H

#include "library/sql.h"

/* Of all models that triggers have noted in words_stale: share what their answers have in common with others, and write
 * their words and the index of words anew. Inside of the transaction. */
tn_status tn_settle(tn_db *db, tn_error *err);

#endif
