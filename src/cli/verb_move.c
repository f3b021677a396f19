/* `tenure move`: files and records to another folder. */
#include <string.h>

#include "cli/acts_view.h"

static void move_all(tn_cli *cli, tn_library *library, const tn_paths *models, const char *folder)
{
    tn_acts_view view = {.cli = cli, .library = library};
    for (size_t i = 0; i < models->count && !tn_cli_stopped(cli); i++) {
        tn_error err;
        const tn_act_options options = tn_acts_view_options(&view);
        tn_status status = tn_library_move(library, models->items[i], folder, &options, &err);
        tn_progress_clear(&cli->progress);
        if (status == TN_NOT_FOUND || status == TN_AMBIGUOUS_NAME)
            tn_cli_no_model(cli, library, models->items[i], &err);
        else if (status != TN_OK)
            tn_cli_fail(cli, &err);
    }
    tn_acts_view_end(&view);
}

void tn_verb_move(tn_cli *cli)
{
    tn_error err;
    tn_paths models;
    tn_library *library;
    tn_settings settings = cli->settings;
    const char *folder = settings.arguments[--settings.argument_count];
    if (!tn_cli_open_library(cli, settings.dry_run, &library))
        return;
    tn_status status = tn_paths_collect(&models, &cli->memory, &settings, stdin, &err);
    if (status == TN_OK) {
        move_all(cli, library, &models, folder);
        tn_paths_free(&models);
    }
    tn_library_close(library);
    if (status != TN_OK)
        tn_cli_fail(cli, &err);
}
