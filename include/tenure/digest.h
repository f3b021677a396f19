/* Digests: who a file is.
 *
 * This header will hold every hash the field uses; today the one that the library takes at import. */
#ifndef TENURE_DIGEST_H
#define TENURE_DIGEST_H

#include "checkpoint.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The sample digest: BLAKE3 over the header's bytes of every part and 12 blocks of 4 KiB of its data at fixed
 * fractions (block i of 12 starts at data_start + floor((data_size - 4096) * i / 11); less data than 48 KiB is taken
 * whole). Reads nothing else. It tells moved files apart, it does not prove equality: for that, hash. */
TN_API tn_status tn_digest_sample(tn_context *context, const tn_checkpoint *checkpoint, uint8_t out[32], tn_error *err);
/* The same for a file without a reader: its first 64 KiB stand for the header. */
TN_API tn_status tn_digest_sample_file(tn_context *context, const char *path, uint8_t out[32], tn_error *err);
/* DiffSynth-Studio's key hash: MD5 over the sorted, comma-joined list of each tensor's name and name:d0_d1_...
 * as 32 lower-case hexadecimal characters and a NUL. Source: DiffSynth-Studio diffsynth/core/loader/file.py. */
TN_API tn_status tn_digest_key_hash(tn_context *context, const tn_checkpoint *checkpoint, char out[33], tn_error *err);

#ifdef __cplusplus
}
#endif
#endif
