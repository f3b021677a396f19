/* Formats that begin with their own data and no magic number of theirs: a short walk over their first fields must make
 * sense all the way. */
#include <string.h>

#include "core/cursor.h"
#include "format/sniff.h"

/* ---- ONNX: a protobuf ModelProto (onnx.proto) ---- */

#define ONNX_IR_VERSION_MAX 64u
#define ONNX_TEXT_MAX 1024u

static uint64_t varint(tn_cursor *c)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 63; shift += 7) {
        uint8_t byte = tn_cursor_u8(c);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0)
            return value;
    }
    c->failed = true;
    return 0;
}

static bool is_printable(const uint8_t *bytes, uint64_t size)
{
    for (uint64_t i = 0; i < size; i++)
        if (bytes[i] < 0x20 || bytes[i] == 0x7f)
            return false;
    return true;
}

static bool take_text(tn_cursor *c)
{
    uint64_t size = varint(c);
    const uint8_t *bytes = size <= ONNX_TEXT_MAX ? tn_cursor_take(c, size) : NULL;
    return !c->failed && bytes != NULL && is_printable(bytes, size);
}

/* ir_version, then texts and numbers of the model, until its graph or its operator sets begin. */
bool tn_sniff_onnx(const tn_sample *s)
{
    tn_cursor c = tn_cursor_over(s->head, s->head_size);
    if (tn_cursor_u8(&c) != 0x08) /* field 1, a number */
        return false;
    uint64_t version = varint(&c);
    if (c.failed || version == 0 || version > ONNX_IR_VERSION_MAX)
        return false;
    for (unsigned fields = 0; fields < 8; fields++) {
        uint8_t tag = tn_cursor_u8(&c);
        if (tag == 0x3a || tag == 0x42) { /* graph; opset_import */
            uint64_t size = varint(&c);
            return !c.failed && size > 0 && size <= s->file_size;
        }
        bool text = tag == 0x12 || tag == 0x1a || tag == 0x22 || tag == 0x32; /* producer, its version, domain, doc */
        if (text ? !take_text(&c) : tag != 0x28 || (varint(&c), c.failed))    /* model_version */
            return false;
    }
    return false;
}

/* ---- flatbuffers with a known identifier at 4: TFLite, ONNX Runtime, ExecuTorch ---- */

bool tn_sniff_flatbuffers(const tn_sample *s)
{
    if (s->head_size < 8)
        return false;
    const uint8_t *id = s->head + 4;
    uint64_t root = (uint64_t)s->head[0] | (uint64_t)s->head[1] << 8 | (uint64_t)s->head[2] << 16 |
                    (uint64_t)s->head[3] << 24;
    bool known = memcmp(id, "TFL3", 4) == 0 || memcmp(id, "ORTM", 4) == 0 ||
                 (id[0] == 'E' && id[1] == 'T' && id[2] >= '0' && id[2] <= '9' && id[3] >= '0' && id[3] <= '9');
    return known && root >= 8 && root < s->file_size;
}

/* ---- flax: MessagePack maps with names as keys, down to an array as an extension of type 1 ---- */

#define FLAX_DEPTH_MAX 32u
#define FLAX_KEY_MAX 256u

/* A map that is not empty. */
static bool enter_map(tn_cursor *c, uint8_t byte)
{
    if (byte > 0x80 && byte <= 0x8f)
        return true;
    if (byte != 0xde && byte != 0xdf)
        return false;
    return tn_cursor_take(c, byte == 0xde ? 2 : 4) != NULL;
}

static bool take_key(tn_cursor *c)
{
    uint8_t byte = tn_cursor_u8(c);
    uint64_t size = byte & 0x1f;
    if (byte == 0xd9)
        size = tn_cursor_u8(c);
    else if ((byte & 0xe0) != 0xa0)
        return false;
    const uint8_t *bytes = size <= FLAX_KEY_MAX ? tn_cursor_take(c, size) : NULL;
    return size > 0 && bytes != NULL && is_printable(bytes, size);
}

static bool is_array_extension(tn_cursor *c, uint8_t byte)
{
    if (byte < 0xc7 || byte > 0xc9)
        return false;
    (void)tn_cursor_take(c, byte == 0xc7 ? 1 : byte == 0xc8 ? 2 : 4);
    uint8_t type = tn_cursor_u8(c);
    return !c->failed && (type == 1 || type == 3); /* an array, or a numpy scalar */
}

bool tn_sniff_flax(const tn_sample *s)
{
    tn_cursor c = tn_cursor_over(s->head, s->head_size);
    uint8_t byte = tn_cursor_u8(&c);
    for (unsigned depth = 0; depth < FLAX_DEPTH_MAX; depth++) {
        if (c.failed || !enter_map(&c, byte) || !take_key(&c))
            return false;
        byte = tn_cursor_u8(&c);
        if (is_array_extension(&c, byte))
            return true;
    }
    return false;
}
