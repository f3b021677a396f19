/* JSON, read and written strictly.
 *
 * The reader pulls one token at a time out of bytes that stay where they are. RFC 8259 and nothing more: UTF-8 is
 * checked, no BOM, no comments, no NaN, no trailing commas, no lone surrogates, no control characters in strings.
 *   J1  No recursion; memory is constant: 1 byte a level, TN_JSON_DEPTH_MAX levels.
 *   J2  After a failure every further token is TN_JSON_ERROR, and the error (with its byte offset) is the first one.
 *   J3  Integers are exact: a number with no sign, fraction or exponent that fits uint64_t is TN_JSON_UINT.
 *   J4  A token is told once all of it is seen, so bytes behind it that are wrong fail the next call.
 * Duplicate keys are the caller's to report (the reader holds no keys): each reader of a format puts names into a
 * tn_map, or keeps a bit for each known key of a small object.
 */
#ifndef TN_CORE_JSON_H
#define TN_CORE_JSON_H

#include <string.h>

#include "core/arena.h"
#include "core/buffer.h"

#define TN_JSON_DEPTH_MAX 127 /* objects and arrays open at once, as serde_json, which safetensors uses */

typedef enum tn_json_kind {
    TN_JSON_ERROR = 0,
    TN_JSON_END, /* the document is complete and only white space followed */
    TN_JSON_OBJECT_BEGIN,
    TN_JSON_OBJECT_END,
    TN_JSON_ARRAY_BEGIN,
    TN_JSON_ARRAY_END,
    TN_JSON_KEY,    /* text as for a string; the colon is consumed */
    TN_JSON_STRING,
    TN_JSON_UINT,   /* json->u */
    TN_JSON_NUMBER, /* any other number: raw text; tn_json_double reads it */
    TN_JSON_TRUE,
    TN_JSON_FALSE,
    TN_JSON_NULL
} tn_json_kind;

/* The order of the fields keeps those of every token apart from each other: compilers join neighbours into one vector
 * store, which the next token would have to wait for. */
typedef struct tn_json {
    const char *bytes;
    const char *end;
    const char *at; /* the next byte to read */
    unsigned state; /* what may come next; the reader's own */
    tn_json_kind kind;
    size_t token_at; /* where the current token began */
    unsigned depth;
    bool escaped;
    /* KEY, STRING: the raw bytes between the quotes, `escaped` when a backslash is among them (tn_json_unescape).
     * NUMBER, UINT: the raw digits. */
    const char *text;
    uint64_t u;
    size_t text_size;
    size_t failed_at;
    const char *reason; /* why it failed, a constant; NULL while it has not */
    uint8_t after[TN_JSON_DEPTH_MAX + 1]; /* the state after a value of each level; 0 is outside of all */
} tn_json;

/* Start reading. The bytes must outlive the reader; NULL is accepted with size 0. Allocates nothing, ever. */
void tn_json_init(tn_json *json, const char *bytes, size_t size);
/* The next token; also in json->kind. */
static inline tn_json_kind tn_json_next(tn_json *json);
/* The same without the shortcuts of core/json_fast.h: what tn_json_next means, byte by byte. */
tn_json_kind tn_json_next_plain(tn_json *json);
/* Pass over the value that begins with the current token: a whole object or array, the value of a KEY, nothing more
 * for a scalar. The last token of the value is then the current one. False when the JSON is not valid. */
bool tn_json_skip(tn_json *json);
/* The current KEY or STRING without its escapes, into `arena` when it has any, else borrowed from the bytes (and then
 * without a NUL behind it). bytes == NULL when there is no memory. */
static inline tn_text tn_json_text(const tn_json *json, tn_arena *arena);
/* Decode raw string contents into `out`, which has room for `size` bytes (it never grows). Returns the size. */
size_t tn_json_unescape(const char *raw, size_t size, char *out);
/* True when the current KEY or STRING equals `literal`, escapes decoded. */
static inline bool tn_json_is(const tn_json *json, const char *literal);
/* The current number as a double: the nearest, as far as the C library's strtod gives it (glibc's is exact, mingw's may
 * miss by one place just below a power of two). Too great becomes infinity. The locale does not matter. */
double tn_json_double(const tn_json *json);
/* Turn the failure into TN_BAD_JSON with message and offset (base + failed_at). When the JSON has not failed, the
 * current token is named as one that does not belong where it stands. */
tn_status tn_json_fail(const tn_json *json, uint64_t base, tn_error *err);

/* The writer: builds one document in a buffer. Commas, quotes and escapes are its own; invalid UTF-8 cannot come out
 * (it becomes U+FFFD). Nesting is counted, not stored; misuse is an assertion. */
typedef struct tn_json_writer {
    tn_buffer *out;
    unsigned depth;
    bool comma;  /* a comma is due before the next value or key */
    bool keyed;  /* a key was written and its value is due */
} tn_json_writer;

void tn_json_writer_init(tn_json_writer *w, tn_buffer *out);
void tn_json_object(tn_json_writer *w);
void tn_json_object_end(tn_json_writer *w);
void tn_json_array(tn_json_writer *w);
void tn_json_array_end(tn_json_writer *w);
void tn_json_key(tn_json_writer *w, const char *key);
void tn_json_key_text(tn_json_writer *w, const char *key, size_t size);
void tn_json_string(tn_json_writer *w, const char *bytes, size_t size);
void tn_json_cstring(tn_json_writer *w, const char *text); /* NULL writes null */
void tn_json_uint(tn_json_writer *w, uint64_t value);
void tn_json_int(tn_json_writer *w, int64_t value);
void tn_json_number(tn_json_writer *w, double value); /* shortest that reads back; not finite writes null */
void tn_json_bool(tn_json_writer *w, bool value);
void tn_json_null(tn_json_writer *w);
/* A value that is JSON already (checked by an assertion in debug builds). */
void tn_json_raw(tn_json_writer *w, const char *json, size_t size);

/* The body of tn_json_next; and tn_json_look_*, for small objects whose keys nearly always come in one order. */
#include "core/json_fast.h"

#endif
