/* Tables align by columns on the screen, not by bytes, and numbers read as people write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/cli.h"

static tn_budget budget;
static tn_memory_source memory;
static tn_output out;

static int set_up(void **state)
{
    (void)state;
    tn_budget_init(&budget, (uint64_t)64 << 20);
    memory = (tn_memory_source){tn_allocator_system(), &budget};
    tn_output_init(&out, &memory, NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tn_output_free(&out);
    return budget.used != 0;
}

static const tn_table_column two[] = {{"name", false, 6}, {"size", true, 0}};

static void row(tn_table *table, const char *first, const char *second)
{
    tn_table_cell_text(table, TN_STYLE_PLAIN, tn_text_of(first));
    tn_table_cell_text(table, TN_STYLE_PLAIN, tn_text_of(second));
}

static void columns_are_as_wide_as_their_widest_cell(void **state)
{
    (void)state;
    tn_table table;
    tn_table_begin(&table, &out, two, 2, 0);
    row(&table, "a", "1.0 MB");
    row(&table, "bbbbbbb", "12 B");
    tn_table_end(&table);
    assert_string_equal(out.text.bytes, "name       size\n"
                                        "a        1.0 MB\n"
                                        "bbbbbbb    12 B\n");
}

/* U+65E5 U+672C are wide (2 columns each, Unicode 15 East Asian Width W); U+0301 is combining (0 columns). */
static void wide_and_combining_characters_count_as_the_screen_shows_them(void **state)
{
    (void)state;
    tn_table table;
    tn_table_begin(&table, &out, two, 2, 0);
    row(&table, "\xe6\x97\xa5\xe6\x9c\xac", "1");
    row(&table, "e\xcc\x81", "2");
    tn_table_end(&table);
    assert_string_equal(out.text.bytes, "name  size\n"
                                        "\xe6\x97\xa5\xe6\x9c\xac     1\n"
                                        "e\xcc\x81        2\n");
}

static void a_narrow_terminal_cuts_the_column_that_may_be_cut(void **state)
{
    (void)state;
    tn_table table;
    tn_table_begin(&table, &out, two, 2, 14);
    row(&table, "abcdefghijkl", "1234");
    tn_table_end(&table);
    assert_string_equal(out.text.bytes, "name      size\n"
                                        "abcdefg\xe2\x80\xa6  1234\n");
}

static void a_column_is_never_cut_below_its_least_width(void **state)
{
    (void)state;
    tn_table table;
    tn_table_begin(&table, &out, two, 2, 3);
    row(&table, "abcdefghijkl", "1234");
    tn_table_end(&table);
    assert_string_equal(out.text.bytes, "name    size\n"
                                        "abcde\xe2\x80\xa6  1234\n");
}

static void an_escape_sequence_in_a_cell_stays_text(void **state)
{
    (void)state;
    tn_table table;
    tn_table_begin(&table, &out, two, 2, 0);
    row(&table, "\x1b[2J", "1");
    tn_table_end(&table);
    assert_null(memchr(out.text.bytes, 0x1b, out.text.size));
}

static void an_empty_table_prints_nothing(void **state)
{
    (void)state;
    tn_table table;
    tn_table_begin(&table, &out, two, 2, 0);
    tn_table_end(&table);
    assert_int_equal(out.text.size, 0);
}

static void empty_last_cells_leave_no_blanks(void **state)
{
    (void)state;
    static const tn_table_column plain[] = {{NULL, false, 0}, {NULL, false, 0}};
    tn_table table;
    tn_table_begin(&table, &out, plain, 2, 0);
    row(&table, "a", "");
    row(&table, "bb", "c");
    tn_table_end(&table);
    assert_string_equal(out.text.bytes, "a\nbb  c\n");
}

static size_t lines_of(const tn_buffer *text)
{
    size_t lines = 0;
    for (size_t i = 0; i < text->size; i++)
        lines += text->bytes[i] == '\n';
    return lines;
}

static void more_rows_than_a_batch_are_all_printed_once(void **state)
{
    (void)state;
    tn_table table;
    tn_table_begin(&table, &out, two, 2, 0);
    for (unsigned i = 0; i <= TN_TABLE_BATCH; i++)
        row(&table, "x", "1");
    tn_table_end(&table);
    assert_int_equal(lines_of(&out.text), 1 + TN_TABLE_BATCH + 1); /* titles, a batch, one more */
}

/* ---- numbers ---- */

static const char *said(void (*append)(tn_buffer *, uint64_t), uint64_t number)
{
    tn_buffer_clear(&out.text);
    append(&out.text, number);
    return out.text.bytes;
}

static void counts_are_grouped_by_thousands(void **state)
{
    (void)state;
    assert_string_equal(said(tn_count_append, 0), "0");
    assert_string_equal(said(tn_count_append, 999), "999");
    assert_string_equal(said(tn_count_append, 1000), "1,000");
    assert_string_equal(said(tn_count_append, 1234567), "1,234,567");
    assert_string_equal(said(tn_count_append, UINT64_MAX), "18,446,744,073,709,551,615");
}

static void durations_are_as_long_as_they_need_to_be(void **state)
{
    (void)state;
    const uint64_t ms = 1000000, s = 1000 * ms;
    assert_string_equal(said(tn_duration_append, 40 * ms), "0.04 s");
    assert_string_equal(said(tn_duration_append, 1900 * ms), "1.9 s");
    assert_string_equal(said(tn_duration_append, 75 * s), "75 s");
    assert_string_equal(said(tn_duration_append, 725 * s), "12 min 5 s");
    assert_string_equal(said(tn_duration_append, 7500 * s), "2 h 5 min");
}

/* Powers of 1000: core/encode.h. */
static void sizes_have_one_decimal(void **state)
{
    (void)state;
    assert_string_equal(said(tn_size_append, 512), "512 B");
    assert_string_equal(said(tn_size_append, 96100000000), "96.1 GB");
}

static void one_is_singular(void **state)
{
    (void)state;
    tn_plural_append(&out.text, 1, "model", "models");
    assert_string_equal(out.text.bytes, "1 model");
    tn_buffer_clear(&out.text);
    tn_plural_append(&out.text, 0, "model", "models");
    assert_string_equal(out.text.bytes, "0 models");
    tn_buffer_clear(&out.text);
    tn_plural_append(&out.text, 4512, "model", "models");
    assert_string_equal(out.text.bytes, "4,512 models");
}

static const char *fitted(const char *text, size_t columns, bool keep_end)
{
    tn_buffer_clear(&out.text);
    tn_buffer_text(&out.text, "");
    tn_fit_append(&out.text, text, strlen(text), columns, keep_end);
    return out.text.bytes;
}

static void long_texts_keep_the_end_that_tells_more(void **state)
{
    (void)state;
    assert_string_equal(fitted("abcdef", 6, false), "abcdef");
    assert_string_equal(fitted("abcdef", 4, false), "abc\xe2\x80\xa6");
    assert_string_equal(fitted("abcdef", 4, true), "\xe2\x80\xa6" "def");
    assert_string_equal(fitted("abcdef", 1, true), "\xe2\x80\xa6");
    /* a wide character that would stick out by one column is left away as a whole */
    assert_string_equal(fitted("\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e", 4, false), "\xe6\x97\xa5\xe2\x80\xa6");
    assert_string_equal(fitted("\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e", 4, true), "\xe2\x80\xa6\xe8\xaa\x9e");
}

static void the_base_name_is_what_follows_the_last_separator(void **state)
{
    (void)state;
    assert_true(tn_cli_text_is(tn_base_name(tn_text_of("/a/b.safetensors")), "b.safetensors"));
    assert_true(tn_cli_text_is(tn_base_name(tn_text_of("/a/b/")), "b"));
    assert_true(tn_cli_text_is(tn_base_name(tn_text_of("C:\\a\\b.gguf")), "b.gguf"));
    assert_true(tn_cli_text_is(tn_base_name(tn_text_of("/a/b\\c")), "b\\c"));
    assert_true(tn_cli_text_is(tn_base_name(tn_text_of("plain")), "plain"));
    assert_true(tn_cli_text_is(tn_base_name(tn_text_of("")), ""));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(columns_are_as_wide_as_their_widest_cell),
        TEST(wide_and_combining_characters_count_as_the_screen_shows_them),
        TEST(a_narrow_terminal_cuts_the_column_that_may_be_cut),
        TEST(a_column_is_never_cut_below_its_least_width),
        TEST(an_escape_sequence_in_a_cell_stays_text),
        TEST(an_empty_table_prints_nothing),
        TEST(empty_last_cells_leave_no_blanks),
        TEST(more_rows_than_a_batch_are_all_printed_once),
        TEST(counts_are_grouped_by_thousands),
        TEST(durations_are_as_long_as_they_need_to_be),
        TEST(sizes_have_one_decimal),
        TEST(one_is_singular),
        TEST(long_texts_keep_the_end_that_tells_more),
        TEST(the_base_name_is_what_follows_the_last_separator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
