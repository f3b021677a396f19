/* SHA-256 (FIPS 180-4): what the field's hubs and apps name files by.
 *
 * The scalar code defines; what a processor does in one instruction is chosen at run time and gives the same bytes. */
#ifndef TN_DIGEST_SHA256_H
#define TN_DIGEST_SHA256_H

#include <stddef.h>
#include <stdint.h>

/* Take `count` blocks of 64 bytes into the state. */
typedef void tn_sha256_take(uint32_t state[8], const uint8_t *blocks, size_t count);

typedef struct tn_sha256 {
    tn_sha256_take *take;
    uint32_t state[8];
    uint64_t bytes;    /* taken so far */
    uint8_t block[64]; /* the last, not yet full one */
} tn_sha256;

/* Begin with the fastest code that this processor runs. */
void tn_sha256_begin(tn_sha256 *sha256);
/* Begin with this code: how tests hold one against the other. */
void tn_sha256_begin_with(tn_sha256 *sha256, tn_sha256_take *take);
void tn_sha256_add(tn_sha256 *sha256, const void *bytes, size_t size);
void tn_sha256_end(tn_sha256 *sha256, uint8_t out[32]);

/* The codes there are. */
tn_sha256_take tn_sha256_scalar;
/* x86's SHA extensions (sha256_shani.c). NULL where the processor lacks them. */
tn_sha256_take *tn_sha256_shani(void);
/* ARMv8's cryptography extension (sha256_armv8.c). NULL where the processor lacks it. */
tn_sha256_take *tn_sha256_armv8(void);

/* The constants of the 64 steps, FIPS 180-4 4.2.2. */
extern const uint32_t tn_sha256_steps[64];

#endif
