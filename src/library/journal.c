#include "library/journal.h"

#include <stdlib.h>
#include <string.h>

#include "digest/pieces.h"

#define JOBS_AT_ONCE 64     /* abandoned or adoptable jobs looked at in one go */
#define PATHS_MAX_BYTES (64u << 20)

/* ---- locks ---- */

static tn_status open_locks(tn_library *library, tn_os_file *out, tn_error *err)
{
    return tn_os_open(library->lock_path.bytes, TN_OS_WRITE | TN_OS_CREATE, out, err);
}

bool tn_journal_is_free(tn_library *library, int64_t job)
{
    tn_os_file file = {0};
    if (tn_os_open(library->lock_path.bytes, TN_OS_WRITE, &file, NULL) != TN_OK)
        return false;
    bool is_free = tn_os_lock(&file, (uint64_t)job, NULL) == TN_OK;
    tn_os_close(&file);
    return is_free;
}

/* ---- small statements ---- */

static tn_status run_with_job(tn_library *library, tn_query query, int64_t job, tn_error *err)
{
    tn_sql s = tn_sql_start(&library->db, query);
    tn_sql_int(&s, job);
    return tn_sql_run(&s, err);
}

static tn_status run_with_item(tn_journal *journal, tn_query query, tn_text path, tn_error *err)
{
    tn_sql s = tn_sql_start(&journal->library->db, query);
    tn_sql_int(&s, journal->job);
    tn_sql_blob(&s, path.bytes, path.size);
    return tn_sql_run(&s, err);
}

static tn_status end_row(tn_library *library, int64_t job, const char *state, const char *message, tn_error *err)
{
    tn_sql s = tn_sql_start(&library->db, TN_QUERY_JOB_END);
    tn_sql_int(&s, job);
    tn_sql_text(&s, state, strlen(state));
    tn_sql_int(&s, tn_os_wall_ns());
    tn_sql_text(&s, message, strlen(message));
    return tn_sql_run(&s, err);
}

/* The first column of every row, up to JOBS_AT_ONCE. */
static tn_status collect_ids(tn_sql *s, int64_t *ids, size_t *count, tn_error *err)
{
    *count = 0;
    for (bool more = true; more;) {
        TN_TRY(tn_sql_row(s, &more, err));
        if (more && *count < JOBS_AT_ONCE)
            ids[(*count)++] = tn_sql_get_int(s, 0);
    }
    return TN_OK;
}

/* ---- abandoned jobs ---- */

static tn_status bury(tn_library *library, int64_t job, tn_error *err)
{
    TN_TRY(run_with_job(library, TN_QUERY_ITEMS_DIED, job, err));
    return end_row(library, job, "interrupted", "", err);
}

/* All but `own`, whose lock this handle has: taking it again would succeed, letting it go would lose it. */
static tn_status bury_abandoned(tn_library *library, const tn_os_file *locks, int64_t own, tn_error *err)
{
    int64_t ids[JOBS_AT_ONCE];
    size_t count = 0;
    tn_sql s = tn_sql_start(&library->db, TN_QUERY_JOBS_RUNNING);
    TN_TRY(collect_ids(&s, ids, &count, err));
    for (size_t i = 0; i < count; i++) {
        if (ids[i] == own || tn_os_lock(locks, (uint64_t)ids[i], NULL) != TN_OK)
            continue;
        tn_status status = bury(library, ids[i], err);
        tn_os_unlock(locks, (uint64_t)ids[i]);
        TN_TRY(status);
    }
    return TN_OK;
}

/* ---- beginning ---- */

static int compare_paths(const void *a, const void *b)
{
    const tn_text *x = a, *y = b;
    return strcmp(x->bytes, y->bytes);
}

tn_status tn_journal_key(tn_library *library, const char *kind, const char *const *paths, size_t count, uint8_t key[32],
                         tn_error *err)
{
    void *block = NULL;
    TN_TRY(tn_take_array(library->memory, count + 1, sizeof(tn_text), &block, err));
    tn_text *pieces = block; /* each with its NUL, so that "a", "bc" is another job than "ab", "c" */
    pieces[0] = (tn_text){kind, strlen(kind) + 1};
    for (size_t i = 0; i < count; i++)
        pieces[i + 1] = (tn_text){paths[i], strlen(paths[i]) + 1};
    qsort(pieces + 1, count, sizeof *pieces, compare_paths);
    tn_blake3_pieces(pieces, count + 1, key);
    tn_give(library->memory, block, (count + 1) * sizeof *pieces);
    return TN_OK;
}

/* Take an open job whose lock is free. */
static tn_status adopt(tn_journal *journal, int64_t job, tn_error *err)
{
    TN_TRY(tn_os_lock(&journal->lock, (uint64_t)job, err));
    journal->job = job;
    journal->resumed = true;
    tn_sql s = tn_sql_start(&journal->library->db, TN_QUERY_JOB_ADOPT);
    tn_sql_int(&s, job);
    tn_sql_int(&s, tn_os_wall_ns());
    return tn_sql_run(&s, err);
}

static tn_status adopt_same(tn_journal *journal, const uint8_t key[32], tn_error *err)
{
    int64_t ids[JOBS_AT_ONCE];
    size_t count = 0;
    tn_sql s = tn_sql_start(&journal->library->db, TN_QUERY_JOBS_OF_KEY);
    tn_sql_blob(&s, key, 32);
    TN_TRY(collect_ids(&s, ids, &count, err));
    for (size_t i = 0; i < count; i++) {
        tn_status status = adopt(journal, ids[i], err);
        if (status != TN_BUSY)
            return status;
    }
    return TN_OK;
}

static tn_status put_row(tn_journal *journal, const char *kind, const uint8_t key[32], const tn_buffer *paths,
                         tn_error *err)
{
    tn_sql s = tn_sql_start(&journal->library->db, TN_QUERY_JOB_PUT);
    tn_sql_text(&s, kind, strlen(kind));
    tn_sql_blob(&s, key, 32);
    tn_sql_blob(&s, paths->bytes, paths->size);
    tn_sql_int(&s, tn_os_wall_ns());
    TN_TRY(tn_sql_run(&s, err));
    journal->job = sqlite3_last_insert_rowid(journal->library->db.handle);
    return tn_os_lock(&journal->lock, (uint64_t)journal->job, err);
}

static tn_status begin_inside(tn_journal *journal, const char *kind, const uint8_t key[32], const tn_buffer *paths,
                              int64_t job, tn_error *err)
{
    TN_TRY(bury_abandoned(journal->library, &journal->lock, 0, err));
    if (job != 0)
        return adopt(journal, job, err);
    TN_TRY(adopt_same(journal, key, err));
    return journal->job != 0 ? TN_OK : put_row(journal, kind, key, paths, err);
}

static tn_status begin_over(tn_journal *journal, const char *kind, const uint8_t key[32], const tn_buffer *paths,
                            int64_t job, tn_error *err)
{
    TN_TRY(open_locks(journal->library, &journal->lock, err));
    tn_status status = tn_library_begin(journal->library, err);
    if (status == TN_OK)
        status = tn_library_end(journal->library, begin_inside(journal, kind, key, paths, job, err), err);
    if (status != TN_OK)
        tn_os_close(&journal->lock);
    return status;
}

tn_status tn_journal_begin(tn_library *library, const char *kind, const char *const *paths, size_t count, int64_t job,
                           tn_journal *out, tn_error *err)
{
    uint8_t key[32];
    tn_journal journal = {.library = library};
    TN_TRY(tn_journal_key(library, kind, paths, count, key, err));
    tn_buffer joined;
    tn_buffer_init(&joined, library->memory, PATHS_MAX_BYTES);
    for (size_t i = 0; i < count; i++)
        tn_buffer_append(&joined, paths[i], strlen(paths[i]) + 1);
    tn_status status = tn_buffer_status(&joined, err);
    if (status == TN_OK)
        status = begin_over(&journal, kind, key, &joined, job, err);
    tn_buffer_free(&joined);
    if (status == TN_OK)
        *out = journal;
    return status;
}

/* ---- going on and ending ---- */

tn_status tn_journal_check(tn_journal *journal, tn_error *err)
{
    bool more = false;
    tn_sql s = tn_sql_start(&journal->library->db, TN_QUERY_JOB_STATE);
    tn_sql_int(&s, journal->job);
    TN_TRY(tn_sql_row(&s, &more, err));
    bool running = more && strcmp(tn_sql_get(&s, 0).bytes, "running") == 0;
    tn_sql_end(&s);
    return running ? TN_OK : tn_fail(err, TN_CANCELLED, "the job was paused or cancelled; nothing is lost");
}

/* Interrupted jobs over the same paths have nothing left to do. */
static tn_status end_same(tn_journal *journal, tn_error *err)
{
    TN_TRY(run_with_job(journal->library, TN_QUERY_ITEMS_SUPERSEDED, journal->job, err));
    tn_sql s = tn_sql_start(&journal->library->db, TN_QUERY_JOBS_SUPERSEDED);
    tn_sql_int(&s, journal->job);
    tn_sql_int(&s, tn_os_wall_ns());
    return tn_sql_run(&s, err);
}

tn_status tn_journal_finish(tn_journal *journal, tn_error *err)
{
    /* A job whose process died may have kept its lock until after this one began. */
    TN_TRY(bury_abandoned(journal->library, &journal->lock, journal->job, err));
    TN_TRY(end_same(journal, err));
    return tn_journal_finish_alone(journal, err);
}

tn_status tn_journal_finish_alone(tn_journal *journal, tn_error *err)
{
    TN_TRY(run_with_job(journal->library, TN_QUERY_ITEMS_FINISH, journal->job, err));
    return end_row(journal->library, journal->job, "done", "", err);
}

/* What is no fault of the job, and may be over the next time: no space, no memory, a lock. */
static bool is_passing(tn_status why)
{
    return tn_status_is_of_process(why) || why == TN_NO_SPACE || why == TN_LOCKED || why == TN_TOO_MANY_FILES;
}

/* A job that another hand paused or cancelled keeps that state. */
static tn_status stop_inside(tn_journal *journal, tn_status why, const char *message, tn_error *err)
{
    TN_TRY(run_with_job(journal->library, TN_QUERY_ITEMS_REST, journal->job, err));
    tn_status running = tn_journal_check(journal, err);
    if (running == TN_CANCELLED)
        return TN_OK;
    TN_TRY(running);
    return end_row(journal->library, journal->job, is_passing(why) ? "interrupted" : "failed",
                   why == TN_CANCELLED ? "" : message, err);
}

void tn_journal_stop(tn_journal *journal, tn_status why, const char *message)
{
    if (journal->job == 0)
        return;
    if (tn_library_begin(journal->library, NULL) == TN_OK)
        tn_library_end(journal->library, stop_inside(journal, why, message, NULL), NULL);
}

void tn_journal_end(tn_journal *journal)
{
    tn_os_close(&journal->lock);
}

/* ---- items ---- */

tn_status tn_journal_queue(tn_journal *journal, tn_text path, tn_error *err)
{
    return run_with_item(journal, TN_QUERY_ITEM_QUEUE, path, err);
}

tn_status tn_journal_count(tn_journal *journal, tn_error *err)
{
    return run_with_job(journal->library, TN_QUERY_JOB_ITEMS_TOTAL, journal->job, err);
}

tn_status tn_journal_reading(tn_journal *journal, tn_text path, tn_error *err)
{
    return run_with_item(journal, TN_QUERY_ITEM_READING, path, err);
}

tn_status tn_journal_done(tn_journal *journal, tn_text path, tn_error *err)
{
    return run_with_item(journal, TN_QUERY_ITEM_DONE, path, err);
}

tn_status tn_journal_aside(tn_journal *journal, tn_text path, tn_error *err)
{
    return run_with_item(journal, TN_QUERY_ITEM_ASIDE, path, err);
}

tn_status tn_journal_cleared(tn_journal *journal, tn_text path, tn_error *err)
{
    return run_with_item(journal, TN_QUERY_ITEMS_CLEARED, path, err);
}

tn_status tn_journal_advance(tn_journal *journal, uint64_t items, tn_error *err)
{
    tn_sql s = tn_sql_start(&journal->library->db, TN_QUERY_JOB_ADVANCE);
    tn_sql_int(&s, journal->job);
    tn_sql_int(&s, (int64_t)items);
    return tn_sql_run(&s, err);
}

tn_status tn_journal_suspects(tn_library *library, tn_status (*each)(void *user, tn_text path, int64_t deaths,
                                                                      tn_error *err),
                              void *user, tn_error *err)
{
    tn_sql s = tn_sql_start(&library->db, TN_QUERY_ITEMS_SUSPECT);
    for (;;) {
        bool more = false;
        TN_TRY(tn_sql_row(&s, &more, err));
        if (!more)
            return TN_OK;
        tn_status status = each(user, tn_sql_get(&s, 0), tn_sql_get_int(&s, 1), err);
        if (status != TN_OK) {
            tn_sql_end(&s);
            return status;
        }
    }
}
