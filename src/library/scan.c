#include "library/walk.h"

#include <string.h>

#include "library/place.h"

#define PATHS_MAX ((size_t)1 << 32) /* bytes; the budget refuses long before */

bool tn_scan_same(const tn_os_info *now, uint64_t size, int64_t mtime_ns, const uint64_t file_id[2], bool weak)
{
    const int64_t two_seconds = 2000000000;
    if (now->size != size)
        return false;
    if (weak || now->weak_identity)
        return now->mtime_ns - mtime_ns < two_seconds && mtime_ns - now->mtime_ns < two_seconds;
    return now->mtime_ns == mtime_ns && now->file_id[0] == file_id[0] && now->file_id[1] == file_id[1];
}

/* ---- folders to walk ---- */

static tn_status make_room(tn_walk *walk, tn_walk_stack *stack, tn_error *err)
{
    void *items = stack->items;
    TN_TRY(tn_make_room(&walk->context->memory, &items, &stack->capacity, stack->count, sizeof *stack->items, 64, err));
    stack->items = items;
    return TN_OK;
}

tn_status tn_walk_unreadable(tn_walk *walk, const char *path, const char *why, tn_error *err)
{
    walk->counts.folders_unreadable++;
    return walk->visitor->unreadable != NULL ? walk->visitor->unreadable(walk->visitor->user, path, why, err) : TN_OK;
}

static tn_status push_only(tn_walk *walk, tn_walk_stack *stack, tn_text path, unsigned depth, const char *only,
                           tn_error *err)
{
    if (depth > TN_SCAN_DEPTH_MAX || path.size >= TN_PLACE_PATH_MAX)
        return tn_walk_unreadable(walk, path.bytes, "it lies too deep in other folders", err);
    TN_TRY(make_room(walk, stack, err));
    tn_text kept = tn_arena_text(&walk->paths, path.bytes, path.size);
    if (kept.bytes == NULL)
        return tn_arena_status(&walk->paths, err);
    stack->items[stack->count++] = (tn_walk_folder){kept.bytes, kept.size, depth, only};
    return TN_OK;
}

tn_status tn_walk_push(tn_walk *walk, tn_walk_stack *stack, const char *path, size_t size, unsigned depth,
                       tn_error *err)
{
    return push_only(walk, stack, (tn_text){path, size}, depth, NULL, err);
}

/* True for a folder that was walked already. One that cannot be asked about is told by the listing that follows. */
static tn_status seen_before(tn_walk *walk, const tn_walk_folder *folder, bool *out, tn_error *err)
{
    tn_os_info info;
    *out = false;
    if (folder->only != NULL || tn_os_info_at(folder->path, true, &info, NULL) != TN_OK || info.weak_identity)
        return TN_OK;
    uint64_t id[3] = {info.device, info.file_id[0], info.file_id[1]};
    tn_text key = tn_arena_text(&walk->paths, (const char *)id, sizeof id);
    if (key.bytes == NULL)
        return tn_arena_status(&walk->paths, err);
    bool fresh = false;
    uint64_t existing = 0;
    TN_TRY(tn_map_put(&walk->visited, key.bytes, key.size, 1, &fresh, &existing, err));
    *out = !fresh;
    return TN_OK;
}

static tn_status walk_folder(tn_walk *walk, const tn_walk_folder *folder, tn_error *err)
{
    TN_TRY(tn_context_check(walk->context, err));
    bool seen = false;
    TN_TRY(seen_before(walk, folder, &seen, err));
    if (seen)
        return TN_OK;
    walk->counts.folders++;
    tn_names names;
    TN_TRY(tn_names_list(walk, folder, &names, err));
    tn_status status = tn_walk_names(walk, folder, &names, err);
    tn_names_free(walk, &names);
    return status;
}

static bool pop(tn_walk *walk, tn_walk_folder *out)
{
    tn_walk_stack *from = walk->stack.count > 0 ? &walk->stack : &walk->links;
    if (from->count == 0)
        return false;
    *out = from->items[--from->count];
    return true;
}

static tn_status walk_all(tn_walk *walk, tn_error *err)
{
    tn_walk_folder folder;
    while (pop(walk, &folder)) {
        TN_TRY(walk_folder(walk, &folder, err));
        if (walk->owned && walk->stack.count == walk->owner_height)
            TN_TRY(tn_walk_owner_done(walk, err));
    }
    return TN_OK;
}

/* ---- the paths that were named ---- */

static tn_status refuse(tn_walk *walk, const char *path, const tn_error *why, tn_error *err)
{
    return walk->visitor->refused(walk->visitor->user, path, why, err);
}

/* A shard or an index is seen together with its set, so its folder is listed for it alone. */
static bool is_of_a_set(tn_text name)
{
    tn_shard shard;
    size_t stem;
    return tn_index_stem(name.bytes, name.size, &stem) || tn_shard_of(name.bytes, name.size, &shard);
}

static tn_status begin_at(tn_walk *walk, const char *path, tn_error *err)
{
    tn_error why;
    tn_os_info info;
    size_t size = strlen(path);
    if (tn_os_info_at(path, true, &info, &why) != TN_OK)
        return refuse(walk, path, &why, err);
    if (info.kind == TN_OS_FOLDER)
        return tn_walk_push(walk, &walk->stack, path, size, 0, err);
    if (info.kind != TN_OS_REGULAR) {
        tn_fail(&why, TN_NOT_A_FILE, "%s", tn_status_text(TN_NOT_A_FILE));
        tn_error_at_file(&why, path);
        return refuse(walk, path, &why, err);
    }
    tn_text name = tn_place_name(path, size);
    if (!is_of_a_set(name))
        return tn_walk_file(walk, path, size, true, err);
    tn_text folder = {path, tn_place_folder(path, size)};
    return push_only(walk, &walk->stack, folder, 0, name.bytes, err);
}

static tn_status begin_all(tn_walk *walk, const char *const *paths, size_t count, tn_error *err)
{
    for (size_t i = 0; i < count; i++)
        TN_TRY(begin_at(walk, paths[i], err));
    return walk_all(walk, err);
}

static void free_stack(tn_walk *walk, tn_walk_stack *stack)
{
    tn_give(&walk->context->memory, stack->items, stack->capacity * sizeof *stack->items);
}

tn_status tn_scan(tn_context *context, const char *const *paths, size_t count, const tn_scan_visitor *visitor,
                  tn_scan_counts *counts, tn_error *err)
{
    tn_walk walk = {.context = context, .visitor = visitor, .named = paths, .named_count = count};
    tn_arena_init(&walk.paths, &context->memory, PATHS_MAX);
    tn_map_init(&walk.visited, &context->memory);
    tn_status status = begin_all(&walk, paths, count, err);
    if (status == TN_OK)
        *counts = walk.counts;
    tn_map_free(&walk.visited);
    tn_arena_free(&walk.paths);
    free_stack(&walk, &walk.stack);
    free_stack(&walk, &walk.links);
    return status;
}
