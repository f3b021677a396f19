/* In a program of ours, BLAKE3 of a file in the system's cache is taken where the bytes lie: the same digest, and a file
 * that is shortened meanwhile is one that changed. Expected values: the official library over the whole file at once. */
#include "support/check.h"
#include "support/scratch.h"

#include <unistd.h>

#include <tenure/digest.h>

#include "digest/pass.h"
#include "os/os_fault.h"

#define BLOCK TN_PASS_BLOCK_BYTES
#define SEVERAL (TN_PASS_PIECES * BLOCK)

static tn_context *with_jobs(unsigned jobs)
{
    tn_context *context = NULL;
    tn_context_options options = {.size = sizeof options, .jobs = jobs, .memory_limit_bytes = UINT64_C(1) << 28};
    assert_int_equal(tn_context_create(&options, &context, NULL), TN_OK);
    return context;
}

static void put(size_t size, uint8_t expected[32])
{
    uint8_t *bytes = malloc(size + 1);
    blake3_hasher hasher;
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(i * 2654435761u >> 22);
    put_file(at("a"), bytes, size);
    blake3_hasher_init(&hasher);
    blake3_hasher_update(&hasher, bytes, size);
    blake3_hasher_finalize(&hasher, expected, 32);
    free(bytes);
}

/* Windows on several pieces that were opened, and reads. */
typedef struct counted {
    _Atomic unsigned windows, reads;
    bool refuse_windows;
} counted;

static tn_status count_calls(void *user, const tn_os_call *call)
{
    counted *c = user;
    if (call->operation == TN_OP_READ)
        atomic_fetch_add(&c->reads, 1);
    if (call->operation != TN_OP_WINDOW || call->size != SEVERAL) /* smaller ones only ask what is in the cache */
        return TN_OK;
    atomic_fetch_add(&c->windows, 1);
    return c->refuse_windows ? TN_IO : TN_OK;
}

static void bytes_are_hashed_where_they_lie(void **state)
{
    (void)state;
    tn_os_begin_program(); /* over the handler that cmocka sets for each test */
    static const size_t sizes[] = {SEVERAL, SEVERAL + 1, 2 * SEVERAL - 1, 2 * SEVERAL, 3 * SEVERAL + 77};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint8_t expected[32];
        put(sizes[i], expected);
        for (unsigned jobs = 1; jobs <= 3; jobs += 2)
            for (int refused = 0; refused < 2; refused++) {
                tn_context *context = with_jobs(jobs);
                tn_digests found;
                counted c = {.refuse_windows = refused != 0};
                tn_os_hooks hooks = {.before = count_calls, .user = &c};
                tn_os_set_hooks(&hooks);
                assert_int_equal(tn_digest_file(context, at("a"), TN_DIGEST_BLAKE3, NULL, NULL, &found, NULL), TN_OK);
                tn_os_set_hooks(NULL);
                assert_memory_equal(found.blake3, expected, 32);
                assert_true(atomic_load(&c.windows) > 0);
                assert_int_equal(tn_context_bytes_read(context), sizes[i]);
                if (!refused)
                    assert_int_equal(atomic_load(&c.windows), sizes[i] / SEVERAL);
                assert_int_equal(tn_context_memory(context).used_bytes, 0);
                tn_context_destroy(context);
            }
    }
}

/* With another digest beside it, bytes are read once and shared. */
static void two_digests_never_look(void **state)
{
    (void)state;
    tn_os_begin_program(); /* over the handler that cmocka sets for each test */
    uint8_t expected[32];
    tn_digests found;
    counted c = {.refuse_windows = false};
    tn_os_hooks hooks = {.before = count_calls, .user = &c};
    tn_context *context = with_jobs(2);
    put(SEVERAL + BLOCK, expected);
    tn_os_set_hooks(&hooks);
    assert_int_equal(tn_digest_file(context, at("a"), TN_DIGEST_BLAKE3 | TN_DIGEST_CRC32, NULL, NULL, &found, NULL), TN_OK);
    tn_os_set_hooks(NULL);
    assert_memory_equal(found.blake3, expected, 32);
    assert_int_equal(atomic_load(&c.windows), 0);
    tn_context_destroy(context);
}

/* Shortened between the window's opening and its reading. */
static void shorten(void *user, const uint8_t *bytes)
{
    unsigned *sum = user;
    assert_int_equal(truncate(at("a"), 0), 0);
    *sum += bytes[0];
}

static void a_file_shortened_while_it_is_looked_at_has_changed(void **state)
{
    (void)state;
    tn_os_begin_program(); /* over the handler that cmocka sets for each test */
    uint8_t expected[32];
    unsigned sum = 0;
    bool done = true;
    tn_source *source = NULL;
    tn_context *context = with_jobs(1);
    put(BLOCK, expected);
    assert_int_equal(tn_source_open(context, at("a"), &source, NULL), TN_OK);
    assert_int_equal(tn_source_view(source, 0, BLOCK, shorten, &sum, &done, NULL), TN_CHANGED);
    tn_source_release(source);
    tn_context_destroy(context);
}

/* Again and again, so that some of the time it happens in the middle of a piece. Now and then others are done with the
 * file, and have seen it unchanged, before it is shortened. */
static void shorten_it(void *user, uint64_t done, uint64_t total)
{
    bool *shortened = user;
    if (*shortened || done == total)
        return;
    *shortened = true;
    assert_int_equal(truncate(at("a"), 4096), 0);
}

static void a_file_shortened_under_several_threads_has_changed(void **state)
{
    (void)state;
    tn_os_begin_program();
    unsigned times = 0;
    for (unsigned i = 0; i < 12; i++) {
        uint8_t expected[32];
        bool shortened = false;
        tn_digests out = {.have = 77};
        tn_context *context = with_jobs(2 + i % 3);
        put(5 * SEVERAL, expected);
        tn_status status = tn_digest_file(context, at("a"), TN_DIGEST_BLAKE3, shorten_it, &shortened, &out, NULL);
        assert_true(status == TN_CHANGED || status == TN_OK);
        if (status == TN_OK)
            assert_memory_equal(out.blake3, expected, 32);
        else
            assert_int_equal(out.have, 77);
        times += shortened && status == TN_CHANGED;
        tn_context_destroy(context);
    }
    assert_true(times > 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_begin, scratch_end)
    const struct CMUnitTest tests[] = {
        TEST(bytes_are_hashed_where_they_lie),
        TEST(two_digests_never_look),
        TEST(a_file_shortened_while_it_is_looked_at_has_changed),
        TEST(a_file_shortened_under_several_threads_has_changed),
    };
    return cmocka_run_group_tests_name("digest.look", tests, NULL, NULL);
}
