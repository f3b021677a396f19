/* Every header of the corpus is answered: right, ambiguous with the right answer in a tight set, or unknown; and none
 * wrongly. Labels: tests/data/corpus (README.md there says where they come from). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <tenure/digest.h>

#include "identify/pattern.h"
#include "support/identify_corpus.h"

static corpus headers, restorers, loras;

typedef enum verdict { RIGHT, AMBIGUOUS_RIGHT, UNKNOWN, WRONG, VERDICTS } verdict;
static const char *const verdict_words[VERDICTS] = {"right", "ambiguous-right", "unknown", "WRONG"};

static bool among(tn_text word, const tn_text *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (tn_text_is(word, list[i]))
            return true;
    return false;
}

/* A variant is right when it is one of the label's, or open with one of the label's among the open ones; where the
 * label states none, any will do. */
static bool variant_right(const corpus_header *h, const tn_answer *a)
{
    if (h->variant_count == 0)
        return true;
    if (among(a->variant, h->variants, h->variant_count))
        return true;
    for (size_t i = 0; i < a->variant_count && a->variant.size == 0; i++)
        if (among(a->variants[i], h->variants, h->variant_count))
            return true;
    return false;
}

static bool candidates_right(const corpus_header *h, const tn_answer *a)
{
    if (a->candidate_count > 5 || a->why.size == 0)
        return false;
    for (size_t i = 0; i < a->candidate_count; i++)
        if (tn_text_is(a->candidates[i].type, h->type) && among(a->candidates[i].base, h->bases, h->base_count))
            return true;
    return false;
}

static verdict judge(const corpus_header *h, const tn_answer *a)
{
    if (a->state == TN_STATE_UNKNOWN)
        return UNKNOWN;
    if (a->state == TN_STATE_AMBIGUOUS)
        return candidates_right(h, a) ? AMBIGUOUS_RIGHT : WRONG;
    bool right = a->state == TN_STATE_IDENTIFIED && tn_text_is(a->type, h->type) &&
                 among(a->base, h->bases, h->base_count) && variant_right(h, a);
    return right ? RIGHT : WRONG;
}

static void tell(const corpus_header *h, const tn_answer *a, verdict v)
{
    (void)fprintf(stderr, "  %-16s %.*s: %s %.*s %.*s %.*s\n", verdict_words[v], (int)h->id.size, h->id.bytes,
                  tn_state_word(a->state), (int)a->type.size, a->type.bytes, (int)a->base.size, a->base.bytes,
                  (int)a->variant.size, a->variant.bytes);
    for (size_t i = 0; i < a->candidate_count; i++)
        (void)fprintf(stderr, "      or %s %s %s\n", a->candidates[i].type.bytes, a->candidates[i].base.bytes,
                      a->candidates[i].variant.bytes);
}

static void count_verdicts(corpus *c, const char *begin, const corpus_change *change, size_t counts[VERDICTS],
                           bool loud)
{
    memset(counts, 0, VERDICTS * sizeof *counts);
    for (size_t i = 0; i < c->count; i++) {
        const corpus_header *h = &c->headers[i];
        if (!tn_text_begins(h->id, begin))
            continue;
        tn_answer *a = corpus_identify(c, h, change);
        verdict v = judge(h, a);
        counts[v]++;
        if (v == WRONG || (loud && v != RIGHT))
            tell(h, a, v);
        tn_answer_destroy(a);
    }
}

static void print_counts(const char *what, const size_t counts[VERDICTS])
{
    (void)fprintf(stderr, "  %-28s right %3zu, ambiguous-right %3zu, unknown %3zu, WRONG %zu\n", what, counts[RIGHT],
                  counts[AMBIGUOUS_RIGHT], counts[UNKNOWN], counts[WRONG]);
}

static void every_header_is_answered_and_none_wrongly(void **state)
{
    (void)state;
    static const char *const sources[] = {"dsyn/", "native/", "te/"};
    size_t all[VERDICTS] = {0};
    for (size_t i = 0; i < 3; i++) {
        size_t counts[VERDICTS];
        count_verdicts(&headers, sources[i], NULL, counts, true);
        print_counts(sources[i], counts);
        for (size_t v = 0; v < VERDICTS; v++)
            all[v] += counts[v];
    }
    print_counts("headers", all);
    assert_int_equal(all[WRONG], 0);
    assert_int_equal(headers.count, 163);
}

/* In scope: main models, autoencoders, encoders of the corpus, less those that have no row yet. */
static void main_models_autoencoders_and_encoders_are_known(void **state)
{
    (void)state;
    static const char *const without_a_row[] = {"longcat-video", "lingbot-video", "minimax-h3", "minimax-music3",
                                                "hunyuan3d-2", "ace-step"};
    size_t missed = 0;
    for (size_t i = 0; i < headers.count; i++) {
        const corpus_header *h = &headers.headers[i];
        bool scope = text_is(h->type, "main") || text_is(h->type, "vae") || text_is(h->type, "text_encoder") ||
                     text_is(h->type, "vision_encoder");
        for (size_t j = 0; j < sizeof without_a_row / sizeof *without_a_row; j++)
            scope = scope && !text_is(h->bases[0], without_a_row[j]);
        if (!scope)
            continue;
        tn_answer *a = corpus_identify(&headers, h, NULL);
        if (a->state == TN_STATE_UNKNOWN) {
            tell(h, a, UNKNOWN);
            missed++;
        }
        tn_answer_destroy(a);
    }
    assert_int_equal(missed, 0);
}

/* Restorers have no rows yet, so anything but "unknown" is a mistake. */
static void no_restorer_is_taken_for_something_else(void **state)
{
    (void)state;
    size_t counts[VERDICTS];
    count_verdicts(&restorers, "", NULL, counts, false);
    print_counts("restorers", counts);
    assert_int_equal(counts[UNKNOWN], restorers.count);
    assert_int_equal(restorers.count, 424);
}

/* The adapters of the corpus have no labels; what their names say is told here. "": a made-up file whose shapes fit
 * no layer of its base, or too small a part: unknown is as good. */
static void adapters_are_known_by_their_layers(void **state)
{
    (void)state;
    static const struct {
        const char *id, *type, *base, *dialect, *algorithm;
        bool must;
    } truth[] = {
        {"anima_lora_kohya_format", "lora", "anima", "kohya", "lora", false},
        {"anima_lora_kohya_with_te_format", "lora", "anima", "kohya", "lora", false},
        {"anima_lora_lokr_format", "lora", "anima", "comfyui", "lokr", false},
        {"anima_lora_peft_format", "lora", "anima", "comfyui", "lora", false},
        {"flux_control_lora_format", "control_lora", "flux", "peft", "lora", true},
        {"flux_dora_onetrainer_format", "lora", "flux", "kohya", "dora", true},
        {"flux_lokr_bfl_format", "lora", "flux", "comfyui", "lokr", false},
        {"flux_lora_aitoolkit_format", "lora", "flux", "comfyui", "lora", true},
        {"flux_lora_diffusers_base_model_format", "lora", "flux", "peft", "lora", true},
        {"flux_lora_diffusers_format", "lora", "flux", "diffusers", "lora", true},
        {"flux_lora_diffusers_no_proj_mlp_format", "lora", "flux", "diffusers", "lora", true},
        {"flux_lora_kohya_format", "lora", "flux", "kohya", "lora", true},
        {"flux_lora_kohya_with_te1_format", "lora", "flux", "kohya", "lora", true},
        {"flux_lora_xlabs_format", "lora", "flux", "xlabs", "lora", true},
        {"krea2_lora_kohya_format", "lora", "krea-2", "kohya", "lora", false},
        {"qwen_image_lora_diffusers_format", "lora", "qwen-image", "native", "lora", false},
        {"qwen_image_lora_kohya_format", "lora", "qwen-image", "kohya", "lokr", false},
    };
    size_t counts[VERDICTS] = {0};
    assert_int_equal(loras.count, sizeof truth / sizeof *truth);
    for (size_t i = 0; i < loras.count; i++) {
        corpus_header h = loras.headers[i];
        assert_true(text_is(h.id, truth[i].id));
        h.type = (tn_text){truth[i].type, strlen(truth[i].type)};
        h.bases[0] = (tn_text){truth[i].base, strlen(truth[i].base)};
        h.base_count = 1;
        tn_answer *a = corpus_identify(&loras, &h, NULL);
        verdict v = judge(&h, a);
        counts[v]++;
        if (v != RIGHT)
            tell(&h, a, v);
        assert_int_not_equal(v, WRONG);
        assert_true(!truth[i].must || v != UNKNOWN);
        assert_true(tn_text_is(a->type, h.type) || v == UNKNOWN);
        assert_true(text_is(a->adapter.dialect, truth[i].dialect));
        assert_true(text_is(a->adapter.algorithm, truth[i].algorithm));
        tn_answer_destroy(a);
    }
    print_counts("adapters", counts);
}

/* The corpus gives DiffSynth-Studio's hash of names and shapes; 75 of them are published for released files. */
static void key_hashes_are_those_of_the_corpus(void **state)
{
    (void)state;
    corpus *const all[] = {&headers, &restorers};
    size_t checked = 0;
    for (size_t i = 0; i < 2; i++) {
        for (size_t j = 0; j < all[i]->count; j++) {
            char hash[33];
            tn_checkpoint *checkpoint = corpus_checkpoint(all[i], &all[i]->headers[j], NULL);
            assert_int_equal(tn_digest_key_hash(all[i]->context, checkpoint, hash, NULL), TN_OK);
            assert_true(text_is(all[i]->headers[j].md5, hash));
            tn_checkpoint_release(checkpoint);
            checked++;
        }
    }
    assert_int_equal(checked, 163 + 424);
}

/* ---- what must not change an answer, and what must ---- */

/* Changes that leave every header's verdict as it is. */
static void same_verdicts_after(const corpus_change *change)
{
    for (size_t i = 0; i < headers.count; i++) {
        const corpus_header *h = &headers.headers[i];
        tn_answer *before = corpus_identify(&headers, h, NULL), *after = corpus_identify(&headers, h, change);
        bool same = before->state == after->state && tn_text_is(before->type, after->type) &&
                    tn_text_is(before->base, after->base) && tn_text_is(before->variant, after->variant) &&
                    before->candidate_count == after->candidate_count;
        if (!same)
            tell(h, after, WRONG);
        assert_true(same);
        tn_answer_destroy(before);
        tn_answer_destroy(after);
    }
}

static void the_order_of_tensors_changes_nothing(void **state)
{
    (void)state;
    same_verdicts_after(&(corpus_change){.reversed = true});
}

static void the_element_type_changes_nothing(void **state)
{
    (void)state;
    same_verdicts_after(&(corpus_change){.dtype = TN_F8_E4M3});
    same_verdicts_after(&(corpus_change){.dtype = TN_F32});
}

static void position_ids_change_nothing(void **state)
{
    (void)state;
    same_verdicts_after(&(corpus_change){.minus = {"*position_ids"}});
}

static void junk_of_training_changes_nothing(void **state)
{
    (void)state;
    static const uint64_t thousand[] = {1000};
    static const corpus_tensor junk[] = {
        {{"model_ema.junkdecay", 19}, 0, NULL}, {{"junk.total_ops", 14}, 1, thousand}, {{"logvar_", 7}, 1, thousand}};
    corpus_change change = {.plus_count = 3};
    memcpy(change.plus, junk, sizeof junk);
    for (size_t i = 0; i < headers.count; i++) {
        tn_answer *before = corpus_identify(&headers, &headers.headers[i], NULL);
        tn_answer *after = corpus_identify(&headers, &headers.headers[i], &change);
        /* what counts its tensors exactly (Redux) may become unknown, nothing may become another thing */
        assert_true(after->state == TN_STATE_UNKNOWN || tn_text_is(before->base, after->base));
        assert_true(!text_is(headers.headers[i].type, "main") || before->state == after->state);
        tn_answer_destroy(before);
        tn_answer_destroy(after);
    }
}

static void a_main_model_is_known_behind_every_usual_prefix(void **state)
{
    (void)state;
    static const char *const prefixes[] = {"model.diffusion_model.", "diffusion_model.", "transformer/"};
    for (size_t i = 0; i < headers.count; i++) {
        const corpus_header *h = &headers.headers[i];
        bool bare = text_is(h->type, "main") && !tn_text_begins(h->tensors[0].name, "model.") &&
                    !tn_text_begins(h->tensors[0].name, "net.") && !tn_text_begins(h->id, "te/");
        for (size_t j = 0; j < 3 && bare; j++) {
            corpus_change change = {.prefix = prefixes[j]};
            tn_answer *before = corpus_identify(&headers, h, NULL), *after = corpus_identify(&headers, h, &change);
            if (before->state != after->state)
                tell(h, after, WRONG);
            assert_int_equal(before->state, after->state);
            assert_true(tn_text_is(before->base, after->base));
            tn_answer_destroy(before);
            tn_answer_destroy(after);
        }
    }
}

/* A block is what stands under one number: with block 1 of any list of at least three gone, no main model may be
 * called what it was. */
static void a_model_with_a_block_missing_is_not_that_model(void **state)
{
    (void)state;
    static const char *const blocks[] = {"*double_blocks.1.*",      "*single_blocks.1.*", "*joint_blocks.1.*",
                                         "*transformer_blocks.1.*", "*layers.1.*",        "*input_blocks.1.*",
                                         "*down_blocks.1.*",        "*blocks.1.*",        "*single_stream_blocks.1.*"};
    size_t asked = 0, still_sure = 0;
    for (size_t i = 0; i < headers.count; i++) {
        const corpus_header *h = &headers.headers[i];
        if (!text_is(h->type, "main"))
            continue;
        tn_answer *whole = corpus_identify(&headers, h, NULL);
        for (size_t j = 0; j < sizeof blocks / sizeof *blocks && whole->state == TN_STATE_IDENTIFIED; j++) {
            corpus_change change = {.minus = {blocks[j]}};
            tn_checkpoint *cut = corpus_checkpoint(&headers, h, &change);
            const tn_tensor *tensors;
            bool changed = tn_checkpoint_tensors(cut, &tensors) < h->tensor_count;
            tn_checkpoint_release(cut);
            if (!changed)
                continue;
            tn_answer *after = corpus_identify(&headers, h, &change);
            asked++;
            if (after->state == TN_STATE_IDENTIFIED) {
                (void)fprintf(stderr, "  still sure without %s: %s\n", blocks[j], h->id.bytes);
                still_sure++;
            }
            tn_answer_destroy(after);
        }
        tn_answer_destroy(whole);
    }
    (void)fprintf(stderr, "  %zu headers with a block missing, %zu still sure\n", asked, still_sure);
    assert_int_equal(still_sure, 0);
}

static int open_all(void **state)
{
    (void)state;
    corpus_open(&headers);
    corpus_open(&restorers);
    corpus_open(&loras);
    corpus_read(&headers, "headers.ndjson.gz");
    corpus_read(&restorers, "restorers.ndjson.gz");
    corpus_read(&loras, "loras.ndjson.gz");
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    corpus_close(&headers);
    corpus_close(&restorers);
    corpus_close(&loras);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_header_is_answered_and_none_wrongly),
        cmocka_unit_test(main_models_autoencoders_and_encoders_are_known),
        cmocka_unit_test(no_restorer_is_taken_for_something_else),
        cmocka_unit_test(adapters_are_known_by_their_layers),
        cmocka_unit_test(key_hashes_are_those_of_the_corpus),
        cmocka_unit_test(the_order_of_tensors_changes_nothing),
        cmocka_unit_test(the_element_type_changes_nothing),
        cmocka_unit_test(position_ids_change_nothing),
        cmocka_unit_test(junk_of_training_changes_nothing),
        cmocka_unit_test(a_main_model_is_known_behind_every_usual_prefix),
        cmocka_unit_test(a_model_with_a_block_missing_is_not_that_model),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
