/* Memory in pages, reads into several places, and reads that leave the cache as it was: what os.h says of them. */
#include "support/check.h"
#include "support/scratch.h"

static void pages_are_aligned_cleared_and_keep_what_is_written(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 4096, 100000, (2u << 20) - 1, 2u << 20, (6u << 20) + 5};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        void *pages;
        assert_int_equal(tn_os_pages_take(sizes[i], &pages, NULL), TN_OK);
        assert_int_equal((uintptr_t)pages % (sizes[i] >= TN_OS_HUGE_BYTES ? TN_OS_HUGE_BYTES : 4096), 0);
        uint8_t *bytes = pages;
        assert_int_equal(bytes[0] | bytes[sizes[i] / 2] | bytes[sizes[i] - 1], 0);
        memset(pages, 7, sizes[i]);
        tn_os_pages_offer(pages, sizes[i]);
        memset(pages, 9, sizes[i]); /* written again, so it stays */
        assert_int_equal(bytes[sizes[i] - 1], 9);
        tn_os_pages_give(pages, sizes[i]);
    }
    tn_os_pages_give(NULL, 0);
}

static void more_than_there_is_is_no_memory(void **state)
{
    (void)state;
    void *pages = NULL;
    tn_error err;
    assert_int_equal(tn_os_pages_take(SIZE_MAX, &pages, &err), TN_NO_MEMORY);
    assert_int_equal(tn_os_pages_take(SIZE_MAX / 4, &pages, &err), TN_NO_MEMORY);
    assert_null(pages);
}

static void pieces_are_filled_one_after_the_other_up_to_the_end(void **state)
{
    (void)state;
    tn_os_file file;
    put_text(at("a"), "0123456789");
    assert_int_equal(tn_os_open(at("a"), TN_OS_READ, &file, NULL), TN_OK);
    tn_status (*const reads[])(const tn_os_file *, uint64_t, const tn_os_piece *, size_t, size_t *, tn_error *) = {
        tn_os_read_pieces, tn_os_read_behind};
    for (size_t r = 0; r < 2; r++) {
        char one[4] = "", two[8] = "", three[4] = "";
        size_t got;
        assert_int_equal(reads[r](&file, 2, (tn_os_piece[]){{one, 3}, {NULL, 0}, {two, 2}}, 3, &got, NULL), TN_OK);
        assert_int_equal(got, 5);
        assert_string_equal(one, "234");
        assert_string_equal(two, "56");
        assert_int_equal(reads[r](&file, 7, (tn_os_piece[]){{one, 2}, {two, 7}, {three, 3}}, 3, &got, NULL), TN_OK);
        assert_int_equal(got, 3);
        assert_memory_equal(one, "78", 2);
        assert_memory_equal(two, "9", 1);
        assert_int_equal(reads[r](&file, 10, (tn_os_piece[]){{one, 2}}, 1, &got, NULL), TN_OK);
        assert_int_equal(got, 0);
        assert_int_equal(reads[r](&file, 0, NULL, 0, &got, NULL), TN_OK);
        assert_int_equal(got, 0);
    }
    tn_os_close(&file);
}

/* How many of the first `pages` pages are in the cache. */
static unsigned cached(const tn_os_file *file, unsigned pages)
{
    unsigned n = 0;
    for (unsigned i = 0; i < pages; i++)
        n += tn_os_is_cached(file, i * UINT64_C(4096), 4096);
    return n;
}

static void a_read_behind_leaves_in_the_cache_what_was_in_it(void **state)
{
    (void)state;
    enum { PAGES = 64 };
    static char bytes[PAGES * 4096];
    tn_os_file file;
    size_t got;
    put_file(at("a"), bytes, sizeof bytes);
    assert_int_equal(tn_os_open(at("a"), TN_OS_WRITE, &file, NULL), TN_OK);
    assert_int_equal(tn_os_sync(&file, NULL), TN_OK);
    unsigned whole = cached(&file, PAGES);
    assert_int_equal(tn_os_read_behind(&file, 0, (tn_os_piece[]){{bytes, sizeof bytes}}, 1, &got, NULL), TN_OK);
    assert_int_equal(cached(&file, PAGES), whole);
    tn_os_close(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_are_aligned_cleared_and_keep_what_is_written),
        cmocka_unit_test(more_than_there_is_is_no_memory),
        cmocka_unit_test(pieces_are_filled_one_after_the_other_up_to_the_end),
        cmocka_unit_test(a_read_behind_leaves_in_the_cache_what_was_in_it),
    };
    return cmocka_run_group_tests_name("os.pages", tests, scratch_begin, scratch_end);
}
