/* The inside of conversion: loops over elements, a set of them for each kind of processor.
 *
 *   V1  The scalar set defines. Every other gives the same bytes for every input, NaNs included.
 *   V2  A loop asks for no alignment and reads and writes exactly `count` elements.
 */
#ifndef TN_WEIGHTS_CONVERT_H
#define TN_WEIGHTS_CONVERT_H

#include <tenure/convert.h>

#include <stddef.h>

typedef void tn_widen(const void *in, float *out, size_t count);
typedef void tn_narrow(const float *in, void *out, size_t count);

/* Loops from a type to F32 and back; NULL where this set has none of its own and `slower` serves. */
typedef struct tn_convert_set {
    const char *name;
    const struct tn_convert_set *slower; /* every processor that runs this one runs it too; NULL: the scalar set */
    tn_widen *widen[TN_DTYPE_COUNT];
    tn_narrow *narrow[TN_DTYPE_COUNT];
} tn_convert_set;

extern const tn_convert_set tn_convert_scalar;
extern const tn_convert_set tn_convert_avx2_set; /* on x86 alone; ask tn_convert_avx2 before using it */
/* NULL where the processor lacks the instructions. */
const tn_convert_set *tn_convert_sse2(void);
const tn_convert_set *tn_convert_avx2(void);
const tn_convert_set *tn_convert_avx512(void);
const tn_convert_set *tn_convert_neon(void);
/* The fastest that this processor runs. */
const tn_convert_set *tn_convert_fastest(void);

/* tn_convert with a set that a test forces. */
tn_status tn_convert_with(const tn_convert_set *set, tn_dtype from, const void *in, tn_dtype to, void *out,
                          uint64_t count, tn_error *err);

/* A result of at least so many bytes goes past the caches, as memcpy does it: nobody reads all of it soon, and memory is
 * not read before it is written. */
#define TN_CONVERT_PAST_CACHES ((size_t)4 << 20)

/* How far ahead of such a result its source is asked for. */
#define TN_CONVERT_AHEAD 4096

/* How many elements of `item` bytes stand before the first at a multiple of `line` bytes, `count` at most; all of them
 * where none can. */
static inline size_t tn_convert_head(const void *out, size_t item, size_t line, size_t count)
{
    size_t behind = (uintptr_t)out % line, head = behind == 0 ? 0 : (line - behind) / item;
    return (line - behind) % item != 0 || head > count ? count : head;
}

#endif
