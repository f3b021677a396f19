/* `tenure probe`: what each path is, from its header alone, without a library. */
#include "cli/cli.h"

static tn_status probe_one(tn_cli *cli, const char *path, tn_error *err)
{
    tn_identify_options options = {sizeof options, cli->settings.why, cli->settings.json};
    tn_answer *answer;
    TN_TRY(tn_identify(cli->context, path, &options, &answer, err));
    tn_status status = TN_OK;
    if (cli->settings.json)
        status = tn_answer_json_line(cli, answer, "", err);
    else
        tn_answer_line(cli, answer, cli->settings.why);
    if (tn_state_needs_a_look(answer->state))
        tn_cli_raise(cli, 1);
    tn_answer_destroy(answer);
    return status;
}

void tn_verb_probe(tn_cli *cli)
{
    tn_error err;
    tn_paths paths;
    if (!tn_cli_paths(cli, &paths))
        return;
    for (size_t i = 0; i < paths.count && !tn_cli_stopped(cli); i++) {
        if (paths.count > 1)
            tn_progress_tell(&cli->progress, paths.count, i, false, paths.items[i]);
        if (probe_one(cli, paths.items[i], &err) != TN_OK && err.status != TN_CANCELLED)
            tn_answer_refused(cli, paths.items[i], &err);
    }
    if (tn_context_cancelled(cli->context)) {
        tn_cli_raise(cli, tn_status_exit_code(TN_CANCELLED));
        tn_cli_note(cli, "interrupted");
    }
    tn_paths_free(&paths);
}
