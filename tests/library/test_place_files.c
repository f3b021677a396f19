/* What an import with --copy-to or --move-to does before it begins: files brought below a folder. */
#include "support/library_acts.h"

static size_t refused_count;
static tn_status refused_why;

static void on_refused(void *user, const char *path, const tn_error *why)
{
    (void)user, (void)path;
    refused_count++;
    refused_why = why->status;
}

static acted placed(tn_library *library, const char *from, const char *to, bool move)
{
    acted said;
    tn_error err;
    const char *paths[] = {from};
    const tn_act_options options = telling(&said);
    refused_count = 0;
    expect(tn_library_place(library, paths, 1, to, move, &options, on_refused, &err), TN_OK, &err);
    return said;
}

static void put_source(void)
{
    put_folder(at("s/deep"));
    put_weights(at("s/x.safetensors"), 4);
    put_text(at("s/x.json"), "{}");
    put_weights(at("s/deep/y.safetensors"), 5);
    put_text(at("s/deep/other.bin"), "not a model");
    put_text(at("s/readme.md"), "stays");
    put_folder(at("s/p"));
    put_text(at("s/p/config.json"), "{\"_class_name\":\"AutoencoderKL\"}");
    put_weights(at("s/p/diffusion_pytorch_model.safetensors"), 7);
}

static void copying_to_a_folder_keeps_the_structure_and_the_sources(void **state)
{
    (void)state;
    put_source();
    tn_library *library = open_library(NULL);
    assert_int_equal(placed(library, at("s"), at("m"), false).count, 3);
    assert_int_equal(refused_count, 0);
    assert_true(is_there(at("s/x.safetensors")));
    assert_true(is_there(at("m/x.safetensors")));
    assert_text(at("m/x.json"), "{}");
    assert_true(is_there(at("m/deep/y.safetensors")));
    assert_true(is_there(at("m/p/config.json")));
    assert_false(is_there(at("m/deep/other.bin")));
    assert_false(is_there(at("m/readme.md")));
    import_quietly(library, "m", NULL);
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), 3);
    assert_int_equal(placed(library, at("s"), at("m"), false).count, 0); /* all of it is there */
    assert_int_equal(refused_count, 0);
    put_weights(at("s/x.safetensors"), 6);
    placed(library, at("s"), at("m"), false);
    assert_int_equal(refused_count, 1);
    assert_int_equal(refused_why, TN_EXISTS);
    tn_library_close(library);
}

static void undoing_a_copy_removes_it_unless_it_is_the_only_one(void **state)
{
    (void)state;
    put_folder(at("s"));
    put_weights(at("s/x.safetensors"), 4);
    tn_library *library = open_library(NULL);
    placed(library, at("s/x.safetensors"), at("m"), false);
    import_quietly(library, "m", NULL);
    assert_int_equal(tn_os_rename(at("s/x.safetensors"), at("s/away"), false, NULL), TN_OK);
    tn_error err;
    expect(tn_library_undo(library, 0, NULL, &err), TN_CHANGED, &err);
    assert_true(is_there(at("m/x.safetensors")));
    assert_int_equal(tn_os_rename(at("s/away"), at("s/x.safetensors"), false, NULL), TN_OK);
    undone(library, 0);
    assert_false(is_there(at("m/x.safetensors")));
    assert_true(is_there(at("s/x.safetensors")));
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), 0);
    assert_verified(library);
    tn_library_close(library);
}

static void moving_to_a_folder_keeps_records_and_leaves_what_is_not_a_model(void **state)
{
    (void)state;
    put_source();
    tn_library *library = open_library(NULL);
    import_quietly(library, "s/x.safetensors", NULL);
    int64_t id = id_at(library, "s/x.safetensors");
    say(library, id);
    assert_int_equal(placed(library, at("s"), at("m"), true).count, 3);
    assert_said(library, id);
    assert_int_equal(id_at(library, "m/x.safetensors"), id);
    assert_false(is_there(at("s/p")));
    assert_true(is_there(at("s/deep/other.bin")));
    assert_true(is_there(at("s/readme.md")));
    import_quietly(library, "m", NULL);
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), 3);
    undone(library, 0); /* one command, one event: all three go back */
    assert_true(is_there(at("s/deep/y.safetensors")));
    assert_true(is_there(at("s/p/config.json")));
    assert_int_equal(id_at(library, "s/x.safetensors"), id);
    assert_false(is_there(at("m/deep/y.safetensors")));
    assert_verified(library);
    tn_library_close(library);
}

static void what_lies_below_the_folder_already_stays(void **state)
{
    (void)state;
    put_folder(at("m/sub"));
    put_weights(at("m/sub/x.safetensors"), 4);
    tn_library *library = open_library(NULL);
    assert_int_equal(placed(library, at("m/sub"), at("m"), true).count, 0);
    assert_true(is_there(at("m/sub/x.safetensors")));
    tn_library_close(library);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, library_setup, library_teardown)
    const struct CMUnitTest tests[] = {
        TEST(copying_to_a_folder_keeps_the_structure_and_the_sources),
        TEST(undoing_a_copy_removes_it_unless_it_is_the_only_one),
        TEST(moving_to_a_folder_keeps_records_and_leaves_what_is_not_a_model),
        TEST(what_lies_below_the_folder_already_stays),
    };
    return cmocka_run_group_tests_name("library.place_files", tests, NULL, NULL);
}
