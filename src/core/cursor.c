/* The byte cursor. What it promises stands in cursor.h; I1 to I3 below refer to it. */
#include "core/cursor.h"

#include <assert.h>

tn_cursor tn_cursor_over(const void *bytes, uint64_t size)
{
    assert(bytes != NULL || size == 0);
    return (tn_cursor){.base = bytes, .end = size};
}

uint64_t tn_cursor_left(const tn_cursor *c)
{
    assert(c->at <= c->end); /* I1 */
    return c->end - c->at;
}

const uint8_t *tn_cursor_take(tn_cursor *c, uint64_t size)
{
    if (c->failed)
        return NULL; /* I3 */
    if (size > tn_cursor_left(c)) {
        c->failed = true;
        c->failed_at = c->at;
        return NULL; /* I2 */
    }
    const uint8_t *bytes = c->base != NULL ? c->base + c->at : NULL; /* NULL + 0 is undefined */
    c->at += size;
    return bytes;
}

/* Little-endian by definition of every format read here, whatever this machine is. */
static uint64_t number(tn_cursor *c, unsigned size)
{
    const uint8_t *bytes = tn_cursor_take(c, size);
    uint64_t value = 0;
    for (unsigned i = 0; bytes != NULL && i < size; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

uint8_t tn_cursor_u8(tn_cursor *c)
{
    return (uint8_t)number(c, 1);
}

uint32_t tn_cursor_u32le(tn_cursor *c)
{
    return (uint32_t)number(c, 4);
}

uint64_t tn_cursor_u64le(tn_cursor *c)
{
    return number(c, 8);
}

tn_cursor tn_cursor_sub(tn_cursor *c, uint64_t size)
{
    const uint8_t *bytes = tn_cursor_take(c, size);
    tn_cursor inner = tn_cursor_over(bytes, bytes != NULL ? size : 0);
    inner.failed = c->failed; /* what cannot be entered cannot be read */
    return inner;
}
