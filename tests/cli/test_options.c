/* One table drives all: what stands in it is in the help, the man pages and the completion of every shell. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cli/options.h"

static tn_budget budget;
static tn_memory_source memory;
static tn_buffer made;

static int set_up(void **state)
{
    (void)state;
    tn_budget_init(&budget, (uint64_t)1 << 20);
    memory = (tn_memory_source){tn_allocator_system(), &budget};
    tn_buffer_init(&made, &memory, (size_t)1 << 20);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tn_buffer_free(&made);
    return budget.used != 0;
}

/* The text holds `word` with nothing of a longer name around it. */
static bool has_word(const char *text, const char *word)
{
    size_t size = strlen(word);
    for (const char *at = text; (at = strstr(at, word)) != NULL; at += size) {
        bool begins = at == text || !strchr("abcdefghijklmnopqrstuvwxyz-", at[-1]);
        bool ends = at[size] == '\0' || !strchr("abcdefghijklmnopqrstuvwxyz-", at[size]);
        if (begins && ends)
            return true;
    }
    return false;
}

static void assert_word(const char *prefix, const char *word, const char *where)
{
    char wanted[128];
    snprintf(wanted, sizeof wanted, "%s%s", prefix, word);
    if (!has_word(made.bytes, wanted))
        fail_msg("%s is not in %s", wanted, where);
}

static void each_option_is_in_the_help_of_its_verbs_and_of_no_other(void **state)
{
    (void)state;
    for (const tn_verb *verb = tn_verb_table; verb->name; verb++) {
        tn_buffer_clear(&made);
        tn_help_verb(&made, verb);
        for (const tn_option *option = tn_option_table; option->name; option++) {
            char wanted[64];
            snprintf(wanted, sizeof wanted, "--%s", option->name);
            if (tn_option_belongs(option, verb->id))
                assert_word("", wanted, verb->name);
            else
                assert_false(has_word(made.bytes, wanted));
        }
    }
}

static void each_verb_is_in_the_help(void **state)
{
    (void)state;
    tn_help_all(&made);
    for (const tn_verb *verb = tn_verb_table; verb->name; verb++)
        if (!verb->hidden)
            assert_word("  ", verb->name, "help");
}

static void each_option_is_in_the_man_page_of_its_verbs(void **state)
{
    (void)state;
    for (const tn_verb *verb = tn_verb_table; verb->name; verb++) {
        tn_buffer_clear(&made);
        tn_man_verb(&made, verb);
        for (const tn_option *option = tn_option_table; option->name; option++) {
            char wanted[64] = "\\-\\-"; /* troff writes a hyphen as \- */
            for (const char *at = option->name; *at; at++)
                snprintf(wanted + strlen(wanted), sizeof wanted - strlen(wanted), *at == '-' ? "\\-" : "%c", *at);
            bool there = strstr(made.bytes, wanted) != NULL;
            assert_int_equal(there, tn_option_belongs(option, verb->id));
        }
    }
}

static void each_verb_and_option_is_in_every_completion(void **state)
{
    (void)state;
    static const struct {
        const char *shell, *option_prefix;
        void (*make)(tn_buffer *out);
    } shells[] = {{"bash", "--", tn_complete_bash}, {"zsh", "--", tn_complete_zsh}, {"fish", "-l ", tn_complete_fish}};
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
        tn_buffer_clear(&made);
        shells[i].make(&made);
        for (const tn_option *option = tn_option_table; option->name; option++)
            assert_word(shells[i].option_prefix, option->name, shells[i].shell);
        for (const tn_verb *verb = tn_verb_table; verb->name; verb++)
            if (!verb->hidden)
                assert_word("", verb->name, shells[i].shell);
    }
}

static void help_fits_80_columns(void **state)
{
    (void)state;
    tn_help_all(&made);
    tn_help_short(&made);
    for (const tn_verb *verb = tn_verb_table; verb->name; verb++)
        tn_help_verb(&made, verb);
    for (const char *at = made.bytes; *at;) {
        size_t size = strcspn(at, "\n");
        if (size > 80)
            fail_msg("%.*s", (int)size, at);
        at += size + (at[size] == '\n');
    }
}

static void no_line_of_a_man_page_is_a_request_by_accident(void **state)
{
    (void)state;
    static const char *const known[] = {".TH ", ".SH ", ".PP", ".TP", ".B", ".BR ", ".I ", ".br"};
    for (const tn_verb *verb = tn_verb_table; verb->name; verb++)
        tn_man_verb(&made, verb);
    tn_man_all(&made);
    for (const char *at = made.bytes; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        bool request = *at == '.' || *at == '\'', expected = false;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            expected = expected || strncmp(at, known[i], strlen(known[i])) == 0;
        if (request && !expected)
            fail_msg("%.*s", (int)strcspn(at, "\n"), at);
    }
}

static void rows_of_the_table_are_their_own(void **state)
{
    (void)state;
    uint64_t ids = 0;
    for (const tn_option *option = tn_option_table; option->name; option++) {
        assert_int_equal(ids >> (unsigned)option->id & 1, 0);
        ids |= UINT64_C(1) << (unsigned)option->id;
        for (const tn_option *other = tn_option_table; other < option; other++) {
            assert_string_not_equal(other->name, option->name);
            assert_false(option->letter && other->letter == option->letter);
        }
    }
}

static void words_are_whole(void **state)
{
    (void)state;
    assert_true(tn_cli_words_have("none|blake3", "none", 4));
    assert_true(tn_cli_words_have("none|blake3", "blake3", 6));
    assert_false(tn_cli_words_have("none|blake3", "blake", 5));
    assert_false(tn_cli_words_have("none|blake3", "none|blake3", 11));
    assert_false(tn_cli_words_have("none|blake3", "", 0));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_option_is_in_the_help_of_its_verbs_and_of_no_other),
        TEST(each_verb_is_in_the_help),
        TEST(each_option_is_in_the_man_page_of_its_verbs),
        TEST(each_verb_and_option_is_in_every_completion),
        TEST(help_fits_80_columns),
        TEST(no_line_of_a_man_page_is_a_request_by_accident),
        TEST(rows_of_the_table_are_their_own),
        TEST(words_are_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
