/* The text of a shard index: {"metadata": {...}, "weight_map": {tensor: file}}. Strict, in one pass. */
#include <string.h>

#include "core/error.h"
#include "core/json.h"
#include "format/index.h"
#include "format/limits.h"

#define DIGITS 5u

/* ---- names ---- */

static bool five_digits(const char *at, uint32_t *out)
{
    uint32_t value = 0;
    for (unsigned i = 0; i < DIGITS; i++) {
        if (at[i] < '0' || at[i] > '9')
            return false;
        value = value * 10 + (uint32_t)(at[i] - '0');
    }
    *out = value;
    return true;
}

bool tn_shard_name_parse(const char *name, tn_shard_name *out)
{
    static const char suffix[] = ".safetensors", of[] = "-of-";
    size_t size = strlen(name), tail = 1 + DIGITS + (sizeof of - 1) + DIGITS + (sizeof suffix - 1);
    tn_shard_name found;
    if (size <= tail)
        return false;
    const char *at = name + size - tail;
    bool fits = at[0] == '-' && five_digits(at + 1, &found.number) &&
                memcmp(at + 1 + DIGITS, of, sizeof of - 1) == 0 &&
                five_digits(at + DIGITS + sizeof of, &found.total) && strcmp(name + size - sizeof suffix + 1, suffix) == 0;
    if (!fits || found.number < 1 || found.number > found.total)
        return false;
    found.stem_size = size - tail;
    *out = found;
    return true;
}

bool tn_name_is_index(const char *name)
{
    static const char middle[] = ".safetensors.index.", end[] = "json";
    const char *at = strstr(name, middle);
    if (at == NULL || at == name)
        return false;
    const char *rest = at + sizeof middle - 1;
    size_t left = strlen(rest), json = sizeof end - 1;
    if (left < json || strcmp(rest + left - json, end) != 0)
        return false;
    return left == json || (left > json + 1 && rest[left - json - 1] == '.');
}

/* ---- tables ---- */

static tn_status grow(tn_memory_source *memory, void **items, uint32_t *capacity, size_t item, uint32_t max,
                      tn_error *err)
{
    uint32_t wider = *capacity < 64 ? 64 : *capacity * 2;
    if (wider > max)
        wider = max;
    if (wider == *capacity)
        return tn_fail(err, TN_LIMIT, "the index names more than %u", max);
    TN_TRY(tn_retake(memory, items, *capacity * item, wider * item, err));
    *capacity = wider;
    return TN_OK;
}

static tn_status add_shard(tn_index *index, tn_text file, uint32_t *number, tn_error *err)
{
    if (index->shard_count == index->shard_capacity) {
        void *items = index->shards;
        TN_TRY(grow(index->memory, &items, &index->shard_capacity, sizeof *index->shards, TN_PARTS_MAX, err));
        index->shards = items;
    }
    if (tn_name_index_get(&index->files, index->shards, file.bytes, file.size, number))
        return TN_OK;
    tn_text copy = tn_arena_text(&index->arena, file.bytes, file.size);
    if (copy.bytes == NULL)
        return tn_arena_status(&index->arena, err);
    index->shards[index->shard_count] = copy;
    TN_TRY(tn_name_index_put(&index->files, index->shards, copy, index->shard_count, number, err));
    index->shard_count++;
    return TN_OK;
}

static tn_status add_entry(tn_index *index, tn_text name, uint32_t shard, tn_error *err)
{
    if (index->entry_count == index->entry_capacity) {
        void *items = index->entries;
        TN_TRY(grow(index->memory, &items, &index->entry_capacity, sizeof *index->entries, TN_TENSORS_MAX, err));
        index->entries = items;
    }
    uint32_t number = index->entry_count, holder = number;
    index->entries[number] = (tn_index_entry){name, shard, false};
    TN_TRY(tn_name_index_put(&index->names, index->entries, name, number, &holder, err));
    if (holder != number) {
        tn_fail(err, TN_DUPLICATE, "the index names a tensor twice");
        tn_error_at_tensor(err, name.bytes, name.size);
        return TN_DUPLICATE;
    }
    index->entry_count++;
    return TN_OK;
}

/* ---- the text ---- */

static tn_status refuse(const tn_json *json, tn_status status, const char *why, tn_error *err)
{
    if (json->kind == TN_JSON_ERROR)
        return tn_json_fail(json, 0, err);
    tn_fail(err, status, "%s", why);
    tn_error_at_offset(err, json->token_at);
    return status;
}

static tn_status read_entry(tn_index *index, tn_json *json, tn_error *err)
{
    size_t key_at = json->token_at;
    tn_text name = tn_json_text(json, &index->arena);
    if (tn_json_next(json) != TN_JSON_STRING)
        return refuse(json, TN_BAD_HEADER, "a shard is not named by a string", err);
    tn_text file = tn_json_text(json, &index->arena);
    if (name.bytes == NULL || file.bytes == NULL)
        return tn_arena_status(&index->arena, err);
    if (!tn_name_is_plain(file.bytes, file.size)) {
        refuse(json, TN_UNSAFE_PATH, "a shard is named by more than a plain file name", err);
        tn_error_at_tensor(err, name.bytes, name.size);
        return TN_UNSAFE_PATH;
    }
    uint32_t shard = 0;
    TN_TRY(add_shard(index, file, &shard, err));
    tn_text copy = tn_arena_text(&index->arena, name.bytes, name.size); /* the JSON does not outlive the parse */
    if (copy.bytes == NULL)
        return tn_arena_status(&index->arena, err);
    tn_status status = add_entry(index, copy, shard, err);
    if (status == TN_DUPLICATE)
        tn_error_at_offset(err, key_at);
    return status;
}

static tn_status read_weight_map(tn_index *index, tn_json *json, tn_error *err)
{
    if (tn_json_next(json) != TN_JSON_OBJECT_BEGIN)
        return refuse(json, TN_BAD_HEADER, "weight_map is not an object", err);
    while (tn_json_next(json) == TN_JSON_KEY)
        TN_TRY(read_entry(index, json, err));
    return json->kind == TN_JSON_OBJECT_END ? TN_OK : refuse(json, TN_BAD_HEADER, "", err);
}

/* Of the metadata only total_size is used. Published indexes have it as a float, or wrong: it refuses nothing. */
static tn_status read_metadata(tn_index *index, tn_json *json, tn_error *err)
{
    if (tn_json_next(json) != TN_JSON_OBJECT_BEGIN)
        return json->kind != TN_JSON_ERROR && tn_json_skip(json) ? TN_OK : refuse(json, TN_BAD_JSON, "", err);
    while (tn_json_next(json) == TN_JSON_KEY) {
        bool total = tn_json_is(json, "total_size");
        tn_json_next(json);
        if (total && json->kind == TN_JSON_UINT)
            index->total_size = json->u;
        if (json->kind == TN_JSON_ERROR || !tn_json_skip(json))
            return refuse(json, TN_BAD_JSON, "", err);
    }
    return json->kind == TN_JSON_OBJECT_END ? TN_OK : refuse(json, TN_BAD_HEADER, "", err);
}

static tn_status read_fields(tn_index *index, tn_json *json, tn_error *err)
{
    bool map_seen = false, metadata_seen = false;
    while (tn_json_next(json) == TN_JSON_KEY) {
        bool map = tn_json_is(json, "weight_map"), metadata = tn_json_is(json, "metadata");
        if ((map && map_seen) || (metadata && metadata_seen))
            return refuse(json, TN_DUPLICATE, "a field of the index stands twice", err);
        map_seen = map_seen || map;
        metadata_seen = metadata_seen || metadata;
        if (map)
            TN_TRY(read_weight_map(index, json, err));
        else if (metadata)
            TN_TRY(read_metadata(index, json, err));
        else if (!tn_json_skip(json))
            return refuse(json, TN_BAD_JSON, "", err);
    }
    if (json->kind != TN_JSON_OBJECT_END || tn_json_next(json) != TN_JSON_END)
        return refuse(json, TN_BAD_HEADER, "something follows the index's object", err);
    if (!map_seen || index->entry_count == 0)
        return refuse(json, TN_BAD_HEADER, "the index names no tensors", err);
    return TN_OK;
}

tn_status tn_index_parse(tn_memory_source *memory, const char *text, size_t size, tn_index *out, tn_error *err)
{
    *out = (tn_index){.memory = memory, .total_size = TN_NONE};
    tn_arena_init(&out->arena, memory, TN_CATALOG_BYTES_MAX);
    tn_name_index_init(&out->names, memory, sizeof(tn_index_entry));
    tn_name_index_init(&out->files, memory, sizeof(tn_text));
    tn_json json;
    tn_json_init(&json, text, size);
    if (tn_json_next(&json) != TN_JSON_OBJECT_BEGIN)
        return refuse(&json, TN_BAD_HEADER, "the index is not an object", err);
    return read_fields(out, &json, err);
}

bool tn_index_names_shard(const tn_index *index, const char *file)
{
    uint32_t number = 0;
    return tn_name_index_get(&index->files, index->shards, file, strlen(file), &number);
}

void tn_index_free(tn_index *index)
{
    tn_give(index->memory, index->entries, index->entry_capacity * sizeof *index->entries);
    tn_give(index->memory, index->shards, index->shard_capacity * sizeof *index->shards);
    index->entries = NULL;
    index->shards = NULL;
    index->entry_count = index->entry_capacity = index->shard_count = index->shard_capacity = 0;
    tn_name_index_free(&index->names);
    tn_name_index_free(&index->files);
    tn_arena_free(&index->arena);
}
