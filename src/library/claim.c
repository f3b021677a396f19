#include "library/claim.h"

#include <string.h>

#include "library/place.h"

typedef struct suffix_row {
    const char *text;
    tn_suffix claim;
} suffix_row;

static const suffix_row suffixes[] = {
    {".safetensors", TN_SUFFIX_SURE}, {".sft", TN_SUFFIX_SURE},      {".gguf", TN_SUFFIX_SURE},
    {".ckpt", TN_SUFFIX_SURE},        {".pth", TN_SUFFIX_SURE},      {".pt", TN_SUFFIX_SURE},
    {".bin", TN_SUFFIX_MAYBE},        {".onnx", TN_SUFFIX_MAYBE},    {".pkl", TN_SUFFIX_MAYBE},
    {".pickle", TN_SUFFIX_MAYBE},     {".jit", TN_SUFFIX_MAYBE},     {".torchscript", TN_SUFFIX_MAYBE},
    {".h5", TN_SUFFIX_MAYBE},         {".hdf5", TN_SUFFIX_MAYBE},    {".msgpack", TN_SUFFIX_MAYBE},
    {".npz", TN_SUFFIX_MAYBE},        {".tflite", TN_SUFFIX_MAYBE},  {".engine", TN_SUFFIX_MAYBE},
    {".plan", TN_SUFFIX_MAYBE},       {".trt", TN_SUFFIX_MAYBE},     {".ggml", TN_SUFFIX_MAYBE},
};

/* What browsers and download tools append until a file is whole. */
static const char *const unfinished[] = {".part", ".partial", ".crdownload", ".download", ".incomplete"};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Whether the name ends so, with at least one byte before it. */
static bool ends(const char *name, size_t size, const char *tail)
{
    size_t tail_size = strlen(tail);
    if (size <= tail_size)
        return false;
    for (size_t i = 0; i < tail_size; i++)
        if (lower(name[size - tail_size + i]) != tail[i])
            return false;
    return true;
}

static const suffix_row *row_of(const char *name, size_t size)
{
    for (size_t i = 0; i < COUNT(suffixes); i++)
        if (ends(name, size, suffixes[i].text))
            return &suffixes[i];
    return NULL;
}

static size_t without_unfinished(const char *name, size_t size)
{
    for (size_t i = 0; i < COUNT(unfinished); i++)
        if (ends(name, size, unfinished[i]))
            return size - strlen(unfinished[i]);
    return size;
}

tn_suffix tn_suffix_of(const char *name, size_t size)
{
    const suffix_row *row = row_of(name, without_unfinished(name, size));
    return row != NULL ? row->claim : TN_SUFFIX_NONE;
}

/* ---- sets ---- */

#define DIGITS_MAX 9

static bool digits_at(const char *name, size_t size, size_t at, size_t *end, uint64_t *out)
{
    uint64_t value = 0;
    size_t i = at;
    while (i < size && i - at < DIGITS_MAX && name[i] >= '0' && name[i] <= '9')
        value = value * 10 + (uint64_t)(name[i++] - '0');
    if (i == at || (i < size && name[i] >= '0' && name[i] <= '9'))
        return false;
    *end = i;
    *out = value;
    return true;
}

/* "-NUMBER-of-COUNT" at `at`, followed by a dot. */
static bool shard_at(const char *name, size_t size, size_t at, tn_shard *out)
{
    tn_shard found = {.stem = at};
    size_t end = 0;
    if (name[at] != '-' || !digits_at(name, size, at + 1, &found.tail, &found.number))
        return false;
    if (size - found.tail < 4 || memcmp(name + found.tail, "-of-", 4) != 0)
        return false;
    if (!digits_at(name, size, found.tail + 4, &end, &found.of) || end >= size || name[end] != '.')
        return false;
    if (found.number == 0 || found.number > found.of)
        return false;
    *out = found;
    return true;
}

bool tn_shard_of(const char *name, size_t size, tn_shard *out)
{
    if (row_of(name, size) == NULL)
        return false;
    for (size_t at = 1; at < size; at++)
        if (shard_at(name, size, at, out))
            return true;
    return false;
}

bool tn_shard_same_set(const char *a, size_t a_size, const tn_shard *a_shard, const char *b, size_t b_size,
                       const tn_shard *b_shard)
{
    return a_shard->stem == b_shard->stem && memcmp(a, b, a_shard->stem) == 0 &&
           a_size - a_shard->tail == b_size - b_shard->tail &&
           memcmp(a + a_shard->tail, b + b_shard->tail, a_size - a_shard->tail) == 0;
}

static const char index_tail[] = ".safetensors.index.json";

bool tn_index_stem(const char *name, size_t size, size_t *stem)
{
    if (!ends(name, size, index_tail))
        return false;
    *stem = size - (sizeof index_tail - 1);
    return true;
}

/* ---- what is recorded ---- */

static bool is_broken_model(tn_container container)
{
    return container == TN_CONTAINER_GIT_LFS_POINTER || container == TN_CONTAINER_PARTIAL_DOWNLOAD;
}

bool tn_claim_holds(tn_suffix suffix, const tn_answer *answer)
{
    return suffix == TN_SUFFIX_SURE || tn_container_is_weights(answer->container) ||
           (suffix == TN_SUFFIX_MAYBE &&
            (is_broken_model(answer->container) || answer->state == TN_STATE_UNREADABLE));
}

tn_text tn_claim_model_name(const char *path, size_t size, bool folder)
{
    tn_text name = tn_place_name(path, size);
    size_t stem = 0;
    tn_shard shard;
    if (folder)
        return name;
    if (tn_index_stem(name.bytes, name.size, &stem))
        return (tn_text){name.bytes, stem};
    if (tn_shard_of(name.bytes, name.size, &shard))
        return (tn_text){name.bytes, shard.stem};
    size_t whole = without_unfinished(name.bytes, name.size);
    const suffix_row *row = row_of(name.bytes, whole);
    if (row != NULL)
        whole -= strlen(row->text);
    return (tn_text){name.bytes, whole};
}
