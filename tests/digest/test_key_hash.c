/* MD5 against RFC 1321's own suite, and the key hash against hashes published for released files
 * (DiffSynth-Studio, diffsynth/configs/model_configs.py). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <tenure/digest.h>

#include "core/encode.h"
#include "digest/md5.h"
#include "format/catalog.h"

static tn_context *context;

static void md5_of(const char *text, size_t size, size_t step, char out[33])
{
    tn_md5 md5;
    uint8_t digest[16];
    tn_md5_begin(&md5);
    for (size_t at = 0; at < size; at += step)
        tn_md5_add(&md5, text + at, size - at < step ? size - at : step);
    tn_md5_end(&md5, digest);
    tn_hex(digest, sizeof digest, out);
}

static void md5_gives_what_the_rfc_lists(void **state)
{
    (void)state;
    static const struct {
        const char *text, *md5;
    } suite[] = {
        {"", "d41d8cd98f00b204e9800998ecf8427e"},
        {"a", "0cc175b9c0f1b6a831c399e269772661"},
        {"abc", "900150983cd24fb0d6963f7d28e17f72"},
        {"message digest", "f96b697d7cb7938d525a2f31aaf161d0"},
        {"abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"},
        {"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", "d174ab98d277d9f5a5611c2c9f419d9f"},
        {"12345678901234567890123456789012345678901234567890123456789012345678901234567890",
         "57edf4a22be3c955ac49da2e2107b67a"},
    };
    for (size_t i = 0; i < sizeof suite / sizeof *suite; i++) {
        char hex[33];
        for (size_t step = 1; step <= 80; step += 13) {
            md5_of(suite[i].text, strlen(suite[i].text), step, hex);
            assert_string_equal(hex, suite[i].md5);
        }
    }
}

typedef struct item {
    const char *name;
    uint32_t rank;
    uint64_t shape[4];
} item;

static void hash_items(const item *items, size_t count, char out[33])
{
    tn_catalog *catalog;
    tn_checkpoint *checkpoint;
    assert_int_equal(tn_catalog_begin(context, TN_CONTAINER_SAFETENSORS, "t", &catalog, NULL), TN_OK);
    assert_int_equal(tn_catalog_add_part(catalog, "t", 0, 0, "", NULL), TN_OK);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(
            tn_catalog_add_shape(catalog, items[i].name, TN_BF16, items[i].rank, items[i].shape, NULL), TN_OK);
    assert_int_equal(tn_catalog_finish(catalog, &checkpoint, NULL), TN_OK);
    assert_int_equal(tn_digest_key_hash(context, checkpoint, out, NULL), TN_OK);
    tn_checkpoint_release(checkpoint);
}

/* FLUX.1 Redux: four tensors, whatever their order in the file. */
static void a_released_file_has_its_published_hash(void **state)
{
    (void)state;
    static const item redux[] = {{"redux_up.weight", 2, {12288, 1152}},
                                 {"redux_up.bias", 1, {12288}},
                                 {"redux_down.weight", 2, {4096, 12288}},
                                 {"redux_down.bias", 1, {4096}}};
    static const item other[] = {{"redux_down.bias", 1, {4096}},
                                 {"redux_down.weight", 2, {4096, 12288}},
                                 {"redux_up.bias", 1, {12288}},
                                 {"redux_up.weight", 2, {12288, 1152}}};
    char hash[33];
    hash_items(redux, 4, hash);
    assert_string_equal(hash, "d8ea4618391460bc831fddaae5fb5288");
    hash_items(other, 4, hash);
    assert_string_equal(hash, "d8ea4618391460bc831fddaae5fb5288");
}

/* A scalar is "s:", and ':' sorts behind '.' but before letters: printf 's,s.a,s.a:2,s:' | md5sum */
static void texts_are_sorted_by_their_bytes(void **state)
{
    (void)state;
    static const item items[] = {{"s", 0, {0}}, {"s.a", 1, {2}}};
    char hash[33];
    hash_items(items, 2, hash);
    assert_string_equal(hash, "485f76775e6729d948672f8377113df1");
}

/* printf '' | md5sum */
static void no_tensors_at_all_have_the_hash_of_nothing(void **state)
{
    (void)state;
    char hash[33];
    hash_items(NULL, 0, hash);
    assert_string_equal(hash, "d41d8cd98f00b204e9800998ecf8427e");
}

static int begin_all(void **state)
{
    (void)state;
    return tn_context_create(NULL, &context, NULL) == TN_OK ? 0 : -1;
}

static int end_all(void **state)
{
    (void)state;
    assert_int_equal(tn_context_memory(context).used_bytes, 0);
    tn_context_destroy(context);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(md5_gives_what_the_rfc_lists),
        cmocka_unit_test(a_released_file_has_its_published_hash),
        cmocka_unit_test(texts_are_sorted_by_their_bytes),
        cmocka_unit_test(no_tensors_at_all_have_the_hash_of_nothing),
    };
    return cmocka_run_group_tests(tests, begin_all, end_all);
}
