/* `tenure roots`: the folders that are scanned. */
#include <string.h>

#include "cli/cli.h"
#include "os/os.h"

/* ---- the list ---- */

typedef struct listing {
    tn_cli *cli;
    tn_table table;
    uint64_t count;
} listing;

static void scanned_cell(tn_cli *cli, tn_table *table, int64_t scanned_ns)
{
    tn_buffer text;
    tn_buffer_init(&text, &cli->memory, 256);
    if (scanned_ns) {
        int64_t ago = tn_os_wall_ns() - scanned_ns;
        tn_duration_append(&text, ago > 0 ? (uint64_t)ago : 0);
        tn_buffer_text(&text, " ago");
    } else
        tn_buffer_text(&text, "never");
    tn_table_cell(table, TN_STYLE_PLAIN, text.bytes ? text.bytes : "", text.size);
    tn_buffer_free(&text);
}

static void json_root(tn_cli *cli, const tn_root *root)
{
    tn_json_writer w;
    tn_json_line(&w, &cli->out);
    tn_json_path(&w, root->path.bytes, root->path.size);
    tn_json_key(&w, "state");
    tn_json_cstring(&w, root->away ? "away" : "present");
    tn_json_amount(&w, "models", root->models);
    tn_json_amount(&w, "size_bytes", root->bytes);
    tn_json_key(&w, "scanned");
    if (root->scanned_ns)
        tn_json_number(&w, (double)root->scanned_ns / 1e9);
    else
        tn_json_null(&w);
    tn_json_line_end(&w, &cli->out);
}

static bool tell_root(void *user, const tn_root *root)
{
    listing *l = user;
    l->count++;
    if (l->cli->settings.json) {
        json_root(l->cli, root);
        return !tn_cli_stopped(l->cli);
    }
    tn_table_cell_count(&l->table, root->models);
    tn_table_cell_size(&l->table, root->bytes);
    tn_table_cell_text(&l->table, root->away ? TN_STYLE_WARN : TN_STYLE_GOOD, tn_text_of(root->away ? "away" : "present"));
    scanned_cell(l->cli, &l->table, root->scanned_ns);
    tn_table_cell_text(&l->table, TN_STYLE_PLAIN, root->path);
    return !tn_cli_stopped(l->cli);
}

static tn_status list(tn_cli *cli, tn_library *library, tn_error *err)
{
    static const tn_table_column columns[] = {
        {"models", true, 0}, {"size", true, 0}, {"state", false, 0}, {"scanned", false, 0}, {"root", false, 20}};
    listing l = {.cli = cli};
    if (!cli->settings.json)
        tn_table_begin(&l.table, &cli->out, columns, sizeof columns / sizeof *columns, cli->out.columns);
    tn_status status = tn_library_roots(library, tell_root, &l, err);
    if (!cli->settings.json)
        tn_table_end(&l.table);
    if (status == TN_OK && l.count == 0)
        tn_cli_note(cli, "no folder is kept yet: `tenure import FOLDER` begins, `tenure roots add FOLDER` keeps one");
    return status;
}

/* ---- the words ---- */

/* What was done, in one line. */
static void say(tn_cli *cli, const char *word, const char *path, const char *hint)
{
    if (cli->settings.json) {
        tn_json_writer w;
        tn_json_line(&w, &cli->out);
        tn_json_key(&w, "root");
        tn_json_cstring(&w, word);
        tn_json_path(&w, path, strlen(path));
        tn_json_line_end(&w, &cli->out);
    } else if (!cli->settings.quiet) {
        tn_buffer_format(&cli->out.text, "%s; %s", word, hint);
        tn_output_line(&cli->out);
    }
}

static void say_relocated(tn_cli *cli, const tn_relocation *r, const char *to)
{
    if (cli->settings.json) {
        tn_json_writer w;
        tn_json_line(&w, &cli->out);
        tn_json_key(&w, "root");
        tn_json_cstring(&w, "relocated");
        tn_json_path(&w, to, strlen(to));
        tn_json_amount(&w, "paths", r->paths);
        tn_json_amount(&w, "taken", r->taken);
        tn_json_amount(&w, "asked", r->asked);
        tn_json_line_end(&w, &cli->out);
    } else if (!cli->settings.quiet) {
        tn_plural_append(&cli->out.text, r->paths, "path lies", "paths lie");
        tn_buffer_text(&cli->out.text, " in the new place now");
        tn_output_line(&cli->out);
    }
}

static void relocate(tn_cli *cli, tn_library *library, const char *from, const char *to)
{
    tn_error err;
    tn_relocation relocation = {0};
    tn_import_view view = {.cli = cli, .library = library};
    tn_import_summary *summary = NULL;
    tn_import_options options = tn_import_view_options(&view);
    uint64_t started_ns = tn_os_monotonic_ns();
    tn_status status = tn_library_relocate(library, from, to, &options, &relocation, &summary, &err);
    if (status == TN_OK) {
        tn_progress_clear(&cli->progress);
        say_relocated(cli, &relocation, to);
        if (summary->asks)
            tn_cli_raise(cli, 1);
    }
    tn_import_view_end(&view, status, summary, NULL, tn_os_monotonic_ns() - started_ns, &err);
    tn_import_summary_destroy(summary);
}

static tn_status check(const tn_settings *settings, tn_error *err)
{
    const char *word = settings->argument_count ? settings->arguments[0] : NULL;
    if (!word)
        return TN_OK;
    bool two = strcmp(word, "relocate") == 0;
    if (!two && strcmp(word, "add") != 0 && strcmp(word, "remove") != 0)
        return tn_fail(err, TN_INVALID, "roots takes add DIR, remove DIR or relocate OLD NEW, not `%.64s`", word);
    if (settings->argument_count == (two ? 3 : 2))
        return TN_OK;
    return tn_fail(err, TN_INVALID, "roots %s takes %s", word, two ? "two folders: OLD NEW" : "one folder");
}

static tn_status act(tn_cli *cli, tn_library *library, tn_error *err)
{
    char **arguments = cli->settings.arguments;
    const char *word = cli->settings.argument_count ? arguments[0] : NULL;
    if (!word)
        return list(cli, library, err);
    if (strcmp(word, "relocate") == 0) {
        relocate(cli, library, arguments[1], arguments[2]);
        return TN_OK;
    }
    bool add = strcmp(word, "add") == 0;
    TN_TRY(add ? tn_library_root_add(library, arguments[1], err) : tn_library_root_remove(library, arguments[1], err));
    say(cli, add ? "added" : "removed", arguments[1],
        add ? "`tenure scan` looks at it" : "it is not scanned any more, and its models stay in the library");
    return TN_OK;
}

/* Adding the first root makes the library; everything else needs one. */
static bool open_for(tn_cli *cli, const char *word, tn_library **out)
{
    tn_error err;
    if (!word || strcmp(word, "add") != 0)
        return tn_cli_open_library(cli, word == NULL, out);
    tn_status status = tn_cli_library(cli, false, out, &err);
    if (status != TN_OK)
        tn_cli_fail(cli, &err);
    return status == TN_OK;
}

void tn_verb_roots(tn_cli *cli)
{
    tn_error err;
    tn_library *library;
    tn_status status = check(&cli->settings, &err);
    if (status == TN_OK) {
        if (!open_for(cli, cli->settings.argument_count ? cli->settings.arguments[0] : NULL, &library))
            return;
        status = act(cli, library, &err);
        tn_library_close(library);
    }
    if (status != TN_OK)
        tn_cli_fail(cli, &err);
}
