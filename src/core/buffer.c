/* A growing run of bytes. B1 to B3 stand in buffer.h; one byte more than the capacity is taken, for the NUL of B3. */
#include "core/buffer.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"

enum { FIRST_CAPACITY = 63 }; /* 64 bytes with the NUL */

void tn_buffer_init(tn_buffer *buffer, tn_memory_source *memory, size_t max)
{
    if (max > PTRDIFF_MAX - 1)
        max = PTRDIFF_MAX - 1; /* no block can be larger, and capacity + 1 must not wrap */
    *buffer = (tn_buffer){.memory = memory, .max = max};
}

/* At least `needed`, and about double of what was, so that appending takes time in proportion to the bytes. */
static size_t capacity_for(const tn_buffer *buffer, size_t needed)
{
    size_t capacity = buffer->capacity <= buffer->max / 2 ? 2 * buffer->capacity + 1 : buffer->max;
    if (capacity < FIRST_CAPACITY)
        capacity = FIRST_CAPACITY;
    if (capacity < needed)
        capacity = needed;
    return capacity < buffer->max ? capacity : buffer->max;
}

static bool grow(tn_buffer *buffer, size_t capacity)
{
    size_t old_block = buffer->bytes != NULL ? buffer->capacity + 1 : 0;
    void *block = buffer->bytes;
    tn_status status = tn_retake(buffer->memory, &block, old_block, capacity + 1, NULL);
    if (status != TN_OK) {
        buffer->failed = status;
        return false;
    }
    buffer->bytes = block;
    buffer->capacity = capacity;
    buffer->bytes[buffer->size] = '\0'; /* B3 */
    return true;
}

static bool make_room(tn_buffer *buffer, size_t size)
{
    if (buffer->failed != TN_OK)
        return false; /* B2 */
    assert(buffer->size <= buffer->capacity); /* B1: a caller who reserved kept to it */
    if (size <= buffer->capacity - buffer->size)
        return true;
    if (size > buffer->max - buffer->size) {
        buffer->failed = TN_LIMIT;
        return false;
    }
    return grow(buffer, capacity_for(buffer, buffer->size + size));
}

void tn_buffer_append(tn_buffer *buffer, const void *bytes, size_t size)
{
    if (size == 0 || !make_room(buffer, size))
        return;
    memcpy(buffer->bytes + buffer->size, bytes, size);
    buffer->size += size;
    buffer->bytes[buffer->size] = '\0';
}

void tn_buffer_text(tn_buffer *buffer, const char *text)
{
    tn_buffer_append(buffer, text, strlen(text));
}

/* Print into the room there is; returns the size the text has or would have. */
static size_t print(tn_buffer *buffer, const char *format, va_list arguments) TN_PRINTF(2, 0);
static size_t print(tn_buffer *buffer, const char *format, va_list arguments)
{
    char *at = buffer->bytes != NULL ? buffer->bytes + buffer->size : NULL;
    size_t room = buffer->bytes != NULL ? buffer->capacity - buffer->size + 1 : 0;
    int printed = vsnprintf(at, room, format, arguments);
    assert(printed >= 0); /* only a format of our own can be wrong */
    return printed > 0 ? (size_t)printed : 0;
}

void tn_buffer_format(tn_buffer *buffer, const char *format, ...)
{
    if (buffer->failed != TN_OK)
        return;
    va_list arguments;
    va_start(arguments, format);
    size_t size = print(buffer, format, arguments);
    va_end(arguments);
    if (size > buffer->capacity - buffer->size) {
        if (buffer->bytes != NULL)
            buffer->bytes[buffer->size] = '\0'; /* what was printed in part is not there */
        if (!make_room(buffer, size))
            return;
        va_start(arguments, format);
        size = print(buffer, format, arguments);
        va_end(arguments);
    }
    buffer->size += size;
}

char *tn_buffer_reserve(tn_buffer *buffer, size_t size)
{
    static char nothing[1]; /* no room was asked for: there is nothing to write to it */
    if (!make_room(buffer, size))
        return NULL;
    if (buffer->bytes == NULL)
        return nothing;
    char *room = buffer->bytes + buffer->size;
    memset(room, 0, size + 1); /* B3 however much of it the caller fills */
    return room;
}

void tn_buffer_clear(tn_buffer *buffer)
{
    buffer->size = 0;
    buffer->failed = TN_OK;
    if (buffer->bytes != NULL)
        buffer->bytes[0] = '\0';
}

void tn_buffer_free(tn_buffer *buffer)
{
    if (buffer == NULL)
        return;
    if (buffer->bytes != NULL)
        tn_give(buffer->memory, buffer->bytes, buffer->capacity + 1);
    tn_buffer_init(buffer, buffer->memory, buffer->max);
}

tn_status tn_buffer_status(const tn_buffer *buffer, tn_error *err)
{
    if (buffer->failed == TN_OK)
        return TN_OK;
    if (buffer->failed != TN_LIMIT)
        return tn_fail(err, buffer->failed, "no memory for more than the %zu bytes a text has already: %s",
                       buffer->size, tn_status_text(buffer->failed));
    (void)tn_fail(err, TN_LIMIT, "it would take more than the %zu bytes allowed for it", buffer->max);
    tn_error_amounts(err, buffer->max, TN_NONE);
    return TN_LIMIT;
}
