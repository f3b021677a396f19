/* Files moved, removed and brought back: what happens to them, and what their records say then. */
#include "support/library_acts.h"

/* ---- moving ---- */

static void check_a_move_and_its_undo(const tn_os_hooks *hooks)
{
    put_folder(at("m/sub"));
    put_weights(at("m/sub/a.v1.safetensors"), 4);
    put_text(at("m/sub/a.v1.json"), "{}");
    put_text(at("m/sub/a.v1.preview.png"), "picture");
    put_text(at("m/sub/a.json"), "another's");
    tn_library *library = imported();
    int64_t id = id_at(library, "m/sub/a.v1.safetensors");
    assert_true(id > 0);
    say(library, id);

    tn_os_set_hooks(hooks);
    acted said = moved(library, at("m/sub/a.v1.safetensors"), at("m/new/deep"));
    tn_os_set_hooks(NULL);
    assert_string_equal(said.kind, "move");
    assert_int_equal(said.files, 3);
    assert_int_equal(id_at(library, "m/new/deep/a.v1.safetensors"), id);
    assert_said(library, id);
    assert_text(at("m/new/deep/a.v1.json"), "{}");
    assert_text(at("m/new/deep/a.v1.preview.png"), "picture");
    assert_text(at("m/sub/a.json"), "another's"); /* so the folder stays */
    assert_false(is_there(at("m/sub/a.v1.safetensors")));
    assert_false(is_there(at("m/sub/a.v1.json")));
    assert_int_equal(leftovers("m/new/deep"), 0);
    assert_nothing_new(library, "m");

    tn_os_set_hooks(hooks);
    undone(library, 0);
    tn_os_set_hooks(NULL);
    assert_int_equal(id_at(library, "m/sub/a.v1.safetensors"), id);
    assert_said(library, id);
    assert_text(at("m/sub/a.v1.preview.png"), "picture");
    assert_false(is_there(at("m/new"))); /* emptied by the undo, below the root */
    assert_true(is_there(at("m")));
    assert_int_equal(open_acts(library), 0);
    assert_nothing_new(library, "m");

    tn_error err;
    expect(tn_library_undo(library, 0, NULL, &err), TN_NOT_FOUND, &err);
    expect(tn_library_undo(library, said.event, NULL, &err), TN_INVALID, &err);
    tn_library_close(library);
}

static void a_move_takes_what_lies_beside_and_an_undo_brings_it_back(void **state)
{
    (void)state;
    check_a_move_and_its_undo(NULL);
}

static void the_same_to_another_disk(void **state)
{
    (void)state;
    check_a_move_and_its_undo(&across);
}

static void put_set(void)
{
    put_folder(at("m"));
    put_tensor(at("m/set-00001-of-00002.safetensors"), "v", 6, 0);
    put_tensor(at("m/set-00002-of-00002.safetensors"), "w", 6, 0);
    put_text(at("m/set.safetensors.index.json"),
             "{\"metadata\":{\"total_size\":96},\"weight_map\":{\"v\":\"set-00001-of-00002.safetensors\","
             "\"w\":\"set-00002-of-00002.safetensors\"}}");
    put_text(at("m/set.civitai.info"), "{}");
}

static void check_set(const tn_os_hooks *hooks)
{
    put_set();
    tn_library *library = imported();
    int64_t id = id_at(library, "m/set.safetensors.index.json");
    say(library, id);
    tn_os_set_hooks(hooks);
    acted said = moved(library, "set", at("m/sets"));
    tn_os_set_hooks(NULL);
    assert_int_equal(said.files, 4);
    assert_int_equal(entries_in(at("m/sets")), 4);
    assert_int_equal(id_at(library, "m/sets/set.safetensors.index.json"), id);
    assert_said(library, id);
    assert_nothing_new(library, "m");
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), 1);
    undone(library, 0);
    assert_int_equal(id_at(library, "m/set.safetensors.index.json"), id);
    assert_false(is_there(at("m/sets")));
    assert_nothing_new(library, "m");
    tn_library_close(library);
}

static void a_set_moves_with_its_index(void **state)
{
    (void)state;
    check_set(NULL);
}

static void a_set_moves_to_another_disk(void **state)
{
    (void)state;
    check_set(&across);
}

static void put_pipe(void)
{
    put_folder(at("m/p/inner"));
    put_text(at("m/p/config.json"), "{\"_class_name\":\"AutoencoderKL\"}");
    put_weights(at("m/p/diffusion_pytorch_model.safetensors"), 7);
    put_text(at("m/p/picture.webp"), "foreign");
    put_text(at("m/p/inner/notes.txt"), "also foreign");
}

static void check_folder(const tn_os_hooks *hooks)
{
    put_pipe();
    tn_library *library = imported();
    int64_t id = id_at(library, "m/p");
    assert_true(id > 0);
    say(library, id);
    tn_os_set_hooks(hooks);
    acted said = moved(library, at("m/p"), at("m/folders"));
    tn_os_set_hooks(NULL);
    assert_int_equal(said.files, 1);
    assert_int_equal(id_at(library, "m/folders/p"), id);
    assert_said(library, id);
    assert_text(at("m/folders/p/inner/notes.txt"), "also foreign");
    assert_false(is_there(at("m/p")));
    assert_int_equal(leftovers("m/folders"), 0);
    assert_nothing_new(library, "m");
    tn_os_set_hooks(hooks);
    undone(library, 0);
    tn_os_set_hooks(NULL);
    assert_int_equal(id_at(library, "m/p"), id);
    assert_text(at("m/p/picture.webp"), "foreign");
    assert_false(is_there(at("m/folders")));
    assert_nothing_new(library, "m");
    tn_library_close(library);
}

static void a_folder_moves_whole(void **state)
{
    (void)state;
    check_folder(NULL);
}

static void a_folder_moves_to_another_disk(void **state)
{
    (void)state;
    check_folder(&across);
}

static void a_name_that_is_taken_refuses_with_both_sizes(void **state)
{
    (void)state;
    put_folder(at("m/b"));
    put_weights(at("m/x.safetensors"), 4);
    put_weights(at("m/b/x.safetensors"), 9);
    tn_library *library = imported();
    tn_os_info here, there;
    tn_error err;
    assert_int_equal(tn_os_info_at(at("m/x.safetensors"), true, &here, NULL), TN_OK);
    assert_int_equal(tn_os_info_at(at("m/b/x.safetensors"), true, &there, NULL), TN_OK);
    expect(tn_library_move(library, at("m/x.safetensors"), at("m/b"), NULL, &err), TN_EXISTS, &err);
    assert_int_equal(err.expected, here.size);
    assert_int_equal(err.found, there.size);
    assert_int_equal(ask(library, "SELECT count(*) FROM acts"), 0);
    tn_os_remove(at("m/b/x.safetensors"), NULL);
    put_weights(at("m/b/x.safetensors"), 4);
    expect(tn_library_move(library, at("m/x.safetensors"), at("m/b"), NULL, &err), TN_EXISTS, &err);
    assert_non_null(strstr(err.message, "same bytes"));
    assert_true(is_there(at("m/x.safetensors")));
    tn_library_close(library);
}

static void a_move_to_where_it_is_does_nothing(void **state)
{
    (void)state;
    put_folder(at("m"));
    put_weights(at("m/x.safetensors"), 4);
    tn_library *library = imported();
    acted said = moved(library, "x", at("m/../m"));
    assert_int_equal(said.files, 0);
    assert_int_equal(ask(library, "SELECT count(*) FROM acts"), 0);
    tn_library_close(library);
}

static void a_dry_run_says_and_does_nothing(void **state)
{
    (void)state;
    put_folder(at("m"));
    put_weights(at("m/x.safetensors"), 4);
    tn_library *library = imported();
    acted said;
    tn_error err;
    tn_act_options options = telling(&said);
    options.dry_run = true;
    expect(tn_library_move(library, "x", at("m/new"), &options, &err), TN_OK, &err);
    assert_int_equal(said.count, 1);
    assert_string_equal(said.to, spelled("m/new/x.safetensors"));
    expect(tn_library_remove(library, "x", TN_REMOVE_DELETE, &options, &err), TN_OK, &err);
    assert_int_equal(said.count, 2);
    assert_true(is_there(at("m/x.safetensors")));
    assert_false(is_there(at("m/new")));
    assert_int_equal(ask(library, "SELECT count(*) FROM acts"), 0);
    tn_library_close(library);
}

/* Two models of one stem: what lies beside may be either's, and stays. */
static void what_may_be_anothers_stays(void **state)
{
    (void)state;
    put_folder(at("m"));
    put_weights(at("m/x.safetensors"), 4);
    put_weights(at("m/x.sft"), 5);
    put_text(at("m/x.json"), "{}");
    tn_library *library = imported();
    assert_int_equal(moved(library, at("m/x.sft"), at("m/new")).files, 1);
    assert_true(is_there(at("m/x.json")));
    tn_library_close(library);
}

/* A loose checkpoint in a model's folder is a model of its own, and does not go with it unasked. */
static void a_folder_with_another_model_in_it_stays(void **state)
{
    (void)state;
    put_pipe();
    put_weights(at("m/p/loose.safetensors"), 3);
    tn_library *library = imported();
    tn_error err;
    assert_true(id_at(library, "m/p/loose.safetensors") > 0);
    expect(tn_library_move(library, at("m/p"), at("m/new"), NULL, &err), TN_EXISTS, &err);
    expect(tn_library_remove(library, at("m/p"), TN_REMOVE_TRASH, NULL, &err), TN_EXISTS, &err);
    expect(tn_library_remove(library, at("m/p"), TN_REMOVE_DELETE, NULL, &err), TN_EXISTS, &err);
    assert_true(is_there(at("m/p/loose.safetensors")));
    tn_library_close(library);
}

static void a_folder_is_not_moved_into_itself(void **state)
{
    (void)state;
    put_pipe();
    tn_library *library = imported();
    tn_error err;
    expect(tn_library_move(library, at("m/p"), at("m/p/inner"), NULL, &err), TN_INVALID, &err);
    tn_library_close(library);
}

static tn_status full_disk(void *user, const tn_os_call *call)
{
    (void)user;
    return call->operation == TN_OP_WRITE ? TN_NO_SPACE : other_disk(NULL, call);
}

static void a_full_disk_leaves_all_as_it_was(void **state)
{
    (void)state;
    put_folder(at("m"));
    put_weights(at("m/x.safetensors"), 4);
    tn_library *library = imported();
    const tn_os_hooks hooks = {.before = full_disk};
    tn_error err;
    tn_os_set_hooks(&hooks);
    tn_status status = tn_library_move(library, "x", at("m/new"), NULL, &err);
    tn_os_set_hooks(NULL);
    expect(status, TN_NO_SPACE, &err);
    assert_true(is_there(at("m/x.safetensors")));
    assert_false(is_there(at("m/new")));
    assert_int_equal(open_acts(library), 0);
    assert_nothing_new(library, "m");
    tn_library_close(library);
}

/* Windows keeps some names for devices; here they are names like any other (InvokeAI #6698: names with dots were cut). */
static void names_with_dots_and_reserved_names_are_names(void **state)
{
    (void)state;
    static const char *const odd[] = {"aux.safetensors", "CON.v1.5.safetensors", "QRCode v2 (SD1.5).safetensors",
                                      "a..b.safetensors"};
    put_folder(at("m"));
    for (unsigned i = 0; i < 4; i++) {
        char path[128];
        snprintf(path, sizeof path, "m/%s", odd[i]);
        put_weights(at(path), 4 + i);
    }
    tn_library *library = imported();
    for (unsigned i = 0; i < 4; i++) {
        char from[128], to[128];
        snprintf(from, sizeof from, "m/%s", odd[i]);
        snprintf(to, sizeof to, "m/nul.d/%s", odd[i]);
        int64_t id = id_at(library, from);
        moved(library, at(from), at("m/nul.d"));
        assert_true(id > 0 && id_at(library, to) == id);
    }
    assert_int_equal(entries_in(at("m/nul.d")), 4);
    assert_nothing_new(library, "m");
    tn_library_close(library);
}

/* What is shown of a model names the picture beside it. */
static void the_picture_is_named_where_it_is_now(void **state)
{
    (void)state;
    char sql[4096];
    put_folder(at("m"));
    put_weights(at("m/x.safetensors"), 4);
    put_text(at("m/x.preview.png"), "picture");
    tn_library *library = imported();
    const char *asked = "SELECT json_extract(answer, '$.metadata.preview') = '%s' FROM models";
    snprintf(sql, sizeof sql, asked, spelled("m/x.preview.png"));
    assert_int_equal(ask(library, sql), 1);
    moved(library, "x", at("m/new"));
    snprintf(sql, sizeof sql, asked, spelled("m/new/x.preview.png"));
    assert_int_equal(ask(library, sql), 1);
    tn_library_close(library);
}

/* A scan between the move of the file and its record: the record is found again, or made, and the act ends well. */
static tn_library *meddler;
static void after_renaming(void *user, const tn_os_call *call)
{
    (void)user;
    if (call->operation != TN_OP_RENAME || meddler == NULL)
        return;
    tn_library *library = meddler;
    meddler = NULL;
    tn_os_set_hooks(NULL);
    import_quietly(library, "m", NULL);
    tn_library_close(library);
}

static void a_scan_in_the_middle_of_a_move_harms_nothing(void **state)
{
    (void)state;
    put_folder(at("m"));
    put_weights(at("m/x.safetensors"), 4);
    put_weights(at("m/y.safetensors"), 5);
    tn_library *library = imported();
    int64_t id = id_at(library, "m/x.safetensors");
    say(library, id);
    meddler = open_library(NULL);
    const tn_os_hooks hooks = {.after = after_renaming};
    tn_os_set_hooks(&hooks);
    moved(library, "x", at("m/new"));
    tn_os_set_hooks(NULL);
    assert_int_equal(id_at(library, "m/new/x.safetensors"), id);
    assert_said(library, id);
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), 2);
    assert_nothing_new(library, "m");
    tn_library_close(library);
}

/* A column that a table gets must be kept of a record that is removed. */
static void what_is_kept_of_a_removed_record_is_all_of_it(void **state)
{
    (void)state;
    tn_library *library = open_library(NULL);
    static const char *const missing[] = {
        "SELECT count(*) FROM pragma_table_info('models') WHERE name NOT IN "
        "(SELECT name FROM pragma_table_info('removed_models'))",
        "SELECT count(*) FROM pragma_table_info('files') WHERE name <> 'id' AND name NOT IN "
        "(SELECT name FROM pragma_table_info('removed_files'))",
        "SELECT count(*) FROM pragma_table_info('parts') WHERE name NOT IN ('model', 'file') AND name NOT IN "
        "(SELECT name FROM pragma_table_info('removed_files'))",
        "SELECT count(*) FROM pragma_table_info('tags') WHERE name <> 'model' AND name NOT IN "
        "(SELECT name FROM pragma_table_info('removed_tags'))",
        "SELECT count(*) FROM pragma_table_info('hashes') WHERE name <> 'model' AND name NOT IN "
        "(SELECT name FROM pragma_table_info('removed_hashes'))",
    };
    for (size_t i = 0; i < sizeof missing / sizeof missing[0]; i++)
        assert_int_equal(ask(library, missing[i]), 0);
    tn_library_close(library);
}

/* ---- removing ---- */

static void forgetting_touches_no_file_and_a_scan_passes_it_over(void **state)
{
    (void)state;
    put_folder(at("m"));
    put_weights(at("m/x.safetensors"), 4);
    tn_library *library = imported();
    int64_t id = id_at(library, "m/x.safetensors");
    say(library, id);
    removed(library, "x", TN_REMOVE_FORGET);
    assert_true(is_there(at("m/x.safetensors")));
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), 0);
    assert_int_equal(ask(library, "SELECT count(*) FROM tags"), 0);
    assert_nothing_new(library, "m");
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), 0);
    undone(library, 0);
    assert_said(library, id);
    assert_int_equal(id_at(library, "m/x.safetensors"), id);
    assert_nothing_new(library, "m");
    assert_int_equal(ask(library, "SELECT count(*) FROM removed_models"), 0);
    assert_int_equal(ask(library, "SELECT count(*) FROM removed_files"), 0);
    tn_library_close(library);
}

static void a_forgotten_model_that_is_named_again_is_new_and_blocks_the_undo(void **state)
{
    (void)state;
    put_folder(at("m"));
    put_weights(at("m/x.safetensors"), 4);
    tn_library *library = imported();
    int64_t id = id_at(library, "m/x.safetensors");
    removed(library, "x", TN_REMOVE_FORGET);
    import_quietly(library, "m/x.safetensors", NULL);
    int64_t again = id_at(library, "m/x.safetensors");
    assert_true(again > id);
    tn_error err;
    expect(tn_library_undo(library, 0, NULL, &err), TN_EXISTS, &err);
    removed(library, "x", TN_REMOVE_FORGET);
    undone(library, 1);
    assert_int_equal(id_at(library, "m/x.safetensors"), id);
    assert_verified(library);
    tn_library_close(library);
}

static void deleting_removes_file_and_sidecars_and_the_emptied_folder(void **state)
{
    (void)state;
    put_folder(at("m/sub/deep"));
    put_weights(at("m/sub/deep/x.safetensors"), 4);
    put_text(at("m/sub/deep/x.civitai.info"), "{}");
    put_weights(at("m/y.safetensors"), 5);
    tn_library *library = imported();
    acted said = removed(library, "x", TN_REMOVE_DELETE);
    assert_int_equal(said.files, 2);
    assert_false(is_there(at("m/sub")));
    assert_true(is_there(at("m")));
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), 1);
    tn_error err;
    expect(tn_library_undo(library, 0, NULL, &err), TN_INVALID, &err);
    assert_nothing_new(library, "m");
    removed(library, "y", TN_REMOVE_DELETE);
    assert_true(is_there(at("m"))); /* the root stays, however empty */
    tn_library_close(library);
}

static void deleting_a_folder_with_foreign_content_is_refused(void **state)
{
    (void)state;
    put_pipe();
    tn_library *library = imported();
    tn_error err;
    expect(tn_library_remove(library, at("m/p"), TN_REMOVE_DELETE, NULL, &err), TN_EXISTS, &err);
    assert_non_null(strstr(err.message, "picture.webp"));
    assert_true(is_there(at("m/p/config.json")));
    tn_os_remove(at("m/p/picture.webp"), NULL);
    removed(library, at("m/p"), TN_REMOVE_DELETE);
    assert_false(is_there(at("m/p")));
    tn_library_close(library);
}

/* Deleting one of two models of a folder leaves the other, and the folder (InvokeAI #3887, #8890). */
static void deleting_one_of_two_leaves_the_other(void **state)
{
    (void)state;
    put_folder(at("m/loras"));
    put_weights(at("m/loras/a.safetensors"), 4);
    put_weights(at("m/loras/b.safetensors"), 5);
    tn_library *library = imported();
    removed(library, "a", TN_REMOVE_DELETE);
    assert_true(is_there(at("m/loras/b.safetensors")));
    assert_nothing_new(library, "m");
    tn_library_close(library);
}

/* ---- what changes meanwhile ---- */

static tn_status change_while_copied(void *user, const tn_os_call *call)
{
    if (call->operation == TN_OP_ATTRIBUTES) {
        const tn_os_hooks *none = NULL;
        tn_os_set_hooks(none);
        put_weights(user, 8);
        tn_os_set_hooks(&across);
    }
    return other_disk(NULL, call);
}

static void a_file_that_changes_while_it_is_copied_stays(void **state)
{
    (void)state;
    put_folder(at("m"));
    put_weights(at("m/x.safetensors"), 4);
    tn_library *library = imported();
    static char path[2048];
    snprintf(path, sizeof path, "%s", at("m/x.safetensors"));
    const tn_os_hooks hooks = {.before = change_while_copied, .user = path};
    tn_error err;
    tn_os_set_hooks(&hooks);
    tn_status status = tn_library_move(library, "x", at("m/new"), NULL, &err);
    tn_os_set_hooks(NULL);
    expect(status, TN_CHANGED, &err);
    assert_true(is_there(path));
    assert_false(is_there(at("m/new")));
    assert_int_equal(open_acts(library), 0);
    tn_library_close(library);
}

static void an_undo_is_refused_when_the_place_is_taken_or_the_file_changed(void **state)
{
    (void)state;
    put_folder(at("m"));
    put_weights(at("m/x.safetensors"), 4);
    tn_library *library = imported();
    moved(library, "x", at("m/new"));
    put_weights(at("m/x.safetensors"), 9);
    tn_error err;
    expect(tn_library_undo(library, 0, NULL, &err), TN_EXISTS, &err);
    tn_os_remove(at("m/x.safetensors"), NULL);
    put_weights(at("m/new/x.safetensors"), 12);
    expect(tn_library_undo(library, 0, NULL, &err), TN_CHANGED, &err);
    assert_true(is_there(at("m/new/x.safetensors")));
    tn_library_close(library);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, library_setup, library_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_move_takes_what_lies_beside_and_an_undo_brings_it_back),
        TEST(the_same_to_another_disk),
        TEST(a_set_moves_with_its_index),
        TEST(a_set_moves_to_another_disk),
        TEST(a_folder_moves_whole),
        TEST(a_folder_moves_to_another_disk),
        TEST(a_name_that_is_taken_refuses_with_both_sizes),
        TEST(a_move_to_where_it_is_does_nothing),
        TEST(a_dry_run_says_and_does_nothing),
        TEST(what_may_be_anothers_stays),
        TEST(a_folder_with_another_model_in_it_stays),
        TEST(a_folder_is_not_moved_into_itself),
        TEST(a_full_disk_leaves_all_as_it_was),
        TEST(names_with_dots_and_reserved_names_are_names),
        TEST(the_picture_is_named_where_it_is_now),
        TEST(a_scan_in_the_middle_of_a_move_harms_nothing),
        TEST(what_is_kept_of_a_removed_record_is_all_of_it),
        TEST(forgetting_touches_no_file_and_a_scan_passes_it_over),
        TEST(a_forgotten_model_that_is_named_again_is_new_and_blocks_the_undo),
        TEST(deleting_removes_file_and_sidecars_and_the_emptied_folder),
        TEST(deleting_a_folder_with_foreign_content_is_refused),
        TEST(deleting_one_of_two_leaves_the_other),
        TEST(a_file_that_changes_while_it_is_copied_stays),
        TEST(an_undo_is_refused_when_the_place_is_taken_or_the_file_changed),
    };
    return cmocka_run_group_tests_name("library.acts", tests, NULL, NULL);
}
