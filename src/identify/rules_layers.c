/* Sets of layers: their lines, and the table that finds the lines a layer's name may match. */
#include <stdlib.h>
#include <string.h>

#include "identify/rules_pack.h"

tn_status tn_rules_set(tn_rules_pack *pack, rules_word name, uint32_t *out, tn_error *err)
{
    tn_text *sets = pack->sets.items;
    for (uint32_t i = 0; i < pack->sets.count; i++) {
        if (sets[i].size == name.size && memcmp(sets[i].bytes, name.bytes, name.size) == 0) {
            *out = i;
            return TN_OK;
        }
    }
    if (pack->sets.count == TN_RULES_SETS_MAX)
        return tn_rules_refuse(pack, TN_LIMIT, err, "there may be at most %u sets of layers", TN_RULES_SETS_MAX);
    tn_text kept;
    TN_TRY(tn_rules_text(pack, name, &kept, err));
    tn_text *added = tn_rules_add(pack, &pack->sets, err);
    bool *listed = added != NULL ? tn_rules_add(pack, &pack->set_listed, err) : NULL;
    if (listed == NULL)
        return pack->failed;
    *added = kept;
    *out = pack->sets.count - 1;
    return TN_OK;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_separator(char c)
{
    return c == '.' || c == '_';
}

/* Read digits; false when there are none or they are too many. */
static bool take_digits(const char **at, const char *end, uint32_t *out)
{
    uint64_t value = 0;
    const char *begin = *at;
    for (; *at < end && is_digit(**at) && value < UINT32_MAX / 10; (*at)++)
        value = value * 10 + (uint64_t)(**at - '0');
    *out = (uint32_t)value;
    return *at > begin && (*at == end || !is_digit(**at));
}

/* Where a whole piece between separators is a number or # or #N: its range. False when it is neither. */
static bool take_index(const char **at, const char *end, uint32_t *least, uint32_t *most)
{
    const char *begin = *at;
    const char *look = begin;
    uint32_t number;
    bool open = *look == '#';
    look += open;
    bool digits = take_digits(&look, end, &number);
    if (!open && !digits)
        return false;
    if (look < end && !is_separator(*look))
        return false;
    if (open && digits && number == 0)
        return false; /* no number is below 0 */
    *least = open ? 0 : number;
    *most = !digits ? UINT32_MAX : open ? number - 1 : number;
    *at = look;
    return true;
}

/* The name with every number as #, and what each # may be. */
static tn_status collapse(tn_rules_pack *pack, rules_word name, tn_layer *layer, tn_error *err)
{
    char *out = tn_arena_take_bytes(&pack->arena, name.size + 1);
    if (out == NULL)
        return tn_arena_status(&pack->arena, err);
    size_t size = 0;
    uint32_t indices = 0;
    const char *end = name.bytes + name.size;
    for (const char *at = name.bytes; at < end;) {
        bool begins = at == name.bytes || is_separator(at[-1]);
        uint32_t least, most;
        if (begins && (is_digit(*at) || *at == '#') && take_index(&at, end, &least, &most)) {
            if (indices == TN_RULES_INDICES_MAX)
                return tn_rules_refuse(pack, TN_LIMIT, err, "a layer may have at most %u numbers in its name",
                                       TN_RULES_INDICES_MAX);
            layer->least[indices] = least;
            layer->most[indices++] = most;
            out[size++] = '#';
        } else if (*at == '#' || *at == '*') {
            return tn_rules_refuse(pack, TN_BAD_RULE, err, "%.*s: # stands for a whole number between separators",
                                   (int)name.size, name.bytes);
        } else {
            out[size++] = *at++;
        }
    }
    out[size] = '\0';
    layer->name = (tn_text){out, size};
    return TN_OK;
}

static tn_status add_layer(tn_rules_pack *pack, void *user, rules_word name, bool last, tn_error *err)
{
    (void)last;
    tn_layer made = *(const tn_layer *)user;
    TN_TRY(collapse(pack, name, &made, err));
    tn_layer *kept = tn_rules_add(pack, &pack->layers, err);
    if (kept == NULL)
        return pack->failed;
    *kept = made;
    return TN_OK;
}

tn_status tn_rules_layer_line(tn_rules_pack *pack, rules_word name, rules_words *rest, tn_error *err)
{
    tn_layer layer = {.set = pack->set};
    rules_word word;
    TN_TRY(tn_rules_word(pack, rest, &word, err));
    if (word.size == 0 || word.bytes[0] != '[')
        return tn_rules_refuse(pack, TN_BAD_RULE, err, "the shape of the weight is missing");
    pack->variable_count = 0;
    TN_TRY(tn_rules_shape(pack, word, &layer.shape, err));
    if (pack->variable_count > 0)
        return tn_rules_refuse(pack, TN_BAD_RULE, err, "the shape of a layer has numbers and * only");
    TN_TRY(tn_rules_word(pack, rest, &word, err));
    if (word.size > 0)
        return tn_rules_refuse(pack, TN_BAD_RULE, err, "%.*s is one word too many", (int)word.size, word.bytes);
    return tn_rules_spread(pack, name, add_layer, &layer, err);
}

/* As if every separator were an underscore. */
static char flat(char c)
{
    return c == '.' ? '_' : c;
}

static int compare_keys(tn_text a, tn_text b)
{
    size_t size = a.size < b.size ? a.size : b.size;
    for (size_t i = 0; i < size; i++)
        if (flat(a.bytes[i]) != flat(b.bytes[i]))
            return flat(a.bytes[i]) < flat(b.bytes[i]) ? -1 : 1;
    return a.size == b.size ? 0 : a.size < b.size ? -1 : 1;
}

static int compare_layers(const void *a, const void *b)
{
    const tn_layer *left = a, *right = b;
    int order = compare_keys(left->name, right->name);
    if (order == 0)
        order = left->set < right->set ? -1 : left->set > right->set;
    if (order == 0)
        order = memcmp(left->least, right->least, sizeof left->least);
    return order;
}

static tn_status add_class(tn_rules_pack *pack, uint32_t first, tn_text name, tn_error *err)
{
    char *key = tn_arena_take_bytes(&pack->arena, name.size + 1);
    if (key == NULL)
        return tn_arena_status(&pack->arena, err);
    for (size_t i = 0; i < name.size; i++)
        key[i] = flat(name.bytes[i]);
    key[name.size] = '\0';
    tn_layer_class *made = tn_rules_add(pack, &pack->classes, err);
    if (made == NULL)
        return pack->failed;
    *made = (tn_layer_class){{key, name.size}, {first, 0}};
    return TN_OK;
}

static tn_status fill_slots(tn_rules_pack *pack, tn_error *err)
{
    uint32_t capacity = 16;
    while (capacity < 2 * pack->classes.count)
        capacity *= 2;
    TN_TRY(tn_take_array(pack->memory, capacity, sizeof(uint32_t), &pack->class_slots.items, err));
    pack->class_slots.count = pack->class_slots.capacity = capacity;
    uint32_t *slots = pack->class_slots.items;
    const tn_layer_class *classes = pack->classes.items;
    for (uint32_t i = 0; i < pack->classes.count; i++) {
        uint32_t at = tn_rules_hash(classes[i].key.bytes, classes[i].key.size) & (capacity - 1);
        while (slots[at] != 0)
            at = (at + 1) & (capacity - 1);
        slots[at] = i + 1;
    }
    return TN_OK;
}

tn_status tn_rules_index_layers(tn_rules_pack *pack, tn_error *err)
{
    if (pack->layers.count == 0)
        return TN_OK;
    tn_layer *layers = pack->layers.items;
    qsort(layers, pack->layers.count, sizeof *layers, compare_layers);
    for (uint32_t i = 0; i < pack->layers.count; i++) {
        if (i == 0 || compare_keys(layers[i - 1].name, layers[i].name) != 0)
            TN_TRY(add_class(pack, i, layers[i].name, err));
        ((tn_layer_class *)pack->classes.items)[pack->classes.count - 1].layers.count++;
    }
    return fill_slots(pack, err);
}
