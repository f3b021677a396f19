/* Jobs as they are shown, and the hand on them: run, pause, resume, cancel, retry.
 *
 * A running job of another process is asked to stop by its row: it looks there before each batch.
 */
#include <string.h>

#include "core/utf8.h"
#include "library/acts.h"
#include "library/hash_job.h"
#include "library/import.h"
#include "library/journal.h"

#define WHAT_MAX_BYTES (1u << 20)
#define IDS_MAX 4096 /* jobs shown or run in one call, the newest */

/* A copy of one row. */
typedef struct job_row {
    tn_job job;
    tn_text paths; /* each followed by a NUL */
    tn_arena arena;
} job_row;

/* ---- rows ---- */

static void show_paths(tn_buffer *out, tn_text paths)
{
    for (size_t at = 0; at < paths.size;) {
        size_t size = strlen(paths.bytes + at);
        tn_buffer_text(out, at > 0 ? " " : "");
        tn_utf8_append_valid(out, paths.bytes + at, size);
        at += size + 1;
    }
}

static tn_text keep(job_row *row, const tn_sql *s, int column)
{
    tn_text text = tn_sql_get(s, column);
    return tn_arena_text(&row->arena, text.bytes, text.size);
}

static tn_status copy_row(tn_library *library, const tn_sql *s, job_row *row, tn_error *err)
{
    tn_job *job = &row->job;
    job->id = tn_sql_get_int(s, 0);
    job->kind = keep(row, s, 1);
    job->state = keep(row, s, 2);
    row->paths = keep(row, s, 3);
    job->queued_ns = tn_sql_get_int(s, 4);
    job->started_ns = tn_sql_get_int(s, 5);
    job->ended_ns = tn_sql_get_int(s, 6);
    job->items = (uint64_t)tn_sql_get_int(s, 7);
    job->items_done = (uint64_t)tn_sql_get_int(s, 8);
    job->error = keep(row, s, 9);
    job->bytes = (uint64_t)tn_sql_get_int(s, 10);
    job->bytes_done = (uint64_t)tn_sql_get_int(s, 11);
    TN_TRY(tn_arena_status(&row->arena, err));
    tn_buffer what;
    tn_buffer_init(&what, library->memory, WHAT_MAX_BYTES);
    show_paths(&what, row->paths);
    job->what = tn_arena_text(&row->arena, what.bytes != NULL ? what.bytes : "", what.size);
    tn_buffer_free(&what);
    return tn_arena_status(&row->arena, err);
}

/* Inside the lock. `row` is begun in any case and must be freed with tn_arena_free(&row->arena). */
static tn_status read_row(tn_library *library, int64_t id, job_row *row, bool *found, tn_error *err)
{
    *row = (job_row){.paths = {"", 0}};
    tn_arena_init(&row->arena, library->memory, (size_t)1 << 32);
    tn_sql s = tn_sql_start(&library->db, TN_QUERY_JOB_GET);
    tn_sql_int(&s, id);
    TN_TRY(tn_sql_row(&s, found, err));
    if (!*found)
        return TN_OK;
    tn_status status = copy_row(library, &s, row, err);
    tn_sql_end(&s);
    return status;
}

/* The same, taking the lock. */
static tn_status get_row(tn_library *library, int64_t id, job_row *row, bool *found, tn_error *err)
{
    tn_library_lock(library);
    tn_status status = read_row(library, id, row, found, err);
    tn_library_unlock(library);
    return status;
}

static bool state_is(const tn_job *job, const char *state)
{
    return strcmp(job->state.bytes, state) == 0;
}

/* A row that says "running" while nobody is at it tells of a process that died. */
static void see_abandoned(tn_library *library, tn_job *job)
{
    if (state_is(job, "running") && tn_journal_is_free(library, job->id))
        job->state = TN_TEXT("interrupted");
}

static tn_status ids_of(tn_library *library, tn_query query, int64_t ids[IDS_MAX], size_t *count, tn_error *err)
{
    tn_library_lock(library);
    tn_sql s = tn_sql_start(&library->db, query);
    tn_status status = TN_OK;
    *count = 0;
    for (bool more = true; more && status == TN_OK;) {
        status = tn_sql_row(&s, &more, err);
        if (status == TN_OK && more && *count < IDS_MAX)
            ids[(*count)++] = tn_sql_get_int(&s, 0);
    }
    tn_library_unlock(library);
    return status;
}

tn_status tn_library_jobs(tn_library *library, bool (*each)(void *user, const tn_job *job), void *user, tn_error *err)
{
    int64_t ids[IDS_MAX];
    size_t count = 0;
    TN_TRY(tn_context_check(library->context, err));
    TN_TRY(ids_of(library, TN_QUERY_JOB_IDS, ids, &count, err));
    bool go_on = true;
    tn_status status = TN_OK;
    for (size_t i = 0; i < count && go_on && status == TN_OK; i++) {
        job_row row;
        bool found = false;
        status = get_row(library, ids[i], &row, &found, err);
        if (status == TN_OK && found) {
            see_abandoned(library, &row.job);
            go_on = each(user, &row.job);
        }
        tn_arena_free(&row.arena);
    }
    return status;
}

/* ---- run ---- */

static tn_status no_such_job(int64_t id, tn_error *err)
{
    return tn_fail(err, TN_NOT_FOUND, "there is no job %lld", (long long)id);
}

static size_t count_paths(tn_text paths)
{
    size_t count = 0;
    for (size_t at = 0; at < paths.size; at += strlen(paths.bytes + at) + 1)
        count++;
    return count;
}

static tn_status run_row(tn_library *library, job_row *row, const tn_import_options *options, tn_error *err)
{
    size_t count = count_paths(row->paths), at = 0;
    if (!state_is(&row->job, "queued") && !state_is(&row->job, "running") && !state_is(&row->job, "interrupted"))
        return tn_fail(err, TN_INVALID, "job %lld is %s and cannot be run", (long long)row->job.id,
                       row->job.state.bytes);
    if (strcmp(row->job.kind.bytes, "hash") == 0)
        return tn_hash_job_run(library, row->job.id, options, err);
    if (strcmp(row->job.kind.bytes, "import") != 0)
        return tn_fail(err, TN_UNAVAILABLE, "this program has no work of the kind \"%s\"", row->job.kind.bytes);
    const char **paths = tn_arena_take_array(&row->arena, count, sizeof *paths);
    TN_TRY(tn_arena_status(&row->arena, err));
    for (size_t i = 0; i < count; i++, at += strlen(row->paths.bytes + at) + 1)
        paths[i] = row->paths.bytes + at;
    return tn_import_run(library, paths, count, row->job.id, options, NULL, err);
}

static tn_status run_one(tn_library *library, int64_t id, const tn_import_options *options, tn_error *err)
{
    job_row row;
    bool found = false;
    tn_status status = get_row(library, id, &row, &found, err);
    if (status == TN_OK)
        status = found ? run_row(library, &row, options, err) : no_such_job(id, err);
    tn_arena_free(&row.arena);
    return status;
}

/* What keeps one job from being run and none of the others: another process is at it, or another hand has stopped it. */
static bool passes_over(const tn_library *library, tn_status status)
{
    return status == TN_OK || status == TN_BUSY || status == TN_NOT_FOUND || status == TN_INVALID ||
           status == TN_UNAVAILABLE || (status == TN_CANCELLED && !tn_context_cancelled(library->context));
}

static tn_status run_all(tn_library *library, const tn_import_options *options, tn_error *err)
{
    int64_t ids[IDS_MAX];
    size_t count = 0;
    TN_TRY(ids_of(library, TN_QUERY_JOBS_OPEN, ids, &count, err));
    for (size_t i = 0; i < count; i++) {
        tn_error found;
        tn_status status = run_one(library, ids[i], options, &found);
        if (!passes_over(library, status))
            return tn_fail_as(&found, err);
    }
    return TN_OK;
}

tn_status tn_library_jobs_run(tn_library *library, int64_t id, const tn_import_options *options, tn_error *err)
{
    TN_TRY(tn_context_check(library->context, err));
    TN_TRY(tn_acts_recover(library, err));
    return id != 0 ? run_one(library, id, options, err) : run_all(library, options, err);
}

/* ---- control ---- */

typedef struct action_row {
    const char *action, *to;
    const char *from[5]; /* states that allow it */
} action_row;

static const action_row actions[] = {
    {"pause", "paused", {"queued", "running", "interrupted"}},
    {"resume", "queued", {"paused", "interrupted"}},
    {"cancel", "cancelled", {"queued", "running", "interrupted", "paused"}},
    {"retry", "queued", {"failed", "cancelled", "interrupted", "done"}},
};

static const action_row *find_action(const char *action)
{
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++)
        if (strcmp(actions[i].action, action) == 0)
            return &actions[i];
    return NULL;
}

static bool allows(const action_row *action, const char *state)
{
    for (size_t i = 0; i < 5 && action->from[i] != NULL; i++)
        if (strcmp(action->from[i], state) == 0)
            return true;
    return false;
}

static tn_status run_with_job(tn_library *library, tn_query query, int64_t job, tn_error *err)
{
    tn_sql s = tn_sql_start(&library->db, query);
    tn_sql_int(&s, job);
    return tn_sql_run(&s, err);
}

static bool is_action(const action_row *action, const char *word)
{
    return strcmp(action->action, word) == 0;
}

/* A hash job that is tried again goes on with what it has, what it set aside among it; one that was given up has nothing
 * any more, and is filled anew. */
static tn_status clear_hash_items(tn_library *library, const job_row *row, const action_row *action, tn_error *err)
{
    if (is_action(action, "cancel"))
        return run_with_job(library, TN_QUERY_ITEMS_DROP, row->job.id, err);
    if (!is_action(action, "retry"))
        return TN_OK;
    TN_TRY(run_with_job(library, TN_QUERY_ITEMS_AGAIN, row->job.id, err));
    return tn_hash_job_fill(library, row->job.id, row->paths, err);
}

/* What was set aside is read again, and what is no longer wanted is not read at all. */
static tn_status clear_items(tn_library *library, const job_row *row, const action_row *action, tn_error *err)
{
    if (strcmp(row->job.kind.bytes, "hash") == 0)
        return clear_hash_items(library, row, action, err);
    if (is_action(action, "retry"))
        TN_TRY(run_with_job(library, TN_QUERY_FILES_FORGET_ASIDE, row->job.id, err));
    else if (!is_action(action, "cancel"))
        return TN_OK;
    return run_with_job(library, TN_QUERY_ITEMS_DROP, row->job.id, err);
}

static tn_status control_row(tn_library *library, const job_row *row, const action_row *action, tn_error *err)
{
    if (!allows(action, row->job.state.bytes))
        return tn_fail(err, TN_INVALID, "job %lld is in no state to %s", (long long)row->job.id, action->action);
    TN_TRY(clear_items(library, row, action, err));
    tn_sql s = tn_sql_start(&library->db, TN_QUERY_JOB_SET_STATE);
    tn_sql_int(&s, row->job.id);
    tn_sql_text(&s, action->to, strlen(action->to));
    return tn_sql_run(&s, err);
}

static tn_status control_inside(tn_library *library, int64_t id, const action_row *action, tn_error *err)
{
    bool found = false;
    job_row row;
    tn_status status = read_row(library, id, &row, &found, err);
    if (status == TN_OK)
        status = found ? control_row(library, &row, action, err) : no_such_job(id, err);
    tn_arena_free(&row.arena);
    return status;
}

tn_status tn_library_job_control(tn_library *library, int64_t id, const char *action, tn_error *err)
{
    const action_row *row = find_action(action);
    TN_TRY(tn_context_check(library->context, err));
    if (row == NULL)
        return tn_fail(err, TN_INVALID, "a job can be told to pause, resume, cancel or retry, not to %s", action);
    TN_TRY(tn_library_begin(library, err));
    return tn_library_end(library, control_inside(library, id, row, err), err);
}
