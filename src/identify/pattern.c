/* Patterns of names. */
#include "identify/pattern.h"

#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_separator(char c)
{
    return c == '.' || c == '_';
}

/* All digits at `at`; 0 when there are none. The value saturates. */
static size_t take_number(const char *at, const char *end, uint32_t *value)
{
    const char *begin = at;
    uint64_t number = 0;
    for (; at < end && is_digit(*at); at++)
        number = number < UINT32_MAX ? number * 10 + (uint64_t)(*at - '0') : number;
    *value = number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
    return (size_t)(at - begin);
}

bool tn_pattern_matches(tn_text pattern, const char *name, size_t size, uint32_t *first)
{
    const char *p = pattern.bytes, *p_end = p + pattern.size;
    const char *n = name, *n_end = name + size;
    const char *star = NULL, *star_at = NULL; /* behind the last *, and the first character it has not taken */
    bool told = first == NULL;
    while (n < n_end || p < p_end) {
        if (p < p_end && *p == '*') {
            star = ++p;
            star_at = n;
            continue;
        }
        uint32_t value;
        size_t digits = p < p_end && *p == '#' ? take_number(n, n_end, &value) : 0;
        if (digits > 0) {
            if (!told)
                *first = value;
            told = true;
            n += digits;
            p++;
        } else if (p < p_end && n < n_end && *p == *n && *p != '#') {
            n++;
            p++;
        } else if (star != NULL && star_at < n_end) {
            n = ++star_at;
            p = star;
        } else {
            return false;
        }
    }
    return true;
}

bool tn_pattern_collapse(const char *name, size_t size, tn_collapsed *out)
{
    if (size > TN_NAME_MAX)
        return false;
    const char *end = name + size;
    char *own = out->own, *flat = out->flat;
    bool begins = true;
    out->index_count = 0;
    for (const char *at = name; at < end; own++, flat++) {
        char c = *at;
        uint32_t value;
        size_t digits = begins && is_digit(c) ? take_number(at, end, &value) : 0;
        if (digits > 0 && (at + digits == end || is_separator(at[digits]))) {
            if (out->index_count == TN_RULES_INDICES_MAX || value == UINT32_MAX)
                return false;
            out->indices[out->index_count++] = value;
            *own = *flat = '#';
            at += digits;
            begins = false;
            continue;
        }
        *own = c;
        *flat = c == '.' ? '_' : c;
        begins = *flat == '_';
        at++;
    }
    out->size = (size_t)(own - out->own);
    return true;
}

bool tn_text_is(tn_text a, tn_text b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.bytes, b.bytes, a.size) == 0);
}

bool tn_text_begins(tn_text text, const char *begin)
{
    size_t size = strlen(begin);
    return text.size >= size && memcmp(text.bytes, begin, size) == 0;
}

bool tn_text_ends(tn_text text, const char *end)
{
    size_t size = strlen(end);
    return text.size >= size && memcmp(text.bytes + text.size - size, end, size) == 0;
}

bool tn_words_have(tn_text words, const char *word, size_t size)
{
    const char *end = words.bytes + words.size;
    for (const char *at = words.bytes; at != NULL && at <= end;) {
        const char *bar = memchr(at, '|', (size_t)(end - at));
        size_t length = (size_t)((bar != NULL ? bar : end) - at);
        bool open = length > 0 && at[length - 1] == '*';
        if (open ? size >= length - 1 && memcmp(at, word, length - 1) == 0
                 : size == length && memcmp(at, word, length) == 0)
            return true;
        at = bar != NULL ? bar + 1 : end + 1;
    }
    return false;
}
