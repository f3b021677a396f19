/* Where the bytes of a tensor lie: the file, the first byte, and whether they lie there as they are wanted. */
#ifndef TN_WEIGHTS_PLACE_H
#define TN_WEIGHTS_PLACE_H

#include <tenure/lease.h>

#include "context/context.h"

typedef struct tn_place {
    const tn_tensor *tensor;
    const tn_storage *storage;
    uint32_t part;
    bool straight;   /* all its bytes follow each other in C order */
    uint64_t offset; /* of its first byte in the file; of its storage when not straight */
    size_t size;     /* of its elements, as they are stored */
    tn_dtype as;     /* as they are leased */
    size_t wanted;   /* their bytes then */
} tn_place;

static inline bool tn_lease_compares(const tn_lease_options *options)
{
    return options->digests != NULL || options->file_digest != NULL;
}

static inline bool tn_place_converts(const tn_place *place)
{
    return place->as != place->tensor->dtype;
}

/* TN_INVALID for a tensor of another checkpoint; TN_UNSUPPORTED for values that do not lie there as they are, or cannot
 * become what the options ask for; TN_TRUNCATED when the file ends before they do; TN_NO_MEMORY for a size that no machine
 * has. Names the tensor. */
tn_status tn_place_of(const tn_checkpoint *checkpoint, const tn_tensor *tensor, const tn_lease_options *options,
                      tn_place *out, tn_error *err);

/* The options of a call, made whole: TN_INVALID for what this version does not know. */
tn_status tn_lease_options_read(const tn_lease_options *given, tn_lease_options *out, tn_error *err);
/* Asked first of every call: the context, and a damaged checkpoint. */
tn_status tn_lease_admit(const tn_checkpoint *checkpoint, const tn_lease_options *options, tn_error *err);
/* Which tensors are meant: those given, or all of the checkpoint. */
const tn_tensor *tn_pick(const tn_checkpoint *checkpoint, const tn_tensor *const *tensors, size_t i);

/* After a failure: which tensor it was about, unless that is said; and for want of memory, what the system says. */
tn_status tn_at_tensor(tn_status status, const tn_tensor *tensor, tn_error *err);
void tn_tell_system(tn_error *err);

#endif
