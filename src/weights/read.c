/* Reading ranges. R1 to R4 stand in read.h. */
#include "weights/read.h"

#include <assert.h>
#include <string.h>

#include "core/error.h"
#include "weights/place.h"

#define PIECE_BYTES ((size_t)4 << 20)
#define ALIGN TN_OS_DIRECT_ALIGN
#define PARTS_MAX (TN_OS_PIECES_MAX / 2)       /* ranges in one piece: each may have a gap before it */
#define FOREGROUND_FROM ((uint64_t)1 << 20)    /* shorter reads are over before anyone could give way */
#define WAIT_MS_MAX 100                        /* in the background, before each piece */

/* What one thread reads at a time: a run of the file over some neighbouring ranges. */
typedef struct piece {
    uint64_t from, to;
    size_t first, count; /* ranges */
} piece;

typedef struct reading {
    const tn_ranges *ranges;
    const tn_choice *choice;
    tn_told *told;
    tn_context *context;
    piece *pieces;
    size_t piece_count, piece_room;
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
           range->offset - last->from < PIECE_BYTES;
}

/* Where a piece that begins at `from` ends at the latest. Aligned, so that the next one begins so. */
static uint64_t end_of(uint64_t from)
{
    uint64_t end = from + PIECE_BYTES;
    return end - end % ALIGN;
}

static tn_status cut_range(reading *r, size_t number, tn_error *err)
{
    const tn_range *range = &r->ranges->items[number];
    uint64_t at = range->offset, end = range->offset + range->size;
    if (follows(r, range)) {
        piece *last = &r->pieces[r->piece_count - 1];
        uint64_t most = end_of(last->from);
        if (most > at) {
            last->to = end < most ? end : most;
            last->count++;
            at = last->to;
        }
    }
    while (at < end) {
        uint64_t most = end_of(at), to = end < most ? end : most;
        TN_TRY(add_piece(r, (piece){at, to, number, 1}, err));
        at = to;
    }
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

/* The part of a range that lies in a piece. */
static uint8_t *overlap(const tn_range *range, const piece *one, uint64_t *from, size_t *size)
{
    uint64_t end = range->offset + range->size;
    uint64_t to = end < one->to ? end : one->to;
    *from = range->offset > one->from ? range->offset : one->from;
    assert(*from < to);
    *size = (size_t)(to - *from);
    return range->to + (*from - range->offset);
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

static void copy_out(const reading *r, const piece *one, const uint8_t *bytes, uint64_t first)
{
    for (size_t i = 0; i < one->count; i++) {
        uint64_t from;
        size_t size;
        uint8_t *to = overlap(&r->ranges->items[one->first + i], one, &from, &size);
        memcpy(to, bytes + (from - first), size);
    }
}

/* Memory that direct reads can go into, of one thread. */
typedef struct room {
    tn_block block;
    uint8_t *bytes; /* NULL: there is none */
} room;

static void open_room(reading *r, room *out)
{
    *out = (room){.bytes = NULL};
    if (r->choice->way != TN_WAY_DIRECT)
        return;
    if (tn_pool_take(&r->context->pool, PIECE_BYTES + 3 * ALIGN, &out->block, NULL) != TN_OK)
        return;
    size_t off = (ALIGN - (uintptr_t)out->block.bytes % ALIGN) % ALIGN;
    out->bytes = (uint8_t *)out->block.bytes + off;
}

static void close_room(reading *r, room *one)
{
    if (one->bytes != NULL)
        tn_pool_give(&r->context->pool, &one->block);
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
    copy_out(r, one, place->bytes, first);
    return true;
}

static tn_status read_piece(const reading *r, const piece *one, const room *place, tn_error *err)
{
    const tn_range *range = &r->ranges->items[one->first];
    tn_status status;
    if (r->choice->way == TN_WAY_DIRECT && read_past_cache(r, one, place))
        status = tn_source_unchanged(r->ranges->source, err); /* R1 */
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

/* R4 */
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

static void work_through(void *user, bool helper)
{
    reading *r = user;
    room place;
    open_room(r, &place);
    while (!atomic_load(&r->stopped)) {
        size_t number = atomic_fetch_add(&r->next, 1); /* R2 */
        if (number >= r->piece_count)
            break;
        tn_error error;
        tn_status status = do_piece(r, &r->pieces[number], &place, helper, &error);
        if (status != TN_OK)
            keep_failure(r, status, &error);
    }
    close_room(r, &place);
}

static void read_pieces(reading *r)
{
    bool front = (r->told->options->flags & TN_LEASE_BACKGROUND) == 0 && r->ranges->bytes >= FOREGROUND_FROM;
    size_t most = r->piece_count < r->choice->depth ? r->piece_count : r->choice->depth;
    if (front)
        atomic_fetch_add(&r->context->foreground, 1);
    tn_context_together(r->context, most > 1 ? (unsigned)most - 1 : 0, work_through, r);
    if (front)
        atomic_fetch_sub(&r->context->foreground, 1);
}

static void copy_from_memory(const tn_ranges *ranges)
{
    for (size_t i = 0; i < ranges->count; i++) {
        const tn_range *range = &ranges->items[i];
        memcpy(range->to, tn_source_bytes(ranges->source) + range->offset, range->size);
    }
    tn_source_count(ranges->source, ranges->bytes);
}

static tn_status read_file(const tn_ranges *ranges, const tn_choice *choice, tn_told *told, tn_error *err)
{
    reading r = {.ranges = ranges, .choice = choice, .told = told, .context = tn_source_context(ranges->source)};
    tn_status status = TN_OK;
    for (size_t i = 0; i < ranges->count && status == TN_OK; i++)
        status = cut_range(&r, i, err);
    if (status == TN_OK) {
        read_pieces(&r);
        status = r.status;
        if (status != TN_OK && err != NULL)
            *err = r.error;
        if (status == TN_OK && r.choice->depth > 1) /* what the other threads read after the caller's last piece */
            status = tn_tell(told, err);
    }
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
