/* Reading the corpus, and making checkpoints of it. */
#include "support/identify_corpus.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <zlib.h>

#include "core/json.h"
#include "format/catalog.h"
#include "identify/pattern.h"

enum { LINE_MAX_BYTES = 1 << 20, TENSORS_OF_ONE = 8192, DIMS_MAX = 8 };

bool text_is(tn_text text, const char *word)
{
    return text.size == strlen(word) && memcmp(text.bytes, word, text.size) == 0;
}

void corpus_open(corpus *c)
{
    memset(c, 0, sizeof *c);
    assert_int_equal(tn_context_create(NULL, &c->context, NULL), TN_OK);
    tn_arena_init(&c->arena, &c->context->memory, (size_t)1 << 30);
    c->capacity = 1024;
    c->headers = tn_arena_take_array(&c->arena, c->capacity, sizeof *c->headers);
    assert_non_null(c->headers);
}

void corpus_close(corpus *c)
{
    tn_arena_free(&c->arena);
    assert_int_equal(tn_context_memory(c->context).used_bytes, 0);
    tn_context_destroy(c->context);
}

static tn_text keep(corpus *c, const tn_json *json)
{
    tn_text text = tn_json_text(json, &c->arena);
    text = tn_arena_text(&c->arena, text.bytes, text.size);
    assert_non_null(text.bytes);
    return text;
}

static void read_words(corpus *c, tn_json *json, tn_text *words, size_t *count)
{
    assert_int_equal(json->kind, TN_JSON_ARRAY_BEGIN);
    while (tn_json_next(json) == TN_JSON_STRING) {
        assert_true(*count < CORPUS_WORDS_MAX);
        words[(*count)++] = keep(c, json);
    }
    assert_int_equal(json->kind, TN_JSON_ARRAY_END);
}

static void read_shape(corpus *c, tn_json *json, corpus_tensor *tensor)
{
    uint64_t shape[DIMS_MAX];
    assert_int_equal(tn_json_next(json), TN_JSON_ARRAY_BEGIN);
    while (tn_json_next(json) == TN_JSON_UINT) {
        assert_true(tensor->rank < DIMS_MAX);
        shape[tensor->rank++] = json->u;
    }
    assert_int_equal(json->kind, TN_JSON_ARRAY_END);
    uint64_t *kept = tn_arena_take_array(&c->arena, DIMS_MAX, sizeof *kept);
    assert_non_null(kept);
    memcpy(kept, shape, tensor->rank * sizeof *kept);
    tensor->shape = kept;
}

static void read_tensors(corpus *c, tn_json *json, corpus_header *header)
{
    static corpus_tensor list[TENSORS_OF_ONE];
    size_t count = 0;
    assert_int_equal(json->kind, TN_JSON_ARRAY_BEGIN);
    while (tn_json_next(json) == TN_JSON_ARRAY_BEGIN) {
        assert_true(count < TENSORS_OF_ONE);
        assert_int_equal(tn_json_next(json), TN_JSON_STRING);
        list[count] = (corpus_tensor){.name = keep(c, json)};
        read_shape(c, json, &list[count++]);
        assert_int_equal(tn_json_next(json), TN_JSON_ARRAY_END);
    }
    corpus_tensor *kept = tn_arena_take_array(&c->arena, count, sizeof *kept);
    assert_non_null(kept);
    memcpy(kept, list, count * sizeof *kept);
    header->tensors = kept;
    header->tensor_count = count;
}

static void read_field(corpus *c, tn_json *json, corpus_header *header)
{
    bool id = tn_json_is(json, "id"), md5 = tn_json_is(json, "md5"), type = tn_json_is(json, "type");
    bool arch = tn_json_is(json, "arch"), base = tn_json_is(json, "base"), variant = tn_json_is(json, "variant");
    bool tensors = tn_json_is(json, "tensors");
    (void)tn_json_next(json);
    if (id)
        header->id = keep(c, json);
    else if (md5)
        header->md5 = keep(c, json);
    else if (type)
        header->type = keep(c, json);
    else if (arch)
        header->arch = keep(c, json);
    else if (base)
        read_words(c, json, header->bases, &header->base_count);
    else if (variant)
        read_words(c, json, header->variants, &header->variant_count);
    else if (tensors)
        read_tensors(c, json, header);
    else
        assert_true(tn_json_skip(json));
}

static void read_line(corpus *c, const char *line, size_t size)
{
    tn_json json;
    assert_true(c->count < c->capacity);
    corpus_header *header = &c->headers[c->count++];
    tn_json_init(&json, line, size);
    assert_int_equal(tn_json_next(&json), TN_JSON_OBJECT_BEGIN);
    while (tn_json_next(&json) == TN_JSON_KEY)
        read_field(c, &json, header);
    assert_int_equal(json.kind, TN_JSON_OBJECT_END);
    if (header->id.size == 0)
        header->id = header->md5;
}

void corpus_read(corpus *c, const char *file)
{
    static char line[LINE_MAX_BYTES];
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/corpus/%s", TEST_DATA, file);
    gzFile stream = gzopen(path, "rb");
    assert_non_null(stream);
    while (gzgets(stream, line, sizeof line) != NULL) {
        size_t size = strlen(line);
        assert_true(size > 0 && line[size - 1] == '\n');
        read_line(c, line, size - 1);
    }
    assert_int_equal(gzclose(stream), Z_OK);
}

const corpus_header *corpus_find(const corpus *c, const char *id, size_t size)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->headers[i].id.size == size && memcmp(c->headers[i].id.bytes, id, size) == 0)
            return &c->headers[i];
    return NULL;
}

static bool left_out(const corpus_change *change, tn_text name)
{
    for (size_t i = 0; i < sizeof change->minus / sizeof *change->minus && change->minus[i] != NULL; i++) {
        tn_text pattern = {change->minus[i], strlen(change->minus[i])};
        if (tn_pattern_matches(pattern, name.bytes, name.size, NULL))
            return true;
    }
    return false;
}

static void add(tn_catalog *catalog, const corpus_tensor *tensor, const corpus_change *change)
{
    char name[1024];
    const char *prefix = change->prefix != NULL ? change->prefix : "";
    if (left_out(change, tensor->name))
        return;
    (void)snprintf(name, sizeof name, "%s%.*s", prefix, (int)tensor->name.size, tensor->name.bytes);
    tn_dtype dtype = change->dtype != TN_BOOL ? change->dtype : TN_BF16;
    assert_int_equal(tn_catalog_add_shape(catalog, name, dtype, tensor->rank, tensor->shape, NULL), TN_OK);
}

tn_checkpoint *corpus_checkpoint(corpus *c, const corpus_header *header, const corpus_change *change)
{
    static const corpus_change none = {.prefix = NULL};
    tn_catalog *catalog;
    tn_checkpoint *checkpoint;
    if (change == NULL)
        change = &none;
    size_t count = header != NULL ? header->tensor_count : 0;
    assert_int_equal(tn_catalog_begin(c->context, TN_CONTAINER_SAFETENSORS, "test", &catalog, NULL), TN_OK);
    assert_int_equal(tn_catalog_add_part(catalog, "test.safetensors", 0, 0, "", NULL), TN_OK);
    for (size_t i = 0; i < count; i++)
        add(catalog, &header->tensors[change->reversed ? count - 1 - i : i], change);
    corpus_change bare = *change;
    bare.prefix = NULL;
    for (size_t i = 0; i < change->plus_count; i++)
        add(catalog, &change->plus[i], &bare);
    for (size_t i = 0; i < change->metadata_count; i++)
        assert_int_equal(
            tn_catalog_add_metadata(catalog, change->metadata[i].key, change->metadata[i].value, NULL), TN_OK);
    assert_int_equal(tn_catalog_finish(catalog, &checkpoint, NULL), TN_OK);
    return checkpoint;
}

tn_answer *corpus_identify(corpus *c, const corpus_header *header, const corpus_change *change)
{
    tn_answer *answer;
    tn_checkpoint *checkpoint = corpus_checkpoint(c, header, change);
    assert_int_equal(tn_identify_checkpoint(c->context, checkpoint, NULL, NULL, &answer, NULL), TN_OK);
    tn_checkpoint_release(checkpoint);
    return answer;
}

corpus known;

int corpus_open_known(void **state)
{
    (void)state;
    corpus_open(&known);
    corpus_read(&known, "headers.ndjson.gz");
    return 0;
}

int corpus_close_known(void **state)
{
    (void)state;
    corpus_close(&known);
    return 0;
}
