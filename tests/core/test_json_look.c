/* JSON looked at several tokens and many bytes at once (core/json_fast.h, core/json_scan.h): what is found there is what
 * the reader finds token by token, and nothing is read behind the last byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/json.h"

/* A block of exactly so many bytes, so that a sanitizer sees any read behind them. */
static char *exact_copy(const char *bytes, size_t size)
{
    char *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    return copy;
}

/* ---- looking ahead ---- */

typedef struct looked {
    uint64_t shape[4], offsets[2];
    size_t rank, dtype_size;
    const char *dtype;
} looked;

/* The entry behind the first key of `text`, looked at as a whole. */
static bool look_at(tn_json *json, const char *text, looked *found)
{
    tn_json_look look;
    tn_json_init(json, text, strlen(text));
    (void)tn_json_next(json);
    assert_int_equal(tn_json_next(json), TN_JSON_KEY);
    tn_json before = *json;
    bool usual = tn_json_look_begin(json, &look) && tn_json_look_text(&look, "{\"dtype\":\"") &&
                 tn_json_look_string_rest(&look, &found->dtype, &found->dtype_size) &&
                 tn_json_look_text(&look, ",\"shape\":") && tn_json_look_uints(&look, found->shape, 4, &found->rank) &&
                 tn_json_look_text(&look, ",\"data_offsets\":") &&
                 tn_json_look_pair(&look, &found->offsets[0], &found->offsets[1]) && tn_json_look_text(&look, "}");
    assert_memory_equal(&before, json, sizeof before);
    if (usual)
        tn_json_look_take(json, &look);
    return usual;
}

static void a_usual_entry_is_taken_whole(void **state)
{
    static const char text[] = "{\"a\":{\"dtype\":\"BF16\",\"shape\":[320,1,12345678,9],"
                               "\"data_offsets\":[0,4915200000]},"
                               "\"next\":\"long enough for every step\"}";
    tn_json json;
    looked found;
    (void)state;
    assert_true(look_at(&json, text, &found));
    assert_memory_equal(found.dtype, "BF16\"", 5);
    assert_int_equal(found.dtype_size, 4);
    assert_int_equal(found.rank, 4);
    assert_int_equal(found.shape[0], 320);
    assert_int_equal(found.shape[1], 1);
    assert_int_equal(found.shape[2], 12345678);
    assert_int_equal(found.shape[3], 9);
    assert_int_equal(found.offsets[0], 0);
    assert_int_equal(found.offsets[1], UINT64_C(4915200000));
    assert_int_equal(json.kind, TN_JSON_OBJECT_END);
    assert_int_equal(json.depth, 1);
    assert_int_equal(tn_json_next(&json), TN_JSON_KEY);
    assert_true(tn_json_is(&json, "next"));
    assert_int_equal(tn_json_next(&json), TN_JSON_STRING);
    assert_int_equal(tn_json_next(&json), TN_JSON_OBJECT_END);
    assert_int_equal(tn_json_next(&json), TN_JSON_END);
}

static void an_unusual_entry_is_left_to_the_reader(void **state)
{
    static const char *const entries[] = {
        "{ \"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[0,2]}",
        "{\"dtype\":\"F\\u00316\",\"shape\":[1],\"data_offsets\":[0,2]}",
        "{\"dtype\":\"F16\xc3\xa9\",\"shape\":[1],\"data_offsets\":[0,2]}",
        "{\"dtype\":\"F16\n\",\"shape\":[1],\"data_offsets\":[0,2]}",
        "{\"shape\":[1],\"dtype\":\"F16\",\"data_offsets\":[0,2]}",
        "{\"dtype\":\"F16\",\"shape\":[01],\"data_offsets\":[0,2]}",
        "{\"dtype\":\"F16\",\"shape\":[1,],\"data_offsets\":[0,2]}",
        "{\"dtype\":\"F16\",\"shape\":[],\"data_offsets\":[0,2]}",
        "{\"dtype\":\"F16\",\"shape\":[-1],\"data_offsets\":[0,2]}",
        "{\"dtype\":\"F16\",\"shape\":[1.0],\"data_offsets\":[0,2]}",
        "{\"dtype\":\"F16\",\"shape\":[1,2,3,4,5],\"data_offsets\":[0,2]}",
        "{\"dtype\":\"F16\",\"shape\":[1}],\"data_offsets\":[0,2]}",
        "{\"dtype\":\"F16\",\"shape\":[1e1],\"data_offsets\":[0,2]}",
        "{\"dtype\":\"F16\",\"shape\":[18446744073709551615],\"data_offsets\":[0,2]}",
        "{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[]}",
        "{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[0]}",
        "{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[0,2,4]}",
        "{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[0,]}",
        "{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[0,02]}",
        "{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[0,2.0]}",
        "{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[0 ,2]}",
        "{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[18446744073709551615,2]}",
        "{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[0,18446744073709551615]}",
        "{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[0,2],\"x\":1}",
        "[\"F16\",[1],[0,2]]",
    };
    (void)state;
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        char text[256] = "{\"a\":";
        strcat(strcat(text, entries[i]), ",\"next\":\"long enough for every step\"}");
        tn_json json;
        looked found;
        assert_false(look_at(&json, text, &found));
    }
}

static void looking_ahead_ends_at_the_last_byte(void **state)
{
    static const char text[] = "{\"a\":{\"dtype\":\"F16\",\"shape\":[1,23],\"data_offsets\":[10,4915200000]},"
                               "\"next\":\"long enough for every step\"}";
    (void)state;
    for (size_t size = 5; size < sizeof text; size++) {
        char *copy = exact_copy(text, size);
        tn_json json;
        tn_json_look look;
        tn_json_word word = tn_json_word_of("F16\"", 4);
        const char *string;
        uint64_t numbers[2];
        size_t count;
        tn_json_init(&json, copy, size);
        (void)tn_json_next(&json);
        (void)tn_json_next(&json);
        if (tn_json_look_begin(&json, &look) && tn_json_look_text(&look, "{\"dtype\":\"")) {
            tn_json_look other = look;
            assert_int_equal(tn_json_look_word(&other, &word), tn_json_look_string_rest(&look, &string, &count));
            assert_true(other.at == look.at);
            if (tn_json_look_text(&look, ",\"shape\":") && tn_json_look_uints(&look, numbers, 2, &count) &&
                tn_json_look_text(&look, ",\"data_offsets\":"))
                (void)tn_json_look_pair(&look, &numbers[0], &numbers[1]);
        }
        free(copy);
    }
}

static void looking_ahead_keeps_the_depth_limit(void **state)
{
    (void)state;
    for (unsigned depth = 120; depth <= 127; depth++) {
        char text[1024] = "";
        for (unsigned i = 0; i < depth; i++)
            strcat(text, "{\"a\":");
        strcat(text, "\"long enough for every step\"");
        tn_json json;
        tn_json_look look;
        tn_json_init(&json, text, strlen(text));
        for (unsigned i = 0; i < 2 * depth; i++)
            assert_int_not_equal(tn_json_next(&json), TN_JSON_ERROR);
        assert_int_equal(tn_json_look_begin(&json, &look), depth + TN_JSON_LOOK_LEVELS <= 127);
    }
}

static void a_word_is_found_where_all_of_its_bytes_stand(void **state)
{
    static const char word[] = "F8_E4M3\"", padding[] = "                                ";
    (void)state;
    for (size_t size = 1; size <= TN_JSON_WORD_MAX; size++)
        for (size_t at = 0; at < TN_JSON_WORD_MAX; at++) {
            char text[64];
            memcpy(text, padding, sizeof padding);
            memcpy(text, word, size);
            text[at] ^= 1;
            tn_json_word sought = tn_json_word_of(word, size);
            tn_json_look look = {text, text + sizeof padding - 1 - TN_JSON_FAST_BYTES};
            assert_int_equal(tn_json_look_word(&look, &sought), at >= size);
            assert_ptr_equal(look.at, at >= size ? text + size : text);
        }
}

/* ---- many bytes at a time ---- */

static void short_texts_are_compared_whole(void **state)
{
    static const char text[] = ",\"data_offsets\":[0,819200]}";
    (void)state;
    for (size_t size = 1; size < sizeof text; size++)
        for (size_t at = 0; at < sizeof text; at++) {
            char other[sizeof text];
            memcpy(other, text, sizeof text);
            other[at] ^= 0x40;
            assert_int_equal(tn_json_same(text, other, size), at >= size);
        }
}

static void every_string_scan_stops_at_the_same_byte(void **state)
{
    (void)state;
    for (size_t size = 0; size <= 40; size++)
        for (size_t at = 0; at <= size; at++)
            for (unsigned byte = 0; byte < 256; byte++) {
                char text[40], *end = text + size;
                memset(text, 'a', sizeof text);
                if (at < size)
                    text[at] = (char)byte;
                if (at + 1 < size)
                    text[at + 1] = (char)(byte ^ 0x80);
                const char *wanted = tn_json_scan_bytes(text, end);
                assert_ptr_equal(tn_json_scan_words(text, end), wanted);
                assert_ptr_equal(tn_json_scan(text, end), wanted);
            }
}

/* RFC 8259 section 7: unescaped = %x20-21 / %x23-5B / %x5D-10FFFF; what is past ASCII needs its UTF-8 checked. */
static void a_plain_byte_is_one_that_needs_no_look(void **state)
{
    (void)state;
    for (unsigned byte = 0; byte < 256; byte++) {
        bool plain = (byte >= 0x20 && byte <= 0x21) || (byte >= 0x23 && byte <= 0x5B) || (byte >= 0x5D && byte <= 0x7F);
        assert_int_equal(tn_json_is_plain((char)byte), plain);
    }
}

/* As strtoull would, and never more than eight; whatever stands behind them. */
static void digits_are_read_at_once_up_to_the_first_other_byte(void **state)
{
    static const char digits[] = "12345678", highest[] = "99999999", zeros[] = "00000000";
    static const char *const all[] = {digits, highest, zeros, "00000001", "10000000", "90000009"};
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        for (size_t size = 0; size <= 8; size++)
            for (unsigned byte = 0; byte < 256; byte++) {
                char text[9] = {0};
                uint64_t value = 77;
                memset(text, (int)byte, 8);
                memcpy(text, all[i], size);
                bool more = byte >= '0' && byte <= '9';
                assert_int_equal(tn_json_digits8(text, &value), more ? 8 : size);
                char *end;
                text[more ? 8 : size] = '\0';
                assert_int_equal(value, strtoull(size > 0 || more ? text : "0", &end, 10));
            }
    for (size_t at = 0; at < 8; at++)
        for (unsigned byte = 0; byte < 256; byte++) {
            char text[8];
            uint64_t value;
            memset(text, '9', sizeof text);
            text[at] = (char)byte;
            bool digit = byte >= '0' && byte <= '9';
            assert_int_equal(tn_json_digits8(text, &value), digit ? 8 : at);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_usual_entry_is_taken_whole),
        cmocka_unit_test(an_unusual_entry_is_left_to_the_reader),
        cmocka_unit_test(looking_ahead_ends_at_the_last_byte),
        cmocka_unit_test(looking_ahead_keeps_the_depth_limit),
        cmocka_unit_test(a_word_is_found_where_all_of_its_bytes_stand),
        cmocka_unit_test(every_string_scan_stops_at_the_same_byte),
        cmocka_unit_test(a_plain_byte_is_one_that_needs_no_look),
        cmocka_unit_test(short_texts_are_compared_whole),
        cmocka_unit_test(digits_are_read_at_once_up_to_the_first_other_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
