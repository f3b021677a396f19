/* Conversion with AVX-512, sixteen elements at a time. The formats and their rounding: convert_scalar.c, which also does
 * what is left over at the end. */
#include "core/cc.h"
#include "weights/convert_loops.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define WITH TN_TARGET("avx512f,avx512bw")
#define LANES 16u
#define LINE 64u

WITH static inline __m512i all(uint32_t value)
{
    return _mm512_set1_epi32((int)value);
}

WITH static inline __m256i load_shorts(const uint16_t *in)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)in);
}

WITH static inline __m512 load_floats(const float *in)
{
    return _mm512_loadu_ps(in);
}

/* ---- F16, BF16 ---- */

WITH static inline void put(float *out, __m512 values, bool past)
{
    if (past)
        _mm512_stream_ps(out, values);
    else
        _mm512_storeu_ps(out, values);
}

WITH static inline void put_shorts(uint16_t *out, __m512i values, bool past)
{
    if (past)
        _mm512_stream_si512((__m512i *)(void *)out, values);
    else
        _mm512_storeu_si512(out, values);
}

/* The two lines read a page later: processors do not look past the end of a page by themselves. */
WITH static inline void look_ahead(const float *in)
{
    _mm_prefetch((const char *)in + TN_CONVERT_AHEAD, _MM_HINT_T0);
    _mm_prefetch((const char *)in + TN_CONVERT_AHEAD + 64, _MM_HINT_T0);
}

WITH static inline __m512 float_of_f16(__m256i halves)
{
    return _mm512_cvtph_ps(halves);
}

WITH static inline __m512 float_of_bf16(__m256i shorts)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(shorts), 16));
}

WITH static inline __m512i f16_of(__m512 low, __m512 high)
{
    __m256i first = _mm512_maskz_cvtps_ph(0xffff, low, _MM_FROUND_TO_NEAREST_INT);
    __m256i second = _mm512_maskz_cvtps_ph(0xffff, high, _MM_FROUND_TO_NEAREST_INT);
    return _mm512_inserti64x4(_mm512_castsi256_si512(first), second, 1);
}

/* Rounded: the BF16 is the upper half of each. */
WITH static inline __m512i rounded(__m512 values)
{
    __m512i bits = _mm512_castps_si512(values);
    __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), all(1));
    __m512i sum = _mm512_add_epi32(bits, _mm512_add_epi32(odd, all(0x7fff)));
    return _mm512_mask_mov_epi32(sum, _mm512_cmp_ps_mask(values, values, _CMP_UNORD_Q), all(0x7fc00000));
}

WITH static inline __m512i bf16_of(__m512 low, __m512 high)
{
    const __m512i upper_halves = _mm512_set_epi16(63, 61, 59, 57, 55, 53, 51, 49, 47, 45, 43, 41, 39, 37, 35, 33, 31, 29, 27,
                                                  25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
    return _mm512_permutex2var_epi16(rounded(low), upper_halves, rounded(high));
}

WIDEN(widen_f16, TN_F16, float_of_f16)
WIDEN(widen_bf16, TN_BF16, float_of_bf16)
NARROW(narrow_f16, TN_F16, f16_of)
NARROW(narrow_bf16, TN_BF16, bf16_of)

/* ---- F8 ---- */

WITH static inline __m128i load_16_bytes(const void *in, size_t at)
{
    return _mm_loadu_si128((const __m128i *)(const void *)((const uint8_t *)in + at));
}

WITH static void widen_e5m2(const void *in, float *out, size_t count)
{
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        __m512i halves = _mm512_slli_epi32(_mm512_cvtepu8_epi32(load_16_bytes(in, i)), 8);
        _mm512_storeu_ps(out + i, _mm512_cvtph_ps(_mm512_cvtepi32_epi16(halves)));
    }
    tn_convert_scalar.widen[TN_F8_E5M2]((const uint8_t *)in + i, out + i, count - i);
}

WITH static inline __m512i float_bits_of_e4m3(__m512i byte)
{
    __m512i magnitude = _mm512_and_si512(byte, all(0x7f));
    __m512i sign = _mm512_slli_epi32(_mm512_and_si512(byte, all(0x80)), 24);
    __m512i normal = _mm512_add_epi32(_mm512_slli_epi32(magnitude, 20), all((127 - 7) << 23));
    __m512 steps = _mm512_mul_ps(_mm512_cvtepi32_ps(magnitude), _mm512_castsi512_ps(all((127 - 9) << 23)));
    __mmask16 is_subnormal = _mm512_cmplt_epi32_mask(magnitude, all(8));
    __m512i finite = _mm512_mask_mov_epi32(normal, is_subnormal, _mm512_castps_si512(steps));
    __mmask16 is_nan = _mm512_cmpeq_epi32_mask(magnitude, all(0x7f));
    return _mm512_or_si512(_mm512_mask_mov_epi32(finite, is_nan, all(0x7fc00000)), sign);
}

WITH static void widen_e4m3(const void *in, float *out, size_t count)
{
    size_t i = 0;
    for (; i + LANES <= count; i += LANES)
        _mm512_storeu_si512(out + i, float_bits_of_e4m3(_mm512_cvtepu8_epi32(load_16_bytes(in, i))));
    tn_convert_scalar.widen[TN_F8_E4M3]((const uint8_t *)in + i, out + i, count - i);
}

/* ---- the set ---- */

static const tn_convert_set set = {
    .name = "avx512",
    .slower = &tn_convert_avx2_set,
    .widen = {[TN_F16] = widen_f16, [TN_BF16] = widen_bf16, [TN_F8_E5M2] = widen_e5m2, [TN_F8_E4M3] = widen_e4m3},
    .narrow = {[TN_F16] = narrow_f16, [TN_BF16] = narrow_bf16},
};

const tn_convert_set *tn_convert_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") ? &set : NULL;
}

#else

const tn_convert_set *tn_convert_avx512(void)
{
    return NULL;
}

#endif
