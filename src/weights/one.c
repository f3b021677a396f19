/* Leasing one tensor, or a slice of it (include/tenure/lease.h). */
#include <string.h>

#include <tenure/convert.h>

#include "format/catalog.h"
#include "format/part_file.h"
#include "weights/gather.h"
#include "weights/held.h"
#include "weights/place.h"
#include "weights/view.h"

#define SMALL ((size_t)256 << 10) /* read at once, without asking for a way */

/* What one call is about. */
typedef struct call {
    const tn_place *place;
    const tn_lease_options *options;
    tn_source *source;
    tn_told told;
    const char *no_view; /* why there is none though it was asked for */
} call;

/* Ways are not asked for, and nobody wants to be told, for what is read in one go. */
static bool is_plain(const call *c, uint64_t bytes)
{
    return bytes <= SMALL && !tn_place_converts(c->place) && !tn_lease_compares(c->options) && c->options->way == TN_WAY_AUTOMATIC && c->options->progress == NULL &&
           (c->options->flags & TN_LEASE_DROP_BEHIND) == 0 && tn_source_bytes(c->source) == NULL;
}

static void say_how(const call *c, tn_held *held, tn_way way, const char *reason)
{
    held->lease.way = way;
    held->lease.reason = c->no_view != NULL ? c->no_view : reason;
}

static tn_status read_ranges(call *c, const tn_ranges *ranges, tn_held *held, tn_error *err)
{
    tn_choice choice = tn_choose(ranges, c->options);
    say_how(c, held, choice.way, choice.reason);
    tn_status status = tn_read_ranges(ranges, &choice, &c->told, err);
    tn_choice_end(&choice);
    return status;
}

/* One run of the file that is all of the lease. */
static tn_status read_run(call *c, uint64_t offset, size_t size, tn_held *held, tn_error *err)
{
    tn_range range = {offset, size, held->lease.owned, c->place->tensor, c->place->as, c->options->digests};
    if (!is_plain(c, size))
        return read_ranges(c, &(tn_ranges){.source = c->source, .items = &range, .count = 1, .bytes = size}, held, err);
    say_how(c, held, TN_WAY_READ, "it is small");
    return tn_read_small(c->source, offset, held->lease.owned, size, err);
}

static bool wants_view(call *c, uint64_t first, uint64_t size)
{
    if ((c->options->flags & TN_LEASE_VIEW) == 0)
        return false;
    c->no_view = tn_view_refused(c->source, c->place, first, size, tn_lease_compares(c->options));
    return c->no_view == NULL;
}

/* Hand over what was read, or give it up. L4. */
static tn_status finish(tn_status status, tn_held *held, tn_held **out)
{
    if (status == TN_OK)
        *out = held;
    else
        tn_held_free(held);
    return status;
}

/* ---- whole tensors ---- */

static tn_status lease_whole(call *c, tn_held **out, tn_error *err)
{
    const tn_place *place = c->place;
    tn_held *held;
    if (wants_view(c, place->offset, place->size))
        return tn_view_alone(c->source, place->tensor, NULL, place->offset, place->size, place->offset, out, err);
    TN_TRY(tn_held_create(tn_source_context(c->source), place->tensor, NULL, place->as, &held, err));
    return finish(read_run(c, place->offset, place->size, held, err), held, out);
}

/* ---- slices, and tensors with strides ---- */

static tn_status read_long_runs(call *c, const tn_runs *runs, uint64_t count, tn_held *held, tn_error *err)
{
    tn_memory_source *memory = &held->context->memory;
    void *items;
    if (count > SIZE_MAX / sizeof(tn_range))
        return tn_fail(err, TN_NO_MEMORY, "the slice has more runs than memory can list");
    TN_TRY(tn_take(memory, (size_t)count * sizeof(tn_range), &items, err));
    tn_runs_list(runs, held->lease.owned, c->place, items);
    tn_status status = read_ranges(
        c, &(tn_ranges){.source = c->source, .items = items, .count = (size_t)count, .bytes = runs->bytes}, held, err);
    tn_give(memory, items, (size_t)count * sizeof(tn_range));
    return status;
}

/* What is gathered is turned when all of it is there. */
static tn_status gather_converted(call *c, const tn_runs *runs, tn_held *held, tn_error *err)
{
    tn_block block;
    void *stored = NULL;
    bool small = runs->bytes <= SMALL;
    TN_TRY(small ? tn_take(&held->context->memory, (size_t)runs->bytes, &stored, err)
                 : tn_pool_take_passing(&held->context->pool, (size_t)runs->bytes, &block, err));
    stored = small ? stored : block.bytes;
    tn_status status = tn_gather(c->source, runs, stored, &c->told, err);
    if (status == TN_OK)
        status = tn_convert(c->place->tensor->dtype, stored, c->place->as, held->lease.owned, held->lease.elements, err);
    if (small)
        tn_give(&held->context->memory, stored, (size_t)runs->bytes);
    else
        tn_pool_give(&held->context->pool, &block);
    return status;
}

static tn_status read_runs(call *c, const tn_runs *runs, tn_held *held, tn_error *err)
{
    uint64_t count;
    bool separate = tn_runs_are_long(runs, &count);
    if (separate && count == 1)
        return read_run(c, runs->first, (size_t)runs->bytes, held, err);
    if (separate)
        return read_long_runs(c, runs, count, held, err);
    say_how(c, held, TN_WAY_GATHER, "its elements do not lie behind each other in the file");
    return tn_place_converts(c->place) ? gather_converted(c, runs, held, err)
                                       : tn_gather(c->source, runs, held->lease.owned, &c->told, err);
}

static tn_status wanted_layout(const call *c, tn_layout *out, tn_error *err)
{
    const tn_tensor *tensor = c->place->tensor;
    uint64_t bytes = c->place->storage->stored_bytes, bits = tn_dtype_bits(tensor->dtype);
    uint64_t there = bits % 8 == 0 ? bytes / (bits / 8) : bytes > UINT64_MAX / 8 ? UINT64_MAX / bits : bytes * 8 / bits;
    tn_layout whole;
    TN_TRY(tn_layout_of(tensor, there, &whole, err));
    return tn_layout_index(&whole, c->options->index, c->options->index_count, out, err);
}

/* The bytes of the file from the lowest element to the highest. */
static tn_status reach(const call *c, const tn_layout *layout, uint64_t *low, uint64_t *size, tn_error *err)
{
    int64_t lowest, highest;
    uint64_t bits = tn_dtype_bits(c->place->tensor->dtype), base = c->place->storage->offset;
    tn_layout_reach(layout, &lowest, &highest);
    *low = base + (uint64_t)lowest * bits / 8;
    uint64_t end = base + ((uint64_t)highest * bits + bits + 7) / 8, there = tn_source_size(c->source);
    *size = end - *low;
    if (end <= there)
        return TN_OK;
    tn_fail(err, TN_TRUNCATED, "the bytes of the tensor are not all in the file");
    tn_error_at_file(err, tn_source_path(c->source));
    tn_error_amounts(err, end, there);
    return TN_TRUNCATED;
}

static tn_status lease_elements(call *c, const tn_layout *layout, tn_held **out, tn_error *err)
{
    tn_runs runs;
    tn_held *held;
    uint64_t low, size;
    TN_TRY(reach(c, layout, &low, &size, err));
    TN_TRY(tn_runs_of(layout, c->place->tensor->dtype, c->place->storage->offset, &runs, err));
    bool bytes = tn_dtype_bits(c->place->tensor->dtype) % 8 == 0;
    if (bytes && size <= PTRDIFF_MAX && wants_view(c, runs.first, size))
        return tn_view_alone(c->source, c->place->tensor, layout, low, (size_t)size, runs.first, out, err);
    TN_TRY(tn_held_create(tn_source_context(c->source), c->place->tensor, layout, c->place->as, &held, err));
    c->told.total = runs.bytes;
    return finish(read_runs(c, &runs, held, err), held, out);
}

static tn_status lease_slice(call *c, tn_held **out, tn_error *err)
{
    tn_layout layout;
    TN_TRY(wanted_layout(c, &layout, err));
    if (layout.elements == 0)
        return tn_held_create(tn_source_context(c->source), c->place->tensor, &layout, c->place->as, out, err);
    return lease_elements(c, &layout, out, err);
}

/* ---- calls ---- */

static tn_status lease_from(const tn_checkpoint *checkpoint, const tn_place *place, const tn_lease_options *options,
                            tn_held **out, tn_error *err)
{
    call c = {.place = place, .options = options, .told = {.options = options, .total = place->size}};
    bool whole = place->straight && options->index_count == 0;
    if (!whole && options->digests != NULL)
        return tn_fail(err, TN_INVALID, "a tensor with strides has no digest of its own");
    if (whole && place->size == 0)
        return tn_held_create(tn_catalog_context(checkpoint), place->tensor, NULL, place->as, out, err);
    TN_TRY(tn_part_file_source(checkpoint, place->part, &c.source, err));
    tn_status status = whole ? lease_whole(&c, out, err) : lease_slice(&c, out, err);
    tn_source_release(c.source);
    return status;
}

static tn_status lease_tensor(const tn_checkpoint *checkpoint, const tn_tensor *tensor,
                              const tn_lease_options *options, tn_held **out, tn_error *err)
{
    tn_place place;
    TN_TRY(tn_lease_admit(checkpoint, options, err));
    TN_TRY(tn_place_of(checkpoint, tensor, options, &place, err));
    tn_status status = lease_from(checkpoint, &place, options, out, err);
    if (tn_status_is_of_memory(status))
        tn_tell_system(err);
    return tn_at_tensor(status, tensor, err);
}

tn_status tn_lease_tensor(const tn_checkpoint *checkpoint, const tn_tensor *tensor, const tn_lease_options *options,
                          tn_lease **out, tn_error *err)
{
    tn_lease_options read;
    tn_held *held;
    if (checkpoint == NULL || tensor == NULL || out == NULL)
        return tn_fail(err, TN_INVALID, "a lease is of a tensor of a checkpoint, and needs a place");
    TN_TRY(tn_lease_options_read(options, &read, err));
    if (read.file_digest != NULL)
        return tn_fail(err, TN_INVALID, "a file's digest is compared when all its tensors are leased at once");
    TN_TRY(lease_tensor(checkpoint, tensor, &read, &held, err));
    *out = &held->lease;
    return TN_OK;
}

tn_status tn_lease_named(const tn_checkpoint *checkpoint, const char *name, const tn_lease_options *options,
                         tn_lease **out, tn_error *err)
{
    if (checkpoint == NULL || name == NULL || out == NULL)
        return tn_fail(err, TN_INVALID, "a lease is of a tensor of a checkpoint, and needs a place");
    const tn_tensor *tensor = tn_checkpoint_find(checkpoint, name, strlen(name));
    if (tensor != NULL)
        return tn_lease_tensor(checkpoint, tensor, options, out, err);
    tn_fail(err, TN_INVALID, "the checkpoint has no tensor of this name");
    tn_error_at_tensor(err, name, strlen(name));
    return TN_INVALID;
}
