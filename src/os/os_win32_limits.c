/* What a Windows machine allows: physical memory, commit, and the job this process runs in. */
#include "os/os_win32.h"

#include <psapi.h>

#include "os/os_limits.h"

/* Commit charged to this process. */
static uint64_t charged(void)
{
    PROCESS_MEMORY_COUNTERS_EX counters = {.cb = sizeof counters};
    if (!GetProcessMemoryInfo(GetCurrentProcess(), (PROCESS_MEMORY_COUNTERS *)&counters, sizeof counters))
        return 0;
    return counters.PrivateUsage;
}

/* A job may limit each process, or all of its processes together; what the others use is not told, so the second is
 * taken as if this process were alone. Containers are jobs. */
static uint64_t left_in_job(void)
{
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION job;
    if (!QueryInformationJobObject(NULL, JobObjectExtendedLimitInformation, &job, sizeof job, NULL))
        return TN_NONE;
    uint64_t limit = TN_NONE;
    if (job.BasicLimitInformation.LimitFlags & JOB_OBJECT_LIMIT_PROCESS_MEMORY)
        limit = job.ProcessMemoryLimit;
    if (job.BasicLimitInformation.LimitFlags & JOB_OBJECT_LIMIT_JOB_MEMORY && job.JobMemoryLimit < limit)
        limit = job.JobMemoryLimit;
    return tn_os_limits_left(limit, charged(), 0);
}

tn_os_limits tn_os_limits_now(void)
{
    tn_os_limits limits = {TN_NONE, TN_NONE, TN_NONE, TN_NONE, TN_NONE, TN_NONE};
    MEMORYSTATUSEX memory = {.dwLength = sizeof memory};
    if (GlobalMemoryStatusEx(&memory)) {
        limits.ram_available = memory.ullAvailPhys;
        limits.commit_left = memory.ullAvailPageFile;
        limits.address_left = memory.ullAvailVirtual;
    }
    limits.cgroup_left = left_in_job();
    return limits;
}
