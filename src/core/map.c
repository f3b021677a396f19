/* A hash map from bytes to a uint64_t: open addressing with linear probing, and the whole hash kept in each slot, so
 * that growing touches no key and nearly every probe that is not the answer is told by its hash. P1 and P2 stand in
 * map.h.
 *
 * The hash folds 16 bytes a step through a 64 x 64 -> 128 bit multiplication (the step of Wang Yi's wyhash, 2019).
 * Both factors of each step depend on the seed, through values an input cannot know: with a factor known, one could
 * be made zero by a chosen key, and all such keys would collide. */
#include "core/map.h"

#include <assert.h>
#include <string.h>
#include <time.h>

#include "core/error.h"

enum {
    STEP = 16, /* bytes hashed at a time */
    FIRST_CAPACITY = 16
};

struct tn_map_slot {
    const char *key; /* NULL: the slot is empty */
    size_t size;
    uint64_t hash, value;
};

/* Odd numbers with bits set evenly: the fractional parts of the square roots of 2, 3, 5 and 7. */
static const uint64_t root2 = UINT64_C(0x6A09E667F3BCC909);
static const uint64_t root3 = UINT64_C(0xBB67AE8584CAA73B);
static const uint64_t root5 = UINT64_C(0x3C6EF372FE94F82B);
static const uint64_t root7 = UINT64_C(0xA54FF53A5F1D36F1);

/* ---- the hash ---- */

typedef struct hash_state {
    uint64_t mixed;  /* what was read so far */
    uint64_t secret; /* the seed's, the same for every step */
} hash_state;

static inline uint64_t load64(const uint8_t *bytes)
{
    uint64_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static inline uint32_t load32(const uint8_t *bytes)
{
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static inline hash_state hash_begin(uint64_t seed)
{
    return (hash_state){.mixed = tn_mul_fold(seed ^ root2, root3), .secret = seed ^ root5};
}

/* `size` is a multiple of STEP. */
static inline void hash_steps(hash_state *h, const uint8_t *bytes, size_t size)
{
    for (size_t at = 0; at < size; at += STEP)
        h->mixed = tn_mul_fold(load64(bytes + at) ^ h->secret, load64(bytes + at + 8) ^ h->mixed);
}

/* The last bytes, STEP of them or all there are, read in two halves that may overlap, and the size of all. */
static inline uint64_t hash_end(hash_state h, const uint8_t *bytes, size_t size, size_t total)
{
    uint64_t low = 0, high = 0;
    if (size >= 8) {
        low = load64(bytes);
        high = load64(bytes + size - 8);
    } else if (size >= 4) {
        low = load32(bytes);
        high = load32(bytes + size - 4);
    } else if (size > 0) {
        low = (uint64_t)bytes[0] << 16 | (uint64_t)bytes[size / 2] << 8 | bytes[size - 1];
    }
    uint64_t mixed = tn_mul_fold(low ^ h.secret, high ^ h.mixed);
    return tn_mul_fold(mixed ^ root7, (uint64_t)total ^ h.secret);
}

/* The bytes that full steps are for, of STEP or more: all but the last 1 to STEP. What remains is read from the end, so
 * that no branch depends on how many there are. */
static inline size_t steps_of(size_t size)
{
    return (size - 1) / STEP * STEP;
}

uint64_t tn_hash(uint64_t seed, const void *bytes, size_t size)
{
    const uint8_t *begin = bytes;
    hash_state h = hash_begin(seed);
    if (size < STEP)
        return hash_end(h, begin, size, size);
    hash_steps(&h, begin, steps_of(size));
    return hash_end(h, begin + size - STEP, STEP, size);
}

/* Two runs read as one. */
typedef struct pair {
    const char *head, *tail;
    size_t head_size, tail_size;
} pair;

/* Move the next `size` bytes of a pair, which has as many, to `out`. */
static void take_joined(pair *p, uint8_t *out, size_t size)
{
    size_t from_head = size < p->head_size ? size : p->head_size;
    size_t from_tail = size - from_head;
    if (from_head > 0) {
        memcpy(out, p->head, from_head);
        p->head += from_head;
        p->head_size -= from_head;
    }
    if (from_tail > 0) {
        memcpy(out + from_head, p->tail, from_tail);
        p->tail += from_tail;
        p->tail_size -= from_tail;
    }
}

/* The full steps of a pair of STEP bytes or more: those inside the head and inside the tail are read where they are, and
 * only the one that lies across both is joined. */
static void hash_pair_steps(hash_state *h, pair p)
{
    size_t steps = steps_of(p.head_size + p.tail_size);
    size_t in_head = p.head_size / STEP * STEP;
    if (in_head > steps)
        in_head = steps;
    if (in_head > 0) {
        hash_steps(h, (const uint8_t *)p.head, in_head);
        p.head += in_head;
        p.head_size -= in_head;
        steps -= in_head;
    }
    if (p.head_size > 0 && steps > 0) {
        uint8_t joined[STEP];
        take_joined(&p, joined, STEP);
        hash_steps(h, joined, STEP);
        steps -= STEP;
    }
    if (steps > 0)
        hash_steps(h, (const uint8_t *)p.tail, steps);
}

uint64_t tn_hash_pair(uint64_t seed, const char *head, size_t head_size, const char *tail, size_t tail_size)
{
    pair p = {head, tail, head_size, tail_size};
    size_t total = head_size + tail_size;
    hash_state h = hash_begin(seed);
    if (total >= STEP)
        hash_pair_steps(&h, p);
    if (tail_size >= STEP)
        return hash_end(h, (const uint8_t *)tail + tail_size - STEP, STEP, total);
    uint8_t last[STEP];
    size_t size = total < STEP ? total : STEP, from_head = size - tail_size;
    p.head = from_head > 0 ? head + head_size - from_head : head;
    p.head_size = from_head;
    take_joined(&p, last, size);
    return hash_end(h, last, size, total);
}

/* ---- the seed ---- */

static _Atomic uint64_t process_seed;

void tn_map_seed_process(uint64_t seed)
{
    atomic_store(&process_seed, seed != 0 ? seed : root2);
}

/* Addresses differ from process to process where the system lays memory out at random; clocks add to them. */
static uint64_t seed_at_hand(void)
{
    int on_stack;
    uint64_t mixed = tn_mul_fold((uint64_t)(uintptr_t)&process_seed ^ root2, (uint64_t)(uintptr_t)&on_stack ^ root3);
    mixed = tn_mul_fold(mixed ^ (uint64_t)time(NULL), (uint64_t)clock() ^ root5);
    return mixed != 0 ? mixed : root2;
}

uint64_t tn_map_process_seed(void)
{
    uint64_t seed = atomic_load(&process_seed);
    if (seed != 0)
        return seed;
    uint64_t drawn = seed_at_hand();
    return atomic_compare_exchange_strong(&process_seed, &seed, drawn) ? drawn : seed;
}

/* ---- the map ---- */

void tn_map_init(tn_map *map, tn_memory_source *memory)
{
    *map = (tn_map){.memory = memory, .seed = tn_map_process_seed()};
}

void tn_map_free(tn_map *map)
{
    if (map == NULL)
        return;
    tn_give(map->memory, map->slots, map->capacity * sizeof *map->slots);
    *map = (tn_map){.memory = map->memory, .seed = map->seed};
}

static size_t room_of(size_t capacity)
{
    return capacity / 4 * 3; /* P2 */
}

/* The first empty slot from a hash's own place on. There always is one (P2). */
static tn_map_slot *empty_slot(tn_map_slot *slots, size_t capacity, uint64_t hash)
{
    size_t at = (size_t)hash & (capacity - 1);
    while (slots[at].key != NULL)
        at = (at + 1) & (capacity - 1);
    return &slots[at];
}

static tn_status grow(tn_map *map, size_t capacity, tn_error *err)
{
    void *taken;
    TN_TRY(tn_take_array(map->memory, capacity, sizeof *map->slots, &taken, err));
    tn_map_slot *slots = taken;
    for (size_t i = 0; i < map->capacity; i++) {
        if (map->slots[i].key != NULL)
            *empty_slot(slots, capacity, map->slots[i].hash) = map->slots[i];
    }
    tn_give(map->memory, map->slots, map->capacity * sizeof *map->slots);
    map->slots = slots;
    map->capacity = capacity;
    return TN_OK;
}

tn_status tn_map_reserve(tn_map *map, size_t count, tn_error *err)
{
    if (count <= room_of(map->capacity))
        return TN_OK;
    size_t capacity = FIRST_CAPACITY;
    while (room_of(capacity) < count) {
        if (capacity > SIZE_MAX / 2 / sizeof *map->slots)
            return tn_fail(err, TN_OVERFLOW, "a table of %zu names does not fit the address space", count);
        capacity *= 2;
    }
    return grow(map, capacity, err);
}

static bool same(const tn_map_slot *slot, const pair *key)
{
    if (slot->size - key->head_size != key->tail_size)
        return false;
    return (key->head_size == 0 || memcmp(slot->key, key->head, key->head_size) == 0) &&
           (key->tail_size == 0 || memcmp(slot->key + key->head_size, key->tail, key->tail_size) == 0);
}

static tn_map_slot *find(const tn_map *map, uint64_t hash, const pair *key)
{
    if (map->capacity == 0)
        return NULL;
    size_t at = (size_t)hash & (map->capacity - 1);
    for (;;) {
        tn_map_slot *slot = &map->slots[at];
        if (slot->key == NULL)
            return NULL;
        if (slot->hash == hash && same(slot, key))
            return slot;
        at = (at + 1) & (map->capacity - 1);
    }
}

static tn_map_slot *find_key(const tn_map *map, uint64_t hash, const char *key, size_t size)
{
    return find(map, hash, &(pair){.tail = key, .tail_size = size});
}

tn_status tn_map_put(tn_map *map, const char *key, size_t size, uint64_t value, bool *fresh, uint64_t *existing,
                     tn_error *err)
{
    uint64_t hash = tn_hash(map->seed, key, size);
    const tn_map_slot *found = find_key(map, hash, key, size);
    if (found != NULL) {
        if (fresh != NULL)
            *fresh = false;
        if (existing != NULL)
            *existing = found->value;
        return TN_OK;
    }
    TN_TRY(tn_map_reserve(map, map->count + 1, err));
    *empty_slot(map->slots, map->capacity, hash) =
        (tn_map_slot){.key = key != NULL ? key : "", .size = size, .hash = hash, .value = value};
    map->count++;
    assert(map->count <= room_of(map->capacity)); /* P2 */
    if (fresh != NULL)
        *fresh = true;
    return TN_OK;
}

bool tn_map_get(const tn_map *map, const char *key, size_t size, uint64_t *value)
{
    const tn_map_slot *found = find_key(map, tn_hash(map->seed, key, size), key, size);
    if (found != NULL)
        *value = found->value;
    return found != NULL;
}

bool tn_map_get_pair(const tn_map *map, const char *head, size_t head_size, const char *tail, size_t tail_size,
                     uint64_t *value)
{
    pair key = {head, tail, head_size, tail_size};
    const tn_map_slot *found = find(map, tn_hash_pair(map->seed, head, head_size, tail, tail_size), &key);
    if (found != NULL)
        *value = found->value;
    return found != NULL;
}

bool tn_map_set(tn_map *map, const char *key, size_t size, uint64_t value)
{
    tn_map_slot *found = find_key(map, tn_hash(map->seed, key, size), key, size);
    if (found != NULL)
        found->value = value;
    return found != NULL;
}
