/* The words of a line of rules: quoted texts, shapes, expressions, braces. */
#include <string.h>

#include "identify/rules_pack.h"

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static bool is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool tn_rules_is(rules_word word, const char *literal)
{
    return !word.quoted && word.size == strlen(literal) && memcmp(word.bytes, literal, word.size) == 0;
}

bool tn_rules_number(rules_word word, uint64_t *out)
{
    uint64_t value = 0;
    if (word.size == 0 || word.quoted)
        return false;
    for (size_t i = 0; i < word.size; i++) {
        if (!is_digit(word.bytes[i]) || tn_mul_overflows(value, 10, &value) ||
            tn_add_overflows(value, (uint64_t)(word.bytes[i] - '0'), &value))
            return false;
    }
    *out = value;
    return true;
}

/* Up to the closing character, which is left out when `keep` is false. */
static tn_status take_until(tn_rules_pack *pack, rules_words *words, char closing, bool keep, rules_word *out,
                            tn_error *err)
{
    const char *begin = words->at;
    const char *found = memchr(begin + 1, closing, (size_t)(words->end - begin - 1));
    if (found == NULL) {
        size_t left = (size_t)(words->end - begin);
        return tn_rules_refuse(pack, TN_BAD_RULE, err, "a %c is missing at the end of %.*s", closing,
                               (int)(left < 40 ? left : 40), begin);
    }
    *out = keep ? (rules_word){begin, (size_t)(found + 1 - begin), false}
                : (rules_word){begin + 1, (size_t)(found - begin - 1), true};
    words->at = found + 1;
    return TN_OK;
}

tn_status tn_rules_word(tn_rules_pack *pack, rules_words *words, rules_word *out, tn_error *err)
{
    while (words->at < words->end && is_space(*words->at))
        words->at++;
    *out = (rules_word){words->at, 0, false};
    if (words->at == words->end)
        return TN_OK;
    if (*words->at == '"')
        return take_until(pack, words, '"', false, out, err);
    if (*words->at == '[')
        return take_until(pack, words, ']', true, out, err);
    while (words->at < words->end && !is_space(*words->at))
        words->at++;
    out->size = (size_t)(words->at - out->bytes);
    return TN_OK;
}

tn_status tn_rules_variable(tn_rules_pack *pack, rules_word name, uint32_t *out, bool *fresh, tn_error *err)
{
    if (name.size == 0 || !is_name_start(name.bytes[0]))
        return tn_rules_refuse(pack, TN_BAD_RULE, err, "%.*s is no name for a number", (int)name.size, name.bytes);
    *fresh = false;
    for (uint32_t i = 0; i < pack->variable_count; i++) {
        if (pack->variables[i].size == name.size && memcmp(pack->variables[i].bytes, name.bytes, name.size) == 0) {
            *out = i;
            return TN_OK;
        }
    }
    if (pack->variable_count == TN_RULES_VARIABLES_MAX)
        return tn_rules_refuse(pack, TN_LIMIT, err, "a row may name at most %u numbers", TN_RULES_VARIABLES_MAX);
    tn_text kept;
    TN_TRY(tn_rules_text(pack, name, &kept, err));
    pack->variables[pack->variable_count] = kept;
    *out = pack->variable_count++;
    *fresh = true;
    return TN_OK;
}

/* One item between the commas of a shape. */
static tn_status read_dimension(tn_rules_pack *pack, rules_word item, tn_shape_rule *shape, tn_error *err)
{
    if (shape->open)
        return tn_rules_refuse(pack, TN_BAD_RULE, err, "... must be the last thing in a shape");
    if (tn_rules_is(item, "...")) {
        shape->open = true;
        return TN_OK;
    }
    if (shape->rank == TN_RULES_DIMENSIONS_MAX)
        return tn_rules_refuse(pack, TN_LIMIT, err, "a shape may have at most %u dimensions",
                               TN_RULES_DIMENSIONS_MAX);
    tn_dimension *dim = &shape->dims[shape->rank];
    uint32_t variable;
    bool fresh;
    if (tn_rules_is(item, "*")) {
        dim->kind = TN_DIMENSION_ANY;
    } else if (tn_rules_number(item, &dim->value)) {
        dim->kind = TN_DIMENSION_NUMBER;
    } else {
        TN_TRY(tn_rules_variable(pack, item, &variable, &fresh, err));
        *dim = (tn_dimension){TN_DIMENSION_VARIABLE, variable};
    }
    shape->rank++;
    return TN_OK;
}

tn_status tn_rules_shape(tn_rules_pack *pack, rules_word word, tn_shape_rule *out, tn_error *err)
{
    *out = (tn_shape_rule){.given = true};
    rules_words inside = {word.bytes + 1, word.bytes + word.size - 1};
    while (inside.at < inside.end) {
        const char *comma = memchr(inside.at, ',', (size_t)(inside.end - inside.at));
        const char *end = comma != NULL ? comma : inside.end;
        rules_words item = {inside.at, end};
        rules_word dim;
        TN_TRY(tn_rules_word(pack, &item, &dim, err));
        if (dim.size == 0 && comma == NULL && out->rank == 0)
            return TN_OK; /* [] and [ ] */
        TN_TRY(read_dimension(pack, dim, out, err));
        inside.at = comma != NULL ? comma + 1 : inside.end;
    }
    return TN_OK;
}

/* ---- expressions: a list of waiting operators, as Dijkstra's shunting yard has it ---- */

typedef struct waiting {
    char operators[TN_RULES_STEPS_MAX]; /* + - * / and ( and r for sqrt( */
    uint32_t count;
} waiting;

static int strength(char c)
{
    return c == '*' || c == '/' ? 2 : c == '+' || c == '-' ? 1 : 0;
}

static tn_step_kind step_of(char c)
{
    switch (c) {
    case '+': return TN_STEP_ADD;
    case '-': return TN_STEP_SUBTRACT;
    case '*': return TN_STEP_MULTIPLY;
    case '/': return TN_STEP_DIVIDE;
    default: return TN_STEP_ROOT;
    }
}

static tn_status add_step(tn_rules_pack *pack, tn_range *range, tn_step step, tn_error *err)
{
    if (range->count == TN_RULES_STEPS_MAX)
        return tn_rules_refuse(pack, TN_LIMIT, err, "an expression may have at most %u steps", TN_RULES_STEPS_MAX);
    tn_step *kept = tn_rules_add(pack, &pack->steps, err);
    if (kept == NULL)
        return pack->failed;
    *kept = step;
    range->count++;
    return TN_OK;
}

static tn_status wait_with(tn_rules_pack *pack, waiting *list, char c, tn_error *err)
{
    if (list->count == TN_RULES_STEPS_MAX)
        return tn_rules_refuse(pack, TN_LIMIT, err, "an expression may have at most %u steps", TN_RULES_STEPS_MAX);
    list->operators[list->count++] = c;
    return TN_OK;
}

/* Write down what waits and binds at least as strongly as `c`. */
static tn_status settle(tn_rules_pack *pack, waiting *list, char c, tn_range *out, tn_error *err)
{
    while (list->count > 0) {
        char top = list->operators[list->count - 1];
        if (strength(top) == 0 || strength(top) < strength(c))
            return TN_OK;
        list->count--;
        TN_TRY(add_step(pack, out, (tn_step){step_of(top), 0}, err));
    }
    return TN_OK;
}

static tn_status close_bracket(tn_rules_pack *pack, waiting *list, tn_range *out, tn_error *err)
{
    TN_TRY(settle(pack, list, '\0', out, err));
    if (list->count == 0)
        return tn_rules_refuse(pack, TN_BAD_RULE, err, "there is a ) without its (");
    if (list->operators[--list->count] == 'r')
        return add_step(pack, out, (tn_step){TN_STEP_ROOT, 0}, err);
    return TN_OK;
}

/* A number, a variable, or sqrt( : moves *at past it. `*value` false after sqrt(. */
static tn_status read_operand(tn_rules_pack *pack, const char **at, const char *end, waiting *list, tn_range *out,
                              bool *value, tn_error *err)
{
    const char *begin = *at;
    while (*at < end && (is_name_start(**at) || is_digit(**at)))
        (*at)++;
    rules_word word = {begin, (size_t)(*at - begin), false};
    *value = true;
    if (tn_rules_is(word, "sqrt") && *at < end && **at == '(') {
        (*at)++;
        *value = false;
        return wait_with(pack, list, 'r', err);
    }
    tn_step step = {TN_STEP_NUMBER, 0};
    if (!tn_rules_number(word, &step.value)) {
        uint32_t variable;
        bool fresh;
        TN_TRY(tn_rules_variable(pack, word, &variable, &fresh, err));
        if (fresh)
            return tn_rules_refuse(pack, TN_BAD_RULE, err, "%.*s has no value yet", (int)word.size, word.bytes);
        step = (tn_step){TN_STEP_VARIABLE, variable};
    }
    return add_step(pack, out, step, err);
}

tn_status tn_rules_expression(tn_rules_pack *pack, rules_word word, tn_range *out, tn_error *err)
{
    *out = (tn_range){pack->steps.count, 0};
    waiting list = {.count = 0};
    bool value = false; /* the last thing read was a value */
    const char *end = word.bytes + word.size;
    for (const char *at = word.bytes; at < end;) {
        char c = *at;
        if (is_name_start(c) || is_digit(c)) {
            if (value)
                break;
            TN_TRY(read_operand(pack, &at, end, &list, out, &value, err));
        } else if (c == '(' && !value) {
            TN_TRY(wait_with(pack, &list, c, err));
            at++;
        } else if (c == ')' && value) {
            TN_TRY(close_bracket(pack, &list, out, err));
            at++;
        } else if (strength(c) > 0 && value) {
            TN_TRY(settle(pack, &list, c, out, err));
            TN_TRY(wait_with(pack, &list, c, err));
            value = false;
            at++;
        } else {
            value = false;
            break;
        }
    }
    TN_TRY(settle(pack, &list, '\0', out, err));
    if (!value || list.count > 0)
        return tn_rules_refuse(pack, TN_BAD_RULE, err, "%.*s cannot be read as an expression", (int)word.size,
                               word.bytes);
    return TN_OK;
}

/* ---- braces ---- */

enum { SPREAD_BYTES = 1024, GROUPS = 8 };

typedef struct brace_group {
    const char *open, *close; /* of the braces themselves */
    uint32_t choices, chosen;
} brace_group;

static uint32_t count_choices(const char *open, const char *close)
{
    uint32_t count = 1;
    for (const char *at = open; at < close; at++)
        count += *at == ',';
    return count;
}

static tn_status find_groups(tn_rules_pack *pack, rules_word word, brace_group *groups, uint32_t *count, tn_error *err)
{
    uint64_t names = 1;
    *count = 0;
    const char *end = word.bytes + word.size;
    for (const char *at = word.bytes; at < end; at++) {
        if (*at != '{')
            continue;
        const char *close = memchr(at, '}', (size_t)(end - at));
        if (close == NULL || memchr(at + 1, '{', (size_t)(close - at - 1)) != NULL)
            return tn_rules_refuse(pack, TN_BAD_RULE, err, "braces do not match in %.*s", (int)word.size, word.bytes);
        if (*count == GROUPS)
            return tn_rules_refuse(pack, TN_LIMIT, err, "a name may have at most %d groups in braces", GROUPS);
        brace_group *group = &groups[(*count)++];
        *group = (brace_group){at, close, count_choices(at, close), 0};
        names *= group->choices;
        if (names > TN_RULES_SPREAD_MAX)
            return tn_rules_refuse(pack, TN_LIMIT, err, "braces may stand for at most %u names", TN_RULES_SPREAD_MAX);
        at = close;
    }
    return TN_OK;
}

/* The chosen text of a group. */
static rules_word choice(const brace_group *group)
{
    const char *begin = group->open + 1;
    for (uint32_t i = 0; i < group->chosen; i++)
        begin = (const char *)memchr(begin, ',', (size_t)(group->close - begin)) + 1;
    const char *comma = memchr(begin, ',', (size_t)(group->close - begin));
    return (rules_word){begin, (size_t)((comma != NULL ? comma : group->close) - begin), false};
}

static size_t compose(rules_word word, const brace_group *groups, uint32_t count, char *out)
{
    size_t size = 0;
    const char *at = word.bytes;
    for (uint32_t i = 0; i < count; i++) {
        size_t before = (size_t)(groups[i].open - at);
        rules_word chosen = choice(&groups[i]);
        memcpy(out + size, at, before);
        memcpy(out + size + before, chosen.bytes, chosen.size);
        size += before + chosen.size;
        at = groups[i].close + 1;
    }
    size_t rest = (size_t)(word.bytes + word.size - at);
    memcpy(out + size, at, rest);
    return size + rest;
}

/* Count up, the last group first. False after the last. */
static bool next_choice(brace_group *groups, uint32_t count)
{
    for (uint32_t i = count; i > 0; i--) {
        if (++groups[i - 1].chosen < groups[i - 1].choices)
            return true;
        groups[i - 1].chosen = 0;
    }
    return false;
}

tn_status tn_rules_spread(tn_rules_pack *pack, rules_word word,
                          tn_status (*each)(tn_rules_pack *pack, void *user, rules_word name, bool last, tn_error *err),
                          void *user, tn_error *err)
{
    brace_group groups[GROUPS];
    uint32_t count;
    char name[SPREAD_BYTES];
    if (word.size > sizeof name)
        return tn_rules_refuse(pack, TN_LIMIT, err, "a name may have at most %d bytes", SPREAD_BYTES);
    TN_TRY(find_groups(pack, word, groups, &count, err));
    for (bool more = true; more;) {
        size_t size = compose(word, groups, count, name);
        more = next_choice(groups, count);
        TN_TRY(each(pack, user, (rules_word){name, size, false}, !more, err));
    }
    return TN_OK;
}
