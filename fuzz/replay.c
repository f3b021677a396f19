/* Feeds every file of the folders given on the command line, and the empty input, to a fuzz target, once.
 *
 * This is how a build without libFuzzer holds the corpus: a fault that was found stays found. Each input lies in a
 * block of exactly its size, so that a sanitizer sees a read one byte past its end. A folder that is not there is
 * passed over; a file that cannot be read fails the run. */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The whole file in a block of its size (one byte for an empty file); NULL when it cannot be read. */
static uint8_t *read_whole(const char *path, size_t size)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    uint8_t *bytes = malloc(size ? size : 1);
    if (bytes && fread(bytes, 1, size, file) != size) {
        free(bytes);
        bytes = NULL;
    }
    fclose(file);
    return bytes;
}

static int feed(const char *path, size_t size)
{
    uint8_t *bytes = read_whole(path, size);
    if (!bytes) {
        fprintf(stderr, "%s: cannot be read\n", path);
        return 1;
    }
    LLVMFuzzerTestOneInput(bytes, size);
    free(bytes);
    return 0;
}

static int feed_folder(const char *folder, unsigned long *fed)
{
    DIR *entries = opendir(folder);
    if (!entries)
        return errno != ENOENT;
    int failed = 0;
    for (const struct dirent *entry; (entry = readdir(entries));) {
        char path[4096];
        struct stat info;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (stat(path, &info) != 0 || !S_ISREG(info.st_mode))
            continue;
        failed |= feed(path, (size_t)info.st_size);
        ++*fed;
    }
    closedir(entries);
    return failed;
}

int main(int argc, char **argv)
{
    unsigned long fed = 0;
    int failed = 0;
    uint8_t *nothing = calloc(1, 1);
    LLVMFuzzerTestOneInput(nothing, 0);
    free(nothing);
    for (int i = 1; i < argc; ++i)
        failed |= feed_folder(argv[i], &fed);
    printf("%lu inputs and the empty one\n", fed);
    return failed;
}
