/* Test lines: what a header of the corpus, changed, must be.
 *
 *   test HEADER [CHANGE VALUE]... -> TYPE BASE [VARIANT]
 *   test HEADER [CHANGE VALUE]... -> unknown
 *   test HEADER [CHANGE VALUE]... -> ambiguous TYPE BASE, TYPE BASE...
 * Changes: minus NAME (# and * allowed), plus NAME[shape], prefix PREFIX, dtype DTYPE, meta KEY=VALUE, lora SET.
 * What they do is the test program's affair; here they are words. */
#include "identify/rules_pack.h"

static tn_status add_text(tn_rules_pack *pack, rules_word word, tn_range *range, tn_error *err)
{
    tn_text *kept = tn_rules_add(pack, &pack->texts, err);
    if (kept == NULL)
        return pack->failed;
    range->count++;
    return tn_rules_text(pack, word, kept, err);
}

static bool is_change(rules_word word)
{
    static const char *const changes[] = {"minus", "plus", "prefix", "dtype", "meta", "lora"};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        if (tn_rules_is(word, changes[i]))
            return true;
    return false;
}

tn_status tn_rules_test_line(tn_rules_pack *pack, rules_words *rest, tn_error *err)
{
    tn_rule_test made = {.line = pack->line};
    rules_word word;
    TN_TRY(tn_rules_word(pack, rest, &word, err));
    TN_TRY(tn_rules_text(pack, word, &made.header, err));
    made.changes.first = pack->texts.count;
    for (;;) {
        TN_TRY(tn_rules_word(pack, rest, &word, err));
        if (tn_rules_is(word, "->"))
            break;
        if (!is_change(word))
            return tn_rules_refuse(pack, TN_BAD_RULE, err, "%.*s is no change to a header", (int)word.size, word.bytes);
        TN_TRY(add_text(pack, word, &made.changes, err));
        TN_TRY(tn_rules_word(pack, rest, &word, err));
        TN_TRY(add_text(pack, word, &made.changes, err));
    }
    made.answers.first = pack->texts.count;
    for (;;) {
        TN_TRY(tn_rules_word(pack, rest, &word, err));
        if (word.size == 0)
            break;
        TN_TRY(add_text(pack, word, &made.answers, err));
    }
    if (made.answers.count == 0)
        return tn_rules_refuse(pack, TN_BAD_RULE, err, "the answer is missing");
    tn_rule_test *kept = tn_rules_add(pack, &pack->tests, err);
    if (kept == NULL)
        return pack->failed;
    *kept = made;
    return TN_OK;
}
