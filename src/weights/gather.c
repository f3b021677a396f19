/* Reading what does not lie together. G1 and G2 stand in gather.h. */
#include "weights/gather.h"

#include <assert.h>
#include <string.h>

#define GATHER_BYTES ((size_t)1 << 20)
#define LONG_RUN ((size_t)64 << 10)

/* ---- taking together ---- */

static uint64_t magnitude(int64_t number)
{
    return number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
}

/* Dimensions without those of size 1, neighbours that step as one made one. Strides in elements. */
static void merge(const tn_layout *layout, tn_runs *out)
{
    out->rank = 0;
    for (uint32_t i = 0; i < layout->rank; i++) {
        uint64_t size = layout->shape[i];
        int64_t stride = layout->strides[i];
        if (size == 1)
            continue;
        uint32_t last = out->rank - 1; /* not used when rank is 0 */
        if (out->rank > 0 && (uint64_t)out->strides[last] == (uint64_t)stride * size) {
            out->shape[last] *= size;
            out->strides[last] = stride;
            continue;
        }
        out->shape[out->rank] = size;
        out->strides[out->rank++] = stride;
    }
}

/* The innermost dimension becomes a run when its elements touch. */
static uint64_t take_run(tn_runs *out)
{
    if (out->rank == 0 || out->strides[out->rank - 1] != 1)
        return 1;
    return out->shape[--out->rank];
}

/* And the next a line when its runs are near each other. */
static void take_line(tn_runs *out)
{
    out->line = 1;
    out->step = 0;
    if (out->rank == 0 || out->run >= LONG_RUN)
        return;
    int64_t step = out->strides[out->rank - 1];
    if (magnitude(step) > out->run + TN_GAP_MAX)
        return;
    out->step = step;
    out->line = out->shape[--out->rank];
}

tn_status tn_runs_of(const tn_layout *layout, tn_dtype dtype, uint64_t base, tn_runs *out, tn_error *err)
{
    uint64_t bits = tn_dtype_bits(dtype);
    assert(layout->elements > 0 && layout->first >= 0);
    tn_runs runs;
    merge(layout, &runs);
    uint64_t run = take_run(&runs);
    bool whole = (uint64_t)layout->first * bits % 8 == 0 && run * bits % 8 == 0;
    for (uint32_t i = 0; i < runs.rank; i++) {
        whole = whole && magnitude(runs.strides[i]) * bits % 8 == 0;
        runs.strides[i] = runs.strides[i] * (int64_t)bits / 8;
    }
    if (!whole)
        return tn_fail(err, TN_UNSUPPORTED, "a slice of %s must fall on whole bytes", tn_dtype_name(dtype));
    runs.run = (size_t)(run * bits / 8);
    runs.first = base + (uint64_t)layout->first * bits / 8;
    runs.bytes = layout->elements * bits / 8;
    take_line(&runs);
    *out = runs;
    return TN_OK;
}

/* ---- walking ---- */

/* Some runs of one line: a part that fits the buffer. */
typedef struct part {
    uint64_t first; /* byte in the file of the first run */
    uint64_t count;
    uint64_t low, high; /* what they span */
} part;

typedef struct walk {
    const tn_runs *runs;
    uint64_t at[TN_INDEX_MAX];
    uint64_t line_at; /* runs of the line that are behind us */
    uint64_t base;    /* of the line */
    bool ended;
} walk;

static walk begin(const tn_runs *runs)
{
    walk w = {.runs = runs, .base = runs->first};
    return w;
}

static uint64_t moved(uint64_t from, int64_t stride, uint64_t times)
{
    return from + (uint64_t)stride * times; /* wraps to the right place for negative strides */
}

static part look(const walk *w)
{
    const tn_runs *runs = w->runs;
    uint64_t width = magnitude(runs->step), left = runs->line - w->line_at;
    uint64_t most = width == 0 ? left : (GATHER_BYTES - runs->run) / width + 1;
    part p = {.first = moved(w->base, runs->step, w->line_at), .count = left < most ? left : most};
    uint64_t last = moved(p.first, runs->step, p.count - 1);
    p.low = p.first < last ? p.first : last;
    p.high = (p.first < last ? last : p.first) + runs->run;
    return p;
}

static void go(walk *w, uint64_t count)
{
    const tn_runs *runs = w->runs;
    w->line_at += count;
    if (w->line_at < runs->line)
        return;
    w->line_at = 0;
    for (uint32_t i = runs->rank; i-- > 0;) {
        w->base = moved(w->base, runs->strides[i], 1);
        if (++w->at[i] < runs->shape[i])
            return;
        w->base -= (uint64_t)runs->strides[i] * runs->shape[i];
        w->at[i] = 0;
    }
    w->ended = true;
}

bool tn_runs_are_long(const tn_runs *runs, uint64_t *count)
{
    *count = runs->bytes / runs->run;
    return runs->line == 1 && (runs->run >= LONG_RUN || *count == 1);
}

void tn_runs_list(const tn_runs *runs, uint8_t *to, const tn_place *place, tn_range *out)
{
    size_t step = runs->run;
    if (tn_place_converts(place))
        step = step / (tn_dtype_bits(place->tensor->dtype) / 8) * (tn_dtype_bits(place->as) / 8);
    for (walk w = begin(runs); !w.ended; go(&w, 1)) {
        *out++ = (tn_range){look(&w).first, runs->run, to, place->tensor, place->as, NULL};
        to += step;
    }
}

/* ---- copying ---- */

#define COPY_ITEMS(type)                                             \
    do {                                                             \
        for (uint64_t i = 0; i < count; i++, from += step, to += run) \
            memcpy(to, from, sizeof(type));                          \
    } while (0)

/* One line out of the buffer; the compiler makes a move of each copy whose size it knows. */
static void copy_line(uint8_t *to, const uint8_t *from, uint64_t count, int64_t step, size_t run)
{
    switch (run) {
    case 1: COPY_ITEMS(uint8_t); return;
    case 2: COPY_ITEMS(uint16_t); return;
    case 4: COPY_ITEMS(uint32_t); return;
    case 8: COPY_ITEMS(uint64_t); return;
    default: break;
    }
    for (uint64_t i = 0; i < count; i++, from += step, to += run)
        memcpy(to, from, run);
}

static void copy_parts(walk *w, uint64_t parts, const uint8_t *bytes, uint64_t low, uint8_t **to)
{
    const tn_runs *runs = w->runs;
    for (uint64_t i = 0; i < parts; i++) {
        part p = look(w);
        copy_line(*to, bytes + (p.first - low), p.count, runs->step, runs->run);
        *to += p.count * runs->run;
        go(w, p.count);
    }
}

/* ---- reading ---- */

/* G1: whether a part may be read along with what is already to be read. */
static bool joins(const part *all, const part *next)
{
    uint64_t low = all->low < next->low ? all->low : next->low;
    uint64_t high = all->high > next->high ? all->high : next->high;
    bool near = next->low <= all->high + TN_GAP_MAX && all->low <= next->high + TN_GAP_MAX;
    return near && high - low <= GATHER_BYTES;
}

/* How many parts are read at once; `w` is moved behind them. */
static uint64_t batch(walk *w, part *all)
{
    uint64_t parts = 0;
    *all = look(w);
    do {
        part p = look(w);
        if (!joins(all, &p))
            break;
        all->low = all->low < p.low ? all->low : p.low;
        all->high = all->high > p.high ? all->high : p.high;
        go(w, p.count);
        parts++;
    } while (!w->ended);
    return parts;
}

static tn_status gather(tn_source *source, const tn_runs *runs, uint8_t *bytes, uint8_t *to, tn_told *told,
                        tn_error *err)
{
    walk w = begin(runs);
    while (!w.ended) {
        walk from = w;
        part all;
        uint8_t *before = to;
        uint64_t parts = batch(&w, &all);
        assert(parts > 0 && all.high - all.low <= GATHER_BYTES); /* G2 */
        TN_TRY(tn_source_read(source, all.low, bytes, (size_t)(all.high - all.low), err));
        copy_parts(&from, parts, bytes, all.low, &to);
        atomic_fetch_add(&told->done, (uint64_t)(to - before));
        TN_TRY(tn_tell(told, err));
    }
    return TN_OK;
}

tn_status tn_gather(tn_source *source, const tn_runs *runs, uint8_t *to, tn_told *told, tn_error *err)
{
    tn_memory_source *memory = &tn_source_context(source)->memory;
    void *bytes;
    TN_TRY(tn_take(memory, GATHER_BYTES, &bytes, err));
    tn_status status = gather(source, runs, bytes, to, told, err);
    tn_give(memory, bytes, GATHER_BYTES);
    return status;
}
