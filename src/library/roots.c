#include "library/roots.h"

#include <string.h>

#include "library/import.h"
#include "library/known.h"
#include "library/place.h"

#define ARENA_MAX ((size_t)1 << 32) /* bytes; the budget refuses long before */

/* ---- rows ---- */

void tn_root_rows_init(tn_root_rows *rows, tn_library *library)
{
    *rows = (tn_root_rows){.memory = library->memory};
    tn_arena_init(&rows->arena, library->memory, ARENA_MAX);
}

void tn_root_rows_free(tn_root_rows *rows)
{
    tn_arena_free(&rows->arena);
    tn_give(rows->memory, rows->rows, rows->capacity * sizeof *rows->rows);
}

static tn_status add_row(tn_root_rows *rows, const tn_sql *s, tn_error *err)
{
    tn_text path = tn_sql_get(s, 0);
    tn_text kept = tn_arena_text(&rows->arena, path.bytes, path.size);
    if (kept.bytes == NULL)
        return tn_arena_status(&rows->arena, err);
    void *items = rows->rows;
    TN_TRY(tn_make_room(rows->memory, &items, &rows->capacity, rows->count, sizeof *rows->rows, 16, err));
    rows->rows = items;
    rows->rows[rows->count++] = (tn_root_row){kept, tn_sql_get_int(s, 1), tn_sql_get_int(s, 2),
                                              sqlite3_column_type(s->stmt, 3) != SQLITE_NULL,
                                              (uint64_t)tn_sql_get_int(s, 3)};
    return TN_OK;
}

static tn_status load(tn_root_rows *rows, tn_library *library, tn_error *err)
{
    tn_sql s = tn_sql_start(&library->db, TN_QUERY_ROOTS_ALL);
    for (;;) {
        bool more = false;
        TN_TRY(tn_sql_row(&s, &more, err));
        if (!more)
            return TN_OK;
        tn_status status = add_row(rows, &s, err);
        if (status != TN_OK) {
            tn_sql_end(&s);
            return status;
        }
    }
}

tn_status tn_root_rows_load(tn_root_rows *rows, tn_library *library, tn_error *err)
{
    tn_library_lock(library);
    tn_status status = load(rows, library, err);
    tn_library_unlock(library);
    return status;
}

bool tn_root_is_gone(tn_status status, const tn_os_info *info)
{
    if (status == TN_OK)
        return info->kind != TN_OS_FOLDER;
    return status == TN_NOT_FOUND || status == TN_NOT_A_FILE || status == TN_IO || status == TN_CHANGED;
}

tn_status tn_root_look(tn_memory_source *memory, const char *path, tn_os_info *info)
{
    tn_os_folder *folder = NULL;
    tn_status status = tn_os_info_at(path, true, info, NULL);
    if (status != TN_OK || info->kind != TN_OS_FOLDER)
        return status;
    tn_status opened = tn_os_folder_open(memory, path, &folder, NULL);
    tn_os_folder_close(folder);
    return opened == TN_IO || opened == TN_CHANGED ? opened : TN_OK;
}

bool tn_root_is_away(tn_memory_source *memory, const tn_root_row *row)
{
    tn_os_info info;
    tn_status status = tn_root_look(memory, row->path.bytes, &info);
    if (tn_root_is_gone(status, &info))
        return true;
    return row->away_ns != 0 && (status != TN_OK || (row->has_device && info.device != row->device));
}

/* ---- the list ---- */

static tn_status sums_inside(tn_library *library, tn_text path, const tn_buffer *bounds, size_t size, tn_root *out,
                             tn_error *err)
{
    bool more = false;
    tn_sql s = tn_sql_start(&library->db, TN_QUERY_ROOT_SUMS);
    tn_sql_blob(&s, path.bytes, path.size);
    tn_sql_blob(&s, bounds->bytes, size);
    tn_sql_blob(&s, bounds->bytes + size, size);
    TN_TRY(tn_sql_row(&s, &more, err));
    if (more) {
        out->models = (uint64_t)tn_sql_get_int(&s, 0);
        out->bytes = (uint64_t)tn_sql_get_int(&s, 1);
    }
    tn_sql_end(&s);
    return TN_OK;
}

static tn_status sums_of(tn_library *library, tn_text path, tn_root *out, tn_error *err)
{
    tn_buffer bounds;
    tn_buffer_init(&bounds, library->memory, 2 * TN_PLACE_PATH_MAX);
    size_t size = tn_known_bounds(&bounds, path.bytes);
    tn_status status = tn_buffer_status(&bounds, err);
    if (status == TN_OK) {
        tn_library_lock(library);
        status = sums_inside(library, path, &bounds, size, out, err);
        tn_library_unlock(library);
    }
    tn_buffer_free(&bounds);
    return status;
}

tn_status tn_library_roots(tn_library *library, bool (*each)(void *user, const tn_root *root), void *user,
                           tn_error *err)
{
    tn_root_rows rows;
    TN_TRY(tn_context_check(library->context, err));
    tn_root_rows_init(&rows, library);
    tn_status status = tn_root_rows_load(&rows, library, err);
    bool go_on = true;
    for (size_t i = 0; i < rows.count && go_on && status == TN_OK; i++) {
        const tn_root_row *row = &rows.rows[i];
        tn_root root = {.path = row->path, .away = tn_root_is_away(library->memory, row), .scanned_ns = row->scanned_ns};
        status = sums_of(library, row->path, &root, err);
        if (status == TN_OK)
            go_on = each(user, &root);
    }
    tn_root_rows_free(&rows);
    return status;
}

/* ---- add and remove ---- */

static tn_status run_with_path(tn_library *library, tn_query query, const tn_buffer *path, const int64_t *number,
                               tn_error *err)
{
    tn_sql s = tn_sql_start(&library->db, query);
    tn_sql_blob(&s, path->bytes, path->size);
    if (number != NULL)
        tn_sql_int(&s, *number);
    return tn_sql_run(&s, err);
}

static tn_status add_inside(tn_library *library, const tn_buffer *path, const tn_os_info *info, tn_error *err)
{
    int64_t now = tn_os_wall_ns(), device = (int64_t)info->device;
    TN_TRY(run_with_path(library, TN_QUERY_ROOT_PUT, path, &now, err));
    return run_with_path(library, TN_QUERY_ROOT_SEEN, path, &device, err);
}

static tn_status add(tn_library *library, const tn_buffer *path, tn_error *err)
{
    tn_os_info info;
    TN_TRY(tn_os_info_at(path->bytes, true, &info, err));
    if (info.kind != TN_OS_FOLDER) {
        tn_fail(err, TN_INVALID, "this is no folder, so that it cannot be a root: import it instead");
        tn_error_at_file(err, path->bytes);
        return TN_INVALID;
    }
    TN_TRY(tn_library_begin(library, err));
    return tn_library_end(library, add_inside(library, path, &info, err), err);
}

static tn_status remove_inside(tn_library *library, const tn_buffer *path, tn_error *err)
{
    TN_TRY(run_with_path(library, TN_QUERY_ROOT_DROP, path, NULL, err));
    if (sqlite3_changes(library->db.handle) > 0)
        return TN_OK;
    tn_fail(err, TN_NOT_FOUND, "this folder is no root: `tenure roots` lists them");
    tn_error_at_file(err, path->bytes);
    return TN_NOT_FOUND;
}

static tn_status drop(tn_library *library, const tn_buffer *path, tn_error *err)
{
    TN_TRY(tn_library_begin(library, err));
    return tn_library_end(library, remove_inside(library, path, err), err);
}

static tn_status with_absolute(tn_library *library, const char *path,
                               tn_status (*work)(tn_library *library, const tn_buffer *path, tn_error *err),
                               tn_error *err)
{
    tn_buffer absolute;
    TN_TRY(tn_context_check(library->context, err));
    tn_buffer_init(&absolute, library->memory, TN_PLACE_PATH_MAX);
    tn_status status = path[0] == '\0' ? tn_fail(err, TN_BAD_PATH, "an empty path was named")
                                       : tn_os_absolute_path(path, &absolute, err);
    if (status == TN_OK)
        status = work(library, &absolute, err);
    tn_buffer_free(&absolute);
    return status;
}

tn_status tn_library_root_add(tn_library *library, const char *path, tn_error *err)
{
    return with_absolute(library, path, add, err);
}

tn_status tn_library_root_remove(tn_library *library, const char *path, tn_error *err)
{
    return with_absolute(library, path, drop, err);
}

/* ---- scan ---- */

/* Each path that was named is a root or lies below one. */
static tn_status check_named(const tn_root_rows *rows, const char *path, tn_error *err)
{
    for (size_t i = 0; i < rows->count; i++)
        if (tn_place_is_below(path, strlen(path), rows->rows[i].path.bytes, rows->rows[i].path.size))
            return TN_OK;
    tn_fail(err, TN_NOT_FOUND, "this is no root and lies below none: import it first");
    tn_error_at_file(err, path);
    return TN_NOT_FOUND;
}

static tn_status take_named(tn_root_rows *rows, const char *const *named, size_t count, const char **paths,
                            tn_error *err)
{
    tn_buffer absolute;
    tn_buffer_init(&absolute, rows->memory, TN_PLACE_PATH_MAX);
    tn_status status = TN_OK;
    for (size_t i = 0; i < count && status == TN_OK; i++) {
        tn_buffer_clear(&absolute);
        status = tn_os_absolute_path(named[i], &absolute, err);
        if (status == TN_OK)
            status = check_named(rows, absolute.bytes, err);
        if (status != TN_OK)
            break;
        paths[i] = tn_arena_text(&rows->arena, absolute.bytes, absolute.size).bytes;
        status = tn_arena_status(&rows->arena, err);
    }
    tn_buffer_free(&absolute);
    return status;
}

static tn_status scan_rows(tn_library *library, tn_root_rows *rows, const char *const *named, size_t count,
                           const tn_import_options *options, tn_import_summary **out, tn_error *err)
{
    size_t all = count != 0 ? count : rows->count;
    const char **paths = tn_arena_take_array(&rows->arena, all, sizeof *paths);
    TN_TRY(tn_arena_status(&rows->arena, err));
    for (size_t i = 0; i < all && count == 0; i++)
        paths[i] = rows->rows[i].path.bytes;
    if (count != 0)
        TN_TRY(take_named(rows, named, count, paths, err));
    return tn_import_scan(library, paths, all, count == 0, options, out, err);
}

tn_status tn_library_scan(tn_library *library, const char *const *roots, size_t count,
                          const tn_import_options *options, tn_import_summary **out, tn_error *err)
{
    tn_root_rows rows;
    TN_TRY(tn_context_check(library->context, err));
    tn_root_rows_init(&rows, library);
    tn_status status = tn_root_rows_load(&rows, library, err);
    if (status == TN_OK)
        status = scan_rows(library, &rows, roots, count, options, out, err);
    tn_root_rows_free(&rows);
    return status;
}
