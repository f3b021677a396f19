/* The digest of every tensor (include/tenure/lease.h), to be compared with when it is leased. */
#include <blake3.h>

#include "format/catalog.h"
#include "format/part_file.h"
#include "weights/pieces.h"
#include "weights/place.h"

static tn_status digest_run(tn_source *source, uint64_t at, uint64_t size, uint8_t *room, uint8_t out[32], tn_error *err)
{
    blake3_hasher hasher;
    blake3_hasher_init(&hasher);
    for (uint64_t done = 0; done < size;) {
        size_t piece = size - done < TN_PIECE_BYTES ? (size_t)(size - done) : TN_PIECE_BYTES;
        TN_TRY(tn_source_read(source, at + done, room, piece, err));
        blake3_hasher_update(&hasher, room, piece);
        done += piece;
    }
    blake3_hasher_finalize(&hasher, out, 32);
    return TN_OK;
}

static tn_status digest_tensor(const tn_checkpoint *checkpoint, const tn_tensor *tensor, uint8_t *room, uint8_t out[32],
                               tn_error *err)
{
    static const tn_lease_options plain = TN_LEASE_OPTIONS_INIT;
    tn_place place;
    tn_source *source;
    TN_TRY(tn_place_of(checkpoint, tensor, &plain, &place, err));
    if (!place.straight)
        return tn_fail(err, TN_INVALID, "a tensor with strides has no digest of its own");
    TN_TRY(tn_part_file_source(checkpoint, place.part, &source, err));
    tn_status status = digest_run(source, place.offset, place.size, room, out, err);
    tn_source_release(source);
    return status;
}

tn_status tn_digest_tensors(const tn_checkpoint *checkpoint, uint8_t *digests, size_t count, tn_error *err)
{
    const tn_tensor *tensors;
    tn_block room;
    if (checkpoint == NULL || (digests == NULL && count > 0) || count != tn_checkpoint_tensors(checkpoint, &tensors))
        return tn_fail(err, TN_INVALID, "digests are taken of all tensors of a checkpoint, and need 32 bytes for each");
    tn_context *context = tn_catalog_context(checkpoint);
    TN_TRY(tn_context_check(context, err));
    TN_TRY(tn_pool_take_passing(&context->pool, TN_PIECE_BYTES, &room, err));
    tn_status status = TN_OK;
    for (size_t i = 0; i < count && status == TN_OK; i++)
        status = tn_at_tensor(digest_tensor(checkpoint, &tensors[i], room.bytes, digests + 32 * i, err), &tensors[i], err);
    tn_pool_give(&context->pool, &room);
    return status;
}
