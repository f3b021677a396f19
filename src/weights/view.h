/* Views: when one can be given, and windows for many of them. */
#ifndef TN_WEIGHTS_VIEW_H
#define TN_WEIGHTS_VIEW_H

#include "weights/held.h"
#include "weights/place.h"

/* Why no view of this run of bytes of a tensor can be given though one was asked for; NULL: it can. `compared`: it is to be
 * compared with a digest. */
const char *tn_view_refused(const tn_source *source, const tn_place *place, uint64_t first, uint64_t size, bool compared);
/* A view with a window of its own, over `size` bytes from `low`. */
tn_status tn_view_alone(tn_source *source, const tn_tensor *tensor, const tn_layout *layout, uint64_t low, size_t size,
                        uint64_t first, tn_held **out, tn_error *err);

#endif
