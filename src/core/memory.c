/* Memory under a budget. M1 to M3 stand in memory.h. */
#include "core/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/encode.h"
#include "core/error.h"

void tn_budget_init(tn_budget *budget, uint64_t limit)
{
    atomic_init(&budget->used, 0);
    atomic_init(&budget->high_water, 0);
    atomic_init(&budget->refused, 0);
    budget->limit = limit;
    budget->measure = NULL;
    budget->user = NULL;
    budget->reclaim = NULL;
    budget->reclaim_user = NULL;
}

static uint64_t limit_for(tn_budget *budget, uint64_t used, uint64_t wanted)
{
    return budget->measure != NULL ? budget->measure(budget->user, used, wanted) : budget->limit;
}

uint64_t tn_budget_limit(tn_budget *budget)
{
    return limit_for(budget, atomic_load(&budget->used), 0);
}

static void raise_high_water(tn_budget *budget, uint64_t used)
{
    uint64_t high = atomic_load(&budget->high_water);
    while (high < used && !atomic_compare_exchange_weak(&budget->high_water, &high, used)) {
    }
}

static tn_status refuse(tn_budget *budget, uint64_t bytes, uint64_t used, uint64_t limit, tn_error *err)
{
    atomic_fetch_add(&budget->refused, 1);
    char need_text[16], used_text[16], limit_text[16];
    tn_size_show(bytes, need_text);
    tn_size_show(used, used_text);
    tn_size_show(limit, limit_text);
    uint64_t sum;
    if (tn_add_overflows(used, bytes, &sum))
        sum = UINT64_MAX - 1; /* the last value would say that there is no number */
    (void)tn_fail(err, TN_OVER_BUDGET, "%s of memory are needed, and %s of the budget of %s are in use", need_text,
                  used_text, limit_text);
    tn_error_amounts(err, limit, sum);
    return TN_OVER_BUDGET;
}

tn_status tn_budget_charge(tn_budget *budget, uint64_t bytes, tn_error *err)
{
    if (bytes == 0)
        return TN_OK;
    uint64_t used = atomic_load(&budget->used);
    for (;;) {
        uint64_t limit = limit_for(budget, used, bytes);
        if (bytes > limit || used > limit - bytes) {
            if (budget->reclaim == NULL || !budget->reclaim(budget->reclaim_user))
                return refuse(budget, bytes, used, limit, err); /* M1 */
            used = atomic_load(&budget->used);
            continue;
        }
        /* Raised before `used` is, so that no thread ever sees M3 broken. When another thread gets in between, the
         * mark may stand where only this attempt would have led; it is still under the limit. */
        raise_high_water(budget, used + bytes);
        if (atomic_compare_exchange_weak(&budget->used, &used, used + bytes))
            return TN_OK;
    }
}

void tn_budget_release(tn_budget *budget, uint64_t bytes)
{
    uint64_t before = atomic_fetch_sub(&budget->used, bytes);
    assert(before >= bytes); /* M2 */
    (void)before;
}

static void *resize_system(void *user, void *block, size_t old_size, size_t new_size)
{
    (void)user;
    (void)old_size;
    if (new_size == 0) {
        free(block);
        return NULL;
    }
    return realloc(block, new_size);
}

tn_allocator tn_allocator_system(void)
{
    return (tn_allocator){.resize = resize_system};
}

static void *resize(tn_memory_source *memory, void *block, size_t old_size, size_t new_size)
{
    return memory->allocator.resize(memory->allocator.user, block, old_size, new_size);
}

static tn_status no_memory(size_t size, tn_error *err)
{
    char text[16];
    tn_size_show(size, text);
    (void)tn_fail(err, TN_NO_MEMORY, "the system gave no memory for %s", text);
    tn_error_amounts(err, size, TN_NONE);
    return TN_NO_MEMORY;
}

tn_status tn_take(tn_memory_source *memory, size_t size, void **out, tn_error *err)
{
    if (size == 0) {
        *out = NULL;
        return TN_OK;
    }
    TN_TRY(tn_budget_charge(memory->budget, size, err));
    void *block = resize(memory, NULL, 0, size);
    if (block == NULL) {
        tn_budget_release(memory->budget, size);
        return no_memory(size, err);
    }
    *out = block;
    return TN_OK;
}

tn_status tn_take_array(tn_memory_source *memory, size_t count, size_t size, void **out, tn_error *err)
{
    uint64_t bytes;
    if (tn_mul_overflows(count, size, &bytes) || bytes > SIZE_MAX)
        return tn_fail(err, TN_OVERFLOW, "%zu items of %zu bytes do not fit the address space", count, size);
    void *block;
    TN_TRY(tn_take(memory, (size_t)bytes, &block, err));
    if (block != NULL)
        memset(block, 0, (size_t)bytes);
    *out = block;
    return TN_OK;
}

/* While a block grows, the old one and the new one may both be there: the whole new size is charged before the old
 * one is released. */
static tn_status grow(tn_memory_source *memory, void **block, size_t old_size, size_t new_size, tn_error *err)
{
    TN_TRY(tn_budget_charge(memory->budget, new_size, err));
    void *grown = resize(memory, *block, old_size, new_size);
    if (grown == NULL) {
        tn_budget_release(memory->budget, new_size);
        return no_memory(new_size, err);
    }
    tn_budget_release(memory->budget, old_size);
    *block = grown;
    return TN_OK;
}

tn_status tn_retake(tn_memory_source *memory, void **block, size_t old_size, size_t new_size, tn_error *err)
{
    assert((*block == NULL) == (old_size == 0));
    if (new_size > old_size)
        return grow(memory, block, old_size, new_size, err);
    if (new_size == old_size)
        return TN_OK;
    if (new_size == 0) {
        tn_give(memory, *block, old_size);
        *block = NULL;
        return TN_OK;
    }
    void *shrunk = resize(memory, *block, old_size, new_size);
    if (shrunk == NULL)
        return no_memory(new_size, err);
    tn_budget_release(memory->budget, old_size - new_size);
    *block = shrunk;
    return TN_OK;
}

tn_status tn_make_room(tn_memory_source *memory, void **items, size_t *capacity, size_t count, size_t item_size,
                       size_t first, tn_error *err)
{
    assert(count <= *capacity);
    if (count < *capacity)
        return TN_OK;
    size_t wider = *capacity == 0 ? first : 2 * *capacity;
    uint64_t size;
    if (wider < *capacity || tn_mul_overflows(wider, item_size, &size) || size > SIZE_MAX)
        return tn_fail(err, TN_OVERFLOW, "an array does not fit the memory of any machine");
    TN_TRY(tn_retake(memory, items, *capacity * item_size, (size_t)size, err));
    *capacity = wider;
    return TN_OK;
}

void tn_give(tn_memory_source *memory, void *block, size_t size)
{
    if (block == NULL)
        return;
    (void)resize(memory, block, size, 0);
    tn_budget_release(memory->budget, size);
}
