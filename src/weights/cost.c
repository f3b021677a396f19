/* What leases would cost (include/tenure/lease.h): the same list, the same choice of ways, and no reading. */
#include "format/part_file.h"
#include "weights/list.h"
#include "weights/read.h"
#include "weights/view.h"

typedef struct sum {
    const tn_checkpoint *checkpoint;
    const tn_lease_options *options;
    tn_list *list;
    tn_cost cost;
} sum;

static uint64_t round_up(uint64_t size, uint64_t unit)
{
    return (size + unit - 1) / unit * unit;
}

/* As src/context/pool.c and held.c take it. */
static uint64_t memory_of(const tn_place *place)
{
    uint64_t size = place->wanted, lease = sizeof(tn_held) + place->tensor->rank * UINT64_C(16) + place->tensor->name.size + 1;
    if (size == 0)
        return lease;
    if (size <= TN_HELD_INLINE_MAX)
        return lease + size + TN_POOL_ALIGN;
    return lease + round_up(size, size <= TN_POOL_SHARED_MAX ? TN_POOL_ALIGN : TN_OS_HUGE_BYTES);
}

static bool becomes_view(const sum *s, const tn_source *source, const tn_place *place)
{
    return (s->options->flags & TN_LEASE_VIEW) != 0 && place->straight &&
           tn_view_refused(source, place, place->offset, place->size, tn_lease_compares(s->options)) == NULL;
}

static void add_tensor(sum *s, const tn_source *source, const tn_place *place, tn_ranges *ranges, tn_range *items)
{
    tn_cost *cost = &s->cost;
    cost->tensors++;
    cost->bytes += place->wanted;
    cost->bytes_by_dtype[place->as] += place->wanted;
    cost->largest_bytes = place->wanted > cost->largest_bytes ? place->wanted : cost->largest_bytes;
    if (becomes_view(s, source, place)) {
        cost->bytes_by_way[TN_WAY_VIEW] += place->size;
        cost->memory_bytes += memory_of(&(tn_place){.tensor = place->tensor}) + place->size / 512;
        return;
    }
    cost->memory_bytes += memory_of(place);
    if (!place->straight)
        cost->bytes_by_way[TN_WAY_GATHER] += place->size;
    else if (place->size > 0) {
        items[ranges->count++] = (tn_range){.offset = place->offset, .size = (size_t)place->size, .tensor = place->tensor, .as = place->as};
        ranges->bytes += place->size;
    }
}

static void add_listed(sum *s, tn_source *source, const tn_entry *entries, size_t count, tn_range *items)
{
    tn_ranges ranges = {.source = source, .items = items};
    for (size_t i = 0; i < count; i++)
        add_tensor(s, source, &entries[i].place, &ranges, items);
    tn_choice choice = tn_choose(&ranges, s->options);
    s->cost.bytes_by_way[choice.way] += ranges.bytes;
    tn_choice_end(&choice);
}

static tn_status add_part(sum *s, const tn_entry *entries, size_t count, tn_error *err)
{
    void *items;
    tn_source *source;
    tn_memory_source *memory = &s->list->context->memory;
    TN_TRY(tn_at_tensor(tn_part_file_source(s->checkpoint, entries->place.part, &source, err), entries->place.tensor,
                        err));
    tn_status status = tn_take_array(memory, count, sizeof(tn_range), &items, err);
    if (status == TN_OK) {
        add_listed(s, source, entries, count, items);
        tn_give(memory, items, count * sizeof(tn_range));
    }
    tn_source_release(source);
    return status;
}

static tn_status add_all(sum *s, tn_error *err)
{
    for (size_t at = 0; at < s->list->count;) {
        size_t count = tn_list_same_part(s->list, at);
        TN_TRY(add_part(s, s->list->entries + at, count, err));
        at += count;
    }
    return TN_OK;
}

tn_status tn_cost_of(const tn_checkpoint *checkpoint, const tn_tensor *const *tensors, size_t count,
                     const tn_lease_options *options, tn_cost *out, tn_error *err)
{
    tn_lease_options read;
    tn_list list;
    if (checkpoint == NULL || out == NULL)
        return tn_fail(err, TN_INVALID, "a cost is of tensors of a checkpoint, and needs a place");
    TN_TRY(tn_lease_options_read(options, &read, err));
    TN_TRY(tn_lease_admit(checkpoint, &read, err));
    TN_TRY(tn_list_make(checkpoint, tensors, count, &read, &list, err));
    sum s = {.checkpoint = checkpoint, .options = &read, .list = &list};
    tn_status status = add_all(&s, err);
    tn_context *context = list.context;
    tn_list_end(&list);
    TN_TRY(status);
    s.cost.memory_bytes += list.converts || tn_lease_compares(&read) ? TN_ROOM_BYTES : 0;
    s.cost.left_bytes = tn_budget_left(context);
    s.cost.fits = s.cost.memory_bytes <= s.cost.left_bytes;
    *out = s.cost;
    return TN_OK;
}
