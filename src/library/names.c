/* The names of one folder. A listing that breaks off is not used at all: half of a set or of a model's folder would be
 * taken for something else. The folder is counted as unreadable. */
#include "library/walk.h"

#include <stdlib.h>
#include <string.h>

#include "library/place.h"

#define NAMES_MAX ((size_t)1 << 31) /* bytes of names in one folder; the budget refuses long before */

/* Failures that are this process's own, not the folder's. */
static bool is_ours(tn_status status)
{
    return tn_status_is_of_process(status) || status == TN_OVERFLOW;
}

static tn_status not_listed(tn_walk *walk, const char *path, const tn_error *found, tn_error *err)
{
    if (is_ours(found->status))
        return tn_fail_as(found, err);
    if (found->status != TN_NOT_FOUND)
        return tn_walk_unreadable(walk, path, found->message, err);
    walk->counts.vanished++;
    return TN_OK;
}

static tn_status make_room(tn_walk *walk, tn_names *names, tn_error *err)
{
    void *items = names->items;
    TN_TRY(tn_make_room(&walk->context->memory, &items, &names->capacity, names->count, sizeof *names->items, 64, err));
    names->items = items;
    return TN_OK;
}

/* What a link leads to. One that leads nowhere, or to a device, is no name worth keeping. */
static bool follow(tn_names *names, tn_name *name)
{
    const char *path = tn_names_path(names, name);
    tn_os_info info;
    if (path == NULL || tn_os_info_at(path, true, &info, NULL) != TN_OK)
        return false;
    name->folder = info.kind == TN_OS_FOLDER;
    return name->folder || info.kind == TN_OS_REGULAR;
}

static tn_status keep(tn_walk *walk, tn_names *names, const tn_os_entry *entry, tn_error *err)
{
    if (entry->name[0] == '.' || entry->kind == TN_OS_OTHER)
        return TN_OK;
    tn_text text = tn_arena_text(&names->arena, entry->name, strlen(entry->name));
    if (text.bytes == NULL)
        return tn_arena_status(&names->arena, err);
    tn_name name = {text.bytes, text.size, entry->kind == TN_OS_FOLDER, entry->kind == TN_OS_LINK, false};
    if (name.link && !follow(names, &name)) {
        walk->counts.links_dangling++;
        return TN_OK;
    }
    TN_TRY(make_room(walk, names, err));
    names->items[names->count++] = name;
    return TN_OK;
}

static tn_status keep_all(tn_walk *walk, tn_names *names, tn_os_folder *folder, const char *path, tn_error *err)
{
    for (;;) {
        tn_os_entry entry;
        bool more = false;
        tn_error found;
        tn_status status = tn_os_folder_next(folder, &entry, &more, &found);
        if (status != TN_OK) {
            names->count = 0;
            return not_listed(walk, path, &found, err);
        }
        if (!more)
            return TN_OK;
        if (names->count % 1024 == 0)
            TN_TRY(tn_context_check(walk->context, err));
        TN_TRY(keep(walk, names, &entry, err));
    }
}

static int compare(const void *a, const void *b)
{
    const tn_name *x = a, *y = b;
    size_t size = x->size < y->size ? x->size : y->size;
    int order = memcmp(x->bytes, y->bytes, size);
    if (order != 0)
        return order;
    return x->size < y->size ? -1 : x->size > y->size;
}

tn_status tn_names_list(tn_walk *walk, const tn_walk_folder *folder, tn_names *out, tn_error *err)
{
    tn_names names = {.items = NULL};
    tn_arena_init(&names.arena, &walk->context->memory, NAMES_MAX);
    tn_buffer_init(&names.path, &walk->context->memory, TN_PLACE_PATH_MAX);
    tn_place_below(&names.path, folder->path, folder->size);
    names.prefix = names.path.size;
    tn_error found;
    tn_os_folder *listing = NULL;
    tn_status status = tn_buffer_status(&names.path, err);
    if (status == TN_OK) {
        status = tn_os_folder_open(&walk->context->memory, folder->path, &listing, &found);
        status = status == TN_OK ? keep_all(walk, &names, listing, folder->path, err)
                                 : not_listed(walk, folder->path, &found, err);
    }
    tn_os_folder_close(listing);
    if (status != TN_OK) {
        tn_names_free(walk, &names);
        return status;
    }
    if (names.count > 1)
        qsort(names.items, names.count, sizeof *names.items, compare);
    *out = names;
    return TN_OK;
}

void tn_names_free(tn_walk *walk, tn_names *names)
{
    tn_arena_free(&names->arena);
    tn_buffer_free(&names->path);
    tn_give(&walk->context->memory, names->items, names->capacity * sizeof *names->items);
}

const char *tn_names_path(tn_names *names, const tn_name *name)
{
    if (names->path.failed != TN_OK)
        tn_buffer_clear(&names->path);
    names->path.size = names->prefix;
    tn_buffer_append(&names->path, name->bytes, name->size);
    return names->path.failed == TN_OK ? names->path.bytes : NULL;
}

tn_name *tn_names_find(tn_names *names, const char *bytes, size_t size)
{
    tn_name key = {bytes, size, false, false, false};
    return names->count > 0 ? bsearch(&key, names->items, names->count, sizeof key, compare) : NULL;
}
