/* What spoke for an answer and against the others, in words that name tensors. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "identify/answer.h"

#define SHAPE_TEXT 192 /* of TN_RULES_DIMENSIONS_MAX numbers, with brackets */

/* ---- shapes as text ---- */

typedef struct shape_text {
    char bytes[SHAPE_TEXT];
    size_t size;
} shape_text;

static void put(shape_text *out, const char *format, uint64_t number)
{
    int size = snprintf(out->bytes + out->size, sizeof out->bytes - out->size, format, number);
    if (size > 0 && (size_t)size < sizeof out->bytes - out->size)
        out->size += (size_t)size;
}

/* "[640, 2048]"; of a long shape the first numbers. */
static shape_text shape_of_tensor(const tn_tensor *tensor)
{
    shape_text out = {"[", 1};
    for (uint32_t i = 0; i < tensor->rank && i < TN_RULES_DIMENSIONS_MAX; i++)
        put(&out, i > 0 ? ", %" PRIu64 : "%" PRIu64, tensor->shape[i]);
    put(&out, "]", 0);
    return out;
}

/* The same of what a rule asks for: "[640, any]", "[512, ...]". */
static shape_text shape_of_rule(const tn_shape_rule *rule, const tn_variables *variables)
{
    shape_text out = {"[", 1};
    for (uint32_t i = 0; i < rule->rank; i++) {
        tn_dimension dim = rule->dims[i];
        bool known = dim.kind == TN_DIMENSION_VARIABLE && (variables->known >> dim.value & 1) != 0;
        put(&out, i > 0 ? ", " : "", 0);
        if (dim.kind == TN_DIMENSION_NUMBER || known)
            put(&out, "%" PRIu64, known ? variables->values[dim.value] : dim.value);
        else
            put(&out, "any", 0);
    }
    put(&out, rule->open ? ", ...]" : "]", 0);
    return out;
}

/* ---- for ---- */

static const tn_tensor *tensor_of(const tn_view *view, const tn_condition *c)
{
    const tn_view all = {view->facts, {"", 0}, view->facts->rules->prefix_count, false};
    if (!c->exact || (view->layers && !c->whole))
        return NULL;
    return tn_view_find(c->whole ? &all : view, c->name);
}

/* "its name [320, 4, 3, 3]" of the tensor that a condition found. */
static tn_text name_tensor(tn_draft *draft, const tn_match *match, const tn_condition *c)
{
    const tn_tensor *tensor = tensor_of(&match->view, c);
    if (tensor == NULL)
        return tn_arena_format(&draft->arena, "%s", c->name.bytes);
    return tn_arena_format(&draft->arena, "%.*s %s", (int)tensor->name.size, tensor->name.bytes,
                           shape_of_tensor(tensor).bytes);
}

static void tell_conditions(tn_draft *draft, const tn_match *match, tn_range range)
{
    const tn_rules *rules = match->view.facts->rules;
    for (uint32_t i = 0; i < range.count; i++) {
        const tn_condition *c = &rules->conditions[range.first + i];
        if (c->says.size == 0 || c->or_next)
            continue;
        tn_text name = c->name.size > 0 ? name_tensor(draft, match, c) : (tn_text){NULL, 0};
        tn_draft_say(draft, match->row->name, 1,
                     name.bytes != NULL ? tn_arena_format(&draft->arena, "%s: %s", c->says.bytes, name.bytes)
                                        : c->says);
    }
}

/* The first tensor that a row asks for, so that every row's evidence names one. */
static const tn_condition *first_has(const tn_match *match)
{
    const tn_rules *rules = match->view.facts->rules;
    const tn_range ranges[] = {match->row->conditions, match->family->conditions};
    for (size_t i = 0; i < 2; i++)
        for (uint32_t j = 0; j < ranges[i].count; j++)
            if (rules->conditions[ranges[i].first + j].kind == TN_HAS &&
                rules->conditions[ranges[i].first + j].exact)
                return &rules->conditions[ranges[i].first + j];
    return NULL;
}

/* A layer that dialects number instead of naming it tells a person nothing. */
static bool is_number(tn_text text)
{
    for (size_t i = 0; i < text.size; i++)
        if (text.bytes[i] < '0' || text.bytes[i] > '9')
            return false;
    return true;
}

static void tell_layers(tn_draft *draft, const tn_row_rule *row, const tn_adapter_table *table)
{
    tn_text path = tn_module_path(&table->modules[0]);
    tn_text says = tn_arena_format(&draft->arena, "%s: it has all %u layers that the adapter changes", row->says.bytes,
                                   (unsigned)table->count);
    if (says.bytes != NULL && !is_number(path))
        says = tn_arena_format(&draft->arena, "%s, such as %.*s", says.bytes, (int)path.size, path.bytes);
    tn_draft_say(draft, row->name, 2, says);
}

void tn_tell_for(tn_draft *draft, const tn_match *match)
{
    const tn_row_rule *row = match->row;
    const tn_adapter_table *table = match->view.facts->adapter;
    const tn_condition *has = first_has(match);
    if (row->parts.count > 0 && table != NULL && table->count > 0) {
        tell_layers(draft, row, table);
    } else if (has != NULL) {
        tn_text name = name_tensor(draft, match, has);
        tn_draft_say(draft, row->name, 2,
                     tn_arena_format(&draft->arena, "%s: %s", row->says.bytes, name.bytes != NULL ? name.bytes : ""));
    } else {
        tn_draft_say(draft, row->name, 2, row->says);
    }
    tell_conditions(draft, match, match->family->conditions);
    tell_conditions(draft, match, row->conditions);
}

/* ---- against ---- */

static const char *comparison_words(tn_comparison comparison)
{
    switch (comparison) {
    case TN_UNEQUAL: return "anything but ";
    case TN_LESS: return "less than ";
    case TN_AT_MOST: return "at most ";
    case TN_MORE: return "more than ";
    case TN_AT_LEAST: return "at least ";
    case TN_EQUAL:
    case TN_EQUAL_IF_THERE: break;
    }
    return "";
}

static tn_text missing_tensor(tn_arena *arena, const tn_near_miss *miss)
{
    const tn_condition *c = miss->failed;
    const char *what = miss->view.layers && !c->whole ? "layer" : "tensor";
    const tn_tensor *tensor = tensor_of(&miss->view, c);
    shape_text wanted = shape_of_rule(&c->shape, &miss->variables);
    if (tensor != NULL)
        return tn_arena_format(arena, "%.*s is %s, it would be %s", (int)tensor->name.size, tensor->name.bytes,
                               shape_of_tensor(tensor).bytes, wanted.bytes);
    return tn_arena_format(arena, "it has no %s %s%s%s", what, c->name.bytes, c->shape.given ? " " : "",
                           c->shape.given ? wanted.bytes : "");
}

/* "28 of blocks.#.attn.weight, it would be 30". */
static tn_text wrong_number(tn_arena *arena, const tn_near_miss *miss, tn_text found)
{
    const tn_condition *c = miss->failed;
    uint64_t wanted;
    if (found.bytes == NULL || !tn_match_value(miss->view.facts->rules, &miss->variables, c->right, &wanted))
        return found;
    return tn_arena_format(arena, "%s, it would be %s%" PRIu64, found.bytes, comparison_words(c->comparison), wanted);
}

static tn_text wrong_count(tn_arena *arena, const tn_near_miss *miss)
{
    const tn_condition *c = miss->failed;
    return wrong_number(arena, miss, tn_arena_format(arena, "%" PRIu64 " of %s", tn_match_count(&miss->view, c),
                                                     c->name.bytes));
}

static tn_text wrong_size(tn_arena *arena, const tn_near_miss *miss)
{
    uint64_t left;
    if (!tn_match_value(miss->view.facts->rules, &miss->variables, miss->failed->left, &left))
        return TN_TEXT("its sizes do not go together");
    return wrong_number(arena, miss, tn_arena_format(arena, "one of its sizes is %" PRIu64, left));
}

static tn_text wrong_word(tn_arena *arena, const tn_near_miss *miss, const char *of)
{
    const tn_condition *c = miss->failed;
    const char *is = c->comparison == TN_UNEQUAL ? "is" : "is not";
    if (c->value.size == 0)
        return tn_arena_format(arena, "it has %s%s%s%s", c->comparison == TN_UNEQUAL ? "" : "no ", of,
                               c->name.size > 0 ? " " : "", c->name.size > 0 ? c->name.bytes : "");
    return tn_arena_format(arena, "%s%s%s %s %s", of, c->name.size > 0 ? " " : "", c->name.size > 0 ? c->name.bytes : "",
                           is, c->value.bytes);
}

static tn_text what_failed(tn_arena *arena, const tn_near_miss *miss)
{
    const tn_condition *c = miss->failed;
    switch (c->kind) {
    case TN_HAS: return missing_tensor(arena, miss);
    case TN_LACKS: return tn_arena_format(arena, "it has %s", c->name.bytes);
    case TN_COUNT:
    case TN_TOP: return wrong_count(arena, miss);
    case TN_TENSORS:
        return wrong_number(arena, miss, tn_arena_format(arena, "%zu tensors", tn_view_tensors(&miss->view)));
    case TN_DIM: return wrong_size(arena, miss);
    case TN_LET: return TN_TEXT("its sizes do not go together");
    case TN_METADATA: return wrong_word(arena, miss, "metadata");
    case TN_CLASS: return wrong_word(arena, miss, "the folder's class");
    case TN_DTYPE: return wrong_word(arena, miss, "the type of");
    case TN_CONTAINER_IS: return wrong_word(arena, miss, "the container");
    case TN_DIALECT: return wrong_word(arena, miss, "the adapter's dialect");
    case TN_ALGORITHM: return wrong_word(arena, miss, "the adapter's algorithm");
    }
    return TN_TEXT("");
}

void tn_tell_against(tn_draft *draft, const tn_matches *matches)
{
    for (uint32_t i = 0; i < matches->miss_count && matches->misses != NULL; i++) {
        const tn_near_miss *miss = &matches->misses[i];
        tn_text what = what_failed(&draft->arena, miss);
        tn_draft_say(draft, miss->row->name, -1,
                     tn_arena_format(&draft->arena, "not %s: %s", miss->row->says.bytes,
                                     what.bytes != NULL ? what.bytes : ""));
    }
}
