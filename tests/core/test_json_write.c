/* The JSON writer's commas, quotes and escapes are right whatever it is given, and its numbers read back. */
#include <float.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/json.h"
#include "support/core_memory.h"

static test_memory memory;
static tn_buffer text;
static tn_json_writer writer;

static void begin(void)
{
    test_memory_init(&memory, UINT64_MAX);
    tn_buffer_init(&text, &memory.source, 1 << 20);
    tn_json_writer_init(&writer, &text);
}

/* What was written is `wanted`, and is JSON. */
static void end(const char *wanted)
{
    tn_json json;
    assert_int_equal(writer.depth, 0);
    assert_int_equal(tn_buffer_status(&text, NULL), TN_OK);
    assert_string_equal(text.bytes, wanted);
    assert_int_equal(text.size, strlen(wanted));
    tn_json_init(&json, text.bytes, text.size);
    assert_int_not_equal(tn_json_next(&json), TN_JSON_ERROR);
    assert_true(tn_json_skip(&json));
    assert_int_equal(tn_json_next(&json), TN_JSON_END);
    tn_buffer_free(&text);
    test_memory_assert_clean(&memory);
}

static void values_are_parted_by_commas_and_keys_by_colons(void **state)
{
    (void)state;
    begin();
    tn_json_object(&writer);
    tn_json_key(&writer, "empty");
    tn_json_object(&writer);
    tn_json_object_end(&writer);
    tn_json_key(&writer, "list");
    tn_json_array(&writer);
    tn_json_uint(&writer, 1);
    tn_json_array(&writer);
    tn_json_array_end(&writer);
    tn_json_object(&writer);
    tn_json_key(&writer, "a");
    tn_json_bool(&writer, true);
    tn_json_key(&writer, "b");
    tn_json_bool(&writer, false);
    tn_json_object_end(&writer);
    tn_json_null(&writer);
    tn_json_array_end(&writer);
    tn_json_key_text(&writer, "cut here", 3);
    tn_json_raw(&writer, " {\"x\": [1]} ", 12);
    tn_json_key(&writer, "");
    tn_json_cstring(&writer, "");
    tn_json_key(&writer, "none");
    tn_json_cstring(&writer, NULL);
    tn_json_object_end(&writer);
    end("{\"empty\":{},\"list\":[1,[],{\"a\":true,\"b\":false},null],\"cut\": {\"x\": [1]} ,\"\":\"\",\"none\":null}");
}

static void assert_string(const char *bytes, size_t size, const char *wanted)
{
    begin();
    tn_json_string(&writer, bytes, size);
    end(wanted);
}

/* RFC 8259 section 7: quotation mark, reverse solidus and U+0000 to U+001F must be escaped; nothing else is. */
static void what_must_be_escaped_is_and_nothing_else(void **state)
{
    (void)state;
    assert_string("a\"b\\c/d", 7, "\"a\\\"b\\\\c/d\"");
    assert_string("\b\f\n\r\t", 5, "\"\\b\\f\\n\\r\\t\"");
    assert_string("\0\x01\x1f\x7f", 4, "\"\\u0000\\u0001\\u001f\x7f\"");
    assert_string("", 0, "\"\"");
    assert_string(NULL, 0, "\"\"");
    assert_string("longer than sixteen bytes\nand on", 32, "\"longer than sixteen bytes\\nand on\"");
}

static void every_control_character_reads_back(void **state)
{
    (void)state;
    for (unsigned byte = 0; byte < 0x20; byte++) {
        char c = (char)byte, decoded[8];
        tn_json json;
        begin();
        tn_json_string(&writer, &c, 1);
        tn_json_init(&json, text.bytes, text.size);
        assert_int_equal(tn_json_next(&json), TN_JSON_STRING);
        assert_int_equal(tn_json_unescape(json.text, json.text_size, decoded), 1);
        assert_int_equal(decoded[0], byte);
        tn_buffer_free(&text);
    }
}

/* The Unicode standard, chapter 3, "U+FFFD Substitution of Maximal Subparts", tables 3-8 and 3-11. */
static void bytes_that_are_not_utf8_become_replacement_characters(void **state)
{
    (void)state;
    assert_string("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", 14, "\"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"");
    assert_string("a\xff", 2, "\"a\xef\xbf\xbd\"");
    assert_string("\xc0\xaf\xe0\x80\xbf\x41", 6,
                  "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" "A\"");
    assert_string("\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", 9,
                  "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" "A\"");
    assert_string("\xe2\x82\"", 3, "\"\xef\xbf\xbd\\\"\"");
}

static void keys_are_escaped_as_strings_are(void **state)
{
    (void)state;
    begin();
    tn_json_object(&writer);
    tn_json_key(&writer, "a\"b\n");
    tn_json_uint(&writer, 1);
    tn_json_key_text(&writer, "\xff\0", 2);
    tn_json_uint(&writer, 2);
    tn_json_object_end(&writer);
    end("{\"a\\\"b\\n\":1,\"\xef\xbf\xbd\\u0000\":2}");
}

static void whole_numbers_are_written_exactly(void **state)
{
    (void)state;
    begin();
    tn_json_array(&writer);
    tn_json_uint(&writer, 0);
    tn_json_uint(&writer, 10);
    tn_json_uint(&writer, UINT64_MAX);
    tn_json_int(&writer, INT64_MIN);
    tn_json_int(&writer, -1);
    tn_json_int(&writer, 0);
    tn_json_int(&writer, INT64_MAX);
    tn_json_array_end(&writer);
    end("[0,10,18446744073709551615,-9223372036854775808,-1,0,9223372036854775807]");
}

static void assert_number(double value, const char *wanted)
{
    tn_json json;
    begin();
    tn_json_number(&writer, value);
    assert_string_equal(text.bytes, wanted);
    tn_json_init(&json, text.bytes, text.size);
    (void)tn_json_next(&json);
    double again = tn_json_double(&json);
    assert_memory_equal(&again, &value, sizeof value);
    tn_buffer_free(&text);
}

/* The layout is that of ECMA-262, Number::toString, but that zero keeps its sign. The digits are those of Python's
 * repr, which are the fewest that read back. */
static void doubles_are_written_in_the_fewest_digits_that_read_back(void **state)
{
    (void)state;
    assert_number(0.0, "0");
    assert_number(-0.0, "-0");
    assert_number(1.0, "1");
    assert_number(-1.5, "-1.5");
    assert_number(100.0, "100");
    assert_number(0.1, "0.1");
    assert_number(0.1 + 0.2, "0.30000000000000004");
    assert_number(1.0 / 3.0, "0.3333333333333333");
    assert_number(2.0 / 3.0, "0.6666666666666666");
    assert_number(123456.789, "123456.789");
    assert_number(0.000001, "0.000001");
    assert_number(0.00000123, "0.00000123");
    assert_number(0.0000001, "1e-7");
    assert_number(0.000000123, "1.23e-7");
    assert_number(9007199254740992.0, "9007199254740992");
    assert_number(123456789012345680000.0, "123456789012345680000");
    assert_number(999999999999999900000.0, "999999999999999900000");
    assert_number(1e21, "1e+21");
    assert_number(1.25e+22, "1.25e+22");
    assert_number(1e23, "1e+23");
    assert_number(5e-324, "5e-324");
    assert_number(2.5e-323, "2.5e-323");
    assert_number(DBL_MIN, "2.2250738585072014e-308");
    assert_number(-DBL_MAX, "-1.7976931348623157e+308");
    assert_number(0x1p-44, "5.684341886080802e-14"); /* not the nearest of 16 digits, which reads back as another */
    assert_number(0x1p-24, "5.960464477539063e-8");
    assert_number(0x1p+89, "6.189700196426902e+26");
    assert_number(0x1.fffffffffffffp-1, "0.9999999999999999");
}

static void numbers_that_are_not_finite_are_null(void **state)
{
    (void)state;
    begin();
    tn_json_array(&writer);
    tn_json_number(&writer, (double)NAN);
    tn_json_number(&writer, (double)INFINITY);
    tn_json_number(&writer, -(double)INFINITY);
    tn_json_array_end(&writer);
    end("[null,null,null]");
}

/* Every exponent, and patterns of bits from a multiplicative generator (Knuth, MMIX). */
static void any_double_reads_back_as_itself(void **state)
{
    (void)state;
    uint64_t bits = 1;
    for (unsigned i = 0; i < 20000; i++) {
        double value, again;
        bits = bits * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint64_t pattern = i < 2047 ? (uint64_t)i << 52 : bits;
        memcpy(&value, &pattern, sizeof value);
        if (!(value >= -DBL_MAX && value <= DBL_MAX))
            continue;
        tn_json json;
        begin();
        tn_json_number(&writer, value);
        tn_json_init(&json, text.bytes, text.size);
        (void)tn_json_next(&json);
        again = tn_json_double(&json);
        assert_memory_equal(&again, &value, sizeof value);
        tn_buffer_free(&text);
    }
}

static void a_locale_with_a_comma_changes_nothing(void **state)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8", "German"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (!setlocale(LC_NUMERIC, names[i]))
            continue;
        assert_number(0.5, "0.5");
        assert_number(1.2345678901234567e-300, "1.2345678901234568e-300");
        (void)setlocale(LC_NUMERIC, "C");
        return;
    }
    skip();
}

static void a_buffer_that_is_full_is_told_once_at_the_end(void **state)
{
    (void)state;
    test_memory_init(&memory, UINT64_MAX);
    tn_buffer_init(&text, &memory.source, 16);
    tn_json_writer_init(&writer, &text);
    tn_json_array(&writer);
    for (unsigned i = 0; i < 100; i++)
        tn_json_string(&writer, "\xff\n", 2);
    tn_json_array_end(&writer);
    assert_int_equal(tn_buffer_status(&text, NULL), TN_LIMIT);
    assert_true(text.size <= 16);
    tn_buffer_free(&text);
    test_memory_assert_clean(&memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_parted_by_commas_and_keys_by_colons),
        cmocka_unit_test(what_must_be_escaped_is_and_nothing_else),
        cmocka_unit_test(every_control_character_reads_back),
        cmocka_unit_test(bytes_that_are_not_utf8_become_replacement_characters),
        cmocka_unit_test(keys_are_escaped_as_strings_are),
        cmocka_unit_test(whole_numbers_are_written_exactly),
        cmocka_unit_test(doubles_are_written_in_the_fewest_digits_that_read_back),
        cmocka_unit_test(numbers_that_are_not_finite_are_null),
        cmocka_unit_test(any_double_reads_back_as_itself),
        cmocka_unit_test(a_locale_with_a_comma_changes_nothing),
        cmocka_unit_test(a_buffer_that_is_full_is_told_once_at_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
