/* What a person says a model is. The row's own columns follow by a trigger (sql/0002_keeping.sql), so that an import that
 * comes later keeps it. */
#include <stdio.h>
#include <string.h>

#include "identify/rules.h"
#include "library/change.h"
#include "library/words.h"

#define WORD_POINTS_MAX 64u

/* interface.md 3. */
static const char *const types[] = {"main", "lora", "control_lora", "controlnet", "t2i_adapter", "ip_adapter", "vae",
                                    "text_encoder", "vision_encoder", "embedding", "restorer", "latent_upscaler",
                                    "flux_redux", "llm", "other"};

/* ---- known words ---- */

typedef struct asked {
    const char *word;
    bool known;
} asked;

static bool is_asked(void *user, const char *word)
{
    asked *a = user;
    a->known = strcmp(a->word, word) == 0;
    return !a->known;
}

static bool each_type(bool (*each)(void *user, const char *word), void *user)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (!each(user, types[i]))
            return false;
    return true;
}

static bool each_text(tn_text text, bool (*each)(void *user, const char *word), void *user)
{
    char word[4 * WORD_POINTS_MAX + 1];
    if (text.size == 0 || text.size >= sizeof word)
        return true;
    memcpy(word, text.bytes, text.size);
    word[text.size] = '\0';
    return each(user, word);
}

static bool each_of_rules(bool base, bool (*each)(void *user, const char *word), void *user)
{
    const tn_rules *rules = &tn_rules_built_in;
    for (uint32_t i = 0; i < rules->row_count; i++) {
        const tn_row_rule *row = &rules->rows[i];
        if (!each_text(base ? row->base : row->variant, each, user))
            return false;
        for (uint32_t j = 0; !base && j < row->variants.count; j++)
            if (!each_text(rules->texts[row->variants.first + j], each, user))
                return false;
    }
    return true;
}

static tn_status each_of_library(tn_library *library, bool base, bool (*each)(void *user, const char *word), void *user,
                                 tn_error *err)
{
    tn_sql s = tn_sql_start(&library->db, base ? TN_QUERY_KNOWN_BASES : TN_QUERY_KNOWN_VARIANTS);
    for (;;) {
        bool more = false;
        TN_TRY(tn_sql_row(&s, &more, err));
        if (!more)
            return TN_OK;
        if (!each_text(tn_sql_get(&s, 0), each, user)) {
            tn_sql_end(&s);
            return TN_OK;
        }
    }
}

static tn_status each_known(tn_library *library, const char *kind, bool (*each)(void *user, const char *word),
                            void *user, tn_error *err)
{
    bool base = strcmp(kind, "base") == 0;
    if (strcmp(kind, "type") == 0) {
        each_type(each, user);
        return TN_OK;
    }
    if (!base && strcmp(kind, "variant") != 0)
        return tn_fail(err, TN_INVALID, "words are known for \"type\", \"base\" and \"variant\", not \"%.64s\"", kind);
    if (!each_of_rules(base, each, user))
        return TN_OK;
    return each_of_library(library, base, each, user, err);
}

/* A callback that must come without a lock: the words are copied first, each with a NUL behind it. */
static bool keep_word(void *user, const char *word)
{
    tn_buffer *kept = user;
    tn_buffer_append(kept, word, strlen(word) + 1);
    return kept->failed == TN_OK;
}

tn_status tn_library_known_words(tn_library *library, const char *kind, bool (*each)(void *user, const char *word),
                                 void *user, tn_error *err)
{
    tn_buffer kept;
    TN_TRY(tn_context_check(library->context, err));
    tn_buffer_init(&kept, library->memory, (size_t)64 << 20);
    tn_library_lock(library);
    tn_status status = each_known(library, kind, keep_word, &kept, err);
    tn_library_unlock(library);
    if (status == TN_OK)
        status = tn_buffer_status(&kept, err);
    for (size_t at = 0; status == TN_OK && at < kept.size; at += strlen(kept.bytes + at) + 1)
        if (!each(user, kept.bytes + at))
            break;
    tn_buffer_free(&kept);
    return status;
}

/* ---- setting ---- */

static tn_status refuse_type(const char *word, tn_error *err)
{
    char list[256] = "";
    size_t size = 0;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        size += (size_t)snprintf(list + size, sizeof list - size, "%s%s", i ? ", " : "", types[i]);
    return tn_fail(err, TN_INVALID, "there is no type \"%.64s\"; types are %s", word, list);
}

static tn_status check(tn_change *c, const char *kind, const char *word, bool new_words, tn_error *err)
{
    asked a = {.word = word};
    if (word == NULL || (*word == '\0' && strcmp(kind, "variant") == 0))
        return TN_OK;
    TN_TRY(tn_words_check(word, kind, WORD_POINTS_MAX, err));
    TN_TRY(each_known(c->library, kind, is_asked, &a, err));
    if (a.known || (new_words && strcmp(kind, "type") != 0))
        return TN_OK;
    if (strcmp(kind, "type") == 0)
        return refuse_type(word, err);
    return tn_fail(err, TN_INVALID, "no rule and no model of the library has the %s \"%.64s\"", kind, word);
}

static void bind(tn_sql *s, const char *word)
{
    if (word != NULL)
        tn_sql_text(s, word, strlen(word));
    else
        tn_sql_null(s);
}

static tn_status give_back(tn_change *c, tn_error *err)
{
    tn_sql s = tn_sql_start(c->db, TN_QUERY_MODEL_SET_AUTO);
    tn_sql_int(&s, c->model);
    tn_sql_int(&s, c->now_ns);
    return tn_change_run(c, &s, "set", TN_TEXT("auto"), err);
}

static tn_status run_set(tn_change *c, const tn_set_options *wanted, tn_error *err)
{
    tn_buffer said;
    tn_buffer_init(&said, c->library->memory, 32 * WORD_POINTS_MAX);
    const char *const words[] = {wanted->type, wanted->base, wanted->variant};
    static const char *const kinds[] = {"type", "base", "variant"};
    for (int i = 0; i < 3; i++)
        if (words[i] != NULL)
            tn_buffer_format(&said, "%s%s %s", said.size > 0 ? ", " : "", kinds[i], *words[i] ? words[i] : "none");
    tn_status status = tn_buffer_status(&said, err);
    if (status == TN_OK) {
        tn_sql s = tn_sql_start(c->db, TN_QUERY_MODEL_SET);
        tn_sql_int(&s, c->model);
        for (int i = 0; i < 3; i++)
            bind(&s, words[i]);
        tn_sql_int(&s, c->now_ns);
        status = tn_change_run(c, &s, "set", (tn_text){said.bytes, said.size}, err);
    }
    tn_buffer_free(&said);
    return status;
}

static tn_status set(tn_change *c, const void *options, tn_error *err)
{
    const tn_set_options *wanted = options;
    TN_TRY(check(c, "type", wanted->type, wanted->new_words, err));
    TN_TRY(check(c, "base", wanted->base, wanted->new_words, err));
    TN_TRY(check(c, "variant", wanted->variant, wanted->new_words, err));
    if (wanted->automatic)
        TN_TRY(give_back(c, err));
    if (wanted->type == NULL && wanted->base == NULL && wanted->variant == NULL)
        return TN_OK;
    return run_set(c, wanted, err);
}

tn_status tn_library_set(tn_library *library, const char *model, const tn_set_options *options, tn_error *err)
{
    if (options == NULL || options->size != sizeof *options)
        return tn_fail(err, TN_INVALID, "tn_set_options of another size");
    if (!options->automatic && options->type == NULL && options->base == NULL && options->variant == NULL)
        return tn_fail(err, TN_INVALID, "say what to set");
    return tn_change_model(library, model, set, options, err);
}
