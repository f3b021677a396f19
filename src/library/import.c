/* An import from begin to end: journal, walk, queue, work, finish. What stands in import_inside.h holds throughout. */
#include "library/import.h"

#include <inttypes.h>
#include <string.h>

#include "library/acts.h"
#include "library/hash_job.h"
#include "library/import_inside.h"
#include "library/place.h"
#include "os/os_fault.h"

#define ARENA_MAX ((size_t)1 << 40) /* bytes; the budget refuses long before */
#define IMPORT_PATHS_MAX 65536      /* paths named in one import */

bool tn_import_is_dry(const tn_import *import)
{
    return import->journal.job == 0;
}

void tn_import_tell(tn_import *import, const tn_import_event *event)
{
    if (import->options->each != NULL)
        import->options->each(import->options->user, event);
}

void tn_import_progress_now(tn_import *import, bool walking, const char *path)
{
    if (import->options->progress == NULL)
        return;
    tn_import_progress now = {.found = import->unchanged + import->item_count, .done = import->done, .walking = walking,
                              .path = path, .fresh = import->fresh + import->held_fresh, .changed = import->changed,
                              .unchanged = import->unchanged};
    if (!walking)
        now.found = now.done > now.found ? now.done : now.found;
    import->options->progress(import->options->user, &now);
}

/* ---- the steps ---- */

/* A known path that shows something else now is not confirmed until it is read: it speaks against no other path of its
 * record meanwhile. */
static tn_status unconfirm(tn_import *import, const tn_import_item *item, tn_error *err)
{
    if (!item->was_known)
        return TN_OK;
    tn_sql s = tn_sql_start(&import->library->db, TN_QUERY_FILE_UNCONFIRMED);
    tn_sql_blob(&s, item->claim.path, item->claim.path_size);
    return tn_sql_run(&s, err);
}

static tn_status queue_items(tn_import *import, tn_error *err)
{
    for (size_t i = 0; i < import->item_count; i++) {
        const tn_import_item *item = &import->items[i];
        TN_TRY(unconfirm(import, item, err));
        TN_TRY(tn_journal_queue(&import->journal, (tn_text){item->claim.path, item->claim.path_size}, err));
    }
    return tn_journal_count(&import->journal, err);
}

static tn_status load_began(tn_import *import, tn_error *err)
{
    bool more = false;
    tn_sql s = tn_sql_start(&import->library->db, TN_QUERY_JOB_QUEUED);
    tn_sql_int(&s, import->journal.job);
    TN_TRY(tn_sql_row(&s, &more, err));
    import->job = (tn_record_job){import->journal.job, more ? tn_sql_get_int(&s, 0) : tn_os_wall_ns()};
    tn_sql_end(&s);
    return TN_OK;
}

/* What is gone is marked before anything is read, so that what is read can be told from it. */
static tn_status queue_inside(tn_import *import, tn_error *err)
{
    TN_TRY(load_began(import, err));
    TN_TRY(tn_import_put_roots(import, err));
    TN_TRY(tn_record_rows(import->library, &import->job, import->news, import->news_count, err));
    return queue_items(import, err);
}

static tn_status queue(tn_import *import, tn_error *err)
{
    if (tn_import_is_dry(import))
        return TN_OK;
    TN_TRY(tn_library_begin(import->library, err));
    TN_TRY(tn_library_end(import->library, queue_inside(import, err), err));
    tn_os_point("import.queued");
    return TN_OK;
}

static void log_times(const tn_import *import, uint64_t written_ns, uint64_t all_ns)
{
    const double ms = 1e6;
    tn_context_log(import->context, TN_LOG_DEBUG,
                   "import: %zu read, %" PRIu64 " unchanged; all %.1f ms, SQLite %.1f ms; over all threads: identify "
                   "%.1f ms, sample digest %.1f ms, JSON %.1f ms",
                   import->item_count, import->unchanged, (double)all_ns / ms, (double)written_ns / ms,
                   (double)atomic_load(&import->times.identify_ns) / ms,
                   (double)atomic_load(&import->times.sample_ns) / ms, (double)atomic_load(&import->times.json_ns) / ms);
}

static uint64_t sqlite_ns(tn_library *library)
{
    tn_library_lock(library);
    uint64_t spent_ns = library->db.spent_ns;
    tn_library_unlock(library);
    return spent_ns;
}

static tn_status go(tn_import *import, tn_error *err)
{
    uint64_t began = tn_os_monotonic_ns(), sqlite_before = sqlite_ns(import->library);
    TN_TRY(tn_import_gather(import, err));
    if (!tn_import_is_dry(import)) {
        TN_TRY(tn_import_look_at_roots(import, err));
        TN_TRY(tn_import_find_gone(import, err));
    }
    tn_os_point("import.scanned");
    TN_TRY(tn_import_suspects(import, err));
    TN_TRY(queue(import, err));
    TN_TRY(tn_import_work(import, err));
    TN_TRY(tn_import_finish(import, err));
    log_times(import, sqlite_ns(import->library) - sqlite_before, tn_os_monotonic_ns() - began);
    return TN_OK;
}

/* The status of an import that stops is its own; what became of the row is not. */
static tn_status go_journalled(tn_import *import, int64_t job, tn_error *err)
{
    if (!import->options->dry_run)
        TN_TRY(tn_journal_begin(import->library, "import", import->paths, import->path_count, job, &import->journal,
                                err));
    tn_os_point("import.begun");
    tn_error found;
    tn_status status = go(import, &found);
    if (status != TN_OK) {
        tn_journal_stop(&import->journal, status, found.message);
        (void)tn_fail_as(&found, err);
    }
    tn_journal_end(&import->journal);
    return status;
}

/* ---- setting up ---- */

static void import_init(tn_import *import, tn_library *library, const char *const *paths, size_t count,
                        const tn_import_options *options)
{
    *import = (tn_import){.library = library, .context = library->context, .options = options, .paths = paths,
                          .path_count = count, .began_ns = tn_os_monotonic_ns()};
    import->journal.library = library;
    tn_known_init(&import->known, library);
    tn_arena_init(&import->arena, library->memory, ARENA_MAX);
    tn_map_init(&import->by_path, library->memory);
    tn_map_init(&import->by_who, library->memory);
}

static void import_free(tn_import *import)
{
    tn_memory_source *memory = import->library->memory;
    tn_map_free(&import->by_who);
    tn_map_free(&import->by_path);
    tn_known_free(&import->known);
    tn_arena_free(&import->arena);
    tn_give(memory, import->items, import->item_capacity * sizeof *import->items);
    tn_give(memory, import->roots, import->root_capacity * sizeof *import->roots);
    tn_give(memory, import->news, import->news_capacity * sizeof *import->news);
    tn_give(memory, import->dry, import->dry_capacity * sizeof *import->dry);
    tn_give(memory, import->dry_known, import->dry_known_capacity * sizeof *import->dry_known);
    tn_give(memory, import->held, import->held_capacity * sizeof *import->held);
    tn_give(memory, import->relinked, import->relinked_capacity * sizeof *import->relinked);
    tn_give(memory, import->unreadable, import->unreadable_capacity * sizeof *import->unreadable);
    tn_give(memory, import->refused, import->refused_capacity * sizeof *import->refused);
}

/* What is asked for. */
typedef struct request {
    int64_t job;    /* 0: a new one, or the interrupted one over the same paths */
    bool scan, all; /* of roots; of all of them */
} request;

static tn_status run_over(tn_library *library, const char *const *absolute, size_t count, const request *wanted,
                          const tn_import_options *options, tn_import_summary **summary, tn_error *err)
{
    tn_import import;
    tn_status status = TN_OK;
    import_init(&import, library, absolute, count, options);
    import.scan = wanted->scan;
    import.all = wanted->all;
    if (count > 0)
        status = go_journalled(&import, wanted->job, err);
    if (status == TN_OK)
        status = tn_hash_job_after(library, import.hash_job, options, err);
    if (status == TN_OK && summary != NULL)
        status = tn_import_summarise(&import, summary, err);
    import_free(&import);
    return status;
}

/* Made absolute, so that a job means the same in every folder it is resumed from. */
static tn_status make_absolute(tn_arena *arena, tn_memory_source *memory, const char *const *paths, size_t count,
                               const char **out, tn_error *err)
{
    tn_buffer path;
    tn_buffer_init(&path, memory, TN_PLACE_PATH_MAX);
    tn_status status = TN_OK;
    for (size_t i = 0; i < count && status == TN_OK; i++) {
        tn_buffer_clear(&path);
        status = paths[i][0] == '\0' ? tn_fail(err, TN_BAD_PATH, "an empty path was named")
                                     : tn_os_absolute_path(paths[i], &path, err);
        if (status != TN_OK)
            break;
        out[i] = tn_arena_text(arena, path.bytes, path.size).bytes;
        status = tn_arena_status(arena, err);
    }
    tn_buffer_free(&path);
    return status;
}

static tn_status run(tn_library *library, const char *const *paths, size_t count, const request *wanted,
                     const tn_import_options *options, tn_import_summary **summary, tn_error *err)
{
    static const tn_import_options none = {.size = sizeof none};
    TN_TRY(tn_context_check(library->context, err));
    if (options == NULL)
        options = &none;
    if (options->size != sizeof *options)
        return tn_fail(err, TN_INVALID, "tn_import_options of another size");
    if (!options->dry_run)
        TN_TRY(tn_acts_recover(library, err));
    if ((count == 0 && !wanted->all) || count > IMPORT_PATHS_MAX)
        return tn_fail(err, count == 0 ? TN_INVALID : TN_LIMIT, "%zu paths were named, 1 to %d can be", count,
                       IMPORT_PATHS_MAX);
    tn_arena arena;
    tn_arena_init(&arena, library->memory, ARENA_MAX);
    const char **absolute = tn_arena_take_array(&arena, count, sizeof *absolute);
    tn_status status = tn_arena_status(&arena, err);
    if (status == TN_OK)
        status = make_absolute(&arena, library->memory, paths, count, absolute, err);
    if (status == TN_OK)
        status = run_over(library, absolute, count, wanted, options, summary, err);
    tn_arena_free(&arena);
    return status;
}

tn_status tn_import_run(tn_library *library, const char *const *paths, size_t count, int64_t job,
                        const tn_import_options *options, tn_import_summary **summary, tn_error *err)
{
    return run(library, paths, count, &(request){.job = job}, options, summary, err);
}

tn_status tn_import_scan(tn_library *library, const char *const *paths, size_t count, bool all,
                         const tn_import_options *options, tn_import_summary **summary, tn_error *err)
{
    return run(library, paths, count, &(request){.scan = true, .all = all}, options, summary, err);
}

tn_status tn_library_import(tn_library *library, const char *const *paths, size_t count,
                            const tn_import_options *options, tn_import_summary **out, tn_error *err)
{
    return tn_import_run(library, paths, count, 0, options, out, err);
}
