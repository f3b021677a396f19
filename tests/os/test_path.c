/* Paths as text, for both families of systems on any machine. */
#include "support/check.h"
#include "support/scratch.h"

#include "os/os_path.h"

static tn_buffer out;

static int begin(void **state)
{
    (void)state;
    tn_budget_init(&scratch_budget, UINT64_MAX);
    scratch_memory = (tn_memory_source){tn_allocator_system(), &scratch_budget};
    tn_buffer_init(&out, &scratch_memory, 4096);
    return 0;
}

static int end(void **state)
{
    (void)state;
    tn_buffer_free(&out);
    return 0;
}

static void posix_paths_lose_dots_and_double_separators(void **state)
{
    (void)state;
    static const struct {
        const char *path, *absolute;
    } cases[] = {
        {"/", "/"}, {"//", "/"}, {"/a", "/a"}, {"/a/", "/a"}, {"//a///b//", "/a/b"}, {"/a/./b/.", "/a/b"},
        {"/a/../b", "/b"}, {"/..", "/"}, {"/../../a", "/a"}, {"/a/b/../..", "/"}, {"/a/b/../../c", "/c"},
        {"x", "/home/me/x"}, {"", "/home/me"}, {".", "/home/me"}, {"..", "/home"}, {"../..", "/"}, {"../../..", "/"},
        {"./x/../y", "/home/me/y"}, {"/...", "/..."}, {"/.a", "/.a"}, {"/a..", "/a.."}, {"/ ", "/ "},
        {"a\\b", "/home/me/a\\b"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tn_buffer_clear(&out);
        tn_os_path_absolute_posix(cases[i].path, "/home/me", &out);
        assert_string_equal(out.bytes, cases[i].absolute);
        assert_int_equal(out.size, strlen(cases[i].absolute));
    }
}

static void a_working_folder_at_the_root_adds_nothing(void **state)
{
    (void)state;
    tn_buffer_clear(&out);
    tn_os_path_absolute_posix("x", "/", &out);
    assert_string_equal(out.bytes, "/x");
}

static void windows_paths_keep_their_root(void **state)
{
    (void)state;
    static const struct {
        const char *path, *absolute;
    } cases[] = {
        {"C:\\", "C:\\"}, {"C:/", "C:\\"}, {"c:/a/b", "c:\\a\\b"}, {"C:\\a\\..\\..\\b", "C:\\b"},
        {"C:\\a\\.\\b\\", "C:\\a\\b"}, {"C:\\nul.safetensors", "C:\\nul.safetensors"},
        {"C:\\trailing. ", "C:\\trailing. "}, {"x", "D:\\me\\here\\x"}, {"", "D:\\me\\here"}, {"..", "D:\\me"},
        {"..\\..\\..", "D:\\"}, {"\\x", "D:\\x"}, {"/x/y", "D:\\x\\y"}, {"D:x", "D:\\me\\here\\x"},
        {"d:x", "D:\\me\\here\\x"}, {"E:x", "E:\\x"}, {"\\\\server\\share\\a\\..\\..\\b", "\\\\server\\share\\b"},
        {"//server/share/a", "\\\\server\\share\\a"}, {"\\\\server\\share", "\\\\server\\share\\"},
        {"\\\\?\\C:\\a\\..\\b", "\\\\?\\C:\\a\\..\\b"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tn_buffer_clear(&out);
        assert_true(tn_os_path_absolute_windows(cases[i].path, "D:\\me\\here", &out));
        assert_string_equal(out.bytes, cases[i].absolute);
    }
}

static void windows_devices_and_streams_are_no_files(void **state)
{
    (void)state;
    static const char *const refused[] = {"\\\\.\\PhysicalDrive0", "//./COM1", "//?/C:/x", "C:\\a:stream",
                                          "file:stream", "C:a:b", "x:y:z", "\\\\server\\share\\a:b"};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        tn_buffer_clear(&out);
        assert_false(tn_os_path_absolute_windows(refused[i], "D:\\me", &out));
        assert_int_equal(out.size, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(posix_paths_lose_dots_and_double_separators),
        cmocka_unit_test(a_working_folder_at_the_root_adds_nothing),
        cmocka_unit_test(windows_paths_keep_their_root),
        cmocka_unit_test(windows_devices_and_streams_are_no_files),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
