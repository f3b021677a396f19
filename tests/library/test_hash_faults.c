/* Fault loops over hashing and verifying: the first, second, ... allocation and call of the system fails, once and for
 * good. Each time the answer is a status, nothing leaks, no wrong hash is recorded, and a run without faults completes
 * the library to the same hashes. */
#include "support/library_faults.h"

/* ---- the library before a run: two models, and a hash job that is queued ---- */

static library_bytes queued;

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
    tn_library *library = open_library(NULL);
    import_queueing(library);
    assert_int_equal(ask(library, "SELECT count(*) FROM job_items"), 4);
    tn_library_close(library);
    library_keep(&queued);
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

static void run_with_fault(void *user)
{
    library_put_back(&queued);
    with_fault(*(const kind *)user, hash_and_verify);
    complete();
}

static void import_with_fault(void *user)
{
    library_put_back(&queued);
    with_fault(*(const kind *)user, import_and_hash);
    complete();
}

static void any_allocation_may_fail_while_files_are_hashed_and_verified(void **state)
{
    (void)state;
    fault_loop("allocations of a hash job and a verify", OUR_MEMORY, run_with_fault);
}

static void any_call_of_the_system_may_fail_while_files_are_hashed_and_verified(void **state)
{
    (void)state;
    fault_loop("calls of the system of a hash job and a verify", SYSTEM_CALLS, run_with_fault);
}

static void any_allocation_may_fail_in_an_import_that_hashes(void **state)
{
    (void)state;
    fault_loop("allocations of an import that hashes", OUR_MEMORY, import_with_fault);
}

static void any_call_of_the_system_may_fail_in_an_import_that_hashes(void **state)
{
    (void)state;
    fault_loop("calls of the system of an import that hashes", SYSTEM_CALLS, import_with_fault);
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

static int setup(void **state)
{
    (void)state;
    if (library_setup_in_memory() != 0)
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
