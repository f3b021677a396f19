/* Reading one safetensors file into a catalog. What is accepted and refused: docs/formats/safetensors.md. */
#ifndef TN_FORMAT_SAFETENSORS_H
#define TN_FORMAT_SAFETENSORS_H

#include "format/catalog.h"
#include "io/source.h"

/* Where in a checkpoint the file stands. */
typedef struct tn_safetensors_place {
    const char *path;          /* of the part, as the catalog names it */
    const char *component;     /* "" outside folders of components */
    const char *metadata_head; /* put before every key of __metadata__ */
    bool alone;                /* it is the whole checkpoint: findings need not name it */
    bool merge_metadata;       /* a key that is there already is passed over: shards repeat each other's */
} tn_safetensors_place;

/* Add the file as a part with all its tensors and metadata. On failure the catalog must be returned to where it was
 * (tn_catalog_return_to) or abandoned. Data that is short or too long is a finding, not a failure. */
tn_status tn_safetensors_read(tn_catalog *catalog, tn_source *source, const tn_safetensors_place *place,
                              tn_error *err);

/* Bring the tensors from `first` on into the order of their bytes and check that they cover the data from
 * `data_start` on without hole or overlap, then compare with the size of the file (safetensors_layout.c). */
typedef struct tn_layout {
    uint32_t first;
    uint64_t data_start, file_size;
    bool in_order;    /* known to stand in the order of their bytes already */
    const char *file; /* for findings; NULL: the checkpoint's own */
} tn_layout;
tn_status tn_safetensors_lay_out(tn_catalog *catalog, const tn_layout *layout, tn_error *err);

#endif
