/* Digests of what is read. K1 to K3 stand in check.h. */
#include "weights/check.h"

#include <assert.h>
#include <string.h>

#include "core/encode.h"
#include "core/memory.h"
#include "weights/place.h"

static tn_status compare(const tn_check *check, const blake3_hasher *hasher, const uint8_t *expected, const tn_range *range,
                         tn_error *err)
{
    uint8_t found[32];
    char hex[65], wanted[65];
    blake3_hasher_finalize(hasher, found, sizeof found);
    if (memcmp(found, expected, sizeof found) == 0)
        return TN_OK;
    tn_hex(found, 32, hex);
    tn_hex(expected, 32, wanted);
    tn_fail(err, TN_BAD_CHECKSUM, "%s not the bytes that were recorded: their BLAKE3 is %.16s..., not %.16s...",
            range != NULL ? "the tensor has" : "the file has", hex, wanted);
    tn_error_at_file(err, tn_source_path(check->ranges->source));
    if (range != NULL)
        tn_error_at_offset(err, range->offset);
    return tn_at_tensor(TN_BAD_CHECKSUM, range != NULL ? range->tensor : NULL, err);
}

static uint64_t end_of(const tn_range *range)
{
    return range->offset + range->size;
}

static bool is_whole(const tn_range *range, const tn_piece *piece)
{
    return range->offset >= piece->from && end_of(range) <= piece->to;
}

/* ---- begin and end ---- */

unsigned tn_check_depth(const tn_pieces *pieces, unsigned depth)
{
    return pieces->compares && !tn_blake3_splits() ? 1 : depth;
}

tn_status tn_check_begin(tn_check *check, const tn_ranges *ranges, const tn_pieces *pieces, tn_error *err)
{
    void *parts = NULL;
    *check = (tn_check){.ranges = ranges, .pieces = pieces, .splits = tn_blake3_splits()};
    blake3_hasher_init(&check->running);
    if (pieces->compares && check->splits)
        TN_TRY(tn_take_array(pieces->memory, pieces->count, sizeof(tn_blake3_part), &parts, err));
    check->parts = parts;
    return TN_OK;
}

void tn_check_free(tn_check *check)
{
    if (check->parts != NULL)
        tn_give(check->pieces->memory, check->parts, check->pieces->count * sizeof *check->parts);
    check->parts = NULL;
}

/* ---- pieces ---- */

/* A run of a longer text, `before` bytes of it being before the run. */
static void add_run(tn_check *check, size_t number, const uint8_t *bytes, size_t size, uint64_t before)
{
    if (check->splits)
        tn_blake3_part_of(bytes, size, before, &check->parts[number]);
    else
        blake3_hasher_update(&check->running, bytes, size);
}

static tn_status check_range(tn_check *check, size_t number, const tn_range *range, const uint8_t *bytes, tn_error *err)
{
    const tn_piece *piece = &check->pieces->items[number];
    uint64_t from = range->offset > piece->from ? range->offset : piece->from;
    uint64_t to = end_of(range) < piece->to ? end_of(range) : piece->to;
    const uint8_t *at = bytes + (from - piece->from);
    if (!is_whole(range, piece)) {
        assert(from == piece->from); /* so there is one of these in a piece, and one part is enough */
        add_run(check, number, at, (size_t)(to - from), from - range->offset);
        if (check->splits || to < end_of(range))
            return TN_OK;
        blake3_hasher all = check->running;
        blake3_hasher_init(&check->running);
        return compare(check, &all, range->digest, range, err);
    }
    blake3_hasher one;
    blake3_hasher_init(&one);
    blake3_hasher_update(&one, at, range->size);
    return compare(check, &one, range->digest, range, err); /* K2 */
}

tn_status tn_check_piece(tn_check *check, size_t number, const uint8_t *bytes, tn_error *err)
{
    const tn_piece *piece = &check->pieces->items[number];
    if (check->ranges->file_digest != NULL) {
        add_run(check, number, bytes, (size_t)(piece->to - piece->from), piece->from);
        return TN_OK;
    }
    for (size_t i = 0; i < piece->count; i++) {
        const tn_range *range = &check->ranges->items[piece->first + i];
        if (range->digest != NULL)
            TN_TRY(check_range(check, number, range, bytes, err));
    }
    return TN_OK;
}

/* ---- together ---- */

static tn_status end_file(tn_check *check, tn_error *err)
{
    for (size_t i = 0; check->splits && i < check->pieces->count; i++)
        tn_blake3_join(&check->running, &check->parts[i]);
    return compare(check, &check->running, check->ranges->file_digest, NULL, err);
}

/* The first range of a piece is the one that may have begun before it. */
static tn_status end_tensors(tn_check *check, tn_error *err)
{
    for (size_t i = 0; i < check->pieces->count; i++) {
        const tn_piece *piece = &check->pieces->items[i];
        const tn_range *range = &check->ranges->items[piece->first];
        if (range->digest == NULL || is_whole(range, piece))
            continue;
        tn_blake3_join(&check->running, &check->parts[i]);
        if (piece->to < end_of(range))
            continue;
        TN_TRY(compare(check, &check->running, range->digest, range, err));
        blake3_hasher_init(&check->running);
    }
    return TN_OK;
}

tn_status tn_check_end(tn_check *check, tn_error *err)
{
    if (!check->pieces->compares)
        return TN_OK;
    if (check->ranges->file_digest != NULL)
        return end_file(check, err);
    return check->splits ? end_tensors(check, err) : TN_OK;
}
