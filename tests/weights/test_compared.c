/* What is read is compared with digests on its way: a byte that was turned in the file, or in the system's cache of it, is
 * found and its tensor named, whatever way it is read. Digests: BLAKE3 by the official library over the bytes that the test
 * itself put into the file. */
#include "support/weights.h"

#include <blake3.h>
#ifndef _WIN32
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

#include "digest/blake3_tree.h"

/* One of several pieces with a tail, one that ends on a piece, small ones between, an empty one. */
static const row rows[] = {
    {"a", TN_F32, 1, {2500003}}, {"b", TN_U8, 1, {3}}, {"c", TN_BF16, 2, {2048, 2048}}, {"none", TN_U8, 1, {0}},
    {"d", TN_F16, 1, {70001}},   {"e", TN_I64, 1, {5}}, {"f", TN_BF16, 1, {1}},
};
enum { ROWS = sizeof rows / sizeof rows[0], SEED = 5, NONE = 3 };

static uint8_t digests[ROWS * 32], whole[32];

static void hash(const uint8_t *bytes, size_t size, uint8_t out[32])
{
    blake3_hasher hasher;
    blake3_hasher_init(&hasher);
    blake3_hasher_update(&hasher, bytes, size);
    blake3_hasher_finalize(&hasher, out, 32);
}

/* A file and its digests. */
static tn_checkpoint *put(unsigned spaces)
{
    tn_os_file file;
    tn_os_info info;
    size_t got, data = put_tensors(at("a.safetensors"), rows, ROWS, SEED, spaces);
    assert_int_equal(tn_os_open(at("a.safetensors"), TN_OS_READ, &file, NULL), TN_OK);
    assert_int_equal(tn_os_info_of(&file, &info, NULL), TN_OK);
    uint8_t *bytes = malloc((size_t)info.size);
    assert_int_equal(tn_os_read(&file, 0, bytes, (size_t)info.size, &got, NULL), TN_OK);
    tn_os_close(&file);
    hash(bytes, (size_t)info.size, whole);
    for (size_t i = 0; i < ROWS; i++)
        hash(bytes + data + data_at(rows, i), (size_t)bytes_of(&rows[i]), digests + 32 * i);
    free(bytes);
    return open_weights(at("a.safetensors"));
}

static tn_lease_options compared(bool by_file, tn_way way, bool turned)
{
    tn_lease_options options = TN_LEASE_OPTIONS_INIT;
    options.way = way;
    options.digests = by_file ? NULL : digests;
    options.file_digest = by_file ? whole : NULL;
    options.flags = turned ? TN_LEASE_CONVERT : 0;
    options.dtype = TN_F32;
    return options;
}

static void assert_all(const tn_checkpoint *checkpoint, const tn_lease_options *options)
{
    tn_lease *all[ROWS];
    tn_lease_options plain = *options;
    tn_error err;
    plain.digests = plain.file_digest = NULL;
    if (tn_lease_many(checkpoint, NULL, ROWS, options, all, &err) != TN_OK)
        fail_msg("%s [%s]", err.message, err.tensor);
    for (size_t i = 0; i < ROWS; i++) {
        tn_lease *other = lease_with(checkpoint, all[i]->name.bytes, &plain);
        assert_int_equal(all[i]->dtype, other->dtype);
        assert_int_equal(all[i]->size_bytes, other->size_bytes);
        assert_memory_equal(all[i]->data, other->data, (size_t)other->size_bytes);
        tn_lease_release(other);
        tn_lease_release(all[i]);
    }
}

static const tn_way ways[] = {TN_WAY_AUTOMATIC, TN_WAY_READ, TN_WAY_THREADS, TN_WAY_DIRECT};

static void what_is_as_it_was_recorded_is_handed_out_as_ever(void **state)
{
    (void)state;
    for (unsigned spaces = 0; spaces < 8; spaces += 5) {
        tn_checkpoint *checkpoint = put(spaces);
        for (size_t w = 0; w < 4; w++)
            for (unsigned how = 0; how < 4; how++) {
                tn_lease_options options = compared(how % 2 == 1, ways[w], how / 2 == 1);
                assert_all(checkpoint, &options);
                options.flags |= TN_LEASE_VIEW | TN_LEASE_DROP_BEHIND;
                assert_all(checkpoint, &options);
            }
        tn_checkpoint_release(checkpoint);
    }
}

static void digests_of_tensors_are_those_of_their_bytes(void **state)
{
    (void)state;
    uint8_t found[ROWS * 32];
    tn_checkpoint *checkpoint = put(2);
    assert_int_equal(tn_digest_tensors(checkpoint, found, ROWS, NULL), TN_OK);
    assert_memory_equal(found, digests, sizeof found);
    assert_int_equal(tn_digest_tensors(checkpoint, found, ROWS - 1, NULL), TN_INVALID);
    tn_checkpoint_release(checkpoint);
}

/* Every number of bytes near the ends of chunks, pieces and parts, against the library in one go. */
static void parts_come_to_the_digest_of_the_whole(void **state)
{
    static const size_t ends[] = {0, 1024, 2048, 3072, 4096, 1u << 20, TN_BLAKE3_PART_BYTES, TN_BLAKE3_PART_BYTES + 2048,
                                  2 * TN_BLAKE3_PART_BYTES, 2 * TN_BLAKE3_PART_BYTES + 7 * 1024};
    (void)state;
    size_t most = 3 * TN_BLAKE3_PART_BYTES;
    uint8_t *bytes = malloc(most), expected[32], found[32];
    tn_blake3_part *part = malloc(sizeof *part);
    for (size_t i = 0; i < most; i++)
        bytes[i] = byte_of(SEED, i);
    for (size_t e = 0; e < sizeof ends / sizeof ends[0]; e++)
        for (size_t size = ends[e] < 2 ? 0 : ends[e] - 2; size <= ends[e] + 2; size++) {
            blake3_hasher hasher;
            blake3_hasher_init(&hasher);
            for (size_t before = 0; before < size; before += TN_BLAKE3_PART_BYTES) {
                size_t left = size - before;
                tn_blake3_part_of(bytes + before, left < TN_BLAKE3_PART_BYTES ? left : TN_BLAKE3_PART_BYTES, before, part);
                tn_blake3_join(&hasher, part);
            }
            blake3_hasher_finalize(&hasher, found, 32);
            hash(bytes, size, expected);
            assert_memory_equal(found, expected, 32);
        }
    free(part);
    free(bytes);
}

/* ---- a byte that was turned ---- */

#ifndef _WIN32

/* Through another handle, and the file's time put back: nothing but the bytes can tell. */
static void turn_byte(off_t place)
{
    struct stat st;
    unsigned char byte;
    int fd = open(at("a.safetensors"), O_RDWR);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(pread(fd, &byte, 1, place), 1);
    byte ^= 0x10;
    assert_int_equal(pwrite(fd, &byte, 1, place), 1);
    const struct timespec times[2] = {st.st_atim, st.st_mtim};
    assert_int_equal(futimens(fd, times), 0);
    close(fd);
}

static void assert_found(const tn_checkpoint *checkpoint, const char *tensor)
{
    for (size_t w = 0; w < 4; w++)
        for (unsigned how = 0; how < 4; how++) {
            tn_lease *all[ROWS] = {NULL};
            tn_lease_options options = compared(how % 2 == 1, ways[w], how / 2 == 1);
            tn_error err;
            bool seen = how % 2 == 1 || tensor != NULL; /* a header's byte is of the file, and of no tensor */
            tn_status status = tn_lease_many(checkpoint, NULL, ROWS, &options, all, &err);
            assert_int_equal(status, seen ? TN_BAD_CHECKSUM : TN_OK);
            if (seen) {
                assert_string_equal(err.file, at("a.safetensors"));
                assert_string_equal(err.tensor, how % 2 == 1 ? "" : tensor);
            }
            for (size_t i = 0; i < ROWS; i++) {
                assert_true(!seen || all[i] == NULL);
                tn_lease_release(all[i]);
            }
        }
}

static void a_bit_that_was_turned_is_found_and_its_tensor_named(void **state)
{
    static const struct {
        size_t tensor;
        uint64_t byte;
    } places[] = {{0, 0}, {0, 5000000}, {0, 10000011}, {1, 2}, {2, 0}, {2, 8388607}, {4, 70001}, {5, 39}, {6, 1}};
    (void)state;
    tn_checkpoint *checkpoint = put(0);
    size_t data = put_tensors(at("b.safetensors"), rows, ROWS, SEED, 0); /* where data begins */
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        off_t place = (off_t)(data + data_at(rows, places[i].tensor) + places[i].byte);
        turn_byte(place);
        assert_found(checkpoint, rows[places[i].tensor].name);
        tn_lease *lease = NULL;
        tn_lease_options options = compared(false, TN_WAY_AUTOMATIC, false);
        tn_error err;
        options.digests = digests + 32 * places[i].tensor;
        assert_int_equal(tn_lease_named(checkpoint, rows[places[i].tensor].name, &options, &lease, &err), TN_BAD_CHECKSUM);
        assert_string_equal(err.tensor, rows[places[i].tensor].name);
        turn_byte(place);
    }
    turn_byte((off_t)data - 1); /* in the header's padding */
    assert_found(checkpoint, NULL);
    turn_byte((off_t)data - 1);
    tn_lease_options options = compared(true, TN_WAY_AUTOMATIC, false);
    assert_all(checkpoint, &options);
    tn_checkpoint_release(checkpoint);
}

#endif

static void what_has_no_digest_is_refused(void **state)
{
    static const tn_index some[] = {{TN_INDEX_RANGE, 1, 5, 1}};
    (void)state;
    tn_checkpoint *checkpoint = put(0);
    const tn_tensor *tensors;
    tn_lease *lease = NULL;
    tn_lease_options options = compared(false, TN_WAY_AUTOMATIC, false);
    options.index = some;
    options.index_count = 1;
    assert_int_equal(tn_lease_named(checkpoint, "a", &options, &lease, NULL), TN_INVALID);
    options = compared(true, TN_WAY_AUTOMATIC, false);
    assert_int_equal(tn_lease_named(checkpoint, "a", &options, &lease, NULL), TN_INVALID);
    tn_checkpoint_tensors(checkpoint, &tensors);
    const tn_tensor *one = &tensors[0];
    assert_int_equal(tn_lease_many(checkpoint, &one, 1, &options, &lease, NULL), TN_INVALID);
    assert_null(lease);
    tn_checkpoint_release(checkpoint);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_as_it_was_recorded_is_handed_out_as_ever),
        cmocka_unit_test(digests_of_tensors_are_those_of_their_bytes),
        cmocka_unit_test(parts_come_to_the_digest_of_the_whole),
#ifndef _WIN32
        cmocka_unit_test(a_bit_that_was_turned_is_found_and_its_tensor_named),
#endif
        cmocka_unit_test(what_has_no_digest_is_refused),
    };
    return cmocka_run_group_tests_name("weights.compared", tests, weights_setup, weights_teardown);
}
