/* Leases: the bytes of a tensor, valid until released.
 *
 *   tn_lease *lease;
 *   tn_lease_named(checkpoint, "img_in.weight", NULL, &lease, &err);
 *   use(lease->data, lease->size_bytes);
 *   tn_lease_release(lease);
 *
 * A lease is memory of its own. It stays valid until its last release, whatever becomes of the checkpoint, of the file
 * (replaced, cut, deleted), of the budget or of the context: all of them may be gone before it. What is in it is what
 * the file held when it was read; a file that changed meanwhile is an error of the call, never a wrong byte.
 *
 * Everything is charged to the budget of the checkpoint's context. What does not fit is refused before anything is read,
 * with TN_OVER_BUDGET and numbers. The memory of released leases is kept for the next ones (tn_context_options).
 *
 * A *view* (TN_LEASE_VIEW) is a read-only window on the file instead, and costs neither memory nor reading. It must be
 * asked for, because then the file is the memory: who cuts it or writes into it in place changes what is seen, and to
 * touch a page that is gone ends the process. tn_lease_copy copies out of one safely. Views are not given of files on a
 * network, nor of tensors that do not start at a multiple of their item size: these are copied, and the lease says why.
 *
 * All calls are safe from any thread. After fork() the child may read and release what it had; nothing else.
 */
#ifndef TENURE_LEASE_H
#define TENURE_LEASE_H

#include "checkpoint.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How bytes come out of a file. */
typedef enum tn_way {
    TN_WAY_AUTOMATIC = 0, /* in options: as Tenure chooses */
    TN_WAY_NONE,          /* there was nothing to read */
    TN_WAY_MEMORY,        /* copied from bytes that were in memory */
    TN_WAY_READ,          /* positional reads in the caller's thread */
    TN_WAY_THREADS,       /* positional reads by several threads */
    TN_WAY_DIRECT,        /* reads past the system's cache, several at a time */
    TN_WAY_GATHER,        /* only the pieces that a slice needs, put together */
    TN_WAY_VIEW,          /* a read-only window on the file */
    TN_WAY_COUNT
} tn_way;

/* The word of a way, such as "direct". Never NULL. */
TN_API const char *tn_way_word(tn_way way);

/* The bytes of a tensor or of a slice of one. Read-only; only `owned` may be written through. */
typedef struct tn_lease {
    const void *data;       /* the first element; at a multiple of 64 bytes unless it is a view. Never NULL */
    void *owned;            /* the same, to be written by whoever holds the lease; NULL for a view */
    uint64_t size_bytes;    /* of all elements, one after the other */
    uint64_t elements;
    tn_dtype dtype;
    uint32_t rank;
    const uint64_t *shape;  /* rank numbers, elements */
    const int64_t *strides; /* rank numbers, elements. Of an owned lease those of C order; of a view of a slice as they
                               fall, also negative. Of types with less than 8 bits: NULL */
    tn_text name;           /* of the tensor */
    tn_way way;             /* how it was read */
    const char *reason;     /* why so, in words. Constant */
} tn_lease;

/* ---- slices ---- */

/* One item of an index, as between the brackets of NumPy's basic indexing. */
typedef enum tn_index_kind {
    TN_INDEX_RANGE = 0, /* start:stop:step */
    TN_INDEX_AT,        /* one place; the dimension falls away. Negative from the end; outside: TN_INVALID */
    TN_INDEX_REST,      /* the ellipsis: all dimensions that no other item names; once at most */
    TN_INDEX_NEW        /* a new dimension of size 1 */
} tn_index_kind;
typedef struct tn_index {
    tn_index_kind kind;
    int64_t start, stop, step; /* AT: start alone. TN_INDEX_NONE where nothing is said. Beyond the ends they are clamped
                                  as Python's slices are. A step of 0 is TN_INVALID */
} tn_index;

#define TN_INDEX_NONE INT64_MIN
#define TN_INDEX_MAX 64 /* items of one index, and dimensions of what is indexed and of the result; more is TN_LIMIT */

/* ---- leasing ---- */

#define TN_LEASE_VIEW 1u        /* a read-only window where that can be; see above */
#define TN_LEASE_BACKGROUND 2u  /* give way to every read that is not in the background */
#define TN_LEASE_DROP_BEHIND 4u /* leave the system's file cache as it was, where the system can (Linux) */
#define TN_LEASE_LENIENT 8u     /* also from a checkpoint that was found damaged: what is there of it */
#define TN_LEASE_CONVERT 16u    /* floats become options.dtype while they are read, as tn_convert turns them (convert.h).
                                 * Integers, booleans and complex numbers stay. TN_UNSUPPORTED for packed floats (F4, F6).
                                 * No view is given of what is turned. Beside the lease's memory at most 6 MiB a reading
                                 * thread are needed; for what is gathered, its bytes as they are stored */

typedef struct tn_lease_options {
    size_t size;           /* sizeof(tn_lease_options) */
    uint32_t flags;        /* TN_LEASE_* */
    tn_way way;            /* a way that is wished: READ, THREADS or DIRECT. Where it cannot be, another is taken */
    const tn_index *index; /* of one tensor; NULL: the whole tensor */
    size_t index_count;
    /* Told in the caller's thread, now and then, that `done` bytes of `total` are read; false ends the call with
     * TN_CANCELLED. NULL: nobody is told. */
    bool (*progress)(void *user, uint64_t done, uint64_t total);
    void *user;
    tn_dtype dtype;        /* with CONVERT alone: what floats become */
    /* Integrity: what is read is hashed on its way and compared. A difference is TN_BAD_CHECKSUM, which names the file and,
     * where it is known, the tensor; nothing is handed out then. No views are given. NULL: nothing is compared. */
    const uint8_t *digests;     /* 32 bytes for each tensor of the call, in its order: the BLAKE3 of its bytes as they are
                                   stored (tn_digest_tensors). Of whole tensors without strides: else TN_INVALID */
    const uint8_t *file_digest; /* 32 bytes: the BLAKE3 of the whole file, such as the library has it. For tn_lease_many of
                                   all tensors (NULL) of a checkpoint of one file: else TN_INVALID. All of it is read */
} tn_lease_options;

#define TN_LEASE_OPTIONS_INIT {sizeof(tn_lease_options), 0, TN_WAY_AUTOMATIC, NULL, 0, NULL, NULL, TN_BOOL, NULL, NULL}

/* Lease a tensor of the checkpoint, or a slice of it, in C order. `tensor` is one of tn_checkpoint_tensors; `options` may
 * be NULL. Only the bytes that are wanted are read, and those between two that are less than 4 KiB apart. Blocks. The
 * caller releases it. Strided tensors are laid out.
 * TN_OVER_BUDGET, TN_NO_MEMORY: refused before reading. TN_CHANGED, TN_TRUNCATED, TN_IO name the file and the tensor.
 * TN_UNSUPPORTED: what is stored is not the tensor's values as they are (compressed, big-endian, conjugated), a slice of
 * elements of less than a byte that does not fall on bytes, or floats that cannot be turned into the type asked for. The status of its worst finding for a damaged checkpoint,
 * unless LENIENT. TN_CANCELLED. */
TN_API tn_status tn_lease_tensor(const tn_checkpoint *checkpoint, const tn_tensor *tensor,
                                 const tn_lease_options *options, tn_lease **out, tn_error *err);
/* The same by name. TN_INVALID when there is no tensor of this name. */
TN_API tn_status tn_lease_named(const tn_checkpoint *checkpoint, const char *name, const tn_lease_options *options,
                                tn_lease **out, tn_error *err);
/* Lease `count` tensors at once, whole: `out` takes as many leases, each to be released by itself. All or none. They
 * are read in the order of the file, neighbours together. `tensors` NULL: all of the checkpoint, in its order, and
 * `count` is their number. */
TN_API tn_status tn_lease_many(const tn_checkpoint *checkpoint, const tn_tensor *const *tensors, size_t count,
                               const tn_lease_options *options, tn_lease **out, tn_error *err);
/* One more hold on the same lease; returns it. */
TN_API tn_lease *tn_lease_hold(tn_lease *lease);
/* Let one hold go; with the last the memory goes. NULL is accepted. */
TN_API void tn_lease_release(tn_lease *lease);
/* Copy its elements in C order into `size` bytes of the caller's, which must be lease->size_bytes (else TN_INVALID). A
 * view is copied by reading the file, so that pages that are gone are TN_CHANGED, TN_TRUNCATED or TN_IO and no fault. */
TN_API tn_status tn_lease_copy(const tn_lease *lease, void *bytes, size_t size, tn_error *err);

/* A hold in a shape that other libraries take over, in the manner of DLPack and of the Arrow C data interface: a struct
 * of the receiver's, live as long as `release` is not NULL, and moved by copying it and setting `release` to NULL. */
typedef struct tn_lease_export {
    const void *data;
    void *owned; /* NULL: read-only */
    uint64_t size_bytes;
    tn_dtype dtype;
    uint32_t rank;
    const uint64_t *shape;
    const int64_t *strides;
    void (*release)(struct tn_lease_export *self); /* lets the hold go and sets itself to NULL. From any thread */
    void *private_data;
} tn_lease_export;

/* Put one more hold on the lease into `out`. Never fails. */
TN_API void tn_lease_export_to(tn_lease *lease, tn_lease_export *out);

/* Take the BLAKE3 of every tensor of the checkpoint, of its bytes as they are stored: 32 bytes each, in their order, for
 * tn_lease_options.digests. Reads all of them, with at most 4 MiB of memory. Blocks. TN_INVALID for tensors with strides;
 * TN_CHANGED, TN_TRUNCATED, TN_IO, TN_OVER_BUDGET, TN_CANCELLED. */
TN_API tn_status tn_digest_tensors(const tn_checkpoint *checkpoint, uint8_t *digests, size_t count, tn_error *err);

/* ---- the cost beforehand ---- */

/* What a lease would take. */
typedef struct tn_cost {
    uint64_t tensors;
    uint64_t bytes; /* of their elements, as they are leased */
    uint64_t bytes_by_dtype[TN_DTYPE_COUNT];
    uint64_t bytes_by_way[TN_WAY_COUNT]; /* as they are stored */
    uint64_t memory_bytes;  /* what would be charged to the budget, but for at most 34 MiB of rooms that fill up later */
    uint64_t largest_bytes; /* of one tensor */
    uint64_t left_bytes;    /* of the budget, at this moment */
    bool fits;              /* memory_bytes <= left_bytes */
} tn_cost;

/* Say what tn_lease_many of the same would cost. Opens the files and reads no data. `tensors` NULL: all. */
TN_API tn_status tn_cost_of(const tn_checkpoint *checkpoint, const tn_tensor *const *tensors, size_t count,
                            const tn_lease_options *options, tn_cost *out, tn_error *err);

#ifdef __cplusplus
}
#endif
#endif
