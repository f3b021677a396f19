/* The content hash: the same for the same tensors, whatever their order in the file (docs/formats/content-hash.md). */
#ifndef TN_DIGEST_CONTENT_H
#define TN_DIGEST_CONTENT_H

#include <tenure/digest.h>

#include "io/source.h"

/* What a content hash is taken with. */
typedef struct tn_content {
    tn_source *source;               /* the one part of the checkpoint */
    const tn_checkpoint *checkpoint;
    uint8_t *block;                  /* to read into */
    size_t block_bytes;
    void (*told)(void *user, size_t bytes); /* after each read */
    void *user;
} tn_content;

/* Whether it can be taken: TN_TRUNCATED when a tensor's bytes are not all there; TN_UNSUPPORTED where bytes are stored
 * in another way than they are hashed. *bytes: how many are to be read. */
tn_status tn_content_measure(const tn_checkpoint *checkpoint, uint64_t *bytes, tn_error *err);
/* Take it. `content` has been measured. */
tn_status tn_content_hash(const tn_content *content, char out[68], tn_error *err);

#endif
