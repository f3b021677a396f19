/* Many files, many threads, the same digests: at every size around a block, with any number of workers; and what one
 * file meets is told of that file alone. Expected values: the official BLAKE3 library, FIPS 180-4's scalar code and the
 * CRC over the whole file at once, each held to its standard in a test of its own. */
#include "support/check.h"
#include "support/scratch.h"

#include <tenure/digest.h>

#include "context/context.h"
#include "core/encode.h"
#include "digest/pass.h"
#include "os/os_fault.h"

#define BLOCK TN_PASS_BLOCK_BYTES
#define OF_WHOLE (TN_DIGEST_BLAKE3 | TN_DIGEST_SHA256 | TN_DIGEST_CRC32)

static tn_context *with_jobs(unsigned jobs)
{
    tn_context *context = NULL;
    tn_context_options options = {.size = sizeof options, .jobs = jobs, .memory_limit_bytes = UINT64_C(1) << 28};
    assert_int_equal(tn_context_create(&options, &context, NULL), TN_OK);
    return context;
}

static void without(tn_context *context)
{
    assert_int_equal(tn_context_memory(context).used_bytes, 0);
    tn_context_destroy(context);
}

static uint8_t *bytes_of(size_t size, uint32_t seed)
{
    uint8_t *bytes = malloc(size + 1);
    for (size_t i = 0; i < size; i++) {
        seed = seed * 1664525u + 1013904223u;
        bytes[i] = (uint8_t)(seed >> 24);
    }
    return bytes;
}

static tn_digests digests_of(const uint8_t *bytes, size_t size)
{
    tn_digests out = {.size_bytes = size};
    tn_sha256 sha256;
    blake3_hasher blake3;
    tn_sha256_begin_with(&sha256, tn_sha256_scalar);
    tn_sha256_add(&sha256, bytes, size);
    tn_sha256_end(&sha256, out.sha256);
    blake3_hasher_init(&blake3);
    blake3_hasher_update(&blake3, bytes, size);
    blake3_hasher_finalize(&blake3, out.blake3, sizeof out.blake3);
    out.crc32 = tn_crc32(0, bytes, size);
    return out;
}

static void assert_same(const tn_digests *found, const tn_digests *expected)
{
    assert_int_equal(found->size_bytes, expected->size_bytes);
    assert_memory_equal(found->blake3, expected->blake3, 32);
    assert_memory_equal(found->sha256, expected->sha256, 32);
    assert_int_equal(found->crc32, expected->crc32);
}

static tn_digests put_random(const char *path, size_t size, uint32_t seed)
{
    uint8_t *bytes = bytes_of(size, seed);
    tn_digests expected = digests_of(bytes, size);
    put_file(path, bytes, size);
    free(bytes);
    return expected;
}

/* ---- one file ---- */

static void any_number_of_workers_gives_the_same(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 1024, BLOCK - 1, BLOCK, BLOCK + 1, 5 * BLOCK - 1, 5 * BLOCK,
                                   5 * BLOCK + 1, 8 * BLOCK, 11 * BLOCK + 1025};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        tn_digests expected = put_random(at("a"), sizes[i], (uint32_t)i);
        for (unsigned jobs = 1; jobs <= 8; jobs++) {
            tn_context *context = with_jobs(jobs);
            tn_digests found;
            assert_int_equal(tn_digest_file(context, at("a"), OF_WHOLE, NULL, NULL, &found, NULL), TN_OK);
            assert_same(&found, &expected);
            assert_int_equal(tn_context_bytes_read(context), sizes[i]); /* once */
            assert_int_equal(tn_digest_file(context, at("a"), TN_DIGEST_BLAKE3, NULL, NULL, &found, NULL), TN_OK);
            assert_memory_equal(found.blake3, expected.blake3, 32);
            without(context);
        }
    }
}

/* Tensors of several blocks, out of order: "b" lies before "a". The content hash reads them apart; its value must be
 * that of the same tensors in order. */
static void put_big_tensors(const char *path, const char *first, const char *second, const uint8_t *data, size_t each)
{
    char header[256];
    int size = snprintf(header, sizeof header,
                        "{\"%s\":{\"dtype\":\"U8\",\"shape\":[%zu],\"data_offsets\":[0,%zu]},"
                        "\"%s\":{\"dtype\":\"U8\",\"shape\":[%zu],\"data_offsets\":[%zu,%zu]}}",
                        first, each, each, second, each, each, 2 * each);
    uint8_t *bytes = calloc(1, 8 + (size_t)size + 2 * each);
    bytes[0] = (uint8_t)size;
    bytes[1] = (uint8_t)(size >> 8);
    memcpy(bytes + 8, header, (size_t)size);
    memcpy(bytes + 8 + size, data, 2 * each);
    put_file(path, bytes, 8 + (size_t)size + 2 * each);
    free(bytes);
}

static void the_order_of_tensors_costs_a_second_reading_and_changes_nothing(void **state)
{
    (void)state;
    const size_t each = 3 * BLOCK + 13;
    uint8_t *data = bytes_of(3 * each, 7);
    put_big_tensors(at("ab.safetensors"), "a", "b", data, each);
    memcpy(data + 2 * each, data, each); /* the second before the first */
    put_big_tensors(at("ba.safetensors"), "b", "a", data + each, each);
    for (unsigned jobs = 1; jobs <= 4; jobs++) {
        tn_context *context = with_jobs(jobs);
        tn_digests ab, ba;
        assert_int_equal(tn_digest_file(context, at("ab.safetensors"), TN_DIGEST_ALL, NULL, NULL, &ab, NULL), TN_OK);
        uint64_t once = tn_context_bytes_read(context);
        assert_int_equal(tn_digest_file(context, at("ba.safetensors"), TN_DIGEST_ALL, NULL, NULL, &ba, NULL), TN_OK);
        assert_string_equal(ab.content, ba.content);
        assert_string_not_equal(ab.autov3, ba.autov3);
        assert_int_equal(tn_context_bytes_read(context) - once, once + 2 * each);
        without(context);
    }
    free(data);
}

/* ---- many ---- */

enum { FILES = 12 };

static _Thread_local bool is_the_caller;

typedef struct seen {
    tn_digests expected[FILES];
    unsigned told[FILES], count, stop_at;
    tn_status why[FILES];
    uint64_t done;
    tn_context *context; /* to be cancelled at `stop_at`, when not NULL */
} seen;

static tn_status ended(void *user, size_t file, const tn_digests *digests, const tn_error *why, tn_error *err)
{
    seen *s = user;
    assert_true(is_the_caller);
    assert_in_range(file, 0, FILES - 1);
    assert_true((digests == NULL) != (why == NULL));
    s->told[file]++;
    s->count++;
    s->why[file] = why != NULL ? why->status : TN_OK;
    if (digests != NULL)
        assert_same(digests, &s->expected[file]);
    if (s->count != s->stop_at)
        return TN_OK;
    if (s->context == NULL)
        return tn_fail(err, TN_NO_SPACE, "stopped by the test");
    tn_context_cancel(s->context);
    return TN_OK;
}

static tn_status told(void *user, size_t file, uint64_t done, tn_error *err)
{
    seen *s = user;
    (void)err;
    assert_true(is_the_caller);
    assert_in_range(file, 0, FILES - 1);
    assert_true(done > s->done);
    s->done = done;
    return TN_OK;
}

static tn_digest_want wants[FILES];
static char paths[FILES][2048];

static uint64_t put_files(seen *s)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < FILES; i++) {
        char name[16];
        size_t size = i % 4 == 0 ? 2 * BLOCK + i : i * 1000;
        snprintf(name, sizeof name, "file %u", i);
        snprintf(paths[i], sizeof paths[i], "%s", at(name));
        s->expected[i] = put_random(paths[i], size, i);
        wants[i] = (tn_digest_want){paths[i], OF_WHOLE};
        bytes += size;
    }
    return bytes;
}

static tn_status take_them(tn_context *context, seen *s, tn_error *err)
{
    tn_digest_list list = {wants, FILES, ended, told, s};
    is_the_caller = true;
    return tn_digest_many(context, &list, err);
}

static void each_file_is_told_about_once_by_the_caller(void **state)
{
    (void)state;
    seen s = {.count = 0};
    uint64_t bytes = put_files(&s);
    tn_digests expected[FILES];
    memcpy(expected, s.expected, sizeof expected);
    for (unsigned jobs = 1; jobs <= 8; jobs++) {
        tn_context *context = with_jobs(jobs);
        s = (seen){.count = 0};
        memcpy(s.expected, expected, sizeof expected);
        assert_int_equal(take_them(context, &s, NULL), TN_OK);
        for (unsigned i = 0; i < FILES; i++) {
            assert_int_equal(s.told[i], 1);
            assert_int_equal(s.why[i], TN_OK);
        }
        assert_int_equal(s.done, bytes);
        without(context);
    }
}

static void what_one_file_meets_stops_no_other(void **state)
{
    (void)state;
    seen s = {.count = 0};
    put_files(&s);
    wants[0].path = scratch_folder;
    wants[5].path = "no such file";
    tn_context *context = with_jobs(3);
    assert_int_equal(take_them(context, &s, NULL), TN_OK);
    for (unsigned i = 0; i < FILES; i++) {
        assert_int_equal(s.told[i], 1);
        assert_int_equal(s.why[i], i == 0 ? TN_NOT_A_FILE : i == 5 ? TN_NOT_FOUND : TN_OK);
    }
    without(context);
}

static void who_is_told_may_stop_it(void **state)
{
    (void)state;
    for (unsigned jobs = 1; jobs <= 4; jobs++) {
        seen s = {.stop_at = 3};
        tn_error err;
        put_files(&s);
        tn_context *context = with_jobs(jobs);
        assert_int_equal(take_them(context, &s, &err), TN_NO_SPACE);
        assert_string_equal(err.message, "stopped by the test");
        assert_int_equal(s.count, 3);
        without(context);
    }
}

static void a_cancel_ends_it(void **state)
{
    (void)state;
    for (unsigned jobs = 1; jobs <= 4; jobs++) {
        seen s = {.stop_at = 2};
        put_files(&s);
        tn_context *context = with_jobs(jobs);
        s.context = context;
        assert_int_equal(take_them(context, &s, NULL), TN_CANCELLED);
        assert_int_equal(s.count, 2);
        without(context);
    }
}

static void wrong_lists_are_refused_and_an_empty_one_is_not(void **state)
{
    (void)state;
    seen s = {.count = 0};
    tn_context *context = with_jobs(2);
    put_files(&s);
    wants[7].which = 0;
    assert_int_equal(take_them(context, &s, NULL), TN_INVALID);
    wants[7].which = TN_DIGEST_ALL + 1;
    assert_int_equal(take_them(context, &s, NULL), TN_INVALID);
    assert_int_equal(s.count, 0);
    tn_digest_list empty = {NULL, 0, ended, NULL, &s};
    assert_int_equal(tn_digest_many(context, &empty, NULL), TN_OK);
    without(context);
}

/* ---- disks ---- */

typedef struct disk {
    tn_os_disk kind;
    _Atomic int inside; /* reads under way */
    _Atomic int most;
} disk;

/* A read of ours takes some time, so that two that may run beside each other do. */
static tn_status count_reads(void *user, const tn_os_call *call)
{
    disk *d = user;
    if (call->operation != TN_OP_READ)
        return TN_OK;
    int now = atomic_fetch_add(&d->inside, 1) + 1;
    for (int most = atomic_load(&d->most); now > most && !atomic_compare_exchange_weak(&d->most, &most, now);)
        ;
    tn_os_sleep_ms(2);
    atomic_fetch_sub(&d->inside, 1);
    return TN_OK;
}

static void alter_disk(void *user, tn_os_disk *kind)
{
    *kind = ((disk *)user)->kind;
}

static int readers_on(tn_os_disk kind)
{
    seen s = {.count = 0};
    disk d = {.kind = kind};
    tn_os_hooks hooks = {.before = count_reads, .alter_disk = alter_disk, .user = &d};
    put_files(&s);
    tn_context *context = with_jobs(4);
    tn_os_set_hooks(&hooks);
    assert_int_equal(take_them(context, &s, NULL), TN_OK);
    tn_os_set_hooks(NULL);
    assert_int_equal(s.count, FILES);
    without(context);
    return atomic_load(&d.most);
}

static void a_disk_that_seeks_has_one_reader(void **state)
{
    (void)state;
    assert_int_equal(readers_on(TN_OS_DISK_ROTATIONAL), 1);
    assert_int_equal(readers_on(TN_OS_DISK_NETWORK), 1);
    assert_true(readers_on(TN_OS_DISK_SOLID) > 1);
    assert_true(readers_on(TN_OS_DISK_UNKNOWN) > 1);
}

/* ---- what happens meanwhile, and faults, with threads ---- */

static void append_at_first(void *user, uint64_t done, uint64_t total)
{
    bool *appended = user;
    (void)done;
    if (*appended)
        return;
    *appended = true;
    tn_os_file file;
    assert_int_equal(tn_os_open(at("a"), TN_OS_WRITE, &file, NULL), TN_OK);
    assert_int_equal(tn_os_write(&file, total, "x", 1, NULL), TN_OK);
    tn_os_close(&file);
}

static void a_file_written_to_under_many_threads_has_changed(void **state)
{
    (void)state;
    for (unsigned jobs = 2; jobs <= 6; jobs += 2) {
        tn_context *context = with_jobs(jobs);
        tn_digests out = {.have = 77};
        tn_error err;
        bool appended = false;
        put_random(at("a"), 8 * BLOCK, jobs);
        assert_int_equal(tn_digest_file(context, at("a"), OF_WHOLE, append_at_first, &appended, &out, &err), TN_CHANGED);
        assert_non_null(strstr(err.file, "a"));
        assert_int_equal(out.have, 77);
        without(context);
    }
}

/* The nth of all calls of the system, or of all allocations, fails; counted by every thread. */
static struct {
    _Atomic uint64_t count;
    uint64_t fail_at;
} threaded;

static bool fails_now(void)
{
    return atomic_fetch_add(&threaded.count, 1) + 1 == threaded.fail_at;
}

static tn_status failing_threaded_call(void *user, const tn_os_call *call)
{
    (void)user;
    (void)call;
    return fails_now() ? TN_IO : TN_OK;
}

static void *failing_threaded_resize(void *user, void *block, size_t old_size, size_t new_size)
{
    tn_allocator system = tn_allocator_system();
    (void)user;
    if (new_size > old_size && fails_now())
        return NULL;
    return system.resize(system.user, block, old_size, new_size);
}

/* One file of threads enough. A thread or place that cannot be had is done without, so some faults change nothing. */
static uint64_t try_each_fault(tn_context *context, const tn_digests *expected)
{
    for (uint64_t n = 1;; n++) {
        atomic_store(&threaded.count, 0);
        threaded.fail_at = n;
        tn_digests out = {.have = 77};
        tn_error err;
        tn_status status = tn_digest_file(context, at("a"), OF_WHOLE, NULL, NULL, &out, &err);
        threaded.fail_at = 0;
        assert_true(status == TN_OK || status == TN_IO || status == TN_NO_MEMORY);
        if (status == TN_OK)
            assert_same(&out, expected);
        else
            assert_int_equal(out.have, 77);
        assert_int_equal(tn_context_memory(context).used_bytes, 0);
        if (atomic_load(&threaded.count) < n)
            return n - 1;
    }
}

static void whatever_fails_under_threads_the_answer_is_a_status(void **state)
{
    (void)state;
    tn_digests expected = put_random(at("a"), 5 * BLOCK + 5, 3);
    tn_context_options options = {.size = sizeof options, .jobs = 3, .memory_limit_bytes = UINT64_C(1) << 28,
                                  .allocator = {failing_threaded_resize, NULL}};
    tn_context *context;
    assert_int_equal(tn_context_create(&options, &context, NULL), TN_OK);
    print_message("allocations: each of %u\n", (unsigned)try_each_fault(context, &expected));
    tn_context_destroy(context);
    context = with_jobs(3);
    tn_os_hooks hooks = {.before = failing_threaded_call};
    tn_os_set_hooks(&hooks);
    print_message("calls of the system: each of %u\n", (unsigned)try_each_fault(context, &expected));
    tn_os_set_hooks(NULL);
    without(context);
}

static void a_small_budget_means_fewer_blocks(void **state)
{
    (void)state;
    tn_digests expected = put_random(at("a"), 6 * BLOCK + 5, 4), found;
    tn_context_options options = {.size = sizeof options, .jobs = 8, .memory_limit_bytes = 3 * BLOCK};
    tn_context *context;
    assert_int_equal(tn_context_create(&options, &context, NULL), TN_OK);
    assert_int_equal(tn_digest_file(context, at("a"), OF_WHOLE, NULL, NULL, &found, NULL), TN_OK);
    assert_same(&found, &expected);
    without(context);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_begin, scratch_end)
    const struct CMUnitTest tests[] = {
        TEST(any_number_of_workers_gives_the_same),
        TEST(the_order_of_tensors_costs_a_second_reading_and_changes_nothing),
        TEST(each_file_is_told_about_once_by_the_caller),
        TEST(what_one_file_meets_stops_no_other),
        TEST(who_is_told_may_stop_it),
        TEST(a_cancel_ends_it),
        TEST(wrong_lists_are_refused_and_an_empty_one_is_not),
        TEST(a_disk_that_seeks_has_one_reader),
        TEST(a_file_written_to_under_many_threads_has_changed),
        TEST(whatever_fails_under_threads_the_answer_is_a_status),
        TEST(a_small_budget_means_fewer_blocks),
    };
    return cmocka_run_group_tests_name("digest.many", tests, NULL, NULL);
}
