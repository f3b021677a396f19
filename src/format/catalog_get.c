/* The getters of a finished checkpoint: every answer points into it (include/tenure/checkpoint.h). */
#include <assert.h>
#include <string.h>

#include "format/catalog_inside.h"

tn_checkpoint *tn_checkpoint_hold(tn_checkpoint *checkpoint)
{
    atomic_fetch_add_explicit(&checkpoint->holds, 1, memory_order_relaxed);
    return checkpoint;
}

void tn_checkpoint_release(tn_checkpoint *checkpoint)
{
    if (checkpoint == NULL)
        return;
    uint32_t before = atomic_fetch_sub_explicit(&checkpoint->holds, 1, memory_order_acq_rel);
    assert(before > 0);
    if (before == 1)
        tn_catalog_abandon(checkpoint);
}

tn_container tn_checkpoint_container(const tn_checkpoint *checkpoint)
{
    return checkpoint->container;
}

/* Sizes come from the system for files that are there, so their sum stays below 2^64 but for sparse files, where it
 * stops at TN_NONE - 1. */
static uint64_t sum(uint64_t a, uint64_t b)
{
    uint64_t both = 0;
    return tn_add_overflows(a, b, &both) || both == TN_NONE ? TN_NONE - 1 : both;
}

uint64_t tn_checkpoint_size_bytes(const tn_checkpoint *checkpoint)
{
    const tn_part *parts = checkpoint->parts.items;
    uint64_t total = 0;
    for (uint32_t i = 0; i < checkpoint->parts.count; i++)
        total = sum(total, parts[i].size_bytes);
    return total;
}

uint64_t tn_checkpoint_header_bytes(const tn_checkpoint *checkpoint)
{
    const tn_part *parts = checkpoint->parts.items;
    uint64_t total = 0;
    for (uint32_t i = 0; i < checkpoint->parts.count; i++)
        total = sum(total, parts[i].header_bytes);
    return total;
}

size_t tn_checkpoint_findings(const tn_checkpoint *checkpoint, const tn_finding **out)
{
    *out = checkpoint->findings.items;
    return checkpoint->findings.count;
}

size_t tn_checkpoint_parts(const tn_checkpoint *checkpoint, const tn_part **out)
{
    *out = checkpoint->parts.items;
    return checkpoint->parts.count;
}

size_t tn_checkpoint_storages(const tn_checkpoint *checkpoint, const tn_storage **out)
{
    *out = checkpoint->storages.items;
    return checkpoint->storages.count;
}

size_t tn_checkpoint_tensors(const tn_checkpoint *checkpoint, const tn_tensor **out)
{
    *out = checkpoint->tensors.items;
    return checkpoint->tensors.count;
}

const tn_tensor *tn_checkpoint_find(const tn_checkpoint *checkpoint, const char *name, size_t size)
{
    uint32_t number = 0;
    const tn_tensor *tensors = checkpoint->tensors.items;
    return tn_name_index_get(&checkpoint->names, tensors, name, size, &number) ? &tensors[number] : NULL;
}

size_t tn_checkpoint_logicals(const tn_checkpoint *checkpoint, const tn_logical **out)
{
    *out = checkpoint->logicals.items;
    return checkpoint->logicals.count;
}

size_t tn_checkpoint_metadata(const tn_checkpoint *checkpoint, const tn_pair **out)
{
    *out = checkpoint->pairs.items;
    return checkpoint->pairs.count;
}

tn_text tn_checkpoint_metadata_value(const tn_checkpoint *checkpoint, const char *key)
{
    uint32_t number = 0;
    const tn_pair *pairs = checkpoint->pairs.items;
    return tn_name_index_get(&checkpoint->keys, pairs, key, strlen(key), &number) ? pairs[number].value
                                                                                   : (tn_text){NULL, 0};
}
