/* A disk laid out as true files, each the same file (inode and time) as in every other disk. */
#include "support/check.h"
#include "support/library_posix_power.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void in_store(const power_log *log, ino_t inode, char *out, size_t size)
{
    snprintf(out, size, "%s/%llu", log->store, (unsigned long long)inode);
}

/* Everything below a folder goes into the store, under the number of its inode. */
static void clear(const power_log *log, const char *folder)
{
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        char path[2048], kept[1200];
        struct stat st;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        assert_int_equal(lstat(path, &st), 0);
        if (S_ISDIR(st.st_mode))
            clear(log, path);
        in_store(log, st.st_ino, kept, sizeof kept);
        assert_int_equal(rename(path, kept), 0);
        unlink(path); /* two names of one file: the rename did nothing */
    }
    closedir(dir);
}

/* What the last disk left that is no file of this log. */
static void empty_store(const power_log *log)
{
    DIR *dir = opendir(log->store);
    assert_non_null(dir);
    for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        char path[2048];
        bool known = entry->d_name[0] == '.';
        ino_t inode = strtoull(entry->d_name, NULL, 10);
        for (size_t i = 0; i < log->node_count && !known; i++)
            known = log->nodes[i].inode == inode;
        snprintf(path, sizeof path, "%s/%s", log->store, entry->d_name);
        if (!known)
            assert_int_equal(remove(path), 0);
    }
    closedir(dir);
}

static void write_file(const power_log *log, const power_disk *disk, int number, const char *path)
{
    const power_node *node = &log->nodes[number];
    const power_bytes *bytes = &disk->nodes[number];
    char kept[1200];
    in_store(log, node->inode, kept, sizeof kept);
    if (node->inode != 0)
        (void)rename(kept, path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes->bytes, bytes->size), (ssize_t)bytes->size);
    const struct timespec times[2] = {disk->times[number], disk->times[number]};
    if (node->inode != 0)
        assert_int_equal(futimens(fd, times), 0);
    close(fd);
}

static void lay_file(const power_log *log, const power_disk *disk, size_t at)
{
    const power_name *name = &disk->names.items[at];
    for (size_t i = 0; i < at; i++)
        if (disk->names.items[i].node == name->node) {
            assert_int_equal(link(disk->names.items[i].path, name->path), 0);
            return;
        }
    write_file(log, disk, name->node, name->path);
}

static void lay_folder(power_log *log, const power_name *name)
{
    char kept[1200];
    struct stat st;
    power_node *node = &log->nodes[name->node];
    in_store(log, node->inode, kept, sizeof kept);
    if (node->inode == 0 || rename(kept, name->path) != 0)
        assert_int_equal(mkdir(name->path, 0777), 0);
    assert_int_equal(lstat(name->path, &st), 0);
    node->inode = st.st_ino;
}

/* When all is in it. */
static void date_folder(const power_log *log, const power_name *name)
{
    const power_node *node = &log->nodes[name->node];
    const struct timespec times[2] = {node->mtime, node->mtime};
    assert_int_equal(utimensat(AT_FDCWD, name->path, times, 0), 0);
}

/* A folder stands before what is in it, unless one was renamed into another: so the folders first, the shorter ones
 * before the longer ones. */
static int compare_lengths(const void *a, const void *b)
{
    size_t x = strlen((*(const power_name *const *)a)->path), y = strlen((*(const power_name *const *)b)->path);
    return x < y ? -1 : x > y;
}

void power_lay(power_log *log, const power_disk *disk)
{
    const power_name **folders = calloc(disk->names.count + 1, sizeof(const power_name *));
    assert_non_null(folders);
    size_t count = 0;
    for (size_t i = 0; i < disk->names.count; i++)
        if (log->nodes[disk->names.items[i].node].folder)
            folders[count++] = &disk->names.items[i];
    qsort(folders, count, sizeof *folders, compare_lengths);
    clear(log, log->root);
    empty_store(log);
    for (size_t i = 0; i < count; i++)
        lay_folder(log, folders[i]);
    for (size_t i = 0; i < disk->names.count; i++)
        if (!log->nodes[disk->names.items[i].node].folder)
            lay_file(log, disk, i);
    for (size_t i = 0; i < count; i++)
        date_folder(log, folders[i]);
    free(folders);
}

void power_hand_back(power_log *from, const power_log *to)
{
    clear(from, from->root);
    DIR *dir = opendir(from->store);
    assert_non_null(dir);
    for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        char path[2048], there[2048];
        snprintf(path, sizeof path, "%s/%s", from->store, entry->d_name);
        snprintf(there, sizeof there, "%s/%s", to->store, entry->d_name);
        if (entry->d_name[0] != '.')
            assert_int_equal(rename(path, there), 0);
    }
    closedir(dir);
}
