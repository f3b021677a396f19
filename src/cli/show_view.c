/* The labelled lines are made from the record's JSON, so that a field the library learns to keep is shown without a change
 * here. */
#include "cli/show_view.h"

#include <string.h>

#include "core/utf8.h"

#define LABEL_COLUMNS 17u /* "prediction_type" and two blanks */
#define TEXTS_MAX ((size_t)64 << 20)
#define MEMBERS_MAX 64u

typedef struct member {
    tn_text key;
    tn_text value; /* as it stands in the JSON */
    bool told;
} member;

typedef struct view {
    tn_cli *cli;
    tn_arena texts;
    tn_buffer line; /* a value that is being put together */
    member members[MEMBERS_MAX];
    size_t count;
    bool gap; /* an empty line is due before the next one */
} view;

/* ---- lines ---- */

static void label(view *v, const char *text)
{
    tn_buffer *out = &v->cli->out.text;
    if (v->gap)
        tn_output_line(&v->cli->out);
    v->gap = false;
    tn_output_style(&v->cli->out, TN_STYLE_DIM);
    tn_buffer_text(out, text);
    tn_output_style(&v->cli->out, TN_STYLE_PLAIN);
    size_t wide = tn_utf8_columns(text, strlen(text));
    tn_buffer_format(out, "%*s", (int)(wide + 2 < LABEL_COLUMNS ? LABEL_COLUMNS - wide : 2), "");
}

/* The line that was put together, behind its label; nothing when it is empty. */
static void flush(view *v, const char *name, tn_style style)
{
    if (v->line.size) {
        label(v, name);
        tn_output_style(&v->cli->out, style);
        tn_buffer_append(&v->cli->out.text, v->line.bytes, v->line.size);
        tn_output_style(&v->cli->out, TN_STYLE_PLAIN);
        tn_output_line(&v->cli->out);
    }
    tn_buffer_clear(&v->line);
}

static void text_line(view *v, const char *name, tn_style style, tn_text text)
{
    tn_utf8_append_shown(&v->line, text.bytes, text.size);
    flush(v, name, style);
}

/* ---- values ---- */

/* The current scalar as a person reads it, appended to the line with `between` before it. */
static void append_scalar(view *v, const tn_json *json, const char *between)
{
    tn_text text = {json->text, json->text_size};
    if (json->kind == TN_JSON_STRING)
        text = tn_json_text(json, &v->texts);
    else if (json->kind == TN_JSON_TRUE || json->kind == TN_JSON_FALSE)
        text = tn_text_of(json->kind == TN_JSON_TRUE ? "yes" : "no");
    else if (json->kind != TN_JSON_UINT && json->kind != TN_JSON_NUMBER)
        return;
    if (text.bytes == NULL)
        return;
    tn_buffer_text(&v->line, v->line.size ? between : "");
    tn_utf8_append_shown(&v->line, text.bytes, text.size);
}

/* All scalars of a value, however deep, with their keys where they have one: "F16 792, F32 3". */
static void append_all(view *v, tn_text value, bool keys)
{
    tn_json json;
    tn_text key = {NULL, 0};
    tn_json_init(&json, value.bytes, value.size);
    for (tn_json_kind kind; (kind = tn_json_next(&json)) != TN_JSON_END && kind != TN_JSON_ERROR;) {
        if (kind == TN_JSON_KEY) {
            key = tn_json_text(&json, &v->texts);
            continue;
        }
        size_t before = v->line.size;
        if (keys && key.bytes && kind != TN_JSON_NULL && kind != TN_JSON_OBJECT_BEGIN && kind != TN_JSON_ARRAY_BEGIN) {
            tn_buffer_text(&v->line, before ? ", " : "");
            tn_utf8_append_shown(&v->line, key.bytes, key.size);
            append_scalar(v, &json, " ");
        } else {
            append_scalar(v, &json, ", ");
        }
        key = (tn_text){NULL, 0};
    }
}

/* ---- members ---- */

static bool is_nothing(tn_text value)
{
    return tn_cli_text_is(value, "null") || tn_cli_text_is(value, "[]") || tn_cli_text_is(value, "{}");
}

static void read_members(view *v, tn_text text)
{
    tn_json json;
    tn_json_init(&json, text.bytes, text.size);
    tn_json_next(&json);
    while (v->count < MEMBERS_MAX && tn_json_next(&json) == TN_JSON_KEY) {
        member *m = &v->members[v->count];
        m->key = tn_json_text(&json, &v->texts);
        tn_json_next(&json);
        size_t from = json.token_at;
        if (!tn_json_skip(&json) || m->key.bytes == NULL)
            return;
        m->value = (tn_text){text.bytes + from, (size_t)(json.at - json.bytes) - from};
        v->count++;
    }
}

/* The value of a member, which is told with this; empty when it says nothing. */
static tn_text take(view *v, const char *key)
{
    for (size_t i = 0; i < v->count; i++)
        if (tn_cli_text_is(v->members[i].key, key)) {
            v->members[i].told = true;
            return is_nothing(v->members[i].value) ? tn_text_of("") : v->members[i].value;
        }
    return tn_text_of("");
}

/* A member as one line under its own name. */
static void plain(view *v, const char *key)
{
    tn_text value = take(v, key);
    if (value.size)
        append_all(v, value, value.bytes[0] == '{');
    flush(v, key, TN_STYLE_PLAIN);
}

/* ---- lists of objects, a sentence each ---- */

/* Call `each` for every object of an array, or for the one object that stands alone. */
static void each_object(view *v, tn_text value, void (*each)(view *v, tn_text object))
{
    tn_json json;
    tn_json_init(&json, value.bytes, value.size);
    for (tn_json_kind kind; (kind = tn_json_next(&json)) != TN_JSON_END && kind != TN_JSON_ERROR;) {
        size_t from = json.token_at;
        if (kind != TN_JSON_OBJECT_BEGIN)
            continue;
        if (!tn_json_skip(&json))
            return;
        each(v, (tn_text){value.bytes + from, (size_t)(json.at - json.bytes) - from});
    }
}

/* The text of a member of a small object; empty when it has none. */
static tn_text text_in(view *v, tn_text object, const char *key)
{
    tn_json json;
    tn_json_init(&json, object.bytes, object.size);
    tn_json_next(&json);
    while (tn_json_next(&json) == TN_JSON_KEY) {
        bool is = tn_json_is(&json, key);
        tn_json_kind kind = tn_json_next(&json);
        if (is)
            return kind == TN_JSON_STRING ? tn_json_text(&json, &v->texts) : tn_text_of("");
        if (!tn_json_skip(&json))
            break;
    }
    return tn_text_of("");
}

static void sentence(view *v, const char *name, tn_style style, tn_text object)
{
    tn_text message = text_in(v, object, "message"), tensor = text_in(v, object, "tensor");
    tn_utf8_append_shown(&v->line, message.bytes, message.size);
    if (tensor.size) {
        tn_buffer_text(&v->line, " [");
        tn_utf8_append_shown(&v->line, tensor.bytes, tensor.size);
        tn_buffer_text(&v->line, "]");
    }
    flush(v, name, style);
}

static void fault(view *v, tn_text object)
{
    sentence(v, "fault", TN_STYLE_BAD, object);
}

static void warning(view *v, tn_text object)
{
    sentence(v, "warning", TN_STYLE_WARN, object);
}

static void evidence(view *v, tn_text object)
{
    text_line(v, "because", TN_STYLE_PLAIN, text_in(v, object, "says"));
}

static void candidate(view *v, tn_text object)
{
    static const char *const keys[] = {"base", "type", "variant"};
    for (size_t i = 0; i < 3; i++) {
        tn_text word = text_in(v, object, keys[i]);
        tn_buffer_text(&v->line, word.size && v->line.size ? " " : "");
        tn_utf8_append_shown(&v->line, word.bytes, word.size);
    }
    flush(v, "could be", TN_STYLE_WARN);
}

/* {"blake3": "...", "sha256": "..."}: a line each, but for the path. */
static void pairs(view *v, tn_text object)
{
    tn_json json;
    tn_json_init(&json, object.bytes, object.size);
    if (tn_json_next(&json) != TN_JSON_OBJECT_BEGIN)
        return;
    while (tn_json_next(&json) == TN_JSON_KEY) {
        tn_text raw = tn_json_text(&json, &v->texts);
        tn_text key = tn_arena_text(&v->texts, raw.bytes ? raw.bytes : "", raw.size);
        tn_json_next(&json);
        if (key.bytes && strcmp(key.bytes, "path") != 0)
            append_scalar(v, &json, "");
        flush(v, key.bytes ? key.bytes : "", TN_STYLE_PLAIN);
        if (!tn_json_skip(&json))
            return;
    }
}

static void part_hashes(view *v, tn_text object)
{
    text_line(v, "hashes of", TN_STYLE_PLAIN, tn_base_name(text_in(v, object, "path")));
    pairs(v, object);
}

/* What stands before a value of an adapter; NULL: it tells nothing new. */
static const char *before_part(const tn_json *key, tn_text least, const tn_json *json)
{
    if (tn_json_is(key, "alpha"))
        return ", alpha ";
    if (tn_json_is(key, "modules"))
        return ", layers ";
    if (tn_json_is(key, "rank_min"))
        return ", rank ";
    if (!tn_json_is(key, "rank_max"))
        return ", ";
    bool same = least.size == json->text_size && memcmp(least.bytes, json->text, least.size) == 0;
    return same ? NULL : " to ";
}

/* "lora, kohya, rank 8, alpha 4, unet, text_encoder, layers 264". */
static void adapter_line(view *v)
{
    tn_json json;
    tn_text value = take(v, "adapter"), least = tn_text_of("");
    tn_json_init(&json, value.bytes, value.size);
    for (tn_json_kind kind; (kind = tn_json_next(&json)) != TN_JSON_END && kind != TN_JSON_ERROR;) {
        if (kind != TN_JSON_KEY) {
            append_scalar(v, &json, ", ");
            continue;
        }
        tn_json key = json;
        if (tn_json_next(&json) == TN_JSON_ARRAY_BEGIN)
            continue;
        const char *before = before_part(&key, least, &json);
        if (before != NULL)
            append_scalar(v, &json, before);
        least = (tn_text){json.text, json.text_size};
    }
    flush(v, "adapter", TN_STYLE_PLAIN);
}

/* ---- the groups ---- */

static void heading(view *v, const tn_record *record)
{
    tn_buffer *out = &v->cli->out.text;
    tn_output_style(&v->cli->out, TN_STYLE_STRONG);
    tn_utf8_append_shown(out, record->name.bytes, record->name.size);
    tn_output_style(&v->cli->out, TN_STYLE_PLAIN);
    tn_output_line(&v->cli->out);
    take(v, "name");
    plain(v, "id");
    plain(v, "path");
    plain(v, "path_b64");
    plain(v, "paths");
    plain(v, "parts");
    v->gap = true;
}

static void state_line(view *v, const tn_record *record)
{
    tn_buffer_text(&v->line, tn_state_word(record->state));
    take(v, "state");
    flush(v, "state", tn_state_style(record->state));
    tn_text presence = take(v, "presence");
    if (presence.size && !tn_cli_text_is(record->presence, "present"))
        text_line(v, "presence", TN_STYLE_WARN, record->presence);
    if (record->message.size)
        text_line(v, "what to do", TN_STYLE_BAD, record->message);
}

static void what_it_is(view *v, const tn_record *record)
{
    static const char *const keys[] = {"base", "type", "variant", "variants", "prediction_type", "scale", "in_channels",
                                       "out_channels", "purpose", "quantization"};
    state_line(v, record);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        plain(v, keys[i]);
    adapter_line(v);
    tn_text decided = take(v, "decided_by");
    if (tn_cli_text_is(decided, "\"user\""))
        text_line(v, "decided by", TN_STYLE_PLAIN, tn_text_of("you (`tenure set --auto` takes it back)"));
    else if (decided.size)
        text_line(v, "decided by", TN_STYLE_PLAIN, (tn_text){decided.bytes + 1, decided.size - 2});
    each_object(v, take(v, "evidence"), evidence);
    each_object(v, take(v, "candidates"), candidate);
    tn_text why = take(v, "why");
    if (why.size)
        append_all(v, why, false);
    flush(v, "undecided", TN_STYLE_WARN);
    each_object(v, take(v, "error"), fault);
    each_object(v, take(v, "warnings"), warning);
    v->gap = true;
}

static void size_line(view *v, const tn_record *record)
{
    tn_size_append(&v->line, record->size_bytes);
    tn_buffer_text(&v->line, " (");
    tn_count_append(&v->line, record->size_bytes);
    tn_buffer_text(&v->line, " bytes)");
    take(v, "size_bytes");
    flush(v, "size", TN_STYLE_PLAIN);
}

static void count_line(view *v, const char *key)
{
    tn_json json;
    tn_text value = take(v, key);
    tn_json_init(&json, value.bytes, value.size);
    if (tn_json_next(&json) == TN_JSON_UINT)
        tn_count_append(&v->line, json.u);
    flush(v, key, TN_STYLE_PLAIN);
}

static void what_is_in_it(view *v, const tn_record *record)
{
    static const char *const counts[] = {"tensors", "parameters", "header_bytes"};
    size_line(v, record);
    plain(v, "container");
    plain(v, "dtypes");
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        count_line(v, counts[i]);
    v->gap = true;
    pairs(v, take(v, "metadata"));
    v->gap = true;
    plain(v, "names");
    v->gap = true;
}

static void what_people_say(view *v)
{
    plain(v, "tags");
    plain(v, "note");
    plain(v, "added");
    v->gap = true;
    plain(v, "key_hash");
    pairs(v, take(v, "hashes"));
    each_object(v, take(v, "part_hashes"), part_hashes);
    v->gap = true;
}

static void the_rest(view *v)
{
    for (size_t i = 0; i < v->count; i++) {
        if (v->members[i].told || is_nothing(v->members[i].value))
            continue;
        tn_text key = tn_arena_text(&v->texts, v->members[i].key.bytes, v->members[i].key.size);
        append_all(v, v->members[i].value, v->members[i].value.bytes[0] == '{');
        flush(v, key.bytes ? key.bytes : "", TN_STYLE_PLAIN);
    }
}

void tn_show_view(tn_cli *cli, const tn_record *record)
{
    view v = {.cli = cli};
    tn_arena_init(&v.texts, &cli->memory, TEXTS_MAX);
    tn_buffer_init(&v.line, &cli->memory, TN_CLI_LINE_MAX);
    read_members(&v, record->json);
    heading(&v, record);
    what_it_is(&v, record);
    what_is_in_it(&v, record);
    what_people_say(&v);
    the_rest(&v);
    tn_arena_free(&v.texts);
    tn_buffer_free(&v.line);
}
