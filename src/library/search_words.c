#include "library/search_words.h"

#include <string.h>

#include "core/fold.h"
#include "core/utf8.h"

/* ---- filters ---- */

bool tn_filter_is_empty(const tn_filter *f)
{
    return f->type.size + f->base.size + f->tag.size + f->state.size + f->presence.size == 0;
}

static bool is_one_of(tn_text word, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (word.size == strlen(words[i]) && memcmp(word.bytes, words[i], word.size) == 0)
            return true;
    return false;
}

tn_status tn_filter_check(const tn_filter *f, tn_error *err)
{
    static const char *const states[] = {"identified", "ambiguous", "unknown", "unsupported",
                                         "damaged", "dangerous", "unreadable"};
    static const char *const presences[] = {"present", "missing", "offline", "crashed"};
    if (f->state.size > 0 && !is_one_of(f->state, states, sizeof states / sizeof states[0]))
        return tn_fail(err, TN_INVALID, "there is no state \"%.64s\": it is identified, ambiguous, unknown, unsupported, "
                       "damaged, dangerous or unreadable", f->state.bytes);
    if (f->presence.size > 0 && !is_one_of(f->presence, presences, sizeof presences / sizeof presences[0]))
        return tn_fail(err, TN_INVALID, "a model is present, missing, offline or crashed, not \"%.64s\"",
                       f->presence.bytes);
    return TN_OK;
}

static void bind(tn_sql *s, tn_text text)
{
    if (text.size > 0)
        tn_sql_text(s, text.bytes, text.size);
    else
        tn_sql_null(s);
}

void tn_filter_bind(tn_sql *s, const tn_filter *f)
{
    bind(s, f->type);
    bind(s, f->base);
    bind(s, f->tag);
    bind(s, f->state);
    bind(s, f->presence);
}

/* ---- taking apart ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* One word, or what stands in quotes: the next of the text at *at. */
static tn_text take_word(const char **at)
{
    const char *begin = *at, *end;
    if (*begin == '"' && (end = strchr(begin + 1, '"')) != NULL) {
        *at = end + 1;
        return (tn_text){begin + 1, (size_t)(end - begin - 1)};
    }
    for (end = begin; *end != '\0' && !is_blank(*end);)
        end++;
    *at = end;
    return (tn_text){begin, (size_t)(end - begin)};
}

/* The filter that a word begins with, such as "base:"; NULL when it is a plain word. */
static tn_text *filter_at(tn_filter *filter, const char **at)
{
    const struct {
        const char *key;
        tn_text *value;
    } keys[] = {{"type:", &filter->type}, {"base:", &filter->base}, {"tag:", &filter->tag},
                {"state:", &filter->state}, {"is:", &filter->presence}};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        size_t size = strlen(keys[i].key);
        if (strncmp(*at, keys[i].key, size) == 0 && (*at)[size] != '\0' && !is_blank((*at)[size])) {
            *at += size;
            return keys[i].value;
        }
    }
    return NULL;
}

/* A copy with a NUL behind it. The buffer has room for all of them from the start, so that it does not move. */
static tn_text keep(tn_search_words *w, tn_text text)
{
    size_t start = w->bytes.size;
    tn_buffer_append(&w->bytes, text.bytes, text.size);
    tn_buffer_append(&w->bytes, "", 1);
    return (tn_text){w->bytes.bytes + start, text.size};
}

static tn_text keep_folded(tn_search_words *w, tn_text text)
{
    size_t start = w->bytes.size;
    tn_fold_append(&w->bytes, text.bytes, text.size);
    tn_buffer_append(&w->bytes, "", 1);
    return (tn_text){w->bytes.bytes + start, w->bytes.size - start - 1};
}

static tn_status add_word(tn_search_words *w, tn_text word, tn_error *err)
{
    if (w->count == TN_SEARCH_WORDS_MAX)
        return tn_fail(err, TN_INVALID, "a search has %u words at most", TN_SEARCH_WORDS_MAX);
    w->words[w->count] = keep(w, word);
    w->folded[w->count] = keep_folded(w, word);
    w->count++;
    if (tn_fold_points(word.bytes, word.size) >= TN_SEARCH_GRAM)
        w->indexed = true;
    return TN_OK;
}

static tn_status take_apart(tn_search_words *w, const char *text, tn_error *err)
{
    for (const char *at = text;;) {
        while (is_blank(*at))
            at++;
        if (*at == '\0')
            return tn_filter_check(&w->filter, err);
        tn_text *filter = filter_at(&w->filter, &at);
        tn_text word = take_word(&at);
        if (filter != NULL)
            *filter = keep(w, word);
        else if (word.size > 0)
            TN_TRY(add_word(w, word, err));
    }
}

tn_status tn_search_words_parse(tn_search_words *out, tn_memory_source *memory, const char *text, tn_error *err)
{
    if (strlen(text) > TN_SEARCH_TEXT_MAX)
        return tn_fail(err, TN_INVALID, "what is searched for has %u bytes at most", TN_SEARCH_TEXT_MAX);
    tn_search_words w = {.count = 0};
    tn_buffer_init(&w.bytes, memory, 8 * TN_SEARCH_TEXT_MAX);
    /* Each byte stands twice at most, each word with two NULs, and folding wants eight bytes of room. */
    if (tn_buffer_reserve(&w.bytes, 7 * TN_SEARCH_TEXT_MAX) == NULL)
        return tn_buffer_status(&w.bytes, err);
    tn_status status = take_apart(&w, text, err);
    if (status == TN_OK)
        *out = w;
    else
        tn_search_words_free(&w);
    return status;
}

void tn_search_words_free(tn_search_words *words)
{
    tn_buffer_free(&words->bytes);
}

/* ---- what the index is asked ---- */

/* The bytes of the code points of `text` from `at` on, TN_SEARCH_GRAM of them; 0 when there are not so many. */
static size_t gram_size(tn_text text, size_t at)
{
    size_t end = at, length;
    for (int i = 0; i < TN_SEARCH_GRAM; i++) {
        if (end >= text.size)
            return 0;
        tn_utf8_decode(text.bytes + end, text.size - end, &length);
        end += length;
    }
    return end - at;
}

static void append_gram(tn_buffer *out, const char *bytes, size_t size)
{
    tn_buffer_text(out, out->size > 0 ? " AND \"" : "\"");
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] == '"')
            tn_buffer_text(out, "\"");
        tn_buffer_append(out, &bytes[i], 1);
    }
    tn_buffer_text(out, "\"");
}

/* Trigrams side by side, and the last one: together they cover the word. What is no UTF-8 is for the closer look alone. */
void tn_search_match(tn_buffer *out, tn_text word)
{
    size_t at = 0, last = 0, size, length;
    word.size = tn_utf8_valid_prefix(word.bytes, word.size);
    for (int grams = 0; grams < TN_SEARCH_GRAMS_MAX && (size = gram_size(word, at)) > 0; grams++) {
        append_gram(out, word.bytes + at, size);
        last = at;
        at += size;
    }
    if (at == word.size || at == 0)
        return;
    for (size_t next = last; (size = gram_size(word, next)) > 0 && next < at; next += length) {
        tn_utf8_decode(word.bytes + next, word.size - next, &length);
        last = next;
    }
    append_gram(out, word.bytes + last, gram_size(word, last));
}

/* An exact word between its marks. */
static void match_marked(tn_buffer *out, tn_text word, char mark)
{
    char marked[TN_SEARCH_TEXT_MAX + 2];
    if (word.size == 0 || word.size > TN_SEARCH_TEXT_MAX)
        return;
    marked[0] = marked[word.size + 1] = mark;
    memcpy(marked + 1, word.bytes, word.size);
    tn_search_match(out, (tn_text){marked, word.size + 2});
}

void tn_search_match_all(tn_buffer *out, const tn_search_words *words, bool filters)
{
    for (size_t i = 0; i < words->count; i++)
        tn_search_match(out, words->words[i]);
    if (!filters)
        return;
    match_marked(out, words->filter.tag, 1);
    match_marked(out, words->filter.base, 2);
    match_marked(out, words->filter.type, 3);
}

static bool is_plain(tn_text folded)
{
    return folded.size < TN_SEARCH_GRAM && strspn(folded.bytes, "abcdefghijklmnopqrstuvwxyz0123456789") == folded.size;
}

/* LIKE knows capitals of ASCII alone, and the long s of old print is an s as well: it is let pass as any character. */
bool tn_search_like(const tn_search_words *words, char out[TN_SEARCH_LIKE_SIZE])
{
    size_t size = 0;
    for (size_t i = 0; i < words->count; i++) {
        tn_text word = words->folded[i];
        if (!is_plain(word))
            continue;
        out[size++] = '%';
        for (size_t at = 0; at < word.size; at++)
            out[size++] = word.bytes[at] == 's' ? '_' : word.bytes[at];
        out[size++] = '%';
        out[size] = '\0';
        return true;
    }
    return false;
}
