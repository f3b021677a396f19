/* How weights are stored and packed together changes what is said of the storage, not of the model; and a part that is
 * known does not name a whole that is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "format/catalog.h"
#include "identify/pattern.h"
#include "support/identify_corpus.h"


static const corpus_header *header(const char *id)
{
    const corpus_header *h = corpus_find(&known, id, strlen(id));
    assert_non_null(h);
    return h;
}

static tn_catalog *begin(tn_container container)
{
    tn_catalog *catalog;
    assert_int_equal(tn_catalog_begin(known.context, container, "test", &catalog, NULL), TN_OK);
    assert_int_equal(tn_catalog_add_part(catalog, "test", 0, 0, "", NULL), TN_OK);
    return catalog;
}

static void add(tn_catalog *catalog, const char *name, tn_dtype dtype, uint32_t rank, const uint64_t *shape)
{
    assert_int_equal(tn_catalog_add_shape(catalog, name, dtype, rank, shape, NULL), TN_OK);
}

static void add_all(tn_catalog *catalog, const char *id, const char *prefix)
{
    const corpus_header *h = header(id);
    for (size_t i = 0; i < h->tensor_count; i++) {
        char name[1024];
        (void)snprintf(name, sizeof name, "%s%s", prefix, h->tensors[i].name.bytes);
        add(catalog, name, TN_BF16, h->tensors[i].rank, h->tensors[i].shape);
    }
}

static tn_answer *finish(tn_catalog *catalog)
{
    tn_checkpoint *checkpoint;
    tn_answer *answer;
    assert_int_equal(tn_catalog_finish(catalog, &checkpoint, NULL), TN_OK);
    assert_int_equal(tn_identify_checkpoint(known.context, checkpoint, NULL, NULL, &answer, NULL), TN_OK);
    tn_checkpoint_release(checkpoint);
    return answer;
}

static void assert_answer(tn_answer *a, const char *type, const char *base, const char *quantization)
{
    assert_int_equal(a->state, TN_STATE_IDENTIFIED);
    assert_true(text_is(a->type, type));
    assert_true(text_is(a->base, base));
    assert_true(text_is(a->quantization, quantization));
    tn_answer_destroy(a);
}

/* ---- storage ---- */

static void plain_weights_have_no_word(void **state)
{
    (void)state;
    assert_answer(corpus_identify(&known, header("native/flux1_dev"), NULL), "main", "flux", "");
}

static void weights_of_8_bits_are_named(void **state)
{
    (void)state;
    const corpus_change e4m3 = {.dtype = TN_F8_E4M3}, e5m2 = {.dtype = TN_F8_E5M2};
    assert_answer(corpus_identify(&known, header("native/flux1_dev"), &e4m3), "main", "flux", "fp8_e4m3");
    assert_answer(corpus_identify(&known, header("te/sdxl_base_ckpt"), &e5m2), "main", "sdxl", "fp8_e5m2");
}

static void the_marker_of_scaled_weights_is_seen(void **state)
{
    (void)state;
    static const uint64_t two[] = {2};
    const corpus_change change = {.dtype = TN_F8_E4M3, .plus = {{{"scaled_fp8", 10}, 1, two}}, .plus_count = 1};
    assert_answer(corpus_identify(&known, header("native/flux1_dev"), &change), "main", "flux", "fp8_scaled");
}

/* bitsandbytes: each linear weight is one column of bytes, two numbers in each, with its side tensors. */
static void weights_of_4_bits_keep_the_models_name(void **state)
{
    (void)state;
    const corpus_header *h = header("native/flux1_dev");
    tn_catalog *catalog = begin(TN_CONTAINER_SAFETENSORS);
    for (size_t i = 0; i < h->tensor_count; i++) {
        const corpus_tensor *t = &h->tensors[i];
        char name[1024];
        if (t->rank != 2) {
            add(catalog, t->name.bytes, TN_BF16, t->rank, t->shape);
            continue;
        }
        const uint64_t packed[] = {t->shape[0] * t->shape[1] / 2, 1}, scales[] = {t->shape[0] * t->shape[1] / 64};
        const uint64_t map[] = {16}, quant_state[] = {100};
        add(catalog, t->name.bytes, TN_U8, 2, packed);
        (void)snprintf(name, sizeof name, "%s.absmax", t->name.bytes);
        add(catalog, name, TN_F32, 1, scales);
        (void)snprintf(name, sizeof name, "%s.quant_map", t->name.bytes);
        add(catalog, name, TN_F32, 1, map);
        (void)snprintf(name, sizeof name, "%s.quant_state.bitsandbytes__nf4", t->name.bytes);
        add(catalog, name, TN_U8, 1, quant_state);
    }
    tn_answer *a = finish(catalog);
    assert_true(text_is(a->variant, "dev"));
    assert_answer(a, "main", "flux", "nf4");
}

/* ---- wholes and parts ---- */

static void a_whole_checkpoint_is_its_main_model(void **state)
{
    (void)state;
    tn_catalog *catalog = begin(TN_CONTAINER_SAFETENSORS);
    add_all(catalog, "native/flux1_dev", "model.diffusion_model.");
    add_all(catalog, "native/vae_flux_sd3_ae", "vae.");
    add_all(catalog, "te/t5xxl_encoder", "text_encoders.t5xxl.transformer.");
    add_all(catalog, "te/clip_l_hf", "text_encoders.clip_l.transformer.");
    assert_answer(finish(catalog), "main", "flux", "");
}

static void known_parts_do_not_name_an_unknown_whole(void **state)
{
    (void)state;
    tn_catalog *catalog = begin(TN_CONTAINER_SAFETENSORS);
    add_all(catalog, "native/ace_step", "model.diffusion_model.");
    add_all(catalog, "native/vae_flux_sd3_ae", "vae.");
    add_all(catalog, "te/t5xxl_encoder", "text_encoders.t5xxl.transformer.");
    tn_answer *a = finish(catalog);
    assert_int_equal(a->state, TN_STATE_UNKNOWN);
    assert_int_equal(a->type.size, 0);
    tn_answer_destroy(a);
}

static void a_part_in_a_file_of_its_own_is_known_behind_its_prefix(void **state)
{
    (void)state;
    tn_catalog *catalog = begin(TN_CONTAINER_SAFETENSORS);
    add_all(catalog, "te/t5xxl_encoder", "text_encoders.t5xxl.transformer.");
    assert_answer(finish(catalog), "text_encoder", "t5-xxl", "");
}

static void a_folder_is_its_main_model_and_its_schedulers_prediction(void **state)
{
    (void)state;
    static const char unet[] = "dsyn/stable_diffusion_unet/AI-ModelScope_stable-diffusion-v1-5";
    tn_catalog *catalog = begin(TN_CONTAINER_DIFFUSERS);
    add_all(catalog, unet, "unet/");
    add_all(catalog, "te/clip_l_hf", "text_encoder/");
    const tn_pair class = {{"model_index.json#_class_name", 28}, {"StableDiffusionPipeline", 23}};
    const tn_pair prediction = {{"scheduler/scheduler_config.json#prediction_type", 47}, {"v_prediction", 12}};
    assert_int_equal(tn_catalog_add_metadata(catalog, class.key, class.value, NULL), TN_OK);
    assert_int_equal(tn_catalog_add_metadata(catalog, prediction.key, prediction.value, NULL), TN_OK);
    tn_answer *a = finish(catalog);
    assert_true(text_is(a->variant, "normal"));
    assert_true(text_is(a->prediction_type, "v_prediction"));
    assert_answer(a, "main", "sd-1", "");
}

static void a_folder_of_an_unknown_pipeline_is_not_its_text_encoder(void **state)
{
    (void)state;
    tn_catalog *catalog = begin(TN_CONTAINER_DIFFUSERS);
    add_all(catalog, "native/ace_step", "transformer/");
    add_all(catalog, "te/t5xxl_encoder", "text_encoder/");
    const tn_pair class = {{"model_index.json#_class_name", 28}, {"NewPipeline", 11}};
    assert_int_equal(tn_catalog_add_metadata(catalog, class.key, class.value, NULL), TN_OK);
    tn_answer *a = finish(catalog);
    assert_int_equal(a->state, TN_STATE_UNKNOWN);
    tn_answer_destroy(a);
}

/* ---- sentinels ---- */

static void sentinels_tell_what_an_sdxl_model_predicts(void **state)
{
    (void)state;
    static const struct {
        const char *tensor, *word;
    } cases[] = {{"v_pred", "v_prediction"}, {"edm_vpred.sigma_max", "v_prediction"}, {"edm_mean", "edm"},
                 {"ztsnr", ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static const uint64_t none[1];
        corpus_change change = {.plus = {{{cases[i].tensor, strlen(cases[i].tensor)}, 0, none}}, .plus_count = 1};
        tn_answer *a = corpus_identify(&known, header("te/sdxl_base_ckpt"), &change);
        assert_true(text_is(a->base, "sdxl"));
        assert_true(text_is(a->prediction_type, cases[i].word));
        tn_answer_destroy(a);
    }
}

/* ---- why ---- */

static void evidence_names_tensors_and_tells_against_when_asked(void **state)
{
    (void)state;
    static const tn_identify_options options = {.size = sizeof options, .why = true};
    tn_checkpoint *checkpoint = corpus_checkpoint(&known, header("native/flux1_dev"), NULL);
    tn_answer *a;
    bool named = false, against = false, measured = false;
    assert_int_equal(tn_identify_checkpoint(known.context, checkpoint, NULL, &options, &a, NULL), TN_OK);
    for (size_t i = 0; i < a->evidence_count; i++) {
        named = named || (text_is(a->evidence[i].rule, "main/flux/dev") && a->evidence[i].weight > 0 &&
                          strstr(a->evidence[i].says.bytes, "guidance_in.in_layer.weight [3072, 256]") != NULL);
        against = against || (text_is(a->evidence[i].rule, "main/flux/schnell") && a->evidence[i].weight < 0 &&
                              strstr(a->evidence[i].says.bytes, "guidance_in.in_layer.weight") != NULL);
        /* Fill reads 64 latent, 64 masked and 256 mask channels: architectures.md, FLUX.1 */
        measured = measured || (text_is(a->evidence[i].rule, "main/flux/fill") && a->evidence[i].weight < 0 &&
                                strstr(a->evidence[i].says.bytes, "img_in.weight is [3072, 64], it would be [3072, 384]"));
    }
    assert_true(named);
    assert_true(against);
    assert_true(measured);
    tn_answer_destroy(a);
    tn_checkpoint_release(checkpoint);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_weights_have_no_word),
        cmocka_unit_test(weights_of_8_bits_are_named),
        cmocka_unit_test(the_marker_of_scaled_weights_is_seen),
        cmocka_unit_test(weights_of_4_bits_keep_the_models_name),
        cmocka_unit_test(a_whole_checkpoint_is_its_main_model),
        cmocka_unit_test(known_parts_do_not_name_an_unknown_whole),
        cmocka_unit_test(a_part_in_a_file_of_its_own_is_known_behind_its_prefix),
        cmocka_unit_test(a_folder_is_its_main_model_and_its_schedulers_prediction),
        cmocka_unit_test(a_folder_of_an_unknown_pipeline_is_not_its_text_encoder),
        cmocka_unit_test(sentinels_tell_what_an_sdxl_model_predicts),
        cmocka_unit_test(evidence_names_tensors_and_tells_against_when_asked),
    };
    return cmocka_run_group_tests(tests, corpus_open_known, corpus_close_known);
}
