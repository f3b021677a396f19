/* `tenure set`: what a model is, said by a person. */
#include <string.h>

#include "cli/changing.h"
#include "core/utf8.h"

/* ---- known words ---- */

typedef struct words {
    tn_buffer list; /* each with a NUL behind it */
    size_t at;
} words;

static bool keep(void *user, const char *word)
{
    words *w = user;
    tn_buffer_append(&w->list, word, strlen(word) + 1);
    return w->list.failed == TN_OK;
}

static const char *next(void *user)
{
    words *w = user;
    if (w->at >= w->list.size)
        return NULL;
    const char *word = w->list.bytes + w->at;
    w->at += strlen(word) + 1;
    return word;
}

/* Where a word is known by nobody: what was perhaps meant. */
static tn_status suggest(tn_cli *cli, tn_library *library, const char *kind, const char *word, tn_error *err)
{
    words w = {.at = 0};
    bool known = word == NULL || *word == '\0';
    if (known || cli->settings.new_word)
        return TN_OK;
    tn_buffer_init(&w.list, &cli->memory, (size_t)16 << 20);
    tn_status status = tn_library_known_words(library, kind, keep, &w, err);
    for (const char *each; status == TN_OK && !known && (each = next(&w)) != NULL;)
        known = strcmp(each, word) == 0;
    w.at = 0;
    const char *meant = known || status != TN_OK ? NULL : tn_nearest(word, strlen(word), next, &w);
    if (meant)
        status = tn_fail(err, TN_INVALID, "no rule and no model has the %s `%.64s`: did you mean %s? (--new-word takes it)",
                         kind, word, meant);
    else if (status == TN_OK && !known)
        status = tn_fail(err, TN_INVALID, "no rule and no model has the %s `%.64s`: --new-word takes it all the same", kind,
                         word);
    tn_buffer_free(&w.list);
    return status;
}

/* ---- the change ---- */

static tn_status make(tn_changing *c, const char *model, tn_error *err)
{
    return tn_library_set(c->library, model, c->user, err);
}

static void append_word(tn_buffer *out, tn_text word)
{
    tn_buffer_text(out, " ");
    if (word.size)
        tn_utf8_append_shown(out, word.bytes, word.size);
    else
        tn_buffer_text(out, "-");
}

static void say(tn_changing *c, const tn_record *record)
{
    tn_buffer *out = &c->cli->out.text;
    tn_utf8_append_shown(out, record->name.bytes, record->name.size);
    tn_buffer_text(out, ":");
    append_word(out, record->base);
    append_word(out, record->type);
    if (record->variant.size) {
        tn_buffer_text(out, " (");
        tn_utf8_append_shown(out, record->variant.bytes, record->variant.size);
        tn_buffer_text(out, ")");
    }
    tn_output_line(&c->cli->out);
}

static tn_status set(tn_cli *cli, tn_library *library, tn_error *err)
{
    const tn_settings *s = &cli->settings;
    tn_set_options options = {.size = sizeof options, .automatic = s->automatic, .type = s->type, .base = s->base,
                              .variant = s->variant, .new_words = s->new_word};
    if (!s->automatic && !s->type && !s->base && !s->variant)
        return tn_fail(err, TN_INVALID, "say what to set: --type, --base or --variant, or --auto to take it back");
    TN_TRY(suggest(cli, library, "base", s->base, err));
    TN_TRY(suggest(cli, library, "variant", s->variant, err));
    tn_paths models;
    TN_TRY(tn_paths_collect(&models, &cli->memory, s, stdin, err));
    tn_changing c = {.cli = cli, .library = library, .make = make, .say = say, .user = &options};
    tn_change_each(&c, models.items, models.count);
    tn_paths_free(&models);
    return TN_OK;
}

void tn_verb_set(tn_cli *cli)
{
    tn_error err;
    tn_library *library;
    if (!tn_cli_open_library(cli, false, &library))
        return;
    if (set(cli, library, &err) != TN_OK)
        tn_cli_fail(cli, &err);
    tn_library_close(library);
}
