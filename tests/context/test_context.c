/* A context: options, budget, cancel, log. */
#include "support/check.h"

#include <stdio.h>
#include <string.h>

#include "context/context.h"
#include "core/map.h"

static tn_context *make(tn_context_options options)
{
    tn_context *context = NULL;
    options.size = sizeof options;
    assert_int_equal(tn_context_create(&options, &context, NULL), TN_OK);
    return context;
}

static void without_options_there_is_a_budget_and_a_thread(void **state)
{
    (void)state;
    tn_context *context = NULL;
    assert_int_equal(tn_context_create(NULL, &context, NULL), TN_OK);
    assert_in_range(context->jobs, 1, 8);
    tn_memory memory = tn_context_memory(context);
    assert_int_equal(memory.used_bytes, 0);
    assert_int_equal(memory.high_water_bytes, 0);
    assert_int_equal(memory.refused, 0);
    assert_int_equal(tn_context_bytes_read(context), 0);
    tn_context_destroy(context);
    tn_context_destroy(NULL);
}

/* include/tenure/context.h: 80 % of the least of what is left. Other programs take and give between the two
 * measures; a tenth either way tells 80 % from 100 % and from 60 %. */
static void the_default_limit_is_four_fifths_of_what_is_left(void **state)
{
    (void)state;
    tn_context *context = make((tn_context_options){0});
    double left = (double)tn_os_memory_left();
    double limit = (double)tn_context_memory(context).limit_bytes;
    assert_true(limit > 0.7 * left && limit < 0.9 * left);
    tn_context_destroy(context);
}

static void what_is_charged_already_does_not_lower_the_limit_twice(void **state)
{
    (void)state;
    tn_context *context = make((tn_context_options){0});
    uint64_t charge = tn_context_memory(context).limit_bytes / 2;
    assert_int_equal(tn_budget_charge(&context->budget, charge, NULL), TN_OK);
    /* Nothing was touched, so what is left is as before, and the limit is 80 % of left + charge. */
    tn_os_sleep_ms(110);
    double after = (double)tn_context_memory(context).limit_bytes;
    double expected = 0.8 * ((double)tn_os_memory_left() + (double)charge);
    assert_true(after > 0.9 * expected && after < 1.1 * expected);
    tn_budget_release(&context->budget, charge);
    tn_context_destroy(context);
}

static void small_charges_share_a_measure_and_large_ones_do_not(void **state)
{
    (void)state;
    tn_context *context = make((tn_context_options){0});
    assert_int_equal(tn_budget_charge(&context->budget, 1, NULL), TN_OK);
    uint64_t first = atomic_load(&context->measured_at_ns);
    assert_true(first != 0);
    uint64_t asked = tn_os_monotonic_ns();
    uint64_t large = tn_context_memory(context).limit_bytes / 32;
    assert_int_equal(tn_budget_charge(&context->budget, (1 << 20) - 1, NULL), TN_OK);
    assert_int_equal(tn_budget_charge(&context->budget, large / 4, NULL), TN_OK);
    if (tn_os_monotonic_ns() - first < 100000000)
        assert_true(atomic_load(&context->measured_at_ns) == first);
    assert_int_equal(tn_budget_charge(&context->budget, large, NULL), TN_OK);
    uint64_t second = atomic_load(&context->measured_at_ns);
    assert_true(second >= asked && second != first);
    tn_os_sleep_ms(110);
    assert_int_equal(tn_budget_charge(&context->budget, 1, NULL), TN_OK);
    assert_true(atomic_load(&context->measured_at_ns) > second);
    tn_budget_release(&context->budget, 1 + (1 << 20) - 1 + large / 4 + large + 1);
    tn_context_destroy(context);
}

static void a_given_limit_is_kept_to_the_byte(void **state)
{
    (void)state;
    tn_context *context = make((tn_context_options){.memory_limit_bytes = 1000});
    void *block = NULL;
    tn_error err;
    assert_int_equal(tn_take(&context->memory, 1001, &block, &err), TN_OVER_BUDGET);
    assert_null(block);
    assert_int_equal(err.expected, 1000);
    assert_int_equal(err.found, 1001);
    assert_int_equal(tn_take(&context->memory, 1000, &block, NULL), TN_OK);
    tn_memory memory = tn_context_memory(context);
    assert_int_equal(memory.used_bytes, 1000);
    assert_int_equal(memory.limit_bytes, 1000);
    assert_int_equal(memory.refused, 1);
    tn_give(&context->memory, block, 1000);
    memory = tn_context_memory(context);
    assert_int_equal(memory.used_bytes, 0);
    assert_int_equal(memory.high_water_bytes, 1000);
    tn_context_destroy(context);
}

typedef struct counter {
    int64_t blocks, bytes;
    bool refuse;
} counter;

static void *count_resize(void *user, void *block, size_t old_size, size_t new_size)
{
    counter *c = user;
    if (c->refuse && new_size > 0)
        return NULL;
    c->blocks += (new_size > 0) - (old_size > 0);
    c->bytes += (int64_t)new_size - (int64_t)old_size;
    tn_allocator system = tn_allocator_system();
    return system.resize(system.user, block, old_size, new_size);
}

static void everything_comes_from_the_given_allocator(void **state)
{
    (void)state;
    counter c = {0};
    tn_context *context = make((tn_context_options){.allocator = {count_resize, &c}});
    assert_int_equal(c.blocks, 1);
    void *block;
    assert_int_equal(tn_take(&context->memory, 10, &block, NULL), TN_OK);
    assert_int_equal(c.blocks, 2);
    tn_give(&context->memory, block, 10);
    tn_context_destroy(context);
    assert_int_equal(c.blocks, 0);
    assert_int_equal(c.bytes, 0);
}

static void an_allocator_that_gives_nothing_is_a_status(void **state)
{
    (void)state;
    counter c = {.refuse = true};
    tn_context_options options = {.size = sizeof options, .allocator = {count_resize, &c}};
    tn_context *context = NULL;
    assert_int_equal(tn_context_create(&options, &context, NULL), TN_NO_MEMORY);
    assert_null(context);
}

static void options_of_other_versions_are_read_as_far_as_they_go(void **state)
{
    (void)state;
    tn_context *context = NULL;
    tn_context_options old = {.size = offsetof(tn_context_options, jobs), .memory_limit_bytes = 5, .jobs = 99999};
    assert_int_equal(tn_context_create(&old, &context, NULL), TN_OK);
    assert_int_equal(tn_context_memory(context).limit_bytes, 5);
    assert_in_range(context->jobs, 1, 8);
    tn_context_destroy(context);
    struct {
        tn_context_options known;
        uint64_t later;
    } newer = {.known = {.size = sizeof newer, .jobs = 3}};
    assert_int_equal(tn_context_create(&newer.known, &context, NULL), TN_OK);
    assert_int_equal(context->jobs, 3);
    tn_context_destroy(context);
    context = NULL;
    newer.later = 1;
    assert_int_equal(tn_context_create(&newer.known, &context, NULL), TN_INVALID);
    tn_context_options none = {0};
    assert_int_equal(tn_context_create(&none, &context, NULL), TN_INVALID);
    assert_null(context);
}

static void too_many_threads_are_refused_at_the_limit(void **state)
{
    (void)state;
    tn_context_options options = {.size = sizeof options, .jobs = TN_JOBS_MAX + 1};
    tn_context *context = NULL;
    tn_error err;
    assert_int_equal(tn_context_create(&options, &context, &err), TN_LIMIT);
    assert_int_equal(err.expected, TN_JOBS_MAX);
    assert_int_equal(err.found, TN_JOBS_MAX + 1);
    options.jobs = TN_JOBS_MAX;
    assert_int_equal(tn_context_create(&options, &context, NULL), TN_OK);
    tn_context_destroy(context);
}

static void cancel_holds_until_it_is_taken_back(void **state)
{
    (void)state;
    tn_context *context = make((tn_context_options){0});
    assert_int_equal(tn_context_check(context, NULL), TN_OK);
    tn_context_cancel(context);
    assert_true(tn_context_cancelled(context));
    tn_error err;
    assert_int_equal(tn_context_check(context, &err), TN_CANCELLED);
    assert_int_equal(err.status, TN_CANCELLED);
    tn_context_resume(context);
    assert_false(tn_context_cancelled(context));
    assert_int_equal(tn_context_check(context, NULL), TN_OK);
    tn_context_destroy(context);
}

typedef struct lines {
    unsigned count;
    tn_log_level level;
    char last[4096];
} lines;

static void keep_line(void *user, tn_log_level level, const char *message)
{
    lines *l = user;
    l->count++;
    l->level = level;
    snprintf(l->last, sizeof l->last, "%s", message);
}

static void the_log_passes_what_was_asked_for(void **state)
{
    (void)state;
    lines l = {0};
    tn_context *context = make((tn_context_options){.log = keep_line, .log_user = &l, .log_level = TN_LOG_INFO});
    tn_context_log(context, TN_LOG_DEBUG, "no");
    assert_int_equal(l.count, 0);
    tn_context_log(context, TN_LOG_INFO, "%d of %s", 3, "five");
    assert_int_equal(l.count, 1);
    assert_int_equal(l.level, TN_LOG_INFO);
    assert_string_equal(l.last, "3 of five");
    tn_context_log(context, TN_LOG_ERROR, "bad \xff name \xc3");
    assert_string_equal(l.last, "bad ? name ?");
    static char endless[5000];
    memset(endless, 'x', sizeof endless - 1);
    tn_context_log(context, TN_LOG_ERROR, "%s", endless);
    assert_int_equal(strlen(l.last), 2047);
    tn_context_destroy(context);
    context = make((tn_context_options){0});
    tn_context_log(context, TN_LOG_ERROR, "nobody listens");
    tn_context_destroy(context);
}

static void each_process_seeds_its_maps_anew(void **state)
{
    (void)state;
    uint64_t before = tn_map_process_seed();
    tn_context *context = make((tn_context_options){0});
    assert_true(tn_map_process_seed() != before);
    tn_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_options_there_is_a_budget_and_a_thread),
        cmocka_unit_test(the_default_limit_is_four_fifths_of_what_is_left),
        cmocka_unit_test(what_is_charged_already_does_not_lower_the_limit_twice),
        cmocka_unit_test(small_charges_share_a_measure_and_large_ones_do_not),
        cmocka_unit_test(a_given_limit_is_kept_to_the_byte),
        cmocka_unit_test(everything_comes_from_the_given_allocator),
        cmocka_unit_test(an_allocator_that_gives_nothing_is_a_status),
        cmocka_unit_test(options_of_other_versions_are_read_as_far_as_they_go),
        cmocka_unit_test(too_many_threads_are_refused_at_the_limit),
        cmocka_unit_test(cancel_holds_until_it_is_taken_back),
        cmocka_unit_test(the_log_passes_what_was_asked_for),
        cmocka_unit_test(each_process_seeds_its_maps_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
