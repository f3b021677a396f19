/* What is known of each model, as tables: the files of rules/ compiled by the build (tools/rulec.c), or read from a pack at
 * run time by the same parser. The language is told in docs/rules.md.
 *
 *   R1  Every index and range below lies inside its table; the parser refuses a file that would break this.
 *   R2  A pack never changes once it is made; texts in answers are borrowed from it, so it outlives them.
 *   R3  A row of a model is consistent with a file when all conditions of its family and of itself hold. Rows exclude
 *       each other by conditions, never by their order.
 */
#ifndef TN_IDENTIFY_RULES_H
#define TN_IDENTIFY_RULES_H

#include <tenure/status.h>

#include "core/memory.h"

/* How much a file of rules may ask for: each is refused with TN_LIMIT one past it. */
#define TN_RULES_LINE_MAX 4096u      /* bytes of one line */
#define TN_RULES_FILE_MAX 4194304u   /* bytes of one file */
#define TN_RULES_ITEMS_MAX 65535u    /* of any one table */
#define TN_RULES_SPREAD_MAX 256u     /* names that the braces of one line may stand for */
#define TN_RULES_SETS_MAX 128u       /* sets of layers */
#define TN_RULES_VARIABLES_MAX 24u   /* named numbers of one row and its family */
#define TN_RULES_DIMENSIONS_MAX 6u   /* of one shape */
#define TN_RULES_INDICES_MAX 6u      /* numbers in the name of one layer */
#define TN_RULES_STEPS_MAX 24u       /* of one expression */

typedef struct tn_range {
    uint32_t first, count;
} tn_range;

/* One number of a shape. */
typedef enum tn_dimension_kind { TN_DIMENSION_ANY = 0, TN_DIMENSION_NUMBER, TN_DIMENSION_VARIABLE } tn_dimension_kind;
typedef struct tn_dimension {
    tn_dimension_kind kind;
    uint64_t value; /* the number, or which variable */
} tn_dimension;

/* A shape as a rule writes it: [320, cin, 3, 3], [512, ...]. */
typedef struct tn_shape_rule {
    bool given; /* false: any shape will do */
    bool open;  /* more dimensions may follow those listed */
    uint32_t rank;
    tn_dimension dims[TN_RULES_DIMENSIONS_MAX];
} tn_shape_rule;

/* An expression in postfix order. */
typedef enum tn_step_kind {
    TN_STEP_NUMBER = 0,
    TN_STEP_VARIABLE,
    TN_STEP_ADD,
    TN_STEP_SUBTRACT,
    TN_STEP_MULTIPLY,
    TN_STEP_DIVIDE, /* only without remainder: else there is no value */
    TN_STEP_ROOT    /* only of squares */
} tn_step_kind;
typedef struct tn_step {
    tn_step_kind kind;
    uint64_t value;
} tn_step;

typedef enum tn_comparison {
    TN_EQUAL = 0,
    TN_UNEQUAL,
    TN_LESS,
    TN_AT_MOST,
    TN_MORE,
    TN_AT_LEAST,
    TN_EQUAL_IF_THERE /* metadata: what is absent does not contradict */
} tn_comparison;

typedef enum tn_condition_kind {
    TN_HAS = 0,  /* a tensor (an adapter: a layer it changes) of that name and shape */
    TN_LACKS,
    TN_COUNT,    /* of the different numbers that stand for # in names */
    TN_TOP,      /* the greatest of them, and one more */
    TN_DIM,      /* two expressions compared */
    TN_LET,      /* a new variable */
    TN_TENSORS,  /* how many tensors under the prefix */
    TN_METADATA, /* the value of a key */
    TN_CLASS,    /* the class a folder's configuration names */
    TN_DTYPE,    /* of a tensor */
    TN_CONTAINER_IS,
    TN_DIALECT,  /* of an adapter */
    TN_ALGORITHM
} tn_condition_kind;

typedef struct tn_condition {
    tn_condition_kind kind;
    tn_comparison comparison;
    bool or_next;   /* holds when it or the next one holds */
    bool whole;     /* the name is looked up in the whole file, not behind the prefix (written with @) */
    bool exact;     /* the name holds neither # nor * */
    tn_text name;   /* of tensors or layers, or a key */
    tn_text value;  /* words, separated by | */
    tn_shape_rule shape;
    tn_range left, right; /* steps; COUNT and TOP compare with `right`; LET computes it */
    uint32_t variable;    /* LET, COUNT and TOP: the variable that takes the number, or UINT32_MAX */
    tn_text says;
} tn_condition;

/* The layers a part of an adapter may touch: one line a row of its table, any one of `sets` is enough. */
typedef struct tn_part_rule {
    tn_text part;
    uint64_t sets[TN_RULES_SETS_MAX / 64];
} tn_part_rule;

typedef struct tn_prediction_rule {
    tn_text word;
    tn_text sentinel; /* a tensor of the whole file, or empty: always */
} tn_prediction_rule;

typedef enum tn_app { TN_APP_INVOKEAI = 0, TN_APP_COMFYUI, TN_APP_DIFFSYNTH, TN_APP_DIFFUSERS, TN_APP_COUNT } tn_app;

typedef struct tn_row_rule {
    tn_text name; /* "main/flux/dev" */
    tn_text type, base, variant;
    tn_text says, why, purpose;
    tn_range conditions, parts, variants, predictions;
    tn_range scale, in_channels, out_channels; /* expressions; empty: does not apply */
    tn_text names[TN_APP_COUNT];
} tn_row_rule;

typedef struct tn_family {
    tn_text name;
    tn_text type; /* of all its rows */
    tn_range conditions, rows;
} tn_family;

/* A prefix that models of a type may stand behind. */
typedef struct tn_prefix_rule {
    tn_text type, prefix;
} tn_prefix_rule;

/* A prefix of adapters: which part of the model the layers behind it belong to. */
typedef struct tn_adapter_prefix {
    tn_text prefix, part, target, dialect;
} tn_adapter_prefix;

/* A name that trainers and mergers give to a base. */
typedef struct tn_alias {
    tn_text word, base, variant;
} tn_alias;

/* One line of a set of layers: names that match and the shape of the weight behind them. */
typedef struct tn_layer {
    tn_text name; /* every number is #; separators as the model has them */
    uint32_t least[TN_RULES_INDICES_MAX], most[TN_RULES_INDICES_MAX]; /* what each # may be */
    tn_shape_rule shape;
    uint32_t set;
} tn_layer;

/* All lines whose names are the same once every separator is an underscore. */
typedef struct tn_layer_class {
    tn_text key;
    tn_range layers;
} tn_layer_class;

/* A test line: what a header of the corpus, changed, must be. Kept by the parser, not by the compiled pack. */
typedef struct tn_rule_test {
    tn_text header;
    tn_range changes; /* texts: "minus NAME", "prefix P", ... two texts each */
    tn_text state;    /* "identified", "unknown", "ambiguous" */
    tn_range answers; /* texts: "type base variant", or "type base" */
    uint32_t line;
} tn_rule_test;

typedef struct tn_rules {
    const tn_condition *conditions;
    const tn_step *steps;
    const tn_text *texts;
    const tn_part_rule *parts;
    const tn_prediction_rule *predictions;
    const tn_row_rule *rows;
    const tn_family *families;
    const tn_prefix_rule *prefixes;
    const tn_adapter_prefix *adapter_prefixes; /* longest first */
    const tn_text *claims; /* metadata keys that name a base, the most trusted first */
    const tn_alias *aliases;
    const tn_text *sets; /* names */
    const tn_layer *layers;
    const tn_layer_class *classes;
    const uint32_t *class_slots; /* number of a class + 1, found by tn_rules_hash; 0: empty */
    const tn_rule_test *tests;
    uint32_t condition_count, step_count, text_count, part_count, prediction_count, row_count, family_count,
        prefix_count, adapter_prefix_count, claim_count, alias_count, set_count, layer_count, class_count,
        class_slot_count, test_count;
} tn_rules;

/* The rules this library was built with. */
extern const tn_rules tn_rules_built_in;

/* Of a class's key. Not seeded: the table is ours, and a lookup is bounded by its longest run. */
uint32_t tn_rules_hash(const char *key, size_t size);
/* The class of a key, or NULL. */
const tn_layer_class *tn_rules_class(const tn_rules *rules, const char *key, size_t size);

#endif
