/* `tenure import`: the job is the library's. What is told while it runs is here; what is told at its end, in
 * summary.c. */
#include "cli/cli.h"
#include "os/os.h"

/* ---- while it runs ---- */

static void view_progress(void *user, const tn_import_progress *progress)
{
    tn_import_view *view = user;
    tn_progress_tell(&view->cli->progress, progress->found, progress->done, progress->walking, progress->path);
}

/* A model that has not changed: its line comes from the library. */
static bool view_record(void *user, const tn_record *record)
{
    tn_cli *cli = user;
    tn_buffer *out = &cli->out.text;
    tn_buffer_text(out, "{\"v\":1,\"fresh\":false,\"changed\":false,");
    tn_buffer_append(out, record->json.bytes + 1, record->json.size - 1);
    tn_output_line(&cli->out);
    return false;
}

static void view_json(tn_import_view *view, const tn_import_event *event)
{
    tn_cli *cli = view->cli;
    tn_error err;
    char extra[96], id[32];
    snprintf(id, sizeof id, "%lld", (long long)event->id);
    tn_status status;
    if (event->answer) {
        snprintf(extra, sizeof extra, "%s%s%s\"fresh\":%s,\"changed\":%s", event->id ? "\"id\":" : "",
                 event->id ? id : "", event->id ? "," : "", event->fresh ? "true" : "false",
                 event->changed ? "true" : "false");
        status = tn_answer_json_line(cli, event->answer, extra, &err);
    } else
        status = tn_library_show(view->library, id, view_record, cli, &err);
    if (status != TN_OK)
        tn_cli_fail(cli, &err);
}

static void view_each(void *user, const tn_import_event *event)
{
    tn_import_view *view = user;
    view->models++;
    view->look += event->answer && tn_state_needs_a_look(event->answer->state);
    if (view->cli->settings.json && tn_output_wanted(&view->cli->out))
        view_json(view, event);
}

tn_import_options tn_import_view_options(tn_import_view *view)
{
    return (tn_import_options){.size = sizeof(tn_import_options),
                               .dry_run = view->cli->settings.dry_run,
                               .progress = view_progress,
                               .each = view_each,
                               .user = view};
}

void tn_import_stopped(tn_import_view *view, const tn_error *err, const char *resume)
{
    tn_cli *cli = view->cli;
    if (err->status != TN_CANCELLED) {
        tn_cli_fail(cli, err);
        return;
    }
    tn_cli_raise(cli, tn_status_exit_code(TN_CANCELLED));
    tn_progress_clear(&cli->progress);
    if (cli->settings.dry_run)
        tn_cli_note(cli, "interrupted");
    else
        tn_cli_note(cli, "interrupted after %llu of %llu; nothing is lost. Go on with: %s",
                    (unsigned long long)cli->progress.done, (unsigned long long)cli->progress.found, resume);
}

/* ---- the job ---- */

/* Paths that are not there are answered at once and taken out; the others go on. */
static void leave_missing_out(tn_cli *cli, tn_paths *paths)
{
    size_t kept = 0;
    for (size_t i = 0; i < paths->count; i++) {
        tn_os_info info;
        tn_error err;
        if (tn_os_info_at(paths->items[i], true, &info, &err) == TN_OK)
            paths->items[kept++] = paths->items[i];
        else
            tn_answer_refused(cli, paths->items[i], &err);
    }
    paths->count = kept;
}

/* A dry run reads the library, to know what is new; where there is none yet an empty one is made. */
static tn_status open_for(tn_cli *cli, tn_library **out, tn_error *err)
{
    tn_status status = cli->settings.dry_run ? tn_cli_library(cli, true, out, err) : TN_NOT_FOUND;
    return status == TN_NOT_FOUND ? tn_cli_library(cli, false, out, err) : status;
}

static tn_status import(tn_cli *cli, const tn_paths *paths, tn_error *err)
{
    tn_import_view view = {.cli = cli};
    tn_import_summary *summary;
    TN_TRY(open_for(cli, &view.library, err));
    tn_import_options options = tn_import_view_options(&view);
    uint64_t started_ns = tn_os_monotonic_ns();
    tn_status status = tn_library_import(view.library, paths->items, paths->count, &options, &summary, err);
    tn_progress_clear(&cli->progress);
    if (status == TN_OK) {
        if (summary->problem_count || summary->folders_unreadable)
            tn_cli_raise(cli, 1);
        status = tn_summary_print(cli, summary, paths, tn_os_monotonic_ns() - started_ns, err);
        tn_import_summary_destroy(summary);
    } else if (status == TN_CANCELLED) {
        tn_import_stopped(&view, err, "tenure jobs run");
        status = TN_OK;
    }
    tn_library_close(view.library);
    return status;
}

void tn_verb_import(tn_cli *cli)
{
    tn_error err;
    tn_paths paths;
    tn_status status = tn_paths_collect(&paths, &cli->memory, &cli->settings, stdin, &err);
    if (status == TN_OK) {
        leave_missing_out(cli, &paths);
        if (paths.count)
            status = import(cli, &paths, &err);
        tn_paths_free(&paths);
    }
    if (status != TN_OK)
        tn_cli_fail(cli, &err);
}
