/* The command line, read by the table of options.
 *
 *   A1  Options may stand anywhere before "--"; what is no option is an argument, the first of them the verb.
 *   A2  Arguments keep their order and are moved to the front of argv; nothing is copied or allocated.
 *   A3  A refusal says what was wrong and, where one can be guessed, what was meant.
 * Options are not abbreviated: a script that says --lim would break when a second such option comes.
 */
#include <stddef.h>
#include <string.h>

#include "cli/options.h"
#include "core/encode.h"
#include "core/error.h"

#define WORD_MAX 32u /* longest word that is compared when guessing what was meant */

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Levenshtein's distance, with the swap of two neighbours as one edit. Both words have at most WORD_MAX letters. */
static unsigned edits(const char *a, size_t a_size, const char *b, size_t b_size)
{
    unsigned row[WORD_MAX + 1][WORD_MAX + 1];
    for (size_t i = 0; i <= a_size; i++)
        row[i][0] = (unsigned)i;
    for (size_t j = 0; j <= b_size; j++)
        row[0][j] = (unsigned)j;
    for (size_t i = 1; i <= a_size; i++)
        for (size_t j = 1; j <= b_size; j++) {
            unsigned here = row[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            here = least(here, least(row[i - 1][j], row[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                here = least(here, row[i - 2][j - 2] + 1);
            row[i][j] = here;
        }
    return row[a_size][b_size];
}

const char *tn_nearest(const char *word, size_t size, const char *(*next)(void *user), void *user)
{
    if (size == 0 || size > WORD_MAX)
        return NULL;
    const char *best = NULL;
    unsigned best_edits = size < 5 ? 2 : 3;
    for (const char *each; (each = next(user)) != NULL;) {
        size_t each_size = strlen(each);
        if (each_size > WORD_MAX)
            continue;
        unsigned distance = edits(word, size, each, each_size);
        if (size >= 3 && each_size > size && memcmp(each, word, size) == 0)
            distance = least(distance, 1);
        if (distance < best_edits) {
            best = each;
            best_edits = distance;
        }
    }
    return best;
}

static const char *next_verb(void *user)
{
    const tn_verb **at = user;
    while ((*at)->name && (*at)->hidden)
        ++*at;
    return (*at)->name ? (*at)++->name : NULL;
}

static const char *next_option(void *user)
{
    const tn_option **at = user;
    return (*at)->name ? (*at)++->name : NULL;
}

static const tn_option *option_named(const char *name, size_t size)
{
    for (const tn_option *option = tn_option_table; option->name; option++)
        if (strlen(option->name) == size && memcmp(option->name, name, size) == 0)
            return option;
    return NULL;
}

static const tn_option *option_lettered(char letter)
{
    for (const tn_option *option = tn_option_table; option->name; option++)
        if (option->letter && option->letter == letter)
            return option;
    return NULL;
}

static tn_status refuse_option(const char *name, size_t size, tn_error *err)
{
    const tn_option *at = tn_option_table;
    const char *meant = tn_nearest(name, size, next_option, &at);
    if (meant)
        return tn_fail(err, TN_INVALID, "there is no option --%.*s: did you mean --%s?", (int)least((unsigned)size, 64),
                       name, meant);
    return tn_fail(err, TN_INVALID, "there is no option --%.*s: `tenure help` lists them",
                   (int)least((unsigned)size, 64), name);
}

static bool looks_like_path(const char *word)
{
    return strpbrk(word, "./\\") != NULL;
}

static tn_status refuse_verb(const char *word, tn_error *err)
{
    const tn_verb *at = tn_verb_table;
    const char *meant = tn_nearest(word, strlen(word), next_verb, &at);
    if (meant)
        return tn_fail(err, TN_INVALID, "there is no verb `%.64s`: did you mean `tenure %s`?", word, meant);
    if (looks_like_path(word))
        return tn_fail(err, TN_INVALID, "a verb comes first: did you mean `tenure probe %.200s`?", word);
    return tn_fail(err, TN_INVALID, "there is no verb `%.64s`: `tenure help` lists them", word);
}

/* A plain decimal number from 1 to `max`. */
static bool number_parse(const char *text, uint64_t max, uint64_t *out)
{
    uint64_t value = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++)
        if (tn_mul_overflows(value, 10, &value) || tn_add_overflows(value, (uint64_t)(*at - '0'), &value))
            return false;
    if (at == text || *at || value == 0 || value > max)
        return false;
    *out = value;
    return true;
}

static tn_status set_hash(tn_settings *settings, const tn_option *option, const char *value, tn_error *err)
{
    if (!tn_cli_words_have(option->words, value, strlen(value)))
        return tn_fail(err, TN_INVALID, "--hash takes none, blake3, sha256 or all, not `%.64s`", value);
    settings->hash = value;
    return TN_OK;
}

/* Words with commas between them, at least one. */
static tn_status set_algo(tn_settings *settings, const tn_option *option, const char *value, tn_error *err)
{
    for (const char *at = value;; at++) {
        size_t size = strcspn(at, ",");
        if (!tn_cli_words_have(option->words, at, size))
            return tn_fail(err, TN_INVALID, "--algo takes %s, with commas between them, not `%.*s`", option->words,
                           (int)(size < 64 ? size : 64), at);
        at += size;
        if (*at == '\0')
            break;
    }
    settings->algo = value;
    return TN_OK;
}

static tn_status set_memory(tn_settings *settings, const char *value, tn_error *err)
{
    uint64_t bytes;
    if (!tn_size_parse(value, &bytes) || bytes == 0)
        return tn_fail(err, TN_INVALID, "--memory takes a size such as 512M or 2G, not `%.64s`", value);
    settings->memory_bytes = bytes;
    return TN_OK;
}

static tn_status set_number(tn_settings *settings, const tn_option *option, const char *value, tn_error *err)
{
    uint64_t max = option->id == TN_OPTION_JOBS ? TN_CLI_JOBS_MAX : INT64_MAX, number;
    if (!number_parse(value, max, &number))
        return tn_fail(err, TN_INVALID, "--%s takes a number from 1 to %llu, not `%.64s`", option->name,
                       (unsigned long long)max, value);
    if (option->id == TN_OPTION_JOBS)
        settings->jobs = (unsigned)number;
    else if (option->id == TN_OPTION_DEPTH)
        settings->depth = number;
    else
        settings->limit = number;
    return TN_OK;
}

/* One of the words that the table names. */
static tn_status set_word(const tn_option *option, const char *value, const char **out, tn_error *err)
{
    if (!tn_cli_words_have(option->words, value, strlen(value)))
        return tn_fail(err, TN_INVALID, "--%s takes %s, not `%.64s`", option->name, option->words, value);
    *out = value;
    return TN_OK;
}

static tn_status add_remove(tn_settings *settings, const char *value, tn_error *err)
{
    if (settings->remove_count == TN_CLI_REMOVE_MAX)
        return tn_fail(err, TN_INVALID, "--remove may be given %u times at most", TN_CLI_REMOVE_MAX);
    settings->remove[settings->remove_count++] = value;
    return TN_OK;
}

/* Where the switches and the texts that are taken as they come have their place; 0 is none's, as the verb stands there. */
#define PLACE(field) offsetof(tn_settings, field)
static const size_t switches[] = {
    [TN_OPTION_JSON] = PLACE(json),
    [TN_OPTION_QUIET] = PLACE(quiet),
    [TN_OPTION_NO_COLOR] = PLACE(no_color),
    [TN_OPTION_PROGRESS] = PLACE(progress),
    [TN_OPTION_HELP] = PLACE(help),
    [TN_OPTION_VERSION] = PLACE(version),
    [TN_OPTION_DRY_RUN] = PLACE(dry_run),
    [TN_OPTION_INTERACTIVE] = PLACE(interactive),
    [TN_OPTION_WHY] = PLACE(why),
    [TN_OPTION_WATCH] = PLACE(watch),
    [TN_OPTION_TO_TRASH] = PLACE(to_trash),
    [TN_OPTION_DELETE] = PLACE(delete_files),
    [TN_OPTION_FOLLOW] = PLACE(follow),
    [TN_OPTION_LIST] = PLACE(listing),
    [TN_OPTION_YES] = PLACE(yes),
    [TN_OPTION_LENIENT] = PLACE(lenient),
    [TN_OPTION_ALL] = PLACE(all),
    [TN_OPTION_QUICK] = PLACE(quick),
    [TN_OPTION_MISSING] = PLACE(missing),
    [TN_OPTION_AUTO] = PLACE(automatic),
    [TN_OPTION_NEW_WORD] = PLACE(new_word),
    [TN_OPTION_DISK] = PLACE(disk),
};
static const size_t texts[] = {
    [TN_OPTION_COPY_TO] = PLACE(copy_to),
    [TN_OPTION_MOVE_TO] = PLACE(move_to),
    [TN_OPTION_TYPE] = PLACE(type),
    [TN_OPTION_BASE] = PLACE(base),
    [TN_OPTION_VARIANT] = PLACE(variant),
    [TN_OPTION_TAG] = PLACE(tag),
    [TN_OPTION_LIBRARY] = PLACE(library),
};

static size_t place_in(const size_t *places, size_t count, tn_option_id id)
{
    return (size_t)id < count ? places[id] : 0;
}

/* What is more than a switch or a text. */
static tn_status set_checked(tn_settings *settings, const tn_option *option, const char *value, tn_error *err)
{
    if (option->id == TN_OPTION_HASH)
        return set_hash(settings, option, value, err);
    if (option->id == TN_OPTION_ALGO)
        return set_algo(settings, option, value, err);
    if (option->id == TN_OPTION_MEMORY)
        return set_memory(settings, value, err);
    if (option->id == TN_OPTION_STATE)
        return set_word(option, value, &settings->state, err);
    if (option->id == TN_OPTION_BY)
        return set_word(option, value, &settings->by, err);
    if (option->id == TN_OPTION_REMOVE)
        return add_remove(settings, value, err);
    return set_number(settings, option, value, err);
}

tn_status tn_settings_set(tn_settings *settings, const tn_option *option, const char *value, tn_error *err)
{
    size_t place = place_in(switches, sizeof switches / sizeof *switches, option->id);
    if (place != 0) {
        *(bool *)((char *)settings + place) = true;
        return TN_OK;
    }
    place = place_in(texts, sizeof texts / sizeof *texts, option->id);
    if (place == 0)
        return set_checked(settings, option, value, err);
    if (option->id == TN_OPTION_LIBRARY && !*value)
        return tn_fail(err, TN_INVALID, "--library needs the path of a file");
    *(const char **)(void *)((char *)settings + place) = value;
    return TN_OK;
}

/* Where parsing stands. `given` has a bit for each row of the table that was on the command line. */
typedef struct parser {
    char **argv;
    int argc, at;
    size_t arguments;
    tn_settings settings;
    uint64_t given;
} parser;

static tn_status take_option(parser *p, const tn_option *option, const char *value, tn_error *err)
{
    if (option->value && !value) {
        if (p->at + 1 >= p->argc)
            return tn_fail(err, TN_INVALID, "--%s needs a value: --%s %s", option->name, option->name, option->value);
        value = p->argv[++p->at];
    }
    p->given |= UINT64_C(1) << (unsigned)(option - tn_option_table);
    return tn_settings_set(&p->settings, option, value, err);
}

static tn_status take_long(parser *p, const char *name, tn_error *err)
{
    size_t size = strcspn(name, "=");
    const tn_option *option = option_named(name, size);
    if (!option)
        return refuse_option(name, size, err);
    const char *value = name[size] == '=' ? name + size + 1 : NULL;
    if (value && !option->value)
        return tn_fail(err, TN_INVALID, "--%s takes no value", option->name);
    return take_option(p, option, value, err);
}

/* "-qj4": letters run together, the value of the last one attached or next. */
static tn_status take_letters(parser *p, const char *letters, tn_error *err)
{
    for (; *letters; letters++) {
        const tn_option *option = option_lettered(*letters);
        if (!option)
            return tn_fail(err, TN_INVALID, "there is no option -%s: a file of this name is given as ./-%s", letters,
                           letters);
        if (option->value)
            return take_option(p, option, letters[1] ? letters + 1 : NULL, err);
        TN_TRY(take_option(p, option, NULL, err));
    }
    return TN_OK;
}

static tn_status take_argument(parser *p, char *word, tn_error *err)
{
    if (p->settings.verb != TN_VERB_NONE) {
        p->argv[p->arguments++] = word;
        return TN_OK;
    }
    const tn_verb *verb = tn_verb_named(word);
    if (!verb)
        return refuse_verb(word, err);
    p->settings.verb = verb->id;
    return TN_OK;
}

static tn_status take_all(parser *p, tn_error *err)
{
    bool literal = false;
    p->settings.literal_from = SIZE_MAX;
    for (p->at = 1; p->at < p->argc; p->at++) {
        char *word = p->argv[p->at];
        if (!literal && strcmp(word, "--") == 0) {
            literal = true;
            p->settings.literal_from = p->arguments;
        } else if (!literal && word[0] == '-' && word[1] == '-')
            TN_TRY(take_long(p, word + 2, err));
        else if (!literal && word[0] == '-' && word[1])
            TN_TRY(take_letters(p, word + 1, err));
        else
            TN_TRY(take_argument(p, word, err));
    }
    return TN_OK;
}

static tn_status check_belonging(const parser *p, const tn_verb *verb, tn_error *err)
{
    for (const tn_option *option = tn_option_table; option->name; option++) {
        bool given = (p->given >> (unsigned)(option - tn_option_table) & 1u) != 0;
        if (given && !tn_option_belongs(option, verb->id))
            return tn_fail(err, TN_INVALID, "`%s` has no option --%s: see `tenure %s --help`", verb->name, option->name,
                           verb->name);
    }
    return TN_OK;
}

static tn_status check_arguments(const parser *p, const tn_verb *verb, tn_error *err)
{
    if (p->settings.help)
        return TN_OK;
    if (p->arguments < verb->arguments_min)
        return tn_fail(err, TN_INVALID, "`%s` needs more: tenure %s %s", verb->name, verb->name, verb->arguments);
    if (p->arguments > verb->arguments_max)
        return tn_fail(err, TN_INVALID, "`%s` takes no `%.64s`: tenure %s%s%s", verb->name,
                       p->argv[verb->arguments_max], verb->name, *verb->arguments ? " " : "", verb->arguments);
    if (verb->words && p->arguments && !tn_cli_words_have(verb->words, p->argv[0], strlen(p->argv[0])))
        return tn_fail(err, TN_INVALID, "`%s` knows no `%.64s`: it takes %s", verb->name, p->argv[0], verb->words);
    return TN_OK;
}

tn_status tn_settings_parse(int argc, char **argv, tn_settings *out, tn_error *err)
{
    parser p = {.argv = argv, .argc = argc};
    TN_TRY(take_all(&p, err));
    const tn_verb *verb = tn_verb_of(p.settings.verb);
    if (verb) {
        TN_TRY(check_belonging(&p, verb, err));
        TN_TRY(check_arguments(&p, verb, err));
    }
    p.settings.arguments = argv;
    p.settings.argument_count = p.arguments;
    *out = p.settings;
    return TN_OK;
}
