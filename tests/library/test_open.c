/* Opening keeps promise 5: what is not ours or not of our time is left as it is, what is ours opens after anything. */
#include "support/library.h"

#include <sqlite3.h>

#include "library/place.h"
#include "os/os_fault.h"

static void put_database(const char *path, unsigned application, int version)
{
    sqlite3 *db = NULL;
    char sql[200];
    snprintf(sql, sizeof sql, "PRAGMA application_id = %u; PRAGMA user_version = %d; CREATE TABLE t (x)", application,
             version);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

typedef struct contents {
    char bytes[65536];
    size_t size;
} contents;

static contents contents_of(const char *path)
{
    contents c = {.size = 0};
    tn_os_file file;
    assert_int_equal(tn_os_open(path, TN_OS_READ, &file, NULL), TN_OK);
    assert_int_equal(tn_os_read(&file, 0, c.bytes, sizeof c.bytes, &c.size, NULL), TN_OK);
    tn_os_close(&file);
    return c;
}

/* Opening it is refused with `expected`, and nothing about the folder or the file has changed. */
static void assert_refused_untouched(tn_status expected)
{
    tn_library *library = NULL;
    tn_error err;
    contents before = contents_of(at("library.db"));
    unsigned names = entries_in(scratch_folder);
    assert_int_equal(tn_library_open(context, at("library.db"), NULL, &library, &err), expected);
    assert_null(library);
    assert_non_null(strstr(err.file, "library.db"));
    contents after = contents_of(at("library.db"));
    assert_int_equal(after.size, before.size);
    assert_memory_equal(after.bytes, before.bytes, before.size);
    assert_int_equal(entries_in(scratch_folder), names);
}

static void a_newer_library_is_refused_untouched(void **state)
{
    (void)state;
    put_database(at("library.db"), TN_APPLICATION_ID, tn_migration_count + 1);
    assert_refused_untouched(TN_NEWER);
}

static void a_database_of_another_program_is_refused_untouched(void **state)
{
    (void)state;
    put_database(at("library.db"), 0x12345678, 1);
    assert_refused_untouched(TN_NOT_A_LIBRARY);
}

static void a_file_that_is_no_database_is_refused_untouched(void **state)
{
    (void)state;
    put_text(at("library.db"), "these are my notes");
    assert_refused_untouched(TN_NOT_A_LIBRARY);
}

static void a_folder_is_no_library(void **state)
{
    (void)state;
    tn_library *library = NULL;
    put_folder(at("library.db"));
    assert_int_equal(tn_library_open(context, at("library.db"), NULL, &library, NULL), TN_NOT_A_LIBRARY);
}

/* https://www.sqlite.org/fileformat2.html 1.3: user_version at 60, application_id at 68, big-endian. */
static void a_new_library_says_what_it_is_in_its_own_first_bytes(void **state)
{
    (void)state;
    tn_library_close(open_library(NULL));
    contents c = contents_of(at("library.db"));
    assert_memory_equal(c.bytes, "SQLite format 3", 16);
    const char version[4] = {0, 0, 0, (char)tn_migration_count};
    assert_memory_equal(c.bytes + 60, version, 4);
    assert_memory_equal(c.bytes + 68, "Tenu", 4);
}

static void it_is_made_with_its_folders(void **state)
{
    (void)state;
    tn_library *library = NULL;
    assert_int_equal(tn_library_open(context, at("a/b/library.db"), NULL, &library, NULL), TN_OK);
    assert_string_equal(tn_library_path(library), spelled("a/b/library.db"));
    tn_library_close(library);
    assert_true(is_there(at("a/b/library.db")));
}

static void an_empty_file_becomes_a_library(void **state)
{
    (void)state;
    put_text(at("library.db"), "");
    tn_library *library = open_library(NULL);
    assert_verified(library);
    tn_library_close(library);
}

static void the_connection_is_set_up_as_promised(void **state)
{
    (void)state;
    tn_library *library = open_library(NULL);
    assert_int_equal(ask(library, "PRAGMA foreign_keys"), 1);
    assert_int_equal(ask(library, "PRAGMA trusted_schema"), 0);
    assert_int_equal(ask(library, "PRAGMA synchronous"), 1);
    assert_int_equal(ask(library, "SELECT journal_mode = 'wal' FROM pragma_journal_mode"), 1);
    assert_int_equal(ask(library, "SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND type = 'table' "
                                  "AND name NOT LIKE 'sqlite_%' AND NOT strict"),
                     0);
    assert_int_not_equal(tn_db_script(&library->db, "PRAGMA writable_schema = ON;"
                                                    "UPDATE sqlite_schema SET sql = 'x' WHERE name = 'roots'", NULL),
                         TN_OK); /* DEFENSIVE */
    tn_library_close(library);
}

/* ---- between versions ---- */

static const tn_migration with_two_more[] = {
    {1, NULL}, /* the product's first, filled in below */
    {2, "CREATE TABLE later (x INTEGER) STRICT;"},
    {3, "INSERT INTO later VALUES (3);"},
};

static void make_version_1(void)
{
    tn_library *library = NULL;
    assert_int_equal(tn_library_open_with(context, at("library.db"), NULL, tn_migrations, 1, &library, NULL), TN_OK);
    tn_library_close(library);
}

static tn_status open_as_version_3(tn_library **out, const char *second, tn_error *err)
{
    tn_migration migrations[3] = {tn_migrations[0], with_two_more[1], with_two_more[2]};
    if (second != NULL)
        migrations[2].sql = second;
    return tn_library_open_with(context, at("library.db"), NULL, migrations, 3, out, err);
}

static void an_older_library_is_copied_and_brought_up_to_date(void **state)
{
    (void)state;
    make_version_1();
    tn_library *library = NULL;
    assert_int_equal(open_as_version_3(&library, NULL, NULL), TN_OK);
    assert_int_equal(ask(library, "SELECT x FROM later"), 3);
    tn_place place;
    assert_int_equal(tn_place_look(at("library.db"), &place, NULL), TN_OK);
    assert_int_equal(place.version, 3); /* in the file itself: the log was emptied */
    assert_int_equal(tn_place_look(at("library.db.bak-v1"), &place, NULL), TN_OK);
    assert_true(place.there);
    assert_int_equal(place.version, 1);
    assert_int_equal(place.application, TN_APPLICATION_ID);
    tn_library_close(library);
    assert_int_equal(tn_library_open_with(context, at("library.db"), NULL, tn_migrations, 1, &library, NULL), TN_NEWER);
}

static void a_step_that_fails_leaves_the_version_before_it(void **state)
{
    (void)state;
    make_version_1();
    tn_library *library = NULL;
    assert_int_not_equal(open_as_version_3(&library, "CREATE TABLE half (x); INSERT INTO nowhere VALUES (1);", NULL),
                         TN_OK);
    tn_place place;
    assert_int_equal(tn_place_look(at("library.db"), &place, NULL), TN_OK);
    assert_int_equal(place.version, 2);
    assert_int_equal(open_as_version_3(&library, NULL, NULL), TN_OK);
    assert_int_equal(ask(library, "SELECT count(*) FROM sqlite_schema WHERE name = 'half'"), 0);
    tn_library_close(library);
}

static void a_new_library_needs_no_copy(void **state)
{
    (void)state;
    tn_library *library = NULL;
    assert_int_equal(open_as_version_3(&library, NULL, NULL), TN_OK);
    tn_library_close(library);
    assert_false(is_there(at("library.db.bak-v0")));
    assert_false(is_there(at("library.db.bak-v1")));
}

/* Rows as the first version wrote them: one model that is there, one that is missing, a root, a file of no model. */
static const char rows_of_version_1[] =
    "INSERT INTO roots VALUES (1, x'2f6d', 5, 6);"
    "INSERT INTO models VALUES (7, 'a', 'lora', 'sdxl', '', 'safetensors', 'identified', 'present', 100, 1, x'2f6d2f61',"
    " zeroblob(32), '', 1, 2, '{\"state\":\"identified\"}');"
    "INSERT INTO models VALUES (8, 'b', '', '', '', 'safetensors', 'unknown', 'missing', 200, 1, x'2f6d2f62', NULL, '', 1, 3,"
    " '{\"state\":\"unknown\"}');"
    "INSERT INTO files VALUES (1, x'2f6d2f61', 100, 9, 1, zeroblob(16), 1, 0, 1, NULL);"
    "INSERT INTO files VALUES (2, x'2f6d2f62', 200, 9, 1, zeroblob(16), 1, 0, 0, NULL);"
    "INSERT INTO files VALUES (3, x'2f6d2f63', 10, 9, 1, zeroblob(16), 1, 0, 1, NULL);"
    "INSERT INTO parts VALUES (7, 1, 0, 1); INSERT INTO parts VALUES (8, 2, 0, 1);"
    "INSERT INTO events VALUES (1, 1, NULL, 7, 'added', '');";

static void the_rows_of_the_first_version_survive_all_steps_to_this_one(void **state)
{
    (void)state;
    tn_library *library = NULL;
    assert_int_equal(tn_library_open_with(context, at("library.db"), NULL, tn_migrations, 1, &library, NULL), TN_OK);
    assert_int_equal(tn_db_script(&library->db, rows_of_version_1, NULL), TN_OK);
    tn_library_close(library);
    library = open_library(NULL);
    assert_verified(library);
    assert_int_equal(ask(library, "PRAGMA user_version"), tn_migration_count);
    assert_int_equal(ask(library, "SELECT count(*) FROM models WHERE id = 7 AND name = 'a' AND base = 'sdxl' AND note = ''"
                                  " AND named = 0 AND set_base IS NULL AND missing_ns = 0 AND unsettled IS NULL"), 1);
    assert_int_equal(ask(library, "SELECT missing_ns FROM models WHERE id = 8"), 3);
    assert_int_equal(ask(library, "SELECT (SELECT count(*) FROM files) + (SELECT count(*) FROM parts) * 10"), 23);
    assert_int_equal(ask(library, "SELECT away_ns = 0 AND device IS NULL AND scanned_ns = 6 FROM roots"), 1);
    assert_int_equal(ask(library, "SELECT model FROM events"), 7);
    tn_library_close(library);
}

/* ---- others beside us ---- */

static void a_library_that_another_holds_is_locked_not_damaged(void **state)
{
    (void)state;
    tn_library_close(open_library(NULL));
    sqlite3 *other = NULL;
    assert_int_equal(sqlite3_open(at("library.db"), &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    tn_library *library = open_library(&(tn_library_options){.size = sizeof(tn_library_options), .busy_timeout_ms = 50});
    put_weights(at("a.safetensors"), 4);
    const char *paths[] = {at("a.safetensors")};
    tn_import_summary *summary = NULL;
    assert_int_equal(tn_library_import(library, paths, 1, NULL, &summary, NULL), TN_LOCKED);
    assert_null(summary);
    assert_int_equal(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(other);
    import_quietly(library, "a.safetensors", NULL);
    tn_library_close(library);
}

static void a_library_held_exclusively_is_locked(void **state)
{
    (void)state;
    tn_library_close(open_library(NULL));
    sqlite3 *other = NULL;
    assert_int_equal(sqlite3_open(at("library.db"), &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; COMMIT", NULL, NULL, NULL),
                     SQLITE_OK);
    tn_library *library = NULL;
    tn_library_options options = {.size = sizeof options, .busy_timeout_ms = 50};
    assert_int_equal(tn_library_open(context, at("library.db"), &options, &library, NULL), TN_LOCKED);
    sqlite3_close(other);
}

static void make_weak(void *user, const char *path, tn_os_info *info)
{
    (void)user;
    (void)path;
    info->weak_identity = true;
}

static void on_a_network_file_system_one_process_has_it_without_a_log_beside_it(void **state)
{
    (void)state;
    tn_os_hooks hooks = {.alter_info = make_weak};
    tn_os_set_hooks(&hooks);
    tn_library *library = open_library(NULL), *second = NULL;
    assert_int_equal(ask(library, "SELECT journal_mode = 'delete' FROM pragma_journal_mode"), 1);
    put_weights(at("a.safetensors"), 4);
    import_quietly(library, "a.safetensors", NULL);
    tn_library_options options = {.size = sizeof options, .busy_timeout_ms = 50};
    assert_int_equal(tn_library_open(context, at("library.db"), &options, &second, NULL), TN_LOCKED);
    assert_false(is_there(at("library.db-wal")));
    tn_library_close(library);
    assert_int_equal(tn_library_open(context, at("library.db"), &options, &second, NULL), TN_OK);
    assert_verified(second);
    tn_library_close(second);
    tn_os_set_hooks(NULL);
}

static void make_scant(void *user, const char *path, tn_os_info *info)
{
    (void)user;
    (void)path;
    info->scant_maps = true;
}

static void where_maps_are_scant_there_is_no_log_and_others_may_open_it_too(void **state)
{
    (void)state;
    tn_library_close(open_library(NULL)); /* with a log: it was made elsewhere, and then carried there */
    tn_os_hooks hooks = {.alter_info = make_scant};
    tn_os_set_hooks(&hooks);
    tn_library *library = open_library(NULL), *second = open_library(NULL);
    assert_int_equal(ask(library, "SELECT journal_mode = 'delete' FROM pragma_journal_mode"), 1);
    put_weights(at("a.safetensors"), 4);
    import_quietly(library, "a.safetensors", NULL);
    assert_int_equal(ask(second, "SELECT count(*) FROM models"), 1);
    assert_false(is_there(at("library.db-wal")) || is_there(at("library.db-shm")));
    tn_library_close(library);
    tn_library_close(second);
    tn_os_set_hooks(NULL);
}

/* ---- read only ---- */

static bool keep_one(void *user, const tn_record *record)
{
    int64_t *id = user;
    *id = record->id;
    return true;
}

static void a_library_opened_to_be_read_lists_and_refuses_to_write(void **state)
{
    (void)state;
    put_weights(at("a.safetensors"), 4);
    tn_library *library = open_library(NULL);
    import_quietly(library, "a.safetensors", NULL);
    tn_library_close(library);
    library = open_library(&(tn_library_options){.size = sizeof(tn_library_options), .read_only = true});
    int64_t id = 0;
    assert_int_equal(tn_library_list(library, 0, keep_one, &id, NULL), TN_OK);
    assert_int_not_equal(id, 0);
    const char *paths[] = {at("a.safetensors")};
    tn_import_summary *summary = NULL;
    assert_int_equal(tn_library_import(library, paths, 1, NULL, &summary, NULL), TN_READ_ONLY);
    tn_library_close(library);
}

static void reading_what_is_not_there_makes_nothing(void **state)
{
    (void)state;
    tn_library *library = NULL;
    tn_library_options options = {.size = sizeof options, .read_only = true};
    assert_int_equal(tn_library_open(context, at("library.db"), &options, &library, NULL), TN_NOT_FOUND);
    assert_false(is_there(at("library.db")));
}

static void a_damaged_page_is_a_damaged_library(void **state)
{
    (void)state;
    tn_library_close(open_library(NULL));
    tn_os_file file;
    char rubbish[4096];
    memset(rubbish, 0x5a, sizeof rubbish);
    assert_int_equal(tn_os_open(at("library.db"), TN_OS_WRITE, &file, NULL), TN_OK);
    for (uint64_t page = 1; page < 12; page++)
        assert_int_equal(tn_os_write(&file, page * 4096, rubbish, sizeof rubbish, NULL), TN_OK);
    tn_os_close(&file);
    tn_library *library = NULL;
    tn_status status = tn_library_open(context, at("library.db"), NULL, &library, NULL);
    if (status == TN_OK)
        status = tn_library_verify_internal(library, NULL);
    assert_int_equal(status, TN_LIBRARY_DAMAGED);
    tn_library_close(library);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, library_setup, library_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_newer_library_is_refused_untouched),
        TEST(a_database_of_another_program_is_refused_untouched),
        TEST(a_file_that_is_no_database_is_refused_untouched),
        TEST(a_folder_is_no_library),
        TEST(a_new_library_says_what_it_is_in_its_own_first_bytes),
        TEST(it_is_made_with_its_folders),
        TEST(an_empty_file_becomes_a_library),
        TEST(the_connection_is_set_up_as_promised),
        TEST(an_older_library_is_copied_and_brought_up_to_date),
        TEST(a_step_that_fails_leaves_the_version_before_it),
        TEST(the_rows_of_the_first_version_survive_all_steps_to_this_one),
        TEST(a_new_library_needs_no_copy),
        TEST(a_library_that_another_holds_is_locked_not_damaged),
        TEST(a_library_held_exclusively_is_locked),
        TEST(on_a_network_file_system_one_process_has_it_without_a_log_beside_it),
        TEST(where_maps_are_scant_there_is_no_log_and_others_may_open_it_too),
        TEST(a_library_opened_to_be_read_lists_and_refuses_to_write),
        TEST(reading_what_is_not_there_makes_nothing),
        TEST(a_damaged_page_is_a_damaged_library),
    };
    return cmocka_run_group_tests_name("library.open", tests, NULL, NULL);
}
