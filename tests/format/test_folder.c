/* Folders that are models: pipelines of components, and single models beside their config. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/folder.h"
#include "format/limits.h"
#include "support/format.h"

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

static tn_checkpoint *open_folder(tn_context *context, const char *name)
{
    tn_checkpoint *out = NULL;
    tn_error err = {.message = ""};
    tn_status status = tn_checkpoint_open(context, format_path(name), NULL, &out, &err);
    if (status != TN_OK)
        print_error("%s: %s\n", tn_status_word(status), err.message);
    assert_int_equal(status, TN_OK);
    return out;
}

static const char *value(const tn_checkpoint *checkpoint, const char *key)
{
    tn_text text = tn_checkpoint_metadata_value(checkpoint, key);
    return text.bytes != NULL ? text.bytes : "(none)";
}

static bool has_tensor(const tn_checkpoint *checkpoint, const char *name)
{
    return tn_checkpoint_find(checkpoint, name, strlen(name)) != NULL;
}

static const char pipeline[] =
    "{\"_class_name\":\"StableDiffusionPipeline\",\"_diffusers_version\":\"0.21\",\"requires_safety_checker\":true,"
    "\"safety_checker\":[null,null],\"scheduler\":[\"diffusers\",\"PNDMScheduler\"],"
    "\"tokenizer\":[\"transformers\",\"CLIPTokenizer\"],\"unet\":[\"diffusers\",\"UNet2DConditionModel\"],"
    "\"vae\":[\"diffusers\",\"AutoencoderKL\"]}";

static void write_pipeline(void)
{
    format_make_folder("p/unet");
    format_make_folder("p/vae");
    format_make_folder("p/scheduler");
    format_make_folder("p/tokenizer");
    format_write_text("p/model_index.json", pipeline);
    format_write_text("p/unet/config.json", "{\"cross_attention_dim\":768,\"down\":[\"A\",\"B\"],\"f\":1.50,"
                                            "\"deep\":{\"x\":[{\"y\":null}],\"z\":false}}");
    format_write_text("p/vae/config.json", "{\"scaling_factor\":0.18215}");
    format_write_text("p/scheduler/scheduler_config.json", "{\"prediction_type\":\"epsilon\"}");
    format_write_tensors("p/unet/diffusion_pytorch_model.safetensors", NAMES("conv_in.weight", "conv_in.bias"));
    format_write_tensors("p/vae/diffusion_pytorch_model.safetensors", NAMES("quant_conv.weight"));
}

static void a_pipeline_is_one_model_with_its_components_before_the_names(void **state)
{
    write_pipeline();
    const tn_part *parts = NULL;
    tn_checkpoint *k = open_folder(*state, "p");
    assert_int_equal(tn_checkpoint_container(k), TN_CONTAINER_DIFFUSERS);
    assert_int_equal(tn_checkpoint_parts(k, &parts), 2);
    assert_string_equal(parts[0].component.bytes, "unet");
    assert_string_equal(parts[1].component.bytes, "vae");
    assert_true(has_tensor(k, "unet/conv_in.weight"));
    assert_true(has_tensor(k, "vae/quant_conv.weight"));
    assert_null(format_finding(k, TN_ERROR));
    assert_null(format_finding(k, TN_WARNING));
    tn_checkpoint_release(k);
}

static void every_scalar_of_its_json_files_is_metadata(void **state)
{
    write_pipeline();
    tn_checkpoint *k = open_folder(*state, "p");
    assert_string_equal(value(k, "model_index.json#_class_name"), "StableDiffusionPipeline");
    assert_string_equal(value(k, "model_index.json#requires_safety_checker"), "true");
    assert_string_equal(value(k, "model_index.json#unet.1"), "UNet2DConditionModel");
    assert_string_equal(value(k, "model_index.json#safety_checker.0"), "null");
    assert_string_equal(value(k, "unet/config.json#cross_attention_dim"), "768");
    assert_string_equal(value(k, "unet/config.json#down.1"), "B");
    assert_string_equal(value(k, "unet/config.json#f"), "1.50");
    assert_string_equal(value(k, "unet/config.json#deep.x.0.y"), "null");
    assert_string_equal(value(k, "unet/config.json#deep.z"), "false");
    assert_string_equal(value(k, "vae/config.json#scaling_factor"), "0.18215");
    assert_string_equal(value(k, "scheduler/scheduler_config.json#prediction_type"), "epsilon");
    tn_checkpoint_release(k);
}

static void a_component_that_is_not_there_is_named_and_the_others_are_read(void **state)
{
    write_pipeline();
    assert_int_equal(tn_os_remove(format_path("p/vae/config.json"), NULL), TN_OK);
    assert_int_equal(tn_os_remove(format_path("p/vae/diffusion_pytorch_model.safetensors"), NULL), TN_OK);
    tn_checkpoint *k = open_folder(*state, "p");
    const tn_finding *found = format_finding(k, TN_ERROR);
    assert_int_equal(found->status, TN_MISSING_PART); /* a folder without weights */
    assert_string_equal(found->file.bytes, format_path("p/vae"));
    tn_checkpoint_release(k);
    assert_int_equal(tn_os_remove_folder(format_path("p/vae"), NULL), TN_OK);
    assert_int_equal(tn_os_remove_folder(format_path("p/tokenizer"), NULL), TN_OK);
    k = open_folder(*state, "p");
    assert_int_equal(format_finding(k, TN_ERROR)->status, TN_MISSING_PART);
    assert_string_equal(format_finding(k, TN_ERROR)->file.bytes, format_path("p/vae"));
    assert_string_equal(format_finding(k, TN_WARNING)->file.bytes, format_path("p/tokenizer"));
    assert_true(has_tensor(k, "unet/conv_in.weight"));
    tn_checkpoint_release(k);
}

static void a_damaged_component_is_a_finding_with_its_file(void **state)
{
    write_pipeline();
    format_write_text("p/unet/config.json", "{\"cross_attention_dim\":}");
    format_write_text("p/vae/diffusion_pytorch_model.safetensors", "not one at all, but long enough");
    tn_checkpoint *k = open_folder(*state, "p");
    const tn_finding *json = format_finding_of(k, TN_BAD_JSON);
    assert_non_null(json);
    assert_string_equal(json->file.bytes, format_path("p/unet/config.json"));
    assert_true(has_tensor(k, "unet/conv_in.weight"));
    const tn_finding *weights = format_finding_of(k, TN_LIMIT);
    assert_non_null(weights);
    assert_string_equal(weights->file.bytes, format_path("p/vae/diffusion_pytorch_model.safetensors"));
    tn_checkpoint_release(k);
}

static void full_precision_is_read_and_other_variants_are_noted(void **state)
{
    write_pipeline();
    format_write_tensors("p/unet/diffusion_pytorch_model.fp16.safetensors", NAMES("half"));
    format_write_tensors("p/unet/diffusion_pytorch_model.non_ema.safetensors", NAMES("other"));
    format_write_text("p/unet/diffusion_pytorch_model.bin", "x");
    tn_checkpoint *k = open_folder(*state, "p");
    assert_true(has_tensor(k, "unet/conv_in.weight"));
    assert_false(has_tensor(k, "unet/half"));
    const tn_finding *found = format_finding_of(k, TN_EXTRA_PART);
    assert_int_equal(found->severity, TN_NOTE);
    assert_string_equal(found->file.bytes, format_path("p/unet/diffusion_pytorch_model.fp16.safetensors"));
    assert_int_equal(format_finding_of(k, TN_UNSUPPORTED)->severity, TN_NOTE);
    assert_null(format_finding(k, TN_WARNING));
    tn_checkpoint_release(k);
    assert_int_equal(tn_os_remove(format_path("p/unet/diffusion_pytorch_model.safetensors"), NULL), TN_OK);
    k = open_folder(*state, "p");
    assert_true(has_tensor(k, "unet/half"));
    tn_checkpoint_release(k);
}

static void a_component_in_shards_is_read_by_its_index_or_without_one(void **state)
{
    write_pipeline();
    assert_int_equal(tn_os_remove(format_path("p/unet/diffusion_pytorch_model.safetensors"), NULL), TN_OK);
    format_write_tensors("p/unet/diffusion_pytorch_model-00001-of-00002.safetensors", NAMES("a"));
    format_write_tensors("p/unet/diffusion_pytorch_model-00002-of-00002.safetensors", NAMES("b"));
    tn_checkpoint *k = open_folder(*state, "p");
    assert_true(has_tensor(k, "unet/a") && has_tensor(k, "unet/b"));
    assert_int_equal(format_finding(k, TN_WARNING)->status, TN_MISSING_PART); /* the index */
    assert_null(format_finding(k, TN_ERROR));
    tn_checkpoint_release(k);
    format_write_text("p/unet/diffusion_pytorch_model.safetensors.index.json",
                      "{\"weight_map\":{\"a\":\"diffusion_pytorch_model-00001-of-00002.safetensors\","
                      "\"b\":\"diffusion_pytorch_model-00002-of-00002.safetensors\"}}");
    k = open_folder(*state, "p");
    assert_true(has_tensor(k, "unet/a") && has_tensor(k, "unet/b"));
    assert_null(format_finding(k, TN_WARNING));
    tn_checkpoint_release(k);
}

static void weights_without_a_reader_are_a_finding_and_no_failure(void **state)
{
    const tn_tensor *tensors = NULL;
    format_make_folder("t");
    format_write_text("t/config.json", "{\"model_type\":\"clip\"}");
    format_write_text("t/pytorch_model.bin", "x");
    tn_checkpoint *k = open_folder(*state, "t");
    assert_int_equal(tn_checkpoint_container(k), TN_CONTAINER_TRANSFORMERS);
    assert_int_equal(tn_checkpoint_tensors(k, &tensors), 0);
    const tn_finding *found = format_finding(k, TN_WARNING);
    assert_int_equal(found->status, TN_UNSUPPORTED);
    assert_string_equal(found->file.bytes, format_path("t/pytorch_model.bin"));
    assert_string_equal(value(k, "config.json#model_type"), "clip");
    tn_checkpoint_release(k);
}

static void a_transformers_folder_keeps_the_names_of_its_tensors(void **state)
{
    const tn_part *parts = NULL;
    format_make_folder("t");
    format_write_text("t/config.json", "{\"architectures\":[\"T5EncoderModel\"]}");
    format_write_tensors("t/model.safetensors", NAMES("shared.weight"));
    tn_checkpoint *k = open_folder(*state, "t");
    assert_true(has_tensor(k, "shared.weight"));
    assert_string_equal(value(k, "config.json#architectures.0"), "T5EncoderModel");
    assert_int_equal(tn_checkpoint_parts(k, &parts), 1);
    assert_int_equal(parts[0].component.size, 0);
    tn_checkpoint_release(k);
}

static void a_folder_that_is_no_model_is_refused(void **state)
{
    tn_checkpoint *k = NULL;
    tn_error err;
    format_make_folder("n");
    format_write_text("n/config.json", "{}");
    format_write_tensors("n/style.safetensors", NAMES("a"));
    assert_int_equal(tn_checkpoint_open(*state, format_path("n"), NULL, &k, &err), TN_UNSUPPORTED);
    assert_string_equal(err.file, format_path("n"));
}

static void a_broken_model_index_is_refused_with_its_file(void **state)
{
    tn_checkpoint *k = NULL;
    tn_error err;
    format_make_folder("p");
    format_write_text("p/model_index.json", "{\"unet\":[\"diffusers\",");
    assert_int_equal(tn_checkpoint_open(*state, format_path("p"), NULL, &k, &err), TN_BAD_JSON);
    assert_string_equal(err.file, format_path("p/model_index.json"));
}

/* ---- texts of model_index.json ---- */

static void components_are_plain_names_with_a_library_and_a_class(void **state)
{
    static const struct {
        const char *text;
        tn_status status;
        uint32_t count;
    } texts[] = {
        {pipeline, TN_OK, 4},
        {"{\"_x\":[\"a\",\"b\"],\"u\":[\"a\",\"b\",\"c\"],\"v\":[\"a\"],\"w\":[\"a\",1],\"x\":{\"y\":[]}}", TN_OK, 0},
        {"{\"../u\":[\"a\",\"b\"]}", TN_UNSAFE_PATH, 0},
        {"{\"a/b\":[\"a\",\"b\"]}", TN_UNSAFE_PATH, 0},
        {"{\"c:\":[\"a\",\"b\"]}", TN_UNSAFE_PATH, 0},
        {"{\"\":[\"a\",\"b\"]}", TN_UNSAFE_PATH, 0},
        {"{\"u\":[\"a\",\"b\"],\"\\u0075\":[\"a\",\"b\"]}", TN_DUPLICATE, 0},
        {"{\"u\":[\"a\",[[[1]]]]}", TN_OK, 0},
        {"{\"u\":[\"a\",\"b\"}", TN_BAD_JSON, 0},
    };
    tn_context *context = *state;
    tn_component components[TN_COMPONENTS_MAX];
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        tn_arena arena;
        uint32_t count = 0;
        tn_arena_init(&arena, &context->memory, 1 << 20);
        tn_status status =
            tn_model_index_parse(texts[i].text, strlen(texts[i].text), &arena, components, &count, NULL);
        if (status != texts[i].status)
            print_error("%s: %s\n", texts[i].text, tn_status_word(status));
        assert_int_equal(status, texts[i].status);
        assert_int_equal(count, texts[i].count);
        tn_arena_free(&arena);
    }
}

static void a_pipeline_has_256_components_at_most(void **state)
{
    tn_context *context = *state;
    tn_component components[TN_COMPONENTS_MAX];
    char text[TN_COMPONENTS_MAX * 24];
    assert_int_equal(TN_COMPONENTS_MAX, 256);
    for (unsigned extra = 0; extra < 2; extra++) {
        tn_arena arena;
        uint32_t count = 0;
        size_t at = 0;
        for (unsigned i = 0; i < TN_COMPONENTS_MAX + extra; i++)
            at += (size_t)snprintf(text + at, sizeof text - at, "%c\"c%u\":[\"a\",\"b\"]", i == 0 ? '{' : ',', i);
        at += (size_t)snprintf(text + at, sizeof text - at, "}");
        tn_arena_init(&arena, &context->memory, 1 << 20);
        tn_status status = tn_model_index_parse(text, at, &arena, components, &count, NULL);
        assert_int_equal(status, extra == 0 ? TN_OK : TN_LIMIT);
        tn_arena_free(&arena);
    }
}

/* ---- flattening ---- */

static tn_checkpoint *flatten(tn_context *context, const char *text, size_t size, tn_status *status)
{
    tn_catalog *c = NULL;
    tn_checkpoint *out = NULL;
    assert_int_equal(tn_catalog_begin(context, TN_CONTAINER_DIFFUSERS, "f", &c, NULL), TN_OK);
    *status = tn_config_flatten(c, "h#", "f/config.json", text, size, NULL);
    assert_int_equal(tn_catalog_finish(c, &out, NULL), TN_OK);
    return out;
}

static void a_key_that_stands_twice_is_a_warning_and_the_first_counts(void **state)
{
    tn_status status;
    static const char text[] = "{\"a\":1,\"a\":2}";
    tn_checkpoint *k = flatten(*state, text, sizeof text - 1, &status);
    assert_int_equal(status, TN_OK);
    assert_string_equal(value(k, "h#a"), "1");
    assert_int_equal(format_finding(k, TN_WARNING)->status, TN_DUPLICATE);
    tn_checkpoint_release(k);
}

/* The head has 2 bytes. */
static void keys_are_4096_bytes_long_at_most_and_longer_ones_are_left_out(void **state)
{
    char text[TN_CONFIG_KEY_MAX + 16];
    assert_int_equal(TN_CONFIG_KEY_MAX, 4096);
    for (unsigned extra = 0; extra < 2; extra++) {
        tn_status status;
        const tn_pair *pairs = NULL;
        size_t key = TN_CONFIG_KEY_MAX - 2 + extra;
        memset(text, 'k', sizeof text);
        memcpy(text, "{\"", 2);
        memcpy(text + 2 + key, "\":1}", 4);
        tn_checkpoint *k = flatten(*state, text, key + 6, &status);
        assert_int_equal(status, TN_OK);
        assert_int_equal(tn_checkpoint_metadata(k, &pairs), 1 - extra);
        assert_int_equal(format_finding_of(k, TN_LIMIT) != NULL, extra == 1);
        tn_checkpoint_release(k);
    }
}

static void a_json_file_gives_65536_pairs_at_most(void **state)
{
    char *text = malloc(TN_CONFIG_PAIRS_MAX * 2 + 16);
    assert_non_null(text);
    assert_int_equal(TN_CONFIG_PAIRS_MAX, 65536);
    for (unsigned extra = 0; extra < 2; extra++) {
        tn_status status;
        const tn_pair *pairs = NULL;
        size_t at = (size_t)sprintf(text, "{\"a\":[1");
        for (unsigned i = 1; i < TN_CONFIG_PAIRS_MAX + extra; i++)
            at += (size_t)sprintf(text + at, ",1");
        at += (size_t)sprintf(text + at, "]}");
        tn_checkpoint *k = flatten(*state, text, at, &status);
        assert_int_equal(status, TN_OK);
        assert_int_equal(tn_checkpoint_metadata(k, &pairs), TN_CONFIG_PAIRS_MAX);
        assert_int_equal(format_finding_of(k, TN_LIMIT) != NULL, extra == 1);
        tn_checkpoint_release(k);
    }
    free(text);
}

static void a_config_is_4_MiB_at_most(void **state)
{
    char *text = malloc(TN_CONFIG_BYTES_MAX + 1);
    assert_non_null(text);
    assert_int_equal(TN_CONFIG_BYTES_MAX, 4 << 20);
    memset(text, ' ', TN_CONFIG_BYTES_MAX + 1);
    memcpy(text, "{\"a\":1}", 7);
    format_make_folder("t");
    format_write_tensors("t/model.safetensors", NAMES("w"));
    for (unsigned extra = 0; extra < 2; extra++) {
        format_write("t/config.json", text, TN_CONFIG_BYTES_MAX + extra);
        tn_checkpoint *k = open_folder(*state, "t");
        assert_string_equal(value(k, "config.json#a"), extra == 0 ? "1" : "(none)");
        assert_int_equal(format_finding_of(k, TN_LIMIT) != NULL, extra == 1);
        tn_checkpoint_release(k);
    }
    free(text);
}

static void a_folder_of_more_than_65536_names_is_refused(void **state)
{
    tn_context *context = *state;
    tn_listing listing;
    assert_int_equal(TN_FOLDER_NAMES_MAX, 65536);
    tn_listing_init(&listing, &context->memory);
    for (uint32_t i = 0; i <= TN_FOLDER_NAMES_MAX; i++) {
        char name[16];
        snprintf(name, sizeof name, "%u", i);
        if (tn_listing_add(&listing, name, i, NULL) != (i < TN_FOLDER_NAMES_MAX ? TN_OK : TN_LIMIT))
            fail();
    }
    tn_listing_sort(&listing);
    assert_string_equal(listing.names[1].name, "1");
    assert_string_equal(listing.names[2].name, "10");
    assert_int_equal(tn_listing_find(&listing, "54321")->value, 54321);
    assert_null(tn_listing_find(&listing, "x"));
    tn_listing_free(&listing);
}

/* ---- what belongs to a folder ---- */

static tn_folder_signs signs_of(const char *const *names)
{
    tn_folder_signs signs = {0};
    for (; *names != NULL; names++)
        tn_folder_see(&signs, *names);
    return signs;
}

static void names_alone_tell_whether_a_folder_is_a_model(void **state)
{
    (void)state;
    tn_folder_signs signs = signs_of(NAMES("model_index.json", "readme.md"));
    assert_int_equal(tn_folder_verdict(&signs), TN_CONTAINER_DIFFUSERS);
    signs = signs_of(NAMES("config.json", "diffusion_pytorch_model.fp16.safetensors"));
    assert_int_equal(tn_folder_verdict(&signs), TN_CONTAINER_DIFFUSERS);
    signs = signs_of(NAMES("config.json", "model-00001-of-00002.safetensors"));
    assert_int_equal(tn_folder_verdict(&signs), TN_CONTAINER_TRANSFORMERS);
    signs = signs_of(NAMES("config.json", "pytorch_model.bin"));
    assert_int_equal(tn_folder_verdict(&signs), TN_CONTAINER_TRANSFORMERS);
    signs = signs_of(NAMES("config.json", "flux1-dev.safetensors", "modelA.safetensors"));
    assert_int_equal(tn_folder_verdict(&signs), TN_CONTAINER_UNKNOWN);
    signs = signs_of(NAMES("model.safetensors"));
    assert_int_equal(tn_folder_verdict(&signs), TN_CONTAINER_UNKNOWN);
}

static void loose_checkpoints_beside_a_config_are_not_swallowed(void **state)
{
    (void)state;
    tn_folder_signs single = signs_of(NAMES("config.json", "model.safetensors"));
    static const char *const own[] = {"config.json",          "model.safetensors",
                                      "model.fp16.safetensors", "model-00001-of-00002.safetensors",
                                      "model.safetensors.index.json", "pytorch_model.bin", "vocab.txt"};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        assert_true(tn_folder_owns_file(&single, own[i]));
    static const char *const loose[] = {"sd15.safetensors", "modelA.safetensors", "style.pt", "models.ckpt",
                                        "unfinished.safetensors.part"};
    for (size_t i = 0; i < sizeof loose / sizeof loose[0]; i++)
        assert_false(tn_folder_owns_file(&single, loose[i]));
    tn_folder_signs root = signs_of(NAMES("model_index.json"));
    assert_true(tn_folder_owns_file(&root, "model_index.json"));
    assert_false(tn_folder_owns_file(&root, "v1-5-pruned-emaonly.safetensors"));
    tn_folder_signs none = signs_of(NAMES("readme.md"));
    assert_false(tn_folder_owns_file(&none, "readme.md"));
}

static void the_components_of_a_pipeline_are_told_to_who_walks_folders(void **state)
{
    tn_listing components;
    write_pipeline();
    assert_int_equal(tn_folder_components(*state, format_path("p"), &components, NULL), TN_OK);
    assert_int_equal(components.count, 4);
    assert_non_null(tn_listing_find(&components, "unet"));
    assert_non_null(tn_listing_find(&components, "scheduler"));
    assert_null(tn_listing_find(&components, "safety_checker"));
    tn_listing_free(&components);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_pipeline_is_one_model_with_its_components_before_the_names, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(every_scalar_of_its_json_files_is_metadata, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(a_component_that_is_not_there_is_named_and_the_others_are_read, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(a_damaged_component_is_a_finding_with_its_file, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(full_precision_is_read_and_other_variants_are_noted, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(a_component_in_shards_is_read_by_its_index_or_without_one, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(weights_without_a_reader_are_a_finding_and_no_failure, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(a_transformers_folder_keeps_the_names_of_its_tensors, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(a_folder_that_is_no_model_is_refused, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(a_broken_model_index_is_refused_with_its_file, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(components_are_plain_names_with_a_library_and_a_class, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(a_pipeline_has_256_components_at_most, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(a_key_that_stands_twice_is_a_warning_and_the_first_counts, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(keys_are_4096_bytes_long_at_most_and_longer_ones_are_left_out, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(a_json_file_gives_65536_pairs_at_most, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(a_config_is_4_MiB_at_most, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(a_folder_of_more_than_65536_names_is_refused, format_folder_up, format_folder_down),
        cmocka_unit_test(names_alone_tell_whether_a_folder_is_a_model),
        cmocka_unit_test(loose_checkpoints_beside_a_config_are_not_swallowed),
        cmocka_unit_test_setup_teardown(the_components_of_a_pipeline_are_told_to_who_walks_folders, format_folder_up, format_folder_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
