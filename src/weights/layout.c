/* Layouts and NumPy's basic indexing. A1 and A2 stand in layout.h. */
#include "weights/layout.h"

#include <assert.h>

/* ---- whole tensors ---- */

static void lay_in_c_order(tn_layout *layout)
{
    uint64_t stride = 1;
    for (uint32_t i = layout->rank; i-- > 0;) {
        layout->strides[i] = (int64_t)stride;
        stride *= layout->elements > 0 ? layout->shape[i] : 0; /* the product is elements, which fits */
    }
}

/* A1, with every product and sum checked. */
static bool reaches_out(const tn_layout *layout, uint64_t there)
{
    uint64_t below = 0, above = 0, far;
    for (uint32_t i = 0; i < layout->rank && layout->elements > 0; i++) {
        int64_t stride = layout->strides[i];
        uint64_t width = stride < 0 ? 0 - (uint64_t)stride : (uint64_t)stride;
        uint64_t *side = stride < 0 ? &below : &above;
        if (tn_mul_overflows(width, layout->shape[i] - 1, &far) || tn_add_overflows(*side, far, side))
            return true;
    }
    if (layout->elements == 0)
        return false;
    uint64_t first = (uint64_t)layout->first;
    return below > first || tn_add_overflows(first, above, &far) || far >= there;
}

tn_status tn_layout_of(const tn_tensor *tensor, uint64_t there, tn_layout *out, tn_error *err)
{
    if (tensor->rank > TN_INDEX_MAX)
        return tn_fail(err, TN_LIMIT, "the tensor has more than %d dimensions", TN_INDEX_MAX);
    tn_layout layout = {.rank = tensor->rank, .elements = tensor->elements};
    for (uint32_t i = 0; i < tensor->rank; i++) {
        if (tensor->shape[i] > INT64_MAX)
            return tn_fail(err, TN_LIMIT, "a dimension of the tensor is too large to be indexed");
        layout.shape[i] = tensor->shape[i];
    }
    if (tensor->element_offset > INT64_MAX)
        return tn_fail(err, TN_BAD_LAYOUT, "the tensor begins outside of its storage");
    layout.first = (int64_t)tensor->element_offset;
    lay_in_c_order(&layout);
    for (uint32_t i = 0; i < tensor->rank && tensor->strides != NULL; i++)
        layout.strides[i] = tensor->strides[i];
    if (reaches_out(&layout, there))
        return tn_fail(err, TN_BAD_LAYOUT, "the tensor reaches out of its storage");
    *out = layout;
    return TN_OK;
}

void tn_layout_reach(const tn_layout *layout, int64_t *lowest, int64_t *highest)
{
    assert(layout->elements > 0);
    *lowest = *highest = layout->first;
    for (uint32_t i = 0; i < layout->rank; i++) {
        int64_t far = layout->strides[i] * (int64_t)(layout->shape[i] - 1);
        *(far < 0 ? lowest : highest) += far;
    }
}

/* ---- indexing ---- */

/* Negative counts from the end; then into [low, high]. */
static int64_t clamp(int64_t place, int64_t size, int64_t low, int64_t high)
{
    if (place < 0)
        place = place < -size ? low : place + size;
    return place < low ? low : place > high ? high : place;
}

/* Which places a range names: the first, how many, and how far apart (PySlice_AdjustIndices of CPython says the same). */
static tn_status resolve(const tn_index *item, int64_t size, int64_t *start, int64_t *step, uint64_t *count,
                         tn_error *err)
{
    *step = item->step == TN_INDEX_NONE ? 1 : item->step;
    if (*step == 0)
        return tn_fail(err, TN_INVALID, "the step of a slice cannot be 0");
    bool back = *step < 0;
    int64_t low = back ? -1 : 0, high = back ? size - 1 : size, stop;
    if (item->start == TN_INDEX_NONE)
        *start = back ? high : low;
    else
        *start = clamp(item->start, size, low, high);
    if (item->stop == TN_INDEX_NONE)
        stop = back ? low : high;
    else
        stop = clamp(item->stop, size, low, high);
    int64_t span = back ? *start - stop : stop - *start;
    uint64_t width = back ? 0 - (uint64_t)*step : (uint64_t)*step;
    *count = span <= 0 ? 0 : ((uint64_t)span - 1) / width + 1;
    return TN_OK;
}

static tn_status add_dimension(tn_layout *out, uint64_t size, int64_t stride, tn_error *err)
{
    if (out->rank == TN_INDEX_MAX)
        return tn_fail(err, TN_LIMIT, "the result would have more than %d dimensions", TN_INDEX_MAX);
    out->shape[out->rank] = size;
    out->strides[out->rank] = stride;
    out->rank++;
    out->elements *= size;
    return TN_OK;
}

static tn_status apply_range(const tn_index *item, const tn_layout *from, uint32_t dimension, tn_layout *out,
                             tn_error *err)
{
    int64_t start = 0, step = 1;
    uint64_t count = 0;
    TN_TRY(resolve(item, (int64_t)from->shape[dimension], &start, &step, &count, err));
    int64_t stride = from->strides[dimension];
    /* Beyond one element the step is within the dimension, so nothing wraps; else it does not matter. */
    if (count > 0)
        out->first += start * stride;
    return add_dimension(out, count, count > 1 ? stride * step : stride, err);
}

static tn_status apply_place(const tn_index *item, const tn_layout *from, uint32_t dimension, tn_layout *out,
                             tn_error *err)
{
    int64_t size = (int64_t)from->shape[dimension], place = item->start;
    if (place < -size || place >= size) {
        tn_fail(err, TN_INVALID, "index %lld is out of bounds for dimension %u of size %lld", (long long)place,
                dimension, (long long)size);
        return TN_INVALID;
    }
    out->first += (place < 0 ? place + size : place) * from->strides[dimension];
    return TN_OK;
}

static tn_status apply_all(const tn_layout *from, uint32_t dimension, tn_layout *out, tn_error *err)
{
    return add_dimension(out, from->shape[dimension], from->strides[dimension], err);
}

/* How many dimensions the items name, and how often they say "the rest". */
static tn_status count_items(const tn_layout *layout, const tn_index *items, size_t count, uint32_t *named,
                             tn_error *err)
{
    uint32_t rests = 0;
    *named = 0;
    if (count > TN_INDEX_MAX)
        return tn_fail(err, TN_LIMIT, "an index has more than %d items", TN_INDEX_MAX);
    for (size_t i = 0; i < count; i++) {
        if ((unsigned)items[i].kind > TN_INDEX_NEW)
            return tn_fail(err, TN_INVALID, "an item of an index is of no kind");
        rests += items[i].kind == TN_INDEX_REST;
        *named += items[i].kind == TN_INDEX_RANGE || items[i].kind == TN_INDEX_AT;
    }
    if (rests > 1)
        return tn_fail(err, TN_INVALID, "an index can have one ellipsis");
    if (*named > layout->rank)
        return tn_fail(err, TN_INVALID, "the tensor has %u dimensions, but %u were indexed", layout->rank, *named);
    return TN_OK;
}

static tn_status apply_item(const tn_index *item, const tn_layout *from, uint32_t *dimension, uint32_t rest,
                            tn_layout *out, tn_error *err)
{
    switch (item->kind) {
    case TN_INDEX_NEW: return add_dimension(out, 1, 0, err);
    case TN_INDEX_AT: return apply_place(item, from, (*dimension)++, out, err);
    case TN_INDEX_RANGE: return apply_range(item, from, (*dimension)++, out, err);
    case TN_INDEX_REST: break;
    }
    for (uint32_t i = 0; i < rest; i++)
        TN_TRY(apply_all(from, (*dimension)++, out, err));
    return TN_OK;
}

tn_status tn_layout_index(const tn_layout *layout, const tn_index *items, size_t count, tn_layout *out, tn_error *err)
{
    uint32_t named = 0, dimension = 0;
    TN_TRY(count_items(layout, items, count, &named, err));
    tn_layout result = {.first = layout->first, .elements = 1};
    for (size_t i = 0; i < count; i++)
        TN_TRY(apply_item(&items[i], layout, &dimension, layout->rank - named, &result, err));
    while (dimension < layout->rank)
        TN_TRY(apply_all(layout, dimension++, &result, err));
    *out = result;
    return TN_OK;
}
