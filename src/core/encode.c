/* Hexadecimal, and sizes as people write them. */
#include "core/encode.h"

#include <stdio.h>

void tn_hex(const uint8_t *bytes, size_t size, char *out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < size; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[2 * size] = '\0';
}

/* ---- sizes ---- */

enum { FRACTION_DIGITS_MAX = 9 }; /* so that a fraction and its scale stay below 2^30 */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Digits into `value`; false when there are none or they do not fit. */
static bool parse_whole(const char **text, uint64_t *value)
{
    if (!is_digit(**text))
        return false;
    *value = 0;
    for (; is_digit(**text); (*text)++) {
        if (tn_mul_overflows(*value, 10, value) || tn_add_overflows(*value, (uint64_t)(**text - '0'), value))
            return false;
    }
    return true;
}

/* A point and its digits, if there is one, as digits / scale. */
static bool parse_fraction(const char **text, uint64_t *digits, uint64_t *scale)
{
    *digits = 0;
    *scale = 1;
    if (**text != '.')
        return true;
    (*text)++;
    unsigned count = 0;
    for (; is_digit(**text); (*text)++) {
        if (++count > FRACTION_DIGITS_MAX)
            return false;
        *digits = *digits * 10 + (uint64_t)(**text - '0');
        *scale *= 10;
    }
    return count > 0;
}

/* "", "B", "K", "KB", "KiB" and so on to E, to the end of the text. */
static bool parse_unit(const char *text, uint64_t *unit)
{
    static const char letters[] = "kmgtpe";
    *unit = 1;
    for (unsigned i = 0; letters[i] != '\0'; i++) {
        if (lower(*text) == letters[i])
            *unit = UINT64_C(1) << (10 * (i + 1));
    }
    if (*unit > 1) {
        text++;
        if (lower(text[0]) == 'i' && lower(text[1]) == 'b')
            text++;
    }
    if (lower(*text) == 'b')
        text++;
    return *text == '\0';
}

bool tn_size_parse(const char *text, uint64_t *out)
{
    uint64_t whole, digits, scale, unit, size;
    if (!parse_whole(&text, &whole) || !parse_fraction(&text, &digits, &scale) || !parse_unit(text, &unit))
        return false;
    if (unit == 1 && scale > 1)
        return false; /* there is no half byte */
    /* unit * digits / scale, rounded down, without a product that does not fit */
    uint64_t part = unit / scale * digits + unit % scale * digits / scale;
    if (tn_mul_overflows(whole, unit, &size) || tn_add_overflows(size, part, &size))
        return false;
    *out = size;
    return true;
}

void tn_size_show(uint64_t bytes, char out[16])
{
    static const char *const units[] = {"KB", "MB", "GB", "TB", "PB", "EB"};
    enum { LAST = sizeof units / sizeof units[0] - 1 };
    if (bytes < 1000) {
        (void)snprintf(out, 16, "%u B", (unsigned)bytes);
        return;
    }
    uint64_t tenth = 100; /* of the unit, in bytes */
    for (unsigned i = 0;; i++, tenth *= 1000) {
        uint64_t tenths = bytes / tenth + (bytes % tenth >= tenth / 2 ? 1 : 0);
        if (tenths < 10000 || i == LAST) {
            (void)snprintf(out, 16, "%u.%u %s", (unsigned)(tenths / 10), (unsigned)(tenths % 10), units[i]);
            return;
        }
    }
}
