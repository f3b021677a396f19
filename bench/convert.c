/* How fast element types become each other, beside memcpy of as many bytes. Prints for each pair the ratio of bytes read
 * and written a second, memcpy being 1: the median of many rounds, both in each round. `bench_convert [MEGABYTES]`: how
 * many megabytes the wider side holds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "weights/convert.h"

enum { ROUNDS = 21 };

static uint64_t now_ns(void)
{
    struct timespec now;
    (void)timespec_get(&now, TIME_UTC);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int order(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Bytes that cross the bus are those read and those written; memcpy moves the same sum. */
static double ratio(tn_dtype from, tn_dtype to, uint8_t *in, uint8_t *out, size_t bytes)
{
    size_t wider = tn_dtype_bits(from) > tn_dtype_bits(to) ? tn_dtype_bits(from) / 8 : tn_dtype_bits(to) / 8;
    size_t count = bytes / wider, moved = count * (tn_dtype_bits(from) + tn_dtype_bits(to)) / 8;
    double ratios[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t t0 = now_ns();
        memcpy(out, in, moved / 2);
        uint64_t t1 = now_ns();
        (void)tn_convert(from, in, to, out, count, NULL);
        uint64_t t2 = now_ns();
        ratios[i] = (double)(t1 - t0) / (double)(t2 - t1);
    }
    qsort(ratios, ROUNDS, sizeof *ratios, order);
    return ratios[ROUNDS / 2];
}

int main(int argc, char **argv)
{
    static const tn_dtype pairs[][2] = {{TN_F16, TN_F32},     {TN_BF16, TN_F32},    {TN_F32, TN_BF16}, {TN_F32, TN_F16},
                                        {TN_F8_E4M3, TN_F32}, {TN_F32, TN_F8_E4M3}, {TN_F16, TN_BF16}, {TN_F64, TN_F32}};
    size_t bytes = (size_t)(argc > 1 ? atoi(argv[1]) : 256) << 20;
    uint8_t *in = malloc(bytes), *out = malloc(bytes);
    if (bytes == 0 || in == NULL || out == NULL)
        return 1;
    for (size_t i = 0; i < bytes; i++)
        in[i] = (uint8_t)(i * 167 >> 3);
    memset(out, 0, bytes);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        printf("%s %s %.3f\n", tn_dtype_name(pairs[i][0]), tn_dtype_name(pairs[i][1]),
               ratio(pairs[i][0], pairs[i][1], in, out, bytes));
    printf("# %s, %zu MiB\n", tn_convert_way(), bytes >> 20);
    free(in);
    free(out);
    return 0;
}
