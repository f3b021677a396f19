/* The disk under a file, and reading past the system's cache, on POSIX. The contract stands in os.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#else
#include <sys/mount.h>
#include <sys/param.h>
#endif

#include "os/os_posix.h"

/* ---- what it is ---- */

#ifdef __linux__

/* statfs f_type of file systems whose data comes from elsewhere (linux/magic.h). FUSE is one of them, as what is behind
 * it cannot be told. */
static bool is_remote(const struct statfs *fs)
{
    static const uint32_t remote[] = {
        0x517b,     /* SMB */
        0xff534d42, /* CIFS */
        0xfe534d42, /* SMB2 */
        0x6969,     /* NFS */
        0x65735546, /* FUSE */
        0x01021997, /* 9p */
        0x5346414f, /* AFS */
        0x73757245, /* Coda */
        0x00c36400, /* Ceph */
        0x786f4256, /* VirtualBox shared folder */
    };
    for (size_t i = 0; i < sizeof remote / sizeof remote[0]; i++) {
        if (remote[i] == (uint32_t)fs->f_type)
            return true;
    }
    return false;
}

/* virtio disks say that they rotate, whatever they are. */
static bool is_virtual(const char *block)
{
    char target[TN_OS_POSIX_PATH_MAX];
    ssize_t size = readlink(block, target, sizeof target - 1);
    if (size < 0)
        return true;
    target[size] = '\0';
    return strstr(target, "/virtio") != NULL;
}

/* '0' or '1', of the disk or of the one that it is a partition of; 0 when it does not say. */
static char rotational(const char *block)
{
    static const char *const places[] = {"queue", "../queue"};
    char answer = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places && answer == 0; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s/rotational", block, places[i]);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            continue;
        if (read(fd, &answer, 1) != 1)
            answer = 0;
        close(fd);
    }
    return answer;
}

static tn_os_disk disk_of(int fd)
{
    struct stat st;
    struct statfs fs;
    char block[64];
    if (fstat(fd, &st) != 0 || fstatfs(fd, &fs) != 0)
        return TN_OS_DISK_UNKNOWN;
    if (is_remote(&fs))
        return TN_OS_DISK_NETWORK;
    snprintf(block, sizeof block, "/sys/dev/block/%u:%u", major(st.st_dev), minor(st.st_dev));
    if (is_virtual(block))
        return TN_OS_DISK_UNKNOWN;
    switch (rotational(block)) {
    case '0': return TN_OS_DISK_SOLID;
    case '1': return TN_OS_DISK_ROTATIONAL;
    default: return TN_OS_DISK_UNKNOWN;
    }
}

#else

static tn_os_disk disk_of(int fd)
{
    struct statfs fs;
    if (fstatfs(fd, &fs) == 0 && (fs.f_flags & MNT_LOCAL) == 0)
        return TN_OS_DISK_NETWORK;
    return TN_OS_DISK_UNKNOWN;
}

#endif

tn_os_disk tn_os_disk_of(const tn_os_file *file)
{
    return tn_os_altered_disk(disk_of(file->fd));
}

/* ---- past the cache ---- */

/* O_DIRECT belongs to an open file, not to a descriptor, so the file is opened once more, by its handle. */
tn_status tn_os_open_direct(const tn_os_file *file, tn_os_file *out, tn_error *err)
{
    TN_TRY(tn_os_before((tn_os_call){.operation = TN_OP_OPEN, .file = file}, err));
#if defined(__linux__) && defined(O_DIRECT)
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file->fd);
    int fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
    if (fd >= 0) {
        *out = (tn_os_file){.fd = fd, .open = true};
        return TN_OK;
    }
#else
    (void)out;
#endif
    return tn_fail(err, TN_UNSUPPORTED, "this file cannot be read past the system's cache");
}

/* ---- what is in the cache ---- */

#ifdef __linux__

#ifdef __NR_cachestat
#define CACHESTAT __NR_cachestat
#else
#define CACHESTAT 451 /* on every architecture but Alpha and MIPS; older headers do not have it */
#endif
#define PAGES_MAX 1024u /* asked about at once */

typedef enum cached { CACHED_UNKNOWN, CACHED, NOT_CACHED } cached;

/* Ask for a count of the pages, of which large ones are counted at once: a hundredth of what asking for each costs. Linux
 * 6.5 and later have it (cachestat(2)), and may refuse it to who could not write the file. */
static cached count_pages(const tn_os_file *file, uint64_t offset, size_t size)
{
    struct {
        uint64_t offset, size;
    } range = {offset, size};
    struct {
        uint64_t cache, dirty, writeback, evicted, recently_evicted;
    } found = {0};
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    if (syscall(CACHESTAT, file->fd, &range, &found, 0) != 0)
        return CACHED_UNKNOWN;
    return found.cache == (offset + size - 1) / page - offset / page + 1 ? CACHED : NOT_CACHED;
}

/* The pages of a window, without touching them. */
static cached ask_each_page(const tn_os_window *window)
{
    unsigned char in_memory[PAGES_MAX];
    size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (window->base_size + page - 1) / page;
    for (size_t from = 0; from < pages; from += PAGES_MAX) {
        size_t count = pages - from < PAGES_MAX ? pages - from : PAGES_MAX;
        if (mincore((char *)window->base + from * page, count * page, in_memory) != 0)
            return CACHED_UNKNOWN;
        for (size_t i = 0; i < count; i++)
            if ((in_memory[i] & 1) == 0)
                return NOT_CACHED;
    }
    return CACHED;
}

/* A window must end within the file. */
static cached ask_window(const tn_os_file *file, uint64_t offset, size_t size)
{
    struct stat st;
    tn_os_window window;
    if (fstat(file->fd, &st) != 0 || offset >= (uint64_t)st.st_size)
        return CACHED_UNKNOWN;
    uint64_t left = (uint64_t)st.st_size - offset;
    if (tn_os_window_open(file, offset, size < left ? size : (size_t)left, &window, NULL) != TN_OK)
        return CACHED_UNKNOWN;
    cached answer = ask_each_page(&window);
    tn_os_window_close(&window);
    return answer;
}

bool tn_os_is_cached(const tn_os_file *file, uint64_t offset, size_t size)
{
    cached answer = size > 0 ? count_pages(file, offset, size) : CACHED;
    if (answer == CACHED_UNKNOWN)
        answer = ask_window(file, offset, size);
    return answer != NOT_CACHED;
}

#else

bool tn_os_is_cached(const tn_os_file *file, uint64_t offset, size_t size)
{
    (void)file;
    (void)offset;
    (void)size;
    return true;
}

#endif

/* ---- hints ---- */

void tn_os_read_in_order(const tn_os_file *file)
{
#ifdef POSIX_FADV_SEQUENTIAL
    (void)posix_fadvise(file->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
#elif defined(F_RDAHEAD)
    (void)fcntl(file->fd, F_RDAHEAD, 1);
#else
    (void)file;
#endif
}

void tn_os_prefer_huge_pages(void *memory, size_t size)
{
#ifdef MADV_HUGEPAGE
    (void)madvise(memory, size, MADV_HUGEPAGE);
#else
    (void)memory;
    (void)size;
#endif
}
