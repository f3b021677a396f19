/* Case folding by ranges, as CaseFolding.txt of Unicode 15 has them (status C and S). */
#include "core/fold.h"

#include <string.h>

#include "core/utf8.h"

/* Capitals from `first` to `last`: all of them `shift` below their small letters, or (shift 1) in pairs of which the one
 * with the parity of `first` is the capital. */
typedef struct fold_range {
    uint32_t first, last;
    int32_t shift;
    bool pairs;
} fold_range;

static const fold_range ranges[] = {
    {0x41, 0x5A, 32, false},      {0xC0, 0xD6, 32, false},      {0xD8, 0xDE, 32, false},     {0x100, 0x12E, 1, true},
    {0x132, 0x136, 1, true},      {0x139, 0x147, 1, true},      {0x14A, 0x176, 1, true},     {0x178, 0x178, -121, false},
    {0x179, 0x17D, 1, true},      {0x17F, 0x17F, -268, false},  {0x1A0, 0x1A4, 1, true},
    {0x1AF, 0x1AF, 1, false},     {0x1CD, 0x1DB, 1, true},     {0x1DE, 0x1EE, 1, true},
    {0x1F8, 0x21E, 1, true},      {0x222, 0x232, 1, true},      {0x386, 0x386, 38, false},   {0x388, 0x38A, 37, false},
    {0x38C, 0x38C, 64, false},    {0x38E, 0x38F, 63, false},    {0x391, 0x3A1, 32, false},   {0x3A3, 0x3AB, 32, false},
    {0x3C2, 0x3C2, 1, false},     {0x400, 0x40F, 80, false},    {0x410, 0x42F, 32, false},   {0x460, 0x480, 1, true},
    {0x48A, 0x4BE, 1, true},      {0x4C1, 0x4CD, 1, true},      {0x4D0, 0x52E, 1, true},     {0x1E00, 0x1E94, 1, true},
    {0x1EA0, 0x1EFE, 1, true},    {0xFF21, 0xFF3A, 32, false},
};

uint32_t tn_fold_point(uint32_t point)
{
    if (point < 0x80)
        return point >= 'A' && point <= 'Z' ? point + 32 : point;
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0] && point >= ranges[i].first; i++) {
        const fold_range *range = &ranges[i];
        if (point <= range->last && (!range->pairs || (point - range->first) % 2 == 0))
            return (uint32_t)((int32_t)point + range->shift);
    }
    return point;
}

#define EACH(byte) ((uint64_t)0x0101010101010101u * (byte))

/* Eight bytes at once where all are ASCII: adding 128 - 'A' sets a byte's top bit from 'A' on, adding 127 - 'Z' behind 'Z'. */
static bool fold_eight(char *out, const char *bytes)
{
    uint64_t eight;
    memcpy(&eight, bytes, sizeof eight);
    if ((eight & EACH(0x80)) != 0)
        return false;
    uint64_t capitals = ((eight + EACH(0x80 - 'A')) ^ (eight + EACH(0x7F - 'Z'))) & EACH(0x80);
    eight |= capitals >> 2; /* 0x20 apart */
    memcpy(out, &eight, sizeof eight);
    return true;
}

void tn_fold_append(tn_buffer *out, const char *bytes, size_t size)
{
    char *room = tn_buffer_reserve(out, size + 8); /* folding makes no character of these ranges longer */
    for (size_t at = 0; room != NULL && at < size;) {
        size_t length;
        if (size - at >= 8 && fold_eight(out->bytes + out->size, bytes + at)) { /* nearly all of it is */
            out->size += 8;
            at += 8;
            continue;
        }
        if ((unsigned char)bytes[at] < 0x80) {
            char c = bytes[at++];
            out->bytes[out->size++] = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
            continue;
        }
        uint32_t point = tn_utf8_decode(bytes + at, size - at, &length);
        if (point == TN_UTF8_BAD)
            memcpy(out->bytes + out->size, bytes + at, length);
        else
            out->size -= length - tn_utf8_encode(tn_fold_point(point), out->bytes + out->size);
        out->size += length;
        at += length;
    }
    if (room != NULL)
        out->bytes[out->size] = '\0';
}

/* The folded character at *at, which moves behind it. Bytes that are no UTF-8 are told apart from every character. */
static uint32_t next_folded(tn_text text, size_t *at)
{
    size_t length;
    uint32_t point = tn_utf8_decode(text.bytes + *at, text.size - *at, &length);
    if (point == TN_UTF8_BAD) {
        length = 1;
        point = 0x80000000u + (unsigned char)text.bytes[*at];
    }
    *at += length;
    return tn_fold_point(point);
}

bool tn_fold_equal(tn_text a, tn_text b)
{
    size_t i = 0, j = 0;
    while (i < a.size && j < b.size)
        if (next_folded(a, &i) != next_folded(b, &j))
            return false;
    return i == a.size && j == b.size;
}

size_t tn_fold_points(const char *bytes, size_t size)
{
    size_t count = 0, length;
    for (size_t at = 0; at < size; at += length, count++)
        tn_utf8_decode(bytes + at, size - at, &length);
    return count;
}
