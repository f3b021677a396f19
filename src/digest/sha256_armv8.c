/* SHA-256 with ARMv8's cryptography extension: four steps in two instructions. Source: Arm Architecture Reference Manual
 * for A-profile, SHA256H, SHA256H2, SHA256SU0 and SHA256SU1.
 *
 * The instructions want the state as two registers, its words a to d and e to h. This file alone is compiled for them
 * (CMakeLists.txt), and what uses them runs only where the system has said that the processor has them. */
#include "digest/sha256.h"

#include "os/os.h"

#if defined(__aarch64__)

#include <arm_neon.h>

/* The words 4 * at to 4 * at + 3 of the block, each turned from big-endian. */
static inline uint32x4_t load_words(const uint8_t *block, unsigned at)
{
    return vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(block + 16 * at)));
}

/* The next four words, from the sixteen before them. */
static inline uint32x4_t next_words(uint32x4_t w0, uint32x4_t w1, uint32x4_t w2, uint32x4_t w3)
{
    return vsha256su1q_u32(vsha256su0q_u32(w0, w1), w2, w3);
}

/* Four steps, 4 * at to 4 * at + 3. */
static inline void four_steps(uint32x4_t *abcd, uint32x4_t *efgh, uint32x4_t words, unsigned at)
{
    const uint32x4_t sum = vaddq_u32(words, vld1q_u32(tn_sha256_steps + 4 * at)), before = *abcd;
    *abcd = vsha256hq_u32(*abcd, *efgh, sum);
    *efgh = vsha256h2q_u32(*efgh, before, sum);
}

static inline void take_block(uint32x4_t *abcd, uint32x4_t *efgh, const uint8_t *block)
{
    uint32x4_t w0 = load_words(block, 0), w1 = load_words(block, 1), w2 = load_words(block, 2);
    uint32x4_t w3 = load_words(block, 3);
    const uint32x4_t abcd_before = *abcd, efgh_before = *efgh;
    four_steps(abcd, efgh, w0, 0);
    four_steps(abcd, efgh, w1, 1);
    four_steps(abcd, efgh, w2, 2);
    four_steps(abcd, efgh, w3, 3);
    for (unsigned at = 4; at < 16; at += 4) {
        w0 = next_words(w0, w1, w2, w3);
        four_steps(abcd, efgh, w0, at);
        w1 = next_words(w1, w2, w3, w0);
        four_steps(abcd, efgh, w1, at + 1);
        w2 = next_words(w2, w3, w0, w1);
        four_steps(abcd, efgh, w2, at + 2);
        w3 = next_words(w3, w0, w1, w2);
        four_steps(abcd, efgh, w3, at + 3);
    }
    *abcd = vaddq_u32(*abcd, abcd_before);
    *efgh = vaddq_u32(*efgh, efgh_before);
}

static void take(uint32_t state[8], const uint8_t *blocks, size_t count)
{
    uint32x4_t abcd = vld1q_u32(state), efgh = vld1q_u32(state + 4);
    for (size_t i = 0; i < count; i++)
        take_block(&abcd, &efgh, blocks + 64 * i);
    vst1q_u32(state, abcd);
    vst1q_u32(state + 4, efgh);
}

tn_sha256_take *tn_sha256_armv8(void)
{
    return tn_os_has_arm_sha256() ? take : NULL;
}

#else

tn_sha256_take *tn_sha256_armv8(void)
{
    return NULL;
}

#endif
