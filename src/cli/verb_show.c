/* `tenure show`: records in full. */
#include "cli/show_view.h"

static bool show_record(void *user, const tn_record *record)
{
    tn_cli *cli = user;
    if (tn_state_needs_a_look(record->state) || tn_cli_text_is(record->presence, "missing"))
        tn_cli_raise(cli, 1);
    if (cli->settings.json)
        tn_record_json_line(cli, record);
    else
        tn_show_view(cli, record);
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
            tn_cli_no_model(cli, library, models.items[i], &each);
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
