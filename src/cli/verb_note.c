/* `tenure note`: a note on a model, written or read. */
#include <string.h>

#include "cli/changing.h"
#include "core/utf8.h"

#define NOTE_MAX ((size_t)1 << 20) /* read from stdin; the library takes less and says so */

static bool print_note(void *user, const tn_record *record)
{
    tn_cli *cli = user;
    tn_json json;
    tn_arena texts;
    if (cli->settings.json) {
        tn_record_json_line(cli, record);
        return true;
    }
    tn_arena_init(&texts, &cli->memory, NOTE_MAX);
    tn_json_init(&json, record->json.bytes, record->json.size);
    tn_json_next(&json);
    while (tn_json_next(&json) == TN_JSON_KEY) {
        bool note = tn_json_is(&json, "note");
        tn_json_kind kind = tn_json_next(&json);
        tn_text text = note && kind == TN_JSON_STRING ? tn_json_text(&json, &texts) : tn_text_of("");
        for (const char *line = text.bytes; text.size; line = text.bytes) {
            const char *end = memchr(line, '\n', text.size);
            size_t size = end ? (size_t)(end - line) : text.size;
            tn_utf8_append_shown(&cli->out.text, line, size);
            tn_output_line(&cli->out);
            text = (tn_text){line + size + (end != NULL), text.size - size - (end != NULL)};
        }
        if (!tn_json_skip(&json))
            break;
    }
    tn_arena_free(&texts);
    return true;
}

static tn_status read_stdin(tn_buffer *out, tn_error *err)
{
    for (size_t got = 1; got > 0;) {
        char *room = tn_buffer_reserve(out, 65536);
        if (!room)
            return tn_buffer_status(out, err);
        got = fread(room, 1, 65536, stdin);
        out->size += got;
    }
    if (ferror(stdin))
        return tn_fail(err, TN_IO, "the note cannot be read from stdin");
    while (out->size && (out->bytes[out->size - 1] == '\n' || out->bytes[out->size - 1] == '\r'))
        out->size--;
    if (out->size && memchr(out->bytes, '\0', out->size))
        return tn_fail(err, TN_INVALID, "a note is text, and what stdin gives is none");
    out->bytes[out->size] = '\0';
    return TN_OK;
}

static tn_status make(tn_changing *c, const char *model, tn_error *err)
{
    return tn_library_note(c->library, model, c->user, err);
}

static void say(tn_changing *c, const tn_record *record)
{
    const char *text = c->user;
    tn_utf8_append_shown(&c->cli->out.text, record->name.bytes, record->name.size);
    tn_buffer_text(&c->cli->out.text, *text ? ": noted" : ": the note is gone");
    tn_output_line(&c->cli->out);
}

static tn_status write_note(tn_cli *cli, tn_library *library, tn_error *err)
{
    tn_buffer listed;
    const char *model = cli->settings.arguments[0], *text = cli->settings.arguments[1];
    tn_buffer_init(&listed, &cli->memory, NOTE_MAX);
    tn_status status = TN_OK;
    if (strcmp(text, "-") == 0 && cli->settings.literal_from > 1) {
        status = read_stdin(&listed, err);
        text = listed.bytes;
    }
    tn_changing c = {.cli = cli, .library = library, .make = make, .say = say, .user = (void *)text};
    if (status == TN_OK)
        tn_change_each(&c, &model, 1);
    tn_buffer_free(&listed);
    return status;
}

void tn_verb_note(tn_cli *cli)
{
    tn_error err;
    tn_library *library;
    bool reads = cli->settings.argument_count == 1;
    if (!tn_cli_open_library(cli, reads, &library))
        return;
    if (reads && tn_library_show(library, cli->settings.arguments[0], print_note, cli, &err) != TN_OK)
        tn_cli_no_model(cli, library, cli->settings.arguments[0], &err);
    if (!reads && write_note(cli, library, &err) != TN_OK)
        tn_cli_fail(cli, &err);
    tn_library_close(library);
}
