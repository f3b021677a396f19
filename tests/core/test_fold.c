/* Letters are the same in any case, for the scripts that names of models are written in. Expected pairs: CaseFolding.txt of
 * Unicode 15 (status C and S), as Python's str.casefold gives them too. */
#include "support/check.h"

#include <ctype.h>
#include <string.h>

#include "core/fold.h"

static bool equal(const char *a, const char *b)
{
    return tn_fold_equal((tn_text){a, strlen(a)}, (tn_text){b, strlen(b)});
}

static void capitals_and_small_letters_are_the_same(void **state)
{
    (void)state;
    assert_int_equal(tn_fold_point('A'), 'a');
    assert_int_equal(tn_fold_point('Z'), 'z');
    assert_int_equal(tn_fold_point('@'), '@');
    assert_int_equal(tn_fold_point('['), '[');
    assert_int_equal(tn_fold_point(0xC0), 0xE0);   /* LATIN CAPITAL A WITH GRAVE */
    assert_int_equal(tn_fold_point(0xD7), 0xD7);   /* MULTIPLICATION SIGN */
    assert_int_equal(tn_fold_point(0x178), 0xFF);  /* Y WITH DIAERESIS */
    assert_int_equal(tn_fold_point(0x17F), 's');   /* LONG S */
    assert_int_equal(tn_fold_point(0x1AF), 0x1B0); /* U WITH HORN */
    assert_int_equal(tn_fold_point(0x3A9), 0x3C9); /* OMEGA */
    assert_int_equal(tn_fold_point(0x3C2), 0x3C3); /* FINAL SIGMA */
    assert_int_equal(tn_fold_point(0x416), 0x436); /* ZHE */
    assert_int_equal(tn_fold_point(0x52E), 0x52F);
    assert_int_equal(tn_fold_point(0xFF21), 0xFF41);
    assert_int_equal(tn_fold_point(0x4E2D), 0x4E2D); /* a Chinese character */
    assert_int_equal(tn_fold_point(0x1F600), 0x1F600);
}

static void texts_are_compared_by_characters(void **state)
{
    (void)state;
    assert_true(equal("", ""));
    assert_true(equal("Anime", "aNIME"));
    assert_true(equal("\xc3\x89t\xc3\x89", "\xc3\xa9T\xc3\xa9")); /* É and é */
    assert_false(equal("a", "aa"));
    assert_false(equal("\xc3\x89", "e"));
    assert_true(equal("\xff", "\xff")); /* what is no UTF-8 is itself */
    assert_false(equal("\xff", "\xfe"));
}

static void folding_keeps_what_is_no_utf_8(void **state)
{
    (void)state;
    tn_budget budget;
    tn_budget_init(&budget, 1 << 16);
    tn_memory_source memory = {tn_allocator_system(), &budget};
    tn_buffer out;
    tn_buffer_init(&out, &memory, 1000);
    tn_fold_append(&out, "X\xff\xc5\xbf\xd0\x96!", 7);
    assert_int_equal(out.failed, TN_OK);
    assert_string_equal(out.bytes, "x\xffs\xd0\xb6!");
    assert_int_equal(out.size, 6);
    tn_buffer_free(&out);
    assert_int_equal(atomic_load(&budget.used), 0);
}

/* Every character of ASCII at every place of eight bytes, against the C library's tolower in the C locale. */
static void eight_bytes_are_folded_as_one(void **state)
{
    (void)state;
    tn_budget budget;
    tn_budget_init(&budget, 1 << 16);
    tn_memory_source memory = {tn_allocator_system(), &budget};
    tn_buffer out;
    tn_buffer_init(&out, &memory, 1000);
    for (int c = 0; c < 128; c++) {
        for (size_t place = 0; place < 8; place++) {
            char text[8];
            for (size_t i = 0; i < sizeof text; i++)
                text[i] = (char)((c + (int)i * 31) % 128);
            text[place] = (char)c;
            tn_buffer_clear(&out);
            tn_fold_append(&out, text, sizeof text);
            assert_int_equal(out.size, sizeof text);
            for (size_t i = 0; i < sizeof text; i++)
                assert_int_equal(out.bytes[i], tolower(text[i]));
        }
    }
    tn_buffer_free(&out);
}

static void characters_are_counted_not_bytes(void **state)
{
    (void)state;
    assert_int_equal(tn_fold_points("", 0), 0);
    assert_int_equal(tn_fold_points("abc", 3), 3);
    assert_int_equal(tn_fold_points("\xe4\xb8\xad\xe6\x96\x87", 6), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(capitals_and_small_letters_are_the_same),
        cmocka_unit_test(texts_are_compared_by_characters),
        cmocka_unit_test(folding_keeps_what_is_no_utf_8),
        cmocka_unit_test(eight_bytes_are_folded_as_one),
        cmocka_unit_test(characters_are_counted_not_bytes),
    };
    return cmocka_run_group_tests_name("core.fold", tests, NULL, NULL);
}
