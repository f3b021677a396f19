/* A read position in bytes that came from outside.
 *
 * Every parser in Tenure reads through a cursor, so that no length from a file is ever trusted by itself.
 *   I1  at <= end, always.
 *   I2  A read either delivers all it was asked for and advances, or fails and moves nothing.
 *   I3  The first failure stays (sticky): a parser may read a whole record and ask once at its end.
 * It does not own the bytes, does not copy them, and allocates nothing.
 */
#ifndef TN_CORE_CURSOR_H
#define TN_CORE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tn_cursor {
    const uint8_t *base; /* first byte; may be NULL when size is 0 */
    uint64_t at;         /* offset of the next byte to read */
    uint64_t end;        /* offset one past the last byte */
    uint64_t failed_at;  /* where the first failed read began; meaningful when failed */
    bool failed;
} tn_cursor;

/* Start at the first of `size` bytes. The bytes must outlive the cursor. */
tn_cursor tn_cursor_over(const void *bytes, uint64_t size);

/* Read one little-endian number. On failure the cursor is marked and 0 is returned. */
uint8_t tn_cursor_u8(tn_cursor *c);
uint32_t tn_cursor_u32le(tn_cursor *c);
uint64_t tn_cursor_u64le(tn_cursor *c);

/* Borrow the next `size` bytes: valid as long as the bytes under the cursor. NULL on failure, and for a size of 0
 * the present position (NULL over no bytes at all): ask `failed`, not the pointer, where a size may be 0. */
const uint8_t *tn_cursor_take(tn_cursor *c, uint64_t size);

/* A cursor over the next `size` bytes alone: a record cannot read past itself into its neighbour. Advances `c`. */
tn_cursor tn_cursor_sub(tn_cursor *c, uint64_t size);

uint64_t tn_cursor_left(const tn_cursor *c);

#endif
