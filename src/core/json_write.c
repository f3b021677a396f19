/* The writer: one JSON document into a buffer.
 *
 *   W1  What comes out is valid JSON and valid UTF-8, whatever bytes came in, when the calls were well formed.
 *   W2  A buffer that fails stays failed, and is asked once, at the end.
 */
#include <assert.h>
#include <float.h>
#include <inttypes.h>

#include "core/json.h"
#include "core/json_number.h"
#include "core/utf8.h"

void tn_json_writer_init(tn_json_writer *w, tn_buffer *out)
{
    *w = (tn_json_writer){.out = out};
}

/* What stands before a value or a key: a comma, or nothing. */
static void begin_item(tn_json_writer *w)
{
    if (w->comma && !w->keyed) {
        assert(w->depth > 0);
        tn_buffer_append(w->out, ",", 1);
    }
}

static void end_value(tn_json_writer *w)
{
    w->keyed = false;
    w->comma = true;
}

static void begin_container(tn_json_writer *w, const char *bracket)
{
    begin_item(w);
    tn_buffer_append(w->out, bracket, 1);
    w->depth++;
    w->keyed = false;
    w->comma = false;
}

static void end_container(tn_json_writer *w, const char *bracket)
{
    assert(w->depth > 0 && !w->keyed);
    w->depth--;
    tn_buffer_append(w->out, bracket, 1);
    end_value(w);
}

void tn_json_object(tn_json_writer *w)
{
    begin_container(w, "{");
}

void tn_json_object_end(tn_json_writer *w)
{
    end_container(w, "}");
}

void tn_json_array(tn_json_writer *w)
{
    begin_container(w, "[");
}

void tn_json_array_end(tn_json_writer *w)
{
    end_container(w, "]");
}

/* One byte that may not stand for itself: a quote, a backslash or a control character. */
static void put_escape(tn_buffer *out, char c)
{
    static const char plain[] = "\"\\\b\f\n\r\t", named[] = "\"\\bfnrt";
    const char *at = memchr(plain, c, sizeof plain - 1);
    if (at) {
        char pair[2] = {'\\', named[at - plain]};
        tn_buffer_append(out, pair, 2);
    } else {
        tn_buffer_format(out, "\\u%04x", (unsigned)(unsigned char)c);
    }
}

static void put_string(tn_buffer *out, const char *at, size_t size)
{
    const char *end = at + size;
    tn_buffer_append(out, "\"", 1);
    while (at < end) {
        const char *run = at;
        at = tn_json_scan(at, end);
        tn_buffer_append(out, run, (size_t)(at - run));
        for (run = at; at < end && (unsigned char)*at >= 0x80;)
            at++;
        tn_utf8_append_valid(out, run, (size_t)(at - run));
        if (at < end && !tn_json_is_plain(*at))
            put_escape(out, *at++);
    }
    tn_buffer_append(out, "\"", 1);
}

void tn_json_key_text(tn_json_writer *w, const char *key, size_t size)
{
    assert(w->depth > 0 && !w->keyed);
    begin_item(w);
    put_string(w->out, size ? key : "", size);
    tn_buffer_append(w->out, ":", 1);
    w->keyed = true;
}

void tn_json_key(tn_json_writer *w, const char *key)
{
    tn_json_key_text(w, key, strlen(key));
}

void tn_json_string(tn_json_writer *w, const char *bytes, size_t size)
{
    begin_item(w);
    put_string(w->out, size ? bytes : "", size);
    end_value(w);
}

void tn_json_cstring(tn_json_writer *w, const char *text)
{
    if (text)
        tn_json_string(w, text, strlen(text));
    else
        tn_json_null(w);
}

/* A value that is known to be JSON. */
static void put_value(tn_json_writer *w, const char *json, size_t size)
{
    begin_item(w);
    tn_buffer_append(w->out, json, size);
    end_value(w);
}

void tn_json_uint(tn_json_writer *w, uint64_t value)
{
    char digits[20];
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + value % 10);
    while (value /= 10);
    put_value(w, digits + at, sizeof digits - at);
}

void tn_json_int(tn_json_writer *w, int64_t value)
{
    if (value >= 0) {
        tn_json_uint(w, (uint64_t)value);
        return;
    }
    begin_item(w);
    tn_buffer_format(w->out, "%" PRId64, value);
    end_value(w);
}

void tn_json_number(tn_json_writer *w, double value)
{
    char text[TN_JSON_NUMBER_ROOM];
    if (value >= -DBL_MAX && value <= DBL_MAX)
        put_value(w, text, tn_json_number_text(value, text));
    else
        tn_json_null(w);
}

void tn_json_bool(tn_json_writer *w, bool value)
{
    if (value)
        put_value(w, "true", 4);
    else
        put_value(w, "false", 5);
}

void tn_json_null(tn_json_writer *w)
{
    put_value(w, "null", 4);
}

#ifndef NDEBUG
static bool is_json(const char *bytes, size_t size)
{
    tn_json json;
    tn_json_init(&json, bytes, size);
    (void)tn_json_next(&json);
    return tn_json_skip(&json) && tn_json_next(&json) == TN_JSON_END;
}
#endif

void tn_json_raw(tn_json_writer *w, const char *json, size_t size)
{
    assert(is_json(json, size));
    put_value(w, json, size);
}
