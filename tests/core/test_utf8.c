/* UTF-8 as the Unicode standard has it (chapter 3, table 3-7), and text from outside made harmless to show. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/utf8.h"
#include "support/core_memory.h"

static test_memory memory;
static tn_buffer out;

static void begin(void)
{
    test_memory_init(&memory, UINT64_MAX);
    tn_buffer_init(&out, &memory.source, 10000);
}

static void end(void)
{
    tn_buffer_free(&out);
    test_memory_assert_clean(&memory);
}

#define BYTES(literal) literal, sizeof(literal) - 1

/* The first and last row of each line of table 3-7, from its code point column. */
static void the_edges_of_each_form_are_valid(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        uint32_t code_point;
    } edges[] = {
        {"\x01", 0x1},
        {"\x7F", 0x7F},
        {"\xC2\x80", 0x80},
        {"\xDF\xBF", 0x7FF},
        {"\xE0\xA0\x80", 0x800},
        {"\xE0\xBF\xBF", 0xFFF},
        {"\xE1\x80\x80", 0x1000},
        {"\xEC\xBF\xBF", 0xCFFF},
        {"\xED\x80\x80", 0xD000},
        {"\xED\x9F\xBF", 0xD7FF},
        {"\xEE\x80\x80", 0xE000},
        {"\xEF\xBF\xBF", 0xFFFF},
        {"\xF0\x90\x80\x80", 0x10000},
        {"\xF0\xBF\xBF\xBF", 0x3FFFF},
        {"\xF1\x80\x80\x80", 0x40000},
        {"\xF3\xBF\xBF\xBF", 0xFFFFF},
        {"\xF4\x80\x80\x80", 0x100000},
        {"\xF4\x8F\xBF\xBF", 0x10FFFF},
    };
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++) {
        size_t size = strlen(edges[i].bytes), length = 0;
        assert_int_equal(tn_utf8_valid_prefix(edges[i].bytes, size), size);
        assert_int_equal(tn_utf8_decode(edges[i].bytes, size, &length), edges[i].code_point);
        assert_int_equal(length, size);
        char encoded[4];
        assert_int_equal(tn_utf8_encode(edges[i].code_point, encoded), size);
        assert_memory_equal(encoded, edges[i].bytes, size);
    }
}

/* One past each edge of the same table: `run` is the maximal invalid run (3.9, "U+FFFD Substitution of Maximal
 * Subparts") that the text begins with. */
static void one_past_each_edge_is_not_valid(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t run;
    } cases[] = {
        {"\x80", 1},             /* a continuation without a lead */
        {"\xBF", 1},
        {"\xC0\x80", 1},         /* overlong NUL */
        {"\xC1\xBF", 1},         /* overlong U+007F */
        {"\xC2\x7F", 1},
        {"\xC2\xC0", 1},
        {"\xE0\x9F\xBF", 1},     /* overlong U+07FF */
        {"\xE1\x80\x7F", 2},
        {"\xE1\x80\xC0", 2},
        {"\xED\xA0\x80", 1},     /* the first surrogate, U+D800 */
        {"\xED\xBF\xBF", 1},     /* the last, U+DFFF */
        {"\xF0\x8F\xBF\xBF", 1}, /* overlong U+FFFF */
        {"\xF1\x80\x80\x7F", 3},
        {"\xF4\x90\x80\x80", 1}, /* U+110000 */
        {"\xF5\x80\x80\x80", 1},
        {"\xF8\x88\x80\x80\x80", 1},
        {"\xFE", 1},
        {"\xFF", 1},
        {"\xC2", 1},             /* cut short */
        {"\xE2\x82", 2},
        {"\xF0\x9F\x98", 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t size = strlen(cases[i].bytes), length = 0;
        assert_int_equal(tn_utf8_valid_prefix(cases[i].bytes, size), 0);
        assert_int_equal(tn_utf8_decode(cases[i].bytes, size, &length), TN_UTF8_BAD);
        assert_int_equal(length, cases[i].run);
    }
}

/* Every code point there is goes out and comes back; their number is that of the standard, 0x110000 less 2048. */
static void every_code_point_comes_back(void **state)
{
    (void)state;
    uint32_t valid = 0;
    for (uint32_t code_point = 0; code_point <= 0x10FFFF; code_point++) {
        if (code_point >= 0xD800 && code_point <= 0xDFFF)
            continue;
        char bytes[4];
        size_t length = 0;
        size_t size = tn_utf8_encode(code_point, bytes);
        if (tn_utf8_decode(bytes, size, &length) == code_point && length == size)
            valid++;
    }
    assert_int_equal(valid, 0x110000 - 2048);
}

/* A bad byte at each place of a long text, so that it meets every place of the words that are checked at once. */
static void a_bad_byte_is_found_where_it_stands(void **state)
{
    (void)state;
    char text[100];
    for (size_t bad = 0; bad < sizeof text; bad++) {
        memset(text, 'a', sizeof text);
        assert_int_equal(tn_utf8_valid_prefix(text, sizeof text), sizeof text);
        text[bad] = '\x80';
        assert_int_equal(tn_utf8_valid_prefix(text, sizeof text), bad);
        assert_int_equal(tn_utf8_valid_prefix(text, bad), bad);
    }
    assert_int_equal(tn_utf8_valid_prefix(NULL, 0), 0);
    assert_int_equal(tn_utf8_valid_prefix(BYTES("a\0\xC3\xA9 long enough a text\xE2\x82")), 23);
}

/* Table 3-8 to 3-11 of the standard (version 15): non-shortest forms, surrogates, other ill-formed and truncated. */
static void invalid_runs_are_replaced_as_the_standard_shows(void **state)
{
    (void)state;
#define R "\xEF\xBF\xBD"
    static const struct {
        const char *bytes, *mended;
    } cases[] = {
        {"\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41", R R R R R R R R "A"},
        {"\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41", R R R R R R R R "A"},
        {"\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42", R R R R R "A" R R "B"},
        {"\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41", R R R R "A"},
    };
#undef R
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        begin();
        tn_utf8_append_valid(&out, cases[i].bytes, strlen(cases[i].bytes));
        assert_string_equal(out.bytes, cases[i].mended);
        end();
    }
}

static void valid_text_is_not_changed_by_mending(void **state)
{
    (void)state;
    begin();
    tn_utf8_append_valid(&out, BYTES("caf\xC3\xA9 \0 \xF0\x9F\x98\x80\x1B"));
    assert_int_equal(out.size, 13);
    assert_memory_equal(out.bytes, "caf\xC3\xA9 \0 \xF0\x9F\x98\x80\x1B", 13);
    end();
}

/* ---- showing ---- */

static void assert_shown(const char *bytes, size_t size, const char *expected)
{
    begin();
    tn_utf8_append_shown(&out, bytes, size);
    assert_int_equal(tn_buffer_status(&out, NULL), TN_OK);
    assert_string_equal(size > 0 ? out.bytes : "", expected);
    end();
}

static void plain_text_is_shown_as_it_is(void **state)
{
    (void)state;
    assert_shown("", 0, "");
    assert_shown(BYTES("model.blocks.0 ~!"), "model.blocks.0 ~!");
    assert_shown(BYTES("\xE6\xA8\xA1\xE5\x9E\x8B caf\xC3\xA9 \xF0\x9F\x98\x80"),
                 "\xE6\xA8\xA1\xE5\x9E\x8B caf\xC3\xA9 \xF0\x9F\x98\x80");
    assert_shown(BYTES("e\xCC\x81"), "e\xCC\x81"); /* a combining accent is seen */
}

static void nothing_shown_acts_on_a_terminal(void **state)
{
    (void)state;
    assert_shown(BYTES("a\x1B[2Jb"), "a\\x1B[2Jb");                      /* clears the screen */
    assert_shown(BYTES("\x1B]0;title\x07"), "\\x1B]0;title\\x07");       /* sets the title, rings */
    assert_shown(BYTES("one\ntwo\r\tthree\x08"), "one\\ntwo\\x0D\\tthree\\x08");
    assert_shown(BYTES("\0\x7F"), "\\x00\\x7F");
    assert_shown(BYTES("\xC2\x9B" "2J"), "\\u{9B}2J");                   /* CSI as one C1 control */
    assert_shown(BYTES("\xC2\x85"), "\\u{85}");                          /* next line */
    assert_shown(BYTES("\xE2\x80\xA8\xE2\x80\xA9"), "\\u{2028}\\u{2029}");
}

static void nothing_shown_reorders_or_hides(void **state)
{
    (void)state;
    assert_shown(BYTES("gpj.\xE2\x80\xAE" "exe"), "gpj.\\u{202E}exe");     /* right-to-left override */
    assert_shown(BYTES("\xE2\x81\xA6x\xE2\x81\xA9"), "\\u{2066}x\\u{2069}"); /* isolates */
    assert_shown(BYTES("a\xE2\x80\x8B" "b"), "a\\u{200B}b");               /* zero width space */
    assert_shown(BYTES("\xEF\xBB\xBF" "a"), "\\u{FEFF}a");                 /* BOM */
    assert_shown(BYTES("a\xC2\xAD" "b"), "a\\u{AD}b");                     /* soft hyphen */
    assert_shown(BYTES("\xF3\xA0\x81\x81"), "\\u{E0041}");                 /* a tag character */
    assert_shown(BYTES("a\xEF\xB8\x8F"), "a\\u{FE0F}");                    /* a variation selector */
}

static void a_backslash_stays_and_a_stray_byte_is_told_from_a_character(void **state)
{
    (void)state;
    assert_shown(BYTES("\\x1B"), "\\x1B");
    assert_shown(BYTES("C:\\new"), "C:\\new");
    assert_shown(BYTES("\x9B"), "\\x9B"); /* the byte, not the character U+009B */
}

static void bytes_that_are_not_utf8_are_shown_as_bytes(void **state)
{
    (void)state;
    assert_shown(BYTES("a\x80z\xFF"), "a\\x80z\\xFF");
    assert_shown(BYTES("\xE2\x82"), "\\xE2\\x82");
    assert_shown(BYTES("\xED\xA0\x80"), "\\xED\\xA0\\x80");
}

/* Whatever two bytes come in: what comes out is valid and printable. */
static void no_pair_of_bytes_gets_a_control_through(void **state)
{
    (void)state;
    begin();
    for (unsigned i = 0; i < 65536; i++) {
        char bytes[2] = {(char)(unsigned char)(i >> 8), (char)(unsigned char)i};
        tn_buffer_clear(&out);
        tn_utf8_append_shown(&out, bytes, 2);
        assert_int_equal(tn_utf8_valid_prefix(out.bytes, out.size), out.size);
        size_t length;
        for (size_t at = 0; at < out.size; at += length) {
            uint32_t code_point = tn_utf8_decode(out.bytes + at, out.size - at, &length);
            if (code_point < 0x20 || (code_point >= 0x7F && code_point < 0xA0))
                fail();
        }
    }
    end();
}

/* ---- columns ---- */

/* Widths as in EastAsianWidth.txt and UnicodeData.txt, Unicode 14. */
static void columns_are_those_of_unicode(void **state)
{
    (void)state;
    static const struct {
        uint32_t code_point;
        size_t columns;
    } cases[] = {
        {'a', 1},     {0xE9, 1},    {0x2FF, 1},                               /* Latin */
        {0x300, 0},   {0x36F, 0},   {0x370, 1},                               /* combining diacritics, and past them */
        {0x591, 0},   {0x5D0, 1},   {0x64B, 0},   {0x93F, 1}, {0x941, 0},     /* Mn is 0, Mc (U+093F) is not */
        {0x10FF, 1},  {0x1100, 2},  {0x115E, 2},  {0x1161, 0}, {0x11A8, 0},   /* Hangul jamo: L, then V and T */
        {0x20AC, 1},  {0x20D0, 0},  {0x231A, 2},  {0x2500, 1},                /* euro, enclosing, watch, box drawing */
        {0x2E80, 2},  {0x3000, 2},  {0x302A, 0},  {0x303F, 1}, {0x3042, 2},   /* CJK; U+303F is the half-width one */
        {0x33FF, 2},  {0x3400, 2},  {0x4DBF, 2},  {0x4DC0, 1}, {0x4E00, 2},   /* hexagrams between ideographs */
        {0x9FFF, 2},  {0xA4CF, 1},  {0xAC00, 2},  {0xD7A3, 2}, {0xF900, 2},
        {0xFE20, 0},  {0xFE30, 2},  {0xFF01, 2},  {0xFF60, 2}, {0xFF61, 1},   /* full width, then half width */
        {0xFFE0, 2},  {0xFFE8, 1},  {0x1F1E6, 1}, {0x1F300, 2}, {0x1F321, 1}, {0x1F600, 2},
        {0x1F9FF, 2}, {0x20000, 2}, {0x2FFFD, 2}, {0x30000, 2}, {0x3FFFD, 2}, {0x10FFFF, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char bytes[4];
        size_t size = tn_utf8_encode(cases[i].code_point, bytes);
        if (tn_utf8_columns(bytes, size) != cases[i].columns)
            fail_msg("U+%04X takes %zu columns", (unsigned)cases[i].code_point, tn_utf8_columns(bytes, size));
    }
}

static void columns_of_a_text_are_the_sum_of_its_characters(void **state)
{
    (void)state;
    assert_int_equal(tn_utf8_columns(NULL, 0), 0);
    assert_int_equal(tn_utf8_columns(BYTES("sdxl")), 4);
    assert_int_equal(tn_utf8_columns(BYTES("e\xCC\x81\xE6\xA8\xA1\xE5\x9E\x8B!")), 1 + 2 + 2 + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_edges_of_each_form_are_valid),
        cmocka_unit_test(one_past_each_edge_is_not_valid),
        cmocka_unit_test(every_code_point_comes_back),
        cmocka_unit_test(a_bad_byte_is_found_where_it_stands),
        cmocka_unit_test(invalid_runs_are_replaced_as_the_standard_shows),
        cmocka_unit_test(valid_text_is_not_changed_by_mending),
        cmocka_unit_test(plain_text_is_shown_as_it_is),
        cmocka_unit_test(nothing_shown_acts_on_a_terminal),
        cmocka_unit_test(nothing_shown_reorders_or_hides),
        cmocka_unit_test(a_backslash_stays_and_a_stray_byte_is_told_from_a_character),
        cmocka_unit_test(bytes_that_are_not_utf8_are_shown_as_bytes),
        cmocka_unit_test(no_pair_of_bytes_gets_a_control_through),
        cmocka_unit_test(columns_are_those_of_unicode),
        cmocka_unit_test(columns_of_a_text_are_the_sum_of_its_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
