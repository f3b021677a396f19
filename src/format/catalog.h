/* A catalog while it is written: what the readers of formats fill, and what tests make checkpoints with.
 *
 *   tn_catalog *c = NULL;
 *   tn_catalog_begin(context, TN_CONTAINER_SAFETENSORS, "flux.safetensors", &c, err);
 *   tn_catalog_add_part(c, "flux.safetensors", 0, 0, "", err);
 *   tn_catalog_add_shape(c, "img_in.weight", TN_BF16, 2, (uint64_t[]){3072, 64}, err);
 *   tn_catalog_finish(c, &checkpoint, err);
 *
 *   C1  A tensor's storage has its own number, until sorting or grouping says otherwise; both name an existing part.
 *   C2  Names are unique: a second tensor of a name, or pair of a key, is TN_DUPLICATE and changes nothing.
 *   C3  Every size is a checked product: elements and size_bytes never wrapped.
 *   C4  After finish nothing changes any more but the count of holds.
 * One thread at a time until it is finished. All memory is the context's, and given back with the last hold.
 */
#ifndef TN_FORMAT_CATALOG_H
#define TN_FORMAT_CATALOG_H

#include <tenure/checkpoint.h>

#include "context/context.h"
#include "core/arena.h"

/* A checkpoint that is still being written. */
typedef struct tn_checkpoint tn_catalog;

/* Begin one. `path` is copied. It must be finished or abandoned. */
tn_status tn_catalog_begin(tn_context *context, tn_container container, const char *path, tn_catalog **out,
                           tn_error *err);
/* Give up and free all. NULL is accepted. */
void tn_catalog_abandon(tn_catalog *catalog);
/* Group logical tensors, sort the findings, and hand over. On failure the catalog must still be abandoned. */
tn_status tn_catalog_finish(tn_catalog *catalog, tn_checkpoint **out, tn_error *err);

tn_arena *tn_catalog_arena(tn_catalog *catalog);
tn_context *tn_catalog_context(const tn_catalog *catalog);
void tn_catalog_set_container(tn_catalog *catalog, tn_container container);

/* A file of the set; tensors added from now on lie in it, and their names begin with `component` and a slash unless
 * it is empty. `path` and `component` are copied. */
tn_status tn_catalog_add_part(tn_catalog *catalog, const char *path, uint64_t size_bytes, uint64_t header_bytes,
                              const char *component, tn_error *err);
/* Room for `count` more tensors, a guess that saves growing. */
tn_status tn_catalog_expect(tn_catalog *catalog, uint64_t count, tn_error *err);

/* A tensor as a header describes it. */
typedef struct tn_tensor_spec {
    const char *name; /* copied; `name_size` bytes of UTF-8 */
    size_t name_size;
    tn_dtype dtype;
    uint32_t rank;
    const uint64_t *shape; /* copied; NULL when rank is 0 */
    uint64_t offset;       /* of its first byte in the last part; TN_NONE: behind the tensor before it */
    uint64_t stored_bytes; /* TN_NONE: as the shape says */
    uint32_t flags;        /* TN_TENSOR_* */
} tn_tensor_spec;
/* TN_DUPLICATE, TN_OVERFLOW, TN_LIMIT name the tensor. A part must have been added. */
tn_status tn_catalog_add_tensor(tn_catalog *catalog, const tn_tensor_spec *spec, tn_error *err);
/* The same for tests: the bytes lie behind those of the tensor before it. */
tn_status tn_catalog_add_shape(tn_catalog *catalog, const char *name, tn_dtype dtype, uint32_t rank,
                               const uint64_t *shape, tn_error *err);
/* A pair; both texts are copied. TN_DUPLICATE when the key is there. */
tn_status tn_catalog_add_metadata(tn_catalog *catalog, tn_text key, tn_text value, tn_error *err);

/* A finding. Texts are borrowed: constants or from tn_catalog_arena. file and tensor may be empty, numbers TN_NONE. */
tn_status tn_catalog_add_finding(tn_catalog *catalog, const tn_finding *finding, tn_error *err);
/* The same, with the message formatted and no tensor and no numbers. `file` is copied; NULL: the checkpoint's own. */
tn_status tn_catalog_note(tn_catalog *catalog, tn_severity severity, tn_status status, const char *file,
                          tn_error *err, const char *format, ...) TN_PRINTF(6, 7);
/* Whether a failure says nothing about a file, only about this process (no memory, cancelled, ...). */
bool tn_failure_is_of_process(tn_status status);
/* What a failed part showed, as a finding of severity TN_ERROR, when it is about the file and not about this process:
 * those (TN_NO_MEMORY, TN_CANCELLED, ...) are returned again as they are. */
tn_status tn_catalog_note_failure(tn_catalog *catalog, const tn_error *failure, const char *file, tn_error *err);

/* The state before a part, to be returned to when the part cannot be read: its tensors, pairs and findings go. */
typedef struct tn_catalog_mark {
    uint32_t parts, storages, tensors, pairs, findings;
} tn_catalog_mark;
tn_catalog_mark tn_catalog_mark_now(const tn_catalog *catalog);
void tn_catalog_return_to(tn_catalog *catalog, tn_catalog_mark mark);

/* What is written so far, for the reader that writes it (layout checks, sorting). Valid until the next tensor. */
uint32_t tn_catalog_tensor_count(const tn_catalog *catalog);
tn_tensor *tn_catalog_tensors(tn_catalog *catalog);
tn_storage *tn_catalog_storages(tn_catalog *catalog);
/* Put tensors first..count-1 into the order of `order` (tensor numbers, each once), storages with them; the index of
 * names follows. `scratch` has room for as many tn_tensor as are moved. */
void tn_catalog_reorder(tn_catalog *catalog, uint32_t first, const uint32_t *order, tn_tensor *scratch);

#endif
