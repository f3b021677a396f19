/* Large buffers for the bytes of tensors, out of regions in huge pages that are used again.
 *
 * Fresh pages cost several times what it costs to copy into them, huge pages far less than small ones, and pages that
 * were written before nothing. So buffers are cut from regions of 32 MiB, or are regions of their own when they are
 * large, and regions without buffers are kept for the next taker.
 *   P1  A buffer lies in one region. A region is kept or given back only when no buffer of it is out.
 *   P2  All regions are charged to the budget, in use or kept. Kept ones go before a charge is refused.
 *   P3  Kept regions are at most `keep_bytes` together. When nothing was said they are offered to the system as long as
 *       they are kept, and a system that needs memory takes what is behind them.
 *   P4  Under the lock nothing is charged and the system is not asked for anything.
 * Where the context has an allocator of its caller's, every buffer comes from that and nothing is kept.
 * Safe from any thread. In a forked child nothing of it may be called.
 */
#ifndef TN_CONTEXT_POOL_H
#define TN_CONTEXT_POOL_H

#include "core/memory.h"
#include "os/os.h"

#define TN_POOL_REGION ((size_t)32 << 20)
#define TN_POOL_SHARED_MAX ((size_t)8 << 20) /* larger buffers are regions of their own */
#define TN_POOL_ALIGN ((size_t)64)           /* of every buffer */
#define TN_POOL_OPEN 4u                      /* regions that buffers are cut from at a time */

typedef struct tn_region tn_region;

typedef struct tn_pool {
    tn_memory_source *memory;
    uint64_t keep_bytes; /* 0: a quarter of the budget's limit; TN_NONE: nothing */
    bool plain;          /* all from the allocator */
    _Atomic bool closed; /* nothing is kept any more */
    _Atomic bool lock;   /* over what follows; held for a few instructions */
    tn_region *open[TN_POOL_OPEN];
    tn_region *kept;
    _Atomic uint64_t kept_bytes;
} tn_pool;

/* A buffer that is out. */
typedef struct tn_block {
    void *bytes;       /* at a multiple of TN_POOL_ALIGN */
    size_t size;       /* as asked for */
    tn_region *region; /* NULL: from the allocator, where `raw` was taken */
    void *raw;
    size_t raw_size;
} tn_block;

void tn_pool_init(tn_pool *pool, tn_memory_source *memory, uint64_t keep_bytes, bool plain);
/* A buffer of `size` bytes, more than 0, with anything in it. TN_OVER_BUDGET, TN_NO_MEMORY. */
tn_status tn_pool_take(tn_pool *pool, size_t size, tn_block *out, tn_error *err) TN_MUST_USE;
/* The same for a buffer that is given back soon: a region of its own, for among others it would leave a hole that is charged
 * as long as any of them is out. */
tn_status tn_pool_take_passing(tn_pool *pool, size_t size, tn_block *out, tn_error *err) TN_MUST_USE;
void tn_pool_give(tn_pool *pool, tn_block *block);
uint64_t tn_pool_kept(const tn_pool *pool);
/* Give all that is kept to the system. False when nothing was. `pool` is a tn_pool: this is the budget's reclaim. */
bool tn_pool_reclaim(void *pool);
/* Keep nothing from now on. */
void tn_pool_close(tn_pool *pool);

#endif
