/* `tenure scan`: the import of all roots again, or of those named; with --watch, whenever something in them changes. */
#include "cli/cli.h"
#include "os/os.h"

/* Nothing was ever imported. */
static bool has_roots(void *user, const tn_root *root)
{
    (void)root;
    *(bool *)user = true;
    return false;
}

static void scan(tn_cli *cli, tn_library *library, const tn_paths *roots)
{
    tn_error err;
    tn_import_view view = {.cli = cli, .library = library};
    tn_import_summary *summary = NULL;
    tn_import_options options = tn_import_view_options(&view);
    uint64_t started_ns = tn_os_monotonic_ns();
    tn_status status = tn_library_scan(library, roots->items, roots->count, &options, &summary, &err);
    if (status == TN_OK && summary->asks)
        tn_cli_raise(cli, 1);
    tn_import_view_end(&view, status, summary, roots->count ? roots : NULL, tn_os_monotonic_ns() - started_ns, &err);
    tn_import_summary_destroy(summary);
}

/* ---- staying ---- */

static bool scanned(void *user, const tn_import_summary *summary)
{
    tn_import_view *view = user;
    tn_cli *cli = view->cli;
    tn_error err;
    tn_progress_clear(&cli->progress);
    if (tn_summary_print(cli, summary, NULL, summary->took_ns, &err) != TN_OK)
        tn_cli_fail(cli, &err);
    tn_output_flush(&cli->out);
    return tn_output_wanted(&cli->out);
}

/* Until Ctrl-C, which is how a watch ends. */
static void watch(tn_cli *cli, tn_library *library, const tn_paths *roots)
{
    tn_error err;
    tn_import_view view = {.cli = cli, .library = library};
    tn_import_options import = tn_import_view_options(&view);
    const tn_watch_options options = {.size = sizeof options, .import = &import, .scanned = scanned, .user = &view};
    tn_status status = tn_library_watch(library, roots->items, roots->count, &options, &err);
    tn_progress_clear(&cli->progress);
    if (status == TN_CANCELLED)
        tn_cli_raise(cli, tn_status_exit_code(TN_CANCELLED));
    else if (status != TN_OK)
        tn_cli_fail(cli, &err);
}

void tn_verb_scan(tn_cli *cli)
{
    tn_error err;
    tn_library *library;
    tn_paths roots;
    bool any = false;
    if (!tn_cli_open_library(cli, false, &library))
        return;
    tn_status status = tn_library_roots(library, has_roots, &any, &err);
    if (status == TN_OK)
        status = tn_paths_collect(&roots, &cli->memory, &cli->settings, stdin, &err);
    if (status == TN_OK && !any && !roots.count && !cli->settings.watch)
        tn_cli_note(cli, "no folder is kept yet: `tenure import FOLDER` begins, `tenure roots add FOLDER` keeps one");
    else if (status == TN_OK && cli->settings.watch)
        watch(cli, library, &roots);
    else if (status == TN_OK)
        scan(cli, library, &roots);
    if (status == TN_OK)
        tn_paths_free(&roots);
    else
        tn_cli_fail(cli, &err);
    tn_library_close(library);
}
