/* The life of a lease. L1 to L5 stand in held.h. */
#include "weights/held.h"

#include <assert.h>
#include <string.h>

#include "core/error.h"

#define VIEW_SHARE 512u /* a window costs the system a page table: 8 bytes for 4 KiB */

static _Alignas(TN_POOL_ALIGN) uint8_t nothing[TN_POOL_ALIGN]; /* what a lease without elements points to */

/* ---- birth ---- */

static uint32_t rank_of(const tn_tensor *tensor, const tn_layout *layout)
{
    return layout != NULL ? layout->rank : tensor->rank;
}

static size_t inline_bytes(uint64_t size)
{
    return size == 0 || size > TN_HELD_INLINE_MAX ? 0 : (size_t)size + TN_POOL_ALIGN;
}

static void fill_c_strides(int64_t *strides, const uint64_t *shape, uint32_t rank)
{
    uint64_t stride = 1;
    for (uint32_t i = rank; i-- > 0;) {
        strides[i] = (int64_t)stride;
        stride *= shape[i]; /* wraps only where there are no elements */
    }
}

/* Bytes of the elements. False: more than any machine has. */
static bool size_of(const tn_tensor *tensor, const tn_layout *layout, tn_dtype as, uint64_t *out)
{
    uint64_t elements = layout != NULL ? layout->elements : tensor->elements, bits;
    if (layout == NULL && as == tensor->dtype)
        *out = tensor->size_bytes;
    else if (tn_mul_overflows(elements, tn_dtype_bits(as), &bits))
        return false;
    else
        *out = bits / 8;
    return *out <= PTRDIFF_MAX;
}

/* Shape, strides and name, behind the struct. */
static void fill(tn_held *held, const tn_tensor *tensor, const tn_layout *layout, tn_dtype as, uint64_t size)
{
    uint32_t rank = rank_of(tensor, layout);
    uint64_t *shape = (uint64_t *)(void *)(held + 1);
    int64_t *strides = (int64_t *)(void *)(shape + rank);
    char *name = (char *)(strides + rank);
    if (rank > 0)
        memcpy(shape, layout != NULL ? layout->shape : tensor->shape, rank * sizeof *shape);
    fill_c_strides(strides, shape, rank);
    memcpy(name, tensor->name.bytes, tensor->name.size);
    name[tensor->name.size] = '\0';
    bool packed = tn_dtype_bits(as) % 8 != 0;
    held->lease = (tn_lease){
        .data = nothing,
        .owned = nothing,
        .elements = layout != NULL ? layout->elements : tensor->elements,
        .size_bytes = size,
        .dtype = as,
        .rank = rank,
        .shape = shape,
        .strides = packed ? NULL : strides,
        .name = {name, tensor->name.size},
        .way = TN_WAY_NONE,
        .reason = "there are no elements",
    };
}

static tn_status create(tn_context *context, const tn_tensor *tensor, const tn_layout *layout, tn_dtype as, uint64_t bytes,
                        size_t behind, tn_held **out, tn_error *err)
{
    uint32_t rank = rank_of(tensor, layout);
    size_t size = sizeof(tn_held) + (size_t)rank * 16 + tensor->name.size + 1 + behind;
    void *block;
    TN_TRY(tn_take(&context->memory, size, &block, err));
    tn_held *held = block;
    *held = (tn_held){.context = context, .block_size = size};
    atomic_init(&held->holds, 1);
    fill(held, tensor, layout, as, bytes);
    tn_context_hold(context); /* L5 */
    *out = held;
    return TN_OK;
}

static void *aligned_end(const tn_held *held, size_t bytes)
{
    uintptr_t at = (uintptr_t)held + held->block_size - bytes;
    uint8_t *end = (uint8_t *)held + held->block_size - bytes;
    return end - at % TN_POOL_ALIGN;
}

static tn_status take_bytes(tn_held *held, tn_error *err)
{
    size_t size = (size_t)held->lease.size_bytes;
    if (size == 0)
        return TN_OK;
    if (size <= TN_HELD_INLINE_MAX) {
        held->lease.data = held->lease.owned = aligned_end(held, size);
        return TN_OK;
    }
    TN_TRY(tn_pool_take(&held->context->pool, size, &held->bytes, err));
    held->lease.data = held->lease.owned = held->bytes.bytes;
    return TN_OK;
}

tn_status tn_held_create(tn_context *context, const tn_tensor *tensor, const tn_layout *layout, tn_dtype as, tn_held **out,
                         tn_error *err)
{
    uint64_t size;
    tn_held *held;
    if (!size_of(tensor, layout, as, &size))
        return tn_fail(err, TN_NO_MEMORY, "no machine has the memory that this tensor needs");
    TN_TRY(create(context, tensor, layout, as, size, inline_bytes(size), &held, err));
    tn_status status = take_bytes(held, err);
    if (status == TN_OK)
        *out = held;
    else
        tn_held_free(held);
    return status;
}

/* ---- views ---- */

tn_status tn_pane_open(tn_source *source, uint64_t offset, size_t size, tn_pane **out, tn_error *err)
{
    tn_context *context = tn_source_context(source);
    uint64_t charged = size / VIEW_SHARE + 1;
    void *block;
    TN_TRY(tn_take(&context->memory, sizeof(tn_pane), &block, err));
    tn_pane *pane = block;
    *pane = (tn_pane){.context = context, .offset = offset, .charged = charged};
    atomic_init(&pane->holds, 1);
    tn_status status = tn_budget_charge(&context->budget, charged, err);
    if (status == TN_OK) {
        status = tn_os_window_open(tn_source_file(source), offset, size, &pane->window, err);
        if (status != TN_OK)
            tn_budget_release(&context->budget, charged);
    }
    if (status != TN_OK) {
        tn_give(&context->memory, pane, sizeof *pane);
        return status;
    }
    pane->source = tn_source_hold(source);
    *out = pane;
    return TN_OK;
}

void tn_pane_drop(tn_pane *pane)
{
    uint32_t before = atomic_fetch_sub_explicit(&pane->holds, 1, memory_order_acq_rel);
    assert(before > 0);
    if (before > 1)
        return;
    tn_context *context = pane->context;
    tn_os_window_close(&pane->window);
    tn_source_release(pane->source);
    tn_budget_release(&context->budget, pane->charged);
    tn_give(&context->memory, pane, sizeof *pane);
}

tn_status tn_held_view(tn_pane *pane, const tn_tensor *tensor, const tn_layout *layout, uint64_t first, tn_held **out,
                       tn_error *err)
{
    tn_held *held;
    uint64_t size;
    if (!size_of(tensor, layout, tensor->dtype, &size))
        return tn_fail(err, TN_NO_MEMORY, "no machine has the addresses that this view needs");
    TN_TRY(create(pane->context, tensor, layout, tensor->dtype, size, 0, &held, err));
    if (layout != NULL && held->lease.strides != NULL && layout->rank > 0)
        memcpy((int64_t *)(void *)((uint64_t *)(void *)(held + 1) + layout->rank), layout->strides,
               layout->rank * sizeof *layout->strides);
    atomic_fetch_add_explicit(&pane->holds, 1, memory_order_relaxed);
    held->pane = pane;
    held->first = first;
    held->lease.data = pane->window.bytes + (first - pane->offset);
    held->lease.owned = NULL;
    held->lease.way = TN_WAY_VIEW;
    held->lease.reason = "a view was asked for";
    *out = held;
    return TN_OK;
}

/* ---- end ---- */

/* In a forked child the pool's lock may be held by a thread that is not there: its regions end with the child. */
static void give_bytes(tn_held *held)
{
    if (held->bytes.size > 0 && (held->bytes.region == NULL || tn_context_is_here(held->context)))
        tn_pool_give(&held->context->pool, &held->bytes);
}

void tn_held_free(tn_held *held)
{
    if (held == NULL)
        return;
    tn_context *context = held->context;
    give_bytes(held);
    if (held->pane != NULL)
        tn_pane_drop(held->pane);
    tn_give(&context->memory, held, held->block_size);
    tn_context_drop(context);
}

tn_lease *tn_lease_hold(tn_lease *lease)
{
    tn_held *held = (tn_held *)lease;
    uint64_t before = atomic_fetch_add_explicit(&held->holds, 1, memory_order_relaxed);
    assert(before > 0); /* L3 */
    (void)before;
    return lease;
}

void tn_lease_release(tn_lease *lease)
{
    if (lease == NULL)
        return;
    tn_held *held = (tn_held *)lease;
    uint64_t before = atomic_fetch_sub_explicit(&held->holds, 1, memory_order_acq_rel);
    assert(before > 0); /* L3 */
    if (before == 1)
        tn_held_free(held);
}

static void release_export(tn_lease_export *self)
{
    tn_lease *lease = self->private_data;
    self->release = NULL;
    self->private_data = NULL;
    tn_lease_release(lease);
}

void tn_lease_export_to(tn_lease *lease, tn_lease_export *out)
{
    *out = (tn_lease_export){
        .data = lease->data,
        .owned = lease->owned,
        .size_bytes = lease->size_bytes,
        .dtype = lease->dtype,
        .rank = lease->rank,
        .shape = lease->shape,
        .strides = lease->strides,
        .release = release_export,
        .private_data = tn_lease_hold(lease),
    };
}

const char *tn_way_word(tn_way way)
{
    static const char *const words[TN_WAY_COUNT] = {"automatic", "none",   "memory", "read",
                                                    "threads",   "direct", "gather", "view"};
    return (unsigned)way < TN_WAY_COUNT ? words[way] : "unknown";
}
