/* `tenure jobs`: what is queued, running or interrupted, and going on with it. */
#include <string.h>

#include "cli/cli.h"

/* ---- the list ---- */

typedef struct listing {
    tn_cli *cli;
    tn_table table;
    uint64_t count;
} listing;

static tn_style state_style(tn_text state)
{
    if (tn_cli_text_is(state, "failed"))
        return TN_STYLE_BAD;
    if (tn_cli_text_is(state, "interrupted") || tn_cli_text_is(state, "paused"))
        return TN_STYLE_WARN;
    return tn_cli_text_is(state, "done") ? TN_STYLE_GOOD : TN_STYLE_PLAIN;
}

static void progress_cell(tn_cli *cli, tn_table *table, const tn_job *job)
{
    tn_buffer text;
    tn_buffer_init(&text, &cli->memory, 256);
    tn_count_append(&text, job->items_done);
    tn_buffer_text(&text, " of ");
    tn_count_append(&text, job->items);
    tn_table_cell(table, TN_STYLE_PLAIN, text.bytes ? text.bytes : "", text.size);
    tn_buffer_free(&text);
}

/* "41.2 GB of 1.4 TB"; empty where no bytes are counted. */
static void bytes_cell(tn_cli *cli, tn_table *table, const tn_job *job)
{
    tn_buffer text;
    tn_buffer_init(&text, &cli->memory, 256);
    if (job->bytes) {
        tn_size_append(&text, job->bytes_done);
        tn_buffer_text(&text, " of ");
        tn_size_append(&text, job->bytes);
    }
    tn_table_cell(table, TN_STYLE_PLAIN, text.bytes ? text.bytes : "", text.size);
    tn_buffer_free(&text);
}

static bool table_job(void *user, const tn_job *job)
{
    listing *l = user;
    l->count++;
    char id[32];
    snprintf(id, sizeof id, "%lld", (long long)job->id);
    tn_table_cell_text(&l->table, TN_STYLE_DIM, tn_text_of(id));
    tn_table_cell_text(&l->table, TN_STYLE_PLAIN, job->kind);
    tn_table_cell_text(&l->table, state_style(job->state), job->state);
    progress_cell(l->cli, &l->table, job);
    bytes_cell(l->cli, &l->table, job);
    tn_table_cell_text(&l->table, TN_STYLE_PLAIN, job->what.size ? job->what : tn_text_of("the whole library"));
    tn_table_cell_text(&l->table, TN_STYLE_BAD, job->error);
    return !tn_cli_stopped(l->cli);
}

static void json_time(tn_json_writer *w, const char *key, int64_t ns)
{
    tn_json_key(w, key);
    if (ns)
        tn_json_number(w, (double)ns / 1e9);
    else
        tn_json_null(w);
}

static bool json_job(void *user, const tn_job *job)
{
    listing *l = user;
    tn_json_writer w;
    tn_json_line(&w, &l->cli->out);
    tn_json_key(&w, "id");
    tn_json_int(&w, job->id);
    tn_json_text_field(&w, "kind", job->kind);
    tn_json_text_field(&w, "state", job->state);
    tn_json_text_field(&w, "what", job->what);
    json_time(&w, "queued", job->queued_ns);
    json_time(&w, "started", job->started_ns);
    json_time(&w, "ended", job->ended_ns);
    tn_json_amount(&w, "items", job->items);
    tn_json_amount(&w, "items_done", job->items_done);
    tn_json_amount(&w, "bytes", job->bytes);
    tn_json_amount(&w, "bytes_done", job->bytes_done);
    tn_json_text_field(&w, "error", job->error);
    tn_json_line_end(&w, &l->cli->out);
    return !tn_cli_stopped(l->cli);
}

static tn_status list_jobs(tn_cli *cli, tn_library *library, tn_error *err)
{
    static const tn_table_column columns[] = {{"id", true, 0},        {"kind", false, 0},  {"state", false, 0},
                                              {"progress", true, 0}, {"bytes", true, 0}, {"what", false, 20},
                                              {"", false, 0}};
    listing l = {.cli = cli};
    if (cli->settings.json)
        return tn_library_jobs(library, json_job, &l, err);
    tn_table_begin(&l.table, &cli->out, columns, sizeof columns / sizeof *columns, cli->out.columns);
    tn_status status = tn_library_jobs(library, table_job, &l, err);
    tn_table_end(&l.table);
    if (status == TN_OK && !l.count)
        tn_cli_note(cli, "there are no jobs: `tenure import` makes them");
    return status;
}

/* ---- the words ---- */

/* Whether `action` makes sense for a job in this state, when no job was named. */
static bool suits(const char *action, tn_text state)
{
    static const struct {
        const char *action, *states;
    } table[] = {{"pause", "queued|running|interrupted"},
                 {"resume", "paused"},
                 {"cancel", "queued|running|interrupted|paused"},
                 {"retry", "failed|cancelled"}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].action, action) == 0)
            return tn_cli_words_have(table[i].states, state.bytes, state.size);
    return false;
}

typedef struct choice {
    const char *action;
    tn_buffer ids; /* int64_t after int64_t */
} choice;

static bool choose(void *user, const tn_job *job)
{
    choice *c = user;
    if (suits(c->action, job->state))
        tn_buffer_append(&c->ids, &job->id, sizeof job->id);
    return true;
}

static tn_status control(tn_cli *cli, tn_library *library, const char *action, int64_t id, tn_error *err)
{
    TN_TRY(tn_library_job_control(library, id, action, err));
    if (cli->settings.json) {
        tn_json_writer w;
        tn_json_line(&w, &cli->out);
        tn_json_key(&w, "id");
        tn_json_int(&w, id);
        tn_json_key(&w, "action");
        tn_json_cstring(&w, action);
        tn_json_line_end(&w, &cli->out);
    } else if (!cli->settings.quiet) {
        tn_buffer_format(&cli->out.text, "job %lld: %s", (long long)id, action);
        tn_output_line(&cli->out);
    }
    return TN_OK;
}

static tn_status control_all(tn_cli *cli, tn_library *library, const char *action, tn_error *err)
{
    choice c = {.action = action};
    tn_buffer_init(&c.ids, &cli->memory, (size_t)1 << 20);
    tn_status status = tn_library_jobs(library, choose, &c, err);
    if (status == TN_OK)
        status = tn_buffer_status(&c.ids, err);
    for (size_t at = 0; at < c.ids.size && status == TN_OK; at += sizeof(int64_t)) {
        int64_t id;
        memcpy(&id, c.ids.bytes + at, sizeof id);
        status = control(cli, library, action, id, err);
    }
    if (status == TN_OK && !c.ids.size)
        tn_cli_note(cli, "there is no job to %s", action);
    tn_buffer_free(&c.ids);
    return status;
}

typedef struct waiting {
    uint64_t files, bytes;
} waiting;

static bool count_waiting(void *user, const tn_job *job)
{
    waiting *w = user;
    if (tn_cli_text_is(job->kind, "hash") && tn_cli_text_is(job->state, "queued")) {
        w->files += job->items - job->items_done;
        w->bytes += job->bytes - job->bytes_done;
    }
    return true;
}

/* An import that was gone on with has queued hashing of its own. */
static tn_status print_waiting(tn_cli *cli, tn_library *library, tn_error *err)
{
    waiting w = {0};
    TN_TRY(tn_library_jobs(library, count_waiting, &w, err));
    if (!w.files)
        return TN_OK;
    tn_plural_append(&cli->out.text, w.files, "file, ", "files, ");
    tn_size_append(&cli->out.text, w.bytes);
    tn_buffer_text(&cli->out.text, " to be hashed: tenure jobs run");
    tn_output_line(&cli->out);
    return TN_OK;
}

/* "312 files hashed, 1.4 TB; 12 models read, 2 need a look: tenure list" */
static void print_ran(tn_cli *cli, const tn_import_view *view)
{
    tn_buffer *out = &cli->out.text;
    tn_import_view_hashed(view, out);
    if (view->models) {
        tn_buffer_text(out, view->hashed ? "; " : "");
        tn_plural_append(out, view->models, "model", "models");
        tn_buffer_text(out, " read");
    }
    if (view->look) {
        tn_buffer_text(out, ", ");
        tn_count_append(out, view->look);
        tn_buffer_text(out, view->look == 1 ? " needs a look: tenure list" : " need a look: tenure list");
    }
    if (!view->hashed && !view->models)
        tn_buffer_text(out, view->unhashed ? "nothing could be hashed" : "nothing was left to do");
    tn_output_line(&cli->out);
}

static tn_status run_jobs(tn_cli *cli, tn_library *library, int64_t id, tn_error *err)
{
    tn_import_view view = {.cli = cli, .library = library};
    tn_import_options options = tn_import_view_options(&view);
    tn_status status = tn_library_jobs_run(library, id, &options, err);
    tn_progress_clear(&cli->progress);
    if (status == TN_CANCELLED) {
        tn_import_stopped(&view, err, "tenure jobs run");
        return TN_OK;
    }
    TN_TRY(status);
    if (view.look)
        tn_cli_raise(cli, 1);
    if (cli->settings.json || cli->settings.quiet)
        return TN_OK;
    print_ran(cli, &view);
    return print_waiting(cli, library, err);
}

/* The ID behind the word: 0 when there is none. */
static tn_status job_id(const tn_settings *settings, int64_t *out, tn_error *err)
{
    const char *text = settings->argument_count > 1 ? settings->arguments[1] : "";
    int64_t id = 0;
    for (const char *at = text; *at; at++) {
        if (*at < '0' || *at > '9' || id > INT64_MAX / 10 - 1)
            return tn_fail(err, TN_INVALID, "the ID of a job is a number, not `%.64s`: see `tenure jobs`", text);
        id = 10 * id + (*at - '0');
    }
    if (*text && id == 0)
        return tn_fail(err, TN_INVALID, "there is no job 0: see `tenure jobs`");
    *out = id;
    return TN_OK;
}

static tn_status act(tn_cli *cli, tn_library *library, int64_t id, tn_error *err)
{
    const char *action = cli->settings.argument_count ? cli->settings.arguments[0] : NULL;
    if (!action)
        return list_jobs(cli, library, err);
    if (strcmp(action, "run") == 0)
        return run_jobs(cli, library, id, err);
    return id ? control(cli, library, action, id, err) : control_all(cli, library, action, err);
}

void tn_verb_jobs(tn_cli *cli)
{
    tn_error err;
    tn_library *library;
    int64_t id = 0;
    tn_status status = job_id(&cli->settings, &id, &err);
    if (status == TN_OK)
        status = tn_cli_library(cli, !cli->settings.argument_count, &library, &err);
    if (status == TN_NOT_FOUND && !cli->settings.argument_count) {
        tn_cli_note(cli, "there is no library yet, so no job either");
        return;
    }
    if (status == TN_OK) {
        status = act(cli, library, id, &err);
        tn_library_close(library);
    }
    if (status != TN_OK)
        tn_cli_fail(cli, &err);
}
