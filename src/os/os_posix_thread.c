/* Threads, mutexes and conditions on POSIX. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#ifdef __linux__
#include <sched.h>
#include <sys/auxv.h>
#endif
#include <unistd.h>

#include "os/os_posix.h"

/* What a worker needs, many times over; the system's default of 8 MiB would count against RLIMIT_DATA. */
#define STACK_BYTES ((size_t)1 << 20)

struct tn_os_mutex {
    tn_memory_source *memory;
    pthread_mutex_t system;
};

struct tn_os_condition {
    tn_memory_source *memory;
    pthread_cond_t system;
};

struct tn_os_thread {
    tn_memory_source *memory;
    void (*run)(void *);
    void *argument;
    pthread_t system;
};

tn_status tn_os_mutex_create(tn_memory_source *memory, tn_os_mutex **out, tn_error *err)
{
    void *block;
    TN_TRY(tn_take(memory, sizeof(tn_os_mutex), &block, err));
    tn_os_mutex *mutex = block;
    mutex->memory = memory;
    int number = pthread_mutex_init(&mutex->system, NULL);
    if (number != 0) {
        tn_give(memory, block, sizeof *mutex);
        return tn_os_fail_errno(err, number, "pthread_mutex_init", NULL);
    }
    *out = mutex;
    return TN_OK;
}

void tn_os_mutex_destroy(tn_os_mutex *mutex)
{
    if (mutex == NULL)
        return;
    pthread_mutex_destroy(&mutex->system);
    tn_give(mutex->memory, mutex, sizeof *mutex);
}

void tn_os_mutex_lock(tn_os_mutex *mutex)
{
    pthread_mutex_lock(&mutex->system);
}

void tn_os_mutex_unlock(tn_os_mutex *mutex)
{
    pthread_mutex_unlock(&mutex->system);
}

tn_status tn_os_condition_create(tn_memory_source *memory, tn_os_condition **out, tn_error *err)
{
    void *block;
    TN_TRY(tn_take(memory, sizeof(tn_os_condition), &block, err));
    tn_os_condition *condition = block;
    condition->memory = memory;
    int number = pthread_cond_init(&condition->system, NULL);
    if (number != 0) {
        tn_give(memory, block, sizeof *condition);
        return tn_os_fail_errno(err, number, "pthread_cond_init", NULL);
    }
    *out = condition;
    return TN_OK;
}

void tn_os_condition_destroy(tn_os_condition *condition)
{
    if (condition == NULL)
        return;
    pthread_cond_destroy(&condition->system);
    tn_give(condition->memory, condition, sizeof *condition);
}

void tn_os_condition_wait(tn_os_condition *condition, tn_os_mutex *mutex)
{
    pthread_cond_wait(&condition->system, &mutex->system);
}

void tn_os_condition_wake_all(tn_os_condition *condition)
{
    pthread_cond_broadcast(&condition->system);
}

static void *start(void *argument)
{
    tn_os_thread *thread = argument;
    thread->run(thread->argument);
    return NULL;
}

/* Signals sent to the process are the main thread's business; faults stay with the thread that made them. */
static void block_signals(sigset_t *before)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGTRAP};
    sigset_t set;
    sigfillset(&set);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        sigdelset(&set, faults[i]);
    pthread_sigmask(SIG_SETMASK, &set, before);
}

static int create(tn_os_thread *thread)
{
    pthread_attr_t attributes;
    int number = pthread_attr_init(&attributes);
    if (number != 0)
        return number;
    sigset_t before;
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    block_signals(&before);
    number = pthread_create(&thread->system, &attributes, start, thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return number;
}

tn_status tn_os_thread_start(tn_memory_source *memory, void (*run)(void *), void *argument, tn_os_thread **out,
                             tn_error *err)
{
    TN_TRY(tn_os_before((tn_os_call){.operation = TN_OP_THREAD}, err));
    void *block;
    TN_TRY(tn_take(memory, sizeof(tn_os_thread), &block, err));
    tn_os_thread *thread = block;
    *thread = (tn_os_thread){.memory = memory, .run = run, .argument = argument};
    int number = create(thread);
    if (number != 0) {
        tn_give(memory, block, sizeof *thread);
        return tn_os_fail_errno(err, number == EAGAIN ? ENOMEM : number, "pthread_create", NULL);
    }
    *out = thread;
    return TN_OK;
}

void tn_os_thread_join(tn_os_thread *thread)
{
    if (thread == NULL)
        return;
    pthread_join(thread->system, NULL);
    tn_give(thread->memory, thread, sizeof *thread);
}

unsigned tn_os_cores(void)
{
#ifdef __linux__
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return (unsigned)CPU_COUNT(&set);
#endif
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? (unsigned)count : 1;
}

bool tn_os_has_arm_sha256(void)
{
#if defined(__aarch64__) && defined(__linux__)
    const unsigned long sha2 = 1ul << 6; /* HWCAP_SHA2, Linux arch/arm64/include/uapi/asm/hwcap.h */
    return (getauxval(AT_HWCAP) & sha2) != 0;
#elif defined(__aarch64__) && defined(__APPLE__)
    return true; /* every arm64 Mac has them */
#else
    return false;
#endif
}
