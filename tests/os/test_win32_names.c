/* What only Windows can show: names it reserves, long paths, lone surrogates, sections, arguments in any script, and
 * how its files are shared. */
#include "support/check.h"
#include "support/scratch.h"

#include <windows.h>

#include <shellapi.h>

#include "os/os_fault.h"
#include "os/os_wtf8.h"

static void names_that_windows_keeps_for_itself_are_names_like_others(void **state)
{
    (void)state;
    static const char *const names[] = {"nul", "NUL.safetensors", "con", "con.txt", "aux.gguf", "com1", "LPT9.bin",
                                        "trailing.", "trailing ", "dots...", ".", " leading"};
    assert_int_equal(tn_os_make_folder(at("odd"), NULL), TN_OK);
    size_t count = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char inner[64];
        if (strcmp(names[i], ".") == 0)
            continue;
        snprintf(inner, sizeof inner, "odd/%s", names[i]);
        put_text(at(inner), names[i]);
        assert_text(at(inner), names[i]);
        count++;
    }
    assert_int_equal(entries_in(at("odd")), count);
}

static void streams_devices_and_wild_cards_are_bad_paths(void **state)
{
    (void)state;
    static const char *const names[] = {"file:stream", "a<b>", "a|b", "what?", "all*", "quo\"te"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        tn_os_file file;
        tn_error err;
        assert_int_equal(tn_os_open(at(names[i]), TN_OS_WRITE | TN_OS_CREATE, &file, &err), TN_BAD_PATH);
        assert_string_equal(err.file, at(names[i]));
    }
    tn_os_file file;
    assert_int_equal(tn_os_open("\\\\.\\NUL", TN_OS_READ, &file, NULL), TN_BAD_PATH);
    assert_int_equal(tn_os_open("\xff\xfe", TN_OS_READ, &file, NULL), TN_BAD_PATH);
}

static void a_path_past_260_is_nothing_special(void **state)
{
    (void)state;
    char path[2000] = "";
    for (int i = 0; i < 10; i++)
        strcat(path, "a-folder-with-a-name-of-some-fifty-characters-in-it/");
    assert_int_equal(tn_os_make_folders(at(path), NULL), TN_OK);
    strcat(path, "file");
    put_text(at(path), "deep");
    assert_text(at(path), "deep");
    assert_int_equal(tn_os_replace_file(at(path), "new", 3, NULL), TN_OK);
    assert_text(at(path), "new");
    tn_buffer real;
    tn_buffer_init(&real, &scratch_memory, 200000);
    tn_status status = tn_os_real_path(at(path), &real, NULL);
    if (status != TN_UNAVAILABLE) { /* Wine 8 gives no final path past 260 */
        assert_int_equal(status, TN_OK);
        assert_true(real.size > 500 && real.bytes[1] == ':');
        assert_text(real.bytes, "new");
    }
    tn_buffer_free(&real);
}

static void a_path_past_32767_is_refused(void **state)
{
    (void)state;
    static char path[40000];
    size_t size = 0;
    while (size < sizeof path - 3) {
        path[size++] = 'a';
        path[size++] = '/';
    }
    tn_os_file file;
    assert_int_equal(tn_os_open(path, TN_OS_READ, &file, NULL), TN_BAD_PATH);
    assert_int_equal(tn_os_make_folders(path, NULL), TN_BAD_PATH);
}

static void a_window_is_read_only_and_never_copied_on_write(void **state)
{
    (void)state;
    put_text(at("mapped"), "mapped");
    tn_os_file file;
    tn_os_window window;
    MEMORY_BASIC_INFORMATION info;
    assert_int_equal(tn_os_open(at("mapped"), TN_OS_WRITE, &file, NULL), TN_OK);
    assert_int_equal(tn_os_window_open(&file, 0, 6, &window, NULL), TN_OK);
    assert_true(VirtualQuery(window.bytes, &info, sizeof info) == sizeof info);
    assert_int_equal(info.Protect, PAGE_READONLY);
    assert_int_equal(info.AllocationProtect, PAGE_READONLY);
    assert_int_equal(tn_os_resize(&file, 1, NULL), TN_BUSY); /* a mapped file cannot be cut */
    tn_os_window_close(&window);
    assert_int_equal(tn_os_resize(&file, 1, NULL), TN_OK);
    tn_os_close(&file);
}

static void a_file_that_another_program_keeps_to_itself_is_busy(void **state)
{
    (void)state;
    put_text(at("alone"), "x");
    wchar_t wide[1024];
    size_t count = tn_os_utf16_from_wtf8(at("alone"), strlen(at("alone")), wide, 1023);
    wide[count] = 0;
    HANDLE other = CreateFileW(wide, GENERIC_READ, 0, NULL, OPEN_EXISTING, 0, NULL);
    assert_true(other != INVALID_HANDLE_VALUE);
    tn_os_file file;
    tn_error err;
    assert_int_equal(tn_os_open(at("alone"), TN_OS_READ, &file, &err), TN_BUSY);
    assert_string_equal(err.file, at("alone"));
    assert_int_equal(tn_os_remove(at("alone"), NULL), TN_BUSY);
    CloseHandle(other);
    assert_int_equal(tn_os_open(at("alone"), TN_OS_READ, &file, NULL), TN_OK);
    tn_os_close(&file);
}

/* An open target may not be replaced on every Windows; then the old one is set aside. Either way the name leads to
 * the new bytes, and who had the old file open still reads it. */
static void a_file_that_is_open_can_be_replaced(void **state)
{
    (void)state;
    assert_int_equal(tn_os_make_folder(at("open"), NULL), TN_OK);
    put_text(at("open/file"), "old");
    tn_os_file file;
    assert_int_equal(tn_os_open(at("open/file"), TN_OS_READ, &file, NULL), TN_OK);
    assert_int_equal(tn_os_replace_file(at("open/file"), "new", 3, NULL), TN_OK);
    char bytes[4] = {0};
    size_t got;
    assert_int_equal(tn_os_read(&file, 0, bytes, 3, &got, NULL), TN_OK);
    assert_string_equal(bytes, "old");
    assert_text(at("open/file"), "new");
    tn_os_close(&file);
    assert_int_equal(entries_in(at("open")), 1);
}

static tn_buffer program;

static tn_os_exit run_self(const char *how, const char *argument)
{
    const char *argv[] = {program.bytes, how, argument, NULL};
    tn_os_exit result = {0};
    assert_int_equal(tn_os_run(argv, &result, NULL), TN_OK);
    return result;
}

static const char *const scripts[] = {"\xD0\xBC\xD0\xBE\xD0\xB4 \xD0\xB5", "\xF0\x9F\xA6\x8A", "\xed\xa0\x80"};

static void arguments_arrive_in_any_script(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        const char *argv[] = {program.bytes, i == 0 ? "--is-0" : i == 1 ? "--is-1" : "--is-2", scripts[i], NULL};
        tn_os_exit how;
        assert_int_equal(tn_os_run(argv, &how, NULL), TN_OK);
        assert_int_equal(how.code, 7);
    }
}

static void points_kill_and_crash_where_they_are_told_to(void **state)
{
    (void)state;
    assert_int_equal(run_self("--points", NULL).code, 0);
    SetEnvironmentVariableW(L"TENURE_TEST_KILL", L"here:2");
    tn_os_exit killed = run_self("--points", NULL);
    SetEnvironmentVariableW(L"TENURE_TEST_KILL", NULL);
    assert_true(killed.killed && !killed.by_itself_dead);
    SetEnvironmentVariableW(L"TENURE_TEST_CRASH", L"deadly");
    tn_os_exit crashed = run_self("--points", NULL);
    SetEnvironmentVariableW(L"TENURE_TEST_CRASH", NULL);
    assert_true(crashed.by_itself_dead && !crashed.killed);
    assert_int_equal((unsigned)crashed.code, 0xc0000005);
}

static void a_lock_ends_with_the_process_that_had_it(void **state)
{
    (void)state;
    put_text(at("lock"), "");
    tn_os_file file;
    assert_int_equal(run_self("--lock-and-die", at("lock")).code, (int)STATUS_CONTROL_C_EXIT);
    assert_int_equal(tn_os_open(at("lock"), TN_OS_WRITE, &file, NULL), TN_OK);
    assert_int_equal(tn_os_lock(&file, 3, NULL), TN_OK);
    assert_int_equal(run_self("--try-lock", at("lock")).code, 8);
    tn_os_unlock(&file, 3);
    assert_int_equal(run_self("--try-lock", at("lock")).code, 7);
    tn_os_close(&file);
}

/* The whole argument as the system has it: main's may have passed through a code page. */
static int is_script(size_t number)
{
    int count;
    char bytes[64] = {0};
    wchar_t **wide = CommandLineToArgvW(GetCommandLineW(), &count);
    if (wide == NULL || count != 3)
        return 1;
    tn_os_wtf8_from_utf16(wide[2], wcslen(wide[2]), bytes, sizeof bytes - 1);
    LocalFree(wide);
    return strcmp(bytes, scripts[number]) == 0 ? 7 : 2;
}

static int lock_in_child(const char *path, bool die)
{
    tn_os_file file;
    if (tn_os_open(path, TN_OS_WRITE, &file, NULL) != TN_OK)
        return 1;
    tn_status status = tn_os_lock(&file, 3, NULL);
    if (status == TN_OK && die)
        TerminateProcess(GetCurrentProcess(), (UINT)STATUS_CONTROL_C_EXIT);
    tn_os_close(&file);
    return status == TN_OK ? 7 : status == TN_BUSY ? 8 : 2;
}

static int child(char **argv)
{
    if (strncmp(argv[1], "--is-", 5) == 0)
        return is_script((size_t)(argv[1][5] - '0'));
    if (strcmp(argv[1], "--lock-and-die") == 0)
        return lock_in_child(argv[2], true);
    if (strcmp(argv[1], "--try-lock") == 0)
        return lock_in_child(argv[2], false);
    tn_os_point("here");
    tn_os_point("there");
    tn_os_point("here");
    tn_os_crash_point("c:/models/harmless");
    tn_os_crash_point("c:/models/deadly");
    return 0;
}

static int begin(void **state)
{
    if (scratch_begin(state) != 0)
        return -1;
    tn_buffer_init(&program, &scratch_memory, 100000);
    return tn_os_program_path(&program, NULL) == TN_OK ? 0 : -1;
}

static int end(void **state)
{
    tn_buffer_free(&program);
    return scratch_end(state);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return child(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_that_windows_keeps_for_itself_are_names_like_others),
        cmocka_unit_test(streams_devices_and_wild_cards_are_bad_paths),
        cmocka_unit_test(a_path_past_260_is_nothing_special),
        cmocka_unit_test(a_path_past_32767_is_refused),
        cmocka_unit_test(a_window_is_read_only_and_never_copied_on_write),
        cmocka_unit_test(a_file_that_another_program_keeps_to_itself_is_busy),
        cmocka_unit_test(a_file_that_is_open_can_be_replaced),
        cmocka_unit_test(arguments_arrive_in_any_script),
        cmocka_unit_test(points_kill_and_crash_where_they_are_told_to),
        cmocka_unit_test(a_lock_ends_with_the_process_that_had_it),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
