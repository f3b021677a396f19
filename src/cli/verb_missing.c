/* `tenure missing`: the records whose files were not there at the last scan. */
#include "cli/cli.h"

typedef struct listing {
    tn_cli *cli;
    tn_table table;
    uint64_t count;
} listing;

static bool tell(void *user, const tn_record *record)
{
    listing *l = user;
    char id[32];
    l->count++;
    if (l->cli->settings.json) {
        tn_record_json_line(l->cli, record);
        return !tn_cli_stopped(l->cli);
    }
    snprintf(id, sizeof id, "%lld", (long long)record->id);
    tn_table_cell_text(&l->table, TN_STYLE_DIM, tn_text_of(id));
    tn_table_cell_text(&l->table, TN_STYLE_WARN, record->presence);
    tn_table_cell_text(&l->table, TN_STYLE_STRONG, record->name);
    tn_table_cell_text(&l->table, TN_STYLE_PLAIN, record->path);
    return !tn_cli_stopped(l->cli);
}

void tn_verb_missing(tn_cli *cli)
{
    static const tn_table_column columns[] = {
        {"id", true, 0}, {"presence", false, 0}, {"name", false, 16}, {"was at", false, 20}};
    tn_error err;
    tn_library *library;
    listing l = {.cli = cli};
    if (!tn_cli_open_library(cli, true, &library))
        return;
    if (!cli->settings.json)
        tn_table_begin(&l.table, &cli->out, columns, sizeof columns / sizeof *columns, cli->out.columns);
    tn_status status = tn_library_missing(library, tell, &l, &err);
    if (!cli->settings.json)
        tn_table_end(&l.table);
    if (status != TN_OK)
        tn_cli_fail(cli, &err);
    else if (l.count == 0)
        tn_cli_note(cli, "no model is missing");
    tn_library_close(library);
}
