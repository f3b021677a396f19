/* SHA-256 as FIPS 180-4 has it: 64 steps over blocks of 64 bytes, big-endian. Numbers below are that text's sections. */
#include "digest/sha256.h"

#include <stdatomic.h>
#include <string.h>

/* 4.2.2: the first 32 bits of the fractions of the cube roots of the first 64 primes. */
const uint32_t tn_sha256_steps[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
/* 5.3.3: the same of the square roots of the first eight. */
static const uint32_t first[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

/* ---- the scalar code ---- */

static uint32_t load32(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | (uint32_t)bytes[3];
}

static uint32_t turn(uint32_t x, unsigned by)
{
    return x >> by | x << (32 - by);
}

/* 6.2.2, step 1: sixteen words of the block, and 48 that are made from those before them. */
static void spread(const uint8_t *block, uint32_t words[64])
{
    for (unsigned i = 0; i < 16; i++)
        words[i] = load32(block + 4 * i);
    for (unsigned i = 16; i < 64; i++) {
        uint32_t near = words[i - 2], far = words[i - 15];
        uint32_t of_near = turn(near, 17) ^ turn(near, 19) ^ near >> 10;
        uint32_t of_far = turn(far, 7) ^ turn(far, 18) ^ far >> 3;
        words[i] = of_near + words[i - 7] + of_far + words[i - 16];
    }
}

static void take_block(uint32_t state[8], const uint8_t *block)
{
    uint32_t words[64];
    spread(block, words);
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (unsigned i = 0; i < 64; i++) {
        uint32_t of_e = turn(e, 6) ^ turn(e, 11) ^ turn(e, 25), chosen = (e & f) ^ (~e & g);
        uint32_t of_a = turn(a, 2) ^ turn(a, 13) ^ turn(a, 22), most = (a & b) ^ (a & c) ^ (b & c);
        uint32_t sum = h + of_e + chosen + tn_sha256_steps[i] + words[i];
        h = g, g = f, f = e, e = d + sum;
        d = c, c = b, b = a, a = sum + of_a + most;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
    state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

void tn_sha256_scalar(uint32_t state[8], const uint8_t *blocks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        take_block(state, blocks + 64 * i);
}

/* ---- the choice ---- */

/* Asked of the processor once: the question is slow in a virtual machine. Two threads that ask at once get the same. */
static tn_sha256_take *fastest(void)
{
    static tn_sha256_take *_Atomic chosen;
    tn_sha256_take *take = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (take != NULL)
        return take;
    take = tn_sha256_shani();
    if (take == NULL)
        take = tn_sha256_armv8();
    if (take == NULL)
        take = tn_sha256_scalar;
    atomic_store_explicit(&chosen, take, memory_order_relaxed);
    return take;
}

/* ---- bytes of any number ---- */

void tn_sha256_begin_with(tn_sha256 *sha256, tn_sha256_take *take)
{
    *sha256 = (tn_sha256){.take = take, .bytes = 0};
    memcpy(sha256->state, first, sizeof first);
}

void tn_sha256_begin(tn_sha256 *sha256)
{
    tn_sha256_begin_with(sha256, fastest());
}

/* Fill the block that is begun. Returns how many bytes that took. */
static size_t fill(tn_sha256 *sha256, size_t held, const uint8_t *bytes, size_t size)
{
    size_t taken = size < 64 - held ? size : 64 - held;
    memcpy(sha256->block + held, bytes, taken);
    if (held + taken == 64)
        sha256->take(sha256->state, sha256->block, 1);
    return taken;
}

void tn_sha256_add(tn_sha256 *sha256, const void *bytes, size_t size)
{
    if (size == 0)
        return;
    const uint8_t *at = bytes;
    size_t held = (size_t)(sha256->bytes % 64);
    sha256->bytes += size;
    if (held > 0) {
        size_t taken = fill(sha256, held, at, size);
        at += taken;
        size -= taken;
    }
    if (size >= 64) {
        sha256->take(sha256->state, at, size / 64);
        at += size / 64 * 64;
        size %= 64;
    }
    if (size > 0)
        fill(sha256, 0, at, size);
}

/* 5.1.1: a one bit, zeros, and the length in bits, to the end of a block. */
void tn_sha256_end(tn_sha256 *sha256, uint8_t out[32])
{
    static const uint8_t padding[64] = {0x80};
    uint64_t bits = sha256->bytes * 8;
    size_t held = (size_t)(sha256->bytes % 64);
    uint8_t length[8];
    for (unsigned i = 0; i < 8; i++)
        length[i] = (uint8_t)(bits >> (56 - 8 * i));
    tn_sha256_add(sha256, padding, held < 56 ? 56 - held : 120 - held);
    tn_sha256_add(sha256, length, sizeof length);
    for (unsigned i = 0; i < 32; i++)
        out[i] = (uint8_t)(sha256->state[i / 4] >> (24 - 8 * (i % 4)));
}
