/* An allocator that keeps the large blocks it is given back, for the next header.
 *
 * Opening a checkpoint takes a few blocks of 16 KiB to 4 MiB and gives them back at once. The system's allocator returns
 * such blocks to the system, and fresh pages cost as much as parsing the header that is read into them.
 *   K1  At most TN_RECYCLE_MAX bytes are kept; what would be more goes to the system at once.
 *   K2  A kept block is given out only for a size of its own class, so nothing is ever handed out too small.
 *   K3  Kept blocks are outside the budget: TN_RECYCLE_MAX belongs to the stated constant beside it.
 * Safe from any thread, without a lock: each place holds one block and is exchanged whole.
 */
#ifndef TN_CONTEXT_RECYCLE_H
#define TN_CONTEXT_RECYCLE_H

#include <stdatomic.h>

#include "core/memory.h"

#define TN_RECYCLE_MAX (6u << 20)
#define TN_RECYCLE_SMALLEST (16u << 10)
#define TN_RECYCLE_LARGEST (4u << 20)
#define TN_RECYCLE_STEPS 2u   /* classes between a power of two and the next */
#define TN_RECYCLE_CLASSES (8u * TN_RECYCLE_STEPS + 1u)
#define TN_RECYCLE_PLACES 3u  /* of each class */

typedef struct tn_recycler {
    void *_Atomic places[TN_RECYCLE_CLASSES][TN_RECYCLE_PLACES];
    _Atomic size_t kept;
} tn_recycler;

/* Begin with nothing kept. */
void tn_recycler_init(tn_recycler *recycler);
/* malloc and free through the recycler, which must outlive every block. */
tn_allocator tn_recycler_allocator(tn_recycler *recycler);
/* Give all kept blocks to the system. */
void tn_recycler_empty(tn_recycler *recycler);

#endif
