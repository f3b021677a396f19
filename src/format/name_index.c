/* The index of names. What it promises stands in name_index.h; N1 and N2 below refer to it. */
#include "format/name_index.h"

#include <assert.h>
#include <string.h>

#include "core/error.h"

#define CAPACITY_MIN 64u
#define CAPACITY_MAX 0x80000000u

void tn_name_index_init(tn_name_index *index, tn_memory_source *memory, size_t stride)
{
    *index = (tn_name_index){.memory = memory, .stride = stride, .seed = tn_map_process_seed()};
}

void tn_name_index_free(tn_name_index *index)
{
    if (index == NULL || index->slots == NULL)
        return;
    tn_give(index->memory, index->slots, index->capacity * sizeof *index->slots);
    index->slots = NULL;
    index->count = index->capacity = index->room = 0;
}

static const tn_text *name_of(const tn_name_index *index, const void *items, uint32_t number)
{
    return (const tn_text *)(const void *)((const char *)items + index->stride * number);
}

static void put_tag(tn_name_index *index, uint32_t tag, uint32_t number_plus_one)
{
    uint32_t mask = index->capacity - 1, at = tag & mask;
    while (index->slots[at].number != 0)
        at = (at + 1) & mask;
    index->slots[at] = (tn_name_slot){tag, number_plus_one};
}

static tn_status grow_to(tn_name_index *index, uint32_t capacity, tn_error *err)
{
    tn_name_index wider = *index;
    void *slots = NULL;
    TN_TRY(tn_take_array(index->memory, capacity, sizeof *index->slots, &slots, err));
    wider.slots = slots;
    wider.capacity = capacity;
    wider.room = capacity / 4 * 3; /* N1 */
    for (uint32_t i = 0; i < index->capacity; i++)
        if (index->slots[i].number != 0)
            put_tag(&wider, index->slots[i].tag, index->slots[i].number);
    if (index->slots != NULL)
        tn_give(index->memory, index->slots, index->capacity * sizeof *index->slots);
    *index = wider;
    return TN_OK;
}

tn_status tn_name_index_reserve(tn_name_index *index, uint32_t count, tn_error *err)
{
    uint64_t wanted = CAPACITY_MIN;
    while (wanted / 4 * 3 < count)
        wanted *= 2;
    assert(wanted <= CAPACITY_MAX); /* the limits of a catalog are far below */
    return wanted > index->capacity ? grow_to(index, (uint32_t)wanted, err) : TN_OK;
}

/* The slot that holds the name, or the empty one where it would go. The index is not empty. */
static inline uint32_t seek(const tn_name_index *index, const void *items, const char *name, size_t size, uint32_t tag)
{
    uint32_t mask = index->capacity - 1, at = tag & mask;
    for (; index->slots[at].number != 0; at = (at + 1) & mask) {
        if (index->slots[at].tag != tag)
            continue;
        const tn_text *other = name_of(index, items, index->slots[at].number - 1);
        if (other->size == size && memcmp(other->bytes, name, size) == 0)
            break;
    }
    return at;
}

tn_status tn_name_index_put_beside(tn_name_index *index, const void *items, tn_text name, uint32_t tag,
                                   uint32_t number, uint32_t *holder, tn_error *err)
{
    if (index->count >= index->room)
        TN_TRY(tn_name_index_reserve(index, index->count + 1, err));
    uint32_t at = seek(index, items, name.bytes, name.size, tag);
    *holder = number;
    if (index->slots[at].number != 0) {
        *holder = index->slots[at].number - 1;
        return TN_OK;
    }
    index->slots[at] = (tn_name_slot){tag, number + 1};
    index->count++;
    return TN_OK;
}

bool tn_name_index_get(const tn_name_index *index, const void *items, const char *name, size_t size, uint32_t *number)
{
    if (index->count == 0)
        return false;
    uint32_t at = seek(index, items, name, size, (uint32_t)tn_hash(index->seed, name, size));
    if (index->slots[at].number == 0)
        return false;
    *number = index->slots[at].number - 1;
    return true;
}

void tn_name_index_rewrite(tn_name_index *index, const void *items, uint32_t count)
{
    if (index->capacity == 0)
        return;
    assert(count <= index->count);
    memset(index->slots, 0, index->capacity * sizeof *index->slots);
    for (uint32_t i = 0; i < count; i++) {
        const tn_text *name = name_of(index, items, i);
        put_tag(index, (uint32_t)tn_hash(index->seed, name->bytes, name->size), i + 1);
    }
    index->count = count;
}
