/* `tenure import`: the job is the library's. What is told while it runs is here; what is told at its end, in
 * summary.c. */
#include <string.h>

#include "cli/acts_view.h"
#include "cli/cli.h"
#include "core/utf8.h"
#include "os/os.h"

/* ---- while it runs ---- */

static void view_progress(void *user, const tn_import_progress *progress)
{
    tn_import_view *view = user;
    view->last = *progress;
    view->last.path = NULL; /* valid during the call only */
    if (progress->bytes) {
        tn_progress_tell_bytes(&view->cli->progress, progress);
        return;
    }
    tn_progress_tell(&view->cli->progress, progress->found, progress->done, progress->walking, progress->path);
}

typedef struct record_view {
    tn_cli *cli;
    const tn_import_event *event;
} record_view;

static const char *word(bool yes)
{
    return yes ? "true" : "false";
}

/* A line that comes from the library. */
static bool view_record(void *user, const tn_record *record)
{
    const record_view *v = user;
    tn_buffer *out = &v->cli->out.text;
    tn_buffer_format(out, "{\"v\":1,\"fresh\":%s,\"changed\":%s,\"relinked\":%s,", word(v->event->fresh),
                     word(v->event->changed), word(v->event->relinked));
    tn_buffer_append(out, record->json.bytes + 1, record->json.size - 1);
    tn_output_line(&v->cli->out);
    return false;
}

static void view_json(tn_import_view *view, const tn_import_event *event)
{
    tn_cli *cli = view->cli;
    tn_error err;
    char extra[128], id[32];
    snprintf(id, sizeof id, "%lld", (long long)event->id);
    tn_status status;
    if (event->answer) {
        snprintf(extra, sizeof extra, "%s%s%s\"fresh\":%s,\"changed\":%s,\"relinked\":%s", event->id ? "\"id\":" : "",
                 event->id ? id : "", event->id ? "," : "", word(event->fresh), word(event->changed),
                 word(event->relinked));
        status = tn_answer_json_line(cli, event->answer, extra, &err);
    } else
        status = tn_library_show(view->library, id, view_record, &(record_view){cli, event}, &err);
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

/* ---- hashes ---- */

static void json_hashed(tn_cli *cli, const tn_hash_event *event)
{
    tn_json_writer w;
    tn_json_line(&w, &cli->out);
    tn_json_key(&w, "hashed");
    tn_json_bool(&w, event->why == NULL);
    tn_json_key(&w, "model");
    if (event->model)
        tn_json_int(&w, event->model);
    else
        tn_json_null(&w);
    tn_json_path(&w, event->path.bytes, event->path.size);
    tn_json_amount(&w, "size_bytes", event->size_bytes);
    for (size_t i = 0; i < event->count; i++)
        tn_json_text_field(&w, event->hashes[i].algorithm.bytes, event->hashes[i].value);
    if (event->why) {
        tn_finding finding = tn_finding_of(event->why);
        tn_json_key(&w, "error");
        tn_json_finding(&w, &finding, false);
    }
    tn_json_line_end(&w, &cli->out);
}

/* "damaged  flux.safetensors  its bytes are not those ..." */
static void line_unhashed(tn_cli *cli, const tn_hash_event *event)
{
    tn_buffer *out = &cli->out.text;
    const char *state = event->why->status == TN_CHANGED ? "changed" : event->why->status == TN_CRASHED ? "crashed" :
                        event->why->status == TN_BAD_CHECKSUM ? "damaged" : "unreadable";
    tn_output_styled(&cli->out, TN_STYLE_BAD, state);
    tn_buffer_text(out, "  ");
    tn_utf8_append_shown(out, event->path.bytes, event->path.size);
    tn_buffer_text(out, "  ");
    tn_utf8_append_shown(out, event->why->message, strlen(event->why->message));
    tn_output_line(&cli->out);
}

static void view_hashed(void *user, const tn_hash_event *event)
{
    tn_import_view *view = user;
    tn_cli *cli = view->cli;
    if (event->why) {
        view->unhashed++;
        tn_cli_raise(cli, 1);
    } else {
        view->hashed++;
        view->hashed_bytes += event->size_bytes;
    }
    if (cli->settings.json)
        json_hashed(cli, event);
    else if (event->why)
        line_unhashed(cli, event);
}

void tn_import_view_hashed(const tn_import_view *view, tn_buffer *out)
{
    if (!view->hashed)
        return;
    tn_plural_append(out, view->hashed, "file hashed, ", "files hashed, ");
    tn_size_append(out, view->hashed_bytes);
}

static uint32_t digests_of(const char *word)
{
    if (strcmp(word, "blake3") == 0)
        return TN_DIGEST_BLAKE3;
    return strcmp(word, "sha256") == 0 ? TN_DIGEST_SHA256 | TN_DIGEST_AUTOV2 : TN_DIGEST_ALL;
}

/* What was not asked for waits; what was is done before the end. */
static void set_hash(tn_import_options *options, const char *word)
{
    options->hash = word == NULL ? TN_HASH_QUEUE : strcmp(word, "none") == 0 ? TN_HASH_NONE : TN_HASH_NOW;
    if (options->hash == TN_HASH_NOW)
        options->digests = digests_of(word);
}

tn_import_options tn_import_view_options(tn_import_view *view)
{
    tn_import_options options = {.size = sizeof(tn_import_options),
                                 .dry_run = view->cli->settings.dry_run,
                                 .progress = view_progress,
                                 .each = view_each,
                                 .hashed = view_hashed,
                                 .user = view};
    set_hash(&options, view->cli->settings.hash);
    return options;
}

/* How far it came, for a program: the last line of an import that was interrupted. */
static void json_stopped(tn_import_view *view, const char *resume)
{
    tn_json_writer w;
    const tn_import_progress *last = &view->last;
    tn_json_line(&w, &view->cli->out);
    tn_json_key(&w, "status");
    tn_json_cstring(&w, "interrupted");
    tn_json_key(&w, "walking");
    tn_json_bool(&w, last->walking);
    tn_json_amount(&w, "found", last->found);
    tn_json_amount(&w, "done", last->done);
    tn_json_amount(&w, "fresh", last->fresh);
    tn_json_amount(&w, "changed", last->changed);
    tn_json_amount(&w, "unchanged", last->unchanged);
    tn_json_amount(&w, "hashed", view->hashed);
    tn_json_key(&w, "resume");
    if (view->cli->settings.dry_run)
        tn_json_null(&w);
    else
        tn_json_cstring(&w, resume);
    tn_json_line_end(&w, &view->cli->out);
}

void tn_import_stopped(tn_import_view *view, const tn_error *err, const char *resume)
{
    tn_cli *cli = view->cli;
    const tn_import_progress *last = &view->last;
    if (err->status != TN_CANCELLED) {
        tn_cli_fail(cli, err);
        return;
    }
    tn_cli_raise(cli, tn_status_exit_code(TN_CANCELLED));
    tn_progress_clear(&cli->progress);
    if (cli->settings.json)
        json_stopped(view, resume);
    if (cli->settings.dry_run)
        tn_cli_note(cli, "interrupted");
    else if (last->walking)
        tn_cli_note(cli, "interrupted while the folders were looked through, %llu found so far; nothing is lost. Go on "
                         "with: %s", (unsigned long long)last->found, resume);
    else
        tn_cli_note(cli, "interrupted after %llu of %llu; nothing is lost. Go on with: %s", (unsigned long long)last->done,
                    (unsigned long long)last->found, resume);
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

/* A dry run reads the library, to know what is new, and makes none. */
static tn_status open_for(tn_cli *cli, tn_library **out, tn_error *err)
{
    return cli->settings.dry_run ? tn_cli_library_or_none(cli, out, err) : tn_cli_library(cli, false, out, err);
}

static void tell_hashed(tn_import_view *view)
{
    if (view->cli->settings.json || view->cli->settings.quiet || !view->hashed)
        return;
    tn_import_view_hashed(view, &view->cli->out.text);
    tn_output_line(&view->cli->out);
}

void tn_import_view_end(tn_import_view *view, tn_status status, const tn_import_summary *summary, const tn_paths *roots,
                        uint64_t ns, tn_error *err)
{
    tn_cli *cli = view->cli;
    tn_progress_clear(&cli->progress);
    if (status == TN_OK) {
        if (summary->problem_count || summary->folders_unreadable)
            tn_cli_raise(cli, 1);
        status = tn_summary_print(cli, summary, roots, ns, err);
        tell_hashed(view);
    } else if (status == TN_CANCELLED) {
        tn_import_stopped(view, err, "tenure jobs run");
        status = TN_OK;
    }
    if (status != TN_OK)
        tn_cli_fail(cli, err);
}

static void import(tn_cli *cli, const tn_paths *paths)
{
    tn_error err;
    tn_import_view view = {.cli = cli};
    tn_import_summary *summary = NULL;
    if (open_for(cli, &view.library, &err) != TN_OK) {
        tn_cli_fail(cli, &err);
        return;
    }
    tn_import_options options = tn_import_view_options(&view);
    uint64_t started_ns = tn_os_monotonic_ns();
    tn_status status = tn_library_import(view.library, paths->items, paths->count, &options, &summary, &err);
    tn_import_view_end(&view, status, summary, paths, tn_os_monotonic_ns() - started_ns, &err);
    tn_import_summary_destroy(summary);
    tn_library_close(view.library);
}

void tn_verb_import(tn_cli *cli)
{
    tn_error err;
    tn_paths paths;
    tn_status status = tn_paths_collect(&paths, &cli->memory, &cli->settings, stdin, &err);
    if (status == TN_OK) {
        leave_missing_out(cli, &paths);
        if (paths.count)
            status = tn_placing_first(cli, &paths, &err);
        if (status == TN_OK && paths.count)
            import(cli, &paths);
        tn_paths_free(&paths);
    }
    if (status != TN_OK)
        tn_cli_fail(cli, &err);
}
