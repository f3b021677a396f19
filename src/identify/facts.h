/* What a rule may ask of a file: the names and shapes of its tensors behind known prefixes, its metadata, the class a
 * folder names, and, for an adapter, the table of its layers. Made once a checkpoint, reads no tensor bytes. */
#ifndef TN_IDENTIFY_FACTS_H
#define TN_IDENTIFY_FACTS_H

#include "identify/adapter.h"
#include "identify/rules.h"

typedef struct tn_facts {
    const tn_rules *rules;
    const tn_checkpoint *checkpoint;
    const tn_tensor *tensors;
    size_t tensor_count;
    tn_container container;
    tn_text class_name;              /* of a folder's configuration, or empty */
    bool pipeline;                   /* a folder of components */
    const tn_adapter_table *adapter; /* NULL: it is none */
    const bool *prefix_seen;         /* one a prefix of the rules: some name may begin with it */
    size_t *prefix_tensors;          /* one a prefix, and one for none: how many; SIZE_MAX: not counted yet */
} tn_facts;

tn_status tn_facts_read(tn_facts *facts, const tn_rules *rules, const tn_checkpoint *checkpoint, tn_arena *arena,
                        tn_memory_source *memory, tn_error *err);

/* The names behind one prefix. `number` is that of the prefix, or rules->prefix_count for none. */
typedef struct tn_view {
    const tn_facts *facts;
    tn_text prefix;
    uint32_t number;
    bool layers; /* ask the adapter's layers instead of the tensors */
} tn_view;

/* The tensor of exactly this name, or NULL. */
const tn_tensor *tn_view_find(const tn_view *view, tn_text name);
/* How many tensors stand behind the prefix. */
size_t tn_view_tensors(const tn_view *view);

#endif
