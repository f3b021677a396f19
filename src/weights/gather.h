/* Elements that do not lie behind each other, read into C order.
 *
 *   G1  Only the bytes of the elements are read, and those between two that are at most TN_GAP_MAX apart in the file.
 *   G2  Whatever the shape, one buffer of GATHER_BYTES is enough.
 */
#ifndef TN_WEIGHTS_GATHER_H
#define TN_WEIGHTS_GATHER_H

#include "weights/layout.h"
#include "weights/place.h"
#include "weights/read.h"

/* Elements of a layout in bytes, with what can be taken together taken together. */
typedef struct tn_runs {
    uint64_t first;             /* byte in the file of the first element */
    size_t run;                 /* bytes that lie behind each other */
    uint64_t line;              /* runs in a line, `step` bytes apart and near each other */
    int64_t step;
    uint32_t rank;              /* of what repeats the line */
    uint64_t shape[TN_INDEX_MAX];
    int64_t strides[TN_INDEX_MAX]; /* bytes */
    uint64_t bytes;             /* of all elements */
} tn_runs;

/* `base`: the byte in the file where the storage begins. There is at least one element. TN_UNSUPPORTED when elements of
 * less than a byte do not fill bytes. */
tn_status tn_runs_of(const tn_layout *layout, tn_dtype dtype, uint64_t base, tn_runs *out, tn_error *err);
/* Whether the runs are so long that each may be a range of its own; and these ranges, `count` of them. */
bool tn_runs_are_long(const tn_runs *runs, uint64_t *count);
void tn_runs_list(const tn_runs *runs, uint8_t *to, const tn_place *place, tn_range *out);
/* Read them one batch after the other. */
tn_status tn_gather(tn_source *source, const tn_runs *runs, uint8_t *to, tn_told *told, tn_error *err);

#endif
