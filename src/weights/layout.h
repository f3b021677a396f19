/* Where the elements of a tensor, or of a slice of it, lie in its storage: shape, strides and the first one.
 *
 *   A1  Every element that a layout reaches lies within the storage it was made for.
 *   A2  Indexing does what NumPy's basic indexing does: ranges are clamped as Python's slices are, a place outside is an
 *       error, a negative step goes backwards. Source: NumPy 2 manual, "Indexing on ndarrays", "Basic indexing".
 */
#ifndef TN_WEIGHTS_LAYOUT_H
#define TN_WEIGHTS_LAYOUT_H

#include <tenure/lease.h>

#include "core/error.h"

typedef struct tn_layout {
    uint32_t rank;
    uint64_t shape[TN_INDEX_MAX];
    int64_t strides[TN_INDEX_MAX]; /* elements */
    int64_t first;                 /* the first element, counted from the storage's */
    uint64_t elements;
} tn_layout;

/* The whole tensor. TN_LIMIT for more than TN_INDEX_MAX dimensions; TN_BAD_LAYOUT when it reaches out of the `there`
 * elements of its storage. */
tn_status tn_layout_of(const tn_tensor *tensor, uint64_t there, tn_layout *out, tn_error *err);
/* What an index leaves of it. */
tn_status tn_layout_index(const tn_layout *layout, const tn_index *items, size_t count, tn_layout *out, tn_error *err);
/* The number of the lowest element it reaches, and of the highest. There is at least one. */
void tn_layout_reach(const tn_layout *layout, int64_t *lowest, int64_t *highest);

#endif
