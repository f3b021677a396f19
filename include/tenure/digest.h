/* Digests: who a file is, by every hash that the field uses, and by the sample that the library takes at import. */
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

/* Which digests of a file are wanted, and which there are. */
#define TN_DIGEST_BLAKE3 1u    /* BLAKE3 of the whole file */
#define TN_DIGEST_SHA256 2u    /* SHA-256 of the whole file (FIPS 180-4) */
#define TN_DIGEST_CRC32 4u     /* CRC-32 of the whole file, as in zip */
#define TN_DIGEST_AUTOV1 8u    /* first 8 digits of SHA-256 over 65,536 bytes from byte 1,048,576 on, or as many of them
                                  as there are. Source: AUTOMATIC1111, modules/sd_models.py, model_hash */
#define TN_DIGEST_AUTOV2 16u   /* first 10 digits of SHA-256 of the whole file. Source: the same, shorthash */
#define TN_DIGEST_AUTOV3 32u   /* safetensors alone: first 12 digits of SHA-256 over all that follows the header.
                                  Source: kohya-ss sd-scripts, library/train_util.py, addnet_hash_safetensors */
#define TN_DIGEST_KEY_HASH 64u /* tn_digest_key_hash of this file */
#define TN_DIGEST_CONTENT 128u /* the tensors' names, types, shapes and bytes, whatever their order in the file:
                                  docs/formats/content-hash.md */
#define TN_DIGEST_ALL 255u

/* The digests of a file. Texts are lower-case hexadecimal digits with a NUL. */
typedef struct tn_digests {
    uint32_t have;       /* TN_DIGEST_* of those below that are filled in */
    tn_status absent;    /* why one that was wanted is not among them: what the file's bytes showed, TN_UNSUPPORTED
                            where it is no file that this digest is made of. TN_OK when all are there */
    uint64_t size_bytes; /* of the file */
    uint8_t blake3[32], sha256[32];
    uint32_t crc32;
    char autov1[9], autov2[11], autov3[13], key_hash[33];
    char content[68];    /* "c1:" and 64 digits */
} tn_digests;

/* Told after each block: of `total` bytes that are to be read, `done` are. Called in the caller's thread. */
typedef void (*tn_digest_progress)(void *user, uint64_t done, uint64_t total);

/* Take the digests `which` (TN_DIGEST_*) of one file, never of the set it is a part of. All but CONTENT come from one
 * pass over the bytes they need; CONTENT reads the tensors once more, in the order of their names. `progress` may be
 * NULL. Holds one block of 1 MiB. Blocks; may be cancelled (TN_CANCELLED) between two blocks.
 * A file without tensors that can be read still has its other digests: see `absent`. TN_CHANGED when the file was
 * written to, replaced, renamed or removed meanwhile; TN_NOT_A_FILE for a folder. */
TN_API tn_status tn_digest_file(tn_context *context, const char *path, uint32_t which, tn_digest_progress progress,
                                void *user, tn_digests *out, tn_error *err);

#ifdef __cplusplus
}
#endif
#endif
