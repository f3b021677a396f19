/* How fast the JSON reader is: over a safetensors header shaped like that of SDXL (2,515 tensors), made here.
 *
 * Four ways over the same bytes: every token by tn_json_next, the same by tn_json_next_plain (no shortcuts), the loop
 * a format reader has (key, dtype, shape, offsets), and that loop looking ahead over whole entries. Prints the least
 * and the median of many passes. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/json.h"

enum { TENSORS = 2515, PASSES = 2001 };

static uint64_t now_ns(void)
{
    struct timespec now;
    (void)timespec_get(&now, TIME_UTC);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The header of `TENSORS` tensors with names, shapes and growing offsets as SDXL has them. */
static size_t make_header(char *out, size_t room)
{
    static const char *const layers[] = {"attn1.to_q.weight",     "attn1.to_k.weight",   "attn1.to_v.weight",
                                         "attn1.to_out.0.weight", "attn1.to_out.0.bias", "attn2.to_k.weight",
                                         "ff.net.0.proj.weight",  "ff.net.0.proj.bias",  "ff.net.2.weight",
                                         "norm1.weight",          "norm1.bias"};
    static const unsigned widths[] = {320, 640, 1280};
    uint64_t offset = 0;
    size_t at = 0;
    at += (size_t)snprintf(out + at, room - at, "{\"__metadata__\":{\"format\":\"pt\"}");
    for (unsigned i = 0; i < TENSORS; i++) {
        const char *layer = layers[i % 11];
        unsigned block = i / 11, width = widths[block / 24 % 3];
        unsigned columns = layer[0] == 'f' ? 4 * width : strstr(layer, "attn2") ? 2048 : width;
        bool vector = strstr(layer, "bias") || strstr(layer, "norm");
        uint64_t size = 2 * (uint64_t)width * (vector ? 1 : columns);
        at += (size_t)snprintf(out + at, room - at,
                               ",\"model.diffusion_model.%s_blocks.%u.1.transformer_blocks.%u.%s\":{\"dtype\":\"F16\",",
                               block < 120 ? "input" : "output", block / 12, block % 12, layer);
        at += vector ? (size_t)snprintf(out + at, room - at, "\"shape\":[%u],", width)
                     : (size_t)snprintf(out + at, room - at, "\"shape\":[%u,%u],", width, columns);
        at += (size_t)snprintf(out + at, room - at, "\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", offset,
                               offset + size);
        offset += size;
    }
    at += (size_t)snprintf(out + at, room - at, "}");
    return at;
}

static uint64_t all_tokens(const char *bytes, size_t size)
{
    tn_json json;
    uint64_t count = 0;
    tn_json_init(&json, bytes, size);
    for (tn_json_kind kind = tn_json_next(&json); kind != TN_JSON_END && kind != TN_JSON_ERROR;
         kind = tn_json_next(&json))
        count++;
    return count;
}

static uint64_t all_tokens_plain(const char *bytes, size_t size)
{
    tn_json json;
    uint64_t count = 0;
    tn_json_init(&json, bytes, size);
    for (tn_json_kind kind = tn_json_next_plain(&json); kind != TN_JSON_END && kind != TN_JSON_ERROR;
         kind = tn_json_next_plain(&json))
        count++;
    return count;
}

static bool read_uints(tn_json *json, uint64_t *out, size_t max, size_t *count)
{
    size_t n = 0;
    if (tn_json_next(json) != TN_JSON_ARRAY_BEGIN)
        return false;
    while (tn_json_next(json) == TN_JSON_UINT && n < max)
        out[n++] = json->u;
    *count = n;
    return json->kind == TN_JSON_ARRAY_END;
}

static bool read_tensor(tn_json *json, uint64_t *sum)
{
    uint64_t shape[8] = {0}, offsets[2] = {0};
    size_t rank = 0, two = 0;
    if (tn_json_next(json) != TN_JSON_OBJECT_BEGIN)
        return false;
    while (tn_json_next(json) == TN_JSON_KEY) {
        bool good;
        if (tn_json_is(json, "dtype"))
            good = tn_json_next(json) == TN_JSON_STRING;
        else if (tn_json_is(json, "shape"))
            good = read_uints(json, shape, 8, &rank);
        else if (tn_json_is(json, "data_offsets"))
            good = read_uints(json, offsets, 2, &two);
        else
            good = tn_json_skip(json);
        if (!good)
            return false;
    }
    *sum += shape[0] + offsets[1] + rank + two;
    return json->kind == TN_JSON_OBJECT_END;
}

static uint64_t as_a_format_reads(const char *bytes, size_t size)
{
    tn_json json;
    uint64_t sum = 0;
    tn_json_init(&json, bytes, size);
    (void)tn_json_next(&json);
    while (tn_json_next(&json) == TN_JSON_KEY)
        if (tn_json_is(&json, "__metadata__") ? !tn_json_skip(&json) : !read_tensor(&json, &sum))
            return 0;
    return tn_json_next(&json) == TN_JSON_END ? sum : 0;
}

static bool read_usual_tensor(tn_json *json, uint64_t *sum)
{
    uint64_t shape[8], begin, end;
    size_t rank, dtype_size;
    const char *dtype;
    tn_json_look look;
    bool usual = tn_json_look_begin(json, &look) && tn_json_look_text(&look, "{\"dtype\":\"") &&
                 tn_json_look_string_rest(&look, &dtype, &dtype_size) && tn_json_look_text(&look, ",\"shape\":") &&
                 tn_json_look_uints(&look, shape, 8, &rank) && tn_json_look_text(&look, ",\"data_offsets\":") &&
                 tn_json_look_pair(&look, &begin, &end) && tn_json_look_text(&look, "}");
    if (!usual)
        return false;
    tn_json_look_take(json, &look);
    *sum += shape[0] + end + rank + 2;
    return true;
}

static uint64_t looking_ahead(const char *bytes, size_t size)
{
    tn_json json;
    uint64_t sum = 0;
    tn_json_init(&json, bytes, size);
    (void)tn_json_next(&json);
    while (tn_json_next(&json) == TN_JSON_KEY)
        if (tn_json_is(&json, "__metadata__") ? !tn_json_skip(&json)
                                              : !read_usual_tensor(&json, &sum) && !read_tensor(&json, &sum))
            return 0;
    return tn_json_next(&json) == TN_JSON_END ? sum : 0;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void measure(const char *what, uint64_t (*way)(const char *, size_t), const char *bytes, size_t size,
                    uint64_t tokens)
{
    static uint64_t taken[PASSES];
    uint64_t answer = 0;
    for (size_t i = 0; i < PASSES; i++) {
        uint64_t begin = now_ns();
        answer = way(bytes, size);
        taken[i] = now_ns() - begin;
    }
    qsort(taken, PASSES, sizeof taken[0], compare);
    printf("%-28s least %.4f ms, median %.4f ms, %.2f ns a token, %.2f GB/s (answer %" PRIu64 ")\n", what,
           (double)taken[0] / 1e6, (double)taken[PASSES / 2] / 1e6, (double)taken[0] / (double)tokens,
           (double)size / (double)taken[0], answer);
}

int main(void)
{
    enum { ROOM = 1 << 20 };
    char *bytes = malloc(ROOM);
    if (!bytes)
        return 1;
    size_t size = make_header(bytes, ROOM);
    uint64_t tokens = all_tokens(bytes, size);
    printf("%d tensors, %zu bytes, %" PRIu64 " tokens\n", TENSORS, size, tokens);
    measure("every token", all_tokens, bytes, size, tokens);
    measure("every token, no shortcuts", all_tokens_plain, bytes, size, tokens);
    measure("as a format reader reads", as_a_format_reads, bytes, size, tokens);
    measure("the same, looking ahead", looking_ahead, bytes, size, tokens);
    free(bytes);
    return 0;
}
