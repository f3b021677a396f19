/* Cutting ranges into pieces. Contract: pieces.h. */
#include "weights/pieces.h"

#include <assert.h>

#include "core/memory.h"

#define ALIGN TN_OS_DIRECT_ALIGN
#define PARTS_MAX (TN_OS_PIECES_MAX / 2) /* ranges in one piece: each may have a gap before it */

bool tn_range_converts(const tn_range *range)
{
    return range->as != range->tensor->dtype;
}

static unsigned item_bytes(tn_dtype dtype)
{
    return tn_dtype_bits(dtype) / 8;
}

static uint64_t end_of(const tn_range *range)
{
    return range->offset + range->size;
}

static tn_status add(tn_pieces *pieces, tn_piece one, tn_error *err)
{
    void *items = pieces->items;
    TN_TRY(tn_make_room(pieces->memory, &items, &pieces->capacity, pieces->count, sizeof one, 64, err));
    pieces->items = items;
    pieces->items[pieces->count++] = one;
    return TN_OK;
}

/* ---- as they are best read ---- */

/* Whether a range may follow in the last piece. */
static bool follows(const tn_pieces *pieces, const tn_range *range)
{
    if (pieces->count == 0)
        return false;
    const tn_piece *last = &pieces->items[pieces->count - 1];
    return range->offset >= last->to && range->offset - last->to <= TN_GAP_MAX && last->count < PARTS_MAX &&
           range->offset - last->from < pieces->most;
}

/* Where a piece that begins at `from` ends within the range, at the latest. Before the range when nothing of it fits. */
static uint64_t end_within(const tn_pieces *pieces, const tn_range *range, uint64_t from)
{
    uint64_t most = from + pieces->most;
    most -= most % ALIGN;
    if (most >= end_of(range))
        return end_of(range);
    if (most > range->offset && tn_range_converts(range))
        most -= (most - range->offset) % item_bytes(range->tensor->dtype);
    return most;
}

static void grow(tn_piece *last, uint64_t to)
{
    last->to = last->end = to;
    last->count++;
}

static tn_status cut_range(tn_pieces *pieces, const tn_ranges *ranges, size_t number, tn_error *err)
{
    const tn_range *range = &ranges->items[number];
    uint64_t at = range->offset;
    if (follows(pieces, range)) {
        tn_piece *last = &pieces->items[pieces->count - 1];
        uint64_t most = end_within(pieces, range, last->from);
        if (most > at)
            grow(last, at = most);
    }
    while (at < end_of(range)) {
        uint64_t to = end_within(pieces, range, at);
        TN_TRY(add(pieces, (tn_piece){at, to, to, number, 1}, err));
        at = to;
    }
    return TN_OK;
}

/* ---- as their digests are put together ---- */

static tn_status cut_digested(tn_pieces *pieces, const tn_ranges *ranges, size_t number, tn_error *err)
{
    const tn_range *range = &ranges->items[number];
    uint64_t end = end_of(range);
    if (follows(pieces, range) && end - pieces->items[pieces->count - 1].from <= TN_PIECE_BYTES) {
        grow(&pieces->items[pieces->count - 1], end);
        return TN_OK;
    }
    for (uint64_t at = range->offset; at < end;) {
        uint64_t to = end - at > TN_PIECE_BYTES ? at + TN_PIECE_BYTES : end;
        TN_TRY(add(pieces, (tn_piece){at, to, to, number, 1}, err));
        at = to;
    }
    return TN_OK;
}

/* The ranges that a run of the file has something of; those before `*first` end before it. */
static void take_ranges(const tn_ranges *ranges, size_t *first, tn_piece *piece)
{
    while (*first < ranges->count && end_of(&ranges->items[*first]) <= piece->from)
        ++*first;
    piece->first = *first;
    for (size_t i = *first; i < ranges->count && ranges->items[i].offset < piece->to; i++) {
        const tn_range *range = &ranges->items[i];
        piece->count++;
        if (!tn_range_converts(range) || end_of(range) <= piece->to)
            continue;
        uint64_t item = item_bytes(range->tensor->dtype), over = (piece->to - range->offset) % item;
        piece->end = piece->to + (over > 0 ? item - over : 0);
    }
}

static tn_status cut_file(tn_pieces *pieces, const tn_ranges *ranges, tn_error *err)
{
    uint64_t size = tn_source_size(ranges->source);
    size_t first = 0;
    for (uint64_t at = 0; at < size;) {
        uint64_t to = size - at > TN_PIECE_BYTES ? at + TN_PIECE_BYTES : size;
        tn_piece one = {.from = at, .to = to, .end = to};
        take_ranges(ranges, &first, &one);
        TN_TRY(add(pieces, one, err));
        at = to;
    }
    return TN_OK;
}

/* ---- all ---- */

static tn_status cut(const tn_ranges *ranges, tn_pieces *out, tn_error *err)
{
    if (ranges->file_digest != NULL)
        return cut_file(out, ranges, err);
    for (size_t i = 0; i < ranges->count; i++)
        TN_TRY(ranges->items[i].digest != NULL ? cut_digested(out, ranges, i, err) : cut_range(out, ranges, i, err));
    return TN_OK;
}

tn_status tn_pieces_cut(const tn_ranges *ranges, size_t most, tn_memory_source *memory, tn_pieces *out, tn_error *err)
{
    *out = (tn_pieces){.memory = memory, .most = most, .compares = ranges->file_digest != NULL};
    for (size_t i = 0; i < ranges->count; i++) {
        out->converts = out->converts || tn_range_converts(&ranges->items[i]);
        out->compares = out->compares || ranges->items[i].digest != NULL;
    }
    tn_status status = cut(ranges, out, err);
    if (status != TN_OK)
        tn_pieces_free(out);
    return status;
}

void tn_pieces_free(tn_pieces *pieces)
{
    tn_give(pieces->memory, pieces->items, pieces->capacity * sizeof *pieces->items);
    pieces->items = NULL;
}

/* An element belongs to the piece that it begins in. */
uint8_t *tn_piece_overlap(const tn_range *range, const tn_piece *piece, uint64_t *from, size_t *size)
{
    uint64_t begin = range->offset > piece->from ? range->offset : piece->from;
    uint64_t end = end_of(range) < piece->to ? end_of(range) : piece->to;
    uint64_t into = begin - range->offset;
    if (tn_range_converts(range)) {
        uint64_t item = item_bytes(range->tensor->dtype);
        begin = range->offset + (into + item - 1) / item * item;
        end = range->offset + (end - range->offset + item - 1) / item * item;
        into = (begin - range->offset) / item * item_bytes(range->as);
    }
    assert(end <= piece->end || end == end_of(range));
    *from = begin;
    *size = begin < end ? (size_t)(end - begin) : 0;
    return range->to + into;
}
