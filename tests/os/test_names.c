/* Names and folders: what os.h promises on every system. */
#include "support/check.h"
#include "support/scratch.h"

static void folders_are_made_with_their_parents(void **state)
{
    (void)state;
    assert_int_equal(tn_os_make_folder(at("a/b"), NULL), TN_NOT_FOUND);
    assert_int_equal(tn_os_make_folders(at("a/b//c/"), NULL), TN_OK);
    assert_true(is_there(at("a/b/c")));
    assert_int_equal(tn_os_make_folders(at("a/b/c"), NULL), TN_OK);
    assert_int_equal(tn_os_make_folder(at("a/b"), NULL), TN_EXISTS);
    put_text(at("a/file"), "x");
    assert_int_equal(tn_os_make_folders(at("a/file"), NULL), TN_EXISTS);
    assert_int_not_equal(tn_os_make_folders(at("a/file/below"), NULL), TN_OK);
}

static void only_an_empty_folder_is_removed(void **state)
{
    (void)state;
    assert_int_equal(tn_os_make_folders(at("full/inner"), NULL), TN_OK);
    assert_int_equal(tn_os_remove_folder(at("full"), NULL), TN_EXISTS);
    assert_int_equal(tn_os_remove_folder(at("full/inner"), NULL), TN_OK);
    assert_int_equal(tn_os_remove_folder(at("full"), NULL), TN_OK);
    assert_false(is_there(at("full")));
    assert_int_equal(tn_os_remove_folder(at("full"), NULL), TN_NOT_FOUND);
}

static void removing_takes_files_and_never_folders(void **state)
{
    (void)state;
    assert_int_equal(tn_os_make_folder(at("keep"), NULL), TN_OK);
    assert_int_not_equal(tn_os_remove(at("keep"), NULL), TN_OK);
    assert_true(is_there(at("keep")));
    put_text(at("gone"), "x");
    assert_int_equal(tn_os_remove(at("gone"), NULL), TN_OK);
    tn_error err;
    assert_int_equal(tn_os_remove(at("gone"), &err), TN_NOT_FOUND);
    assert_string_equal(err.file, at("gone"));
}

static void renaming_replaces_only_when_told_to(void **state)
{
    (void)state;
    put_text(at("from"), "new");
    put_text(at("to"), "old");
    tn_error err;
    assert_int_equal(tn_os_rename(at("from"), at("to"), false, &err), TN_EXISTS);
    assert_text(at("to"), "old");
    assert_text(at("from"), "new");
    assert_int_equal(tn_os_rename(at("from"), at("to"), true, NULL), TN_OK);
    assert_text(at("to"), "new");
    assert_false(is_there(at("from")));
    assert_int_equal(tn_os_rename(at("to"), at("third"), false, NULL), TN_OK);
    assert_text(at("third"), "new");
    assert_int_equal(tn_os_rename(at("to"), at("third"), true, NULL), TN_NOT_FOUND);
}

static void replacing_a_file_leaves_the_new_bytes_and_nothing_else(void **state)
{
    (void)state;
    assert_int_equal(tn_os_make_folder(at("swap"), NULL), TN_OK);
    assert_int_equal(tn_os_replace_file(at("swap/file"), "first", 5, NULL), TN_OK);
    assert_text(at("swap/file"), "first");
    assert_int_equal(tn_os_replace_file(at("swap/file"), "2", 1, NULL), TN_OK);
    assert_text(at("swap/file"), "2");
    assert_int_equal(tn_os_replace_file(at("swap/file"), NULL, 0, NULL), TN_OK);
    assert_text(at("swap/file"), "");
    assert_int_equal(entries_in(at("swap")), 1);
    tn_error err;
    assert_int_equal(tn_os_replace_file(at("nowhere/file"), "x", 1, &err), TN_NOT_FOUND);
    assert_string_equal(err.file, at("nowhere/file"));
}

static void a_folder_is_walked_whole_without_dots(void **state)
{
    (void)state;
    char name[64];
    assert_int_equal(tn_os_make_folders(at("walk/inner"), NULL), TN_OK);
    for (unsigned i = 0; i < 300; i++) {
        snprintf(name, sizeof name, "walk/file%03u", i);
        put_text(at(name), "");
    }
    bool seen[300] = {false};
    unsigned folders = 0;
    tn_os_folder *folder;
    tn_os_entry entry;
    bool more = true;
    assert_int_equal(tn_os_folder_open(&scratch_memory, at("walk"), &folder, NULL), TN_OK);
    while (tn_os_folder_next(folder, &entry, &more, NULL) == TN_OK && more) {
        if (entry.kind == TN_OS_FOLDER) {
            assert_string_equal(entry.name, "inner");
            folders++;
            continue;
        }
        assert_int_equal(entry.kind, TN_OS_REGULAR);
        unsigned number = (unsigned)strtoul(entry.name + 4, NULL, 10);
        assert_in_range(number, 0, 299);
        assert_false(seen[number]);
        seen[number] = true;
    }
    assert_false(more);
    more = true;
    assert_int_equal(tn_os_folder_next(folder, &entry, &more, NULL), TN_OK);
    assert_false(more);
    tn_os_folder_close(folder);
    assert_int_equal(folders, 1);
    for (unsigned i = 0; i < 300; i++)
        assert_true(seen[i]);
}

static void walking_what_is_no_folder_is_refused(void **state)
{
    (void)state;
    tn_os_folder *folder = NULL;
    tn_error err;
    put_text(at("plain"), "x");
    assert_int_equal(tn_os_folder_open(&scratch_memory, at("plain"), &folder, &err), TN_NOT_A_FILE);
    assert_string_equal(err.file, at("plain"));
    assert_int_equal(tn_os_folder_open(&scratch_memory, at("absent"), &folder, NULL), TN_NOT_FOUND);
    assert_null(folder);
    tn_os_folder_close(NULL);
    assert_int_equal(entries_in(at("walk/inner")), 0);
}

static void names_from_every_script_work(void **state)
{
    (void)state;
    static const char *const names[] = {
        "with space", "\xD0\xBC\xD0\xBE\xD0\xB4\xD0\xB5\xD0\xBB\xD1\x8C.safetensors", "\xE6\xA8\xA1\xE5\x9E\x8B",
        "\xF0\x9F\xA6\x8A.gguf", "e\xCC\x81", "'quoted'", "-dash", ".hidden", "%PATH%", "$HOME", "a&b;c",
    };
    assert_int_equal(tn_os_make_folder(at("names"), NULL), TN_OK);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char inner[128];
        snprintf(inner, sizeof inner, "names/%s", names[i]);
        put_text(at(inner), names[i]);
        assert_text(at(inner), names[i]);
    }
    tn_os_folder *folder;
    tn_os_entry entry;
    bool more;
    size_t found = 0;
    assert_int_equal(tn_os_folder_open(&scratch_memory, at("names"), &folder, NULL), TN_OK);
    while (tn_os_folder_next(folder, &entry, &more, NULL) == TN_OK && more) {
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            found += strcmp(entry.name, names[i]) == 0;
    }
    tn_os_folder_close(folder);
    assert_int_equal(found, sizeof names / sizeof names[0]);
}

/* 255 bytes on ext4 and most others, 255 UTF-16 units on NTFS: the same for ASCII. */
static void a_name_of_255_works_and_of_256_is_refused(void **state)
{
    (void)state;
    char name[257];
    memset(name, 'n', 256);
    name[256] = 0;
    tn_os_file file;
    tn_error err;
    assert_int_equal(tn_os_open(at(name), TN_OS_WRITE | TN_OS_CREATE, &file, &err), TN_BAD_PATH);
    assert_int_equal(tn_os_make_folder(at(name), NULL), TN_BAD_PATH);
    name[255] = 0;
    put_text(at(name), "long");
    assert_text(at(name), "long");
    assert_int_equal(tn_os_replace_file(at(name), "replaced", 8, NULL), TN_OK);
    assert_text(at(name), "replaced");
    assert_int_equal(tn_os_remove(at(name), NULL), TN_OK);
}

static void paths_are_made_absolute_and_real(void **state)
{
    (void)state;
    tn_buffer one, two;
    tn_buffer_init(&one, &scratch_memory, 70000);
    tn_buffer_init(&two, &scratch_memory, 70000);
    put_text(at("real"), "x");
    assert_int_equal(tn_os_absolute_path(at("walk/../real"), &one, NULL), TN_OK);
    assert_int_equal(tn_os_absolute_path(at("./real"), &two, NULL), TN_OK);
    assert_string_equal(one.bytes, two.bytes);
    assert_text(one.bytes, "x");
    tn_buffer_clear(&one);
    tn_buffer_clear(&two);
    assert_int_equal(tn_os_real_path(at("walk/../real"), &one, NULL), TN_OK);
    assert_int_equal(tn_os_real_path(at("real"), &two, NULL), TN_OK);
    assert_string_equal(one.bytes, two.bytes);
    assert_text(one.bytes, "x");
    tn_buffer_clear(&one);
    assert_int_equal(tn_os_real_path(at("absent"), &one, NULL), TN_NOT_FOUND);
    assert_int_equal(one.size, 0);
    assert_int_equal(tn_os_absolute_path("relative", &one, NULL), TN_OK);
    assert_true(one.size > strlen("relative") + 1);
    tn_buffer_free(&one);
    tn_buffer_free(&two);
}

static void a_path_too_long_for_its_buffer_is_told(void **state)
{
    (void)state;
    tn_buffer small;
    tn_buffer_init(&small, &scratch_memory, 4);
    assert_int_equal(tn_os_absolute_path(at("real"), &small, NULL), TN_LIMIT);
    tn_buffer_free(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folders_are_made_with_their_parents),
        cmocka_unit_test(only_an_empty_folder_is_removed),
        cmocka_unit_test(removing_takes_files_and_never_folders),
        cmocka_unit_test(renaming_replaces_only_when_told_to),
        cmocka_unit_test(replacing_a_file_leaves_the_new_bytes_and_nothing_else),
        cmocka_unit_test(a_folder_is_walked_whole_without_dots),
        cmocka_unit_test(walking_what_is_no_folder_is_refused),
        cmocka_unit_test(names_from_every_script_work),
        cmocka_unit_test(a_name_of_255_works_and_of_256_is_refused),
        cmocka_unit_test(paths_are_made_absolute_and_real),
        cmocka_unit_test(a_path_too_long_for_its_buffer_is_told),
    };
    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
