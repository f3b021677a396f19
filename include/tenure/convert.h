/* Element types turned into each other, the way PyTorch turns them. */
#ifndef TENURE_CONVERT_H
#define TENURE_CONVERT_H

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether elements of one type can become the other. The packed types (F4, F6_E2M3, F6_E3M2) and complex numbers
 * cannot, but for being copied as they are. */
TN_API bool tn_convert_can(tn_dtype from, tn_dtype to);

/* Turn `count` elements at `in` into elements at `out`, which holds `count` times the size of `to`. The two do not
 * overlap; neither need be aligned; both are little-endian. Takes no memory and does not block.
 *
 * Rounding is PyTorch's `Tensor.to`: to the nearest, ties to even; F64 becomes a narrower float by way of F32. What is
 * too great becomes infinite in F16, BF16, F32 and F8_E5M2, and NaN in the other F8 types, which have no infinity. A NaN
 * stays one, its payload may change. Floats become integers by dropping the fraction and, where C leaves it undefined,
 * by way of a 64-bit integer (saturating, NaN gives 0) whose low bits are kept. Anything but zero is true.
 *
 * TN_UNSUPPORTED when tn_convert_can says no. `count` 0 does nothing. Any thread. */
TN_API tn_status tn_convert(tn_dtype from, const void *in, tn_dtype to, void *out, uint64_t count, tn_error *err);

/* Which code turns the common types (F16, BF16, F8) on this processor: "scalar", "sse2", "avx2", "avx512", "neon". */
TN_API const char *tn_convert_way(void);

/* Turn the byte order of `count` items of `item_bytes` bytes each (1, 2, 4, 8 or 16), in place. TN_INVALID for others. */
TN_API tn_status tn_swap_bytes(void *bytes, unsigned item_bytes, uint64_t count, tn_error *err);

#ifdef __cplusplus
}
#endif
#endif
