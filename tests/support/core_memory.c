/* The counting allocator: each block carries its size in front, so that the size told later can be held against it. */
#include "support/core_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { FRONT = 16 }; /* keeps the alignment of malloc */

static void *resize(void *user, void *block, size_t old_size, size_t new_size)
{
    test_memory *memory = user;
    char *base = block != NULL ? (char *)block - FRONT : NULL;
    if ((base != NULL ? *(size_t *)(void *)base : 0) != old_size)
        memory->wrong_old_size = true;
    if (new_size == 0) {
        free(base);
        memory->live -= old_size;
        return NULL;
    }
    memory->calls++;
    if (new_size > PTRDIFF_MAX - FRONT || (memory->fail_at != 0 && memory->calls >= memory->fail_at))
        return NULL;
    char *grown = realloc(base, FRONT + new_size);
    if (grown == NULL)
        return NULL;
    *(size_t *)(void *)grown = new_size;
    memory->live = memory->live - old_size + new_size;
    return grown + FRONT;
}

void test_memory_init(test_memory *memory, uint64_t limit)
{
    *memory = (test_memory){.live = 0};
    tn_budget_init(&memory->budget, limit);
    memory->source = (tn_memory_source){.allocator = {resize, memory}, .budget = &memory->budget};
}

void test_memory_assert_clean(test_memory *memory)
{
    assert_false(memory->wrong_old_size);
    assert_int_equal(memory->live, 0);
    assert_int_equal(atomic_load(&memory->budget.used), 0);
}
