/* `tenure list`: every record of the library, as a table or as JSON lines. */
#include "cli/cli.h"

/* A record's JSON with "v":1 in front. */
static void json_record(tn_cli *cli, const tn_record *record)
{
    tn_buffer_text(&cli->out.text, "{\"v\":1,");
    tn_buffer_append(&cli->out.text, record->json.bytes + 1, record->json.size - 1);
    tn_output_line(&cli->out);
}

typedef struct listing {
    tn_cli *cli;
    tn_table table;
} listing;

static tn_text or_dash(tn_text text)
{
    return text.size ? text : tn_text_of("-");
}

/* The state where a person must know it: "" for what is there and identified. */
static tn_text remark(const tn_record *record)
{
    if (record->presence.size && !tn_cli_text_is(record->presence, "present"))
        return record->presence;
    return tn_text_of(record->state == TN_STATE_IDENTIFIED ? "" : tn_state_word(record->state));
}

static void type_cell(tn_cli *cli, tn_table *table, const tn_record *record)
{
    tn_buffer text;
    tn_buffer_init(&text, &cli->memory, 4096);
    tn_text type = or_dash(record->type);
    tn_buffer_append(&text, type.bytes, type.size);
    if (record->variant.size)
        tn_buffer_format(&text, " (%s)", record->variant.bytes);
    tn_table_cell(table, TN_STYLE_PLAIN, text.bytes ? text.bytes : "", text.size);
    tn_buffer_free(&text);
}

static void number_cells(tn_cli *cli, tn_table *table, const tn_record *record)
{
    enum { ROOM = 64 };
    tn_buffer text;
    tn_buffer_init(&text, &cli->memory, ROOM);
    tn_size_append(&text, record->size_bytes);
    tn_table_cell(table, TN_STYLE_PLAIN, text.bytes ? text.bytes : "", text.size);
    tn_buffer_free(&text);
}

static void id_cell(tn_table *table, const tn_record *record)
{
    char id[32];
    snprintf(id, sizeof id, "%lld", (long long)record->id);
    tn_table_cell_text(table, TN_STYLE_DIM, tn_text_of(id));
}

static bool table_record(void *user, const tn_record *record)
{
    listing *l = user;
    bool look = tn_state_needs_a_look(record->state);
    id_cell(&l->table, record);
    tn_table_cell_text(&l->table, TN_STYLE_STRONG, or_dash(record->base));
    type_cell(l->cli, &l->table, record);
    number_cells(l->cli, &l->table, record);
    tn_table_cell_text(&l->table, TN_STYLE_PLAIN, record->name);
    tn_table_cell_text(&l->table, look ? TN_STYLE_BAD : TN_STYLE_WARN, remark(record));
    return !tn_cli_stopped(l->cli);
}

static bool each_record(void *user, const tn_record *record)
{
    listing *l = user;
    json_record(l->cli, record);
    return !tn_cli_stopped(l->cli);
}

static tn_status list(tn_cli *cli, tn_library *library, tn_error *err)
{
    static const tn_table_column columns[] = {{"id", true, 0},   {"base", false, 0}, {"type", false, 0},
                                              {"size", true, 0}, {"name", false, 20}, {"state", false, 0}};
    listing l = {.cli = cli};
    if (cli->settings.json)
        return tn_library_list(library, cli->settings.limit, each_record, &l, err);
    tn_table_begin(&l.table, &cli->out, columns, sizeof columns / sizeof *columns, cli->out.columns);
    tn_status status = tn_library_list(library, cli->settings.limit, table_record, &l, err);
    tn_table_end(&l.table);
    return status;
}

void tn_verb_list(tn_cli *cli)
{
    tn_error err;
    tn_library *library;
    tn_status status = tn_cli_library(cli, true, &library, &err);
    if (status == TN_NOT_FOUND) {
        tn_cli_note(cli, "there is no library yet: `tenure import FOLDER` begins one");
        return;
    }
    if (status == TN_OK) {
        status = list(cli, library, &err);
        tn_library_close(library);
    }
    if (status != TN_OK)
        tn_cli_fail(cli, &err);
}
