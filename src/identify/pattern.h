/* Names of tensors compared with patterns: # is any number, * is any run of characters. */
#ifndef TN_IDENTIFY_PATTERN_H
#define TN_IDENTIFY_PATTERN_H

#include "identify/rules.h"

#define TN_NAME_MAX 512u /* longer names match no pattern and no class */

/* Does the whole name match? `first`, when not NULL, takes the number that the first # stood for. Time is bounded by
 * the product of the sizes. */
bool tn_pattern_matches(tn_text pattern, const char *name, size_t size, uint32_t *first);

/* A name with every number between separators as #: once with its own separators, once with all of them as _. */
typedef struct tn_collapsed {
    char own[TN_NAME_MAX], flat[TN_NAME_MAX];
    size_t size;
    uint32_t indices[TN_RULES_INDICES_MAX];
    uint32_t index_count;
} tn_collapsed;
/* False when the name is too long, or has too many or too large numbers. */
bool tn_pattern_collapse(const char *name, size_t size, tn_collapsed *out);

/* Is `word` one of the words that | separates? A word that ends in * stands for all that begin like it. Letters are
 * compared as they are. */
bool tn_words_have(tn_text words, const char *word, size_t size);
bool tn_text_is(tn_text a, tn_text b);
bool tn_text_ends(tn_text text, const char *end);
bool tn_text_begins(tn_text text, const char *begin);

#endif
