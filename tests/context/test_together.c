/* One piece of work on several threads: the caller's is one of them, and those that cannot be had are done without. */
#include "support/check.h"

#include "context/context.h"
#include "os/os_fault.h"

static tn_context *context;

static int begin(void **state)
{
    (void)state;
    tn_context_options options = {.size = sizeof options, .jobs = 4, .memory_limit_bytes = 1 << 20};
    return tn_context_create(&options, &context, NULL) == TN_OK ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    uint64_t used = tn_context_memory(context).used_bytes;
    tn_context_destroy(context);
    return used == 0 ? 0 : -1;
}

static _Thread_local bool is_the_caller;

typedef struct ran {
    _Atomic unsigned helpers, callers;
    _Atomic bool wrong;
} ran;

static void run(void *user, bool helper)
{
    ran *r = user;
    atomic_fetch_add(helper ? &r->helpers : &r->callers, 1);
    if (helper == is_the_caller)
        atomic_store(&r->wrong, true);
}

static void assert_ran(unsigned wanted, unsigned helpers)
{
    ran r = {0, 0, false};
    is_the_caller = true;
    tn_context_together(context, wanted, run, &r);
    assert_int_equal(atomic_load(&r.callers), 1);
    assert_int_equal(atomic_load(&r.helpers), helpers);
    assert_false(atomic_load(&r.wrong));
}

static void the_caller_works_beside_its_helpers(void **state)
{
    (void)state;
    for (unsigned helpers = 0; helpers <= 8; helpers++)
        assert_ran(helpers, helpers);
}

static tn_status no_more_threads(void *user, const tn_os_call *call)
{
    unsigned *left = user;
    if (call->operation != TN_OP_THREAD)
        return TN_OK;
    return *left > 0 ? (--*left, TN_OK) : TN_NO_MEMORY;
}

static void threads_that_cannot_be_had_are_done_without(void **state)
{
    (void)state;
    for (unsigned given = 0; given <= 3; given++) {
        unsigned left = given;
        tn_os_hooks hooks = {.before = no_more_threads, .user = &left};
        tn_os_set_hooks(&hooks);
        assert_ran(3, given);
        tn_os_set_hooks(NULL);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(the_caller_works_beside_its_helpers),
        TEST(threads_that_cannot_be_had_are_done_without),
    };
    return cmocka_run_group_tests_name("context.together", tests, NULL, NULL);
}
