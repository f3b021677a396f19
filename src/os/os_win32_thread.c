/* Threads, mutexes and conditions on Windows. */
#include <process.h>

#include "os/os_win32.h"

#define STACK_BYTES ((unsigned)1 << 20) /* reserved, not committed */

struct tn_os_mutex {
    tn_memory_source *memory;
    SRWLOCK system;
};

struct tn_os_condition {
    tn_memory_source *memory;
    CONDITION_VARIABLE system;
};

struct tn_os_thread {
    tn_memory_source *memory;
    void (*run)(void *);
    void *argument;
    HANDLE system;
};

tn_status tn_os_mutex_create(tn_memory_source *memory, tn_os_mutex **out, tn_error *err)
{
    void *block;
    TN_TRY(tn_take(memory, sizeof(tn_os_mutex), &block, err));
    *out = block;
    **out = (tn_os_mutex){.memory = memory, .system = SRWLOCK_INIT};
    return TN_OK;
}

void tn_os_mutex_destroy(tn_os_mutex *mutex)
{
    if (mutex != NULL)
        tn_give(mutex->memory, mutex, sizeof *mutex);
}

void tn_os_mutex_lock(tn_os_mutex *mutex)
{
    AcquireSRWLockExclusive(&mutex->system);
}

void tn_os_mutex_unlock(tn_os_mutex *mutex)
{
    ReleaseSRWLockExclusive(&mutex->system);
}

tn_status tn_os_condition_create(tn_memory_source *memory, tn_os_condition **out, tn_error *err)
{
    void *block;
    TN_TRY(tn_take(memory, sizeof(tn_os_condition), &block, err));
    *out = block;
    **out = (tn_os_condition){.memory = memory, .system = CONDITION_VARIABLE_INIT};
    return TN_OK;
}

void tn_os_condition_destroy(tn_os_condition *condition)
{
    if (condition != NULL)
        tn_give(condition->memory, condition, sizeof *condition);
}

void tn_os_condition_wait(tn_os_condition *condition, tn_os_mutex *mutex)
{
    SleepConditionVariableSRW(&condition->system, &mutex->system, INFINITE, 0);
}

void tn_os_condition_wake_all(tn_os_condition *condition)
{
    WakeAllConditionVariable(&condition->system);
}

static unsigned __stdcall start(void *argument)
{
    tn_os_thread *thread = argument;
    thread->run(thread->argument);
    return 0;
}

tn_status tn_os_thread_start(tn_memory_source *memory, void (*run)(void *), void *argument, tn_os_thread **out,
                             tn_error *err)
{
    TN_TRY(tn_os_before((tn_os_call){.operation = TN_OP_THREAD}, err));
    void *block;
    TN_TRY(tn_take(memory, sizeof(tn_os_thread), &block, err));
    tn_os_thread *thread = block;
    *thread = (tn_os_thread){.memory = memory, .run = run, .argument = argument};
    thread->system = (HANDLE)_beginthreadex(NULL, STACK_BYTES, start, thread, STACK_SIZE_PARAM_IS_A_RESERVATION, NULL);
    if (thread->system == NULL) {
        tn_give(memory, block, sizeof *thread);
        return tn_os_fail_win32(err, ERROR_NOT_ENOUGH_MEMORY, "_beginthreadex", NULL);
    }
    *out = thread;
    return TN_OK;
}

void tn_os_thread_join(tn_os_thread *thread)
{
    if (thread == NULL)
        return;
    WaitForSingleObject(thread->system, INFINITE);
    CloseHandle(thread->system);
    tn_give(thread->memory, thread, sizeof *thread);
}

unsigned tn_os_cores(void)
{
    DWORD count = GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
    return count > 0 ? count : 1;
}

bool tn_os_has_arm_sha256(void)
{
    return IsProcessorFeaturePresent(PF_ARM_V8_CRYPTO_INSTRUCTIONS_AVAILABLE);
}
