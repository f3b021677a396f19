/* Fault loops: the first, second, ... of what is counted fails, once or for good, until a run passes untouched. What is
 * counted are allocations of ours, calls of the system (os/os_fault.h), or what else a test has must_fail() asked for.
 * Include after <cmocka.h>. */
#ifndef TN_TESTS_SUPPORT_FAULTS_H
#define TN_TESTS_SUPPORT_FAULTS_H

#include <stdio.h>

#include "core/memory.h"
#include "os/os_fault.h"

/* The `fail_at`-th fails, and all after it when `for_good`. 0: none. */
static struct faults {
    uint64_t count, fail_at;
    bool for_good;
} faults;

static inline bool must_fail(void)
{
    faults.count++;
    return faults.fail_at != 0 && (faults.count == faults.fail_at || (faults.for_good && faults.count > faults.fail_at));
}

static inline void *failing_resize(void *user, void *block, size_t old_size, size_t new_size)
{
    tn_allocator system = tn_allocator_system();
    (void)user;
    if (new_size > old_size && must_fail())
        return NULL;
    return system.resize(system.user, block, old_size, new_size);
}

static inline tn_status failing_call(void *user, const tn_os_call *call)
{
    (void)user;
    (void)call;
    return must_fail() ? TN_IO : TN_OK;
}

/* Every how manyth fault is tried: each, but for sanitizers (TENURE_SANITIZED) and Windows (Wine is slow at files), under
 * which all of them would take too long. Prime, so that repeating patterns are not stepped over. */
static inline uint64_t fault_stride(void)
{
    tn_budget budget;
    tn_budget_init(&budget, 1 << 16);
    tn_memory_source memory = {tn_allocator_system(), &budget};
    tn_buffer value;
    tn_buffer_init(&value, &memory, 1 << 15);
    bool sanitized = tn_os_environment("TENURE_SANITIZED", &value), windows = tn_os_environment("SystemRoot", &value);
    tn_buffer_free(&value);
    if (windows)
        return 7;
    return sanitized ? 3 : 1;
}

/* Call `run` with the 1st, 2nd, ... fault, until it has passed untouched. `what` and the number of faults are printed. */
static inline void each_fault(const char *what, bool for_good, void (*run)(void *user), void *user)
{
    const uint64_t stride = fault_stride(), most = 20000;
    for (uint64_t n = 1;; n += stride) {
        assert_in_range(n, 1, most);
        faults = (struct faults){0, n, for_good};
        run(user);
        bool reached = faults.count >= n;
        faults = (struct faults){0};
        if (reached)
            continue;
        assert_true(n > 1);
        if (stride > 1)
            print_message("%s, %s: every %uth of about %u\n", what, for_good ? "for good" : "once", (unsigned)stride,
                          (unsigned)(n - stride));
        else
            print_message("%s, %s: each of %u\n", what, for_good ? "for good" : "once", (unsigned)(n - 1));
        return;
    }
}

#endif
