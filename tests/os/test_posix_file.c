/* What only a POSIX system can show: pipes, sockets, devices, links, rights, descriptors and maps. */
#include "support/check.h"
#include "support/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/os_fault.h"

static void pipes_sockets_and_devices_are_refused_without_waiting(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(at("pipe"), 0600), 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", at("socket"));
    int server = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(server, (struct sockaddr *)&address, sizeof address), 0);
    const char *const paths[] = {at("pipe"), at("socket"), "/dev/null", "/dev/zero"};
    alarm(20); /* an open that waits ends the test */
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        tn_os_file file;
        tn_error err;
        assert_int_equal(tn_os_open(paths[i], TN_OS_READ, &file, &err), TN_NOT_A_FILE);
        assert_string_equal(err.file, paths[i]);
        assert_int_equal(tn_os_open(paths[i], TN_OS_WRITE | TN_OS_CREATE, &file, NULL), TN_NOT_A_FILE);
    }
    alarm(0);
    close(server);
    tn_os_info info;
    assert_int_equal(tn_os_info_at(paths[0], true, &info, NULL), TN_OK);
    assert_int_equal(info.kind, TN_OS_OTHER);
}

static void a_link_at_the_end_is_refused_only_when_asked(void **state)
{
    (void)state;
    put_text(at("target"), "x");
    assert_int_equal(symlink("target", at("link")), 0);
    assert_int_equal(symlink("nowhere", at("dangling")), 0);
    tn_os_file file;
    assert_int_equal(tn_os_open(at("link"), TN_OS_READ | TN_OS_NO_FOLLOW, &file, NULL), TN_UNSAFE_PATH);
    assert_int_equal(tn_os_open(at("dangling"), TN_OS_READ | TN_OS_NO_FOLLOW, &file, NULL), TN_UNSAFE_PATH);
    assert_int_equal(tn_os_open(at("dangling"), TN_OS_READ, &file, NULL), TN_NOT_FOUND);
    assert_int_equal(tn_os_open(at("link"), TN_OS_READ, &file, NULL), TN_OK);
    tn_os_close(&file);
    assert_int_equal(tn_os_open(at("target"), TN_OS_READ | TN_OS_NO_FOLLOW, &file, NULL), TN_OK);
    tn_os_close(&file);
    tn_os_info info;
    assert_int_equal(tn_os_info_at(at("link"), false, &info, NULL), TN_OK);
    assert_int_equal(info.kind, TN_OS_LINK);
    assert_int_equal(tn_os_info_at(at("link"), true, &info, NULL), TN_OK);
    assert_int_equal(info.kind, TN_OS_REGULAR);
}

static void a_loop_of_links_is_an_error_and_no_loop(void **state)
{
    (void)state;
    assert_int_equal(symlink("loop-b", at("loop-a")), 0);
    assert_int_equal(symlink("loop-a", at("loop-b")), 0);
    tn_os_file file;
    tn_os_folder *folder;
    tn_os_info info;
    tn_buffer out;
    tn_buffer_init(&out, &scratch_memory, 65536);
    assert_int_equal(tn_os_open(at("loop-a"), TN_OS_READ, &file, NULL), TN_BAD_PATH);
    assert_int_equal(tn_os_open(at("loop-a/x"), TN_OS_READ | TN_OS_NO_FOLLOW, &file, NULL), TN_BAD_PATH);
    assert_int_equal(tn_os_folder_open(&scratch_memory, at("loop-a"), &folder, NULL), TN_BAD_PATH);
    assert_int_equal(tn_os_info_at(at("loop-a"), true, &info, NULL), TN_BAD_PATH);
    assert_int_equal(tn_os_info_at(at("loop-a"), false, &info, NULL), TN_OK);
    assert_int_equal(tn_os_real_path(at("loop-a"), &out, NULL), TN_BAD_PATH);
    tn_buffer_free(&out);
}

static void links_in_a_walk_are_named_links(void **state)
{
    (void)state;
    assert_int_equal(mkdir(at("mixed"), 0700), 0);
    assert_int_equal(symlink("..", at("mixed/up")), 0);
    assert_int_equal(mkfifo(at("mixed/fifo"), 0600), 0);
    tn_os_folder *folder;
    tn_os_entry entry;
    bool more;
    unsigned links = 0, others = 0;
    assert_int_equal(tn_os_folder_open(&scratch_memory, at("mixed"), &folder, NULL), TN_OK);
    while (tn_os_folder_next(folder, &entry, &more, NULL) == TN_OK && more) {
        links += entry.kind == TN_OS_LINK;
        others += entry.kind == TN_OS_OTHER;
    }
    tn_os_folder_close(folder);
    assert_int_equal(links, 1);
    assert_int_equal(others, 1);
}

static void names_of_any_bytes_work(void **state)
{
    (void)state;
    static const char *const names[] = {"\xff\xfe", "caf\xe9", "line\nbreak", " leading", "trailing ", "tab\t", "\x1b[31m",
                                        "nul", "con.txt", "a:b", "back\\slash", "\xed\xa0\x80"};
    assert_int_equal(mkdir(at("bytes"), 0700), 0);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char inner[64];
        snprintf(inner, sizeof inner, "bytes/%s", names[i]);
        put_text(at(inner), names[i]);
        assert_text(at(inner), names[i]);
        tn_buffer out;
        tn_buffer_init(&out, &scratch_memory, 65536);
        assert_int_equal(tn_os_real_path(at(inner), &out, NULL), TN_OK);
        assert_string_equal(strrchr(out.bytes, '/') + 1, names[i]);
        tn_buffer_free(&out);
    }
    assert_int_equal(entries_in(at("bytes")), sizeof names / sizeof names[0]);
}

/* PATH_MAX on Linux is 4096 with its NUL. */
static void a_path_past_the_systems_limit_is_refused(void **state)
{
    (void)state;
    static char path[5001];
    for (size_t i = 0; i < 5000; i++)
        path[i] = i % 2 == 0 ? '/' : '.';
    static const size_t sizes[] = {4095, 4096, 5000};
    for (size_t i = 0; i < 3; i++) {
        char kept = path[sizes[i]];
        path[sizes[i]] = 0;
        tn_status expected = sizes[i] == 4095 ? TN_OK : TN_BAD_PATH;
        tn_os_info info;
        tn_os_file file;
        tn_os_folder *folder = NULL;
        assert_int_equal(tn_os_info_at(path, true, &info, NULL), expected);
        assert_int_equal(tn_os_open(path, TN_OS_READ, &file, NULL), expected == TN_OK ? TN_NOT_A_FILE : expected);
        assert_int_equal(tn_os_folder_open(&scratch_memory, path, &folder, NULL), expected);
        tn_os_folder_close(folder);
        assert_int_equal(tn_os_make_folders(path, NULL), expected);
        if (expected != TN_OK)
            assert_int_equal(tn_os_replace_file(path, "x", 1, NULL), expected);
        path[sizes[i]] = kept;
    }
}

/* More than one system call can move: Linux stops at 0x7ffff000 bytes. */
static void one_read_of_more_than_two_gib_is_whole(void **state)
{
    (void)state;
    const size_t size = ((size_t)2 << 30) + 65536;
    tn_os_file file;
    assert_int_equal(tn_os_open(at("huge"), TN_OS_WRITE | TN_OS_CREATE, &file, NULL), TN_OK);
    assert_int_equal(tn_os_resize(&file, (uint64_t)3 << 30, NULL), TN_OK);
    assert_int_equal(tn_os_write(&file, 1000, "first", 5, NULL), TN_OK);
    assert_int_equal(tn_os_write(&file, 1000 + 0x7ffff000ull - 2, "seam", 4, NULL), TN_OK);
    assert_int_equal(tn_os_write(&file, 1000 + size - 4, "last", 4, NULL), TN_OK);
    char *bytes = malloc(size);
    if (bytes == NULL)
        skip();
    size_t got = 0;
    assert_int_equal(tn_os_read(&file, 1000, bytes, size, &got, NULL), TN_OK);
    assert_true(got == size);
    assert_memory_equal(bytes, "first", 5);
    assert_memory_equal(bytes + 0x7ffff000ull - 2, "seam", 4);
    assert_memory_equal(bytes + size - 4, "last", 4);
    free(bytes);
    tn_os_info info;
    assert_int_equal(tn_os_info_of(&file, &info, NULL), TN_OK);
    assert_true(info.size == (uint64_t)3 << 30);
    assert_true(info.stored_bytes < (uint64_t)64 << 20);
    tn_os_close(&file);
    assert_int_equal(tn_os_remove(at("huge"), NULL), TN_OK);
}

/* Runs `body` in a child as a user without rights; its answer is the child's exit code. */
static int as_nobody(int (*body)(void))
{
    pid_t child = fork();
    if (child == 0) {
        if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
            _exit(90);
        _exit(body());
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int try_forbidden(void)
{
    tn_os_file file;
    tn_os_folder *folder;
    tn_error err;
    if (tn_os_open(at("secret"), TN_OS_READ, &file, &err) != TN_PERMISSION || strcmp(err.file, at("secret")) != 0)
        return 1;
    if (tn_os_folder_open(&scratch_memory, at("closed"), &folder, &err) != TN_PERMISSION)
        return 2;
    if (tn_os_open(at("closed/inner"), TN_OS_READ, &file, NULL) != TN_PERMISSION)
        return 3;
    if (tn_os_replace_file(at("closed/inner"), "x", 1, NULL) != TN_PERMISSION)
        return 4;
    if (tn_os_make_folder(at("closed/new"), NULL) != TN_PERMISSION)
        return 5;
    return 0;
}

static void what_may_not_be_read_is_told_as_a_matter_of_rights(void **state)
{
    (void)state;
    put_text(at("secret"), "x");
    assert_int_equal(chmod(scratch_folder, 0755), 0);
    assert_int_equal(chmod(at("secret"), 0), 0);
    assert_int_equal(mkdir(at("closed"), 0700), 0);
    put_text(at("closed/inner"), "x");
    assert_int_equal(chmod(at("closed"), 0), 0);
    assert_int_equal(as_nobody(try_forbidden), 0);
    assert_int_equal(chmod(at("closed"), 0700), 0);
}

static void private_files_are_for_their_owner_alone(void **state)
{
    (void)state;
    tn_os_file file;
    struct stat st;
    assert_int_equal(tn_os_open(at("private"), TN_OS_WRITE | TN_OS_CREATE | TN_OS_PRIVATE, &file, NULL), TN_OK);
    tn_os_close(&file);
    assert_int_equal(stat(at("private"), &st), 0);
    assert_int_equal(st.st_mode & 0077, 0);
    assert_int_equal(tn_os_replace_file(at("private"), "new", 3, NULL), TN_OK);
    assert_int_equal(stat(at("private"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

static void descriptors_are_closed_at_exec(void **state)
{
    (void)state;
    put_text(at("exec"), "x");
    tn_os_file file;
    assert_int_equal(tn_os_open(at("exec"), TN_OS_READ, &file, NULL), TN_OK);
    assert_true(fcntl(file.fd, F_GETFD) & FD_CLOEXEC);
    tn_os_close(&file);
}

static unsigned open_descriptors(void)
{
    unsigned count = 0;
    DIR *stream = opendir("/proc/self/fd");
    while (readdir(stream) != NULL)
        count++;
    closedir(stream);
    return count;
}

static void refused_files_leave_no_descriptor_behind(void **state)
{
    (void)state;
    unsigned before = open_descriptors();
    tn_os_file file;
    tn_os_folder *folder;
    for (int i = 0; i < 50; i++) {
        (void)tn_os_open(at("pipe"), TN_OS_READ, &file, NULL);
        (void)tn_os_open(scratch_folder, TN_OS_READ, &file, NULL);
        (void)tn_os_open("/proc/self/mem/x", TN_OS_READ, &file, NULL);
        (void)tn_os_folder_open(&scratch_memory, at("exec"), &folder, NULL);
        (void)tn_os_replace_file(at("mixed"), "x", 1, NULL);
    }
    assert_int_equal(open_descriptors(), before);
}

static void running_out_of_descriptors_is_told(void **state)
{
    (void)state;
    struct rlimit old, low;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    low = (struct rlimit){0, old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    tn_os_file file;
    tn_os_folder *folder;
    tn_status opened = tn_os_open(at("exec"), TN_OS_READ, &file, NULL);
    tn_status walked = tn_os_folder_open(&scratch_memory, scratch_folder, &folder, NULL);
    uint64_t limit = tn_os_limits_now().open_files;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_int_equal(opened, TN_TOO_MANY_FILES);
    assert_int_equal(walked, TN_TOO_MANY_FILES);
    assert_int_equal(limit, 0);
}

/* The line of /proc/self/maps that holds `address`: its rights, such as "r--s". */
static void rights_of(const void *address, char rights[5])
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    rights[0] = 0;
    while (fgets(line, sizeof line, maps) != NULL) {
        unsigned long begin, end;
        char found[5];
        if (sscanf(line, "%lx-%lx %4s", &begin, &end, found) == 3 && (uintptr_t)address >= begin &&
            (uintptr_t)address < end)
            memcpy(rights, found, 5);
    }
    fclose(maps);
}

static void a_window_can_be_read_and_nothing_else(void **state)
{
    (void)state;
    put_text(at("mapped"), "mapped");
    tn_os_file file;
    tn_os_window window;
    char rights[5];
    assert_int_equal(tn_os_open(at("mapped"), TN_OS_WRITE, &file, NULL), TN_OK);
    assert_int_equal(tn_os_window_open(&file, 0, 6, &window, NULL), TN_OK);
    rights_of(window.bytes, rights);
    assert_string_equal(rights, "r--s");
    const void *bytes = window.bytes;
    tn_os_window_close(&window);
    rights_of(bytes, rights);
    assert_string_equal(rights, "");
    tn_os_close(&file);
}

static void a_lock_ends_with_the_process_that_had_it(void **state)
{
    (void)state;
    put_text(at("lock"), "");
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        tn_os_file file;
        if (tn_os_open(at("lock"), TN_OS_WRITE, &file, NULL) != TN_OK || tn_os_lock(&file, 3, NULL) != TN_OK)
            _exit(1);
        (void)!write(ready[1], "x", 1);
        for (;;)
            pause();
    }
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    tn_os_file file;
    assert_int_equal(tn_os_open(at("lock"), TN_OS_WRITE, &file, NULL), TN_OK);
    assert_int_equal(tn_os_lock(&file, 3, NULL), TN_BUSY);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(tn_os_lock(&file, 3, NULL), TN_OK);
    tn_os_close(&file);
    close(ready[0]);
    close(ready[1]);
}

/* Children of `body` end with what it exits with, or by a signal. */
static int in_child(void (*body)(void))
{
    pid_t child = fork();
    if (child == 0) {
        body();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void limit_data(void)
{
    struct rlimit limit = {(rlim_t)256 << 20, (rlim_t)256 << 20};
    setrlimit(RLIMIT_DATA, &limit);
    tn_os_limits limits = tn_os_limits_now();
    bool right = limits.data_left < (uint64_t)256 << 20 && limits.data_left > (uint64_t)64 << 20 &&
                 tn_os_memory_left() <= (uint64_t)256 << 20;
    _exit(right ? 0 : 1);
}

static void limit_address(void)
{
    struct rlimit limit = {(rlim_t)1 << 30, (rlim_t)1 << 30};
    setrlimit(RLIMIT_AS, &limit);
    tn_os_limits limits = tn_os_limits_now();
    _exit(limits.address_left < (uint64_t)1 << 30 && tn_os_memory_left() <= limits.address_left ? 0 : 1);
}

static void resource_limits_count(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* sanitizers reserve terabytes */
#endif
    assert_int_equal(in_child(limit_data), 0);
    assert_int_equal(in_child(limit_address), 0);
}

static void pass_points(void)
{
    setenv("TENURE_TEST_KILL", "scan.entry:3", 1);
    tn_os_point("scan.entry");
    tn_os_point("scan");
    tn_os_point("other");
    tn_os_point("scan.entry");
    if (getenv("TENURE_TEST_MORE") != NULL)
        tn_os_point("scan.entry");
}

static void a_named_point_kills_at_the_pass_asked_for(void **state)
{
    (void)state;
    assert_int_equal(in_child(pass_points), 0);
    setenv("TENURE_TEST_MORE", "1", 1);
    int status = in_child(pass_points);
    unsetenv("TENURE_TEST_MORE");
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void pass_crash_points(void)
{
    setenv("TENURE_TEST_CRASH", "deadly", 1);
    tn_os_crash_point("/models/harmless.gguf");
    if (getenv("TENURE_TEST_MORE") != NULL)
        tn_os_crash_point("/models/deadly.gguf");
}

static void a_crash_point_dies_for_the_path_it_names(void **state)
{
    (void)state;
    assert_int_equal(in_child(pass_crash_points), 0);
    setenv("TENURE_TEST_MORE", "1", 1);
    int status = in_child(pass_crash_points);
    unsetenv("TENURE_TEST_MORE");
    assert_true(WIFSIGNALED(status) ? WTERMSIG(status) == SIGSEGV : WEXITSTATUS(status) != 0); /* ASan exits */
}

static void count_up(void *user)
{
    ++*(int *)user;
}

static void interrupt_once(void)
{
    int count = 0;
    tn_os_on_interrupt(count_up, &count);
    raise(SIGINT);
    _exit(count == 1 ? 40 : 41);
}

static void interrupt_twice(void)
{
    int count = 0;
    tn_os_on_interrupt(count_up, &count);
    raise(SIGTERM);
    raise(SIGINT);
}

static void the_first_interrupt_is_told_and_the_second_ends(void **state)
{
    (void)state;
    int status = in_child(interrupt_once);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 40);
    status = in_child(interrupt_twice);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 130);
}

static void a_disk_or_a_quota_that_is_full_is_known_by_its_number(void **state)
{
    (void)state;
    assert_true(tn_os_means_full(ENOSPC));
    assert_true(tn_os_means_full(EDQUOT));
    assert_false(tn_os_means_full(EIO));
    assert_false(tn_os_means_full(0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_disk_or_a_quota_that_is_full_is_known_by_its_number),
        cmocka_unit_test(pipes_sockets_and_devices_are_refused_without_waiting),
        cmocka_unit_test(a_link_at_the_end_is_refused_only_when_asked),
        cmocka_unit_test(a_loop_of_links_is_an_error_and_no_loop),
        cmocka_unit_test(links_in_a_walk_are_named_links),
        cmocka_unit_test(names_of_any_bytes_work),
        cmocka_unit_test(a_path_past_the_systems_limit_is_refused),
        cmocka_unit_test(one_read_of_more_than_two_gib_is_whole),
        cmocka_unit_test(what_may_not_be_read_is_told_as_a_matter_of_rights),
        cmocka_unit_test(private_files_are_for_their_owner_alone),
        cmocka_unit_test(descriptors_are_closed_at_exec),
        cmocka_unit_test(refused_files_leave_no_descriptor_behind),
        cmocka_unit_test(running_out_of_descriptors_is_told),
        cmocka_unit_test(a_window_can_be_read_and_nothing_else),
        cmocka_unit_test(a_lock_ends_with_the_process_that_had_it),
        cmocka_unit_test(resource_limits_count),
        cmocka_unit_test(a_named_point_kills_at_the_pass_asked_for),
        cmocka_unit_test(a_crash_point_dies_for_the_path_it_names),
        cmocka_unit_test(the_first_interrupt_is_told_and_the_second_ends),
    };
    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
