/* The command line says what interface.md 2 lets it say, and a slip gets the line that helps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/options.h"
#include "core/error.h"

#define WORDS_MAX 32

typedef struct line {
    char *argv[WORDS_MAX];
    int argc;
    tn_settings settings;
    tn_error err;
    tn_status status;
} line;

static char name[] = "tenure";

/* Parse the words up to NULL. */
static line parse(char *first, ...)
{
    line l = {.argv = {name}, .argc = 1};
    va_list words;
    va_start(words, first);
    for (char *word = first; word; word = va_arg(words, char *))
        l.argv[l.argc++] = word;
    va_end(words);
    static char *kept[WORDS_MAX];
    memcpy(kept, l.argv, sizeof kept);
    l.status = tn_settings_parse(l.argc, kept, &l.settings, &l.err);
    return l;
}

static void refused(line l, const char *says)
{
    assert_int_equal(l.status, TN_INVALID);
    assert_string_equal(l.err.message, says);
}

static void the_first_word_is_the_verb_and_the_rest_are_arguments(void **state)
{
    (void)state;
    line l = parse("probe", "a", "b", NULL);
    assert_int_equal(l.status, TN_OK);
    assert_int_equal(l.settings.verb, TN_VERB_PROBE);
    assert_int_equal(l.settings.argument_count, 2);
    assert_string_equal(l.settings.arguments[0], "a");
    assert_string_equal(l.settings.arguments[1], "b");
}

static void options_stand_anywhere(void **state)
{
    (void)state;
    line l = parse("--json", "probe", "a", "--why", "b", "-q", NULL);
    assert_int_equal(l.status, TN_OK);
    assert_true(l.settings.json && l.settings.why && l.settings.quiet);
    assert_int_equal(l.settings.argument_count, 2);
    assert_string_equal(l.settings.arguments[1], "b");
}

static void behind_two_dashes_everything_is_an_argument(void **state)
{
    (void)state;
    line l = parse("probe", "-", "--", "--json", "-", NULL);
    assert_int_equal(l.status, TN_OK);
    assert_false(l.settings.json);
    assert_int_equal(l.settings.argument_count, 3);
    assert_int_equal(l.settings.literal_from, 1); /* the first "-" is stdin, the last a file */
    assert_string_equal(l.settings.arguments[1], "--json");
}

static void values_are_attached_or_follow(void **state)
{
    (void)state;
    assert_int_equal(parse("list", "--limit=7", NULL).settings.limit, 7);
    assert_int_equal(parse("list", "--limit", "7", NULL).settings.limit, 7);
    assert_int_equal(parse("list", "-j", "3", NULL).settings.jobs, 3);
    assert_int_equal(parse("list", "-qj3", NULL).settings.jobs, 3);
    assert_true(parse("list", "-qj3", NULL).settings.quiet);
}

static void the_last_of_a_repeated_option_counts(void **state)
{
    (void)state;
    assert_int_equal(parse("list", "--limit=7", "--limit=8", NULL).settings.limit, 8);
}

/* Powers of 1024, as core/encode.h says. */
static void sizes_have_units(void **state)
{
    (void)state;
    assert_int_equal(parse("list", "--memory=512M", NULL).settings.memory_bytes, 536870912);
    assert_int_equal(parse("list", "--memory=2GiB", NULL).settings.memory_bytes, 2147483648);
    refused(parse("list", "--memory=much", NULL), "--memory takes a size such as 512M or 2G, not `much`");
    refused(parse("list", "--memory=0", NULL), "--memory takes a size such as 512M or 2G, not `0`");
}

static void jobs_have_a_limit(void **state)
{
    (void)state;
    assert_int_equal(parse("list", "--jobs=256", NULL).settings.jobs, TN_CLI_JOBS_MAX);
    refused(parse("list", "--jobs=257", NULL), "--jobs takes a number from 1 to 256, not `257`");
    refused(parse("list", "--jobs=0", NULL), "--jobs takes a number from 1 to 256, not `0`");
    refused(parse("list", "--jobs=4x", NULL), "--jobs takes a number from 1 to 256, not `4x`");
    refused(parse("list", "--jobs=", NULL), "--jobs takes a number from 1 to 256, not ``");
}

static void a_number_past_64_bits_is_refused(void **state)
{
    (void)state;
    assert_int_equal(parse("list", "--limit=9223372036854775807", NULL).settings.limit, INT64_MAX);
    assert_int_equal(parse("list", "--limit=9223372036854775808", NULL).status, TN_INVALID);
    assert_int_equal(parse("list", "--limit=18446744073709551617", NULL).status, TN_INVALID);
}

static void a_hash_that_there_is_not_is_refused_in_words(void **state)
{
    (void)state;
    assert_string_equal(parse("import", ".", "--hash=none", NULL).settings.hash, "none");
    assert_null(parse("import", ".", NULL).settings.hash);
    assert_string_equal(parse("import", ".", "--hash=all", NULL).settings.hash, "all");
    refused(parse("import", ".", "--hash=md5", NULL), "--hash takes none, blake3, sha256 or all, not `md5`");
}

static void a_slip_in_an_option_is_answered_with_what_was_meant(void **state)
{
    (void)state;
    refused(parse("probe", "a", "--jsno", NULL), "there is no option --jsno: did you mean --json?");
    refused(parse("probe", "a", "--dryrun", NULL), "there is no option --dryrun: did you mean --dry-run?");
    refused(parse("probe", "a", "--lib", NULL), "there is no option --lib: did you mean --library?");
    refused(parse("probe", "a", "--frobnicate", NULL),
            "there is no option --frobnicate: `tenure help` lists them");
    refused(parse("probe", "a", "-z", NULL), "there is no option -z: a file of this name is given as ./-z");
}

static void a_slip_in_a_verb_is_answered_with_what_was_meant(void **state)
{
    (void)state;
    refused(parse("prboe", "a", NULL), "there is no verb `prboe`: did you mean `tenure probe`?");
    refused(parse("imp", "a", NULL), "there is no verb `imp`: did you mean `tenure import`?");
    refused(parse("model.safetensors", NULL),
            "a verb comes first: did you mean `tenure probe model.safetensors`?");
    refused(parse("quux", NULL), "there is no verb `quux`: `tenure help` lists them");
}

static void a_guess_never_names_a_hidden_verb(void **state)
{
    (void)state;
    refused(parse("completoin", "bash", NULL), "there is no verb `completoin`: `tenure help` lists them");
}

static void an_option_of_another_verb_is_refused(void **state)
{
    (void)state;
    refused(parse("probe", "a", "--dry-run", NULL), "`probe` has no option --dry-run: see `tenure probe --help`");
}

static void a_switch_takes_no_value_and_an_option_needs_its_own(void **state)
{
    (void)state;
    refused(parse("probe", "a", "--json=yes", NULL), "--json takes no value");
    refused(parse("probe", "a", "--library", NULL), "--library needs a value: --library FILE");
    refused(parse("probe", "a", "--library=", NULL), "--library needs the path of a file");
}

static void a_verb_without_its_arguments_says_what_it_takes(void **state)
{
    (void)state;
    refused(parse("probe", NULL), "`probe` needs more: tenure probe PATH...");
    refused(parse("list", "x", NULL), "`list` takes no `x`: tenure list");
    refused(parse("jobs", "stop", NULL), "`jobs` knows no `stop`: it takes run|pause|resume|cancel|retry");
}

static void help_needs_no_arguments(void **state)
{
    (void)state;
    line l = parse("probe", "--help", NULL);
    assert_int_equal(l.status, TN_OK);
    assert_true(l.settings.help);
}

static void nothing_at_all_is_no_fault(void **state)
{
    (void)state;
    line l = parse(NULL);
    assert_int_equal(l.status, TN_OK);
    assert_int_equal(l.settings.verb, TN_VERB_NONE);
}

static void a_refusal_leaves_the_settings_alone(void **state)
{
    (void)state;
    char verb[] = "probe", option[] = "--nope";
    char *argv[] = {name, verb, option, NULL};
    tn_settings settings = {.limit = 42};
    assert_int_equal(tn_settings_parse(3, argv, &settings, NULL), TN_INVALID);
    assert_int_equal(settings.limit, 42);
    assert_int_equal(settings.verb, TN_VERB_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_word_is_the_verb_and_the_rest_are_arguments),
        cmocka_unit_test(options_stand_anywhere),
        cmocka_unit_test(behind_two_dashes_everything_is_an_argument),
        cmocka_unit_test(values_are_attached_or_follow),
        cmocka_unit_test(the_last_of_a_repeated_option_counts),
        cmocka_unit_test(sizes_have_units),
        cmocka_unit_test(jobs_have_a_limit),
        cmocka_unit_test(a_number_past_64_bits_is_refused),
        cmocka_unit_test(a_hash_that_there_is_not_is_refused_in_words),
        cmocka_unit_test(a_slip_in_an_option_is_answered_with_what_was_meant),
        cmocka_unit_test(a_slip_in_a_verb_is_answered_with_what_was_meant),
        cmocka_unit_test(a_guess_never_names_a_hidden_verb),
        cmocka_unit_test(an_option_of_another_verb_is_refused),
        cmocka_unit_test(a_switch_takes_no_value_and_an_option_needs_its_own),
        cmocka_unit_test(a_verb_without_its_arguments_says_what_it_takes),
        cmocka_unit_test(help_needs_no_arguments),
        cmocka_unit_test(nothing_at_all_is_no_fault),
        cmocka_unit_test(a_refusal_leaves_the_settings_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
