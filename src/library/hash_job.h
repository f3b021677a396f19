/* Hash jobs: the digests that files of the library lack, taken when there is time for it.
 *
 *   H1  An item is a file, by its path. What it is a part of and which digests it lacks is asked when its turn comes: so
 *       items stay true whatever is scanned, moved or hashed meanwhile.
 *   H2  A digest is recorded with the size and time of the file's row, and only where the handle that was read shows
 *       them (and the file id, where it is to be trusted). What was read of another file is told, not recorded.
 *   H3  Digests of one part with one size and time are of the same bytes: where some are known, one of them is taken
 *       again beside those that lack. When it differs nothing is recorded but an event.
 *   H4  What is recorded of a file, the end of its item and the sums of the job are one transaction.
 *   H5  An item is marked "reading" in a committed transaction before its file is read. So after a death everything that
 *       was in flight is known: it is read alone from then on, and once more has a child read it first.
 *   H6  The library has one job for all that waits; what an import takes at once is a job of its own.
 */
#ifndef TN_LIBRARY_HASH_JOB_H
#define TN_LIBRARY_HASH_JOB_H

#include "library/inside.h"

/* Inside a transaction: queue what lies under the paths (absolute) and lacks digests, as the options say. *job is the
 * job it waits in; 0 when nothing lacks or nothing is wanted, and then nothing was written. */
tn_status tn_hash_job_queue(tn_library *library, const char *const *paths, size_t count,
                            const tn_import_options *options, int64_t *job, tn_error *err);
/* Inside a transaction: queue in this job what lacks the default digests under its paths (each followed by a NUL); none:
 * in the whole library. For a job that is tried again after it was given up. */
tn_status tn_hash_job_fill(tn_library *library, int64_t job, tn_text paths, tn_error *err);
/* After it: where the options say TN_HASH_NOW, run the job (0: nothing). */
tn_status tn_hash_job_after(tn_library *library, int64_t job, const tn_import_options *options, tn_error *err);
/* Say in the summary what waits in the library's job. Inside the lock. */
tn_status tn_hash_job_left(tn_library *library, const tn_import_options *options, tn_import_summary *summary,
                           tn_error *err);
/* Run a job to its end. TN_CANCELLED also when its hand was changed by another process. */
tn_status tn_hash_job_run(tn_library *library, int64_t job, const tn_import_options *options, tn_error *err);

#endif
