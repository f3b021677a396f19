/* The inside of a context (include/tenure/context.h): what the rooms above it are given. */
#ifndef TN_CONTEXT_CONTEXT_H
#define TN_CONTEXT_CONTEXT_H

#include <tenure/context.h>

#include "context/pool.h"
#include "context/recycle.h"
#include "core/error.h"
#include "core/memory.h"
#include "os/os.h"

struct tn_context {
    _Atomic uint64_t holds; /* the caller's, until it destroys the context, and one for each lease */
    tn_budget budget;
    tn_recycler recycler;    /* behind `memory` unless the caller gave an allocator */
    tn_memory_source memory; /* allocator and budget: every block whose size depends on input */
    tn_pool pool; /* of large buffers, for the bytes of tensors */
    unsigned jobs;
    uint64_t process_id; /* of the process that made it */
    _Atomic unsigned foreground; /* long reads under way that others give way to */
    _Atomic uint64_t bytes_read;
    _Atomic bool cancelled;
    void (*log)(void *user, tn_log_level level, const char *message);
    void *log_user;
    tn_log_level log_level;
    /* Without a limit of its own, a context measures one when memory is charged, and keeps it for 100 ms for charges
     * under 1 MiB or under 1/64 of what is left: the limit, and when it was measured (0: never). */
    _Atomic uint64_t measured_at_ns, measured_limit;
};

#define TN_JOBS_MAX 256 /* more worker threads are refused with TN_LIMIT */

/* TN_OK, TN_FORKED or TN_CANCELLED: asked at the head of public calls and between pieces of long work. */
tn_status tn_context_check(tn_context *context, tn_error *err);
/* A hold that keeps memory and budget of a context whole, also after its owner destroyed it: for what outlives it. */
void tn_context_hold(tn_context *context);
void tn_context_drop(tn_context *context);
/* Whether this is still the process that made it: in a forked child locks may be held by threads that are not there. */
bool tn_context_is_here(const tn_context *context);
void tn_context_log(tn_context *context, tn_log_level level, const char *format, ...) TN_PRINTF(3, 4);

/* Run `work(user, true)` on up to `helpers` threads beside the caller's, which runs `work(user, false)`, and wait for all
 * of them: they share out the work themselves. At most TN_JOBS_MAX; where threads cannot be had there are fewer. */
void tn_context_together(tn_context *context, unsigned helpers, void (*work)(void *user, bool helper), void *user);

/* Run `work(user, item)` for every item 0..count-1 on up to context->jobs threads, the caller's among them, and wait
 * for all. Items are handed out in order. A failure or a cancel stops handing out; of several failures the one of the
 * lowest item is returned. Where threads cannot be had the work is done with fewer, at least in the caller. */
tn_status tn_context_each(tn_context *context, size_t count,
                          tn_status (*work)(void *user, size_t item, tn_error *err), void *user, tn_error *err);

#endif
