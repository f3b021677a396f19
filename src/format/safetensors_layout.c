/* Where the tensors of a safetensors file lie: the data must be covered from its first byte to the last, each byte
 * once. Nearly every file lists its tensors in the order of their bytes; that is looked at first, and only others are
 * sorted, by merging runs of doubling length (no recursion, and no order of input makes it slow). */
#include <string.h>

#include "core/dtype.h"
#include "core/error.h"
#include "format/safetensors.h"

/* What is sorted in place of the tensors themselves. */
typedef struct span {
    uint64_t begin, bytes;
    uint32_t number;
} span;

static bool comes_after(const span *a, const span *b)
{
    return a->begin != b->begin ? a->begin > b->begin : a->bytes > b->bytes;
}

static const tn_storage *storage_of(const tn_storage *storages, const tn_tensor *tensor)
{
    return &storages[tensor->storage];
}

static bool is_sorted(tn_catalog *catalog, uint32_t first)
{
    const tn_tensor *tensors = tn_catalog_tensors(catalog);
    const tn_storage *storages = tn_catalog_storages(catalog);
    uint32_t count = tn_catalog_tensor_count(catalog);
    for (uint32_t i = first + 1; i < count; i++) {
        const tn_storage *a = storage_of(storages, &tensors[i - 1]), *b = storage_of(storages, &tensors[i]);
        if (a->offset > b->offset || (a->offset == b->offset && a->stored_bytes > b->stored_bytes))
            return false;
    }
    return true;
}

/* Merge the neighbours from[begin..middle) and from[middle..end) into `to`, equals in their old order. */
static void merge(const span *from, span *to, uint32_t begin, uint32_t middle, uint32_t end)
{
    uint32_t a = begin, b = middle;
    for (uint32_t at = begin; at < end; at++) {
        bool from_second = a == middle || (b < end && comes_after(&from[a], &from[b]));
        to[at] = from_second ? from[b++] : from[a++];
    }
}

/* Sort `count` spans with as many beside them for the work; the answer is one of the two. */
static span *sort_spans(span *spans, span *work, uint32_t count)
{
    for (uint64_t run = 1; run < count; run *= 2) {
        for (uint64_t begin = 0; begin < count; begin += 2 * run) {
            uint64_t middle = begin + run < count ? begin + run : count;
            uint64_t end = middle + run < count ? middle + run : count;
            merge(spans, work, (uint32_t)begin, (uint32_t)middle, (uint32_t)end);
        }
        span *swapped = spans;
        spans = work;
        work = swapped;
    }
    return spans;
}

static tn_status reorder(tn_catalog *catalog, uint32_t first, const span *sorted, uint32_t *order, tn_error *err)
{
    tn_memory_source *memory = &tn_catalog_context(catalog)->memory;
    uint32_t count = tn_catalog_tensor_count(catalog) - first;
    void *scratch = NULL;
    TN_TRY(tn_take_array(memory, count, sizeof(tn_tensor), &scratch, err));
    for (uint32_t i = 0; i < count; i++)
        order[i] = sorted[i].number;
    tn_catalog_reorder(catalog, first, order, scratch);
    tn_give(memory, scratch, count * sizeof(tn_tensor));
    return TN_OK;
}

static tn_status sort(tn_catalog *catalog, uint32_t first, tn_error *err)
{
    tn_memory_source *memory = &tn_catalog_context(catalog)->memory;
    const tn_tensor *tensors = tn_catalog_tensors(catalog);
    const tn_storage *storages = tn_catalog_storages(catalog);
    uint32_t count = tn_catalog_tensor_count(catalog) - first;
    void *spans = NULL, *order = NULL;
    tn_status status = tn_take_array(memory, count, 2 * sizeof(span), &spans, err);
    if (status == TN_OK)
        status = tn_take_array(memory, count, sizeof(uint32_t), &order, err);
    if (status == TN_OK) {
        span *all = spans;
        for (uint32_t i = 0; i < count; i++) {
            const tn_storage *storage = storage_of(storages, &tensors[first + i]);
            all[i] = (span){storage->offset, storage->stored_bytes, first + i};
        }
        status = reorder(catalog, first, sort_spans(all, all + count, count), order, err);
    }
    tn_give(memory, order, order != NULL ? count * sizeof(uint32_t) : 0);
    tn_give(memory, spans, spans != NULL ? count * 2 * sizeof(span) : 0);
    return status;
}

static tn_status refuse(const tn_tensor *tensor, uint64_t offset, uint64_t expected, uint64_t found, const char *why,
                        tn_error *err)
{
    tn_fail(err, TN_BAD_LAYOUT, "%s", why);
    tn_error_at_tensor(err, tensor->name.bytes, tensor->name.size);
    tn_error_at_offset(err, offset);
    tn_error_amounts(err, expected, found);
    return TN_BAD_LAYOUT;
}

/* Odd things met on the way, told once for the whole file. */
typedef struct oddities {
    uint32_t misaligned;         /* in the data, whatever the length of the header */
    uint32_t misaligned_in_file; /* only because the data does not begin at a multiple of 8 */
    uint32_t cut_off;
    const tn_tensor *first_misaligned, *first_misaligned_in_file, *first_cut_off;
} oddities;

static void note_place(tn_tensor *tensor, bool in_data, bool in_file, oddities *odd)
{
    if (in_file)
        tensor->flags |= TN_TENSOR_MISALIGNED;
    if (in_data && odd->misaligned++ == 0)
        odd->first_misaligned = tensor;
    if (!in_data && odd->misaligned_in_file++ == 0)
        odd->first_misaligned_in_file = tensor;
}

static void look_at(tn_tensor *tensor, const tn_storage *storage, const tn_layout *layout, oddities *odd)
{
    uint64_t item = tn_dtype_bits_of(tensor->dtype) / 8;
    uint64_t in_data = item > 1 ? (storage->offset - layout->data_start) & (item - 1) : 0;
    uint64_t in_file = item > 1 ? storage->offset & (item - 1) : 0;
    if (TN_UNLIKELY((in_data | in_file) != 0 && storage->stored_bytes > 0))
        note_place(tensor, in_data != 0, in_file != 0, odd);
    if (TN_UNLIKELY(storage->stored_bytes > 0 && storage->offset + storage->stored_bytes > layout->file_size)) {
        tensor->flags |= TN_TENSOR_SHORT;
        if (odd->cut_off++ == 0)
            odd->first_cut_off = tensor;
    }
}

/* Each tensor begins where the one before it ended, and is as long as its shape says. */
static tn_status check_chain(tn_catalog *catalog, const tn_layout *layout, uint64_t *end, oddities *odd, tn_error *err)
{
    tn_tensor *tensors = tn_catalog_tensors(catalog);
    const tn_storage *storages = tn_catalog_storages(catalog);
    uint32_t count = tn_catalog_tensor_count(catalog);
    uint64_t expected = layout->data_start;
    for (uint32_t i = layout->first; i < count; i++) {
        const tn_storage *storage = storage_of(storages, &tensors[i]);
        if (TN_UNLIKELY(storage->offset != expected))
            return refuse(&tensors[i], storage->offset, expected, storage->offset,
                          storage->offset > expected ? "a hole lies before its bytes" : "its bytes overlap another's",
                          err);
        if (TN_UNLIKELY(storage->stored_bytes != tensors[i].size_bytes))
            return refuse(&tensors[i], storage->offset, tensors[i].size_bytes, storage->stored_bytes,
                          "its shape and dtype ask for another number of bytes than its offsets give", err);
        look_at(&tensors[i], storage, layout, odd);
        expected += storage->stored_bytes; /* offset + bytes was checked when the tensor was added */
    }
    *end = expected;
    return TN_OK;
}

static tn_status add(tn_catalog *catalog, const tn_layout *layout, tn_finding *finding, const tn_tensor *tensor,
                     tn_error *err)
{
    tn_arena *arena = tn_catalog_arena(catalog);
    finding->file = TN_TEXT("");
    finding->tensor = tensor != NULL ? tensor->name : TN_TEXT("");
    if (layout->file != NULL)
        finding->file = tn_arena_text(arena, layout->file, strlen(layout->file));
    TN_TRY(tn_arena_status(arena, err));
    return tn_catalog_add_finding(catalog, finding, err);
}

/* Tensors whose item size does not divide their place in the data are the writer's fault, and a warning. When only the
 * header's length moves all of them (writers did not always pad it) it is worth a note: no loader but one that maps
 * the file and uses it in place will ever see it. */
static tn_status note_misaligned(tn_catalog *catalog, const tn_layout *layout, const oddities *odd, tn_error *err)
{
    bool in_data = odd->misaligned > 0;
    const tn_tensor *first = in_data ? odd->first_misaligned : odd->first_misaligned_in_file;
    uint32_t count = in_data ? odd->misaligned : odd->misaligned_in_file;
    tn_finding finding = {.severity = in_data ? TN_WARNING : TN_NOTE, .status = TN_MISALIGNED,
                          .offset = storage_of(tn_catalog_storages(catalog), first)->offset,
                          .expected = TN_NONE, .found = count};
    finding.message = in_data ? tn_arena_format(tn_catalog_arena(catalog),
                                                "%u of the tensors start at no multiple of their item size", count)
                              : TN_TEXT("the header's length puts tensors at no multiple of their item size");
    return add(catalog, layout, &finding, first, err);
}

static tn_status note_short(tn_catalog *catalog, const tn_layout *layout, uint64_t end, const oddities *odd,
                            tn_error *err)
{
    tn_finding finding = {.severity = TN_ERROR, .status = TN_TRUNCATED, .offset = layout->file_size, .expected = end,
                          .found = layout->file_size};
    finding.message = tn_arena_format(tn_catalog_arena(catalog), "short by %llu bytes; tensors that are not whole: %u",
                                      (unsigned long long)(end - layout->file_size), odd->cut_off);
    return add(catalog, layout, &finding, odd->first_cut_off, err);
}

static tn_status note_long(tn_catalog *catalog, const tn_layout *layout, uint64_t end, tn_error *err)
{
    tn_finding finding = {.severity = TN_ERROR, .status = TN_TRAILING_BYTES, .offset = end, .expected = end,
                          .found = layout->file_size};
    finding.message = tn_arena_format(tn_catalog_arena(catalog), "%llu bytes too many behind the last tensor",
                                      (unsigned long long)(layout->file_size - end));
    return add(catalog, layout, &finding, NULL, err);
}

tn_status tn_safetensors_lay_out(tn_catalog *catalog, const tn_layout *layout, tn_error *err)
{
    oddities odd = {0, 0, 0, NULL, NULL, NULL};
    uint64_t end = 0;
    if (!layout->in_order && !is_sorted(catalog, layout->first))
        TN_TRY(sort(catalog, layout->first, err));
    TN_TRY(check_chain(catalog, layout, &end, &odd, err));
    if (odd.misaligned > 0 || odd.misaligned_in_file > 0)
        TN_TRY(note_misaligned(catalog, layout, &odd, err));
    if (layout->file_size < end)
        return note_short(catalog, layout, end, &odd, err);
    return layout->file_size > end ? note_long(catalog, layout, end, err) : TN_OK;
}
