/* `tenure duplicates`: models that are the same twice. */
#include "cli/cli.h"
#include "core/utf8.h"

typedef struct finding {
    tn_cli *cli;
    uint64_t sure, possible;             /* groups */
    uint64_t sure_bytes, possible_bytes; /* that could be saved */
} finding;

static void json_twin(tn_json_writer *w, const tn_twin *twin)
{
    tn_json_object(w);
    tn_json_key(w, "id");
    tn_json_int(w, twin->id);
    tn_json_key(w, "name");
    tn_json_string(w, twin->name.bytes, twin->name.size);
    tn_json_path(w, twin->path.bytes, twin->path.size);
    tn_json_key(w, "hashed");
    tn_json_bool(w, twin->hashed);
    tn_json_object_end(w);
}

static void json_group(tn_cli *cli, const tn_twins *twins)
{
    tn_json_writer w;
    tn_json_line(&w, &cli->out);
    tn_json_key(&w, "certainty");
    tn_json_cstring(&w, twins->sure ? "sure" : "possible");
    tn_json_key(&w, "size_bytes");
    tn_json_uint(&w, twins->size_bytes);
    tn_json_key(&w, "saves_bytes");
    tn_json_uint(&w, twins->saves_bytes);
    tn_json_key(&w, "models");
    tn_json_array(&w);
    for (size_t i = 0; i < twins->count; i++)
        json_twin(&w, &twins->twins[i]);
    tn_json_array_end(&w);
    tn_json_line_end(&w, &cli->out);
}

static void group_lines(tn_cli *cli, const tn_twins *twins)
{
    tn_buffer *out = &cli->out.text;
    tn_output_styled(&cli->out, twins->sure ? TN_STYLE_GOOD : TN_STYLE_WARN, twins->sure ? "sure" : "possible");
    tn_buffer_format(out, "  %zu times ", twins->count);
    tn_size_append(out, twins->size_bytes);
    tn_output_line(&cli->out);
    for (size_t i = 0; i < twins->count; i++) {
        const tn_twin *twin = &twins->twins[i];
        tn_buffer_format(out, "  %6lld  ", (long long)twin->id);
        tn_utf8_append_shown(out, twin->path.bytes, twin->path.size);
        tn_buffer_text(out, !twins->sure && !twin->hashed ? "  (not hashed)" : "");
        tn_output_line(&cli->out);
    }
}

static bool tell(void *user, const tn_twins *twins)
{
    finding *f = user;
    *(twins->sure ? &f->sure : &f->possible) += 1;
    *(twins->sure ? &f->sure_bytes : &f->possible_bytes) += twins->saves_bytes;
    if (f->cli->settings.json)
        json_group(f->cli, twins);
    else
        group_lines(f->cli, twins);
    return !tn_cli_stopped(f->cli);
}

static void json_summary(const finding *f)
{
    tn_json_writer w;
    tn_json_line(&w, &f->cli->out);
    tn_json_key(&w, "summary");
    tn_json_object(&w);
    tn_json_key(&w, "sure");
    tn_json_uint(&w, f->sure);
    tn_json_key(&w, "sure_saves_bytes");
    tn_json_uint(&w, f->sure_bytes);
    tn_json_key(&w, "possible");
    tn_json_uint(&w, f->possible);
    tn_json_key(&w, "possible_saves_bytes");
    tn_json_uint(&w, f->possible_bytes);
    tn_json_object_end(&w);
    tn_json_line_end(&w, &f->cli->out);
}

static void sum_lines(const finding *f)
{
    tn_buffer *out = &f->cli->out.text;
    if (f->sure) {
        tn_plural_append(out, f->sure, "group is", "groups are");
        tn_buffer_text(out, " sure: ");
        tn_size_append(out, f->sure_bytes);
        tn_buffer_text(out, " could be saved");
        tn_output_line(&f->cli->out);
    }
    if (f->possible) {
        tn_plural_append(out, f->possible, "group is", "groups are");
        tn_buffer_text(out, " possible: up to ");
        tn_size_append(out, f->possible_bytes);
        tn_buffer_text(out, "; `tenure jobs run` hashes what waits for it and makes it sure");
        tn_output_line(&f->cli->out);
    }
    if (!f->sure && !f->possible)
        tn_cli_note(f->cli, "no model is there twice");
}

void tn_verb_duplicates(tn_cli *cli)
{
    tn_error err;
    tn_library *library;
    finding f = {.cli = cli};
    if (!tn_cli_open_library(cli, true, &library))
        return;
    if (tn_library_duplicates(library, tell, &f, &err) != TN_OK)
        tn_cli_fail(cli, &err);
    else if (cli->settings.json)
        json_summary(&f);
    else
        sum_lines(&f);
    tn_library_close(library);
}
