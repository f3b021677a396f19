/* What `tenure import` does first with --copy-to or --move-to: bring the files below the folder. */
#include "cli/acts_view.h"

#include <string.h>

#include "core/utf8.h"
#include "os/os.h"

static void json_refused(tn_cli *cli, const char *path, const tn_error *why)
{
    tn_json_writer w;
    tn_finding finding = tn_finding_of(why);
    tn_json_line(&w, &cli->out);
    tn_json_path(&w, path, strlen(path));
    tn_json_key(&w, "error");
    tn_json_finding(&w, &finding, false);
    tn_json_line_end(&w, &cli->out);
}

/* A file that stays where it is needs a look, and stops no other. */
static void on_refused(void *user, const char *path, const tn_error *why)
{
    tn_cli *cli = ((const tn_acts_view *)user)->cli;
    tn_buffer *out = &cli->out.text;
    tn_cli_raise(cli, 1);
    tn_progress_clear(&cli->progress);
    if (cli->settings.json) {
        json_refused(cli, path, why);
        return;
    }
    tn_output_styled(&cli->out, TN_STYLE_BAD, "stays");
    tn_buffer_text(out, "  ");
    tn_utf8_append_shown(out, path, strlen(path));
    tn_buffer_text(out, "  ");
    tn_utf8_append_shown(out, why->message, strlen(why->message));
    tn_output_line(&cli->out);
}

/* A dry run reads the library, to know what was brought there before, and makes none. */
static tn_status open_for(tn_cli *cli, tn_library **out, tn_error *err)
{
    return cli->settings.dry_run ? tn_cli_library_or_none(cli, out, err) : tn_cli_library(cli, false, out, err);
}

static tn_status place(tn_cli *cli, const tn_paths *paths, const char *folder, bool move, tn_error *err)
{
    tn_acts_view view = {.cli = cli, .silent = cli->settings.quiet && !cli->settings.json};
    TN_TRY(open_for(cli, &view.library, err));
    const tn_act_options options = tn_acts_view_options(&view);
    tn_status status =
        tn_library_place(view.library, paths->items, paths->count, folder, move, &options, on_refused, err);
    tn_library_close(view.library);
    tn_acts_view_end(&view);
    return status;
}

tn_status tn_placing_first(tn_cli *cli, tn_paths *paths, tn_error *err)
{
    const tn_settings *settings = &cli->settings;
    tn_os_info info;
    if (!settings->copy_to && !settings->move_to)
        return TN_OK;
    if (settings->copy_to && settings->move_to)
        return tn_fail(err, TN_INVALID, "--copy-to and --move-to exclude each other");
    const char *folder = settings->copy_to ? settings->copy_to : settings->move_to;
    TN_TRY(place(cli, paths, folder, settings->move_to != NULL, err));
    if (settings->dry_run)
        return TN_OK;
    paths->items[0] = folder;
    paths->count = tn_os_info_at(folder, true, &info, NULL) == TN_OK;
    return TN_OK;
}
