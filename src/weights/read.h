/* The one way into all ways of reading: ranges of a source are read into where they go.
 *
 *   R1  Every byte of every range is the file's as it was when the source was opened, or the call fails: the handle is
 *       asked after each piece; on a network, where asking costs as much as reading, after the last one.
 *   R2  No lock is held while the system reads, and none is needed: pieces are handed out by a counter.
 *   R3  Neighbours, and ranges that less than TN_GAP_MAX bytes lie between, are read together.
 *   R4  Elements that become another type are turned out of a room of a reading thread into where they go; the caller's
 *       room is taken before anything is read. A piece ends with a whole element.
 *   R5  What has a digest is compared with it before the call succeeds (check.h); it is read into rooms, too.
 *   R6  Between two pieces a cancel is noticed, and a read in the background gives way to those that are not.
 */
#ifndef TN_WEIGHTS_READ_H
#define TN_WEIGHTS_READ_H

#include "weights/pieces.h"

#define TN_GAP_MAX 4096u
#define TN_ROOM_BYTES (TN_PIECE_BYTES + 3 * TN_OS_DIRECT_ALIGN) /* for a piece by whole blocks, wherever it begins */

/* How far a whole call is: shared by all its reads. */
typedef struct tn_told {
    const tn_lease_options *options;
    uint64_t total;
    _Atomic uint64_t done;
} tn_told;

/* In the caller's thread: TN_CANCELLED when it wants no more. */
tn_status tn_tell(tn_told *told, tn_error *err);

/* One read of a run that lies within the file, by a caller that has asked for a cancel. */
tn_status tn_read_small(tn_source *source, uint64_t offset, void *bytes, size_t size, tn_error *err);
/* Names the tensor that a failure was met at. */
tn_status tn_read_ranges(const tn_ranges *ranges, const tn_choice *choice, tn_told *told, tn_error *err);

#endif
