/* Memory under a budget: the only way inside Tenure to take memory whose size depends on input.
 *
 *   M1  used <= limit after every charge that succeeded; a charge that would pass the limit changes nothing.
 *   M2  Every block is given back with the size it was taken with, so used is exact and returns to zero.
 *   M3  high_water >= used, always (to a reader that reads `used` first), and never falls.
 * The budget is given a limit and measures nothing itself: `measure`, when set, is asked at the time of a charge (it
 * is the context's; it may cache). Safe from any thread.
 */
#ifndef TN_CORE_MEMORY_H
#define TN_CORE_MEMORY_H

#include <stdatomic.h>

#include <tenure/context.h>

#include "core/cc.h"

typedef struct tn_budget {
    _Atomic uint64_t used;
    _Atomic uint64_t high_water;
    _Atomic uint64_t refused;
    uint64_t limit; /* used when measure is NULL */
    uint64_t (*measure)(void *user, uint64_t used, uint64_t wanted);
    void *user;
    /* Asked before a charge is refused, when set: give up what is only kept. True when something was given up. */
    bool (*reclaim)(void *user);
    void *reclaim_user;
} tn_budget;

void tn_budget_init(tn_budget *budget, uint64_t limit);
/* Charge before taking. Over the limit: TN_OVER_BUDGET, with need, used and limit in the message and amounts. Calls
 * `reclaim`, so no lock that this takes may be held. */
tn_status tn_budget_charge(tn_budget *budget, uint64_t bytes, tn_error *err) TN_MUST_USE;
void tn_budget_release(tn_budget *budget, uint64_t bytes);
uint64_t tn_budget_limit(tn_budget *budget);

/* An allocator and the budget it is charged to. */
typedef struct tn_memory_source {
    tn_allocator allocator;
    tn_budget *budget;
} tn_memory_source;

/* malloc and free as a tn_allocator. */
tn_allocator tn_allocator_system(void);

/* Take `size` bytes (not cleared; 0 gives a NULL block and TN_OK), aligned as malloc aligns. TN_OVER_BUDGET or
 * TN_NO_MEMORY. */
tn_status tn_take(tn_memory_source *memory, size_t size, void **out, tn_error *err) TN_MUST_USE;
/* The same, cleared to zero, for `count` items of `size` bytes; the product is checked (TN_OVERFLOW). */
tn_status tn_take_array(tn_memory_source *memory, size_t count, size_t size, void **out, tn_error *err) TN_MUST_USE;
/* Change a block's size, keeping its contents. On failure the block stays as it was. While it grows, old and new are
 * both charged, as both may be there. */
tn_status tn_retake(tn_memory_source *memory, void **block, size_t old_size, size_t new_size, tn_error *err)
    TN_MUST_USE;
/* Room for one more item in an array of `count`: when it is full it doubles, from `first` items on. On failure all stays
 * as it was. */
tn_status tn_make_room(tn_memory_source *memory, void **items, size_t *capacity, size_t count, size_t item_size,
                       size_t first, tn_error *err) TN_MUST_USE;
/* Give back a block with the size it was taken with. NULL is accepted. */
void tn_give(tn_memory_source *memory, void *block, size_t size);

#endif
