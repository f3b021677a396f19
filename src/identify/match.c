/* Asking every row.
 *
 *   E1  A condition that fails changes no variable; one that holds may set those its shape names for the first time.
 *   E2  A row is asked behind every prefix its type may have, and behind none. */
#include "identify/match.h"

#include <string.h>

#include "identify/pattern.h"

enum { NUMBERS_MAX = 8192 }; /* numbers in names from here on are not counted */

/* ---- numbers ---- */

static bool square_root(uint64_t n, uint64_t *out)
{
    uint64_t root = 0;
    for (uint64_t bit = UINT64_C(1) << 31; bit > 0; bit >>= 1)
        if ((root | bit) * (root | bit) <= n)
            root |= bit;
    *out = root;
    return root * root == n;
}

static bool apply(tn_step_kind kind, uint64_t a, uint64_t b, uint64_t *out)
{
    switch (kind) {
    case TN_STEP_ADD:
        return !tn_add_overflows(a, b, out);
    case TN_STEP_SUBTRACT:
        *out = a - b;
        return a >= b;
    case TN_STEP_MULTIPLY:
        return !tn_mul_overflows(a, b, out);
    case TN_STEP_DIVIDE:
        if (b == 0 || a % b != 0)
            return false;
        *out = a / b;
        return true;
    case TN_STEP_ROOT:
        return square_root(a, out);
    case TN_STEP_NUMBER:
    case TN_STEP_VARIABLE:
        break;
    }
    return false;
}

bool tn_match_value(const tn_rules *rules, const tn_variables *variables, tn_range steps, uint64_t *out)
{
    uint64_t stack[TN_RULES_STEPS_MAX];
    uint32_t depth = 0;
    for (uint32_t i = 0; i < steps.count; i++) {
        const tn_step *step = &rules->steps[steps.first + i];
        if (step->kind == TN_STEP_NUMBER) {
            stack[depth++] = step->value;
        } else if (step->kind == TN_STEP_VARIABLE) {
            if ((variables->known >> step->value & 1) == 0)
                return false;
            stack[depth++] = variables->values[step->value];
        } else {
            uint32_t taken = step->kind == TN_STEP_ROOT ? 1 : 2;
            if (depth < taken)
                return false;
            uint64_t b = stack[depth - 1], a = stack[depth - taken];
            depth -= taken;
            if (!apply(step->kind, a, b, &stack[depth++]))
                return false;
        }
    }
    *out = depth == 1 ? stack[0] : 0;
    return depth == 1;
}

static bool compare(tn_comparison comparison, uint64_t a, uint64_t b)
{
    switch (comparison) {
    case TN_EQUAL:
    case TN_EQUAL_IF_THERE:
        return a == b;
    case TN_UNEQUAL:
        return a != b;
    case TN_LESS:
        return a < b;
    case TN_AT_MOST:
        return a <= b;
    case TN_MORE:
        return a > b;
    case TN_AT_LEAST:
        return a >= b;
    }
    return false;
}

static void set_variable(tn_variables *variables, uint32_t which, uint64_t value)
{
    variables->values[which] = value;
    variables->known |= 1u << which;
}

/* ---- shapes ---- */

/* A number of 0 in `shape` is one that is not known (layers of adapters): it compares as equal. */
static bool shape_matches(const tn_shape_rule *rule, uint32_t rank, const uint64_t *shape, bool guess,
                          tn_variables *variables)
{
    if (!rule->given)
        return true;
    if (rule->open ? rank < rule->rank : rank != rule->rank)
        return false;
    tn_variables bound = *variables;
    for (uint32_t i = 0; i < rule->rank; i++) {
        tn_dimension dim = rule->dims[i];
        bool known = dim.kind == TN_DIMENSION_VARIABLE && (bound.known >> dim.value & 1) != 0;
        if (guess && shape[i] == 0)
            continue;
        if (dim.kind == TN_DIMENSION_VARIABLE && !known)
            set_variable(&bound, (uint32_t)dim.value, shape[i]);
        else if (dim.kind != TN_DIMENSION_ANY && shape[i] != (known ? bound.values[dim.value] : dim.value))
            return false;
    }
    *variables = bound;
    return true;
}

/* A weight of two numbers a byte, which bitsandbytes stores as one column: its length is all there is to compare. */
static bool packed_matches(const tn_shape_rule *rule, const tn_tensor *tensor, const tn_variables *variables)
{
    uint64_t product = 1, elements;
    if (tensor->dtype != TN_U8 || rule->open || rule->rank < 2 || tn_mul_overflows(tensor->elements, 2, &elements))
        return false;
    for (uint32_t i = 0; i < rule->rank; i++) {
        tn_dimension dim = rule->dims[i];
        bool known = dim.kind == TN_DIMENSION_VARIABLE && (variables->known >> dim.value & 1) != 0;
        if (dim.kind != TN_DIMENSION_NUMBER && !known)
            return false;
        if (tn_mul_overflows(product, known ? variables->values[dim.value] : dim.value, &product))
            return false;
    }
    return product == elements;
}

static bool tensor_shape_matches(const tn_shape_rule *rule, const tn_tensor *tensor, tn_variables *variables)
{
    return shape_matches(rule, tensor->rank, tensor->shape, false, variables) ||
           packed_matches(rule, tensor, variables);
}

/* ---- names ---- */

static tn_view whole_file(const tn_view *view)
{
    return (tn_view){view->facts, {"", 0}, view->facts->rules->prefix_count, view->layers};
}

static bool layer_there(const tn_view *view, const tn_condition *c, tn_variables *variables)
{
    const tn_adapter_table *table = view->facts->adapter;
    for (uint32_t i = 0; i < table->count; i++) {
        const tn_module *module = &table->modules[i];
        tn_text path = tn_module_path(module);
        if (tn_pattern_matches(c->name, path.bytes, path.size, NULL) &&
            shape_matches(&c->shape, module->rank_of_shape, module->shape, true, variables))
            return true;
    }
    return false;
}

/* The part of a tensor's name behind the prefix; false when it does not begin with it. */
static bool behind_prefix(const tn_view *view, tn_text name, tn_text *out)
{
    if (name.size < view->prefix.size || memcmp(name.bytes, view->prefix.bytes, view->prefix.size) != 0)
        return false;
    *out = (tn_text){name.bytes + view->prefix.size, name.size - view->prefix.size};
    return true;
}

static bool tensor_like_it(const tn_view *view, const tn_condition *c, tn_variables *variables)
{
    for (size_t i = 0; i < view->facts->tensor_count; i++) {
        const tn_tensor *tensor = &view->facts->tensors[i];
        tn_text name;
        if (behind_prefix(view, tensor->name, &name) && tn_pattern_matches(c->name, name.bytes, name.size, NULL) &&
            tensor_shape_matches(&c->shape, tensor, variables))
            return true;
    }
    return false;
}

static bool is_there(const tn_view *view, const tn_condition *c, tn_variables *variables)
{
    if (view->layers && !c->whole)
        return layer_there(view, c, variables);
    tn_view all = whole_file(view);
    if (c->whole)
        view = &all;
    if (!c->exact)
        return tensor_like_it(view, c, variables);
    const tn_tensor *tensor = tn_view_find(view, c->name);
    return tensor != NULL && tensor_shape_matches(&c->shape, tensor, variables);
}

/* Whole names with one #: look them up from 0 on, until one is missing. */
static uint64_t count_from_zero(const tn_view *view, const tn_condition *c)
{
    char name[TN_NAME_MAX];
    const char *hash = memchr(c->name.bytes, '#', c->name.size);
    size_t head = (size_t)(hash - c->name.bytes), tail = c->name.size - head - 1;
    if (c->name.size + 12 > sizeof name)
        return 0;
    memcpy(name, c->name.bytes, head);
    for (uint64_t n = 0; n < NUMBERS_MAX; n++) {
        char digits[12];
        size_t size = 0;
        for (uint64_t rest = n; size == 0 || rest > 0; rest /= 10)
            digits[size++] = (char)('0' + rest % 10);
        for (size_t i = 0; i < size; i++)
            name[head + i] = digits[size - 1 - i];
        memcpy(name + head + size, hash + 1, tail);
        if (tn_view_find(view, (tn_text){name, head + size + tail}) == NULL)
            return n;
    }
    return NUMBERS_MAX;
}

static void see_number(uint64_t *seen, uint32_t number, uint64_t *count, uint64_t *top)
{
    if (number >= NUMBERS_MAX || (seen[number / 64] >> (number % 64) & 1) != 0)
        return;
    seen[number / 64] |= UINT64_C(1) << (number % 64);
    ++*count;
    if (number + 1 > *top)
        *top = number + 1;
}

/* Any pattern: see every name, and note the numbers that its first # stood for. */
static void count_by_sight(const tn_view *view, const tn_condition *c, uint64_t *count, uint64_t *top)
{
    uint64_t seen[NUMBERS_MAX / 64] = {0};
    uint32_t number = UINT32_MAX;
    *count = *top = 0;
    for (uint32_t i = 0; view->layers && i < view->facts->adapter->count; i++) {
        tn_text path = tn_module_path(&view->facts->adapter->modules[i]);
        if (tn_pattern_matches(c->name, path.bytes, path.size, &number))
            see_number(seen, number, count, top);
    }
    for (size_t i = 0; !view->layers && i < view->facts->tensor_count; i++) {
        tn_text name;
        if (behind_prefix(view, view->facts->tensors[i].name, &name) &&
            tn_pattern_matches(c->name, name.bytes, name.size, &number))
            see_number(seen, number, count, top);
    }
}

uint64_t tn_match_count(const tn_view *view, const tn_condition *c)
{
    tn_view all = whole_file(view);
    if (c->whole)
        view = &all;
    const char *first = memchr(c->name.bytes, '#', c->name.size);
    size_t rest = c->name.size - (size_t)(first + 1 - c->name.bytes);
    bool simple = !view->layers && c->kind == TN_COUNT && memchr(first + 1, '#', rest) == NULL &&
                  memchr(c->name.bytes, '*', c->name.size) == NULL;
    uint64_t count, top;
    if (simple)
        return count_from_zero(view, c);
    count_by_sight(view, c, &count, &top);
    return c->kind == TN_TOP ? top : count;
}

static bool count_holds(const tn_view *view, const tn_condition *c, tn_variables *variables)
{
    uint64_t found = tn_match_count(view, c), wanted;
    if (c->variable != UINT32_MAX) {
        set_variable(variables, c->variable, found);
        return true;
    }
    return tn_match_value(view->facts->rules, variables, c->right, &wanted) && compare(c->comparison, found, wanted);
}

/* ---- words ---- */

static bool word_holds(const tn_condition *c, tn_text word)
{
    if (word.size == 0 && word.bytes == NULL)
        return c->comparison != TN_EQUAL;
    bool among = c->value.size == 0 || tn_words_have(c->value, word.bytes, word.size);
    return among == (c->comparison != TN_UNEQUAL);
}

static tn_text or_absent(tn_text text)
{
    return text.size > 0 ? text : (tn_text){NULL, 0};
}

static bool dtype_holds(const tn_view *view, const tn_condition *c)
{
    const tn_tensor *tensor = tn_view_find(view, c->name);
    if (tensor == NULL)
        return word_holds(c, (tn_text){NULL, 0});
    const char *name = tn_dtype_name(tensor->dtype);
    return word_holds(c, (tn_text){name, strlen(name)});
}

static bool container_holds(const tn_view *view, const tn_condition *c)
{
    const char *word = tn_container_word(view->facts->container);
    return word_holds(c, (tn_text){word, strlen(word)});
}

static bool adapter_word_holds(const tn_view *view, const tn_condition *c)
{
    const tn_adapter_table *table = view->facts->adapter;
    if (table == NULL)
        return word_holds(c, (tn_text){NULL, 0});
    return word_holds(c, or_absent(c->kind == TN_DIALECT ? table->dialect : table->algorithm));
}

/* ---- conditions ---- */

static bool dim_holds(const tn_view *view, const tn_condition *c, const tn_variables *variables)
{
    uint64_t left, right;
    return tn_match_value(view->facts->rules, variables, c->left, &left) &&
           tn_match_value(view->facts->rules, variables, c->right, &right) && compare(c->comparison, left, right);
}

static bool let_holds(const tn_view *view, const tn_condition *c, tn_variables *variables)
{
    uint64_t value;
    if (!tn_match_value(view->facts->rules, variables, c->right, &value))
        return false;
    set_variable(variables, c->variable, value);
    return true;
}

static bool tensors_hold(const tn_view *view, const tn_condition *c, const tn_variables *variables)
{
    uint64_t wanted;
    return tn_match_value(view->facts->rules, variables, c->right, &wanted) &&
           compare(c->comparison, tn_view_tensors(view), wanted);
}

static bool lacks(const tn_view *view, const tn_condition *c, const tn_variables *variables)
{
    tn_variables scratch = *variables;
    return !is_there(view, c, &scratch);
}

static bool holds(const tn_view *view, const tn_condition *c, tn_variables *variables)
{
    switch (c->kind) {
    case TN_HAS:
        return is_there(view, c, variables);
    case TN_LACKS:
        return lacks(view, c, variables);
    case TN_COUNT:
    case TN_TOP:
        return count_holds(view, c, variables);
    case TN_DIM:
        return dim_holds(view, c, variables);
    case TN_LET:
        return let_holds(view, c, variables);
    case TN_TENSORS:
        return tensors_hold(view, c, variables);
    case TN_METADATA:
        return word_holds(c, tn_checkpoint_metadata_value(view->facts->checkpoint, c->name.bytes));
    case TN_CLASS:
        return word_holds(c, or_absent(view->facts->class_name));
    case TN_DTYPE:
        return dtype_holds(view, c);
    case TN_CONTAINER_IS:
        return container_holds(view, c);
    case TN_DIALECT:
    case TN_ALGORITHM:
        return adapter_word_holds(view, c);
    }
    return false;
}

/* All conditions of a range. On failure `*failed` is the one that did not hold. */
static bool all_hold(const tn_view *view, tn_range range, tn_variables *variables, const tn_condition **failed)
{
    if (range.count == 0)
        return true;
    const tn_condition *conditions = &view->facts->rules->conditions[range.first];
    for (uint32_t i = 0; i < range.count; i++) {
        bool held = holds(view, &conditions[i], variables);
        *failed = &conditions[i];
        while (!held && conditions[i].or_next && i + 1 < range.count)
            held = holds(view, &conditions[++i], variables);
        if (!held)
            return false;
        while (conditions[i].or_next && i + 1 < range.count)
            i++; /* the alternatives left */
    }
    return true;
}

/* ---- rows ---- */

static bool is_main(const tn_row_rule *row)
{
    return row->type.size == 4 && memcmp(row->type.bytes, "main", 4) == 0;
}

/* What may stand beside a model behind a prefix: a checkpoint whose VAE alone is known is no VAE. */
enum { STRANGERS_MAX = 8 };

static bool alone_enough(const tn_view *view, const tn_row_rule *row)
{
    return is_main(row) || view->prefix.size == 0 ||
           view->facts->tensor_count - tn_view_tensors(view) <= STRANGERS_MAX;
}

static void keep(tn_matches *matches, const tn_match *match)
{
    for (uint32_t i = 0; i < matches->count; i++)
        if (matches->items[i].row == match->row)
            return;
    if (matches->count == TN_MATCHES_MAX) {
        matches->overflow = true;
        return;
    }
    matches->items[matches->count++] = *match;
}

static void ask_row(tn_matches *matches, const tn_view *view, const tn_family *family, const tn_row_rule *row,
                    const tn_variables *bound)
{
    tn_match match = {row, family, *view, *bound};
    const tn_condition *failed;
    if (all_hold(view, row->conditions, &match.variables, &failed)) {
        if (alone_enough(view, row))
            keep(matches, &match);
    } else if (matches->misses != NULL && matches->miss_count < matches->miss_max) {
        matches->misses[matches->miss_count++] = (tn_near_miss){row, failed, *view, match.variables};
    }
}

static void ask_family(tn_matches *matches, const tn_view *view, const tn_family *family)
{
    tn_variables variables = {.known = 0};
    const tn_condition *failed;
    if (!all_hold(view, family->conditions, &variables, &failed))
        return;
    const tn_rules *rules = view->facts->rules;
    for (uint32_t i = 0; i < family->rows.count; i++) {
        const tn_row_rule *row = &rules->rows[family->rows.first + i];
        if (row->parts.count == 0)
            ask_row(matches, view, family, row, &variables);
    }
}

/* Rows with parts are asked of the adapter's layers. */
static void ask_adapter_rows(const tn_facts *facts, tn_matches *matches)
{
    const tn_rules *rules = facts->rules;
    tn_view view = {facts, {"", 0}, rules->prefix_count, true};
    for (uint32_t i = 0; i < rules->family_count; i++) {
        const tn_family *family = &rules->families[i];
        for (uint32_t j = 0; j < family->rows.count; j++) {
            const tn_row_rule *row = &rules->rows[family->rows.first + j];
            tn_variables variables = {.known = 0};
            const tn_condition *failed;
            if (row->parts.count > 0 && tn_adapter_fits(facts->adapter, rules, row->parts) &&
                all_hold(&view, family->conditions, &variables, &failed))
                ask_row(matches, &view, family, row, &variables);
        }
    }
}

void tn_match_all(const tn_facts *facts, tn_matches *matches)
{
    const tn_rules *rules = facts->rules;
    matches->count = matches->miss_count = 0;
    matches->overflow = false;
    for (uint32_t i = 0; i < rules->family_count; i++) {
        const tn_family *family = &rules->families[i];
        tn_view bare = {facts, {"", 0}, rules->prefix_count, false};
        ask_family(matches, &bare, family);
        for (uint32_t j = 0; j < rules->prefix_count; j++) {
            if (!facts->prefix_seen[j] || !tn_text_is(rules->prefixes[j].type, family->type))
                continue;
            tn_view view = {facts, rules->prefixes[j].prefix, j, false};
            ask_family(matches, &view, family);
        }
    }
    if (facts->adapter != NULL)
        ask_adapter_rows(facts, matches);
}
