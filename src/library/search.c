/* Search: which records have all the words, the nearest first.
 *
 *   S1  A record is found when each word stands in its name, path, tags, note, base, type, title or trigger words, in any
 *       case of letters, and every filter holds. What the index says is looked at again.
 *   S2  Nearest first: a hash that begins with the word; a name that begins with it; a name that has all words; the rest.
 *   S3  With a limit each step ends as soon as there are enough.
 */
#include <string.h>

#include "core/fold.h"
#include "core/map.h"
#include "library/search_words.h"
#include "library/show.h"
#include "library/words.h"

#define HASH_DIGITS_MIN 8u
#define LOOKED_AT_MAX ((size_t)64 << 20) /* bytes of one record's words */
#define CHECK_ROWS 4096u                 /* rows between two looks at whether it was cancelled */

typedef struct search {
    tn_library *library;
    tn_search_words words;
    uint64_t limit; /* UINT64_MAX: none */
    tn_buffer tag;  /* as the library spells it */
    tn_ids found, rest; /* in order; `rest` where the name has not all words */
    tn_map seen;
    tn_arena keys;  /* of `seen` */
    tn_buffer text; /* what is being looked at, folded */
} search;

/* ---- what is found ---- */

/* Filters go to the index of texts alone, which gives names and the rest mixed: there the rest is enough when nothing of it
 * beyond that can be wanted, but names may still come. */
static bool is_enough(const search *s)
{
    bool mixed = !tn_filter_is_empty(&s->words.filter);
    return s->found.count + (mixed ? 0 : s->rest.count) >= s->limit;
}

/* Whether the record is one the filters let through. */
static tn_status passes(search *s, int64_t id, bool *out, tn_error *err)
{
    if (tn_filter_is_empty(&s->words.filter)) {
        *out = true;
        return TN_OK;
    }
    tn_sql q = tn_sql_start(&s->library->db, TN_QUERY_SEARCH_FILTER);
    tn_filter_bind(&q, &s->words.filter);
    tn_sql_int(&q, id);
    bool more = false;
    TN_TRY(tn_sql_row(&q, &more, err));
    if (more)
        tn_sql_end(&q);
    *out = more;
    return TN_OK;
}

/* Each record once, where it was found first. */
static tn_status add(search *s, tn_ids *to, int64_t id, tn_error *err)
{
    bool through = false, fresh = false;
    TN_TRY(passes(s, id, &through, err));
    if (!through)
        return TN_OK;
    int64_t *key = tn_arena_take(&s->keys, sizeof id);
    if (key == NULL)
        return tn_arena_status(&s->keys, err);
    *key = id;
    TN_TRY(tn_map_put(&s->seen, (const char *)key, sizeof *key, 0, &fresh, NULL, err));
    return fresh ? tn_ids_add(to, id, err) : TN_OK;
}

/* ---- the closer look ---- */

static bool holds(const tn_buffer *text, tn_text word)
{
    const char *at = text->bytes;
    size_t left = text->failed == TN_OK ? text->size : 0;
    while (left >= word.size) {
        const char *first = memchr(at, word.bytes[0], left - word.size + 1);
        if (first == NULL)
            return false;
        if (memcmp(first, word.bytes, word.size) == 0)
            return true;
        left -= (size_t)(first - at) + 1;
        at = first + 1;
    }
    return false;
}

/* Words may be in the one text or in the other. */
static bool have_all(search *s, tn_text name, tn_text rest)
{
    tn_buffer_clear(&s->text);
    tn_fold_append(&s->text, name.bytes, name.size);
    tn_buffer_text(&s->text, "\n");
    tn_fold_append(&s->text, rest.bytes, rest.size);
    for (size_t i = 0; i < s->words.count; i++)
        if (!holds(&s->text, s->words.folded[i]))
            return false;
    return true;
}

static bool has_all(search *s, tn_text name)
{
    return have_all(s, name, (tn_text){"", 0});
}

/* ---- the steps ---- */

typedef tn_status (*look)(search *s, const tn_sql *row, tn_error *err);

static tn_status look_at_rows(search *s, tn_sql *q, look at, tn_error *err)
{
    for (uint64_t rows = 1; !is_enough(s); rows++) {
        bool more = false;
        TN_TRY(tn_sql_row(q, &more, err));
        if (!more)
            return TN_OK;
        tn_status status = at(s, q, err);
        if (status == TN_OK && rows % CHECK_ROWS == 0)
            status = tn_context_check(s->library->context, err);
        if (status == TN_OK)
            status = tn_buffer_status(&s->text, err);
        if (status != TN_OK) {
            tn_sql_end(q);
            return status;
        }
    }
    tn_sql_end(q);
    return TN_OK;
}

static tn_status look_at_id(search *s, const tn_sql *row, tn_error *err)
{
    return add(s, &s->found, tn_sql_get_int(row, 0), err);
}

static tn_status look_at_name(search *s, const tn_sql *row, tn_error *err)
{
    return has_all(s, tn_sql_get(row, 1)) ? add(s, &s->found, tn_sql_get_int(row, 0), err) : TN_OK;
}

static tn_status look_at_text(search *s, const tn_sql *row, tn_error *err)
{
    bool named = has_all(s, tn_sql_get(row, 1));
    if (!named && (s->rest.count >= s->limit || !have_all(s, tn_sql_get(row, 1), tn_sql_get(row, 2))))
        return TN_OK;
    return add(s, named ? &s->found : &s->rest, tn_sql_get_int(row, 0), err);
}

/* A hash as it is typed: eight digits or more, in any case, perhaps with "c1:" before it. Gives the digits folded. */
static bool is_hash(tn_text word, const char **digits)
{
    size_t skip = word.size > 3 && memcmp(word.bytes, "c1:", 3) == 0 ? 3 : 0;
    *digits = word.bytes + skip;
    return word.size - skip >= HASH_DIGITS_MIN && strspn(*digits, "0123456789abcdef") == word.size - skip;
}

static tn_status by_hash(search *s, tn_error *err)
{
    const char *digits;
    if (s->words.count != 1 || !is_hash(s->words.folded[0], &digits))
        return TN_OK;
    tn_sql q = tn_sql_start(&s->library->db, TN_QUERY_SEARCH_HASH);
    tn_sql_text(&q, digits, strlen(digits));
    return look_at_rows(s, &q, look_at_id, err);
}

static tn_status by_first_letters(search *s, tn_error *err)
{
    if (s->words.count != 1)
        return TN_OK;
    tn_sql q = tn_sql_start(&s->library->db, TN_QUERY_SEARCH_PREFIX);
    tn_sql_text(&q, s->words.words[0].bytes, s->words.words[0].size);
    return look_at_rows(s, &q, look_at_id, err);
}

/* No word is long enough for the index: go through all of them, past what has nothing like the first. */
static tn_status by_short_words(search *s, bool names, tn_error *err)
{
    char like[TN_SEARCH_LIKE_SIZE];
    tn_sql q = tn_sql_start(&s->library->db, names ? TN_QUERY_SEARCH_ALL_NAMES : TN_QUERY_SEARCH_ALL_TEXTS);
    if (tn_search_like(&s->words, like))
        tn_sql_text(&q, like, strlen(like));
    else
        tn_sql_null(&q);
    return look_at_rows(s, &q, names ? look_at_name : look_at_text, err);
}

static tn_status by_index(search *s, bool names, tn_text match, tn_error *err)
{
    tn_sql q = tn_sql_start(&s->library->db, names ? TN_QUERY_SEARCH_NAMES : TN_QUERY_SEARCH_TEXTS);
    tn_sql_text(&q, match.bytes, match.size);
    return look_at_rows(s, &q, names ? look_at_name : look_at_text, err);
}

static tn_status by_words(search *s, bool names, tn_error *err)
{
    tn_buffer match;
    tn_buffer_init(&match, s->library->memory, TN_SEARCH_MATCH_MAX);
    tn_search_match_all(&match, &s->words, !names);
    tn_status status = tn_buffer_status(&match, err);
    if (status == TN_OK && match.size > 0)
        status = by_index(s, names, (tn_text){match.bytes, match.size}, err);
    else if (status == TN_OK)
        status = by_short_words(s, names, err);
    tn_buffer_free(&match);
    return status;
}

static tn_status find_words(search *s, tn_error *err)
{
    TN_TRY(by_hash(s, err));
    TN_TRY(by_first_letters(s, err));
    if (tn_filter_is_empty(&s->words.filter))
        TN_TRY(by_words(s, true, err));
    return by_words(s, false, err);
}

static tn_status join(search *s, tn_error *err)
{
    for (size_t i = 0; i < s->rest.count; i++)
        TN_TRY(tn_ids_add(&s->found, s->rest.ids[i], err));
    if (s->found.count > s->limit)
        s->found.count = (size_t)s->limit;
    return TN_OK;
}

static tn_status find(search *s, tn_error *err)
{
    tn_filter *filter = &s->words.filter;
    if (filter->tag.size > 0) {
        TN_TRY(tn_words_tag(&s->library->db, filter->tag, &s->tag, err));
        filter->tag = (tn_text){s->tag.bytes, s->tag.size};
    }
    if (s->words.count == 0)
        return tn_list_ids(s->library, filter, s->limit == UINT64_MAX ? 0 : s->limit, &s->found, err);
    TN_TRY(find_words(s, err));
    return join(s, err);
}

static tn_status search_parsed(search *s, bool (*each)(void *user, const tn_record *record), void *user, tn_error *err)
{
    if (s->words.count == 0 && tn_filter_is_empty(&s->words.filter))
        return tn_fail(err, TN_INVALID, "say what to search for");
    tn_library_lock(s->library);
    tn_status status = find(s, err);
    tn_library_unlock(s->library);
    return status == TN_OK ? tn_show_records(s->library, &s->found, each, user, err) : status;
}

tn_status tn_library_search(tn_library *library, const char *text, uint64_t limit,
                            bool (*each)(void *user, const tn_record *record), void *user, tn_error *err)
{
    search s = {.library = library, .limit = limit != 0 ? limit : UINT64_MAX};
    TN_TRY(tn_context_check(library->context, err));
    TN_TRY(tn_search_words_parse(&s.words, library->memory, text, err));
    s.found.memory = s.rest.memory = library->memory;
    tn_map_init(&s.seen, library->memory);
    tn_arena_init(&s.keys, library->memory, SIZE_MAX);
    tn_buffer_init(&s.tag, library->memory, TN_SEARCH_TEXT_MAX);
    tn_buffer_init(&s.text, library->memory, LOOKED_AT_MAX);
    tn_status status = search_parsed(&s, each, user, err);
    tn_buffer_free(&s.text);
    tn_buffer_free(&s.tag);
    tn_map_free(&s.seen);
    tn_arena_free(&s.keys);
    tn_ids_free(&s.found);
    tn_ids_free(&s.rest);
    tn_search_words_free(&s.words);
    return status;
}
