/* Catalogs being written. What holds stands in catalog.h; C1 to C4 below refer to it.
 *
 * Opening a checkpoint spends most of its time in tn_catalog_add_tensor: it takes no memory of its own for a tensor
 * but the copy of its name, packs all shapes into runs, and looks into one index.
 */
#include "format/catalog.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/dtype.h"
#include "core/error.h"
#include "format/catalog_inside.h"
#include "format/limits.h"

#define SHAPE_RUN 512u /* numbers taken from the arena at once */
#define MESSAGE_MAX 512u

static tn_memory_source *memory_of(const tn_catalog *catalog)
{
    return &catalog->context->memory;
}

static tn_row row_of(size_t item_size)
{
    return (tn_row){.item_size = (uint32_t)item_size};
}

static void prepare(tn_catalog *catalog, tn_context *context, tn_container container)
{
    memset(catalog, 0, sizeof *catalog);
    atomic_init(&catalog->holds, 1);
    catalog->context = context;
    catalog->container = container;
    tn_arena_init(&catalog->arena, &context->memory, TN_CATALOG_BYTES_MAX);
    catalog->parts = row_of(sizeof(tn_part));
    catalog->storages = row_of(sizeof(tn_storage));
    catalog->tensors = row_of(sizeof(tn_tensor));
    catalog->logicals = row_of(sizeof(tn_logical));
    catalog->pairs = row_of(sizeof(tn_pair));
    catalog->findings = row_of(sizeof(tn_finding));
    catalog->files = row_of(sizeof(tn_part_file));
    tn_name_index_init(&catalog->names, &context->memory, sizeof(tn_tensor));
    tn_name_index_init(&catalog->keys, &context->memory, sizeof(tn_pair));
    catalog->prefix = TN_TEXT("");
}

tn_status tn_catalog_begin(tn_context *context, tn_container container, const char *path, tn_catalog **out,
                           tn_error *err)
{
    void *block = NULL;
    TN_TRY(tn_take(&context->memory, sizeof(tn_catalog), &block, err));
    tn_catalog *catalog = block;
    prepare(catalog, context, container);
    catalog->path = tn_arena_text(&catalog->arena, path, strlen(path));
    if (catalog->path.bytes == NULL) {
        tn_status failed = tn_arena_status(&catalog->arena, err);
        tn_catalog_abandon(catalog);
        return failed;
    }
    *out = catalog;
    return TN_OK;
}

static void row_free(tn_memory_source *memory, tn_row *row)
{
    tn_give(memory, row->items, (size_t)row->capacity * row->item_size);
    row->items = NULL;
    row->count = row->capacity = 0;
}

void tn_catalog_abandon(tn_catalog *catalog)
{
    if (catalog == NULL)
        return;
    tn_memory_source *memory = memory_of(catalog);
    tn_part_files_cut(catalog, 0);
    tn_row *rows[] = {&catalog->parts, &catalog->storages, &catalog->tensors, &catalog->logicals,
                      &catalog->pairs, &catalog->findings, &catalog->files};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        row_free(memory, rows[i]);
    tn_name_index_free(&catalog->names);
    tn_name_index_free(&catalog->keys);
    tn_arena_free(&catalog->arena);
    tn_give(memory, catalog, sizeof *catalog);
}

tn_arena *tn_catalog_arena(tn_catalog *catalog)
{
    return &catalog->arena;
}

tn_context *tn_catalog_context(const tn_catalog *catalog)
{
    return catalog->context;
}

void tn_catalog_set_container(tn_catalog *catalog, tn_container container)
{
    catalog->container = container;
}

/* ---- rows ---- */

tn_status tn_row_make_room(tn_memory_source *memory, tn_row *row, uint64_t capacity, tn_error *err)
{
    if (capacity <= row->capacity)
        return TN_OK;
    TN_TRY(tn_retake(memory, &row->items, (size_t)row->capacity * row->item_size, (size_t)capacity * row->item_size,
                     err));
    row->capacity = (uint32_t)capacity;
    return TN_OK;
}

static tn_status row_grow(tn_memory_source *memory, tn_row *row, uint32_t max, tn_error *err)
{
    if (row->count >= max)
        return tn_fail(err, TN_LIMIT, "more than %u of a kind in one checkpoint", max);
    uint64_t wider = (uint64_t)row->capacity + row->capacity / 2 + 8;
    return tn_row_make_room(memory, row, wider < max ? wider : max, err);
}

static inline tn_status row_make_room_for_one(tn_memory_source *memory, tn_row *row, uint32_t max, tn_error *err)
{
    return TN_LIKELY(row->count < row->capacity) ? TN_OK : row_grow(memory, row, max, err);
}

void *tn_row_add(tn_memory_source *memory, tn_row *row, uint32_t max, tn_status *failed, tn_error *err)
{
    *failed = row_make_room_for_one(memory, row, max, err);
    return *failed == TN_OK ? (char *)row->items + (size_t)row->item_size * row->count++ : NULL;
}

void tn_row_trim(tn_memory_source *memory, tn_row *row)
{
    if (row->count == 0) {
        row_free(memory, row);
        return;
    }
    if (row->count < row->capacity / 2 && tn_retake(memory, &row->items, (size_t)row->capacity * row->item_size,
                                                (size_t)row->count * row->item_size, NULL) == TN_OK)
        row->capacity = row->count;
}

/* ---- parts ---- */

tn_status tn_catalog_add_part(tn_catalog *catalog, const char *path, uint64_t size_bytes, uint64_t header_bytes,
                              const char *component, tn_error *err)
{
    tn_text where = tn_arena_text(&catalog->arena, path, strlen(path));
    tn_text prefix = TN_TEXT(""), part_of = TN_TEXT("");
    if (component[0] != '\0') {
        part_of = tn_arena_text(&catalog->arena, component, strlen(component));
        prefix = tn_arena_format(&catalog->arena, "%s/", component);
    }
    TN_TRY(tn_arena_status(&catalog->arena, err));
    tn_status failed = TN_OK;
    tn_part *part = tn_row_add(memory_of(catalog), &catalog->parts, TN_PARTS_MAX, &failed, err);
    if (part == NULL)
        return failed;
    *part = (tn_part){where, size_bytes, header_bytes, part_of};
    catalog->prefix = prefix;
    catalog->next_offset = header_bytes;
    return TN_OK;
}

/* ---- tensors ---- */

tn_status tn_catalog_expect(tn_catalog *catalog, uint64_t count, tn_error *err)
{
    uint64_t wanted = catalog->tensors.count + count;
    if (wanted > TN_TENSORS_MAX || wanted < count)
        wanted = TN_TENSORS_MAX;
    TN_TRY(tn_row_make_room(memory_of(catalog), &catalog->tensors, wanted, err));
    TN_TRY(tn_row_make_room(memory_of(catalog), &catalog->storages, wanted, err));
    return tn_name_index_reserve(&catalog->names, (uint32_t)wanted, err);
}

/* Copy the shape and multiply it, from left to right as the reference reader does: a 0 in front of a product that would
 * overflow makes it 0, one behind it comes too late. */
static bool sizes_overflow(const tn_tensor_spec *spec, uint64_t *shape, uint64_t *elements, uint64_t *bits)
{
    uint64_t product = 1;
    for (uint32_t i = 0; i < spec->rank; i++) {
        shape[i] = spec->shape[i];
        if (tn_mul_overflows(product, shape[i], &product))
            return true;
    }
    *elements = product;
    return tn_mul_overflows(product, tn_dtype_bits_of(spec->dtype), bits);
}

static tn_status refuse_tensor(const tn_tensor_spec *spec, tn_status status, const char *why, tn_error *err)
{
    tn_fail(err, status, "%s", why);
    tn_error_at_tensor(err, spec->name, spec->name_size);
    return status;
}

static uint64_t rank_zero[1]; /* what the shape of rank 0 points to: never written, never read */

/* Room for `rank` numbers in the present run. A shape that is longer than what is left begins a new one. */
static uint64_t *take_shape(tn_catalog *catalog, uint32_t rank)
{
    if (rank == 0)
        return rank_zero;
    if (TN_UNLIKELY(rank > catalog->shape_left)) {
        size_t run = rank > SHAPE_RUN ? rank : SHAPE_RUN;
        uint64_t *fresh = tn_arena_take(&catalog->arena, run * sizeof *fresh);
        if (fresh == NULL)
            return NULL;
        catalog->shape_at = fresh;
        catalog->shape_left = run;
    }
    uint64_t *shape = catalog->shape_at;
    catalog->shape_at += rank;
    catalog->shape_left -= rank;
    return shape;
}

static char *take_name(tn_catalog *catalog, const tn_tensor_spec *spec)
{
    size_t before = catalog->prefix.size;
    char *name = tn_arena_take_bytes(&catalog->arena, before + spec->name_size + 1);
    if (name == NULL)
        return NULL;
    if (before > 0)
        memcpy(name, catalog->prefix.bytes, before);
    memcpy(name + before, spec->name, spec->name_size);
    name[before + spec->name_size] = '\0';
    return name;
}

/* What is checked of a tensor before it is written. */
typedef struct extent {
    uint64_t *shape; /* the copy that stays */
    uint64_t elements, size_bytes;
    uint64_t offset, stored_bytes, end;
} extent;

static tn_status check(tn_catalog *catalog, const tn_tensor_spec *spec, extent *out, tn_error *err)
{
    uint64_t bits = 0;
    if (TN_UNLIKELY(spec->rank > TN_RANK_MAX))
        return refuse_tensor(spec, TN_LIMIT, "the shape has too many dimensions", err);
    out->shape = take_shape(catalog, spec->rank);
    if (TN_UNLIKELY(out->shape == NULL))
        return tn_arena_status(&catalog->arena, err);
    if (TN_UNLIKELY(sizes_overflow(spec, out->shape, &out->elements, &bits)))
        return refuse_tensor(spec, TN_OVERFLOW, "the shape's product does not fit 64 bits", err); /* C3 */
    if (TN_UNLIKELY(bits % 8 != 0))
        return refuse_tensor(spec, TN_BAD_LAYOUT, "its packed elements do not fill whole bytes", err);
    out->size_bytes = bits / 8;
    out->offset = spec->offset != TN_NONE ? spec->offset : catalog->next_offset;
    out->stored_bytes = spec->stored_bytes != TN_NONE ? spec->stored_bytes : out->size_bytes;
    if (TN_UNLIKELY(tn_add_overflows(out->offset, out->stored_bytes, &out->end)))
        return refuse_tensor(spec, TN_OVERFLOW, "its end does not fit 64 bits", err);
    return TN_OK;
}

static tn_status make_room(tn_catalog *catalog, tn_error *err)
{
    tn_memory_source *memory = memory_of(catalog);
    TN_TRY(row_make_room_for_one(memory, &catalog->tensors, TN_TENSORS_MAX, err));
    return row_make_room_for_one(memory, &catalog->storages, TN_TENSORS_MAX, err);
}

/* Written in place, field by field: a copy of a whole record would wait for its pieces. */
static void write_tensor(tn_catalog *catalog, const tn_tensor_spec *spec, const extent *x, tn_text name)
{
    tn_storage *storage = (tn_storage *)catalog->storages.items + catalog->storages.count;
    storage->part = catalog->parts.count - 1;
    storage->offset = x->offset;
    storage->stored_bytes = x->stored_bytes;
    storage->encoding = TN_RAW;
    storage->big_endian = false;
    tn_tensor *tensor = (tn_tensor *)catalog->tensors.items + catalog->tensors.count;
    tensor->name = name;
    tensor->dtype = spec->dtype;
    tensor->rank = spec->rank;
    tensor->shape = x->shape;
    tensor->strides = NULL;
    tensor->storage = catalog->storages.count; /* C1 */
    tensor->element_offset = 0;
    tensor->elements = x->elements;
    tensor->size_bytes = x->size_bytes;
    tensor->flags = spec->flags;
    catalog->storages.count++;
    catalog->tensors.count++;
    catalog->next_offset = x->end;
    catalog->dtypes_seen |= UINT32_C(1) << spec->dtype;
}

tn_status tn_catalog_add_tensor(tn_catalog *catalog, const tn_tensor_spec *spec, tn_error *err)
{
    extent x = {.shape = NULL};
    assert(catalog->parts.count > 0);
    char *bytes = take_name(catalog, spec);
    if (TN_UNLIKELY(bytes == NULL))
        return tn_arena_status(&catalog->arena, err);
    tn_text name = {bytes, catalog->prefix.size + spec->name_size};
    /* Looked up by the bytes it was copied from, which are at hand sooner than the copy. */
    tn_text sought = {catalog->prefix.size > 0 ? bytes : spec->name, name.size};
    uint32_t tag = tn_name_index_tag(&catalog->names, sought);
    TN_TRY(check(catalog, spec, &x, err));
    TN_TRY(make_room(catalog, err));
    uint32_t number = catalog->tensors.count, holder = number;
    TN_TRY(tn_name_index_put_tagged(&catalog->names, catalog->tensors.items, sought, tag, number, &holder, err));
    if (TN_UNLIKELY(holder != number))
        return refuse_tensor(spec, TN_DUPLICATE, "two tensors have this name", err); /* C2 */
    write_tensor(catalog, spec, &x, name);
    return TN_OK;
}

tn_status tn_catalog_add_shape(tn_catalog *catalog, const char *name, tn_dtype dtype, uint32_t rank,
                               const uint64_t *shape, tn_error *err)
{
    tn_tensor_spec spec = {.name = name, .name_size = strlen(name), .dtype = dtype, .rank = rank, .shape = shape,
                           .offset = TN_NONE, .stored_bytes = TN_NONE};
    return tn_catalog_add_tensor(catalog, &spec, err);
}

uint32_t tn_catalog_tensor_count(const tn_catalog *catalog)
{
    return catalog->tensors.count;
}

tn_tensor *tn_catalog_tensors(tn_catalog *catalog)
{
    return catalog->tensors.items;
}

tn_storage *tn_catalog_storages(tn_catalog *catalog)
{
    return catalog->storages.items;
}

void tn_catalog_reorder(tn_catalog *catalog, uint32_t first, const uint32_t *order, tn_tensor *scratch)
{
    uint32_t count = catalog->tensors.count - first;
    tn_tensor *tensors = catalog->tensors.items;
    for (uint32_t i = 0; i < count; i++)
        scratch[i] = tensors[order[i]];
    memcpy(tensors + first, scratch, count * sizeof *scratch);
    tn_name_index_rewrite(&catalog->names, tensors, catalog->tensors.count);
}

/* ---- metadata ---- */

tn_status tn_catalog_add_metadata(tn_catalog *catalog, tn_text key, tn_text value, tn_error *err)
{
    tn_pair pair = {tn_arena_text(&catalog->arena, key.bytes, key.size),
                    tn_arena_text(&catalog->arena, value.bytes, value.size)};
    TN_TRY(tn_arena_status(&catalog->arena, err));
    tn_status failed = TN_OK;
    tn_pair *slot = tn_row_add(memory_of(catalog), &catalog->pairs, TN_METADATA_MAX, &failed, err);
    if (slot == NULL)
        return failed;
    *slot = pair;
    uint32_t number = catalog->pairs.count - 1, holder = number;
    failed = tn_name_index_put(&catalog->keys, catalog->pairs.items, pair.key, number, &holder, err);
    if (failed == TN_OK && holder != number) {
        failed = tn_fail(err, TN_DUPLICATE, "a metadata key stands twice");
        tn_error_at_tensor(err, key.bytes, key.size);
    }
    if (failed != TN_OK)
        catalog->pairs.count--;
    return failed;
}

/* ---- findings ---- */

tn_status tn_catalog_add_finding(tn_catalog *catalog, const tn_finding *finding, tn_error *err)
{
    if (catalog->findings.count == TN_FINDINGS_MAX) {
        tn_finding *last = (tn_finding *)catalog->findings.items + TN_FINDINGS_MAX - 1;
        tn_severity worst = last->severity > finding->severity ? last->severity : finding->severity;
        *last = (tn_finding){worst,       TN_LIMIT,    TN_TEXT("there is more to find than is kept here"),
                             TN_TEXT(""), TN_TEXT(""), TN_NONE,
                             TN_NONE,     TN_NONE};
        return TN_OK;
    }
    tn_status failed = TN_OK;
    tn_finding *slot = tn_row_add(memory_of(catalog), &catalog->findings, TN_FINDINGS_MAX, &failed, err);
    if (slot == NULL)
        return failed;
    *slot = *finding;
    return TN_OK;
}

tn_status tn_catalog_note(tn_catalog *catalog, tn_severity severity, tn_status status, const char *file, tn_error *err,
                          const char *format, ...)
{
    char message[MESSAGE_MAX];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (size < 0)
        message[0] = '\0';
    tn_finding finding = {severity, status, tn_arena_text(&catalog->arena, message, strlen(message)),
                          TN_TEXT(""), TN_TEXT(""), TN_NONE, TN_NONE, TN_NONE};
    if (file != NULL)
        finding.file = tn_arena_text(&catalog->arena, file, strlen(file));
    TN_TRY(tn_arena_status(&catalog->arena, err));
    return tn_catalog_add_finding(catalog, &finding, err);
}

bool tn_failure_is_of_process(tn_status status)
{
    return tn_status_is_of_process(status) || status == TN_INVALID || status == TN_INTERNAL ||
           status == TN_TOO_MANY_FILES;
}

tn_status tn_catalog_note_failure(tn_catalog *catalog, const tn_error *failure, const char *file, tn_error *err)
{
    if (tn_failure_is_of_process(failure->status)) {
        if (err != NULL && err != failure)
            *err = *failure;
        return failure->status;
    }
    tn_arena *arena = &catalog->arena;
    tn_finding finding = {TN_ERROR,
                          failure->status,
                          tn_arena_text(arena, failure->message, strlen(failure->message)),
                          tn_arena_text(arena, file, strlen(file)),
                          tn_arena_text(arena, failure->tensor, strlen(failure->tensor)),
                          failure->offset,
                          failure->expected,
                          failure->found};
    TN_TRY(tn_arena_status(arena, err));
    return tn_catalog_add_finding(catalog, &finding, err);
}

/* ---- going back, and the end ---- */

tn_catalog_mark tn_catalog_mark_now(const tn_catalog *catalog)
{
    return (tn_catalog_mark){catalog->parts.count, catalog->storages.count, catalog->tensors.count,
                             catalog->pairs.count, catalog->findings.count};
}

void tn_catalog_return_to(tn_catalog *catalog, tn_catalog_mark mark)
{
    tn_part_files_cut(catalog, mark.parts);
    catalog->parts.count = mark.parts;
    catalog->storages.count = mark.storages;
    catalog->tensors.count = mark.tensors;
    catalog->pairs.count = mark.pairs;
    catalog->findings.count = mark.findings;
    tn_name_index_rewrite(&catalog->names, catalog->tensors.items, mark.tensors);
    tn_name_index_rewrite(&catalog->keys, catalog->pairs.items, mark.pairs);
}

/* Worst first, else in the order in which they were found: there are few, and each is moved once. */
static void sort_findings(tn_row *row)
{
    tn_finding *findings = row->items;
    for (uint32_t i = 1; i < row->count; i++) {
        tn_finding moved = findings[i];
        uint32_t at = i;
        for (; at > 0 && findings[at - 1].severity < moved.severity; at--)
            findings[at] = findings[at - 1];
        findings[at] = moved;
    }
}

tn_status tn_catalog_finish(tn_catalog *catalog, tn_checkpoint **out, tn_error *err)
{
    TN_TRY(tn_arena_status(&catalog->arena, err));
    TN_TRY(tn_catalog_group(catalog, err));
    sort_findings(&catalog->findings);
    tn_row_trim(memory_of(catalog), &catalog->parts);
    tn_row_trim(memory_of(catalog), &catalog->files);
    tn_row_trim(memory_of(catalog), &catalog->storages);
    tn_row_trim(memory_of(catalog), &catalog->tensors);
    tn_row_trim(memory_of(catalog), &catalog->logicals);
    tn_row_trim(memory_of(catalog), &catalog->pairs);
    tn_row_trim(memory_of(catalog), &catalog->findings);
    *out = catalog;
    return TN_OK;
}
