/* A big file that is not in the system's cache is read past it, and has the digests of its bytes all the same, whatever
 * becomes of the reads that go there. */
#include "support/check.h"
#include "support/scratch.h"

#include <fcntl.h>
#include <unistd.h>

#include <tenure/digest.h>

#include "core/encode.h"
#include "digest/pass.h"
#include "os/os_fault.h"

#define SIZE (((size_t)20 << 20) + 12345) /* no multiple of what such reads want */

static uint8_t *bytes;
static tn_context *context;

static int setup(void **state)
{
    tn_context_options options = {.size = sizeof options, .jobs = 3};
    bytes = malloc(SIZE);
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (uint8_t)(i * 2654435761u >> 23);
    return scratch_begin(state) == 0 && tn_context_create(&options, &context, NULL) == TN_OK ? 0 : -1;
}

static int teardown(void **state)
{
    uint64_t used = tn_context_memory(context).used_bytes;
    tn_context_destroy(context);
    free(bytes);
    return scratch_end(state) == 0 && used == 0 ? 0 : -1;
}

/* Whether the file could be put out of the cache: a file system in memory does not do that. */
static bool put_cold(void)
{
    put_file(at("a"), bytes, SIZE);
    int fd = open(at("a"), O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(fsync(fd), 0);
    assert_int_equal(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
    tn_os_file file = {.fd = fd, .open = true}, direct;
    bool cold = !tn_os_is_cached(&file, 0, (size_t)1 << 20) && tn_os_open_direct(&file, &direct, NULL) == TN_OK;
    if (cold)
        tn_os_close(&direct);
    close(fd);
    if (!cold)
        print_message("skipped: files here are always in the cache, or always read through it\n");
    return cold;
}

static void assert_digests(uint32_t which)
{
    tn_digests found;
    uint8_t expected[32];
    blake3_hasher hasher;
    blake3_hasher_init(&hasher);
    blake3_hasher_update(&hasher, bytes, SIZE);
    blake3_hasher_finalize(&hasher, expected, sizeof expected);
    assert_int_equal(tn_digest_file(context, at("a"), which, NULL, NULL, &found, NULL), TN_OK);
    assert_memory_equal(found.blake3, expected, 32);
    if ((which & TN_DIGEST_CRC32) != 0)
        assert_int_equal(found.crc32, tn_crc32(0, bytes, SIZE));
}

static void a_cold_file_is_read_past_the_cache(void **state)
{
    (void)state;
    if (!put_cold())
        skip();
    assert_digests(TN_DIGEST_BLAKE3 | TN_DIGEST_CRC32);
    int fd = open(at("a"), O_RDONLY);
    tn_os_file file = {.fd = fd, .open = true};
    assert_false(tn_os_is_cached(&file, 4 << 20, (size_t)8 << 20)); /* still not there */
    close(fd);
}

/* A handle without a path, opened: only the one past the cache is. Reads of it, and only of it, fail. */
static struct {
    int direct;
    _Atomic unsigned failed;
} failing;

static tn_status fail_direct_reads(void *user, const tn_os_call *call)
{
    (void)user;
    if (call->operation != TN_OP_READ || call->file == NULL || (fcntl(call->file->fd, F_GETFL) & failing.direct) == 0)
        return TN_OK;
    atomic_fetch_add(&failing.failed, 1);
    return TN_IO;
}

static void what_does_not_come_past_the_cache_comes_through_it(void **state)
{
    (void)state;
    if (!put_cold())
        skip();
    tn_os_hooks hooks = {.before = fail_direct_reads};
#ifdef O_DIRECT
    failing.direct = O_DIRECT;
#endif
    tn_os_set_hooks(&hooks);
    assert_digests(TN_DIGEST_BLAKE3);
    tn_os_set_hooks(NULL);
    assert_true(atomic_load(&failing.failed) > 0);
}

static void append(void *user, uint64_t done, uint64_t total)
{
    bool *appended = user;
    (void)done;
    if (*appended)
        return;
    *appended = true;
    int fd = open(at("a"), O_WRONLY | O_APPEND);
    assert_int_equal(write(fd, "x", 1), 1);
    close(fd);
    (void)total;
}

static void a_cold_file_written_to_meanwhile_has_changed(void **state)
{
    (void)state;
    bool appended = false;
    tn_digests out;
    if (!put_cold())
        skip();
    assert_int_equal(tn_digest_file(context, at("a"), TN_DIGEST_BLAKE3, append, &appended, &out, NULL), TN_CHANGED);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_cold_file_is_read_past_the_cache),
        TEST(what_does_not_come_past_the_cache_comes_through_it),
        TEST(a_cold_file_written_to_meanwhile_has_changed),
    };
    return cmocka_run_group_tests_name("digest.cold", tests, NULL, NULL);
}
