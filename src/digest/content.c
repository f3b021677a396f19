/* The content hash (docs/formats/content-hash.md): tensors in the order of their names, each with all that it is.
 *
 *   N1  Every text and every run of bytes has its length before it, so that no two lists of tensors look the same.
 *   N2  Nothing of the file goes in but names, types, shapes and values: no offset, no metadata, no order.
 * It refuses values that do not lie in the file as they are hashed: strided, compressed, big-endian, negated ones.
 */
#include "digest/content.h"

#include <stdlib.h>
#include <string.h>

#include "core/encode.h"

/* The bytes of a name, as memcmp orders them; the shorter first. No name stands twice in a checkpoint. */
static int by_name(const void *a, const void *b)
{
    const tn_text left = (*(const tn_tensor *const *)a)->name, right = (*(const tn_tensor *const *)b)->name;
    size_t size = left.size < right.size ? left.size : right.size;
    int order = size == 0 ? 0 : memcmp(left.bytes, right.bytes, size);
    if (order != 0)
        return order;
    return left.size < right.size ? -1 : left.size > right.size;
}

static bool lies_as_hashed(const tn_tensor *tensor, const tn_storage *storage)
{
    return tensor->strides == NULL && storage->encoding == TN_RAW && !storage->big_endian &&
           (tensor->flags & (TN_TENSOR_CONJ | TN_TENSOR_NEG)) == 0 &&
           tensor->element_offset * tn_dtype_bits(tensor->dtype) % 8 == 0;
}

tn_status tn_content_measure(const tn_checkpoint *checkpoint, uint64_t *bytes, tn_error *err)
{
    const tn_tensor *tensors;
    const tn_storage *storages;
    size_t count = tn_checkpoint_tensors(checkpoint, &tensors);
    tn_checkpoint_storages(checkpoint, &storages);
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++) {
        if ((tensors[i].flags & TN_TENSOR_SHORT) != 0)
            return tn_fail(err, TN_TRUNCATED, "the bytes of a tensor are not all in the file");
        if (!lies_as_hashed(&tensors[i], &storages[tensors[i].storage]))
            return tn_fail(err, TN_UNSUPPORTED, "the values of a tensor do not lie in the file in their own order");
        if (tn_add_overflows(total, tensors[i].size_bytes, &total))
            return tn_fail(err, TN_OVERFLOW, "the sizes of all tensors do not fit 64 bits");
    }
    *bytes = total;
    return TN_OK;
}

static void take_number(blake3_hasher *hasher, uint64_t number)
{
    uint8_t bytes[8];
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(number >> (8 * i));
    blake3_hasher_update(hasher, bytes, sizeof bytes);
}

/* N1 */
static void take_text(blake3_hasher *hasher, const char *bytes, size_t size)
{
    take_number(hasher, size);
    blake3_hasher_update(hasher, bytes, size);
}

static void take_description(blake3_hasher *hasher, const tn_tensor *tensor)
{
    const char *dtype = tn_dtype_name(tensor->dtype);
    take_text(hasher, tensor->name.bytes, tensor->name.size);
    take_text(hasher, dtype, strlen(dtype));
    take_number(hasher, tensor->rank);
    for (uint32_t i = 0; i < tensor->rank; i++)
        take_number(hasher, tensor->shape[i]);
    take_number(hasher, tensor->size_bytes);
}

static uint64_t offset_of(const tn_content *content, const tn_tensor *tensor)
{
    return content->storages[tensor->storage].offset + tensor->element_offset * tn_dtype_bits(tensor->dtype) / 8;
}

/* Begin tensors up to one that has bytes to be taken, or to the end. */
static void begin_tensors(tn_content *content)
{
    while (content->left == 0 && content->at < content->count) {
        const tn_tensor *tensor = content->sorted[content->at++];
        take_description(&content->hasher, tensor);
        content->offset = offset_of(content, tensor);
        content->left = tensor->size_bytes;
    }
}

tn_status tn_content_begin(tn_content *content, tn_context *context, const tn_checkpoint *checkpoint, tn_error *err)
{
    const tn_tensor *tensors;
    size_t count = tn_checkpoint_tensors(checkpoint, &tensors);
    void *sorted;
    TN_TRY(tn_take_array(&context->memory, count + 1, sizeof(const tn_tensor *), &sorted, err));
    *content = (tn_content){.memory = &context->memory, .sorted = sorted, .count = count};
    tn_checkpoint_storages(checkpoint, &content->storages);
    for (size_t i = 0; i < count; i++)
        content->sorted[i] = &tensors[i];
    if (count > 0)
        qsort(content->sorted, count, sizeof *content->sorted, by_name);
    blake3_hasher_init(&content->hasher);
    begin_tensors(content);
    return TN_OK;
}

void tn_content_free(tn_content *content)
{
    if (content->sorted != NULL)
        tn_give(content->memory, content->sorted, (content->count + 1) * sizeof *content->sorted);
    content->sorted = NULL;
}

bool tn_content_in_order(const tn_content *content, uint64_t *from, uint64_t *to)
{
    uint64_t first = 0, end = 0;
    for (size_t i = 0; i < content->count; i++) {
        const tn_tensor *tensor = content->sorted[i];
        uint64_t at = offset_of(content, tensor);
        if (tensor->size_bytes == 0)
            continue;
        if (at < end)
            return false;
        if (end == 0)
            first = at;
        end = at + tensor->size_bytes;
    }
    *from = first;
    *to = end;
    return true;
}

bool tn_content_next(tn_content *content, size_t most, uint64_t *at, size_t *size)
{
    while (content->told < content->count && content->told_bytes == content->sorted[content->told]->size_bytes) {
        content->told++;
        content->told_bytes = 0;
    }
    if (content->told == content->count)
        return false;
    const tn_tensor *tensor = content->sorted[content->told];
    uint64_t left = tensor->size_bytes - content->told_bytes;
    *at = offset_of(content, tensor) + content->told_bytes;
    *size = left < most ? (size_t)left : most;
    content->told_bytes += *size;
    return true;
}

void tn_content_take(tn_content *content, uint64_t at, const uint8_t *bytes, size_t size)
{
    while (content->left > 0 && content->offset >= at && content->offset < at + size) {
        size_t skipped = (size_t)(content->offset - at);
        size_t now = content->left < size - skipped ? (size_t)content->left : size - skipped;
        blake3_hasher_update(&content->hasher, bytes + skipped, now);
        content->offset += now;
        content->left -= now;
        begin_tensors(content);
    }
}

void tn_content_end(const tn_content *content, char out[68])
{
    uint8_t digest[BLAKE3_OUT_LEN];
    blake3_hasher_finalize(&content->hasher, digest, sizeof digest);
    memcpy(out, "c1:", 3);
    tn_hex(digest, sizeof digest, out + 3);
}
