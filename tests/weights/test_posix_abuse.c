/* What is done to programs that hold weights, each in a process of its own that must end by itself with 0: files cut,
 * replaced and deleted under them, no memory, no descriptors, a fork, an exit, sixteen threads, a budget of one byte, a
 * tensor larger than any memory. */
#include "support/weights.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const row rows[] = {
    {"a", TN_F32, 2, {500, 1000}}, {"b", TN_F16, 1, {700}}, {"c", TN_U8, 1, {9000001}},
};
enum { ROWS = 3 };

/* In a child nothing of cmocka may be used: what must hold is asked here, and the line is the exit code. */
#define MUST(holds)                            \
    do {                                       \
        if (!(holds))                          \
            _exit(__LINE__ % 200 + 50);        \
    } while (0)

static void in_a_child(void (*work)(void))
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        alarm(120);
        work();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status))
        fail_msg("the process died of signal %d", WTERMSIG(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static bool right(const tn_lease *lease, uint64_t from)
{
    for (uint64_t i = 0; i < lease->size_bytes; i++)
        if (((const uint8_t *)lease->data)[i] != byte_of(5, from + i))
            return false;
    return true;
}

static tn_context *new_context(uint64_t limit, unsigned jobs)
{
    tn_context_options options = TN_CONTEXT_OPTIONS_INIT;
    tn_context *made = NULL;
    options.memory_limit_bytes = limit;
    options.jobs = jobs;
    MUST(tn_context_create(&options, &made, NULL) == TN_OK);
    return made;
}

static tn_checkpoint *opened(tn_context *c, const char *path)
{
    tn_checkpoint *checkpoint = NULL;
    MUST(tn_checkpoint_open(c, path, NULL, &checkpoint, NULL) == TN_OK);
    return checkpoint;
}

static tn_lease *leased(const tn_checkpoint *checkpoint, const char *name, uint32_t flags)
{
    tn_lease_options options = TN_LEASE_OPTIONS_INIT;
    tn_lease *lease = NULL;
    options.flags = flags;
    MUST(tn_lease_named(checkpoint, name, &options, &lease, NULL) == TN_OK);
    return lease;
}

static void limit(int what, rlim_t most)
{
    struct rlimit now;
    MUST(getrlimit((__rlimit_resource_t)what, &now) == 0);
    now.rlim_cur = most;
    MUST(setrlimit((__rlimit_resource_t)what, &now) == 0);
}

/* ---- the file goes ---- */

static void cut_while_leased(void)
{
    tn_context *c = new_context(1u << 28, 2);
    tn_checkpoint *checkpoint = opened(c, at("a.safetensors"));
    tn_lease *lease = leased(checkpoint, "c", 0), *view = leased(checkpoint, "a", TN_LEASE_VIEW), *none = NULL;
    tn_error err;
    static uint8_t copy[2000000];
    MUST(view->way == TN_WAY_VIEW);
    MUST(truncate(at("a.safetensors"), 100) == 0);
    MUST(right(lease, 2001400));
    tn_status status = tn_lease_copy(view, copy, sizeof copy, &err);
    MUST(status == TN_CHANGED || status == TN_TRUNCATED);
    MUST(tn_lease_named(checkpoint, "c", NULL, &none, &err) == TN_CHANGED && strcmp(err.tensor, "c") == 0);
    MUST(tn_lease_named(checkpoint, "a", NULL, &none, &err) == TN_CHANGED && strcmp(err.tensor, "a") == 0);
    tn_lease_release(view);
    tn_checkpoint_release(checkpoint);
    tn_context_destroy(c);
    MUST(right(lease, 2001400));
    tn_lease_release(lease);
}

static void a_file_cut_under_leases_kills_nobody(void **state)
{
    (void)state;
    put_tensors(at("a.safetensors"), rows, ROWS, 5, 0);
    in_a_child(cut_while_leased);
}

static void read_while_it_is_cut(void)
{
    static const tn_way ways[] = {TN_WAY_AUTOMATIC, TN_WAY_READ, TN_WAY_THREADS, TN_WAY_DIRECT};
    for (unsigned round = 0; round < 16; round++) {
        tn_context *c = new_context(1u << 28, 3);
        tn_checkpoint *checkpoint = opened(c, at("copy.safetensors"));
        tn_lease_options options = TN_LEASE_OPTIONS_INIT;
        tn_lease *lease = NULL;
        tn_error err;
        options.way = ways[round % 4];
        MUST(tn_checkpoint_keep_files(checkpoint, NULL) == TN_OK);
        pid_t cutter = fork();
        if (cutter == 0) {
            usleep(round * 300);
            (void)!truncate(at("copy.safetensors"), 4096 + round * 100000);
            _exit(0);
        }
        tn_status status = tn_lease_named(checkpoint, "c", &options, &lease, &err);
        MUST(waitpid(cutter, NULL, 0) == cutter);
        if (status == TN_OK)
            MUST(right(lease, 2001400));
        else
            MUST((status == TN_CHANGED || status == TN_TRUNCATED || status == TN_IO) && strcmp(err.tensor, "c") == 0);
        tn_lease_release(lease);
        tn_checkpoint_release(checkpoint);
        tn_context_destroy(c);
        put_tensors(at("copy.safetensors"), rows, ROWS, 5, 0);
    }
}

static void a_file_cut_while_it_is_read_is_an_error_or_whole(void **state)
{
    (void)state;
    put_tensors(at("copy.safetensors"), rows, ROWS, 5, 0);
    in_a_child(read_while_it_is_cut);
}

static void replaced_and_deleted(void)
{
    tn_context *c = new_context(1u << 28, 2);
    tn_checkpoint *checkpoint = opened(c, at("a.safetensors"));
    tn_lease *before = leased(checkpoint, "a", 0), *view = leased(checkpoint, "c", TN_LEASE_VIEW);
    MUST(rename(at("b.safetensors"), at("a.safetensors")) == 0);
    tn_lease *after = leased(checkpoint, "c", 0);
    MUST(unlink(at("a.safetensors")) == 0);
    tn_lease *last = leased(checkpoint, "b", 0);
    tn_checkpoint_release(checkpoint);
    tn_context_destroy(c);
    MUST(right(before, 0) && right(view, 2001400) && right(after, 2001400) && right(last, 2000000));
    tn_lease_release(before);
    tn_lease_release(view);
    tn_lease_release(after);
    tn_lease_release(last);
}

static void a_file_replaced_and_deleted_is_still_the_one_that_was_opened(void **state)
{
    (void)state;
    put_tensors(at("a.safetensors"), rows, ROWS, 5, 0);
    put_tensors(at("b.safetensors"), rows, ROWS, 6, 0);
    in_a_child(replaced_and_deleted);
}

/* ---- no memory ---- */

static void without_memory(void)
{
    limit(RLIMIT_DATA, 48u << 20);
    tn_context *c = new_context(UINT64_C(1) << 40, 1); /* a budget that the system does not have */
    tn_checkpoint *checkpoint = opened(c, at("a.safetensors"));
    tn_lease *held[64] = {NULL};
    tn_error err;
    unsigned n = 0;
    tn_status status = TN_OK;
    while (n < 64 && (status = tn_lease_named(checkpoint, "c", NULL, &held[n], &err)) == TN_OK)
        n++;
    MUST(n > 0 && n < 8 && status == TN_NO_MEMORY && strcmp(err.tensor, "c") == 0);
    MUST(strstr(err.message, "under this process's data limit") != NULL);
    for (unsigned i = 0; i < n; i++) {
        MUST(right(held[i], 2001400));
        tn_lease_release(held[i]);
    }
    held[0] = leased(checkpoint, "c", 0);
    tn_lease_release(held[0]);
    tn_checkpoint_release(checkpoint);
    tn_context_trim(c);
    MUST(tn_context_memory(c).used_bytes == 0);
    tn_context_destroy(c);
}

static void a_system_without_memory_is_an_error_and_the_next_lease_works(void **state)
{
    (void)state;
    if (getenv("TENURE_SANITIZED") != NULL) /* a sanitizer needs more than is left here for itself */
        skip();
    put_tensors(at("a.safetensors"), rows, ROWS, 5, 0);
    in_a_child(without_memory);
}

static void with_one_byte(void)
{
    tn_context *c = new_context(1, 1);
    tn_checkpoint *none = NULL;
    tn_error err;
    MUST(tn_checkpoint_open(c, at("a.safetensors"), NULL, &none, &err) == TN_OVER_BUDGET && none == NULL);
    tn_context_destroy(c);
    c = new_context(1u << 20, 1);
    tn_checkpoint *checkpoint = opened(c, at("a.safetensors"));
    void *rest;
    size_t left = (size_t)(tn_context_memory(c).limit_bytes - tn_context_memory(c).used_bytes) - 1;
    MUST(tn_take(&c->memory, left, &rest, NULL) == TN_OK); /* one byte is left */
    tn_lease *lease = NULL;
    static const char *const names[] = {"a", "b", "c"};
    for (unsigned i = 0; i < 3; i++)
        MUST(tn_lease_named(checkpoint, names[i], NULL, &lease, &err) == TN_OVER_BUDGET && lease == NULL);
    tn_give(&c->memory, rest, left);
    tn_lease_release(leased(checkpoint, "b", 0));
    tn_checkpoint_release(checkpoint);
    tn_context_destroy(c);
}

static void a_budget_of_one_byte_refuses_everything(void **state)
{
    (void)state;
    put_tensors(at("a.safetensors"), rows, ROWS, 5, 0);
    in_a_child(with_one_byte);
}

/* ---- a tensor larger than any memory ---- */

static const row huge[] = {{"huge", TN_F16, 2, {UINT64_C(20) << 20, 1024}}, {"end", TN_U8, 1, {4}}};

static void put_sparse(const char *path)
{
    char head[512];
    tn_os_file file;
    size_t size = header_of(huge, 2, 0, head, sizeof head);
    put_file(path, head, size);
    assert_int_equal(tn_os_open(path, TN_OS_WRITE, &file, NULL), TN_OK);
    assert_int_equal(tn_os_resize(&file, size + data_at(huge, 2), NULL), TN_OK);
    assert_int_equal(tn_os_write(&file, size + 7 * 2048 + 16, "four", 4, NULL), TN_OK);
    tn_os_close(&file);
}

static void four_bytes_of_it(void)
{
    limit(RLIMIT_DATA, 512u << 20);
    tn_context *c = new_context(0, 0);
    tn_checkpoint *checkpoint = opened(c, at("huge.safetensors"));
    static const uint32_t flags[] = {0, TN_LEASE_VIEW};
    for (unsigned i = 0; i < 2; i++) {
        tn_index index[] = {{TN_INDEX_AT, 7, 0, 0}, {TN_INDEX_RANGE, 8, 10, TN_INDEX_NONE}};
        tn_lease_options options = TN_LEASE_OPTIONS_INIT;
        tn_lease *lease = NULL;
        options.index = index;
        options.index_count = 2;
        options.flags = flags[i];
        uint64_t read = tn_context_bytes_read(c);
        MUST(tn_lease_named(checkpoint, "huge", &options, &lease, NULL) == TN_OK);
        MUST(lease->size_bytes == 4 && memcmp(lease->data, "four", 4) == 0);
        MUST(tn_context_bytes_read(c) - read == (i == 0 ? 4 : 0));
        tn_lease_release(lease);
    }
    tn_lease *none = NULL;
    tn_error err;
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    MUST(tn_lease_named(checkpoint, "huge", NULL, &none, &err) == TN_OVER_BUDGET);
    clock_gettime(CLOCK_MONOTONIC, &after);
    MUST(strstr(err.message, "42.9 GB of memory are needed") != NULL && strstr(err.message, "the system has") != NULL);
    printf("refused in %.3f ms: %s\n", (double)(after.tv_sec - before.tv_sec) * 1e3 +
           (double)(after.tv_nsec - before.tv_nsec) / 1e6, err.message);
    fflush(stdout);
    /* As a view it costs a page table. */
    tn_lease *view = leased(checkpoint, "huge", TN_LEASE_VIEW);
    MUST(view->way == TN_WAY_VIEW && memcmp((const char *)view->data + 7 * 2048 + 16, "four", 4) == 0);
    tn_lease_release(view);
    tn_checkpoint_release(checkpoint);
    tn_context_destroy(c);
}

static void four_bytes_of_forty_gigabytes_are_four_bytes(void **state)
{
    (void)state;
    if (getenv("TENURE_SANITIZED") != NULL)
        skip();
    put_sparse(at("huge.safetensors"));
    in_a_child(four_bytes_of_it);
}

/* ---- no descriptors ---- */

static void without_descriptors(void)
{
    tn_context *c = new_context(1u << 28, 2);
    tn_checkpoint *checkpoint = opened(c, at("a.safetensors")), *kept = opened(c, at("a.safetensors"));
    MUST(tn_checkpoint_keep_files(kept, NULL) == TN_OK);
    limit(RLIMIT_NOFILE, 64);
    int taken[64];
    unsigned n = 0;
    while (n < 64 && (taken[n] = dup(0)) >= 0)
        n++;
    MUST(n < 64);
    tn_lease *none = NULL;
    tn_error err;
    MUST(tn_lease_named(checkpoint, "a", NULL, &none, &err) == TN_TOO_MANY_FILES && strcmp(err.tensor, "a") == 0);
    tn_lease_options direct = TN_LEASE_OPTIONS_INIT;
    direct.way = TN_WAY_DIRECT; /* needs one more: done without */
    tn_lease *lease = NULL;
    MUST(tn_lease_named(kept, "c", &direct, &lease, NULL) == TN_OK && right(lease, 2001400));
    tn_lease_release(lease);
    close(taken[0]);
    lease = leased(checkpoint, "a", 0);
    MUST(right(lease, 0));
    tn_lease_release(lease);
    tn_checkpoint_release(checkpoint);
    tn_checkpoint_release(kept);
    tn_context_destroy(c);
}

static void without_descriptors_the_call_says_so(void **state)
{
    (void)state;
    put_tensors(at("a.safetensors"), rows, ROWS, 5, 0);
    in_a_child(without_descriptors);
}

/* ---- threads, forks, exits ---- */

static tn_checkpoint *shared;
static _Atomic bool enough;

static void *lease_without_end(void *argument)
{
    uint64_t round = (uint64_t)(uintptr_t)argument;
    while (!atomic_load(&enough)) {
        static const char *const names[] = {"a", "b", "c"};
        static const uint64_t begins[] = {0, 2000000, 2001400};
        unsigned n = (unsigned)(round++ % 3);
        tn_lease *lease = leased(shared, names[n], round % 5 == 0 ? TN_LEASE_VIEW : 0);
        MUST(n == 2 || right(lease, begins[n]));
        tn_lease_release(lease);
    }
    return NULL;
}

static void start(pthread_t *threads, unsigned count)
{
    atomic_store(&enough, false);
    for (unsigned i = 0; i < count; i++)
        MUST(pthread_create(&threads[i], NULL, lease_without_end, (void *)(uintptr_t)i) == 0);
}

static void sixteen_threads(void)
{
    pthread_t threads[16];
    tn_context *c = new_context(1u << 30, 4);
    shared = opened(c, at("a.safetensors"));
    start(threads, 16);
    usleep(700000);
    atomic_store(&enough, true);
    for (unsigned i = 0; i < 16; i++)
        MUST(pthread_join(threads[i], NULL) == 0);
    tn_checkpoint_release(shared);
    tn_context_trim(c);
    MUST(tn_context_memory(c).used_bytes == 0);
    tn_context_destroy(c);
}

static void sixteen_threads_share_a_checkpoint(void **state)
{
    (void)state;
    put_tensors(at("a.safetensors"), rows, ROWS, 5, 0);
    in_a_child(sixteen_threads);
}

/* The child may look and release; the threads of the parent, which may hold any lock, are not there. */
static void in_the_fork(tn_context *c, tn_lease *lease, tn_lease *small, tn_lease *view)
{
    tn_lease *none = NULL;
    MUST(right(lease, 2001400) && right(small, 2000000) && right(view, 0));
    MUST(tn_lease_named(shared, "a", NULL, &none, NULL) == TN_FORKED);
    tn_lease_release(tn_lease_hold(lease));
    tn_lease_release(lease);
    tn_lease_release(small);
    tn_lease_release(view);
    tn_checkpoint_release(shared);
    tn_context_destroy(c);
    _exit(0);
}

static void forks(void)
{
    pthread_t threads[4];
    tn_context *c = new_context(1u << 30, 2);
    shared = opened(c, at("a.safetensors"));
    tn_lease *lease = leased(shared, "c", 0), *small = leased(shared, "b", 0), *view = leased(shared, "a", TN_LEASE_VIEW);
    start(threads, 4);
    for (unsigned i = 0; i < 30; i++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            alarm(60);
            in_the_fork(c, lease, small, view);
        }
        MUST(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    atomic_store(&enough, true);
    for (unsigned i = 0; i < 4; i++)
        MUST(pthread_join(threads[i], NULL) == 0);
    MUST(right(lease, 2001400));
    tn_lease_release(lease);
    tn_lease_release(small);
    tn_lease_release(view);
    tn_checkpoint_release(shared);
    tn_context_destroy(c);
}

static void a_forked_child_may_look_and_release(void **state)
{
    (void)state;
    put_tensors(at("a.safetensors"), rows, ROWS, 5, 0);
    in_a_child(forks);
}

static void ends_while_leased(void)
{
    static tn_context *volatile c; /* held to the end, so that a leak checker finds them */
    static tn_lease *volatile held[2];
    pthread_t threads[4];
    c = new_context(1u << 30, 2);
    shared = opened(c, at("a.safetensors"));
    held[0] = leased(shared, "c", 0);
    held[1] = leased(shared, "a", TN_LEASE_VIEW);
    MUST(held[0] != NULL && held[1] != NULL);
    start(threads, 4);
    usleep(50000);
    exit(0); /* with all handlers, while threads read */
}

static void a_process_may_end_while_it_leases(void **state)
{
    (void)state;
    put_tensors(at("a.safetensors"), rows, ROWS, 5, 0);
    in_a_child(ends_while_leased);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_begin, scratch_end)
    const struct CMUnitTest tests[] = {
        TEST(a_file_cut_under_leases_kills_nobody),
        TEST(a_file_cut_while_it_is_read_is_an_error_or_whole),
        TEST(a_file_replaced_and_deleted_is_still_the_one_that_was_opened),
        TEST(a_system_without_memory_is_an_error_and_the_next_lease_works),
        TEST(a_budget_of_one_byte_refuses_everything),
        TEST(four_bytes_of_forty_gigabytes_are_four_bytes),
        TEST(without_descriptors_the_call_says_so),
        TEST(sixteen_threads_share_a_checkpoint),
        TEST(a_forked_child_may_look_and_release),
        TEST(a_process_may_end_while_it_leases),
    };
    return cmocka_run_group_tests_name("weights.abuse", tests, NULL, NULL);
}
