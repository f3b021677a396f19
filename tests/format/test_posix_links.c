/* Links: a part that a file names is followed nowhere but into the blobs of its own cached repository. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/format.h"

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})
#define SNAPSHOT "models--o--m/snapshots/0123"

static void link_to(const char *target, const char *relative)
{
    assert_int_equal(symlink(target, format_path(relative)), 0);
}

/* A repository as huggingface_hub lays it out: real files in blobs, links in the snapshot. */
static void write_cache(void)
{
    format_make_folder("models--o--m/blobs");
    format_make_folder(SNAPSHOT "/unet");
    format_write_tensors("models--o--m/blobs/aaaa", NAMES("a"));
    format_write_tensors("models--o--m/blobs/bbbb", NAMES("b"));
    format_write_text("models--o--m/blobs/cccc", "{\"weight_map\":{\"a\":\"m-00001-of-00002.safetensors\","
                                                 "\"b\":\"m-00002-of-00002.safetensors\"}}");
    link_to("../../blobs/aaaa", SNAPSHOT "/m-00001-of-00002.safetensors");
    link_to("../../blobs/bbbb", SNAPSHOT "/m-00002-of-00002.safetensors");
    link_to("../../blobs/cccc", SNAPSHOT "/m.safetensors.index.json");
}

static void a_set_in_a_cache_is_read_through_its_links(void **state)
{
    write_cache();
    static const char *const paths[] = {SNAPSHOT "/m.safetensors.index.json", SNAPSHOT "/m-00002-of-00002.safetensors"};
    for (size_t i = 0; i < 2; i++) {
        tn_checkpoint *k = NULL;
        const tn_tensor *tensors = NULL;
        assert_int_equal(tn_checkpoint_open(*state, format_path(paths[i]), NULL, &k, NULL), TN_OK);
        assert_int_equal(tn_checkpoint_tensors(k, &tensors), 2);
        assert_null(format_finding(k, TN_ERROR));
        tn_checkpoint_release(k);
    }
}

static void a_component_in_a_cache_is_read_through_its_links(void **state)
{
    tn_checkpoint *k = NULL;
    write_cache();
    format_write_text("models--o--m/blobs/dddd", "{\"unet\":[\"diffusers\",\"UNet2DConditionModel\"]}");
    link_to("../../blobs/dddd", SNAPSHOT "/model_index.json");
    link_to("../../../blobs/aaaa", SNAPSHOT "/unet/diffusion_pytorch_model.safetensors");
    assert_int_equal(tn_checkpoint_open(*state, format_path(SNAPSHOT), NULL, &k, NULL), TN_OK);
    assert_non_null(tn_checkpoint_find(k, "unet/a", 6));
    assert_null(format_finding(k, TN_ERROR));
    tn_checkpoint_release(k);
}

static void a_shard_that_links_anywhere_else_is_unsafe(void **state)
{
    static const char *const targets[] = {"../outside.safetensors", "real.safetensors", "../blobs/aaaa"};
    format_make_folder("set");
    format_make_folder("blobs");
    format_write_tensors("outside.safetensors", NAMES("a"));
    format_write_tensors("set/real.safetensors", NAMES("a"));
    format_write_tensors("blobs/aaaa", NAMES("a"));
    format_write_tensors("set/m-00002-of-00002.safetensors", NAMES("b"));
    format_write_text("set/m.safetensors.index.json", "{\"weight_map\":{\"a\":\"m-00001-of-00002.safetensors\","
                                                      "\"b\":\"m-00002-of-00002.safetensors\"}}");
    for (size_t i = 0; i < 3; i++) {
        tn_checkpoint *k = NULL;
        link_to(targets[i], "set/m-00001-of-00002.safetensors");
        assert_int_equal(tn_checkpoint_open(*state, format_path("set/m.safetensors.index.json"), NULL, &k, NULL), TN_OK);
        assert_int_equal(format_finding(k, TN_ERROR)->status, TN_UNSAFE_PATH);
        assert_null(tn_checkpoint_find(k, "a", 1));
        assert_non_null(tn_checkpoint_find(k, "b", 1));
        tn_checkpoint_release(k);
        assert_int_equal(unlink(format_path("set/m-00001-of-00002.safetensors")), 0);
    }
}

static void a_cached_shard_whose_blob_is_gone_is_missing(void **state)
{
    tn_checkpoint *k = NULL;
    write_cache();
    assert_int_equal(unlink(format_path("models--o--m/blobs/bbbb")), 0);
    assert_int_equal(tn_checkpoint_open(*state, format_path(SNAPSHOT "/m.safetensors.index.json"), NULL, &k, NULL),
                     TN_OK);
    assert_int_equal(format_finding(k, TN_ERROR)->status, TN_MISSING_PART);
    tn_checkpoint_release(k);
}

static void a_component_that_is_a_link_is_not_entered(void **state)
{
    tn_checkpoint *k = NULL;
    format_make_folder("p");
    format_make_folder("elsewhere");
    format_write_tensors("elsewhere/diffusion_pytorch_model.safetensors", NAMES("a"));
    format_write_text("p/model_index.json", "{\"unet\":[\"diffusers\",\"UNet2DConditionModel\"]}");
    link_to("../elsewhere", "p/unet");
    assert_int_equal(tn_checkpoint_open(*state, format_path("p"), NULL, &k, NULL), TN_OK);
    assert_int_equal(format_finding(k, TN_ERROR)->status, TN_UNSAFE_PATH);
    assert_null(tn_checkpoint_find(k, "unet/a", 6));
    tn_checkpoint_release(k);
}

static void a_link_that_the_user_names_is_followed(void **state)
{
    tn_checkpoint *k = NULL;
    format_write_tensors("real.safetensors", NAMES("a"));
    link_to("real.safetensors", "link.safetensors");
    assert_int_equal(tn_checkpoint_open(*state, format_path("link.safetensors"), NULL, &k, NULL), TN_OK);
    tn_checkpoint_release(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_set_in_a_cache_is_read_through_its_links, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(a_component_in_a_cache_is_read_through_its_links, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(a_shard_that_links_anywhere_else_is_unsafe, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(a_cached_shard_whose_blob_is_gone_is_missing, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(a_component_that_is_a_link_is_not_entered, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(a_link_that_the_user_names_is_followed, format_folder_up, format_folder_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
