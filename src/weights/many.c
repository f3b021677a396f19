/* Leasing many tensors at once (include/tenure/lease.h): all memory first, then every file from its beginning to its
 * end, then they are handed out together. */
#include <string.h>

#include "core/encode.h"
#include "format/part_file.h"
#include "weights/list.h"
#include "weights/read.h"
#include "weights/view.h"

#define PANE_MAX ((uint64_t)1 << 30)  /* of a window that views share */
#define PANE_GAP ((uint64_t)64 << 10) /* between two of them */

typedef struct call {
    const tn_checkpoint *checkpoint;
    const tn_lease_options *options;
    tn_list *list;
    tn_told told;
} call;

/* ---- memory ---- */

static tn_status refuse(tn_context *context, uint64_t need, uint64_t left, tn_error *err)
{
    char need_text[16], left_text[16], limit_text[16];
    uint64_t limit = tn_budget_limit(&context->budget);
    atomic_fetch_add(&context->budget.refused, 1);
    tn_size_show(need, need_text);
    tn_size_show(left, left_text);
    tn_size_show(limit, limit_text);
    tn_fail(err, TN_OVER_BUDGET, "%s of memory are needed, and %s are left of the budget of %s", need_text, left_text,
            limit_text);
    tn_error_amounts(err, limit, need);
    return TN_OVER_BUDGET;
}

static bool is_view(const tn_entry *entry)
{
    return entry->held != NULL && entry->held->pane != NULL;
}

/* Refused as a whole before the first is taken, so that the numbers are those of the whole. */
static tn_status take_memory(call *c, tn_error *err)
{
    tn_list *list = c->list;
    uint64_t need = list->converts || tn_lease_compares(c->options) ? TN_ROOM_BYTES : 0, left = tn_budget_left(list->context);
    for (size_t i = 0; i < list->count; i++)
        need += is_view(&list->entries[i]) ? 0 : list->entries[i].place.wanted;
    if (need > left)
        return refuse(list->context, need, left, err);
    for (size_t i = 0; i < list->count; i++) {
        tn_entry *entry = &list->entries[i];
        if (!is_view(entry) && entry->place.straight)
            TN_TRY(tn_at_tensor(tn_held_create(list->context, entry->place.tensor, NULL, entry->place.as, &entry->held, err),
                                entry->place.tensor, err));
    }
    return TN_OK;
}

/* ---- views ---- */

static bool joins_pane(const tn_entry *entry, uint64_t from, uint64_t end)
{
    uint64_t offset = entry->place.offset;
    return offset <= end + PANE_GAP && offset + entry->place.size - from <= PANE_MAX;
}

/* How many entries from the first on get one window, and where that ends. */
static size_t pane_entries(const tn_entry *entries, size_t count, uint64_t *end)
{
    uint64_t from = entries->place.offset;
    size_t n = 1;
    *end = from + entries->place.size;
    for (; n < count && joins_pane(&entries[n], from, *end); n++) {
        uint64_t own = entries[n].place.offset + entries[n].place.size;
        *end = own > *end ? own : *end;
    }
    return n;
}

static tn_status view_through(tn_pane *pane, tn_entry *entries, size_t count, tn_error *err)
{
    for (size_t i = 0; i < count; i++) {
        const tn_place *place = &entries[i].place;
        if (place->straight && tn_view_refused(pane->source, place, place->offset, place->size, false) == NULL)
            TN_TRY(tn_held_view(pane, place->tensor, NULL, place->offset, &entries[i].held, err));
    }
    return TN_OK;
}

static tn_status view_part(tn_source *source, tn_entry *entries, size_t count, tn_error *err)
{
    if (tn_source_bytes(source) != NULL)
        return TN_OK;
    TN_TRY(tn_source_unchanged(source, err));
    for (size_t at = 0; at < count;) {
        uint64_t from = entries[at].place.offset, end;
        size_t n = pane_entries(entries + at, count - at, &end);
        if (end > from && entries[at].place.straight) {
            tn_pane *pane;
            TN_TRY(tn_pane_open(source, from, (size_t)(end - from), &pane, err));
            tn_status status = view_through(pane, entries + at, n, err);
            tn_pane_drop(pane);
            TN_TRY(status);
        }
        at += n;
    }
    return TN_OK;
}

/* ---- reading ---- */

/* The ranges of a part that are to be read. */
static void list_ranges(const call *c, const tn_entry *entries, size_t count, tn_ranges *out, tn_range *items)
{
    const uint8_t *digests = c->options->digests;
    for (size_t i = 0; i < count; i++) {
        const tn_place *place = &entries[i].place;
        if (is_view(&entries[i]) || !place->straight || place->size == 0)
            continue;
        items[out->count++] = (tn_range){.offset = place->offset,
                                         .size = place->size,
                                         .to = entries[i].held->lease.owned,
                                         .tensor = place->tensor,
                                         .as = place->as,
                                         .digest = digests != NULL ? digests + entries[i].number * 32 : NULL};
        out->bytes += place->size;
    }
    out->items = items;
}

static void say_how(call *c, tn_entry *entries, size_t count, const tn_ranges *ranges, const tn_choice *choice)
{
    for (size_t i = 0; i < count; i++) {
        const tn_place *place = &entries[i].place;
        if (is_view(&entries[i]) || !place->straight || place->size == 0)
            continue;
        tn_lease *lease = &entries[i].held->lease;
        const char *no_view = (c->options->flags & TN_LEASE_VIEW) == 0
                                  ? NULL
                                  : tn_view_refused(ranges->source, place, place->offset, place->size,
                                                    tn_lease_compares(c->options));
        lease->way = choice->way;
        lease->reason = no_view != NULL ? no_view : choice->reason;
    }
}

static tn_status read_listed(call *c, tn_source *source, tn_entry *entries, size_t count, tn_range *items,
                             tn_error *err)
{
    tn_ranges ranges = {.source = source, .file_digest = c->options->file_digest};
    list_ranges(c, entries, count, &ranges, items);
    tn_choice choice = tn_choose(&ranges, c->options);
    say_how(c, entries, count, &ranges, &choice);
    tn_status status = tn_read_ranges(&ranges, &choice, &c->told, err);
    tn_choice_end(&choice);
    return status;
}

static tn_status read_part(call *c, tn_source *source, tn_entry *entries, size_t count, tn_error *err)
{
    void *items;
    tn_memory_source *memory = &c->list->context->memory;
    TN_TRY(tn_take_array(memory, count, sizeof(tn_range), &items, err));
    tn_status status = read_listed(c, source, entries, count, items, err);
    tn_give(memory, items, count * sizeof(tn_range));
    return status;
}

/* Tensors with strides are few, and each is put together by itself. */
static tn_status lease_strided(call *c, tn_entry *entry, tn_error *err)
{
    tn_lease_options options = *c->options;
    tn_lease *lease;
    options.progress = NULL;
    TN_TRY(tn_lease_tensor(c->checkpoint, entry->place.tensor, &options, &lease, err));
    entry->held = (tn_held *)lease;
    return TN_OK;
}

/* `work` on every part, with its source. */
static tn_status each_part(call *c, tn_status (*work)(call *, tn_source *, tn_entry *, size_t, tn_error *),
                           tn_error *err)
{
    tn_list *list = c->list;
    for (size_t at = 0; at < list->count;) {
        size_t count = tn_list_same_part(list, at);
        tn_source *source;
        TN_TRY(tn_at_tensor(tn_part_file_source(c->checkpoint, list->entries[at].place.part, &source, err),
                            list->entries[at].place.tensor, err));
        tn_status status = work(c, source, list->entries + at, count, err);
        tn_source_release(source);
        TN_TRY(status);
        at += count;
    }
    return TN_OK;
}

static tn_status view_one_part(call *c, tn_source *source, tn_entry *entries, size_t count, tn_error *err)
{
    (void)c;
    return view_part(source, entries, count, err);
}

static tn_status lease_all(call *c, tn_error *err)
{
    if ((c->options->flags & TN_LEASE_VIEW) != 0 && !tn_lease_compares(c->options))
        TN_TRY(each_part(c, view_one_part, err));
    TN_TRY(take_memory(c, err));
    TN_TRY(each_part(c, read_part, err));
    for (size_t i = 0; i < c->list->count; i++)
        if (!c->list->entries[i].place.straight && c->list->entries[i].held == NULL)
            TN_TRY(lease_strided(c, &c->list->entries[i], err));
    return TN_OK;
}

static void hand_out(tn_list *list, tn_lease **out)
{
    for (size_t i = 0; i < list->count; i++) {
        out[list->entries[i].number] = &list->entries[i].held->lease;
        list->entries[i].held = NULL;
    }
}

/* What the digests that are given can be compared with. */
static tn_status check_digests(const call *c, bool all, tn_error *err)
{
    const tn_part *parts;
    const tn_list *list = c->list;
    for (size_t i = 0; tn_lease_compares(c->options) && i < list->count; i++)
        if (!list->entries[i].place.straight)
            return tn_at_tensor(tn_fail(err, TN_INVALID, "a tensor with strides has no digest of its own"),
                                list->entries[i].place.tensor, err);
    if (c->options->file_digest != NULL &&
        (!all || list->count == 0 || tn_list_same_part(list, 0) != list->count || list->entries[0].place.part != 0 ||
         tn_checkpoint_parts(c->checkpoint, &parts) != 1))
        return tn_fail(err, TN_INVALID, "a file's digest is compared when all tensors of a checkpoint of one file are leased");
    return TN_OK;
}

tn_status tn_lease_many(const tn_checkpoint *checkpoint, const tn_tensor *const *tensors, size_t count,
                        const tn_lease_options *options, tn_lease **out, tn_error *err)
{
    tn_lease_options read;
    tn_list list;
    if (checkpoint == NULL || (out == NULL && count > 0))
        return tn_fail(err, TN_INVALID, "leases are of tensors of a checkpoint, and need a place");
    TN_TRY(tn_lease_options_read(options, &read, err));
    if (read.index_count > 0)
        return tn_fail(err, TN_INVALID, "an index is of one tensor");
    TN_TRY(tn_lease_admit(checkpoint, &read, err));
    TN_TRY(tn_list_make(checkpoint, tensors, count, &read, &list, err));
    call c = {.checkpoint = checkpoint, .options = &read, .list = &list,
              .told = {.options = &read, .total = list.bytes}};
    tn_status status = check_digests(&c, tensors == NULL, err);
    if (status == TN_OK)
        status = lease_all(&c, err);
    if (status == TN_OK)
        hand_out(&list, out);
    else if (tn_status_is_of_memory(status))
        tn_tell_system(err);
    tn_list_end(&list);
    return status;
}
