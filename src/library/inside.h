/* What the files of the library share: its insides.
 *
 * The lock: `mutex` guards `db` and nothing else. It is held for one transaction or one page of rows at a time, never
 * while a file is read, a child runs or a callback is called. No other lock is taken under it but the context's.
 */
#ifndef TN_LIBRARY_INSIDE_H
#define TN_LIBRARY_INSIDE_H

#include <tenure/library.h>

#include "core/arena.h"
#include "library/migrate.h"
#include "library/sql.h"

struct tn_library {
    tn_context *context;
    tn_memory_source *memory;
    tn_os_mutex *mutex;
    tn_db db;
    tn_buffer path;      /* of the library itself */
    tn_buffer lock_path; /* of the file whose bytes are the locks of running jobs */
    tn_buffer program;   /* empty: none */
    tn_buffer snapshot;  /* folder of the copy that is read instead; empty: none */
    bool read_only;
    bool durable;        /* no write-ahead log, so that every commit is on the disk (settings_for in open.c) */
};

/* The same as tn_library_open with other migrations than the product's: for tests of the way between versions. */
tn_status tn_library_open_with(tn_context *context, const char *path, const tn_library_options *options,
                               const tn_migration *migrations, int migration_count, tn_library **out, tn_error *err);

void tn_library_lock(tn_library *library);
void tn_library_unlock(tn_library *library);
/* Lock and begin to write; TN_READ_ONLY when it cannot. On failure nothing is held. */
tn_status tn_library_begin(tn_library *library, tn_error *err);
/* Commit (or roll back when `status` is a failure) and unlock. */
tn_status tn_library_end(tn_library *library, tn_status status, tn_error *err);

/* The state that a word in a row stands for. */
tn_state tn_library_state_of_word(const char *word);

/* Does everything hold that is promised of a library at rest? SQLite's own checks, and ours: each model
 * that is there has an entry and a row for each part, no path stands twice, no file is two models, and no ended job has
 * anything left to read or to decide.
 * TN_LIBRARY_DAMAGED says what does not. For tests and for the doctor. */
tn_status tn_library_verify_internal(tn_library *library, tn_error *err);

#endif
