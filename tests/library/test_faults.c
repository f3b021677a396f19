/* Fault loops: the first, second, ... allocation of ours, of SQLite's, and call of the system fails, once and for good,
 * until a run passes untouched. Each time the answer is a status, nothing leaks, and the library opens, is sound, and
 * an import without faults completes it (promise 5). */
#include "support/library.h"

#include <sqlite3.h>

#include "os/os_fault.h"

#define MODELS 5
#define RUNS_MAX 20000

/* What fails: the `at`-th of what is counted, and all after it when `for_good`. */
static struct faults {
    uint64_t count, fail_at;
    bool for_good;
} faults;

static bool must_fail(void)
{
    faults.count++;
    return faults.fail_at != 0 && (faults.count == faults.fail_at || (faults.for_good && faults.count > faults.fail_at));
}

static bool was_reached(void)
{
    return faults.count >= faults.fail_at;
}

/* ---- what can fail ---- */

static void *failing_resize(void *user, void *block, size_t old_size, size_t new_size)
{
    tn_allocator system = tn_allocator_system();
    (void)user;
    if (new_size > old_size && must_fail())
        return NULL;
    return system.resize(system.user, block, old_size, new_size);
}

static tn_status failing_call(void *user, const tn_os_call *call)
{
    (void)user;
    (void)call;
    return must_fail() ? TN_IO : TN_OK;
}

static bool sqlite_counts;
static sqlite3_mem_methods sqlite_system;

static void *failing_sqlite_malloc(int size)
{
    return sqlite_counts && must_fail() ? NULL : sqlite_system.xMalloc(size);
}

static void *failing_sqlite_realloc(void *block, int size)
{
    return sqlite_counts && must_fail() ? NULL : sqlite_system.xRealloc(block, size);
}

typedef enum kind { OUR_MEMORY, SQLITE_MEMORY, SYSTEM_CALLS } kind;

/* ---- one run ---- */

static tn_context *make_context(bool failing)
{
    tn_context *made = NULL;
    tn_context_options options = TN_CONTEXT_OPTIONS_INIT;
    options.memory_limit_bytes = 64u << 20;
    options.jobs = 1;
    if (failing)
        options.allocator.resize = failing_resize;
    return tn_context_create(&options, &made, NULL) == TN_OK ? made : NULL;
}

static bool see(void *user, const tn_record *record)
{
    (void)user;
    return record->json.size > 0;
}

/* Open, import, list, close: as a command does. */
static void work(tn_context *own)
{
    tn_library *library = NULL;
    tn_import_summary *summary = NULL;
    const char *paths[] = {at("m")};
    tn_error err;
    if (tn_library_open(own, at("library.db"), NULL, &library, &err) != TN_OK)
        return;
    tn_status status = tn_library_import(library, paths, 1, NULL, &summary, &err);
    assert_true((status == TN_OK) == (summary != NULL));
    tn_import_summary_destroy(summary);
    tn_library_list(library, 0, see, NULL, &err);
    tn_library_show(library, "a", see, NULL, &err);
    tn_library_close(library);
}

static void remove_library(void)
{
    static const char *const names[] = {"library.db", "library.db-wal", "library.db-shm", "library.db-lock",
                                        "library.db-journal"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        tn_os_remove(at(names[i]), NULL);
}

static void run_with_fault(kind what)
{
    tn_context *own = make_context(what == OUR_MEMORY);
    if (own == NULL)
        return;
    tn_os_hooks hooks = {.before = failing_call};
    sqlite_counts = what == SQLITE_MEMORY;
    if (what == SYSTEM_CALLS)
        tn_os_set_hooks(&hooks);
    work(own);
    tn_os_set_hooks(NULL);
    sqlite_counts = false;
    assert_int_equal(tn_context_memory(own).used_bytes, 0);
    tn_context_destroy(own);
}

/* What is left behind completes to the same library, whatever failed. */
static void check_what_is_left(void)
{
    tn_library *library = open_library(NULL);
    assert_verified(library);
    import_quietly(library, "m", NULL);
    import_quietly(library, "m", NULL); /* what could not be read for lack of memory is tried again */
    assert_verified(library);
    assert_int_equal(ask(library, "SELECT count(*) FROM models WHERE presence = 'present' AND state <> 'unreadable'"),
                     MODELS);
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), MODELS);
    assert_int_equal(ask(library, "SELECT count(*) FROM jobs WHERE state NOT IN ('done', 'failed')"), 0);
    tn_library_close(library);
}

static unsigned open_files(void)
{
    return is_there("/proc/self/fd") ? entries_in("/proc/self/fd") : 0;
}

static void loop(kind what, bool for_good)
{
    unsigned before = open_files();
    bool reached = true;
    for (uint64_t n = 1; reached; n++) {
        assert_in_range(n, 1, RUNS_MAX);
        remove_library();
        faults = (struct faults){0, n, for_good};
        run_with_fault(what);
        reached = was_reached();
        faults.fail_at = 0;
        check_what_is_left();
    }
    assert_int_equal(open_files(), before);
}

static int setup(void **state)
{
    if (library_setup(state) != 0)
        return -1;
    put_folder(at("m/p"));
    put_weights(at("m/a.safetensors"), 4);
    put_weights(at("m/b.safetensors"), 5);
    put_short_weights(at("m/short.safetensors"), 50, 10);
    put_weights(at("m/set-00001-of-00001.safetensors"), 6);
    put_text(at("m/p/config.json"), "{\"_class_name\":\"AutoencoderKL\"}");
    put_weights(at("m/p/diffusion_pytorch_model.safetensors"), 7);
    put_text(at("m/other.bin"), "not a model");
    return 0;
}

static void each_allocation_may_fail_once(void **state)
{
    (void)state;
    loop(OUR_MEMORY, false);
}

static void memory_may_run_out_at_any_point(void **state)
{
    (void)state;
    loop(OUR_MEMORY, true);
}

static void each_call_of_the_system_may_fail_once(void **state)
{
    (void)state;
    loop(SYSTEM_CALLS, false);
}

static void the_system_may_fail_for_good_at_any_point(void **state)
{
    (void)state;
    loop(SYSTEM_CALLS, true);
}

/* SQLite's own tests go through all of its allocations; here every seventh shows that a failure arrives as a status. */
static void sqlite_may_run_out_of_memory(void **state)
{
    (void)state;
    for (uint64_t n = 1; n < 4000; n += n < 200 ? 7 : 131) {
        remove_library();
        faults = (struct faults){0, n, n % 2 == 0};
        run_with_fault(SQLITE_MEMORY);
        faults.fail_at = 0;
        check_what_is_left();
    }
}

int main(void)
{
    sqlite3_mem_methods failing;
    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &sqlite_system);
    failing = sqlite_system;
    failing.xMalloc = failing_sqlite_malloc;
    failing.xRealloc = failing_sqlite_realloc;
    if (sqlite3_config(SQLITE_CONFIG_MALLOC, &failing) != SQLITE_OK)
        return 1;
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, library_teardown)
    const struct CMUnitTest tests[] = {
        TEST(each_allocation_may_fail_once),
        TEST(memory_may_run_out_at_any_point),
        TEST(each_call_of_the_system_may_fail_once),
        TEST(the_system_may_fail_for_good_at_any_point),
        TEST(sqlite_may_run_out_of_memory),
    };
    return cmocka_run_group_tests_name("library.faults", tests, NULL, NULL);
}
