/* Files on POSIX: open, ask, read, write, lock. The contract stands in os.h.
 *
 *   F1  Nothing but a regular file is ever read or written: the handle is asked before it is handed out.
 *   F2  A descriptor never survives exec.
 *   F3  Truncation happens on a handle that F1 has passed, never in open() itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/vfs.h>
#else
#include <sys/mount.h>
#include <sys/param.h>
#endif

#include "os/os_posix.h"

/* One system call moves at most this much: macOS refuses INT_MAX and more, Linux cuts at 2 GiB less a page. */
#define TRANSFER_MAX ((size_t)1 << 30)

/* ---- what a file is ---- */

static tn_os_kind kind_of(mode_t mode)
{
    if (S_ISREG(mode))
        return TN_OS_REGULAR;
    if (S_ISDIR(mode))
        return TN_OS_FOLDER;
    return S_ISLNK(mode) ? TN_OS_LINK : TN_OS_OTHER;
}

static int64_t nanoseconds(const struct stat *st)
{
#ifdef __APPLE__
    const struct timespec *time = &st->st_mtimespec;
#else
    const struct timespec *time = &st->st_mtim;
#endif
    const int64_t most = INT64_MAX / 1000000000 - 1;
    int64_t seconds = time->tv_sec;
    if (seconds > most)
        seconds = most;
    if (seconds < -most)
        seconds = -most;
    return seconds * 1000000000 + time->tv_nsec;
}

#ifdef __linux__
/* statfs f_type of file systems whose inode numbers are made up as they are asked for, or whose times are coarse
 * (linux/magic.h, and the kernel's exfat, ntfs3, cifs and vboxsf). */
static bool is_weak(const struct statfs *fs)
{
    static const uint32_t weak[] = {
        0x4d44,     /* FAT */
        0x2011bab0, /* exFAT */
        0x7366746e, /* NTFS (ntfs3) */
        0x5346544e, /* NTFS (old) */
        0x517b,     /* SMB */
        0xff534d42, /* CIFS */
        0xfe534d42, /* SMB2 */
        0x6969,     /* NFS */
        0x65735546, /* FUSE, ntfs-3g and sshfs among it */
        0x01021997, /* 9p */
        0x5346414f, /* AFS */
        0x73757245, /* Coda */
        0x00c36400, /* Ceph */
        0x786f4256, /* VirtualBox shared folder */
    };
    uint32_t type = (uint32_t)fs->f_type;
    for (size_t i = 0; i < sizeof weak / sizeof weak[0]; i++) {
        if (weak[i] == type)
            return true;
    }
    return false;
}
#else
static bool is_weak(const struct statfs *fs)
{
    static const char *const strong[] = {"apfs", "hfs", "ufs", "zfs"};
    for (size_t i = 0; i < sizeof strong / sizeof strong[0]; i++) {
        if (strcmp(fs->f_fstypename, strong[i]) == 0)
            return false;
    }
    return true;
}
#endif

#ifdef __linux__
/* A page is written to a place that is looked for then: because only a part of it has one, or because none is written
 * over (linux/magic.h, OpenZFS, bcachefs). */
static bool has_scant_maps(const struct statfs *fs)
{
    static const uint32_t elsewhere[] = {
        0x9123683e, /* Btrfs */
        0x2fc12fc1, /* ZFS */
        0xca451a4e, /* bcachefs */
        0xf2f52010, /* F2FS */
        0x3434,     /* NILFS */
    };
    for (size_t i = 0; i < sizeof elsewhere / sizeof elsewhere[0]; i++) {
        if (elsewhere[i] == (uint32_t)fs->f_type)
            return true;
    }
    return fs->f_bsize < sysconf(_SC_PAGESIZE);
}
#else
static bool has_scant_maps(const struct statfs *fs)
{
    (void)fs;
    return false;
}
#endif

static tn_os_info info_from(const struct stat *st, const struct statfs *fs)
{
    return (tn_os_info){
        .kind = kind_of(st->st_mode),
        .size = (uint64_t)st->st_size,
        .mtime_ns = nanoseconds(st),
        .device = (uint64_t)st->st_dev,
        .file_id = {(uint64_t)st->st_ino, 0},
        .links = (uint64_t)st->st_nlink,
        .stored_bytes = (uint64_t)st->st_blocks * 512,
        .scant_maps = fs != NULL && has_scant_maps(fs),
        .weak_identity = fs == NULL || is_weak(fs),
    };
}

tn_status tn_os_info_of(const tn_os_file *file, tn_os_info *out, tn_error *err)
{
    TN_TRY(tn_os_before((tn_os_call){.operation = TN_OP_INFO, .file = file}, err));
    struct stat st;
    struct statfs fs;
    if (fstat(file->fd, &st) != 0)
        return tn_os_fail_errno(err, errno, "fstat", NULL);
    *out = info_from(&st, fstatfs(file->fd, &fs) == 0 ? &fs : NULL);
    tn_os_alter_info(NULL, out);
    return TN_OK;
}

tn_status tn_os_stamp_of(const tn_os_file *file, uint64_t *size, int64_t *mtime_ns, tn_error *err)
{
    TN_TRY(tn_os_before((tn_os_call){.operation = TN_OP_INFO, .file = file}, err));
    struct stat st;
    if (fstat(file->fd, &st) != 0)
        return tn_os_fail_errno(err, errno, "fstat", NULL);
    *size = (uint64_t)st.st_size;
    *mtime_ns = nanoseconds(&st);
    return TN_OK;
}

/* Of a path ENODEV says that its disk was pulled out (of a map: that there can be none). */
static tn_status fail_stat(const char *path, bool follow, int number, tn_error *err)
{
    return tn_os_fail_errno(err, number == ENODEV ? EIO : number, follow ? "stat" : "lstat", path);
}

tn_status tn_os_info_at(const char *path, bool follow, tn_os_info *out, tn_error *err)
{
    TN_TRY(tn_os_before((tn_os_call){.operation = TN_OP_INFO, .path = path}, err));
    struct stat st;
    struct statfs fs;
    if (fstatat(AT_FDCWD, path, &st, follow ? 0 : AT_SYMLINK_NOFOLLOW) != 0)
        return fail_stat(path, follow, errno, err);
    *out = info_from(&st, statfs(path, &fs) == 0 ? &fs : NULL);
    if (S_ISLNK(st.st_mode)) /* statfs follows links, so it says nothing about the link itself */
        out->weak_identity = false;
    tn_os_alter_info(path, out);
    return TN_OK;
}

/* ---- opening ---- */

static int open_flags(unsigned flags)
{
    /* O_NONBLOCK: a pipe that nobody writes to is opened and refused instead of waited for. It means nothing to
     * regular files. */
    int system = O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    system |= flags & TN_OS_WRITE ? O_RDWR : O_RDONLY;
    system |= flags & TN_OS_CREATE ? O_CREAT : 0;
    system |= flags & TN_OS_EXCLUSIVE ? O_EXCL : 0;
    system |= flags & TN_OS_NO_FOLLOW ? O_NOFOLLOW : 0;
    return system;
}

static tn_status refuse_link(const char *path, tn_error *err)
{
    tn_fail(err, TN_UNSAFE_PATH, "the path ends in a link, which is not followed here");
    tn_error_at_file(err, path);
    return TN_UNSAFE_PATH;
}

static tn_status fail_open(const char *path, unsigned flags, int number, tn_error *err)
{
    struct stat st;
    bool link = flags & TN_OS_NO_FOLLOW && lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
    if (number == ELOOP && link)
        return refuse_link(path, err);
    if (number == ENODEV || (number == EINVAL && !(flags & TN_OS_CREATE)))
        number = ENXIO; /* a device without a driver */
    if (number == EINVAL)
        number = EILSEQ; /* a name this file system cannot have */
    return tn_os_fail_errno(err, number, "open", path);
}

/* F1, then F3. */
static tn_status admit(int fd, unsigned flags, const char *path, tn_error *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return tn_os_fail_errno(err, errno, "fstat", path);
    if (!S_ISREG(st.st_mode)) {
        const char *what = S_ISDIR(st.st_mode) ? "a folder" : "a pipe, socket or device";
        tn_fail(err, TN_NOT_A_FILE, "this is %s, not a regular file", what);
        tn_error_at_file(err, path);
        return TN_NOT_A_FILE;
    }
    if (flags & TN_OS_TRUNCATE && ftruncate(fd, 0) != 0)
        return tn_os_fail_errno(err, errno, "ftruncate", path);
    return TN_OK;
}

tn_status tn_os_open(const char *path, unsigned flags, tn_os_file *out, tn_error *err)
{
    tn_os_call call = {.operation = TN_OP_OPEN, .path = path, .offset = flags};
    TN_TRY(tn_os_before(call, err));
    int fd;
    do
        fd = open(path, open_flags(flags), flags & TN_OS_PRIVATE ? 0600 : 0666);
    while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return fail_open(path, flags, errno, err);
    tn_status status = admit(fd, flags, path, err);
    if (status != TN_OK) {
        close(fd);
        return status;
    }
    *out = (tn_os_file){.fd = fd, .open = true};
    if (flags & (TN_OS_WRITE | TN_OS_CREATE | TN_OS_TRUNCATE)) {
        call.file = out;
        tn_os_after(call);
    }
    return TN_OK;
}

void tn_os_close(tn_os_file *file)
{
    if (file == NULL || !file->open)
        return;
    /* Linux gives the descriptor up even when close is interrupted, so it is never called twice. */
    close(file->fd);
    *file = (tn_os_file){.fd = -1};
}

/* ---- reading and writing ---- */

static size_t piece(size_t left)
{
    return left < TRANSFER_MAX ? left : TRANSFER_MAX;
}

tn_status tn_os_read(const tn_os_file *file, uint64_t offset, void *bytes, size_t size, size_t *got, tn_error *err)
{
    TN_TRY(tn_os_before((tn_os_call){.operation = TN_OP_READ, .file = file, .offset = offset, .size = size}, err));
    size_t wanted = tn_os_reachable(offset, size);
    size_t done = 0;
    while (done < wanted) {
        ssize_t n = pread(file->fd, (char *)bytes + done, piece(wanted - done), (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            tn_status status = tn_os_fail_errno(err, errno, "pread", NULL);
            tn_error_at_offset(err, offset + done);
            return status;
        }
        if (n == 0)
            break;
        done += (size_t)n;
    }
    *got = done;
    return TN_OK;
}

static tn_status write_all(const tn_os_file *file, uint64_t offset, const void *bytes, size_t size, tn_error *err)
{
    if (tn_os_reachable(offset, size) < size)
        return tn_os_fail_errno(err, EFBIG, "pwrite", NULL);
    size_t done = 0;
    while (done < size) {
        ssize_t n = pwrite(file->fd, (const char *)bytes + done, piece(size - done), (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            tn_status status = tn_os_fail_errno(err, n < 0 ? errno : ENOSPC, "pwrite", NULL);
            tn_error_at_offset(err, offset + done);
            return status;
        }
        done += (size_t)n;
    }
    return TN_OK;
}

tn_status tn_os_write(const tn_os_file *file, uint64_t offset, const void *bytes, size_t size, tn_error *err)
{
    uint64_t first = 0;
    tn_os_call call = {.operation = TN_OP_WRITE, .file = file, .offset = offset, .size = size, .bytes = bytes,
                       .write_first = &first};
    tn_status status = tn_os_before(call, err);
    if (status != TN_OK) {
        if (first > 0)
            (void)write_all(file, offset, bytes, first < size ? (size_t)first : size, NULL);
        return status;
    }
    TN_TRY(write_all(file, offset, bytes, size, err));
    call.write_first = NULL;
    tn_os_after(call);
    return TN_OK;
}

tn_status tn_os_resize(const tn_os_file *file, uint64_t size, tn_error *err)
{
    tn_os_call call = {.operation = TN_OP_RESIZE, .file = file, .size = size};
    TN_TRY(tn_os_before(call, err));
    if (size > INT64_MAX)
        return tn_os_fail_errno(err, EFBIG, "ftruncate", NULL);
    int answer;
    do
        answer = ftruncate(file->fd, (off_t)size);
    while (answer != 0 && errno == EINTR);
    if (answer != 0)
        return tn_os_fail_errno(err, errno, "ftruncate", NULL);
    tn_os_after(call);
    return TN_OK;
}

static int flush(int fd)
{
#ifdef F_FULLFSYNC
    if (fcntl(fd, F_FULLFSYNC) == 0)
        return 0;
#endif
    return fsync(fd);
}

tn_status tn_os_sync(const tn_os_file *file, tn_error *err)
{
    tn_os_call call = {.operation = TN_OP_SYNC, .file = file};
    TN_TRY(tn_os_before(call, err));
    int answer;
    do
        answer = flush(file->fd);
    while (answer != 0 && errno == EINTR);
    if (answer != 0)
        return tn_os_fail_errno(err, errno, "fsync", NULL);
    tn_os_after(call);
    return TN_OK;
}

/* ---- locks ---- */

/* Locks of the open file, not of the process, where there are such: two handles of one process exclude each other,
 * and closing one does not let go of the other's. */
#ifdef F_OFD_SETLK
#define SET_LOCK F_OFD_SETLK
#else
#define SET_LOCK F_SETLK
#endif

static int set_lock(const tn_os_file *file, uint64_t slot, short type)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)slot, .l_len = 1};
    int answer;
    do
        answer = fcntl(file->fd, SET_LOCK, &lock);
    while (answer != 0 && errno == EINTR);
    return answer;
}

tn_status tn_os_lock(const tn_os_file *file, uint64_t slot, tn_error *err)
{
    TN_TRY(tn_os_before((tn_os_call){.operation = TN_OP_LOCK, .file = file, .offset = slot, .size = 1}, err));
    if (slot >= INT64_MAX)
        return tn_os_fail_errno(err, EINVAL, "fcntl", NULL);
    if (set_lock(file, slot, F_WRLCK) == 0)
        return TN_OK;
    return tn_os_fail_errno(err, errno == EACCES ? EAGAIN : errno, "fcntl", NULL);
}

void tn_os_unlock(const tn_os_file *file, uint64_t slot)
{
    if (slot < INT64_MAX)
        (void)set_lock(file, slot, F_UNLCK);
}
