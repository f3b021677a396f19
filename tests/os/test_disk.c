/* The disk under a file: asking never fails, and where reads can go past the system's cache they give the same bytes. */
#include "support/check.h"
#include "support/scratch.h"

#include "os/os_fault.h"

#define SIZE ((size_t)1 << 20)

static tn_os_file put_and_open(const char *path)
{
    tn_os_file file;
    char *bytes = malloc(SIZE);
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (char)(i * 2654435761u >> 24);
    put_file(path, bytes, SIZE);
    free(bytes);
    assert_int_equal(tn_os_open(path, TN_OS_READ, &file, NULL), TN_OK);
    return file;
}

static void every_file_lies_on_some_disk(void **state)
{
    (void)state;
    tn_os_file file = put_and_open(at("a"));
    assert_in_range(tn_os_disk_of(&file), TN_OS_DISK_UNKNOWN, TN_OS_DISK_NETWORK);
    tn_os_read_in_order(&file);
    tn_os_close(&file);
}

static void alter(void *user, tn_os_disk *disk)
{
    *disk = *(const tn_os_disk *)user;
}

static void a_test_may_say_which(void **state)
{
    (void)state;
    tn_os_disk disk = TN_OS_DISK_ROTATIONAL;
    tn_os_hooks hooks = {.alter_disk = alter, .user = &disk};
    tn_os_file file = put_and_open(at("a"));
    tn_os_set_hooks(&hooks);
    assert_int_equal(tn_os_disk_of(&file), TN_OS_DISK_ROTATIONAL);
    tn_os_set_hooks(NULL);
    tn_os_close(&file);
}

/* A file that was just read is in the cache, as far as is known. */
static void what_was_read_is_in_the_cache(void **state)
{
    (void)state;
    tn_os_file file = put_and_open(at("a"));
    char *bytes = malloc(SIZE);
    size_t got;
    assert_int_equal(tn_os_read(&file, 0, bytes, SIZE, &got, NULL), TN_OK);
    assert_true(tn_os_is_cached(&file, 0, SIZE));
    assert_true(tn_os_is_cached(&file, 1, 10));
    free(bytes);
    tn_os_close(&file);
}

static void a_read_past_the_cache_gives_the_same_bytes(void **state)
{
    (void)state;
    tn_os_file file = put_and_open(at("a")), direct;
    char *block = malloc(SIZE + TN_OS_HUGE_BYTES), *bytes = malloc(SIZE);
    char *aligned = block + TN_OS_DIRECT_ALIGN - (uintptr_t)block % TN_OS_DIRECT_ALIGN;
    size_t got;
    tn_status status = tn_os_open_direct(&file, &direct, NULL);
    assert_true(status == TN_OK || status == TN_UNSUPPORTED);
    if (status == TN_OK && tn_os_read(&direct, 0, aligned, SIZE, &got, NULL) == TN_OK) {
        assert_int_equal(got, SIZE);
        assert_int_equal(tn_os_read(&file, 0, bytes, SIZE, &got, NULL), TN_OK);
        assert_memory_equal(aligned, bytes, SIZE);
    } else {
        print_message("this system or disk reads through its cache alone\n");
    }
    if (status == TN_OK)
        tn_os_close(&direct);
    tn_os_close(&file);
    free(block);
    free(bytes);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_begin, scratch_end)
    const struct CMUnitTest tests[] = {
        TEST(every_file_lies_on_some_disk),
        TEST(a_test_may_say_which),
        TEST(what_was_read_is_in_the_cache),
        TEST(a_read_past_the_cache_gives_the_same_bytes),
    };
    return cmocka_run_group_tests_name("os.disk", tests, NULL, NULL);
}
