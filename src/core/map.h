/* A hash map from bytes to a uint64_t, with a seed of its own process so that no input can aim at its chains.
 *
 *   P1  Keys are borrowed: they must outlive the map.
 *   P2  At most 3/4 of the slots are used; a lookup ends at the first empty slot.
 * Nothing is ever removed. One writer; many readers once writing has ended.
 */
#ifndef TN_CORE_MAP_H
#define TN_CORE_MAP_H

#include "core/memory.h"

typedef struct tn_map_slot tn_map_slot;

typedef struct tn_map {
    tn_memory_source *memory;
    tn_map_slot *slots;
    size_t count, capacity; /* capacity is 0 or a power of two */
    uint64_t seed;
} tn_map;

/* The seed that new maps of this process get. Until tn_map_seed_process gives a better one it is mixed once from
 * addresses and clocks, as core asks the system for nothing. Never 0. Safe from any thread. */
uint64_t tn_map_process_seed(void);
/* Replace that seed, by one from the system's randomness. Maps that are there already keep theirs. */
void tn_map_seed_process(uint64_t seed);

void tn_map_init(tn_map *map, tn_memory_source *memory);
/* Room for `count` keys without growing. */
tn_status tn_map_reserve(tn_map *map, size_t count, tn_error *err) TN_MUST_USE;
/* Put a key. When it is there already: nothing changes, *existing is its value and *fresh is false. `fresh` and
 * `existing` may be NULL. */
tn_status tn_map_put(tn_map *map, const char *key, size_t size, uint64_t value, bool *fresh, uint64_t *existing,
                     tn_error *err) TN_MUST_USE;
bool tn_map_get(const tn_map *map, const char *key, size_t size, uint64_t *value);
/* Change the value of a key that is there. False when it is not. */
bool tn_map_set(tn_map *map, const char *key, size_t size, uint64_t value);
void tn_map_free(tn_map *map); /* NULL accepted */

/* The hash used: fast, seeded, not cryptographic. `tn_hash_pair` hashes two runs as if they were one, so that a name
 * can be looked up behind a prefix without joining them. */
uint64_t tn_hash(uint64_t seed, const void *bytes, size_t size);
uint64_t tn_hash_pair(uint64_t seed, const char *head, size_t head_size, const char *tail, size_t tail_size);
bool tn_map_get_pair(const tn_map *map, const char *head, size_t head_size, const char *tail, size_t tail_size,
                     uint64_t *value);

#endif
