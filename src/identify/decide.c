/* From the rows that match to one answer.
 *
 *   V1  identified: one type and one base among all consistent rows, or several of which the metadata names one.
 *   V2  Metadata chooses among what the tensors allow and never adds to it; what it denies is a warning.
 *   V3  A model of which parts are known too is that model: its VAE and text encoders are no answers. */
#include <string.h>

#include "identify/answer.h"
#include "identify/pattern.h"

typedef struct choice {
    const tn_match *kept[TN_MATCHES_MAX];
    uint32_t count;
} choice;

static bool is(tn_text text, const char *word)
{
    return text.size == strlen(word) && memcmp(text.bytes, word, text.size) == 0;
}

static bool same_base(const tn_match *a, const tn_match *b)
{
    return tn_text_is(a->row->type, b->row->type) && tn_text_is(a->row->base, b->row->base);
}

/* How strong a claim a row has on the whole file: a model's over its parts', a layer table's over single names. */
static int standing(const tn_match *match)
{
    if (is(match->row->type, "main"))
        return 2;
    return match->row->parts.count > 0 ? 1 : 0;
}

static void choose_strongest(const tn_matches *matches, choice *out)
{
    int most = 0;
    out->count = 0;
    for (uint32_t i = 0; i < matches->count; i++)
        most = standing(&matches->items[i]) > most ? standing(&matches->items[i]) : most;
    for (uint32_t i = 0; i < matches->count; i++)
        if (standing(&matches->items[i]) == most)
            out->kept[out->count++] = &matches->items[i];
}

static bool all_one_base(const choice *c)
{
    for (uint32_t i = 1; i < c->count; i++)
        if (!same_base(c->kept[0], c->kept[i]))
            return false;
    return c->count > 0;
}

static bool all_one_type(const choice *c)
{
    for (uint32_t i = 1; i < c->count; i++)
        if (!tn_text_is(c->kept[0]->row->type, c->kept[i]->row->type))
            return false;
    return c->count > 0;
}

/* ---- metadata ---- */

static void keep_base(choice *c, tn_text base)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < c->count; i++)
        if (tn_text_is(c->kept[i]->row->base, base))
            c->kept[kept++] = c->kept[i];
    c->count = kept;
}

static bool has_base(const choice *c, tn_text base)
{
    for (uint32_t i = 0; i < c->count; i++)
        if (tn_text_is(c->kept[i]->row->base, base))
            return true;
    return false;
}

static void warn_of_claim(tn_draft *draft, const choice *c, const tn_claim *claim)
{
    tn_text message = tn_arena_format(&draft->arena, "the metadata says %s (%.*s), which the tensors deny: %s",
                                      claim->base.bytes, (int)(claim->value.size < 80 ? claim->value.size : 80),
                                      claim->value.bytes, c->kept[0]->row->says.bytes);
    const tn_finding finding = {.severity = TN_WARNING, .status = TN_METADATA_DISAGREES, .message = message,
                                .file = {"", 0}, .tensor = claim->key, .offset = TN_NONE, .expected = TN_NONE,
                                .found = TN_NONE};
    tn_draft_warn(draft, &finding);
}

/* Narrow the choice by what the metadata claims. True when it did. */
static bool ask_metadata(tn_draft *draft, choice *c, const tn_claim *claim)
{
    if (claim->base.size == 0)
        return false;
    if (!has_base(c, claim->base)) {
        warn_of_claim(draft, c, claim);
        return false;
    }
    if (all_one_base(c))
        return false;
    choice narrowed = *c;
    keep_base(&narrowed, claim->base);
    if (!all_one_base(&narrowed))
        return false;
    *c = narrowed;
    return true;
}

static void tell_claim(tn_draft *draft, const tn_claim *claim)
{
    tn_draft_say(draft, TN_TEXT("metadata"), 1,
                 tn_arena_format(&draft->arena, "%s in the metadata is %.*s: that means %s", claim->key.bytes,
                                 (int)(claim->value.size < 80 ? claim->value.size : 80), claim->value.bytes,
                                 claim->base.bytes));
}

/* ---- variants ---- */

enum { VARIANTS_MAX = 32 };

typedef struct variant_list {
    tn_text items[VARIANTS_MAX];
    uint32_t count;
} variant_list;

static void add_variant(variant_list *list, tn_text variant)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (tn_text_is(list->items[i], variant))
            return;
    if (list->count < VARIANTS_MAX)
        list->items[list->count++] = variant;
}

static void list_variants(const tn_rules *rules, const choice *c, variant_list *list)
{
    list->count = 0;
    for (uint32_t i = 0; i < c->count; i++) {
        const tn_row_rule *row = c->kept[i]->row;
        if (row->variant.size > 0)
            add_variant(list, row->variant);
        for (uint32_t j = 0; j < row->variants.count; j++)
            add_variant(list, rules->texts[row->variants.first + j]);
    }
}

/* True when the metadata chose one. */
static bool decide_variant(tn_draft *draft, const tn_rules *rules, const choice *c, const tn_claim *claim)
{
    variant_list list;
    list_variants(rules, c, &list);
    if (list.count == 1)
        draft->answer.variant = list.items[0];
    if (list.count < 2)
        return false;
    for (uint32_t i = 0; i < list.count; i++) {
        if (tn_text_is(claim->base, draft->answer.base) && tn_text_is(list.items[i], claim->variant)) {
            draft->answer.variant = list.items[i];
            return true;
        }
    }
    tn_text *kept = tn_arena_take_array(&draft->arena, list.count, sizeof *kept);
    if (kept == NULL)
        return false;
    memcpy(kept, list.items, list.count * sizeof *kept);
    draft->answer.variants = kept;
    draft->answer.variant_count = list.count;
    return false;
}

/* ---- what else a row says ---- */

static void decide_numbers(tn_draft *draft, const tn_rules *rules, const tn_match *match)
{
    const struct {
        tn_range steps;
        uint32_t *out;
    } fields[] = {{match->row->scale, &draft->answer.scale},
                  {match->row->in_channels, &draft->answer.in_channels},
                  {match->row->out_channels, &draft->answer.out_channels}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        uint64_t value;
        if (fields[i].steps.count > 0 && tn_match_value(rules, &match->variables, fields[i].steps, &value) &&
            value <= UINT32_MAX)
            *fields[i].out = (uint32_t)value;
    }
}

/* A word that all rows agree on. */
static tn_text agreed(const choice *c, tn_app app)
{
    tn_text first = c->kept[0]->row->names[app];
    for (uint32_t i = 1; i < c->count; i++)
        if (!tn_text_is(first, c->kept[i]->row->names[app]))
            return (tn_text){"", 0};
    return first.size > 0 ? first : (tn_text){"", 0};
}

static void decide_names(tn_draft *draft, const choice *c)
{
    draft->answer.name_invokeai = agreed(c, TN_APP_INVOKEAI);
    draft->answer.name_comfyui = agreed(c, TN_APP_COMFYUI);
    draft->answer.name_diffsynth = agreed(c, TN_APP_DIFFSYNTH);
    draft->answer.name_diffusers = agreed(c, TN_APP_DIFFUSERS);
}

static void decide_prediction(tn_draft *draft, const tn_facts *facts, const tn_row_rule *row)
{
    static const char key[] = "scheduler/scheduler_config.json#prediction_type";
    tn_text configured = tn_checkpoint_metadata_value(facts->checkpoint, key);
    if (configured.size > 0) {
        draft->answer.prediction_type = tn_arena_text(&draft->arena, configured.bytes, configured.size);
        return;
    }
    for (uint32_t i = 0; i < row->predictions.count; i++) {
        const tn_prediction_rule *rule = &facts->rules->predictions[row->predictions.first + i];
        bool there = rule->sentinel.size == 0 ||
                     tn_checkpoint_find(facts->checkpoint, rule->sentinel.bytes, rule->sentinel.size) != NULL;
        if (there) {
            draft->answer.prediction_type = rule->word;
            if (rule->sentinel.size > 0)
                tn_draft_say(draft, row->name, 1,
                             tn_arena_format(&draft->arena, "the tensor %s marks a model that predicts %s",
                                             rule->sentinel.bytes, rule->word.bytes));
            return;
        }
    }
}

/* ---- the adapter ---- */

static bool has_target(const tn_text *targets, uint32_t count, tn_text target)
{
    for (uint32_t i = 0; i < count; i++)
        if (tn_text_is(targets[i], target))
            return true;
    return false;
}

static void describe_adapter(tn_draft *draft, const tn_facts *facts)
{
    const tn_adapter_table *table = facts->adapter;
    tn_adapter *a = &draft->answer.adapter;
    tn_text *targets = tn_arena_take_array(&draft->arena, TN_PARTS_OF_ADAPTER_MAX, sizeof *targets);
    if (targets == NULL)
        return;
    uint32_t count = 0;
    for (uint32_t i = 0; i < table->part_count; i++)
        if (!has_target(targets, count, table->parts[i].target))
            targets[count++] = table->parts[i].target;
    a->algorithm = table->algorithm;
    a->dialect = table->dialect;
    a->rank_min = table->rank_min;
    a->rank_max = table->rank_max;
    a->modules = table->count - table->plain;
    a->alpha = tn_metadata_alpha(facts->checkpoint);
    a->targets = targets;
    a->target_count = count;
}

/* ---- the answer ---- */

static void list_candidates(tn_draft *draft, const choice *c)
{
    tn_candidate *list = tn_arena_take_array(&draft->arena, c->count, sizeof *list);
    if (list == NULL)
        return;
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->count; i++) {
        const tn_row_rule *row = c->kept[i]->row;
        bool known = false;
        for (uint32_t j = 0; j < count; j++)
            known = known || (tn_text_is(list[j].type, row->type) && tn_text_is(list[j].base, row->base) &&
                              tn_text_is(list[j].variant, row->variant));
        if (!known)
            list[count++] = (tn_candidate){row->type, row->base, row->variant};
        if (draft->answer.why.size == 0 && row->why.size > 0)
            draft->answer.why = row->why;
    }
    draft->answer.candidates = list;
    draft->answer.candidate_count = count;
    if (draft->answer.why.size == 0)
        draft->answer.why = TN_TEXT("every name and shape in the file fits each of these, and the metadata names none");
}

static void answer_ambiguous(tn_draft *draft, const choice *c)
{
    draft->answer.state = TN_STATE_AMBIGUOUS;
    if (all_one_type(c))
        draft->answer.type = c->kept[0]->row->type;
    list_candidates(draft, c);
}

static void answer_identified(tn_draft *draft, const tn_facts *facts, const choice *c, const tn_claim *claim,
                              bool by_metadata)
{
    tn_answer *a = &draft->answer;
    a->state = TN_STATE_IDENTIFIED;
    a->type = c->kept[0]->row->type;
    a->base = c->kept[0]->row->base;
    bool variant_claimed = decide_variant(draft, facts->rules, c, claim);
    a->decided_by = by_metadata || variant_claimed ? TN_TEXT("metadata") : TN_TEXT("tensors");
    if (by_metadata || variant_claimed)
        tell_claim(draft, claim);
    if (c->kept[0]->row->purpose.size > 0)
        a->purpose = c->kept[0]->row->purpose;
    if (a->variant_count > 0 && c->kept[0]->row->why.size > 0)
        a->why = c->kept[0]->row->why;
    decide_numbers(draft, facts->rules, c->kept[0]);
    decide_names(draft, c);
    decide_prediction(draft, facts, c->kept[0]->row);
}

void tn_decide(tn_draft *draft, const tn_facts *facts, const tn_matches *matches)
{
    choice c;
    choose_strongest(matches, &c);
    tn_claim claim = tn_metadata_claim(facts->rules, facts->checkpoint);
    if (facts->adapter != NULL && (c.count == 0 || c.kept[0]->row->parts.count > 0)) {
        describe_adapter(draft, facts);
        draft->answer.type = TN_TEXT("lora");
    }
    if (c.count == 0 || matches->overflow) {
        draft->answer.state = TN_STATE_UNKNOWN;
        tn_tell_against(draft, matches);
        return;
    }
    bool by_metadata = ask_metadata(draft, &c, &claim);
    for (uint32_t i = 0; i < c.count; i++)
        tn_tell_for(draft, c.kept[i]);
    if (all_one_base(&c))
        answer_identified(draft, facts, &c, &claim, by_metadata);
    else
        answer_ambiguous(draft, &c);
    tn_tell_against(draft, matches);
}
