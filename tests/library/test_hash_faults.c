/* Fault loops over hashing and verifying: the first, second, ... allocation and call of the system fails, once and for
 * good. Each time the answer is a status, nothing leaks, no wrong hash is recorded, and a run without faults completes
 * the library to the same hashes. */
#include "support/library.h"

#include <sqlite3.h>

#include "support/faults.h"

typedef enum kind { OUR_MEMORY, SYSTEM_CALLS } kind;

/* ---- the library before a run: two models, and a hash job that is queued ---- */

static char queued[4 << 20];
static size_t queued_size;

static tn_import_options queueing(void)
{
    return (tn_import_options){.size = sizeof(tn_import_options), .hash = TN_HASH_QUEUE, .digests = TN_DIGEST_ALL};
}

static void import_queueing(tn_library *library)
{
    const char *paths[] = {at("m")};
    tn_import_options options = queueing();
    tn_error err;
    if (tn_library_import(library, paths, 1, &options, NULL, &err) != TN_OK)
        fail_msg("the import failed: %s", err.message);
}

static void keep_queued(void)
{
    tn_os_file file;
    tn_library *library = open_library(NULL);
    import_queueing(library);
    assert_int_equal(ask(library, "SELECT count(*) FROM job_items"), 4);
    tn_library_close(library);
    assert_int_equal(tn_os_open(at("library.db"), TN_OS_READ, &file, NULL), TN_OK);
    assert_int_equal(tn_os_read(&file, 0, queued, sizeof queued, &queued_size, NULL), TN_OK);
    tn_os_close(&file);
    assert_in_range(queued_size, 4096, sizeof queued - 1);
}

static void lay_queued(void)
{
    static const char *const names[] = {"library.db-wal", "library.db-shm", "library.db-lock", "library.db-journal"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        tn_os_remove(at(names[i]), NULL);
    put_file(at("library.db"), queued, queued_size);
}

/* ---- what is recorded in the end ---- */

static char hashes[16384], undisturbed[16384];

static void read_hashes(tn_library *library)
{
    static const char sql[] = "SELECT group_concat(row, char(10)) FROM (SELECT printf('%d %d %s %s %d', model, position, "
                              "algorithm, value, size) AS row FROM hashes ORDER BY model, position, algorithm)";
    sqlite3_stmt *stmt = NULL;
    assert_int_equal(sqlite3_prepare_v2(library->db.handle, sql, -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    const char *text = (const char *)sqlite3_column_text(stmt, 0);
    int size = snprintf(hashes, sizeof hashes, "%s", text != NULL ? text : "");
    assert_in_range(size, 0, sizeof hashes - 1);
    sqlite3_finalize(stmt);
}

static void complete(void)
{
    tn_library *library = open_library(NULL);
    assert_verified(library);
    import_queueing(library); /* what could not be hashed for lack of memory is queued again */
    assert_int_equal(tn_library_jobs_run(library, 0, NULL, NULL), TN_OK);
    import_queueing(library);
    assert_verified(library);
    read_hashes(library);
    if (undisturbed[0] != '\0')
        assert_string_equal(hashes, undisturbed);
    assert_int_equal(ask(library, "SELECT count(*) FROM job_items i JOIN jobs j ON j.id = i.job WHERE j.state <> 'failed'"),
                     0);
    assert_int_equal(ask(library, "SELECT count(*) FROM events WHERE what = 'rotten'"), 0);
    assert_int_equal(ask(library, "SELECT count(*) FROM jobs WHERE kind = 'hash' AND state NOT IN ('done', 'failed')"), 0);
    tn_library_close(library);
}

/* ---- what is done under faults ---- */

static bool hear(void *user, const tn_verified *verified)
{
    (void)user;
    return verified->path.size > 0;
}

/* Open, run the job, verify, close: as two commands do. */
static void hash_and_verify(tn_context *own)
{
    tn_library *library = NULL;
    tn_verify_options options = {.size = sizeof options, .each = hear};
    if (tn_library_open(own, at("library.db"), NULL, &library, NULL) != TN_OK)
        return;
    tn_library_jobs_run(library, 0, NULL, NULL);
    tn_library_verify(own, library, NULL, 0, &options, NULL);
    tn_library_close(library);
}

/* What an import with --hash does. */
static void import_and_hash(tn_context *own)
{
    tn_library *library = NULL;
    const char *paths[] = {at("m")};
    tn_import_options options = queueing();
    options.hash = TN_HASH_NOW;
    if (tn_library_open(own, at("library.db"), NULL, &library, NULL) != TN_OK)
        return;
    tn_library_import(library, paths, 1, &options, NULL, NULL);
    tn_library_close(library);
}

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

static void with_fault(kind what, void (*work)(tn_context *own))
{
    lay_queued();
    tn_context *own = make_context(what == OUR_MEMORY);
    if (own == NULL)
        return;
    tn_os_hooks hooks = {.before = failing_call};
    if (what == SYSTEM_CALLS)
        tn_os_set_hooks(&hooks);
    work(own);
    tn_os_set_hooks(NULL);
    assert_int_equal(tn_context_memory(own).used_bytes, 0);
    tn_context_destroy(own);
    complete();
}

static void run_with_fault(void *user)
{
    with_fault(*(const kind *)user, hash_and_verify);
}

static void import_with_fault(void *user)
{
    with_fault(*(const kind *)user, import_and_hash);
}

static void loop(const char *said, kind what, void (*run)(void *user))
{
    each_fault(said, false, run, &what);
    each_fault(said, true, run, &what);
}

static void any_allocation_may_fail_while_files_are_hashed_and_verified(void **state)
{
    (void)state;
    loop("allocations of a hash job and a verify", OUR_MEMORY, run_with_fault);
}

static void any_call_of_the_system_may_fail_while_files_are_hashed_and_verified(void **state)
{
    (void)state;
    loop("calls of the system of a hash job and a verify", SYSTEM_CALLS, run_with_fault);
}

static void any_allocation_may_fail_in_an_import_that_hashes(void **state)
{
    (void)state;
    loop("allocations of an import that hashes", OUR_MEMORY, import_with_fault);
}

static void any_call_of_the_system_may_fail_in_an_import_that_hashes(void **state)
{
    (void)state;
    loop("calls of the system of an import that hashes", SYSTEM_CALLS, import_with_fault);
}

static void put_models(void)
{
    put_folder(at("m"));
    put_weights(at("m/a.safetensors"), 4);
    put_short_weights(at("m/short.safetensors"), 50, 10);
    put_tensor(at("m/set-00001-of-00002.safetensors"), "v", 6, 0);
    put_tensor(at("m/set-00002-of-00002.safetensors"), "w", 6, 0);
    put_text(at("m/set.safetensors.index.json"),
             "{\"metadata\":{\"total_size\":96},\"weight_map\":{\"v\":\"set-00001-of-00002.safetensors\","
             "\"w\":\"set-00002-of-00002.safetensors\"}}");
}

/* In memory where the system has such a place: a thousand libraries are made, and none need outlive a power cut. */
static int setup(void **state)
{
    (void)state;
    tn_os_info info;
    bool memory = tn_os_info_at("/dev/shm", true, &info, NULL) == TN_OK && info.kind == TN_OS_FOLDER;
    if (library_setup_in(memory ? "/dev/shm" : NULL) != 0 && (!memory || library_setup_in(NULL) != 0))
        return -1;
    put_models();
    keep_queued();
    undisturbed[0] = '\0';
    complete();
    memcpy(undisturbed, hashes, sizeof hashes);
    return undisturbed[0] != '\0' ? 0 : -1;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, library_teardown)
    const struct CMUnitTest tests[] = {
        TEST(any_allocation_may_fail_while_files_are_hashed_and_verified),
        TEST(any_call_of_the_system_may_fail_while_files_are_hashed_and_verified),
        TEST(any_allocation_may_fail_in_an_import_that_hashes),
        TEST(any_call_of_the_system_may_fail_in_an_import_that_hashes),
    };
    return cmocka_run_group_tests_name("library.hash_faults", tests, NULL, NULL);
}
