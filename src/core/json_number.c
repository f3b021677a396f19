/* Doubles as JSON numbers, both ways, whatever the locale's decimal point is.
 *
 * The C library does the rounding. It is given, and asked for, digits and an exponent alone, never a fraction, because
 * strtod and printf follow the locale there and the locale belongs to the program that Tenure is part of. */
#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/json.h"
#include "core/json_number.h"

/* The exact value of any midpoint between two doubles has no more significant digits than this (767), so of digits
 * beyond it matters only whether one is not zero. */
#define DIGITS_MAX 768
#define EXPONENT_READ_MAX INT64_C(1000000000000000) /* as far as an exponent is read: no text has so many digits */
#define EXPONENT_MAX 100000 /* with any DIGITS_MAX digits, ten to this power is infinite, to its negative zero */

/* A number taken apart: `digits` times ten to the power of `exponent`. */
typedef struct decimal {
    char digits[DIGITS_MAX + 1];
    size_t count;
    int64_t exponent;
} decimal;

static void add_digit(decimal *d, char digit, bool fraction)
{
    if (d->count == 0 && digit == '0') {
        d->exponent -= fraction;
        return;
    }
    if (d->count < DIGITS_MAX) {
        d->digits[d->count++] = digit;
        d->exponent -= fraction;
        return;
    }
    d->exponent += !fraction;
    if (digit != '0')
        d->digits[DIGITS_MAX] = '1';
}

static int64_t read_exponent(const char *at, const char *end)
{
    bool negative = *at == '-';
    int64_t value = 0;
    for (at += negative || *at == '+'; at < end; at++)
        if (value < EXPONENT_READ_MAX)
            value = value * 10 + (*at - '0');
    return negative ? -value : value;
}

static double to_double(decimal *d)
{
    if (d->count == 0)
        return 0;
    bool sticky = d->digits[DIGITS_MAX] != '\0';
    if (sticky) {
        d->count++;
        d->exponent--;
    }
    int64_t exponent = d->exponent;
    exponent = exponent > EXPONENT_MAX ? EXPONENT_MAX : exponent < -EXPONENT_MAX ? -EXPONENT_MAX : exponent;
    char text[DIGITS_MAX + 32];
    (void)snprintf(text, sizeof text, "%.*se%lld", (int)d->count, d->digits, (long long)exponent);
    return strtod(text, NULL);
}

double tn_json_double(const tn_json *json)
{
    const char *at = json->text, *end = at + json->text_size;
    bool negative = at < end && *at == '-', fraction = false;
    decimal d = {.count = 0};
    for (at += negative; at < end && *at != 'e' && *at != 'E'; at++) {
        if (*at == '.')
            fraction = true;
        else
            add_digit(&d, *at, fraction);
    }
    if (end - at > 1)
        d.exponent += read_exponent(at + 1, end);
    double value = to_double(&d);
    return negative ? -value : value;
}

/* The digits of a number, as in 0.digits times ten to the power of `point`. */
typedef struct shown {
    char digits[DBL_DECIMAL_DIG];
    int count, point;
} shown;

static void round_to(double value, int precision, shown *out)
{
    char text[64];
    (void)snprintf(text, sizeof text, "%.*e", precision - 1, value);
    out->count = 0;
    const char *at = text;
    for (; *at && *at != 'e'; at++)
        if (tn_json_is_digit(*at))
            out->digits[out->count++] = *at;
    out->point = 1 + (int)strtol(at + 1, NULL, 10);
}

/* The next greater number of as many digits. */
static void step_up(shown *s)
{
    int at = s->count - 1;
    while (at >= 0 && s->digits[at] == '9')
        s->digits[at--] = '0';
    if (at >= 0) {
        s->digits[at]++;
    } else {
        s->digits[0] = '1';
        s->point++;
    }
}

static bool reads_back(const shown *s, double value)
{
    char text[64];
    (void)snprintf(text, sizeof text, "%.*se%d", s->count, s->digits, s->point - s->count);
    return strtod(text, NULL) == value;
}

/* The fewest digits that read back as `value`, which is finite and more than zero. */
static void shortest(double value, shown *out)
{
    /* Up to DBL_DIG digits survive a double of full precision, so there the first try finds any shorter form too. */
    for (int precision = value < DBL_MIN ? 1 : DBL_DIG; precision <= DBL_DECIMAL_DIG; precision++) {
        round_to(value, precision, out);
        if (reads_back(out, value))
            break;
        /* Below a power of two doubles lie closer than above: the nearest may miss where the next one up does not. */
        step_up(out);
        if (reads_back(out, value))
            break;
    }
    while (out->count > 1 && out->digits[out->count - 1] == '0')
        out->count--;
}

static char *put(char *out, const char *digits, int count)
{
    memcpy(out, digits, (size_t)count);
    return out + count;
}

static char *put_zeros(char *out, int count)
{
    memset(out, '0', (size_t)count);
    return out + count;
}

/* The layout of ECMA-262, Number::toString: plain up to 21 digits before the point and 6 zeros behind it. Returns
 * where it ends. */
static char *lay_out(const shown *s, char *out)
{
    int whole = s->point < s->count ? s->point : s->count;
    if (s->point > 21 || s->point <= -6) {
        out = put(out, s->digits, 1);
        if (s->count > 1)
            out = put(put(out, ".", 1), s->digits + 1, s->count - 1);
        return out + snprintf(out, 8, "e%+d", s->point - 1);
    }
    if (s->point <= 0)
        return put(put_zeros(put(out, "0.", 2), -s->point), s->digits, s->count);
    out = put(out, s->digits, whole);
    if (whole == s->count)
        return put_zeros(out, s->point - s->count);
    return put(put(out, ".", 1), s->digits + whole, s->count - whole);
}

size_t tn_json_number_text(double value, char out[TN_JSON_NUMBER_ROOM])
{
    assert(value >= -DBL_MAX && value <= DBL_MAX);
    char *at = out;
    if (copysign(1, value) < 0) {
        *at++ = '-';
        value = -value;
    }
    shown s = {.digits = "0", .count = 1, .point = 1};
    if (value > 0)
        shortest(value, &s);
    return (size_t)(lay_out(&s, at) - out);
}
