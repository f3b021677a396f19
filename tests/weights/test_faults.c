/* Whatever fails while something is leased, the answer is a status, nothing leaks, and the next call works: for each n
 * the n-th allocation fails, once or for good, then the n-th call of the system. */
#include "support/weights.h"

#include "support/faults.h"

static const row rows[] = {
    {"a", TN_F32, 2, {300, 1000}}, {"b", TN_F16, 1, {7}}, {"c", TN_U8, 1, {5000001}}, {"d", TN_F32, 2, {20, 30}},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static void assert_number(const tn_lease *lease, size_t number)
{
    assert_int_equal(lease->size_bytes, bytes_of(&rows[number]));
    assert_bytes(lease->data, (size_t)lease->size_bytes < 5000 ? (size_t)lease->size_bytes : 5000, 9,
                 data_at(rows, number));
}

/* What one run does: leases of every kind, each of which may fail. */
static void lease_everything(const tn_checkpoint *checkpoint)
{
    static const tn_index index[] = {{TN_INDEX_RANGE, 1, 200, 3}, {TN_INDEX_RANGE, 2, 900, 2}};
    static const uint32_t flags[] = {0, TN_LEASE_VIEW, TN_LEASE_DROP_BEHIND};
    for (size_t f = 0; f < 3; f++) {
        tn_lease_options options = TN_LEASE_OPTIONS_INIT;
        tn_lease *lease = NULL, *all[ROWS] = {NULL};
        tn_error err;
        tn_cost cost;
        options.flags = flags[f];
        options.way = f == 0 ? TN_WAY_THREADS : f == 1 ? TN_WAY_AUTOMATIC : TN_WAY_DIRECT;
        for (size_t i = 0; i < ROWS; i++)
            if (tn_lease_named(checkpoint, rows[i].name, &options, &lease, &err) == TN_OK) {
                assert_number(lease, i);
                tn_lease_release(lease);
            } else {
                assert_true(err.message[0] != '\0');
            }
        if (tn_lease_many(checkpoint, NULL, ROWS, &options, all, &err) == TN_OK)
            for (size_t i = 0; i < ROWS; i++) {
                assert_number(all[i], i);
                tn_lease_release(all[i]);
            }
        (void)tn_cost_of(checkpoint, NULL, ROWS, &options, &cost, NULL);
        options.index = index;
        options.index_count = 2;
        if (tn_lease_named(checkpoint, "a", &options, &lease, &err) == TN_OK)
            tn_lease_release(lease);
    }
}

/* The same of floats that become another type: all of it, and a slice that is gathered. */
static void lease_turned(const tn_checkpoint *checkpoint)
{
    static const tn_index columns[] = {{TN_INDEX_REST, 0, 0, 0}, {TN_INDEX_RANGE, 2, 900, 2}};
    tn_lease_options options = TN_LEASE_OPTIONS_INIT;
    tn_lease *lease = NULL, *all[ROWS] = {NULL};
    options.flags = TN_LEASE_CONVERT;
    options.dtype = TN_BF16;
    options.way = TN_WAY_DIRECT;
    if (tn_lease_many(checkpoint, NULL, ROWS, &options, all, NULL) == TN_OK)
        for (size_t i = 0; i < ROWS; i++) {
            assert_int_equal(all[i]->size_bytes, rows[i].dtype == TN_U8 ? bytes_of(&rows[i]) : all[i]->elements * 2);
            tn_lease_release(all[i]);
        }
    options.index = columns;
    options.index_count = 2;
    if (tn_lease_named(checkpoint, "a", &options, &lease, NULL) == TN_OK)
        tn_lease_release(lease);
}

static uint64_t charged(void)
{
    tn_context_trim(context);
    return tn_context_memory(context).used_bytes + tn_context_memory(context).kept_bytes;
}

static void one_run(void *user)
{
    (void)user;
    tn_checkpoint *checkpoint = NULL;
    tn_error err;
    uint64_t before = charged();
    if (tn_checkpoint_open(context, at("a.safetensors"), NULL, &checkpoint, &err) == TN_OK) {
        lease_everything(checkpoint);
        lease_turned(checkpoint);
    }
    tn_checkpoint_release(checkpoint);
    assert_int_equal(charged(), before);
}

static void works_again(void)
{
    tn_checkpoint *checkpoint = open_weights(at("a.safetensors"));
    tn_lease *lease = lease_of(checkpoint, "a");
    assert_bytes(lease->data, (size_t)lease->size_bytes, 9, 0);
    tn_lease_release(lease);
    tn_checkpoint_release(checkpoint);
}

/* The recycler and the pool stand aside for an allocator of the caller's; the system's calls are failed with them. */
static void any_allocation_may_fail(void **state)
{
    (void)state;
    tn_context_destroy(context);
    tn_context_options options = TN_CONTEXT_OPTIONS_INIT;
    options.memory_limit_bytes = UINT64_C(256) << 20;
    options.jobs = 1;
    options.allocator = (tn_allocator){failing_resize, NULL};
    assert_int_equal(tn_context_create(&options, &context, NULL), TN_OK);
    put_tensors(at("a.safetensors"), rows, ROWS, 9, 0);
    for (int for_good = 0; for_good < 2; for_good++) {
        each_fault("allocation", for_good != 0, one_run, NULL);
        works_again();
    }
}

static void any_call_of_the_system_may_fail(void **state)
{
    (void)state;
    tn_os_hooks hooks = {.before = failing_call};
    tn_context_destroy(context);
    weights_setup_with(UINT64_C(256) << 20, 1); /* one thread: faults are counted in order */
    put_tensors(at("a.safetensors"), rows, ROWS, 9, 0);
    for (int for_good = 0; for_good < 2; for_good++) {
        tn_os_set_hooks(&hooks);
        each_fault("call of the system", for_good != 0, one_run, NULL);
        tn_os_set_hooks(NULL);
        works_again();
    }
}

/* ---- with threads, which count in any order ---- */

static _Atomic uint64_t calls, fail_at;

static tn_status failing_somewhere(void *user, const tn_os_call *call)
{
    (void)user;
    if (call->operation != TN_OP_READ && call->operation != TN_OP_INFO && call->operation != TN_OP_THREAD)
        return TN_OK;
    return atomic_fetch_add(&calls, 1) + 1 == atomic_load(&fail_at) ? TN_IO : TN_OK;
}

static void a_failure_in_any_thread_ends_the_call(void **state)
{
    (void)state;
    tn_os_hooks hooks = {.before = failing_somewhere};
    put_tensors(at("a.safetensors"), rows, ROWS, 9, 0);
    tn_checkpoint *checkpoint = open_weights(at("a.safetensors"));
    tn_lease_release(lease_of(checkpoint, "b"));
    tn_lease_options options = TN_LEASE_OPTIONS_INIT;
    options.way = TN_WAY_THREADS;
    tn_os_set_hooks(&hooks);
    unsigned failures = 0;
    for (uint64_t n = 1; n < 12; n++) {
        tn_lease *all[ROWS] = {NULL};
        tn_error err;
        atomic_store(&calls, 0);
        atomic_store(&fail_at, n);
        tn_status status = tn_lease_many(checkpoint, NULL, ROWS, &options, all, &err);
        if (status != TN_OK) {
            assert_int_equal(status, TN_IO);
            assert_non_null(strstr(err.file, "a.safetensors"));
            assert_true(err.tensor[0] != '\0');
            assert_null(all[0]);
            failures++;
            continue;
        }
        for (size_t i = 0; i < ROWS; i++) {
            assert_number(all[i], i);
            tn_lease_release(all[i]);
        }
    }
    tn_os_set_hooks(NULL);
    assert_true(failures >= 4);
    tn_checkpoint_release(checkpoint);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, weights_setup, weights_teardown)
    const struct CMUnitTest tests[] = {
        TEST(any_allocation_may_fail),
        TEST(any_call_of_the_system_may_fail),
        TEST(a_failure_in_any_thread_ends_the_call),
    };
    return cmocka_run_group_tests_name("weights.faults", tests, NULL, NULL);
}
