/* One file's digests being taken: what is wanted of it, in which blocks it is read, and who takes them.
 *
 *   P1  Every digest is a lane that takes each block meant for it once, in their order. Lanes know nothing of each other
 *       and may be used by different threads; a lane by one at a time.
 *   P2  BLAKE3 alone need not wait for its turn: a whole block is hashed as a piece, and pushed in its turn.
 *       Where it is all that is wanted and the file lies in the system's cache, a block is several pieces, which are
 *       hashed where they lie: copying them would cost half as much again as hashing them.
 *   P3  What a file's bytes showed takes from it the digests that need a reader, and no others.
 *   P4  Digests that came from different bytes are never handed out together: at the end the path must still lead to
 *       the file that was opened, unchanged.
 * It starts no thread and takes no lock; many.c does. */
#ifndef TN_DIGEST_PASS_H
#define TN_DIGEST_PASS_H

#include "digest/blake3_tree.h"
#include "digest/content.h"
#include "digest/sha256.h"
#include "io/source.h"

#define TN_PASS_BLOCK_BYTES ((size_t)1 << 20) /* a power of two: what a block has at most, and a BLAKE3 piece has */

#define TN_PASS_PIECES ((size_t)8) /* in a block that is looked at */

/* In the order in which they want a thread: the slowest first. */
typedef enum tn_lane {
    TN_LANE_SHA256,
    TN_LANE_AUTOV3,
    TN_LANE_CRC32,
    TN_LANE_CONTENT,
    TN_LANE_BLAKE3,
    TN_LANE_AUTOV1,
    TN_LANES
} tn_lane;

/* A run of the file's bytes: `from` is the first, `to` the one behind the last. */
typedef struct tn_span {
    uint64_t from, to;
} tn_span;

/* A part of the file that is read at once. */
typedef struct tn_pass_block {
    uint64_t number; /* 0, 1, 2, ... */
    uint64_t at;
    size_t size;
    uint32_t lanes; /* 1 << lane: who takes it */
} tn_pass_block;

typedef struct tn_pass {
    tn_context *context;
    const char *path;
    tn_source *source;
    tn_checkpoint *checkpoint;    /* NULL: not needed, or not to be had */
    uint32_t which;               /* what is wanted and can be had */
    tn_span autov1, autov3, read; /* `read` holds the others; empty where they are not wanted */
    uint32_t lanes;               /* of the blocks of `read` */
    uint64_t blocks, at;          /* told about so far; and up to where of `read` */
    uint64_t total;               /* bytes that are read in all */
    bool looks;                   /* the blocks from here on are of several pieces (P2); others may turn it off */
    bool content_apart;           /* the content hash has blocks of its own behind those of `read` */
    blake3_hasher blake3;
    tn_sha256 sha256, sha256_autov1, sha256_autov3;
    tn_content content;
    tn_digests found;
} tn_pass;

/* Open the file: nothing is read yet. `path` outlives the pass, which tn_pass_close ends whatever happens. */
tn_status tn_pass_open(tn_pass *p, tn_context *context, const char *path, uint32_t which, tn_error *err);
/* Read the header where a digest needs it, and find out what is to be read. */
tn_status tn_pass_prepare(tn_pass *p, tn_error *err);
/* The next block to be read. False when all were told. */
bool tn_pass_next(tn_pass *p, tn_pass_block *out);
/* The number of the first block that the lane takes, when it takes one at all. */
uint64_t tn_pass_first(const tn_pass *p, tn_lane lane);
tn_status tn_pass_read(const tn_pass *p, const tn_pass_block *block, uint8_t *bytes, tn_error *err);
/* P1: give a lane its next block. */
void tn_pass_take(tn_pass *p, tn_lane lane, const tn_pass_block *block, const uint8_t *bytes);
/* P2: whether this block can be hashed before its turn; then it is pushed instead of taken. */
bool tn_pass_is_piece(const tn_pass_block *block);
/* Whether it is one of several pieces: it is hashed as it is read. */
bool tn_pass_is_looked_at(const tn_pass_block *block);
/* Hash its pieces, from any thread; `bytes` is room for one, should it have to be read. *warm: it had not. */
tn_status tn_pass_look(const tn_pass *p, const tn_pass_block *block, uint8_t *bytes, tn_blake3_pair *pieces, bool *warm,
                       tn_error *err);
/* Push a block's pieces in its turn. */
void tn_pass_push(tn_pass *p, const tn_pass_block *block, const tn_blake3_pair *pieces);
/* P4: when every lane has taken every block. */
tn_status tn_pass_finish(tn_pass *p, tn_digests *out, tn_error *err);
void tn_pass_close(tn_pass *p); /* zeroed accepted */

#endif
