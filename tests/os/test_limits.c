/* What the kernel's texts mean. The samples are shaped as proc(5), cgroups(7) and the kernel's cgroup-v1/memory and
 * cgroup-v2 documents have them. */
#include "support/check.h"

#include "os/os.h"
#include "os/os_limits.h"

static void fields_are_read_at_the_start_of_a_line(void **state)
{
    (void)state;
    const char *text = "MemTotal:       24684096 kB\nMemAvailable:   24381700 kB\nXMemFree:  1 kB\nHugePages_Total:       3\n";
    assert_true(tn_os_limits_field(text, "MemAvailable:") == 24381700ull * 1024);
    assert_true(tn_os_limits_field(text, "MemTotal:") == 24684096ull * 1024);
    assert_true(tn_os_limits_field(text, "HugePages_Total:") == 3);
    assert_true(tn_os_limits_field(text, "MemFree:") == TN_NONE);
}

static void a_field_that_is_no_number_sets_no_limit(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "", "MemAvailable:", "MemAvailable: ", "MemAvailable: kB", "MemAvailable: -5 kB",
        "MemAvailable: 18446744073709551616", "MemAvailable: 18446744073709551615 kB", "memavailable: 5 kB", "\n\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_true(tn_os_limits_field(texts[i], "MemAvailable:") == TN_NONE);
}

static void amounts_of_a_cgroup_know_having_no_limit(void **state)
{
    (void)state;
    assert_true(tn_os_limits_amount("max\n") == TN_NONE);
    assert_true(tn_os_limits_amount("9223372036854771712\n") == TN_NONE); /* v1: LONG_MAX in whole pages */
    assert_true(tn_os_limits_amount("4611686018427387903\n") == ((uint64_t)1 << 62) - 1);
    assert_true(tn_os_limits_amount("4611686018427387904\n") == TN_NONE);
    assert_true(tn_os_limits_amount("0\n") == 0);
    assert_true(tn_os_limits_amount("536870912") == 536870912);
    assert_true(tn_os_limits_amount("") == TN_NONE);
    assert_true(tn_os_limits_amount("99999999999999999999999") == TN_NONE);
}

static void a_word_of_memory_stat_is_matched_whole(void **state)
{
    (void)state;
    const char *text = "anon 4096\nfile 100\ninactive_file 70\nactive_file 30\ntotal_inactive_file 71\n";
    assert_int_equal(tn_os_limits_stat(text, "inactive_file"), 70);
    assert_int_equal(tn_os_limits_stat(text, "active_file"), 30);
    assert_int_equal(tn_os_limits_stat(text, "total_inactive_file"), 71);
    assert_int_equal(tn_os_limits_stat(text, "total_active_file"), 0);
    assert_int_equal(tn_os_limits_stat("", "file"), 0);
    assert_int_equal(tn_os_limits_stat("file", "file"), 0);
}

static const char hybrid[] = "12:cpu,cpuacct:/a\n4:memory:/process_api/bf9c\n1:name=systemd:/memory\n0::/unified.slice\n";

static void the_group_of_either_version_is_found(void **state)
{
    (void)state;
    char path[64];
    assert_true(tn_os_limits_cgroup_path(hybrid, false, path, sizeof path));
    assert_string_equal(path, "/process_api/bf9c");
    assert_true(tn_os_limits_cgroup_path(hybrid, true, path, sizeof path));
    assert_string_equal(path, "/unified.slice");
    assert_true(tn_os_limits_cgroup_path("0::/\n", true, path, sizeof path));
    assert_string_equal(path, "/");
    assert_false(tn_os_limits_cgroup_path("0::/\n", false, path, sizeof path));
    assert_true(tn_os_limits_cgroup_path("3:cpu,memory,pids:/x:y", false, path, sizeof path));
    assert_string_equal(path, "/x:y");
    assert_false(tn_os_limits_cgroup_path("3:memory_recursiveprot:/x\n", false, path, sizeof path));
}

static void a_group_file_without_sense_names_no_group(void **state)
{
    (void)state;
    char path[16];
    static const char *const texts[] = {"", "\n", ":", "4:memory", "memory", "4", "::", ":\n:\n:"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_false(tn_os_limits_cgroup_path(texts[i], true, path, sizeof path));
        assert_false(tn_os_limits_cgroup_path(texts[i], false, path, sizeof path));
    }
    assert_true(tn_os_limits_cgroup_path("0::/4567890123456", true, path, sizeof path) == true);
    assert_false(tn_os_limits_cgroup_path("0::/45678901234567", true, path, 15)); /* one more than fits */
}

static const char mounts[] =
    "23 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
    "35 31 0:32 /docker/77aa /sys/fs/cgroup/memory rw,relatime shared:9 master:2 - cgroup cgroup rw,memory\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";

static void the_mount_of_either_version_is_found(void **state)
{
    (void)state;
    char root[64], point[64];
    assert_true(tn_os_limits_cgroup_mount(mounts, true, root, point, sizeof root));
    assert_string_equal(root, "/");
    assert_string_equal(point, "/sys/fs/cgroup/unified");
    assert_true(tn_os_limits_cgroup_mount(mounts, false, root, point, sizeof root));
    assert_string_equal(root, "/docker/77aa");
    assert_string_equal(point, "/sys/fs/cgroup/memory");
    assert_false(tn_os_limits_cgroup_mount("", true, root, point, sizeof root));
    assert_false(tn_os_limits_cgroup_mount(" - cgroup2", true, root, point, sizeof root));
    assert_false(tn_os_limits_cgroup_mount("1 2 3 - ", true, root, point, sizeof root));
    assert_false(tn_os_limits_cgroup_mount("1 2 3 -", false, root, point, sizeof root));
}

static void a_group_becomes_a_folder_below_its_mount(void **state)
{
    (void)state;
    static const struct {
        const char *path, *root, *folder;
    } cases[] = {
        {"/", "/", "/m"},
        {"/a/b", "/", "/m/a/b"},
        {"/docker/77aa", "/docker/77aa", "/m"},
        {"/docker/77aa/inner", "/docker/77aa", "/m/inner"},
        {"/docker/77aab", "/docker/77aa", "/m"}, /* not below the root: the mount itself */
        {"/elsewhere", "/docker/77aa", "/m"},
        {"", "/", "/m"},
    };
    char folder[64];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_true(tn_os_limits_cgroup_folder(cases[i].path, cases[i].root, "/m", folder, sizeof folder));
        assert_string_equal(folder, cases[i].folder);
    }
    assert_false(tn_os_limits_cgroup_folder("/../up", "/", "/m", folder, sizeof folder));
    assert_false(tn_os_limits_cgroup_folder("/a/b", "/", "/m", folder, 6)); /* "/m/a/b" needs 7 */
    assert_true(tn_os_limits_cgroup_folder("/a/b", "/", "/m", folder, 7));
}

static void what_is_left_is_never_negative(void **state)
{
    (void)state;
    assert_true(tn_os_limits_left(100, 30, 0) == 70);
    assert_true(tn_os_limits_left(100, 30, 10) == 80);
    assert_true(tn_os_limits_left(100, 30, 40) == 100);
    assert_true(tn_os_limits_left(100, 130, 0) == 0);
    assert_true(tn_os_limits_left(TN_NONE, 30, 0) == TN_NONE);
    assert_true(tn_os_limits_left(100, TN_NONE, 0) == TN_NONE);
}

static void this_machine_has_memory_and_says_so(void **state)
{
    (void)state;
    tn_os_limits limits = tn_os_limits_now();
    uint64_t left = tn_os_memory_left();
    assert_true(limits.ram_available > (uint64_t)1 << 20 && limits.ram_available < (uint64_t)1 << 50);
    assert_true(left > (uint64_t)1 << 20);
    /* Other programs take and give meanwhile; a quarter more would be another figure altogether. */
    assert_true(left <= limits.ram_available + limits.ram_available / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_read_at_the_start_of_a_line),
        cmocka_unit_test(a_field_that_is_no_number_sets_no_limit),
        cmocka_unit_test(amounts_of_a_cgroup_know_having_no_limit),
        cmocka_unit_test(a_word_of_memory_stat_is_matched_whole),
        cmocka_unit_test(the_group_of_either_version_is_found),
        cmocka_unit_test(a_group_file_without_sense_names_no_group),
        cmocka_unit_test(the_mount_of_either_version_is_found),
        cmocka_unit_test(a_group_becomes_a_folder_below_its_mount),
        cmocka_unit_test(what_is_left_is_never_negative),
        cmocka_unit_test(this_machine_has_memory_and_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
