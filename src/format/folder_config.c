/* JSON files of a folder as metadata: nested keys joined with dots, items of arrays by their number. One pass over the
 * tokens with a stack of where each level's name ends; nothing recurses. */
#include <string.h>

#include "core/error.h"
#include "core/json.h"
#include "format/folder.h"
#include "format/limits.h"

typedef struct level {
    uint32_t name_end; /* the key's bytes that lie outside this level */
    uint32_t item;     /* number of the next item, in arrays */
    bool array;
} level;

typedef struct flattening {
    tn_catalog *catalog;
    const char *file;
    tn_json json;
    char key[TN_CONFIG_KEY_MAX];
    uint32_t key_size;
    bool too_long; /* the key of the value that comes does not fit */
    level levels[TN_JSON_DEPTH_MAX + 1];
    uint32_t depth;
    uint32_t pairs, left_out;
} flattening;

static void append(flattening *f, const char *bytes, size_t size)
{
    f->too_long = f->too_long || size > sizeof f->key - f->key_size;
    if (f->too_long)
        return;
    memcpy(f->key + f->key_size, bytes, size);
    f->key_size += (uint32_t)size;
}

/* The key is that of the level again. */
static void back_to_level(flattening *f)
{
    f->key_size = f->levels[f->depth].name_end;
    f->too_long = false;
}

static void name_by(flattening *f, const char *bytes, size_t size)
{
    back_to_level(f);
    if (f->depth > 1)
        append(f, ".", 1);
    append(f, bytes, size);
}

static tn_status name_by_key(flattening *f, tn_error *err)
{
    tn_arena *arena = tn_catalog_arena(f->catalog);
    tn_text key = tn_json_text(&f->json, arena);
    if (key.bytes == NULL)
        return tn_arena_status(arena, err);
    name_by(f, key.bytes, key.size);
    return TN_OK;
}

static void name_by_number(flattening *f)
{
    char digits[10];
    size_t at = sizeof digits;
    uint32_t number = f->levels[f->depth].item++;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    name_by(f, digits + at, sizeof digits - at);
}

static void enter(flattening *f, bool array)
{
    f->depth++;
    f->levels[f->depth] = (level){.name_end = f->key_size, .array = array};
}

static tn_text value_of(flattening *f)
{
    const tn_json *json = &f->json;
    if (json->kind == TN_JSON_STRING)
        return tn_json_text(json, tn_catalog_arena(f->catalog));
    if (json->kind == TN_JSON_TRUE)
        return TN_TEXT("true");
    if (json->kind == TN_JSON_FALSE)
        return TN_TEXT("false");
    return json->kind == TN_JSON_NULL ? TN_TEXT("null") : (tn_text){json->text, json->text_size};
}

static tn_status add(flattening *f, tn_error *err)
{
    if (f->too_long || f->pairs == TN_CONFIG_PAIRS_MAX) {
        f->left_out++;
        return TN_OK;
    }
    tn_text value = value_of(f);
    if (value.bytes == NULL)
        return tn_arena_status(tn_catalog_arena(f->catalog), err);
    tn_error failure;
    tn_status status = tn_catalog_add_metadata(f->catalog, (tn_text){f->key, f->key_size}, value, &failure);
    if (status == TN_DUPLICATE)
        return tn_catalog_note(f->catalog, TN_WARNING, TN_DUPLICATE, f->file, err, "the key %s stands twice",
                               failure.tensor);
    if (status != TN_OK && err != NULL)
        *err = failure;
    f->pairs += status == TN_OK;
    return status;
}

static tn_status take(flattening *f, tn_error *err)
{
    tn_json_kind kind = f->json.kind;
    if (kind == TN_JSON_KEY)
        return name_by_key(f, err);
    if (kind == TN_JSON_OBJECT_END || kind == TN_JSON_ARRAY_END) {
        f->depth--;
        return TN_OK;
    }
    if (f->levels[f->depth].array)
        name_by_number(f);
    if (kind != TN_JSON_OBJECT_BEGIN && kind != TN_JSON_ARRAY_BEGIN)
        return add(f, err);
    if (f->too_long) { /* nothing in it can have a key */
        f->left_out++;
        return tn_json_skip(&f->json) ? TN_OK : tn_json_fail(&f->json, 0, err);
    }
    enter(f, kind == TN_JSON_ARRAY_BEGIN);
    return TN_OK;
}

static tn_status flatten(flattening *f, const char *head, tn_error *err)
{
    if (tn_json_next(&f->json) != TN_JSON_OBJECT_BEGIN)
        return tn_json_fail(&f->json, 0, err);
    append(f, head, strlen(head));
    enter(f, false);
    while (tn_json_next(&f->json) != TN_JSON_END) {
        if (f->json.kind == TN_JSON_ERROR)
            return tn_json_fail(&f->json, 0, err);
        TN_TRY(take(f, err));
    }
    if (f->left_out == 0)
        return TN_OK;
    return tn_catalog_note(f->catalog, TN_WARNING, TN_LIMIT, f->file, err,
                           "%u values are left out: their keys are too long, or there are too many", f->left_out);
}

tn_status tn_config_flatten(tn_catalog *catalog, const char *head, const char *file, const char *text, size_t size,
                            tn_error *err)
{
    void *block = NULL;
    tn_memory_source *memory = &tn_catalog_context(catalog)->memory;
    TN_TRY(tn_take_array(memory, 1, sizeof(flattening), &block, err));
    flattening *f = block;
    f->catalog = catalog;
    f->file = file;
    tn_json_init(&f->json, text, size);
    tn_status status = flatten(f, head, err);
    if (status != TN_OK)
        tn_error_at_file(err, file);
    tn_give(memory, block, sizeof(flattening));
    return status;
}

/* ---- model_index.json ---- */

/* The value of the current key: [library, class], or anything else, which is passed over. */
static tn_status read_component(tn_json *json, tn_arena *arena, tn_component *c, bool *complete, tn_error *err)
{
    unsigned strings = 0, items = 0;
    *complete = false;
    if (tn_json_next(json) != TN_JSON_ARRAY_BEGIN)
        return json->kind != TN_JSON_ERROR && tn_json_skip(json) ? TN_OK : tn_json_fail(json, 0, err);
    while (tn_json_next(json) != TN_JSON_ARRAY_END) {
        if (json->kind == TN_JSON_STRING && items < 2) {
            tn_text text = tn_json_text(json, arena);
            *(items == 0 ? &c->library : &c->class_name) = tn_arena_text(arena, text.bytes != NULL ? text.bytes : "",
                                                                         text.bytes != NULL ? text.size : 0);
            strings++;
        }
        items += items < 3;
        if (json->kind == TN_JSON_ERROR || !tn_json_skip(json))
            return tn_json_fail(json, 0, err);
    }
    *complete = strings == 2 && items == 2;
    return tn_arena_status(arena, err);
}

static tn_status refuse(const tn_json *json, tn_text name, tn_status status, const char *why, tn_error *err)
{
    tn_fail(err, status, "%s", why);
    tn_error_at_offset(err, json->token_at);
    tn_error_at_tensor(err, name.bytes, name.size);
    return status;
}

static tn_status read_key(tn_json *json, tn_arena *arena, tn_component *out, uint32_t *count, tn_error *err)
{
    size_t at = json->token_at;
    tn_text key = tn_json_text(json, arena);
    tn_component component = {.name = key};
    bool complete = false;
    if (key.bytes == NULL)
        return tn_arena_status(arena, err);
    TN_TRY(read_component(json, arena, &component, &complete, err));
    if (!complete || (key.size > 0 && key.bytes[0] == '_'))
        return TN_OK;
    json->token_at = at;
    if (!tn_name_is_plain(key.bytes, key.size))
        return refuse(json, key, TN_UNSAFE_PATH, "a component is named by more than a plain folder name", err);
    for (uint32_t i = 0; i < *count; i++)
        if (out[i].name.size == key.size && memcmp(out[i].name.bytes, key.bytes, key.size) == 0)
            return refuse(json, key, TN_DUPLICATE, "a component stands twice", err);
    if (*count == TN_COMPONENTS_MAX)
        return refuse(json, key, TN_LIMIT, "the pipeline has too many components", err);
    component.name = tn_arena_text(arena, key.bytes, key.size);
    out[(*count)++] = component;
    return tn_arena_status(arena, err);
}

tn_status tn_model_index_parse(const char *text, size_t size, tn_arena *arena, tn_component *out, uint32_t *count,
                               tn_error *err)
{
    tn_json json;
    uint32_t found = 0;
    tn_json_init(&json, text, size);
    if (tn_json_next(&json) != TN_JSON_OBJECT_BEGIN)
        return tn_json_fail(&json, 0, err);
    while (tn_json_next(&json) == TN_JSON_KEY)
        TN_TRY(read_key(&json, arena, out, &found, err));
    if (json.kind != TN_JSON_OBJECT_END || tn_json_next(&json) != TN_JSON_END)
        return tn_json_fail(&json, 0, err);
    *count = found;
    return TN_OK;
}

static bool mentions(tn_text text, const char *word)
{
    size_t size = strlen(word);
    for (size_t i = 0; i + size <= text.size; i++)
        if (memcmp(text.bytes + i, word, size) == 0)
            return true;
    return false;
}

bool tn_component_has_weights(const tn_component *component)
{
    static const char *const weightless[] = {"Scheduler", "Tokenizer", "Processor", "FeatureExtractor"};
    for (size_t i = 0; i < sizeof weightless / sizeof weightless[0]; i++)
        if (mentions(component->class_name, weightless[i]))
            return false;
    return true;
}
