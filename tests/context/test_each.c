/* Work on many items: order, failure, cancel, and the budget under contention. */
#include "support/check.h"

#include <string.h>

#include "context/context.h"
#include "os/os_fault.h"

enum { ITEMS = 3000 };

static tn_context *with_jobs(unsigned jobs, uint64_t limit)
{
    tn_context *context = NULL;
    tn_context_options options = {.size = sizeof options, .jobs = jobs, .memory_limit_bytes = limit};
    assert_int_equal(tn_context_create(&options, &context, NULL), TN_OK);
    return context;
}

typedef struct work {
    tn_context *context;
    _Atomic unsigned done[ITEMS];
    _Atomic size_t count;
    size_t order[ITEMS];
    size_t fail_from; /* items from here on fail */
    size_t cancel_at;
    _Atomic uint64_t refused;
} work;

static work *new_work(tn_context *context)
{
    static work w;
    memset(&w, 0, sizeof w);
    w.context = context;
    w.fail_from = ITEMS;
    w.cancel_at = ITEMS;
    return &w;
}

static tn_status do_one(void *user, size_t item, tn_error *err)
{
    work *w = user;
    atomic_fetch_add(&w->done[item], 1);
    w->order[atomic_fetch_add(&w->count, 1)] = item;
    if (item == w->cancel_at)
        tn_context_cancel(w->context);
    if (item >= w->fail_from) {
        tn_fail(err, TN_BAD_HEADER, "item %zu", item);
        tn_error_at_offset(err, item);
        return TN_BAD_HEADER;
    }
    return TN_OK;
}

static void every_item_is_done_once(void **state)
{
    (void)state;
    static const unsigned jobs[] = {1, 2, 4, TN_JOBS_MAX};
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
        tn_context *context = with_jobs(jobs[i], 1 << 20);
        work *w = new_work(context);
        assert_int_equal(tn_context_each(context, ITEMS, do_one, w, NULL), TN_OK);
        for (size_t item = 0; item < ITEMS; item++)
            assert_int_equal(atomic_load(&w->done[item]), 1);
        assert_int_equal(tn_context_memory(context).used_bytes, 0);
        tn_context_destroy(context);
    }
}

static void one_job_works_in_order(void **state)
{
    (void)state;
    tn_context *context = with_jobs(1, 1 << 20);
    work *w = new_work(context);
    assert_int_equal(tn_context_each(context, ITEMS, do_one, w, NULL), TN_OK);
    for (size_t i = 0; i < ITEMS; i++)
        assert_int_equal(w->order[i], i);
    assert_int_equal(tn_context_memory(context).high_water_bytes, 0);
    tn_context_destroy(context);
}

static void no_items_are_no_work(void **state)
{
    (void)state;
    tn_context *context = with_jobs(4, 1 << 20);
    assert_int_equal(tn_context_each(context, 0, do_one, NULL, NULL), TN_OK);
    tn_context_destroy(context);
}

/* Items are handed out in order, so the first of several failing ones is always among those that ran. */
static void the_failure_of_the_lowest_item_is_told(void **state)
{
    (void)state;
    for (unsigned jobs = 1; jobs <= 8; jobs *= 2) {
        tn_context *context = with_jobs(jobs, 1 << 20);
        work *w = new_work(context);
        w->fail_from = 100;
        tn_error err;
        assert_int_equal(tn_context_each(context, ITEMS, do_one, w, &err), TN_BAD_HEADER);
        assert_string_equal(err.message, "item 100");
        assert_int_equal(err.offset, 100);
        assert_in_range(atomic_load(&w->count), 101, 100 + jobs);
        assert_int_equal(tn_context_each(context, ITEMS, do_one, new_work(context), NULL), TN_OK);
        tn_context_destroy(context);
    }
}

static void a_cancel_stops_handing_out(void **state)
{
    (void)state;
    tn_context *context = with_jobs(4, 1 << 20);
    work *w = new_work(context);
    w->cancel_at = 50;
    assert_int_equal(tn_context_each(context, ITEMS, do_one, w, NULL), TN_CANCELLED);
    assert_true(atomic_load(&w->count) < ITEMS);
    assert_int_equal(tn_context_each(context, ITEMS, do_one, w, NULL), TN_CANCELLED);
    tn_context_resume(context);
    assert_int_equal(tn_context_each(context, ITEMS, do_one, new_work(context), NULL), TN_OK);
    tn_context_destroy(context);
}

static tn_status no_threads(void *user, const tn_os_call *call)
{
    unsigned *left = user;
    if (call->operation != TN_OP_THREAD)
        return TN_OK;
    return *left > 0 ? (--*left, TN_OK) : TN_NO_MEMORY;
}

static void work_is_done_with_the_threads_there_are(void **state)
{
    (void)state;
    for (unsigned given = 0; given <= 2; given++) {
        tn_context *context = with_jobs(4, 1 << 20);
        work *w = new_work(context);
        unsigned left = given;
        tn_os_hooks hooks = {.before = no_threads, .user = &left};
        tn_os_set_hooks(&hooks);
        tn_status status = tn_context_each(context, ITEMS, do_one, w, NULL);
        tn_os_set_hooks(NULL);
        assert_int_equal(status, TN_OK);
        assert_int_equal(atomic_load(&w->count), ITEMS);
        tn_context_destroy(context);
    }
}

static void work_is_done_without_memory_for_threads(void **state)
{
    (void)state;
    tn_context *context = with_jobs(4, 1);
    work *w = new_work(context);
    assert_int_equal(tn_context_each(context, ITEMS, do_one, w, NULL), TN_OK);
    assert_int_equal(atomic_load(&w->count), ITEMS);
    tn_context_destroy(context);
}

enum { LIMIT = 10000 };

/* Takes and gives back blocks of changing sizes; what does not fit is refused, and nothing else. */
static tn_status charge_and_release(void *user, size_t item, tn_error *err)
{
    work *w = user;
    tn_budget *budget = &w->context->budget;
    (void)err;
    for (uint64_t i = 0; i < 50; i++) {
        uint64_t size = (item * 7919 + i * 104729) % 4000 + 1;
        if (tn_budget_charge(budget, size, NULL) != TN_OK) {
            atomic_fetch_add(&w->refused, 1);
            continue;
        }
        if (atomic_load(&budget->used) > LIMIT)
            return TN_INTERNAL;
        tn_budget_release(budget, size);
    }
    return TN_OK;
}

static void the_budget_is_exact_under_contention(void **state)
{
    (void)state;
    tn_context *context = with_jobs(8, LIMIT);
    work *w = new_work(context);
    assert_int_equal(tn_budget_charge(&context->budget, 6500, NULL), TN_OK); /* leaves room for sizes under 3500 */
    assert_int_equal(tn_context_each(context, ITEMS, charge_and_release, w, NULL), TN_OK);
    tn_budget_release(&context->budget, 6500);
    tn_memory memory = tn_context_memory(context);
    assert_int_equal(memory.used_bytes, 0);
    assert_true(memory.high_water_bytes <= LIMIT);
    assert_true(memory.refused == atomic_load(&w->refused));
    assert_true(memory.refused > 0);
    tn_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_item_is_done_once),
        cmocka_unit_test(one_job_works_in_order),
        cmocka_unit_test(no_items_are_no_work),
        cmocka_unit_test(the_failure_of_the_lowest_item_is_told),
        cmocka_unit_test(a_cancel_stops_handing_out),
        cmocka_unit_test(work_is_done_with_the_threads_there_are),
        cmocka_unit_test(work_is_done_without_memory_for_threads),
        cmocka_unit_test(the_budget_is_exact_under_contention),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
