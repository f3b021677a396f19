/* The loops over F16 and BF16 that a set of vector code is made of. Included by convert_avx2.c and convert_avx512.c alone,
 * which say before it:
 *
 *   WITH         what compiles a function for their instructions
 *   LANES        floats in a register; LINE, bytes that one write past the caches takes and is to be aligned to
 *   load_shorts  LANES shorts at a place; load_floats, LANES floats
 *   put          LANES floats to a place, put_shorts, 2 * LANES shorts: into the caches or past them
 *   look_ahead   ask for what is read a page later
 *
 * A result of TN_CONVERT_PAST_CACHES and more goes past the caches, from the first place that is aligned; elements before
 * that, and those that fill no register at the end, are the scalar set's. */
#ifndef TN_WEIGHTS_CONVERT_LOOPS_H
#define TN_WEIGHTS_CONVERT_LOOPS_H

#include "weights/convert.h"

/* One direction, as tn_widen or tn_narrow has its parameters. name##_from goes from element `i` on and says how far it
 * came; `ends` is the scalar set's loop. */
#define CONVERT(name, in_parameter, out_parameter, in_type, out_type, ends)   \
    WITH static void name(const in_parameter *in, out_parameter *out, size_t count) \
    {                                                                         \
        const in_type *from = in;                                             \
        out_type *to = out;                                                   \
        size_t i = 0;                                                         \
        if (count * sizeof *to >= TN_CONVERT_PAST_CACHES) {                   \
            i = tn_convert_head(to, sizeof *to, LINE, count);                 \
            ends(from, to, i);                                                \
            i = name##_from(from, to, i, count, true);                        \
            _mm_sfence();                                                     \
        }                                                                     \
        i = name##_from(from, to, i, count, false);                           \
        ends(from + i, to + i, count - i);                                    \
    }

#define WIDEN(name, type, float_of)                                                                             \
    WITH static inline size_t name##_from(const uint16_t *in, float *out, size_t i, size_t count, bool past)    \
    {                                                                                                           \
        for (; i + LANES <= count; i += LANES)                                                                  \
            put(out + i, float_of(load_shorts(in + i)), past);                                                  \
        return i;                                                                                               \
    }                                                                                                           \
    CONVERT(name, void, float, uint16_t, float, tn_convert_scalar.widen[type])

#define NARROW(name, type, of_floats)                                                                           \
    WITH static inline size_t name##_from(const float *in, uint16_t *out, size_t i, size_t count, bool past)    \
    {                                                                                                           \
        for (; i + 2 * LANES <= count; i += 2 * LANES) {                                                        \
            if (past)                                                                                           \
                look_ahead(in + i);                                                                             \
            put_shorts(out + i, of_floats(load_floats(in + i), load_floats(in + i + LANES)), past);             \
        }                                                                                                       \
        return i;                                                                                               \
    }                                                                                                           \
    CONVERT(name, float, void, float, uint16_t, tn_convert_scalar.narrow[type])

#endif
