/* What is not in the system's cache is read past it, right to the byte wherever tensors begin, and leaves it cold; what is
 * in it is never read from the disk. Where this disk cannot be read past its cache, or cannot be asked, that is said. */
#include "support/weights.h"

#include <fcntl.h>
#include <unistd.h>

static const row rows[] = {
    {"a", TN_U8, 1, {3000001}}, {"b", TN_F16, 2, {9, 1111}}, {"c", TN_U8, 1, {4096}}, {"none", TN_U8, 1, {0}},
    {"d", TN_U8, 1, {9000037}}, {"e", TN_U8, 1, {1}},
};
enum { ROWS = sizeof rows / sizeof rows[0] };
#define DATA (3000001 + 9 * 1111 * 2 + 4096 + 9000037 + 1)

static int handle;

/* Out of the cache. False where the file system keeps it (in memory) all the same. */
static bool make_cold(void)
{
    tn_os_file file = {.fd = handle, .open = true};
    if (fdatasync(handle) != 0 || posix_fadvise(handle, 0, 0, POSIX_FADV_DONTNEED) != 0)
        return false;
    return !tn_os_is_cached(&file, 4096 * 100, 4096);
}

static unsigned pages_in_cache(void)
{
    tn_os_file file = {.fd = handle, .open = true};
    unsigned n = 0;
    for (uint64_t at_ = 0; at_ < DATA; at_ += 4096)
        n += tn_os_is_cached(&file, at_, 4096);
    return n;
}

static tn_checkpoint *open_cold(unsigned spaces)
{
    put_tensors(at("a.safetensors"), rows, ROWS, 6, spaces);
    handle = open(at("a.safetensors"), O_RDONLY);
    assert_true(handle >= 0);
    tn_checkpoint *checkpoint = open_weights(at("a.safetensors"));
    tn_lease_release(lease_of(checkpoint, "e"));
    return checkpoint;
}

static bool can_be_cold(void)
{
    tn_os_file file = {.fd = handle, .open = true}, direct;
    char byte[8192];
    size_t got;
    if (!make_cold() || tn_os_open_direct(&file, &direct, NULL) != TN_OK)
        return false;
    uintptr_t start = ((uintptr_t)byte + 4095) / 4096 * 4096;
    bool can = tn_os_read(&direct, 0, (void *)start, 4096, &got, NULL) == TN_OK;
    tn_os_close(&direct);
    return can && make_cold();
}

static void end(tn_checkpoint *checkpoint)
{
    tn_checkpoint_release(checkpoint);
    close(handle);
}

static void read_all(const tn_checkpoint *checkpoint, uint32_t flags, tn_way wish, tn_way expected)
{
    tn_lease *all[ROWS];
    tn_lease_options options = TN_LEASE_OPTIONS_INIT;
    options.flags = flags;
    options.way = wish;
    assert_int_equal(tn_lease_many(checkpoint, NULL, ROWS, &options, all, NULL), TN_OK);
    for (size_t i = 0; i < ROWS; i++) {
        size_t n = 0;
        while (strcmp(rows[n].name, all[i]->name.bytes) != 0)
            n++;
        assert_int_equal(all[i]->way, all[i]->elements == 0 ? TN_WAY_NONE : expected);
        assert_bytes(all[i]->data, (size_t)all[i]->size_bytes, 6, data_at(rows, n));
        tn_lease_release(all[i]);
    }
}

static void cold_bytes_come_past_the_cache_and_leave_it_cold(void **state)
{
    (void)state;
    for (unsigned spaces = 0; spaces < 8; spaces += 5) {
        tn_checkpoint *checkpoint = open_cold(spaces);
        if (!can_be_cold()) {
            end(checkpoint);
            print_message("this disk cannot be read past its cache\n");
            skip();
        }
        uint64_t before = tn_context_bytes_read(context);
        read_all(checkpoint, 0, TN_WAY_AUTOMATIC, TN_WAY_DIRECT);
        assert_in_range(tn_context_bytes_read(context) - before, DATA, DATA + 2 * 4096); /* whole blocks at both ends */
        assert_int_equal(pages_in_cache(), 0);
        end(checkpoint);
    }
}

static void slices_and_single_tensors_come_past_it_too(void **state)
{
    (void)state;
    tn_checkpoint *checkpoint = open_cold(1);
    if (!can_be_cold()) {
        end(checkpoint);
        skip();
    }
    tn_lease *lease = lease_of(checkpoint, "d");
    assert_int_equal(lease->way, TN_WAY_DIRECT);
    assert_bytes(lease->data, 9000037, 6, data_at(rows, 4));
    tn_lease_release(lease);
    tn_index index = {TN_INDEX_RANGE, 333333, 8888888, 1};
    tn_lease_options options = TN_LEASE_OPTIONS_INIT;
    options.index = &index;
    options.index_count = 1;
    options.way = TN_WAY_DIRECT;
    lease = lease_with(checkpoint, "d", &options);
    assert_int_equal(lease->way, TN_WAY_DIRECT);
    assert_bytes(lease->data, 8888888 - 333333, 6, data_at(rows, 4) + 333333);
    tn_lease_release(lease);
    assert_int_equal(pages_in_cache(), 0);
    end(checkpoint);
}

static void what_is_cached_is_copied_also_when_parts_are_cold(void **state)
{
    (void)state;
    static char some[1 << 20];
    tn_checkpoint *checkpoint = open_cold(0);
    if (!can_be_cold()) {
        end(checkpoint);
        skip();
    }
    for (off_t from = 0; from < DATA; from += 5 << 20) /* a fifth of it */
        assert_true(pread(handle, some, sizeof some, from) > 0);
    read_all(checkpoint, 0, TN_WAY_DIRECT, TN_WAY_DIRECT);
    for (off_t from = 0; from < DATA; from += 1 << 20)
        assert_true(pread(handle, some, sizeof some, from) > 0);
    tn_lease *lease = lease_of(checkpoint, "d");
    assert_int_equal(lease->way, TN_WAY_READ);
    assert_non_null(strstr(lease->reason, "cache"));
    tn_lease_release(lease);
    end(checkpoint);
}

static void reads_through_the_cache_can_leave_it_as_it_was(void **state)
{
    (void)state;
    static char some[1 << 20];
    tn_checkpoint *checkpoint = open_cold(3);
    if (!can_be_cold()) {
        end(checkpoint);
        skip();
    }
    assert_true(posix_fadvise(handle, 0, 0, POSIX_FADV_RANDOM) == 0); /* no reading ahead by this handle */
    assert_true(pread(handle, some, sizeof some, 4 << 20) == sizeof some);
    unsigned before = pages_in_cache();
    assert_in_range(before, 256, 300);
    /* A system that needs memory may take some of it meanwhile, and a page that is just looked at cannot be dropped. */
    read_all(checkpoint, TN_LEASE_DROP_BEHIND, TN_WAY_READ, TN_WAY_READ);
    assert_in_range(pages_in_cache(), 0, before + 16);
    read_all(checkpoint, TN_LEASE_DROP_BEHIND, TN_WAY_AUTOMATIC, TN_WAY_DIRECT);
    assert_in_range(pages_in_cache(), 0, before + 16);
    read_all(checkpoint, 0, TN_WAY_READ, TN_WAY_READ);
    assert_true(pages_in_cache() > DATA / 4096 / 2);
    end(checkpoint);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, weights_setup, weights_teardown)
    const struct CMUnitTest tests[] = {
        TEST(cold_bytes_come_past_the_cache_and_leave_it_cold),
        TEST(slices_and_single_tensors_come_past_it_too),
        TEST(what_is_cached_is_copied_also_when_parts_are_cold),
        TEST(reads_through_the_cache_can_leave_it_as_it_was),
    };
    return cmocka_run_group_tests_name("weights.cold", tests, NULL, NULL);
}
