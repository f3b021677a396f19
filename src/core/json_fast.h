/* The shortcuts of tn_json_next: what nearly every token of a header written by a program looks like.
 *
 * Each shortcut takes a token that has no white space before it, no escape and no byte past ASCII in it, and that ends
 * well before the end of the bytes; all else goes to tn_json_next_plain, which defines the reader. The tests and the
 * fuzz target read every document both ways and compare token by token.
 *   F1  A shortcut accepts only what tn_json_next_plain accepts, and leaves the same token and state behind.
 *   F2  A shortcut never fails a document: when it is not sure, nothing is changed.
 * Included by core/json.h alone.
 */
#ifndef TN_CORE_JSON_FAST_H
#define TN_CORE_JSON_FAST_H

#include <assert.h>

#include "core/json.h"
#include "core/json_scan.h"

/* What may come next. In a container: TN_JSON_IN_OBJECT or not, and one of FIRST, MORE and VALUE. */
enum {
    TN_JSON_IN_OBJECT = 1,
    TN_JSON_FIRST = 2, /* the container has just begun: its first item, or its end */
    TN_JSON_MORE = 4,  /* an item has ended: a comma and another, or the container's end */
    TN_JSON_VALUE = 8, /* a key has ended: its value */
    TN_JSON_START = 16,
    TN_JSON_DONE = 32,
    TN_JSON_FAILED = 64
};

/* A shortcut looks at no more than this many bytes without asking whether they are there: a comma and a number of
 * TN_JSON_FAST_DIGITS with the byte behind it. */
#define TN_JSON_FAST_BYTES 24
#define TN_JSON_FAST_DIGITS 19 /* any of so many fits a uint64_t */

static inline tn_json_kind tn_json_token(tn_json *json, tn_json_kind kind, const char *begin, const char *end,
                                         unsigned state)
{
    json->at = end;
    json->token_at = (size_t)(begin - json->bytes);
    json->state = state;
    json->kind = kind;
    return kind;
}

/* Begin an object or array. The depth was asked before. */
static inline void tn_json_push(tn_json *json, bool object)
{
    json->after[++json->depth] = (uint8_t)(TN_JSON_MORE | (unsigned)object);
}

/* `at` stands on the opening quote. */
static inline tn_json_kind tn_json_fast_string(tn_json *json, const char *at, unsigned state)
{
    const char *end = tn_json_scan(at + 1, json->end - 2); /* two bytes can be read there */
    if (TN_UNLIKELY(*end != '"'))
        return tn_json_next_plain(json);
    bool key = (state & (TN_JSON_IN_OBJECT | TN_JSON_VALUE)) == TN_JSON_IN_OBJECT;
    if (key && TN_UNLIKELY(end[1] != ':'))
        return tn_json_next_plain(json);
    json->text = at + 1;
    json->text_size = (size_t)(end - at - 1);
    json->escaped = false;
    if (key)
        return tn_json_token(json, TN_JSON_KEY, at, end + 2, TN_JSON_IN_OBJECT | TN_JSON_VALUE);
    return tn_json_token(json, TN_JSON_STRING, at, end + 1, (state & TN_JSON_IN_OBJECT) | TN_JSON_MORE);
}

/* Read the digits at `at`, TN_JSON_FAST_DIGITS at most: there may be more to the number. Returns where they end. NULL
 * when there is none, and when a zero leads. */
static inline const char *tn_json_fast_digits(const char *at, uint64_t *out)
{
    uint64_t value;
    size_t count = tn_json_digits8(at, &value);
    if (TN_UNLIKELY(count == 0 || (*at == '0' && count > 1)))
        return NULL;
    if (count == 8)
        for (unsigned digit; count < TN_JSON_FAST_DIGITS && (digit = tn_json_digit(at[count])) < 10; count++)
            value = value * 10 + digit;
    *out = value;
    return at + count;
}

/* `at` stands on a digit, and a value may come. */
static inline tn_json_kind tn_json_fast_uint(tn_json *json, const char *at, unsigned state)
{
    uint64_t value;
    const char *end = tn_json_fast_digits(at, &value);
    if (TN_UNLIKELY(!end || (*end != ',' && *end != ']' && *end != '}')))
        return tn_json_next_plain(json);
    json->text = at;
    json->text_size = (size_t)(end - at);
    json->u = value;
    return tn_json_token(json, TN_JSON_UINT, at, end, (state & TN_JSON_IN_OBJECT) | TN_JSON_MORE);
}

static inline tn_json_kind tn_json_next(tn_json *json)
{
    unsigned state = json->state;
    const char *at = json->at;
    if (TN_UNLIKELY(json->end - at < TN_JSON_FAST_BYTES || state >= TN_JSON_START))
        return tn_json_next_plain(json);
    if (state & TN_JSON_MORE) {
        if (*at == (state & TN_JSON_IN_OBJECT ? '}' : ']'))
            return tn_json_token(json, state & TN_JSON_IN_OBJECT ? TN_JSON_OBJECT_END : TN_JSON_ARRAY_END, at, at + 1,
                                 json->after[--json->depth]);
        if (TN_UNLIKELY(*at != ','))
            return tn_json_next_plain(json);
        at++;
    }
    if (*at == '"')
        return tn_json_fast_string(json, at, state);
    if ((state & (TN_JSON_IN_OBJECT | TN_JSON_VALUE)) == TN_JSON_IN_OBJECT)
        return tn_json_next_plain(json);
    if (tn_json_is_digit(*at))
        return tn_json_fast_uint(json, at, state);
    bool object = *at == '{';
    if (TN_UNLIKELY((!object && *at != '[') || json->depth == TN_JSON_DEPTH_MAX))
        return tn_json_next_plain(json);
    tn_json_push(json, object);
    return tn_json_token(json, object ? TN_JSON_OBJECT_BEGIN : TN_JSON_ARRAY_BEGIN, at, at + 1,
                         TN_JSON_FIRST | (unsigned)object);
}

/* ---- several tokens at once ----
 *
 * For a value that nearly every writer writes with the same keys in the same order, such as the entry of a tensor.
 * Begin behind its KEY; look at its pieces one after another; when all were there, take the value. When one was not,
 * forget it and read token by token: nothing has been changed. The texts looked for must be valid JSON where they
 * stand, for nothing else checks them: what was looked at, joined, must be one whole object or array. */
typedef struct tn_json_look {
    const char *at;
    const char *last; /* as far as `at` may be to look further: TN_JSON_FAST_BYTES can be read there */
} tn_json_look;

#define TN_JSON_LOOK_LEVELS 3 /* the most objects and arrays that the value may nest */

/* False when the next token is not a value, might be nested too deep, or is near the end of the bytes. */
static inline bool tn_json_look_begin(const tn_json *json, tn_json_look *look)
{
    if (json->end - json->at < TN_JSON_FAST_BYTES)
        return false;
    *look = (tn_json_look){json->at, json->end - TN_JSON_FAST_BYTES};
    return json->state == (TN_JSON_IN_OBJECT | TN_JSON_VALUE) && json->depth <= TN_JSON_DEPTH_MAX - TN_JSON_LOOK_LEVELS;
}

/* These bytes, TN_JSON_FAST_BYTES at most, no white space between. */
static inline bool tn_json_look_text(tn_json_look *look, const char *text)
{
    size_t size = strlen(text);
    assert(size <= TN_JSON_FAST_BYTES);
    if (look->at > look->last || !tn_json_same(look->at, text, size))
        return false;
    look->at += size;
    return true;
}

/* A short text that is looked for again and again: up to eight bytes as one number. */
#define TN_JSON_WORD_MAX 8
typedef struct tn_json_word {
    uint64_t bytes, mask;
    size_t size;
} tn_json_word;

static inline tn_json_word tn_json_word_of(const char *text, size_t size)
{
    char padded[TN_JSON_WORD_MAX] = {0};
    assert(size > 0 && size <= sizeof padded);
    memcpy(padded, text, size);
    return (tn_json_word){tn_load_le64(padded), UINT64_MAX >> (64 - 8 * size), size};
}

static inline bool tn_json_look_word(tn_json_look *look, const tn_json_word *word)
{
    if (look->at > look->last || ((tn_load_le64(look->at) ^ word->bytes) & word->mask) != 0)
        return false;
    look->at += word->size;
    return true;
}

/* A string whose opening quote was looked at, with no escape and ASCII alone; *text and *size are what stands between
 * the quotes. */
static inline bool tn_json_look_string_rest(tn_json_look *look, const char **text, size_t *size)
{
    if (look->at > look->last)
        return false;
    const char *end = tn_json_scan(look->at, look->last + TN_JSON_FAST_BYTES - 1); /* one more can be read */
    if (*end != '"')
        return false;
    *text = look->at;
    *size = (size_t)(end - look->at);
    look->at = end + 1;
    return true;
}

/* An array of `max` numbers at most, each of up to TN_JSON_FAST_DIGITS digits alone. */
static inline bool tn_json_look_uints(tn_json_look *look, uint64_t *out, size_t max, size_t *count)
{
    const char *at = look->at;
    size_t n = 0;
    if (at > look->last || *at != '[')
        return false;
    do {
        at++;
        if (n == max || at > look->last)
            return false;
        at = tn_json_fast_digits(at, &out[n++]);
    } while (at && *at == ',');
    if (!at || *at != ']') /* or the number goes on */
        return false;
    look->at = at + 1;
    *count = n;
    return true;
}

/* An array of two such numbers, which stay apart: what is stored as two neighbours and loaded at once has to wait. */
static inline bool tn_json_look_pair(tn_json_look *look, uint64_t *first, uint64_t *second)
{
    const char *at = look->at;
    if (at > look->last || *at != '[')
        return false;
    at = tn_json_fast_digits(at + 1, first);
    if (!at || *at != ',' || at > look->last)
        return false;
    at = tn_json_fast_digits(at + 1, second);
    if (!at || *at != ']')
        return false;
    look->at = at + 1;
    return true;
}

/* The value is read: its closing bracket becomes the current token. */
static inline void tn_json_look_take(tn_json *json, const tn_json_look *look)
{
    const char *bracket = look->at - 1;
    (void)tn_json_token(json, *bracket == '}' ? TN_JSON_OBJECT_END : TN_JSON_ARRAY_END, bracket, look->at,
                        json->after[json->depth]);
}

tn_text tn_json_text_escaped(const tn_json *json, tn_arena *arena);

static inline tn_text tn_json_text(const tn_json *json, tn_arena *arena)
{
    return TN_LIKELY(!json->escaped) ? (tn_text){json->text, json->text_size} : tn_json_text_escaped(json, arena);
}

bool tn_json_is_escaped(const tn_json *json, const char *literal);

static inline bool tn_json_is(const tn_json *json, const char *literal)
{
    if (TN_UNLIKELY(json->escaped))
        return tn_json_is_escaped(json, literal);
    size_t size = strlen(literal);
    return json->text_size == size && memcmp(json->text, literal, size) == 0;
}

#endif
