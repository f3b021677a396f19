/* Looking at JSON many bytes at a time: the next byte of a string that is not plain, up to eight digits.
 *
 * The string scan is written in C alone, and again for SSE2, which every x86-64 has. The tests hold both against a
 * loop over bytes.
 */
#ifndef TN_CORE_JSON_SCAN_H
#define TN_CORE_JSON_SCAN_H

#include "core/cc.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* The value `byte` in each of eight bytes. */
#define TN_JSON_EACH8(byte) (UINT64_C(0x0101010101010101) * (byte))

/* A byte of a string that stands for itself, needs no check, and ends nothing. */
static inline bool tn_json_is_plain(char c)
{
    unsigned char byte = (unsigned char)c;
    return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
}

/* The value of a digit; of all else 10 or more. */
static inline unsigned tn_json_digit(char c)
{
    return (unsigned)(unsigned char)c - '0';
}

static inline bool tn_json_is_digit(char c)
{
    return tn_json_digit(c) < 10;
}

static inline const char *tn_json_scan_bytes(const char *at, const char *end)
{
    while (at < end && tn_json_is_plain(*at))
        at++;
    return at;
}

/* A high bit for each byte of `x` that is not plain; those above the lowest such bit may be wrong (borrows). */
static inline uint64_t tn_json_not_plain8(uint64_t x)
{
    uint64_t control = x - TN_JSON_EACH8(0x20);
    uint64_t quote = (x ^ TN_JSON_EACH8('"')) - TN_JSON_EACH8(1);
    uint64_t backslash = (x ^ TN_JSON_EACH8('\\')) - TN_JSON_EACH8(1);
    return (control | quote | backslash | x) & TN_JSON_EACH8(0x80);
}

static inline const char *tn_json_scan_words(const char *at, const char *end)
{
    for (; end - at >= 8; at += 8) {
        uint64_t marks = tn_json_not_plain8(tn_load_le64(at));
        if (marks)
            return at + tn_lowest_bit(marks) / 8;
    }
    return tn_json_scan_bytes(at, end);
}

#ifdef __SSE2__
static inline const char *tn_json_scan_sse2(const char *at, const char *end)
{
    const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\'), space = _mm_set1_epi8(0x20);
    if (end - at < 16)
        return tn_json_scan_bytes(at, end);
    for (const char *last = end - 16; at <= last; at += 16) {
        __m128i x = _mm_loadu_si128((const __m128i *)(const void *)at);
        /* signed: a byte past ASCII is less than a space, like a control character */
        __m128i odd = _mm_cmplt_epi8(x, space);
        odd = _mm_or_si128(odd, _mm_or_si128(_mm_cmpeq_epi8(x, quote), _mm_cmpeq_epi8(x, backslash)));
        unsigned marks = (unsigned)_mm_movemask_epi8(odd);
        if (marks)
            return at + tn_lowest_bit(marks);
    }
    return tn_json_scan_bytes(at, end);
}
#endif

/* The first byte in [at, end) that is not plain, or `end`. */
static inline const char *tn_json_scan(const char *at, const char *end)
{
#ifdef __SSE2__
    return tn_json_scan_sse2(at, end);
#else
    return tn_json_scan_words(at, end);
#endif
}

/* Whether `size` bytes are the same: memcmp for short constants, whose words the compiler knows. */
static inline bool tn_json_same(const char *a, const char *b, size_t size)
{
    uint64_t differ = 0;
    if (size < 8)
        return memcmp(a, b, size) == 0;
    for (size_t at = 0; at + 8 < size; at += 8)
        differ |= tn_load_le64(a + at) ^ tn_load_le64(b + at);
    return (differ | (tn_load_le64(a + size - 8) ^ tn_load_le64(b + size - 8))) == 0;
}

/* How many of the eight bytes at `at` are digits before the first that is none; `out` is their value. */
static inline size_t tn_json_digits8(const char *at, uint64_t *out)
{
    uint64_t x = tn_load_le64(at) ^ TN_JSON_EACH8('0'); /* a digit becomes its value, all else 10 or more */
    /* A high bit for each that is none; those above the lowest such bit may be wrong (carries). */
    uint64_t others = (x | (x + TN_JSON_EACH8(0x76))) & TN_JSON_EACH8(0x80);
    size_t count = 8;
    if (others) {
        unsigned bit = tn_lowest_bit(others);
        count = bit / 8;
        x = x << (63 - bit) << 8; /* the digits move to the end, and zeros lead */
    }
    /* Neighbours are joined, the first being the higher: eight digits to four pairs, to two fours, to one eight. Each
     * multiplication adds ten, a hundred, ten thousand times the first to the second, and the shift leaves the first out. */
    x = x * (10 << 8 | 1) >> 8 & UINT64_C(0x00FF00FF00FF00FF);
    x = x * (100 << 16 | 1) >> 16 & UINT64_C(0x0000FFFF0000FFFF);
    *out = x * (UINT64_C(10000) << 32 | 1) >> 32;
    return count;
}

#endif
