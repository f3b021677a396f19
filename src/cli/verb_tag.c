/* `tenure tag`: tags put on and taken off, and the list of all. */
#include <string.h>

#include "cli/changing.h"
#include "core/utf8.h"

/* ---- the list ---- */

typedef struct listing {
    tn_cli *cli;
    tn_table table;
    uint64_t count;
} listing;

static void json_tag(tn_cli *cli, const tn_tag *tag)
{
    tn_json_writer w;
    tn_json_line(&w, &cli->out);
    tn_json_key(&w, "tag");
    tn_json_string(&w, tag->tag.bytes, tag->tag.size);
    tn_json_key(&w, "models");
    tn_json_uint(&w, tag->models);
    tn_json_line_end(&w, &cli->out);
}

static bool tell_tag(void *user, const tn_tag *tag)
{
    listing *l = user;
    char models[32];
    l->count++;
    if (l->cli->settings.json) {
        json_tag(l->cli, tag);
        return !tn_cli_stopped(l->cli);
    }
    snprintf(models, sizeof models, "%llu", (unsigned long long)tag->models);
    tn_table_cell_text(&l->table, TN_STYLE_PLAIN, tn_text_of(models));
    tn_table_cell_text(&l->table, TN_STYLE_PLAIN, tag->tag);
    return !tn_cli_stopped(l->cli);
}

static tn_status list_tags(tn_cli *cli, tn_library *library, tn_error *err)
{
    static const tn_table_column columns[] = {{"models", true, 0}, {"tag", false, 0}};
    listing l = {.cli = cli};
    if (!cli->settings.json)
        tn_table_begin(&l.table, &cli->out, columns, sizeof columns / sizeof *columns, cli->out.columns);
    tn_status status = tn_library_tags(library, tell_tag, &l, err);
    if (!cli->settings.json)
        tn_table_end(&l.table);
    if (status == TN_OK && !l.count)
        tn_cli_note(cli, "no model has a tag yet: `tenure tag MODEL +TAG` puts one on it");
    return status;
}

/* ---- the change ---- */

/* The command line taken apart: tags move behind the models, which stay in their order. */
typedef struct arguments {
    tn_settings models;
    const char **tags; /* without their "+" */
    size_t tag_count;
} arguments;

static tn_status take_apart(tn_cli *cli, arguments *out, tn_error *err)
{
    const tn_settings *given = &cli->settings;
    void *tags = NULL;
    *out = (arguments){.models = *given};
    TN_TRY(tn_take_array(&cli->memory, given->argument_count, sizeof *out->tags, &tags, err));
    out->tags = tags;
    out->models.argument_count = 0;
    for (size_t i = 0; i < given->argument_count; i++) {
        if (i == given->literal_from)
            out->models.literal_from = out->models.argument_count;
        if (i < given->literal_from && given->arguments[i][0] == '+')
            out->tags[out->tag_count++] = given->arguments[i] + 1;
        else
            out->models.arguments[out->models.argument_count++] = given->arguments[i];
    }
    return TN_OK;
}

static tn_status make(tn_changing *c, const char *model, tn_error *err)
{
    return tn_library_tag(c->library, model, c->user, err);
}

static void say(tn_changing *c, const tn_record *record)
{
    const tn_tag_change *change = c->user;
    tn_buffer *out = &c->cli->out.text;
    tn_utf8_append_shown(out, record->name.bytes, record->name.size);
    tn_buffer_text(out, ":");
    for (size_t i = 0; i < change->add_count + change->remove_count; i++) {
        bool add = i < change->add_count;
        const char *tag = add ? change->add[i] : change->remove[i - change->add_count];
        tn_buffer_text(out, add ? " +" : " -");
        tn_utf8_append_shown(out, tag, strlen(tag));
    }
    tn_output_line(&c->cli->out);
}

static tn_status check(const arguments *given, size_t models, size_t removed, tn_error *err)
{
    if (models == 0)
        return tn_fail(err, TN_INVALID, "name the models: tenure tag MODEL... +TAG...");
    if (given->tag_count + removed == 0)
        return tn_fail(err, TN_INVALID, "name the tags: tenure tag MODEL... +TAG... (--remove TAG takes one off)");
    return TN_OK;
}

static tn_status change_tags(tn_cli *cli, tn_library *library, const arguments *given, tn_error *err)
{
    tn_paths models;
    TN_TRY(tn_paths_collect(&models, &cli->memory, &given->models, stdin, err));
    tn_tag_change change = {.size = sizeof change, .add = given->tags, .add_count = given->tag_count,
                            .remove = cli->settings.remove, .remove_count = cli->settings.remove_count};
    tn_changing c = {.cli = cli, .library = library, .make = make, .say = say, .user = &change};
    tn_status status = check(given, given->models.argument_count, change.remove_count, err);
    if (status == TN_OK)
        tn_change_each(&c, models.items, models.count);
    tn_paths_free(&models);
    return status;
}

static tn_status tag(tn_cli *cli, tn_library *library, tn_error *err)
{
    arguments given;
    size_t count = cli->settings.argument_count;
    if (count == 0 && cli->settings.remove_count == 0)
        return list_tags(cli, library, err);
    tn_status status = take_apart(cli, &given, err);
    if (status == TN_OK)
        status = change_tags(cli, library, &given, err);
    tn_give(&cli->memory, (void *)given.tags, count * sizeof *given.tags);
    return status;
}

void tn_verb_tag(tn_cli *cli)
{
    tn_error err;
    tn_library *library;
    bool lists = cli->settings.argument_count == 0 && cli->settings.remove_count == 0;
    if (!tn_cli_open_library(cli, lists, &library))
        return;
    if (tag(cli, library, &err) != TN_OK)
        tn_cli_fail(cli, &err);
    tn_library_close(library);
}
