/* Finding the bytes, and refusing what cannot be leased. Contract: place.h. */
#include "weights/place.h"

#include <stdio.h>
#include <string.h>

#include <tenure/convert.h>

#include "core/encode.h"
#include "format/catalog.h"

#define FLAGS_KNOWN (TN_LEASE_VIEW | TN_LEASE_BACKGROUND | TN_LEASE_DROP_BEHIND | TN_LEASE_LENIENT | TN_LEASE_CONVERT)

tn_status tn_at_tensor(tn_status status, const tn_tensor *tensor, tn_error *err)
{
    if (status != TN_OK && err != NULL && tensor != NULL && err->tensor[0] == '\0')
        tn_error_at_tensor(err, tensor->name.bytes, tensor->name.size);
    return status;
}

/* ---- options ---- */

tn_status tn_lease_options_read(const tn_lease_options *given, tn_lease_options *out, tn_error *err)
{
    *out = (tn_lease_options)TN_LEASE_OPTIONS_INIT;
    if (given == NULL)
        return TN_OK;
    if (given->size < sizeof given->size)
        return tn_fail(err, TN_INVALID, "the options of a lease must begin with their size");
    const char *bytes = (const char *)given;
    for (size_t i = sizeof *out; i < given->size; i++)
        if (bytes[i] != 0)
            return tn_fail(err, TN_INVALID, "the options of a lease hold something this version does not know");
    memcpy(out, given, given->size < sizeof *out ? given->size : sizeof *out);
    bool wish = out->way == TN_WAY_AUTOMATIC || out->way == TN_WAY_READ || out->way == TN_WAY_THREADS ||
                out->way == TN_WAY_DIRECT;
    if ((out->flags & ~FLAGS_KNOWN) != 0 || !wish)
        return tn_fail(err, TN_INVALID, "the options of a lease ask for something this version does not know");
    if ((out->flags & TN_LEASE_CONVERT) != 0 && (unsigned)out->dtype >= TN_DTYPE_COUNT)
        return tn_fail(err, TN_INVALID, "the options of a lease name no element type");
    if (out->digests != NULL && out->index_count > 0)
        return tn_fail(err, TN_INVALID, "a slice has no digest: whole tensors are compared with theirs");
    if (out->index == NULL && out->index_count > 0)
        return tn_fail(err, TN_INVALID, "the items of an index were counted but not given");
    return TN_OK;
}

static tn_status refuse_damaged(const tn_finding *finding, tn_error *err)
{
    tn_fail(err, finding->status, "%s", finding->message.bytes);
    tn_error_at_tensor(err, finding->tensor.bytes, finding->tensor.size);
    if (finding->file.size > 0)
        tn_error_at_file(err, finding->file.bytes);
    if (finding->offset != TN_NONE)
        tn_error_at_offset(err, finding->offset);
    tn_error_amounts(err, finding->expected, finding->found);
    return finding->status;
}

tn_status tn_lease_admit(const tn_checkpoint *checkpoint, const tn_lease_options *options, tn_error *err)
{
    const tn_finding *worst; /* stands first */
    TN_TRY(tn_context_check(tn_catalog_context(checkpoint), err));
    if ((options->flags & TN_LEASE_LENIENT) != 0 || tn_checkpoint_findings(checkpoint, &worst) == 0)
        return TN_OK;
    return worst->severity == TN_ERROR ? refuse_damaged(worst, err) : TN_OK;
}

const tn_tensor *tn_pick(const tn_checkpoint *checkpoint, const tn_tensor *const *tensors, size_t i)
{
    const tn_tensor *all;
    if (tensors != NULL)
        return tensors[i];
    tn_checkpoint_tensors(checkpoint, &all);
    return &all[i];
}

/* ---- places ---- */

static bool is_of(const tn_checkpoint *checkpoint, const tn_tensor *tensor)
{
    const tn_tensor *all;
    size_t count = tn_checkpoint_tensors(checkpoint, &all);
    return tensor != NULL && count > 0 && tensor >= all && tensor < all + count;
}

static const char *why_not(const tn_tensor *tensor, const tn_storage *storage)
{
    if (storage->encoding != TN_RAW)
        return "the tensor is stored compressed, which is not read yet";
    if (storage->big_endian && tn_dtype_bits(tensor->dtype) > 8)
        return "the tensor is stored with the high byte first, which is not read yet";
    if ((tensor->flags & (TN_TENSOR_CONJ | TN_TENSOR_NEG)) != 0)
        return "what is stored of the tensor are not its values but their conjugates or negatives";
    if (tensor->strides != NULL && tn_dtype_bits(tensor->dtype) % 8 != 0)
        return "the tensor has strides and elements of less than a byte";
    if (tensor->element_offset * tn_dtype_bits(tensor->dtype) % 8 != 0)
        return "the tensor does not begin at a whole byte";
    return NULL;
}

static tn_status too_short(const tn_checkpoint *checkpoint, const tn_place *place, uint64_t there, tn_error *err)
{
    const tn_part *parts;
    tn_checkpoint_parts(checkpoint, &parts);
    tn_fail(err, TN_TRUNCATED, "the bytes of the tensor are not all in the file");
    tn_error_at_file(err, parts[place->part].path.bytes);
    tn_error_at_offset(err, place->offset);
    tn_error_amounts(err, place->size, there);
    return TN_TRUNCATED;
}

/* A straight tensor's first byte, and that all its bytes are in its storage and in the file. */
static tn_status find_straight(const tn_checkpoint *checkpoint, tn_place *place, tn_error *err)
{
    const tn_part *parts;
    uint64_t into, bits, end;
    tn_checkpoint_parts(checkpoint, &parts);
    if (tn_mul_overflows(place->tensor->element_offset, tn_dtype_bits(place->tensor->dtype), &bits))
        return tn_fail(err, TN_BAD_LAYOUT, "the tensor begins outside of its storage");
    into = bits / 8;
    if (into > place->storage->stored_bytes || place->size > place->storage->stored_bytes - into)
        return tn_fail(err, TN_BAD_LAYOUT, "the tensor reaches out of its storage");
    if (tn_add_overflows(place->storage->offset, into, &place->offset) ||
        tn_add_overflows(place->offset, place->size, &end))
        return tn_fail(err, TN_OVERFLOW, "the tensor's end does not fit 64 bits");
    uint64_t file = parts[place->part].size_bytes;
    if (place->size > 0 && end > file)
        return too_short(checkpoint, place, place->offset < file ? file - place->offset : 0, err);
    return TN_OK;
}

static bool is_float(tn_dtype dtype)
{
    static const bool floats[TN_DTYPE_COUNT] = {
        [TN_F4] = true,      [TN_F6_E2M3] = true, [TN_F6_E3M2] = true,     [TN_F8_E5M2] = true,
        [TN_F8_E4M3] = true, [TN_F8_E8M0] = true, [TN_F8_E4M3FNUZ] = true, [TN_F8_E5M2FNUZ] = true,
        [TN_F16] = true,     [TN_BF16] = true,    [TN_F32] = true,         [TN_F64] = true,
    };
    return floats[dtype];
}

/* What its elements become, and how many bytes these take. */
static tn_status find_type(const tn_lease_options *options, tn_place *place, tn_error *err)
{
    const tn_tensor *tensor = place->tensor;
    uint64_t bytes = place->size;
    place->as = tensor->dtype;
    if ((options->flags & TN_LEASE_CONVERT) != 0 && is_float(tensor->dtype))
        place->as = options->dtype;
    if (tn_place_converts(place)) {
        if (!tn_convert_can(tensor->dtype, place->as))
            return tn_fail(err, TN_UNSUPPORTED, "%s cannot be turned into %s", tn_dtype_name(tensor->dtype),
                           tn_dtype_name(place->as));
        if (tn_mul_overflows(tensor->elements, tn_dtype_bits(place->as) / 8, &bytes) || bytes > PTRDIFF_MAX)
            return tn_fail(err, TN_NO_MEMORY, "no machine has the memory that this tensor needs");
    }
    place->wanted = (size_t)bytes;
    return TN_OK;
}

static tn_status find(const tn_checkpoint *checkpoint, const tn_tensor *tensor, const tn_lease_options *options,
                      tn_place *place, tn_error *err)
{
    const tn_storage *storages;
    tn_checkpoint_storages(checkpoint, &storages);
    const tn_storage *storage = &storages[tensor->storage];
    const char *why = why_not(tensor, storage);
    if (why != NULL)
        return tn_fail(err, TN_UNSUPPORTED, "%s", why);
    if (tensor->size_bytes > PTRDIFF_MAX)
        return tn_fail(err, TN_NO_MEMORY, "no machine has the memory that this tensor needs");
    *place = (tn_place){.tensor = tensor,
                        .storage = storage,
                        .part = storage->part,
                        .straight = tensor->strides == NULL,
                        .offset = storage->offset,
                        .size = (size_t)tensor->size_bytes};
    TN_TRY(find_type(options, place, err));
    return place->straight ? find_straight(checkpoint, place, err) : TN_OK;
}

tn_status tn_place_of(const tn_checkpoint *checkpoint, const tn_tensor *tensor, const tn_lease_options *options,
                      tn_place *out, tn_error *err)
{
    tn_place place;
    if (!is_of(checkpoint, tensor))
        return tn_fail(err, TN_INVALID, "this is no tensor of the checkpoint");
    tn_status status = find(checkpoint, tensor, options, &place, err);
    if (status == TN_OK)
        *out = place;
    return tn_at_tensor(status, tensor, err);
}

/* ---- what the system says ---- */

/* One figure more behind the message, if the system told it. */
static void add_figure(tn_error *err, const char *before, uint64_t bytes, const char *after)
{
    char size[16];
    size_t at = strlen(err->message);
    if (bytes == TN_NONE)
        return;
    tn_size_show(bytes, size);
    snprintf(err->message + at, sizeof err->message - at, "%s%s%s", before, size, after);
}

void tn_tell_system(tn_error *err)
{
    if (err == NULL || !tn_status_is_of_memory(err->status))
        return;
    tn_os_limits limits = tn_os_limits_now();
    add_figure(err, "; the system has ", limits.ram_available, " of memory left");
    add_figure(err, ", ", limits.commit_left, " of commit");
    add_figure(err, ", ", limits.cgroup_left, " for this process's group");
    add_figure(err, ", ", limits.data_left, " under this process's data limit");
    add_figure(err, ", ", limits.address_left, " under its address limit");
}
