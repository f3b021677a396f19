/* Records that take over other records, because they are the same bytes: by themselves at the end of a scan, or by a
 * person's word (docs/decisions/0009, 6 and 7). */
#ifndef TN_LIBRARY_RELINK_H
#define TN_LIBRARY_RELINK_H

#include "library/record.h"

/* Inside a transaction: `model` takes over the paths, parts, answer, sample and hashes of `candidate`, which is no more.
 * What people said of either stays: tags are united, a note is appended, and where both say something else of type, base,
 * variant or name `model` is right. */
tn_status tn_relink_take(tn_library *library, const tn_record_job *job, int64_t model, int64_t candidate, tn_error *err);

/* Inside the transaction that ends a scan: each missing record and each new one that are sure to belong together do, and
 * no record of the scan waits any more. `each` is told of them. */
tn_status tn_relink_settle(tn_library *library, const tn_record_job *job,
                           tn_status (*each)(void *user, int64_t model, int64_t gone, tn_error *err), void *user,
                           tn_error *err);

/* How many records could be asked about. Inside the lock. */
tn_status tn_relink_count(tn_library *library, uint64_t *out, tn_error *err);

#endif
