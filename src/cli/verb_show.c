/* `tenure show`: one record in full. The labelled lines are made from the record's JSON, so that a field the library
 * learns to keep is shown without a change here. */
#include <string.h>

#include "cli/cli.h"
#include "core/encode.h"
#include "core/utf8.h"

#define LABEL_COLUMNS 17u /* "prediction_type" and two blanks */
#define TEXTS_MAX ((size_t)64 << 20)

typedef struct showing {
    tn_cli *cli;
    tn_arena texts;
    tn_buffer line; /* a value that is being put together from several */
} showing;

static void label(showing *s, const char *text, size_t size)
{
    tn_buffer *out = &s->cli->out.text;
    tn_output_style(&s->cli->out, TN_STYLE_DIM);
    size_t start = out->size;
    tn_utf8_append_shown(out, text, size);
    tn_output_style(&s->cli->out, TN_STYLE_PLAIN);
    size_t wide = out->size - start - (s->cli->out.color ? 4 : 0);
    tn_buffer_format(out, "%*s", (int)(wide + 2 < LABEL_COLUMNS ? LABEL_COLUMNS - wide : 2), "");
}

/* The current scalar as a person reads it, behind what `out` holds. */
static void append_scalar(showing *s, const tn_json *json, tn_buffer *out)
{
    switch (json->kind) {
    case TN_JSON_STRING: {
        tn_text text = tn_json_text(json, &s->texts);
        if (text.bytes)
            tn_utf8_append_shown(out, text.bytes, text.size);
        break;
    }
    case TN_JSON_UINT:
    case TN_JSON_NUMBER: tn_buffer_append(out, json->text, json->text_size); break;
    case TN_JSON_TRUE: tn_buffer_text(out, "yes"); break;
    case TN_JSON_FALSE: tn_buffer_text(out, "no"); break;
    case TN_JSON_NULL:
    case TN_JSON_ERROR:
    case TN_JSON_END:
    case TN_JSON_OBJECT_BEGIN:
    case TN_JSON_OBJECT_END:
    case TN_JSON_ARRAY_BEGIN:
    case TN_JSON_ARRAY_END:
    case TN_JSON_KEY: break;
    }
}

static bool is_scalar(tn_json_kind kind)
{
    return kind == TN_JSON_STRING || kind == TN_JSON_UINT || kind == TN_JSON_NUMBER || kind == TN_JSON_TRUE ||
           kind == TN_JSON_FALSE;
}

static void flush_line(showing *s, const char *name, size_t size)
{
    if (s->line.size) {
        label(s, name, size);
        tn_buffer_append(&s->cli->out.text, s->line.bytes, s->line.size);
        tn_output_line(&s->cli->out);
    }
    tn_buffer_clear(&s->line);
}

static void append_separated(showing *s, const tn_json *json, const char *between)
{
    if (s->line.size)
        tn_buffer_text(&s->line, between);
    append_scalar(s, json, &s->line);
}

/* An array or object that stands in a list, as one line: its scalars with `between` between them. Deeper ones too:
 * only the brackets are counted. What a piece of evidence weighs tells a person nothing. */
static void one_line(showing *s, tn_json *json, const char *between)
{
    unsigned depth = json->depth;
    while (json->depth >= depth) {
        tn_json_kind kind = tn_json_next(json);
        if (kind == TN_JSON_ERROR || kind == TN_JSON_END)
            return;
        if (kind == TN_JSON_KEY && tn_json_is(json, "weight"))
            tn_json_next(json);
        else if (is_scalar(kind))
            append_separated(s, json, between);
    }
}

/* ["a", "b"]: one line; [{...}, {...}]: a line each. */
static void show_array(showing *s, tn_json *json, tn_text name)
{
    for (;;) {
        tn_json_kind kind = tn_json_next(json);
        if (kind == TN_JSON_ARRAY_END || kind == TN_JSON_ERROR || kind == TN_JSON_END)
            break;
        if (kind == TN_JSON_OBJECT_BEGIN || kind == TN_JSON_ARRAY_BEGIN) {
            flush_line(s, name.bytes, name.size);
            one_line(s, json, "  ");
            flush_line(s, name.bytes, name.size);
        } else
            append_separated(s, json, ", ");
    }
    flush_line(s, name.bytes, name.size);
}

/* {"a": 1, "b": [2, 3]}: "a 1, b 2 3". */
static void show_object(showing *s, tn_json *json, tn_text name)
{
    for (;;) {
        tn_json_kind kind = tn_json_next(json);
        if (kind != TN_JSON_KEY)
            break;
        tn_text key = tn_json_text(json, &s->texts);
        kind = tn_json_next(json);
        if (kind == TN_JSON_NULL)
            continue;
        size_t before = s->line.size;
        if (before)
            tn_buffer_text(&s->line, ", ");
        if (key.bytes)
            tn_utf8_append_shown(&s->line, key.bytes, key.size);
        size_t named = s->line.size;
        if (is_scalar(kind))
            append_separated(s, json, " ");
        else if (kind == TN_JSON_OBJECT_BEGIN || kind == TN_JSON_ARRAY_BEGIN)
            one_line(s, json, " ");
        if (s->line.size == named)
            s->line.size = before;
    }
    flush_line(s, name.bytes, name.size);
}

static void show_size(showing *s, const tn_json *json)
{
    tn_size_append(&s->line, json->u);
    tn_buffer_text(&s->line, " (");
    tn_count_append(&s->line, json->u);
    tn_buffer_text(&s->line, " bytes)");
}

static void show_member(showing *s, tn_json *json)
{
    tn_text name = tn_json_text(json, &s->texts);
    tn_json_kind kind = tn_json_next(json);
    if (kind == TN_JSON_OBJECT_BEGIN)
        show_object(s, json, name);
    else if (kind == TN_JSON_ARRAY_BEGIN)
        show_array(s, json, name);
    else if (kind == TN_JSON_UINT && tn_cli_text_is(name, "size_bytes")) {
        show_size(s, json);
        flush_line(s, "size", 4);
    } else {
        append_scalar(s, json, &s->line);
        flush_line(s, name.bytes, name.size);
    }
}

static void show_lines(showing *s, tn_text text)
{
    tn_json json;
    tn_json_init(&json, text.bytes, text.size);
    if (tn_json_next(&json) != TN_JSON_OBJECT_BEGIN)
        return;
    while (tn_json_next(&json) == TN_JSON_KEY)
        show_member(s, &json);
}

static bool show_record(void *user, const tn_record *record)
{
    tn_cli *cli = user;
    if (tn_state_needs_a_look(record->state) || tn_cli_text_is(record->presence, "missing"))
        tn_cli_raise(cli, 1);
    if (cli->settings.json) {
        tn_buffer_text(&cli->out.text, "{\"v\":1,");
        tn_buffer_append(&cli->out.text, record->json.bytes + 1, record->json.size - 1);
        tn_output_line(&cli->out);
        return false;
    }
    showing s = {.cli = cli};
    tn_arena_init(&s.texts, &cli->memory, TEXTS_MAX);
    tn_buffer_init(&s.line, &cli->memory, TN_CLI_LINE_MAX);
    show_lines(&s, record->json);
    tn_arena_free(&s.texts);
    tn_buffer_free(&s.line);
    return false;
}

static tn_status show_all(tn_cli *cli, tn_library *library, tn_error *err)
{
    tn_paths models;
    TN_TRY(tn_paths_collect(&models, &cli->memory, &cli->settings, stdin, err));
    for (size_t i = 0; i < models.count && !tn_cli_stopped(cli); i++) {
        if (i && !cli->settings.json)
            tn_output_line(&cli->out);
        tn_error each;
        if (tn_library_show(library, models.items[i], show_record, cli, &each) != TN_OK)
            tn_cli_fail(cli, &each);
    }
    tn_paths_free(&models);
    return TN_OK;
}

void tn_verb_show(tn_cli *cli)
{
    tn_error err;
    tn_library *library;
    tn_status status = tn_cli_library(cli, true, &library, &err);
    if (status == TN_OK) {
        status = show_all(cli, library, &err);
        tn_library_close(library);
    }
    if (status != TN_OK)
        tn_cli_fail(cli, &err);
}
