/* Buffers out of regions. P1 to P4 stand in pool.h. */
#include "context/pool.h"

#include <assert.h>

#include "core/error.h"

struct tn_region {
    uint8_t *bytes;
    size_t size, used; /* `used` only grows while a buffer is out */
    uint32_t live;     /* buffers that are out */
    tn_region *next;   /* of the kept */
};

#define KEEP_SHARE 4 /* of the limit, when nothing was said */
#define PAGE ((size_t)4096)

static size_t round_up(size_t size, size_t unit)
{
    return (size + unit - 1) / unit * unit;
}

/* Held for a few instructions, so waiting for it is done awake; a thread that lost the processor in between is given
 * time by sleeping. */
static void lock(tn_pool *pool)
{
    for (unsigned tries = 0; atomic_exchange_explicit(&pool->lock, true, memory_order_acquire); tries++)
        if (tries >= 64)
            tn_os_sleep_ms(0);
}

static void unlock(tn_pool *pool)
{
    atomic_store_explicit(&pool->lock, false, memory_order_release);
}

void tn_pool_init(tn_pool *pool, tn_memory_source *memory, uint64_t keep_bytes, bool plain)
{
    *pool = (tn_pool){.memory = memory, .keep_bytes = keep_bytes, .plain = plain};
    atomic_init(&pool->closed, false);
    atomic_init(&pool->lock, false);
    atomic_init(&pool->kept_bytes, 0);
}

uint64_t tn_pool_kept(const tn_pool *pool)
{
    return atomic_load_explicit(&pool->kept_bytes, memory_order_relaxed);
}

/* ---- regions ---- */

static void free_region(tn_pool *pool, tn_region *region)
{
    assert(region->live == 0); /* P1 */
    TN_UNPOISON(region->bytes, region->size);
    tn_os_pages_give(region->bytes, region->size);
    tn_budget_release(pool->memory->budget, region->size);
    tn_give(pool->memory, region, sizeof *region);
}

static tn_status take_pages(tn_pool *pool, size_t size, void **out, tn_error *err)
{
    tn_status status = tn_os_pages_take(size, out, err);
    if (status != TN_OK && tn_pool_reclaim(pool))
        status = tn_os_pages_take(size, out, err);
    return status;
}

static tn_status make_region(tn_pool *pool, size_t size, tn_region **out, tn_error *err)
{
    void *block, *bytes;
    TN_TRY(tn_take(pool->memory, sizeof(tn_region), &block, err));
    tn_region *region = block;
    tn_status status = tn_budget_charge(pool->memory->budget, size, err); /* P2 */
    if (status == TN_OK) {
        status = take_pages(pool, size, &bytes, err);
        if (status != TN_OK)
            tn_budget_release(pool->memory->budget, size);
    }
    if (status != TN_OK) {
        tn_give(pool->memory, block, sizeof *region);
        return status;
    }
    TN_POISON(bytes, size);
    *region = (tn_region){.bytes = bytes, .size = size};
    *out = region;
    return TN_OK;
}

/* ---- under the lock ---- */

/* Cut a buffer off. False when it does not fit. */
static bool cut(tn_region *region, size_t size, tn_block *out)
{
    if (region == NULL || region->size - region->used < size)
        return false;
    *out = (tn_block){.bytes = region->bytes + region->used, .size = size, .region = region};
    region->used += size;
    region->live++;
    return true;
}

/* A place for a region that buffers are cut from: an empty one, else that of the fullest. */
static void put_open(tn_pool *pool, tn_region *region)
{
    tn_region **place = &pool->open[0];
    for (unsigned i = 0; i < TN_POOL_OPEN && *place != NULL; i++)
        if (pool->open[i] == NULL || pool->open[i]->used > (*place)->used)
            place = &pool->open[i];
    *place = region;
}

static void take_off_open(tn_pool *pool, const tn_region *region)
{
    for (unsigned i = 0; i < TN_POOL_OPEN; i++)
        if (pool->open[i] == region)
            pool->open[i] = NULL;
}

/* The kept region that a buffer fits into best: of the common size when it shares, else one not much too large. */
static tn_region *take_kept(tn_pool *pool, size_t size, bool shared)
{
    tn_region **best = NULL;
    for (tn_region **at = &pool->kept; *at != NULL; at = &(*at)->next) {
        size_t there = (*at)->size;
        bool fits = shared ? there == TN_POOL_REGION : there >= size && there - size <= size / 4 + TN_OS_HUGE_BYTES;
        if (fits && (best == NULL || there < (*best)->size))
            best = at;
        if (fits && shared)
            break;
    }
    if (best == NULL)
        return NULL;
    tn_region *region = *best;
    *best = region->next;
    atomic_fetch_sub(&pool->kept_bytes, region->size);
    return region;
}

static bool take_ready(tn_pool *pool, size_t size, bool shared, tn_block *out)
{
    for (unsigned i = 0; shared && i < TN_POOL_OPEN; i++)
        if (cut(pool->open[i], size, out))
            return true;
    tn_region *region = take_kept(pool, size, shared);
    if (region == NULL)
        return false;
    bool fits = cut(region, size, out);
    assert(fits);
    (void)fits;
    if (shared)
        put_open(pool, region);
    return true;
}

/* ---- taking ---- */

static tn_status take_plain(tn_pool *pool, size_t size, tn_block *out, tn_error *err)
{
    void *raw;
    if (size > SIZE_MAX - TN_POOL_ALIGN)
        return tn_fail(err, TN_NO_MEMORY, "no machine has this much memory");
    TN_TRY(tn_take(pool->memory, size + TN_POOL_ALIGN, &raw, err));
    size_t off = (TN_POOL_ALIGN - (uintptr_t)raw % TN_POOL_ALIGN) % TN_POOL_ALIGN;
    *out = (tn_block){(uint8_t *)raw + off, size, NULL, raw, size + TN_POOL_ALIGN};
    return TN_OK;
}

/* Where there is no room for a region of the common size, one of just this size will do. */
static tn_status make_one_that_fits(tn_pool *pool, size_t size, bool *shared, tn_region **out, tn_error *err)
{
    size_t wide = *shared ? TN_POOL_REGION : round_up(size, TN_OS_HUGE_BYTES), narrow = round_up(size, PAGE);
    tn_status status = make_region(pool, wide, out, err);
    if (status == TN_OK || narrow == wide || !tn_status_is_of_memory(status))
        return status;
    *shared = false;
    return make_region(pool, narrow, out, err);
}

static tn_status take_fresh(tn_pool *pool, size_t size, bool shared, tn_block *out, tn_error *err)
{
    tn_region *region = NULL;
    TN_TRY(make_one_that_fits(pool, size, &shared, &region, err));
    lock(pool);
    bool fits = cut(region, size, out);
    if (shared)
        put_open(pool, region);
    unlock(pool);
    assert(fits);
    (void)fits;
    return TN_OK;
}

static tn_status take(tn_pool *pool, size_t size, bool shared, tn_block *out, tn_error *err)
{
    assert(size > 0);
    if (pool->plain)
        return take_plain(pool, size, out, err);
    if (size > SIZE_MAX / 2)
        return tn_fail(err, TN_NO_MEMORY, "no machine has this much memory");
    size_t room = round_up(size, TN_POOL_ALIGN);
    tn_block block;
    lock(pool);
    bool ready = take_ready(pool, room, shared, &block);
    unlock(pool);
    if (!ready)
        TN_TRY(take_fresh(pool, room, shared, &block, err));
    block.size = size;
    TN_UNPOISON(block.bytes, size);
    *out = block;
    return TN_OK;
}

tn_status tn_pool_take(tn_pool *pool, size_t size, tn_block *out, tn_error *err)
{
    return take(pool, size, size <= TN_POOL_SHARED_MAX, out, err);
}

/* Where there is no memory for that, there may be some in a region that is there. */
tn_status tn_pool_take_passing(tn_pool *pool, size_t size, tn_block *out, tn_error *err)
{
    tn_error found;
    tn_status status = take(pool, size, false, out, &found);
    if (status != TN_OK && tn_status_is_of_memory(status) && size <= TN_POOL_SHARED_MAX)
        return take(pool, size, true, out, err);
    return status == TN_OK ? TN_OK : tn_fail_as(&found, err);
}

/* ---- giving ---- */

static uint64_t keep_limit(const tn_pool *pool)
{
    if (atomic_load(&pool->closed) || pool->keep_bytes == TN_NONE)
        return 0;
    return pool->keep_bytes != 0 ? pool->keep_bytes : tn_budget_limit(pool->memory->budget) / KEEP_SHARE;
}

/* P3: counted before it is kept. */
static bool may_keep(tn_pool *pool, size_t size)
{
    uint64_t limit = keep_limit(pool), kept = atomic_load(&pool->kept_bytes);
    do {
        if (size > limit || kept > limit - size)
            return false;
    } while (!atomic_compare_exchange_weak(&pool->kept_bytes, &kept, kept + size));
    return true;
}

/* What is offered keeps its pages as long as the system does not need them. */
static void keep_or_free(tn_pool *pool, tn_region *region)
{
    if (region->size % TN_OS_HUGE_BYTES != 0 || !may_keep(pool, region->size)) {
        free_region(pool, region);
        return;
    }
    if (pool->keep_bytes == 0)
        tn_os_pages_offer(region->bytes, region->size);
    lock(pool);
    region->next = pool->kept;
    pool->kept = region;
    unlock(pool);
    if (atomic_load(&pool->closed)) /* meanwhile */
        (void)tn_pool_reclaim(pool);
}

void tn_pool_give(tn_pool *pool, tn_block *block)
{
    tn_region *region = block->region;
    if (region == NULL) {
        tn_give(pool->memory, block->raw, block->raw_size);
        return;
    }
    TN_POISON(block->bytes, block->size);
    lock(pool);
    assert(region->live > 0);
    bool last = --region->live == 0;
    if (last) {
        take_off_open(pool, region);
        region->used = 0;
    }
    unlock(pool);
    if (last)
        keep_or_free(pool, region);
}

bool tn_pool_reclaim(void *user)
{
    tn_pool *pool = user;
    if (tn_pool_kept(pool) == 0)
        return false;
    lock(pool);
    tn_region *all = pool->kept;
    pool->kept = NULL;
    for (const tn_region *region = all; region != NULL; region = region->next)
        atomic_fetch_sub(&pool->kept_bytes, region->size);
    unlock(pool);
    bool some = all != NULL;
    while (all != NULL) {
        tn_region *next = all->next;
        free_region(pool, all);
        all = next;
    }
    return some;
}

void tn_pool_close(tn_pool *pool)
{
    atomic_store(&pool->closed, true);
    (void)tn_pool_reclaim(pool);
}
