/* Copying out of a lease (include/tenure/lease.h). What is the lease's own is simply copied. A view is read anew from
 * its file, which is asked whether it is still the same: touching its pages could end the process. */
#include <string.h>

#include "weights/gather.h"
#include "weights/held.h"
#include "weights/place.h"

static void layout_of_view(const tn_lease *lease, tn_layout *out)
{
    *out = (tn_layout){.rank = lease->rank, .elements = lease->elements};
    for (uint32_t i = 0; i < lease->rank; i++) {
        out->shape[i] = lease->shape[i];
        out->strides[i] = lease->strides[i];
    }
}

static tn_status gather_view(const tn_held *held, void *bytes, tn_error *err)
{
    static const tn_lease_options plain = TN_LEASE_OPTIONS_INIT;
    tn_told told = {.options = &plain, .total = held->lease.size_bytes};
    tn_layout layout;
    tn_runs runs;
    layout_of_view(&held->lease, &layout);
    TN_TRY(tn_runs_of(&layout, held->lease.dtype, held->first, &runs, err));
    return tn_gather(held->pane->source, &runs, bytes, &told, err);
}

static bool is_straight(const tn_lease *lease)
{
    uint64_t stride = 1;
    for (uint32_t i = lease->rank; i-- > 0 && lease->strides != NULL;) {
        if (lease->shape[i] != 1 && (uint64_t)lease->strides[i] != stride)
            return false;
        stride *= lease->shape[i];
    }
    return true;
}

static tn_status copy_view(const tn_held *held, void *bytes, size_t size, tn_error *err)
{
    tn_status status = is_straight(&held->lease) ? tn_source_read(held->pane->source, held->first, bytes, size, err)
                                                 : gather_view(held, bytes, err);
    if (status != TN_OK && err != NULL && err->tensor[0] == '\0')
        tn_error_at_tensor(err, held->lease.name.bytes, held->lease.name.size);
    return status;
}

tn_status tn_lease_copy(const tn_lease *lease, void *bytes, size_t size, tn_error *err)
{
    if (lease == NULL || (bytes == NULL && size > 0) || size != lease->size_bytes)
        return tn_fail(err, TN_INVALID, "a lease is copied whole, into as many bytes as it has");
    const tn_held *held = (const tn_held *)lease;
    if (held->pane != NULL)
        return copy_view(held, bytes, size, err);
    if (size > 0)
        memcpy(bytes, lease->data, size);
    return TN_OK;
}
