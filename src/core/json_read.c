/* The strict pull reader: RFC 8259, one token a call.
 *
 * json->state says what may come next (core/json_fast.h lists the states); white space and the comma before an item
 * are passed over in the call that tells the item. Everything refused has one reason and one offset: the byte that
 * does not belong, or the end of the bytes when more was due.
 */
#include "core/json.h"

#include <assert.h>

#include "core/error.h"
#include "core/utf8.h"

void tn_json_init(tn_json *json, const char *bytes, size_t size)
{
    assert(bytes != NULL || size == 0);
    if (!bytes)
        bytes = "";
    *json = (tn_json){.bytes = bytes, .at = bytes, .end = bytes + size, .text = bytes, .state = TN_JSON_START};
    json->after[0] = TN_JSON_DONE;
}

static tn_json_kind refuse(tn_json *json, const char *at, const char *reason)
{
    json->state = TN_JSON_FAILED;
    json->kind = TN_JSON_ERROR;
    json->reason = reason;
    json->failed_at = (size_t)(at - json->bytes);
    return TN_JSON_ERROR;
}

/* The byte at `at`, or -1 behind the last. */
static int peek(const tn_json *json, const char *at)
{
    return at < json->end ? (unsigned char)*at : -1;
}

static void pass_space(tn_json *json)
{
    int c = peek(json, json->at);
    while (c == ' ' || c == '\n' || c == '\r' || c == '\t')
        c = peek(json, ++json->at);
    json->token_at = (size_t)(json->at - json->bytes);
}

/* The value of one hexadecimal digit, or -1. */
static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The four digits of a \u escape whose backslash is at `at`, or -1 when it is none. */
static int32_t unit(const char *at, const char *end)
{
    if (end - at < 6 || at[0] != '\\' || at[1] != 'u')
        return -1;
    int32_t value = 0;
    for (int i = 2; i < 6; i++) {
        int digit = hex_value(at[i]);
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

/* The code point of the \u escape at `at`, of two escapes when they are a surrogate pair; `size` is theirs. -1 for a
 * lone surrogate and for what is no escape. */
static int32_t code_point(const char *at, const char *end, size_t *size)
{
    int32_t high = unit(at, end);
    *size = 6;
    if (high < 0xD800 || high > 0xDFFF)
        return high;
    int32_t low = high < 0xDC00 ? unit(at + 6, end) : -1;
    if (low < 0xDC00 || low > 0xDFFF)
        return -1;
    *size = 12;
    return 0x10000 + (high - 0xD800) * 0x400 + (low - 0xDC00);
}

/* Decode the escape whose backslash is at `at` into `out`. Returns how many bytes it has, 0 when it is not valid, and
 * puts the bytes decoded into `decoded`. */
static size_t escape(const char *at, const char *end, char out[4], size_t *decoded)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    if (end - at < 2)
        return 0;
    if (at[1] == 'u') {
        size_t size;
        int32_t point = code_point(at, end, &size);
        if (point < 0)
            return 0;
        *decoded = tn_utf8_encode((uint32_t)point, out);
        return size;
    }
    const char *name = memchr(names, at[1], sizeof names - 1);
    if (!name)
        return 0;
    out[0] = values[name - names];
    *decoded = 1;
    return 2;
}

/* The size of the valid UTF-8 that begins at `at` and goes on to the next ASCII byte; *bad when it ends before. */
static size_t beyond_ascii(const char *at, const char *end, bool *bad)
{
    size_t size = 0;
    while (at + size < end && (unsigned char)at[size] >= 0x80)
        size++;
    size_t valid = tn_utf8_valid_prefix(at, size);
    *bad = valid != size;
    return valid;
}

/* json->at stands on the opening quote; afterwards behind the closing one. */
static bool read_string(tn_json *json)
{
    const char *begin = json->at + 1, *end = json->end, *at = begin;
    const char *reason = NULL;
    bool escaped = false;
    while (!reason) {
        at = tn_json_scan(at, end);
        if (at == end) {
            reason = "the JSON ends within a string";
        } else if (*at == '"') {
            break;
        } else if (*at == '\\') {
            char out[4];
            size_t decoded, size = escape(at, end, out, &decoded);
            reason = size ? NULL : "a backslash that begins no valid escape";
            escaped = true;
            at += size;
        } else if ((unsigned char)*at >= 0x80) {
            bool bad;
            at += beyond_ascii(at, end, &bad);
            reason = bad ? "bytes that are not UTF-8" : NULL;
        } else {
            reason = "a control character within a string";
        }
    }
    if (reason) {
        refuse(json, at, reason);
        return false;
    }
    json->text = begin;
    json->text_size = (size_t)(at - begin);
    json->escaped = escaped;
    json->at = at + 1;
    return true;
}

static tn_json_kind read_key(tn_json *json)
{
    if (peek(json, json->at) != '"')
        return refuse(json, json->at, "a key in quotes is due here");
    size_t token_at = json->token_at;
    if (!read_string(json))
        return TN_JSON_ERROR;
    pass_space(json);
    if (peek(json, json->at) != ':')
        return refuse(json, json->at, "a colon is due here");
    json->at++;
    json->token_at = token_at;
    json->state = TN_JSON_IN_OBJECT | TN_JSON_VALUE;
    return json->kind = TN_JSON_KEY;
}

/* A value, or the end of one, has been read: what may follow it. */
static tn_json_kind value_ended(tn_json *json, tn_json_kind kind)
{
    json->state = json->after[json->depth];
    return json->kind = kind;
}

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

/* Pass one digit or more from *at on. */
static bool pass_digits(const tn_json *json, const char **at)
{
    if (!is_digit(peek(json, *at)))
        return false;
    while (is_digit(peek(json, *at)))
        ++*at;
    return true;
}

/* The value of digits that have no leading zero. False when it is more than UINT64_MAX. */
static bool to_uint(const char *digits, size_t size, uint64_t *out)
{
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++)
        if (tn_mul_overflows(value, 10, &value) || tn_add_overflows(value, (uint64_t)(digits[i] - '0'), &value))
            return false;
    *out = value;
    return true;
}

/* Pass what may follow the integer part: a fraction, an exponent. False with *at on the byte that is wrong. */
static bool pass_fraction(const tn_json *json, const char **at)
{
    if (peek(json, *at) == '.') {
        ++*at;
        if (!pass_digits(json, at))
            return false;
    }
    if (peek(json, *at) != 'e' && peek(json, *at) != 'E')
        return true;
    ++*at;
    if (peek(json, *at) == '+' || peek(json, *at) == '-')
        ++*at;
    return pass_digits(json, at);
}

static tn_json_kind read_number(tn_json *json)
{
    const char *begin = json->at, *at = begin;
    bool negative = peek(json, at) == '-';
    at += negative;
    const char *first = at;
    if (!pass_digits(json, &at))
        return refuse(json, at, "a digit is due here");
    if (at - first > 1 && *first == '0')
        return refuse(json, first + 1, "a digit behind a leading zero");
    const char *integer_end = at;
    if (!pass_fraction(json, &at))
        return refuse(json, at, "a digit is due here");
    json->text = begin;
    json->text_size = (size_t)(at - begin);
    json->at = at;
    uint64_t value;
    if (negative || at != integer_end || !to_uint(json->text, json->text_size, &value))
        return value_ended(json, TN_JSON_NUMBER);
    json->u = value;
    return value_ended(json, TN_JSON_UINT);
}

static tn_json_kind read_word(tn_json *json, const char *word, tn_json_kind kind)
{
    for (size_t i = 0; word[i]; i++)
        if (peek(json, json->at + i) != word[i])
            return refuse(json, json->at + i, "a word that is not true, false or null");
    json->at += strlen(word);
    return value_ended(json, kind);
}

static tn_json_kind begin_container(tn_json *json, bool object)
{
    if (json->depth == TN_JSON_DEPTH_MAX)
        return refuse(json, json->at, "objects and arrays nested too deep");
    tn_json_push(json, object);
    json->at++;
    json->state = TN_JSON_FIRST | (unsigned)object;
    return json->kind = object ? TN_JSON_OBJECT_BEGIN : TN_JSON_ARRAY_BEGIN;
}

static tn_json_kind end_container(tn_json *json)
{
    bool object = json->state & TN_JSON_IN_OBJECT;
    json->depth--;
    json->at++;
    return value_ended(json, object ? TN_JSON_OBJECT_END : TN_JSON_ARRAY_END);
}

static tn_json_kind read_value(tn_json *json)
{
    int c = peek(json, json->at);
    switch (c) {
    case '{':
    case '[':
        return begin_container(json, c == '{');
    case '"':
        return read_string(json) ? value_ended(json, TN_JSON_STRING) : TN_JSON_ERROR;
    case 't':
        return read_word(json, "true", TN_JSON_TRUE);
    case 'f':
        return read_word(json, "false", TN_JSON_FALSE);
    case 'n':
        return read_word(json, "null", TN_JSON_NULL);
    case -1:
        return refuse(json, json->at, "the JSON ends where a value is due");
    default:
        if (c == '-' || is_digit(c))
            return read_number(json);
        return refuse(json, json->at, "a value is due here");
    }
}

static tn_json_kind read_end(tn_json *json)
{
    if (json->at < json->end)
        return refuse(json, json->at, "something follows the end of the JSON");
    return json->kind = TN_JSON_END;
}

tn_json_kind tn_json_next_plain(tn_json *json)
{
    if (json->state == TN_JSON_FAILED)
        return TN_JSON_ERROR;
    pass_space(json);
    if (json->state == TN_JSON_DONE)
        return read_end(json);
    bool object = json->state & TN_JSON_IN_OBJECT;
    if (json->state & (TN_JSON_FIRST | TN_JSON_MORE) && peek(json, json->at) == (object ? '}' : ']'))
        return end_container(json);
    if (json->state & TN_JSON_MORE) {
        if (peek(json, json->at) != ',')
            return refuse(json, json->at, "a comma or the closing bracket is due here");
        json->at++;
        pass_space(json);
    }
    if (object && !(json->state & TN_JSON_VALUE))
        return read_key(json);
    return read_value(json);
}

bool tn_json_skip(tn_json *json)
{
    if (json->kind == TN_JSON_KEY)
        (void)tn_json_next(json);
    if (json->kind == TN_JSON_OBJECT_BEGIN || json->kind == TN_JSON_ARRAY_BEGIN)
        for (unsigned outside = json->depth - 1; json->depth > outside;)
            if (tn_json_next(json) == TN_JSON_ERROR)
                return false;
    return json->kind != TN_JSON_ERROR;
}

size_t tn_json_unescape(const char *raw, size_t size, char *out)
{
    const char *end = raw + size;
    char *to = out;
    while (raw < end) {
        size_t decoded = 1, taken = *raw == '\\' ? escape(raw, end, to, &decoded) : 0;
        if (taken == 0) {
            *to = *raw;
            taken = 1;
        }
        raw += taken;
        to += decoded;
    }
    return (size_t)(to - out);
}

tn_text tn_json_text_escaped(const tn_json *json, tn_arena *arena)
{
    char *bytes = tn_arena_take_bytes(arena, json->text_size + 1);
    if (!bytes)
        return (tn_text){NULL, 0};
    size_t size = tn_json_unescape(json->text, json->text_size, bytes);
    bytes[size] = '\0';
    return (tn_text){bytes, size};
}

bool tn_json_is_escaped(const tn_json *json, const char *literal)
{
    const char *raw = json->text, *end = raw + json->text_size, *wanted = literal + strlen(literal);
    while (raw < end) {
        char out[4] = {*raw};
        size_t decoded = 1, taken = *raw == '\\' ? escape(raw, end, out, &decoded) : 1;
        if ((size_t)(wanted - literal) < decoded || memcmp(literal, out, decoded) != 0)
            return false;
        raw += taken ? taken : 1;
        literal += decoded;
    }
    return literal == wanted;
}

tn_status tn_json_fail(const tn_json *json, uint64_t base, tn_error *err)
{
    bool failed = json->state == TN_JSON_FAILED;
    (void)tn_fail(err, TN_BAD_JSON, "%s", failed ? json->reason : "valid JSON, but not what belongs here");
    tn_error_at_offset(err, base + (failed ? json->failed_at : json->token_at));
    return TN_BAD_JSON;
}
