/* What is asked of a search, taken apart: words that must be there, and filters. */
#ifndef TN_LIBRARY_SEARCH_WORDS_H
#define TN_LIBRARY_SEARCH_WORDS_H

#include "library/find.h"

#define TN_SEARCH_GRAM 3         /* code points of a trigram: shorter words are not in the index */
#define TN_SEARCH_GRAMS_MAX 24   /* of one word that the index is asked about; the rest is looked at in what it finds */
#define TN_SEARCH_TEXT_MAX 1000u /* bytes of what is searched for */
#define TN_SEARCH_WORDS_MAX 32u
#define TN_SEARCH_MATCH_MAX 65536u
#define TN_SEARCH_LIKE_SIZE 5 /* of a pattern: one or two letters between % and %, and a NUL */

/* What a list or search is narrowed to; empty: anything. */
typedef struct tn_filter {
    tn_text type, base, tag, state, presence;
} tn_filter;

bool tn_filter_is_empty(const tn_filter *filter);
/* TN_INVALID for a state or presence that there is none of. */
tn_status tn_filter_check(const tn_filter *filter, tn_error *err);
/* Bind the five as the next parameters, NULL where anything will do: type, base, tag, state, presence. */
void tn_filter_bind(tn_sql *s, const tn_filter *filter);
/* The records that the filter lets through, those without a base last; `limit` 0: all. Under the lock. */
tn_status tn_list_ids(tn_library *library, const tn_filter *filter, uint64_t limit, tn_ids *ids, tn_error *err);

typedef struct tn_search_words {
    size_t count;
    tn_text words[TN_SEARCH_WORDS_MAX];  /* as they were typed */
    tn_text folded[TN_SEARCH_WORDS_MAX]; /* as they are compared */
    bool indexed;                        /* one of them at least is long enough for the index */
    tn_filter filter;
    tn_buffer bytes;                     /* of all these texts */
} tn_search_words;

/* Take `text` apart: words with blanks between, "several words" in quotes as one, and type:, base:, tag:, state: and is:
 * with a word or quoted text behind them. */
tn_status tn_search_words_parse(tn_search_words *out, tn_memory_source *memory, const char *text, tn_error *err);
void tn_search_words_free(tn_search_words *words);

/* Append what the index is to be asked for one word: some of its trigrams, all of which must be there. */
void tn_search_match(tn_buffer *out, tn_text word);
/* The same for every word, and with `filters` for the exact words between their marks. Appends nothing when no word is
 * long enough. */
void tn_search_match_all(tn_buffer *out, const tn_search_words *words, bool filters);
/* A pattern for LIKE that every text with the first word of plain letters and digits fits, in any case; false where there is
 * no such word. Only for words of which none is long enough for the index. */
bool tn_search_like(const tn_search_words *words, char out[TN_SEARCH_LIKE_SIZE]);

#endif
