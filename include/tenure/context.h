/* A context: the memory budget, the allocator, the worker threads and the log of everything opened under it.
 *
 * One context serves a whole program; two contexts share nothing. A context may be used from any thread and locks
 * inside. After fork() the child may only destroy it; every other call returns TN_FORKED.
 */
#ifndef TENURE_CONTEXT_H
#define TENURE_CONTEXT_H

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_context tn_context;

/* Where memory comes from. `resize` works like realloc with the old size told: (NULL, 0, n) takes n bytes,
 * (p, n, 0) gives p back and returns NULL. It is called from several threads at once. */
typedef struct tn_allocator {
    void *(*resize)(void *user, void *block, size_t old_size, size_t new_size);
    void *user;
} tn_allocator;

typedef enum tn_log_level { TN_LOG_ERROR = 0, TN_LOG_WARN, TN_LOG_INFO, TN_LOG_DEBUG } tn_log_level;

/* What a context is made with. Zero everything, then TN_CONTEXT_OPTIONS_INIT or set what differs. */
typedef struct tn_context_options {
    size_t size;                 /* sizeof(tn_context_options) */
    uint64_t memory_limit_bytes; /* budget; 0: 80 % of the least of available RAM, cgroup, rlimits and commit left,
                                    measured when memory is charged */
    unsigned jobs;               /* worker threads at most; 0: one for each core, at most 8 */
    tn_allocator allocator;      /* zero: malloc and free */
    void (*log)(void *user, tn_log_level level, const char *message); /* NULL: silent. Called without locks held */
    void *log_user;
    tn_log_level log_level;      /* what is passed on; TN_LOG_ERROR when zero */
    uint64_t keep_bytes;         /* memory of released leases that is kept for the next ones, at most. It is given up
                                    before anything is refused. 0: a quarter of the limit, which the system may take
                                    back at any time (MADV_FREE, MEM_RESET); TN_NONE: nothing */
} tn_context_options;

#define TN_CONTEXT_OPTIONS_INIT {sizeof(tn_context_options), 0, 0, {NULL, NULL}, NULL, NULL, TN_LOG_ERROR, 0}

/* What the budget stands at. */
typedef struct tn_memory {
    uint64_t used_bytes;
    uint64_t high_water_bytes; /* the most that was ever charged at once */
    uint64_t limit_bytes;      /* as measured now, or as given */
    uint64_t refused;          /* how many charges were refused */
    uint64_t kept_bytes;       /* beside used_bytes: kept for the next leases, within the same limit */
} tn_memory;

/* Make a context. `options` may be NULL. The caller destroys it with tn_context_destroy. Starts no thread. */
TN_API tn_status tn_context_create(const tn_context_options *options, tn_context **out, tn_error *err);
/* Destroy a context after everything opened under it, but for leases: these stay valid, and the context's memory goes
 * with the last of them (an allocator given must last as long). NULL is accepted. */
TN_API void tn_context_destroy(tn_context *context);
/* Give what is kept for the next leases back to the system. */
TN_API void tn_context_trim(tn_context *context);
/* What is charged to the budget at this moment. Never fails; cheap. */
TN_API tn_memory tn_context_memory(const tn_context *context);
/* Bytes read from files under this context since it was made (headers, data, tables; not SQLite's). */
TN_API uint64_t tn_context_bytes_read(const tn_context *context);
/* Ask everything that runs under this context to stop: it returns TN_CANCELLED soon, losing nothing. May be called
 * from a signal handler. tn_context_resume takes it back. */
TN_API void tn_context_cancel(tn_context *context);
TN_API void tn_context_resume(tn_context *context);
TN_API bool tn_context_cancelled(const tn_context *context);

/* The version of this library, such as "0.1.0". */
TN_API const char *tn_version(void);

#ifdef __cplusplus
}
#endif
#endif
