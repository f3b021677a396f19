/* Writing safetensors files, tensor by tensor, whole or not at all. */
#ifndef TENURE_WRITER_H
#define TENURE_WRITER_H

#include "checkpoint.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A tensor that will be written. Texts and shape are read by tn_writer_open and not kept. */
typedef struct tn_write_tensor {
    tn_text name;          /* UTF-8, not "__metadata__", no two alike */
    tn_dtype dtype;        /* any but C128; a packed type (F4, F6) must fill whole bytes */
    uint32_t rank;         /* 0: a scalar */
    const uint64_t *shape; /* elements; NULL when rank is 0 */
} tn_write_tensor;

typedef struct tn_writer_options {
    size_t size;               /* sizeof(tn_writer_options) */
    const tn_pair *metadata;   /* written as "__metadata__", sorted by key; NULL with metadata_count 0: none */
    size_t metadata_count;
    bool metadata_empty;       /* write "__metadata__" even with no pair in it */
} tn_writer_options;

typedef struct tn_writer tn_writer;

/* Begin a file that will hold `tensors` and appear at `path` when it is finished, in place of what may be there. The
 * header is made now: tensors sorted by type (widest first) and name, padded to a multiple of 8, as the safetensors 0.8
 * writer does it. Until tn_writer_finish everything goes to a hidden file beside `path`; a checkpoint opened from
 * `path` keeps reading its old bytes, also afterwards. `options` may be NULL.
 *
 * TN_INVALID names the tensor whose name or shape cannot be; TN_DUPLICATE, TN_OVERFLOW, TN_LIMIT (header over
 * 100,000,000 bytes), TN_UNSUPPORTED; what the system says of the folder. Blocks. */
TN_API tn_status tn_writer_open(tn_context *context, const char *path, const tn_write_tensor *tensors, size_t count,
                                const tn_writer_options *options, tn_writer **out, tn_error *err);
/* The file's size in bytes once it is finished. */
TN_API uint64_t tn_writer_size_bytes(const tn_writer *writer);
/* Append bytes to tensor number `tensor` (its place in the array given to open). Tensors may be filled in any order, and
 * side by side; fastest is the order of the file. Bytes are little-endian, in C order.
 * TN_INVALID when there are more than the tensor holds. After any other failure only destroy is of use. */
TN_API tn_status tn_writer_put(tn_writer *writer, size_t tensor, const void *bytes, size_t size, tn_error *err);
/* Flush, give the file its name, flush the folder. TN_INVALID names a tensor that was not filled, and more may be put.
 * Blocks until the disk has it. After TN_OK only destroy is of use. */
TN_API tn_status tn_writer_finish(tn_writer *writer, tn_error *err);
/* Free; what was not finished is removed. NULL accepted. */
TN_API void tn_writer_destroy(tn_writer *writer);

#ifdef __cplusplus
}
#endif
#endif
