/* The JSON reader and writer on any bytes.
 *
 * Held: reading ends; the shortcuts tell what the plain reader tells, token by token; looking ahead takes only what
 * the plain reader takes; a document that is accepted, rewritten by the writer, is read again to the same tokens; a
 * double that is written reads back as itself. */
#include <stdint.h>
#include <stdlib.h>

#include "core/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool holds)
{
    if (!holds)
        abort();
}

static void demand_equal(const tn_json *a, const tn_json *b)
{
    demand(a->kind == b->kind && a->state == b->state && a->depth == b->depth && a->reason == b->reason);
    demand(a->failed_at == b->failed_at);
    if (a->kind == TN_JSON_ERROR)
        return;
    demand(a->at == b->at && a->token_at == b->token_at);
    if (a->kind == TN_JSON_KEY || a->kind == TN_JSON_STRING)
        demand(a->escaped == b->escaped);
    if (a->kind == TN_JSON_UINT)
        demand(a->u == b->u);
    if (a->kind >= TN_JSON_KEY && a->kind <= TN_JSON_NUMBER)
        demand(a->text == b->text && a->text_size == b->text_size);
}

/* The rest of a string, which is the same as a word that was found there. */
static bool look_dtype(tn_json_look *look, const char **dtype, size_t *size)
{
    tn_json_look other = *look;
    tn_json_word word = tn_json_word_of("F16\"", 4);
    bool found = tn_json_look_word(&other, &word);
    if (!tn_json_look_string_rest(look, dtype, size)) {
        demand(!found);
        return false;
    }
    demand(!found || other.at == look->at);
    return true;
}

/* Looking ahead as the safetensors reader does, against passing over the same value. */
static void look_ahead(const tn_json *json)
{
    tn_json looked = *json, skipped = *json;
    tn_json_look look;
    uint64_t shape[4], offsets[2];
    size_t rank, size;
    const char *dtype;
    if (!tn_json_look_begin(&looked, &look) || !tn_json_look_text(&look, "{\"dtype\":\"") ||
        !look_dtype(&look, &dtype, &size) || !tn_json_look_text(&look, ",\"shape\":") ||
        !tn_json_look_uints(&look, shape, 4, &rank) || !tn_json_look_text(&look, ",\"data_offsets\":") ||
        !tn_json_look_pair(&look, &offsets[0], &offsets[1]) || !tn_json_look_text(&look, "}"))
        return;
    tn_json_look_take(&looked, &look);
    demand(tn_json_skip(&skipped));
    demand_equal(&looked, &skipped);
}

static void write_text(tn_json_writer *w, const tn_json *json)
{
    char *text = malloc(json->text_size + 1);
    if (!text)
        return;
    size_t size = tn_json_unescape(json->text, json->text_size, text);
    demand(size <= json->text_size);
    if (json->kind == TN_JSON_KEY)
        tn_json_key_text(w, text, size);
    else
        tn_json_string(w, text, size);
    free(text);
}

static void write_double(double value, tn_memory_source *memory)
{
    tn_buffer text;
    tn_json_writer w;
    tn_json again;
    tn_buffer_init(&text, memory, 64);
    tn_json_writer_init(&w, &text);
    tn_json_number(&w, value);
    tn_json_init(&again, text.bytes, text.size);
    tn_json_kind kind = tn_json_next(&again);
    demand(kind == TN_JSON_UINT || kind == TN_JSON_NUMBER ? tn_json_double(&again) == value : kind == TN_JSON_NULL);
    demand(tn_json_next(&again) == TN_JSON_END);
    tn_buffer_free(&text);
}

static void write_token(tn_json_writer *w, const tn_json *json)
{
    switch (json->kind) {
    case TN_JSON_OBJECT_BEGIN:
        tn_json_object(w);
        break;
    case TN_JSON_OBJECT_END:
        tn_json_object_end(w);
        break;
    case TN_JSON_ARRAY_BEGIN:
        tn_json_array(w);
        break;
    case TN_JSON_ARRAY_END:
        tn_json_array_end(w);
        break;
    case TN_JSON_KEY:
    case TN_JSON_STRING:
        write_text(w, json);
        break;
    case TN_JSON_UINT:
        tn_json_uint(w, json->u);
        break;
    case TN_JSON_NUMBER:
        tn_json_raw(w, json->text, json->text_size);
        write_double(tn_json_double(json), w->out->memory);
        break;
    case TN_JSON_TRUE:
    case TN_JSON_FALSE:
        tn_json_bool(w, json->kind == TN_JSON_TRUE);
        break;
    case TN_JSON_NULL:
        tn_json_null(w);
        break;
    case TN_JSON_END:
    case TN_JSON_ERROR:
        break;
    }
}

/* Read both ways; what is accepted is written into `out`. */
static bool read_both(const char *bytes, size_t size, tn_json_writer *w)
{
    tn_json json, plain;
    tn_json_init(&json, bytes, size);
    tn_json_init(&plain, bytes, size);
    for (size_t i = 0; i < size + 2; i++) {
        (void)tn_json_next(&json);
        (void)tn_json_next_plain(&plain);
        demand_equal(&json, &plain);
        if (json.kind == TN_JSON_ERROR) {
            demand(json.reason && json.failed_at <= size && tn_json_next(&json) == TN_JSON_ERROR);
            return false;
        }
        if (json.kind == TN_JSON_END)
            return true;
        look_ahead(&json);
        write_token(w, &json);
    }
    abort();
}

static bool same_text(const tn_json *a, const tn_json *b)
{
    char *x = malloc(a->text_size + 1), *y = malloc(b->text_size + 1);
    bool same = !x || !y;
    if (!same) {
        size_t size = tn_json_unescape(a->text, a->text_size, x);
        same = tn_json_unescape(b->text, b->text_size, y) == size && memcmp(x, y, size) == 0;
    }
    free(x);
    free(y);
    return same;
}

static void demand_same_tokens(const char *a, size_t a_size, const char *b, size_t b_size)
{
    tn_json x, y;
    tn_json_init(&x, a, a_size);
    tn_json_init(&y, b, b_size);
    do {
        demand(tn_json_next(&x) == tn_json_next(&y));
        if (x.kind == TN_JSON_KEY || x.kind == TN_JSON_STRING || x.kind == TN_JSON_NUMBER)
            demand(same_text(&x, &y));
        if (x.kind == TN_JSON_UINT)
            demand(x.u == y.u);
    } while (x.kind != TN_JSON_END && x.kind != TN_JSON_ERROR);
    demand(x.kind == TN_JSON_END);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tn_budget budget;
    tn_budget_init(&budget, UINT64_C(1) << 30);
    tn_memory_source memory = {tn_allocator_system(), &budget};
    tn_buffer written;
    tn_json_writer w;
    tn_buffer_init(&written, &memory, (size_t)1 << 28);
    tn_json_writer_init(&w, &written);
    const char *bytes = (const char *)data;
    if (read_both(bytes, size, &w) && tn_buffer_status(&written, NULL) == TN_OK)
        demand_same_tokens(bytes, size, written.bytes, written.size);
    tn_buffer_free(&written);
    return 0;
}
