/* Leases beside what a program could do at best. Every round prints a line: nanoseconds, and the sum of what was read.
 *
 *   all FILE ROUNDS           every tensor into owned memory, released after each round (recycled from the second on)
 *   compared FILE ROUNDS [cold]  as all or cold, each tensor compared with its digest while it is read
 *   each FILE ROUNDS          the same, one lease after the other
 *   views FILE ROUNDS         open, a view of every tensor, release all of it
 *   cold FILE ROUNDS [drop]   as all, the file out of the system's cache before each round; drop: left as it was
 *   small FILE TIMES ROUNDS   the first tensor of at most 4 KiB, TIMES times
 *   pread FILE TIMES ROUNDS   the same bytes with a bare pread into a ready buffer
 *   rows FILE TIMES ROUNDS    four rows out of the middle of the largest tensor, TIMES times; bytes read of one
 * `all` and `cold` also say on stderr the way that was taken. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <tenure/tenure.h>

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void stop(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static tn_context *context;

static tn_checkpoint *open_one(const char *path)
{
    tn_checkpoint *checkpoint;
    tn_error err;
    if (tn_checkpoint_open(context, path, NULL, &checkpoint, &err) != TN_OK)
        stop(path, err.message);
    return checkpoint;
}

/* A sum of words that every byte goes into; the peers add the same. */
static uint64_t sum_of(const void *data, uint64_t size)
{
    const uint8_t *bytes = data;
    uint64_t sum = 0;
    for (uint64_t i = 0; i + 8 <= size; i += 8) {
        uint64_t word;
        memcpy(&word, bytes + i, 8);
        sum += word;
    }
    for (uint64_t i = size - size % 8; i < size; i++)
        sum += bytes[i];
    return sum;
}

static void drop_cache(const char *path)
{
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fdatasync(fd) != 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
        stop(path, "cannot be taken out of the cache");
    close(fd);
}

static uint64_t end_round(tn_lease **leases, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += sum_of(leases[i]->data, leases[i]->size_bytes);
        tn_lease_release(leases[i]);
    }
    return sum;
}

static void all(const char *path, unsigned long rounds, const tn_lease_options *given, bool cold, bool compared)
{
    tn_lease_options options = *given;
    const tn_tensor *tensors;
    tn_checkpoint *checkpoint = open_one(path);
    size_t count = tn_checkpoint_tensors(checkpoint, &tensors);
    tn_lease **leases = calloc(count + 1, sizeof *leases);
    tn_error err;
    uint8_t *digests = calloc(count + 1, 32);
    if (compared && tn_digest_tensors(checkpoint, digests, count, &err) != TN_OK)
        stop(path, err.message);
    options.digests = compared ? digests : NULL;
    for (unsigned long i = 0; i < rounds; i++) {
        if (cold)
            drop_cache(path);
        uint64_t began = now_ns();
        if (tn_lease_many(checkpoint, NULL, count, &options, leases, &err) != TN_OK)
            stop(path, err.message);
        uint64_t took = now_ns() - began;
        if (i == 0 && count > 0)
            fprintf(stderr, "%s: %s\n", tn_way_word(leases[0]->way), leases[0]->reason);
        uint64_t sum = end_round(leases, count);
        printf("%llu %llu\n", (unsigned long long)took, (unsigned long long)sum);
    }
    free(digests);
    free(leases);
    tn_checkpoint_release(checkpoint);
}

static void each(const char *path, unsigned long rounds)
{
    const tn_tensor *tensors;
    tn_checkpoint *checkpoint = open_one(path);
    size_t count = tn_checkpoint_tensors(checkpoint, &tensors);
    tn_lease **leases = calloc(count + 1, sizeof *leases);
    tn_error err;
    for (unsigned long i = 0; i < rounds; i++) {
        uint64_t began = now_ns();
        for (size_t t = 0; t < count; t++)
            if (tn_lease_tensor(checkpoint, &tensors[t], NULL, &leases[t], &err) != TN_OK)
                stop(path, err.message);
        uint64_t took = now_ns() - began, sum = end_round(leases, count);
        printf("%llu %llu\n", (unsigned long long)took, (unsigned long long)sum);
    }
    free(leases);
    tn_checkpoint_release(checkpoint);
}

static void views(const char *path, unsigned long rounds)
{
    tn_lease_options options = TN_LEASE_OPTIONS_INIT;
    options.flags = TN_LEASE_VIEW;
    for (unsigned long i = 0; i < rounds; i++) {
        const tn_tensor *tensors;
        tn_error err;
        uint64_t began = now_ns();
        tn_checkpoint *checkpoint = open_one(path);
        size_t count = tn_checkpoint_tensors(checkpoint, &tensors);
        tn_lease **leases = calloc(count + 1, sizeof *leases);
        if (tn_lease_many(checkpoint, NULL, count, &options, leases, &err) != TN_OK)
            stop(path, err.message);
        uint64_t took = now_ns() - began;
        for (size_t t = 0; t < count; t++)
            tn_lease_release(leases[t]);
        tn_checkpoint_release(checkpoint);
        free(leases);
        printf("%llu 0\n", (unsigned long long)took);
    }
}

static const tn_tensor *first_small(const tn_checkpoint *checkpoint)
{
    const tn_tensor *tensors;
    size_t count = tn_checkpoint_tensors(checkpoint, &tensors);
    for (size_t i = 0; i < count; i++)
        if (tensors[i].size_bytes > 0 && tensors[i].size_bytes <= 4096)
            return &tensors[i];
    stop("small", "no tensor of at most 4 KiB");
    return NULL;
}

static void small(const char *path, unsigned long times, unsigned long rounds)
{
    tn_checkpoint *checkpoint = open_one(path);
    const tn_tensor *tensor = first_small(checkpoint);
    tn_error err;
    for (unsigned long i = 0; i < rounds; i++) {
        uint64_t sum = 0, began = now_ns();
        for (unsigned long t = 0; t < times; t++) {
            tn_lease *lease;
            if (tn_lease_tensor(checkpoint, tensor, NULL, &lease, &err) != TN_OK)
                stop(path, err.message);
            sum += *(const uint8_t *)lease->data;
            tn_lease_release(lease);
        }
        printf("%llu %llu\n", (unsigned long long)(now_ns() - began), (unsigned long long)sum);
    }
    tn_checkpoint_release(checkpoint);
}

static void bare_pread(const char *path, unsigned long times, unsigned long rounds)
{
    static char ready[4096];
    tn_checkpoint *checkpoint = open_one(path);
    const tn_tensor *tensor = first_small(checkpoint);
    const tn_storage *storages;
    tn_checkpoint_storages(checkpoint, &storages);
    int fd = open(path, O_RDONLY);
    for (unsigned long i = 0; i < rounds; i++) {
        uint64_t sum = 0, began = now_ns();
        for (unsigned long t = 0; t < times; t++) {
            if (pread(fd, ready, tensor->size_bytes, (off_t)storages[tensor->storage].offset) < 0)
                stop(path, "cannot be read");
            sum += (uint8_t)ready[0];
        }
        printf("%llu %llu\n", (unsigned long long)(now_ns() - began), (unsigned long long)sum);
    }
    close(fd);
    tn_checkpoint_release(checkpoint);
}

static const tn_tensor *largest(const tn_checkpoint *checkpoint)
{
    const tn_tensor *tensors, *best = NULL;
    size_t count = tn_checkpoint_tensors(checkpoint, &tensors);
    for (size_t i = 0; i < count; i++)
        if (tensors[i].rank > 0 && (best == NULL || tensors[i].size_bytes > best->size_bytes))
            best = &tensors[i];
    if (best == NULL)
        stop("rows", "no tensor has rows");
    return best;
}

static void rows(const char *path, unsigned long times, unsigned long rounds)
{
    tn_checkpoint *checkpoint = open_one(path);
    const tn_tensor *tensor = largest(checkpoint);
    int64_t middle = (int64_t)tensor->shape[0] / 2;
    tn_index index = {TN_INDEX_RANGE, middle, middle + 4, TN_INDEX_NONE};
    tn_lease_options options = TN_LEASE_OPTIONS_INIT;
    options.index = &index;
    options.index_count = 1;
    for (unsigned long i = 0; i < rounds; i++) {
        uint64_t before = tn_context_bytes_read(context), began = now_ns();
        for (unsigned long t = 0; t < times; t++) {
            tn_lease *lease;
            tn_error err;
            if (tn_lease_tensor(checkpoint, tensor, &options, &lease, &err) != TN_OK)
                stop(path, err.message);
            tn_lease_release(lease);
        }
        printf("%llu %llu\n", (unsigned long long)(now_ns() - began),
               (unsigned long long)(tn_context_bytes_read(context) - before) / times);
    }
    tn_checkpoint_release(checkpoint);
}

static int run(int argc, char **argv)
{
    tn_lease_options options = TN_LEASE_OPTIONS_INIT;
    const char *mode = argc >= 4 ? argv[1] : "";
    unsigned long one = argc >= 4 ? strtoul(argv[3], NULL, 10) : 0, two = argc >= 5 ? strtoul(argv[4], NULL, 10) : 0;
    if (strcmp(mode, "all") == 0)
        all(argv[2], one, &options, false, false);
    else if (strcmp(mode, "compared") == 0)
        all(argv[2], one, &options, argc >= 5, true);
    else if (strcmp(mode, "each") == 0)
        each(argv[2], one);
    else if (strcmp(mode, "views") == 0)
        views(argv[2], one);
    else if (strcmp(mode, "cold") == 0) {
        options.flags = argc >= 5 ? TN_LEASE_DROP_BEHIND : 0;
        all(argv[2], one, &options, true, false);
    } else if (strcmp(mode, "small") == 0 && two > 0)
        small(argv[2], one, two);
    else if (strcmp(mode, "pread") == 0 && two > 0)
        bare_pread(argv[2], one, two);
    else if (strcmp(mode, "rows") == 0 && two > 0)
        rows(argv[2], one, two);
    else
        return 2;
    return 0;
}

int main(int argc, char **argv)
{
    tn_error err;
    tn_context_options options = TN_CONTEXT_OPTIONS_INIT;
    options.keep_bytes = UINT64_C(4) << 30; /* to be used again, not to be given to the system in between */
    if (tn_context_create(&options, &context, &err) != TN_OK)
        stop("context", err.message);
    int code = run(argc, argv);
    tn_context_destroy(context);
    return code;
}
