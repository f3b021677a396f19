/* `tenure remove`: from the list only, into the trash, or for good. */
#include <stdio.h>
#include <string.h>

#include "cli/acts_view.h"
#include "os/os.h"

static tn_removal how(const tn_settings *settings)
{
    if (settings->to_trash)
        return TN_REMOVE_TRASH;
    return settings->delete_files ? TN_REMOVE_DELETE : TN_REMOVE_FORGET;
}

static void remove_each(tn_acts_view *view, const tn_paths *models, bool dry_run, bool tells)
{
    tn_cli *cli = view->cli;
    for (size_t i = 0; i < models->count && !tn_cli_stopped(cli); i++) {
        tn_error err;
        tn_act_options options = tn_acts_view_options(view);
        options.dry_run = dry_run;
        tn_status status = tn_library_remove(view->library, models->items[i], how(&cli->settings), &options, &err);
        if (!tells)
            continue;
        if (status == TN_NOT_FOUND || status == TN_AMBIGUOUS_NAME)
            tn_cli_no_model(cli, view->library, models->items[i], &err);
        else if (status != TN_OK)
            tn_cli_fail(cli, &err);
    }
}

/* On a terminal: what would be deleted, and whether it should be. */
static bool is_confirmed(tn_cli *cli, tn_library *library, const tn_paths *models)
{
    char answer[8] = "";
    enum { ROOM = 256 };
    if (!cli->settings.delete_files || cli->settings.yes || cli->settings.dry_run || !tn_os_is_terminal(2))
        return true;
    tn_acts_view view = {.cli = cli, .library = library, .silent = cli->settings.json};
    remove_each(&view, models, true, false);
    tn_output_flush(&cli->out);
    tn_buffer text;
    tn_buffer_init(&text, &cli->memory, ROOM);
    tn_plural_append(&text, view.files, "file, ", "files, ");
    tn_size_append(&text, view.bytes);
    fprintf(stderr, "Delete %s for good? This cannot be undone. [y/N] ", text.bytes ? text.bytes : "them");
    fflush(stderr);
    tn_buffer_free(&text);
    bool yes = fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y');
    if (!yes)
        tn_cli_note(cli, "nothing was deleted");
    return yes;
}

static void remove_all(tn_cli *cli, tn_library *library, const tn_paths *models)
{
    tn_acts_view view = {.cli = cli, .library = library};
    if (!is_confirmed(cli, library, models))
        return;
    remove_each(&view, models, cli->settings.dry_run, true);
    tn_acts_view_end(&view);
}

void tn_verb_remove(tn_cli *cli)
{
    tn_error err;
    tn_paths models;
    tn_library *library;
    tn_status status = TN_OK;
    if (cli->settings.to_trash && cli->settings.delete_files)
        status = tn_fail(&err, TN_INVALID, "--to-trash and --delete exclude each other");
    if (status == TN_OK && !tn_cli_open_library(cli, cli->settings.dry_run, &library))
        return;
    if (status == TN_OK) {
        status = tn_paths_collect(&models, &cli->memory, &cli->settings, stdin, &err);
        if (status == TN_OK) {
            remove_all(cli, library, &models);
            tn_paths_free(&models);
        }
        tn_library_close(library);
    }
    if (status != TN_OK)
        tn_cli_fail(cli, &err);
}
