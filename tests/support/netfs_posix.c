/* A file system for tests that behaves like one behind a network: FUSE over a folder, with latency, without locks, and
 * with a wire that can be cut.
 *
 *   netfs BACKING MOUNTPOINT LATENCY_MS [no-locks] [stays] [cached]
 *
 * It stays in the foreground until it is unmounted or killed. Whoever kills it unmounts it; with `stays` what is mounted
 * stays without its server, so that every call there fails with ENOTCONN. While BACKING/.netfs-eio is there every write and read
 * fails with EIO (and the file itself cannot be seen); with a number in it those reads that reach behind this byte of a file.
 * Nothing is cached by the system, so that each call meets the latency, but with `cached`. Tests are
 * alone with it, so paths are passed through as they are. */
#define FUSE_USE_VERSION 31
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char *backing;
static long latency_ms;
static bool cached;

static void lag(void)
{
    struct timespec wait = {latency_ms / 1000, latency_ms % 1000 * 1000000};
    nanosleep(&wait, NULL);
}

static const char *real(const char *path, char out[PATH_MAX])
{
    snprintf(out, PATH_MAX, "%s%s", backing, path);
    return out;
}

static int result(long code)
{
    return code < 0 ? -errno : (int)code;
}

/* From which byte of a file on reads fail; -1: none does. */
static long long cut_from(void)
{
    char path[PATH_MAX], text[32] = "";
    int fd = open(real("/.netfs-eio", path), O_RDONLY);
    if (fd < 0)
        return -1;
    ssize_t size = pread(fd, text, sizeof text - 1, 0);
    close(fd);
    return size > 0 ? atoll(text) : 0;
}

static int get_attr(const char *path, struct stat *out, struct fuse_file_info *file)
{
    char place[PATH_MAX];
    lag();
    return file != NULL ? result(fstat((int)file->fh, out)) : result(lstat(real(path, place), out));
}

static int read_dir(const char *path, void *out, fuse_fill_dir_t fill, off_t offset, struct fuse_file_info *file,
                    enum fuse_readdir_flags flags)
{
    char place[PATH_MAX];
    (void)offset, (void)file, (void)flags;
    lag();
    DIR *folder = opendir(real(path, place));
    if (folder == NULL)
        return -errno;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
        if (strcmp(entry->d_name, ".netfs-eio") != 0)
            fill(out, entry->d_name, NULL, 0, 0);
    closedir(folder);
    return 0;
}

static int open_file(const char *path, struct fuse_file_info *file)
{
    char place[PATH_MAX];
    lag();
    int fd = open(real(path, place), file->flags & ~(O_NOFOLLOW | O_DIRECT)); /* the server itself may cache */
    file->fh = (uint64_t)fd;
    file->direct_io = !cached;
    return fd < 0 ? -errno : 0;
}

static int create_file(const char *path, mode_t mode, struct fuse_file_info *file)
{
    char place[PATH_MAX];
    lag();
    int fd = open(real(path, place), file->flags, mode);
    file->fh = (uint64_t)fd;
    file->direct_io = !cached;
    return fd < 0 ? -errno : 0;
}

static int read_file(const char *path, char *out, size_t size, off_t offset, struct fuse_file_info *file)
{
    (void)path;
    lag();
    long long cut = cut_from();
    return cut >= 0 && offset + (off_t)size > cut ? -EIO : result(pread((int)file->fh, out, size, offset));
}

static int write_file(const char *path, const char *bytes, size_t size, off_t offset, struct fuse_file_info *file)
{
    (void)path;
    lag();
    return cut_from() >= 0 ? -EIO : result(pwrite((int)file->fh, bytes, size, offset));
}

static int release_file(const char *path, struct fuse_file_info *file)
{
    (void)path;
    return result(close((int)file->fh));
}

static int sync_file(const char *path, int data_only, struct fuse_file_info *file)
{
    (void)path, (void)data_only;
    return result(fsync((int)file->fh));
}

static int truncate_file(const char *path, off_t size, struct fuse_file_info *file)
{
    char place[PATH_MAX];
    return file != NULL ? result(ftruncate((int)file->fh, size)) : result(truncate(real(path, place), size));
}

static int make_dir(const char *path, mode_t mode)
{
    char place[PATH_MAX];
    return result(mkdir(real(path, place), mode));
}

static int unlink_file(const char *path)
{
    char place[PATH_MAX];
    return result(unlink(real(path, place)));
}

static int remove_dir(const char *path)
{
    char place[PATH_MAX];
    return result(rmdir(real(path, place)));
}

static int rename_file(const char *from, const char *to, unsigned flags)
{
    char here[PATH_MAX], there[PATH_MAX];
    lag();
    return result(renameat2(AT_FDCWD, real(from, here), AT_FDCWD, real(to, there), flags));
}

static int set_times(const char *path, const struct timespec times[2], struct fuse_file_info *file)
{
    char place[PATH_MAX];
    (void)file;
    return result(utimensat(AT_FDCWD, real(path, place), times, AT_SYMLINK_NOFOLLOW));
}

static int set_mode(const char *path, mode_t mode, struct fuse_file_info *file)
{
    char place[PATH_MAX];
    (void)file;
    return result(chmod(real(path, place), mode));
}

static int stat_fs(const char *path, struct statvfs *out)
{
    char place[PATH_MAX];
    return result(statvfs(real(path, place), out));
}

static int no_lock(const char *path, struct fuse_file_info *file, int command, struct flock *lock)
{
    (void)path, (void)file, (void)command, (void)lock;
    return -ENOLCK;
}

static int no_flock(const char *path, struct fuse_file_info *file, int operation)
{
    (void)path, (void)file, (void)operation;
    return -ENOLCK;
}

static bool has(int argc, char **argv, const char *word)
{
    for (int i = 4; i < argc; i++)
        if (strcmp(argv[i], word) == 0)
            return true;
    return false;
}

int main(int argc, char **argv)
{
    static struct fuse_operations operations = {
        .getattr = get_attr, .readdir = read_dir, .open = open_file, .create = create_file, .read = read_file,
        .write = write_file, .release = release_file, .fsync = sync_file, .truncate = truncate_file, .mkdir = make_dir,
        .unlink = unlink_file, .rmdir = remove_dir, .rename = rename_file, .utimens = set_times, .chmod = set_mode,
        .statfs = stat_fs,
    };
    if (argc < 4)
        return 2;
    backing = argv[1];
    latency_ms = atol(argv[3]);
    cached = has(argc, argv, "cached");
    bool stays = has(argc, argv, "stays");
    if (has(argc, argv, "no-locks")) {
        operations.lock = no_lock;
        operations.flock = no_flock;
    }
    char options[] = "max_threads=64,attr_timeout=0,entry_timeout=0,negative_timeout=0,auto_unmount";
    if (stays)
        options[strlen(options) - strlen(",auto_unmount")] = '\0';
    char *words[] = {argv[0], argv[2], "-f", "-o", options, NULL};
    return fuse_main(5, words, &operations, NULL);
}
