/* WTF-8: every UTF-16 name has one spelling, and comes back as it was. The samples follow the WTF-8 specification and
 * the Unicode standard, table 3-7. */
#include "support/check.h"

#include <string.h>

#include "os/os_wtf8.h"

static void known_texts_have_their_known_units(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        uint16_t units[4];
        size_t count;
    } cases[] = {
        {"", {0}, 0},
        {"a", {0x61}, 1},
        {"\x7f", {0x7f}, 1},
        {"\xc2\x80", {0x80}, 1},
        {"\xdf\xbf", {0x7ff}, 1},
        {"\xe0\xa0\x80", {0x800}, 1},
        {"\xef\xbf\xbf", {0xffff}, 1},
        {"\xf0\x90\x80\x80", {0xd800, 0xdc00}, 2},
        {"\xf4\x8f\xbf\xbf", {0xdbff, 0xdfff}, 2},
        {"\xf0\x9f\xa6\x8a", {0xd83e, 0xdd8a}, 2},
        {"\xed\xa0\x80", {0xd800}, 1},             /* a high surrogate alone */
        {"\xed\xb0\x80", {0xdc00}, 1},             /* a low one */
        {"\xed\xb0\x80\xed\xa0\x80", {0xdc00, 0xd800}, 2}, /* both, in the order that makes no pair */
        {"\xed\xa0\x80x", {0xd800, 0x78}, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint16_t units[4] = {0};
        char bytes[16] = {0};
        size_t size = strlen(cases[i].bytes);
        assert_int_equal(tn_os_utf16_from_wtf8(cases[i].bytes, size, NULL, 0), cases[i].count);
        assert_int_equal(tn_os_utf16_from_wtf8(cases[i].bytes, size, units, 4), cases[i].count);
        assert_memory_equal(units, cases[i].units, sizeof units);
        assert_int_equal(tn_os_wtf8_from_utf16(units, cases[i].count, bytes, sizeof bytes), size);
        assert_string_equal(bytes, cases[i].bytes);
    }
}

static void what_is_no_wtf8_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2 ", "\xe0\x80\x80", "\xe0\x9f\xbf", "\xe1\x80",
        "\xf0\x80\x80\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "ok\xfe",
        "\xed\xa0\x80\xed\xb0\x80", /* a pair must be one code point */
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_true(tn_os_utf16_from_wtf8(bad[i], strlen(bad[i]), NULL, 0) == SIZE_MAX);
}

static void every_unit_comes_back(void **state)
{
    (void)state;
    for (uint32_t unit = 0; unit <= 0xffff; unit++) {
        uint16_t in[2] = {(uint16_t)unit, 'x'}, out[2];
        char bytes[8];
        size_t size = tn_os_wtf8_from_utf16(in, 2, bytes, sizeof bytes);
        assert_in_range(size, 2, 4);
        assert_int_equal(tn_os_utf16_from_wtf8(bytes, size, out, 2), 2);
        assert_memory_equal(in, out, sizeof in);
    }
}

static void nothing_is_written_past_the_room(void **state)
{
    (void)state;
    uint16_t units[3] = {7, 7, 7};
    assert_int_equal(tn_os_utf16_from_wtf8("abcdef", 6, units, 2), 6);
    assert_int_equal(units[2], 7);
    char bytes[3] = {7, 7, 7};
    assert_int_equal(tn_os_wtf8_from_utf16((const uint16_t[]){0x800, 0x800}, 2, bytes, 2), 6);
    assert_int_equal(bytes[2], 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_texts_have_their_known_units),
        cmocka_unit_test(what_is_no_wtf8_is_refused),
        cmocka_unit_test(every_unit_comes_back),
        cmocka_unit_test(nothing_is_written_past_the_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
