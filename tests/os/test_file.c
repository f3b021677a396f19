/* Files, windows and locks: what os.h promises on every system. */
#include "support/check.h"
#include "support/scratch.h"

static tn_os_file open_file(const char *path, unsigned flags)
{
    tn_os_file file;
    assert_int_equal(tn_os_open(path, flags, &file, NULL), TN_OK);
    return file;
}

static void what_is_written_is_read_back_and_a_hole_is_zeros(void **state)
{
    (void)state;
    tn_os_file file = open_file(at("hole"), TN_OS_WRITE | TN_OS_CREATE);
    assert_int_equal(tn_os_write(&file, 5, "tail", 4, NULL), TN_OK);
    char bytes[16];
    size_t got = 99;
    assert_int_equal(tn_os_read(&file, 0, bytes, sizeof bytes, &got, NULL), TN_OK);
    assert_int_equal(got, 9);
    assert_memory_equal(bytes, "\0\0\0\0\0tail", 9);
    tn_os_close(&file);
}

static void reading_gives_fewer_bytes_only_at_the_end(void **state)
{
    (void)state;
    put_text(at("end"), "0123456789");
    tn_os_file file = open_file(at("end"), TN_OS_READ);
    static const struct {
        uint64_t offset;
        size_t got;
    } cases[] = {{0, 8}, {2, 8}, {3, 7}, {9, 1}, {10, 0}, {11, 0}, {(uint64_t)1 << 40, 0},
                 {INT64_MAX - 1, 0}, {INT64_MAX, 0}, {UINT64_MAX, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char bytes[8];
        size_t got = 99;
        assert_int_equal(tn_os_read(&file, cases[i].offset, bytes, sizeof bytes, &got, NULL), TN_OK);
        assert_int_equal(got, cases[i].got);
    }
    tn_os_close(&file);
}

static void bytes_behind_four_gib_are_reached(void **state)
{
    (void)state;
    const uint64_t far = ((uint64_t)5 << 30) + 123;
    tn_os_file file = open_file(at("far"), TN_OS_WRITE | TN_OS_CREATE);
    assert_int_equal(tn_os_write(&file, far, "here", 4, NULL), TN_OK);
    char bytes[8] = {0};
    size_t got;
    assert_int_equal(tn_os_read(&file, far - 2, bytes, sizeof bytes, &got, NULL), TN_OK);
    assert_int_equal(got, 6);
    assert_memory_equal(bytes, "\0\0here", 6);
    tn_os_info info;
    assert_int_equal(tn_os_info_of(&file, &info, NULL), TN_OK);
    assert_true(info.size == far + 4);
    tn_os_close(&file);
    assert_int_equal(tn_os_remove(at("far"), NULL), TN_OK);
}

static void a_refused_open_names_the_file_and_touches_nothing(void **state)
{
    (void)state;
    put_text(at("there"), "x");
    static const struct {
        const char *name;
        unsigned flags;
        tn_status status;
    } cases[] = {
        {"missing", TN_OS_READ, TN_NOT_FOUND},
        {"missing", TN_OS_WRITE, TN_NOT_FOUND},
        {"there/inside", TN_OS_READ, TN_NOT_FOUND},
        {"no/folder", TN_OS_WRITE | TN_OS_CREATE, TN_NOT_FOUND},
        {"there", TN_OS_WRITE | TN_OS_CREATE | TN_OS_EXCLUSIVE, TN_EXISTS},
        {"", TN_OS_READ, TN_NOT_A_FILE},
        {"", TN_OS_WRITE, TN_NOT_A_FILE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tn_os_file file;
        tn_os_file before;
        tn_error err;
        memset(&file, 0x5a, sizeof file);
        memcpy(&before, &file, sizeof file);
        assert_int_equal(tn_os_open(at(cases[i].name), cases[i].flags, &file, &err), cases[i].status);
        assert_memory_equal(&file, &before, sizeof file);
        assert_int_equal(err.status, cases[i].status);
        assert_string_equal(err.file, at(cases[i].name));
    }
    assert_text(at("there"), "x");
}

static void truncating_empties_and_creating_does_not(void **state)
{
    (void)state;
    put_text(at("cut"), "full");
    tn_os_file file = open_file(at("cut"), TN_OS_WRITE | TN_OS_CREATE);
    tn_os_close(&file);
    assert_text(at("cut"), "full");
    file = open_file(at("cut"), TN_OS_WRITE | TN_OS_TRUNCATE);
    tn_os_close(&file);
    assert_text(at("cut"), "");
}

static void resizing_cuts_and_adds_zeros(void **state)
{
    (void)state;
    put_text(at("size"), "abcdef");
    tn_os_file file = open_file(at("size"), TN_OS_WRITE);
    assert_int_equal(tn_os_resize(&file, 2, NULL), TN_OK);
    assert_int_equal(tn_os_resize(&file, 4, NULL), TN_OK);
    char bytes[8];
    size_t got;
    assert_int_equal(tn_os_read(&file, 0, bytes, sizeof bytes, &got, NULL), TN_OK);
    assert_int_equal(got, 4);
    assert_memory_equal(bytes, "ab\0\0", 4);
    assert_int_not_equal(tn_os_resize(&file, UINT64_MAX, NULL), TN_OK);
    tn_os_close(&file);
}

static void a_file_says_who_it_is(void **state)
{
    (void)state;
    put_text(at("one"), "12345");
    put_text(at("two"), "12345");
    tn_os_info one, two, again;
    assert_int_equal(tn_os_info_at(at("one"), true, &one, NULL), TN_OK);
    assert_int_equal(tn_os_info_at(at("two"), true, &two, NULL), TN_OK);
    assert_int_equal(one.kind, TN_OS_REGULAR);
    assert_int_equal(one.size, 5);
    assert_int_equal(one.links, 1);
    assert_false(one.placeholder);
    assert_true(llabs(one.mtime_ns - tn_os_wall_ns()) < 120ll * 1000000000);
    assert_true(one.file_id[0] != two.file_id[0] || one.file_id[1] != two.file_id[1]);
    assert_true(one.device == two.device);
    tn_os_file file = open_file(at("one"), TN_OS_READ);
    assert_int_equal(tn_os_rename(at("one"), at("three"), false, NULL), TN_OK);
    assert_int_equal(tn_os_info_of(&file, &again, NULL), TN_OK);
    assert_memory_equal(again.file_id, one.file_id, sizeof one.file_id);
    assert_true(again.device == one.device || again.weak_identity); /* Wine forgets the volume of a renamed file */
    assert_true(again.mtime_ns == one.mtime_ns);
    uint64_t size;
    int64_t mtime_ns;
    assert_int_equal(tn_os_stamp_of(&file, &size, &mtime_ns, NULL), TN_OK);
    assert_true(size == one.size && mtime_ns == one.mtime_ns);
    tn_os_close(&file);
    assert_int_equal(tn_os_info_at(scratch_folder, true, &one, NULL), TN_OK);
    assert_int_equal(one.kind, TN_OS_FOLDER);
}

static void an_open_file_may_be_renamed_and_deleted_by_others(void **state)
{
    (void)state;
    put_text(at("held"), "still here");
    tn_os_file file = open_file(at("held"), TN_OS_READ);
    assert_int_equal(tn_os_rename(at("held"), at("moved"), true, NULL), TN_OK);
    assert_int_equal(tn_os_remove(at("moved"), NULL), TN_OK);
    char bytes[32] = {0};
    size_t got;
    assert_int_equal(tn_os_read(&file, 0, bytes, sizeof bytes, &got, NULL), TN_OK);
    assert_string_equal(bytes, "still here");
    tn_os_close(&file);
}

static void closing_twice_or_nothing_is_harmless(void **state)
{
    (void)state;
    put_text(at("twice"), "x");
    tn_os_file file = open_file(at("twice"), TN_OS_READ);
    tn_os_close(&file);
    tn_os_close(&file);
    tn_os_close(NULL);
    tn_os_file never = {0};
    tn_os_close(&never);
    assert_false(file.open);
}

static void a_window_shows_the_bytes_of_the_file(void **state)
{
    (void)state;
    enum { SIZE = 300000 };
    uint8_t *bytes = malloc(SIZE);
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (uint8_t)(i * 31 >> 3);
    put_file(at("window"), bytes, SIZE);
    tn_os_file file = open_file(at("window"), TN_OS_READ);
    static const size_t offsets[] = {0, 1, 4095, 4096, 65535, 65536, 65537, 200000, SIZE - 1};
    for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
        tn_os_window window;
        size_t size = SIZE - offsets[i];
        assert_int_equal(tn_os_window_open(&file, offsets[i], size, &window, NULL), TN_OK);
        assert_int_equal(window.size, size);
        assert_memory_equal(window.bytes, bytes + offsets[i], size);
        tn_os_window_close(&window);
    }
    tn_os_close(&file);
    free(bytes);
}

static void a_window_past_the_end_is_refused(void **state)
{
    (void)state;
    put_text(at("short"), "0123456789");
    tn_os_file file = open_file(at("short"), TN_OS_READ);
    tn_os_window window = {.size = 77};
    tn_error err;
    assert_int_equal(tn_os_window_open(&file, 4, 7, &window, &err), TN_TRUNCATED);
    assert_int_equal(err.expected, 7);
    assert_int_equal(err.found, 6);
    assert_int_equal(tn_os_window_open(&file, UINT64_MAX, 2, &window, NULL), TN_TRUNCATED);
    assert_int_equal(tn_os_window_open(&file, 11, 0, &window, NULL), TN_TRUNCATED);
    assert_int_equal(window.size, 77);
    assert_int_equal(tn_os_window_open(&file, 10, 0, &window, NULL), TN_OK);
    assert_int_equal(window.size, 0);
    assert_non_null(window.bytes);
    tn_os_window_close(&window);
    tn_os_window_close(&window);
    tn_os_close(&file);
}

static void a_lock_excludes_every_other_handle_but_not_other_slots(void **state)
{
    (void)state;
    put_text(at("lock"), "");
    tn_os_file one = open_file(at("lock"), TN_OS_WRITE);
    tn_os_file two = open_file(at("lock"), TN_OS_WRITE);
    assert_int_equal(tn_os_lock(&one, 7, NULL), TN_OK);
    assert_int_equal(tn_os_lock(&two, 7, NULL), TN_BUSY);
    assert_int_equal(tn_os_lock(&two, 8, NULL), TN_OK);
    assert_int_equal(tn_os_lock(&two, (uint64_t)1 << 40, NULL), TN_OK);
    tn_os_unlock(&one, 7);
    assert_int_equal(tn_os_lock(&two, 7, NULL), TN_OK);
    assert_int_equal(tn_os_lock(&one, 7, NULL), TN_BUSY);
    tn_os_close(&two);
    assert_int_equal(tn_os_lock(&one, 7, NULL), TN_OK);
    tn_os_close(&one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_back_and_a_hole_is_zeros),
        cmocka_unit_test(reading_gives_fewer_bytes_only_at_the_end),
        cmocka_unit_test(bytes_behind_four_gib_are_reached),
        cmocka_unit_test(a_refused_open_names_the_file_and_touches_nothing),
        cmocka_unit_test(truncating_empties_and_creating_does_not),
        cmocka_unit_test(resizing_cuts_and_adds_zeros),
        cmocka_unit_test(a_file_says_who_it_is),
        cmocka_unit_test(an_open_file_may_be_renamed_and_deleted_by_others),
        cmocka_unit_test(closing_twice_or_nothing_is_harmless),
        cmocka_unit_test(a_window_shows_the_bytes_of_the_file),
        cmocka_unit_test(a_window_past_the_end_is_refused),
        cmocka_unit_test(a_lock_excludes_every_other_handle_but_not_other_slots),
    };
    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
