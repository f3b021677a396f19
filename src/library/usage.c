/* Where the bytes are: the folders below each root, or sums by base and type.
 *
 *   U1  A file counts once, at its first path in the order of bytes, however many paths and hard links lead to it. Where
 *       file ids are not to be trusted each path is a file of its own.
 *   U2  What a folder has is counted in it and in every folder above it up to its root.
 */
#include <stdlib.h>
#include <string.h>

#include "core/map.h"
#include "library/inside.h"
#include "library/place.h"

typedef struct path_row {
    tn_text path;
    uint64_t size;
    bool model; /* counts a model, not bytes */
} path_row;

typedef struct node {
    tn_usage usage;
    size_t parent; /* SIZE_MAX: a root */
} node;

typedef struct tree {
    tn_library *library;
    tn_arena arena;  /* of paths and keys */
    path_row *rows;
    size_t row_count, row_capacity;
    tn_text *roots;
    size_t root_count, root_capacity;
    node *nodes;
    size_t node_count, node_capacity;
    tn_map files;    /* device and file id */
    tn_map by_path;  /* folder to its node */
} tree;

/* ---- from the library ---- */

static tn_status keep_path(tree *t, const tn_sql *s, tn_text *out, tn_error *err)
{
    tn_text path = tn_sql_get(s, 0);
    *out = tn_arena_text(&t->arena, path.bytes, path.size);
    return tn_arena_status(&t->arena, err);
}

static tn_status add_row(tree *t, const tn_sql *s, bool model, tn_error *err)
{
    path_row row = {.model = model, .size = model ? 0 : (uint64_t)tn_sql_get_int(s, 1)};
    void *rows = t->rows;
    TN_TRY(keep_path(t, s, &row.path, err));
    TN_TRY(tn_make_room(t->library->memory, &rows, &t->row_capacity, t->row_count, sizeof *t->rows, 256, err));
    t->rows = rows;
    t->rows[t->row_count++] = row;
    return TN_OK;
}

/* Whether another path of the same file came before. */
static tn_status is_seen(tree *t, const tn_sql *s, bool *out, tn_error *err)
{
    static const char nobody[16];
    tn_text id = tn_sql_get(s, 3);
    int64_t device = tn_sql_get_int(s, 2);
    bool fresh = true;
    *out = false;
    if (tn_sql_get_int(s, 4) != 0 || id.size != sizeof nobody || memcmp(id.bytes, nobody, sizeof nobody) == 0)
        return TN_OK;
    char *key = tn_arena_take(&t->arena, sizeof device + sizeof nobody);
    if (key == NULL)
        return tn_arena_status(&t->arena, err);
    memcpy(key, &device, sizeof device);
    memcpy(key + sizeof device, id.bytes, id.size);
    TN_TRY(tn_map_put(&t->files, key, sizeof device + sizeof nobody, 0, &fresh, NULL, err));
    *out = !fresh;
    return TN_OK;
}

static tn_status take_file(tree *t, const tn_sql *s, tn_error *err)
{
    bool seen = false;
    TN_TRY(is_seen(t, s, &seen, err));
    return seen ? TN_OK : add_row(t, s, false, err);
}

static tn_status take_model(tree *t, const tn_sql *s, tn_error *err)
{
    return add_row(t, s, true, err);
}

static tn_status take_root(tree *t, const tn_sql *s, tn_error *err)
{
    void *roots = t->roots;
    TN_TRY(tn_make_room(t->library->memory, &roots, &t->root_capacity, t->root_count, sizeof *t->roots, 8, err));
    t->roots = roots;
    TN_TRY(keep_path(t, s, &t->roots[t->root_count], err));
    t->root_count++;
    return TN_OK;
}

static tn_status each_row(tree *t, tn_query query, tn_status (*take)(tree *t, const tn_sql *s, tn_error *err),
                          tn_error *err)
{
    tn_sql s = tn_sql_start(&t->library->db, query);
    for (;;) {
        bool more = false;
        TN_TRY(tn_sql_row(&s, &more, err));
        if (!more)
            return TN_OK;
        tn_status status = take(t, &s, err);
        if (status != TN_OK) {
            tn_sql_end(&s);
            return status;
        }
    }
}

static tn_status read_library(tree *t, tn_error *err)
{
    TN_TRY(each_row(t, TN_QUERY_USAGE_ROOTS, take_root, err));
    TN_TRY(each_row(t, TN_QUERY_USAGE_FILES, take_file, err));
    return each_row(t, TN_QUERY_USAGE_MODELS, take_model, err);
}

/* ---- the tree ---- */

static bool is_below(tn_text path, tn_text folder)
{
    if (path.size < folder.size || memcmp(path.bytes, folder.bytes, folder.size) != 0)
        return false;
    if (path.size == folder.size)
        return true;
    char separator = tn_place_separator(folder.bytes);
    return folder.bytes[folder.size - 1] == separator || path.bytes[folder.size] == separator;
}

/* How much of a path is the root it lies below: the outermost. Outside of all its own folder is one. */
static size_t root_size(const tree *t, tn_text path)
{
    for (size_t i = 0; i < t->root_count; i++) /* in order, so that an outer one comes first */
        if (is_below(path, t->roots[i]))
            return t->roots[i].size;
    return tn_place_folder(path.bytes, path.size);
}

static tn_status add_node(tree *t, tn_text folder, size_t parent, size_t *out, tn_error *err)
{
    void *nodes = t->nodes;
    unsigned depth = parent == SIZE_MAX ? 0 : t->nodes[parent].usage.depth + 1;
    TN_TRY(tn_make_room(t->library->memory, &nodes, &t->node_capacity, t->node_count, sizeof *t->nodes, 64, err));
    t->nodes = nodes;
    tn_text kept = tn_arena_text(&t->arena, folder.bytes, folder.size);
    if (kept.bytes == NULL)
        return tn_arena_status(&t->arena, err);
    TN_TRY(tn_map_put(&t->by_path, kept.bytes, kept.size, t->node_count, NULL, NULL, err));
    t->nodes[t->node_count] = (node){{.path = kept, .depth = depth}, parent};
    *out = t->node_count++;
    return TN_OK;
}

/* The node of a path's folder, made with all above it that are not there. */
static tn_status node_of(tree *t, tn_text path, size_t *out, tn_error *err)
{
    size_t end = tn_place_folder(path.bytes, path.size), at = root_size(t, path), parent = SIZE_MAX;
    char separator = tn_place_separator(path.bytes);
    for (;;) {
        uint64_t known = 0;
        if (tn_map_get(&t->by_path, path.bytes, at, &known))
            parent = (size_t)known;
        else
            TN_TRY(add_node(t, (tn_text){path.bytes, at}, parent, &parent, err));
        if (at >= end)
            break;
        for (at += at > 0 && path.bytes[at - 1] == separator ? 0 : 1; at < end && path.bytes[at] != separator;)
            at++;
    }
    *out = parent;
    return TN_OK;
}

static void add_up(tree *t, size_t at, const path_row *row, uint64_t stored)
{
    for (; at != SIZE_MAX; at = t->nodes[at].parent) {
        tn_usage *usage = &t->nodes[at].usage;
        usage->models += row->model;
        usage->bytes += row->size;
        if (stored == TN_NONE)
            usage->stored_bytes = TN_NONE;
        else
            usage->stored_bytes += stored;
    }
}

/* What a file takes on the disk; its size where the disk does not say. */
static uint64_t stored_of(const path_row *row)
{
    tn_os_info info;
    if (row->model)
        return 0;
    return tn_os_info_at(row->path.bytes, true, &info, NULL) == TN_OK ? info.stored_bytes : row->size;
}

static tn_status grow(tree *t, bool disk, tn_error *err)
{
    for (size_t i = 0; i < t->row_count; i++) {
        size_t at = 0;
        if (i % 256 == 0)
            TN_TRY(tn_context_check(t->library->context, err));
        TN_TRY(node_of(t, t->rows[i].path, &at, err));
        add_up(t, at, &t->rows[i], disk ? stored_of(&t->rows[i]) : TN_NONE);
    }
    return TN_OK;
}

/* Paths in the order of a walk: what is below a folder comes before its neighbours. */
static int walk_order(const void *left, const void *right)
{
    tn_text a = ((const node *)left)->usage.path, b = ((const node *)right)->usage.path;
    size_t i = 0;
    while (i < a.size && i < b.size && a.bytes[i] == b.bytes[i])
        i++;
    if (i == a.size || i == b.size)
        return a.size < b.size ? -1 : a.size > b.size;
    char separator = tn_place_separator(a.bytes);
    if (a.bytes[i] == separator || b.bytes[i] == separator)
        return a.bytes[i] == separator ? -1 : 1;
    return (unsigned char)a.bytes[i] < (unsigned char)b.bytes[i] ? -1 : 1;
}

static void free_tree(tree *t)
{
    tn_memory_source *memory = t->library->memory;
    tn_map_free(&t->files);
    tn_map_free(&t->by_path);
    tn_give(memory, t->rows, t->row_capacity * sizeof *t->rows);
    tn_give(memory, t->roots, t->root_capacity * sizeof *t->roots);
    tn_give(memory, t->nodes, t->node_capacity * sizeof *t->nodes);
    tn_arena_free(&t->arena);
}

static tn_status by_folder(tn_library *library, bool disk, bool (*each)(void *user, const tn_usage *usage), void *user,
                           tn_error *err)
{
    tree t = {.library = library};
    tn_arena_init(&t.arena, library->memory, SIZE_MAX);
    tn_map_init(&t.files, library->memory);
    tn_map_init(&t.by_path, library->memory);
    tn_library_lock(library);
    tn_status status = read_library(&t, err);
    tn_library_unlock(library);
    if (status == TN_OK)
        status = grow(&t, disk, err);
    if (status == TN_OK && t.node_count > 1)
        qsort(t.nodes, t.node_count, sizeof *t.nodes, walk_order);
    for (size_t i = 0; status == TN_OK && i < t.node_count; i++)
        if (!each(user, &t.nodes[i].usage))
            break;
    free_tree(&t);
    return status;
}

/* ---- by base or type ---- */

static tn_status take_sum(tree *t, const tn_sql *s, tn_error *err)
{
    void *nodes = t->nodes;
    tn_usage usage = {.models = (uint64_t)tn_sql_get_int(s, 1), .bytes = (uint64_t)tn_sql_get_int(s, 2),
                      .stored_bytes = TN_NONE};
    TN_TRY(keep_path(t, s, &usage.path, err));
    TN_TRY(tn_make_room(t->library->memory, &nodes, &t->node_capacity, t->node_count, sizeof *t->nodes, 32, err));
    t->nodes = nodes;
    t->nodes[t->node_count++] = (node){usage, SIZE_MAX};
    return TN_OK;
}

static tn_status by_word(tn_library *library, tn_query query, bool (*each)(void *user, const tn_usage *usage),
                         void *user, tn_error *err)
{
    tree t = {.library = library};
    tn_arena_init(&t.arena, library->memory, SIZE_MAX);
    tn_map_init(&t.files, library->memory);
    tn_map_init(&t.by_path, library->memory);
    tn_library_lock(library);
    tn_status status = each_row(&t, query, take_sum, err);
    tn_library_unlock(library);
    for (size_t i = 0; status == TN_OK && i < t.node_count; i++)
        if (!each(user, &t.nodes[i].usage))
            break;
    free_tree(&t);
    return status;
}

tn_status tn_library_usage(tn_library *library, const tn_usage_options *options,
                           bool (*each)(void *user, const tn_usage *usage), void *user, tn_error *err)
{
    static const tn_usage_options none = {.size = sizeof none};
    TN_TRY(tn_context_check(library->context, err));
    if (options == NULL)
        options = &none;
    if (options->size != sizeof *options)
        return tn_fail(err, TN_INVALID, "tn_usage_options of another size");
    if (options->by == NULL)
        return by_folder(library, options->disk, each, user, err);
    if (strcmp(options->by, "base") == 0)
        return by_word(library, TN_QUERY_USAGE_BY_BASE, each, user, err);
    if (strcmp(options->by, "type") == 0)
        return by_word(library, TN_QUERY_USAGE_BY_TYPE, each, user, err);
    return tn_fail(err, TN_INVALID, "usage is told by folder, \"base\" or \"type\", not by \"%.64s\"", options->by);
}
