/* Jobs: rows that say what was asked for and how far it came, and locks that say who is at it.
 *
 *   K1  A running job's process holds the lock of its number on LIBRARY-lock; the system lets go when it dies. A row
 *       that says "running" whose lock is free was abandoned.
 *   K2  The lock is taken inside the transaction that makes or adopts the row, so no other process ever sees a running
 *       row with a free lock while its process lives.
 *   K3  Whoever finds an abandoned job counts a death for each item it left "reading" and queues it again: those are
 *       suspects, and are read with care by whichever job comes to them.
 */
#ifndef TN_LIBRARY_JOURNAL_H
#define TN_LIBRARY_JOURNAL_H

#include "library/inside.h"

typedef struct tn_journal {
    tn_library *library;
    int64_t job;        /* 0: a dry run, nothing is written */
    bool resumed;
    tn_os_file lock;
} tn_journal;

/* Begin a job over `paths` (absolute), or adopt the one over the same paths that was interrupted. `job` not 0: that
 * one and no other, whatever the paths. TN_NOT_FOUND; TN_BUSY when another process is at it. */
tn_status tn_journal_begin(tn_library *library, const char *kind, const char *const *paths, size_t count, int64_t job,
                           tn_journal *out, tn_error *err);
/* Inside a transaction: TN_CANCELLED when the job was paused or cancelled by another hand. */
tn_status tn_journal_check(tn_journal *journal, tn_error *err);
/* Inside a transaction: the job has ended well. Items set aside stay as they are. */
tn_status tn_journal_finish(tn_journal *journal, tn_error *err);
/* The same for a job whose items are its own, so that others over the same paths still have theirs. */
tn_status tn_journal_finish_alone(tn_journal *journal, tn_error *err);
/* The job stops before its end: what it was reading is queued again, without blame, and the row says why. Does its
 * own transaction, and its best: a library that cannot be written keeps the row as it is. */
void tn_journal_stop(tn_journal *journal, tn_status why, const char *message);
/* Let the lock go. Safe on one that was never begun. */
void tn_journal_end(tn_journal *journal);

/* Inside a transaction. */
tn_status tn_journal_queue(tn_journal *journal, tn_text path, tn_error *err);
tn_status tn_journal_count(tn_journal *journal, tn_error *err);
tn_status tn_journal_reading(tn_journal *journal, tn_text path, tn_error *err);
tn_status tn_journal_done(tn_journal *journal, tn_text path, tn_error *err);
tn_status tn_journal_aside(tn_journal *journal, tn_text path, tn_error *err);
/* The same path as a suspect of other jobs is cleared: it was read. */
tn_status tn_journal_cleared(tn_journal *journal, tn_text path, tn_error *err);
tn_status tn_journal_advance(tn_journal *journal, uint64_t items, tn_error *err);

/* Call `each` for every suspect of every job. Inside the lock. */
tn_status tn_journal_suspects(tn_library *library, tn_status (*each)(void *user, tn_text path, int64_t deaths,
                                                                      tn_error *err),
                              void *user, tn_error *err);
/* The key of a job over these paths: those of another order are the same. */
tn_status tn_journal_key(tn_library *library, const char *kind, const char *const *paths, size_t count, uint8_t key[32],
                         tn_error *err);
/* Whether no living process is at this job. */
bool tn_journal_is_free(tn_library *library, int64_t job);

#endif
