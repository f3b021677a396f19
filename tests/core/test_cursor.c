/* The cursor keeps promise 1: no length from a file is trusted by itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/cursor.h"

static const uint8_t four[] = {0x01, 0x02, 0x03, 0x04};

static void numbers_are_little_endian(void **state)
{
    (void)state;
    tn_cursor c = tn_cursor_over(four, sizeof four);
    assert_int_equal(tn_cursor_u32le(&c), 0x04030201);
    assert_int_equal(tn_cursor_left(&c), 0);
    assert_false(c.failed);
}

static void a_short_read_moves_nothing_and_stays_failed(void **state)
{
    (void)state;
    tn_cursor c = tn_cursor_over(four, sizeof four);
    assert_int_equal(tn_cursor_u8(&c), 0x01);
    assert_int_equal(tn_cursor_u64le(&c), 0);
    assert_true(c.failed);
    assert_int_equal(c.failed_at, 1);
    assert_int_equal(c.at, 1);
    assert_int_equal(tn_cursor_u8(&c), 0); /* three bytes are left, the failure stays */
}

static void a_length_near_2_64_is_refused(void **state)
{
    (void)state;
    tn_cursor c = tn_cursor_over(four, sizeof four);
    (void)tn_cursor_u8(&c);
    assert_null(tn_cursor_take(&c, UINT64_MAX));
    assert_int_equal(c.failed_at, 1);
}

static void a_record_cannot_read_its_neighbour(void **state)
{
    (void)state;
    tn_cursor c = tn_cursor_over(four, sizeof four);
    tn_cursor record = tn_cursor_sub(&c, 2);
    assert_int_equal(tn_cursor_u32le(&record), 0);
    assert_true(record.failed);
    assert_false(c.failed);
    assert_int_equal(tn_cursor_u8(&c), 0x03);
}

static void nothing_asked_for_is_not_nothing_there(void **state)
{
    (void)state;
    tn_cursor c = tn_cursor_over(four, sizeof four);
    assert_ptr_equal(tn_cursor_take(&c, 0), four);
    tn_cursor none = tn_cursor_over(NULL, 0);
    assert_null(tn_cursor_take(&none, 1));
    assert_true(none.failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_little_endian),
        cmocka_unit_test(a_short_read_moves_nothing_and_stays_failed),
        cmocka_unit_test(a_length_near_2_64_is_refused),
        cmocka_unit_test(a_record_cannot_read_its_neighbour),
        cmocka_unit_test(nothing_asked_for_is_not_nothing_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
