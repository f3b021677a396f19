/* What Tenure's side of bench/run.py measures inside one process. Every round prints a line: nanoseconds on the clock,
 * and of CPU time.
 *
 *   open FILE ROUNDS        open one file into a catalog, every check on, and release it
 *   parse FILE ROUNDS       the same from bytes that are mapped already: parsing and every check, without the file
 *   list FOLDER ROUNDS      open every file of a folder and read the name, type and shape of every tensor
 *   identify FOLDER ROUNDS  say of every file of a folder what it is
 *   sample FOLDER ROUNDS    open every file of a folder and take its sample digest
 *   spawn ROUNDS PROGRAM [ARGUMENT...]   start a program, its output thrown away, and wait for its end */
#include <dirent.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <tenure/tenure.h>

#include "format/checkpoint.h"
#include "io/source.h"

extern char **environ;

typedef struct paths {
    char **items;
    size_t count;
} paths;

static unsigned long long now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (unsigned long long)now.tv_sec * 1000000000u + (unsigned long long)now.tv_nsec;
}

static void stop(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static paths files_of(const char *folder)
{
    paths out = {NULL, 0};
    size_t room = 0;
    DIR *entries = opendir(folder);
    if (!entries)
        stop(folder, "cannot be opened");
    for (const struct dirent *entry; (entry = readdir(entries));) {
        if (entry->d_name[0] == '.')
            continue;
        if (out.count == room) {
            room = room ? 2 * room : 1024;
            out.items = realloc(out.items, room * sizeof *out.items);
        }
        size_t size = strlen(folder) + strlen(entry->d_name) + 2;
        char *path = malloc(size);
        snprintf(path, size, "%s/%s", folder, entry->d_name);
        out.items[out.count++] = path;
    }
    closedir(entries);
    if (out.items)
        qsort(out.items, out.count, sizeof *out.items, by_name);
    return out;
}

static void free_paths(paths all)
{
    for (size_t i = 0; i < all.count; i++)
        free(all.items[i]);
    free(all.items);
}

static tn_checkpoint *open_one(tn_context *context, const char *path)
{
    tn_checkpoint *checkpoint;
    tn_error err;
    if (tn_checkpoint_open(context, path, NULL, &checkpoint, &err) != TN_OK)
        stop(path, err.message);
    return checkpoint;
}

/* Something that depends on every name, type and shape, so that reading them cannot be left out. */
static uint64_t sum_of(const tn_checkpoint *checkpoint)
{
    const tn_tensor *tensors;
    uint64_t sum = 0;
    size_t count = tn_checkpoint_tensors(checkpoint, &tensors);
    for (size_t i = 0; i < count; i++) {
        sum += tensors[i].name.size + (uint8_t)tensors[i].name.bytes[tensors[i].name.size - 1] + tensors[i].dtype;
        for (uint32_t d = 0; d < tensors[i].rank; d++)
            sum += tensors[i].shape[d];
    }
    return sum;
}

static uint64_t list_one(tn_context *context, const char *path)
{
    tn_checkpoint *checkpoint = open_one(context, path);
    uint64_t sum = sum_of(checkpoint);
    tn_checkpoint_release(checkpoint);
    return sum;
}

static uint64_t open_and_close(tn_context *context, const char *path)
{
    tn_checkpoint_release(open_one(context, path));
    return 0;
}

/* The whole file as a read-only window, opened once. */
static const tn_os_window *window_of(const char *path)
{
    static tn_os_window window;
    tn_os_file file = {0};
    tn_os_info info;
    tn_error err;
    if (window.bytes != NULL)
        return &window;
    if (tn_os_open(path, TN_OS_READ, &file, &err) != TN_OK || tn_os_info_of(&file, &info, &err) != TN_OK ||
        tn_os_window_open(&file, 0, info.size, &window, &err) != TN_OK)
        stop(path, err.message);
    tn_os_close(&file);
    return &window;
}

static uint64_t parse_mapped(tn_context *context, const char *path)
{
    const tn_os_window *window = window_of(path);
    tn_source *source;
    tn_checkpoint *checkpoint;
    tn_error err;
    if (tn_source_over(context, window->bytes, window->size, path, &source, &err) != TN_OK ||
        tn_checkpoint_open_source(source, &checkpoint, &err) != TN_OK)
        stop(path, err.message);
    const tn_tensor *tensors;
    uint64_t count = tn_checkpoint_tensors(checkpoint, &tensors);
    tn_checkpoint_release(checkpoint);
    tn_source_release(source);
    return count;
}

static uint64_t identify_one(tn_context *context, const char *path)
{
    tn_answer *answer;
    tn_error err;
    if (tn_identify(context, path, NULL, &answer, &err) != TN_OK)
        stop(path, err.message);
    if (answer->state != TN_STATE_IDENTIFIED)
        stop(path, tn_state_word(answer->state));
    uint64_t tensors = answer->tensors;
    tn_answer_destroy(answer);
    return tensors;
}

static uint64_t sample_one(tn_context *context, const char *path)
{
    uint8_t digest[32];
    tn_error err;
    tn_checkpoint *checkpoint = open_one(context, path);
    if (tn_digest_sample(context, checkpoint, digest, &err) != TN_OK)
        stop(path, err.message);
    tn_checkpoint_release(checkpoint);
    return digest[0];
}

static void measure(const paths *all, unsigned long rounds, uint64_t (*one)(tn_context *, const char *))
{
    tn_context *context;
    tn_error err;
    uint64_t sum = 0;
    if (tn_context_create(NULL, &context, &err) != TN_OK)
        stop("context", err.message);
    for (size_t i = 0; i < all->count; i++) /* not measured: fills the page cache and the allocator */
        sum += one(context, all->items[i]);
    for (unsigned long round = 0; round < rounds; round++) {
        unsigned long long began = now_ns(CLOCK_MONOTONIC), cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID);
        for (size_t i = 0; i < all->count; i++)
            sum += one(context, all->items[i]);
        cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
        printf("%llu %llu\n", now_ns(CLOCK_MONOTONIC) - began, cpu);
    }
    fprintf(stderr, "sum %llu\n", (unsigned long long)sum);
    tn_context_destroy(context);
}

static void spawn(unsigned long rounds, char **argv)
{
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    for (unsigned long round = 0; round < rounds; round++) {
        pid_t child;
        int status;
        unsigned long long began = now_ns(CLOCK_MONOTONIC);
        if (posix_spawnp(&child, argv[0], &actions, NULL, argv, environ) != 0 || waitpid(child, &status, 0) < 0)
            stop(argv[0], "cannot be started");
        printf("%llu\n", now_ns(CLOCK_MONOTONIC) - began);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            stop(argv[0], "did not end with 0");
    }
    posix_spawn_file_actions_destroy(&actions);
}

int main(int argc, char **argv)
{
    if (argc >= 4 && strcmp(argv[1], "spawn") == 0) {
        spawn(strtoul(argv[2], NULL, 10), argv + 3);
        return 0;
    }
    if (argc != 4)
        stop("usage", "bench_checkpoint open|parse|list|identify|sample PATH ROUNDS, or spawn ROUNDS PROGRAM...");
    unsigned long rounds = strtoul(argv[3], NULL, 10);
    if (strcmp(argv[1], "open") == 0) {
        measure(&(paths){&argv[2], 1}, rounds, open_and_close);
        return 0;
    }
    if (strcmp(argv[1], "parse") == 0) {
        measure(&(paths){&argv[2], 1}, rounds, parse_mapped);
        return 0;
    }
    paths all = files_of(argv[2]);
    if (strcmp(argv[1], "list") == 0)
        measure(&all, rounds, list_one);
    else if (strcmp(argv[1], "identify") == 0)
        measure(&all, rounds, identify_one);
    else if (strcmp(argv[1], "sample") == 0)
        measure(&all, rounds, sample_one);
    else
        stop(argv[1], "is none of open, parse, list, identify, sample, spawn");
    free_paths(all);
    return 0;
}
