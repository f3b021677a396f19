/* What a zip archive holds, by the names of its entries: those of local headers in the first bytes and of the central
 * directory in the last ones. Nothing is unpacked and no size is believed; a name is looked at where its header's
 * signature stands. */
#include <string.h>

#include "format/sniff.h"

#define LOCAL_HEADER_BYTES 30u
#define CENTRAL_HEADER_BYTES 46u

enum { HOLDS_PICKLE = 1, HOLDS_SCRIPT = 2, HOLDS_NUMPY = 4 };

static bool ends(const char *name, size_t size, const char *suffix)
{
    size_t want = strlen(suffix);
    return size >= want && memcmp(name + size - want, suffix, want) == 0;
}

/* What an entry of this name says. The root is whatever stands before the first slash. */
static unsigned meaning_of(const char *name, size_t size)
{
    if (ends(name, size, ".npy"))
        return HOLDS_NUMPY;
    const char *slash = memchr(name, '/', size);
    if (slash == NULL || slash == name)
        return 0;
    const char *rest = slash + 1;
    size_t left = size - (size_t)(rest - name);
    if (left == 8 && memcmp(rest, "data.pkl", 8) == 0)
        return HOLDS_PICKLE;
    if (left == 13 && memcmp(rest, "constants.pkl", 13) == 0)
        return HOLDS_SCRIPT;
    if (left == 14 && memcmp(rest, "attributes.pkl", 14) == 0)
        return HOLDS_SCRIPT;
    return left > 5 && memcmp(rest, "code/", 5) == 0 ? HOLDS_SCRIPT : 0;
}

/* Headers of one kind in the bytes: `signature` begins them, the length of the name stands at `length_at`. */
static unsigned look(const uint8_t *bytes, size_t size, const char *signature, size_t length_at, size_t header)
{
    unsigned found = 0;
    const uint8_t *at = bytes, *end = bytes + size;
    while (size >= header && at < end && (size_t)(end - at) >= header) {
        at = memchr(at, 'P', (size_t)(end - at) - header + 1);
        if (at == NULL)
            break;
        size_t name = (size_t)at[length_at] | (size_t)at[length_at + 1] << 8;
        if (memcmp(at, signature, 4) == 0 && name <= (size_t)(end - at) - header)
            found |= meaning_of((const char *)at + header, name);
        at++;
    }
    return found;
}

tn_container tn_sniff_zip(const tn_sample *s)
{
    unsigned found = look(s->head, s->head_size, "PK\x03\x04", 26, LOCAL_HEADER_BYTES) |
                     look(s->tail, s->tail_size, "PK\x01\x02", 28, CENTRAL_HEADER_BYTES);
    if ((found & HOLDS_SCRIPT) != 0)
        return TN_CONTAINER_TORCHSCRIPT;
    if ((found & HOLDS_PICKLE) != 0)
        return TN_CONTAINER_TORCH_ZIP;
    return (found & HOLDS_NUMPY) != 0 ? TN_CONTAINER_NUMPY : TN_CONTAINER_ARCHIVE;
}
