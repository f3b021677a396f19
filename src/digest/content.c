/* The content hash (docs/formats/content-hash.md): tensors in the order of their names, each with all that it is.
 *
 *   N1  Every text and every run of bytes has its length before it, so that no two lists of tensors look the same.
 *   N2  Nothing of the file goes in but names, types, shapes and values: no offset, no metadata, no order.
 * It refuses values that do not lie in the file as they are hashed: strided, compressed, big-endian, negated ones.
 */
#include "digest/content.h"

#include <stdlib.h>
#include <string.h>

#include <blake3.h>

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
}

static tn_status take_values(const tn_content *content, blake3_hasher *hasher, const tn_tensor *tensor, tn_error *err)
{
    const tn_storage *storages;
    tn_checkpoint_storages(content->checkpoint, &storages);
    uint64_t at = storages[tensor->storage].offset + tensor->element_offset * tn_dtype_bits(tensor->dtype) / 8;
    take_number(hasher, tensor->size_bytes);
    for (uint64_t left = tensor->size_bytes; left > 0;) {
        size_t now = left < content->block_bytes ? (size_t)left : content->block_bytes;
        TN_TRY(tn_source_read(content->source, at, content->block, now, err));
        blake3_hasher_update(hasher, content->block, now);
        content->told(content->user, now);
        at += now;
        left -= now;
    }
    return TN_OK;
}

tn_status tn_content_hash(const tn_content *content, char out[68], tn_error *err)
{
    tn_memory_source *memory = &tn_source_context(content->source)->memory;
    const tn_tensor *tensors;
    size_t count = tn_checkpoint_tensors(content->checkpoint, &tensors);
    void *taken;
    TN_TRY(tn_take_array(memory, count + 1, sizeof(const tn_tensor *), &taken, err));
    const tn_tensor **sorted = taken;
    for (size_t i = 0; i < count; i++)
        sorted[i] = &tensors[i];
    if (count > 0)
        qsort(sorted, count, sizeof *sorted, by_name);
    blake3_hasher hasher;
    blake3_hasher_init(&hasher);
    tn_status status = TN_OK;
    for (size_t i = 0; i < count && status == TN_OK; i++) {
        take_description(&hasher, sorted[i]);
        status = take_values(content, &hasher, sorted[i], err);
    }
    tn_give(memory, sorted, (count + 1) * sizeof *sorted);
    if (status != TN_OK)
        return status;
    uint8_t digest[32];
    blake3_hasher_finalize(&hasher, digest, sizeof digest);
    memcpy(out, "c1:", 3);
    tn_hex(digest, sizeof digest, out + 3);
    return TN_OK;
}
