/* Element types turned into each other: every value of the narrow types, the edges of the wide ones, against what PyTorch
 * made of them (tests/data/weights/torch_conversions.txt, recorded by torch_conversions.py beside this file), with every
 * code this processor runs. */
#include "support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/encode.h"
#include "digest/sha256.h"
#include "weights/convert.h"

/* ---- the inputs, by the same arithmetic as in the script ---- */

static const uint32_t low_32[] = {0, 1, 0x0fff, 0x1000, 0x1001, 0x3000, 0x7fff, 0x8000, 0x8001, 0xffff};
static const uint64_t low_64[] = {0, 1, 0x0fffffff, 0x10000000, 0x10000001, 0x7fffffffffff, 0x800000000000, 0x800000000001};

typedef struct values {
    uint8_t *bytes;
    size_t count, item;
} values;

static values take(size_t count, size_t item)
{
    values v = {calloc(count, item), count, item};
    assert_non_null(v.bytes);
    return v;
}

static void put(values *v, size_t at, uint64_t bits)
{
    memcpy(v->bytes + at * v->item, &bits, v->item); /* little-endian */
}

static uint64_t get(const values *v, size_t at)
{
    uint64_t bits = 0;
    memcpy(&bits, v->bytes + at * v->item, v->item);
    return bits;
}

static values every(size_t item)
{
    values v = take((size_t)1 << (8 * item), item);
    for (size_t i = 0; i < v.count; i++)
        put(&v, i, i);
    return v;
}

static values around_powers(unsigned bits)
{
    values v = take((size_t)bits * 10, bits / 8);
    size_t at = 0;
    for (unsigned b = 0; b < bits; b++)
        for (int64_t d = -2; d <= 2; d++) {
            uint64_t value = ((uint64_t)1 << b) + (uint64_t)d;
            put(&v, at++, value);
            put(&v, at++, 0 - value);
        }
    return v;
}

static values floats_32(void)
{
    size_t lows = sizeof low_32 / sizeof *low_32;
    values v = take(65536 * lows, 4);
    for (size_t i = 0; i < v.count; i++)
        put(&v, i, (uint64_t)(i / lows) << 16 | low_32[i % lows]);
    return v;
}

static values floats_64(void)
{
    size_t lows = sizeof low_64 / sizeof *low_64;
    values v = take(65536 * lows, 8);
    for (size_t i = 0; i < v.count; i++)
        put(&v, i, (uint64_t)(i / lows) << 48 | low_64[i % lows]);
    return v;
}

static values inputs(tn_dtype dtype)
{
    unsigned bits = tn_dtype_bits(dtype);
    if (dtype == TN_BOOL) {
        values two = take(2, 1);
        put(&two, 1, 1);
        return two;
    }
    if (dtype == TN_F32)
        return floats_32();
    if (dtype == TN_F64)
        return floats_64();
    return bits <= 16 ? every(bits / 8) : around_powers(bits);
}

/* ---- the results ---- */

/* NaNs made alike; the types with one NaN alone are left. */
static void make_alike(tn_dtype dtype, values *v)
{
    static const struct {
        tn_dtype dtype;
        uint64_t infinite, nan; /* what is greater than the first is a NaN */
    } types[] = {
        {TN_F8_E5M2, 0x7c, 0x7f},     {TN_F8_E4M3, 0x7e, 0x7f},           {TN_F16, 0x7c00, 0x7e00},
        {TN_BF16, 0x7f80, 0x7fc0},    {TN_F32, 0x7f800000, 0x7fc00000},   {TN_F64, 0x7ff0000000000000, 0x7ff8000000000000},
    };
    uint64_t magnitude = ((uint64_t)1 << (8 * v->item - 1)) - 1;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (size_t i = 0; i < v->count && types[t].dtype == dtype; i++)
            if ((get(v, i) & magnitude) > types[t].infinite)
                put(v, i, types[t].nan);
}

static values convert(const tn_convert_set *set, tn_dtype from, const values *in, tn_dtype to)
{
    values out = take(in->count, tn_dtype_bits(to) / 8);
    assert_int_equal(tn_convert_with(set, from, in->bytes, to, out.bytes, in->count, NULL), TN_OK);
    return out;
}

static bool is_float(tn_dtype dtype)
{
    return dtype == TN_F32 || dtype == TN_F64 || tn_convert_scalar.widen[dtype] != NULL;
}

/* 0 in place of integers made of a float that is NaN or too great, as the script does it. */
static void leave_out_undefined(tn_dtype from, const values *in, tn_dtype to, values *out)
{
    if (!is_float(from) || is_float(to) || to == TN_BOOL)
        return;
    double limit = out->item == 8 ? 0x1p63 : 0x1p31, number;
    values numbers = convert(&tn_convert_scalar, from, in, TN_F64);
    for (size_t i = 0; i < out->count; i++) {
        memcpy(&number, numbers.bytes + 8 * i, 8);
        if (!(number < limit && number > -limit))
            put(out, i, 0);
    }
    free(numbers.bytes);
}

static void digits_of(const values *v, char out[65])
{
    uint8_t digest[32];
    tn_sha256 sha256;
    tn_sha256_begin(&sha256);
    tn_sha256_add(&sha256, v->bytes, v->count * v->item);
    tn_sha256_end(&sha256, digest);
    tn_hex(digest, sizeof digest, out);
}

static unsigned sets(const tn_convert_set *out[5])
{
    const tn_convert_set *const all[] = {&tn_convert_scalar, tn_convert_sse2(), tn_convert_avx2(), tn_convert_avx512(),
                                         tn_convert_neon()};
    unsigned count = 0;
    for (size_t i = 0; i < 5; i++)
        if (all[i] != NULL)
            out[count++] = all[i];
    return count;
}

/* ---- against PyTorch ---- */

static unsigned compare_pair(tn_dtype from, tn_dtype to, const char *expected)
{
    const tn_convert_set *all[5];
    unsigned wrong = 0;
    values in = inputs(from);
    for (unsigned i = 0; i < sets(all); i++) {
        char digits[65];
        values out = convert(all[i], from, &in, to);
        leave_out_undefined(from, &in, to, &out);
        make_alike(to, &out);
        digits_of(&out, digits);
        if (strcmp(digits, expected) != 0) {
            print_message("%s: %s to %s differs\n", all[i]->name, tn_dtype_name(from), tn_dtype_name(to));
            wrong++;
        }
        free(out.bytes);
    }
    free(in.bytes);
    return wrong;
}

static void every_pair_is_as_pytorch_has_it(void **state)
{
    (void)state;
    char line[256], from_name[16], to_name[16], expected[80];
    unsigned pairs = 0, wrong = 0;
    FILE *table = fopen(TEST_DATA "/weights/torch_conversions.txt", "r");
    assert_non_null(table);
    while (fgets(line, sizeof line, table) != NULL) {
        tn_dtype from, to;
        if (sscanf(line, "%15s %15s %79s", from_name, to_name, expected) != 3 || line[0] == '#')
            continue;
        assert_true(tn_dtype_from_name(from_name, strlen(from_name), &from));
        assert_true(tn_dtype_from_name(to_name, strlen(to_name), &to));
        assert_true(tn_convert_can(from, to));
        wrong += compare_pair(from, to, expected);
        pairs++;
    }
    fclose(table);
    assert_int_equal(pairs, 18 * 17);
    assert_int_equal(wrong, 0);
}

/* ---- every code against the one that defines ---- */

/* NaNs included, and whatever lies in front of and behind the elements is left alone. */
static void compare_ends(const tn_convert_set *set, tn_dtype from, tn_dtype to, size_t count, size_t shift)
{
    enum { ROOM = 1024 };
    uint8_t in[ROOM], out[ROOM], expected[ROOM];
    size_t item = tn_dtype_bits(to) / 8;
    for (size_t i = 0; i < ROOM; i++)
        in[i] = (uint8_t)(i * 167 + 13 + count);
    memset(out, 0x55, sizeof out);
    memset(expected, 0x55, sizeof expected);
    assert_int_equal(tn_convert_with(set, from, in + shift, to, out + shift, count, NULL), TN_OK);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(tn_convert_with(&tn_convert_scalar, from, in + shift + i * (tn_dtype_bits(from) / 8), to,
                                         expected + shift + i * item, 1, NULL), TN_OK);
    assert_memory_equal(out, expected, sizeof out);
}

static void every_code_gives_the_same_bytes_for_every_length_and_place(void **state)
{
    (void)state;
    static const tn_dtype narrow[] = {TN_F16, TN_BF16, TN_F8_E4M3, TN_F8_E5M2};
    const tn_convert_set *all[5];
    for (unsigned s = 0; s < sets(all); s++)
        for (size_t t = 0; t < sizeof narrow / sizeof *narrow; t++)
            for (size_t count = 0; count < 70; count++)
                for (size_t shift = 0; shift < 3; shift++) {
                    compare_ends(all[s], narrow[t], TN_F32, count, shift);
                    compare_ends(all[s], TN_F32, narrow[t], count, shift);
                    compare_ends(all[s], narrow[t], TN_F64, count, shift);
                }
}

static void every_code_keeps_what_the_scalar_one_makes_of_nans(void **state)
{
    (void)state;
    static const tn_dtype narrow[] = {TN_F16, TN_BF16, TN_F8_E4M3, TN_F8_E5M2};
    const tn_convert_set *all[5];
    values in = floats_32();
    for (unsigned s = 0; s < sets(all); s++)
        for (size_t t = 0; t < sizeof narrow / sizeof *narrow; t++) {
            values out = convert(all[s], TN_F32, &in, narrow[t]), expected = convert(&tn_convert_scalar, TN_F32, &in, narrow[t]);
            assert_memory_equal(out.bytes, expected.bytes, out.count * out.item);
            free(out.bytes);
            free(expected.bytes);
        }
    free(in.bytes);
}

/* Results of many megabytes go past the caches, from any place on. */
static void great_results_are_the_same_from_every_place(void **state)
{
    (void)state;
    static const tn_dtype narrow[] = {TN_F16, TN_BF16};
    const tn_convert_set *all[5];
    const size_t count = TN_CONVERT_PAST_CACHES / 2 + 77;
    uint8_t *in = malloc(4 * count + 64), *out = malloc(4 * count + 64), *expected = malloc(4 * count);
    assert_true(in != NULL && out != NULL && expected != NULL);
    for (size_t i = 0; i < 4 * count + 64; i++)
        in[i] = (uint8_t)(i * 167 >> 2);
    for (size_t t = 0; t < 2; t++)
        for (unsigned s = 0; s < sets(all); s++)
            for (size_t shift = 0; shift < 12; shift += 4) {
                tn_convert_with(&tn_convert_scalar, narrow[t], in, TN_F32, expected, count, NULL);
                tn_convert_with(all[s], narrow[t], in, TN_F32, out + shift, count, NULL);
                assert_memory_equal(out + shift, expected, 4 * count);
                tn_convert_with(&tn_convert_scalar, TN_F32, in, narrow[t], expected, count, NULL);
                tn_convert_with(all[s], TN_F32, in, narrow[t], out + shift / 4, count, NULL); /* odd places too */
                assert_memory_equal(out + shift / 4, expected, 2 * count);
            }
    free(in);
    free(out);
    free(expected);
}

/* ---- the public call ---- */

static void what_cannot_be_converted_is_refused_with_both_names(void **state)
{
    (void)state;
    uint8_t byte = 0x12, out[4] = {7, 7, 7, 7};
    tn_error err;
    assert_false(tn_convert_can(TN_F4, TN_F32));
    assert_false(tn_convert_can(TN_C64, TN_F32));
    assert_true(tn_convert_can(TN_F4, TN_F4));
    assert_int_equal(tn_convert(TN_F4, &byte, TN_F32, out, 1, &err), TN_UNSUPPORTED);
    assert_non_null(strstr(err.message, "F4"));
    assert_non_null(strstr(err.message, "F32"));
    assert_int_equal(out[0], 7);
    assert_int_equal(tn_convert(TN_F32, NULL, TN_F16, NULL, 0, NULL), TN_OK);
    assert_true(strlen(tn_convert_way()) > 0);
}

static void the_same_type_is_copied_packed_ones_too(void **state)
{
    (void)state;
    const uint8_t in[3] = {0x12, 0x34, 0x56};
    uint8_t out[3] = {0};
    assert_int_equal(tn_convert(TN_F6_E2M3, in, TN_F6_E2M3, out, 4, NULL), TN_OK); /* four to three bytes */
    assert_memory_equal(out, in, 3);
}

/* IEEE 754: 1.0 is 3C00, 3F80, 3F800000; 2^-24 is F16's least number. */
static void known_numbers(void **state)
{
    (void)state;
    const float in[] = {1.0f, 0x1p-24f, -2.5f, 65504.0f, 65520.0f};
    const uint16_t f16[] = {0x3c00, 0x0001, 0xc100, 0x7bff, 0x7c00};
    uint16_t out[5];
    float back[5];
    assert_int_equal(tn_convert(TN_F32, in, TN_F16, out, 5, NULL), TN_OK);
    assert_memory_equal(out, f16, sizeof out);
    assert_int_equal(tn_convert(TN_F16, out, TN_F32, back, 4, NULL), TN_OK);
    assert_memory_equal(back, in, 4 * sizeof *in);
    assert_int_equal(tn_convert(TN_F32, in, TN_BF16, out, 1, NULL), TN_OK);
    assert_int_equal(out[0], 0x3f80);
}

static void byte_order_is_turned_in_place(void **state)
{
    (void)state;
    uint8_t bytes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const uint8_t shorts[16] = {1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14};
    const uint8_t then_longs[16] = {6, 7, 4, 5, 2, 3, 0, 1, 14, 15, 12, 13, 10, 11, 8, 9};
    assert_int_equal(tn_swap_bytes(bytes, 2, 8, NULL), TN_OK);
    assert_memory_equal(bytes, shorts, 16);
    assert_int_equal(tn_swap_bytes(bytes, 8, 2, NULL), TN_OK);
    assert_memory_equal(bytes, then_longs, 16);
    assert_int_equal(tn_swap_bytes(bytes, 1, 16, NULL), TN_OK);
    assert_memory_equal(bytes, then_longs, 16);
    assert_int_equal(tn_swap_bytes(bytes, 3, 1, NULL), TN_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_numbers),
        cmocka_unit_test(every_pair_is_as_pytorch_has_it),
        cmocka_unit_test(every_code_gives_the_same_bytes_for_every_length_and_place),
        cmocka_unit_test(every_code_keeps_what_the_scalar_one_makes_of_nans),
        cmocka_unit_test(great_results_are_the_same_from_every_place),
        cmocka_unit_test(what_cannot_be_converted_is_refused_with_both_names),
        cmocka_unit_test(the_same_type_is_copied_packed_ones_too),
        cmocka_unit_test(byte_order_is_turned_in_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
