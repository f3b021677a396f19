/* `tenure list`: the records of the library, as a table or as JSON lines. */
#include "cli/cli.h"

static tn_list_options options_of(const tn_settings *settings)
{
    return (tn_list_options){.size = sizeof(tn_list_options), .limit = settings->limit, .type = settings->type,
                             .base = settings->base, .tag = settings->tag, .state = settings->state,
                             .presence = settings->missing ? "missing" : NULL};
}

static bool is_narrowed(const tn_list_options *options)
{
    return options->type || options->base || options->tag || options->state || options->presence;
}

static tn_status list(tn_cli *cli, tn_library *library, tn_error *err)
{
    tn_records records;
    tn_list_options options = options_of(&cli->settings);
    tn_records_begin(&records, cli);
    tn_status status = tn_library_list(library, &options, tn_records_tell, &records, err);
    tn_records_end(&records);
    if (status != TN_OK || records.count)
        return status;
    if (is_narrowed(&options))
        tn_cli_note(cli, "no model of the library is of that kind");
    else
        tn_cli_note(cli, "the library is empty: `tenure import FOLDER` records the models of a folder");
    return TN_OK;
}

void tn_verb_list(tn_cli *cli)
{
    tn_error err;
    tn_library *library;
    if (!tn_cli_open_library(cli, true, &library))
        return;
    if (list(cli, library, &err) != TN_OK)
        tn_cli_fail(cli, &err);
    tn_library_close(library);
}
