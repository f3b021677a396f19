/* Names on POSIX: folders made, files renamed, removed and replaced. The contract stands in os.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/os_path.h"
#include "os/os_posix.h"

/* ---- folders ---- */

tn_status tn_os_make_folder(const char *path, tn_error *err)
{
    tn_os_call call = {.operation = TN_OP_MAKE_FOLDER, .path = path};
    TN_TRY(tn_os_before(call, err));
    if (mkdir(path, 0777) != 0)
        return tn_os_fail_errno(err, errno, "mkdir", path);
    tn_os_after(call);
    return TN_OK;
}

tn_status tn_os_sync_above(const char *path, tn_error *err)
{
    char above[TN_OS_POSIX_PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t size = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
    snprintf(above, sizeof above, "%.*s", size > 0 ? (int)size : 1, size > 0 ? path : ".");
    tn_error found;
    if (tn_os_sync_folder(above, &found) == TN_OK || found.status == TN_PERMISSION)
        return TN_OK;
    return tn_fail_as(&found, err);
}

/* Made, and its name flushed; or there already as a folder or a link to one. */
static tn_status ensure_folder(const char *path, tn_error *err)
{
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return TN_OK;
    tn_status status = tn_os_make_folder(path, err);
    if (status == TN_OK)
        return tn_os_sync_above(path, err);
    if (status != TN_EXISTS || stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
        return status;
    return TN_OK; /* another process was faster */
}

tn_status tn_os_make_folders(const char *path, tn_error *err)
{
    char part[TN_OS_POSIX_PATH_MAX];
    size_t size = strlen(path);
    if (size >= sizeof part)
        return tn_os_fail_errno(err, ENAMETOOLONG, "mkdir", path);
    memcpy(part, path, size + 1);
    for (size_t i = 1; i < size; i++) {
        if (part[i] != '/' || part[i - 1] == '/')
            continue;
        part[i] = 0;
        TN_TRY(ensure_folder(part, err));
        part[i] = '/';
    }
    return ensure_folder(part, err);
}

tn_status tn_os_remove_folder(const char *path, tn_error *err)
{
    tn_os_call call = {.operation = TN_OP_REMOVE_FOLDER, .path = path};
    TN_TRY(tn_os_before(call, err));
    if (rmdir(path) != 0)
        return tn_os_fail_errno(err, errno, "rmdir", path);
    tn_os_after(call);
    return TN_OK;
}

tn_status tn_os_sync_folder(const char *path, tn_error *err)
{
    tn_os_call call = {.operation = TN_OP_SYNC_FOLDER, .path = path};
    TN_TRY(tn_os_before(call, err));
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return tn_os_fail_errno(err, errno, "open", path);
    int answer;
    do
        answer = fsync(fd);
    while (answer != 0 && errno == EINTR);
    int number = errno;
    close(fd);
    /* Some file systems have nothing to flush in a folder and say so with EINVAL. */
    if (answer != 0 && number != EINVAL && number != EOPNOTSUPP)
        return tn_os_fail_errno(err, number, "fsync", path);
    tn_os_after(call);
    return TN_OK;
}

/* ---- files ---- */

tn_status tn_os_remove(const char *path, tn_error *err)
{
    tn_os_call call = {.operation = TN_OP_REMOVE, .path = path};
    TN_TRY(tn_os_before(call, err));
    if (unlink(path) != 0)
        return tn_os_fail_errno(err, errno, "unlink", path);
    tn_os_after(call);
    return TN_OK;
}

/* For file systems that cannot rename without replacing: a second name, then the first one away. Folders, and file
 * systems without hard links, are left with looking first. */
static int rename_without_replacing_by_hand(const char *from, const char *to)
{
    struct stat st;
    if (lstat(from, &st) != 0)
        return -1;
    if (!S_ISDIR(st.st_mode)) {
        if (linkat(AT_FDCWD, from, AT_FDCWD, to, 0) == 0)
            return unlink(from);
        if (errno == EEXIST)
            return -1;
    }
    if (lstat(to, &st) == 0) {
        errno = EEXIST;
        return -1;
    }
    return errno == ENOENT ? rename(from, to) : -1;
}

static int rename_without_replacing(const char *from, const char *to)
{
#ifdef __linux__
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return 0;
#elif defined(RENAME_EXCL)
    if (renamex_np(from, to, RENAME_EXCL) == 0)
        return 0;
#endif
    if (errno != ENOSYS && errno != EINVAL && errno != EOPNOTSUPP)
        return -1;
    return rename_without_replacing_by_hand(from, to);
}

tn_status tn_os_rename(const char *from, const char *to, bool replace, tn_error *err)
{
    tn_os_call call = {.operation = TN_OP_RENAME, .path = from, .other_path = to};
    TN_TRY(tn_os_before(call, err));
    int answer = replace ? rename(from, to) : rename_without_replacing(from, to);
    if (answer != 0)
        return tn_os_fail_errno(err, errno, "rename", errno == EEXIST ? to : from);
    tn_os_after(call);
    return TN_OK;
}

/* ---- a whole file in place of another ---- */

/* The folder of `path` into `folder`, and a new name in it into `temporary`. The name does not grow out of the old
 * one, which may be as long as a name can be. */
static tn_status beside(const char *path, char *folder, char *temporary, tn_error *err)
{
    char random[17];
    tn_os_random_name(random, 16);
    const char *slash = strrchr(path, '/');
    size_t size = slash == NULL ? 0 : (size_t)(slash - path) + 1;
    if (size + sizeof ".tn-" + sizeof random + sizeof ".tmp" > TN_OS_POSIX_PATH_MAX)
        return tn_os_fail_errno(err, ENAMETOOLONG, "open", path);
    snprintf(folder, TN_OS_POSIX_PATH_MAX, "%.*s", size > 0 ? (int)size : 1, size > 0 ? path : ".");
    snprintf(temporary, TN_OS_POSIX_PATH_MAX, "%.*s.tn-%s.tmp", (int)size, path, random);
    return TN_OK;
}

/* Who may read the old file may read the new one, and nobody else. */
static void keep_mode(const char *path, const tn_os_file *file)
{
    struct stat st;
    if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
        (void)fchmod(file->fd, st.st_mode & 0777);
}

static tn_status write_new(const char *temporary, const char *path, const void *bytes, size_t size, tn_error *err)
{
    tn_os_file file;
    TN_TRY(tn_os_open(temporary, TN_OS_WRITE | TN_OS_CREATE | TN_OS_EXCLUSIVE, &file, err));
    keep_mode(path, &file);
    tn_status status = tn_os_write(&file, 0, bytes, size, err);
    if (status == TN_OK)
        status = tn_os_sync(&file, err);
    tn_os_close(&file);
    return status;
}

tn_status tn_os_put_in_place(const char *temporary, const char *path, tn_error *err)
{
    return tn_os_rename(temporary, path, true, err);
}

tn_status tn_os_replace_file(const char *path, const void *bytes, size_t size, tn_error *err)
{
    char folder[TN_OS_POSIX_PATH_MAX];
    char temporary[TN_OS_POSIX_PATH_MAX];
    TN_TRY(beside(path, folder, temporary, err));
    tn_status status = write_new(temporary, path, bytes, size, err);
    if (status == TN_OK)
        status = tn_os_rename(temporary, path, true, err);
    if (status != TN_OK) {
        unlink(temporary);
        tn_error_at_file(err, path);
        return status;
    }
    return tn_os_sync_folder(folder, err);
}

/* ---- paths ---- */

tn_status tn_os_real_path(const char *path, tn_buffer *out, tn_error *err)
{
    TN_TRY(tn_os_before((tn_os_call){.operation = TN_OP_PATH, .path = path}, err));
    char *real = realpath(path, NULL);
    if (real == NULL)
        return tn_os_fail_errno(err, errno, "realpath", path);
    tn_buffer_text(out, real);
    free(real);
    return tn_buffer_status(out, err);
}

tn_status tn_os_absolute_path(const char *path, tn_buffer *out, tn_error *err)
{
    TN_TRY(tn_os_before((tn_os_call){.operation = TN_OP_PATH, .path = path}, err));
    char working[TN_OS_POSIX_PATH_MAX] = "/";
    if (path[0] != '/' && getcwd(working, sizeof working) == NULL)
        return tn_os_fail_errno(err, errno == ERANGE ? ENAMETOOLONG : errno, "getcwd", path);
    tn_os_path_absolute_posix(path, working, out);
    return tn_buffer_status(out, err);
}
