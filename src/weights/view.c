/* Views. What is refused, and why, stands in include/tenure/lease.h. */
#include "weights/view.h"

static bool is_far(const tn_source *source)
{
    /* Every network is among the file systems whose identities are not trusted, and that was asked already. */
    return tn_source_info(source)->weak_identity && tn_os_disk_of(tn_source_file(source)) == TN_OS_DISK_NETWORK;
}

const char *tn_view_refused(const tn_source *source, const tn_place *place, uint64_t first, uint64_t size,
                            bool compared)
{
    unsigned bytes = tn_dtype_bits(place->tensor->dtype) / 8;
    if (size == 0)
        return "a view was asked for, but there are no elements";
    if (compared)
        return "a view was asked for, but what is read is to be compared with a digest";
    if (tn_place_converts(place))
        return "a view was asked for, but its elements are turned into another type";
    if (tn_source_bytes(source) != NULL)
        return "a view was asked for, but the checkpoint lies in memory";
    if (bytes > 1 && first % bytes != 0)
        return "a view was asked for, but the tensor does not begin at a multiple of its item size";
    if (is_far(source))
        return "a view was asked for, but the file lies on a network, where pages can fail to come";
    return NULL;
}

tn_status tn_view_alone(tn_source *source, const tn_tensor *tensor, const tn_layout *layout, uint64_t low, size_t size,
                        uint64_t first, tn_held **out, tn_error *err)
{
    tn_pane *pane;
    TN_TRY(tn_source_unchanged(source, err));
    TN_TRY(tn_pane_open(source, low, size, &pane, err));
    tn_status status = tn_held_view(pane, tensor, layout, first, out, err);
    tn_pane_drop(pane);
    return status;
}
