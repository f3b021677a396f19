/* What a checkpoint is inside: known to the catalog, its getters and the grouping of logical tensors, to nobody else. */
#ifndef TN_FORMAT_CATALOG_INSIDE_H
#define TN_FORMAT_CATALOG_INSIDE_H

#include <stdatomic.h>

#include "format/catalog.h"
#include "io/source.h"
#include "format/name_index.h"

/* A growing array outside the arena, so that what it outgrows is given back. */
typedef struct tn_row {
    void *items;
    uint32_t count, capacity;
    uint32_t item_size;
} tn_row;

/* The file of a part, as it was when its header was read. */
typedef struct tn_part_file {
    uint32_t part;
    bool no_follow;
    tn_text path;
    tn_os_info info;
    tn_source *_Atomic source; /* NULL until it is asked for */
} tn_part_file;

struct tn_checkpoint {
    _Atomic uint32_t holds;
    tn_context *context;
    tn_arena arena; /* texts and the members of logical tensors */
    tn_container container;
    tn_text path;
    tn_row parts, storages, tensors, logicals, pairs, findings;
    tn_row files;            /* tn_part_file, in the order of their parts */
    _Atomic uint32_t opened; /* how many of them have a source */
    tn_name_index names, keys; /* of tensors, of pairs */
    uint64_t *shape_at;        /* free room for the numbers of shapes */
    size_t shape_left;
    uint64_t next_offset;      /* behind the last tensor of the last part */
    tn_text prefix;            /* of the names in the last part: component and slash, or empty */
    uint32_t dtypes_seen;      /* a bit for each dtype of a tensor ever added */
};

/* Room for `capacity` items in all. */
tn_status tn_row_make_room(tn_memory_source *memory, tn_row *row, uint64_t capacity, tn_error *err);
/* One item more: its address, not cleared, or NULL with `err` filled. */
void *tn_row_add(tn_memory_source *memory, tn_row *row, uint32_t max, tn_status *failed, tn_error *err);
/* Give back what an array did not need, where that is more than half. Never fails: what cannot shrink stays. */
void tn_row_trim(tn_memory_source *memory, tn_row *row);

/* Forget the files of parts from `parts` on, and let go of their sources (part_file.c). */
void tn_part_files_cut(tn_checkpoint *checkpoint, uint32_t parts);

/* Write the table of logical tensors from that of tensors (logical.c). */
tn_status tn_catalog_group(tn_catalog *catalog, tn_error *err);

#endif
