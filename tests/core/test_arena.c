/* An arena's blocks stay where they are until all end together. A1 to A3 stand in core/arena.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/arena.h"
#include "support/core_memory.h"

static test_memory memory;

static void begin(tn_arena *arena, size_t max)
{
    test_memory_init(&memory, UINT64_MAX);
    tn_arena_init(arena, &memory.source, max);
}

static void end(tn_arena *arena)
{
    tn_arena_free(arena);
    test_memory_assert_clean(&memory);
}

static void blocks_are_aligned_and_do_not_overlap(void **state)
{
    (void)state;
    enum { COUNT = 2000 };
    static unsigned char *blocks[COUNT];
    tn_arena arena;
    begin(&arena, SIZE_MAX);
    for (unsigned i = 0; i < COUNT; i++) {
        size_t size = i * 7 % 3000; /* some share a block, some get their own */
        blocks[i] = tn_arena_take(&arena, size);
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] % 16, 0);
        memset(blocks[i], (int)(i % 251), size);
        (void)tn_arena_take_bytes(&arena, i % 5); /* leaves the next one unaligned */
    }
    for (unsigned i = 0; i < COUNT; i++) { /* A1 */
        size_t size = i * 7 % 3000;
        for (size_t at = 0; at < size; at++)
            assert_int_equal(blocks[i][at], i % 251);
    }
    assert_int_equal(arena.taken, memory.live);
    end(&arena);
}

static void bytes_are_packed_tightly(void **state)
{
    (void)state;
    tn_arena arena;
    begin(&arena, SIZE_MAX);
    char *a = tn_arena_take_bytes(&arena, 3);
    char *b = tn_arena_take_bytes(&arena, 5);
    char *c = tn_arena_take_bytes(&arena, 1);
    assert_ptr_equal(b, a + 3);
    assert_ptr_equal(c, b + 5);
    end(&arena);
}

static void a_size_of_nothing_gives_a_pointer(void **state)
{
    (void)state;
    tn_arena arena;
    begin(&arena, SIZE_MAX);
    assert_non_null(tn_arena_take(&arena, 0));
    assert_non_null(tn_arena_take_bytes(&arena, 0));
    assert_non_null(tn_arena_take_array(&arena, 0, 8));
    assert_non_null(tn_arena_take_array(&arena, 8, 0));
    assert_int_equal(tn_arena_status(&arena, NULL), TN_OK);
    end(&arena);
}

static void a_large_block_does_not_waste_the_room_of_the_newest(void **state)
{
    (void)state;
    tn_arena arena;
    begin(&arena, SIZE_MAX);
    char *a = tn_arena_take_bytes(&arena, 10);
    char *large = tn_arena_take_bytes(&arena, 1000000);
    assert_non_null(large);
    memset(large, 1, 1000000);
    assert_ptr_equal(tn_arena_take_bytes(&arena, 1), a + 10);
    end(&arena);
}

static void an_array_comes_cleared_and_its_size_is_checked(void **state)
{
    (void)state;
    tn_arena arena;
    begin(&arena, SIZE_MAX);
    memset(tn_arena_take(&arena, 100), 0xFF, 100);
    static const char zeros[11 * 24];
    assert_memory_equal(tn_arena_take_array(&arena, 11, 24), zeros, sizeof zeros);
    assert_null(tn_arena_take_array(&arena, SIZE_MAX / 8 + 1, 8));
    assert_int_equal(tn_arena_status(&arena, NULL), TN_LIMIT);
    end(&arena);
}

static void sizes_near_the_top_are_a_limit_and_do_not_wrap(void **state)
{
    (void)state;
    for (size_t below = 0; below < 40; below++) {
        tn_arena arena;
        begin(&arena, SIZE_MAX);
        assert_non_null(tn_arena_take_bytes(&arena, 1));
        assert_null(tn_arena_take(&arena, SIZE_MAX - below));
        assert_int_not_equal(arena.failed, TN_OK);
        end(&arena);
        begin(&arena, SIZE_MAX);
        assert_null(tn_arena_text(&arena, NULL, SIZE_MAX - below).bytes);
        end(&arena);
    }
}

static void texts_are_copies_with_a_nul_behind(void **state)
{
    (void)state;
    tn_arena arena;
    begin(&arena, SIZE_MAX);
    char source[] = "ab\0cd";
    tn_text text = tn_arena_text(&arena, source, 5);
    memset(source, 'x', sizeof source);
    assert_int_equal(text.size, 5);
    assert_memory_equal(text.bytes, "ab\0cd", 6);
    tn_text none = tn_arena_text(&arena, NULL, 0);
    assert_string_equal(none.bytes, "");
    assert_int_equal(none.size, 0);
    tn_text formatted = tn_arena_format(&arena, "%s.%d.weight", "blocks", 17);
    assert_string_equal(formatted.bytes, "blocks.17.weight");
    assert_int_equal(formatted.size, 16);
    assert_int_equal(TN_TEXT("seven77").size, 7);
    end(&arena);
}

/* Texts of all lengths, so that some end at the last byte of a block and some would end one past it. */
static void a_formatted_text_is_whole_wherever_a_block_ends(void **state)
{
    (void)state;
    tn_arena arena;
    begin(&arena, SIZE_MAX);
    tn_text texts[300];
    for (unsigned i = 0; i < 300; i++)
        texts[i] = tn_arena_format(&arena, "%u:%*s", i, (int)i, "x");
    for (unsigned i = 1; i < 300; i++) {
        char expected[320];
        snprintf(expected, sizeof expected, "%u:%*s", i, (int)i, "x");
        assert_string_equal(texts[i].bytes, expected);
        assert_int_equal(texts[i].size, strlen(expected));
    }
    end(&arena);
}

static void a_text_that_fills_a_block_to_its_last_byte_stays_inside(void **state)
{
    (void)state;
    for (int past = -1; past <= 1; past++) {
        tn_arena arena;
        begin(&arena, SIZE_MAX);
        (void)tn_arena_take_bytes(&arena, 1);
        int room = (int)(arena.end - arena.at);
        tn_text text = tn_arena_format(&arena, "%*s", room - 1 + past, "x");
        assert_int_equal(text.size, room - 1 + past);
        assert_int_equal(strlen(text.bytes), room - 1 + past);
        assert_int_equal(arena.at == arena.end, past == 0);
        end(&arena);
    }
}

/* The maximum is one of memory taken, headers of blocks included. */
static void an_arena_takes_its_maximum_and_not_a_byte_more(void **state)
{
    (void)state;
    tn_arena arena;
    begin(&arena, 5000);
    unsigned taken = 0;
    while (tn_arena_take_bytes(&arena, 100) != NULL)
        taken++;
    assert_true(taken >= 48); /* of 49 or 50 that would fit without headers */
    assert_true(arena.taken <= 5000 && memory.budget.high_water <= 5000); /* A2 */
    tn_error err;
    assert_int_equal(tn_arena_status(&arena, &err), TN_LIMIT);
    assert_int_equal(err.expected, 5000);
    assert_null(tn_arena_take_bytes(&arena, 1)); /* A3 */
    assert_null(tn_arena_take(&arena, 1));
    assert_null(tn_arena_text(&arena, "a", 1).bytes);
    assert_null(tn_arena_format(&arena, "a").bytes);
    end(&arena);
}

static void each_refusal_of_memory_is_told_and_loses_nothing(void **state)
{
    (void)state;
    for (unsigned fail_at = 1; fail_at <= 4; fail_at++) {
        tn_arena arena;
        begin(&arena, SIZE_MAX);
        memory.fail_at = fail_at;
        for (unsigned i = 0; i < 200; i++)
            (void)tn_arena_take(&arena, i * 10);
        tn_error err;
        assert_int_equal(tn_arena_status(&arena, &err), TN_NO_MEMORY);
        assert_int_equal(err.status, TN_NO_MEMORY);
        end(&arena);
    }
}

static void a_budget_bounds_an_arena(void **state)
{
    (void)state;
    tn_arena arena;
    test_memory_init(&memory, 20000);
    tn_arena_init(&arena, &memory.source, SIZE_MAX);
    while (tn_arena_take(&arena, 64) != NULL) {
    }
    assert_int_equal(tn_arena_status(&arena, NULL), TN_OVER_BUDGET);
    assert_true(memory.budget.high_water <= 20000);
    end(&arena);
    tn_arena_free(NULL);
}

static void a_freed_arena_may_be_used_again(void **state)
{
    (void)state;
    tn_arena arena;
    begin(&arena, 4096);
    while (tn_arena_take(&arena, 64) != NULL) {
    }
    tn_arena_free(&arena);
    assert_non_null(tn_arena_take(&arena, 64));
    end(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_aligned_and_do_not_overlap),
        cmocka_unit_test(bytes_are_packed_tightly),
        cmocka_unit_test(a_size_of_nothing_gives_a_pointer),
        cmocka_unit_test(a_large_block_does_not_waste_the_room_of_the_newest),
        cmocka_unit_test(an_array_comes_cleared_and_its_size_is_checked),
        cmocka_unit_test(sizes_near_the_top_are_a_limit_and_do_not_wrap),
        cmocka_unit_test(texts_are_copies_with_a_nul_behind),
        cmocka_unit_test(a_formatted_text_is_whole_wherever_a_block_ends),
        cmocka_unit_test(a_text_that_fills_a_block_to_its_last_byte_stays_inside),
        cmocka_unit_test(an_arena_takes_its_maximum_and_not_a_byte_more),
        cmocka_unit_test(each_refusal_of_memory_is_told_and_loses_nothing),
        cmocka_unit_test(a_budget_bounds_an_arena),
        cmocka_unit_test(a_freed_arena_may_be_used_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
