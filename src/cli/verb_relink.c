/* `tenure relink`: missing records, what may be their files, and the choice. */
#include <string.h>

#include "cli/cli.h"
#include "core/utf8.h"

/* What becomes of the proposals, which are all read before the first is acted on. */
typedef struct relinking {
    tn_cli *cli;
    tn_library *library;
    tn_buffer pairs;     /* int64_t record, int64_t candidate; candidate 0: open */
    uint64_t proposals, linked;
    bool stopped;        /* the person has had enough, or stdin has ended */
} relinking;

/* ---- one proposal ---- */

static const char *reason(tn_text why)
{
    return tn_cli_text_is(why, "same_bytes") ? "same size and sample" : "other bytes under the same path";
}

static void print_proposal(tn_cli *cli, const tn_relink_proposal *p)
{
    tn_buffer *out = &cli->out.text;
    tn_output_style(&cli->out, TN_STYLE_STRONG);
    tn_buffer_format(out, "%lld  ", (long long)p->id);
    tn_utf8_append_shown(out, p->name.bytes, p->name.size);
    tn_output_style(&cli->out, TN_STYLE_PLAIN);
    tn_buffer_format(out, "  %s, was at ", p->presence.bytes);
    tn_utf8_append_shown(out, p->path.bytes, p->path.size);
    tn_output_line(&cli->out);
    for (size_t i = 0; i < p->count; i++) {
        const tn_relink_candidate *c = &p->candidates[i];
        tn_buffer_format(out, "  %zu: %lld  ", i + 1, (long long)c->id);
        tn_utf8_append_shown(out, c->path.bytes, c->path.size);
        tn_buffer_format(out, "  (%s)", reason(c->why));
        tn_output_line(&cli->out);
    }
}

static void json_candidates(tn_json_writer *w, const tn_relink_proposal *p)
{
    tn_json_key(w, "candidates");
    tn_json_array(w);
    for (size_t i = 0; i < p->count; i++) {
        tn_json_object(w);
        tn_json_key(w, "id");
        tn_json_int(w, p->candidates[i].id);
        tn_json_text_field(w, "name", p->candidates[i].name);
        tn_json_path(w, p->candidates[i].path.bytes, p->candidates[i].path.size);
        tn_json_text_field(w, "why", p->candidates[i].why);
        tn_json_object_end(w);
    }
    tn_json_array_end(w);
}

/* `linked` 0: to none. */
static void json_proposal(tn_cli *cli, const tn_relink_proposal *p, int64_t linked)
{
    tn_json_writer w;
    tn_json_line(&w, &cli->out);
    tn_json_key(&w, "id");
    tn_json_int(&w, p->id);
    tn_json_text_field(&w, "name", p->name);
    tn_json_path(&w, p->path.bytes, p->path.size);
    tn_json_text_field(&w, "presence", p->presence);
    json_candidates(&w, p);
    tn_json_key(&w, "chosen");
    if (linked)
        tn_json_int(&w, linked);
    else
        tn_json_null(&w);
    tn_json_line_end(&w, &cli->out);
}

/* ---- the choice ---- */

/* A number from 1 to `count`; 0: skip; -1: quit. Asks again until it is one of these. */
static int ask(tn_cli *cli, size_t count)
{
    char line[64];
    for (;;) {
        tn_output_flush(&cli->out);
        fprintf(stderr, count == 1 ? "take it? [1, s to skip, q to quit] " : "which? [1-%zu, s to skip, q to quit] ", count);
        fflush(stderr);
        if (!fgets(line, sizeof line, stdin))
            return -1;
        line[strcspn(line, "\r\n")] = '\0';
        if (strcmp(line, "s") == 0 || strcmp(line, "q") == 0)
            return line[0] == 's' ? 0 : -1;
        size_t number = 0;
        for (const char *at = line; *at >= '0' && *at <= '9' && number < 1000; at++)
            number = 10 * number + (size_t)(*at - '0');
        if (number >= 1 && number <= count && strspn(line, "0123456789") == strlen(line))
            return (int)number;
    }
}

static int64_t choose(relinking *r, const tn_relink_proposal *p)
{
    const tn_settings *settings = &r->cli->settings;
    if (settings->yes)
        return p->count == 1 ? p->candidates[0].id : 0;
    if (!settings->interactive || r->stopped)
        return 0;
    int answer = ask(r->cli, p->count);
    r->stopped = answer < 0;
    return answer > 0 ? p->candidates[answer - 1].id : 0;
}

/* One candidate is taken once: the next record that wanted it stays open. */
static bool is_taken(const relinking *r, int64_t candidate)
{
    for (size_t at = 0; at < r->pairs.size; at += 2 * sizeof candidate)
        if (memcmp(r->pairs.bytes + at + sizeof candidate, &candidate, sizeof candidate) == 0)
            return true;
    return false;
}

static bool see(void *user, const tn_relink_proposal *p)
{
    relinking *r = user;
    r->proposals++;
    if (!r->cli->settings.json && (r->cli->settings.interactive || !r->cli->settings.yes))
        print_proposal(r->cli, p);
    int64_t candidate = choose(r, p);
    if (candidate && is_taken(r, candidate))
        candidate = 0;
    if (r->cli->settings.json)
        json_proposal(r->cli, p, candidate);
    if (candidate) {
        int64_t pair[2] = {p->id, candidate};
        tn_buffer_append(&r->pairs, pair, sizeof pair);
    }
    return !r->stopped && !tn_cli_stopped(r->cli);
}

static tn_status link_all(relinking *r, tn_error *err)
{
    TN_TRY(tn_buffer_status(&r->pairs, err));
    for (size_t at = 0; at < r->pairs.size; at += 2 * sizeof(int64_t)) {
        int64_t pair[2];
        memcpy(pair, r->pairs.bytes + at, sizeof pair);
        TN_TRY(tn_library_relink(r->library, pair[0], pair[1], err));
        r->linked++;
    }
    return TN_OK;
}

/* ---- the verb ---- */

static void say_end(const relinking *r)
{
    tn_cli *cli = r->cli;
    uint64_t open = r->proposals - r->linked;
    if (open)
        tn_cli_raise(cli, 1);
    if (cli->settings.json || cli->settings.quiet)
        return;
    if (!r->proposals) {
        tn_cli_note(cli, "nothing has to be asked");
        return;
    }
    if (r->linked) {
        tn_plural_append(&cli->out.text, r->linked, "model has", "models have");
        tn_buffer_text(&cli->out.text, r->linked == 1 ? " its file again" : " their files again");
        tn_output_line(&cli->out);
    }
    if (open && (cli->settings.yes || cli->settings.interactive)) {
        tn_count_append(&cli->out.text, open);
        tn_buffer_text(&cli->out.text, " left open: tenure relink --interactive");
        tn_output_line(&cli->out);
    } else if (open)
        tn_cli_note(cli, "take those with one candidate: tenure relink --yes; choose: tenure relink --interactive");
}

static tn_status check(const tn_settings *settings, tn_error *err)
{
    if (settings->yes && settings->interactive)
        return tn_fail(err, TN_INVALID, "--yes and --interactive exclude each other");
    return TN_OK;
}

void tn_verb_relink(tn_cli *cli)
{
    tn_error err;
    relinking r = {.cli = cli};
    bool reads = !cli->settings.yes && !cli->settings.interactive;
    tn_status status = check(&cli->settings, &err);
    if (status == TN_OK && !tn_cli_open_library(cli, reads, &r.library))
        return;
    if (status == TN_OK) {
        tn_buffer_init(&r.pairs, &cli->memory, (size_t)256 << 20);
        status = tn_library_relink_proposals(r.library, see, &r, &err);
        if (status == TN_OK)
            status = link_all(&r, &err);
        if (status == TN_OK)
            say_end(&r);
        tn_buffer_free(&r.pairs);
        tn_library_close(r.library);
    }
    if (status != TN_OK)
        tn_cli_fail(cli, &err);
}
