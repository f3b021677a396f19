/* The safetensors reader on any bytes.
 *
 * Held: opening ends with a status; an opened file's tensors are found by their names, lie in the order of their bytes,
 * and cover the data when no error was found; spaces between the tokens of the header change nothing (which holds the
 * quick way of reading an entry against the slow one); all memory is given back. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "context/context.h"
#include "format/checkpoint.h"

#define SPACED_MAX 65536u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool holds)
{
    if (!holds)
        abort();
}

static tn_checkpoint *open_bytes(tn_context *context, const uint8_t *data, size_t size)
{
    tn_source *source = NULL;
    tn_checkpoint *out = NULL;
    tn_error err;
    demand(tn_source_over(context, data, size, "x.safetensors", &source, &err) == TN_OK);
    tn_status status = tn_checkpoint_open_source(source, &out, &err);
    demand((status == TN_OK) == (out != NULL));
    tn_source_release(source);
    return out;
}

static void check(const tn_checkpoint *k, size_t size)
{
    const tn_tensor *tensors;
    const tn_storage *storages;
    const tn_finding *findings;
    size_t count = tn_checkpoint_tensors(k, &tensors);
    (void)tn_checkpoint_storages(k, &storages);
    bool sound = tn_checkpoint_findings(k, &findings) == 0 || findings[0].severity != TN_ERROR;
    uint64_t end = tn_checkpoint_header_bytes(k);
    for (size_t i = 0; i < count; i++) {
        const tn_storage *storage = &storages[tensors[i].storage];
        demand(tn_checkpoint_find(k, tensors[i].name.bytes, tensors[i].name.size) == &tensors[i]);
        demand(storage->offset == end && storage->stored_bytes == tensors[i].size_bytes);
        end += storage->stored_bytes;
    }
    demand(sound == (end == size));
}

static void demand_same(const tn_checkpoint *a, const tn_checkpoint *b)
{
    const tn_tensor *left, *right;
    size_t count = tn_checkpoint_tensors(a, &left);
    demand(tn_checkpoint_tensors(b, &right) == count);
    for (size_t i = 0; i < count; i++) {
        demand(left[i].name.size == right[i].name.size && left[i].dtype == right[i].dtype);
        demand(memcmp(left[i].name.bytes, right[i].name.bytes, left[i].name.size) == 0);
        demand(left[i].rank == right[i].rank && left[i].size_bytes == right[i].size_bytes);
        demand(left[i].rank == 0 || memcmp(left[i].shape, right[i].shape, left[i].rank * sizeof(uint64_t)) == 0);
    }
}

/* The header with a space behind every comma and colon that is in no string. Returns its size. */
static size_t space_out(const uint8_t *header, size_t size, uint8_t *out)
{
    size_t at = 0;
    bool quoted = false;
    for (size_t i = 0; i < size; i++) {
        out[at++] = header[i];
        if (quoted && header[i] == '\\' && i + 1 < size)
            out[at++] = header[++i];
        else if (header[i] == '"')
            quoted = !quoted;
        else if (!quoted && (header[i] == ',' || header[i] == ':'))
            out[at++] = ' ';
    }
    return at;
}

static void compare_spaced(tn_context *context, const tn_checkpoint *k, const uint8_t *data, size_t size)
{
    uint64_t header = tn_checkpoint_header_bytes(k) - 8;
    if (header > SPACED_MAX)
        return;
    uint8_t *spaced = malloc(size + (size_t)header);
    demand(spaced != NULL);
    size_t length = space_out(data + 8, (size_t)header, spaced + 8), rest = size - 8 - (size_t)header;
    for (unsigned i = 0; i < 8; i++)
        spaced[i] = (uint8_t)((uint64_t)length >> (8 * i));
    if (rest > 0)
        memcpy(spaced + 8 + length, data + 8 + header, rest);
    tn_checkpoint *other = open_bytes(context, spaced, 8 + length + rest);
    demand(other != NULL);
    demand_same(k, other);
    tn_checkpoint_release(other);
    free(spaced);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tn_context_options options = TN_CONTEXT_OPTIONS_INIT;
    tn_context *context = NULL;
    options.memory_limit_bytes = UINT64_C(256) << 20;
    demand(tn_context_create(&options, &context, NULL) == TN_OK);
    tn_checkpoint *k = open_bytes(context, data, size);
    if (k != NULL) {
        check(k, size);
        compare_spaced(context, k, data, size);
        tn_checkpoint_release(k);
    }
    demand(tn_context_memory(context).used_bytes == 0);
    tn_context_destroy(context);
    return 0;
}
