/* DiffSynth-Studio's name for a header: the MD5 of its tensors' names and shapes.
 *
 * For each tensor two texts are listed, NAME and NAME:D0_D1_... ; all are sorted by their bytes and joined with commas
 * (diffsynth/core/loader/file.py, hash_model_file). A name holding a comma or a colon is taken as it is. */
#include <tenure/digest.h>

#include <stdlib.h>
#include <string.h>

#include "context/context.h"
#include "core/buffer.h"
#include "core/encode.h"
#include "digest/md5.h"

#define TN_KEY_TEXTS_MAX (size_t)0x7fffffff /* bytes of all texts together */

/* A text within the buffer: offsets, since the buffer moves as it grows. */
typedef struct entry {
    size_t at, size;
    const char *bytes; /* set once the buffer is complete */
} entry;

static int by_bytes(const void *a, const void *b)
{
    const entry *left = a, *right = b;
    size_t size = left->size < right->size ? left->size : right->size;
    int order = memcmp(left->bytes, right->bytes, size);
    if (order != 0)
        return order;
    return left->size < right->size ? -1 : left->size > right->size;
}

static size_t decimal(uint64_t number, char out[20])
{
    size_t size = 0;
    for (uint64_t rest = number; size == 0 || rest > 0; rest /= 10)
        out[size++] = (char)('0' + rest % 10);
    for (size_t i = 0; i < size / 2; i++) {
        char c = out[i];
        out[i] = out[size - 1 - i];
        out[size - 1 - i] = c;
    }
    return size;
}

/* NAME:D0_D1 into the buffer; NAME alone is its beginning. */
static void list_tensor(tn_buffer *texts, const tn_tensor *tensor, entry *entries)
{
    size_t at = texts->size;
    tn_buffer_append(texts, tensor->name.bytes, tensor->name.size);
    tn_buffer_append(texts, ":", 1);
    for (uint32_t i = 0; i < tensor->rank; i++) {
        char digits[20];
        if (i > 0)
            tn_buffer_append(texts, "_", 1);
        tn_buffer_append(texts, digits, decimal(tensor->shape[i], digits));
    }
    entries[0] = (entry){at, tensor->name.size, NULL};
    entries[1] = (entry){at, texts->size - at, NULL};
}

static void hash_sorted(entry *entries, size_t count, const char *bytes, char out[33])
{
    tn_md5 md5;
    uint8_t digest[16];
    for (size_t i = 0; i < count; i++)
        entries[i].bytes = bytes + entries[i].at;
    if (count > 0)
        qsort(entries, count, sizeof *entries, by_bytes);
    tn_md5_begin(&md5);
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            tn_md5_add(&md5, ",", 1);
        tn_md5_add(&md5, entries[i].bytes, entries[i].size);
    }
    tn_md5_end(&md5, digest);
    tn_hex(digest, sizeof digest, out);
}

tn_status tn_digest_key_hash(tn_context *context, const tn_checkpoint *checkpoint, char out[33], tn_error *err)
{
    const tn_tensor *tensors;
    size_t count = tn_checkpoint_tensors(checkpoint, &tensors);
    void *taken;
    TN_TRY(tn_take_array(&context->memory, 2 * count + 1, sizeof(entry), &taken, err));
    entry *entries = taken;
    tn_buffer texts;
    tn_buffer_init(&texts, &context->memory, TN_KEY_TEXTS_MAX);
    for (size_t i = 0; i < count; i++)
        list_tensor(&texts, &tensors[i], entries + 2 * i);
    tn_status status = tn_buffer_status(&texts, err);
    if (status == TN_OK)
        hash_sorted(entries, 2 * count, texts.bytes, out);
    tn_buffer_free(&texts);
    tn_give(&context->memory, entries, (2 * count + 1) * sizeof(entry));
    return status;
}
