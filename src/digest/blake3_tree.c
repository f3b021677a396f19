/* B1 and B2 stand in blake3_tree.h. */
#include "digest/blake3_tree.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

/* A hasher that believes to stand behind `before` bytes holds, after a complete subtree, that subtree's pair alone. */
tn_blake3_pair tn_blake3_piece(const void *bytes, size_t size, uint64_t before)
{
    blake3_hasher hasher;
    tn_blake3_pair pair;
    blake3_hasher_init(&hasher);
    hasher.chunk.chunk_counter = before / BLAKE3_CHUNK_LEN;
    blake3_hasher_update(&hasher, bytes, size);
    memcpy(pair.values, hasher.cv_stack, sizeof pair.values);
    return pair;
}

/* The hasher joins subtrees when it sees that more follows, so a copy is shown one byte more, and what that joined is
 * kept without the byte. */
static void join_finished(blake3_hasher *hasher)
{
    blake3_hasher shown = *hasher;
    blake3_hasher_update(&shown, "", 1);
    memcpy(hasher->cv_stack, shown.cv_stack, sizeof hasher->cv_stack);
    hasher->cv_stack_len = shown.cv_stack_len;
}

void tn_blake3_push(blake3_hasher *hasher, const tn_blake3_pair *piece, size_t size)
{
    join_finished(hasher);
    memcpy(hasher->cv_stack + (size_t)hasher->cv_stack_len * BLAKE3_OUT_LEN, piece->values, sizeof piece->values);
    hasher->cv_stack_len = (uint8_t)(hasher->cv_stack_len + 2);
    hasher->chunk.chunk_counter += size / BLAKE3_CHUNK_LEN;
}

void tn_blake3_part_of(const void *bytes, size_t size, uint64_t before, tn_blake3_part *out)
{
    const uint8_t *at = bytes;
    size_t left = size, n = 0;
    assert(size <= TN_BLAKE3_PART_BYTES && before % TN_BLAKE3_PART_BYTES == 0);
    for (size_t piece = TN_BLAKE3_PART_BYTES; piece >= TN_BLAKE3_PIECE_LEAST; piece /= 2) {
        if (left < piece)
            continue;
        out->pairs[n++] = tn_blake3_piece(at, piece, before + (size - left));
        at += piece;
        left -= piece;
    }
    out->size = size;
    memcpy(out->rest, at, left);
}

void tn_blake3_join(blake3_hasher *hasher, const tn_blake3_part *part)
{
    size_t left = part->size, n = 0;
    for (size_t piece = TN_BLAKE3_PART_BYTES; piece >= TN_BLAKE3_PIECE_LEAST; piece /= 2) {
        if (left < piece)
            continue;
        tn_blake3_push(hasher, &part->pairs[n++], piece);
        left -= piece;
    }
    blake3_hasher_update(hasher, part->rest, left);
}

/* Seven pieces of two chunks and a tail, both ways: every join that there is comes up. */
static bool agrees(void)
{
    enum { PIECE = 2 * BLAKE3_CHUNK_LEN, PIECES = 7, TAIL = 1500 };
    uint8_t bytes[PIECES * PIECE + TAIL], whole[BLAKE3_OUT_LEN], parts[BLAKE3_OUT_LEN];
    blake3_hasher hasher;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i % 251);
    blake3_hasher_init(&hasher);
    blake3_hasher_update(&hasher, bytes, sizeof bytes);
    blake3_hasher_finalize(&hasher, whole, sizeof whole);
    blake3_hasher_init(&hasher);
    for (size_t i = 0; i < PIECES; i++) {
        tn_blake3_pair pair = tn_blake3_piece(bytes + i * PIECE, PIECE, i * PIECE);
        tn_blake3_push(&hasher, &pair, PIECE);
    }
    blake3_hasher_update(&hasher, bytes + PIECES * PIECE, TAIL);
    blake3_hasher_finalize(&hasher, parts, sizeof parts);
    return memcmp(whole, parts, sizeof whole) == 0;
}

bool tn_blake3_splits(void)
{
    enum { UNASKED, YES, NO };
    static _Atomic int answer;
    int known = atomic_load_explicit(&answer, memory_order_relaxed);
    if (known == UNASKED) {
        known = agrees() ? YES : NO;
        atomic_store_explicit(&answer, known, memory_order_relaxed);
    }
    return known == YES;
}
