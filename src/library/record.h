/* Writing what was read into the library. All of it inside a transaction of the caller's, the lock held.
 *
 *   R1  A path is found by its row in `files`; a model by the path of an entry. So nothing is recorded twice, whoever
 *       else records the same at the same time.
 *   R2  A file that several paths lead to is one model with as many entries.
 *   R3  Which record a path belongs to is decided by docs/decisions/0009. What was once known to be a model stays one.
 *       What could never be read nor sampled, and of which nobody has said anything, goes when its path leads elsewhere or
 *       turns out to be no model.
 */
#ifndef TN_LIBRARY_RECORD_H
#define TN_LIBRARY_RECORD_H

#include "library/inside.h"
#include "library/reading.h"

/* On whose behalf something is recorded. */
typedef struct tn_record_job {
    int64_t job;
    int64_t began_ns; /* when it was asked for */
} tn_record_job;

/* What came of one claim. */
typedef struct tn_recorded {
    int64_t model; /* 0: it is no model */
    bool fresh, changed;
    bool known;    /* another process had recorded the same bytes meanwhile: nothing was written */
    bool attached; /* one more path of a model that was known */
    bool held;     /* fresh, but of the same size and sample as another record: the end of the scan decides */
} tn_recorded;

/* Record a claim that was read. `crashed`: it was set aside. `expected_new`: the scan had found no row for its path. */
tn_status tn_record_claim(tn_library *library, const tn_record_job *job, const tn_claim *claim,
                          const tn_reading *reading, bool crashed, bool expected_new, tn_recorded *out, tn_error *err);
/* Record that the claim's path leads to the same bytes as `target`, another path that is recorded. */
tn_status tn_record_alias(tn_library *library, const tn_record_job *job, const tn_claim *claim, tn_text target,
                          tn_recorded *out, tn_error *err);
/* What recording it would come to; writes nothing. Inside the lock, without a transaction. */
tn_status tn_record_foresee(tn_library *library, const tn_claim *claim, const tn_reading *reading, tn_recorded *out,
                            tn_error *err);

/* What becomes of the row of a path that was not read. */
typedef enum tn_row_change { TN_ROW_GONE = 0, TN_ROW_BACK } tn_row_change;
typedef struct tn_row_news {
    int64_t file, device;
    tn_row_change change;
    bool present; /* it counted as there before */
} tn_row_news;

/* Files are gone, or there again as they were: their rows and the presence of what they are parts of. */
tn_status tn_record_rows(tn_library *library, const tn_record_job *job, const tn_row_news *news, size_t count,
                         tn_error *err);

#endif
