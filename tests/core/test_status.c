/* Statuses, element types and errors: what every answer of Tenure is made of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/error.h"
#include "core/utf8.h"

/* The words of `error.status`, in the groups of include/tenure/status.h. Written out here by hand, so that changing
 * the meaning of a number or a word, which programs and libraries on disk rely on, does not go unseen. */
static const char *const words[] = {
    "ok", "invalid", "no_memory", "over_budget", "no_space", "cancelled", "forked", "internal",
    "not_found", "exists", "permission", "read_only", "bad_path", "not_a_file", "too_many_files", "busy", "io",
    "changed", "placeholder", "crashed", "unavailable",
    "unsupported", "not_weights", "empty", "bad_header", "bad_json", "duplicate", "overflow", "bad_layout",
    "unknown_dtype", "truncated", "trailing_bytes", "limit", "missing_part", "extra_part", "stale_index",
    "unsafe_path", "dangerous", "bad_checksum",
    "misaligned", "metadata_disagrees", "unknown_field", "not_hashed",
    "locked", "newer", "not_a_library", "library_damaged", "ambiguous_name", "bad_rule",
};

static void each_status_has_its_word_and_a_sentence(void **state)
{
    (void)state;
    assert_int_equal(sizeof words / sizeof words[0], TN_STATUS_COUNT);
    for (unsigned i = 0; i < TN_STATUS_COUNT; i++) {
        assert_string_equal(tn_status_word((tn_status)i), words[i]);
        assert_true(strlen(tn_status_text((tn_status)i)) > 0);
    }
}

static void a_word_is_lower_case_and_stands_once(void **state)
{
    (void)state;
    for (unsigned i = 0; i < TN_STATUS_COUNT; i++) {
        assert_int_equal(strspn(words[i], "abcdefghijklmnopqrstuvwxyz_"), strlen(words[i]));
        for (unsigned j = 0; j < i; j++)
            assert_string_not_equal(words[i], words[j]);
    }
}

/* Exit codes: 0 done, 1 a file is broken or missing, 2 the call was wrong, 3 it could not be done, 4 no room,
 * 5 another holds the library, 130 interrupted. HTTP: RFC 9110, 4918 (423, 507) and 499 for a client gone. */
static void a_status_becomes_the_right_thing_at_each_edge(void **state)
{
    (void)state;
    static const struct {
        tn_status status;
        int exit_code, http;
        const char *python_class, *file_state;
    } cases[] = {
        {TN_OK, 0, 200, "", ""},
        {TN_INVALID, 2, 400, "ValueError", ""},
        {TN_OVER_BUDGET, 4, 507, "MemoryRefused", "unreadable"},
        {TN_CANCELLED, 130, 499, "Cancelled", ""},
        {TN_NOT_FOUND, 1, 404, "FileNotFoundError", "unreadable"},
        {TN_PERMISSION, 1, 403, "PermissionError", "unreadable"},
        {TN_UNSUPPORTED, 1, 415, "FormatError", "unsupported"},
        {TN_TRUNCATED, 1, 422, "FormatError", "damaged"},
        {TN_DANGEROUS, 1, 422, "FormatError", "dangerous"},
        {TN_MISALIGNED, 0, 200, "", ""},
        {TN_LOCKED, 5, 423, "LibraryError", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(tn_status_exit_code(cases[i].status), cases[i].exit_code);
        assert_int_equal(tn_status_http(cases[i].status), cases[i].http);
        assert_string_equal(tn_status_python_class(cases[i].status), cases[i].python_class);
        assert_string_equal(tn_status_state(cases[i].status), cases[i].file_state);
    }
}

static void exit_codes_and_states_are_only_those_promised(void **state)
{
    (void)state;
    for (unsigned i = 0; i < TN_STATUS_COUNT; i++) {
        int code = tn_status_exit_code((tn_status)i);
        assert_true((code >= 0 && code <= 5) || code == 130);
        int http = tn_status_http((tn_status)i);
        assert_true(http == 200 || (http >= 400 && http <= 599));
        assert_int_equal(code == 0, http == 200);
        assert_int_equal(code == 0, tn_status_python_class((tn_status)i)[0] == '\0');
        const char *s = tn_status_state((tn_status)i);
        assert_true(strcmp(s, "") == 0 || strcmp(s, "damaged") == 0 || strcmp(s, "dangerous") == 0 ||
                    strcmp(s, "unreadable") == 0 || strcmp(s, "unsupported") == 0);
    }
}

static void a_number_that_is_no_status_is_an_internal_fault(void **state)
{
    (void)state;
    assert_string_equal(tn_status_word((tn_status)TN_STATUS_COUNT), "internal");
    assert_string_equal(tn_status_word((tn_status)1000000), "internal");
}

/* ---- element types ---- */

/* Names and order: the Dtype enum of safetensors 0.8, which its writer sorts by; C128 is no safetensors type. */
static void element_types_have_safetensors_names_in_its_order(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned bits;
    } types[] = {
        {"BOOL", 8},        {"F4", 4},          {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},   {"I8", 8},
        {"F8_E5M2", 8},     {"F8_E4M3", 8},     {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8},
        {"I16", 16},        {"U16", 16},        {"F16", 16},    {"BF16", 16},   {"I32", 32}, {"U32", 32},
        {"F32", 32},        {"C64", 64},        {"F64", 64},    {"I64", 64},    {"U64", 64}, {"C128", 128},
    };
    assert_int_equal(sizeof types / sizeof types[0], TN_DTYPE_COUNT);
    for (unsigned i = 0; i < TN_DTYPE_COUNT; i++) {
        assert_string_equal(tn_dtype_name((tn_dtype)i), types[i].name);
        assert_int_equal(tn_dtype_bits((tn_dtype)i), types[i].bits);
        tn_dtype found = TN_DTYPE_COUNT;
        assert_true(tn_dtype_from_name(types[i].name, strlen(types[i].name), &found));
        assert_int_equal(found, i);
    }
}

static void a_name_that_is_not_exact_is_no_element_type(void **state)
{
    (void)state;
    static const char *const names[] = {"", "f32", "F3", "F323", " F32", "BF16 ", "FLOAT", "I4"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        tn_dtype out = TN_C64;
        assert_false(tn_dtype_from_name(names[i], strlen(names[i]), &out));
        assert_int_equal(out, TN_C64);
    }
    tn_dtype out = TN_C64;
    assert_false(tn_dtype_from_name("F32\0", 4, &out));
    assert_true(tn_dtype_from_name("F32 and more", 3, &out));
    assert_int_equal(out, TN_F32);
}

/* ---- errors ---- */

static bool is_valid(const char *text)
{
    return tn_utf8_valid_prefix(text, strlen(text)) == strlen(text);
}

static void an_error_holds_what_was_said_and_nothing_of_before(void **state)
{
    (void)state;
    tn_error err;
    memset(&err, 'x', sizeof err);
    assert_int_equal(tn_fail(&err, TN_LIMIT, "%d names, at most %s", 7, "six"), TN_LIMIT);
    assert_int_equal(err.status, TN_LIMIT);
    assert_string_equal(err.message, "7 names, at most six");
    assert_string_equal(err.file, "");
    assert_string_equal(err.tensor, "");
    assert_true(err.offset == TN_NONE && err.expected == TN_NONE && err.found == TN_NONE);
    tn_error_at_file(&err, "/models/a.safetensors");
    tn_error_at_tensor(&err, "blocks.0.weight", 15);
    tn_error_at_offset(&err, 8);
    tn_error_amounts(&err, 6, 7);
    assert_string_equal(err.file, "/models/a.safetensors");
    assert_string_equal(err.tensor, "blocks.0.weight");
    assert_true(err.offset == 8 && err.expected == 6 && err.found == 7);
}

static void no_error_to_fill_is_accepted(void **state)
{
    (void)state;
    assert_int_equal(tn_fail(NULL, TN_IO, "%s", "unseen"), TN_IO);
    tn_error_at_file(NULL, "a");
    tn_error_at_tensor(NULL, "a", 1);
    tn_error_at_offset(NULL, 1);
    tn_error_amounts(NULL, 1, 2);
}

static void a_message_may_be_made_of_the_one_before(void **state)
{
    (void)state;
    tn_error err;
    (void)tn_fail(&err, TN_IO, "inner");
    (void)tn_fail(&err, TN_CHANGED, "outer: %s", err.message);
    assert_string_equal(err.message, "outer: inner");
}

/* 511 bytes fit beside the NUL. */
static void a_message_is_cut_where_it_does_not_fit(void **state)
{
    (void)state;
    tn_error err;
    char text[601];
    memset(text, 'a', sizeof text);
    text[511] = '\0';
    (void)tn_fail(&err, TN_IO, "%s", text);
    assert_string_equal(err.message, text);
    text[511] = 'a';
    text[512] = '\0';
    (void)tn_fail(&err, TN_IO, "%s", text);
    assert_int_equal(strlen(err.message), 511);
    assert_string_equal(err.message + 505, "aaa...");
}

static void a_cut_falls_between_characters(void **state)
{
    (void)state;
    for (size_t ascii = 0; ascii < 4; ascii++) {
        char text[1025];
        memset(text, 'a', ascii);
        for (size_t at = ascii; at + 4 < sizeof text; at += 4)
            memcpy(text + at, "\xF0\x9F\x98\x80", 5); /* U+1F600 */
        tn_error err;
        (void)tn_fail(&err, TN_IO, "%s", text);
        assert_true(is_valid(err.message));
        assert_true(strlen(err.message) >= 508);
        assert_string_equal(err.message + strlen(err.message) - 3, "...");
        tn_error_at_tensor(&err, text, strlen(text));
        assert_true(is_valid(err.tensor));
        assert_string_equal(err.tensor + strlen(err.tensor) - 3, "...");
    }
}

static void bytes_that_are_not_utf8_become_the_replacement_character(void **state)
{
    (void)state;
    tn_error err;
    (void)tn_fail(&err, TN_IO, "a\xFFz");
    assert_string_equal(err.message, "a\xEF\xBF\xBDz");
    tn_error_at_file(&err, "\x80/\xC3");
    assert_string_equal(err.file, "\xEF\xBF\xBD/\xEF\xBF\xBD");
    tn_error_at_tensor(&err, "a\0b\xE2\x82", 5); /* a NUL would hide what follows */
    assert_string_equal(err.tensor, "a\xEF\xBF\xBD" "b\xEF\xBF\xBD");
}

/* Each bad byte takes three in its place: a field full of them is cut, not overrun. */
static void mending_stays_inside_the_field(void **state)
{
    (void)state;
    char bad[2000];
    memset(bad, 0xFF, sizeof bad);
    bad[1999] = '\0';
    tn_error err;
    (void)tn_fail(&err, TN_IO, "%s", bad);
    tn_error_at_tensor(&err, bad, sizeof bad - 1);
    tn_error_at_file(&err, bad);
    assert_true(is_valid(err.message) && is_valid(err.tensor) && is_valid(err.file));
    assert_int_equal(strlen(err.message), 508 / 3 * 3 + 3);
    assert_int_equal(strlen(err.tensor), 508 / 3 * 3 + 3);
    assert_int_equal(strlen(err.file), 1532 / 3 * 3 + 3);
}

/* 1535 bytes fit beside the NUL. */
static void a_path_keeps_its_end(void **state)
{
    (void)state;
    char path[1601];
    memset(path, 'd', sizeof path);
    path[1535] = '\0';
    memcpy(path + 1530, "/name", 5);
    tn_error err;
    (void)tn_fail(&err, TN_IO, "-");
    tn_error_at_file(&err, path);
    assert_string_equal(err.file, path);
    memset(path, 'd', sizeof path);
    path[1536] = '\0';
    memcpy(path + 1531, "/name", 5);
    tn_error_at_file(&err, path);
    assert_int_equal(strlen(err.file), 1535);
    assert_memory_equal(err.file, "...d", 4);
    assert_string_equal(err.file + 1530, "/name");
}

static void a_failure_is_passed_on_whole_and_told_from_others(void **state)
{
    (void)state;
    tn_error found, err;
    (void)tn_fail(&found, TN_OVER_BUDGET, "too much");
    tn_error_at_tensor(&found, "a", 1);
    assert_int_equal(tn_fail_as(&found, &err), TN_OVER_BUDGET);
    assert_string_equal(err.message, "too much");
    assert_string_equal(err.tensor, "a");
    assert_int_equal(tn_fail_as(&found, NULL), TN_OVER_BUDGET);
    for (int status = TN_OK; status < TN_STATUS_COUNT; status++) {
        bool memory = status == TN_NO_MEMORY || status == TN_OVER_BUDGET;
        assert_int_equal(tn_status_is_of_memory((tn_status)status), memory);
        assert_int_equal(tn_status_is_of_process((tn_status)status),
                         memory || status == TN_CANCELLED || status == TN_FORKED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_is_passed_on_whole_and_told_from_others),
        cmocka_unit_test(each_status_has_its_word_and_a_sentence),
        cmocka_unit_test(a_word_is_lower_case_and_stands_once),
        cmocka_unit_test(a_status_becomes_the_right_thing_at_each_edge),
        cmocka_unit_test(exit_codes_and_states_are_only_those_promised),
        cmocka_unit_test(a_number_that_is_no_status_is_an_internal_fault),
        cmocka_unit_test(element_types_have_safetensors_names_in_its_order),
        cmocka_unit_test(a_name_that_is_not_exact_is_no_element_type),
        cmocka_unit_test(an_error_holds_what_was_said_and_nothing_of_before),
        cmocka_unit_test(no_error_to_fill_is_accepted),
        cmocka_unit_test(a_message_may_be_made_of_the_one_before),
        cmocka_unit_test(a_message_is_cut_where_it_does_not_fit),
        cmocka_unit_test(a_cut_falls_between_characters),
        cmocka_unit_test(bytes_that_are_not_utf8_become_the_replacement_character),
        cmocka_unit_test(mending_stays_inside_the_field),
        cmocka_unit_test(a_path_keeps_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
