/* The sample digest is what digest.h says: header and twelve blocks, nothing else, the same for the same bytes. */
#include "support/check.h"
#include "support/scratch.h"

#include <blake3.h>
#include <tenure/digest.h>

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

static uint8_t byte_at(size_t i)
{
    return (uint8_t)(i * 31 + i / 251);
}

/* A safetensors file with `data` bytes of U8; returns the size of its header with the length field. */
static size_t put_tensor(const char *path, size_t data)
{
    char *bytes = malloc(256 + data);
    int size = snprintf(bytes + 8, 200, "{\"w\":{\"dtype\":\"U8\",\"shape\":[%zu],\"data_offsets\":[0,%zu]}}", data, data);
    while (size % 8 != 0)
        bytes[8 + size++] = ' ';
    memset(bytes, 0, 8);
    bytes[0] = (char)size;
    for (size_t i = 0; i < data; i++)
        bytes[8 + (size_t)size + i] = (char)byte_at(i);
    put_file(path, bytes, 8 + (size_t)size + data);
    free(bytes);
    return 8 + (size_t)size;
}

static void read_all(const char *path, uint8_t *bytes, size_t size)
{
    tn_os_file file;
    size_t got = 0;
    assert_int_equal(tn_os_open(path, TN_OS_READ, &file, NULL), TN_OK);
    assert_int_equal(tn_os_read(&file, 0, bytes, size, &got, NULL), TN_OK);
    assert_int_equal(got, size);
    tn_os_close(&file);
}

/* The definition in digest.h, computed over the whole file in memory. */
static void expected_of(const char *path, size_t header, size_t data, uint8_t out[32])
{
    uint8_t *bytes = malloc(header + data);
    blake3_hasher hasher;
    blake3_hasher_init(&hasher);
    read_all(path, bytes, header + data);
    blake3_hasher_update(&hasher, bytes, header);
    for (size_t i = 0; i < 12 && data >= 49152; i++)
        blake3_hasher_update(&hasher, bytes + header + (data - 4096) * i / 11, 4096);
    if (data < 49152)
        blake3_hasher_update(&hasher, bytes + header, data);
    blake3_hasher_finalize(&hasher, out, 32);
    free(bytes);
}

static void digest_of(const char *path, uint8_t out[32])
{
    tn_checkpoint *checkpoint = NULL;
    assert_int_equal(tn_checkpoint_open(context, path, NULL, &checkpoint, NULL), TN_OK);
    assert_int_equal(tn_digest_sample(context, checkpoint, out, NULL), TN_OK);
    tn_checkpoint_release(checkpoint);
}

static void it_is_the_header_and_twelve_blocks_at_any_size(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 4096, 49151, 49152, 49153, 1000003};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint8_t found[32], expected[32];
        size_t header = put_tensor(at("a.safetensors"), sizes[i]);
        digest_of(at("a.safetensors"), found);
        expected_of(at("a.safetensors"), header, sizes[i], expected);
        assert_memory_equal(found, expected, 32);
    }
}

static void change(const char *path, uint64_t offset)
{
    tn_os_file file;
    assert_int_equal(tn_os_open(path, TN_OS_WRITE, &file, NULL), TN_OK);
    assert_int_equal(tn_os_write(&file, offset, "\xff\xfe", 2, NULL), TN_OK);
    tn_os_close(&file);
}

static void it_sees_the_last_byte_and_not_those_between_the_blocks(void **state)
{
    (void)state;
    uint8_t before[32], after[32];
    size_t header = put_tensor(at("a.safetensors"), 1000000);
    digest_of(at("a.safetensors"), before);
    change(at("a.safetensors"), header + 5000); /* behind block 0, before block 1 at 90,536 */
    digest_of(at("a.safetensors"), after);
    assert_memory_equal(before, after, 32);
    change(at("a.safetensors"), header + 999998);
    digest_of(at("a.safetensors"), after);
    assert_memory_not_equal(before, after, 32);
}

static void it_reads_the_header_and_48_kib_and_no_more(void **state)
{
    (void)state;
    uint8_t out[32];
    size_t header = put_tensor(at("a.safetensors"), 10000000);
    tn_checkpoint *checkpoint = NULL;
    assert_int_equal(tn_checkpoint_open(context, at("a.safetensors"), NULL, &checkpoint, NULL), TN_OK);
    uint64_t before = tn_context_bytes_read(context);
    assert_int_equal(tn_digest_sample(context, checkpoint, out, NULL), TN_OK);
    assert_int_equal(tn_context_bytes_read(context) - before, header + 49152);
    tn_checkpoint_release(checkpoint);
}

static void a_file_without_reader_begins_with_64_kib(void **state)
{
    (void)state;
    uint8_t found[32], expected[32], *bytes = malloc(300000);
    for (size_t i = 0; i < 300000; i++)
        bytes[i] = byte_at(i);
    put_file(at("a.bin"), bytes, 300000);
    free(bytes);
    assert_int_equal(tn_digest_sample_file(context, at("a.bin"), found, NULL), TN_OK);
    expected_of(at("a.bin"), 65536, 300000 - 65536, expected);
    assert_memory_equal(found, expected, 32);
}

static void a_file_that_is_gone_is_an_error_and_touches_nothing(void **state)
{
    (void)state;
    uint8_t out[32] = {7};
    tn_error err;
    assert_int_equal(tn_digest_sample_file(context, at("gone"), out, &err), TN_NOT_FOUND);
    assert_int_equal(out[0], 7);
    assert_non_null(strstr(err.file, "gone"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(it_is_the_header_and_twelve_blocks_at_any_size),
        TEST(it_sees_the_last_byte_and_not_those_between_the_blocks),
        TEST(it_reads_the_header_and_48_kib_and_no_more),
        TEST(a_file_without_reader_begins_with_64_kib),
        TEST(a_file_that_is_gone_is_an_error_and_touches_nothing),
    };
    return cmocka_run_group_tests_name("digest.sample", tests, NULL, NULL);
}
