/* A checkpoint: one model's weights on disk (a file, a sharded set, a folder of components) and its catalog.
 *
 * Opening reads headers with positional reads and maps nothing. What is opened is immutable, counted, and safe from
 * any thread. Every text and array a getter returns belongs to the checkpoint and is valid until its last release.
 *
 * The catalog has three tables. A *storage* is a run of bytes in a part. A *tensor* (physical) is a typed, strided
 * view of a storage. A *logical tensor* is what a model means by a weight: usually one tensor; for a quantised weight
 * the packed tensor with its scales.
 */
#ifndef TENURE_CHECKPOINT_H
#define TENURE_CHECKPOINT_H

#include "context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What kind of file or folder it is, told by content, never by suffix. */
typedef enum tn_container {
#define TN_CONTAINER(NAME, word, weights) TN_CONTAINER_##NAME,
#include "container.def"
#undef TN_CONTAINER
    TN_CONTAINER_COUNT
} tn_container;

/* The word of a container in JSON, such as "safetensors". Never NULL. */
TN_API const char *tn_container_word(tn_container container);
/* Whether files of this kind hold model weights. */
TN_API bool tn_container_is_weights(tn_container container);

/* Name what `path` is by reading at most its first 64 KiB and a few KiB at its end (for a folder: the names in it).
 * A path that cannot be read is an error; anything readable has an answer. */
TN_API tn_status tn_container_of(tn_context *context, const char *path, tn_container *out, tn_error *err);

typedef struct tn_checkpoint tn_checkpoint;

typedef struct tn_open_options {
    size_t size;     /* sizeof(tn_open_options) */
    bool alone;      /* a shard is opened as itself, without looking for the index beside it */
} tn_open_options;

/* Open a weight file, a `*.safetensors.index.json`, a shard of a set (opens the set unless options->alone), or a
 * folder with model_index.json or config.json. `options` may be NULL.
 * Statuses: whatever stands in status.h under "what the bytes of a file showed" when the header cannot be trusted
 * (the error names file, tensor, byte); TN_UNSUPPORTED for a container without a reader.
 * A file whose header is sound and whose data is short or too long opens with TN_OK: ask tn_checkpoint_findings. */
TN_API tn_status tn_checkpoint_open(tn_context *context, const char *path, const tn_open_options *options,
                                    tn_checkpoint **out, tn_error *err);
/* One more hold on the same checkpoint; returns it. */
TN_API tn_checkpoint *tn_checkpoint_hold(tn_checkpoint *checkpoint);
/* Let one hold go. NULL is accepted. */
TN_API void tn_checkpoint_release(tn_checkpoint *checkpoint);

/* What it is: the container of its file or files; DIFFUSERS or TRANSFORMERS for a folder. */
TN_API tn_container tn_checkpoint_container(const tn_checkpoint *checkpoint);
/* Sizes of all parts together, and of all headers together. */
TN_API uint64_t tn_checkpoint_size_bytes(const tn_checkpoint *checkpoint);
TN_API uint64_t tn_checkpoint_header_bytes(const tn_checkpoint *checkpoint);
/* What was found wrong or odd, worst first. Empty for a sound file. */
TN_API size_t tn_checkpoint_findings(const tn_checkpoint *checkpoint, const tn_finding **out);

/* A file of the set. */
typedef struct tn_part {
    tn_text path;          /* as bytes; valid UTF-8 only if the name is */
    uint64_t size_bytes;
    uint64_t header_bytes; /* length field included */
    tn_text component;     /* diffusers folder: "unet", "vae", ...; empty otherwise */
} tn_part;
TN_API size_t tn_checkpoint_parts(const tn_checkpoint *checkpoint, const tn_part **out);

/* Open all files of the checkpoint now and keep them open until its last release: leases then read what was there when
 * it was opened, whatever happens to the files' names. Without this a file is opened when something of it is first
 * read. TN_CHANGED when a file is not the one any more whose header was read; TN_TOO_MANY_FILES. Blocks. */
TN_API tn_status tn_checkpoint_keep_files(const tn_checkpoint *checkpoint, tn_error *err);

typedef enum tn_encoding { TN_RAW = 0, TN_DEFLATED } tn_encoding;

typedef struct tn_storage {
    uint32_t part;         /* index of the part */
    uint64_t offset;       /* first byte within the part */
    uint64_t stored_bytes; /* bytes in the file */
    tn_encoding encoding;
    bool big_endian;
} tn_storage;
TN_API size_t tn_checkpoint_storages(const tn_checkpoint *checkpoint, const tn_storage **out);

#define TN_TENSOR_CONJ 1u      /* values are the complex conjugates of what is stored */
#define TN_TENSOR_NEG 2u       /* values are the negatives of what is stored */
#define TN_TENSOR_SHORT 4u     /* its bytes are not all in the file */
#define TN_TENSOR_MISALIGNED 8u

typedef struct tn_tensor {
    tn_text name;             /* folder of components: "unet/conv_in.weight" */
    tn_dtype dtype;
    uint32_t rank;
    const uint64_t *shape;    /* rank numbers, elements */
    const int64_t *strides;   /* rank numbers, elements; NULL: contiguous in C order */
    uint32_t storage;         /* index of the storage */
    uint64_t element_offset;  /* first element within the storage */
    uint64_t elements;        /* product of the shape; 1 for rank 0 */
    uint64_t size_bytes;      /* of the tensor laid out contiguously */
    uint32_t flags;           /* TN_TENSOR_* */
} tn_tensor;
/* All tensors, in the order of their bytes in the file (parts in the order of tn_checkpoint_parts). */
TN_API size_t tn_checkpoint_tensors(const tn_checkpoint *checkpoint, const tn_tensor **out);
/* Find one by its name of `size` bytes. NULL when there is none. */
TN_API const tn_tensor *tn_checkpoint_find(const tn_checkpoint *checkpoint, const char *name, size_t size);

/* A weight as the model means it. */
typedef struct tn_logical {
    tn_text name;
    tn_text scheme;           /* "" for plain; "fp8_scaled", "nf4", "fp4", "int8", ... */
    uint32_t rank;
    const uint64_t *shape;    /* as the model sees it, unpacked where that is known */
    uint64_t elements;
    uint32_t member_count;
    const uint32_t *members;  /* indices of tensors, the weight itself first */
} tn_logical;
TN_API size_t tn_checkpoint_logicals(const tn_checkpoint *checkpoint, const tn_logical **out);

/* Metadata: what the file says of itself. safetensors: the pairs of __metadata__. Folders: every scalar of the JSON
 * files read, as "unet/config.json#cross_attention_dim" -> "768" (nested keys joined with dots, array items by index;
 * files at the top without a folder: "model_index.json#_class_name"). */
typedef struct tn_pair {
    tn_text key, value;
} tn_pair;
TN_API size_t tn_checkpoint_metadata(const tn_checkpoint *checkpoint, const tn_pair **out);
/* The value of a key, or {NULL, 0}. */
TN_API tn_text tn_checkpoint_metadata_value(const tn_checkpoint *checkpoint, const char *key);

#ifdef __cplusplus
}
#endif
#endif
