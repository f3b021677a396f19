/* The safetensors writer (docs/formats/safetensors.md): header first, then the tensors where the header says.
 *
 *   W1  The bytes are those of the safetensors 0.8 writer: tensors by dtype, widest first, then by name; no space in the
 *       JSON; spaces behind it up to a multiple of 8; tensors back to back. Metadata, whose order that writer leaves
 *       to chance, is sorted by key.
 *   W2  `path` is either as it was or holds the whole new file, flushed: a temporary beside it is renamed over it.
 *   W3  A tensor's bytes come in order; what was put is counted, and no byte is written twice.
 */
#include <tenure/writer.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "context/context.h"
#include "core/buffer.h"
#include "core/error.h"
#include "core/json.h"
#include "core/map.h"
#include "core/utf8.h"
#include "format/limits.h"
#include "os/os.h"

#define PATH_MAX_BYTES 65536u
#define PENDING_BYTES ((size_t)1 << 20) /* small pieces that lie behind each other are written together */

/* One tensor's place in the file, and how far it is filled. */
typedef struct place {
    uint64_t begin, size, filled; /* bytes; begin from the start of the file */
    tn_text name;                 /* in the writer's arena */
} place;

struct tn_writer {
    tn_context *context;
    tn_memory_source *memory;
    tn_arena names;
    tn_buffer path, temporary;
    tn_os_file file;
    bool made; /* the temporary is there */
    place *places;
    size_t count;
    uint64_t size_bytes;
    tn_buffer pending; /* bytes that belong at pending_at */
    uint64_t pending_at;
};

/* ---- what may be written ---- */

static tn_status refuse(const tn_write_tensor *tensor, tn_status why, const char *message, tn_error *err)
{
    tn_fail(err, why, "%s", message);
    tn_error_at_tensor(err, tensor->name.bytes, tensor->name.size);
    return why;
}

static tn_status size_of(const tn_write_tensor *tensor, uint64_t *out, tn_error *err)
{
    uint64_t elements = 1, bits;
    for (uint32_t i = 0; i < tensor->rank; i++)
        if (tn_mul_overflows(elements, tensor->shape[i], &elements))
            return refuse(tensor, TN_OVERFLOW, tn_status_text(TN_OVERFLOW), err);
    if (tn_mul_overflows(elements, tn_dtype_bits(tensor->dtype), &bits))
        return refuse(tensor, TN_OVERFLOW, tn_status_text(TN_OVERFLOW), err);
    if (bits % 8 != 0)
        return refuse(tensor, TN_INVALID, "a tensor of a packed type must fill whole bytes", err);
    *out = bits / 8;
    return TN_OK;
}

static tn_status check(const tn_write_tensor *tensor, tn_error *err)
{
    static const char metadata[] = "__metadata__";
    tn_text name = tensor->name;
    if (tn_utf8_valid_prefix(name.bytes, name.size) != name.size)
        return refuse(tensor, TN_INVALID, "the name of a tensor must be UTF-8", err);
    if (name.size == sizeof metadata - 1 && memcmp(name.bytes, metadata, name.size) == 0)
        return refuse(tensor, TN_INVALID, "no tensor can have the name of the metadata", err);
    if ((unsigned)tensor->dtype >= TN_DTYPE_COUNT || tensor->dtype == TN_C128)
        return refuse(tensor, TN_UNSUPPORTED, "safetensors has no such type", err);
    if (tensor->rank > TN_RANK_MAX || (tensor->rank > 0 && tensor->shape == NULL))
        return refuse(tensor, TN_INVALID, "the shape of a tensor is missing or too long", err);
    return TN_OK;
}

/* ---- the order ---- */

typedef struct entry {
    const tn_write_tensor *tensor;
    size_t number; /* in the caller's array */
    uint64_t size;
} entry;

static int text_order(tn_text a, tn_text b)
{
    size_t shorter = a.size < b.size ? a.size : b.size;
    int order = shorter > 0 ? memcmp(a.bytes, b.bytes, shorter) : 0;
    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

static int entry_order(const void *left, const void *right)
{
    const entry *a = left, *b = right;
    if (a->tensor->dtype != b->tensor->dtype)
        return a->tensor->dtype > b->tensor->dtype ? -1 : 1;
    return text_order(a->tensor->name, b->tensor->name);
}

static int pair_order(const void *left, const void *right)
{
    return text_order(((const tn_pair *)left)->key, ((const tn_pair *)right)->key);
}

/* Fill the entries and sort them; twice the same name is found beside itself, whatever the types. */
static tn_status sort(tn_writer *writer, const tn_write_tensor *tensors, entry *entries, tn_error *err)
{
    tn_map names;
    tn_map_init(&names, writer->memory);
    tn_status status = tn_map_reserve(&names, writer->count, err);
    for (size_t i = 0; i < writer->count && status == TN_OK; i++) {
        bool fresh = true;
        entries[i] = (entry){&tensors[i], i, 0};
        status = check(&tensors[i], err);
        if (status == TN_OK)
            status = size_of(&tensors[i], &entries[i].size, err);
        if (status == TN_OK)
            status = tn_map_put(&names, tensors[i].name.bytes, tensors[i].name.size, i, &fresh, NULL, err);
        if (status == TN_OK && !fresh)
            status = refuse(&tensors[i], TN_DUPLICATE, "two tensors have the same name", err);
    }
    tn_map_free(&names);
    if (status == TN_OK && writer->count > 1)
        qsort(entries, writer->count, sizeof *entries, entry_order);
    return status;
}

/* ---- the header ---- */

static void write_entry(tn_json_writer *w, const tn_write_tensor *tensor, uint64_t begin, uint64_t end)
{
    tn_json_key_text(w, tensor->name.bytes, tensor->name.size);
    tn_json_object(w);
    tn_json_key(w, "dtype");
    tn_json_cstring(w, tn_dtype_name(tensor->dtype));
    tn_json_key(w, "shape");
    tn_json_array(w);
    for (uint32_t i = 0; i < tensor->rank; i++)
        tn_json_uint(w, tensor->shape[i]);
    tn_json_array_end(w);
    tn_json_key(w, "data_offsets");
    tn_json_array(w);
    tn_json_uint(w, begin);
    tn_json_uint(w, end);
    tn_json_array_end(w);
    tn_json_object_end(w);
}

static void write_pairs(tn_json_writer *w, const tn_pair *pairs, size_t count)
{
    tn_json_key(w, "__metadata__");
    tn_json_object(w);
    for (size_t i = 0; i < count; i++) {
        tn_json_key_text(w, pairs[i].key.bytes, pairs[i].key.size);
        tn_json_string(w, pairs[i].value.bytes, pairs[i].value.size);
    }
    tn_json_object_end(w);
}

static tn_status write_metadata(tn_writer *writer, tn_json_writer *w, const tn_writer_options *options, tn_error *err)
{
    void *block = NULL;
    size_t count = options->metadata_count;
    if (count == 0 && !options->metadata_empty)
        return TN_OK;
    TN_TRY(tn_take_array(writer->memory, count, sizeof(tn_pair), &block, err));
    tn_pair *pairs = block;
    if (count > 0) {
        memcpy(pairs, options->metadata, count * sizeof *pairs);
        qsort(pairs, count, sizeof *pairs, pair_order);
    }
    tn_status status = TN_OK;
    for (size_t i = 1; i < count && status == TN_OK; i++)
        if (pair_order(&pairs[i - 1], &pairs[i]) == 0)
            status = tn_fail(err, TN_DUPLICATE, "the metadata has a key twice");
    if (status == TN_OK)
        write_pairs(w, pairs, count);
    tn_give(writer->memory, pairs, count * sizeof *pairs);
    return status;
}

/* Lay the tensors out behind each other, and write the JSON. Offsets count from the end of the header. */
static tn_status lay_out(tn_writer *writer, tn_json_writer *w, const entry *entries, tn_error *err)
{
    uint64_t at = 0, end;
    for (size_t i = 0; i < writer->count; i++) {
        const entry *e = &entries[i];
        if (tn_add_overflows(at, e->size, &end) || end > INT64_MAX)
            return refuse(e->tensor, TN_OVERFLOW, "the file would be greater than any file can be", err);
        place *p = &writer->places[e->number];
        *p = (place){.begin = at, .size = e->size};
        p->name = tn_arena_text(&writer->names, e->tensor->name.bytes, e->tensor->name.size);
        write_entry(w, e->tensor, at, end);
        at = end;
    }
    writer->size_bytes = at;
    return tn_arena_status(&writer->names, err);
}

/* The eight bytes of its length stand in front, little-endian. */
static tn_status end_header(tn_writer *writer, tn_buffer *header, tn_error *err)
{
    static const char spaces[] = "        ";
    tn_buffer_append(header, spaces, (8 - header->size % 8) % 8);
    TN_TRY(tn_buffer_status(header, err));
    uint64_t length = header->size - 8;
    if (length > TN_HEADER_MAX)
        return tn_fail(err, TN_LIMIT, "the header would have %" PRIu64 " bytes, %u are allowed", length, TN_HEADER_MAX);
    for (unsigned i = 0; i < 8; i++)
        header->bytes[i] = (char)(length >> (8 * i) & 0xff);
    for (size_t i = 0; i < writer->count; i++)
        writer->places[i].begin += header->size;
    if (tn_add_overflows(writer->size_bytes, header->size, &writer->size_bytes))
        return tn_fail(err, TN_OVERFLOW, "%s", tn_status_text(TN_OVERFLOW));
    return TN_OK;
}

static tn_status make_header(tn_writer *writer, const tn_write_tensor *tensors, const tn_writer_options *options,
                             entry *entries, tn_buffer *header, tn_error *err)
{
    tn_json_writer w;
    TN_TRY(sort(writer, tensors, entries, err));
    tn_buffer_append(header, "\0\0\0\0\0\0\0", 8);
    tn_json_writer_init(&w, header);
    tn_json_object(&w);
    TN_TRY(write_metadata(writer, &w, options, err));
    TN_TRY(lay_out(writer, &w, entries, err));
    tn_json_object_end(&w);
    return end_header(writer, header, err);
}

/* ---- the file ---- */

static size_t folder_size(const char *path, size_t size)
{
    while (size > 0 && path[size - 1] != '/' && path[size - 1] != '\\')
        size--;
    return size;
}

static tn_status make_file(tn_writer *writer, const tn_buffer *header, tn_error *err)
{
    uint64_t draw;
    tn_os_random(&draw, sizeof draw);
    tn_buffer_append(&writer->temporary, writer->path.bytes, folder_size(writer->path.bytes, writer->path.size));
    tn_buffer_format(&writer->temporary, ".tenure-%016" PRIx64 ".part", draw);
    TN_TRY(tn_buffer_status(&writer->temporary, err));
    TN_TRY(tn_os_open(writer->temporary.bytes, TN_OS_WRITE | TN_OS_CREATE | TN_OS_EXCLUSIVE, &writer->file, err));
    writer->made = true;
    return tn_os_write(&writer->file, 0, header->bytes, header->size, err);
}

static tn_status begin(tn_writer *writer, const char *path, const tn_write_tensor *tensors,
                       const tn_writer_options *options, tn_error *err)
{
    void *block = NULL;
    tn_buffer header;
    if (path[0] == '\0')
        return tn_fail(err, TN_BAD_PATH, "the path is empty");
    TN_TRY(tn_os_absolute_path(path, &writer->path, err));
    TN_TRY(tn_take_array(writer->memory, writer->count, sizeof *writer->places, &block, err));
    writer->places = block;
    TN_TRY(tn_take_array(writer->memory, writer->count, sizeof(entry), &block, err));
    tn_buffer_init(&header, writer->memory, TN_HEADER_MAX + 64);
    tn_status status = make_header(writer, tensors, options, block, &header, err);
    if (status == TN_OK)
        status = make_file(writer, &header, err);
    tn_buffer_free(&header);
    tn_give(writer->memory, block, writer->count * sizeof(entry));
    return status;
}

tn_status tn_writer_open(tn_context *context, const char *path, const tn_write_tensor *tensors, size_t count,
                         const tn_writer_options *options, tn_writer **out, tn_error *err)
{
    static const tn_writer_options none = {.size = sizeof none};
    void *block = NULL;
    TN_TRY(tn_context_check(context, err));
    if (options == NULL)
        options = &none;
    if (options->size != sizeof *options)
        return tn_fail(err, TN_INVALID, "tn_writer_options of another size");
    if (count > TN_TENSORS_MAX)
        return tn_fail(err, TN_LIMIT, "%zu tensors, a file has at most %u", count, TN_TENSORS_MAX);
    TN_TRY(tn_take_array(&context->memory, 1, sizeof(tn_writer), &block, err));
    tn_writer *writer = block;
    *writer = (tn_writer){.context = context, .memory = &context->memory, .count = count};
    tn_arena_init(&writer->names, writer->memory, TN_CATALOG_BYTES_MAX);
    tn_buffer_init(&writer->path, writer->memory, PATH_MAX_BYTES);
    tn_buffer_init(&writer->temporary, writer->memory, PATH_MAX_BYTES);
    tn_buffer_init(&writer->pending, writer->memory, PENDING_BYTES);
    tn_status status = begin(writer, path, tensors, options, err);
    if (status == TN_OK)
        *out = writer;
    else
        tn_writer_destroy(writer);
    return status;
}

uint64_t tn_writer_size_bytes(const tn_writer *writer)
{
    return writer->size_bytes;
}

/* ---- bytes ---- */

static tn_status at_path(const tn_writer *writer, tn_status status, tn_error *err)
{
    if (status != TN_OK)
        tn_error_at_file(err, writer->path.bytes);
    return status;
}

static tn_status write_pending(tn_writer *writer, tn_error *err)
{
    if (writer->pending.size == 0)
        return TN_OK;
    TN_TRY(tn_os_write(&writer->file, writer->pending_at, writer->pending.bytes, writer->pending.size, err));
    tn_buffer_clear(&writer->pending);
    return TN_OK;
}

/* Great pieces go straight to the file; small ones wait for their neighbours. */
static tn_status put_at(tn_writer *writer, uint64_t at, const void *bytes, size_t size, tn_error *err)
{
    bool behind = writer->pending_at + writer->pending.size == at;
    if (!behind || size > PENDING_BYTES - writer->pending.size)
        TN_TRY(write_pending(writer, err));
    if (size >= PENDING_BYTES)
        return tn_os_write(&writer->file, at, bytes, size, err);
    if (writer->pending.size == 0)
        writer->pending_at = at;
    tn_buffer_append(&writer->pending, bytes, size);
    return tn_buffer_status(&writer->pending, err);
}

static tn_status fail_tensor(tn_writer *writer, const place *p, tn_error *err, const char *what)
{
    tn_fail(err, TN_INVALID, "a tensor of %" PRIu64 " bytes was given %s", p->size, what);
    tn_error_at_tensor(err, p->name.bytes, p->name.size);
    return at_path(writer, TN_INVALID, err);
}

tn_status tn_writer_put(tn_writer *writer, size_t tensor, const void *bytes, size_t size, tn_error *err)
{
    TN_TRY(tn_context_check(writer->context, err));
    if (tensor >= writer->count)
        return tn_fail(err, TN_INVALID, "there is no tensor %zu of %zu", tensor, writer->count);
    place *p = &writer->places[tensor];
    if (size > p->size - p->filled)
        return fail_tensor(writer, p, err, "more");
    if (size == 0)
        return TN_OK;
    TN_TRY(at_path(writer, put_at(writer, p->begin + p->filled, bytes, size, err), err));
    p->filled += size;
    return TN_OK;
}

/* ---- the end ---- */

static tn_status put_in_place(tn_writer *writer, tn_error *err)
{
    TN_TRY(write_pending(writer, err));
    TN_TRY(tn_os_sync(&writer->file, err));
    tn_os_close(&writer->file);
    TN_TRY(tn_os_put_in_place(writer->temporary.bytes, writer->path.bytes, err));
    writer->made = false;
    size_t size = folder_size(writer->path.bytes, writer->path.size);
    tn_buffer_clear(&writer->temporary);
    tn_buffer_append(&writer->temporary, writer->path.bytes, size > 1 ? size - 1 : size);
    TN_TRY(tn_buffer_status(&writer->temporary, err));
    return tn_os_sync_folder(writer->temporary.bytes, err);
}

tn_status tn_writer_finish(tn_writer *writer, tn_error *err)
{
    TN_TRY(tn_context_check(writer->context, err));
    if (!writer->file.open)
        return tn_fail(err, TN_INVALID, "this file is finished");
    for (size_t i = 0; i < writer->count; i++)
        if (writer->places[i].filled < writer->places[i].size)
            return fail_tensor(writer, &writer->places[i], err, "less");
    return at_path(writer, put_in_place(writer, err), err);
}

void tn_writer_destroy(tn_writer *writer)
{
    if (writer == NULL)
        return;
    tn_os_close(&writer->file);
    if (writer->made)
        tn_os_remove(writer->temporary.bytes, NULL);
    tn_memory_source *memory = writer->memory;
    if (writer->places != NULL)
        tn_give(memory, writer->places, writer->count * sizeof *writer->places);
    tn_arena_free(&writer->names);
    tn_buffer_free(&writer->path);
    tn_buffer_free(&writer->temporary);
    tn_buffer_free(&writer->pending);
    tn_give(memory, writer, sizeof *writer);
}
