/* Kept blocks: never too small, never too many, all given back at the end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "context/recycle.h"
#include "core/cc.h"

static tn_recycler recycler;
static tn_allocator allocator;

static int begin(void **state)
{
    (void)state;
    tn_recycler_init(&recycler);
    allocator = tn_recycler_allocator(&recycler);
    return 0;
}

static int end(void **state)
{
    (void)state;
    tn_recycler_empty(&recycler);
    return recycler.kept == 0 ? 0 : -1;
}

static void *resize(void *block, size_t old_size, size_t new_size)
{
    return allocator.resize(allocator.user, block, old_size, new_size);
}

static void a_block_given_back_is_the_next_of_its_size(void **state)
{
    (void)state;
    void *first = resize(NULL, 0, 400000);
    (void)resize(first, 400000, 0);
    if (TN_SANITIZED)
        skip();
    assert_true(recycler.kept >= 400000);
    void *second = resize(NULL, 0, 400000);
    assert_ptr_equal(second, first);
    assert_int_equal(recycler.kept, 0);
    (void)resize(second, 400000, 0);
}

/* Every byte asked for is written: under a sanitizer or valgrind a block that is too small would show. */
static void every_block_has_the_room_it_was_asked_for(void **state)
{
    (void)state;
    for (size_t size = 1; size < 6u << 20; size = size * 5 / 4 + 1) {
        void *a = resize(NULL, 0, size);
        memset(a, 0x5a, size);
        (void)resize(a, size, 0);
        void *b = resize(NULL, 0, size + 1);
        memset(b, 0x5a, size + 1);
        (void)resize(b, size + 1, 0);
    }
}

static void growing_and_shrinking_keep_the_contents(void **state)
{
    (void)state;
    static const size_t sizes[] = {10, 40000, 41000, 300000, 5u << 20, 100000, 33000, 100, 70000};
    char *block = resize(NULL, 0, 10);
    memcpy(block, "0123456789", 10);
    size_t old_size = 10;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        block = resize(block, old_size, sizes[i]);
        assert_memory_equal(block, "0123456789", 10);
        old_size = sizes[i];
    }
    (void)resize(block, old_size, 0);
}

static void no_more_than_the_stated_bytes_are_kept(void **state)
{
    (void)state;
    enum { COUNT = 64 };
    void *blocks[COUNT];
    for (int i = 0; i < COUNT; i++)
        blocks[i] = resize(NULL, 0, 900000 + (size_t)i * 30000);
    for (int i = 0; i < COUNT; i++) {
        (void)resize(blocks[i], 900000 + (size_t)i * 30000, 0);
        assert_true(recycler.kept <= TN_RECYCLE_MAX); /* K1 */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_block_given_back_is_the_next_of_its_size, begin, end),
        cmocka_unit_test_setup_teardown(every_block_has_the_room_it_was_asked_for, begin, end),
        cmocka_unit_test_setup_teardown(growing_and_shrinking_keep_the_contents, begin, end),
        cmocka_unit_test_setup_teardown(no_more_than_the_stated_bytes_are_kept, begin, end),
    };
    return cmocka_run_group_tests_name("context.recycle", tests, NULL, NULL);
}
