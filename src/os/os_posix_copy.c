/* Copying, space and links on POSIX. The contract stands in os.h. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/fs.h>
#include <sys/ioctl.h>
#endif

#include "os/os_posix.h"

/* ---- data ---- */

tn_status tn_os_share_data(const tn_os_file *from, const tn_os_file *to, tn_error *err)
{
    tn_os_call call = {.operation = TN_OP_SHARE_DATA, .file = to, .other_file = from};
    TN_TRY(tn_os_before(call, err));
#ifdef FICLONE
    if (ioctl(to->fd, FICLONE, from->fd) == 0) {
        tn_os_after(call);
        return TN_OK;
    }
    if (errno == ENOSPC || errno == EDQUOT || errno == EIO)
        return tn_os_fail_errno(err, errno, "FICLONE", NULL);
#endif
    return tn_fail(err, TN_UNAVAILABLE, "this file system cannot share bytes between files");
}

tn_status tn_os_next_data(const tn_os_file *file, uint64_t offset, uint64_t *begin, uint64_t *end, tn_error *err)
{
    TN_TRY(tn_os_before((tn_os_call){.operation = TN_OP_NEXT_DATA, .file = file, .offset = offset}, err));
    struct stat st;
    if (fstat(file->fd, &st) != 0)
        return tn_os_fail_errno(err, errno, "fstat", NULL);
    uint64_t size = (uint64_t)st.st_size, from = offset < size ? offset : size, to = size;
#ifdef SEEK_DATA
    off_t data = from < size ? lseek(file->fd, (off_t)from, SEEK_DATA) : (off_t)size;
    if (data < 0 && errno == ENXIO)
        data = (off_t)size; /* a hole up to the end */
    if (data >= 0) {
        from = (uint64_t)data < size ? (uint64_t)data : size;
        off_t hole = from < size ? lseek(file->fd, data, SEEK_HOLE) : (off_t)size;
        to = hole > data && (uint64_t)hole < size ? (uint64_t)hole : size;
    }
#endif
    *begin = from;
    *end = to;
    return TN_OK;
}

tn_status tn_os_keep_attributes(const tn_os_file *from, const tn_os_file *to, tn_error *err)
{
    tn_os_call call = {.operation = TN_OP_ATTRIBUTES, .file = to, .other_file = from};
    TN_TRY(tn_os_before(call, err));
    struct stat st;
    if (fstat(from->fd, &st) != 0)
        return tn_os_fail_errno(err, errno, "fstat", NULL);
    (void)fchmod(to->fd, st.st_mode & 0777);
#ifdef __APPLE__
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, st.st_mtimespec};
#else
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, st.st_mtim};
#endif
    if (futimens(to->fd, times) != 0)
        return tn_os_fail_errno(err, errno, "futimens", NULL);
    tn_os_after(call);
    return TN_OK;
}

void tn_os_forget_cached(const tn_os_file *file)
{
#ifdef POSIX_FADV_DONTNEED
    (void)posix_fadvise(file->fd, 0, 0, POSIX_FADV_DONTNEED);
#else
    (void)file;
#endif
}

tn_status tn_os_space(const char *path, uint64_t *bytes, tn_error *err)
{
    TN_TRY(tn_os_before((tn_os_call){.operation = TN_OP_SPACE, .path = path}, err));
    struct statvfs fs;
    if (statvfs(path, &fs) != 0)
        return tn_os_fail_errno(err, errno, "statvfs", path);
    uint64_t unit = fs.f_frsize != 0 ? fs.f_frsize : fs.f_bsize;
    *bytes = unit != 0 && fs.f_bavail > UINT64_MAX / unit ? UINT64_MAX : fs.f_bavail * unit;
    return TN_OK;
}

/* ---- links ---- */

tn_status tn_os_read_link(const char *path, tn_buffer *out, tn_error *err)
{
    TN_TRY(tn_os_before((tn_os_call){.operation = TN_OP_READ_LINK, .path = path}, err));
    char text[TN_OS_POSIX_PATH_MAX];
    ssize_t size = readlink(path, text, sizeof text);
    if (size < 0 || (size_t)size == sizeof text)
        return tn_os_fail_errno(err, size < 0 ? errno : ENAMETOOLONG, "readlink", path);
    tn_buffer_append(out, text, (size_t)size);
    return tn_buffer_status(out, err);
}

tn_status tn_os_make_link(const char *path, const char *leads_to, tn_error *err)
{
    tn_os_call call = {.operation = TN_OP_MAKE_LINK, .path = path, .other_path = leads_to};
    TN_TRY(tn_os_before(call, err));
    if (symlink(leads_to, path) != 0)
        return tn_os_fail_errno(err, errno, "symlink", path);
    tn_os_after(call);
    return TN_OK;
}
