/* Statuses, errors and element types: what every other header of Tenure speaks in.
 *
 * A call that can fail returns a tn_status and takes, as its last argument, an optional `tn_error *err` that the
 * caller places (on the stack, usually) and may leave NULL. On success the error is not touched. On failure no
 * other output is touched. Nothing here is thread-local and nothing has to be freed.
 */
#ifndef TENURE_STATUS_H
#define TENURE_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32) && defined(TN_SHARED)
#ifdef TN_BUILDING
#define TN_API __declspec(dllexport)
#else
#define TN_API __declspec(dllimport)
#endif
#elif defined(__GNUC__)
#define TN_API __attribute__((visibility("default")))
#else
#define TN_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What a call answered; see tn_status_text. The list is src/core/status.def, written out here for readers. */
typedef enum tn_status {
    TN_OK = 0,
    /* the call itself */
    TN_INVALID,
    TN_NO_MEMORY,
    TN_OVER_BUDGET,
    TN_NO_SPACE,
    TN_CANCELLED,
    TN_FORKED,
    TN_INTERNAL,
    /* what the system said about a file */
    TN_NOT_FOUND,
    TN_EXISTS,
    TN_PERMISSION,
    TN_READ_ONLY,
    TN_BAD_PATH,
    TN_NOT_A_FILE,
    TN_TOO_MANY_FILES,
    TN_BUSY,
    TN_IO,
    TN_CHANGED,
    TN_PLACEHOLDER,
    TN_CRASHED,
    TN_UNAVAILABLE,
    /* what the bytes of a file showed */
    TN_UNSUPPORTED,
    TN_NOT_WEIGHTS,
    TN_EMPTY,
    TN_BAD_HEADER,
    TN_BAD_JSON,
    TN_DUPLICATE,
    TN_OVERFLOW,
    TN_BAD_LAYOUT,
    TN_UNKNOWN_DTYPE,
    TN_TRUNCATED,
    TN_TRAILING_BYTES,
    TN_LIMIT,
    TN_MISSING_PART,
    TN_EXTRA_PART,
    TN_STALE_INDEX,
    TN_UNSAFE_PATH,
    TN_DANGEROUS,
    TN_BAD_CHECKSUM,
    /* notes that leave a file usable */
    TN_MISALIGNED,
    TN_METADATA_DISAGREES,
    TN_UNKNOWN_FIELD,
    TN_NOT_HASHED,
    /* the library and its rules */
    TN_LOCKED,
    TN_NEWER,
    TN_NOT_A_LIBRARY,
    TN_LIBRARY_DAMAGED,
    TN_AMBIGUOUS_NAME,
    TN_BAD_RULE,
    TN_STATUS_COUNT
} tn_status;

/* The word of a status in JSON, logs and tests, such as "truncated". Never NULL. */
TN_API const char *tn_status_word(tn_status status);
/* One plain sentence about a status. Never NULL. */
TN_API const char *tn_status_text(tn_status status);
/* The exit code of the command (0 to 5, 130), the HTTP status of the server, and the exception class of the
 * Python package ("" for TN_OK and notes) that a status becomes. */
TN_API int tn_status_exit_code(tn_status status);
TN_API int tn_status_http(tn_status status);
TN_API const char *tn_status_python_class(tn_status status);

/* "There is no such number here", in every uint64_t field that may be without one. */
#define TN_NONE UINT64_MAX

/* What went wrong, placed by the caller. Texts are valid UTF-8, NUL-terminated, and cut with "..." when they do not
 * fit. Contents are defined only after a call returned something other than TN_OK. Size is about 2.6 KB. */
typedef struct tn_error {
    tn_status status;
    uint64_t offset;    /* byte in `file` where it shows, or TN_NONE */
    uint64_t expected;  /* what should have been there (bytes, count), or TN_NONE */
    uint64_t found;     /* what was there, or TN_NONE */
    char message[512];  /* one sentence for a person, without the file's name */
    char file[1536];    /* path as text for display, "" when no file is concerned */
    char tensor[512];   /* name of the tensor or key, "" when none is concerned */
} tn_error;

/* Element types; names, sizes and order: src/core/dtype.def. */
typedef enum tn_dtype {
    TN_BOOL = 0,
    TN_F4,
    TN_F6_E2M3,
    TN_F6_E3M2,
    TN_U8,
    TN_I8,
    TN_F8_E5M2,
    TN_F8_E4M3,
    TN_F8_E8M0,
    TN_F8_E4M3FNUZ,
    TN_F8_E5M2FNUZ,
    TN_I16,
    TN_U16,
    TN_F16,
    TN_BF16,
    TN_I32,
    TN_U32,
    TN_F32,
    TN_C64,
    TN_F64,
    TN_I64,
    TN_U64,
    TN_C128,
    TN_DTYPE_COUNT
} tn_dtype;

/* The name of an element type as in a safetensors header, such as "BF16". Never NULL. */
TN_API const char *tn_dtype_name(tn_dtype dtype);
/* Bits of one element: 4, 6, 8, 16, 32, 64 or 128. */
TN_API unsigned tn_dtype_bits(tn_dtype dtype);
/* Find an element type by its exact name of `size` bytes. False (and `out` untouched) when there is none. */
TN_API bool tn_dtype_from_name(const char *name, size_t size, tn_dtype *out);

/* A text that is not owned: `size` bytes of UTF-8, and a NUL behind them that is not counted. The text itself may
 * hold NULs (a tensor's name can), so size counts, not strlen. */
typedef struct tn_text {
    const char *bytes;
    size_t size;
} tn_text;

/* How bad a finding about a file is: a note leaves it usable, an error does not. */
typedef enum tn_severity { TN_NOTE = 0, TN_WARNING, TN_ERROR } tn_severity;

/* Something found in a file. A finding is not an error of the call that found it. */
typedef struct tn_finding {
    tn_severity severity;
    tn_status status;
    tn_text message;   /* one sentence for a person */
    tn_text file;      /* path for display, empty when it is the checkpoint's own path */
    tn_text tensor;    /* empty when none is concerned */
    uint64_t offset, expected, found; /* TN_NONE where there is no number */
} tn_finding;

#ifdef __cplusplus
}
#endif
#endif
