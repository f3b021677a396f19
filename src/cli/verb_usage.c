/* `tenure usage`: where the bytes are. */
#include <string.h>

#include "cli/cli.h"

#define DEPTH 2u /* folders below a root that people see unless they ask for more */

typedef struct telling {
    tn_cli *cli;
    tn_table table;
    bool folders, disk;
    uint64_t depth; /* UINT64_MAX: all */
    uint64_t lines;
} telling;

static void json_usage(const telling *t, const tn_usage *usage)
{
    tn_json_writer w;
    const char *by = t->cli->settings.by;
    tn_json_line(&w, &t->cli->out);
    if (t->folders) {
        tn_json_path(&w, usage->path.bytes, usage->path.size);
        tn_json_key(&w, "depth");
        tn_json_uint(&w, usage->depth);
    } else {
        tn_json_text_field(&w, by, usage->path);
    }
    tn_json_key(&w, "models");
    tn_json_uint(&w, usage->models);
    tn_json_key(&w, "bytes");
    tn_json_uint(&w, usage->bytes);
    if (t->disk)
        tn_json_amount(&w, "stored_bytes", usage->stored_bytes);
    tn_json_line_end(&w, &t->cli->out);
}

/* A root by its whole path, a folder in it by its name, set in by its depth. */
static void name_cell(telling *t, const tn_usage *usage)
{
    tn_buffer text;
    tn_text name = usage->depth ? tn_base_name(usage->path) : usage->path;
    if (!t->folders)
        name = usage->path.size ? usage->path : tn_text_of("-");
    tn_buffer_init(&text, &t->cli->memory, (size_t)1 << 20);
    tn_buffer_format(&text, "%*s", (int)(2 * usage->depth), "");
    tn_buffer_append(&text, name.bytes, name.size);
    tn_table_cell(&t->table, usage->depth || !t->folders ? TN_STYLE_PLAIN : TN_STYLE_STRONG, text.bytes, text.size);
    tn_buffer_free(&text);
}

static bool tell(void *user, const tn_usage *usage)
{
    telling *t = user;
    if (usage->depth > t->depth)
        return true;
    t->lines++;
    if (t->cli->settings.json) {
        json_usage(t, usage);
        return !tn_cli_stopped(t->cli);
    }
    tn_table_cell_count(&t->table, usage->models);
    tn_table_cell_size(&t->table, usage->bytes);
    if (t->disk)
        tn_table_cell_size(&t->table, usage->stored_bytes);
    name_cell(t, usage);
    return !tn_cli_stopped(t->cli);
}

static tn_status usage(tn_cli *cli, tn_library *library, tn_error *err)
{
    static const tn_table_column plain[] = {{"models", true, 0}, {"size", true, 0}, {"", false, 20}};
    static const tn_table_column disk[] = {{"models", true, 0}, {"size", true, 0}, {"on disk", true, 0}, {"", false, 20}};
    const tn_settings *s = &cli->settings;
    telling t = {.cli = cli, .folders = !s->by || strcmp(s->by, "folder") == 0, .disk = s->disk};
    tn_usage_options options = {.size = sizeof options, .by = t.folders ? NULL : s->by, .disk = s->disk};
    if (s->disk && !t.folders)
        return tn_fail(err, TN_INVALID, "--disk asks about folders: leave --by away");
    t.depth = s->depth ? s->depth : s->json ? UINT64_MAX : DEPTH;
    if (!s->json)
        tn_table_begin(&t.table, &cli->out, s->disk ? disk : plain, s->disk ? 4 : 3, cli->out.columns);
    tn_status status = tn_library_usage(library, &options, tell, &t, err);
    if (!s->json)
        tn_table_end(&t.table);
    if (status == TN_OK && !t.lines)
        tn_cli_note(cli, "the library is empty: `tenure import FOLDER` records the models of a folder");
    return status;
}

void tn_verb_usage(tn_cli *cli)
{
    tn_error err;
    tn_library *library;
    if (!tn_cli_open_library(cli, true, &library))
        return;
    if (usage(cli, library, &err) != TN_OK)
        tn_cli_fail(cli, &err);
    tn_library_close(library);
}
