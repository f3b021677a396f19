/* Reading ranges. R1 to R6 stand in read.h. */
#include "weights/read.h"

#include <assert.h>
#include <string.h>

#include <tenure/convert.h>

#include "core/error.h"
#include "weights/check.h"
#include "weights/place.h"

#define ALIGN TN_OS_DIRECT_ALIGN
#define FOREGROUND_FROM ((uint64_t)1 << 20)    /* shorter reads are over before anyone could give way */
#define WAIT_MS_MAX 100                        /* in the background, before each piece */

/* Memory of one thread that pieces are read into, and turned or copied out of. */
typedef struct room {
    tn_block block;
    uint8_t *bytes; /* aligned for direct reads. NULL: there is none */
} room;

typedef struct reading {
    const tn_ranges *ranges;
    const tn_choice *choice;
    tn_told *told;
    tn_context *context;
    tn_pieces pieces;
    tn_check check;
    unsigned depth;
    room own; /* the caller's */
    _Atomic size_t next;
    _Atomic bool stopped;
    atomic_flag telling; /* held by who writes the three below, which are read when all threads are done */
    size_t failed;       /* the piece */
    tn_status status;
    tn_error error;
} reading;

/* ---- one piece ---- */

static tn_status tell_short(const tn_source *source, uint64_t at, size_t wanted, size_t got, tn_error *err)
{
    tn_fail(err, TN_IO, "the system gave fewer bytes than the file has");
    tn_error_at_file(err, tn_source_path(source));
    tn_error_at_offset(err, at + got);
    tn_error_amounts(err, wanted, got);
    return TN_IO;
}

/* What a read gave is counted, and believed only if the file is still the same: R1. `later`: that is asked when all is
 * read. */
static tn_status settle(tn_source *source, tn_status status, uint64_t at, size_t wanted, size_t got, bool later,
                        tn_error *err)
{
    if (status != TN_OK) {
        tn_error_at_file(err, tn_source_path(source));
        return status;
    }
    tn_source_count(source, got);
    if (!later || got != wanted)
        TN_TRY(tn_source_unchanged(source, err));
    return got == wanted ? TN_OK : tell_short(source, at, wanted, got, err);
}

tn_status tn_read_small(tn_source *source, uint64_t offset, void *bytes, size_t size, tn_error *err)
{
    size_t got = 0;
    tn_status status = tn_os_read(tn_source_file(source), offset, bytes, size, &got, err);
    return settle(source, status, offset, size, got, false, err);
}

/* Where the bytes of a piece go. What lies between two ranges goes into `between`. */
static size_t places_of(const reading *r, const tn_piece *one, tn_os_piece *places, uint8_t *between)
{
    uint64_t at = one->from;
    size_t n = 0;
    for (size_t i = 0; i < one->count; i++) {
        uint64_t from;
        size_t size;
        uint8_t *to = tn_piece_overlap(&r->ranges->items[one->first + i], one, &from, &size);
        if (from > at)
            places[n++] = (tn_os_piece){between, (size_t)(from - at)};
        places[n++] = (tn_os_piece){to, size};
        at = from + size;
    }
    assert(at == one->to && n <= TN_OS_PIECES_MAX);
    return n;
}

static tn_status read_through_cache(const reading *r, const tn_piece *one, tn_error *err)
{
    tn_os_piece places[TN_OS_PIECES_MAX];
    uint8_t between[TN_GAP_MAX];
    const tn_os_file *file = tn_source_file(r->ranges->source);
    size_t n = places_of(r, one, places, between), got = 0, wanted = (size_t)(one->to - one->from);
    bool behind = (r->told->options->flags & TN_LEASE_DROP_BEHIND) != 0;
    tn_status status = behind ? tn_os_read_behind(file, one->from, places, n, &got, err)
                              : tn_os_read_pieces(file, one->from, places, n, &got, err);
    return settle(r->ranges->source, status, one->from, wanted, got, r->choice->far, err);
}

static void put(const tn_range *range, uint8_t *to, const uint8_t *bytes, size_t size)
{
    if (!tn_range_converts(range)) {
        memcpy(to, bytes, size);
        return;
    }
    unsigned item = tn_dtype_bits(range->tensor->dtype) / 8;
    uint64_t count = size / item;
    assert(size % item == 0); /* R4 */
    tn_status status = tn_convert(range->tensor->dtype, bytes, range->as, to, count, NULL);
    assert(status == TN_OK); /* asked when the place was found */
    (void)status;
}

/* Out of a room that begins at byte `first` of the file. */
static void put_out(const reading *r, const tn_piece *one, const uint8_t *bytes, uint64_t first)
{
    for (size_t i = 0; i < one->count; i++) {
        const tn_range *range = &r->ranges->items[one->first + i];
        uint64_t from;
        size_t size;
        uint8_t *to = tn_piece_overlap(range, one, &from, &size);
        put(range, to, bytes + (from - first), size);
    }
}

static bool needs_room(const reading *r)
{
    return r->pieces.converts || r->pieces.compares;
}

static bool wants_room(const reading *r)
{
    return needs_room(r) || r->choice->way == TN_WAY_DIRECT;
}

static tn_status open_room(reading *r, room *out, tn_error *err)
{
    *out = (room){.bytes = NULL};
    if (!wants_room(r))
        return TN_OK;
    TN_TRY(tn_pool_take_passing(&r->context->pool, TN_ROOM_BYTES, &out->block, err));
    size_t off = (ALIGN - (uintptr_t)out->block.bytes % ALIGN) % ALIGN;
    out->bytes = (uint8_t *)out->block.bytes + off;
    return TN_OK;
}

static void close_room(reading *r, room *one)
{
    if (one->bytes != NULL)
        tn_pool_give(&r->context->pool, &one->block);
}

/* Whether a piece has to go through a room: R4, R5. */
static bool is_worked_on(const reading *r, const tn_piece *one)
{
    for (size_t i = 0; r->pieces.converts && i < one->count; i++)
        if (tn_range_converts(&r->ranges->items[one->first + i]))
            return true;
    return r->pieces.compares;
}

/* What was read into a room, which begins at byte `first` of the file, is compared and put where it goes. */
static tn_status work_on(reading *r, const tn_piece *one, const uint8_t *bytes, uint64_t first, tn_error *err)
{
    size_t number = (size_t)(one - r->pieces.items);
    if (r->pieces.compares)
        TN_TRY(tn_check_piece(&r->check, number, bytes + (one->from - first), err));
    put_out(r, one, bytes, first);
    return TN_OK;
}

/* Through the cache, in one run, into the room and out of it. */
static tn_status read_into_room(reading *r, const tn_piece *one, const room *place, tn_error *err)
{
    const tn_os_file *file = tn_source_file(r->ranges->source);
    tn_os_piece all = {place->bytes, (size_t)(one->end - one->from)};
    bool behind = (r->told->options->flags & TN_LEASE_DROP_BEHIND) != 0;
    size_t got = 0;
    tn_status status = behind ? tn_os_read_behind(file, one->from, &all, 1, &got, err)
                              : tn_os_read_pieces(file, one->from, &all, 1, &got, err);
    TN_TRY(settle(r->ranges->source, status, one->from, all.size, got, r->choice->far, err));
    return work_on(r, one, place->bytes, one->from, err);
}

/* Past the cache into the room, by whole blocks. False: it has to be done in the plain way. */
static bool read_past_cache(const reading *r, const tn_piece *one, const room *place, uint64_t first)
{
    uint64_t last = one->end + (ALIGN - one->end % ALIGN) % ALIGN;
    size_t got = 0;
    if (place->bytes == NULL || tn_os_is_cached(tn_source_file(r->ranges->source), first, (size_t)(last - first)))
        return false;
    if (tn_os_read(&r->choice->direct, first, place->bytes, (size_t)(last - first), &got, NULL) != TN_OK)
        return false;
    if (got < one->end - first)
        return false;
    tn_source_count(r->ranges->source, got);
    return true;
}

static tn_status read_piece(reading *r, const tn_piece *one, const room *place, tn_error *err)
{
    uint64_t first = one->from - one->from % ALIGN;
    if (r->choice->way == TN_WAY_DIRECT && read_past_cache(r, one, place, first)) {
        if (!r->choice->far)
            TN_TRY(tn_source_unchanged(r->ranges->source, err)); /* R1 */
        return work_on(r, one, place->bytes, first, err);
    }
    return is_worked_on(r, one) ? read_into_room(r, one, place, err) : read_through_cache(r, one, err);
}

/* Of a piece that cannot be read the ranges are tried one by one, to say which tensor it is. What is read so goes into memory
 * that is given up. NULL: none fails by itself. */
static const tn_tensor *culprit(const reading *r, const tn_piece *one, const room *place, tn_error *err)
{
    for (size_t i = 0; i < one->count; i++) {
        const tn_range *range = &r->ranges->items[one->first + i];
        uint64_t from = range->offset > one->from ? range->offset : one->from;
        uint64_t to = range->offset + range->size < one->to ? range->offset + range->size : one->to;
        uint8_t *bytes = place->bytes != NULL ? place->bytes : range->to + (from - range->offset);
        size_t got;
        if (tn_os_read(tn_source_file(r->ranges->source), from, bytes, (size_t)(to - from), &got, err) != TN_OK) {
            tn_error_at_file(err, tn_source_path(r->ranges->source));
            return range->tensor;
        }
    }
    return NULL;
}

static tn_status read_piece_of(reading *r, const tn_piece *one, const room *place, tn_error *err)
{
    tn_status status = read_piece(r, one, place, err);
    if (status == TN_OK || one->count == 0)
        return status;
    const tn_tensor *tensor = status == TN_IO && one->count > 1 ? culprit(r, one, place, err) : NULL;
    return tn_at_tensor(status, tensor != NULL ? tensor : r->ranges->items[one->first].tensor, err);
}

/* ---- all pieces ---- */

tn_status tn_tell(tn_told *told, tn_error *err)
{
    const tn_lease_options *options = told->options;
    uint64_t done = atomic_load(&told->done); /* with what lay between */
    if (options->progress == NULL ||
        options->progress(options->user, done < told->total ? done : told->total, told->total))
        return TN_OK;
    return tn_fail(err, TN_CANCELLED, "%s", tn_status_text(TN_CANCELLED));
}

/* R6 */
static void give_way(const reading *r)
{
    if ((r->told->options->flags & TN_LEASE_BACKGROUND) == 0)
        return;
    for (unsigned waited = 0; waited < WAIT_MS_MAX && atomic_load(&r->context->foreground) > 0; waited++)
        tn_os_sleep_ms(1);
}

static tn_status do_piece(reading *r, const tn_piece *one, const room *place, bool helper, tn_error *err)
{
    give_way(r);
    TN_TRY(tn_context_check(r->context, err));
    TN_TRY(read_piece_of(r, one, place, err));
    atomic_fetch_add(&r->told->done, one->to - one->from);
    return helper ? TN_OK : tn_tell(r->told, err);
}

/* The first in the file counts, so that the same fault is told in the same words: pieces are begun in order, so those before
 * one that failed are done or under way. */
static void keep_failure(reading *r, size_t number, tn_status status, const tn_error *error)
{
    atomic_store(&r->stopped, true);
    while (atomic_flag_test_and_set(&r->telling)) /* for the time of a copy */
        continue;
    if (r->status == TN_OK || number < r->failed) {
        r->failed = number;
        r->status = status;
        r->error = *error;
    }
    atomic_flag_clear(&r->telling);
}

static void work_with(reading *r, const room *place, bool helper)
{
    while (!atomic_load(&r->stopped)) {
        size_t number = atomic_fetch_add(&r->next, 1); /* R2 */
        if (number >= r->pieces.count)
            break;
        tn_error error;
        tn_status status = do_piece(r, &r->pieces.items[number], place, helper, &error);
        if (status != TN_OK)
            keep_failure(r, number, status, &error);
    }
}

/* A helper that gets no room where one is needed leaves the work to the others. */
static void work_through(void *user, bool helper)
{
    reading *r = user;
    room place;
    if (!helper) {
        work_with(r, &r->own, false);
        return;
    }
    if (open_room(r, &place, NULL) == TN_OK || !needs_room(r))
        work_with(r, &place, true);
    close_room(r, &place);
}

static void read_together(reading *r)
{
    bool front = (r->told->options->flags & TN_LEASE_BACKGROUND) == 0 && r->ranges->bytes >= FOREGROUND_FROM;
    size_t most = r->pieces.count < r->depth ? r->pieces.count : r->depth;
    if (front)
        atomic_fetch_add(&r->context->foreground, 1);
    tn_context_together(r->context, most > 1 ? (unsigned)most - 1 : 0, work_through, r);
    if (front)
        atomic_fetch_sub(&r->context->foreground, 1);
}

/* Direct reads do without a room where there is none: they are made in the plain way. */
static tn_status read_pieces(reading *r, tn_error *err)
{
    tn_error none;
    tn_status status = open_room(r, &r->own, &none);
    if (status != TN_OK && needs_room(r))
        return tn_fail_as(&none, err);
    read_together(r);
    close_room(r, &r->own);
    if (r->status != TN_OK)
        return tn_fail_as(&r->error, err);
    if (r->choice->far) /* R1 */
        TN_TRY(tn_at_tensor(tn_source_unchanged(r->ranges->source, err), r->ranges->items[0].tensor, err));
    TN_TRY(tn_check_end(&r->check, err)); /* R5 */
    return r->depth > 1 ? tn_tell(r->told, err) : TN_OK; /* what others read after the caller's last piece */
}

static tn_status read_file(const tn_ranges *ranges, const tn_choice *choice, tn_told *told, tn_error *err)
{
    reading r = {.ranges = ranges, .choice = choice, .told = told, .context = tn_source_context(ranges->source)};
    atomic_flag_clear(&r.telling);
    TN_TRY(tn_pieces_cut(ranges, choice->piece_bytes, &r.context->memory, &r.pieces, err));
    r.depth = tn_check_depth(&r.pieces, choice->depth);
    tn_status status = tn_check_begin(&r.check, ranges, &r.pieces, err);
    if (status == TN_OK)
        status = read_pieces(&r, err);
    tn_check_free(&r.check);
    tn_pieces_free(&r.pieces);
    return status;
}

/* ---- bytes in memory ---- */

static tn_status compare_in_memory(const tn_ranges *ranges, tn_error *err)
{
    tn_memory_source *memory = &tn_source_context(ranges->source)->memory;
    tn_pieces pieces;
    tn_check check;
    TN_TRY(tn_pieces_cut(ranges, TN_PIECE_BYTES, memory, &pieces, err));
    tn_status status = tn_check_begin(&check, ranges, &pieces, err);
    for (size_t i = 0; pieces.compares && i < pieces.count && status == TN_OK; i++)
        status = tn_check_piece(&check, i, tn_source_bytes(ranges->source) + pieces.items[i].from, err);
    if (status == TN_OK)
        status = tn_check_end(&check, err);
    tn_check_free(&check);
    tn_pieces_free(&pieces);
    return status;
}

static void copy_from_memory(const tn_ranges *ranges)
{
    for (size_t i = 0; i < ranges->count; i++) {
        const tn_range *range = &ranges->items[i];
        put(range, range->to, tn_source_bytes(ranges->source) + range->offset, range->size);
    }
    tn_source_count(ranges->source, ranges->bytes);
}

tn_status tn_read_ranges(const tn_ranges *ranges, const tn_choice *choice, tn_told *told, tn_error *err)
{
    if (ranges->bytes == 0)
        return TN_OK;
    if (choice->way != TN_WAY_MEMORY)
        return read_file(ranges, choice, told, err);
    TN_TRY(compare_in_memory(ranges, err));
    copy_from_memory(ranges);
    atomic_fetch_add(&told->done, ranges->bytes);
    return tn_tell(told, err);
}
