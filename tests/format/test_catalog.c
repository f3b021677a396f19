/* Catalogs: what the builder promises, the limits, and weights put together with their side tensors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/catalog.h"
#include "format/limits.h"
#include "format/name_index.h"
#include "support/format.h"

static tn_catalog *begin(tn_context *context)
{
    tn_catalog *c = NULL;
    assert_int_equal(tn_catalog_begin(context, TN_CONTAINER_SAFETENSORS, "x.safetensors", &c, NULL), TN_OK);
    assert_int_equal(tn_catalog_add_part(c, "x.safetensors", 100, 10, "", NULL), TN_OK);
    return c;
}

static tn_checkpoint *finish(tn_catalog *c)
{
    tn_checkpoint *out = NULL;
    assert_int_equal(tn_catalog_finish(c, &out, NULL), TN_OK);
    return out;
}

static void add(tn_catalog *c, const char *name, tn_dtype dtype, uint32_t rank, const uint64_t *shape)
{
    assert_int_equal(tn_catalog_add_shape(c, name, dtype, rank, shape, NULL), TN_OK);
}

static const tn_logical *logical(const tn_checkpoint *checkpoint, const char *name)
{
    const tn_logical *all = NULL;
    size_t count = tn_checkpoint_logicals(checkpoint, &all);
    for (size_t i = 0; i < count; i++)
        if (strcmp(all[i].name.bytes, name) == 0)
            return &all[i];
    return NULL;
}

static void tensors_lie_behind_one_another_and_keep_their_order(void **state)
{
    tn_catalog *c = begin(*state);
    add(c, "w", TN_F16, 2, (uint64_t[]){3, 4});
    add(c, "b", TN_F32, 1, (uint64_t[]){5});
    tn_checkpoint *k = finish(c);
    const tn_tensor *tensors = NULL;
    const tn_storage *storages = NULL;
    assert_int_equal(tn_checkpoint_tensors(k, &tensors), 2);
    assert_int_equal(tn_checkpoint_storages(k, &storages), 2);
    assert_int_equal(storages[0].offset, 10); /* behind the header */
    assert_int_equal(storages[0].stored_bytes, 24);
    assert_int_equal(storages[1].offset, 34);
    assert_int_equal(tensors[1].storage, 1);
    assert_int_equal(tensors[1].elements, 5);
    assert_int_equal(tn_checkpoint_size_bytes(k), 100);
    assert_int_equal(tn_checkpoint_header_bytes(k), 10);
    tn_checkpoint_release(k);
}

static void a_component_stands_before_the_names_of_its_tensors(void **state)
{
    tn_catalog *c = NULL;
    const tn_part *parts = NULL;
    assert_int_equal(tn_catalog_begin(*state, TN_CONTAINER_DIFFUSERS, "d", &c, NULL), TN_OK);
    assert_int_equal(tn_catalog_add_part(c, "d/unet/m.safetensors", 1, 0, "unet", NULL), TN_OK);
    add(c, "w", TN_U8, 0, NULL);
    assert_int_equal(tn_catalog_add_part(c, "d/vae/m.safetensors", 1, 0, "vae", NULL), TN_OK);
    add(c, "w", TN_U8, 0, NULL);
    tn_checkpoint *k = finish(c);
    assert_non_null(tn_checkpoint_find(k, "unet/w", 6));
    assert_non_null(tn_checkpoint_find(k, "vae/w", 5));
    assert_null(tn_checkpoint_find(k, "w", 1));
    assert_int_equal(tn_checkpoint_parts(k, &parts), 2);
    assert_string_equal(parts[1].component.bytes, "vae");
    tn_checkpoint_release(k);
}

static void a_second_tensor_of_a_name_changes_nothing(void **state)
{
    tn_catalog *c = begin(*state);
    tn_error err;
    add(c, "w", TN_U8, 1, (uint64_t[]){2});
    assert_int_equal(tn_catalog_add_shape(c, "w", TN_F32, 1, (uint64_t[]){7}, &err), TN_DUPLICATE);
    assert_string_equal(err.tensor, "w");
    assert_int_equal(tn_catalog_tensor_count(c), 1);
    assert_int_equal(tn_catalog_add_metadata(c, TN_TEXT("k"), TN_TEXT("1"), NULL), TN_OK);
    assert_int_equal(tn_catalog_add_metadata(c, TN_TEXT("k"), TN_TEXT("2"), NULL), TN_DUPLICATE);
    tn_checkpoint *k = finish(c);
    assert_int_equal(tn_checkpoint_find(k, "w", 1)->dtype, TN_U8);
    assert_string_equal(tn_checkpoint_metadata_value(k, "k").bytes, "1");
    tn_checkpoint_release(k);
}

static void products_that_wrap_are_refused(void **state)
{
    tn_catalog *c = begin(*state);
    uint64_t half = UINT64_C(1) << 63;
    assert_int_equal(tn_catalog_add_shape(c, "a", TN_U8, 2, (uint64_t[]){half, 2}, NULL), TN_OVERFLOW);
    assert_int_equal(tn_catalog_add_shape(c, "b", TN_F32, 1, (uint64_t[]){half}, NULL), TN_OVERFLOW);
    assert_int_equal(tn_catalog_add_shape(c, "c", TN_U8, 3, (uint64_t[]){half, 2, 0}, NULL), TN_OVERFLOW);
    assert_int_equal(tn_catalog_add_shape(c, "d", TN_U8, 3, (uint64_t[]){0, half, 2}, NULL), TN_OK);
    assert_int_equal(tn_catalog_add_shape(c, "e", TN_F4, 1, (uint64_t[]){3}, NULL), TN_BAD_LAYOUT);
    assert_int_equal(tn_catalog_add_shape(c, "f", TN_F6_E2M3, 1, (uint64_t[]){4}, NULL), TN_OK);
    assert_int_equal(tn_catalog_tensor_count(c), 2);
    tn_catalog_abandon(c);
}

static void going_back_to_a_mark_forgets_what_came_after(void **state)
{
    tn_catalog *c = begin(*state);
    add(c, "kept", TN_U8, 0, NULL);
    tn_catalog_mark mark = tn_catalog_mark_now(c);
    assert_int_equal(tn_catalog_add_part(c, "y", 1, 1, "", NULL), TN_OK);
    add(c, "gone", TN_U8, 0, NULL);
    assert_int_equal(tn_catalog_add_metadata(c, TN_TEXT("k"), TN_TEXT("1"), NULL), TN_OK);
    tn_catalog_return_to(c, mark);
    assert_int_equal(tn_catalog_add_metadata(c, TN_TEXT("k"), TN_TEXT("2"), NULL), TN_OK);
    tn_checkpoint *k = finish(c);
    assert_null(tn_checkpoint_find(k, "gone", 4));
    assert_non_null(tn_checkpoint_find(k, "kept", 4));
    assert_string_equal(tn_checkpoint_metadata_value(k, "k").bytes, "2");
    tn_checkpoint_release(k);
}

static void findings_come_worst_first_and_else_as_they_were_found(void **state)
{
    tn_catalog *c = begin(*state);
    const tn_finding *found = NULL;
    assert_int_equal(tn_catalog_note(c, TN_NOTE, TN_MISALIGNED, NULL, NULL, "one"), TN_OK);
    assert_int_equal(tn_catalog_note(c, TN_ERROR, TN_TRUNCATED, "f", NULL, "two %d", 2), TN_OK);
    assert_int_equal(tn_catalog_note(c, TN_WARNING, TN_EXTRA_PART, NULL, NULL, "three"), TN_OK);
    assert_int_equal(tn_catalog_note(c, TN_ERROR, TN_MISSING_PART, NULL, NULL, "four"), TN_OK);
    tn_checkpoint *k = finish(c);
    assert_int_equal(tn_checkpoint_findings(k, &found), 4);
    assert_string_equal(found[0].message.bytes, "two 2");
    assert_string_equal(found[0].file.bytes, "f");
    assert_string_equal(found[1].message.bytes, "four");
    assert_string_equal(found[2].message.bytes, "three");
    assert_string_equal(found[3].message.bytes, "one");
    assert_int_equal(found[0].offset, TN_NONE);
    tn_checkpoint_release(k);
}

static void at_most_256_findings_are_kept_and_the_last_says_that_there_are_more(void **state)
{
    assert_int_equal(TN_FINDINGS_MAX, 256);
    for (unsigned extra = 0; extra < 2; extra++) {
        tn_catalog *c = begin(*state);
        const tn_finding *found = NULL;
        for (unsigned i = 0; i < TN_FINDINGS_MAX + extra; i++)
            assert_int_equal(tn_catalog_note(c, TN_NOTE, TN_MISALIGNED, NULL, NULL, "n"), TN_OK);
        tn_checkpoint *k = finish(c);
        assert_int_equal(tn_checkpoint_findings(k, &found), TN_FINDINGS_MAX);
        assert_int_equal(found[TN_FINDINGS_MAX - 1].status, extra == 0 ? TN_MISALIGNED : TN_LIMIT);
        tn_checkpoint_release(k);
    }
}

static void a_checkpoint_has_16384_parts_at_most(void **state)
{
    tn_catalog *c = begin(*state);
    assert_int_equal(TN_PARTS_MAX, 16384);
    for (unsigned i = 1; i < TN_PARTS_MAX; i++)
        assert_int_equal(tn_catalog_add_part(c, "p", 1, 1, "", NULL), TN_OK);
    assert_int_equal(tn_catalog_add_part(c, "p", 1, 1, "", NULL), TN_LIMIT);
    tn_catalog_abandon(c);
}

static void a_checkpoint_has_1048576_pairs_of_metadata_at_most(void **state)
{
    tn_catalog *c = begin(*state);
    assert_int_equal(TN_METADATA_MAX, 1048576);
    for (uint32_t i = 0; i <= TN_METADATA_MAX; i++) {
        tn_text key = {(const char *)&i, sizeof i};
        tn_status wanted = i < TN_METADATA_MAX ? TN_OK : TN_LIMIT;
        if (tn_catalog_add_metadata(c, key, TN_TEXT(""), NULL) != wanted)
            fail();
    }
    tn_catalog_abandon(c);
}

/* Takes about 700 MB: only when asked for. */
static void a_checkpoint_has_4194304_tensors_at_most(void **state)
{
    assert_int_equal(TN_TENSORS_MAX, 4194304);
    if (getenv("TENURE_TEST_LARGE") == NULL) {
        print_message("set TENURE_TEST_LARGE to count to four million\n");
        skip();
    }
    tn_context_options options = TN_CONTEXT_OPTIONS_INIT;
    options.memory_limit_bytes = UINT64_C(4) << 30;
    tn_context *context = NULL;
    (void)state;
    assert_int_equal(tn_context_create(&options, &context, NULL), TN_OK);
    tn_catalog *c = begin(context);
    for (uint32_t i = 0; i <= TN_TENSORS_MAX; i++) {
        tn_tensor_spec spec = {.name = (const char *)&i, .name_size = sizeof i, .dtype = TN_U8, .offset = TN_NONE,
                               .stored_bytes = TN_NONE};
        if (tn_catalog_add_tensor(c, &spec, NULL) != (i < TN_TENSORS_MAX ? TN_OK : TN_LIMIT))
            fail();
    }
    tn_catalog_abandon(c);
    tn_context_destroy(context);
}

static void a_checkpoint_lives_until_its_last_hold(void **state)
{
    tn_catalog *c = begin(*state);
    add(c, "w", TN_U8, 0, NULL);
    tn_checkpoint *k = finish(c);
    assert_ptr_equal(tn_checkpoint_hold(k), k);
    tn_checkpoint_release(k);
    assert_non_null(tn_checkpoint_find(k, "w", 1));
    tn_checkpoint_release(k);
    tn_checkpoint_release(NULL);
    assert_int_equal(tn_context_memory(*state).used_bytes, 0);
}

/* ---- logical tensors ---- */

static void a_plain_file_has_one_logical_tensor_for_each_tensor(void **state)
{
    tn_catalog *c = begin(*state);
    add(c, "a.weight", TN_F16, 2, (uint64_t[]){3, 4});
    add(c, "a.scale", TN_F16, 1, (uint64_t[]){3}); /* a norm's parameter, not a quantisation scale */
    tn_checkpoint *k = finish(c);
    const tn_logical *all = NULL;
    assert_int_equal(tn_checkpoint_logicals(k, &all), 2);
    assert_int_equal(all[0].member_count, 1);
    assert_int_equal(all[1].members[0], 1);
    assert_int_equal(all[0].scheme.size, 0);
    assert_int_equal(all[0].elements, 12);
    tn_checkpoint_release(k);
}

/* Names and shapes as bitsandbytes writes them: 64 * 32 = 2048 elements packed by two, a block of 64 has one absmax. */
static void bitsandbytes_four_bit_weights_count_their_elements_unpacked(void **state)
{
    tn_catalog *c = begin(*state);
    add(c, "l.weight", TN_U8, 2, (uint64_t[]){1024, 1});
    add(c, "l.weight.absmax", TN_U8, 1, (uint64_t[]){32});
    add(c, "l.weight.nested_absmax", TN_F32, 1, (uint64_t[]){1});
    add(c, "l.weight.nested_quant_map", TN_F32, 1, (uint64_t[]){256});
    add(c, "l.weight.quant_map", TN_F32, 1, (uint64_t[]){16});
    add(c, "l.weight.quant_state.bitsandbytes__nf4", TN_U8, 1, (uint64_t[]){120});
    add(c, "l.bias", TN_F16, 1, (uint64_t[]){64});
    tn_checkpoint *k = finish(c);
    const tn_logical *all = NULL, *w = logical(k, "l.weight");
    assert_int_equal(tn_checkpoint_logicals(k, &all), 2);
    assert_string_equal(w->scheme.bytes, "nf4");
    assert_int_equal(w->elements, 2048);
    assert_int_equal(w->member_count, 6);
    assert_int_equal(w->members[0], 0);
    assert_int_equal(w->members[5], 5);
    assert_int_equal(logical(k, "l.bias")->scheme.size, 0);
    tn_checkpoint_release(k);
}

static void scales_beside_eight_bit_weights_name_the_scheme(void **state)
{
    tn_catalog *c = begin(*state);
    add(c, "scaled_fp8", TN_F8_E4M3, 1, (uint64_t[]){0});
    add(c, "old.weight", TN_F8_E4M3, 2, (uint64_t[]){8, 4});
    add(c, "old.scale_weight", TN_F32, 0, NULL);
    add(c, "old.scale_input", TN_F32, 0, NULL);
    add(c, "new.weight", TN_F8_E5M2, 2, (uint64_t[]){8, 4});
    add(c, "new.comfy_quant", TN_U8, 1, (uint64_t[]){40});
    add(c, "new.weight_scale", TN_F32, 0, NULL);
    add(c, "bare.weight", TN_F8_E4M3, 2, (uint64_t[]){8, 4});
    add(c, "int.weight", TN_I8, 2, (uint64_t[]){8, 4});
    add(c, "int.SCB", TN_F32, 1, (uint64_t[]){8});
    add(c, "sd.weight", TN_U8, 2, (uint64_t[]){8, 4});
    add(c, "sd.scale", TN_F32, 2, (uint64_t[]){8, 1});
    add(c, "nv.weight", TN_U8, 2, (uint64_t[]){8, 4});
    add(c, "nv.weight_scale", TN_F8_E4M3, 2, (uint64_t[]){8, 1});
    add(c, "nv.weight_scale_2", TN_F32, 0, NULL);
    tn_checkpoint *k = finish(c);
    const tn_logical *all = NULL;
    assert_int_equal(tn_checkpoint_logicals(k, &all), 7);
    assert_string_equal(logical(k, "old.weight")->scheme.bytes, "fp8_scaled");
    assert_int_equal(logical(k, "old.weight")->member_count, 3);
    assert_int_equal(logical(k, "old.weight")->elements, 32);
    assert_string_equal(logical(k, "new.weight")->scheme.bytes, "fp8_scaled");
    assert_string_equal(logical(k, "bare.weight")->scheme.bytes, "");
    assert_string_equal(logical(k, "int.weight")->scheme.bytes, "int8");
    assert_string_equal(logical(k, "sd.weight")->scheme.bytes, "sdnq");
    assert_string_equal(logical(k, "nv.weight")->scheme.bytes, "nvfp4");
    assert_int_equal(logical(k, "nv.weight")->shape[1], 8);
    assert_int_equal(logical(k, "nv.weight")->elements, 64);
    assert_string_equal(logical(k, "scaled_fp8")->scheme.bytes, "");
    tn_checkpoint_release(k);
}

static void side_tensors_without_their_weight_stand_for_themselves(void **state)
{
    tn_catalog *c = begin(*state);
    add(c, "l.weight.absmax", TN_U8, 1, (uint64_t[]){32});
    add(c, "l.weight.absmax.absmax", TN_U8, 1, (uint64_t[]){32});
    add(c, "x.weight", TN_F32, 1, (uint64_t[]){32});
    add(c, "x.weight_scale", TN_F32, 0, NULL); /* the weight is not packed */
    tn_checkpoint *k = finish(c);
    const tn_logical *all = NULL;
    assert_int_equal(tn_checkpoint_logicals(k, &all), 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(all[i].member_count, 1);
    tn_checkpoint_release(k);
}

/* ---- the index of names ---- */

typedef struct item {
    tn_text name;
    char bytes[12];
} item;

static void every_name_of_a_hundred_thousand_is_found_and_no_other(void **state)
{
    enum { COUNT = 100000 };
    tn_name_index index;
    item *items = calloc(COUNT, sizeof *items);
    tn_context *context = *state;
    assert_non_null(items);
    tn_name_index_init(&index, &context->memory, sizeof *items);
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t holder = 0;
        int size = snprintf(items[i].bytes, sizeof items[i].bytes, "%u", i);
        items[i].name = (tn_text){items[i].bytes, (size_t)size};
        assert_int_equal(tn_name_index_put(&index, items, items[i].name, i, &holder, NULL), TN_OK);
        assert_int_equal(holder, i);
    }
    uint32_t found = 0;
    assert_int_equal(tn_name_index_put(&index, items, TN_TEXT("77"), COUNT, &found, NULL), TN_OK);
    assert_int_equal(found, 77);
    for (uint32_t i = 0; i < COUNT; i++) {
        if (!tn_name_index_get(&index, items, items[i].bytes, items[i].name.size, &found) || found != i)
            fail();
    }
    assert_false(tn_name_index_get(&index, items, "100000", 6, &found));
    assert_false(tn_name_index_get(&index, items, "", 0, &found));
    tn_name_index_rewrite(&index, items, 10);
    assert_true(tn_name_index_get(&index, items, "9", 1, &found));
    assert_false(tn_name_index_get(&index, items, "10", 2, &found));
    tn_name_index_free(&index);
    free(items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_lie_behind_one_another_and_keep_their_order),
        cmocka_unit_test(a_component_stands_before_the_names_of_its_tensors),
        cmocka_unit_test(a_second_tensor_of_a_name_changes_nothing),
        cmocka_unit_test(products_that_wrap_are_refused),
        cmocka_unit_test(going_back_to_a_mark_forgets_what_came_after),
        cmocka_unit_test(findings_come_worst_first_and_else_as_they_were_found),
        cmocka_unit_test(at_most_256_findings_are_kept_and_the_last_says_that_there_are_more),
        cmocka_unit_test(a_checkpoint_has_16384_parts_at_most),
        cmocka_unit_test(a_checkpoint_has_1048576_pairs_of_metadata_at_most),
        cmocka_unit_test(a_checkpoint_has_4194304_tensors_at_most),
        cmocka_unit_test(a_checkpoint_lives_until_its_last_hold),
        cmocka_unit_test(a_plain_file_has_one_logical_tensor_for_each_tensor),
        cmocka_unit_test(bitsandbytes_four_bit_weights_count_their_elements_unpacked),
        cmocka_unit_test(scales_beside_eight_bit_weights_name_the_scheme),
        cmocka_unit_test(side_tensors_without_their_weight_stand_for_themselves),
        cmocka_unit_test(every_name_of_a_hundred_thousand_is_found_and_no_other),
    };
    return cmocka_run_group_tests(tests, format_context_up, format_context_down);
}
