/* A set of shards read into one catalog, and its index held against what the shards really hold. A shard that is
 * missing or cannot be read is a finding; the others are listed. */
#include <string.h>

#include "core/error.h"
#include "format/index.h"
#include "format/limits.h"
#include "format/part.h"
#include "format/safetensors.h"

/* What was met while a set was read. */
typedef struct meeting {
    tn_catalog *catalog;
    tn_index *index;
    const tn_set_place *place;
    uint32_t read;       /* shards */
    bool failed;         /* a shard was missing or refused: tensors that are nowhere are no surprise */
    tn_error first_failure;
    uint64_t bytes;      /* of tensors */
    uint32_t elsewhere, unnamed;
    tn_text first_elsewhere, first_unnamed;
} meeting;

/* ---- one shard ---- */

static tn_status read_shard(const meeting *m, const char *path, tn_error *err)
{
    tn_context *context = tn_catalog_context(m->catalog);
    tn_source *source = NULL;
    tn_safetensors_place place = {.path = path, .component = m->place->component,
                                  .metadata_head = m->place->metadata_head, .merge_metadata = true};
    TN_TRY(tn_part_open(context, m->place->folder, path, &source, err));
    tn_status status = tn_safetensors_read(m->catalog, source, &place, err);
    tn_source_release(source);
    return status;
}

static tn_status note_failed_shard(meeting *m, const char *path, tn_error *failure, tn_error *err)
{
    if (failure->status == TN_NOT_FOUND) {
        failure->status = TN_MISSING_PART;
        memcpy(failure->message, "this part of the set is not there", sizeof "this part of the set is not there");
    }
    if (!m->failed)
        m->first_failure = *failure;
    m->failed = true;
    return tn_catalog_note_failure(m->catalog, failure, path, err);
}

/* Hold the tensors from `first` on, all of this shard, against the index. */
static void compare(meeting *m, uint32_t shard, uint32_t first)
{
    const tn_tensor *tensors = tn_catalog_tensors(m->catalog);
    size_t head = m->place->component[0] != '\0' ? strlen(m->place->component) + 1 : 0;
    for (uint32_t i = first; i < tn_catalog_tensor_count(m->catalog); i++) {
        tn_text name = tensors[i].name;
        uint32_t number = 0;
        m->bytes += tensors[i].size_bytes; /* for a comparison only: may wrap in files that lie */
        if (!tn_name_index_get(&m->index->names, m->index->entries, name.bytes + head, name.size - head, &number)) {
            if (m->unnamed++ == 0)
                m->first_unnamed = name;
        } else if (m->index->entries[number].shard != shard) {
            m->index->entries[number].found = true;
            if (m->elsewhere++ == 0)
                m->first_elsewhere = name;
        } else {
            m->index->entries[number].found = true;
        }
    }
}

static tn_status take_shard(meeting *m, uint32_t shard, tn_error *err)
{
    tn_text path = tn_path_join(tn_catalog_arena(m->catalog), m->place->folder, m->index->shards[shard].bytes);
    if (path.bytes == NULL)
        return tn_arena_status(tn_catalog_arena(m->catalog), err);
    tn_catalog_mark before = tn_catalog_mark_now(m->catalog);
    tn_error failure;
    tn_status status = read_shard(m, path.bytes, &failure);
    if (status != TN_OK) {
        tn_catalog_return_to(m->catalog, before);
        return note_failed_shard(m, path.bytes, &failure, err);
    }
    m->read++;
    if (m->index->entry_count > 0)
        compare(m, shard, before.tensors);
    return TN_OK;
}

/* All shards in the order of their names. */
static tn_status take_shards(meeting *m, tn_error *err)
{
    tn_memory_source *memory = &tn_catalog_context(m->catalog)->memory;
    uint32_t count = m->index->shard_count;
    void *block = NULL;
    TN_TRY(tn_take_array(memory, count, sizeof(tn_named), &block, err));
    tn_named *order = block;
    for (uint32_t i = 0; i < count; i++)
        order[i] = (tn_named){m->index->shards[i].bytes, i};
    tn_named_sort(order, count);
    tn_status status = TN_OK;
    for (uint32_t i = 0; i < count && status == TN_OK; i++)
        status = take_shard(m, order[i].value, err);
    tn_give(memory, block, count * sizeof(tn_named));
    return status;
}

/* ---- what disagrees ---- */

static tn_status note_stale(meeting *m, tn_severity severity, uint32_t count, tn_text tensor, const char *what,
                            tn_error *err)
{
    tn_arena *arena = tn_catalog_arena(m->catalog);
    tn_finding finding = {.severity = severity, .status = TN_STALE_INDEX, .file = TN_TEXT(""), .offset = TN_NONE,
                          .expected = TN_NONE, .found = count};
    finding.message = tn_arena_format(arena, "%u tensors %s", count, what);
    finding.tensor = tn_arena_text(arena, tensor.bytes, tensor.size);
    if (m->place->index_path != NULL)
        finding.file = tn_arena_text(arena, m->place->index_path, strlen(m->place->index_path));
    TN_TRY(tn_arena_status(arena, err));
    return tn_catalog_add_finding(m->catalog, &finding, err);
}

static tn_status note_nowhere(meeting *m, tn_error *err)
{
    uint32_t count = 0;
    tn_text first = TN_TEXT("");
    for (uint32_t i = 0; i < m->index->entry_count; i++)
        if (!m->index->entries[i].found && count++ == 0)
            first = m->index->entries[i].name;
    return count > 0 ? note_stale(m, TN_ERROR, count, first, "of the index are in no shard", err) : TN_OK;
}

static tn_status note_disagreements(meeting *m, tn_error *err)
{
    if (m->elsewhere > 0)
        TN_TRY(note_stale(m, TN_ERROR, m->elsewhere, m->first_elsewhere, "are in another shard than the index says",
                          err));
    if (m->unnamed > 0)
        TN_TRY(note_stale(m, TN_WARNING, m->unnamed, m->first_unnamed, "are in a shard and not in the index", err));
    if (m->failed)
        return TN_OK;
    TN_TRY(note_nowhere(m, err));
    if (m->index->total_size == TN_NONE || m->index->total_size == m->bytes)
        return TN_OK;
    return tn_catalog_note(m->catalog, TN_NOTE, TN_METADATA_DISAGREES, m->place->index_path, err,
                           "the index says %llu bytes of tensors, the shards hold %llu",
                           (unsigned long long)m->index->total_size, (unsigned long long)m->bytes);
}

/* ---- files beside the set that look like its own ---- */

static bool is_extra(const tn_index *index, const char *name)
{
    tn_shard_name own, other;
    const char *first = index->shards[0].bytes;
    return tn_shard_name_parse(first, &own) && tn_shard_name_parse(name, &other) && own.stem_size == other.stem_size &&
           memcmp(first, name, own.stem_size) == 0 && !tn_index_names_shard(index, name);
}

static tn_status note_extras(meeting *m, const tn_listing *listing, tn_error *err)
{
    for (uint32_t i = 0; i < listing->count; i++) {
        if (!is_extra(m->index, listing->names[i].name))
            continue;
        TN_TRY(tn_catalog_note(m->catalog, TN_WARNING, TN_EXTRA_PART, listing->names[i].name, err,
                               "a file lies beside the set that its index does not name"));
    }
    return TN_OK;
}

static tn_status look_beside(meeting *m, tn_error *err)
{
    tn_listing listing;
    tn_error failure;
    tn_shard_name shard;
    if (!tn_shard_name_parse(m->index->shards[0].bytes, &shard))
        return TN_OK;
    tn_status status = tn_listing_read(tn_catalog_context(m->catalog), m->place->folder, &listing, &failure);
    if (status == TN_OK)
        status = note_extras(m, &listing, err);
    else
        status = tn_catalog_note_failure(m->catalog, &failure, m->place->folder, err);
    tn_listing_free(&listing);
    return status;
}

/* ---- the set ---- */

tn_status tn_set_read(tn_catalog *catalog, tn_index *index, const tn_set_place *place, tn_error *err)
{
    meeting m = {.catalog = catalog, .index = index, .place = place};
    TN_TRY(take_shards(&m, err));
    if (m.read == 0)
        return tn_fail_as(&m.first_failure, err);
    if (index->entry_count == 0)
        return TN_OK;
    TN_TRY(note_disagreements(&m, err));
    return look_beside(&m, err);
}

tn_status tn_set_open(tn_catalog *catalog, tn_source *index_file, const tn_set_place *place, tn_error *err)
{
    tn_context *context = tn_catalog_context(catalog);
    char *text = NULL;
    size_t size = 0;
    tn_index index;
    TN_TRY(tn_source_text(index_file, TN_INDEX_BYTES_MAX, &text, &size, err));
    tn_status status = tn_index_parse(&context->memory, text, size, &index, err);
    tn_give(&context->memory, text, size);
    if (status != TN_OK)
        tn_error_at_file(err, place->index_path);
    else
        status = tn_set_read(catalog, &index, place, err);
    tn_index_free(&index);
    return status;
}

/* ---- a set without an index ---- */

static tn_status add_pattern(tn_index *index, const char *stem, size_t stem_size, const tn_shard_name *shard,
                             tn_error *err)
{
    for (uint32_t number = 1; number <= shard->total; number++) {
        index->shards[index->shard_count] = tn_arena_format(&index->arena, "%.*s-%05u-of-%05u.safetensors",
                                                            (int)stem_size, stem, number, shard->total);
        if (index->shards[index->shard_count++].bytes == NULL)
            return tn_arena_status(&index->arena, err);
    }
    return TN_OK;
}

tn_status tn_set_of_pattern(tn_catalog *catalog, const char *shard, const tn_set_place *place, tn_error *err)
{
    tn_memory_source *memory = &tn_catalog_context(catalog)->memory;
    tn_shard_name name;
    if (!tn_shard_name_parse(shard, &name))
        return tn_fail(err, TN_INVALID, "this is not the name of a shard");
    if (name.total > TN_PARTS_MAX)
        return tn_fail(err, TN_LIMIT, "a set of %u parts is over the limit of %u", name.total, TN_PARTS_MAX);
    tn_index index = {.memory = memory, .total_size = TN_NONE, .shard_capacity = name.total};
    tn_arena_init(&index.arena, memory, TN_CATALOG_BYTES_MAX);
    void *block = NULL;
    tn_status status = tn_take_array(memory, name.total, sizeof(tn_text), &block, err);
    index.shards = block;
    if (status != TN_OK)
        index.shard_capacity = 0;
    if (status == TN_OK)
        status = add_pattern(&index, shard, name.stem_size, &name, err);
    if (status == TN_OK)
        status = tn_set_read(catalog, &index, place, err);
    tn_index_free(&index);
    return status;
}
