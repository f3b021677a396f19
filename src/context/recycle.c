/* Keeping large blocks for the next taker. K1 to K3 stand in recycle.h. */
#include "context/recycle.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define NO_CLASS TN_RECYCLE_CLASSES

/* The class whose size is the least that holds `size`, and that size itself. NO_CLASS: not recycled. */
static unsigned class_of(size_t size, size_t *class_size)
{
    *class_size = size;
    if (TN_SANITIZED || size < TN_RECYCLE_SMALLEST || size > TN_RECYCLE_LARGEST)
        return NO_CLASS;
    size_t base = TN_RECYCLE_SMALLEST;
    unsigned number = 0;
    while (2 * base <= size) {
        base *= 2;
        number += TN_RECYCLE_STEPS;
    }
    size_t step = base / TN_RECYCLE_STEPS;
    size_t steps = (size - base + step - 1) / step;
    *class_size = base + steps * step;
    return number + (unsigned)steps;
}

static void *take_kept(tn_recycler *r, unsigned number, size_t class_size)
{
    for (unsigned i = 0; i < TN_RECYCLE_PLACES; i++) {
        void *block = atomic_exchange(&r->places[number][i], NULL);
        if (block != NULL) {
            atomic_fetch_sub(&r->kept, class_size);
            return block;
        }
    }
    return NULL;
}

static bool keep(tn_recycler *r, unsigned number, size_t class_size, void *block)
{
    if (atomic_fetch_add(&r->kept, class_size) + class_size <= TN_RECYCLE_MAX) { /* K1 */
        for (unsigned i = 0; i < TN_RECYCLE_PLACES; i++) {
            void *nothing = NULL;
            if (atomic_compare_exchange_strong(&r->places[number][i], &nothing, block))
                return true;
        }
    }
    atomic_fetch_sub(&r->kept, class_size);
    return false;
}

static void *take(tn_recycler *r, size_t size)
{
    size_t class_size;
    unsigned number = class_of(size, &class_size);
    void *block = number == NO_CLASS ? NULL : take_kept(r, number, class_size);
    return block != NULL ? block : malloc(class_size); /* K2 */
}

static void give(tn_recycler *r, void *block, size_t size)
{
    size_t class_size;
    unsigned number = class_of(size, &class_size);
    if (number == NO_CLASS || !keep(r, number, class_size, block))
        free(block);
}

static void *resize(void *user, void *block, size_t old_size, size_t new_size)
{
    tn_recycler *r = user;
    size_t old_class_size, new_class_size;
    if (block == NULL)
        return take(r, new_size);
    if (new_size == 0) {
        give(r, block, old_size);
        return NULL;
    }
    unsigned old_class = class_of(old_size, &old_class_size), new_class = class_of(new_size, &new_class_size);
    if (old_class == NO_CLASS && new_class == NO_CLASS)
        return realloc(block, new_size);
    if (old_class == new_class)
        return block;
    void *moved = take(r, new_size);
    if (moved == NULL)
        return NULL;
    memcpy(moved, block, old_size < new_size ? old_size : new_size);
    give(r, block, old_size);
    return moved;
}

void tn_recycler_init(tn_recycler *recycler)
{
    for (unsigned number = 0; number < TN_RECYCLE_CLASSES; number++)
        for (unsigned i = 0; i < TN_RECYCLE_PLACES; i++)
            atomic_init(&recycler->places[number][i], NULL);
    atomic_init(&recycler->kept, 0);
}

tn_allocator tn_recycler_allocator(tn_recycler *recycler)
{
    return (tn_allocator){.resize = resize, .user = recycler};
}

void tn_recycler_empty(tn_recycler *recycler)
{
    for (unsigned number = 0; number < TN_RECYCLE_CLASSES; number++)
        for (unsigned i = 0; i < TN_RECYCLE_PLACES; i++)
            free(atomic_exchange(&recycler->places[number][i], NULL));
    atomic_store(&recycler->kept, 0);
}
