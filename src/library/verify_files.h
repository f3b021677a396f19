/* The inside of looking at files again: which ones (verify_files.c), and what is found out about each
 * (verify_files_structure.c, verify_files_check.c). Not to be confused with verify.c, which looks at the library itself.
 *
 *   F1  A model is told when its structure and all of its parts have been looked at, and then at once.
 *   F2  A part is compared only when the handle that was read shows the size and time that its hash was recorded with:
 *       otherwise it is another file, which is no fault of its bytes.
 *   F3  Findings are told, never acted on: no record changes but for an event.
 */
#ifndef TN_LIBRARY_VERIFY_FILES_H
#define TN_LIBRARY_VERIFY_FILES_H

#include "library/inside.h"

#define TN_VERIFY_BATCH 32

/* One that is to be looked at: a model of the library, or else a path alone. */
typedef struct tn_verify_name {
    int64_t model;    /* 0: the path */
    const char *path; /* NULL for a model */
} tn_verify_name;

typedef struct tn_verify {
    tn_context *context;
    tn_library *library; /* NULL: none */
    const tn_verify_options *options;
    tn_verify_name *names;
    size_t count, capacity;
    tn_arena arena;      /* of their paths */
    uint64_t bytes, bytes_done, done;
    bool stopped;        /* by the callback */
} tn_verify;

/* One that is being looked at. A thread of its own may work on it, so its memory is its own. */
typedef struct tn_verify_target {
    int64_t model;
    const char *path, *presence;
    tn_arena arena;
    tn_finding *findings;
    size_t count, capacity;
    size_t parts_left; /* still to be hashed */
    uint64_t hashed_bytes;
    bool told;
} tn_verify_target;

tn_text tn_verify_keep(tn_verify_target *target, tn_text text);
/* Add a finding: the worst first, its texts kept. `file` NULL, or the model's own path: none is named. */
tn_status tn_verify_say(tn_context *context, tn_verify_target *target, tn_severity severity, tn_status status,
                        const char *message, const char *file, tn_error *err);
tn_status tn_verify_say_error(tn_context *context, tn_verify_target *target, const tn_error *why, const char *file,
                              tn_error *err);
/* Open it, and add what is found. A status is the call's own. */
tn_status tn_verify_structure(tn_context *context, tn_verify_target *target, tn_error *err);

/* Look at these, at most TN_VERIFY_BATCH, and tell of each. */
tn_status tn_verify_batch(tn_verify *v, const tn_verify_name *names, size_t count, tn_error *err);

#endif
