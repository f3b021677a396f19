/* Many small blocks with one end: what a catalog, an answer or a scan is made in.
 *
 *   A1  A block never moves and lives until the arena is freed.
 *   A2  Total bytes taken <= max, given at birth.
 *   A3  The first failure stays (sticky) and is told by tn_arena_status.
 * One thread at a time.
 */
#ifndef TN_CORE_ARENA_H
#define TN_CORE_ARENA_H

#include "core/memory.h"

typedef struct tn_arena_block tn_arena_block;

typedef struct tn_arena {
    tn_memory_source *memory;
    tn_arena_block *blocks; /* newest first */
    char *at, *end;         /* free room in the newest block; none once something failed */
    size_t taken, max;      /* bytes taken from memory, and the most there may be */
    size_t next_block;      /* size of the next block: doubles from 4 KiB to 1 MiB */
    tn_status failed;
} tn_arena;

void tn_arena_init(tn_arena *arena, tn_memory_source *memory, size_t max);
/* `size` bytes aligned to 16, not cleared. NULL on failure (and for nothing else: size 0 gives a valid pointer). */
void *tn_arena_take(tn_arena *arena, size_t size);
/* The same without alignment, for texts: packs tightly. */
static inline char *tn_arena_take_bytes(tn_arena *arena, size_t size);
/* `count` items of `size` bytes, cleared. */
void *tn_arena_take_array(tn_arena *arena, size_t count, size_t size);
/* A copy with a NUL behind it. bytes == NULL on failure. */
tn_text tn_arena_text(tn_arena *arena, const char *bytes, size_t size);
tn_text tn_arena_format(tn_arena *arena, const char *format, ...) TN_PRINTF(2, 3);
tn_status tn_arena_status(const tn_arena *arena, tn_error *err);
void tn_arena_free(tn_arena *arena); /* NULL accepted */

/* The rest of tn_arena_take_bytes: what does not fit the newest block, and size 0. */
char *tn_arena_take_bytes_anew(tn_arena *arena, size_t size);

static inline char *tn_arena_take_bytes(tn_arena *arena, size_t size)
{
    char *at = arena->at;
    if (TN_UNLIKELY(at == NULL || size - 1 >= (size_t)(arena->end - at)))
        return tn_arena_take_bytes_anew(arena, size);
    arena->at = at + size;
    return at;
}

/* A text constant as a tn_text. */
#define TN_TEXT(literal) ((tn_text){"" literal, sizeof(literal) - 1})

#endif
