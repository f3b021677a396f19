#include "cli/acts_view.h"

#include <string.h>

#include "core/encode.h"
#include "core/utf8.h"

/* ---- JSON ---- */

/* The path under `key`, null when there is none; beside it `key`_b64 when the bytes are not UTF-8. */
static void path_field(tn_cli *cli, tn_json_writer *w, const char *key, tn_text path)
{
    char other[32];
    tn_json_text_field(w, key, path);
    if (tn_utf8_valid_prefix(path.bytes, path.size) == path.size)
        return;
    tn_buffer encoded;
    tn_buffer_init(&encoded, &cli->memory, TN_CLI_LINE_MAX);
    tn_base64_append(&encoded, path.bytes, path.size);
    snprintf(other, sizeof other, "%s_b64", key);
    tn_json_key(w, other);
    tn_json_string(w, encoded.bytes ? encoded.bytes : "", encoded.size);
    tn_buffer_free(&encoded);
}

static void number_field(tn_json_writer *w, const char *key, int64_t value)
{
    tn_json_key(w, key);
    if (value)
        tn_json_int(w, value);
    else
        tn_json_null(w);
}

void tn_act_json_line(tn_cli *cli, const tn_act *act, bool dry_run)
{
    tn_json_writer w;
    tn_json_line(&w, &cli->out);
    number_field(&w, "event", act->event);
    number_field(&w, "id", act->id);
    tn_json_text_field(&w, "kind", act->kind);
    tn_json_text_field(&w, "state", act->state);
    tn_json_key(&w, "dry_run");
    tn_json_bool(&w, dry_run);
    number_field(&w, "model", act->model);
    tn_json_text_field(&w, "name", act->name);
    path_field(cli, &w, "from", act->from);
    path_field(cli, &w, "to", act->to);
    tn_json_key(&w, "files");
    tn_json_uint(&w, act->files);
    tn_json_key(&w, "bytes");
    tn_json_uint(&w, act->bytes);
    number_field(&w, "undoes", act->undoes);
    tn_json_key(&w, "can_undo");
    tn_json_bool(&w, act->can_undo);
    tn_json_text_field(&w, "error", act->error);
    tn_json_line_end(&w, &cli->out);
}

/* ---- for people ---- */

typedef struct wording {
    const char *kind, *done, *planned;
    bool names_target;
} wording;

static const wording wordings[] = {
    {"copy", "copied to", "would be copied to", true},
    {"move", "moved to", "would be moved to", true},
    {"trash", "put into the trash", "would be put into the trash", false},
    {"delete", "deleted for good", "would be deleted for good", false},
    {"restore", "brought back to", "would be brought back to", true},
};

static const wording *wording_of(const tn_act *act)
{
    for (size_t i = 0; i < sizeof wordings / sizeof *wordings; i++)
        if (tn_cli_text_is(act->kind, wordings[i].kind))
            return &wordings[i];
    return NULL;
}

static void files_text(tn_buffer *out, const tn_act *act, bool dry_run)
{
    const wording *says = wording_of(act);
    tn_plural_append(out, act->files, "file, ", "files, ");
    tn_size_append(out, act->bytes);
    tn_buffer_format(out, ", %s", !says ? "" : dry_run ? says->planned : says->done);
    if (says && says->names_target) {
        tn_buffer_text(out, " ");
        tn_utf8_append_shown(out, act->to.bytes, act->to.size);
    }
}

static const char *list_text(const tn_act *act, bool dry_run)
{
    if (tn_cli_text_is(act->kind, "forget"))
        return dry_run ? "would be taken out of the list; its files stay where they are"
                       : "taken out of the list; its files stay where they are";
    if (tn_cli_text_is(act->kind, "restore"))
        return dry_run ? "would be in the list again" : "in the list again";
    return "is there already";
}

void tn_act_line(tn_cli *cli, const tn_act *act, bool dry_run)
{
    tn_buffer *out = &cli->out.text;
    tn_output_style(&cli->out, TN_STYLE_STRONG);
    tn_utf8_append_shown(out, act->name.bytes, act->name.size);
    tn_output_style(&cli->out, TN_STYLE_PLAIN);
    tn_buffer_text(out, ": ");
    if (act->files)
        files_text(out, act, dry_run);
    else
        tn_buffer_text(out, list_text(act, dry_run));
    tn_output_line(&cli->out);
}

/* ---- the view ---- */

static void view_progress(void *user, const tn_act_progress *progress)
{
    tn_acts_view *view = user;
    const tn_import_progress now = {.bytes = progress->bytes, .bytes_done = progress->bytes_done,
                                    .path = progress->path};
    tn_progress_tell_bytes(&view->cli->progress, &now);
}

static void view_done(void *user, const tn_act *act)
{
    tn_acts_view *view = user;
    bool dry_run = act->id == 0 && act->files + (uint64_t)!tn_cli_text_is(act->kind, "move") > 0;
    view->acts++;
    view->files += act->files;
    view->bytes += act->bytes;
    if (act->event)
        view->event = act->event;
    view->can_undo = view->can_undo || act->can_undo;
    if (view->silent)
        return;
    tn_progress_clear(&view->cli->progress);
    if (view->cli->settings.json)
        tn_act_json_line(view->cli, act, dry_run);
    else
        tn_act_line(view->cli, act, dry_run);
}

tn_act_options tn_acts_view_options(tn_acts_view *view)
{
    return (tn_act_options){.size = sizeof(tn_act_options),
                            .dry_run = view->cli->settings.dry_run,
                            .follow = view->cli->settings.follow,
                            .event = view->event,
                            .progress = view_progress,
                            .done = view_done,
                            .user = view};
}

void tn_acts_view_end(const tn_acts_view *view)
{
    tn_progress_clear(&view->cli->progress);
    if (view->event && view->can_undo && !view->cli->settings.json)
        tn_cli_note(view->cli, "take it back with: tenure undo %lld", (long long)view->event);
}
