/* A pack while it is read: known to the parser's own files only. */
#ifndef TN_IDENTIFY_RULES_PACK_H
#define TN_IDENTIFY_RULES_PACK_H

#include "core/arena.h"
#include "core/error.h"
#include "identify/rules_parse.h"

/* A growing table. */
typedef struct rules_table {
    void *items;
    uint32_t count, capacity;
    size_t item_size;
} rules_table;

typedef enum rules_scope { RULES_NOWHERE, RULES_FAMILY, RULES_ROW, RULES_LAYERS } rules_scope;

struct tn_rules_pack {
    tn_memory_source *memory;
    tn_arena arena; /* texts */
    rules_table conditions, steps, texts, parts, predictions, rows, families, prefixes, adapter_prefixes, claims,
        aliases, sets, set_listed, layers, classes, class_slots, tests;
    tn_rules rules;
    /* where the reading stands */
    const char *file;
    uint32_t line;
    rules_scope scope;
    bool in_family;   /* rows that follow belong to the last family */
    uint32_t set;     /* RULES_LAYERS: which */
    tn_status failed; /* why tn_rules_add gave nothing */
    tn_text variables[TN_RULES_VARIABLES_MAX];
    uint32_t variable_count, family_variable_count;
};

/* The words of one line. A quoted text and a shape in brackets are one word each. */
typedef struct rules_words {
    const char *at, *end;
} rules_words;

typedef struct rules_word {
    const char *bytes;
    size_t size;
    bool quoted;
} rules_word;

/* An item more at the end of a table, cleared; NULL with err filled (TN_LIMIT at TN_RULES_ITEMS_MAX). */
void *tn_rules_add(tn_rules_pack *pack, rules_table *table, tn_error *err);
/* A refusal that names file and line. */
tn_status tn_rules_refuse(tn_rules_pack *pack, tn_status status, tn_error *err, const char *format, ...)
    TN_PRINTF(4, 5);
tn_status tn_rules_text(tn_rules_pack *pack, rules_word word, tn_text *out, tn_error *err);

/* The next word; size 0 and not quoted at the end of the line. */
tn_status tn_rules_word(tn_rules_pack *pack, rules_words *words, rules_word *out, tn_error *err);
bool tn_rules_is(rules_word word, const char *literal);
bool tn_rules_number(rules_word word, uint64_t *out);
tn_status tn_rules_shape(tn_rules_pack *pack, rules_word word, tn_shape_rule *out, tn_error *err);
/* The steps of an expression, added to the table. */
tn_status tn_rules_expression(tn_rules_pack *pack, rules_word word, tn_range *out, tn_error *err);
/* Which variable a name is; a new one when it is none yet. */
tn_status tn_rules_variable(tn_rules_pack *pack, rules_word name, uint32_t *out, bool *fresh, tn_error *err);
/* Call `each` with every name that the braces of `word` stand for: a.{b,c} is a.b and a.c. */
tn_status tn_rules_spread(tn_rules_pack *pack, rules_word word,
                          tn_status (*each)(tn_rules_pack *pack, void *user, rules_word name, bool last, tn_error *err),
                          void *user, tn_error *err);

/* One indented line under a family or a row: false in *known when `verb` is none of its words. */
tn_status tn_rules_condition(tn_rules_pack *pack, rules_word verb, rules_words *rest, bool *known, tn_error *err);
tn_status tn_rules_row_line(tn_rules_pack *pack, rules_word verb, rules_words *rest, bool *known, tn_error *err);
/* One line of a set of layers. */
tn_status tn_rules_layer_line(tn_rules_pack *pack, rules_word name, rules_words *rest, tn_error *err);
/* The number of a set; it need not be listed yet. */
tn_status tn_rules_set(tn_rules_pack *pack, rules_word name, uint32_t *out, tn_error *err);
/* The tables of classes, made from all layers. */
tn_status tn_rules_index_layers(tn_rules_pack *pack, tn_error *err);
tn_status tn_rules_test_line(tn_rules_pack *pack, rules_words *rest, tn_error *err);

#endif
