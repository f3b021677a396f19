/* Records as people see them in a list, and how a MODEL that cannot be had is told (cli/cli.h). */
#include <string.h>

#include "cli/cli.h"

void tn_record_json_line(tn_cli *cli, const tn_record *record)
{
    tn_buffer_text(&cli->out.text, "{\"v\":1,");
    tn_buffer_append(&cli->out.text, record->json.bytes + 1, record->json.size - 1);
    tn_output_line(&cli->out);
}

/* ---- the table ---- */

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

static void id_cell(tn_table *table, const tn_record *record)
{
    char id[32];
    snprintf(id, sizeof id, "%lld", (long long)record->id);
    tn_table_cell_text(table, TN_STYLE_DIM, tn_text_of(id));
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

/* Whether a file is called as its record is. */
static bool names_it(tn_text file, tn_text name)
{
    return file.size >= name.size && memcmp(file.bytes, name.bytes, name.size) == 0 &&
           (file.size == name.size || file.bytes[name.size] == '.' || file.bytes[name.size] == '-');
}

/* The name, and the file's own where that is another. */
static void name_cell(tn_cli *cli, tn_table *table, const tn_record *record)
{
    tn_text file = tn_base_name(record->path);
    tn_buffer text;
    tn_buffer_init(&text, &cli->memory, (size_t)1 << 20);
    tn_buffer_append(&text, record->name.bytes, record->name.size);
    if (!names_it(file, record->name)) {
        tn_buffer_text(&text, " (");
        tn_buffer_append(&text, file.bytes, file.size);
        tn_buffer_text(&text, ")");
    }
    tn_table_cell(table, TN_STYLE_PLAIN, text.bytes ? text.bytes : "", text.size);
    tn_buffer_free(&text);
}

void tn_records_begin(tn_records *records, tn_cli *cli)
{
    static const tn_table_column columns[] = {{"id", true, 0},   {"base", false, 0}, {"type", false, 0},
                                              {"size", true, 0}, {"name", false, 20}, {"state", false, 0}};
    *records = (tn_records){.cli = cli};
    if (!cli->settings.json)
        tn_table_begin(&records->table, &cli->out, columns, sizeof columns / sizeof *columns, cli->out.columns);
}

bool tn_records_tell(void *user, const tn_record *record)
{
    tn_records *r = user;
    r->count++;
    if (r->cli->settings.json) {
        tn_record_json_line(r->cli, record);
        return !tn_cli_stopped(r->cli);
    }
    id_cell(&r->table, record);
    tn_table_cell_text(&r->table, TN_STYLE_STRONG, or_dash(record->base));
    type_cell(r->cli, &r->table, record);
    tn_table_cell_size(&r->table, record->size_bytes);
    name_cell(r->cli, &r->table, record);
    tn_table_cell_text(&r->table, tn_state_needs_a_look(record->state) ? TN_STYLE_BAD : TN_STYLE_WARN, remark(record));
    return !tn_cli_stopped(r->cli);
}

void tn_records_end(tn_records *records)
{
    if (!records->cli->settings.json)
        tn_table_end(&records->table);
}

/* ---- the library, and models in it ---- */

bool tn_cli_open_library(tn_cli *cli, bool read_only, tn_library **out)
{
    tn_error err;
    tn_status status = tn_cli_library(cli, true, out, &err);
    if (status == TN_OK && !read_only) {
        tn_library_close(*out);
        status = tn_cli_library(cli, false, out, &err);
    }
    if (status == TN_NOT_FOUND)
        tn_cli_note(cli, "there is no library yet: `tenure import FOLDER` begins one");
    else if (status != TN_OK)
        tn_cli_fail(cli, &err);
    return status == TN_OK;
}

static bool name_one(void *user, const tn_record *record)
{
    tn_cli *cli = user;
    tn_cli_note(cli, "  %lld  %s", (long long)record->id, record->path.bytes);
    return !tn_cli_stopped(cli);
}

void tn_cli_no_model(tn_cli *cli, tn_library *library, const char *model, const tn_error *err)
{
    tn_cli_fail(cli, err);
    if (err->status == TN_AMBIGUOUS_NAME)
        tn_library_find(library, model, name_one, cli, NULL);
}
