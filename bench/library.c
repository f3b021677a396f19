/* What a library costs that is opened, listed and searched: medians and minima in milliseconds, and the most memory that was
 * resident. The file is read once before, so all is warm.
 *
 *   bench_library LIBRARY ROUNDS WORD... */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tenure/tenure.h>

#include "os/os.h"

#define ROUNDS_MAX 1000u
#define PAGE 100u

static uint64_t rounds[ROUNDS_MAX];

static void stop(const char *what, const tn_error *err)
{
    fprintf(stderr, "%s: %s\n", what, err->message);
    exit(1);
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void say(const char *what, unsigned count, uint64_t found)
{
    qsort(rounds, count, sizeof *rounds, by_size);
    printf("%s\t%.3f\t%.3f\t%llu\n", what, (double)rounds[count / 2] / 1e6, (double)rounds[0] / 1e6,
           (unsigned long long)found);
}

static bool count_record(void *user, const tn_record *record)
{
    *(uint64_t *)user += record->json.size > 0;
    return true;
}

static tn_library *open_it(tn_context *context, const char *path)
{
    tn_error err;
    tn_library *library = NULL;
    tn_library_options options = {.size = sizeof options, .read_only = true};
    if (tn_library_open(context, path, &options, &library, &err) != TN_OK)
        stop(path, &err);
    return library;
}

static void bench_open(tn_context *context, const char *path, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        uint64_t began = tn_os_monotonic_ns();
        tn_library *library = open_it(context, path);
        rounds[i] = tn_os_monotonic_ns() - began;
        tn_library_close(library);
    }
    say("open", count, 0);
}

static void bench_list(tn_library *library, unsigned count)
{
    uint64_t found = 0;
    tn_error err;
    tn_list_options options = {.size = sizeof options, .limit = PAGE};
    for (unsigned i = 0; i < count; i++) {
        found = 0;
        uint64_t began = tn_os_monotonic_ns();
        if (tn_library_list(library, &options, count_record, &found, &err) != TN_OK)
            stop("list", &err);
        rounds[i] = tn_os_monotonic_ns() - began;
    }
    say("list", count, found);
}

static void bench_search(tn_library *library, const char *text, uint64_t limit, unsigned count)
{
    uint64_t found = 0;
    tn_error err;
    for (unsigned i = 0; i < count; i++) {
        found = 0;
        uint64_t began = tn_os_monotonic_ns();
        if (tn_library_search(library, text, limit, count_record, &found, &err) != TN_OK)
            stop(text, &err);
        rounds[i] = tn_os_monotonic_ns() - began;
    }
    char what[256];
    snprintf(what, sizeof what, "search %s", text);
    say(what, count, found);
}

/* The most that was resident, as Linux tells it. */
static void say_memory(void)
{
    char line[256];
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "VmHWM:", 6) == 0)
            printf("resident\t%.1f\t%.1f\t0\n", strtod(line + 6, NULL) / 1024, strtod(line + 6, NULL) / 1024);
    if (file != NULL)
        fclose(file);
}

int main(int argc, char **argv)
{
    tn_error err;
    tn_context *context = NULL;
    if (argc < 3)
        return 2;
    unsigned count = (unsigned)strtoul(argv[2], NULL, 10);
    if (count == 0 || count > ROUNDS_MAX)
        return 2;
    if (tn_context_create(NULL, &context, &err) != TN_OK)
        stop("context", &err);
    tn_library_close(open_it(context, argv[1]));
    bench_open(context, argv[1], count);
    tn_library *library = open_it(context, argv[1]);
    bench_list(library, count);
    for (int i = 3; i < argc; i++)
        bench_search(library, argv[i], PAGE, count);
    say_memory();
    tn_library_close(library);
    tn_context_destroy(context);
    return 0;
}
