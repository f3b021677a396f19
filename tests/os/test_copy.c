/* Copying, space and links: what os.h promises of them. */
#include "support/check.h"
#include "support/scratch.h"

#include "os/os_fault.h"
#include "os/os_trash.h"

static void space_is_told_of_a_folder_that_is_there(void **state)
{
    (void)state;
    uint64_t bytes = 0;
    tn_error err;
    assert_int_equal(tn_os_space(scratch_folder, &bytes, &err), TN_OK);
    assert_true(bytes > 1 << 20);
    assert_int_equal(tn_os_space(at("not there"), &bytes, &err), TN_NOT_FOUND);
}

static void runs_of_data_cover_what_was_written(void **state)
{
    (void)state;
    tn_os_file file;
    uint64_t begin = 0, end = 0, covered = 0;
    const uint64_t far = 8u << 20, size = 16u << 20;
    assert_int_equal(tn_os_open(at("sparse"), TN_OS_WRITE | TN_OS_CREATE, &file, NULL), TN_OK);
    assert_int_equal(tn_os_write(&file, far, "data", 4, NULL), TN_OK);
    assert_int_equal(tn_os_resize(&file, size, NULL), TN_OK);
    bool found = false;
    for (uint64_t offset = 0;; offset = end) {
        assert_int_equal(tn_os_next_data(&file, offset, &begin, &end, NULL), TN_OK);
        if (begin == end)
            break;
        assert_true(begin >= offset && end <= size);
        found = found || (begin <= far && end >= far + 4);
        covered += end - begin;
    }
    assert_true(found);
    assert_true(covered <= size);
    assert_int_equal(tn_os_next_data(&file, size, &begin, &end, NULL), TN_OK);
    assert_true(begin == end);
    assert_int_equal(tn_os_next_data(&file, UINT64_MAX, &begin, &end, NULL), TN_OK);
    assert_true(begin == end);
    tn_os_close(&file);
}

static void attributes_follow(void **state)
{
    (void)state;
    tn_os_file from, to;
    tn_os_info before, after;
    put_text(at("from"), "x");
    tn_os_sleep_ms(20);
    put_text(at("to"), "x");
    assert_int_equal(tn_os_open(at("from"), TN_OS_READ, &from, NULL), TN_OK);
    assert_int_equal(tn_os_open(at("to"), TN_OS_WRITE, &to, NULL), TN_OK);
    assert_int_equal(tn_os_keep_attributes(&from, &to, NULL), TN_OK);
    assert_int_equal(tn_os_info_of(&from, &before, NULL), TN_OK);
    assert_int_equal(tn_os_info_of(&to, &after, NULL), TN_OK);
    assert_true(before.mtime_ns == after.mtime_ns);
    tn_os_close(&from);
    tn_os_close(&to);
}

/* Shared or not: TN_UNAVAILABLE leaves the file empty, and nothing else is an answer here. */
static void sharing_gives_all_bytes_or_none(void **state)
{
    (void)state;
    tn_os_file from, to;
    tn_error err;
    put_text(at("whole"), "some bytes");
    assert_int_equal(tn_os_open(at("whole"), TN_OS_READ, &from, NULL), TN_OK);
    assert_int_equal(tn_os_open(at("clone"), TN_OS_WRITE | TN_OS_CREATE, &to, NULL), TN_OK);
    tn_status status = tn_os_share_data(&from, &to, &err);
    tn_os_forget_cached(&to);
    tn_os_close(&from);
    tn_os_close(&to);
    assert_true(status == TN_OK || status == TN_UNAVAILABLE);
    assert_text(at("clone"), status == TN_OK ? "some bytes" : "");
}

static tn_status refuse(void *user, const tn_os_call *call)
{
    const tn_os_operation *operation = user;
    return call->operation == *operation ? TN_IO : TN_OK;
}

static void a_hook_may_fail_each_of_them(void **state)
{
    (void)state;
    tn_os_file file;
    uint64_t number = 0, other = 0;
    tn_error err;
    tn_buffer text, note;
    tn_buffer_init(&text, &scratch_memory, 4096);
    tn_buffer_init(&note, &scratch_memory, 4096);
    put_text(at("hooked"), "x");
    assert_int_equal(tn_os_open(at("hooked"), TN_OS_WRITE, &file, NULL), TN_OK);
    for (unsigned i = TN_OP_SHARE_DATA; i <= TN_OP_TRASH; i++) {
        tn_os_operation operation = (tn_os_operation)i;
        const tn_os_hooks hooks = {.before = refuse, .user = &operation};
        tn_os_set_hooks(&hooks);
        const tn_status found[] = {
            [0] = tn_os_share_data(&file, &file, &err),
            [1] = tn_os_next_data(&file, 0, &number, &other, &err),
            [2] = tn_os_keep_attributes(&file, &file, &err),
            [3] = tn_os_space(scratch_folder, &number, &err),
            [4] = tn_os_read_link(at("hooked"), &text, &err),
            [5] = operation == TN_OP_MAKE_LINK ? tn_os_make_link(at("link"), "x", &err) : TN_OK,
            [6] = operation == TN_OP_TRASH ? tn_os_trash_reserve(at("hooked"), &text, &note, &err) : TN_OK,
        };
        tn_os_set_hooks(NULL);
        assert_int_equal(found[i - TN_OP_SHARE_DATA], TN_IO);
        assert_string_not_equal(tn_os_operation_name(operation), "unknown");
    }
    tn_os_close(&file);
    tn_buffer_free(&text);
    tn_buffer_free(&note);
}

/* ---- the trash's texts ---- */

static void assert_made(tn_buffer *text, const char *expected)
{
    assert_string_equal(text->bytes, expected);
    tn_buffer_free(text);
}

/* RFC 2396, 2.4: what is not unreserved is escaped, byte for byte. */
static void a_note_escapes_its_path(void **state)
{
    (void)state;
    tn_buffer text;
    tn_buffer_init(&text, &scratch_memory, 4096);
    tn_os_trash_note(&text, "/a b/\xc3\xa9%\n~(1)", "2026-01-31T23:59:59");
    assert_made(&text, "[Trash Info]\nPath=/a%20b/%C3%A9%25%0A~(1)\nDeletionDate=2026-01-31T23:59:59\n");
}

static void a_name_in_the_trash_fits_with_its_suffix(void **state)
{
    (void)state;
    char name[256];
    tn_buffer text;
    tn_buffer_init(&text, &scratch_memory, 4096);
    tn_os_trash_name(&text, "x", 1);
    assert_made(&text, "x");
    tn_os_trash_name(&text, "x", 12);
    assert_made(&text, "x.12");
    memset(name, 'n', 255);
    name[229] = (char)0xc3; /* a character that the cut at 230 would part */
    name[230] = (char)0xa9;
    name[255] = 0;
    tn_os_trash_name(&text, name, 9999);
    assert_int_equal(text.size, 229 + 5);
    assert_true(text.size + strlen(".trashinfo") <= 255);
    tn_buffer_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(space_is_told_of_a_folder_that_is_there),
        cmocka_unit_test(runs_of_data_cover_what_was_written),
        cmocka_unit_test(attributes_follow),
        cmocka_unit_test(sharing_gives_all_bytes_or_none),
        cmocka_unit_test(a_hook_may_fail_each_of_them),
        cmocka_unit_test(a_note_escapes_its_path),
        cmocka_unit_test(a_name_in_the_trash_fits_with_its_suffix),
    };
    return cmocka_run_group_tests_name("os.copy", tests, scratch_begin, scratch_end);
}
