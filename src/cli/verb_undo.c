/* `tenure undo`: take back what was done to files, and list what was done. */
#include <string.h>

#include "cli/acts_view.h"
#include "os/os.h"

/* ---- the list: a row an event ---- */

typedef struct row {
    int64_t event, at_ns;
    uint64_t acts, bytes;
    bool can_undo, ended, failed, undone;
    char kind[16];
    tn_buffer name; /* of its first model */
} row;

typedef struct listing {
    tn_cli *cli;
    tn_table table;
    row now;
} listing;

static const char *state_of(const row *r)
{
    if (!r->ended)
        return "interrupted";
    if (r->can_undo)
        return "can be undone";
    return r->undone ? "undone" : r->failed ? "failed" : "done";
}

static void what_cell(listing *l, const row *r)
{
    tn_buffer text;
    tn_buffer_init(&text, &l->cli->memory, (size_t)1 << 20);
    tn_buffer_append(&text, r->name.bytes ? r->name.bytes : "", r->name.size);
    if (r->acts > 1)
        tn_buffer_format(&text, " and %llu more", (unsigned long long)(r->acts - 1));
    tn_table_cell(&l->table, TN_STYLE_PLAIN, text.bytes ? text.bytes : "", text.size);
    tn_buffer_free(&text);
}

static void age_cell(listing *l, int64_t at_ns)
{
    enum { ROOM = 64 };
    tn_buffer text;
    int64_t age_ns = tn_os_wall_ns() - at_ns;
    tn_buffer_init(&text, &l->cli->memory, ROOM);
    tn_duration_append(&text, age_ns > 0 ? (uint64_t)age_ns : 0);
    tn_buffer_text(&text, " ago");
    tn_table_cell(&l->table, TN_STYLE_DIM, text.bytes ? text.bytes : "", text.size);
    tn_buffer_free(&text);
}

static void end_row(listing *l)
{
    char event[32];
    row *r = &l->now;
    if (!r->event)
        return;
    snprintf(event, sizeof event, "%lld", (long long)r->event);
    tn_table_cell_text(&l->table, TN_STYLE_DIM, tn_text_of(event));
    tn_table_cell_text(&l->table, TN_STYLE_PLAIN, tn_text_of(r->kind));
    what_cell(l, r);
    if (r->bytes)
        tn_table_cell_size(&l->table, r->bytes);
    else
        tn_table_cell_text(&l->table, TN_STYLE_PLAIN, tn_text_of(""));
    age_cell(l, r->at_ns);
    tn_table_cell_text(&l->table, r->ended ? TN_STYLE_PLAIN : TN_STYLE_WARN, tn_text_of(state_of(r)));
}

static void begin_row(listing *l, const tn_act *act)
{
    row *r = &l->now;
    end_row(l);
    tn_buffer name = r->name;
    *r = (row){.event = act->event, .at_ns = act->at_ns, .ended = true, .failed = true, .undone = true, .name = name};
    snprintf(r->kind, sizeof r->kind, "%s", act->undoes ? "undo" : act->kind.bytes);
    tn_buffer_clear(&r->name);
    tn_buffer_append(&r->name, act->name.bytes, act->name.size);
}

static bool list_act(void *user, const tn_act *act)
{
    listing *l = user;
    row *r = &l->now;
    if (l->cli->settings.json) {
        tn_act_json_line(l->cli, act, false);
        return !tn_cli_stopped(l->cli);
    }
    if (act->event != r->event)
        begin_row(l, act);
    r->acts++;
    r->bytes += act->bytes;
    r->can_undo = r->can_undo || act->can_undo;
    r->undone = r->undone && (tn_cli_text_is(act->state, "undone") || tn_cli_text_is(act->state, "failed"));
    r->failed = r->failed && tn_cli_text_is(act->state, "failed");
    r->ended = r->ended && !tn_cli_text_is(act->state, "planned") && !tn_cli_text_is(act->state, "placed");
    return !tn_cli_stopped(l->cli);
}

static tn_status list(tn_cli *cli, tn_library *library, tn_error *err)
{
    static const tn_table_column columns[] = {{"event", true, 0}, {"what", false, 0}, {"model", false, 20},
                                              {"size", true, 0},  {"when", true, 0},  {"state", false, 0}};
    listing l = {.cli = cli};
    tn_buffer_init(&l.now.name, &cli->memory, (size_t)1 << 20);
    tn_table_begin(&l.table, &cli->out, columns, sizeof columns / sizeof *columns, cli->out.columns);
    tn_status status = tn_library_acts(library, list_act, &l, err);
    end_row(&l);
    tn_table_end(&l.table);
    tn_buffer_free(&l.now.name);
    return status;
}

/* ---- the verb ---- */

static tn_status event_of(const tn_settings *settings, int64_t *out, tn_error *err)
{
    const char *text = settings->argument_count ? settings->arguments[0] : "";
    int64_t event = 0;
    for (const char *at = text; *at; at++) {
        if (*at < '0' || *at > '9' || event > INT64_MAX / 10 - 1)
            return tn_fail(err, TN_INVALID, "EVENT is a number, not `%.64s`: see `tenure undo --list`", text);
        event = 10 * event + (*at - '0');
    }
    if (*text && event == 0)
        return tn_fail(err, TN_INVALID, "there is no event 0: see `tenure undo --list`");
    *out = event;
    return TN_OK;
}

static tn_status undo(tn_cli *cli, tn_library *library, int64_t event, tn_error *err)
{
    tn_acts_view view = {.cli = cli, .library = library};
    const tn_act_options options = tn_acts_view_options(&view);
    tn_status status = tn_library_undo(library, event, &options, err);
    tn_progress_clear(&cli->progress);
    return status;
}

void tn_verb_undo(tn_cli *cli)
{
    tn_error err;
    tn_library *library;
    int64_t event = 0;
    bool reads = cli->settings.listing || cli->settings.dry_run;
    tn_status status = event_of(&cli->settings, &event, &err);
    if (status == TN_OK && !tn_cli_open_library(cli, reads, &library))
        return;
    if (status == TN_OK) {
        status = cli->settings.listing ? list(cli, library, &err) : undo(cli, library, event, &err);
        tn_library_close(library);
    }
    if (status != TN_OK)
        tn_cli_fail(cli, &err);
}
