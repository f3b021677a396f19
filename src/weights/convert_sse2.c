/* Conversion with SSE2, which every 64-bit x86 processor has: BF16, four elements at a time. Older processors have
 * nothing for F16. The rounding: convert_scalar.c, which also does what is left over at the end. */
#include "weights/convert.h"

#ifdef __SSE2__

#include <emmintrin.h>

#define LANES 8u

static inline __m128i load(const void *at)
{
    return _mm_loadu_si128(at);
}

static inline void store(void *at, __m128i bits)
{
    _mm_storeu_si128(at, bits);
}

static void widen_bf16(const void *in, float *out, size_t count)
{
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        __m128i shorts = load((const uint16_t *)in + i);
        store(out + i, _mm_unpacklo_epi16(_mm_setzero_si128(), shorts));
        store(out + i + 4, _mm_unpackhi_epi16(_mm_setzero_si128(), shorts));
    }
    tn_convert_scalar.widen[TN_BF16]((const uint16_t *)in + i, out + i, count - i);
}

/* Four rounded, each as a signed 32-bit number whose low half is the BF16: so that packing keeps it. */
static inline __m128i bf16_of(__m128i bits)
{
    __m128i odd = _mm_and_si128(_mm_srli_epi32(bits, 16), _mm_set1_epi32(1));
    __m128i rounded = _mm_srai_epi32(_mm_add_epi32(bits, _mm_add_epi32(odd, _mm_set1_epi32(0x7fff))), 16);
    __m128i magnitude = _mm_and_si128(bits, _mm_set1_epi32(0x7fffffff));
    __m128i is_nan = _mm_cmpgt_epi32(magnitude, _mm_set1_epi32(0x7f800000));
    return _mm_or_si128(_mm_and_si128(is_nan, _mm_set1_epi32(0x7fc0)), _mm_andnot_si128(is_nan, rounded));
}

static void narrow_bf16(const float *in, void *out, size_t count)
{
    size_t i = 0;
    for (; i + LANES <= count; i += LANES)
        store((uint16_t *)out + i, _mm_packs_epi32(bf16_of(load(in + i)), bf16_of(load(in + i + 4))));
    tn_convert_scalar.narrow[TN_BF16](in + i, (uint16_t *)out + i, count - i);
}

static const tn_convert_set set = {
    .name = "sse2",
    .widen = {[TN_BF16] = widen_bf16},
    .narrow = {[TN_BF16] = narrow_bf16},
};

const tn_convert_set *tn_convert_sse2(void)
{
    return &set;
}

#else

const tn_convert_set *tn_convert_sse2(void)
{
    return NULL;
}

#endif
