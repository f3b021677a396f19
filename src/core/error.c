/* Filling the caller's tn_error. Whatever comes in, what stands in it is valid UTF-8 without NULs, and ends with a
 * NUL; what does not fit is cut between characters. */
#include "core/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/utf8.h"

static const char cut[] = "...";
enum { CUT_SIZE = sizeof cut - 1 };

/* One character of a text from outside, as it will stand in a field. */
typedef struct piece {
    char bytes[4];
    size_t size;
} piece;

/* A NUL would hide what follows it, so it is replaced like bytes that are not UTF-8. */
static piece next_piece(const char *bytes, size_t size, size_t *at)
{
    size_t length;
    uint32_t code_point = tn_utf8_decode(bytes + *at, size - *at, &length);
    if (code_point == TN_UTF8_BAD || code_point == 0)
        code_point = 0xFFFD;
    *at += length;
    piece p;
    p.size = tn_utf8_encode(code_point, p.bytes);
    return p;
}

/* Append whole pieces from `*at` on while they fit into `room`; returns how many bytes were written. */
static size_t fill(char *out, size_t room, const char *bytes, size_t size, size_t *at)
{
    size_t written = 0;
    while (*at < size) {
        size_t next = *at;
        piece p = next_piece(bytes, size, &next);
        if (p.size > room - written)
            break;
        memcpy(out + written, p.bytes, p.size);
        written += p.size;
        *at = next;
    }
    return written;
}

/* The text as far as it fits; "..." at its end when it does not, or when it was cut before it came here. */
static void keep_start(char *field, size_t field_size, const char *bytes, size_t size, bool cut_already)
{
    size_t at = 0;
    size_t written = cut_already ? 0 : fill(field, field_size - 1, bytes, size, &at);
    if (cut_already || at < size) {
        at = 0;
        written = fill(field, field_size - 1 - CUT_SIZE, bytes, size, &at);
        memcpy(field + written, cut, CUT_SIZE);
        written += CUT_SIZE;
    }
    field[written] = '\0';
}

static size_t mended_size(const char *bytes, size_t size)
{
    size_t at = 0, total = 0;
    while (at < size)
        total += next_piece(bytes, size, &at).size;
    return total;
}

/* The text, or "..." and as much of its end as fits. */
static void keep_end(char *field, size_t field_size, const char *bytes, size_t size)
{
    size_t at = 0, written = 0;
    size_t left = mended_size(bytes, size);
    if (left > field_size - 1) {
        while (left > field_size - 1 - CUT_SIZE)
            left -= next_piece(bytes, size, &at).size;
        memcpy(field, cut, CUT_SIZE);
        written = CUT_SIZE;
    }
    written += fill(field + written, field_size - 1 - written, bytes, size, &at);
    field[written] = '\0';
}

tn_status tn_fail(tn_error *err, tn_status status, const char *format, ...)
{
    if (err == NULL)
        return status;
    char text[sizeof err->message]; /* the arguments may point into err */
    va_list arguments;
    va_start(arguments, format);
    int printed = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    err->status = status;
    err->offset = err->expected = err->found = TN_NONE;
    err->file[0] = err->tensor[0] = '\0';
    if (printed < 0) {
        const char *plain = tn_status_text(status);
        keep_start(err->message, sizeof err->message, plain, strlen(plain), false);
        return status;
    }
    bool was_cut = (size_t)printed >= sizeof text;
    keep_start(err->message, sizeof err->message, text, was_cut ? sizeof text - 1 : (size_t)printed, was_cut);
    return status;
}

tn_status tn_fail_as(const tn_error *found, tn_error *err)
{
    if (err != NULL)
        *err = *found;
    return found->status;
}

void tn_error_at_file(tn_error *err, const char *path)
{
    if (err != NULL)
        keep_end(err->file, sizeof err->file, path, strlen(path));
}

void tn_error_at_tensor(tn_error *err, const char *name, size_t size)
{
    if (err != NULL)
        keep_start(err->tensor, sizeof err->tensor, name, size, false);
}

void tn_error_at_offset(tn_error *err, uint64_t offset)
{
    if (err != NULL)
        err->offset = offset;
}

void tn_error_amounts(tn_error *err, uint64_t expected, uint64_t found)
{
    if (err == NULL)
        return;
    err->expected = expected;
    err->found = found;
}
