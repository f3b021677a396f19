/* An adapter's file as a table of layers: key = prefix + path of the layer + suffix.
 *
 * The suffix says how the layer is changed (LoRA, LoHa, LoKr, ...) and gives the shape of the weight that it changes;
 * the prefix says which part of a model the layer belongs to, and who wrote the file. Which base a file is for is
 * then a question of sets: every layer must be one of the base's, with that shape (rules.h, tn_layer). */
#ifndef TN_IDENTIFY_ADAPTER_H
#define TN_IDENTIFY_ADAPTER_H

#include <tenure/identify.h>

#include "core/arena.h"
#include "identify/rules.h"

#define TN_PARTS_OF_ADAPTER_MAX 16u
#define TN_ADAPTER_TENSORS_MAX 262144u /* a file of more is not looked at as an adapter */

/* What a tensor is to its layer. */
typedef enum tn_role {
    TN_ROLE_PLAIN = 0, /* no suffix of an adapter: a weight put in place of the model's */
    TN_ROLE_DOWN,      /* LoRA */
    TN_ROLE_UP,
    TN_ROLE_MID,
    TN_ROLE_HADA_1A, /* LoHa */
    TN_ROLE_HADA_1B,
    TN_ROLE_HADA_T,
    TN_ROLE_HADA, /* the second pair */
    TN_ROLE_LOKR_1,
    TN_ROLE_LOKR_1A,
    TN_ROLE_LOKR_1B,
    TN_ROLE_LOKR_2,
    TN_ROLE_LOKR_2A,
    TN_ROLE_LOKR_2B,
    TN_ROLE_LOKR_T,
    TN_ROLE_DIFF, /* a whole difference, or a whole weight */
    TN_ROLE_OFT,
    TN_ROLE_IA3,
    TN_ROLE_GLORA,
    TN_ROLE_DORA,
    TN_ROLE_SIDE, /* alpha, scalar, a bias: says nothing of the shape */
    TN_ROLE_COUNT
} tn_role;

typedef enum tn_layer_style { TN_STYLE_NONE = 0, TN_STYLE_DOWN_UP, TN_STYLE_A_B, TN_STYLE_XLABS } tn_layer_style;

/* One layer that the adapter changes. */
typedef struct tn_module {
    tn_text key;      /* prefix and path, from the first tensor of the layer */
    uint32_t path_at; /* where the path begins in it */
    uint32_t prefix;  /* number of the adapter prefix, or UINT32_MAX */
    uint32_t part;    /* number in tn_adapter_table.parts, or UINT32_MAX */
    uint32_t roles;   /* bits of tn_role */
    uint32_t tensors[TN_ROLE_COUNT]; /* index + 1 of the tensor of each role */
    uint64_t shape[TN_RULES_DIMENSIONS_MAX]; /* of the weight behind it; 0: not known */
    uint32_t rank_of_shape;                  /* 0: nothing known */
    uint32_t rank;                           /* of the factors; 0: none */
} tn_module;

typedef struct tn_adapter_part {
    tn_text part, target;
    uint32_t modules;
    uint64_t sets[TN_RULES_SETS_MAX / 64]; /* the sets that every one of its layers is in */
} tn_adapter_part;

typedef struct tn_adapter_table {
    tn_module *modules;
    uint32_t count;
    uint32_t plain;   /* of them: weights without a suffix */
    size_t marked;    /* tensors with a suffix of an adapter */
    tn_adapter_part parts[TN_PARTS_OF_ADAPTER_MAX];
    uint32_t part_count;
    bool strangers; /* a layer belongs to no part, or there are too many parts */
    tn_text algorithm, dialect;
    uint32_t rank_min, rank_max;
} tn_adapter_table;

/* Read the table. `*out` is NULL when fewer than half of the tensors are an adapter's. */
tn_status tn_adapter_read(const tn_rules *rules, const tn_checkpoint *checkpoint, tn_arena *arena,
                          tn_memory_source *memory, tn_adapter_table **out, tn_error *err);
/* Can a row with these parts hold every layer? */
bool tn_adapter_fits(const tn_adapter_table *table, const tn_rules *rules, tn_range parts);
/* The path of a layer, as the model names it. */
tn_text tn_module_path(const tn_module *module);

/* The suffix of a tensor's name: its role, and how much of the name is the layer's key. */
typedef struct tn_suffix {
    tn_role role;
    tn_layer_style style;
    size_t key_size;
} tn_suffix;
tn_suffix tn_adapter_suffix(const char *name, size_t size);

#endif
