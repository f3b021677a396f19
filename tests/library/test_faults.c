/* Fault loops: the first, second, ... allocation of ours, of SQLite's, and call of the system (ours and SQLite's) fails,
 * once and for good, until a run passes untouched. Each time the answer is a status, nothing leaks, and the library
 * opens, is sound, and an import without faults completes it (promise 5). What is begun with, a library without a record, is a copy of one
 * that was made once; only the loops over making one make it anew. */
#include "support/library_faults.h"
#include "support/library_vfs.h"

#define MODELS 4

static int failing_vfs(void *user, const vfs_call *call)
{
    const kind *what = user;
    bool writes = call->operation == VFS_WRITE, reads = call->operation == VFS_READ;
    bool counted = *what == SQLITE_SPACE ? writes : *what == SQLITE_READS ? reads : !reads;
    if (!counted || !must_fail())
        return SQLITE_OK;
    if (*what != SQLITE_SPACE)
        return vfs_failure(call->operation);
    *call->write_first = call->size / 2;
    return SQLITE_FULL;
}

/* ---- the library before a run ---- */

static library_bytes fresh; /* a library without a record */

/* ---- what is done under faults ---- */

static bool see(void *user, const tn_record *record)
{
    (void)user;
    return record->json.size > 0;
}

/* Open, import, list, close: as a command does. */
static void import_work(tn_context *own)
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

static void make_work(tn_context *own)
{
    tn_library *library = NULL;
    tn_status status = tn_library_open(own, at("library.db"), NULL, &library, NULL);
    assert_true((status == TN_OK) == (library != NULL));
    tn_library_close(library);
}

static void with_any_fault(kind what, void (*work)(tn_context *own))
{
    const vfs_hooks hooks = {.before = failing_vfs, .user = &what};
    if (what >= SQLITE_DISK)
        vfs_set_hooks(&hooks);
    with_fault(what, work);
    vfs_set_hooks(NULL);
}

/* ---- what is left behind ---- */

/* Wine shows /proc too, but what is open there is Wine's own. */
static unsigned open_files(void)
{
#ifdef _WIN32
    return 0;
#else
    return is_there("/proc/self/fd") ? entries_in("/proc/self/fd") : 0;
#endif
}

/* Everything that was recorded of models and files, as one text, and the same after an import that nothing disturbed. */
static char records[65536], undisturbed[65536];

static void read_records(tn_library *library)
{
    static const char sql[] =
        "SELECT group_concat(row, char(10)) FROM (SELECT printf('%s %s %s %s %s %s %s %d %d %d %s', path, presence, "
        "state, type, base, variant, container, size_bytes, part_count, sample IS NULL, answer) AS row, path FROM models "
        "UNION SELECT printf('%s %d %d %d %s %d %d %d %s', path, size, mtime_ns, device, hex(file_id), links, weak, "
        "present, hex(members)), path FROM files ORDER BY path)";
    sqlite3_stmt *stmt = NULL;
    assert_int_equal(sqlite3_prepare_v2(library->db.handle, sql, -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    int size = snprintf(records, sizeof records, "%s", (const char *)sqlite3_column_text(stmt, 0));
    assert_in_range(size, 1, sizeof records - 1);
    sqlite3_finalize(stmt);
}

static void keep_undisturbed(void)
{
    tn_library *library = open_library(NULL);
    import_quietly(library, "m", NULL);
    read_records(library);
    memcpy(undisturbed, records, sizeof records);
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), MODELS);
    assert_int_equal(ask(library, "SELECT count(*) FROM models WHERE sample IS NULL"), 0);
    assert_int_equal(ask(library, "SELECT count(*) FROM models WHERE state = 'unreadable'"), 0);
    assert_int_equal(ask(library, "SELECT part_count FROM models WHERE name = 'set'"), 2);
    tn_library_close(library);
}

/* It completes to the same library, whatever failed. */
static void check_import(void)
{
    tn_library *library = open_library(NULL);
    assert_verified(library);
    import_quietly(library, "m", NULL);
    import_quietly(library, "m", NULL); /* what could not be read for lack of memory is tried again */
    assert_verified(library);
    read_records(library);
    assert_string_equal(records, undisturbed);
    assert_int_equal(ask(library, "SELECT count(*) FROM jobs WHERE state NOT IN ('done', 'failed')"), 0);
    tn_library_close(library);
}

static void import_with_fault(void *user)
{
    const kind *what = user;
    library_put_back(&fresh);
    with_any_fault(*what, import_work);
    check_import();
}

static void make_with_fault(void *user)
{
    const kind *what = user;
    library_remove("library.db");
    with_any_fault(*what, make_work);
    tn_library *library = open_library(NULL);
    assert_verified(library);
    tn_library_close(library);
}

static void loop(const char *said, kind what, void (*run)(void *user))
{
    unsigned before = open_files();
    fault_loop(said, what, run);
    assert_int_equal(open_files(), before);
}

static void any_allocation_may_fail_while_a_library_is_made(void **state)
{
    (void)state;
    loop("allocations while a library is made", OUR_MEMORY, make_with_fault);
}

static void any_call_of_the_system_may_fail_while_a_library_is_made(void **state)
{
    (void)state;
    loop("calls of the system while a library is made", SYSTEM_CALLS, make_with_fault);
}

static void any_allocation_may_fail_during_an_import(void **state)
{
    (void)state;
    loop("allocations of an import", OUR_MEMORY, import_with_fault);
}

static void any_call_of_the_system_may_fail_during_an_import(void **state)
{
    (void)state;
    loop("calls of the system of an import", SYSTEM_CALLS, import_with_fault);
}

static void sqlite_loop(const char *said, kind what, void (*run)(void *user))
{
    if (fault_stride() < 7)
        loop(said, what, run);
    else /* Windows */
        each_fault(said, true, run, &what);
}

static void any_call_of_sqlite_may_fail_while_a_library_is_made(void **state)
{
    (void)state;
    sqlite_loop("SQLite's changes of the disk while a library is made", SQLITE_DISK, make_with_fault);
    sqlite_loop("SQLite's reads while a library is made", SQLITE_READS, make_with_fault);
    sqlite_loop("SQLite's writes to a full disk while a library is made", SQLITE_SPACE, make_with_fault);
}

static void any_call_of_sqlite_may_fail_during_an_import(void **state)
{
    (void)state;
    sqlite_loop("SQLite's changes of the disk during an import", SQLITE_DISK, import_with_fault);
    sqlite_loop("SQLite's reads during an import", SQLITE_READS, import_with_fault);
    sqlite_loop("SQLite's writes to a full disk during an import", SQLITE_SPACE, import_with_fault);
}

/* SQLite's own tests go through all of its allocations; here some show that a failure arrives as a status. */
static void sqlite_may_run_out_of_memory(void **state)
{
    (void)state;
    kind what = SQLITE_MEMORY;
    const uint64_t stride = fault_stride();
    for (uint64_t n = 1; n < 4000; n += stride * (n < 200 ? 7 : 131)) {
        faults = (struct faults){0, n, n % 2 == 0};
        import_with_fault(&what);
    }
}

/* ---- the models ---- */

/* Every kind of thing an import records: a sound file, a damaged one, a set of two shards, a folder. And one that it
 * does not. */
static void put_models(void)
{
    put_folder(at("m/p"));
    put_weights(at("m/a.safetensors"), 4);
    put_short_weights(at("m/short.safetensors"), 50, 10);
    put_tensor(at("m/set-00001-of-00002.safetensors"), "v", 6, 0);
    put_tensor(at("m/set-00002-of-00002.safetensors"), "w", 6, 0);
    put_text(at("m/set.safetensors.index.json"),
             "{\"metadata\":{\"total_size\":96},\"weight_map\":{\"v\":\"set-00001-of-00002.safetensors\","
             "\"w\":\"set-00002-of-00002.safetensors\"}}");
    put_text(at("m/p/config.json"), "{\"_class_name\":\"AutoencoderKL\"}");
    put_weights(at("m/p/diffusion_pytorch_model.safetensors"), 7);
    put_text(at("m/other.bin"), "not a model");
}

static int setup(void **state)
{
    (void)state;
    if (library_setup_in_memory() != 0)
        return -1;
    put_models();
    tn_library_close(open_library(NULL));
    library_keep(&fresh);
    keep_undisturbed();
    return 0;
}

int main(void)
{
    if (!sqlite_memory_may_fail() || vfs_install() != SQLITE_OK)
        return 1;
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, library_teardown)
    const struct CMUnitTest tests[] = {
        TEST(any_allocation_may_fail_while_a_library_is_made),
        TEST(any_call_of_the_system_may_fail_while_a_library_is_made),
        TEST(any_allocation_may_fail_during_an_import),
        TEST(any_call_of_the_system_may_fail_during_an_import),
        TEST(any_call_of_sqlite_may_fail_while_a_library_is_made),
        TEST(any_call_of_sqlite_may_fail_during_an_import),
        TEST(sqlite_may_run_out_of_memory),
    };
    return cmocka_run_group_tests_name("library.faults", tests, NULL, NULL);
}
