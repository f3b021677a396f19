/* The digests of a file are those of its bytes, several in one pass; a file that changes meanwhile has none. */
#include "support/check.h"
#include "support/faults.h"
#include "support/scratch.h"

#include <blake3.h>
#include <tenure/digest.h>

#include "core/encode.h"

static tn_context *context;

static int setup(void **state)
{
    if (scratch_begin(state) != 0)
        return -1;
    return tn_context_create(NULL, &context, NULL) == TN_OK ? 0 : -1;
}

static int teardown(void **state)
{
    uint64_t used = tn_context_memory(context).used_bytes;
    tn_context_destroy(context);
    return scratch_end(state) == 0 && used == 0 ? 0 : -1;
}

static tn_digests digest(const char *path, uint32_t which)
{
    tn_digests found;
    assert_int_equal(tn_digest_file(context, path, which, NULL, NULL, &found, NULL), TN_OK);
    return found;
}

static void assert_hex(const uint8_t bytes[32], const char *expected)
{
    char hex[65];
    tn_hex(bytes, 32, hex);
    assert_string_equal(hex, expected);
}

/* A safetensors file: this header, then these bytes. Returns where they begin. */
static size_t put_tensors(const char *path, const char *header, const void *data, size_t size)
{
    size_t header_size = strlen(header);
    uint8_t *bytes = calloc(1, 8 + header_size + size);
    bytes[0] = (uint8_t)header_size;
    bytes[1] = (uint8_t)(header_size >> 8);
    memcpy(bytes + 8, header, header_size);
    memcpy(bytes + 8 + header_size, data, size);
    put_file(path, bytes, 8 + header_size + size);
    free(bytes);
    return 8 + header_size;
}

/* "a": two U8 of 1, 2. "b": one I16 of 0x0403, its bytes 3, 4. */
#define A_FIRST                                                        \
    "{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"  \
    "\"b\":{\"dtype\":\"I16\",\"shape\":[1,1],\"data_offsets\":[2,4]}}"
#define B_FIRST                                                               \
    "{\"__metadata__\":{\"k\":\"v\"},"                                        \
    "\"b\":{\"dtype\":\"I16\",\"shape\":[1,1],\"data_offsets\":[0,2]},"       \
    "\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[2,4]}}    "

/* ---- whole files ---- */

/* FIPS 180-4's "abc" by NIST's examples; the CRC catalogue's check value of CRC-32/ISO-HDLC; BLAKE3's official
 * test_vectors.json, input_len 0 and 1025. */
static void they_are_those_that_the_standards_list(void **state)
{
    (void)state;
    put_text(at("abc"), "abc");
    tn_digests found = digest(at("abc"), TN_DIGEST_SHA256 | TN_DIGEST_AUTOV2);
    assert_hex(found.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_string_equal(found.autov2, "ba7816bf8f");
    put_text(at("digits"), "123456789");
    assert_int_equal(digest(at("digits"), TN_DIGEST_CRC32).crc32, 0xcbf43926);
    put_text(at("empty"), "");
    assert_hex(digest(at("empty"), TN_DIGEST_BLAKE3).blake3,
               "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262");
    uint8_t bytes[1025];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i % 251);
    put_file(at("1025"), bytes, sizeof bytes);
    assert_hex(digest(at("1025"), TN_DIGEST_BLAKE3).blake3,
               "d00278ae47eb27b34faecf67b4fe263f82d5412916c1ffd97c8cb7fb814b8444");
}

static void together_they_are_what_they_are_alone(void **state)
{
    (void)state;
    uint8_t data[4] = {1, 2, 3, 4};
    put_tensors(at("a.safetensors"), A_FIRST, data, sizeof data);
    tn_digests all = digest(at("a.safetensors"), TN_DIGEST_ALL);
    assert_int_equal(all.have, TN_DIGEST_ALL);
    assert_int_equal(all.absent, TN_OK);
    assert_memory_equal(all.blake3, digest(at("a.safetensors"), TN_DIGEST_BLAKE3).blake3, 32);
    assert_memory_equal(all.sha256, digest(at("a.safetensors"), TN_DIGEST_SHA256).sha256, 32);
    assert_int_equal(all.crc32, digest(at("a.safetensors"), TN_DIGEST_CRC32).crc32);
    assert_string_equal(all.autov1, digest(at("a.safetensors"), TN_DIGEST_AUTOV1).autov1);
    assert_string_equal(all.autov2, digest(at("a.safetensors"), TN_DIGEST_AUTOV2).autov2);
    assert_string_equal(all.autov3, digest(at("a.safetensors"), TN_DIGEST_AUTOV3).autov3);
    assert_string_equal(all.key_hash, digest(at("a.safetensors"), TN_DIGEST_KEY_HASH).key_hash);
    assert_string_equal(all.content, digest(at("a.safetensors"), TN_DIGEST_CONTENT).content);
}

/* printf '\001\002\003\004' | sha256sum; printf 'a,a:2,b,b:1_1' | md5sum */
static void the_short_ones_are_as_defined(void **state)
{
    (void)state;
    uint8_t data[4] = {1, 2, 3, 4};
    put_tensors(at("a.safetensors"), A_FIRST, data, sizeof data);
    tn_digests found = digest(at("a.safetensors"), TN_DIGEST_AUTOV3 | TN_DIGEST_KEY_HASH);
    assert_string_equal(found.autov3, "9f64a747e1b9");
    assert_string_equal(found.key_hash, "12fcbb2dd33a50acad5f9632ef5cba0a");
}

/* ---- AutoV1: 64 KiB from 1 MiB on ---- */

static void put_zeros_and_abc(const char *path, size_t abc_at, size_t size)
{
    char *bytes = calloc(1, size);
    memcpy(bytes + abc_at, "abc", 3);
    put_file(path, bytes, size);
    free(bytes);
}

static void autov1_is_of_what_there_is_of_its_64_kib(void **state)
{
    (void)state;
    put_zeros_and_abc(at("a"), 1048576, 1048576 + 3);
    assert_string_equal(digest(at("a"), TN_DIGEST_AUTOV1).autov1, "ba7816bf"); /* of "abc" */
    put_zeros_and_abc(at("a"), 0, 1048576);
    assert_string_equal(digest(at("a"), TN_DIGEST_AUTOV1).autov1, "e3b0c442"); /* of nothing */
}

static void autov1_alone_reads_its_64_kib_and_no_more(void **state)
{
    (void)state;
    put_zeros_and_abc(at("a"), 1048576, 3000000);
    uint64_t before = tn_context_bytes_read(context);
    tn_digests found = digest(at("a"), TN_DIGEST_AUTOV1);
    assert_int_equal(tn_context_bytes_read(context) - before, 65536);
    put_zeros_and_abc(at("b"), 1048576, 1048576 + 65536);
    assert_string_equal(found.autov1, digest(at("b"), TN_DIGEST_AUTOV1 | TN_DIGEST_CRC32).autov1);
}

static void all_that_need_the_whole_file_read_it_once(void **state)
{
    (void)state;
    put_zeros_and_abc(at("a"), 1048576, 3000000);
    uint64_t before = tn_context_bytes_read(context);
    digest(at("a"), TN_DIGEST_BLAKE3 | TN_DIGEST_SHA256 | TN_DIGEST_CRC32 | TN_DIGEST_AUTOV1 | TN_DIGEST_AUTOV2);
    assert_int_equal(tn_context_bytes_read(context) - before, 3000000);
}

/* ---- content ---- */

/* docs/formats/content-hash.md, written out by hand. */
static void the_content_hash_is_framed_as_documented(void **state)
{
    (void)state;
    static const uint8_t framed[] = {
        1, 0, 0, 0, 0, 0, 0, 0, 'a', 2, 0, 0, 0, 0, 0, 0, 0, 'U', '8',      /* name, type */
        1, 0, 0, 0, 0, 0, 0, 0, 2,   0, 0, 0, 0, 0, 0, 0,                   /* rank, shape */
        2, 0, 0, 0, 0, 0, 0, 0, 1,   2,                                     /* values */
        1, 0, 0, 0, 0, 0, 0, 0, 'b', 3, 0, 0, 0, 0, 0, 0, 0, 'I', '1', '6', /* name, type */
        2, 0, 0, 0, 0, 0, 0, 0, 1,   0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, /* rank, shape */
        2, 0, 0, 0, 0, 0, 0, 0, 3,   4,                                     /* values */
    };
    blake3_hasher hasher;
    uint8_t expected[32];
    blake3_hasher_init(&hasher);
    blake3_hasher_update(&hasher, framed, sizeof framed);
    blake3_hasher_finalize(&hasher, expected, sizeof expected);
    uint8_t data[4] = {1, 2, 3, 4};
    put_tensors(at("a.safetensors"), A_FIRST, data, sizeof data);
    tn_digests found = digest(at("a.safetensors"), TN_DIGEST_CONTENT);
    assert_memory_equal(found.content, "c1:", 3);
    assert_hex(expected, found.content + 3);
}

static void the_order_in_the_file_and_the_metadata_are_not_in_it(void **state)
{
    (void)state;
    uint8_t one[4] = {1, 2, 3, 4}, other[4] = {3, 4, 1, 2};
    put_tensors(at("a.safetensors"), A_FIRST, one, sizeof one);
    put_tensors(at("b.safetensors"), B_FIRST, other, sizeof other);
    tn_digests a = digest(at("a.safetensors"), TN_DIGEST_ALL), b = digest(at("b.safetensors"), TN_DIGEST_ALL);
    assert_string_equal(a.content, b.content);
    assert_string_not_equal(a.autov3, b.autov3);
}

#define ONE_TENSOR(name, dtype, shape, end) \
    "{\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[0," end "]}}"

static void name_type_shape_and_values_are_in_it(void **state)
{
    (void)state;
    static const char *const headers[] = {ONE_TENSOR("a", "U8", "[4]", "4"), ONE_TENSOR("b", "U8", "[4]", "4"),
                                          ONE_TENSOR("a", "I8", "[4]", "4"), ONE_TENSOR("a", "U8", "[2,2]", "4"),
                                          ONE_TENSOR("a", "U8", "[4]", "4")};
    enum { COUNT = sizeof headers / sizeof *headers };
    char hashes[COUNT][68];
    for (size_t i = 0; i < COUNT; i++) {
        uint8_t data[4] = {1, 2, 3, i == COUNT - 1 ? 5 : 4};
        put_tensors(at("a.safetensors"), headers[i], data, sizeof data);
        memcpy(hashes[i], digest(at("a.safetensors"), TN_DIGEST_CONTENT).content, 68);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(hashes[i], hashes[j]);
    }
}

/* docs/formats/content-hash.md: BLAKE3 of nothing. */
static void no_tensors_have_the_content_of_nothing(void **state)
{
    (void)state;
    put_tensors(at("a.safetensors"), "{}", "", 0);
    assert_string_equal(digest(at("a.safetensors"), TN_DIGEST_CONTENT).content,
                        "c1:af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262");
}

/* ---- what cannot be had ---- */

static void a_file_that_holds_no_weights_keeps_the_other_digests(void **state)
{
    (void)state;
    put_text(at("page.txt"), "abc");
    tn_error err = {.status = TN_OK};
    tn_digests found;
    assert_int_equal(tn_digest_file(context, at("page.txt"), TN_DIGEST_ALL, NULL, NULL, &found, &err), TN_OK);
    assert_int_equal(err.status, TN_OK); /* not touched */
    assert_int_equal(found.have, TN_DIGEST_ALL & ~(TN_DIGEST_AUTOV3 | TN_DIGEST_KEY_HASH | TN_DIGEST_CONTENT));
    assert_int_equal(found.absent, TN_UNSUPPORTED);
    assert_string_equal(found.autov2, "ba7816bf8f");
}

static void a_file_that_is_short_has_no_content_hash_alone(void **state)
{
    (void)state;
    uint8_t data[3] = {1, 2, 3};
    put_tensors(at("a.safetensors"), A_FIRST, data, sizeof data);
    tn_digests found = digest(at("a.safetensors"), TN_DIGEST_ALL);
    assert_int_equal(found.have, TN_DIGEST_ALL & ~TN_DIGEST_CONTENT);
    assert_int_equal(found.absent, TN_TRUNCATED);
}

static void a_shard_is_hashed_as_the_file_that_it_is(void **state)
{
    (void)state;
    uint8_t data[4] = {1, 2, 3, 4};
    put_tensors(at("a.safetensors"), A_FIRST, data, sizeof data);
    put_tensors(at("m-00001-of-00002.safetensors"), A_FIRST, data, sizeof data);
    put_tensors(at("m-00002-of-00002.safetensors"),
                "{\"c\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", data, 1);
    put_text(at("m.safetensors.index.json"), "{\"weight_map\":{\"a\":\"m-00001-of-00002.safetensors\","
                                             "\"b\":\"m-00001-of-00002.safetensors\","
                                             "\"c\":\"m-00002-of-00002.safetensors\"}}");
    tn_digests shard = digest(at("m-00001-of-00002.safetensors"), TN_DIGEST_ALL);
    assert_int_equal(shard.have, TN_DIGEST_ALL);
    assert_string_equal(shard.content, digest(at("a.safetensors"), TN_DIGEST_CONTENT).content);
    tn_digests index = digest(at("m.safetensors.index.json"), TN_DIGEST_CONTENT | TN_DIGEST_CRC32);
    assert_int_equal(index.have, TN_DIGEST_CRC32);
    assert_int_equal(index.absent, TN_UNSUPPORTED);
}

static void refusals_name_what_is_wrong_and_touch_nothing(void **state)
{
    (void)state;
    tn_digests out = {.have = 77};
    tn_error err;
    assert_int_equal(tn_digest_file(context, at("gone"), TN_DIGEST_ALL, NULL, NULL, &out, &err), TN_NOT_FOUND);
    assert_non_null(strstr(err.file, "gone"));
    assert_int_equal(tn_digest_file(context, scratch_folder, TN_DIGEST_ALL, NULL, NULL, &out, &err), TN_NOT_A_FILE);
    put_text(at("a"), "abc");
    assert_int_equal(tn_digest_file(context, at("a"), 0, NULL, NULL, &out, &err), TN_INVALID);
    assert_int_equal(tn_digest_file(context, at("a"), TN_DIGEST_ALL + 1, NULL, NULL, &out, &err), TN_INVALID);
    assert_int_equal(out.have, 77);
}

/* ---- what happens meanwhile ---- */

typedef struct watched {
    void (*act)(void);
    uint64_t calls, done, total;
} watched;

static void watch(void *user, uint64_t done, uint64_t total)
{
    watched *w = user;
    assert_true(done > w->done && done <= total);
    w->done = done;
    w->total = total;
    if (w->calls++ == 0 && w->act != NULL)
        w->act();
}

static void append_a_byte(void)
{
    tn_os_file file;
    assert_int_equal(tn_os_open(at("a"), TN_OS_WRITE, &file, NULL), TN_OK);
    assert_int_equal(tn_os_write(&file, 3000000, "x", 1, NULL), TN_OK);
    tn_os_close(&file);
}

static void replace_it(void)
{
    put_zeros_and_abc(at("b"), 5, 3000000);
    assert_int_equal(tn_os_rename(at("b"), at("a"), true, NULL), TN_OK);
}

static void cancel_it(void)
{
    tn_context_cancel(context);
}

static void ends_with(void (*act)(void), tn_status expected)
{
    tn_digests out = {.have = 77};
    tn_error err;
    watched w = {.act = act};
    put_zeros_and_abc(at("a"), 0, 3000000);
    assert_int_equal(tn_digest_file(context, at("a"), TN_DIGEST_ALL, watch, &w, &out, &err), expected);
    assert_int_equal(err.status, expected);
    assert_int_equal(out.have, 77);
    assert_true(w.done < 3000000 || act == replace_it);
    tn_context_resume(context);
}

static void a_file_written_to_meanwhile_has_changed(void **state)
{
    (void)state;
    ends_with(append_a_byte, TN_CHANGED);
}

/* Wine refuses to put a file in the place of one that is open. */
static bool open_files_can_be_replaced(void)
{
    tn_os_file file;
    put_text(at("old"), "abc");
    put_text(at("new"), "abc");
    assert_int_equal(tn_os_open(at("old"), TN_OS_READ, &file, NULL), TN_OK);
    tn_status status = tn_os_rename(at("new"), at("old"), true, NULL);
    tn_os_close(&file);
    assert_true(status == TN_OK || status == TN_PERMISSION);
    return status == TN_OK;
}

static void a_file_replaced_meanwhile_has_changed(void **state)
{
    (void)state;
    if (!open_files_can_be_replaced()) {
        print_message("skipped: this system does not replace a file that is open\n");
        skip();
    }
    ends_with(replace_it, TN_CHANGED);
}

static void a_cancel_is_noticed_between_two_blocks(void **state)
{
    (void)state;
    ends_with(cancel_it, TN_CANCELLED);
}

/* Tensors in the order of their names are read once, with all else; others once more. */
static void progress_grows_to_all_that_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        uint64_t again;
    } files[] = {{A_FIRST, 0}, {B_FIRST, 4}};
    uint8_t data[4] = {1, 2, 3, 4};
    for (size_t i = 0; i < 2; i++) {
        size_t header = put_tensors(at("a.safetensors"), files[i].header, data, sizeof data);
        watched w = {.act = NULL};
        tn_digests out;
        assert_int_equal(tn_digest_file(context, at("a.safetensors"), TN_DIGEST_ALL, watch, &w, &out, NULL), TN_OK);
        uint64_t read = header + 4 + files[i].again;
        assert_int_equal(w.done, read);
        assert_int_equal(w.total, read);
        assert_int_equal(out.size_bytes, header + 4);
    }
}

/* ---- faults ---- */

static tn_digests sound;

static void digest_under_faults(void *user)
{
    tn_context *under = user;
    tn_digests out = {.have = 77};
    tn_error err;
    tn_status status = tn_digest_file(under, at("a.safetensors"), TN_DIGEST_ALL, NULL, NULL, &out, &err);
    if (status == TN_OK) {
        assert_int_equal(out.have, TN_DIGEST_ALL);
        assert_string_equal(out.content, sound.content);
        assert_memory_equal(out.sha256, sound.sha256, 32);
    } else {
        assert_int_equal(err.status, status);
        assert_true(status == TN_NO_MEMORY || status == TN_IO);
        assert_int_equal(out.have, 77);
    }
    assert_int_equal(tn_context_memory(under).used_bytes, 0);
}

static void whatever_fails_the_answer_is_a_status(void **state)
{
    (void)state;
    tn_context_options options = TN_CONTEXT_OPTIONS_INIT;
    options.memory_limit_bytes = UINT64_C(1) << 28;
    options.allocator = (tn_allocator){failing_resize, NULL};
    tn_context *under;
    uint8_t data[4] = {1, 2, 3, 4};
    put_tensors(at("a.safetensors"), A_FIRST, data, sizeof data);
    sound = digest(at("a.safetensors"), TN_DIGEST_ALL);
    assert_int_equal(tn_context_create(&options, &under, NULL), TN_OK);
    each_fault("allocations", false, digest_under_faults, under);
    each_fault("allocations", true, digest_under_faults, under);
    tn_context_destroy(under);
    tn_os_hooks hooks = {.before = failing_call};
    tn_os_set_hooks(&hooks);
    each_fault("calls of the system", false, digest_under_faults, context);
    each_fault("calls of the system", true, digest_under_faults, context);
    tn_os_set_hooks(NULL);
}

static void a_budget_too_small_for_the_block_is_said(void **state)
{
    (void)state;
    tn_context_options options = TN_CONTEXT_OPTIONS_INIT;
    options.memory_limit_bytes = 1 << 20; /* the block and nothing beside it */
    tn_context *small;
    tn_digests out;
    put_text(at("a"), "abc");
    assert_int_equal(tn_context_create(&options, &small, NULL), TN_OK);
    assert_int_equal(tn_digest_file(small, at("a"), TN_DIGEST_CRC32, NULL, NULL, &out, NULL), TN_OVER_BUDGET);
    assert_int_equal(tn_context_memory(small).used_bytes, 0);
    tn_context_destroy(small);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(they_are_those_that_the_standards_list),
        TEST(together_they_are_what_they_are_alone),
        TEST(the_short_ones_are_as_defined),
        TEST(autov1_is_of_what_there_is_of_its_64_kib),
        TEST(autov1_alone_reads_its_64_kib_and_no_more),
        TEST(all_that_need_the_whole_file_read_it_once),
        TEST(the_content_hash_is_framed_as_documented),
        TEST(the_order_in_the_file_and_the_metadata_are_not_in_it),
        TEST(name_type_shape_and_values_are_in_it),
        TEST(no_tensors_have_the_content_of_nothing),
        TEST(a_file_that_holds_no_weights_keeps_the_other_digests),
        TEST(a_file_that_is_short_has_no_content_hash_alone),
        TEST(a_shard_is_hashed_as_the_file_that_it_is),
        TEST(refusals_name_what_is_wrong_and_touch_nothing),
        TEST(a_file_written_to_meanwhile_has_changed),
        TEST(a_file_replaced_meanwhile_has_changed),
        TEST(a_cancel_is_noticed_between_two_blocks),
        TEST(progress_grows_to_all_that_is_read),
        TEST(whatever_fails_the_answer_is_a_status),
        TEST(a_budget_too_small_for_the_block_is_said),
    };
    return cmocka_run_group_tests_name("digest.file", tests, NULL, NULL);
}
