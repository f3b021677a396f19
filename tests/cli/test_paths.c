/* Lists of paths on stdin: NUL- or newline-separated, any bytes, nothing lost at the ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cli/cli.h"

static tn_budget budget;
static tn_memory_source memory;

static int set_up(void **state)
{
    (void)state;
    tn_budget_init(&budget, (uint64_t)64 << 20);
    memory = (tn_memory_source){tn_allocator_system(), &budget};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return budget.used != 0;
}

/* What a list of `size` bytes on stdin gives, between "first" and "last" on the command line. */
static tn_paths collect(const char *list, size_t size)
{
    static char first[] = "first", dash[] = "-", last[] = "last";
    static char *arguments[] = {first, dash, last};
    FILE *input = tmpfile();
    assert_non_null(input);
    assert_int_equal(fwrite(list, 1, size, input), size);
    rewind(input);
    tn_settings settings = {.arguments = arguments, .argument_count = 3, .literal_from = SIZE_MAX};
    tn_paths paths;
    assert_int_equal(tn_paths_collect(&paths, &memory, &settings, input, NULL), TN_OK);
    fclose(input);
    return paths;
}

#define COLLECT(list) collect(list, sizeof list - 1)

static void a_dash_stands_for_the_list_and_order_is_kept(void **state)
{
    (void)state;
    tn_paths paths = COLLECT("a\nb c\n");
    assert_int_equal(paths.count, 4);
    assert_string_equal(paths.items[0], "first");
    assert_string_equal(paths.items[1], "a");
    assert_string_equal(paths.items[2], "b c");
    assert_string_equal(paths.items[3], "last");
    tn_paths_free(&paths);
}

static void with_a_nul_in_it_newlines_belong_to_names(void **state)
{
    (void)state;
    tn_paths paths = COLLECT("a\nb\0c\0");
    assert_int_equal(paths.count, 4);
    assert_string_equal(paths.items[1], "a\nb");
    assert_string_equal(paths.items[2], "c");
    tn_paths_free(&paths);
}

static void the_last_path_needs_no_separator(void **state)
{
    (void)state;
    tn_paths paths = COLLECT("a\nb");
    assert_int_equal(paths.count, 4);
    assert_string_equal(paths.items[2], "b");
    tn_paths_free(&paths);
    paths = COLLECT("a\0b");
    assert_int_equal(paths.count, 4);
    assert_string_equal(paths.items[2], "b");
    tn_paths_free(&paths);
}

static void empty_paths_and_empty_lists_are_nothing(void **state)
{
    (void)state;
    tn_paths paths = COLLECT("\n\na\n\n");
    assert_int_equal(paths.count, 3);
    tn_paths_free(&paths);
    paths = COLLECT("");
    assert_int_equal(paths.count, 2);
    tn_paths_free(&paths);
}

static void bytes_that_are_no_utf_8_pass(void **state)
{
    (void)state;
    tn_paths paths = COLLECT("\xff\xfe\n");
    assert_string_equal(paths.items[1], "\xff\xfe");
    tn_paths_free(&paths);
}

static void a_long_list_is_read_whole(void **state)
{
    (void)state;
    enum { PATHS = 50000, EACH = 8 };
    static char list[PATHS * EACH + 1];
    for (int i = 0; i < PATHS; i++)
        snprintf(list + i * EACH, EACH + 1, "p%06d\n", i);
    tn_paths paths = collect(list, PATHS * EACH);
    assert_int_equal(paths.count, PATHS + 2);
    assert_string_equal(paths.items[PATHS], "p049999");
    tn_paths_free(&paths);
}

static void behind_two_dashes_a_dash_is_a_file(void **state)
{
    (void)state;
    static char dash[] = "-";
    static char *arguments[] = {dash};
    tn_settings settings = {.arguments = arguments, .argument_count = 1, .literal_from = 0};
    tn_paths paths;
    assert_int_equal(tn_paths_collect(&paths, &memory, &settings, NULL, NULL), TN_OK);
    assert_int_equal(paths.count, 1);
    assert_string_equal(paths.items[0], "-");
    tn_paths_free(&paths);
}

static void a_list_that_passes_the_budget_is_refused_and_gives_all_back(void **state)
{
    (void)state;
    static char dash[] = "-", list[1 << 17];
    static char *arguments[] = {dash};
    memset(list, 'a', sizeof list);
    tn_budget_init(&budget, sizeof list / 2);
    FILE *input = tmpfile();
    assert_non_null(input);
    assert_int_equal(fwrite(list, 1, sizeof list, input), sizeof list);
    rewind(input);
    tn_settings settings = {.arguments = arguments, .argument_count = 1, .literal_from = SIZE_MAX};
    tn_paths paths;
    tn_error err;
    assert_int_equal(tn_paths_collect(&paths, &memory, &settings, input, &err), TN_OVER_BUDGET);
    assert_int_equal(budget.used, 0);
    fclose(input);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_dash_stands_for_the_list_and_order_is_kept),
        TEST(with_a_nul_in_it_newlines_belong_to_names),
        TEST(the_last_path_needs_no_separator),
        TEST(empty_paths_and_empty_lists_are_nothing),
        TEST(bytes_that_are_no_utf_8_pass),
        TEST(a_long_list_is_read_whole),
        TEST(behind_two_dashes_a_dash_is_a_file),
        TEST(a_list_that_passes_the_budget_is_refused_and_gives_all_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
