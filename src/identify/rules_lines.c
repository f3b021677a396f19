/* The indented lines of families and rows. */
#include <string.h>

#include "identify/rules_pack.h"

static tn_status next_word(tn_rules_pack *pack, rules_words *rest, const char *what, rules_word *out, tn_error *err)
{
    TN_TRY(tn_rules_word(pack, rest, out, err));
    if (out->size == 0 && !out->quoted)
        return tn_rules_refuse(pack, TN_BAD_RULE, err, "%s is missing", what);
    return TN_OK;
}

static tn_status no_more(tn_rules_pack *pack, rules_words *rest, tn_error *err)
{
    rules_word word;
    TN_TRY(tn_rules_word(pack, rest, &word, err));
    if (word.size > 0 || word.quoted)
        return tn_rules_refuse(pack, TN_BAD_RULE, err, "%.*s is one word too many", (int)word.size, word.bytes);
    return TN_OK;
}

static tn_status add_condition(tn_rules_pack *pack, const tn_condition *condition, tn_error *err)
{
    tn_condition *kept = tn_rules_add(pack, &pack->conditions, err);
    if (kept == NULL)
        return pack->failed;
    *kept = *condition;
    if (pack->scope == RULES_FAMILY)
        ((tn_family *)pack->families.items)[pack->families.count - 1].conditions.count++;
    else
        ((tn_row_rule *)pack->rows.items)[pack->rows.count - 1].conditions.count++;
    return TN_OK;
}

static bool comparison_of(rules_word word, tn_comparison *out)
{
    static const struct {
        const char *sign;
        tn_comparison comparison;
    } signs[] = {{"=", TN_EQUAL},  {"!=", TN_UNEQUAL}, {"<", TN_LESS},    {"<=", TN_AT_MOST},
                 {">", TN_MORE},   {">=", TN_AT_LEAST}, {"?=", TN_EQUAL_IF_THERE}};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        if (tn_rules_is(word, signs[i].sign)) {
            *out = signs[i].comparison;
            return true;
        }
    }
    return false;
}

static tn_status take_comparison(tn_rules_pack *pack, rules_words *rest, tn_comparison *out, tn_error *err)
{
    rules_word word;
    TN_TRY(next_word(pack, rest, "a comparison such as =", &word, err));
    if (!comparison_of(word, out))
        return tn_rules_refuse(pack, TN_BAD_RULE, err, "%.*s is no comparison", (int)word.size, word.bytes);
    return TN_OK;
}

/* ---- names ---- */

static tn_status set_name(tn_rules_pack *pack, tn_condition *condition, rules_word name, tn_error *err)
{
    condition->whole = name.size > 0 && name.bytes[0] == '@';
    if (condition->whole) {
        name.bytes++;
        name.size--;
    }
    if (name.size == 0)
        return tn_rules_refuse(pack, TN_BAD_RULE, err, "a name is missing");
    condition->exact = memchr(name.bytes, '#', name.size) == NULL && memchr(name.bytes, '*', name.size) == NULL;
    return tn_rules_text(pack, name, &condition->name, err);
}

/* One of the names that braces stand for: has takes any of them, lacks wants none. */
static tn_status add_named(tn_rules_pack *pack, void *user, rules_word name, bool last, tn_error *err)
{
    tn_condition condition = *(const tn_condition *)user;
    TN_TRY(set_name(pack, &condition, name, err));
    condition.or_next = !last && condition.kind != TN_LACKS;
    return add_condition(pack, &condition, err);
}

/* The shape and the sentence that may end a line. */
static tn_status take_shape_and_says(tn_rules_pack *pack, rules_words *rest, tn_condition *condition, tn_error *err)
{
    rules_word word;
    TN_TRY(tn_rules_word(pack, rest, &word, err));
    if (word.size > 0 && !word.quoted && word.bytes[0] == '[') {
        TN_TRY(tn_rules_shape(pack, word, &condition->shape, err));
        TN_TRY(tn_rules_word(pack, rest, &word, err));
    }
    if (word.quoted)
        return tn_rules_text(pack, word, &condition->says, err);
    if (word.size > 0)
        return tn_rules_refuse(pack, TN_BAD_RULE, err, "%.*s is neither a shape nor a sentence", (int)word.size,
                               word.bytes);
    return TN_OK;
}

static tn_status read_presence(tn_rules_pack *pack, tn_condition_kind kind, rules_words *rest, tn_error *err)
{
    tn_condition condition = {.kind = kind, .variable = UINT32_MAX};
    rules_word name;
    TN_TRY(next_word(pack, rest, "a name", &name, err));
    TN_TRY(take_shape_and_says(pack, rest, &condition, err));
    TN_TRY(tn_rules_spread(pack, name, add_named, &condition, err));
    return no_more(pack, rest, err);
}

/* Whether `word` is a name that no number has yet. */
static bool is_new_name(const tn_rules_pack *pack, rules_word word)
{
    for (size_t i = 0; i < word.size; i++) {
        char c = word.bytes[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (i == 0 || c < '0' || c > '9'))
            return false;
    }
    for (uint32_t i = 0; i < pack->variable_count; i++)
        if (pack->variables[i].size == word.size && memcmp(pack->variables[i].bytes, word.bytes, word.size) == 0)
            return false;
    return true;
}

static tn_status read_count(tn_rules_pack *pack, tn_condition_kind kind, rules_words *rest, tn_error *err)
{
    tn_condition condition = {.kind = kind, .variable = UINT32_MAX};
    rules_word name, value;
    TN_TRY(next_word(pack, rest, "a name with #", &name, err));
    if (memchr(name.bytes, '#', name.size) == NULL)
        return tn_rules_refuse(pack, TN_BAD_RULE, err, "%.*s has no # to count", (int)name.size, name.bytes);
    TN_TRY(take_comparison(pack, rest, &condition.comparison, err));
    TN_TRY(next_word(pack, rest, "a number", &value, err));
    if (condition.comparison == TN_EQUAL && is_new_name(pack, value)) {
        bool fresh;
        TN_TRY(tn_rules_variable(pack, value, &condition.variable, &fresh, err));
    } else {
        TN_TRY(tn_rules_expression(pack, value, &condition.right, err));
    }
    TN_TRY(take_shape_and_says(pack, rest, &condition, err));
    TN_TRY(tn_rules_spread(pack, name, add_named, &condition, err));
    return no_more(pack, rest, err);
}

/* ---- numbers ---- */

/* dim EXPRESSION = EXPRESSION|EXPRESSION... */
static tn_status read_dim(tn_rules_pack *pack, rules_words *rest, tn_error *err)
{
    tn_condition condition = {.kind = TN_DIM, .variable = UINT32_MAX};
    rules_word left, right;
    TN_TRY(next_word(pack, rest, "an expression", &left, err));
    TN_TRY(tn_rules_expression(pack, left, &condition.left, err));
    TN_TRY(take_comparison(pack, rest, &condition.comparison, err));
    TN_TRY(next_word(pack, rest, "an expression", &right, err));
    TN_TRY(take_shape_and_says(pack, rest, &condition, err));
    for (const char *at = right.bytes, *end = right.bytes + right.size; at <= end;) {
        const char *bar = memchr(at, '|', (size_t)(end - at));
        rules_word one = {at, (size_t)((bar != NULL ? bar : end) - at), false};
        TN_TRY(tn_rules_expression(pack, one, &condition.right, err));
        condition.or_next = bar != NULL;
        TN_TRY(add_condition(pack, &condition, err));
        at = bar != NULL ? bar + 1 : end + 1;
    }
    return no_more(pack, rest, err);
}

static tn_status read_let(tn_rules_pack *pack, rules_words *rest, tn_error *err)
{
    tn_condition condition = {.kind = TN_LET};
    rules_word name, value;
    bool fresh;
    TN_TRY(next_word(pack, rest, "a name", &name, err));
    TN_TRY(take_comparison(pack, rest, &condition.comparison, err));
    TN_TRY(next_word(pack, rest, "an expression", &value, err));
    TN_TRY(tn_rules_expression(pack, value, &condition.right, err));
    TN_TRY(tn_rules_variable(pack, name, &condition.variable, &fresh, err));
    if (!fresh || condition.comparison != TN_EQUAL)
        return tn_rules_refuse(pack, TN_BAD_RULE, err, "let takes a new name and =");
    TN_TRY(add_condition(pack, &condition, err));
    return no_more(pack, rest, err);
}

static tn_status read_tensors(tn_rules_pack *pack, rules_words *rest, tn_error *err)
{
    tn_condition condition = {.kind = TN_TENSORS, .variable = UINT32_MAX};
    rules_word value;
    TN_TRY(take_comparison(pack, rest, &condition.comparison, err));
    TN_TRY(next_word(pack, rest, "a number", &value, err));
    TN_TRY(tn_rules_expression(pack, value, &condition.right, err));
    TN_TRY(take_shape_and_says(pack, rest, &condition, err));
    return add_condition(pack, &condition, err);
}

/* ---- words ---- */

/* [COMPARISON] WORD|WORD...; without a comparison it is =. `optional`: without a value, it is enough to be there. */
static tn_status take_value(tn_rules_pack *pack, rules_words *rest, bool optional, tn_condition *condition,
                            tn_error *err)
{
    rules_word word;
    TN_TRY(tn_rules_word(pack, rest, &word, err));
    condition->comparison = TN_EQUAL;
    if (comparison_of(word, &condition->comparison)) {
        optional = false;
        TN_TRY(tn_rules_word(pack, rest, &word, err));
    }
    if (word.size == 0 && !optional)
        return tn_rules_refuse(pack, TN_BAD_RULE, err, "a value is missing");
    if (condition->comparison > TN_UNEQUAL && condition->comparison != TN_EQUAL_IF_THERE)
        return tn_rules_refuse(pack, TN_BAD_RULE, err, "words are compared with =, != or ?= only");
    return tn_rules_text(pack, word, &condition->value, err);
}

static tn_status read_words(tn_rules_pack *pack, tn_condition_kind kind, rules_words *rest, tn_error *err)
{
    tn_condition condition = {.kind = kind, .variable = UINT32_MAX};
    if (kind == TN_METADATA || kind == TN_DTYPE) {
        rules_word name;
        TN_TRY(next_word(pack, rest, "a name", &name, err));
        TN_TRY(set_name(pack, &condition, name, err));
    }
    TN_TRY(take_value(pack, rest, kind == TN_METADATA, &condition, err));
    TN_TRY(take_shape_and_says(pack, rest, &condition, err));
    TN_TRY(add_condition(pack, &condition, err));
    return no_more(pack, rest, err);
}

tn_status tn_rules_condition(tn_rules_pack *pack, rules_word verb, rules_words *rest, bool *known, tn_error *err)
{
    static const struct {
        const char *verb;
        tn_condition_kind kind;
    } verbs[] = {{"has", TN_HAS},        {"lacks", TN_LACKS},     {"count", TN_COUNT},
                 {"top", TN_TOP},        {"dim", TN_DIM},         {"let", TN_LET},
                 {"tensors", TN_TENSORS}, {"meta", TN_METADATA},   {"class", TN_CLASS},
                 {"dtype", TN_DTYPE},    {"container", TN_CONTAINER_IS}, {"dialect", TN_DIALECT},
                 {"algorithm", TN_ALGORITHM}};
    *known = true;
    if (tn_rules_is(verb, "from"))
        return TN_OK; /* where the facts come from: for readers */
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        if (!tn_rules_is(verb, verbs[i].verb))
            continue;
        switch (verbs[i].kind) {
        case TN_HAS:
        case TN_LACKS:
            return read_presence(pack, verbs[i].kind, rest, err);
        case TN_COUNT:
        case TN_TOP:
            return read_count(pack, verbs[i].kind, rest, err);
        case TN_DIM:
            return read_dim(pack, rest, err);
        case TN_LET:
            return read_let(pack, rest, err);
        case TN_TENSORS:
            return read_tensors(pack, rest, err);
        case TN_METADATA:
        case TN_CLASS:
        case TN_DTYPE:
        case TN_CONTAINER_IS:
        case TN_DIALECT:
        case TN_ALGORITHM:
            return read_words(pack, verbs[i].kind, rest, err);
        }
    }
    *known = false;
    return TN_OK;
}

/* ---- what a row answers ---- */

static tn_row_rule *this_row(tn_rules_pack *pack)
{
    return &((tn_row_rule *)pack->rows.items)[pack->rows.count - 1];
}

static tn_status read_part(tn_rules_pack *pack, rules_words *rest, tn_error *err)
{
    tn_part_rule *part = tn_rules_add(pack, &pack->parts, err);
    if (part == NULL)
        return pack->failed;
    rules_word word;
    TN_TRY(next_word(pack, rest, "the name of a part", &word, err));
    tn_part_rule made = {.sets = {0}};
    TN_TRY(tn_rules_text(pack, word, &made.part, err));
    TN_TRY(next_word(pack, rest, "a set of layers", &word, err));
    while (word.size > 0) {
        uint32_t set;
        TN_TRY(tn_rules_set(pack, word, &set, err));
        made.sets[set / 64] |= UINT64_C(1) << (set % 64);
        TN_TRY(tn_rules_word(pack, rest, &word, err));
    }
    *part = made;
    this_row(pack)->parts.count++;
    return TN_OK;
}

static tn_status read_variants(tn_rules_pack *pack, rules_words *rest, tn_error *err)
{
    rules_word word;
    TN_TRY(next_word(pack, rest, "a variant", &word, err));
    tn_range *range = &this_row(pack)->variants;
    *range = (tn_range){pack->texts.count, 0};
    while (word.size > 0) {
        tn_text *kept = tn_rules_add(pack, &pack->texts, err);
        if (kept == NULL)
            return pack->failed;
        TN_TRY(tn_rules_text(pack, word, kept, err));
        range->count++;
        TN_TRY(tn_rules_word(pack, rest, &word, err));
    }
    return TN_OK;
}

/* prediction WORD [if SENTINEL] */
static tn_status read_prediction(tn_rules_pack *pack, rules_words *rest, tn_error *err)
{
    tn_prediction_rule made = {{NULL, 0}, {"", 0}};
    rules_word word;
    TN_TRY(next_word(pack, rest, "a word", &word, err));
    TN_TRY(tn_rules_text(pack, word, &made.word, err));
    TN_TRY(tn_rules_word(pack, rest, &word, err));
    if (tn_rules_is(word, "if")) {
        TN_TRY(next_word(pack, rest, "the name of a tensor", &word, err));
        TN_TRY(tn_rules_text(pack, word, &made.sentinel, err));
    } else if (word.size > 0) {
        return tn_rules_refuse(pack, TN_BAD_RULE, err, "only 'if TENSOR' may follow");
    }
    tn_prediction_rule *kept = tn_rules_add(pack, &pack->predictions, err);
    if (kept == NULL)
        return pack->failed;
    *kept = made;
    this_row(pack)->predictions.count++;
    return no_more(pack, rest, err);
}

/* names APP=WORD... */
static tn_status read_names(tn_rules_pack *pack, rules_words *rest, tn_error *err)
{
    static const char *const apps[TN_APP_COUNT] = {"invokeai=", "comfyui=", "diffsynth=", "diffusers="};
    rules_word word;
    TN_TRY(next_word(pack, rest, "APP=NAME", &word, err));
    for (; word.size > 0;) {
        int app = -1;
        for (int i = 0; i < TN_APP_COUNT; i++)
            if (word.size > strlen(apps[i]) && memcmp(word.bytes, apps[i], strlen(apps[i])) == 0)
                app = i;
        if (app < 0)
            return tn_rules_refuse(pack, TN_BAD_RULE, err, "%.*s is not APP=NAME of an app that is known",
                                   (int)word.size, word.bytes);
        size_t skip = strlen(apps[app]);
        rules_word name = {word.bytes + skip, word.size - skip, false};
        tn_text kept;
        TN_TRY(tn_rules_text(pack, name, &kept, err));
        this_row(pack)->names[app] = kept;
        TN_TRY(tn_rules_word(pack, rest, &word, err));
    }
    return TN_OK;
}

static tn_status read_text_field(tn_rules_pack *pack, rules_words *rest, size_t field, tn_error *err)
{
    rules_word word;
    tn_text kept;
    TN_TRY(next_word(pack, rest, "a text", &word, err));
    TN_TRY(tn_rules_text(pack, word, &kept, err));
    memcpy((char *)this_row(pack) + field, &kept, sizeof kept);
    return no_more(pack, rest, err);
}

static tn_status read_number_field(tn_rules_pack *pack, rules_words *rest, size_t field, tn_error *err)
{
    rules_word word;
    tn_range steps;
    TN_TRY(next_word(pack, rest, "an expression", &word, err));
    TN_TRY(tn_rules_expression(pack, word, &steps, err));
    memcpy((char *)this_row(pack) + field, &steps, sizeof steps);
    return no_more(pack, rest, err);
}

tn_status tn_rules_row_line(tn_rules_pack *pack, rules_word verb, rules_words *rest, bool *known, tn_error *err)
{
    *known = true;
    if (tn_rules_is(verb, "part"))
        return read_part(pack, rest, err);
    if (tn_rules_is(verb, "variants"))
        return read_variants(pack, rest, err);
    if (tn_rules_is(verb, "prediction"))
        return read_prediction(pack, rest, err);
    if (tn_rules_is(verb, "names"))
        return read_names(pack, rest, err);
    if (tn_rules_is(verb, "why"))
        return read_text_field(pack, rest, offsetof(tn_row_rule, why), err);
    if (tn_rules_is(verb, "purpose"))
        return read_text_field(pack, rest, offsetof(tn_row_rule, purpose), err);
    if (tn_rules_is(verb, "scale"))
        return read_number_field(pack, rest, offsetof(tn_row_rule, scale), err);
    if (tn_rules_is(verb, "in"))
        return read_number_field(pack, rest, offsetof(tn_row_rule, in_channels), err);
    if (tn_rules_is(verb, "out"))
        return read_number_field(pack, rest, offsetof(tn_row_rule, out_channels), err);
    *known = false;
    return TN_OK;
}
