/* The content hash: the same for the same tensors, whatever their order in the file (docs/formats/content-hash.md).
 *
 * The bytes of the tensors are given to it in the order of their names. Where they lie in the file in that order, a pass
 * over the file is enough; else they are read by themselves, as tn_content_next says. */
#ifndef TN_DIGEST_CONTENT_H
#define TN_DIGEST_CONTENT_H

#include <tenure/digest.h>

#include <blake3.h>

#include "context/context.h"

/* One that is being taken. Which bytes come next is told ahead of their being taken, by another thread perhaps, so the
 * two have fields of their own. */
typedef struct tn_content {
    tn_memory_source *memory;
    const tn_storage *storages;
    const tn_tensor **sorted; /* by name; of the checkpoint */
    size_t count;
    blake3_hasher hasher;
    size_t at;            /* how many tensors have been begun */
    uint64_t offset, left; /* of the last of these: where in the file its rest lies */
    size_t told;          /* the tensor whose bytes are told next, and how many of them have been */
    uint64_t told_bytes;
} tn_content;

/* Whether it can be taken: TN_TRUNCATED when a tensor's bytes are not all there; TN_UNSUPPORTED where bytes are stored
 * in another way than they are hashed. *bytes: how many there are to be taken. */
tn_status tn_content_measure(const tn_checkpoint *checkpoint, uint64_t *bytes, tn_error *err);
/* Begin. The checkpoint has been measured, has one part, and outlives it. Ended with tn_content_free. */
tn_status tn_content_begin(tn_content *content, tn_context *context, const tn_checkpoint *checkpoint, tn_error *err);
void tn_content_free(tn_content *content); /* zeroed accepted */
/* Whether a pass from the first byte in `from` to the one behind the last in `to` brings all bytes in order. */
bool tn_content_in_order(const tn_content *content, uint64_t *from, uint64_t *to);
/* What is to be read next, of at most `most` bytes, when it is not. False at the end. */
bool tn_content_next(tn_content *content, size_t most, uint64_t *at, size_t *size);
/* Take what belongs to it out of these bytes of the file, the next ones in order. */
void tn_content_take(tn_content *content, uint64_t at, const uint8_t *bytes, size_t size);
void tn_content_end(const tn_content *content, char out[68]);

#endif
