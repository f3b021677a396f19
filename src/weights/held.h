/* A lease from the inside: what it holds, how it is born and how it ends.
 *
 *   L1  While one hold is left, data, shape, strides and name stay where they are.
 *   L2  A lease points to nothing of the checkpoint: what it needs it has copied or holds itself.
 *   L3  Everything it holds is charged, and goes back with the last hold, once, whichever thread lets it go.
 *   L4  A lease is handed out only when every byte of it has been read.
 *   L5  The context stays whole until its last lease has gone, also when its owner destroyed it before.
 */
#ifndef TN_WEIGHTS_HELD_H
#define TN_WEIGHTS_HELD_H

#include <tenure/lease.h>

#include "context/context.h"
#include "io/source.h"
#include "weights/layout.h"

/* A read-only window that several views share. */
typedef struct tn_pane {
    _Atomic uint32_t holds;
    tn_context *context;
    tn_source *source;
    tn_os_window window;
    uint64_t offset; /* of its first byte in the file */
    uint64_t charged;
} tn_pane;

typedef struct tn_held {
    tn_lease lease; /* what the caller sees: first */
    _Atomic uint64_t holds;
    tn_context *context;
    size_t block_size; /* of this, with all that is behind it */
    tn_block bytes;    /* of size 0 when they are behind this, or a view */
    tn_pane *pane;     /* of a view */
    uint64_t first;    /* of a view: the first element's byte in the file */
} tn_held;

#define TN_HELD_INLINE_MAX ((size_t)64 << 10) /* bytes of elements that are taken together with the lease */

/* A lease with memory of its own, not yet read. `layout` NULL: the whole tensor in C order; `as`: the type of its elements. */
tn_status tn_held_create(tn_context *context, const tn_tensor *tensor, const tn_layout *layout, tn_dtype as, tn_held **out,
                         tn_error *err);
/* A view of elements in a pane, on which it takes a hold. The strides are the layout's. */
tn_status tn_held_view(tn_pane *pane, const tn_tensor *tensor, const tn_layout *layout, uint64_t first, tn_held **out,
                       tn_error *err);
/* Give up, or end with the last hold. NULL accepted. */
void tn_held_free(tn_held *held);

/* A pane with one hold over a run of the file. */
tn_status tn_pane_open(tn_source *source, uint64_t offset, size_t size, tn_pane **out, tn_error *err);
void tn_pane_drop(tn_pane *pane);

#endif
