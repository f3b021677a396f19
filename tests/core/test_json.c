/* The JSON reader accepts RFC 8259 and nothing else, and says at which byte it stopped.
 *
 * Every document is read with the shortcuts and without (F1 of core/json_fast.h), from a block of exactly its size. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/json.h"
#include "support/core_memory.h"

#define ACCEPTED SIZE_MAX

typedef struct document {
    const char *bytes;
    size_t size;
    size_t refused_at; /* the first byte that does not belong, or the end where more was due; or ACCEPTED */
} document;

#define YES(text) {text, sizeof(text) - 1, ACCEPTED}
#define NO(at, text) {text, sizeof(text) - 1, at}

/* One value each. They are read alone, and as the first of two items of an array. */
static const document values[] = {
    /* RFC 8259 section 3: values; false, null and true in lower case, and no other word */
    YES("false"), YES("null"), YES("true"),
    NO(3, "tru"), NO(3, "nul"), NO(4, "fals"), NO(0, "True"), NO(0, "NULL"), NO(1, "nil"), NO(0, "undefined"),
    NO(0, "NaN"), NO(0, "Infinity"), NO(1, "-Infinity"), NO(0, "'a'"), NO(0, "a"), NO(2, "trUe"),
    /* section 2: the four white space characters around the six structural ones, and no others */
    YES(" 1"), YES("1 "), YES("\t1\t"), YES("\n1\n"), YES("\r1\r"), YES(" \t\r\n[ \t\r\n1 \t\r\n] \t\r\n"),
    YES("{ \"a\" : 1 , \"b\" : 2 }"), YES("[ 1 , 2 ]"), YES("[ ]"), YES("{ }"),
    NO(0, "\f1"), NO(0, "\v1"), NO(2, "[1\f]"), NO(1, "[\xc2\xa0" "1]"), NO(0, "\xe2\x80\xa8" "1"), NO(0, "/**/1"),
    NO(2, "[1//x\n]"), NO(0, "#1"), NO(0, "\0" "1"), NO(1, "[\0]"),
    /* section 4: objects */
    YES("{}"), YES("{\"a\":1}"), YES("{\"a\":1,\"b\":2}"), YES("{\"\":0}"), YES("{\"a\":{\"b\":{}}}"),
    YES("{\"a\":1,\"a\":2}"), YES("{\"a\":[]}"),
    NO(1, "{1:1}"), NO(1, "{a:1}"), NO(1, "{'a':1}"), NO(4, "{\"a\"}"), NO(5, "{\"a\":}"), NO(5, "{\"a\" 1}"),
    NO(4, "{\"a\",1}"), NO(7, "{\"a\":1,}"), NO(1, "{,}"), NO(1, "{,\"a\":1}"), NO(7, "{\"a\":1 \"b\":2}"),
    NO(7, "{\"a\":1,,\"b\":2}"), NO(6, "{\"a\":1;\"b\":2}"), NO(6, "{\"a\":1]"), NO(5, "{\"a\"::1}"), NO(1, "{null:1}"),
    NO(1, "{[]:1}"), NO(7, "{\"a\":1,2}"), NO(1, "{]"), NO(8, "{\"a\":\"b\"\"c\"}"), NO(4, "{\"a\"=1}"),
    /* section 5: arrays */
    YES("[]"), YES("[1]"), YES("[1,2]"), YES("[[],[[]],{}]"), YES("[null,true,false,0,\"\"]"),
    YES("[1,\"a\",[2],{\"b\":3}]"),
    NO(3, "[1,]"), NO(1, "[,]"), NO(1, "[,1]"), NO(3, "[1,,2]"), NO(3, "[1 2]"), NO(2, "[1:2]"), NO(4, "[\"a\":1]"),
    NO(2, "[1}"), NO(1, "[}"), NO(2, "[1;2]"), NO(3, "[[]"  "[]]"), NO(4, "[\"a\"\"b\"]"),
    /* section 6: numbers */
    YES("0"), YES("-0"), YES("1"), YES("-1"), YES("10"), YES("9"), YES("0.0"), YES("-0.0"), YES("1.5"), YES("0.10"),
    YES("1e1"), YES("1E1"), YES("1e+1"), YES("1e-1"), YES("1e01"), YES("0e0"), YES("1.5e10"), YES("-1.25E-2"),
    YES("1e400"),
    YES("12345678"), YES("123456789"), YES("1234567890123456789"), YES("18446744073709551615"),
    YES("18446744073709551616"), YES("100000000000000000000000000000000000000000000000001"),
    NO(1, "01"), NO(1, "00"), NO(2, "-01"), NO(1, "0123456789"), NO(1, "01.5"), NO(0, "+1"), NO(0, ".5"), NO(1, "-.5"),
    NO(2, "1.e1"), NO(1, "-a"), NO(1, "--1"), NO(1, "0x1"), NO(1, "1a"), NO(3, "1e+a"), NO(2, "1eE1"), NO(3, "1.5.1"),
    NO(1, "1_000"), NO(3, "1e1e1"), NO(3, "1e1.5"), NO(1, "1-1"), NO(1, "1+"), NO(0, "\xef\xbc\x91"),
    NO(8, "12345678a"),
    NO(2, "1.-1"), NO(1, "- 1"), NO(1, "0b1"), NO(1, "1f"),
    /* section 7: strings */
    YES("\"\""), YES("\"a\""), YES("\"/\""), YES("\"'\""), YES("\"\x7f\""), YES("\" \""), YES("\"a b\""),
    YES("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""), YES("\"\\u0000\""), YES("\"\\u00e9\\u00E9\""), YES("\"\\uFFFF\""),
    YES("\"\\ud83d\\ude00\""), YES("\"\\uDBFF\\uDFFF\""), YES("\"\\uD7FF\\uE000\""), YES("\"\\\\u12\""),
    YES("\"sixteen bytes...\""), YES("\"seventeen bytes..\""), YES("\"thirty-two bytes, just so long..\""),
    NO(1, "\"\n\""), NO(1, "\"\t\""), NO(1, "\"\0\""), NO(1, "\"\x1f\""), NO(2, "\"a\x01\""),
    NO(17, "\"sixteen bytes...\x0a\""),
    NO(1, "\"\\a\""), NO(1, "\"\\x41\""), NO(1, "\"\\'\""), NO(1, "\"\\0\""), NO(1, "\"\\U0041\""), NO(1, "\"\\ \""),
    NO(1, "\"\\\n\""), NO(1, "\"\\u\""), NO(1, "\"\\u123\""), NO(1, "\"\\u12g4\""), NO(1, "\"\\u 123\""),
    NO(1, "\"\\u+123\""),
    NO(2, "\"a\\u{41}\""),
    /* section 7 and 8.2: surrogates stand in pairs only */
    NO(1, "\"\\ud800\""), NO(1, "\"\\udc00\""), NO(1, "\"\\udfff\""), NO(1, "\"\\ud800\\ud800\""),
    NO(1, "\"\\udc00\\ud800\""),
    NO(1, "\"\\ud800a\""), NO(1, "\"\\ud800\\n\""), NO(1, "\"\\ud800\\u0041\""), NO(1, "\"\\ud83d\\ude0\""),
    NO(3, "\"ab\\udbff\\ue000\""), NO(13, "\"\\ud83d\\ude00\\ude00\""),
    /* section 8.1: UTF-8 (RFC 3629 section 4) */
    YES("\"\xc2\x80\""), YES("\"\xdf\xbf\""), YES("\"\xe0\xa0\x80\""), YES("\"\xed\x9f\xbf\""), YES("\"\xee\x80\x80\""),
    YES("\"\xef\xbf\xbf\""), YES("\"\xf0\x90\x80\x80\""), YES("\"\xf4\x8f\xbf\xbf\""),
    YES("{\"\xc3\xa9\":\"\xe2\x82\xac\"}"),
    YES("\"a string of many bytes, then \xf0\x9f\x98\x80 and more of them\""), YES("\"\xef\xbb\xbf\""),
    NO(1, "\"\x80\""), NO(1, "\"\xff\""), NO(1, "\"\xc0\x80\""), NO(1, "\"\xc1\xbf\""), NO(1, "\"\xe0\x9f\xbf\""),
    NO(1, "\"\xed\xa0\x80\""), NO(1, "\"\xf0\x8f\xbf\xbf\""), NO(1, "\"\xf4\x90\x80\x80\""),
    NO(1, "\"\xf5\x80\x80\x80\""),
    NO(1, "\"\xc3\""), NO(1, "\"\xe2\x82\""), NO(1, "\"\xf0\x9f\x98\""), NO(4, "\"a\xc3\xa9\xa9\""),
    NO(2, "{\"\xff\":1}"),
    NO(18, "\"sixteen bytes....\xff\""), NO(2, "[1\xff]"), NO(0, "\xff"),
    /* section 8.1: no byte order mark */
    NO(0, "\xef\xbb\xbf" "1"), NO(0, "\xef\xbb\xbf{}"), NO(0, "\xff\xfe" "1"),
};

/* Whole texts: RFC 8259 section 2, a JSON text is one value with white space around it. They are read alone only. */
static const document texts[] = {
    NO(0, ""), NO(1, " "), NO(4, "\n\t\r "), NO(1, "["), NO(1, "{"), NO(2, "[1"), NO(3, "[1,"), NO(3, "[[]"),
    NO(2, "[{"),
    NO(4, "{\"a\""), NO(5, "{\"a\":"), NO(6, "{\"a\":1"), NO(7, "{\"a\":1,"), NO(3, "{\"a"), NO(1, "\""),
    NO(4, "\"abc"),
    NO(1, "\"\\"), NO(3, "\"\\\""), NO(1, "\"\\u12"), NO(1, "\"\\ud83d\\"), NO(1, "-"), NO(2, "1."), NO(2, "1e"),
    NO(3, "1e+"), NO(1, "t"), NO(1, "1,"), NO(1, "1,2"), NO(2, "1 2"), NO(2, "{}{}"), NO(2, "[]]"), NO(2, "{}}"),
    NO(2, "[],"), NO(2, "{}x"), NO(3, "{} x"), NO(1, "1\0"), NO(2, "{}\0\0"), NO(5, "true false"), NO(4, "trueX"),
    NO(0, "]"), NO(0, "}"), NO(0, ","), NO(0, ":"), NO(16, "\"sixteen bytes.."), NO(17, "\"sixteen bytes..."),
};

/* A block of exactly so many bytes, so that a sanitizer sees any read behind them. */
static char *exact_copy(const char *bytes, size_t size)
{
    char *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    return copy;
}

static void assert_same_token(const tn_json *fast, const tn_json *plain)
{
    assert_int_equal(fast->kind, plain->kind);
    assert_int_equal(fast->state, plain->state);
    assert_int_equal(fast->depth, plain->depth);
    assert_int_equal(fast->failed_at, plain->failed_at);
    assert_ptr_equal(fast->reason, plain->reason);
    if (fast->kind == TN_JSON_ERROR)
        return;
    assert_ptr_equal(fast->at, plain->at);
    assert_int_equal(fast->token_at, plain->token_at);
    if (fast->kind == TN_JSON_KEY || fast->kind == TN_JSON_STRING)
        assert_int_equal(fast->escaped, plain->escaped);
    if (fast->kind == TN_JSON_UINT)
        assert_true(fast->u == plain->u);
    if (fast->kind >= TN_JSON_KEY && fast->kind <= TN_JSON_NUMBER) {
        assert_ptr_equal(fast->text, plain->text);
        assert_int_equal(fast->text_size, plain->text_size);
    }
}

/* Read a whole document both ways. ACCEPTED, or where it was refused. */
static size_t verdict(const char *bytes, size_t size)
{
    char *copy = exact_copy(bytes, size);
    tn_json fast, plain;
    tn_json_init(&fast, copy, size);
    tn_json_init(&plain, copy, size);
    size_t calls = 0;
    do {
        (void)tn_json_next(&fast);
        (void)tn_json_next_plain(&plain);
        assert_same_token(&fast, &plain);
        assert_true(++calls <= size + 1); /* each token but the last takes a byte at least */
    } while (fast.kind != TN_JSON_ERROR && fast.kind != TN_JSON_END);
    free(copy);
    return fast.kind == TN_JSON_END ? ACCEPTED : fast.failed_at;
}

static void assert_verdict(const document *d)
{
    size_t found = verdict(d->bytes, d->size);
    if (found != d->refused_at)
        fail_msg("<%.*s> gave %zd, not %zd", (int)d->size, d->bytes, (ptrdiff_t)found, (ptrdiff_t)d->refused_at);
}

static void each_value_is_accepted_or_refused_where_the_rfc_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        assert_verdict(&values[i]);
}

static void each_text_is_refused_at_the_byte_that_is_one_too_many_or_at_its_end(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_verdict(&texts[i]);
}

/* Far from the end of the bytes, where the shortcuts work. */
static void a_value_inside_an_array_is_judged_as_it_is_alone(void **state)
{
    static const char rest[] = ",\"and something that is longer than any shortcut looks ahead\"]";
    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        const document *d = &values[i];
        char inside[256];
        inside[0] = '[';
        memcpy(inside + 1, d->bytes, d->size);
        memcpy(inside + 1 + d->size, rest, sizeof rest - 1);
        document whole = {inside, d->size + sizeof rest, d->refused_at};
        if (d->refused_at == ACCEPTED || d->refused_at < d->size) {
            whole.refused_at += d->refused_at != ACCEPTED;
            assert_verdict(&whole);
        } else {
            assert_true(verdict(whole.bytes, whole.size) != ACCEPTED);
        }
    }
}

static const char header[] =
    "{\"__metadata__\":{\"format\":\"pt\",\"note\":\"caf\xc3\xa9 \\u00e9\"},"
    "\"model.diffusion_model.input_blocks.1.0.in_layers.0.weight\":"
    "{\"dtype\":\"F16\",\"shape\":[320,768],\"data_offsets\":[0,491520]},"
    "\"b\": {\"dtype\":\"F32\", \"shape\":[],\"data_offsets\":[491520,491524]},"
    "\"c\":[true,false,null,-1.5e3,1234567890123]}";

static void a_document_cut_at_any_byte_is_refused_at_that_byte_or_before(void **state)
{
    (void)state;
    assert_true(verdict(header, sizeof header - 1) == ACCEPTED);
    for (size_t size = 0; size < sizeof header - 1; size++)
        assert_true(verdict(header, size) <= size);
}

static void a_document_with_any_byte_changed_is_read_alike_by_both_ways(void **state)
{
    char changed[sizeof header];
    (void)state;
    for (size_t i = 0; i < sizeof header - 1; i++)
        for (unsigned byte = 0; byte < 256; byte += byte < 128 ? 1 : 31) {
            memcpy(changed, header, sizeof header);
            changed[i] = (char)byte;
            (void)verdict(changed, sizeof header - 1);
        }
}

/* The safetensors crate 0.8.0 reads a header with 127 open at once and refuses 128 ("recursion limit exceeded"). */
static void nesting_is_read_up_to_its_limit_and_refused_one_past_it(void **state)
{
    static const char *const opening[] = {"[", "{\"a\":"}, *const closing[] = {"]", "}"};
    (void)state;
    assert_int_equal(TN_JSON_DEPTH_MAX, 127);
    for (size_t way = 0; way < 2; way++)
        for (unsigned depth = 126; depth <= 129; depth++) {
            char text[2048] = "";
            for (unsigned i = 0; i < depth; i++)
                strcat(text, opening[way]);
            strcat(text, "1");
            for (unsigned i = 0; i < depth; i++)
                strcat(text, closing[way]);
            size_t one_past = 127 * strlen(opening[way]);
            assert_true(verdict(text, strlen(text)) == (depth <= 127 ? ACCEPTED : one_past));
        }
}

static void many_brackets_cost_no_stack(void **state)
{
    enum { SIZE = 1 << 20 };
    char *text = malloc(SIZE);
    (void)state;
    assert_non_null(text);
    memset(text, '[', SIZE);
    assert_int_equal(verdict(text, SIZE), 127);
    free(text);
}

static void tokens_come_one_by_one_with_their_text_and_place(void **state)
{
    static const char text[] = " {\"a\" :[ 12, -3.5 ,\"x\\ny\"],\"b\":{} , \"c\":null}";
    static const struct {
        tn_json_kind kind;
        const char *text;
        size_t at;
        unsigned depth;
    } wanted[] = {{TN_JSON_OBJECT_BEGIN, NULL, 1, 1}, {TN_JSON_KEY, "a", 2, 1},       {TN_JSON_ARRAY_BEGIN, NULL, 7, 2},
                  {TN_JSON_UINT, "12", 9, 2},         {TN_JSON_NUMBER, "-3.5", 13, 2}, {TN_JSON_STRING, "x\\ny", 19, 2},
                  {TN_JSON_ARRAY_END, NULL, 25, 1},   {TN_JSON_KEY, "b", 27, 1},
                  {TN_JSON_OBJECT_BEGIN, NULL, 31, 2},
                  {TN_JSON_OBJECT_END, NULL, 32, 1},  {TN_JSON_KEY, "c", 36, 1},       {TN_JSON_NULL, NULL, 40, 1},
                  {TN_JSON_OBJECT_END, NULL, 44, 0},  {TN_JSON_END, NULL, 45, 0},      {TN_JSON_END, NULL, 45, 0}};
    tn_json json;
    (void)state;
    tn_json_init(&json, text, sizeof text - 1);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        assert_int_equal(tn_json_next(&json), wanted[i].kind);
        assert_int_equal(json.token_at, wanted[i].at);
        assert_int_equal(json.depth, wanted[i].depth);
        if (wanted[i].text) {
            assert_int_equal(json.text_size, strlen(wanted[i].text));
            assert_memory_equal(json.text, wanted[i].text, json.text_size);
            assert_int_equal(json.escaped, strchr(wanted[i].text, '\\') != NULL);
        }
    }
}

static void a_failure_is_told_again_and_again(void **state)
{
    tn_json json;
    tn_error err;
    (void)state;
    tn_json_init(&json, "[1,x,\"a\"]", 9);
    for (int i = 0; i < 2; i++)
        assert_int_not_equal(tn_json_next(&json), TN_JSON_ERROR);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(tn_json_next(&json), TN_JSON_ERROR); /* J2 */
        assert_false(tn_json_skip(&json));
        assert_int_equal(json.failed_at, 3);
    }
    assert_int_equal(tn_json_fail(&json, 8, &err), TN_BAD_JSON);
    assert_int_equal(err.status, TN_BAD_JSON);
    assert_int_equal(err.offset, 8 + 3);
    assert_string_equal(err.message, json.reason);
    assert_int_equal(tn_json_fail(&json, 8, NULL), TN_BAD_JSON);
}

static void a_token_that_does_not_belong_is_told_with_its_place(void **state)
{
    tn_json json;
    tn_error err;
    (void)state;
    tn_json_init(&json, " [1]", 4);
    (void)tn_json_next(&json);
    assert_int_equal(tn_json_fail(&json, 100, &err), TN_BAD_JSON);
    assert_int_equal(err.offset, 101);
}

static void no_bytes_at_all_are_refused(void **state)
{
    tn_json json;
    (void)state;
    tn_json_init(&json, NULL, 0);
    assert_int_equal(tn_json_next(&json), TN_JSON_ERROR);
    assert_int_equal(json.failed_at, 0);
}

/* ---- numbers ---- */

static tn_json scalar(const char *text)
{
    tn_json json;
    tn_json_init(&json, text, strlen(text));
    (void)tn_json_next(&json);
    return json;
}

static void assert_uint(const char *digits, uint64_t value)
{
    tn_json json = scalar(digits);
    assert_int_equal(json.kind, TN_JSON_UINT);
    assert_true(json.u == value);
    char inside[128] = "[";
    strcat(strcat(inside, digits), ",\"far from the end of the bytes\"]");
    tn_json_init(&json, inside, strlen(inside));
    (void)tn_json_next(&json);
    assert_int_equal(tn_json_next(&json), TN_JSON_UINT);
    assert_true(json.u == value);
}

static void whole_numbers_are_exact_up_to_2_64_less_1(void **state)
{
    (void)state;
    uint64_t value = 0;
    char digits[21] = "";
    for (size_t i = 0; i < 19; i++) { /* 1, 12, ... 1234567890123456789: every length that cannot overflow */
        digits[i] = (char)('0' + (i + 1) % 10);
        value = value * 10 + (i + 1) % 10;
        assert_uint(digits, value);
    }
    assert_uint("0", 0);
    assert_uint("9999999999999999999", UINT64_C(9999999999999999999));
    assert_uint("10000000000000000000", UINT64_C(10000000000000000000));
    assert_uint("18446744073709551614", UINT64_MAX - 1);
    assert_uint("18446744073709551615", UINT64_MAX);
}

static void other_numbers_stay_text(void **state)
{
    static const char *const texts_of_numbers[] = {"18446744073709551616", "18446744073709551620",
                                                   "99999999999999999999",
                                                   "100000000000000000000", "-0", "-1", "1.0", "1e0", "0.0", "1E2"};
    (void)state;
    for (size_t i = 0; i < sizeof texts_of_numbers / sizeof texts_of_numbers[0]; i++) {
        tn_json json = scalar(texts_of_numbers[i]);
        assert_int_equal(json.kind, TN_JSON_NUMBER);
        assert_int_equal(json.text_size, strlen(texts_of_numbers[i]));
    }
}

static void assert_double(const char *text, double value)
{
    tn_json json = scalar(text);
    double found = tn_json_double(&json);
    assert_memory_equal(&found, &value, sizeof value);
}

/* Expected values are hexadecimal constants, from IEEE 754 and its binary64 limits. */
static void doubles_are_the_nearest(void **state)
{
    (void)state;
    assert_double("0", 0.0);
    assert_double("-0", -0.0);
    assert_double("-0.0e9", -0.0);
    assert_double("1", 1.0);
    assert_double("-2.5", -2.5);
    assert_double("0.1", 0x1.999999999999ap-4);
    assert_double("1e23", 0x1.52d02c7e14af6p+76); /* a tie of the exact kind: 1e23 lies just below the midpoint */
    assert_double("18446744073709551616", 0x1p64);
    assert_double("1.7976931348623157e308", 0x1.fffffffffffffp+1023); /* the greatest */
    assert_double("2.2250738585072014e-308", 0x1p-1022);              /* the least normal */
    assert_double("2.2250738585072011e-308", 0x0.fffffffffffffp-1022);
    assert_double("4.9406564584124654e-324", 0x1p-1074); /* the least */
    assert_double("2e-324", 0.0);
    assert_double("-2e-324", -0.0);
    assert_double("1e309", INFINITY);
    assert_double("-1e400", -INFINITY);
    assert_double("1e99999999999999999999", INFINITY);
    assert_double("1e-99999999999999999999", 0.0);
    assert_double("0e99999999999999999999", 0.0);
    assert_double("123456789012345678901234567890", 0x1.8ee90ff6c373ep+96);
    assert_double("9007199254740993", 0x1p53);                     /* 2^53 + 1: a tie, to even */
    assert_double("9007199254740993.0000000001", 0x1.0000000000001p53); /* above the tie */
}

static void a_digit_beyond_any_buffer_still_breaks_a_tie(void **state)
{
    char text[2100] = "9007199254740993.";
    (void)state;
    memset(text + 17, '0', 2000);
    text[2017] = '\0';
    assert_double(text, 0x1p53);
    text[2016] = '1';
    assert_double(text, 0x1.0000000000001p53);
    memcpy(text, "0.", 2);
    memset(text + 2, '0', 2000);
    memcpy(text + 2002, "125e2001", 9);
    assert_double(text, 1.25);
    memset(text, '9', 400);
    text[400] = '\0';
    assert_double(text, INFINITY);
    memcpy(text + 400, "e-399", 6);
    assert_double(text, 10.0);
}

/* ---- strings ---- */

static void escapes_are_decoded(void **state)
{
    static const struct {
        const char *raw, *text;
        size_t size;
    } pairs[] = {{"plain", "plain", 5}, /* the bytes of code points: RFC 3629 section 3 */
                 {"\\\"\\\\\\/\\b\\f\\n\\r\\t", "\"\\/\b\f\n\r\t", 8}, /* RFC 8259 section 7 */
                 {"\\u0000a", "\0a", 2},
                 {"\\u007F\\u0080\\u07ff\\u0800\\uffff", "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf", 11},
                 {"\\uD834\\uDD1E", "\xf0\x9d\x84\x9e", 4}, /* the G clef of RFC 8259 section 7 */
                 {"\xe2\x82\xac\\u20AC", "\xe2\x82\xac\xe2\x82\xac", 6},
                 {"\\\\u0041", "\\u0041", 6}};
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        size_t room = strlen(pairs[i].raw);
        char *raw = exact_copy(pairs[i].raw, room), *out = exact_copy(pairs[i].raw, room);
        assert_int_equal(tn_json_unescape(raw, room, out), pairs[i].size);
        assert_memory_equal(out, pairs[i].text, pairs[i].size);
        free(raw);
        free(out);
    }
}

static void a_text_is_borrowed_without_escapes_and_copied_with_them(void **state)
{
    static const char text[] = "[\"plain\",\"caf\\u00e9\",\"a\\u0000b\"]";
    test_memory memory;
    tn_arena arena;
    tn_json json;
    (void)state;
    test_memory_init(&memory, UINT64_MAX);
    tn_arena_init(&arena, &memory.source, 1 << 20);
    tn_json_init(&json, text, sizeof text - 1);
    (void)tn_json_next(&json);
    (void)tn_json_next(&json);
    tn_text plain = tn_json_text(&json, &arena);
    assert_ptr_equal(plain.bytes, text + 2);
    assert_int_equal(plain.size, 5);
    assert_int_equal(memory.calls, 0);
    (void)tn_json_next(&json);
    tn_text copied = tn_json_text(&json, &arena);
    assert_int_equal(copied.size, 5);
    assert_memory_equal(copied.bytes, "caf\xc3\xa9", 6); /* its NUL too */
    (void)tn_json_next(&json);
    copied = tn_json_text(&json, &arena);
    assert_int_equal(copied.size, 3);
    assert_memory_equal(copied.bytes, "a\0b", 4);
    tn_arena_free(&arena);
    test_memory_assert_clean(&memory);
}

static void a_text_without_memory_is_null(void **state)
{
    test_memory memory;
    tn_arena arena;
    tn_json json = scalar("\"\\n\"");
    (void)state;
    test_memory_init(&memory, UINT64_MAX);
    memory.fail_at = 1;
    tn_arena_init(&arena, &memory.source, 1 << 20);
    assert_null(tn_json_text(&json, &arena).bytes);
    tn_arena_free(&arena);
    test_memory_assert_clean(&memory);
}

static void a_key_is_compared_with_its_escapes_decoded(void **state)
{
    (void)state;
    tn_json json = scalar("\"dtype\"");
    assert_true(tn_json_is(&json, "dtype"));
    assert_false(tn_json_is(&json, "dtyp"));
    assert_false(tn_json_is(&json, "dtypes"));
    assert_false(tn_json_is(&json, ""));
    json = scalar("\"\\u0064typ\\u0065\"");
    assert_true(tn_json_is(&json, "dtype"));
    assert_false(tn_json_is(&json, "dtyp"));
    assert_false(tn_json_is(&json, "dtypes"));
    assert_false(tn_json_is(&json, "dtypE"));
    assert_false(tn_json_is(&json, "\\u0064typ\\u0065"));
    json = scalar("\"\\u00e9\"");
    assert_true(tn_json_is(&json, "\xc3\xa9"));
    assert_false(tn_json_is(&json, "\xc3"));
    json = scalar("\"a\\u0000\"");
    assert_false(tn_json_is(&json, "a")); /* a NUL is a character of its own */
    json = scalar("\"\"");
    assert_true(tn_json_is(&json, ""));
}

/* ---- passing over ---- */

static void a_value_of_any_kind_is_passed_over(void **state)
{
    static const char *const skipped[] = {"1", "-1.5", "\"a\\n\"", "true", "null", "[]", "{}", "[[1,[2]],{\"a\":[{}]}]",
                                          "{\"a\":{\"b\":[1,2]},\"c\":3}"};
    (void)state;
    for (size_t i = 0; i < sizeof skipped / sizeof skipped[0]; i++)
        for (int from_key = 0; from_key < 2; from_key++) {
            char text[128] = "{\"k\":";
            strcat(strcat(text, skipped[i]), ",\"next\":0}");
            tn_json json;
            tn_json_init(&json, text, strlen(text));
            (void)tn_json_next(&json);
            assert_int_equal(tn_json_next(&json), TN_JSON_KEY);
            if (!from_key)
                (void)tn_json_next(&json);
            assert_true(tn_json_skip(&json));
            assert_int_equal(json.depth, 1);
            assert_int_equal(json.at - text, 5 + strlen(skipped[i]));
            assert_int_equal(tn_json_next(&json), TN_JSON_KEY);
            assert_true(tn_json_is(&json, "next"));
        }
}

static void passing_over_checks_what_it_passes(void **state)
{
    tn_json json = scalar("[1,[2,{\"a\":01}]]");
    (void)state;
    assert_false(tn_json_skip(&json));
    assert_int_equal(json.failed_at, 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_value_is_accepted_or_refused_where_the_rfc_says),
        cmocka_unit_test(each_text_is_refused_at_the_byte_that_is_one_too_many_or_at_its_end),
        cmocka_unit_test(a_value_inside_an_array_is_judged_as_it_is_alone),
        cmocka_unit_test(a_document_cut_at_any_byte_is_refused_at_that_byte_or_before),
        cmocka_unit_test(a_document_with_any_byte_changed_is_read_alike_by_both_ways),
        cmocka_unit_test(nesting_is_read_up_to_its_limit_and_refused_one_past_it),
        cmocka_unit_test(many_brackets_cost_no_stack),
        cmocka_unit_test(tokens_come_one_by_one_with_their_text_and_place),
        cmocka_unit_test(a_failure_is_told_again_and_again),
        cmocka_unit_test(a_token_that_does_not_belong_is_told_with_its_place),
        cmocka_unit_test(no_bytes_at_all_are_refused),
        cmocka_unit_test(whole_numbers_are_exact_up_to_2_64_less_1),
        cmocka_unit_test(other_numbers_stay_text),
        cmocka_unit_test(doubles_are_the_nearest),
        cmocka_unit_test(a_digit_beyond_any_buffer_still_breaks_a_tie),
        cmocka_unit_test(escapes_are_decoded),
        cmocka_unit_test(a_text_is_borrowed_without_escapes_and_copied_with_them),
        cmocka_unit_test(a_text_without_memory_is_null),
        cmocka_unit_test(a_key_is_compared_with_its_escapes_decoded),
        cmocka_unit_test(a_value_of_any_kind_is_passed_over),
        cmocka_unit_test(passing_over_checks_what_it_passes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
