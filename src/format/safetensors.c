/* The safetensors header: u64 length, JSON, and nothing trusted.
 *
 * The header is read whole, once, into memory charged to the budget, passed over once, and given back. Refused is all
 * that the reference reader refuses, and names that stand twice. What a header of no known writer shows but the
 * reference accepts is accepted: white space before the brace, an entry as an array, unknown fields, any name.
 * Strings are compared after their escapes are decoded. The layout of the data is safetensors_layout.c.
 */
#include "format/safetensors.h"

#include <string.h>

#include "core/error.h"
#include "core/json.h"
#include "format/limits.h"
#include "format/part_file.h"

#define LENGTH_BYTES 8u
#define SHAPE_ROOM 32u       /* ranks up to this are held without taking memory */
#define BYTES_AN_ENTRY 100u  /* of a header, about: so many tensors it may have */
#define GUESS_MAX 16384u     /* and no more are made room for beforehand: a long header may be all spaces */

/* One entry as it is read: the tensor that it becomes, built in place. */
typedef struct entry {
    uint64_t begin; /* data_offsets[0] */
    tn_tensor_spec tensor;
    uint64_t end; /* data_offsets[1] */
    size_t key_at;
    unsigned seen; /* a bit for each field */
} entry;

typedef struct reading {
    tn_catalog *catalog;
    tn_arena *arena; /* the catalog's */
    tn_source *source;
    const tn_safetensors_place *place;
    tn_json json;
    uint64_t data_start;
    bool metadata_seen;
    uint64_t next; /* where the next tensor's bytes begin, while each began where the one before it ended */
    bool in_order;
    tn_json_word last_dtype_word; /* its name and closing quote: neighbours mostly share their dtype */
    tn_dtype last_dtype;
    entry entry; /* the present one: made once, because to clear it takes as long as to read a number */
    uint64_t small[SHAPE_ROOM];
    uint64_t *wide; /* TN_RANK_MAX numbers once a shape asked for more */
    uint64_t unknown_fields, unknown_at;
    tn_text unknown_name;
} reading;

enum { FIELD_DTYPE = 1, FIELD_SHAPE = 2, FIELD_OFFSETS = 4, FIELD_ALL = 7 };

/* ---- refusing ---- */

static tn_status refuse(const reading *r, const entry *e, tn_status status, const char *why, tn_error *err)
{
    tn_fail(err, status, "%s", why);
    tn_error_at_file(err, r->place->path);
    tn_error_at_offset(err, LENGTH_BYTES + r->json.token_at);
    if (e != NULL)
        tn_error_at_tensor(err, e->tensor.name, e->tensor.name_size);
    return status;
}

/* The current token is not what the format has here: bad JSON, or good JSON that says something else. */
static tn_status unexpected(const reading *r, const entry *e, const char *wanted, tn_error *err)
{
    if (r->json.kind != TN_JSON_ERROR)
        return refuse(r, e, TN_BAD_HEADER, wanted, err);
    tn_status status = tn_json_fail(&r->json, LENGTH_BYTES, err);
    tn_error_at_file(err, r->place->path);
    return status;
}

static tn_status add_place(tn_error *err, tn_status status, const reading *r, size_t at)
{
    tn_error_at_file(err, r->place->path);
    tn_error_at_offset(err, LENGTH_BYTES + at);
    return status;
}

/* ---- numbers, types, shapes ---- */

/* The current token as a whole number of 64 bits. */
static tn_status count_of(const reading *r, const entry *e, uint64_t *out, tn_error *err)
{
    const tn_json *json = &r->json;
    if (TN_LIKELY(json->kind == TN_JSON_UINT)) {
        *out = json->u;
        return TN_OK;
    }
    bool digits = json->kind == TN_JSON_NUMBER;
    for (size_t i = 0; digits && i < json->text_size; i++)
        digits = json->text[i] >= '0' && json->text[i] <= '9';
    if (digits)
        return refuse(r, e, TN_OVERFLOW, "a number does not fit 64 bits", err);
    return unexpected(r, e, "only whole numbers without sign, fraction or exponent may stand here", err);
}

/* C128 has a name in Tenure and none in this format. */
static bool dtype_of(const char *name, size_t size, tn_dtype *out)
{
    return tn_dtype_from_name(name, size, out) && *out != TN_C128;
}

static tn_status read_dtype(reading *r, entry *e, tn_error *err)
{
    if (r->json.kind != TN_JSON_STRING)
        return unexpected(r, e, "dtype is not a string", err);
    tn_text name = tn_json_text(&r->json, r->arena);
    if (name.bytes == NULL)
        return tn_arena_status(r->arena, err);
    if (!dtype_of(name.bytes, name.size, &e->tensor.dtype))
        return refuse(r, e, TN_UNKNOWN_DTYPE, "the format has no such dtype", err);
    return TN_OK;
}

static tn_status widen_shape(reading *r, tn_error *err)
{
    void *block = NULL;
    TN_TRY(tn_take_array(&tn_catalog_context(r->catalog)->memory, TN_RANK_MAX, sizeof *r->wide, &block, err));
    r->wide = block;
    memcpy(r->wide, r->small, sizeof r->small);
    return TN_OK;
}

static tn_status read_shape(reading *r, entry *e, tn_error *err)
{
    if (r->json.kind != TN_JSON_ARRAY_BEGIN)
        return unexpected(r, e, "shape is not an array", err);
    uint64_t *room = r->wide != NULL ? r->wide : r->small;
    uint32_t rank = 0;
    while (tn_json_next(&r->json) != TN_JSON_ARRAY_END) {
        if (TN_UNLIKELY(rank == SHAPE_ROOM && room == r->small)) {
            TN_TRY(widen_shape(r, err));
            room = r->wide;
        }
        if (TN_UNLIKELY(rank == TN_RANK_MAX))
            return refuse(r, e, TN_LIMIT, "the shape has too many dimensions", err);
        TN_TRY(count_of(r, e, &room[rank], err));
        rank++;
    }
    e->tensor.rank = rank;
    e->tensor.shape = room;
    return TN_OK;
}

static tn_status read_offsets(reading *r, entry *e, tn_error *err)
{
    if (r->json.kind != TN_JSON_ARRAY_BEGIN)
        return unexpected(r, e, "data_offsets is not an array", err);
    static const char wrong[] = "data_offsets does not hold two numbers";
    uint64_t *const ends[] = {&e->begin, &e->end};
    for (size_t i = 0; i < 2; i++) {
        if (tn_json_next(&r->json) == TN_JSON_ARRAY_END)
            return unexpected(r, e, wrong, err);
        TN_TRY(count_of(r, e, ends[i], err));
    }
    if (tn_json_next(&r->json) != TN_JSON_ARRAY_END)
        return unexpected(r, e, wrong, err);
    return TN_OK;
}

/* ---- entries ---- */

static unsigned field_of(const tn_json *json)
{
    if (tn_json_is(json, "dtype"))
        return FIELD_DTYPE;
    if (tn_json_is(json, "shape"))
        return FIELD_SHAPE;
    return tn_json_is(json, "data_offsets") ? FIELD_OFFSETS : 0;
}

static tn_status read_value(reading *r, entry *e, unsigned field, tn_error *err)
{
    tn_json_next(&r->json);
    if (field == FIELD_DTYPE)
        return read_dtype(r, e, err);
    return field == FIELD_SHAPE ? read_shape(r, e, err) : read_offsets(r, e, err);
}

/* The value of a field that the format does not name is passed over, and counted. */
static tn_status pass_unknown(reading *r, const entry *e, tn_error *err)
{
    if (r->unknown_fields++ == 0) {
        r->unknown_at = LENGTH_BYTES + r->json.token_at;
        r->unknown_name = (tn_text){e->tensor.name, e->tensor.name_size};
    }
    return tn_json_skip(&r->json) ? TN_OK : unexpected(r, e, "", err);
}

static tn_status read_fields(reading *r, entry *e, tn_error *err)
{
    while (tn_json_next(&r->json) == TN_JSON_KEY) {
        unsigned field = field_of(&r->json);
        if (TN_UNLIKELY(field == 0)) {
            TN_TRY(pass_unknown(r, e, err));
            continue;
        }
        if (TN_UNLIKELY((e->seen & field) != 0))
            return refuse(r, e, TN_DUPLICATE, "a field stands twice in one entry", err);
        e->seen |= field;
        TN_TRY(read_value(r, e, field, err));
    }
    if (r->json.kind != TN_JSON_OBJECT_END)
        return unexpected(r, e, "", err);
    if (e->seen != FIELD_ALL)
        return refuse(r, e, TN_BAD_HEADER, "dtype, shape or data_offsets is missing", err);
    return TN_OK;
}

/* ["F32",[2,2],[0,16]]: what the reference makes of its own record when it is written as an array. */
static tn_status read_items(reading *r, entry *e, tn_error *err)
{
    TN_TRY(read_value(r, e, FIELD_DTYPE, err));
    TN_TRY(read_value(r, e, FIELD_SHAPE, err));
    TN_TRY(read_value(r, e, FIELD_OFFSETS, err));
    if (tn_json_next(&r->json) != TN_JSON_ARRAY_END)
        return unexpected(r, e, "an entry has more than dtype, shape and data_offsets", err);
    return TN_OK;
}

/* The dtype whose opening quote was looked at; the last one that was found is asked for first. */
static inline bool look_dtype(reading *r, tn_json_look *look, tn_dtype *out)
{
    const char *name;
    size_t size;
    if (TN_LIKELY(tn_json_look_word(look, &r->last_dtype_word))) {
        *out = r->last_dtype;
        return true;
    }
    if (!tn_json_look_string_rest(look, &name, &size) || !dtype_of(name, size, out))
        return false;
    if (size < TN_JSON_WORD_MAX) {
        r->last_dtype_word = tn_json_word_of(name, size + 1);
        r->last_dtype = *out;
    }
    return true;
}

/* {"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}, to the letter as the reference writes it. False: it is written
 * in another way, and nothing was read. */
static inline bool read_usual(reading *r, entry *e)
{
    tn_json_look look;
    size_t rank = 0;
    uint64_t begin, end;
    if (!tn_json_look_begin(&r->json, &look) || !tn_json_look_text(&look, "{\"dtype\":\"") ||
        !look_dtype(r, &look, &e->tensor.dtype) || !tn_json_look_text(&look, ",\"shape\":"))
        return false;
    if (!tn_json_look_text(&look, "[]") && !tn_json_look_uints(&look, r->small, SHAPE_ROOM, &rank))
        return false;
    if (!tn_json_look_text(&look, ",\"data_offsets\":") || !tn_json_look_pair(&look, &begin, &end) ||
        !tn_json_look_text(&look, "}"))
        return false;
    tn_json_look_take(&r->json, &look);
    e->tensor.rank = (uint32_t)rank;
    e->tensor.shape = r->small;
    e->begin = begin;
    e->end = end;
    return true;
}

static tn_status add_entry(reading *r, entry *e, tn_error *err)
{
    uint64_t file_end = 0;
    if (TN_UNLIKELY(e->end < e->begin))
        return refuse(r, e, TN_BAD_LAYOUT, "its bytes end before they begin", err);
    if (TN_UNLIKELY(tn_add_overflows(r->data_start, e->end, &file_end) || file_end == TN_NONE))
        return refuse(r, e, TN_OVERFLOW, "its place in the file does not fit 64 bits", err);
    e->tensor.offset = r->data_start + e->begin;
    e->tensor.stored_bytes = e->end - e->begin;
    r->in_order = r->in_order && e->tensor.offset == r->next;
    r->next = file_end;
    tn_status status = tn_catalog_add_tensor(r->catalog, &e->tensor, err);
    return TN_LIKELY(status == TN_OK) ? TN_OK : add_place(err, status, r, e->key_at);
}

/* An entry written in whatever way. */
static tn_status read_unusual(reading *r, entry *e, tn_error *err)
{
    tn_json_next(&r->json);
    if (r->json.kind == TN_JSON_OBJECT_BEGIN)
        return read_fields(r, e, err);
    if (r->json.kind == TN_JSON_ARRAY_BEGIN)
        return read_items(r, e, err);
    return unexpected(r, e, "an entry is neither an object nor an array", err);
}

static tn_status read_entry(reading *r, tn_error *err)
{
    entry *e = &r->entry;
    tn_text name = tn_json_text(&r->json, r->arena);
    if (TN_UNLIKELY(name.bytes == NULL))
        return tn_arena_status(r->arena, err);
    e->tensor.name = name.bytes;
    e->tensor.name_size = name.size;
    e->key_at = r->json.token_at;
    e->seen = 0;
    if (TN_UNLIKELY(!read_usual(r, e)))
        TN_TRY(read_unusual(r, e, err));
    return add_entry(r, e, err);
}

/* ---- metadata ---- */

static tn_status add_pair(reading *r, tn_text key, tn_text value, size_t key_at, tn_error *err)
{
    size_t head = strlen(r->place->metadata_head);
    char *joined = (char *)(uintptr_t)key.bytes;
    if (head > 0) {
        joined = tn_arena_take_bytes(r->arena, head + key.size);
        if (joined == NULL)
            return tn_arena_status(r->arena, err);
        memcpy(joined, r->place->metadata_head, head);
        memcpy(joined + head, key.bytes, key.size);
    }
    tn_status status = tn_catalog_add_metadata(r->catalog, (tn_text){joined, head + key.size}, value, err);
    if (status == TN_DUPLICATE && r->place->merge_metadata)
        return TN_OK;
    return status == TN_OK ? TN_OK : add_place(err, status, r, key_at);
}

static tn_status read_pairs(reading *r, tn_error *err)
{
    while (tn_json_next(&r->json) == TN_JSON_KEY) {
        size_t key_at = r->json.token_at;
        tn_text key = tn_json_text(&r->json, r->arena);
        if (tn_json_next(&r->json) != TN_JSON_STRING)
            return unexpected(r, NULL, "a value of __metadata__ is not a string", err);
        tn_text value = tn_json_text(&r->json, r->arena);
        if (key.bytes == NULL || value.bytes == NULL)
            return tn_arena_status(r->arena, err);
        TN_TRY(add_pair(r, key, value, key_at, err));
    }
    return r->json.kind == TN_JSON_OBJECT_END ? TN_OK : unexpected(r, NULL, "", err);
}

static tn_status read_metadata(reading *r, tn_error *err)
{
    if (r->metadata_seen)
        return refuse(r, NULL, TN_DUPLICATE, "__metadata__ stands twice", err);
    r->metadata_seen = true;
    tn_json_next(&r->json);
    if (r->json.kind == TN_JSON_NULL)
        return TN_OK;
    if (r->json.kind != TN_JSON_OBJECT_BEGIN)
        return unexpected(r, NULL, "__metadata__ is not an object", err);
    return read_pairs(r, err);
}

/* ---- the header ---- */

static tn_status note_unknown_fields(reading *r, tn_error *err)
{
    tn_finding finding = {TN_WARNING,
                          TN_UNKNOWN_FIELD,
                          tn_arena_format(r->arena,
                                          "%llu fields of entries are not of this format; they are passed over",
                                          (unsigned long long)r->unknown_fields),
                          TN_TEXT(""),
                          tn_arena_text(r->arena, r->unknown_name.bytes, r->unknown_name.size),
                          r->unknown_at,
                          TN_NONE,
                          TN_NONE};
    if (!r->place->alone)
        finding.file = tn_arena_text(r->arena, r->place->path, strlen(r->place->path));
    TN_TRY(tn_arena_status(r->arena, err));
    return tn_catalog_add_finding(r->catalog, &finding, err);
}

static tn_status parse(reading *r, tn_error *err)
{
    if (tn_json_next(&r->json) != TN_JSON_OBJECT_BEGIN)
        return unexpected(r, NULL, "the header is not an object", err);
    while (tn_json_next(&r->json) == TN_JSON_KEY) {
        if (TN_UNLIKELY(tn_json_is(&r->json, "__metadata__")))
            TN_TRY(read_metadata(r, err));
        else
            TN_TRY(read_entry(r, err));
    }
    if (r->json.kind != TN_JSON_OBJECT_END || tn_json_next(&r->json) != TN_JSON_END)
        return unexpected(r, NULL, "something follows the header's object", err);
    return r->unknown_fields > 0 ? note_unknown_fields(r, err) : TN_OK;
}

static tn_status read_header(reading *r, const char *header, uint64_t size, tn_error *err)
{
    uint32_t first = tn_catalog_tensor_count(r->catalog);
    TN_TRY(tn_catalog_add_part(r->catalog, r->place->path, tn_source_size(r->source), LENGTH_BYTES + size,
                               r->place->component, err));
    TN_TRY(tn_part_file_note(r->catalog, r->source, err));
    uint64_t guess = size / BYTES_AN_ENTRY;
    TN_TRY(tn_catalog_expect(r->catalog, guess < GUESS_MAX ? guess : GUESS_MAX, err));
    tn_json_init(&r->json, header, (size_t)size);
    tn_status status = parse(r, err);
    tn_give(&tn_catalog_context(r->catalog)->memory, r->wide, r->wide != NULL ? TN_RANK_MAX * sizeof *r->wide : 0);
    TN_TRY(status);
    tn_layout layout = {first, r->data_start, tn_source_size(r->source), r->in_order,
                        r->place->alone ? NULL : r->place->path};
    status = tn_safetensors_lay_out(r->catalog, &layout, err);
    if (status != TN_OK)
        tn_error_at_file(err, r->place->path);
    return status;
}

/* ---- the length ---- */

static tn_status refuse_length(const tn_safetensors_place *place, tn_status status, uint64_t expected, uint64_t found,
                               const char *why, tn_error *err)
{
    tn_fail(err, status, "%s", why);
    tn_error_at_file(err, place->path);
    tn_error_at_offset(err, 0);
    tn_error_amounts(err, expected, found);
    return status;
}

static tn_status check_length(tn_source *source, const tn_safetensors_place *place, uint64_t length, tn_error *err)
{
    uint64_t size = tn_source_size(source);
    if (length > TN_HEADER_MAX)
        return refuse_length(place, TN_LIMIT, TN_HEADER_MAX, length, "the header claims to be over 100,000,000 bytes long",
                             err);
    if (length > size - LENGTH_BYTES)
        return refuse_length(place, TN_TRUNCATED, LENGTH_BYTES + length, size, "the file ends inside its header", err);
    if (length < 2)
        return refuse_length(place, TN_BAD_HEADER, 2, length, "the header is too short to be one", err);
    return TN_OK;
}

static tn_status read_length(tn_source *source, const tn_safetensors_place *place, uint64_t *length, tn_error *err)
{
    uint64_t size = tn_source_size(source);
    uint8_t bytes[LENGTH_BYTES];
    if (size == 0)
        return refuse_length(place, TN_EMPTY, LENGTH_BYTES, 0, "the file is empty", err);
    if (size < LENGTH_BYTES)
        return refuse_length(place, TN_TRUNCATED, LENGTH_BYTES, size, "the file is too short for a header", err);
    TN_TRY(tn_source_read(source, 0, bytes, sizeof bytes, err));
    uint64_t value = 0;
    for (unsigned i = 0; i < LENGTH_BYTES; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    TN_TRY(check_length(source, place, value, err));
    *length = value;
    return TN_OK;
}

tn_status tn_safetensors_read(tn_catalog *catalog, tn_source *source, const tn_safetensors_place *place, tn_error *err)
{
    uint64_t length = 0;
    TN_TRY(read_length(source, place, &length, err));
    tn_memory_source *memory = &tn_catalog_context(catalog)->memory;
    void *header = NULL;
    TN_TRY(tn_take(memory, (size_t)length, &header, err));
    tn_status status = tn_source_read(source, LENGTH_BYTES, header, (size_t)length, err);
    if (status == TN_OK) {
        uint64_t data_start = LENGTH_BYTES + length;
        reading r = {.catalog = catalog, .arena = tn_catalog_arena(catalog), .source = source, .place = place,
                     .data_start = data_start, .next = data_start, .in_order = true,
                     .last_dtype_word = tn_json_word_of("F32\"", 4), .last_dtype = TN_F32};
        status = read_header(&r, header, length, err);
    }
    tn_give(memory, header, (size_t)length);
    return status;
}
