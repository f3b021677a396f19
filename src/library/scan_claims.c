/* What the names of one folder claim together: single files, sharded sets, and the folder itself.
 *
 * A set is told once, by its index, else by its first shard. In a folder that is a model the files that belong to it
 * are members, and loose checkpoints beside them are claims of their own.
 */
#include "library/walk.h"

#include <string.h>

#include "digest/pieces.h"
#include "format/folder.h"
#include "library/place.h"

/* ---- members and their digests ---- */

static void set_begin(tn_walk_set *set, tn_claim_kind kind)
{
    memset(&set->claim, 0, sizeof set->claim);
    set->claim.kind = kind;
    set->claim.suffix = TN_SUFFIX_SURE;
    set->strong = true;
}

/* Numbers as bytes, the least first: the same on every machine. */
static tn_text as_bytes(const uint64_t *numbers, size_t count, char *out)
{
    for (size_t i = 0; i < 8 * count; i++)
        out[i] = (char)(numbers[i / 8] >> (i % 8 * 8) & 0xff);
    return (tn_text){out, 8 * count};
}

static tn_text digest_text(const uint8_t digest[32])
{
    return (tn_text){(const char *)digest, 32};
}

/* Weak identities tell less, so less of them is believed. */
static void hash_state(uint8_t members[32], tn_text name, const tn_os_info *info)
{
    const int64_t two_seconds = 2000000000;
    const bool weak = info->weak_identity;
    const uint64_t numbers[] = {info->size, (uint64_t)(weak ? info->mtime_ns / two_seconds : info->mtime_ns),
                                weak ? 0 : info->file_id[0], weak ? 0 : info->file_id[1]};
    char bytes[sizeof numbers];
    const tn_text pieces[] = {digest_text(members), {name.bytes, name.size + 1}, as_bytes(numbers, 4, bytes)};
    tn_blake3_pieces(pieces, 3, members);
}

/* `before` is empty for a file alone. */
static void hash_who(tn_text before, const tn_os_info *info, uint8_t who[32])
{
    const uint64_t numbers[] = {info->device, info->file_id[0], info->file_id[1]};
    char bytes[sizeof numbers];
    const tn_text pieces[] = {before, as_bytes(numbers, 3, bytes)};
    tn_blake3_pieces(pieces, 2, who);
}

/* A file that belongs to the set. One that vanished meanwhile changes the digest as much as one that changed. */
static tn_status add_member(tn_walk *walk, tn_walk_set *set, const char *path, bool weights, tn_error *err)
{
    tn_os_info info = {.kind = TN_OS_OTHER};
    tn_status status = tn_os_info_at(path, true, &info, NULL);
    bool known = status == TN_OK;
    if (!known && status != TN_NOT_FOUND)
        set->claim.asked = status;
    hash_state(set->claim.members, tn_place_name(path, strlen(path)), &info);
    if (weights)
        hash_who(digest_text(set->claim.who), &info, set->claim.who);
    set->strong = set->strong && known && !info.weak_identity;
    if (known && info.mtime_ns > set->claim.newest_ns)
        set->claim.newest_ns = info.mtime_ns;
    walk->counts.files++;
    return walk->visitor->member(walk->visitor->user, path, strlen(path), err);
}

static tn_status set_end(tn_walk *walk, tn_walk_set *set, const char *path, size_t size, tn_error *err)
{
    if (tn_os_info_at(path, true, &set->claim.info, NULL) != TN_OK) {
        walk->counts.vanished++;
        return TN_OK;
    }
    set->claim.has_who = set->strong;
    set->claim.path = path;
    set->claim.path_size = size;
    return walk->visitor->claim(walk->visitor->user, &set->claim, err);
}

tn_status tn_walk_owner_done(tn_walk *walk, tn_error *err)
{
    walk->owned = false;
    return set_end(walk, &walk->owner, walk->owner.claim.path, walk->owner.claim.path_size, err);
}

/* ---- single files ---- */

tn_status tn_walk_file(tn_walk *walk, const char *path, size_t size, bool named, tn_error *err)
{
    tn_text name = tn_place_name(path, size);
    tn_claim claim = {.kind = TN_CLAIM_FILE, .suffix = tn_suffix_of(name.bytes, name.size), .named = named,
                      .path = path, .path_size = size};
    walk->counts.files++;
    tn_status status = tn_os_info_at(path, true, &claim.info, NULL);
    if (status == TN_NOT_FOUND) {
        walk->counts.vanished++;
        return TN_OK;
    }
    claim.asked = status;
    if (status != TN_OK)
        memset(&claim.info, 0, sizeof claim.info);
    claim.has_who = status == TN_OK && !claim.info.weak_identity;
    claim.newest_ns = claim.info.mtime_ns;
    hash_who((tn_text){"", 0}, &claim.info, claim.who);
    return walk->visitor->claim(walk->visitor->user, &claim, err);
}

/* ---- sets ---- */

/* Names first..end-1 are the shards of one set. */
static size_t run_of_shards(const tn_names *names, size_t first, const tn_shard *shard)
{
    const tn_name *a = &names->items[first];
    size_t end = first + 1;
    for (; end < names->count; end++) {
        const tn_name *b = &names->items[end];
        tn_shard other;
        if (b->folder || !tn_shard_of(b->bytes, b->size, &other) ||
            !tn_shard_same_set(a->bytes, a->size, shard, b->bytes, b->size, &other))
            break;
    }
    return end;
}

/* The index that lies beside a run of shards: the same stem, the same format. */
static tn_name *index_of(tn_names *names, const tn_name *shard_name, const tn_shard *shard)
{
    static const char tail[] = ".safetensors.index.json";
    char index[512];
    if (shard->stem + sizeof tail > sizeof index)
        return NULL;
    memcpy(index, shard_name->bytes, shard->stem);
    memcpy(index + shard->stem, tail, sizeof tail);
    return tn_names_find(names, index, shard->stem + sizeof tail - 1);
}

static bool asked_for(const tn_walk_folder *folder, const tn_name *name)
{
    return folder->only == NULL || strcmp(folder->only, name->bytes) == 0;
}

/* Tell of a set: shards first..end-1 (none when they are equal) and its index, which may be NULL. */
static tn_status tell_set(tn_walk *walk, const tn_walk_folder *folder, tn_names *names, size_t first, size_t end,
                          tn_name *index, tn_error *err)
{
    tn_walk_set set;
    set_begin(&set, TN_CLAIM_SET);
    bool asked = index != NULL && asked_for(folder, index);
    for (size_t i = first; i < end; i++) {
        names->items[i].used = true;
        asked = asked || asked_for(folder, &names->items[i]);
    }
    if (index != NULL)
        index->used = true;
    if (!asked)
        return TN_OK;
    for (size_t i = first; i < end; i++) {
        const char *path = tn_names_path(names, &names->items[i]);
        if (path != NULL)
            TN_TRY(add_member(walk, &set, path, true, err));
    }
    const char *entry = tn_names_path(names, index != NULL ? index : &names->items[first]);
    if (entry == NULL)
        return TN_OK;
    if (index != NULL)
        TN_TRY(add_member(walk, &set, entry, false, err));
    if (first == end)
        set.strong = false; /* an index alone is nobody */
    set.claim.named = folder->only != NULL;
    return set_end(walk, &set, entry, strlen(entry), err);
}

/* ---- one folder ---- */

static tn_status tell_shards(tn_walk *walk, const tn_walk_folder *folder, tn_names *names, size_t i, bool *told,
                             tn_error *err)
{
    tn_name *name = &names->items[i];
    tn_shard shard;
    size_t stem;
    *told = true;
    if (tn_shard_of(name->bytes, name->size, &shard))
        return tell_set(walk, folder, names, i, run_of_shards(names, i, &shard), index_of(names, name, &shard), err);
    if (tn_index_stem(name->bytes, name->size, &stem))
        return tell_set(walk, folder, names, i, i, name, err);
    *told = false;
    return TN_OK;
}

static tn_status tell_file(tn_walk *walk, const tn_walk_folder *folder, tn_names *names, size_t i, tn_error *err)
{
    tn_name *name = &names->items[i];
    bool told = false;
    if (name->used)
        return TN_OK;
    TN_TRY(tell_shards(walk, folder, names, i, &told, err));
    if (told || !asked_for(folder, name))
        return TN_OK;
    if (tn_suffix_of(name->bytes, name->size) == TN_SUFFIX_NONE && folder->only == NULL) {
        walk->counts.files++;
        walk->counts.others++;
        return TN_OK;
    }
    const char *path = tn_names_path(names, name);
    return path != NULL ? tn_walk_file(walk, path, strlen(path), folder->only != NULL, err) : TN_OK;
}

/* Put a name into the model that owns this folder. */
static tn_status take_member(tn_walk *walk, tn_names *names, tn_name *name, tn_error *err)
{
    name->used = true;
    const char *path = tn_names_path(names, name);
    bool weights = tn_suffix_of(name->bytes, name->size) != TN_SUFFIX_NONE;
    return path != NULL ? add_member(walk, &walk->owner, path, weights, err) : TN_OK;
}

/* Push a folder. Links wait until all real folders are walked, but for those inside a model. */
static tn_status push_name(tn_walk *walk, const tn_walk_folder *folder, tn_names *names, const tn_name *name,
                           tn_error *err)
{
    tn_walk_stack *stack = name->link && !walk->owned ? &walk->links : &walk->stack;
    const char *path = tn_names_path(names, name);
    if (path == NULL)
        return tn_walk_unreadable(walk, folder->path, "the path of a folder in it is too long", err);
    if (stack == &walk->links)
        TN_TRY(tn_walk_see_link(walk, path, err));
    return tn_walk_push(walk, stack, path, strlen(path), folder->depth + 1, err);
}

/* The last one first, so that the first one is walked first. `components` NULL: all; else those that are, or are not,
 * among its names. */
static tn_status push_folders(tn_walk *walk, const tn_walk_folder *folder, tn_names *names,
                              const tn_listing *components, bool among, tn_error *err)
{
    for (size_t i = names->count; i-- > 0;) {
        const tn_name *name = &names->items[i];
        if (!name->folder || (components != NULL && (tn_listing_find(components, name->bytes) != NULL) != among))
            continue;
        TN_TRY(push_name(walk, folder, names, name, err));
    }
    return TN_OK;
}

/* All of a component belongs to the pipeline above it. */
static tn_status walk_component(tn_walk *walk, const tn_walk_folder *folder, tn_names *names, tn_error *err)
{
    for (size_t i = 0; i < names->count; i++)
        if (!names->items[i].folder)
            TN_TRY(take_member(walk, names, &names->items[i], err));
    return push_folders(walk, folder, names, NULL, true, err);
}

/* The folder becomes the owner of its components; folders that are none wait below them on the stack. */
static tn_status begin_owner(tn_walk *walk, const tn_walk_folder *folder, tn_names *names,
                             const tn_folder_signs *signs, const tn_listing *components, tn_error *err)
{
    set_begin(&walk->owner, TN_CLAIM_FOLDER);
    walk->owner.claim.path = folder->path;
    walk->owner.claim.path_size = folder->size;
    TN_TRY(push_folders(walk, folder, names, components, false, err));
    walk->owned = true;
    walk->owner_height = walk->stack.count;
    for (size_t i = 0; i < names->count; i++)
        if (!names->items[i].folder && tn_folder_owns_file(signs, names->items[i].bytes))
            TN_TRY(take_member(walk, names, &names->items[i], err));
    return push_folders(walk, folder, names, components, true, err);
}

/* A pipeline whose model_index.json cannot be read has no components that are known: they are walked as folders. */
static tn_status walk_model(tn_walk *walk, const tn_walk_folder *folder, tn_names *names,
                            const tn_folder_signs *signs, tn_error *err)
{
    tn_listing components;
    tn_listing_init(&components, &walk->context->memory);
    tn_error found;
    tn_status status = TN_OK;
    if (signs->pipeline)
        status = tn_folder_components(walk->context, folder->path, &components, &found);
    if (tn_status_is_of_process(status))
        (void)tn_fail_as(&found, err);
    else
        status = begin_owner(walk, folder, names, signs, &components, err);
    tn_listing_free(&components);
    return status;
}

tn_status tn_walk_names(tn_walk *walk, const tn_walk_folder *folder, tn_names *names, tn_error *err)
{
    if (walk->owned)
        return walk_component(walk, folder, names, err);
    tn_folder_signs signs = {0};
    for (size_t i = 0; i < names->count; i++)
        if (!names->items[i].folder)
            tn_folder_see(&signs, names->items[i].bytes);
    bool model = folder->only == NULL && tn_folder_verdict(&signs) != TN_CONTAINER_UNKNOWN;
    if (model)
        TN_TRY(walk_model(walk, folder, names, &signs, err));
    for (size_t i = 0; i < names->count; i++)
        if (!names->items[i].folder)
            TN_TRY(tell_file(walk, folder, names, i, err));
    return model || folder->only != NULL ? TN_OK : push_folders(walk, folder, names, NULL, true, err);
}
