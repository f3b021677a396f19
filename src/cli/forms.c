/* How the command says numbers, sizes, times and long texts (cli/cli.h). */
#include <string.h>

#include "cli/cli.h"
#include "core/encode.h"
#include "core/utf8.h"

#define ELLIPSIS "\xe2\x80\xa6" /* U+2026, one column */
#define SECOND ((uint64_t)1000000000)

void tn_count_append(tn_buffer *out, uint64_t count)
{
    char digits[32];
    int size = snprintf(digits, sizeof digits, "%llu", (unsigned long long)count);
    for (int i = 0; i < size; i++) {
        if (i > 0 && (size - i) % 3 == 0)
            tn_buffer_text(out, ",");
        tn_buffer_append(out, &digits[i], 1);
    }
}

void tn_plural_append(tn_buffer *out, uint64_t count, const char *one, const char *many)
{
    tn_count_append(out, count);
    tn_buffer_format(out, " %s", count == 1 ? one : many);
}

void tn_size_append(tn_buffer *out, uint64_t bytes)
{
    char text[16];
    tn_size_show(bytes, text);
    tn_buffer_text(out, text);
}

void tn_duration_append(tn_buffer *out, uint64_t ns)
{
    uint64_t seconds = ns / SECOND;
    if (ns < SECOND / 10)
        tn_buffer_format(out, "%.2f s", (double)ns / 1e9);
    else if (seconds < 10)
        tn_buffer_format(out, "%.1f s", (double)ns / 1e9);
    else if (seconds < 100)
        tn_buffer_format(out, "%llu s", (unsigned long long)seconds);
    else if (seconds < 7200)
        tn_buffer_format(out, "%llu min %llu s", (unsigned long long)(seconds / 60),
                         (unsigned long long)(seconds % 60));
    else
        tn_buffer_format(out, "%llu h %llu min", (unsigned long long)(seconds / 3600),
                         (unsigned long long)(seconds / 60 % 60));
}

/* Bytes of the code point that begins with `lead`, in valid UTF-8. */
static size_t point_bytes(char lead)
{
    unsigned char byte = (unsigned char)lead;
    return byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

/* How many bytes of `text` take at most `columns`. */
static size_t fitting(const char *text, size_t size, size_t columns)
{
    size_t at = 0, used = 0;
    while (at < size) {
        size_t bytes = point_bytes(text[at]);
        if (bytes > size - at)
            break;
        used += tn_utf8_columns(text + at, bytes);
        if (used > columns)
            break;
        at += bytes;
    }
    return at;
}

void tn_fit_append(tn_buffer *out, const char *text, size_t size, size_t columns, bool keep_end)
{
    size_t wide = tn_utf8_columns(text, size);
    if (wide <= columns) {
        tn_buffer_append(out, text, size);
        return;
    }
    if (columns == 0)
        return;
    if (!keep_end) {
        tn_buffer_append(out, text, fitting(text, size, columns - 1));
        tn_buffer_text(out, ELLIPSIS);
        return;
    }
    size_t dropped = fitting(text, size, wide - (columns - 1));
    while (dropped < size && tn_utf8_columns(text + dropped, size - dropped) > columns - 1)
        dropped += point_bytes(text[dropped]);
    tn_buffer_text(out, ELLIPSIS);
    tn_buffer_append(out, text + dropped, size - dropped);
}

tn_text tn_base_name(tn_text path)
{
    char separator = path.size && memchr(path.bytes, '/', path.size) ? '/' : '\\';
    size_t end = path.size;
    while (end > 1 && path.bytes[end - 1] == separator)
        end--;
    size_t start = end;
    while (start > 0 && path.bytes[start - 1] != separator)
        start--;
    return (tn_text){path.bytes + start, end - start};
}

tn_text tn_text_of(const char *text)
{
    return text ? (tn_text){text, strlen(text)} : (tn_text){"", 0};
}

bool tn_cli_text_is(tn_text text, const char *literal)
{
    return text.size == strlen(literal) && memcmp(text.bytes, literal, text.size) == 0;
}
