/* Floats that become another type while they are read are what tn_convert makes of them, on every way to read; nothing is
 * needed but the lease and a room, and what cannot be turned is refused before anything is read. */
#include "support/weights.h"

#include <tenure/convert.h>

/* Sizes and places that no piece, block or vector falls on; a tensor of several pieces; neighbours of every width. */
static const row rows[] = {
    {"f64", TN_F64, 2, {1021, 3}},     {"f32", TN_F32, 1, {1500007}},     {"f16", TN_F16, 2, {1999, 1201}},
    {"bf16", TN_BF16, 1, {333}},       {"e4m3", TN_F8_E4M3, 1, {70001}},  {"e5m2", TN_F8_E5M2, 1, {1}},
    {"none", TN_F16, 2, {0, 4}},       {"ids", TN_I64, 1, {77}},          {"mask", TN_BOOL, 1, {13}},
    {"more", TN_BF16, 2, {31, 100003}}, {"last", TN_F32, 1, {1}},
};
enum { ROWS = sizeof rows / sizeof rows[0], SEED = 11 };

static const tn_dtype targets[] = {TN_F64, TN_F32, TN_F16, TN_BF16, TN_F8_E4M3, TN_I32};
enum { TARGETS = sizeof targets / sizeof targets[0] };

static bool is_float(tn_dtype dtype)
{
    return dtype != TN_I64 && dtype != TN_BOOL;
}

static tn_lease_options turned_into(tn_dtype dtype, tn_way way)
{
    tn_lease_options options = TN_LEASE_OPTIONS_INIT;
    options.flags = TN_LEASE_CONVERT;
    options.dtype = dtype;
    options.way = way;
    return options;
}

static size_t number_of(const tn_lease *lease)
{
    size_t n = 0;
    while (strcmp(rows[n].name, lease->name.bytes) != 0)
        n++;
    return n;
}

/* Against the tensor as it is stored, turned by tn_convert. */
static void assert_turned(const tn_checkpoint *checkpoint, const tn_lease *lease, tn_dtype dtype, const tn_index *index,
                          size_t index_count)
{
    tn_lease_options plain = TN_LEASE_OPTIONS_INIT;
    plain.index = index;
    plain.index_count = index_count;
    tn_lease *stored = lease_with(checkpoint, lease->name.bytes, &plain);
    tn_dtype as = is_float(stored->dtype) ? dtype : stored->dtype;
    assert_int_equal(lease->dtype, as);
    assert_int_equal(lease->elements, stored->elements);
    assert_int_equal(lease->size_bytes, stored->elements * tn_dtype_bits(as) / 8);
    assert_int_equal((uintptr_t)lease->data % 64, 0);
    uint8_t *expected = malloc((size_t)lease->size_bytes + 1);
    assert_int_equal(tn_convert(stored->dtype, stored->data, as, expected, stored->elements, NULL), TN_OK);
    assert_memory_equal(lease->data, expected, (size_t)lease->size_bytes);
    for (uint32_t i = 0; i < lease->rank; i++) {
        assert_int_equal(lease->shape[i], stored->shape[i]);
        assert_int_equal(lease->strides[i], stored->strides[i]);
    }
    free(expected);
    tn_lease_release(stored);
}

static void all_are_turned(const tn_checkpoint *checkpoint, const tn_lease_options *options)
{
    tn_lease *all[ROWS];
    tn_error err;
    if (tn_lease_many(checkpoint, NULL, ROWS, options, all, &err) != TN_OK)
        fail_msg("%s [%s]", err.message, err.tensor);
    for (size_t i = 0; i < ROWS; i++) {
        assert_turned(checkpoint, all[i], options->dtype, NULL, 0);
        tn_lease_release(all[i]);
    }
}

static void every_way_gives_what_converting_afterwards_gives(void **state)
{
    static const tn_way ways[] = {TN_WAY_AUTOMATIC, TN_WAY_READ, TN_WAY_THREADS, TN_WAY_DIRECT};
    (void)state;
    for (unsigned spaces = 0; spaces < 8; spaces += 3) {
        put_tensors(at("a.safetensors"), rows, ROWS, SEED, spaces);
        tn_checkpoint *checkpoint = open_weights(at("a.safetensors"));
        for (size_t t = 0; t < TARGETS; t++) {
            tn_lease_options options = turned_into(targets[t], ways[(t + spaces) % 4]);
            all_are_turned(checkpoint, &options);
            options.flags |= TN_LEASE_DROP_BEHIND;
            all_are_turned(checkpoint, &options);
        }
        tn_checkpoint_release(checkpoint);
    }
}

static void slices_are_turned_too(void **state)
{
    static const tn_index rows_of[] = {{TN_INDEX_RANGE, 100, 1900, 1}};                      /* one run */
    static const tn_index columns[] = {{TN_INDEX_REST, 0, 0, 0}, {TN_INDEX_RANGE, 5, 1100, 3}}; /* gathered */
    static const tn_index long_runs[] = {{TN_INDEX_RANGE, TN_INDEX_NONE, TN_INDEX_NONE, -2}};    /* runs of 200 KB */
    (void)state;
    put_tensors(at("a.safetensors"), rows, ROWS, SEED, 3);
    tn_checkpoint *checkpoint = open_weights(at("a.safetensors"));
    const struct {
        const char *name;
        const tn_index *index;
        size_t count;
        tn_way way;
    } cases[] = {{"f16", rows_of, 1, TN_WAY_READ}, {"f16", columns, 2, TN_WAY_GATHER}, {"more", long_runs, 1, TN_WAY_READ}};
    for (size_t i = 0; i < 3; i++) {
        for (size_t t = 0; t < TARGETS; t++) {
            tn_lease_options options = turned_into(targets[t], TN_WAY_AUTOMATIC);
            options.index = cases[i].index;
            options.index_count = cases[i].count;
            tn_lease *lease = lease_with(checkpoint, cases[i].name, &options);
            if (lease->dtype != rows[number_of(lease)].dtype)
                assert_int_equal(lease->way, cases[i].way);
            assert_turned(checkpoint, lease, targets[t], cases[i].index, cases[i].count);
            tn_lease_release(lease);
        }
    }
    tn_checkpoint_release(checkpoint);
}

static void what_is_turned_is_no_view_and_says_so(void **state)
{
    (void)state;
    put_tensors(at("a.safetensors"), rows, ROWS, SEED, 0);
    tn_checkpoint *checkpoint = open_weights(at("a.safetensors"));
    tn_lease_options options = turned_into(TN_F32, TN_WAY_AUTOMATIC);
    options.flags |= TN_LEASE_VIEW;
    tn_lease *lease = lease_with(checkpoint, "more", &options);
    assert_int_not_equal(lease->way, TN_WAY_VIEW);
    assert_string_equal(lease->reason, "a view was asked for, but its elements are turned into another type");
    assert_turned(checkpoint, lease, TN_F32, NULL, 0);
    tn_lease_release(lease);
    tn_lease *all[ROWS];
    assert_int_equal(tn_lease_many(checkpoint, NULL, ROWS, &options, all, NULL), TN_OK);
    for (size_t i = 0; i < ROWS; i++) {
        bool may_be = all[i]->dtype == rows[i].dtype && all[i]->elements > 0;
        assert_true(may_be || all[i]->way != TN_WAY_VIEW);
        if (all[i]->way != TN_WAY_VIEW)
            assert_turned(checkpoint, all[i], TN_F32, NULL, 0);
        tn_lease_release(all[i]);
    }
    tn_checkpoint_release(checkpoint);
}

static void what_cannot_be_turned_is_refused_before_anything_is_read(void **state)
{
    static const row packed[] = {{"a", TN_F16, 1, {1000}}, {"b", TN_F4, 1, {1000}}};
    (void)state;
    put_tensors(at("p.safetensors"), packed, 2, SEED, 0);
    tn_checkpoint *checkpoint = open_weights(at("p.safetensors"));
    uint64_t read = tn_context_bytes_read(context);
    tn_lease_options options = turned_into(TN_BF16, TN_WAY_AUTOMATIC);
    tn_lease *all[2];
    tn_cost cost;
    tn_error err;
    assert_int_equal(tn_lease_many(checkpoint, NULL, 2, &options, all, &err), TN_UNSUPPORTED);
    assert_string_equal(err.message, "F4 cannot be turned into BF16");
    assert_string_equal(err.tensor, "b");
    assert_int_equal(tn_cost_of(checkpoint, NULL, 2, &options, &cost, &err), TN_UNSUPPORTED);
    options.dtype = TN_C64;
    assert_int_equal(tn_lease_named(checkpoint, "a", &options, &all[0], &err), TN_UNSUPPORTED);
    options.dtype = TN_DTYPE_COUNT;
    assert_int_equal(tn_lease_named(checkpoint, "a", &options, &all[0], &err), TN_INVALID);
    assert_int_equal(tn_context_bytes_read(context), read);
    tn_checkpoint_release(checkpoint);
}

/* 4 bytes an element instead of 2, one room beside them, and no more: a budget of just so much is enough. */
static void the_cost_is_said_and_is_enough(void **state)
{
    static const row big[] = {{"a", TN_BF16, 1, {8u << 20}}};
    (void)state;
    put_tensors(at("b.safetensors"), big, 1, SEED, 0);
    tn_checkpoint *checkpoint = open_weights(at("b.safetensors"));
    tn_lease_options options = turned_into(TN_F32, TN_WAY_THREADS);
    tn_cost cost;
    assert_int_equal(tn_cost_of(checkpoint, NULL, 1, &options, &cost, NULL), TN_OK);
    assert_int_equal(cost.bytes, UINT64_C(32) << 20);
    assert_int_equal(cost.bytes_by_dtype[TN_F32], UINT64_C(32) << 20);
    assert_int_equal(cost.bytes_by_way[TN_WAY_THREADS], UINT64_C(16) << 20);
    assert_in_range(cost.memory_bytes, UINT64_C(36) << 20, UINT64_C(42) << 20);
    tn_checkpoint_release(checkpoint);
    tn_context_destroy(context);
    for (unsigned mib = 42; mib > 34; mib -= 7) { /* the lease, a room and what an open file takes; less than a room */
        assert_int_equal(weights_setup_with((uint64_t)mib << 20, 3), 0);
        checkpoint = open_weights(at("b.safetensors"));
        tn_lease *lease = NULL;
        tn_error err;
        tn_status status = tn_lease_many(checkpoint, NULL, 1, &options, &lease, &err);
        assert_int_equal(status, mib == 42 ? TN_OK : TN_OVER_BUDGET);
        tn_lease_release(lease);
        tn_checkpoint_release(checkpoint);
        tn_context_trim(context);
        assert_int_equal(tn_context_memory(context).used_bytes, 0);
        tn_context_destroy(context);
    }
    assert_int_equal(weights_setup_with(UINT64_C(256) << 20, 3), 0);
}

static bool never(void *user, uint64_t done, uint64_t total)
{
    (void)user, (void)done, (void)total;
    return false;
}

static void a_cancel_hands_nothing_out(void **state)
{
    (void)state;
    put_tensors(at("a.safetensors"), rows, ROWS, SEED, 0);
    tn_checkpoint *checkpoint = open_weights(at("a.safetensors"));
    tn_lease_options options = turned_into(TN_F32, TN_WAY_THREADS);
    tn_lease *lease = NULL;
    options.progress = never;
    assert_int_equal(tn_lease_named(checkpoint, "more", &options, &lease, NULL), TN_CANCELLED);
    assert_null(lease);
    tn_checkpoint_release(checkpoint);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_gives_what_converting_afterwards_gives),
        cmocka_unit_test(slices_are_turned_too),
        cmocka_unit_test(what_is_turned_is_no_view_and_says_so),
        cmocka_unit_test(what_cannot_be_turned_is_refused_before_anything_is_read),
        cmocka_unit_test(the_cost_is_said_and_is_enough),
        cmocka_unit_test(a_cancel_hands_nothing_out),
    };
    return cmocka_run_group_tests_name("weights.converted", tests, weights_setup, weights_teardown);
}
