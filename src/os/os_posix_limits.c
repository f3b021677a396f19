/* What a POSIX machine allows: available memory, cgroups, resource limits, commit. Everything is read anew when asked
 * for. A file that is not there, or says something else, sets no limit. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "os/os_limits.h"
#include "os/os_posix.h"

#define TEXT_MAX 16384   /* of one file under /proc or of a cgroup; more is not looked at */
#define MOUNTS_MAX 65536 /* of mountinfo; cgroups are mounted before anything else */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* What getrlimit answered; its first argument has another type in every C library. */
static uint64_t amount(int answer, const struct rlimit *limit)
{
    return answer != 0 || limit->rlim_cur == RLIM_INFINITY ? TN_NONE : limit->rlim_cur;
}

static uint64_t open_files(void)
{
    struct rlimit limit;
    return amount(getrlimit(RLIMIT_NOFILE, &limit), &limit);
}

static uint64_t data_limit(void)
{
    struct rlimit limit;
    return amount(getrlimit(RLIMIT_DATA, &limit), &limit);
}

#ifdef __linux__

/* The text of a small file; "" when it cannot be read. */
static void read_text(const char *path, char *text, size_t room)
{
    text[0] = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    size_t size = 0;
    ssize_t n;
    while (size < room - 1 && (n = read(fd, text + size, room - 1 - size)) > 0)
        size += (size_t)n;
    text[size] = 0;
    close(fd);
}

static void read_beside(const char *folder, const char *name, char text[TEXT_MAX])
{
    char path[TN_OS_POSIX_PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    read_text(path, text, TEXT_MAX);
}

/* memory.high does not kill but slows a process to a crawl, so it counts as a limit too. File cache is given back by
 * the kernel when memory is asked for, and does not count. */
static uint64_t left_version_2(const char *folder, char text[TEXT_MAX])
{
    read_beside(folder, "memory.max", text);
    uint64_t limit = tn_os_limits_amount(text);
    read_beside(folder, "memory.high", text);
    limit = least(limit, tn_os_limits_amount(text));
    if (limit == TN_NONE)
        return TN_NONE;
    read_beside(folder, "memory.current", text);
    uint64_t usage = tn_os_limits_amount(text);
    read_beside(folder, "memory.stat", text);
    uint64_t cache = tn_os_limits_stat(text, "active_file") + tn_os_limits_stat(text, "inactive_file");
    return tn_os_limits_left(limit, usage, cache);
}

static uint64_t left_version_1(const char *folder, char text[TEXT_MAX])
{
    read_beside(folder, "memory.limit_in_bytes", text);
    uint64_t limit = tn_os_limits_amount(text);
    if (limit == TN_NONE)
        return TN_NONE;
    read_beside(folder, "memory.usage_in_bytes", text);
    uint64_t usage = tn_os_limits_amount(text);
    read_beside(folder, "memory.stat", text);
    uint64_t cache = tn_os_limits_stat(text, "total_active_file") + tn_os_limits_stat(text, "total_inactive_file");
    return tn_os_limits_left(limit, usage, cache);
}

/* The folder of this process's group. False when there is no such hierarchy. */
static bool own_group(bool version_2, const char *groups, const char *mounts, char *folder, size_t *top)
{
    char path[TN_OS_POSIX_PATH_MAX];
    char root[TN_OS_POSIX_PATH_MAX];
    char point[TN_OS_POSIX_PATH_MAX];
    if (!tn_os_limits_cgroup_path(groups, version_2, path, sizeof path) ||
        !tn_os_limits_cgroup_mount(mounts, version_2, root, point, sizeof root))
        return false;
    *top = strlen(point);
    return tn_os_limits_cgroup_folder(path, root, point, folder, TN_OS_POSIX_PATH_MAX);
}

/* The least of what is left from this process's own group up to the mount. */
static uint64_t left_up_the_tree(bool version_2, const char *groups, const char *mounts, char text[TEXT_MAX])
{
    char folder[TN_OS_POSIX_PATH_MAX];
    size_t top;
    uint64_t left = TN_NONE;
    if (!own_group(version_2, groups, mounts, folder, &top))
        return TN_NONE;
    for (;;) {
        left = least(left, version_2 ? left_version_2(folder, text) : left_version_1(folder, text));
        char *slash = strrchr(folder, '/');
        if (slash == NULL || (size_t)(slash - folder) < top)
            return left;
        *slash = 0;
    }
}

static uint64_t cgroup_left(char text[TEXT_MAX])
{
    char groups[TEXT_MAX];
    char mounts[MOUNTS_MAX];
    read_text("/proc/self/cgroup", groups, sizeof groups);
    read_text("/proc/self/mountinfo", mounts, sizeof mounts);
    return least(left_up_the_tree(true, groups, mounts, text), left_up_the_tree(false, groups, mounts, text));
}

static uint64_t address_limit(void)
{
    struct rlimit limit;
    return amount(getrlimit(RLIMIT_AS, &limit), &limit);
}

static void ask_rlimits(tn_os_limits *limits, char text[TEXT_MAX])
{
    uint64_t address = address_limit();
    uint64_t data = data_limit();
    if (address == TN_NONE && data == TN_NONE)
        return;
    read_text("/proc/self/status", text, TEXT_MAX);
    limits->address_left = tn_os_limits_left(address, tn_os_limits_field(text, "VmSize:"), 0);
    limits->data_left = tn_os_limits_left(data, tn_os_limits_field(text, "VmData:"), 0);
}

tn_os_limits tn_os_limits_now(void)
{
    tn_os_limits limits = {TN_NONE, TN_NONE, TN_NONE, TN_NONE, TN_NONE, open_files()};
    char text[TEXT_MAX];
    ask_rlimits(&limits, text);
    read_text("/proc/sys/vm/overcommit_memory", text, sizeof text);
    bool strict = text[0] == '2';
    read_text("/proc/meminfo", text, sizeof text);
    limits.ram_available = tn_os_limits_field(text, "MemAvailable:");
    if (strict)
        limits.commit_left = tn_os_limits_left(tn_os_limits_field(text, "CommitLimit:"),
                                               tn_os_limits_field(text, "Committed_AS:"), 0);
    limits.cgroup_left = cgroup_left(text);
    return limits;
}

#else

/* Elsewhere the whole of the installed memory is the only figure asked for; the system compresses and kills by its
 * own rules. */
tn_os_limits tn_os_limits_now(void)
{
    tn_os_limits limits = {TN_NONE, TN_NONE, TN_NONE, TN_NONE, TN_NONE, open_files()};
    long pages = sysconf(_SC_PHYS_PAGES);
    long page = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page > 0)
        limits.ram_available = (uint64_t)pages * (uint64_t)page;
    limits.data_left = data_limit();
    return limits;
}

#endif
