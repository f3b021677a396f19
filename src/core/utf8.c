/* UTF-8: checking it, mending it, and showing text from outside on a terminal. */
#include "core/utf8.h"

#include <assert.h>
#include <string.h>

/* ---- one character ---- */

/* What may follow a lead byte: how many continuation bytes, and the range of the first of them (the Unicode standard,
 * table 3-7: the narrower ranges keep out overlong forms, surrogates and what is over U+10FFFF). */
typedef struct form {
    unsigned continuations; /* 0: no lead byte */
    unsigned char first_low, first_high;
} form;

static form form_of(unsigned char lead)
{
    if (lead < 0xC2 || lead > 0xF4)
        return (form){0, 0, 0};
    if (lead < 0xE0)
        return (form){1, 0x80, 0xBF};
    if (lead < 0xF0)
        return (form){2, lead == 0xE0 ? 0xA0 : 0x80, lead == 0xED ? 0x9F : 0xBF};
    return (form){3, lead == 0xF0 ? 0x90 : 0x80, lead == 0xF4 ? 0x8F : 0xBF};
}

uint32_t tn_utf8_decode(const char *bytes, size_t size, size_t *length)
{
    assert(size > 0);
    unsigned char lead = (unsigned char)bytes[0];
    *length = 1;
    if (lead < 0x80)
        return lead;
    form f = form_of(lead);
    if (f.continuations == 0)
        return TN_UTF8_BAD;
    uint32_t code_point = lead & (0x3Fu >> f.continuations);
    unsigned char low = f.first_low, high = f.first_high;
    for (unsigned i = 1; i <= f.continuations; i++) {
        if (i == size)
            return TN_UTF8_BAD; /* cut short; *length is what there was of it */
        unsigned char byte = (unsigned char)bytes[i];
        if (byte < low || byte > high)
            return TN_UTF8_BAD;
        code_point = code_point << 6 | (byte & 0x3Fu);
        *length = i + 1;
        low = 0x80;
        high = 0xBF;
    }
    return code_point;
}

size_t tn_utf8_encode(uint32_t code_point, char out[4])
{
    static const unsigned char leads[] = {0, 0, 0xC0, 0xE0, 0xF0};
    assert(code_point <= 0x10FFFF && (code_point & 0xFFFFF800u) != 0xD800);
    size_t size = code_point < 0x80 ? 1 : code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
    for (size_t i = size; i-- > 1; code_point >>= 6)
        out[i] = (char)(unsigned char)(0x80 | (code_point & 0x3F));
    out[0] = (char)(unsigned char)(leads[size] | code_point);
    return size;
}

/* ---- whole texts ---- */

/* How many ASCII bytes a text begins with; nearly all of nearly every header. */
static size_t ascii_prefix(const char *bytes, size_t size)
{
    size_t at = 0;
    for (; size - at >= 16; at += 16) {
        uint64_t words[2];
        memcpy(words, bytes + at, sizeof words);
        if (((words[0] | words[1]) & UINT64_C(0x8080808080808080)) != 0)
            break;
    }
    while (at < size && (unsigned char)bytes[at] < 0x80)
        at++;
    return at;
}

size_t tn_utf8_valid_prefix(const char *bytes, size_t size)
{
    size_t at = 0;
    while (at < size) {
        at += ascii_prefix(bytes + at, size - at);
        size_t length;
        for (; at < size && (unsigned char)bytes[at] >= 0x80; at += length) {
            if (tn_utf8_decode(bytes + at, size - at, &length) == TN_UTF8_BAD)
                return at;
        }
    }
    return size;
}

void tn_utf8_append_valid(tn_buffer *out, const char *bytes, size_t size)
{
    while (size > 0) {
        size_t valid = tn_utf8_valid_prefix(bytes, size);
        tn_buffer_append(out, bytes, valid);
        bytes += valid;
        size -= valid;
        if (size == 0)
            return;
        size_t length;
        (void)tn_utf8_decode(bytes, size, &length);
        tn_buffer_append(out, "\xEF\xBF\xBD", 3); /* U+FFFD */
        bytes += length;
        size -= length;
    }
}

/* ---- showing ---- */

/* What a terminal acts upon or shows nothing for: controls, line and paragraph separators, bidirectional and other
 * format characters (category Cf but for the Arabic, Syriac and Kaithi signs, which are seen), and the rest of
 * Default_Ignorable_Code_Point, fillers and variation selectors, in which text can be hidden. Sorted. */
static const struct {
    uint32_t first, last;
} unseen[] = {
    {0x00, 0x1F},       {0x7F, 0x9F},       {0xAD, 0xAD},       {0x34F, 0x34F},     {0x61C, 0x61C},
    {0x115F, 0x1160},   {0x17B4, 0x17B5},   {0x180B, 0x180F},   {0x200B, 0x200F},   {0x2028, 0x202E},
    {0x2060, 0x206F},   {0x3164, 0x3164},   {0xFE00, 0xFE0F},   {0xFEFF, 0xFEFF},   {0xFFA0, 0xFFA0},
    {0xFFF0, 0xFFFB},   {0x13430, 0x1343F}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF},
};

static bool is_unseen(uint32_t code_point)
{
    for (size_t i = 0; i < sizeof unseen / sizeof unseen[0] && code_point >= unseen[i].first; i++) {
        if (code_point <= unseen[i].last)
            return true;
    }
    return false;
}

/* Bytes that are not UTF-8 stay told apart from characters: \xHH with two digits is a byte (or an ASCII control, which
 * is the same), \u{...} a character. */
static void append_escaped(tn_buffer *out, uint32_t code_point, const char *bytes, size_t length)
{
    if (code_point == '\n')
        tn_buffer_text(out, "\\n");
    else if (code_point == '\t')
        tn_buffer_text(out, "\\t");
    else if (code_point != TN_UTF8_BAD && code_point >= 0x80)
        tn_buffer_format(out, "\\u{%X}", (unsigned)code_point);
    else
        for (size_t i = 0; i < length; i++)
            tn_buffer_format(out, "\\x%02X", (unsigned)(unsigned char)bytes[i]);
}

void tn_utf8_append_shown(tn_buffer *out, const char *bytes, size_t size)
{
    size_t plain = 0; /* where what can be shown as it is begins */
    size_t length;
    for (size_t at = 0; at < size; at += length) {
        uint32_t code_point = tn_utf8_decode(bytes + at, size - at, &length);
        if (code_point != TN_UTF8_BAD && !is_unseen(code_point))
            continue;
        tn_buffer_append(out, bytes + plain, at - plain);
        append_escaped(out, code_point, bytes + at, length);
        plain = at + length;
    }
    tn_buffer_append(out, bytes + plain, size - plain);
}
