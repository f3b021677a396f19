/* Standard base64 (RFC 4648, section 4). Decoding refuses what encoding would not have written: other letters, white
 * space, padding that is missing or stands elsewhere, and bits set that no byte uses. */
#include "core/encode.h"

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Four letters for one to three bytes. */
static void encode_group(const uint8_t *bytes, size_t count, char out[4])
{
    uint32_t bits = (uint32_t)bytes[0] << 16;
    if (count > 1)
        bits |= (uint32_t)bytes[1] << 8;
    if (count > 2)
        bits |= bytes[2];
    out[0] = letters[bits >> 18];
    out[1] = letters[bits >> 12 & 63];
    out[2] = letters[bits >> 6 & 63];
    out[3] = letters[bits & 63];
    if (count < 3)
        out[3] = '=';
    if (count < 2)
        out[2] = '=';
}

void tn_base64_append(tn_buffer *out, const void *bytes, size_t size)
{
    const uint8_t *from = bytes;
    if (size == 0)
        return;
    uint64_t encoded;
    if (tn_mul_overflows((size - 1) / 3 + 1, 4, &encoded) || encoded > SIZE_MAX)
        encoded = SIZE_MAX; /* over any buffer's maximum, which tells it */
    char *to = tn_buffer_reserve(out, (size_t)encoded);
    if (to == NULL)
        return;
    for (size_t i = 0; i < size; i += 3, to += 4)
        encode_group(from + i, size - i < 3 ? size - i : 3, to);
    out->size += (size_t)encoded;
}

static int value_of(char letter)
{
    if (letter >= 'A' && letter <= 'Z')
        return letter - 'A';
    if (letter >= 'a' && letter <= 'z')
        return letter - 'a' + 26;
    if (letter >= '0' && letter <= '9')
        return letter - '0' + 52;
    if (letter == '+')
        return 62;
    return letter == '/' ? 63 : -1;
}

/* `count` bytes, one to three, out of count + 1 letters. */
static bool decode_group(const char *text, size_t count, char *out)
{
    uint32_t bits = 0;
    for (size_t i = 0; i < 4; i++) {
        int value = i <= count ? value_of(text[i]) : 0;
        if (value < 0)
            return false;
        bits = bits << 6 | (uint32_t)value;
    }
    for (size_t i = 0; i < count; i++)
        out[i] = (char)(uint8_t)(bits >> (16 - 8 * i));
    return (bits & ((UINT32_C(1) << (24 - 8 * count)) - 1)) == 0; /* bits that no byte uses */
}

bool tn_base64_decode(const char *text, size_t size, tn_buffer *out)
{
    if (size % 4 != 0)
        return false;
    if (size == 0)
        return true;
    size_t padding = 0;
    while (padding < 2 && text[size - 1 - padding] == '=')
        padding++;
    size_t decoded = size / 4 * 3 - padding;
    char *to = tn_buffer_reserve(out, decoded);
    if (to == NULL)
        return false;
    for (size_t done = 0; done < decoded; done += 3, text += 4) {
        if (!decode_group(text, decoded - done < 3 ? decoded - done : 3, to + done))
            return false;
    }
    out->size += decoded;
    return true;
}
