/* A memory source for tests: a budget, and an allocator that counts what is out and can be told to fail. */
#ifndef TESTS_SUPPORT_CORE_MEMORY_H
#define TESTS_SUPPORT_CORE_MEMORY_H

#include "core/memory.h"

typedef struct test_memory {
    tn_memory_source source; /* what is tested is given this */
    tn_budget budget;
    uint64_t live;       /* bytes out now, by the sizes the allocator was told */
    uint64_t calls;      /* how often memory was asked for (giving back is not counted) */
    uint64_t fail_at;    /* the call (1, 2, ...) from which on asking fails; 0: never */
    bool wrong_old_size; /* a block came back with another size than it was taken with */
} test_memory;

void test_memory_init(test_memory *memory, uint64_t limit);
/* Everything was given back: to the allocator, in the sizes it was taken in, and to the budget. */
void test_memory_assert_clean(test_memory *memory);

#endif
