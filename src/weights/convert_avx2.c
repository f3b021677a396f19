/* Conversion with AVX2 and F16C, eight elements at a time. The formats and their rounding: convert_scalar.c, which also
 * does what is left over at the end. */
#include "core/cc.h"
#include "weights/convert_loops.h"

#if defined(__x86_64__) || defined(__i386__)

#include <cpuid.h>
#include <immintrin.h>

#define WITH TN_TARGET("avx2,f16c")
#define LANES 8u
#define LINE 32u

/* ---- registers and memory ---- */

WITH static inline __m128i load_shorts(const uint16_t *in)
{
    return _mm_loadu_si128((const __m128i *)(const void *)in);
}

WITH static inline __m256 load_floats(const float *in)
{
    return _mm256_loadu_ps(in);
}

/* Eight bytes, each in 32 bits. */
WITH static inline __m256i load_8_bytes(const void *in, size_t at)
{
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)((const uint8_t *)in + at)));
}

/* The low 8 bits of each. */
WITH static inline void store_8_bytes(void *out, size_t at, __m256i values)
{
    __m256i shorts = _mm256_permute4x64_epi64(_mm256_packus_epi32(values, values), 0xD8);
    __m128i bytes = _mm_packus_epi16(_mm256_castsi256_si128(shorts), _mm256_castsi256_si128(shorts));
    _mm_storel_epi64((__m128i *)(void *)((uint8_t *)out + at), bytes);
}

WITH static inline __m256i load_bits(const float *in)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)in);
}

WITH static inline void store_bits(float *out, __m256i bits)
{
    _mm256_storeu_si256((__m256i *)(void *)out, bits);
}

WITH static inline __m256i all(uint32_t value)
{
    return _mm256_set1_epi32((int)value);
}

WITH static inline __m256i choose(__m256i otherwise, __m256i when_set, __m256i mask)
{
    return _mm256_blendv_epi8(otherwise, when_set, mask);
}

/* ---- F16, BF16 ---- */

WITH static inline void put(float *out, __m256 values, bool past)
{
    if (past)
        _mm256_stream_ps(out, values);
    else
        _mm256_storeu_ps(out, values);
}

WITH static inline void put_shorts(uint16_t *out, __m256i values, bool past)
{
    if (past)
        _mm256_stream_si256((__m256i *)(void *)out, values);
    else
        _mm256_storeu_si256((__m256i *)(void *)out, values);
}

/* The line read a page later: processors do not look past the end of a page by themselves. */
WITH static inline void look_ahead(const float *in)
{
    _mm_prefetch((const char *)in + TN_CONVERT_AHEAD, _MM_HINT_T0);
}

WITH static inline __m256 float_of_f16(__m128i halves)
{
    return _mm256_cvtph_ps(halves);
}

WITH static inline __m256 float_of_bf16(__m128i shorts)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(shorts), 16));
}

WITH static inline __m256i f16_of(__m256 low, __m256 high)
{
    __m128i first = _mm256_cvtps_ph(low, _MM_FROUND_TO_NEAREST_INT);
    return _mm256_inserti128_si256(_mm256_castsi128_si256(first), _mm256_cvtps_ph(high, _MM_FROUND_TO_NEAREST_INT), 1);
}

/* Rounded: the BF16 is in the lower half of each. */
WITH static inline __m256i rounded(__m256 values)
{
    __m256i bits = _mm256_castps_si256(values);
    __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), all(1));
    __m256i sum = _mm256_add_epi32(bits, _mm256_add_epi32(odd, all(0x7fff)));
    __m256 is_nan = _mm256_cmp_ps(values, values, _CMP_UNORD_Q);
    return _mm256_srli_epi32(choose(sum, all(0x7fc00000), _mm256_castps_si256(is_nan)), 16);
}

WITH static inline __m256i bf16_of(__m256 low, __m256 high)
{
    return _mm256_permute4x64_epi64(_mm256_packus_epi32(rounded(low), rounded(high)), 0xD8);
}

WIDEN(widen_f16, TN_F16, float_of_f16)
WIDEN(widen_bf16, TN_BF16, float_of_bf16)
NARROW(narrow_f16, TN_F16, f16_of)
NARROW(narrow_bf16, TN_BF16, bf16_of)

/* ---- F8 ---- */

WITH static void widen_e5m2(const void *in, float *out, size_t count)
{
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)((const uint8_t *)in + i));
        _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_unpacklo_epi8(_mm_setzero_si128(), bytes)));
    }
    tn_convert_scalar.widen[TN_F8_E5M2]((const uint8_t *)in + i, out + i, count - i);
}

WITH static inline __m256i float_bits_of_e4m3(__m256i byte)
{
    __m256i magnitude = _mm256_and_si256(byte, all(0x7f));
    __m256i sign = _mm256_slli_epi32(_mm256_and_si256(byte, all(0x80)), 24);
    __m256i normal = _mm256_add_epi32(_mm256_slli_epi32(magnitude, 20), all((127 - 7) << 23));
    __m256 steps = _mm256_mul_ps(_mm256_cvtepi32_ps(magnitude), _mm256_castsi256_ps(all((127 - 9) << 23)));
    __m256i finite = choose(normal, _mm256_castps_si256(steps), _mm256_cmpgt_epi32(all(8), magnitude));
    __m256i value = choose(finite, all(0x7fc00000), _mm256_cmpeq_epi32(magnitude, all(0x7f)));
    return _mm256_or_si256(value, sign);
}

WITH static void widen_e4m3(const void *in, float *out, size_t count)
{
    size_t i = 0;
    for (; i + LANES <= count; i += LANES)
        store_bits(out + i, float_bits_of_e4m3(load_8_bytes(in, i)));
    tn_convert_scalar.widen[TN_F8_E4M3]((const uint8_t *)in + i, out + i, count - i);
}

/* narrow_small of convert_scalar.c. */
WITH static inline __m256i narrow_small(__m256i magnitude, int mantissa, uint32_t bias)
{
    const int shift = 23 - mantissa;
    const uint32_t steps = (127 + 1 - bias + (uint32_t)shift) << 23;
    __m256 sum = _mm256_add_ps(_mm256_castsi256_ps(magnitude), _mm256_castsi256_ps(all(steps)));
    __m256i subnormal = _mm256_sub_epi32(_mm256_castps_si256(sum), all(steps));
    __m256i base = _mm256_sub_epi32(magnitude, all((127 - bias) << 23));
    __m256i odd = _mm256_and_si256(_mm256_srli_epi32(base, shift), all(1));
    __m256i up = _mm256_add_epi32(odd, all((1u << (shift - 1)) - 1));
    __m256i normal = _mm256_srli_epi32(_mm256_add_epi32(base, up), shift);
    return choose(normal, subnormal, _mm256_cmpgt_epi32(all((127 + 1 - bias) << 23), magnitude));
}

/* With the sign put back; NaN and what is greater than `greatest` told apart first. */
WITH static inline __m256i byte_of(__m256i bits, uint32_t greatest, int mantissa, uint32_t bias)
{
    __m256i magnitude = _mm256_and_si256(bits, all(0x7fffffff));
    __m256i sign = _mm256_and_si256(_mm256_srli_epi32(bits, 24), all(0x80));
    __m256i finite = narrow_small(_mm256_min_epi32(magnitude, all(greatest)), mantissa, bias);
    __m256i value = choose(finite, all(0x7f), _mm256_cmpgt_epi32(magnitude, all(0x7f800000)));
    return _mm256_or_si256(value, sign);
}

WITH static void narrow_e4m3(const float *in, void *out, size_t count)
{
    size_t i = 0;
    for (; i + LANES <= count; i += LANES)
        store_8_bytes(out, i, byte_of(load_bits(in + i), 0x43e00000, 3, 7));
    tn_convert_scalar.narrow[TN_F8_E4M3](in + i, (uint8_t *)out + i, count - i);
}

WITH static void narrow_e5m2(const float *in, void *out, size_t count)
{
    size_t i = 0;
    for (; i + LANES <= count; i += LANES)
        store_8_bytes(out, i, byte_of(load_bits(in + i), 0x47800000, 2, 15));
    tn_convert_scalar.narrow[TN_F8_E5M2](in + i, (uint8_t *)out + i, count - i);
}

/* ---- the set ---- */

const tn_convert_set tn_convert_avx2_set = {
    .name = "avx2",
    .widen = {[TN_F16] = widen_f16, [TN_BF16] = widen_bf16, [TN_F8_E5M2] = widen_e5m2, [TN_F8_E4M3] = widen_e4m3},
    .narrow = {[TN_F16] = narrow_f16, [TN_BF16] = narrow_bf16, [TN_F8_E5M2] = narrow_e5m2, [TN_F8_E4M3] = narrow_e4m3},
};

/* Leaf 1: ECX bit 29 is F16C, which clang's builtin does not know by name. */
const tn_convert_set *tn_convert_avx2(void)
{
    unsigned a, b, c, d;
    bool f16c = __get_cpuid(1, &a, &b, &c, &d) && (c >> 29 & 1u) != 0;
    return f16c && __builtin_cpu_supports("avx2") ? &tn_convert_avx2_set : NULL;
}

#else

const tn_convert_set *tn_convert_avx2(void)
{
    return NULL;
}

#endif
