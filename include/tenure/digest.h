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
    int64_t mtime_ns;    /* its time (Unix epoch), device and file id, as of the handle that was read */
    uint64_t device, file_id[2];
    uint8_t blake3[32], sha256[32];
    uint32_t crc32;
    char autov1[9], autov2[11], autov3[13], key_hash[33];
    char content[68];    /* "c1:" and 64 digits */
} tn_digests;

/* Told as blocks are done: of `total` bytes that are to be read, `done` are, more with each call and all with the last.
 * Called in the caller's thread. */
typedef void (*tn_digest_progress)(void *user, uint64_t done, uint64_t total);

/* Take the digests `which` (TN_DIGEST_*) of one file, never of the set it is a part of, from one pass over the bytes they
 * need. CONTENT reads the tensors once more, in the order of their names, where they do not lie in the file in that
 * order. `progress` may be NULL. Works on the context's threads, the caller's among them, and holds two blocks of 1 MiB
 * for each, two more, and 2 MiB to align them; one block for a small file, or where the budget allows no more. A big file
 * that is not in the system's cache is read past it where that can be, with a thread more that only waits for the disk.
 * Blocks; may be cancelled (TN_CANCELLED) between two blocks.
 * A file without tensors that can be read still has its other digests: see `absent`. TN_CHANGED when the file was
 * written to, replaced, renamed or removed meanwhile; TN_NOT_A_FILE for a folder. */
TN_API tn_status tn_digest_file(tn_context *context, const char *path, uint32_t which, tn_digest_progress progress,
                                void *user, tn_digests *out, tn_error *err);

/* A file and what is wanted of it. */
typedef struct tn_digest_want {
    const char *path;
    uint32_t which; /* TN_DIGEST_*, at least one */
} tn_digest_want;

/* Many of them, and who is told. Callbacks are called in the calling thread alone, while the others go on. */
typedef struct tn_digest_list {
    const tn_digest_want *files; /* begun in this order; outlives the call */
    size_t count;
    /* Told once for each file, as it ends: with `digests`, and `why` NULL; or with what is wrong, and `digests` NULL.
     * Both are valid until it returns. Anything but TN_OK, with `err` filled, stops everything and is returned. */
    tn_status (*ended)(void *user, size_t file, const tn_digests *digests, const tn_error *why, tn_error *err);
    /* May be NULL. Told now and then: `file` is the first of those at work, and of all files' bytes `done_bytes` are
     * behind us (those of files that failed among them). Never falls. Anything but TN_OK, with `err` filled, stops
     * everything and is returned: a job that was paused by another process stops within a file. */
    tn_status (*progress)(void *user, size_t file, uint64_t done_bytes, tn_error *err);
    void *user;
} tn_digest_list;

/* Take the digests of many files, several at once on the context's threads; each is as tn_digest_file says, and what
 * one file meets stops no other. A disk that seeks, or one behind a network, has one reader at a time. Blocks. After a
 * cancel nothing more is begun, the files that had not ended are not told about, and the answer is TN_CANCELLED. TN_OK
 * when every file was told about, whatever of it. */
TN_API tn_status tn_digest_many(tn_context *context, const tn_digest_list *list, tn_error *err);

#ifdef __cplusplus
}
#endif
#endif
