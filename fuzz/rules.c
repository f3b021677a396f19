/* The parser of rules on any bytes, and every table it makes asked of a small file.
 *
 * Held: reading ends; a refusal names a line of the text; what is accepted holds R1 (indices lie in their tables) and
 * can be asked of an adapter and of a model without fault; all memory is given back. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "format/catalog.h"
#include "identify/facts.h"
#include "identify/match.h"
#include "identify/rules_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool holds)
{
    if (!holds)
        abort();
}

static void demand_range(tn_range range, uint32_t count)
{
    demand(range.count == 0 || (range.first < count && range.count <= count - range.first));
}

static void demand_conditions(const tn_rules *r)
{
    for (uint32_t i = 0; i < r->condition_count; i++) {
        const tn_condition *c = &r->conditions[i];
        demand_range(c->left, r->step_count);
        demand_range(c->right, r->step_count);
        demand(c->variable == UINT32_MAX || c->variable < TN_RULES_VARIABLES_MAX);
        demand(c->shape.rank <= TN_RULES_DIMENSIONS_MAX);
    }
}

static void demand_tables(const tn_rules *r)
{
    demand_conditions(r);
    for (uint32_t i = 0; i < r->row_count; i++) {
        demand_range(r->rows[i].conditions, r->condition_count);
        demand_range(r->rows[i].parts, r->part_count);
        demand_range(r->rows[i].variants, r->text_count);
        demand_range(r->rows[i].predictions, r->prediction_count);
    }
    for (uint32_t i = 0; i < r->family_count; i++) {
        demand_range(r->families[i].conditions, r->condition_count);
        demand_range(r->families[i].rows, r->row_count);
    }
    for (uint32_t i = 0; i < r->layer_count; i++)
        demand(r->layers[i].set < r->set_count);
    for (uint32_t i = 0; i < r->class_count; i++) {
        demand_range(r->classes[i].layers, r->layer_count);
        demand(tn_rules_class(r, r->classes[i].key.bytes, r->classes[i].key.size) == &r->classes[i]);
    }
}

static tn_checkpoint *make(tn_context *context, bool adapter)
{
    static const char *const model[] = {"img_in.weight", "a.0.w", "a.1.w", "model.b.weight"};
    static const char *const layers[] = {"lora_unet_a_0_b.lora_down.weight", "lora_unet_a_0_b.lora_up.weight",
                                         "x.1.y.lora_A.weight", "x.1.y.lora_B.weight"};
    static const uint64_t shape[] = {8, 6};
    tn_catalog *catalog;
    tn_checkpoint *checkpoint;
    demand(tn_catalog_begin(context, TN_CONTAINER_SAFETENSORS, "f", &catalog, NULL) == TN_OK);
    demand(tn_catalog_add_part(catalog, "f", 0, 0, "", NULL) == TN_OK);
    for (size_t i = 0; i < 4; i++)
        demand(tn_catalog_add_shape(catalog, adapter ? layers[i] : model[i], TN_F16, 2, shape, NULL) == TN_OK);
    demand(tn_catalog_finish(catalog, &checkpoint, NULL) == TN_OK);
    return checkpoint;
}

static void ask(tn_context *context, const tn_rules *rules, bool adapter)
{
    static tn_matches matches;
    static tn_near_miss misses[8];
    tn_facts facts;
    tn_arena arena;
    tn_checkpoint *checkpoint = make(context, adapter);
    tn_arena_init(&arena, &context->memory, 16 << 20);
    matches.misses = misses;
    matches.miss_max = 8;
    demand(tn_facts_read(&facts, rules, checkpoint, &arena, &context->memory, NULL) == TN_OK);
    tn_match_all(&facts, &matches);
    tn_arena_free(&arena);
    tn_checkpoint_release(checkpoint);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tn_context *context;
    tn_rules_pack *pack;
    const tn_rules *rules;
    tn_error err;
    if (size > 1 << 16)
        return 0;
    demand(tn_context_create(NULL, &context, NULL) == TN_OK);
    demand(tn_rules_pack_create(&context->memory, &pack, NULL) == TN_OK);
    tn_status status = tn_rules_pack_read(pack, "f", (const char *)data, size, &err);
    if (status != TN_OK)
        demand(err.status == status && err.offset <= size + 1);
    if (status == TN_OK && tn_rules_pack_finish(pack, &rules, NULL) == TN_OK) {
        demand_tables(rules);
        ask(context, rules, false);
        ask(context, rules, true);
    }
    tn_rules_pack_destroy(pack);
    demand(tn_context_memory(context).used_bytes == 0);
    tn_context_destroy(context);
    return 0;
}
