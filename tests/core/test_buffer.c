/* A buffer has its maximum from birth and tells its first failure at the end. B1 to B3 stand in core/buffer.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/buffer.h"
#include "support/core_memory.h"

static test_memory memory;

static void begin(tn_buffer *buffer, size_t max)
{
    test_memory_init(&memory, UINT64_MAX);
    tn_buffer_init(buffer, &memory.source, max);
}

static void end(tn_buffer *buffer)
{
    tn_buffer_free(buffer);
    test_memory_assert_clean(&memory);
}

static void what_is_appended_stands_in_order_and_ends_with_a_nul(void **state)
{
    (void)state;
    tn_buffer b;
    begin(&b, 1000);
    assert_int_equal(memory.calls, 0);
    tn_buffer_append(&b, "a\0b", 3);
    tn_buffer_text(&b, "-text-");
    tn_buffer_format(&b, "%d%s", 42, "!");
    assert_int_equal(b.size, 12);
    assert_memory_equal(b.bytes, "a\0b-text-42!", 13); /* B3: the literal's own NUL is compared too */
    assert_int_equal(tn_buffer_status(&b, NULL), TN_OK);
    end(&b);
}

static void a_buffer_holds_its_maximum_and_not_a_byte_more(void **state)
{
    (void)state;
    tn_buffer b;
    begin(&b, 5);
    tn_buffer_text(&b, "12345");
    assert_int_equal(tn_buffer_status(&b, NULL), TN_OK);
    assert_string_equal(b.bytes, "12345");
    tn_buffer_append(&b, "6", 1);
    tn_error err;
    assert_int_equal(tn_buffer_status(&b, &err), TN_LIMIT);
    assert_int_equal(err.status, TN_LIMIT);
    assert_int_equal(err.expected, 5);
    assert_string_equal(b.bytes, "12345");
    assert_true(b.size <= b.capacity && b.capacity <= b.max); /* B1 */
    end(&b);
}

static void the_first_failure_stays_until_cleared(void **state)
{
    (void)state;
    tn_buffer b;
    begin(&b, 4);
    tn_buffer_text(&b, "abc");
    tn_buffer_text(&b, "de");
    tn_buffer_text(&b, "f"); /* would fit, but what came before it is missing */
    tn_buffer_format(&b, "g");
    assert_null(tn_buffer_reserve(&b, 1));
    assert_string_equal(b.bytes, "abc");
    tn_buffer_clear(&b);
    assert_string_equal(b.bytes, "");
    tn_buffer_text(&b, "wxyz");
    assert_int_equal(tn_buffer_status(&b, NULL), TN_OK);
    assert_string_equal(b.bytes, "wxyz");
    end(&b);
}

static void a_formatted_text_is_whole_or_not_there(void **state)
{
    (void)state;
    tn_buffer b;
    begin(&b, 100);
    char long_text[101];
    memset(long_text, 'x', 100);
    long_text[100] = '\0';
    tn_buffer_format(&b, "%.98s", long_text); /* longer than the first block */
    assert_int_equal(b.size, 98);
    tn_buffer_format(&b, "%s", "123");
    assert_int_equal(b.size, 98);
    assert_int_equal(strlen(b.bytes), 98);
    assert_int_equal(b.failed, TN_LIMIT);
    end(&b);
}

static void reserved_room_is_the_callers_to_fill_in_part(void **state)
{
    (void)state;
    tn_buffer b;
    begin(&b, 1000);
    tn_buffer_text(&b, "head:");
    tn_buffer_text(&b, "leftover of before, to be overwritten");
    b.size = 5;
    char *room = tn_buffer_reserve(&b, 500);
    assert_non_null(room);
    memcpy(room, "abc", 3);
    b.size += 3;
    assert_string_equal(b.bytes, "head:abc"); /* B3 without the caller's doing */
    assert_null(tn_buffer_reserve(&b, 1000));
    assert_int_equal(b.failed, TN_LIMIT);
    end(&b);
}

static void reserving_nothing_is_no_failure(void **state)
{
    (void)state;
    tn_buffer b;
    begin(&b, 0);
    assert_non_null(tn_buffer_reserve(&b, 0));
    tn_buffer_append(&b, NULL, 0);
    tn_buffer_text(&b, "");
    tn_buffer_format(&b, "%s", "");
    assert_int_equal(tn_buffer_status(&b, NULL), TN_OK);
    assert_int_equal(memory.calls, 0);
    tn_buffer_append(&b, "x", 1);
    assert_int_equal(tn_buffer_status(&b, NULL), TN_LIMIT);
    end(&b);
}

static void sizes_near_the_top_are_a_limit_and_do_not_wrap(void **state)
{
    (void)state;
    tn_buffer b;
    begin(&b, SIZE_MAX);
    tn_buffer_text(&b, "abc");
    assert_null(tn_buffer_reserve(&b, SIZE_MAX - 1));
    assert_int_equal(b.failed, TN_LIMIT);
    end(&b);
}

static void growing_asks_for_memory_rarely(void **state)
{
    (void)state;
    tn_buffer b;
    begin(&b, 1 << 20);
    for (unsigned i = 0; i < 1 << 20; i++)
        tn_buffer_append(&b, "x", 1);
    assert_int_equal(b.size, 1 << 20);
    assert_true(memory.calls <= 20); /* doubling: log2(1 MiB) */
    end(&b);
}

static void each_refusal_of_memory_is_told_and_leaves_what_was_there(void **state)
{
    (void)state;
    for (unsigned fail_at = 1; fail_at <= 2; fail_at++) {
        tn_buffer b;
        begin(&b, 1000);
        memory.fail_at = fail_at;
        for (unsigned i = 0; i < 100; i++)
            tn_buffer_text(&b, "abcd");
        tn_error err;
        assert_int_equal(tn_buffer_status(&b, &err), TN_NO_MEMORY);
        assert_int_equal(err.status, TN_NO_MEMORY);
        assert_int_equal(b.size, fail_at == 1 ? 0 : 60); /* the first block holds 63 bytes and the NUL */
        end(&b);
    }
}

static void a_budget_bounds_a_buffer(void **state)
{
    (void)state;
    tn_buffer b;
    test_memory_init(&memory, 64 + 128);
    tn_buffer_init(&b, &memory.source, 1000000);
    for (unsigned i = 0; i < 1000; i++)
        tn_buffer_text(&b, "abcd");
    assert_int_equal(tn_buffer_status(&b, NULL), TN_OVER_BUDGET);
    assert_true(memory.budget.high_water <= 64 + 128);
    assert_int_equal(memory.budget.used, b.capacity + 1);
    end(&b);
    tn_buffer_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_appended_stands_in_order_and_ends_with_a_nul),
        cmocka_unit_test(a_buffer_holds_its_maximum_and_not_a_byte_more),
        cmocka_unit_test(the_first_failure_stays_until_cleared),
        cmocka_unit_test(a_formatted_text_is_whole_or_not_there),
        cmocka_unit_test(reserved_room_is_the_callers_to_fill_in_part),
        cmocka_unit_test(reserving_nothing_is_no_failure),
        cmocka_unit_test(sizes_near_the_top_are_a_limit_and_do_not_wrap),
        cmocka_unit_test(growing_asks_for_memory_rarely),
        cmocka_unit_test(each_refusal_of_memory_is_told_and_leaves_what_was_there),
        cmocka_unit_test(a_budget_bounds_a_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
