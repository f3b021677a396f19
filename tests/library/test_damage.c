/* A library that was hurt, was left half made, or lies where nothing may be written (promise 5): it opens or is refused
 * with a word, what is readable is read, and nothing of anybody's is removed. */
#include "support/library.h"

#include <sqlite3.h>

#include "library/place.h"
#include "support/faults.h"

#define MODELS 20

static void put_models(void)
{
    put_folder(at("m"));
    for (unsigned i = 0; i < MODELS; i++) {
        char name[64];
        snprintf(name, sizeof name, "m/m%02u.safetensors", i);
        put_weights(at(name), 10 + i);
    }
}

static void make_full_library(void)
{
    put_models();
    tn_library *library = open_library(NULL);
    import_quietly(library, "m", NULL);
    tn_library_close(library);
}

typedef struct bytes {
    char *bytes;
    size_t size;
} bytes;

static bytes bytes_of(const char *path)
{
    bytes b = {malloc(1 << 22), 0};
    tn_os_file file;
    assert_non_null(b.bytes);
    assert_int_equal(tn_os_open(path, TN_OS_READ, &file, NULL), TN_OK);
    assert_int_equal(tn_os_read(&file, 0, b.bytes, 1 << 22, &b.size, NULL), TN_OK);
    tn_os_close(&file);
    assert_in_range(b.size, 0, (1 << 22) - 1);
    return b;
}

static void remove_all_of_library(void)
{
    static const char *const names[] = {"library.db", "library.db-wal", "library.db-shm", "library.db-journal"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        tn_os_remove(at(names[i]), NULL);
}

/* ---- left behind by a process that died ---- */

static const char *const leftovers[] = {
    "library.db.new-0123456789abcdef",     "library.db.new-0123456789abcdef-journal",
    "library.db.new-fedcba9876543210-wal", "library.db.bak-v1.01234567",
    "library.db.bak-v12.89abcdef-journal",
};
static const char *const of_others[] = {
    "library.db.new-0123456789abcde",  "library.db.new-0123456789abcdef.txt", "library.db.new-notes",
    "library.db.bak-v1",               "library.db.bak-v1.old",               "other.db.new-0123456789abcdef",
    "library.db.bak-v1.01234567.copy", "library.db.bak-vx.01234567",
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void put_leftovers(void)
{
    for (size_t i = 0; i < COUNT(leftovers); i++)
        put_text(at(leftovers[i]), "half a library");
    for (size_t i = 0; i < COUNT(of_others); i++)
        put_text(at(of_others[i]), "somebody's");
}

static unsigned there_of(const char *const *names, size_t count)
{
    unsigned there = 0;
    for (size_t i = 0; i < count; i++)
        there += is_there(at(names[i]));
    return there;
}

static void what_a_killed_making_left_is_removed_and_nothing_else(void **state)
{
    (void)state;
    put_leftovers();
    tn_library_close(open_library(NULL));
    assert_int_equal(there_of(leftovers, COUNT(leftovers)), 0);
    assert_int_equal(there_of(of_others, COUNT(of_others)), COUNT(of_others));
}

static void make_version_1(const char *sql)
{
    tn_library *library = NULL;
    assert_int_equal(tn_library_open_with(context, at("library.db"), NULL, tn_migrations, 1, &library, NULL), TN_OK);
    if (sql != NULL)
        assert_int_equal(tn_db_script(&library->db, sql, NULL), TN_OK);
    tn_library_close(library);
}

static void what_a_killed_migration_left_is_removed_by_the_next(void **state)
{
    (void)state;
    make_version_1(NULL);
    put_leftovers();
    tn_library_close(open_library(NULL));
    assert_int_equal(there_of(leftovers, COUNT(leftovers)), 0);
    assert_int_equal(there_of(of_others, COUNT(of_others)), COUNT(of_others));
}

/* A file system without locks: who knows whether somebody is at it? */
static tn_status no_locks(void *user, const tn_os_call *call)
{
    (void)user;
    return call->operation == TN_OP_LOCK ? TN_UNAVAILABLE : TN_OK;
}

static void without_locks_nothing_is_made_and_nothing_removed(void **state)
{
    (void)state;
    tn_library *library = NULL;
    tn_error err;
    put_leftovers();
    tn_os_hooks hooks = {.before = no_locks};
    tn_os_set_hooks(&hooks);
    assert_int_equal(tn_library_open(context, at("library.db"), NULL, &library, &err), TN_UNAVAILABLE);
    tn_os_set_hooks(NULL);
    assert_non_null(strstr(err.message, "no locks"));
    assert_false(is_there(at("library.db")));
    assert_int_equal(there_of(leftovers, COUNT(leftovers)), COUNT(leftovers));
}

static void a_library_that_another_makes_is_waited_for_and_then_locked(void **state)
{
    (void)state;
    tn_os_file other;
    tn_library *library = NULL;
    tn_error err;
    tn_library_options options = {.size = sizeof options, .busy_timeout_ms = 50};
    assert_int_equal(tn_os_open(at("library.db-lock"), TN_OS_WRITE | TN_OS_CREATE, &other, NULL), TN_OK);
    assert_int_equal(tn_os_lock(&other, 0, NULL), TN_OK);
    assert_int_equal(tn_library_open(context, at("library.db"), &options, &library, &err), TN_LOCKED);
    assert_non_null(strstr(err.message, "another program"));
    assert_false(is_there(at("library.db")));
    tn_os_close(&other);
    assert_int_equal(tn_library_open(context, at("library.db"), &options, &library, NULL), TN_OK);
    tn_library_close(library);
}

/* ---- a log whose library is gone ---- */

/* Somebody removed library.db alone, after a kill. SQLite would put what stands in the log into the new library. */
static void a_log_without_its_library_is_set_aside(void **state)
{
    (void)state;
    put_models();
    tn_library *library = open_library(NULL);
    import_quietly(library, "m", NULL);
    bytes log = bytes_of(at("library.db-wal"));
    assert_true(log.size > 4096);
    tn_library_close(library);
    remove_all_of_library();
    put_file(at("library.db-wal"), log.bytes, log.size);
    library = open_library(NULL);
    assert_verified(library);
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), 0);
    import_quietly(library, "m", NULL);
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), MODELS);
    assert_verified(library);
    tn_library_close(library);
    unsigned kept = 0;
    tn_os_folder *folder;
    tn_os_entry entry;
    bool more;
    assert_int_equal(tn_os_folder_open(&scratch_memory, scratch_folder, &folder, NULL), TN_OK);
    while (tn_os_folder_next(folder, &entry, &more, NULL) == TN_OK && more)
        kept += strncmp(entry.name, "library.db-wal.lost-", 20) == 0;
    tn_os_folder_close(folder);
    assert_int_equal(kept, 1);
    free(log.bytes);
}

/* ---- a log cut short, a page that is rubbish ---- */

/* What was committed before the cut is there, whole; the import completes it. */
static void a_log_cut_anywhere_loses_only_what_stood_behind(void **state)
{
    (void)state;
    put_models();
    tn_library *library = open_library(NULL);
    import_quietly(library, "m", NULL);
    bytes db = bytes_of(at("library.db")), log = bytes_of(at("library.db-wal"));
    tn_library_close(library);
    size_t step = log.size / 40 * fault_stride() + 1;
    for (size_t size = 0; size <= log.size; size += step) {
        remove_all_of_library();
        put_file(at("library.db"), db.bytes, db.size);
        put_file(at("library.db-wal"), log.bytes, size);
        library = open_library(NULL);
        assert_verified(library);
        import_quietly(library, "m", NULL);
        assert_int_equal(ask(library, "SELECT count(*) FROM models WHERE presence = 'present'"), MODELS);
        assert_verified(library);
        tn_library_close(library);
    }
    free(db.bytes);
    free(log.bytes);
}

static bool see(void *user, const tn_record *record)
{
    (void)user;
    return record->json.size > 0;
}

/* Open, look, write: each with a status. Whether anything was told as damage. */
static bool use_damaged(void)
{
    tn_library *library = NULL;
    tn_import_summary *summary = NULL;
    const char *paths[] = {at("m")};
    tn_status opened = tn_library_open(context, at("library.db"), NULL, &library, NULL);
    if (opened != TN_OK)
        return opened == TN_LIBRARY_DAMAGED || opened == TN_NOT_A_LIBRARY;
    tn_status verified = tn_library_verify_internal(library, NULL);
    tn_status listed = tn_library_list(library, NULL, see, NULL, NULL);
    tn_status imported = tn_library_import(library, paths, 1, NULL, &summary, NULL);
    assert_true((imported == TN_OK) == (summary != NULL));
    tn_import_summary_destroy(summary);
    assert_true(verified == TN_OK || verified == TN_LIBRARY_DAMAGED);
    tn_library_close(library);
    return verified != TN_OK || listed != TN_OK || imported != TN_OK;
}

/* Page by page. Nearly each holds something; a page that is free may be rubbish. */
static void any_page_may_be_rubbish(void **state)
{
    (void)state;
    make_full_library();
    bytes db = bytes_of(at("library.db"));
    const size_t page = 4096;
    size_t found = 0, tried = 0, count = db.size / page;
    for (size_t i = 0; i < count; i += fault_stride()) {
        remove_all_of_library();
        put_file(at("library.db"), db.bytes, db.size);
        char rubbish[4096];
        memset(rubbish, 0x5a, sizeof rubbish);
        tn_os_file file;
        assert_int_equal(tn_os_open(at("library.db"), TN_OS_WRITE, &file, NULL), TN_OK);
        assert_int_equal(tn_os_write(&file, i * page, rubbish, page, NULL), TN_OK);
        tn_os_close(&file);
        found += use_damaged();
        tried++;
    }
    print_message("%u of %u pages were rubbish, %u told as damaged\n", (unsigned)tried, (unsigned)count, (unsigned)found);
    assert_true(found >= tried * 9 / 10);
    free(db.bytes);
}

/* A library that ends too early: by a page or more, which is always told; or within its last page, which may have ended in
 * zeros. */
static void a_library_cut_short_is_damaged_and_said_so(void **state)
{
    (void)state;
    make_full_library();
    bytes db = bytes_of(at("library.db"));
    for (size_t size = 1; size < db.size; size += db.size / 20 * fault_stride()) {
        remove_all_of_library();
        put_file(at("library.db"), db.bytes, size);
        if (!use_damaged() && size + 4096 <= db.size)
            fail_msg("%u bytes of %u are not told as damaged", (unsigned)size, (unsigned)db.size);
    }
    free(db.bytes);
}

/* ---- an older library where nothing may be written ---- */

static const char one_model[] =
    "INSERT INTO models (id, name, type, base, variant, container, state, presence, size_bytes, part_count, path, message,"
    " added_ns, updated_ns, answer) VALUES (1, 'old', 'lora', 'sdxl', '', 'safetensors', 'identified', 'missing', 9, 1,"
    " CAST('/gone/old' AS BLOB), '', 1, 1, '{\"v\":1,\"path\":\"/gone/old\",\"presence\":\"missing\"}');"
    "INSERT INTO files (id, path, size, mtime_ns, device, file_id, links, weak, present)"
    " VALUES (1, CAST('/gone/old' AS BLOB), 9, 1, 1, zeroblob(16), 1, 0, 0);"
    "INSERT INTO parts (model, file, position, entry) VALUES (1, 1, 0, 1);";

static bool count_old(void *user, const tn_record *record)
{
    unsigned *count = user;
    *count += record->id == 1 && strcmp(record->name.bytes, "old") == 0;
    return true;
}

static void an_older_library_is_read_from_a_copy_brought_up_to_date(void **state)
{
    (void)state;
    make_version_1(one_model);
    bytes before = bytes_of(at("library.db"));
    unsigned names = entries_in(scratch_folder), records = 0;
    tn_library *library = open_library(&(tn_library_options){.size = sizeof(tn_library_options), .read_only = true});
    assert_int_equal(ask(library, "PRAGMA user_version"), tn_migration_count);
    assert_int_equal(tn_library_list(library, NULL, count_old, &records, NULL), TN_OK);
    assert_int_equal(records, 1);
    put_models();
    const char *paths[] = {at("m")};
    tn_import_summary *summary = NULL;
    assert_int_equal(tn_library_import(library, paths, 1, NULL, &summary, NULL), TN_READ_ONLY);
    char copy[4096];
    snprintf(copy, sizeof copy, "%s", library->snapshot.bytes);
    assert_true(is_there(copy));
    assert_string_equal(tn_library_path(library), spelled("library.db"));
    tn_library_close(library);
    assert_false(is_there(copy));
    bytes after = bytes_of(at("library.db"));
    assert_int_equal(after.size, before.size);
    assert_memory_equal(after.bytes, before.bytes, before.size);
    assert_false(is_there(at("library.db.bak-v1")));
    assert_in_range(entries_in(scratch_folder), names, names + 3); /* "m", and SQLite's -wal and -shm */
    free(before.bytes);
    free(after.bytes);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, library_setup, library_teardown)
    const struct CMUnitTest tests[] = {
        TEST(what_a_killed_making_left_is_removed_and_nothing_else),
        TEST(what_a_killed_migration_left_is_removed_by_the_next),
        TEST(without_locks_nothing_is_made_and_nothing_removed),
        TEST(a_library_that_another_makes_is_waited_for_and_then_locked),
        TEST(a_log_without_its_library_is_set_aside),
        TEST(a_log_cut_anywhere_loses_only_what_stood_behind),
        TEST(any_page_may_be_rubbish),
        TEST(a_library_cut_short_is_damaged_and_said_so),
        TEST(an_older_library_is_read_from_a_copy_brought_up_to_date),
    };
    return cmocka_run_group_tests_name("library.damage", tests, NULL, NULL);
}
