/* What the files of this folder share, on both systems. */
#ifndef TN_OS_INSIDE_H
#define TN_OS_INSIDE_H

#include <stdatomic.h>

#include "os/os.h"
#include "os/os_fault.h"

extern _Atomic(const tn_os_hooks *) tn_os_hooks_now;
tn_status tn_os_ask_hook(const tn_os_hooks *hooks, const tn_os_call *call, tn_error *err);

/* Asked before every call that asks the system. Anything but TN_OK is the call's answer, and `err` is filled. */
static inline tn_status tn_os_before(tn_os_call call, tn_error *err)
{
    const tn_os_hooks *hooks = atomic_load_explicit(&tn_os_hooks_now, memory_order_acquire);
    if (TN_LIKELY(hooks == NULL))
        return TN_OK;
    return tn_os_ask_hook(hooks, &call, err);
}

/* Told after every call that changed a disk. */
static inline void tn_os_after(tn_os_call call)
{
    const tn_os_hooks *hooks = atomic_load_explicit(&tn_os_hooks_now, memory_order_acquire);
    if (TN_UNLIKELY(hooks != NULL) && hooks->after != NULL)
        hooks->after(hooks->user, &call);
}

static inline void tn_os_alter_info(const char *path, tn_os_info *info)
{
    const tn_os_hooks *hooks = atomic_load_explicit(&tn_os_hooks_now, memory_order_acquire);
    if (TN_UNLIKELY(hooks != NULL) && hooks->alter_info != NULL)
        hooks->alter_info(hooks->user, path, info);
}

static inline tn_os_disk tn_os_altered_disk(tn_os_disk disk)
{
    const tn_os_hooks *hooks = atomic_load_explicit(&tn_os_hooks_now, memory_order_acquire);
    if (TN_UNLIKELY(hooks != NULL) && hooks->alter_disk != NULL)
        hooks->alter_disk(hooks->user, &disk);
    return disk;
}

/* How much of a transfer lies where a file can have bytes at all. */
static inline size_t tn_os_reachable(uint64_t offset, size_t size)
{
    const uint64_t end = INT64_MAX;
    if (offset >= end)
        return 0;
    return size > end - offset ? (size_t)(end - offset) : size;
}

/* End the process at once: from outside, as a kill would; or as by a fault of its own. */
void tn_os_die_killed(void);
void tn_os_die_crashed(void);

/* For a system that gives no randomness (a sandbox): names made of it differ, but nothing secret may be. */
void tn_os_random_by_clock(void *bytes, size_t size);
/* Random letters and digits for a name that nobody else has: `size` of them and a NUL. */
void tn_os_random_name(char *out, size_t size);

#endif
