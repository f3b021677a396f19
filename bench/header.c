/* How long it takes to open a safetensors file into a catalog, every check on: made files of 2,515 and 10,000 tensors,
 * and 1,000 files of a LoRA's 744. Prints medians and minima in milliseconds. Files are sparse, made in the folder
 * given (or the working folder) and taken away again; all is warm.
 *
 *   bench_header [FOLDER] [ROUNDS] */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tenure/tenure.h>

#include "os/os.h"

#define PATH_BYTES 1024
#define LORAS 1000u

typedef size_t (*write_entry)(char *out, size_t room, unsigned number, unsigned long long at);

static void stop(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

/* An entry of a large checkpoint: 800 KB of F16 with a long name. */
static size_t model_entry(char *out, size_t room, unsigned i, unsigned long long at)
{
    return (size_t)snprintf(out, room,
                            "%c\"model.diffusion_model.input_blocks.%u.1.transformer_blocks.%u.attn%u.to_%c.weight\":"
                            "{\"dtype\":\"F16\",\"shape\":[640,640],\"data_offsets\":[%llu,%llu]}",
                            i == 0 ? '{' : ',', i / 80, i / 8 % 10, i / 4 % 2 + 1, "qkvo"[i % 4], at * 819200,
                            (at + 1) * 819200);
}

/* Three entries for each module of a LoRA: alpha, down, up. `at` counts modules. */
static size_t lora_entry(char *out, size_t room, unsigned i, unsigned long long at)
{
    unsigned long long begin = at * 143362;
    char module[128];
    snprintf(module, sizeof module, "lora_unet_input_blocks_7_1_transformer_blocks_%u_attn%u_to_%c", i / 8, i / 4 % 2 + 1,
             "qkvo"[i % 4]);
    return (size_t)snprintf(out, room,
                            "%c\"%s.alpha\":{\"dtype\":\"F16\",\"shape\":[],\"data_offsets\":[%llu,%llu]},"
                            "\"%s.lora_down.weight\":{\"dtype\":\"F16\",\"shape\":[28,1280],\"data_offsets\":[%llu,%llu]},"
                            "\"%s.lora_up.weight\":{\"dtype\":\"F16\",\"shape\":[1280,28],\"data_offsets\":[%llu,%llu]}",
                            i == 0 ? '{' : ',', module, begin, begin + 2, module, begin + 2, begin + 71682, module,
                            begin + 71682, begin + 143362);
}

static void make_file(const char *path, unsigned entries, write_entry entry, unsigned long long data_bytes)
{
    size_t room = entries * 512u + 64, size = 8;
    char *bytes = malloc(room);
    if (bytes == NULL)
        stop(path, "no memory");
    for (unsigned i = 0; i < entries; i++)
        size += entry(bytes + size, room - size, i, i);
    bytes[size++] = '}';
    while (size % 8 != 0)
        bytes[size++] = ' ';
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (char)((uint64_t)(size - 8) >> (8 * i));
    tn_os_file file;
    tn_error err;
    if (tn_os_open(path, TN_OS_WRITE | TN_OS_CREATE | TN_OS_TRUNCATE, &file, &err) != TN_OK ||
        tn_os_write(&file, 0, bytes, size, &err) != TN_OK || tn_os_resize(&file, size + data_bytes, &err) != TN_OK)
        stop(path, err.message);
    tn_os_close(&file);
    free(bytes);
}

static size_t open_one(tn_context *context, const char *path)
{
    tn_checkpoint *checkpoint = NULL;
    tn_error err;
    if (tn_checkpoint_open(context, path, NULL, &checkpoint, &err) != TN_OK)
        stop(path, err.message);
    const tn_tensor *tensors;
    const tn_finding *findings;
    size_t count = tn_checkpoint_tensors(checkpoint, &tensors);
    if (tn_checkpoint_findings(checkpoint, &findings) != 0)
        stop(path, findings[0].message.bytes);
    tn_checkpoint_release(checkpoint);
    return count;
}

static int by_value(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

/* Open `count` files ROUNDS times; "%u" in the pattern is the number of the file. */
static void measure(tn_context *context, const char *what, const char *folder, const char *stem, unsigned count,
                    unsigned rounds)
{
    uint64_t *times = malloc(rounds * sizeof *times);
    size_t tensors = 0;
    if (times == NULL)
        stop(what, "no memory");
    for (unsigned round = 0; round < rounds; round++) {
        uint64_t begin = tn_os_monotonic_ns();
        tensors = 0;
        for (unsigned i = 0; i < count; i++) {
            char path[PATH_BYTES];
            snprintf(path, sizeof path, "%s/%s%u.safetensors", folder, stem, i);
            tensors += open_one(context, path);
        }
        times[round] = tn_os_monotonic_ns() - begin;
    }
    qsort(times, rounds, sizeof *times, by_value);
    printf("%-24s %9zu tensors  median %8.3f ms  min %8.3f ms\n", what, tensors, (double)times[rounds / 2] / 1e6,
           (double)times[0] / 1e6);
    free(times);
}

static void each_file(const char *folder, bool make)
{
    char path[PATH_BYTES];
    for (unsigned i = 0; i < LORAS + 2; i++) {
        const char *stem = i < LORAS ? "lora" : i == LORAS ? "model" : "large";
        snprintf(path, sizeof path, "%s/%s%u.safetensors", folder, stem, i < LORAS ? i : 0);
        if (!make)
            (void)tn_os_remove(path, NULL);
        else if (i < LORAS)
            make_file(path, 248, lora_entry, 248u * 143362ull);
        else
            make_file(path, i == LORAS ? 2515 : 10000, model_entry, (i == LORAS ? 2515 : 10000) * 819200ull);
    }
}

int main(int argc, char **argv)
{
    char folder[PATH_BYTES];
    unsigned rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 101;
    snprintf(folder, sizeof folder, "%s/header-bench", argc > 1 ? argv[1] : ".");
    tn_context *context = NULL;
    tn_error err;
    if (rounds == 0 || tn_context_create(NULL, &context, &err) != TN_OK)
        stop("bench_header", "wrong usage, or no context");
    if (tn_os_make_folders(folder, &err) != TN_OK)
        stop(folder, err.message);
    each_file(folder, true);
    measure(context, "one of 2,515", folder, "model", 1, rounds);
    measure(context, "one of 10,000", folder, "large", 1, rounds);
    measure(context, "1,000 of 744", folder, "lora", LORAS, rounds / 10 + 1);
    each_file(folder, false);
    (void)tn_os_remove_folder(folder, NULL);
    tn_context_destroy(context);
    return 0;
}
