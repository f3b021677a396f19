/* Watching roots: a scan whenever something in them changed.
 *
 *   T1  The system is asked to tell before a scan begins, so that what changes during it is told after it.
 *   T2  What is told is only that something changed; what, a scan finds out. So nothing is missed for a queue that ran
 *       over, and what nobody tells of (a network folder, a root that comes back) is found by looking now and then.
 *   T3  A scan begins when there has been silence for a while, or when changes do not end for long.
 */
#include <string.h>

#include "library/inside.h"
#include "library/place.h"
#include "library/roots.h"

#define STILL_MS 2000u  /* a file that nobody has written to for so long is whole */
#define POLL_MS 30000u
#define SLICE_MS 200u   /* how long a wait may last before it is asked whether to go on */
#define QUIET_MS 500u   /* of silence before a scan */
#define RESTLESS_MS 10000u /* changes that do not end are looked at so often */

typedef struct watching {
    tn_library *library;
    const char *const *named;
    size_t named_count;
    const tn_watch_options *options;
    tn_import_options import;
    tn_os_watch *system; /* NULL: it tells nothing */
    tn_buffer folders;   /* that it was opened for, each with a NUL behind it */
    bool look_anyway;    /* something may change that nobody tells of */
} watching;

/* ---- what the system can tell of ---- */

/* `path` is absolute. */
static void add_folder(watching *w, const char *path, tn_buffer *folders)
{
    tn_os_info info;
    const tn_buffer *library = &w->library->path;
    bool there = tn_os_info_at(path, true, &info, NULL) == TN_OK && info.kind == TN_OS_FOLDER;
    w->look_anyway = w->look_anyway || !there || info.weak_identity;
    /* The library writes beside itself at every scan: told of that, it would never rest. */
    if (there && tn_place_is_below(library->bytes, library->size, path, strlen(path)))
        w->look_anyway = true;
    else if (there)
        tn_buffer_append(folders, path, strlen(path) + 1);
}

/* A path as a person wrote it. */
static tn_status add_named(watching *w, const char *path, tn_buffer *folders, tn_error *err)
{
    tn_buffer absolute;
    tn_buffer_init(&absolute, w->library->memory, TN_PLACE_PATH_MAX);
    tn_status status = tn_os_absolute_path(path, &absolute, err);
    if (status == TN_OK)
        add_folder(w, absolute.bytes, folders);
    tn_buffer_free(&absolute);
    return status;
}

static tn_status list_folders(watching *w, tn_buffer *folders, tn_error *err)
{
    tn_root_rows rows;
    tn_root_rows_init(&rows, w->library);
    tn_status status = w->named_count == 0 ? tn_root_rows_load(&rows, w->library, err) : TN_OK;
    w->look_anyway = false;
    for (size_t i = 0; i < w->named_count && status == TN_OK; i++)
        status = add_named(w, w->named[i], folders, err);
    for (size_t i = 0; i < rows.count && status == TN_OK; i++)
        add_folder(w, rows.rows[i].path.bytes, folders);
    tn_root_rows_free(&rows);
    return status == TN_OK ? tn_buffer_status(folders, err) : status;
}

static size_t count_texts(const tn_buffer *texts)
{
    size_t count = 0;
    for (size_t i = 0; i < texts->size; i++)
        count += texts->bytes[i] == '\0';
    return count;
}

static tn_status open_system(watching *w, tn_error *err)
{
    void *block = NULL;
    size_t count = count_texts(&w->folders), at = 0;
    tn_memory_source *memory = w->library->memory;
    TN_TRY(tn_take_array(memory, count, sizeof(const char *), &block, err));
    const char **paths = block;
    for (size_t i = 0; i < count; i++) {
        paths[i] = w->folders.bytes + at;
        at += strlen(paths[i]) + 1;
    }
    tn_error found;
    tn_status status = count > 0 ? tn_os_watch_open(memory, paths, count, &w->system, &found) : TN_OK;
    tn_give(memory, block, count * sizeof(const char *));
    if (status == TN_OK || tn_status_is_of_memory(status))
        return status == TN_OK ? TN_OK : tn_fail_as(&found, err);
    tn_context_log(w->library->context, TN_LOG_WARN, "changes are not told here (%s): looking now and then", found.message);
    return TN_OK;
}

/* Roots come and go while they are watched: the system is asked anew when there are others than before. */
static tn_status follow_roots(watching *w, tn_error *err)
{
    tn_buffer now;
    tn_buffer_init(&now, w->library->memory, (size_t)1 << 30);
    tn_status status = list_folders(w, &now, err);
    bool same = now.size == w->folders.size && (now.size == 0 || memcmp(now.bytes, w->folders.bytes, now.size) == 0);
    if (status != TN_OK || same) {
        tn_buffer_free(&now);
    } else {
        tn_buffer_free(&w->folders);
        w->folders = now;
        tn_os_watch_close(w->system);
        w->system = NULL;
        status = open_system(w, err);
    }
    w->look_anyway = w->look_anyway || w->system == NULL;
    return status;
}

/* ---- waiting ---- */

static tn_status wait_a_little(watching *w, unsigned ms, bool *changed, tn_error *err)
{
    tn_error found;
    *changed = false;
    TN_TRY(tn_context_check(w->library->context, err));
    if (w->system == NULL) {
        tn_os_sleep_ms(ms);
        return TN_OK;
    }
    if (tn_os_watch_wait(w->system, ms, changed, &found) == TN_OK)
        return TN_OK;
    if (tn_status_is_of_memory(found.status))
        return tn_fail_as(&found, err);
    tn_os_watch_close(w->system);
    w->system = NULL; /* from now on without it */
    w->look_anyway = true;
    return TN_OK;
}

static uint64_t since_ms(uint64_t began_ns)
{
    return (tn_os_monotonic_ns() - began_ns) / 1000000;
}

/* Until there has been silence. */
static tn_status wait_for_quiet(watching *w, tn_error *err)
{
    uint64_t began_ns = tn_os_monotonic_ns(), last_ns = began_ns;
    while (since_ms(last_ns) < QUIET_MS && since_ms(began_ns) < RESTLESS_MS) {
        bool changed = false;
        TN_TRY(wait_a_little(w, SLICE_MS, &changed, err));
        if (changed)
            last_ns = tn_os_monotonic_ns();
    }
    return TN_OK;
}

/* Until something is told, or it is time to look. `growing`: something is being written that will soon be still. */
static tn_status wait_for_change(watching *w, bool growing, tn_error *err)
{
    uint64_t began_ns = tn_os_monotonic_ns(), most_ms = UINT64_MAX;
    if (w->look_anyway)
        most_ms = w->options->poll_ms != 0 ? w->options->poll_ms : POLL_MS;
    if (growing && w->import.still_ms < most_ms)
        most_ms = w->import.still_ms;
    while (since_ms(began_ns) < most_ms) {
        bool changed = false;
        uint64_t left_ms = most_ms - since_ms(began_ns);
        TN_TRY(wait_a_little(w, left_ms < SLICE_MS ? (unsigned)left_ms + 1 : SLICE_MS, &changed, err));
        if (changed)
            return wait_for_quiet(w, err);
    }
    return TN_OK;
}

/* ---- the scans ---- */

static bool is_news(const tn_import_summary *s)
{
    return s->fresh != 0 || s->changed != 0 || s->relinked != 0 || s->vanished != 0;
}

static tn_status scan_once(watching *w, bool first, bool *growing, bool *go_on, tn_error *err)
{
    tn_import_summary *summary = NULL;
    TN_TRY(tn_library_scan(w->library, w->named, w->named_count, &w->import, &summary, err));
    *growing = summary->growing != 0;
    if (w->options->scanned != NULL && (first || is_news(summary)))
        *go_on = w->options->scanned(w->options->user, summary);
    tn_import_summary_destroy(summary);
    return TN_OK;
}

static tn_status watch(watching *w, tn_error *err)
{
    bool growing = false, go_on = true;
    for (bool first = true;; first = false) {
        TN_TRY(follow_roots(w, err));
        TN_TRY(scan_once(w, first, &growing, &go_on, err));
        if (!go_on)
            return TN_OK;
        TN_TRY(wait_for_change(w, growing, err));
    }
}

tn_status tn_library_watch(tn_library *library, const char *const *roots, size_t count, const tn_watch_options *options,
                           tn_error *err)
{
    static const tn_watch_options none = {.size = sizeof none};
    static const tn_import_options plain = {.size = sizeof plain};
    TN_TRY(tn_context_check(library->context, err));
    if (options == NULL)
        options = &none;
    if (options->size != sizeof *options)
        return tn_fail(err, TN_INVALID, "tn_watch_options of another size");
    watching w = {.library = library, .named = roots, .named_count = count, .options = options,
                  .import = options->import != NULL ? *options->import : plain};
    if (w.import.still_ms == 0)
        w.import.still_ms = STILL_MS;
    tn_buffer_init(&w.folders, library->memory, (size_t)1 << 30);
    tn_status status = watch(&w, err);
    tn_os_watch_close(w.system);
    tn_buffer_free(&w.folders);
    return status;
}
