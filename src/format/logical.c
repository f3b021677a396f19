/* Logical tensors: one for each weight as the model means it.
 *
 * A plain tensor is its own logical tensor. A quantised weight has side tensors (scales, maps, states) that a table
 * of suffixes finds by name; they become members of the weight's logical tensor. Names decide, never tensor bytes, so
 * the shape that bitsandbytes hides in a state tensor stays unknown: such a weight is told as one dimension of the
 * right length. A file without any integer or 8-bit tensor is not looked at at all.
 * Sources of the suffixes: bitsandbytes (functional.py, QuantState), transformers (LLM.int8()), ComfyUI
 * (comfy/quant_ops.py, comfy/ops.py), SDNQ (the layer's state names).
 */
#include <string.h>

#include "core/error.h"
#include "format/catalog_inside.h"
#include "format/limits.h"

typedef enum side {
    SIDE_SCALE,      /* says that the weight is scaled, not how */
    SIDE_NF4,
    SIDE_FP4,
    SIDE_INT8,
    SIDE_COMFY,
    SIDE_SECOND_SCALE,
    SIDE_SDNQ,
    SIDE_MUTE        /* belongs to the weight and says nothing of the scheme */
} side;

typedef struct suffix_rule {
    tn_text suffix;
    side means;
    bool beside_weight; /* the weight is NAME.weight when this is NAME + suffix; else it is NAME itself */
} suffix_rule;

static const suffix_rule rules[] = {
    {{".absmax", 7}, SIDE_MUTE, false},
    {{".quant_map", 10}, SIDE_MUTE, false},
    {{".nested_absmax", 14}, SIDE_MUTE, false},
    {{".nested_quant_map", 17}, SIDE_MUTE, false},
    {{".quant_state.bitsandbytes__nf4", 30}, SIDE_NF4, false},
    {{".quant_state.bitsandbytes__fp4", 30}, SIDE_FP4, false},
    {{".SCB", 4}, SIDE_INT8, true},
    {{".weight_format", 14}, SIDE_MUTE, true},
    {{".scale_weight", 13}, SIDE_SCALE, true},
    {{".scale_input", 12}, SIDE_MUTE, true},
    {{".weight_scale", 13}, SIDE_SCALE, true},
    {{".weight_scale_inv", 17}, SIDE_SCALE, true},
    {{".weight_scale_2", 15}, SIDE_SECOND_SCALE, true},
    {{".input_scale", 12}, SIDE_MUTE, true},
    {{".pre_quant_scale", 16}, SIDE_MUTE, true},
    {{".comfy_quant", 12}, SIDE_COMFY, true},
    {{".scale", 6}, SIDE_SDNQ, true},
    {{".zero_point", 11}, SIDE_MUTE, true},
    {{".svd_up", 7}, SIDE_MUTE, true},
    {{".svd_down", 9}, SIDE_MUTE, true},
};

#define NOBODY UINT32_MAX
#define NAME_ROOM 512u /* a side tensor of a longer name stands for itself */

/* What is known of one tensor while grouping. */
typedef struct mark {
    uint32_t owner;   /* the weight that it is a side tensor of, or NOBODY */
    uint32_t members; /* of the logical tensor that it leads: itself and its side tensors */
    uint32_t sides;   /* a bit for each `side` among them */
    uint32_t first;   /* where its members begin */
    uint32_t placed;  /* side tensors put there so far */
} mark;

static bool is_packed_dtype(tn_dtype dtype)
{
    unsigned bits = tn_dtype_bits(dtype);
    return (bits <= 8 && dtype != TN_BOOL) || dtype == TN_I16 || dtype == TN_U16 || dtype == TN_I32 || dtype == TN_U32;
}

static bool may_hold_quantised(uint32_t dtypes_seen)
{
    for (unsigned dtype = 0; dtype < TN_DTYPE_COUNT; dtype++)
        if ((dtypes_seen >> dtype & 1) != 0 && is_packed_dtype((tn_dtype)dtype))
            return true;
    return false;
}

static const suffix_rule *rule_of(tn_text name)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        tn_text suffix = rules[i].suffix;
        if (name.size > suffix.size && memcmp(name.bytes + name.size - suffix.size, suffix.bytes, suffix.size) == 0)
            return &rules[i];
    }
    return NULL;
}

/* The number of the weight that a tensor of this name is a side of, or NOBODY. bitsandbytes may store the packed
 * weight under a floating dtype, so only neighbours of NAME.weight must be packed by their dtype. */
static uint32_t owner_of(const tn_catalog *catalog, tn_text name, const suffix_rule *rule)
{
    char weight[NAME_ROOM + sizeof ".weight"];
    const tn_tensor *tensors = catalog->tensors.items;
    size_t size = name.size - rule->suffix.size;
    uint32_t number = NOBODY;
    if (size > NAME_ROOM)
        return NOBODY;
    memcpy(weight, name.bytes, size);
    if (rule->beside_weight) {
        memcpy(weight + size, ".weight", 7);
        size += 7;
    }
    if (!tn_name_index_get(&catalog->names, tensors, weight, size, &number))
        return NOBODY;
    return !rule->beside_weight || is_packed_dtype(tensors[number].dtype) ? number : NOBODY;
}

/* Find each tensor's owner. A side tensor leads nothing: what would own an owner is not followed further. */
static void find_owners(const tn_catalog *catalog, mark *marks)
{
    const tn_tensor *tensors = catalog->tensors.items;
    for (uint32_t i = 0; i < catalog->tensors.count; i++)
        marks[i] = (mark){.owner = NOBODY, .members = 1};
    for (uint32_t i = 0; i < catalog->tensors.count; i++) {
        const suffix_rule *rule = rule_of(tensors[i].name);
        uint32_t owner = rule != NULL ? owner_of(catalog, tensors[i].name, rule) : NOBODY;
        if (owner == NOBODY || owner == i || rule_of(tensors[owner].name) != NULL)
            continue;
        marks[i].owner = owner;
        marks[owner].members++;
        marks[owner].sides |= 1u << rule->means;
    }
}

static bool has(const mark *m, side wanted)
{
    return (m->sides >> wanted & 1) != 0;
}

static bool is_fp8(tn_dtype dtype)
{
    return dtype == TN_F8_E5M2 || dtype == TN_F8_E4M3 || dtype == TN_F8_E4M3FNUZ || dtype == TN_F8_E5M2FNUZ;
}

static tn_text scheme_of(const mark *m, tn_dtype dtype)
{
    if (m->members == 1)
        return TN_TEXT("");
    if (has(m, SIDE_NF4))
        return TN_TEXT("nf4");
    if (has(m, SIDE_FP4))
        return TN_TEXT("fp4");
    if (has(m, SIDE_INT8))
        return TN_TEXT("int8");
    if (has(m, SIDE_SDNQ))
        return TN_TEXT("sdnq");
    if (is_fp8(dtype) && (has(m, SIDE_SCALE) || has(m, SIDE_COMFY)))
        return TN_TEXT("fp8_scaled");
    if (dtype == TN_U8 && has(m, SIDE_SECOND_SCALE))
        return TN_TEXT("nvfp4");
    if (dtype == TN_I8 && has(m, SIDE_SCALE))
        return TN_TEXT("int8");
    return has(m, SIDE_COMFY) ? TN_TEXT("comfy_quant") : TN_TEXT("scaled");
}

/* The shape as the model sees it, where packing of two to a byte hides it. */
static tn_status unpack(tn_catalog *catalog, const mark *m, const tn_tensor *weight, tn_logical *logical,
                        tn_error *err)
{
    bool bnb = has(m, SIDE_NF4) || has(m, SIDE_FP4);
    bool nvfp4 = weight->dtype == TN_U8 && has(m, SIDE_SECOND_SCALE) && weight->rank > 0;
    if ((!bnb && !nvfp4) || tn_mul_overflows(weight->size_bytes, 2, &logical->elements))
        return TN_OK;
    logical->rank = bnb ? 1 : weight->rank;
    uint64_t *shape = tn_arena_take(&catalog->arena, logical->rank * sizeof *shape);
    if (shape == NULL)
        return tn_arena_status(&catalog->arena, err);
    if (bnb) {
        shape[0] = logical->elements;
    } else {
        memcpy(shape, weight->shape, weight->rank * sizeof *shape);
        shape[weight->rank - 1] *= 2; /* cannot wrap: elements * 2 did not, or it is 0 beside a 0 */
    }
    logical->shape = shape;
    return TN_OK;
}

static tn_logical plain(const tn_tensor *tensor, const uint32_t *members)
{
    return (tn_logical){.name = tensor->name, .scheme = TN_TEXT(""), .rank = tensor->rank, .shape = tensor->shape,
                        .elements = tensor->elements, .member_count = 1, .members = members};
}

static tn_status add_logical(tn_catalog *catalog, const tn_logical *logical, tn_error *err)
{
    tn_status failed = TN_OK;
    tn_logical *slot = tn_row_add(&catalog->context->memory, &catalog->logicals, TN_TENSORS_MAX, &failed, err);
    if (slot != NULL)
        *slot = *logical;
    return failed;
}

/* One to one. */
static void group_plain(tn_catalog *catalog, uint32_t *members)
{
    const tn_tensor *tensors = catalog->tensors.items;
    tn_logical *logicals = catalog->logicals.items;
    for (uint32_t i = 0; i < catalog->tensors.count; i++) {
        members[i] = i;
        logicals[i] = plain(&tensors[i], &members[i]);
    }
    catalog->logicals.count = catalog->tensors.count;
}

/* Members lie behind one another, the weight first, in the order of their leaders. */
static void place_members(mark *marks, uint32_t count, uint32_t *members)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (marks[i].owner != NOBODY)
            continue;
        members[at] = i;
        marks[i].first = at;
        at += marks[i].members;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (marks[i].owner == NOBODY)
            continue;
        mark *leader = &marks[marks[i].owner];
        members[leader->first + ++leader->placed] = i;
    }
}

static tn_status group_marked(tn_catalog *catalog, mark *marks, uint32_t *members, tn_error *err)
{
    const tn_tensor *tensors = catalog->tensors.items;
    uint32_t count = catalog->tensors.count;
    find_owners(catalog, marks);
    place_members(marks, count, members);
    for (uint32_t i = 0; i < count; i++) {
        if (marks[i].owner != NOBODY)
            continue;
        tn_logical logical = plain(&tensors[i], members + marks[i].first);
        logical.member_count = marks[i].members;
        logical.scheme = scheme_of(&marks[i], tensors[i].dtype);
        TN_TRY(unpack(catalog, &marks[i], &tensors[i], &logical, err));
        TN_TRY(add_logical(catalog, &logical, err));
    }
    return TN_OK;
}

tn_status tn_catalog_group(tn_catalog *catalog, tn_error *err)
{
    tn_memory_source *memory = &catalog->context->memory;
    uint32_t count = catalog->tensors.count;
    if (count == 0)
        return TN_OK;
    uint32_t *members = tn_arena_take(&catalog->arena, count * sizeof *members);
    if (members == NULL)
        return tn_arena_status(&catalog->arena, err);
    TN_TRY(tn_row_make_room(memory, &catalog->logicals, count, err));
    if (!may_hold_quantised(catalog->dtypes_seen)) {
        group_plain(catalog, members);
        return TN_OK;
    }
    void *marks = NULL;
    TN_TRY(tn_take_array(memory, count, sizeof(mark), &marks, err));
    tn_status status = group_marked(catalog, marks, members, err);
    tn_give(memory, marks, count * sizeof(mark));
    return status;
}
