/* Sharded sets: one model in several safetensors files, and the index that says which tensor is in which
 * (docs/formats/sharded.md). */
#ifndef TN_FORMAT_INDEX_H
#define TN_FORMAT_INDEX_H

#include "format/catalog.h"
#include "format/listing.h"
#include "format/name_index.h"
#include "io/source.h"

/* STEM-00002-of-00005.safetensors */
typedef struct tn_shard_name {
    size_t stem_size; /* the name's first bytes */
    uint32_t number, total;
} tn_shard_name;
/* Is this the name of a shard: five digits each, 1 <= number <= total? */
bool tn_shard_name_parse(const char *name, tn_shard_name *out);
/* STEM.safetensors.index.json, or STEM.safetensors.index.VARIANT.json. */
bool tn_name_is_index(const char *name);

typedef struct tn_index_entry {
    tn_text name; /* of the tensor */
    uint32_t shard;
    bool found; /* in the shard it was named for */
} tn_index_entry;

/* An index, read and believed in nothing but its form. */
typedef struct tn_index {
    tn_memory_source *memory;
    tn_arena arena; /* texts */
    tn_index_entry *entries;
    uint32_t entry_count, entry_capacity;
    tn_text *shards; /* plain names of files, each once, in the order in which they were met */
    uint32_t shard_count, shard_capacity;
    tn_name_index names, files; /* of entries, of shards */
    uint64_t total_size; /* TN_NONE: not said, or not a whole number */
} tn_index;

/* Read the JSON of an index. TN_BAD_JSON, TN_BAD_HEADER, TN_DUPLICATE, TN_LIMIT; TN_UNSAFE_PATH for a shard that is not
 * a plain name. The error's offset is in the text. Free it in any case. */
tn_status tn_index_parse(tn_memory_source *memory, const char *json, size_t size, tn_index *out, tn_error *err);
bool tn_index_names_shard(const tn_index *index, const char *file);
void tn_index_free(tn_index *index);

/* Where in a checkpoint a set stands. */
typedef struct tn_set_place {
    const char *folder;        /* that the files lie in; "" is the working folder */
    const char *component;     /* "" outside folders of components */
    const char *index_path;    /* for findings; NULL when there is no index */
    const char *metadata_head; /* as in tn_safetensors_place */
} tn_set_place;
/* Add all shards that can be read as parts, in the order of their names, and what disagrees as findings. Fails with
 * the first shard's failure when none can be read. */
tn_status tn_set_read(tn_catalog *catalog, tn_index *index, const tn_set_place *place, tn_error *err);
/* Read an open index file and its set. */
tn_status tn_set_open(tn_catalog *catalog, tn_source *index_file, const tn_set_place *place, tn_error *err);
/* The set that a shard's name is one of, without an index: STEM-00001-of-N to STEM-N-of-N. */
tn_status tn_set_of_pattern(tn_catalog *catalog, const char *shard, const tn_set_place *place, tn_error *err);

#endif
