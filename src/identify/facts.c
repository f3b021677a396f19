/* Gathering what rules ask for. */
#include "identify/facts.h"

#include <string.h>

#include "core/error.h"
#include "identify/pattern.h"

#define PIECE_MAX 63u /* a prefix whose first piece is longer is never seen */

static const char *const class_keys[] = {"model_index.json#_class_name", "config.json#_class_name",
                                         "config.json#architectures.0"};

static void read_class(tn_facts *facts)
{
    facts->class_name = tn_checkpoint_metadata_value(facts->checkpoint, class_keys[0]);
    facts->pipeline = facts->class_name.size > 0;
    for (size_t i = 1; i < sizeof class_keys / sizeof *class_keys && facts->class_name.size == 0; i++)
        facts->class_name = tn_checkpoint_metadata_value(facts->checkpoint, class_keys[i]);
    if (facts->class_name.bytes == NULL)
        facts->class_name = (tn_text){"", 0};
}

/* The first piece of a name: up to its first dot or slash, that included. 0 when it is longer than `most`. */
static size_t first_piece(tn_text name, size_t most)
{
    size_t size = 0, end = name.size < most ? name.size : most;
    while (size < end && name.bytes[size] != '.' && name.bytes[size] != '/')
        size++;
    if (size < end)
        return size + 1;
    return size == name.size ? size : 0;
}

/* Mark the prefixes whose first piece is `piece`. Whether the rest is there shows when something is looked up. */
static void mark_prefixes(const tn_rules *rules, bool *seen, const char *piece, size_t size)
{
    for (uint32_t i = 0; i < rules->prefix_count; i++) {
        tn_text prefix = rules->prefixes[i].prefix;
        if (!seen[i] && prefix.size >= size && prefix.bytes[0] == piece[0] && memcmp(prefix.bytes, piece, size) == 0)
            seen[i] = true;
    }
}

/* A bit for the size of each prefix's first piece: most pieces of other sizes are not looked at further. `longest` is
 * the greatest of these sizes. */
static uint64_t sizes_of_prefixes(const tn_rules *rules, size_t *longest)
{
    uint64_t sizes = 0;
    *longest = 0;
    for (uint32_t i = 0; i < rules->prefix_count; i++) {
        size_t size = first_piece(rules->prefixes[i].prefix, PIECE_MAX);
        sizes |= UINT64_C(1) << size;
        *longest = size > *longest ? size : *longest;
    }
    return sizes;
}

static void see_prefixes(const tn_facts *facts, bool *seen)
{
    tn_text last = {"", 0};
    size_t longest;
    uint64_t sizes = sizes_of_prefixes(facts->rules, &longest);
    for (size_t i = 0; i < facts->tensor_count; i++) {
        tn_text name = facts->tensors[i].name;
        if (last.size > 0 && name.size >= last.size && memcmp(name.bytes, last.bytes, last.size) == 0)
            continue;
        size_t size = first_piece(name, longest);
        if (size == 0 || (sizes >> size & 1) == 0)
            continue;
        last = (tn_text){name.bytes, size};
        mark_prefixes(facts->rules, seen, name.bytes, size);
    }
}

tn_status tn_facts_read(tn_facts *facts, const tn_rules *rules, const tn_checkpoint *checkpoint, tn_arena *arena,
                        tn_memory_source *memory, tn_error *err)
{
    tn_facts made = {.rules = rules, .checkpoint = checkpoint, .container = tn_checkpoint_container(checkpoint)};
    made.tensor_count = tn_checkpoint_tensors(checkpoint, &made.tensors);
    bool *seen = tn_arena_take_array(arena, rules->prefix_count + 1, sizeof *seen);
    size_t *counts = tn_arena_take(arena, (rules->prefix_count + 1) * sizeof *counts);
    if (seen == NULL || counts == NULL)
        return tn_arena_status(arena, err);
    for (uint32_t i = 0; i <= rules->prefix_count; i++)
        counts[i] = SIZE_MAX;
    counts[rules->prefix_count] = made.tensor_count;
    see_prefixes(&made, seen);
    made.prefix_seen = seen;
    made.prefix_tensors = counts;
    read_class(&made);
    tn_adapter_table *table;
    TN_TRY(tn_adapter_read(rules, checkpoint, arena, memory, &table, err));
    made.adapter = table;
    *facts = made;
    return TN_OK;
}

const tn_tensor *tn_view_find(const tn_view *view, tn_text name)
{
    if (view->prefix.size == 0)
        return tn_checkpoint_find(view->facts->checkpoint, name.bytes, name.size);
    char joined[TN_NAME_MAX];
    size_t size = view->prefix.size + name.size;
    if (size > sizeof joined)
        return NULL;
    memcpy(joined, view->prefix.bytes, view->prefix.size);
    memcpy(joined + view->prefix.size, name.bytes, name.size);
    return tn_checkpoint_find(view->facts->checkpoint, joined, size);
}

size_t tn_view_tensors(const tn_view *view)
{
    size_t *count = &view->facts->prefix_tensors[view->number];
    if (*count != SIZE_MAX)
        return *count;
    *count = 0;
    for (size_t i = 0; i < view->facts->tensor_count; i++) {
        tn_text name = view->facts->tensors[i].name;
        *count += name.size >= view->prefix.size && memcmp(name.bytes, view->prefix.bytes, view->prefix.size) == 0;
    }
    return *count;
}
