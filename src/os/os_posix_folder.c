/* Walking one folder on POSIX. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/os_posix.h"

struct tn_os_folder {
    tn_memory_source *memory;
    DIR *stream; /* NULL once the walk has ended */
};

static tn_status fail_folder(const char *path, int number, tn_error *err)
{
    struct stat st;
    if (number != ENOTDIR || stat(path, &st) != 0)
        return tn_os_fail_errno(err, number, "open", path);
    tn_fail(err, TN_NOT_A_FILE, "this is not a folder");
    tn_error_at_file(err, path);
    return TN_NOT_A_FILE;
}

static tn_status open_stream(const char *path, DIR **out, tn_error *err)
{
    int fd;
    do
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
    while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return fail_folder(path, errno, err);
    DIR *stream = fdopendir(fd);
    if (stream == NULL) {
        int number = errno;
        close(fd);
        return tn_os_fail_errno(err, number, "fdopendir", path);
    }
    *out = stream;
    return TN_OK;
}

tn_status tn_os_folder_open(tn_memory_source *memory, const char *path, tn_os_folder **out, tn_error *err)
{
    TN_TRY(tn_os_before((tn_os_call){.operation = TN_OP_FOLDER_OPEN, .path = path}, err));
    void *block;
    TN_TRY(tn_take(memory, sizeof(tn_os_folder), &block, err));
    DIR *stream = NULL;
    tn_status status = open_stream(path, &stream, err);
    if (status != TN_OK) {
        tn_give(memory, block, sizeof(tn_os_folder));
        return status;
    }
    tn_os_folder *folder = block;
    *folder = (tn_os_folder){.memory = memory, .stream = stream};
    *out = folder;
    return TN_OK;
}

static tn_os_kind kind_by_asking(DIR *stream, const char *name)
{
    struct stat st;
    if (fstatat(dirfd(stream), name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return TN_OS_OTHER;
    if (S_ISREG(st.st_mode))
        return TN_OS_REGULAR;
    if (S_ISDIR(st.st_mode))
        return TN_OS_FOLDER;
    return S_ISLNK(st.st_mode) ? TN_OS_LINK : TN_OS_OTHER;
}

static tn_os_kind entry_kind(DIR *stream, const struct dirent *entry)
{
    switch (entry->d_type) {
    case DT_REG:
        return TN_OS_REGULAR;
    case DT_DIR:
        return TN_OS_FOLDER;
    case DT_LNK:
        return TN_OS_LINK;
    case DT_UNKNOWN:
        return kind_by_asking(stream, entry->d_name);
    default:
        return TN_OS_OTHER;
    }
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static void end_walk(tn_os_folder *folder)
{
    if (folder->stream != NULL)
        closedir(folder->stream);
    folder->stream = NULL;
}

tn_status tn_os_folder_next(tn_os_folder *folder, tn_os_entry *out, bool *more, tn_error *err)
{
    if (folder->stream == NULL) {
        *more = false;
        return TN_OK;
    }
    tn_status status = tn_os_before((tn_os_call){.operation = TN_OP_FOLDER_NEXT}, err);
    if (status != TN_OK) {
        end_walk(folder);
        return status;
    }
    const struct dirent *entry;
    do {
        errno = 0;
        entry = readdir(folder->stream);
    } while (entry != NULL && is_dots(entry->d_name));
    if (entry != NULL) {
        *out = (tn_os_entry){.name = entry->d_name, .kind = entry_kind(folder->stream, entry)};
        *more = true;
        return TN_OK;
    }
    int number = errno;
    end_walk(folder);
    if (number != 0)
        return tn_os_fail_errno(err, number, "readdir", NULL);
    *more = false;
    return TN_OK;
}

void tn_os_folder_close(tn_os_folder *folder)
{
    if (folder == NULL)
        return;
    end_walk(folder);
    tn_give(folder->memory, folder, sizeof *folder);
}
