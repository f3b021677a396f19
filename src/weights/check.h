/* Comparing what is read with digests, while it is read by several threads in any order.
 *
 *   K1  Each piece of a tensor, or of the file, is hashed once, by the thread that read it; what they come to is put
 *       together in the order of the file when all have been read.
 *   K2  A tensor that is in one piece is compared at once.
 *   K3  Where BLAKE3 cannot be put together from pieces (blake3_tree.h), one thread reads, in the order of the file. */
#ifndef TN_WEIGHTS_CHECK_H
#define TN_WEIGHTS_CHECK_H

#include "digest/blake3_tree.h"
#include "weights/pieces.h"

typedef struct tn_check {
    const tn_ranges *ranges;
    const tn_pieces *pieces;
    tn_blake3_part *parts; /* of each piece. NULL: there is nothing to be put together */
    bool splits;
    blake3_hasher running; /* of what is hashed in order, without `splits` */
} tn_check;

/* Threads that may read at once: `depth`, or one (K3). */
unsigned tn_check_depth(const tn_pieces *pieces, unsigned depth);
tn_status tn_check_begin(tn_check *check, const tn_ranges *ranges, const tn_pieces *pieces, tn_error *err);
/* A piece has been read: `bytes` is the one at its `from`. TN_BAD_CHECKSUM names file and tensor. */
tn_status tn_check_piece(tn_check *check, size_t number, const uint8_t *bytes, tn_error *err);
/* All have been read. */
tn_status tn_check_end(tn_check *check, tn_error *err);
void tn_check_free(tn_check *check);

#endif
