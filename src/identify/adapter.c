/* Reading an adapter's table, and asking it whether a base has all its layers.
 *
 *   D1  Tensors of one layer share a key, whatever their order in the file.
 *   D2  A shape is given only as far as the factors show it: what they do not show compares as equal. */
#include "identify/adapter.h"

#include <string.h>

#include "core/error.h"
#include "core/map.h"
#include "identify/pattern.h"

#define BIT(role) (1u << (role))

enum { FIRST_MODULES = 32 };

typedef struct reading {
    const tn_rules *rules;
    const tn_tensor *tensors;
    tn_arena *arena;
    tn_map keys;
    tn_adapter_table *table;
    uint32_t capacity;
    uint32_t styles[4];       /* how many layers of each style */
} reading;

tn_text tn_module_path(const tn_module *module)
{
    return (tn_text){module->key.bytes + module->path_at, module->key.size - module->path_at};
}

/* ---- layers ---- */

/* The last byte is looked at first: it tells most prefixes apart without a call. */
static bool begins_with(tn_text key, tn_text prefix)
{
    if (prefix.size == 0 || prefix.size > key.size)
        return prefix.size == 0;
    size_t last = prefix.size - 1;
    return key.bytes[last] == prefix.bytes[last] && memcmp(key.bytes, prefix.bytes, last) == 0;
}

static void find_prefix(const tn_rules *rules, tn_module *module)
{
    module->prefix = UINT32_MAX;
    for (uint32_t i = 0; i < rules->adapter_prefix_count; i++) {
        tn_text prefix = rules->adapter_prefixes[i].prefix;
        if (begins_with(module->key, prefix)) {
            module->prefix = i;
            module->path_at = (uint32_t)prefix.size;
            return;
        }
    }
}

static tn_status add_module(reading *r, const char *name, size_t size, tn_module **out, tn_error *err)
{
    tn_adapter_table *table = r->table;
    if (table->count == r->capacity) {
        uint32_t capacity = r->capacity * 2;
        tn_module *grown = tn_arena_take(r->arena, capacity * sizeof *grown);
        if (grown == NULL)
            return tn_arena_status(r->arena, err);
        memcpy(grown, table->modules, table->count * sizeof *grown);
        table->modules = grown;
        r->capacity = capacity;
    }
    tn_module *module = &table->modules[table->count++];
    memset(module, 0, sizeof *module);
    module->key = (tn_text){name, size};
    find_prefix(r->rules, module);
    *out = module;
    return TN_OK;
}

/* The layer of a key: most often that of the tensor before. */
static tn_status module_of(reading *r, const char *name, size_t size, tn_module **last, tn_error *err)
{
    if (*last != NULL && (*last)->key.size == size && memcmp((*last)->key.bytes, name, size) == 0)
        return TN_OK;
    uint64_t number;
    bool fresh;
    TN_TRY(tn_map_put(&r->keys, name, size, r->table->count, &fresh, &number, err));
    if (fresh)
        return add_module(r, name, size, last, err);
    *last = &r->table->modules[number];
    return TN_OK;
}

/* What belongs to no layer: tokens of embeddings that ride along. */
static bool is_passenger(tn_text name)
{
    bool token = name.size > 2 && name.bytes[0] == '<' && name.bytes[name.size - 1] == '>';
    return token || tn_text_begins(name, "bundle_emb.") || tn_text_ends(name, ".scaled_oft");
}

static tn_status read_tensor(reading *r, uint32_t number, tn_module **last, tn_error *err)
{
    tn_text name = r->tensors[number].name;
    tn_suffix suffix = tn_adapter_suffix(name.bytes, name.size);
    if (name.size > TN_NAME_MAX || (suffix.role == TN_ROLE_PLAIN && is_passenger(name)))
        return TN_OK;
    TN_TRY(module_of(r, name.bytes, suffix.key_size, last, err));
    (*last)->roles |= BIT(suffix.role);
    (*last)->tensors[suffix.role] = number + 1;
    r->styles[suffix.style]++;
    r->table->marked += suffix.role != TN_ROLE_PLAIN;
    return TN_OK;
}

/* ---- shapes ---- */

static const tn_tensor *of_role(const reading *r, const tn_module *module, tn_role role)
{
    uint32_t number = module->tensors[role];
    return number > 0 ? &r->tensors[number - 1] : NULL;
}

static uint64_t dim(const tn_tensor *tensor, uint32_t i)
{
    return tensor != NULL && i < tensor->rank ? tensor->shape[i] : 0;
}

static uint32_t small(uint64_t n)
{
    return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

static void set_kernel(tn_module *module, const tn_tensor *tensor)
{
    if (tensor == NULL)
        return;
    for (uint32_t i = 2; i < tensor->rank && i < TN_RULES_DIMENSIONS_MAX; i++) {
        module->shape[i] = tensor->shape[i];
        module->rank_of_shape = i + 1;
    }
}

static void shape_lora(const reading *r, tn_module *module)
{
    const tn_tensor *down = of_role(r, module, TN_ROLE_DOWN), *up = of_role(r, module, TN_ROLE_UP);
    const tn_tensor *mid = of_role(r, module, TN_ROLE_MID);
    module->shape[0] = dim(up, 0);
    module->shape[1] = dim(down, 1);
    module->rank = small(down != NULL ? dim(down, 0) : dim(up, 1));
    module->rank_of_shape = 2;
    set_kernel(module, mid != NULL ? mid : down);
}

static void shape_loha(const reading *r, tn_module *module)
{
    const tn_tensor *a = of_role(r, module, TN_ROLE_HADA_1A), *b = of_role(r, module, TN_ROLE_HADA_1B);
    const tn_tensor *core = of_role(r, module, TN_ROLE_HADA_T);
    module->shape[0] = dim(a, core != NULL ? 1 : 0);
    module->shape[1] = dim(b, 1);
    module->rank = small(dim(b, 0));
    module->rank_of_shape = 2;
    set_kernel(module, core);
}

static uint64_t product(uint64_t a, uint64_t b)
{
    uint64_t result;
    return tn_mul_overflows(a, b, &result) ? UINT64_MAX : result;
}

static void shape_lokr(const reading *r, tn_module *module)
{
    const tn_tensor *w1 = of_role(r, module, TN_ROLE_LOKR_1), *w2 = of_role(r, module, TN_ROLE_LOKR_2);
    const tn_tensor *w1a = of_role(r, module, TN_ROLE_LOKR_1A), *w1b = of_role(r, module, TN_ROLE_LOKR_1B);
    const tn_tensor *w2a = of_role(r, module, TN_ROLE_LOKR_2A), *w2b = of_role(r, module, TN_ROLE_LOKR_2B);
    const tn_tensor *core = of_role(r, module, TN_ROLE_LOKR_T);
    uint64_t out1 = w1 != NULL ? dim(w1, 0) : dim(w1a, 0), in1 = w1 != NULL ? dim(w1, 1) : dim(w1b, 1);
    uint64_t out2 = w2 != NULL ? dim(w2, 0) : dim(w2a, core != NULL ? 1 : 0);
    uint64_t in2 = w2 != NULL ? dim(w2, 1) : dim(w2b, 1);
    module->shape[0] = product(out1, out2);
    module->shape[1] = product(in1, in2);
    module->rank = small(w1b != NULL ? dim(w1b, 0) : w2b != NULL ? dim(w2b, 0) : 0);
    module->rank_of_shape = 2;
    set_kernel(module, core != NULL ? core : w2);
}

static void shape_whole(tn_module *module, const tn_tensor *tensor)
{
    if (tensor->rank == 0 || tensor->rank > TN_RULES_DIMENSIONS_MAX)
        return;
    memcpy(module->shape, tensor->shape, tensor->rank * sizeof *tensor->shape);
    module->rank_of_shape = tensor->rank;
}

static void shape_module(const reading *r, tn_module *module)
{
    const tn_tensor *whole = of_role(r, module, TN_ROLE_DIFF);
    if ((module->roles & (BIT(TN_ROLE_DOWN) | BIT(TN_ROLE_UP))) != 0)
        shape_lora(r, module);
    else if ((module->roles & BIT(TN_ROLE_HADA_1A)) != 0)
        shape_loha(r, module);
    else if ((module->roles & (BIT(TN_ROLE_LOKR_2) | BIT(TN_ROLE_LOKR_2A))) != 0)
        shape_lokr(r, module);
    else if (whole != NULL)
        shape_whole(module, whole);
    else if (module->roles == BIT(TN_ROLE_PLAIN))
        shape_whole(module, of_role(r, module, TN_ROLE_PLAIN));
}

/* ---- sets ---- */

/* Is `found` what a rule asks for, as far as it is known? A layer's inputs may be flattened with its kernel. */
static bool inputs_fit(const tn_module *module, const tn_shape_rule *rule)
{
    uint64_t in = module->shape[1], kernel = 1;
    for (uint32_t i = 2; i < rule->rank; i++)
        kernel = product(kernel, rule->dims[i].value);
    if (in == 0 || rule->dims[1].kind == TN_DIMENSION_ANY)
        return true;
    if (module->rank_of_shape == 2)
        return in == product(rule->dims[1].value, kernel) || (in == rule->dims[1].value && kernel == 1);
    return in == rule->dims[1].value;
}

static bool kernel_fits(const tn_module *module, const tn_shape_rule *rule)
{
    for (uint32_t i = 2; i < module->rank_of_shape; i++) {
        uint64_t wanted = i < rule->rank ? rule->dims[i].value : 1;
        if (module->shape[i] != wanted && (i >= rule->rank || rule->dims[i].kind == TN_DIMENSION_NUMBER))
            return false;
    }
    return true;
}

static bool shape_fits(const tn_module *module, const tn_shape_rule *rule)
{
    if (module->rank_of_shape == 0 || rule->rank == 0)
        return true;
    if (module->shape[0] != 0 && rule->dims[0].kind == TN_DIMENSION_NUMBER && module->shape[0] != rule->dims[0].value)
        return false;
    if (rule->rank == 1 || module->rank_of_shape == 1)
        return rule->rank == 1 && module->rank_of_shape == 1;
    return inputs_fit(module, rule) && kernel_fits(module, rule);
}

static bool indices_fit(const tn_collapsed *name, const tn_layer *layer)
{
    for (uint32_t i = 0; i < name->index_count; i++)
        if (name->indices[i] < layer->least[i] || name->indices[i] > layer->most[i])
            return false;
    return true;
}

/* The sets that hold a layer. `flat`: its separators are all underscores. */
static void sets_of(const tn_rules *rules, const tn_module *module, bool flat, uint64_t *sets)
{
    tn_collapsed name;
    tn_text path = tn_module_path(module);
    if (!tn_pattern_collapse(path.bytes, path.size, &name))
        return;
    const tn_layer_class *class = tn_rules_class(rules, name.flat, name.size);
    if (class == NULL)
        return;
    for (uint32_t i = 0; i < class->layers.count; i++) {
        const tn_layer *layer = &rules->layers[class->layers.first + i];
        if (indices_fit(&name, layer) && shape_fits(module, &layer->shape) &&
            (flat || memcmp(name.own, layer->name.bytes, name.size) == 0))
            sets[layer->set / 64] |= UINT64_C(1) << (layer->set % 64);
    }
}

static tn_adapter_part *part_of(tn_adapter_table *table, const tn_adapter_prefix *prefix)
{
    for (uint32_t i = 0; i < table->part_count; i++)
        if (tn_text_is(table->parts[i].part, prefix->part))
            return &table->parts[i];
    if (table->part_count == TN_PARTS_OF_ADAPTER_MAX)
        return NULL;
    tn_adapter_part *part = &table->parts[table->part_count++];
    *part = (tn_adapter_part){.part = prefix->part, .target = prefix->target};
    memset(part->sets, 0xff, sizeof part->sets);
    return part;
}

static void place_module(const reading *r, tn_module *module)
{
    tn_adapter_table *table = r->table;
    const tn_adapter_prefix *prefix =
        module->prefix != UINT32_MAX ? &r->rules->adapter_prefixes[module->prefix] : NULL;
    tn_adapter_part *part = prefix != NULL ? part_of(table, prefix) : NULL;
    if (part == NULL) {
        table->strangers = true;
        return;
    }
    module->part = (uint32_t)(part - table->parts);
    part->modules++;
    uint64_t sets[TN_RULES_SETS_MAX / 64] = {0};
    bool flat = prefix->prefix.size > 0 && prefix->prefix.bytes[prefix->prefix.size - 1] == '_';
    sets_of(r->rules, module, flat, sets);
    for (size_t i = 0; i < TN_RULES_SETS_MAX / 64; i++)
        part->sets[i] &= sets[i];
}

bool tn_adapter_fits(const tn_adapter_table *table, const tn_rules *rules, tn_range parts)
{
    if (table->strangers || table->part_count == 0)
        return false;
    for (uint32_t i = 0; i < table->part_count; i++) {
        const tn_adapter_part *part = &table->parts[i];
        bool fits = false;
        for (uint32_t j = 0; j < parts.count && !fits; j++) {
            const tn_part_rule *rule = &rules->parts[parts.first + j];
            for (size_t k = 0; k < TN_RULES_SETS_MAX / 64 && tn_text_is(rule->part, part->part); k++)
                fits = fits || (rule->sets[k] & part->sets[k]) != 0;
        }
        if (!fits)
            return false;
    }
    return true;
}

/* ---- words ---- */

typedef struct tally {
    uint32_t lora, conv, dora, loha, lokr, oft, boft, ia3, glora, diff;
} tally;

static void count_module(const reading *r, const tn_module *module, tally *t)
{
    const tn_tensor *oft = of_role(r, module, TN_ROLE_OFT);
    if ((module->roles & BIT(TN_ROLE_DORA)) != 0)
        t->dora++;
    if ((module->roles & (BIT(TN_ROLE_DOWN) | BIT(TN_ROLE_UP))) != 0) {
        t->lora++;
        t->conv += module->rank_of_shape > 2 && module->shape[2] > 1;
    } else if ((module->roles & (BIT(TN_ROLE_HADA_1A) | BIT(TN_ROLE_HADA))) != 0) {
        t->loha++;
    } else if ((module->roles & (BIT(TN_ROLE_LOKR_1) | BIT(TN_ROLE_LOKR_1A) | BIT(TN_ROLE_LOKR_2))) != 0) {
        t->lokr++;
    } else if (oft != NULL) {
        *(oft->rank == 4 ? &t->boft : &t->oft) += 1;
    } else if ((module->roles & BIT(TN_ROLE_IA3)) != 0) {
        t->ia3++;
    } else if ((module->roles & BIT(TN_ROLE_GLORA)) != 0) {
        t->glora++;
    } else if ((module->roles & BIT(TN_ROLE_DIFF)) != 0) {
        t->diff++;
    }
}

/* One word for the file: that of most layers, a plain difference only when there is nothing else. */
static tn_text algorithm_of(const tally *t)
{
    uint32_t most = 0;
    tn_text word = {"", 0};
    const struct {
        uint32_t count;
        tn_text word;
    } kinds[] = {
        {t->lora, t->dora > 0 ? TN_TEXT("dora") : t->conv > 0 ? TN_TEXT("locon") : TN_TEXT("lora")},
        {t->loha, TN_TEXT("loha")}, {t->lokr, TN_TEXT("lokr")},   {t->oft, TN_TEXT("oft")},
        {t->boft, TN_TEXT("boft")}, {t->glora, TN_TEXT("glora")}, {t->ia3, TN_TEXT("ia3")},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (kinds[i].count > most) {
            most = kinds[i].count;
            word = kinds[i].word;
        }
    }
    return most == 0 && t->diff > 0 ? TN_TEXT("diff") : word;
}

static tn_text dialect_of(const reading *r)
{
    const tn_adapter_table *table = r->table;
    if (r->styles[TN_STYLE_XLABS] > 0)
        return TN_TEXT("xlabs");
    for (uint32_t i = 0; i < table->count; i++) {
        if (table->modules[i].prefix == UINT32_MAX)
            continue;
        tn_text dialect = r->rules->adapter_prefixes[table->modules[i].prefix].dialect;
        if (dialect.size > 0)
            return dialect;
    }
    return r->styles[TN_STYLE_A_B] > 0 ? TN_TEXT("peft") : TN_TEXT("native");
}

static void finish(reading *r)
{
    tn_adapter_table *table = r->table;
    tally t = {0};
    for (uint32_t i = 0; i < table->count; i++) {
        tn_module *module = &table->modules[i];
        shape_module(r, module);
        place_module(r, module);
        count_module(r, module, &t);
        table->plain += module->roles == BIT(TN_ROLE_PLAIN);
        if (module->rank == 0)
            continue;
        if (table->rank_min == 0 || module->rank < table->rank_min)
            table->rank_min = module->rank;
        if (module->rank > table->rank_max)
            table->rank_max = module->rank;
    }
    table->algorithm = algorithm_of(&t);
    table->dialect = dialect_of(r);
}

/* A quick look before a table is made: do the names end like an adapter's? Every eighth is asked, and the first. */
static bool looks_like_one(const tn_tensor *tensors, size_t count)
{
    size_t asked = 0, marked = 0;
    size_t step = count < 64 ? 1 : 8;
    for (size_t i = 0; i < count; i += step, asked++)
        marked += tn_adapter_suffix(tensors[i].name.bytes, tensors[i].name.size).role != TN_ROLE_PLAIN;
    return marked * 3 >= asked && marked > 0;
}

tn_status tn_adapter_read(const tn_rules *rules, const tn_checkpoint *checkpoint, tn_arena *arena,
                          tn_memory_source *memory, tn_adapter_table **out, tn_error *err)
{
    reading r = {.rules = rules, .arena = arena, .capacity = FIRST_MODULES};
    size_t count = tn_checkpoint_tensors(checkpoint, &r.tensors);
    *out = NULL;
    if (count > TN_ADAPTER_TENSORS_MAX || !looks_like_one(r.tensors, count))
        return TN_OK;
    while (r.capacity < count / 3)
        r.capacity *= 2;
    r.table = tn_arena_take_array(arena, 1, sizeof *r.table);
    if (r.table != NULL)
        r.table->modules = tn_arena_take(arena, r.capacity * sizeof *r.table->modules);
    if (r.table == NULL || r.table->modules == NULL)
        return tn_arena_status(arena, err);
    tn_map_init(&r.keys, memory);
    tn_status status = tn_map_reserve(&r.keys, r.capacity, err);
    tn_module *last = NULL;
    for (uint32_t i = 0; i < count && status == TN_OK; i++)
        status = read_tensor(&r, i, &last, err);
    tn_map_free(&r.keys);
    if (status != TN_OK || r.table->marked * 2 < count)
        return status;
    finish(&r);
    *out = r.table;
    return TN_OK;
}
