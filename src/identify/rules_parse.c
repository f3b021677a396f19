/* Reading files of rules line by line: what stands at the left edge, and the tables it goes to. */
#include "identify/rules_parse.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "identify/rules_pack.h"

enum { TEXTS_MAX = 64 << 20 };

/* ---- the pack ---- */

typedef struct table_size {
    size_t offset, item_size;
} table_size;

/* Every table of a pack, once, and what its items are. */
#define TABLES(X)                                                                                                     \
    X(conditions, tn_condition)                                                                                       \
    X(steps, tn_step)                                                                                                 \
    X(texts, tn_text)                                                                                                 \
    X(parts, tn_part_rule)                                                                                            \
    X(predictions, tn_prediction_rule)                                                                                \
    X(rows, tn_row_rule)                                                                                              \
    X(families, tn_family)                                                                                            \
    X(prefixes, tn_prefix_rule)                                                                                       \
    X(adapter_prefixes, tn_adapter_prefix)                                                                            \
    X(claims, tn_text)                                                                                                \
    X(aliases, tn_alias)                                                                                              \
    X(sets, tn_text)                                                                                                  \
    X(set_listed, bool)                                                                                               \
    X(layers, tn_layer)                                                                                               \
    X(classes, tn_layer_class)                                                                                        \
    X(class_slots, uint32_t)                                                                                          \
    X(tests, tn_rule_test)

#define TABLE_SIZE(name, type) {offsetof(tn_rules_pack, name), sizeof(type)},
static const table_size tables[] = {TABLES(TABLE_SIZE)};

static rules_table *table_at(tn_rules_pack *pack, size_t i)
{
    return (rules_table *)(void *)((char *)pack + tables[i].offset);
}

tn_status tn_rules_pack_create(tn_memory_source *memory, tn_rules_pack **out, tn_error *err)
{
    void *taken;
    TN_TRY(tn_take_array(memory, 1, sizeof(tn_rules_pack), &taken, err));
    tn_rules_pack *pack = taken;
    pack->memory = memory;
    tn_arena_init(&pack->arena, memory, TEXTS_MAX);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        table_at(pack, i)->item_size = tables[i].item_size;
    *out = pack;
    return TN_OK;
}

void tn_rules_pack_destroy(tn_rules_pack *pack)
{
    if (pack == NULL)
        return;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        rules_table *table = table_at(pack, i);
        tn_give(pack->memory, table->items, table->capacity * table->item_size);
    }
    tn_arena_free(&pack->arena);
    tn_give(pack->memory, pack, sizeof *pack);
}

void *tn_rules_add(tn_rules_pack *pack, rules_table *table, tn_error *err)
{
    if (table->count == TN_RULES_ITEMS_MAX) {
        pack->failed = tn_rules_refuse(pack, TN_LIMIT, err, "there may be at most %u of these", TN_RULES_ITEMS_MAX);
        return NULL;
    }
    if (table->count == table->capacity) {
        uint32_t capacity = table->capacity == 0 ? 16 : table->capacity * 2;
        pack->failed = tn_retake(pack->memory, &table->items, table->capacity * table->item_size,
                                 capacity * table->item_size, err);
        if (pack->failed != TN_OK)
            return NULL;
        table->capacity = capacity;
    }
    void *item = (char *)table->items + table->count++ * table->item_size;
    memset(item, 0, table->item_size);
    return item;
}

tn_status tn_rules_refuse(tn_rules_pack *pack, tn_status status, tn_error *err, const char *format, ...)
{
    char message[sizeof err->message];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    (void)tn_fail(err, status, "line %u: %s", (unsigned)pack->line, message);
    tn_error_at_file(err, pack->file);
    tn_error_at_offset(err, pack->line);
    return status;
}

tn_status tn_rules_text(tn_rules_pack *pack, rules_word word, tn_text *out, tn_error *err)
{
    tn_text kept = tn_arena_text(&pack->arena, word.bytes, word.size);
    if (kept.bytes == NULL)
        return tn_arena_status(&pack->arena, err);
    *out = kept;
    return TN_OK;
}

/* ---- lines at the left edge ---- */

static tn_status take_text(tn_rules_pack *pack, rules_words *rest, const char *what, tn_text *out, tn_error *err)
{
    rules_word word;
    TN_TRY(tn_rules_word(pack, rest, &word, err));
    if (word.size == 0)
        return tn_rules_refuse(pack, TN_BAD_RULE, err, "%s is missing", what);
    if (tn_rules_is(word, "-"))
        word.size = 0;
    return tn_rules_text(pack, word, out, err);
}

static tn_status begin_family(tn_rules_pack *pack, tn_text name, tn_error *err)
{
    tn_family *family = tn_rules_add(pack, &pack->families, err);
    if (family == NULL)
        return pack->failed;
    *family = (tn_family){.name = name,
                          .type = {"", 0},
                          .conditions = {pack->conditions.count, 0},
                          .rows = {pack->rows.count, 0}};
    pack->variable_count = pack->family_variable_count = 0;
    return TN_OK;
}

static tn_status read_family(tn_rules_pack *pack, rules_words *rest, tn_error *err)
{
    tn_text name = {NULL, 0};
    TN_TRY(take_text(pack, rest, "the name of the family", &name, err));
    TN_TRY(begin_family(pack, name, err));
    pack->in_family = true;
    pack->scope = RULES_FAMILY;
    return TN_OK;
}

static tn_status name_row(tn_rules_pack *pack, tn_row_rule *row, tn_error *err)
{
    row->name = tn_arena_format(&pack->arena, row->variant.size > 0 ? "%s/%s/%s" : "%s/%s", row->type.bytes,
                                row->base.bytes, row->variant.bytes);
    return row->name.bytes != NULL ? TN_OK : tn_arena_status(&pack->arena, err);
}

/* model TYPE BASE [VARIANT] "what it is" */
static tn_status read_model(tn_rules_pack *pack, rules_words *rest, tn_error *err)
{
    tn_row_rule row = {.variant = {"", 0}, .says = {"", 0}, .why = {"", 0}, .purpose = {"", 0}};
    rules_word word;
    TN_TRY(take_text(pack, rest, "the type", &row.type, err));
    TN_TRY(take_text(pack, rest, "the base", &row.base, err));
    TN_TRY(tn_rules_word(pack, rest, &word, err));
    if (!word.quoted && word.size > 0) {
        TN_TRY(tn_rules_text(pack, word, &row.variant, err));
        TN_TRY(tn_rules_word(pack, rest, &word, err));
    }
    if (!word.quoted)
        return tn_rules_refuse(pack, TN_BAD_RULE, err, "a sentence in quotes is missing: what it is");
    TN_TRY(tn_rules_text(pack, word, &row.says, err));
    TN_TRY(name_row(pack, &row, err));
    if (pack->scope == RULES_FAMILY)
        pack->family_variable_count = pack->variable_count;
    if (!pack->in_family)
        TN_TRY(begin_family(pack, row.name, err));
    pack->variable_count = pack->family_variable_count;
    tn_family *family = &((tn_family *)pack->families.items)[pack->families.count - 1];
    if (family->rows.count > 0 &&
        (family->type.size != row.type.size || memcmp(family->type.bytes, row.type.bytes, row.type.size) != 0))
        return tn_rules_refuse(pack, TN_BAD_RULE, err, "all rows of a family have the same type");
    family->type = row.type;
    family->rows.count++;
    row.conditions.first = pack->conditions.count;
    row.parts.first = pack->parts.count;
    row.predictions.first = pack->predictions.count;
    tn_row_rule *kept = tn_rules_add(pack, &pack->rows, err);
    if (kept == NULL)
        return pack->failed;
    *kept = row;
    pack->scope = RULES_ROW;
    return TN_OK;
}

static tn_status read_layers(tn_rules_pack *pack, rules_words *rest, tn_error *err)
{
    rules_word name;
    TN_TRY(tn_rules_word(pack, rest, &name, err));
    if (name.size == 0)
        return tn_rules_refuse(pack, TN_BAD_RULE, err, "the name of the set is missing");
    TN_TRY(tn_rules_set(pack, name, &pack->set, err));
    ((bool *)pack->set_listed.items)[pack->set] = true;
    pack->scope = RULES_LAYERS;
    return TN_OK;
}

/* prefix TYPE PREFIX... */
static tn_status read_prefix(tn_rules_pack *pack, rules_words *rest, tn_error *err)
{
    tn_text type;
    rules_word word;
    TN_TRY(take_text(pack, rest, "the type", &type, err));
    TN_TRY(tn_rules_word(pack, rest, &word, err));
    while (word.size > 0) {
        tn_prefix_rule *kept = tn_rules_add(pack, &pack->prefixes, err);
        if (kept == NULL)
            return pack->failed;
        kept->type = type;
        TN_TRY(tn_rules_text(pack, word, &kept->prefix, err));
        TN_TRY(tn_rules_word(pack, rest, &word, err));
    }
    return TN_OK;
}

/* adapter PREFIX PART TARGET DIALECT; - stands for nothing. */
static tn_status read_adapter(tn_rules_pack *pack, rules_words *rest, tn_error *err)
{
    tn_adapter_prefix *kept = tn_rules_add(pack, &pack->adapter_prefixes, err);
    if (kept == NULL)
        return pack->failed;
    TN_TRY(take_text(pack, rest, "the prefix", &kept->prefix, err));
    TN_TRY(take_text(pack, rest, "the part", &kept->part, err));
    TN_TRY(take_text(pack, rest, "the target", &kept->target, err));
    return take_text(pack, rest, "the dialect", &kept->dialect, err);
}

/* claims KEY... */
static tn_status read_claims(tn_rules_pack *pack, rules_words *rest, tn_error *err)
{
    rules_word word;
    TN_TRY(tn_rules_word(pack, rest, &word, err));
    while (word.size > 0) {
        tn_text *kept = tn_rules_add(pack, &pack->claims, err);
        if (kept == NULL)
            return pack->failed;
        TN_TRY(tn_rules_text(pack, word, kept, err));
        TN_TRY(tn_rules_word(pack, rest, &word, err));
    }
    return TN_OK;
}

/* alias BASE[/VARIANT] WORD... */
static tn_status read_alias(tn_rules_pack *pack, rules_words *rest, tn_error *err)
{
    tn_alias made = {.variant = {"", 0}};
    rules_word word;
    TN_TRY(tn_rules_word(pack, rest, &word, err));
    const char *slash = word.size > 0 ? memchr(word.bytes, '/', word.size) : NULL;
    if (slash != NULL) {
        rules_word variant = {slash + 1, (size_t)(word.bytes + word.size - slash - 1), false};
        TN_TRY(tn_rules_text(pack, variant, &made.variant, err));
        word.size = (size_t)(slash - word.bytes);
    }
    if (word.size == 0)
        return tn_rules_refuse(pack, TN_BAD_RULE, err, "the base is missing");
    TN_TRY(tn_rules_text(pack, word, &made.base, err));
    TN_TRY(tn_rules_word(pack, rest, &word, err));
    while (word.size > 0) {
        tn_alias *kept = tn_rules_add(pack, &pack->aliases, err);
        if (kept == NULL)
            return pack->failed;
        *kept = made;
        TN_TRY(tn_rules_text(pack, word, &kept->word, err));
        TN_TRY(tn_rules_word(pack, rest, &word, err));
    }
    return TN_OK;
}

/* ---- lines ---- */

static tn_status read_edge(tn_rules_pack *pack, rules_word verb, rules_words *rest, tn_error *err)
{
    static const struct {
        const char *verb;
        tn_status (*read)(tn_rules_pack *pack, rules_words *rest, tn_error *err);
    } verbs[] = {{"family", read_family},   {"model", read_model},   {"layers", read_layers}, {"prefix", read_prefix},
                 {"adapter", read_adapter}, {"claims", read_claims}, {"alias", read_alias},
                 {"test", tn_rules_test_line}};
    if (tn_rules_is(verb, "end")) {
        pack->in_family = false;
        pack->scope = RULES_NOWHERE;
        return TN_OK;
    }
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (tn_rules_is(verb, verbs[i].verb))
            return verbs[i].read(pack, rest, err);
    return tn_rules_refuse(pack, TN_BAD_RULE, err, "%.*s is no word that a line can begin with", (int)verb.size,
                           verb.bytes);
}

static tn_status read_indented(tn_rules_pack *pack, rules_word verb, rules_words *rest, tn_error *err)
{
    bool known = false;
    if (pack->scope == RULES_NOWHERE)
        return tn_rules_refuse(pack, TN_BAD_RULE, err, "an indented line belongs to a family, a model or layers");
    if (pack->scope == RULES_LAYERS)
        return tn_rules_layer_line(pack, verb, rest, err);
    TN_TRY(tn_rules_condition(pack, verb, rest, &known, err));
    if (!known && pack->scope == RULES_ROW)
        TN_TRY(tn_rules_row_line(pack, verb, rest, &known, err));
    if (!known)
        return tn_rules_refuse(pack, TN_BAD_RULE, err, "%.*s is no condition", (int)verb.size, verb.bytes);
    return TN_OK;
}

static tn_status read_line(tn_rules_pack *pack, const char *line, size_t size, tn_error *err)
{
    if (size > TN_RULES_LINE_MAX)
        return tn_rules_refuse(pack, TN_LIMIT, err, "a line may have at most %u bytes", TN_RULES_LINE_MAX);
    if (size > 0 && memchr(line, '\0', size) != NULL)
        return tn_rules_refuse(pack, TN_BAD_RULE, err, "a NUL stands in the line");
    rules_words words = {line, line + size};
    rules_word verb;
    TN_TRY(tn_rules_word(pack, &words, &verb, err));
    bool indented = verb.bytes > line;
    if (verb.size == 0 || (verb.bytes[0] == '#' && (!indented || verb.size == 1)))
        return TN_OK; /* an indented #48 is the name of a layer */
    return indented ? read_indented(pack, verb, &words, err) : read_edge(pack, verb, &words, err);
}

tn_status tn_rules_pack_read(tn_rules_pack *pack, const char *file, const char *text, size_t size, tn_error *err)
{
    pack->file = file;
    pack->line = 0;
    pack->scope = RULES_NOWHERE;
    pack->in_family = false;
    if (size > TN_RULES_FILE_MAX)
        return tn_rules_refuse(pack, TN_LIMIT, err, "a file of rules may have at most %u bytes", TN_RULES_FILE_MAX);
    for (const char *at = text, *end = text + size; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline != NULL ? newline : end;
        pack->line++;
        TN_TRY(read_line(pack, at, (size_t)(stop - at), err));
        at = newline != NULL ? newline + 1 : end;
    }
    return TN_OK;
}

/* ---- the end ---- */

static int longest_first(const void *a, const void *b)
{
    const tn_adapter_prefix *left = a, *right = b;
    if (left->prefix.size != right->prefix.size)
        return left->prefix.size > right->prefix.size ? -1 : 1;
    return memcmp(left->prefix.bytes, right->prefix.bytes, left->prefix.size);
}

tn_status tn_rules_pack_finish(tn_rules_pack *pack, const tn_rules **out, tn_error *err)
{
    const bool *listed = pack->set_listed.items;
    for (uint32_t i = 0; i < pack->sets.count; i++)
        if (!listed[i])
            return tn_rules_refuse(pack, TN_BAD_RULE, err, "the layers %s are named but never listed",
                                   ((const tn_text *)pack->sets.items)[i].bytes);
    TN_TRY(tn_rules_index_layers(pack, err));
    if (pack->adapter_prefixes.count > 0)
        qsort(pack->adapter_prefixes.items, pack->adapter_prefixes.count, sizeof(tn_adapter_prefix), longest_first);
    pack->rules = (tn_rules){
        .conditions = pack->conditions.items, .condition_count = pack->conditions.count,
        .steps = pack->steps.items, .step_count = pack->steps.count,
        .texts = pack->texts.items, .text_count = pack->texts.count,
        .parts = pack->parts.items, .part_count = pack->parts.count,
        .predictions = pack->predictions.items, .prediction_count = pack->predictions.count,
        .rows = pack->rows.items, .row_count = pack->rows.count,
        .families = pack->families.items, .family_count = pack->families.count,
        .prefixes = pack->prefixes.items, .prefix_count = pack->prefixes.count,
        .adapter_prefixes = pack->adapter_prefixes.items, .adapter_prefix_count = pack->adapter_prefixes.count,
        .claims = pack->claims.items, .claim_count = pack->claims.count,
        .aliases = pack->aliases.items, .alias_count = pack->aliases.count,
        .sets = pack->sets.items, .set_count = pack->sets.count,
        .layers = pack->layers.items, .layer_count = pack->layers.count,
        .classes = pack->classes.items, .class_count = pack->classes.count,
        .class_slots = pack->class_slots.items, .class_slot_count = pack->class_slots.count,
        .tests = pack->tests.items, .test_count = pack->tests.count,
    };
    *out = &pack->rules;
    return TN_OK;
}
