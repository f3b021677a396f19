/* Finding a class of layers by its key: a multiplying hash, and linear probing in a table at most half full. The build
 * writes the table on one machine for another, so the hash is the same on all. */
#include <string.h>

#include "identify/rules.h"

static uint64_t eight_bytes(const char *bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < 8; i++)
        value |= (uint64_t)(uint8_t)bytes[i] << (8 * i);
    return value;
}

uint32_t tn_rules_hash(const char *key, size_t size)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ size;
    for (; size >= 8; key += 8, size -= 8) {
        hash = (hash ^ eight_bytes(key)) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 29;
    }
    for (; size > 0; key++, size--)
        hash = (hash ^ (uint8_t)*key) * UINT64_C(0x100000001b3);
    return (uint32_t)(hash ^ hash >> 32);
}

const tn_layer_class *tn_rules_class(const tn_rules *rules, const char *key, size_t size)
{
    if (rules->class_slot_count == 0)
        return NULL;
    uint32_t mask = rules->class_slot_count - 1;
    for (uint32_t at = tn_rules_hash(key, size) & mask;; at = (at + 1) & mask) {
        if (rules->class_slots[at] == 0)
            return NULL;
        const tn_layer_class *found = &rules->classes[rules->class_slots[at] - 1];
        if (found->key.size == size && memcmp(found->key.bytes, key, size) == 0)
            return found;
    }
}
