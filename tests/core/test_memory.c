/* The budget keeps promise 2: memory is bounded, and what is charged is exact. M1 to M3 stand in core/memory.h.
 * Exactness under threads is tested where there are threads, above core. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/core_memory.h"

static void a_charge_up_to_the_limit_succeeds_and_one_past_it_does_not(void **state)
{
    (void)state;
    tn_budget budget;
    tn_budget_init(&budget, 1000);
    tn_error err;
    assert_int_equal(tn_budget_charge(&budget, 999, &err), TN_OK);
    assert_int_equal(tn_budget_charge(&budget, 1, &err), TN_OK);
    assert_int_equal(tn_budget_charge(&budget, 1, &err), TN_OVER_BUDGET);
    assert_int_equal(budget.used, 1000); /* M1 */
    assert_int_equal(budget.refused, 1);
    tn_budget_release(&budget, 1000);
    assert_int_equal(budget.used, 0);
    assert_int_equal(budget.high_water, 1000); /* M3 */
}

static void a_refusal_says_what_was_needed_and_what_there_is(void **state)
{
    (void)state;
    tn_budget budget;
    tn_budget_init(&budget, 4000000);
    tn_error err;
    assert_int_equal(tn_budget_charge(&budget, 1500000, &err), TN_OK);
    assert_int_equal(tn_budget_charge(&budget, 3000000, &err), TN_OVER_BUDGET);
    assert_int_equal(err.status, TN_OVER_BUDGET);
    assert_int_equal(err.expected, 4000000);
    assert_int_equal(err.found, 4500000);
    assert_non_null(strstr(err.message, "3.0 MB"));
    assert_non_null(strstr(err.message, "1.5 MB"));
    assert_non_null(strstr(err.message, "4.0 MB"));
}

static void sums_near_2_64_do_not_wrap(void **state)
{
    (void)state;
    tn_budget budget;
    tn_budget_init(&budget, UINT64_MAX);
    tn_error err;
    assert_int_equal(tn_budget_charge(&budget, 10, &err), TN_OK);
    assert_int_equal(tn_budget_charge(&budget, UINT64_MAX - 9, &err), TN_OVER_BUDGET);
    assert_int_equal(budget.used, 10);
    assert_int_equal(tn_budget_charge(&budget, UINT64_MAX - 10, &err), TN_OK);
}

static void nothing_can_be_charged_to_a_full_budget(void **state)
{
    (void)state;
    tn_budget budget;
    tn_budget_init(&budget, 0);
    assert_int_equal(tn_budget_charge(&budget, 0, NULL), TN_OK);
    assert_int_equal(tn_budget_charge(&budget, 1, NULL), TN_OVER_BUDGET);
    assert_int_equal(budget.high_water, 0);
}

/* What the last question was, and the answer to give. */
typedef struct gauge {
    uint64_t limit, used, wanted;
} gauge;

static uint64_t measure(void *user, uint64_t used, uint64_t wanted)
{
    gauge *g = user;
    g->used = used;
    g->wanted = wanted;
    return g->limit;
}

static void a_measured_limit_is_asked_at_each_charge(void **state)
{
    (void)state;
    gauge g = {.limit = 100};
    tn_budget budget;
    tn_budget_init(&budget, 1);
    budget.measure = measure;
    budget.user = &g;
    assert_int_equal(tn_budget_charge(&budget, 60, NULL), TN_OK);
    g.limit = 70; /* the system has less now: under what is used and wanted */
    assert_int_equal(tn_budget_charge(&budget, 20, NULL), TN_OVER_BUDGET);
    assert_true(g.used == 60 && g.wanted == 20);
    g.limit = 50; /* and now less than what is used */
    assert_int_equal(tn_budget_charge(&budget, 1, NULL), TN_OVER_BUDGET);
    assert_int_equal(tn_budget_limit(&budget), 50);
    g.limit = 80;
    assert_int_equal(tn_budget_charge(&budget, 20, NULL), TN_OK);
    assert_int_equal(budget.used, 80);
}

static void a_block_is_charged_while_it_is_out(void **state)
{
    (void)state;
    test_memory memory;
    test_memory_init(&memory, 100);
    void *block = NULL;
    assert_int_equal(tn_take(&memory.source, 100, &block, NULL), TN_OK);
    memset(block, 1, 100);
    assert_int_equal(memory.budget.used, 100);
    void *other = &memory;
    assert_int_equal(tn_take(&memory.source, 1, &other, NULL), TN_OVER_BUDGET);
    assert_ptr_equal(other, &memory); /* on failure no output is touched */
    tn_give(&memory.source, block, 100);
    tn_give(&memory.source, NULL, 0);
    test_memory_assert_clean(&memory);
}

static void nothing_taken_is_no_block_and_no_failure(void **state)
{
    (void)state;
    test_memory memory;
    test_memory_init(&memory, 0);
    void *block = &memory;
    assert_int_equal(tn_take(&memory.source, 0, &block, NULL), TN_OK);
    assert_null(block);
    block = &memory;
    assert_int_equal(tn_take_array(&memory.source, 0, 8, &block, NULL), TN_OK);
    assert_null(block);
    assert_int_equal(memory.calls, 0);
}

static void a_refusal_of_the_system_is_not_charged(void **state)
{
    (void)state;
    test_memory memory;
    test_memory_init(&memory, 1000);
    memory.fail_at = 1;
    tn_error err;
    void *block = &memory;
    assert_int_equal(tn_take(&memory.source, 10, &block, &err), TN_NO_MEMORY);
    assert_int_equal(err.status, TN_NO_MEMORY);
    assert_ptr_equal(block, &memory);
    test_memory_assert_clean(&memory);
}

static void an_array_comes_cleared_and_its_size_is_checked(void **state)
{
    (void)state;
    test_memory memory;
    test_memory_init(&memory, UINT64_MAX);
    void *block = NULL;
    assert_int_equal(tn_take_array(&memory.source, 33, 24, &block, NULL), TN_OK);
    static const char zeros[33 * 24];
    assert_memory_equal(block, zeros, sizeof zeros);
    tn_give(&memory.source, block, 33 * 24);
    tn_error err;
    assert_int_equal(tn_take_array(&memory.source, SIZE_MAX / 8 + 1, 8, &block, &err), TN_OVERFLOW);
    assert_int_equal(err.status, TN_OVERFLOW);
    assert_int_equal(memory.calls, 1);
    test_memory_assert_clean(&memory);
}

static void a_block_that_grows_keeps_its_contents(void **state)
{
    (void)state;
    test_memory memory;
    test_memory_init(&memory, 1000);
    void *block = NULL;
    assert_int_equal(tn_retake(&memory.source, &block, 0, 6, NULL), TN_OK);
    memcpy(block, "abcdef", 6);
    assert_int_equal(tn_retake(&memory.source, &block, 6, 600, NULL), TN_OK);
    assert_memory_equal(block, "abcdef", 6);
    assert_int_equal(memory.budget.used, 600);
    assert_int_equal(memory.budget.high_water, 606); /* old and new at once */
    assert_int_equal(tn_retake(&memory.source, &block, 600, 3, NULL), TN_OK);
    assert_memory_equal(block, "abc", 3);
    assert_int_equal(memory.budget.used, 3);
    assert_int_equal(tn_retake(&memory.source, &block, 3, 0, NULL), TN_OK);
    assert_null(block);
    test_memory_assert_clean(&memory);
}

static void a_block_that_cannot_grow_stays_as_it_was(void **state)
{
    (void)state;
    test_memory memory;
    test_memory_init(&memory, 100);
    void *block = NULL;
    assert_int_equal(tn_take(&memory.source, 50, &block, NULL), TN_OK);
    memcpy(block, "kept", 5);
    void *before = block;
    assert_int_equal(tn_retake(&memory.source, &block, 50, 51, NULL), TN_OVER_BUDGET);
    assert_ptr_equal(block, before);
    memory.budget.limit = 1000;
    memory.fail_at = memory.calls + 1;
    assert_int_equal(tn_retake(&memory.source, &block, 50, 51, NULL), TN_NO_MEMORY);
    assert_int_equal(tn_retake(&memory.source, &block, 50, 49, NULL), TN_NO_MEMORY);
    assert_ptr_equal(block, before);
    assert_string_equal(block, "kept");
    assert_int_equal(memory.budget.used, 50);
    tn_give(&memory.source, block, 50);
    test_memory_assert_clean(&memory);
}

static void the_system_allocator_takes_resizes_and_gives_back(void **state)
{
    (void)state;
    tn_allocator system = tn_allocator_system();
    char *block = system.resize(system.user, NULL, 0, 4);
    assert_non_null(block);
    memcpy(block, "abc", 4);
    block = system.resize(system.user, block, 4, 100000);
    assert_non_null(block);
    assert_string_equal(block, "abc");
    assert_null(system.resize(system.user, block, 100000, 0));
}

static void an_array_doubles_when_it_is_full_and_only_then(void **state)
{
    (void)state;
    test_memory memory;
    test_memory_init(&memory, 1000);
    void *items = NULL;
    size_t capacity = 0;
    assert_int_equal(tn_make_room(&memory.source, &items, &capacity, 0, 8, 4, NULL), TN_OK);
    assert_int_equal(capacity, 4);
    memset(items, 0x5a, 32);
    assert_int_equal(tn_make_room(&memory.source, &items, &capacity, 3, 8, 4, NULL), TN_OK);
    assert_int_equal(capacity, 4);
    assert_int_equal(tn_make_room(&memory.source, &items, &capacity, 4, 8, 4, NULL), TN_OK);
    assert_int_equal(capacity, 8);
    assert_int_equal(((unsigned char *)items)[31], 0x5a);
    assert_int_equal(memory.budget.used, 64);
    tn_give(&memory.source, items, capacity * 8);
    test_memory_assert_clean(&memory);
}

static void an_array_that_cannot_grow_stays_as_it_was(void **state)
{
    (void)state;
    test_memory memory;
    test_memory_init(&memory, 40);
    void *items = NULL;
    size_t capacity = 0;
    assert_int_equal(tn_make_room(&memory.source, &items, &capacity, 0, 8, 4, NULL), TN_OK);
    void *before = items;
    assert_int_equal(tn_make_room(&memory.source, &items, &capacity, 4, 8, 4, NULL), TN_OVER_BUDGET);
    assert_ptr_equal(items, before);
    assert_int_equal(capacity, 4);
    tn_give(&memory.source, items, 32);
    items = NULL;
    capacity = 0;
    assert_int_equal(tn_make_room(&memory.source, &items, &capacity, 0, 8, SIZE_MAX / 2, NULL), TN_OVERFLOW);
    assert_null(items);
    test_memory_assert_clean(&memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_array_doubles_when_it_is_full_and_only_then),
        cmocka_unit_test(an_array_that_cannot_grow_stays_as_it_was),
        cmocka_unit_test(a_charge_up_to_the_limit_succeeds_and_one_past_it_does_not),
        cmocka_unit_test(a_refusal_says_what_was_needed_and_what_there_is),
        cmocka_unit_test(sums_near_2_64_do_not_wrap),
        cmocka_unit_test(nothing_can_be_charged_to_a_full_budget),
        cmocka_unit_test(a_measured_limit_is_asked_at_each_charge),
        cmocka_unit_test(a_block_is_charged_while_it_is_out),
        cmocka_unit_test(nothing_taken_is_no_block_and_no_failure),
        cmocka_unit_test(a_refusal_of_the_system_is_not_charged),
        cmocka_unit_test(an_array_comes_cleared_and_its_size_is_checked),
        cmocka_unit_test(a_block_that_grows_keeps_its_contents),
        cmocka_unit_test(a_block_that_cannot_grow_stays_as_it_was),
        cmocka_unit_test(the_system_allocator_takes_resizes_and_gives_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
