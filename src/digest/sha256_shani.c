/* SHA-256 with x86's SHA extensions: two steps an instruction. Source: Intel, "Intel SHA Extensions: New Instructions
 * Supporting the Secure Hash Algorithm on Intel Architecture Processors", 2013.
 *
 * The instructions want the state as two registers, named here by their words from the highest to the lowest: ABEF and
 * CDGH. Compiled for these instructions are the functions of this file alone, and they run only where the processor has
 * said that it has them. */
#include "digest/sha256.h"

#include "core/cc.h"

#if defined(__x86_64__) || defined(__i386__)

#include <cpuid.h>
#include <immintrin.h>

#define WITH_SHA TN_TARGET("sha,sse4.1")

/* The words 4 * at to 4 * at + 3 of the block, each turned from big-endian. */
WITH_SHA static inline __m128i load_words(const uint8_t *block, unsigned at)
{
    const __m128i swapped = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
    return _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)(block + 16 * at)), swapped);
}

/* The next four words, from the sixteen before them. */
WITH_SHA static inline __m128i next_words(__m128i w0, __m128i w1, __m128i w2, __m128i w3)
{
    __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(w0, w1), _mm_alignr_epi8(w3, w2, 4));
    return _mm_sha256msg2_epu32(sum, w3);
}

/* Four steps, 4 * at to 4 * at + 3. */
WITH_SHA static inline void four_steps(__m128i *abef, __m128i *cdgh, __m128i words, unsigned at)
{
    const void *constants = tn_sha256_steps + 4 * at;
    __m128i sum = _mm_add_epi32(words, _mm_loadu_si128(constants));
    *cdgh = _mm_sha256rnds2_epu32(*cdgh, *abef, sum);
    *abef = _mm_sha256rnds2_epu32(*abef, *cdgh, _mm_shuffle_epi32(sum, 0x0E));
}

WITH_SHA static inline void take_block(__m128i *abef, __m128i *cdgh, const uint8_t *block)
{
    __m128i w0 = load_words(block, 0), w1 = load_words(block, 1), w2 = load_words(block, 2), w3 = load_words(block, 3);
    const __m128i abef_before = *abef, cdgh_before = *cdgh;
    four_steps(abef, cdgh, w0, 0);
    four_steps(abef, cdgh, w1, 1);
    four_steps(abef, cdgh, w2, 2);
    four_steps(abef, cdgh, w3, 3);
    for (unsigned at = 4; at < 16; at += 4) {
        w0 = next_words(w0, w1, w2, w3);
        four_steps(abef, cdgh, w0, at);
        w1 = next_words(w1, w2, w3, w0);
        four_steps(abef, cdgh, w1, at + 1);
        w2 = next_words(w2, w3, w0, w1);
        four_steps(abef, cdgh, w2, at + 2);
        w3 = next_words(w3, w0, w1, w2);
        four_steps(abef, cdgh, w3, at + 3);
    }
    *abef = _mm_add_epi32(*abef, abef_before);
    *cdgh = _mm_add_epi32(*cdgh, cdgh_before);
}

WITH_SHA static void take(uint32_t state[8], const uint8_t *blocks, size_t count)
{
    void *low = state, *high = state + 4;
    __m128i cdab = _mm_shuffle_epi32(_mm_loadu_si128(low), 0xB1);
    __m128i efgh = _mm_shuffle_epi32(_mm_loadu_si128(high), 0x1B);
    __m128i abef = _mm_alignr_epi8(cdab, efgh, 8), cdgh = _mm_blend_epi16(efgh, cdab, 0xF0);
    for (size_t i = 0; i < count; i++)
        take_block(&abef, &cdgh, blocks + 64 * i);
    __m128i feba = _mm_shuffle_epi32(abef, 0x1B), dchg = _mm_shuffle_epi32(cdgh, 0xB1);
    _mm_storeu_si128(low, _mm_blend_epi16(feba, dchg, 0xF0));
    _mm_storeu_si128(high, _mm_alignr_epi8(dchg, feba, 8));
}

/* Leaf 7: EBX bit 29 is SHA; leaf 1: ECX bit 9 is SSSE3 and bit 19 SSE4.1. */
tn_sha256_take *tn_sha256_shani(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c >> 9 & c >> 19 & 1u) == 0)
        return NULL;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (b >> 29 & 1u) == 0)
        return NULL;
    return take;
}

#else

tn_sha256_take *tn_sha256_shani(void)
{
    return NULL;
}

#endif
