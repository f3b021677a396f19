/* Reading ranges. R1 to R5 stand in read.h. */
#include "weights/read.h"

#include <assert.h>
#include <string.h>

#include <tenure/convert.h>

#include "core/error.h"
#include "weights/place.h"

#define ALIGN TN_OS_DIRECT_ALIGN
#define PARTS_MAX (TN_OS_PIECES_MAX / 2)       /* ranges in one piece: each may have a gap before it */
#define FOREGROUND_FROM ((uint64_t)1 << 20)    /* shorter reads are over before anyone could give way */
#define WAIT_MS_MAX 100                        /* in the background, before each piece */

/* What one thread reads at a time: a run of the file over some neighbouring ranges. */
typedef struct piece {
    uint64_t from, to;
    size_t first, count; /* ranges */
} piece;

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
    piece *pieces;
    size_t piece_count, piece_room;
    bool converts; /* one of the ranges at least */
    room own;      /* the caller's */
    _Atomic size_t next;
    _Atomic bool stopped;
    _Atomic bool failed; /* whoever sets it writes the two below, which are read when all threads are done */
    tn_status status;
    tn_error error;
} reading;

/* ---- cutting into pieces ---- */

static tn_status add_piece(reading *r, piece one, tn_error *err)
{
    void *items = r->pieces;
    TN_TRY(tn_make_room(&r->context->memory, &items, &r->piece_room, r->piece_count, sizeof one, 64, err));
    r->pieces = items;
    r->pieces[r->piece_count++] = one;
    return TN_OK;
}

/* R3: whether a range may follow in the last piece. */
static bool follows(const reading *r, const tn_range *range)
{
    if (r->piece_count == 0)
        return false;
    const piece *last = &r->pieces[r->piece_count - 1];
    return range->offset >= last->to && range->offset - last->to <= TN_GAP_MAX && last->count < PARTS_MAX &&
           range->offset - last->from < TN_PIECE_BYTES;
}

static bool converts(const tn_range *range)
{
    return range->as != range->tensor->dtype;
}

static unsigned item_bytes(tn_dtype dtype)
{
    return tn_dtype_bits(dtype) / 8;
}

/* Where a piece that begins at `from` ends within the range, at the latest: where the next one is aligned, or R4. Before
 * the range when nothing of it fits. */
static uint64_t end_within(const tn_range *range, uint64_t from)
{
    uint64_t end = range->offset + range->size, most = from + TN_PIECE_BYTES;
    most -= most % ALIGN;
    if (most >= end)
        return end;
    if (most > range->offset && converts(range))
        most -= (most - range->offset) % item_bytes(range->tensor->dtype);
    return most;
}

static tn_status cut_range(reading *r, size_t number, tn_error *err)
{
    const tn_range *range = &r->ranges->items[number];
    uint64_t at = range->offset, end = range->offset + range->size;
    if (follows(r, range)) {
        piece *last = &r->pieces[r->piece_count - 1];
        uint64_t most = end_within(range, last->from);
        if (most > at) {
            last->to = at = most;
            last->count++;
        }
    }
    while (at < end) {
        uint64_t to = end_within(range, at);
        TN_TRY(add_piece(r, (piece){at, to, number, 1}, err));
        at = to;
    }
    r->converts = r->converts || converts(range);
    return TN_OK;
}

/* ---- one piece ---- */

static tn_status tell_short(const tn_source *source, uint64_t at, size_t wanted, size_t got, tn_error *err)
{
    tn_fail(err, TN_IO, "the system gave fewer bytes than the file has");
    tn_error_at_file(err, tn_source_path(source));
    tn_error_at_offset(err, at + got);
    tn_error_amounts(err, wanted, got);
    return TN_IO;
}

/* What a read gave is counted, and believed only if the file is still the same: R1. */
static tn_status settle(tn_source *source, tn_status status, uint64_t at, size_t wanted, size_t got, tn_error *err)
{
    if (status != TN_OK) {
        tn_error_at_file(err, tn_source_path(source));
        return status;
    }
    tn_source_count(source, got);
    TN_TRY(tn_source_unchanged(source, err));
    return got == wanted ? TN_OK : tell_short(source, at, wanted, got, err);
}

tn_status tn_read_small(tn_source *source, uint64_t offset, void *bytes, size_t size, tn_error *err)
{
    size_t got = 0;
    tn_status status = tn_os_read(tn_source_file(source), offset, bytes, size, &got, err);
    return settle(source, status, offset, size, got, err);
}

/* The part of a range that lies in a piece, and where it goes. */
static uint8_t *overlap(const tn_range *range, const piece *one, uint64_t *from, size_t *size)
{
    uint64_t end = range->offset + range->size;
    uint64_t to = end < one->to ? end : one->to;
    *from = range->offset > one->from ? range->offset : one->from;
    assert(*from < to);
    *size = (size_t)(to - *from);
    uint64_t into = *from - range->offset;
    if (converts(range))
        into = into / item_bytes(range->tensor->dtype) * item_bytes(range->as);
    return range->to + into;
}

/* Where the bytes of a piece go. What lies between two ranges goes into `between`. */
static size_t places_of(const reading *r, const piece *one, tn_os_piece *places, uint8_t *between)
{
    uint64_t at = one->from;
    size_t n = 0;
    for (size_t i = 0; i < one->count; i++) {
        uint64_t from;
        size_t size;
        uint8_t *to = overlap(&r->ranges->items[one->first + i], one, &from, &size);
        if (from > at)
            places[n++] = (tn_os_piece){between, (size_t)(from - at)};
        places[n++] = (tn_os_piece){to, size};
        at = from + size;
    }
    assert(at == one->to && n <= TN_OS_PIECES_MAX);
    return n;
}

static tn_status read_through_cache(const reading *r, const piece *one, tn_error *err)
{
    tn_os_piece places[TN_OS_PIECES_MAX];
    uint8_t between[TN_GAP_MAX];
    const tn_os_file *file = tn_source_file(r->ranges->source);
    size_t n = places_of(r, one, places, between), got = 0, wanted = (size_t)(one->to - one->from);
    bool behind = (r->told->options->flags & TN_LEASE_DROP_BEHIND) != 0;
    tn_status status = behind ? tn_os_read_behind(file, one->from, places, n, &got, err)
                              : tn_os_read_pieces(file, one->from, places, n, &got, err);
    return settle(r->ranges->source, status, one->from, wanted, got, err);
}

static void put(const tn_range *range, uint8_t *to, const uint8_t *bytes, size_t size)
{
    if (!converts(range)) {
        memcpy(to, bytes, size);
        return;
    }
    uint64_t count = size / item_bytes(range->tensor->dtype);
    assert(size % item_bytes(range->tensor->dtype) == 0); /* R4 */
    tn_status status = tn_convert(range->tensor->dtype, bytes, range->as, to, count, NULL);
    assert(status == TN_OK); /* asked when the place was found */
    (void)status;
}

/* Out of a room that begins at byte `first` of the file. */
static void put_out(const reading *r, const piece *one, const uint8_t *bytes, uint64_t first)
{
    for (size_t i = 0; i < one->count; i++) {
        const tn_range *range = &r->ranges->items[one->first + i];
        uint64_t from;
        size_t size;
        uint8_t *to = overlap(range, one, &from, &size);
        put(range, to, bytes + (from - first), size);
    }
}

static bool wants_room(const reading *r)
{
    return r->converts || r->choice->way == TN_WAY_DIRECT;
}

static tn_status open_room(reading *r, room *out, tn_error *err)
{
    *out = (room){.bytes = NULL};
    if (!wants_room(r))
        return TN_OK;
    TN_TRY(tn_pool_take(&r->context->pool, TN_ROOM_BYTES, &out->block, err));
    size_t off = (ALIGN - (uintptr_t)out->block.bytes % ALIGN) % ALIGN;
    out->bytes = (uint8_t *)out->block.bytes + off;
    return TN_OK;
}

static void close_room(reading *r, room *one)
{
    if (one->bytes != NULL)
        tn_pool_give(&r->context->pool, &one->block);
}

static bool piece_converts(const reading *r, const piece *one)
{
    for (size_t i = 0; r->converts && i < one->count; i++)
        if (converts(&r->ranges->items[one->first + i]))
            return true;
    return false;
}

/* Through the cache, in one run, into the room and out of it. */
static tn_status read_and_put(const reading *r, const piece *one, const room *place, tn_error *err)
{
    const tn_os_file *file = tn_source_file(r->ranges->source);
    tn_os_piece all = {place->bytes, (size_t)(one->to - one->from)};
    bool behind = (r->told->options->flags & TN_LEASE_DROP_BEHIND) != 0;
    size_t got = 0;
    tn_status status = behind ? tn_os_read_behind(file, one->from, &all, 1, &got, err)
                              : tn_os_read_pieces(file, one->from, &all, 1, &got, err);
    TN_TRY(settle(r->ranges->source, status, one->from, all.size, got, err));
    put_out(r, one, place->bytes, one->from);
    return TN_OK;
}

/* Past the cache, by whole blocks. False: it has to be done in the plain way. */
static bool read_past_cache(const reading *r, const piece *one, const room *place)
{
    uint64_t first = one->from - one->from % ALIGN, last = one->to + (ALIGN - one->to % ALIGN) % ALIGN;
    size_t got = 0;
    if (place->bytes == NULL || tn_os_is_cached(tn_source_file(r->ranges->source), first, (size_t)(last - first)))
        return false;
    if (tn_os_read(&r->choice->direct, first, place->bytes, (size_t)(last - first), &got, NULL) != TN_OK)
        return false;
    if (got < one->to - first)
        return false;
    tn_source_count(r->ranges->source, got);
    put_out(r, one, place->bytes, first);
    return true;
}

static tn_status read_piece(const reading *r, const piece *one, const room *place, tn_error *err)
{
    const tn_range *range = &r->ranges->items[one->first];
    tn_status status;
    if (r->choice->way == TN_WAY_DIRECT && read_past_cache(r, one, place))
        status = tn_source_unchanged(r->ranges->source, err); /* R1 */
    else if (piece_converts(r, one))
        status = read_and_put(r, one, place, err);
    else
        status = read_through_cache(r, one, err);
    return tn_at_tensor(status, range->tensor, err);
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

/* R5 */
static void give_way(const reading *r)
{
    if ((r->told->options->flags & TN_LEASE_BACKGROUND) == 0)
        return;
    for (unsigned waited = 0; waited < WAIT_MS_MAX && atomic_load(&r->context->foreground) > 0; waited++)
        tn_os_sleep_ms(1);
}

static tn_status do_piece(reading *r, const piece *one, const room *place, bool helper, tn_error *err)
{
    give_way(r);
    TN_TRY(tn_context_check(r->context, err));
    TN_TRY(read_piece(r, one, place, err));
    atomic_fetch_add(&r->told->done, one->to - one->from);
    return helper ? TN_OK : tn_tell(r->told, err);
}

static void keep_failure(reading *r, tn_status status, const tn_error *error)
{
    if (!atomic_exchange(&r->failed, true)) {
        r->status = status;
        r->error = *error;
    }
    atomic_store(&r->stopped, true);
}

static void work_with(reading *r, const room *place, bool helper)
{
    while (!atomic_load(&r->stopped)) {
        size_t number = atomic_fetch_add(&r->next, 1); /* R2 */
        if (number >= r->piece_count)
            break;
        tn_error error;
        tn_status status = do_piece(r, &r->pieces[number], place, helper, &error);
        if (status != TN_OK)
            keep_failure(r, status, &error);
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
    if (open_room(r, &place, NULL) == TN_OK || !r->converts)
        work_with(r, &place, true);
    close_room(r, &place);
}

static void read_together(reading *r)
{
    bool front = (r->told->options->flags & TN_LEASE_BACKGROUND) == 0 && r->ranges->bytes >= FOREGROUND_FROM;
    size_t most = r->piece_count < r->choice->depth ? r->piece_count : r->choice->depth;
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
    if (status != TN_OK && r->converts)
        return tn_fail_as(&none, err);
    read_together(r);
    close_room(r, &r->own);
    if (r->status != TN_OK)
        return tn_fail_as(&r->error, err);
    return r->choice->depth > 1 ? tn_tell(r->told, err) : TN_OK; /* what others read after the caller's last piece */
}

static void copy_from_memory(const tn_ranges *ranges)
{
    for (size_t i = 0; i < ranges->count; i++) {
        const tn_range *range = &ranges->items[i];
        put(range, range->to, tn_source_bytes(ranges->source) + range->offset, range->size);
    }
    tn_source_count(ranges->source, ranges->bytes);
}

static tn_status read_file(const tn_ranges *ranges, const tn_choice *choice, tn_told *told, tn_error *err)
{
    reading r = {.ranges = ranges, .choice = choice, .told = told, .context = tn_source_context(ranges->source)};
    tn_status status = TN_OK;
    for (size_t i = 0; i < ranges->count && status == TN_OK; i++)
        status = cut_range(&r, i, err);
    if (status == TN_OK)
        status = read_pieces(&r, err);
    tn_give(&r.context->memory, r.pieces, r.piece_room * sizeof *r.pieces);
    return status;
}

tn_status tn_read_ranges(const tn_ranges *ranges, const tn_choice *choice, tn_told *told, tn_error *err)
{
    if (ranges->bytes == 0)
        return TN_OK;
    if (choice->way != TN_WAY_MEMORY)
        return read_file(ranges, choice, told, err);
    copy_from_memory(ranges);
    atomic_fetch_add(&told->done, ranges->bytes);
    return tn_tell(told, err);
}
