/* The reader of shard indexes, and of the names of shards and indexes, on any bytes.
 *
 * Held: an index that is read names at least one tensor, each once, in a file that is a plain name; all memory is given
 * back, also by an index that was refused. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "context/context.h"
#include "format/index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool holds)
{
    if (!holds)
        abort();
}

static void check(const tn_index *index)
{
    demand(index->entry_count > 0 && index->shard_count > 0);
    for (uint32_t i = 0; i < index->entry_count; i++) {
        uint32_t number = 0;
        tn_text name = index->entries[i].name;
        demand(tn_name_index_get(&index->names, index->entries, name.bytes, name.size, &number) && number == i);
        demand(index->entries[i].shard < index->shard_count);
    }
    for (uint32_t i = 0; i < index->shard_count; i++) {
        demand(tn_name_is_plain(index->shards[i].bytes, index->shards[i].size));
        demand(tn_index_names_shard(index, index->shards[i].bytes));
    }
}

static void read_as_name(const uint8_t *data, size_t size)
{
    tn_shard_name shard;
    char *name = malloc(size + 1);
    demand(name != NULL);
    if (size > 0)
        memcpy(name, data, size);
    name[size] = '\0';
    if (tn_shard_name_parse(name, &shard))
        demand(shard.number >= 1 && shard.number <= shard.total && shard.stem_size > 0);
    (void)tn_name_is_index(name);
    free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tn_context_options options = TN_CONTEXT_OPTIONS_INIT;
    tn_context *context = NULL;
    tn_index index;
    options.memory_limit_bytes = UINT64_C(64) << 20;
    demand(tn_context_create(&options, &context, NULL) == TN_OK);
    if (tn_index_parse(&context->memory, (const char *)data, size, &index, NULL) == TN_OK)
        check(&index);
    tn_index_free(&index);
    read_as_name(data, size);
    demand(tn_context_memory(context).used_bytes == 0);
    tn_context_destroy(context);
    return 0;
}
