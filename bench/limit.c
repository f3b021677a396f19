/* The limit of a cold read: how fast a disk gives a file to a program that does nothing else.
 *
 *   bench_limit read FILE THREADS KIB ROUNDS   direct reads of KIB each into huge-page memory; one line a round
 *   bench_limit drop FILE                      take the file out of the system's cache
 *   bench_limit resident FILE                  how many of 1,000 of its pages are in that cache
 *   bench_limit touch MIB                      take so much memory in huge pages, write to it and give it back
 * A line is "nanoseconds bytes". The file is taken out of the cache before each round; what lies below the system (a
 * host, a disk's own memory) may still have it, for everything that is measured here alike. A host may also take memory
 * that its virtual machine does not use, and give it back slowly: who is measured after `touch` does not wait for it. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 64u
#define HUGE_BYTES ((size_t)2 << 20)

typedef struct reading {
    int fd;
    uint64_t size;
    size_t block;
    _Atomic uint64_t next, done;
    _Atomic int failed;
} reading;

typedef struct reader {
    reading *all;
    char *memory;
} reader;

static void *read_blocks(void *argument)
{
    reader *one = argument;
    reading *all = one->all;
    for (;;) {
        uint64_t at = atomic_fetch_add(&all->next, all->block);
        if (at >= all->size)
            return NULL;
        ssize_t got = pread(all->fd, one->memory, all->block, (off_t)at);
        if (got <= 0) {
            atomic_store(&all->failed, 1);
            return NULL;
        }
        atomic_fetch_add(&all->done, (uint64_t)got);
    }
}

/* Huge pages as the system has them set aside, else as it makes them; touched, so that no round pays for that. */
static char *huge_memory(size_t size)
{
    size = (size + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
    if (memory == MAP_FAILED) {
        memory = mmap(NULL, size + HUGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            return NULL;
        memory += HUGE_BYTES - (uintptr_t)memory % HUGE_BYTES;
        madvise(memory, size, MADV_HUGEPAGE);
    }
    memset(memory, 1, size);
    return memory;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int drop(const char *path)
{
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fdatasync(fd) != 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
        return 1;
    close(fd);
    return 0;
}

static int resident(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &st) != 0 || st.st_size == 0)
        return 1;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = ((size_t)st.st_size + page - 1) / page, there = 0;
    void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    unsigned char *flags = malloc(pages);
    if (map == MAP_FAILED || flags == NULL || mincore(map, (size_t)st.st_size, flags) != 0)
        return 1;
    for (size_t i = 0; i < pages; i++)
        there += flags[i] & 1u;
    printf("%zu\n", there * 1000 / pages);
    return 0;
}

static int touch(size_t mib)
{
    size_t size = mib << 20;
    char *memory = mmap(NULL, size + HUGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 1;
    memory += HUGE_BYTES - (uintptr_t)memory % HUGE_BYTES;
    madvise(memory, size, MADV_HUGEPAGE);
    memset(memory, 1, size);
    return 0;
}

static int read_once(const char *path, reader *readers, unsigned count, size_t block)
{
    struct stat st;
    pthread_t threads[THREADS_MAX];
    reading all = {.fd = open(path, O_RDONLY | O_DIRECT), .block = block};
    if (drop(path) != 0 || all.fd < 0 || fstat(all.fd, &st) != 0)
        return 1;
    all.size = (uint64_t)st.st_size;
    uint64_t began = now_ns();
    for (unsigned i = 0; i < count; i++) {
        readers[i].all = &all;
        if (pthread_create(&threads[i], NULL, read_blocks, &readers[i]) != 0)
            return 1;
    }
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    printf("%llu %llu\n", (unsigned long long)(now_ns() - began), (unsigned long long)all.done);
    close(all.fd);
    return all.failed || all.done != all.size;
}

static int read_rounds(const char *path, unsigned count, size_t block, unsigned rounds)
{
    reader readers[THREADS_MAX];
    if (count == 0 || count > THREADS_MAX || block == 0)
        return 2;
    char *memory = huge_memory(count * block);
    if (memory == NULL)
        return 1;
    for (unsigned i = 0; i < count; i++)
        readers[i].memory = memory + i * block;
    for (unsigned i = 0; i < rounds; i++)
        if (read_once(path, readers, count, block) != 0)
            return 1;
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 6 && strcmp(argv[1], "read") == 0)
        return read_rounds(argv[2], (unsigned)atoi(argv[3]), (size_t)atoi(argv[4]) << 10, (unsigned)atoi(argv[5]));
    if (argc == 3 && strcmp(argv[1], "drop") == 0)
        return drop(argv[2]);
    if (argc == 3 && strcmp(argv[1], "resident") == 0)
        return resident(argv[2]);
    if (argc == 3 && strcmp(argv[1], "touch") == 0)
        return touch((size_t)atoi(argv[2]));
    return 2;
}
