/* The life of a lease, told once: opened, leased, shared, the file replaced and cut, all handles closed, and every byte
 * still there until the last hold is let go. */
#include "support/weights.h"

static const row rows[] = {
    {"encoder.weight", TN_F32, 2, {300, 512}},
    {"encoder.bias", TN_F16, 1, {512}},
    {"scale", TN_F32, 0, {0}},
};

static void a_lease_outlives_the_checkpoint_the_file_and_the_context(void **state)
{
    (void)state;
    put_tensors(at("a.safetensors"), rows, 3, 1, 0);
    tn_checkpoint *checkpoint = open_weights(at("a.safetensors"));

    tn_cost cost;
    assert_int_equal(tn_cost_of(checkpoint, NULL, 3, NULL, &cost, NULL), TN_OK);
    assert_int_equal(cost.bytes, 300 * 512 * 4 + 512 * 2 + 4);
    assert_int_equal(cost.bytes_by_dtype[TN_F16], 1024);
    assert_true(cost.fits);

    tn_lease *weight = lease_of(checkpoint, "encoder.weight");
    assert_int_equal(weight->dtype, TN_F32);
    assert_int_equal(weight->rank, 2);
    assert_int_equal(weight->shape[0], 300);
    assert_int_equal(weight->shape[1], 512);
    assert_int_equal(weight->strides[0], 512);
    assert_int_equal(weight->strides[1], 1);
    assert_int_equal(weight->size_bytes, 300 * 512 * 4);
    assert_int_equal((uintptr_t)weight->data % 64, 0);
    assert_ptr_equal(weight->owned, weight->data);
    assert_memory_equal(weight->name.bytes, "encoder.weight", weight->name.size + 1);

    tn_index last_row[] = {{TN_INDEX_AT, -1, 0, 0}, {TN_INDEX_RANGE, TN_INDEX_NONE, TN_INDEX_NONE, -1}};
    tn_lease_options options = TN_LEASE_OPTIONS_INIT;
    options.index = last_row;
    options.index_count = 2;
    tn_lease *last = lease_with(checkpoint, "encoder.weight", &options);
    assert_int_equal(last->rank, 1);
    assert_int_equal(last->shape[0], 512);

    tn_lease *all[3];
    assert_int_equal(tn_lease_many(checkpoint, NULL, 3, NULL, all, NULL), TN_OK);
    tn_lease_export handed;
    tn_lease_export_to(all[1], &handed);
    tn_lease_release(all[1]);

    /* From here on everything that the leases came from goes away. */
    put_tensors(at("b.safetensors"), rows, 3, 2, 0);
    (void)replace_file(at("b.safetensors"), at("a.safetensors"));
    tn_checkpoint_release(checkpoint);
    assert_int_equal(tn_os_remove(at("a.safetensors"), NULL), TN_OK);
    assert_true(tn_context_memory(context).used_bytes > 2 * weight->size_bytes);
    tn_context_destroy(context);
    context = NULL;

    assert_bytes(weight->data, weight->size_bytes, 1, 0);
    for (uint64_t i = 0; i < 512; i++)
        assert_bytes((const char *)last->data + 4 * i, 4, 1, 299 * 2048 + 4 * (511 - i));
    assert_bytes(all[0]->data, all[0]->size_bytes, 1, 0);
    assert_bytes(handed.data, handed.size_bytes, 1, 300 * 512 * 4);
    assert_bytes(all[2]->data, 4, 1, 300 * 512 * 4 + 1024);

    assert_ptr_equal(tn_lease_hold(weight), weight);
    tn_lease_release(weight);
    assert_bytes(weight->data, weight->size_bytes, 1, 0);
    tn_lease_release(weight);
    tn_lease_release(last);
    tn_lease_release(all[0]);
    handed.release(&handed);
    assert_null(handed.release);
    tn_lease_release(all[2]);
    tn_lease_release(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_lease_outlives_the_checkpoint_the_file_and_the_context, weights_setup,
                                        weights_teardown),
    };
    return cmocka_run_group_tests_name("weights.story", tests, NULL, NULL);
}
