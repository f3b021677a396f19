/* `tenure verify`: are files still what they should be? */
#include <string.h>

#include "cli/cli.h"
#include "core/utf8.h"

typedef struct verifying {
    tn_cli *cli;
    uint64_t sound, unsound, hashed_bytes;
} verifying;

/* ---- one model ---- */

static tn_style severity_style(tn_severity severity)
{
    return severity == TN_ERROR ? TN_STYLE_BAD : severity == TN_WARNING ? TN_STYLE_WARN : TN_STYLE_DIM;
}

/* "  error    bad_checksum  its bytes are not those ... [unet.conv_in.weight]" */
static void finding_line(tn_cli *cli, const tn_finding *finding)
{
    static const char *const words[] = {"note", "warning", "error"};
    tn_buffer *out = &cli->out.text;
    tn_buffer_text(out, "  ");
    tn_output_style(&cli->out, severity_style(finding->severity));
    tn_buffer_format(out, "%-7s", words[finding->severity]);
    tn_output_style(&cli->out, TN_STYLE_PLAIN);
    tn_buffer_format(out, "  %s  ", tn_status_word(finding->status));
    if (finding->file.size) {
        tn_text name = tn_base_name(finding->file);
        tn_utf8_append_shown(out, name.bytes, name.size);
        tn_buffer_text(out, ": ");
    }
    tn_utf8_append_shown(out, finding->message.bytes, finding->message.size);
    if (finding->tensor.size) {
        tn_buffer_text(out, " [");
        tn_utf8_append_shown(out, finding->tensor.bytes, finding->tensor.size);
        tn_buffer_text(out, "]");
    }
    if (finding->offset != TN_NONE)
        tn_buffer_format(out, " at byte %llu", (unsigned long long)finding->offset);
    tn_output_line(&cli->out);
}

static void lines(tn_cli *cli, const tn_verified *verified)
{
    if (cli->settings.quiet && verified->sound)
        return;
    tn_output_style(&cli->out, verified->sound ? TN_STYLE_GOOD : TN_STYLE_BAD);
    tn_buffer_format(&cli->out.text, "%-7s", verified->sound ? "sound" : "unsound");
    tn_output_style(&cli->out, TN_STYLE_PLAIN);
    tn_buffer_text(&cli->out.text, "  ");
    tn_utf8_append_shown(&cli->out.text, verified->path.bytes, verified->path.size);
    tn_output_line(&cli->out);
    for (size_t i = 0; i < verified->count; i++)
        finding_line(cli, &verified->findings[i]);
}

static void object(tn_cli *cli, const tn_verified *verified)
{
    tn_json_writer w;
    tn_json_line(&w, &cli->out);
    if (verified->model) {
        tn_json_key(&w, "id");
        tn_json_int(&w, verified->model);
    }
    tn_json_path(&w, verified->path.bytes, verified->path.size);
    tn_json_key(&w, "sound");
    tn_json_bool(&w, verified->sound);
    tn_json_amount(&w, "hashed_bytes", verified->hashed_bytes);
    tn_json_key(&w, "findings");
    tn_json_array(&w);
    for (size_t i = 0; i < verified->count; i++)
        tn_json_finding(&w, &verified->findings[i], true);
    tn_json_array_end(&w);
    tn_json_line_end(&w, &cli->out);
}

static bool each(void *user, const tn_verified *verified)
{
    verifying *v = user;
    v->sound += verified->sound;
    v->unsound += !verified->sound;
    v->hashed_bytes += verified->hashed_bytes;
    if (!verified->sound)
        tn_cli_raise(v->cli, 1);
    if (v->cli->settings.json)
        object(v->cli, verified);
    else
        lines(v->cli, verified);
    return !tn_cli_stopped(v->cli);
}

static void progress(void *user, const tn_import_progress *now)
{
    const verifying *v = user;
    if (now->bytes)
        tn_progress_tell_bytes(&v->cli->progress, now);
    else
        tn_progress_tell(&v->cli->progress, now->found, now->done, false, now->path);
}

/* ---- all of them ---- */

/* "311 models are sound, 1 is not; 1.4 TB compared with their hashes" */
static void print_sums(const verifying *v)
{
    tn_cli *cli = v->cli;
    tn_buffer *out = &cli->out.text;
    if (cli->settings.json || cli->settings.quiet)
        return;
    if (v->sound + v->unsound == 0) {
        tn_cli_note(cli, "there is nothing to verify");
        return;
    }
    tn_plural_append(out, v->sound, "model is sound", "models are sound");
    if (v->unsound) {
        tn_buffer_text(out, ", ");
        tn_plural_append(out, v->unsound, "is not", "are not");
    }
    if (v->hashed_bytes) {
        tn_buffer_text(out, "; ");
        tn_size_append(out, v->hashed_bytes);
        tn_buffer_text(out, " compared by hash");
    }
    tn_output_line(&cli->out);
}

static tn_status verify(tn_cli *cli, tn_library *library, const tn_paths *models, tn_error *err)
{
    verifying v = {.cli = cli};
    tn_verify_options options = {.size = sizeof options, .quick = cli->settings.quick, .each = each, .user = &v};
    if (cli->progress.on)
        options.progress = progress;
    tn_status status = tn_library_verify(cli->context, library, models->items, models->count, &options, err);
    tn_progress_clear(&cli->progress);
    if (status == TN_CANCELLED) {
        tn_cli_raise(cli, tn_status_exit_code(TN_CANCELLED));
        tn_cli_note(cli, "interrupted after %llu of %llu", (unsigned long long)(v.sound + v.unsound),
                    (unsigned long long)cli->progress.found);
        return TN_OK;
    }
    TN_TRY(status);
    if (tn_output_wanted(&cli->out))
        print_sums(&v);
    return TN_OK;
}

/* Without a library paths still have a structure. With one, what is found is written down where it can be. */
static tn_status open_any(tn_cli *cli, tn_library **out, tn_error *err)
{
    tn_error found;
    tn_library *library = NULL;
    tn_status status = tn_cli_library(cli, true, &library, &found);
    if (status == TN_NOT_FOUND) {
        *out = NULL;
        return TN_OK;
    }
    if (status != TN_OK)
        return tn_fail_as(&found, err);
    tn_library_close(library);
    return tn_cli_library(cli, false, out, err);
}

static tn_status run(tn_cli *cli, tn_error *err)
{
    tn_paths models;
    tn_library *library = NULL;
    const tn_settings *settings = &cli->settings;
    if (settings->all == (settings->argument_count > 0))
        return tn_fail(err, TN_INVALID, settings->all ? "--all is for every model: name none beside it"
                                                      : "verify needs a path, an id or a name, or --all");
    TN_TRY(tn_paths_collect(&models, &cli->memory, settings, stdin, err));
    tn_status status = open_any(cli, &library, err);
    if (status == TN_OK && (models.count > 0 || settings->all))
        status = verify(cli, library, &models, err);
    tn_library_close(library);
    tn_paths_free(&models);
    return status;
}

void tn_verb_verify(tn_cli *cli)
{
    tn_error err;
    if (run(cli, &err) != TN_OK)
        tn_cli_fail(cli, &err);
}
