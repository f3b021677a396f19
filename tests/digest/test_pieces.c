/* The digest of pieces is BLAKE3 of their bytes, however they are cut. Expected values: the official test vectors
 * (https://github.com/BLAKE3-team/BLAKE3, test_vectors.json: input bytes 0, 1, ... 250, 0, ...), first 32 bytes. */
#include <stdio.h>

#include "support/check.h"

#include "digest/pieces.h"

static void assert_hex(const uint8_t digest[32], const char *hex)
{
    char text[65];
    for (int i = 0; i < 32; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
    assert_string_equal(text, hex);
}

static void no_bytes_have_their_digest(void **state)
{
    (void)state;
    uint8_t digest[32];
    tn_blake3_pieces(NULL, 0, digest);
    assert_hex(digest, "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262");
    const tn_text empty[] = {{"", 0}, {"", 0}};
    tn_blake3_pieces(empty, 2, digest);
    assert_hex(digest, "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262");
}

static void where_pieces_are_cut_makes_no_difference(void **state)
{
    (void)state;
    char bytes[1025]; /* one more than BLAKE3's chunk */
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i % 251);
    for (size_t cut = 0; cut <= sizeof bytes; cut += 41) {
        uint8_t digest[32];
        const tn_text pieces[] = {{bytes, cut}, {bytes + cut, sizeof bytes - cut}};
        tn_blake3_pieces(pieces, 2, digest);
        assert_hex(digest, "d00278ae47eb27b34faecf67b4fe263f82d5412916c1ffd97c8cb7fb814b8444");
    }
}

static void a_digest_may_go_on_over_itself(void **state)
{
    (void)state;
    uint8_t apart[32] = {0}, expected[32], over[32] = {0};
    const tn_text first[] = {{(const char *)apart, 32}, {"name", 4}}, second[] = {{(const char *)over, 32}, {"name", 4}};
    tn_blake3_pieces(first, 2, expected);
    tn_blake3_pieces(second, 2, over);
    assert_memory_equal(over, expected, 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_bytes_have_their_digest),
        cmocka_unit_test(where_pieces_are_cut_makes_no_difference),
        cmocka_unit_test(a_digest_may_go_on_over_itself),
    };
    return cmocka_run_group_tests_name("digest.pieces", tests, NULL, NULL);
}
