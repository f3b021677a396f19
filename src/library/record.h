/* Writing what was read into the library. All of it inside a transaction of the caller's, the lock held.
 *
 *   R1  A path is found by its row in `files`; a model by the path of an entry. So nothing is recorded twice, whoever
 *       else records the same at the same time.
 *   R2  A file that several paths lead to is one model with as many entries.
 *   R3  What was once known to be a model stays one, in whatever state it is found later. What could never be read,
 *       and turns out to be none, goes.
 */
#ifndef TN_LIBRARY_RECORD_H
#define TN_LIBRARY_RECORD_H

#include "library/inside.h"
#include "library/reading.h"

/* What came of one claim. */
typedef struct tn_recorded {
    int64_t model; /* 0: it is no model */
    bool fresh, changed;
    bool known;    /* another process had recorded the same bytes meanwhile: nothing was written */
    bool attached; /* one more path of a model that was known */
} tn_recorded;

/* Record a claim that was read. `crashed`: it was set aside. `expected_new`: the scan had found no row for its path. */
tn_status tn_record_claim(tn_library *library, int64_t job, const tn_claim *claim, const tn_reading *reading,
                          bool crashed, bool expected_new, tn_recorded *out, tn_error *err);
/* Record that the claim's path leads to the same bytes as `target`, another path that is recorded. */
tn_status tn_record_alias(tn_library *library, int64_t job, const tn_claim *claim, tn_text target, tn_recorded *out,
                          tn_error *err);
/* A file is gone. Its models are missing when no other path leads to a part of them. `offline`: its root is away.
 * *gone is how many models it took along. */
tn_status tn_record_missing(tn_library *library, int64_t job, int64_t file, bool offline, uint64_t *gone,
                            tn_error *err);

#endif
