/* Many tensors, sorted. Contract: list.h. */
#include "weights/list.h"

#include <stdlib.h>
#include <string.h>

static int by_place(const void *a, const void *b)
{
    const tn_entry *one = a, *other = b;
    if (one->place.part != other->place.part)
        return one->place.part < other->place.part ? -1 : 1;
    if (one->place.offset != other->place.offset)
        return one->place.offset < other->place.offset ? -1 : 1;
    return one->number < other->number ? -1 : one->number > other->number;
}

static bool in_order(const tn_list *list)
{
    for (size_t i = 1; i < list->count; i++)
        if (by_place(&list->entries[i - 1], &list->entries[i]) > 0)
            return false;
    return true;
}

static tn_status fill(const tn_checkpoint *checkpoint, const tn_tensor *const *tensors, const tn_lease_options *options,
                      tn_list *list, tn_error *err)
{
    for (size_t i = 0; i < list->count; i++) {
        tn_entry *entry = &list->entries[i];
        TN_TRY(tn_place_of(checkpoint, tn_pick(checkpoint, tensors, i), options, &entry->place, err));
        entry->number = i;
        list->converts = list->converts || tn_place_converts(&entry->place);
        if (tn_add_overflows(list->bytes, entry->place.size, &list->bytes) ||
            tn_add_overflows(list->wanted, entry->place.wanted, &list->wanted))
            return tn_fail(err, TN_NO_MEMORY, "no machine has the memory that these tensors need");
    }
    return TN_OK;
}

tn_status tn_list_make(const tn_checkpoint *checkpoint, const tn_tensor *const *tensors, size_t count,
                       const tn_lease_options *options, tn_list *out, tn_error *err)
{
    const tn_tensor *all;
    if (tensors == NULL && count != tn_checkpoint_tensors(checkpoint, &all))
        return tn_fail(err, TN_INVALID, "all tensors were asked for, but their number is another");
    tn_list list = {.context = tn_catalog_context(checkpoint), .count = count};
    void *block;
    TN_TRY(tn_take_array(&list.context->memory, count, sizeof(tn_entry), &block, err));
    list.entries = block;
    tn_status status = fill(checkpoint, tensors, options, &list, err);
    if (status != TN_OK) {
        tn_list_end(&list);
        return status;
    }
    if (!in_order(&list)) /* a whole checkpoint is */
        qsort(list.entries, count, sizeof *list.entries, by_place);
    *out = list;
    return TN_OK;
}

void tn_list_end(tn_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        tn_held_free(list->entries[i].held);
    tn_give(&list->context->memory, list->entries, list->count * sizeof *list->entries);
}

size_t tn_list_same_part(const tn_list *list, size_t first)
{
    size_t end = first;
    while (end < list->count && list->entries[end].place.part == list->entries[first].place.part)
        end++;
    return end - first;
}

uint64_t tn_budget_left(tn_context *context)
{
    uint64_t used = atomic_load(&context->budget.used), kept = tn_pool_kept(&context->pool);
    uint64_t limit = tn_budget_limit(&context->budget), held = used > kept ? used - kept : 0;
    return limit > held ? limit - held : 0;
}
