/* BLAKE3 put together from pieces is BLAKE3. Expected values: the official test_vectors.json of BLAKE3 (the first 32 bytes
 * of "hash"), whose input is 0, 1, ..., 250, again and again; and the official library over the whole text at once. */
#include "support/check.h"

#include <stdlib.h>
#include <string.h>

#include "core/encode.h"
#include "digest/blake3_tree.h"

static uint8_t *text_of(size_t size)
{
    uint8_t *bytes = malloc(size + 1);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(i % 251);
    return bytes;
}

/* Whole pieces pushed, the rest added. */
static void by_pieces(const uint8_t *bytes, size_t size, size_t piece, char hex[65])
{
    blake3_hasher hasher;
    uint8_t digest[32];
    size_t at = 0;
    blake3_hasher_init(&hasher);
    for (; size - at >= piece; at += piece) {
        tn_blake3_pair pair = tn_blake3_piece(bytes + at, piece, at);
        tn_blake3_push(&hasher, &pair, piece);
    }
    blake3_hasher_update(&hasher, bytes + at, size - at);
    blake3_hasher_finalize(&hasher, digest, sizeof digest);
    tn_hex(digest, sizeof digest, hex);
}

static void at_once(const uint8_t *bytes, size_t size, char hex[65])
{
    blake3_hasher hasher;
    uint8_t digest[32];
    blake3_hasher_init(&hasher);
    blake3_hasher_update(&hasher, bytes, size);
    blake3_hasher_finalize(&hasher, digest, sizeof digest);
    tn_hex(digest, sizeof digest, hex);
}

static void need_pieces(void)
{
    if (tn_blake3_splits())
        return;
    print_message("skipped: this BLAKE3 library's hasher cannot be put together\n");
    skip();
}

static void pieces_give_what_the_official_vectors_list(void **state)
{
    (void)state;
    static const struct {
        size_t size;
        const char *digest;
    } vectors[] = {
        {0, "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"},
        {1, "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213"},
        {1023, "10108970eeda3eb932baac1428c7a2163b0e924c9a9e25b35bba72b28f70bd11"},
        {1024, "42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7"},
        {1025, "d00278ae47eb27b34faecf67b4fe263f82d5412916c1ffd97c8cb7fb814b8444"},
        {2048, "e776b6028c7cd22a4d0ba182a8bf62205d2ef576467e838ed6f2529b85fba24a"},
        {2049, "5f4d72f40d7a5f82b15ca2b2e44b1de3c2ef86c426c95c1af0b6879522563030"},
        {3072, "b98cb0ff3623be03326b373de6b9095218513e64f1ee2edd2525c7ad1e5cffd2"},
        {3073, "7124b49501012f81cc7f11ca069ec9226cecb8a2c850cfe644e327d22d3e1cd3"},
        {4096, "015094013f57a5277b59d8475c0501042c0b642e531b0a1c8f58d2163229e969"},
        {4097, "9b4052b38f1c5fc8b1f9ff7ac7b27cd242487b3d890d15c96a1c25b8aa0fb995"},
        {5120, "9cadc15fed8b5d854562b26a9536d9707cadeda9b143978f319ab34230535833"},
        {6144, "3e2e5b74e048f3add6d21faab3f83aa44d3b2278afb83b80b3c35164ebeca205"},
        {7168, "61da957ec2499a95d6b8023e2b0e604ec7f6b50e80a9678b89d2628e99ada77a"},
        {8193, "bab6c09cb8ce8cf459261398d2e7aef35700bf488116ceb94a36d0f5f1b7bc3b"},
        {16384, "f875d6646de28985646f34ee13be9a576fd515f76b5b0a26bb324735041ddde4"},
        {31744, "62b6960e1a44bcc1eb1a611a8d6235b6b4b78f32e7abc4fb4c6cdcce94895c47"},
        {102400, "bc3e3d41a1146b069abffad3c0d44860cf664390afce4d9661f7902e7943e085"},
    };
    char hex[65];
    need_pieces();
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        uint8_t *bytes = text_of(vectors[i].size);
        for (size_t piece = 2048; piece <= 65536; piece *= 2) {
            by_pieces(bytes, vectors[i].size, piece, hex);
            assert_string_equal(hex, vectors[i].digest);
        }
        free(bytes);
    }
}

static void pieces_give_what_the_library_gives_at_once(void **state)
{
    (void)state;
    enum { PIECE = 2048, MOST = 70 };
    uint8_t *bytes = text_of(MOST * PIECE + 3);
    char whole[65], parts[65];
    need_pieces();
    for (size_t pieces = 0; pieces < MOST; pieces++)
        for (size_t beside = 0; beside <= 3; beside++) {
            size_t size = (pieces + 1) * PIECE + beside - 1;
            at_once(bytes, size, whole);
            by_pieces(bytes, size, PIECE, parts);
            assert_string_equal(parts, whole);
        }
    free(bytes);
}

/* A piece that believes to be elsewhere has other values: `before` counts. */
static void a_piece_is_of_its_place(void **state)
{
    (void)state;
    uint8_t *bytes = text_of(4096);
    tn_blake3_pair here = tn_blake3_piece(bytes, 4096, 0), there = tn_blake3_piece(bytes, 4096, 4096);
    assert_memory_not_equal(here.values, there.values, sizeof here.values);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_give_what_the_official_vectors_list),
        cmocka_unit_test(pieces_give_what_the_library_gives_at_once),
        cmocka_unit_test(a_piece_is_of_its_place),
    };
    return cmocka_run_group_tests_name("digest.blake3_tree", tests, NULL, NULL);
}
