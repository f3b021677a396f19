/* WTF-8 and back. What it promises stands in os_wtf8.h. */
#include "os/os_wtf8.h"

#include <stdbool.h>

static bool is_high(uint32_t unit)
{
    return unit >= 0xd800 && unit <= 0xdbff;
}

static bool is_low(uint32_t unit)
{
    return unit >= 0xdc00 && unit <= 0xdfff;
}

/* How many bytes the sequence that `first` begins has; 0 when it begins none. */
static unsigned length_of(unsigned char first)
{
    if (first < 0x80)
        return 1;
    if (first >= 0xc2 && first <= 0xdf)
        return 2;
    if ((first & 0xf0) == 0xe0)
        return 3;
    return first >= 0xf0 && first <= 0xf4 ? 4 : 0;
}

/* One code point, surrogates among them. Returns its bytes, 0 when there is none. */
static unsigned decode(const unsigned char *bytes, size_t size, uint32_t *out)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    static const unsigned char head[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    unsigned length = length_of(bytes[0]);
    if (length == 0 || length > size)
        return 0;
    uint32_t value = bytes[0] & head[length];
    for (unsigned i = 1; i < length; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (bytes[i] & 0x3f);
    }
    if (value < least[length] || value > 0x10ffff)
        return 0;
    *out = value;
    return length;
}

size_t tn_os_utf16_from_wtf8(const char *bytes, size_t size, uint16_t *out, size_t room)
{
    size_t count = 0;
    uint32_t before = 0;
    for (size_t at = 0; at < size;) {
        uint32_t point;
        unsigned length = decode((const unsigned char *)bytes + at, size - at, &point);
        if (length == 0 || (is_high(before) && is_low(point)))
            return SIZE_MAX;
        uint16_t units[2] = {(uint16_t)point, 0};
        unsigned needed = 1;
        if (point >= 0x10000) {
            units[0] = (uint16_t)(0xd800 + ((point - 0x10000) >> 10));
            units[1] = (uint16_t)(0xdc00 + ((point - 0x10000) & 0x3ff));
            needed = 2;
        }
        for (unsigned i = 0; i < needed; i++, count++) {
            if (count < room)
                out[count] = units[i];
        }
        before = point;
        at += length;
    }
    return count;
}

static unsigned encode(uint32_t point, char out[4])
{
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    unsigned length = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    static const unsigned char head[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (unsigned i = length - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (point & 0x3f));
        point >>= 6;
    }
    out[0] = (char)(head[length] | point);
    return length;
}

size_t tn_os_wtf8_from_utf16(const uint16_t *units, size_t count, char *out, size_t room)
{
    size_t size = 0;
    for (size_t at = 0; at < count;) {
        uint32_t point = units[at++];
        if (is_high(point) && at < count && is_low(units[at]))
            point = 0x10000 + ((point - 0xd800) << 10) + (units[at++] - 0xdc00u);
        char bytes[4];
        unsigned length = encode(point, bytes);
        for (unsigned i = 0; i < length; i++, size++) {
            if (size < room)
                out[size] = bytes[i];
        }
    }
    return size;
}
