/* Many small blocks with one end. A1 to A3 stand in arena.h.
 *
 * Blocks form a list, newest first; free room is that of the newest. What is too large to share a block gets one to
 * itself, put behind the newest, so that the room there is not lost. */
#include "core/arena.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"

enum { FIRST_BLOCK = 4 << 10, LARGEST_BLOCK = 1 << 20, ALIGNMENT = 16 };

struct tn_arena_block {
    tn_arena_block *next;
    size_t size; /* as taken, header included */
};

void tn_arena_init(tn_arena *arena, tn_memory_source *memory, size_t max)
{
    *arena = (tn_arena){.memory = memory, .max = max, .next_block = FIRST_BLOCK};
}

/* A3: the first failure stays, and with no room left every taker comes to `take`, which looks for it. */
static char *refuse(tn_arena *arena, tn_status status)
{
    if (arena->failed == TN_OK)
        arena->failed = status;
    arena->end = arena->at;
    return NULL;
}

/* Take a block of `size` bytes, header included. It is in no list yet. */
static tn_arena_block *take_block(tn_arena *arena, size_t size)
{
    void *taken;
    tn_status status = tn_take(arena->memory, size, &taken, NULL);
    if (status != TN_OK) {
        (void)refuse(arena, status);
        return NULL;
    }
    tn_arena_block *block = taken;
    block->size = size;
    arena->taken += size; /* A2: the caller made sure */
    return block;
}

/* A block for one taker alone. */
static char *take_alone(tn_arena *arena, size_t block_size)
{
    tn_arena_block *block = take_block(arena, block_size);
    if (block == NULL)
        return NULL;
    if (arena->blocks == NULL) {
        block->next = NULL;
        arena->blocks = block;
        arena->at = arena->end = (char *)block + block_size;
    } else {
        block->next = arena->blocks->next;
        arena->blocks->next = block;
    }
    return (char *)(block + 1);
}

/* A new newest block; its room is where the next bytes come from. */
static char *begin_block(tn_arena *arena, size_t block_size)
{
    tn_arena_block *block = take_block(arena, block_size);
    if (block == NULL)
        return NULL;
    block->next = arena->blocks;
    arena->blocks = block;
    arena->at = (char *)(block + 1);
    arena->end = (char *)block + block_size;
    if (arena->next_block < LARGEST_BLOCK)
        arena->next_block *= 2;
    return arena->at;
}

/* Room for `size` bytes where the newest block has none left: in a new block, or in one of their own. */
static char *take_from_new(tn_arena *arena, size_t size)
{
    size_t left = arena->max - arena->taken;
    if (left < sizeof(tn_arena_block) || size > left - sizeof(tn_arena_block))
        return refuse(arena, TN_LIMIT); /* A2 */
    size_t least = size + sizeof(tn_arena_block);
    if (least > arena->next_block / 4)
        return take_alone(arena, least);
    char *bytes = begin_block(arena, arena->next_block < left ? arena->next_block : left);
    if (bytes != NULL)
        arena->at += size;
    return bytes;
}

/* How far `at` is from the next multiple of `alignment`, a power of two. */
static size_t gap_before(const char *at, size_t alignment)
{
    return (size_t)(-(uintptr_t)at & (alignment - 1));
}

static char *take(tn_arena *arena, size_t size, size_t alignment)
{
    if (arena->failed != TN_OK)
        return NULL; /* A3 */
    if (size == 0)
        size = 1; /* a pointer of its own, inside the arena */
    if (size > SIZE_MAX - alignment)
        return refuse(arena, TN_LIMIT);
    if (arena->at != NULL) {
        size_t needed = gap_before(arena->at, alignment) + size;
        if (needed <= (size_t)(arena->end - arena->at)) {
            arena->at += needed;
            return arena->at - size;
        }
    }
    char *bytes = take_from_new(arena, size + alignment - 1);
    return bytes != NULL ? bytes + gap_before(bytes, alignment) : NULL;
}

void *tn_arena_take(tn_arena *arena, size_t size)
{
    return take(arena, size, ALIGNMENT);
}

char *tn_arena_take_bytes_anew(tn_arena *arena, size_t size)
{
    return take(arena, size, 1);
}

void *tn_arena_take_array(tn_arena *arena, size_t count, size_t size)
{
    uint64_t bytes;
    if (tn_mul_overflows(count, size, &bytes) || bytes > SIZE_MAX)
        return refuse(arena, TN_LIMIT);
    void *items = tn_arena_take(arena, (size_t)bytes);
    if (items != NULL)
        memset(items, 0, (size_t)bytes);
    return items;
}

tn_text tn_arena_text(tn_arena *arena, const char *bytes, size_t size)
{
    char *copy = size < SIZE_MAX ? tn_arena_take_bytes(arena, size + 1) : refuse(arena, TN_LIMIT);
    if (copy == NULL)
        return (tn_text){NULL, 0};
    if (size > 0)
        memcpy(copy, bytes, size);
    copy[size] = '\0';
    return (tn_text){copy, size};
}

/* Print into the `room` bytes at `at`; returns the size the text has or would have. */
static size_t print(char *at, size_t room, const char *format, va_list arguments) TN_PRINTF(3, 0);
static size_t print(char *at, size_t room, const char *format, va_list arguments)
{
    int printed = vsnprintf(at, room, format, arguments);
    assert(printed >= 0); /* only a format of our own can be wrong */
    return printed > 0 ? (size_t)printed : 0;
}

tn_text tn_arena_format(tn_arena *arena, const char *format, ...)
{
    /* Most texts fit into the newest block and are printed once, to where they stay. */
    size_t room = arena->at != NULL ? (size_t)(arena->end - arena->at) : 0;
    va_list arguments;
    va_start(arguments, format);
    size_t size = print(room > 0 ? arena->at : NULL, room, format, arguments);
    va_end(arguments);
    char *text = tn_arena_take_bytes(arena, size + 1);
    if (text == NULL)
        return (tn_text){NULL, 0};
    if (size >= room) {
        va_start(arguments, format);
        (void)print(text, size + 1, format, arguments);
        va_end(arguments);
    }
    return (tn_text){text, size};
}

tn_status tn_arena_status(const tn_arena *arena, tn_error *err)
{
    if (arena->failed == TN_OK)
        return TN_OK;
    if (arena->failed != TN_LIMIT)
        return tn_fail(err, arena->failed, "no memory beside the %zu bytes a table has already: %s", arena->taken,
                       tn_status_text(arena->failed));
    (void)tn_fail(err, TN_LIMIT, "it would take more than the %zu bytes of memory allowed for it", arena->max);
    tn_error_amounts(err, arena->max, TN_NONE);
    return TN_LIMIT;
}

void tn_arena_free(tn_arena *arena)
{
    if (arena == NULL)
        return;
    tn_arena_block *block = arena->blocks;
    while (block != NULL) {
        tn_arena_block *next = block->next;
        tn_give(arena->memory, block, block->size);
        block = next;
    }
    tn_arena_init(arena, arena->memory, arena->max);
}
