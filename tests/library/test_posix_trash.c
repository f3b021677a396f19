/* Models put into the trash and brought back; links; what the trash itself looks like (freedesktop trash specification
 * 1.0, https://specifications.freedesktop.org/trash-spec/1.0/). */
#include "support/library.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/os_fault.h"

static int setup(void **state)
{
    if (library_setup(state) != 0)
        return -1;
    put_folder(at("m"));
    return setenv("XDG_DATA_HOME", at("data"), 1);
}

static void expect(tn_status found, tn_status wanted, const tn_error *err)
{
    if (found != wanted)
        fail_msg("%s expected, %s came: %s", tn_status_word(wanted), tn_status_word(found),
                 found == TN_OK ? "" : err->message);
}

static void trash(tn_library *library, const char *model)
{
    tn_error err;
    expect(tn_library_remove(library, model, TN_REMOVE_TRASH, NULL, &err), TN_OK, &err);
}

static void undo(tn_library *library)
{
    tn_error err;
    expect(tn_library_undo(library, 0, NULL, &err), TN_OK, &err);
}

static tn_library *imported(void)
{
    tn_library *library = open_library(NULL);
    import_quietly(library, "m", NULL);
    return library;
}

static void read_text(const char *path, char *out, size_t size)
{
    tn_os_file file;
    size_t got = 0;
    assert_int_equal(tn_os_open(path, TN_OS_READ, &file, NULL), TN_OK);
    assert_int_equal(tn_os_read(&file, 0, out, size - 1, &got, NULL), TN_OK);
    out[got] = 0;
    tn_os_close(&file);
}

static void a_model_comes_back_from_the_trash_with_what_was_said(void **state)
{
    (void)state;
    put_weights(at("m/x.safetensors"), 4);
    put_text(at("m/x.json"), "{}");
    tn_library *library = imported();
    int64_t id = ask(library, "SELECT id FROM models");
    tn_library_lock(library);
    assert_int_equal(tn_db_script(&library->db, "UPDATE models SET note = 'kept', named = 1, name = 'Mine', set_type = 'vae';"
                                                "INSERT INTO tags SELECT id, 'best' FROM models;"
                                                "INSERT INTO hashes SELECT id, 0, 'crc32', '00000000', 1, 2 FROM models",
                                  NULL),
                     TN_OK);
    tn_library_unlock(library);
    trash(library, "Mine");
    assert_false(is_there(at("m/x.safetensors")));
    assert_false(is_there(at("m/x.json")));
    assert_true(is_there(at("data/Trash/files/x.safetensors")));
    assert_true(is_there(at("data/Trash/info/x.safetensors.trashinfo")));
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), 0);
    assert_int_equal(ask(library, "SELECT count(*) FROM hashes"), 0);
    import_quietly(library, "m", NULL);
    undo(library);
    assert_text(at("m/x.json"), "{}");
    assert_int_equal(entries_in(at("data/Trash/files")), 0);
    assert_int_equal(entries_in(at("data/Trash/info")), 0);
    assert_int_equal(ask(library, "SELECT id FROM models WHERE note = 'kept' AND named = 1 AND name = 'Mine' AND set_type = "
                                  "'vae' AND type = 'vae' AND presence = 'present'"),
                     id);
    assert_int_equal(ask(library, "SELECT count(*) FROM tags"), 1);
    assert_int_equal(ask(library, "SELECT count(*) FROM hashes"), 1);
    told events;
    import_quietly(library, "m", &events);
    assert_int_equal(events.fresh + events.changed, 0);
    assert_verified(library);
    tn_library_close(library);
}

/* The note's three lines, its path escaped as RFC 2396 has it, its date local time. */
static void the_note_says_where_it_came_from(void **state)
{
    (void)state;
    char text[4096], path[4096], mode_of[64];
    put_weights(at("m/a b%\xc3\xa9\n.safetensors"), 4);
    tn_library *library = imported();
    trash(library, "1");
    read_text(at("data/Trash/info/a b%\xc3\xa9\n.safetensors.trashinfo"), text, sizeof text);
    snprintf(path, sizeof path, "[Trash Info]\nPath=%s/m/a%%20b%%25%%C3%%A9%%0A.safetensors\nDeletionDate=", scratch_folder);
    assert_memory_equal(text, path, strlen(path));
    int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, end = 0;
    assert_int_equal(sscanf(text + strlen(path), "%4d-%2d-%2dT%2d:%2d:%2d\n%n", &year, &month, &day, &hour, &minute, &second,
                            &end),
                     6);
    assert_int_equal(strlen(text + strlen(path)), end);
    assert_in_range(year, 2024, 2200);
    struct stat st;
    assert_int_equal(stat(at("data/Trash"), &st), 0);
    snprintf(mode_of, sizeof mode_of, "%o", (unsigned)st.st_mode & 0777);
    assert_string_equal(mode_of, "700");
    tn_library_close(library);
}

static void names_that_collide_get_a_number(void **state)
{
    (void)state;
    put_folder(at("m/b"));
    put_weights(at("m/x.safetensors"), 4);
    put_weights(at("m/b/x.safetensors"), 5);
    tn_library *library = imported();
    put_folder(at("data/Trash/files"));
    put_folder(at("data/Trash/info"));
    put_text(at("data/Trash/files/x.safetensors.2"), "an item without a note");
    trash(library, at("m/x.safetensors"));
    trash(library, at("m/b/x.safetensors"));
    assert_true(is_there(at("data/Trash/files/x.safetensors")));
    assert_true(is_there(at("data/Trash/files/x.safetensors.3")));
    assert_text(at("data/Trash/files/x.safetensors.2"), "an item without a note");
    assert_int_equal(entries_in(at("data/Trash/info")), 2);
    undo(library);
    undo(library);
    assert_true(is_there(at("m/b/x.safetensors")));
    assert_true(is_there(at("m/x.safetensors")));
    assert_int_equal(ask(library, "SELECT count(*) FROM models WHERE presence = 'present'"), 2);
    tn_library_close(library);
}

static void a_long_name_still_gets_a_note(void **state)
{
    (void)state;
    char name[300];
    memset(name, 'n', sizeof name);
    snprintf(name, sizeof name, "m/");
    memset(name + 2, 'n', 240);
    snprintf(name + 242, sizeof name - 242, ".safetensors");
    put_weights(at(name), 4);
    tn_library *library = imported();
    trash(library, "1");
    assert_int_equal(entries_in(at("data/Trash/info")), 1);
    undo(library);
    assert_true(is_there(at(name)));
    tn_library_close(library);
}

static void a_folder_goes_to_the_trash_whole_and_comes_back(void **state)
{
    (void)state;
    put_folder(at("m/p/inner"));
    put_text(at("m/p/config.json"), "{\"_class_name\":\"AutoencoderKL\"}");
    put_weights(at("m/p/diffusion_pytorch_model.safetensors"), 7);
    put_text(at("m/p/inner/picture.png"), "foreign");
    tn_library *library = imported();
    trash(library, at("m/p"));
    assert_false(is_there(at("m/p")));
    assert_text(at("data/Trash/files/p/inner/picture.png"), "foreign");
    undo(library);
    assert_text(at("m/p/inner/picture.png"), "foreign");
    told events;
    import_quietly(library, "m", &events);
    assert_int_equal(events.fresh + events.changed, 0);
    tn_library_close(library);
}

/* A trash folder that somebody else prepared as a link is not used. */
static void a_trash_that_is_a_link_is_refused(void **state)
{
    (void)state;
    put_weights(at("m/x.safetensors"), 4);
    tn_library *library = imported();
    put_folder(at("data"));
    put_folder(at("elsewhere"));
    assert_int_equal(symlink(at("elsewhere"), at("data/Trash")), 0);
    tn_error err;
    expect(tn_library_remove(library, "x", TN_REMOVE_TRASH, NULL, &err), TN_UNAVAILABLE, &err);
    assert_int_equal(entries_in(at("elsewhere")), 0);
    assert_true(is_there(at("m/x.safetensors")));
    tn_library_close(library);
}

static void an_undo_is_refused_when_the_trash_was_emptied(void **state)
{
    (void)state;
    put_weights(at("m/x.safetensors"), 4);
    tn_library *library = imported();
    trash(library, "x");
    tn_os_remove(at("data/Trash/files/x.safetensors"), NULL);
    tn_error err;
    expect(tn_library_undo(library, 0, NULL, &err), TN_NOT_FOUND, &err);
    tn_library_close(library);
}

/* ---- links ---- */

static void assert_leads(const char *link, const char *to)
{
    char text[4096];
    ssize_t size = readlink(link, text, sizeof text - 1);
    assert_true(size > 0);
    text[size] = 0;
    assert_string_equal(text, to);
}

/* InvokeAI #6034, #6036: the link was resolved and its target moved. */
static void a_move_moves_the_link_and_leaves_its_target(void **state)
{
    (void)state;
    char target[2048];
    put_folder(at("store"));
    put_weights(at("store/blob.safetensors"), 4);
    assert_int_equal(symlink("../store/blob.safetensors", at("m/x.safetensors")), 0);
    snprintf(target, sizeof target, "%s", at("store/blob.safetensors"));
    tn_library *library = imported();
    tn_error err;
    expect(tn_library_move(library, "x", at("m/deep/er"), NULL, &err), TN_OK, &err);
    assert_leads(at("m/deep/er/x.safetensors"), target);
    assert_true(is_there(target));
    assert_false(is_there(at("m/x.safetensors")));
    told events;
    import_quietly(library, "m", &events);
    assert_int_equal(events.fresh, 0);
    undo(library);
    assert_leads(at("m/x.safetensors"), target);
    expect(tn_library_remove(library, "x", TN_REMOVE_DELETE, NULL, &err), TN_OK, &err);
    assert_true(is_there(target));
    assert_false(is_there(at("m/x.safetensors")));
    tn_library_close(library);
}

/* A snapshot of a Hugging Face cache: its files are links out of it. */
static void a_folder_of_a_cache_is_not_moved_but_can_be_copied(void **state)
{
    (void)state;
    char bytes[256] = {0};
    put_folder(at("m/repo/blobs"));
    put_folder(at("m/repo/snapshots/1"));
    put_weights(at("m/repo/blobs/weights"), 7);
    put_text(at("m/repo/blobs/config"), "{\"_class_name\":\"AutoencoderKL\"}");
    assert_int_equal(symlink("../../blobs/config", at("m/repo/snapshots/1/config.json")), 0);
    assert_int_equal(symlink("../../blobs/weights", at("m/repo/snapshots/1/diffusion_pytorch_model.safetensors")), 0);
    assert_int_equal(symlink("config.json", at("m/repo/snapshots/1/same.json")), 0);
    tn_library *library = imported();
    tn_error err;
    expect(tn_library_move(library, at("m/repo/snapshots/1"), at("new"), NULL, &err), TN_UNSUPPORTED, &err);
    const char *paths[] = {at("m/repo/snapshots/1")};
    expect(tn_library_place(library, paths, 1, at("new"), false, NULL, NULL, &err), TN_OK, &err);
    tn_os_info info;
    assert_int_equal(tn_os_info_at(at("new/1/diffusion_pytorch_model.safetensors"), false, &info, NULL), TN_OK);
    assert_int_equal(info.kind, TN_OS_REGULAR);
    read_text(at("new/1/same.json"), bytes, sizeof bytes);
    assert_string_equal(bytes, "{\"_class_name\":\"AutoencoderKL\"}");
    import_quietly(library, "new", NULL);
    assert_int_equal(ask(library, "SELECT count(*) FROM models WHERE state <> 'damaged'"), 2);
    put_text(at("new/1/mine.txt"), "added since");
    expect(tn_library_undo(library, 0, NULL, &err), TN_CHANGED, &err);
    assert_true(is_there(at("new/1/mine.txt")));
    tn_os_remove(at("new/1/mine.txt"), NULL);
    undo(library);
    assert_false(is_there(at("new/1")));
    assert_true(is_there(at("m/repo/blobs/weights")));
    tn_library_close(library);
}

static void a_link_is_copied_as_what_it_leads_to(void **state)
{
    (void)state;
    put_folder(at("store"));
    put_weights(at("store/blob"), 4);
    assert_int_equal(symlink("../store/blob", at("m/x.safetensors")), 0);
    tn_library *library = open_library(NULL);
    const char *paths[] = {at("m")};
    tn_error err;
    expect(tn_library_place(library, paths, 1, at("new"), false, NULL, NULL, &err), TN_OK, &err);
    tn_os_info info;
    assert_int_equal(tn_os_info_at(at("new/x.safetensors"), false, &info, NULL), TN_OK);
    assert_int_equal(info.kind, TN_OS_REGULAR);
    tn_library_close(library);
}

static void with_follow_the_target_moves_if_it_is_known(void **state)
{
    (void)state;
    put_weights(at("m/real.safetensors"), 4);
    assert_int_equal(symlink("real.safetensors", at("m/x.safetensors")), 0);
    put_folder(at("store"));
    put_weights(at("store/far.safetensors"), 9);
    assert_int_equal(symlink(at("store/far.safetensors"), at("m/y.safetensors")), 0);
    tn_library *library = imported();
    const tn_act_options options = {.size = sizeof options, .follow = true};
    tn_error err;
    expect(tn_library_move(library, at("m/y.safetensors"), at("m/new"), &options, &err), TN_NOT_FOUND, &err);
    expect(tn_library_move(library, at("m/x.safetensors"), at("m/new"), &options, &err), TN_OK, &err);
    assert_true(is_there(at("m/new/real.safetensors")));
    assert_leads(at("m/x.safetensors"), "real.safetensors"); /* dangling, and left alone */
    tn_library_close(library);
}

static void of_several_paths_only_the_named_one_goes(void **state)
{
    (void)state;
    put_weights(at("m/a.safetensors"), 4);
    assert_int_equal(link(at("m/a.safetensors"), at("m/b.safetensors")), 0);
    tn_library *library = imported();
    int64_t id = ask(library, "SELECT id FROM models");
    tn_error err;
    expect(tn_library_remove(library, "1", TN_REMOVE_TRASH, NULL, &err), TN_AMBIGUOUS_NAME, &err);
    expect(tn_library_move(library, "1", at("m/new"), NULL, &err), TN_AMBIGUOUS_NAME, &err);
    trash(library, at("m/a.safetensors"));
    assert_true(is_there(at("m/b.safetensors")));
    assert_int_equal(ask(library, "SELECT id FROM models WHERE presence = 'present'"), id);
    assert_int_equal(ask(library, "SELECT count(*) FROM parts"), 1);
    undo(library);
    assert_int_equal(ask(library, "SELECT count(*) FROM parts"), 2);
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), 1);
    assert_verified(library);
    tn_library_close(library);
}

/* ---- places that refuse ---- */

static void a_folder_that_cannot_be_written_leaves_all_as_it_was(void **state)
{
    (void)state;
    if (geteuid() == 0)
        skip(); /* who may do all is refused nothing */
    put_weights(at("m/x.safetensors"), 4);
    put_folder(at("closed"));
    tn_library *library = imported();
    assert_int_equal(chmod(at("closed"), 0500), 0);
    tn_error err;
    expect(tn_library_move(library, "x", at("closed"), NULL, &err), TN_PERMISSION, &err);
    assert_int_equal(chmod(at("closed"), 0700), 0);
    assert_true(is_there(at("m/x.safetensors")));
    tn_library_close(library);
}

/* Holes stay holes, and what the copy is made with is kept: a sparse file of 64 MiB takes no more on the other side. */
static tn_status other_disk(void *user, const tn_os_call *call)
{
    (void)user;
    bool aside = call->operation == TN_OP_RENAME && strstr(call->path, ".tn-") != NULL;
    bool share = call->operation == TN_OP_SHARE_DATA;
    return share || (call->operation == TN_OP_RENAME && !aside) ? TN_UNAVAILABLE : TN_OK;
}

static void a_copy_keeps_holes_times_and_permissions(void **state)
{
    (void)state;
    put_tensor(at("m/x.safetensors"), "w", 8u << 20, 0);
    assert_int_equal(chmod(at("m/x.safetensors"), 0640), 0);
    tn_library *library = imported();
    struct stat before, after;
    assert_int_equal(stat(at("m/x.safetensors"), &before), 0);
    const tn_os_hooks hooks = {.before = other_disk};
    tn_error err;
    tn_os_set_hooks(&hooks);
    tn_status status = tn_library_move(library, "x", at("m/new"), NULL, &err);
    tn_os_set_hooks(NULL);
    expect(status, TN_OK, &err);
    assert_int_equal(stat(at("m/new/x.safetensors"), &after), 0);
    assert_int_equal(after.st_size, before.st_size);
    assert_int_equal(after.st_mtim.tv_sec, before.st_mtim.tv_sec);
    assert_int_equal(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
    assert_int_equal(after.st_mode, before.st_mode);
    assert_in_range(after.st_blocks, 0, before.st_blocks + 16);
    tn_library_close(library);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, library_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_model_comes_back_from_the_trash_with_what_was_said),
        TEST(the_note_says_where_it_came_from),
        TEST(names_that_collide_get_a_number),
        TEST(a_long_name_still_gets_a_note),
        TEST(a_folder_goes_to_the_trash_whole_and_comes_back),
        TEST(a_trash_that_is_a_link_is_refused),
        TEST(an_undo_is_refused_when_the_trash_was_emptied),
        TEST(a_move_moves_the_link_and_leaves_its_target),
        TEST(a_folder_of_a_cache_is_not_moved_but_can_be_copied),
        TEST(a_link_is_copied_as_what_it_leads_to),
        TEST(with_follow_the_target_moves_if_it_is_known),
        TEST(of_several_paths_only_the_named_one_goes),
        TEST(a_folder_that_cannot_be_written_leaves_all_as_it_was),
        TEST(a_copy_keeps_holes_times_and_permissions),
    };
    return cmocka_run_group_tests_name("library.trash", tests, NULL, NULL);
}
