/* Which item has a name: an index over an array whose items begin with a tn_text.
 *
 * The names stay where they are, so a slot is 8 bytes where a tn_map's is 32: a catalog of 10,000 tensors has its
 * index in the processor's second cache, and the array may be sorted and the index written again from the items.
 *   N1  At most 3/4 of the slots are used; a search ends at the first empty slot.
 *   N2  A slot holds item number + 1 and 32 bits of the name's hash, seeded by the process: no input can aim at it.
 */
#ifndef TN_FORMAT_NAME_INDEX_H
#define TN_FORMAT_NAME_INDEX_H

#include "core/map.h"

typedef struct tn_name_slot {
    uint32_t tag;
    uint32_t number; /* 0: empty */
} tn_name_slot;

typedef struct tn_name_index {
    tn_memory_source *memory;
    tn_name_slot *slots;
    uint32_t count, capacity; /* capacity is 0 or a power of two */
    uint32_t room;            /* names that the slots may hold */
    size_t stride;            /* bytes from one item to the next */
    uint64_t seed;
} tn_name_index;

void tn_name_index_init(tn_name_index *index, tn_memory_source *memory, size_t stride);
/* Room for `count` names without growing. */
tn_status tn_name_index_reserve(tn_name_index *index, uint32_t count, tn_error *err) TN_MUST_USE;
/* Put the name of items[number], which need not lie there yet. When another item has it: nothing changes and *holder
 * is that item's number; else *holder is `number`. */
static inline tn_status tn_name_index_put(tn_name_index *index, const void *items, tn_text name, uint32_t number,
                                          uint32_t *holder, tn_error *err);
/* The same in two steps, with other work between them: nothing but that work has to wait for the hash. */
static inline uint32_t tn_name_index_tag(const tn_name_index *index, tn_text name);
static inline tn_status tn_name_index_put_tagged(tn_name_index *index, const void *items, tn_text name, uint32_t tag,
                                                 uint32_t number, uint32_t *holder, tn_error *err);
bool tn_name_index_get(const tn_name_index *index, const void *items, const char *name, size_t size,
                       uint32_t *number);
/* Write it again from items[0..count-1], after they were moved or their number fell. Takes no memory. */
void tn_name_index_rewrite(tn_name_index *index, const void *items, uint32_t count);
void tn_name_index_free(tn_name_index *index);

/* The rest of tn_name_index_put_tagged: its slot is taken, or there is no room. */
tn_status tn_name_index_put_beside(tn_name_index *index, const void *items, tn_text name, uint32_t tag,
                                   uint32_t number, uint32_t *holder, tn_error *err) TN_MUST_USE;

static inline uint32_t tn_name_index_tag(const tn_name_index *index, tn_text name)
{
    return (uint32_t)tn_hash(index->seed, name.bytes, name.size);
}

static inline tn_status tn_name_index_put_tagged(tn_name_index *index, const void *items, tn_text name, uint32_t tag,
                                                 uint32_t number, uint32_t *holder, tn_error *err)
{
    if (TN_UNLIKELY(index->count >= index->room || index->slots[tag & (index->capacity - 1)].number != 0))
        return tn_name_index_put_beside(index, items, name, tag, number, holder, err);
    index->slots[tag & (index->capacity - 1)] = (tn_name_slot){tag, number + 1};
    index->count++;
    *holder = number;
    return TN_OK;
}

static inline tn_status tn_name_index_put(tn_name_index *index, const void *items, tn_text name, uint32_t number,
                                          uint32_t *holder, tn_error *err)
{
    return tn_name_index_put_tagged(index, items, name, tn_name_index_tag(index, name), number, holder, err);
}

#endif
