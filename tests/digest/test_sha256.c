/* SHA-256 gives what FIPS 180-4's examples list, and every code for it gives the same bytes. Expected values: NIST,
 * "SHA-256 examples" (abc; 448 bits), its SHAVS byte vectors (no message), FIPS 180-2 B.3 (a million times "a"). */
#include "support/check.h"

#include <stdlib.h>
#include <string.h>

#include "core/encode.h"
#include "digest/sha256.h"

static void hash(tn_sha256_take *take, const uint8_t *bytes, size_t size, size_t step, char hex[65])
{
    tn_sha256 sha256;
    uint8_t digest[32];
    if (take != NULL)
        tn_sha256_begin_with(&sha256, take);
    else
        tn_sha256_begin(&sha256);
    for (size_t at = 0; at < size; at += step)
        tn_sha256_add(&sha256, bytes + at, size - at < step ? size - at : step);
    tn_sha256_end(&sha256, digest);
    tn_hex(digest, sizeof digest, hex);
}

static void gives_what_the_standard_lists(tn_sha256_take *take)
{
    static const struct {
        const char *text, *digest;
    } examples[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    char hex[65];
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        for (size_t step = 1; step <= 66; step += 13) {
            hash(take, (const uint8_t *)examples[i].text, strlen(examples[i].text), step, hex);
            assert_string_equal(hex, examples[i].digest);
        }
    const size_t million = 1000000;
    uint8_t *bytes = malloc(million);
    memset(bytes, 'a', million);
    for (size_t step = 999; step <= million; step += million - 999) {
        hash(take, bytes, million, step, hex);
        assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    }
    free(bytes);
}

static void the_scalar_code_gives_what_the_standard_lists(void **state)
{
    (void)state;
    gives_what_the_standard_lists(tn_sha256_scalar);
}

static void the_chosen_code_gives_what_the_standard_lists(void **state)
{
    (void)state;
    gives_what_the_standard_lists(NULL);
}

/* What this processor has beside the scalar code. */
static tn_sha256_take *instructions(void)
{
    return tn_sha256_shani() != NULL ? tn_sha256_shani() : tn_sha256_armv8();
}

static void the_processors_instructions_give_what_the_standard_lists(void **state)
{
    (void)state;
    if (instructions() == NULL) {
        print_message("this processor has no SHA instructions\n");
        skip();
    }
    gives_what_the_standard_lists(instructions());
}

static void both_codes_agree_at_every_length_and_place(void **state)
{
    (void)state;
    if (instructions() == NULL) {
        print_message("this processor has no SHA instructions\n");
        skip();
    }
    enum { ROOM = 600 };
    uint8_t bytes[ROOM];
    uint32_t seed = 1;
    for (size_t i = 0; i < ROOM; i++) {
        seed = seed * 1664525u + 1013904223u;
        bytes[i] = (uint8_t)(seed >> 24);
    }
    for (size_t size = 0; size <= ROOM - 7; size++)
        for (size_t start = 0; start <= 7; start += 7) {
            char scalar[65], instructed[65];
            hash(tn_sha256_scalar, bytes + start, size, 64 + size % 5, scalar);
            hash(instructions(), bytes + start, size, 1 + size % 200, instructed);
            assert_string_equal(instructed, scalar);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_scalar_code_gives_what_the_standard_lists),
        cmocka_unit_test(the_chosen_code_gives_what_the_standard_lists),
        cmocka_unit_test(the_processors_instructions_give_what_the_standard_lists),
        cmocka_unit_test(both_codes_agree_at_every_length_and_place),
    };
    return cmocka_run_group_tests_name("digest.sha256", tests, NULL, NULL);
}
