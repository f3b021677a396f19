/* What one thread reads at a time: a run of the file over some neighbouring ranges. */
#ifndef TN_WEIGHTS_PIECES_H
#define TN_WEIGHTS_PIECES_H

#include "weights/choice.h"

#define TN_PIECE_BYTES ((size_t)4 << 20) /* at most, but for the end of an element */
#define TN_GAP_MAX 4096u

typedef struct tn_piece {
    uint64_t from, to;
    uint64_t end;        /* behind `to` where an element reaches over it: to be read, but not of this piece */
    size_t first, count; /* ranges that it holds bytes of */
} tn_piece;

typedef struct tn_pieces {
    tn_memory_source *memory;
    size_t most; /* bytes of one, where no digest asks for others */
    tn_piece *items;
    size_t count, capacity;
    bool converts; /* one of the ranges at least */
    bool compares;
} tn_pieces;

/* The pieces of all ranges, of `most` bytes at most (TN_PIECE_BYTES or less), in the order of the file: neighbours, and those less than TN_GAP_MAX apart, together. A piece
 * ends where the next one is best begun: at a block of the disk, and with a whole element where they are turned into others.
 * A range with a digest is in one piece or begins one, and goes on at multiples of TN_PIECE_BYTES; with a digest of the file
 * the whole file is cut so. Ended with tn_pieces_free. */
tn_status tn_pieces_cut(const tn_ranges *ranges, size_t most, tn_memory_source *memory, tn_pieces *out, tn_error *err);
void tn_pieces_free(tn_pieces *pieces);

bool tn_range_converts(const tn_range *range);
/* The part of a range that a piece has to put, and where it goes: `size` 0 where no element begins in the piece. */
uint8_t *tn_piece_overlap(const tn_range *range, const tn_piece *piece, uint64_t *from, size_t *size);

#endif
