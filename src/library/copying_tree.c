/* A folder copied, compared or removed, item by item. Without recursion: the list grows while it is walked. */
#include "library/copying.h"

#include <string.h>

#include "library/place.h"
#include "library/scan.h"

#define ARENA_MAX ((size_t)1 << 32) /* bytes; the budget refuses long before */

/* ---- listing ---- */

/* root, a separator and the path below it; the root itself for an empty one. */
static tn_status path_of(tn_buffer *out, const char *root, tn_text below, tn_error *err)
{
    tn_buffer_clear(out);
    if (below.size == 0) {
        tn_buffer_text(out, root);
    } else {
        tn_place_below(out, root, strlen(root));
        tn_buffer_append(out, below.bytes, below.size);
    }
    return tn_buffer_status(out, err);
}

static tn_status add_item(tn_tree *tree, tn_text folder, char separator, const tn_os_entry *entry, tn_error *err)
{
    void *items = tree->items;
    TN_TRY(tn_make_room(&tree->context->memory, &items, &tree->capacity, tree->count, sizeof *tree->items, 64, err));
    tree->items = items;
    tn_text below = folder.size == 0
                        ? tn_arena_text(&tree->arena, entry->name, strlen(entry->name))
                        : tn_arena_format(&tree->arena, "%s%c%s", folder.bytes, separator, entry->name);
    if (below.bytes == NULL)
        return tn_arena_status(&tree->arena, err);
    tree->items[tree->count++] = (tn_tree_item){.below = below, .kind = entry->kind};
    return TN_OK;
}

static tn_status list_folder(tn_tree *tree, const char *path, tn_text below, tn_error *err)
{
    tn_os_folder *folder = NULL;
    TN_TRY(tn_os_folder_open(&tree->context->memory, path, &folder, err));
    tn_status status = TN_OK;
    for (bool more = true; more && status == TN_OK;) {
        tn_os_entry entry;
        status = tn_os_folder_next(folder, &entry, &more, err);
        if (status == TN_OK && more)
            status = add_item(tree, below, tn_place_separator(path), &entry, err);
    }
    tn_os_folder_close(folder);
    return status;
}

static tn_status look_at(tn_tree *tree, tn_tree_item *item, const char *path, bool follow, tn_error *err)
{
    tn_os_info info, behind;
    TN_TRY(tn_os_info_at(path, false, &info, err));
    if (follow && info.kind == TN_OS_LINK && tn_os_info_at(path, true, &behind, NULL) == TN_OK &&
        behind.kind == TN_OS_REGULAR)
        info = behind;
    item->kind = info.kind;
    item->size = info.kind == TN_OS_REGULAR ? info.size : 0;
    item->stored_bytes = info.kind == TN_OS_REGULAR && info.stored_bytes < info.size ? info.stored_bytes : item->size;
    item->mtime_ns = info.mtime_ns;
    tree->size += item->size;
    tree->stored_bytes += item->stored_bytes;
    return TN_OK;
}

static unsigned depth_of(tn_text below, char separator)
{
    unsigned depth = 1;
    for (size_t i = 0; i < below.size; i++)
        depth += below.bytes[i] == separator;
    return depth;
}

static tn_status list_all(tn_tree *tree, const char *root, bool follow, tn_buffer *path, tn_error *err)
{
    TN_TRY(list_folder(tree, root, (tn_text){"", 0}, err));
    for (size_t i = 0; i < tree->count; i++) {
        TN_TRY(path_of(path, root, tree->items[i].below, err));
        TN_TRY(look_at(tree, &tree->items[i], path->bytes, follow, err));
        if (tree->items[i].kind != TN_OS_FOLDER)
            continue;
        if (depth_of(tree->items[i].below, tn_place_separator(root)) > TN_SCAN_DEPTH_MAX)
            return tn_fail(err, TN_LIMIT, "the folder is more than %d folders deep", TN_SCAN_DEPTH_MAX);
        TN_TRY(list_folder(tree, path->bytes, tree->items[i].below, err));
    }
    return TN_OK;
}

tn_status tn_tree_list(tn_context *context, const char *root, bool follow, tn_tree *out, tn_error *err)
{
    tn_buffer path;
    *out = (tn_tree){.context = context};
    tn_arena_init(&out->arena, &context->memory, ARENA_MAX);
    tn_buffer_init(&path, &context->memory, TN_PLACE_PATH_MAX);
    tn_status status = list_all(out, root, follow, &path, err);
    tn_buffer_free(&path);
    return status;
}

void tn_tree_free(tn_tree *tree)
{
    if (tree->context == NULL)
        return;
    tn_arena_free(&tree->arena);
    tn_give(&tree->context->memory, tree->items, tree->capacity * sizeof *tree->items);
    *tree = (tn_tree){.context = tree->context};
}

/* ---- a pair of paths ---- */

typedef struct pair {
    tn_buffer from, to;
} pair;

static void pair_init(pair *p, tn_context *context)
{
    tn_buffer_init(&p->from, &context->memory, TN_PLACE_PATH_MAX);
    tn_buffer_init(&p->to, &context->memory, TN_PLACE_PATH_MAX);
}

static void pair_free(pair *p)
{
    tn_buffer_free(&p->from);
    tn_buffer_free(&p->to);
}

static tn_status pair_at(pair *p, const char *from, const char *to, const tn_tree_item *item, tn_error *err)
{
    TN_TRY(path_of(&p->from, from, item->below, err));
    return path_of(&p->to, to, item->below, err);
}

/* ---- copying ---- */

static tn_status copy_link(tn_context *context, const char *from, const char *to, tn_error *err)
{
    tn_buffer leads;
    tn_buffer_init(&leads, &context->memory, TN_PLACE_PATH_MAX);
    tn_status status = tn_os_read_link(from, &leads, err);
    if (status == TN_OK)
        status = tn_os_make_link(to, leads.bytes != NULL ? leads.bytes : "", err);
    tn_buffer_free(&leads);
    return status;
}

static tn_status copy_item(const tn_copying *copying, const tn_tree_item *item, const pair *p, tn_error *err)
{
    switch (item->kind) {
    case TN_OS_FOLDER:
        return tn_os_make_folder(p->to.bytes, err);
    case TN_OS_REGULAR:
        return tn_copying_file(copying, p->from.bytes, p->to.bytes, item->size, item->mtime_ns, err);
    case TN_OS_LINK:
        return copy_link(copying->context, p->from.bytes, p->to.bytes, err);
    case TN_OS_OTHER:
        break;
    }
    tn_fail(err, TN_UNSUPPORTED, "a pipe, socket or device lies in the folder and cannot be copied");
    tn_error_at_file(err, p->from.bytes);
    return TN_UNSUPPORTED;
}

static tn_status copy_all(const tn_copying *copying, const tn_tree *tree, const char *root, const char *to, pair *p,
                          tn_error *err)
{
    for (size_t i = 0; i < tree->count; i++) {
        TN_TRY(pair_at(p, root, to, &tree->items[i], err));
        TN_TRY(copy_item(copying, &tree->items[i], p, err));
    }
    for (size_t i = tree->count; i-- > 0;) {
        if (tree->items[i].kind != TN_OS_FOLDER)
            continue;
        TN_TRY(pair_at(p, root, to, &tree->items[i], err));
        TN_TRY(tn_os_sync_folder(p->to.bytes, err));
    }
    return tn_os_sync_folder(to, err);
}

tn_status tn_tree_copy(const tn_copying *copying, const tn_tree *tree, const char *root, const char *to, tn_error *err)
{
    pair p;
    TN_TRY(tn_os_make_folder(to, err));
    pair_init(&p, copying->context);
    tn_status status = copy_all(copying, tree, root, to, &p, err);
    pair_free(&p);
    if (status != TN_OK)
        (void)tn_tree_drop(copying->context, to, NULL);
    return status;
}

/* ---- links that lead out ---- */

/* A relative link, taken from its folder as text. */
static tn_status leads_out(tn_context *context, const char *root, const char *path, bool *out, tn_error *err)
{
    tn_buffer leads, whole;
    tn_buffer_init(&leads, &context->memory, TN_PLACE_PATH_MAX);
    tn_buffer_init(&whole, &context->memory, 2 * TN_PLACE_PATH_MAX);
    tn_status status = tn_os_read_link(path, &leads, err);
    *out = false;
    if (status == TN_OK && leads.size > 0 && leads.bytes[0] != '/') {
        tn_buffer_append(&whole, path, tn_place_folder(path, strlen(path)));
        tn_buffer_text(&whole, "/");
        tn_buffer_append(&whole, leads.bytes, leads.size);
        tn_buffer_clear(&leads);
        status = tn_buffer_status(&whole, err);
        if (status == TN_OK)
            status = tn_os_absolute_path(whole.bytes, &leads, err);
        size_t size = strlen(root);
        *out = status == TN_OK && (leads.size < size || memcmp(leads.bytes, root, size) != 0 || leads.bytes[size] != '/');
    }
    tn_buffer_free(&leads);
    tn_buffer_free(&whole);
    return status;
}

tn_status tn_tree_link_out(const tn_tree *tree, const char *root, const tn_tree_item **out, tn_error *err)
{
    tn_buffer path;
    bool found = false;
    tn_status status = TN_OK;
    *out = NULL;
    tn_buffer_init(&path, &tree->context->memory, TN_PLACE_PATH_MAX);
    for (size_t i = 0; i < tree->count && status == TN_OK && !found; i++) {
        if (tree->items[i].kind != TN_OS_LINK)
            continue;
        status = path_of(&path, root, tree->items[i].below, err);
        if (status == TN_OK)
            status = leads_out(tree->context, root, path.bytes, &found, err);
        if (status == TN_OK && found)
            *out = &tree->items[i];
    }
    tn_buffer_free(&path);
    return status;
}

/* ---- removing ---- */

/* What is gone already is as good as removed; a folder with something in it stays. */
static tn_status remove_item(const tn_tree_item *item, const char *path, tn_error *err)
{
    tn_os_info now;
    tn_error found;
    tn_status status = tn_os_info_at(path, false, &now, &found);
    if (status == TN_OK && !tn_copying_unchanged(item->kind, item->size, item->mtime_ns, &now))
        return TN_OK;
    if (status == TN_OK)
        status = item->kind == TN_OS_FOLDER ? tn_os_remove_folder(path, &found) : tn_os_remove(path, &found);
    if (status == TN_OK || status == TN_NOT_FOUND || (status == TN_EXISTS && item->kind == TN_OS_FOLDER))
        return TN_OK;
    return tn_fail_as(&found, err);
}

tn_status tn_tree_remove(const tn_tree *tree, const char *root, tn_error *err)
{
    tn_buffer path;
    const tn_tree_item itself = {.below = {"", 0}, .kind = TN_OS_FOLDER};
    tn_status status = TN_OK;
    tn_buffer_init(&path, &tree->context->memory, TN_PLACE_PATH_MAX);
    for (size_t i = tree->count; i-- > 0 && status == TN_OK;) {
        status = path_of(&path, root, tree->items[i].below, err);
        if (status == TN_OK)
            status = remove_item(&tree->items[i], path.bytes, err);
    }
    tn_buffer_free(&path);
    return status == TN_OK ? remove_item(&itself, root, err) : status;
}

tn_status tn_tree_drop(tn_context *context, const char *root, tn_error *err)
{
    tn_tree tree;
    tn_os_info info;
    tn_error found;
    tn_status status = tn_os_info_at(root, false, &info, &found);
    if (status == TN_NOT_FOUND)
        return TN_OK;
    if (status != TN_OK)
        return tn_fail_as(&found, err);
    if (info.kind != TN_OS_FOLDER)
        return tn_os_remove(root, err);
    status = tn_tree_list(context, root, false, &tree, err);
    if (status == TN_OK)
        status = tn_tree_remove(&tree, root, err);
    tn_tree_free(&tree);
    return status;
}

/* ---- comparing ---- */

static tn_status same_item(const tn_copying *copying, const tn_tree_item *item, const pair *p, bool bytes, bool *same,
                           tn_error *err)
{
    tn_os_info now;
    bool follow = copying->follow && item->kind == TN_OS_REGULAR;
    *same = tn_os_info_at(p->to.bytes, follow, &now, NULL) == TN_OK && now.kind == item->kind;
    if (!*same || item->kind != TN_OS_REGULAR)
        return TN_OK;
    *same = now.size == item->size;
    return *same && bytes ? tn_copying_same(copying, p->from.bytes, p->to.bytes, same, err) : TN_OK;
}

tn_status tn_tree_same(const tn_copying *copying, const tn_tree *tree, const char *tree_root, const char *root, bool bytes,
                       bool *same, tn_error *err)
{
    pair p;
    pair_init(&p, copying->context);
    tn_status status = TN_OK;
    *same = true;
    for (size_t i = 0; i < tree->count && status == TN_OK && *same; i++) {
        status = pair_at(&p, tree_root, root, &tree->items[i], err);
        if (status == TN_OK)
            status = same_item(copying, &tree->items[i], &p, bytes, same, err);
    }
    pair_free(&p);
    return status;
}
