/* Hexadecimal, base64, CRC-32, and sizes as people write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/encode.h"
#include "support/core_memory.h"

static test_memory memory;
static tn_buffer out;

static void begin(size_t max)
{
    test_memory_init(&memory, UINT64_MAX);
    tn_buffer_init(&out, &memory.source, max);
}

static void end(void)
{
    tn_buffer_free(&out);
    test_memory_assert_clean(&memory);
}

static void hexadecimal_is_lower_case_and_ends_with_a_nul(void **state)
{
    (void)state;
    static const uint8_t bytes[] = {0x00, 0x09, 0xAF, 0xF0};
    char text[10];
    memset(text, '?', sizeof text);
    tn_hex(bytes, sizeof bytes, text);
    assert_memory_equal(text, "0009aff0\0?", 10);
    tn_hex(bytes, 0, text);
    assert_string_equal(text, "");
}

/* ---- base64 ---- */

/* RFC 4648, section 10. */
static const struct {
    const char *plain, *encoded;
} vectors[] = {
    {"", ""},           {"f", "Zg=="},         {"fo", "Zm8="},         {"foo", "Zm9v"},
    {"foob", "Zm9vYg=="}, {"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"},
};

static void base64_is_that_of_rfc_4648(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        begin(100);
        tn_buffer_text(&out, ">");
        tn_base64_append(&out, vectors[i].plain, strlen(vectors[i].plain));
        assert_int_equal(out.size, 1 + strlen(vectors[i].encoded));
        assert_string_equal(out.bytes + 1, vectors[i].encoded);
        tn_buffer_clear(&out);
        assert_true(tn_base64_decode(vectors[i].encoded, strlen(vectors[i].encoded), &out));
        assert_int_equal(out.size, strlen(vectors[i].plain));
        assert_memory_equal(out.bytes, vectors[i].plain, out.size);
        end();
    }
}

/* The alphabet in order (RFC 4648, table 1) is the encoding of the 6-bit numbers 0 to 63 in order. */
static void base64_has_the_whole_alphabet(void **state)
{
    (void)state;
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint8_t bytes[48];
    for (unsigned i = 0; i < 16; i++) {
        uint32_t bits = 4 * i << 18 | (4 * i + 1) << 12 | (4 * i + 2) << 6 | (4 * i + 3);
        bytes[3 * i] = (uint8_t)(bits >> 16);
        bytes[3 * i + 1] = (uint8_t)(bits >> 8);
        bytes[3 * i + 2] = (uint8_t)bits;
    }
    begin(100);
    tn_base64_append(&out, bytes, sizeof bytes);
    assert_string_equal(out.bytes, alphabet);
    tn_buffer_clear(&out);
    assert_true(tn_base64_decode(alphabet, 64, &out));
    assert_memory_equal(out.bytes, bytes, sizeof bytes);
    end();
}

static void base64_that_is_not_canonical_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "Z",      "Zg",       "Zg=",      "=",        "==",       "===",      "====",     "Z===",
        "Zg==Zg==", /* padding in the middle */
        "Zh==",     /* a bit that no byte uses (RFC 4648, 3.5) */
        "Zm9=",   "Zm=v",     "=m9v",     "Zm9v\n",   "Zm9 ",     "Zm-_",     "Zm9vZ",    "Zm9v====",
        "Zm\x80v", "Zm9v\n\n\n\n",
    };
    begin(100);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        tn_buffer_clear(&out);
        if (tn_base64_decode(bad[i], strlen(bad[i]), &out))
            fail_msg("\"%s\" was decoded", bad[i]);
    }
    assert_false(tn_base64_decode("Zm9\0", 4, &out));
    end();
}

static void base64_keeps_to_the_buffers_maximum(void **state)
{
    (void)state;
    begin(8);
    tn_base64_append(&out, "foobar", 6);
    assert_int_equal(out.size, 8);
    tn_buffer_clear(&out);
    tn_base64_append(&out, "foobarx", 7);
    assert_int_equal(tn_buffer_status(&out, NULL), TN_LIMIT);
    tn_buffer_clear(&out);
    assert_false(tn_base64_decode("Zm9vYmFyZm9v", 12, &out)); /* nine bytes */
    assert_int_equal(tn_buffer_status(&out, NULL), TN_LIMIT);
    end();
}

/* ---- CRC-32 ---- */

/* The check value of "CRC-32/ISO-HDLC": its remainder of the digits 1 to 9. */
static void crc32_has_the_known_check_value(void **state)
{
    (void)state;
    assert_int_equal(tn_crc32(0, "123456789", 9), 0xCBF43926);
    assert_int_equal(tn_crc32(0, NULL, 0), 0);
    assert_int_equal(tn_crc32(0, "", 1), 0xD202EF8D); /* one zero byte; ITU-T V.42 register arithmetic */
}

/* The definition, a bit at a time: shift, and subtract the reflected polynomial when a one falls out. */
static uint32_t crc32_by_bits(const uint8_t *bytes, size_t size)
{
    uint32_t crc = 0xFFFFFFFFu;
    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (unsigned bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xEDB88320u : 0);
    }
    return ~crc;
}

/* 4096 varied bytes meet every entry of every table but a few; each length meets every path. */
static void crc32_is_that_of_the_definition(void **state)
{
    (void)state;
    static uint8_t bytes[4096];
    uint32_t x = 1;
    for (size_t i = 0; i < sizeof bytes; i++) {
        x = x * 1664525u + 1013904223u;
        bytes[i] = (uint8_t)(x >> 24);
    }
    for (size_t size = 0; size <= 64; size++) {
        for (size_t at = 0; at < 8; at++)
            assert_int_equal(tn_crc32(0, bytes + at, size), crc32_by_bits(bytes + at, size));
    }
    assert_int_equal(tn_crc32(0, bytes, sizeof bytes), crc32_by_bits(bytes, sizeof bytes));
}

static void each_entry_of_the_tables_is_right(void **state)
{
    (void)state;
    for (unsigned value = 0; value < 256; value++) {
        for (unsigned place = 0; place < 8; place++) {
            uint8_t bytes[8] = {0};
            bytes[place] = (uint8_t)value;
            assert_int_equal(tn_crc32(0, bytes, 8), crc32_by_bits(bytes, 8));
        }
    }
}

static void crc32_can_be_continued(void **state)
{
    (void)state;
    static const char text[] = "The quick brown fox jumps over the lazy dog";
    for (size_t cut = 0; cut < sizeof text; cut++) {
        uint32_t crc = tn_crc32(0, text, cut);
        assert_int_equal(tn_crc32(crc, text + cut, sizeof text - 1 - cut), crc32_by_bits((const uint8_t *)text, 43));
    }
}

/* ---- sizes ---- */

static void sizes_are_read_in_powers_of_1024(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } cases[] = {
        {"0", 0},
        {"1000", 1000},
        {"512B", 512},
        {"64k", 65536},
        {"64K", 65536},
        {"512M", UINT64_C(512) << 20},
        {"512mb", UINT64_C(512) << 20},
        {"2G", UINT64_C(2) << 30},
        {"2GB", UINT64_C(2) << 30},
        {"1.5GiB", UINT64_C(3) << 29},
        {"0.5K", 512},
        {"0.1K", 102}, /* 102.4, rounded down */
        {"0.999999999E", UINT64_C(1152921503453925471)}, /* floor(2^60 * 0.999999999) */
        {"3T", UINT64_C(3) << 40},
        {"1P", UINT64_C(1) << 50},
        {"15E", UINT64_C(15) << 60},
        {"15.5E", UINT64_C(31) << 59},
        {"18446744073709551615", UINT64_MAX},
        {"007", 7},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t bytes = 1;
        if (!tn_size_parse(cases[i].text, &bytes) || bytes != cases[i].bytes)
            fail_msg("%s is read as %llu", cases[i].text, (unsigned long long)bytes);
    }
}

static void what_is_no_size_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",     " ",    "K",     "B",   "-1",  "+1",   " 1",   "1 ",   "1 G",    "1.",    ".5G",  "1.5",
        "1.5B", "1..5G", "1.2.3G", "1iB", "1KiBs", "1Ki", "1X", "0x10", "1e3", "1GG", "1BB", "1,5G", "1.0000000001G",
        "18446744073709551616", "16E", "99999999999999999999999", "15.999999999EE",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uint64_t bytes = 77;
        if (tn_size_parse(bad[i], &bytes) || bytes != 77)
            fail_msg("\"%s\" is read as %llu", bad[i], (unsigned long long)bytes);
    }
}

static void sizes_are_shown_in_powers_of_1000_with_one_decimal(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        const char *text;
    } cases[] = {
        {0, "0 B"},
        {512, "512 B"},
        {999, "999 B"},
        {1000, "1.0 KB"},
        {1049, "1.0 KB"},
        {1050, "1.1 KB"},
        {999949, "999.9 KB"},
        {999950, "1.0 MB"}, /* not 1000.0 KB */
        {1200000, "1.2 MB"},
        {UINT64_C(96100000000), "96.1 GB"},
        {UINT64_C(999949999999), "999.9 GB"},
        {UINT64_C(999950000000), "1.0 TB"},
        {UINT64_C(1500000000000000), "1.5 PB"},
        {UINT64_MAX, "18.4 EB"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[16];
        tn_size_show(cases[i].bytes, text);
        assert_string_equal(text, cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hexadecimal_is_lower_case_and_ends_with_a_nul),
        cmocka_unit_test(base64_is_that_of_rfc_4648),
        cmocka_unit_test(base64_has_the_whole_alphabet),
        cmocka_unit_test(base64_that_is_not_canonical_is_refused),
        cmocka_unit_test(base64_keeps_to_the_buffers_maximum),
        cmocka_unit_test(crc32_has_the_known_check_value),
        cmocka_unit_test(crc32_is_that_of_the_definition),
        cmocka_unit_test(each_entry_of_the_tables_is_right),
        cmocka_unit_test(crc32_can_be_continued),
        cmocka_unit_test(sizes_are_read_in_powers_of_1024),
        cmocka_unit_test(what_is_no_size_is_refused),
        cmocka_unit_test(sizes_are_shown_in_powers_of_1000_with_one_decimal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
