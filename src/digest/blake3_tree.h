/* BLAKE3 by several threads: pieces of a text hashed apart and put together (BLAKE3 specification, section 2.1: a tree
 * whose leaves are chunks of 1 KiB and whose left subtrees are complete).
 *
 *   B1  A piece is a complete subtree: a power of two of chunks, at least two, at a multiple of its own size.
 *   B2  Pieces are pushed in their order, each behind all that came before it; what is no whole piece (the end of a
 *       text) is given to blake3_hasher_update as always.
 * The official library is what hashes. It keeps the values of finished subtrees in its hasher, in the open, but promises
 * nothing of it: so tn_blake3_splits tries it first, and where it says no, all is to be given to blake3_hasher_update. */
#ifndef TN_DIGEST_BLAKE3_TREE_H
#define TN_DIGEST_BLAKE3_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <blake3.h>

/* What a piece comes to: the chaining values of its two halves. Their parent is not made until it is known whether it
 * is the root. */
typedef struct tn_blake3_pair {
    uint8_t values[2 * BLAKE3_OUT_LEN];
} tn_blake3_pair;

/* Whether this library's hasher can be put together from pieces. Asked of it once in a process. */
bool tn_blake3_splits(void);
/* Hash one piece, `before` bytes of the text being before it (B1). From any thread. */
tn_blake3_pair tn_blake3_piece(const void *bytes, size_t size, uint64_t before);
/* Add a hashed piece of `size` bytes (B2). */
void tn_blake3_push(blake3_hasher *hasher, const tn_blake3_pair *piece, size_t size);

/* Any run of a text that begins at a multiple of TN_BLAKE3_PART_BYTES and is no longer: the pieces that it falls into, the
 * largest first, and what is left and shorter than the least of them. */
#define TN_BLAKE3_PART_BYTES ((size_t)4 << 20)
#define TN_BLAKE3_PIECE_LEAST ((size_t)2 * BLAKE3_CHUNK_LEN)
typedef struct tn_blake3_part {
    size_t size;
    tn_blake3_pair pairs[12]; /* of 4 MiB, or of any of 2 MiB to 2 KiB */
    uint8_t rest[TN_BLAKE3_PIECE_LEAST];
} tn_blake3_part;

/* Hash one such run. From any thread. */
void tn_blake3_part_of(const void *bytes, size_t size, uint64_t before, tn_blake3_part *out);
/* Add a hashed part, behind all that came before it. */
void tn_blake3_join(blake3_hasher *hasher, const tn_blake3_part *part);

#endif
