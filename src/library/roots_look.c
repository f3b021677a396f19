/* Which of the roots that an import has to do with are here. One whose folder is not there is away, or whose file system
 * does not answer, and so is an empty folder on another disk than the root was on: a mount point whose disk is not plugged
 * in. */
#include <string.h>

#include "library/import_inside.h"
#include "library/place.h"
#include "library/roots.h"

static tn_status add(tn_import *import, tn_import_root root, tn_error *err)
{
    void *items = import->roots;
    root.path = tn_arena_text(&import->arena, root.path.bytes, root.path.size);
    if (root.path.bytes == NULL)
        return tn_arena_status(&import->arena, err);
    TN_TRY(tn_make_room(import->library->memory, &items, &import->root_capacity, import->root_count, sizeof root, 16,
                        err));
    import->roots = items;
    import->roots[import->root_count++] = root;
    return TN_OK;
}

static bool text_is_below(tn_text path, tn_text folder)
{
    return tn_place_is_below(path.bytes, path.size, folder.bytes, folder.size);
}

static tn_text named(const tn_import *import, size_t i)
{
    return (tn_text){import->paths[i], strlen(import->paths[i])};
}

static bool concerns(const tn_import *import, tn_text root)
{
    for (size_t i = 0; i < import->path_count; i++)
        if (text_is_below(root, named(import, i)) || text_is_below(named(import, i), root))
            return true;
    return false;
}

/* The roots that the paths of this import lie below, or that lie below them. */
static tn_status load(tn_import *import, tn_error *err)
{
    tn_root_rows rows;
    tn_root_rows_init(&rows, import->library);
    tn_status status = tn_root_rows_load(&rows, import->library, err);
    for (size_t i = 0; i < rows.count && status == TN_OK; i++) {
        const tn_root_row *row = &rows.rows[i];
        if (concerns(import, row->path))
            status = add(import, (tn_import_root){.path = row->path, .has_device = row->has_device, .was_on = row->device},
                         err);
    }
    tn_root_rows_free(&rows);
    return status;
}

static bool is_loaded(const tn_import *import, tn_text path)
{
    for (size_t i = 0; i < import->root_count; i++)
        if (import->roots[i].path.size == path.size && memcmp(import->roots[i].path.bytes, path.bytes, path.size) == 0)
            return true;
    return false;
}

/* A folder that is named is a root from now on, unless this is a scan of roots. */
static tn_status add_named(tn_import *import, tn_error *err)
{
    for (size_t i = 0; i < import->path_count && !import->scan; i++) {
        tn_os_info info;
        if (tn_os_info_at(import->paths[i], true, &info, NULL) == TN_OK && info.kind == TN_OS_FOLDER &&
            !is_loaded(import, named(import, i)))
            TN_TRY(add(import, (tn_import_root){.path = named(import, i)}, err));
    }
    return TN_OK;
}

/* ---- the mount point without its disk ---- */

static bool is_walked(const tn_import *import, tn_text root)
{
    for (size_t i = 0; i < import->path_count; i++)
        if (text_is_below(root, named(import, i)))
            return true;
    return false;
}

static bool anything_found_below(const tn_import *import, tn_text root)
{
    for (size_t i = 0; i < import->item_count; i++)
        if (text_is_below((tn_text){import->items[i].claim.path, import->items[i].claim.path_size}, root))
            return true;
    return false;
}

/* What is known below the root: was anything of it seen, was anything there, was any of it on this disk? */
typedef struct known_below {
    bool seen, there, on_this_disk;
} known_below;

static known_below look_at_known(const tn_import *import, const tn_import_root *root)
{
    known_below found = {false, false, false};
    for (size_t i = 0; i < import->known.count; i++) {
        const tn_known_file *file = &import->known.files[i];
        if (!text_is_below((tn_text){file->path, file->path_size}, root->path))
            continue;
        found.seen = found.seen || file->seen;
        found.there = found.there || file->present || file->offline;
        found.on_this_disk = found.on_this_disk || file->device == root->device;
    }
    return found;
}

/* Before the first look that kept the root's own disk, the disks of its files speak for it. */
static bool is_without_disk(const tn_import *import, const tn_import_root *root)
{
    if ((root->has_device && root->device == root->was_on) || !is_walked(import, root->path) ||
        anything_found_below(import, root->path))
        return false;
    known_below found = look_at_known(import, root);
    return found.there && !found.seen && (root->has_device || !found.on_this_disk);
}

static void look(tn_import *import, tn_import_root *root)
{
    tn_os_info info;
    tn_status status = tn_root_look(import->library->memory, root->path.bytes, &info);
    root->state = TN_ROOT_UNKNOWN;
    if (tn_root_is_gone(status, &info)) {
        root->state = TN_ROOT_AWAY;
        return;
    }
    if (status != TN_OK)
        return;
    root->device = info.device;
    if (is_without_disk(import, root))
        root->state = TN_ROOT_AWAY;
    else if (is_walked(import, root->path) || (root->has_device && root->device == root->was_on))
        root->state = TN_ROOT_HERE;
}

tn_status tn_import_look_at_roots(tn_import *import, tn_error *err)
{
    TN_TRY(load(import, err));
    TN_TRY(add_named(import, err));
    for (size_t i = 0; i < import->root_count; i++)
        look(import, &import->roots[i]);
    return TN_OK;
}

/* ---- what is written ---- */

static tn_status put_root(tn_import *import, const tn_import_root *root, tn_error *err)
{
    tn_db *db = &import->library->db;
    tn_sql s = tn_sql_start(db, TN_QUERY_ROOT_PUT);
    tn_sql_blob(&s, root->path.bytes, root->path.size);
    tn_sql_int(&s, tn_os_wall_ns());
    TN_TRY(tn_sql_run(&s, err));
    if (root->state == TN_ROOT_UNKNOWN)
        return TN_OK;
    bool away = root->state == TN_ROOT_AWAY;
    s = tn_sql_start(db, away ? TN_QUERY_ROOT_AWAY : TN_QUERY_ROOT_SEEN);
    tn_sql_blob(&s, root->path.bytes, root->path.size);
    tn_sql_int(&s, away ? tn_os_wall_ns() : (int64_t)root->device);
    return tn_sql_run(&s, err);
}

tn_status tn_import_put_roots(tn_import *import, tn_error *err)
{
    for (size_t i = 0; i < import->root_count; i++)
        TN_TRY(put_root(import, &import->roots[i], err));
    return TN_OK;
}
