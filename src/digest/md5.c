/* MD5 as RFC 1321 has it: 64 steps over blocks of 64 bytes, little-endian. */
#include "digest/md5.h"

#include <string.h>

/* floor(2^32 * |sin(i + 1)|), RFC 1321 3.4. */
static const uint32_t sines[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};
static const uint8_t turns[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};

static uint32_t load32(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static uint32_t turn(uint32_t x, unsigned by)
{
    return x << by | x >> (32 - by);
}

/* The function of a round, and which word of the block a step takes. */
static uint32_t mix(unsigned step, uint32_t b, uint32_t c, uint32_t d, unsigned *word)
{
    switch (step / 16) {
    case 0:
        *word = step;
        return (b & c) | (~b & d);
    case 1:
        *word = (5 * step + 1) % 16;
        return (b & d) | (c & ~d);
    case 2:
        *word = (3 * step + 5) % 16;
        return b ^ c ^ d;
    default:
        *word = (7 * step) % 16;
        return c ^ (b | ~d);
    }
}

static void take_block(tn_md5 *md5, const uint8_t *block)
{
    uint32_t a = md5->state[0], b = md5->state[1], c = md5->state[2], d = md5->state[3];
    for (unsigned step = 0; step < 64; step++) {
        unsigned word;
        uint32_t mixed = mix(step, b, c, d, &word);
        uint32_t sum = a + mixed + sines[step] + load32(block + 4 * word);
        a = d;
        d = c;
        c = b;
        b += turn(sum, turns[step / 16][step % 4]);
    }
    md5->state[0] += a;
    md5->state[1] += b;
    md5->state[2] += c;
    md5->state[3] += d;
}

void tn_md5_begin(tn_md5 *md5)
{
    *md5 = (tn_md5){.state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476}, .bytes = 0};
}

void tn_md5_add(tn_md5 *md5, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    size_t held = (size_t)(md5->bytes % 64);
    md5->bytes += size;
    while (size > 0) {
        if (held == 0 && size >= 64) {
            take_block(md5, at);
            at += 64;
            size -= 64;
            continue;
        }
        size_t taken = size < 64 - held ? size : 64 - held;
        memcpy(md5->block + held, at, taken);
        held += taken;
        at += taken;
        size -= taken;
        if (held == 64) {
            take_block(md5, md5->block);
            held = 0;
        }
    }
}

void tn_md5_end(tn_md5 *md5, uint8_t out[16])
{
    uint64_t bits = md5->bytes * 8;
    uint8_t length[8];
    for (unsigned i = 0; i < 8; i++)
        length[i] = (uint8_t)(bits >> (8 * i));
    static const uint8_t padding[64] = {0x80};
    size_t held = (size_t)(md5->bytes % 64);
    tn_md5_add(md5, padding, held < 56 ? 56 - held : 120 - held);
    tn_md5_add(md5, length, sizeof length);
    for (unsigned i = 0; i < 16; i++)
        out[i] = (uint8_t)(md5->state[i / 4] >> (8 * (i % 4)));
}
