/* list and show give the object of the interface: the answer's fields and those of the record, as they are now. */
#include "support/library.h"

static tn_library *library;

static int setup(void **state)
{
    if (library_setup(state) != 0)
        return -1;
    library = open_library(NULL);
    put_folder(at("m"));
    put_folder(at("n"));
    return 0;
}

static int teardown(void **state)
{
    tn_library_close(library);
    return library_teardown(state);
}

typedef struct kept {
    size_t count, stop_after;
    int64_t ids[64];
    char json[16384], name[256];
    tn_state state;
    uint64_t size_bytes;
} kept;

static bool keep(void *user, const tn_record *record)
{
    kept *k = user;
    if (k->count < 64)
        k->ids[k->count] = record->id;
    k->count++;
    snprintf(k->json, sizeof k->json, "%s", record->json.bytes);
    snprintf(k->name, sizeof k->name, "%s", record->name.bytes);
    k->state = record->state;
    k->size_bytes = record->size_bytes;
    return k->stop_after == 0 || k->count < k->stop_after;
}

static kept list(uint64_t limit, size_t stop_after)
{
    kept k = {.stop_after = stop_after};
    assert_int_equal(tn_library_list(library, limit, keep, &k, NULL), TN_OK);
    return k;
}

/* What SQLite's JSON functions, a peer, find at a path of the object. */
static int64_t holds(const kept *k, const char *path, const char *expected)
{
    char sql[512];
    int64_t value = -1;
    sqlite3_stmt *stmt = NULL;
    snprintf(sql, sizeof sql, "SELECT json_extract(?1, '%s') IS %s", path, expected);
    assert_int_equal(sqlite3_prepare_v2(library->db.handle, sql, -1, &stmt, NULL), SQLITE_OK);
    sqlite3_bind_text(stmt, 1, k->json, -1, SQLITE_STATIC);
    if (sqlite3_step(stmt) == SQLITE_ROW)
        value = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return value;
}

static void a_record_has_the_fields_of_the_interface(void **state)
{
    (void)state;
    char path[1024];
    put_weights(at("m/a.safetensors"), 4);
    import_quietly(library, "m", NULL);
    kept k = list(0, 0);
    assert_int_equal(k.count, 1);
    assert_string_equal(k.name, "a");
    assert_true(holds(&k, "$.id", "1"));
    assert_true(holds(&k, "$.name", "'a'"));
    snprintf(path, sizeof path, "'%s'", spelled("m/a.safetensors"));
    assert_true(holds(&k, "$.path", path));
    assert_true(holds(&k, "$.presence", "'present'"));
    assert_true(holds(&k, "$.container", "'safetensors'"));
    assert_true(holds(&k, "$.tensors", "1"));
    assert_true(holds(&k, "$.tags", "json('[]')"));
    assert_true(holds(&k, "$.note", "NULL"));
    assert_true(holds(&k, "$.hashes", "json('{}')"));
    assert_true(holds(&k, "$.paths", "NULL")); /* only where there are several */
    assert_int_equal(ask(library, "SELECT datetime('now') >= datetime(added_ns / 1000000000, 'unixepoch') FROM models"), 1);
    char added[64];
    int64_t ns = ask(library, "SELECT added_ns FROM models");
    snprintf(added, sizeof added, "strftime('%%Y-%%m-%%dT%%H:%%M:%%SZ', %lld, 'unixepoch')", (long long)(ns / 1000000000));
    assert_true(holds(&k, "$.added", added));
}

static void quotes_and_line_ends_in_a_name_are_told_whole(void **state)
{
    (void)state;
    tn_os_file file = {0};
    const char *name = at("m/a \"quoted\"\nname.safetensors");
    if (tn_os_open(name, TN_OS_WRITE | TN_OS_CREATE, &file, NULL) == TN_BAD_PATH) {
        print_message("skipped: this system has no such names\n");
        skip();
    }
    tn_os_close(&file);
    put_weights(name, 4);
    import_quietly(library, "m", NULL);
    kept k = list(0, 0);
    assert_string_equal(k.name, "a \"quoted\"\nname");
    assert_true(holds(&k, "$.name", "'a \"quoted\"' || char(10) || 'name'"));
}

static void each_key_stands_once(void **state)
{
    (void)state;
    put_weights(at("m/a.safetensors"), 4);
    import_quietly(library, "m", NULL);
    kept k = list(0, 0);
    char sql[17000];
    snprintf(sql, sizeof sql, "SELECT count(*) - count(DISTINCT key) FROM json_each('%s')", k.json);
    assert_int_equal(ask(library, sql), 0);
}

static void presence_is_that_of_now(void **state)
{
    (void)state;
    put_weights(at("m/a.safetensors"), 4);
    import_quietly(library, "m", NULL);
    assert_int_equal(tn_os_remove(at("m/a.safetensors"), NULL), TN_OK);
    import_quietly(library, "m", NULL);
    kept k = list(0, 0);
    assert_int_equal(k.count, 1);
    assert_true(holds(&k, "$.presence", "'missing'"));
}

static void limits_and_a_callback_that_has_enough_end_the_list(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 5; i++) {
        char name[32];
        snprintf(name, sizeof name, "m/%u.safetensors", i);
        put_weights(at(name), 4 + i);
    }
    import_quietly(library, "m", NULL);
    assert_int_equal(list(0, 0).count, 5);
    assert_int_equal(list(3, 0).count, 3);
    assert_int_equal(list(0, 2).count, 2);
    assert_string_equal(list(1, 0).name, "0"); /* in the order of base, type, name */
}

static bool show_inside(void *user, const tn_record *record)
{
    (void)record;
    kept k = {.count = 0};
    *(tn_status *)user = tn_library_show(library, "a", keep, &k, NULL);
    return true;
}

static void a_callback_may_use_the_library(void **state)
{
    (void)state;
    tn_status inner = TN_INTERNAL;
    put_weights(at("m/a.safetensors"), 4);
    import_quietly(library, "m", NULL);
    assert_int_equal(tn_library_list(library, 0, show_inside, &inner, NULL), TN_OK);
    assert_int_equal(inner, TN_OK);
}

static void one_is_shown_by_id_path_or_unique_name(void **state)
{
    (void)state;
    kept k = {.count = 0};
    tn_error err;
    put_weights(at("m/a.safetensors"), 4);
    put_weights(at("n/a.safetensors"), 5);
    put_weights(at("n/b.safetensors"), 6);
    import_quietly(library, "m", NULL);
    import_quietly(library, "n", NULL);
    assert_int_equal(tn_library_show(library, "1", keep, &k, NULL), TN_OK);
    assert_int_equal(tn_library_show(library, at("n/a.safetensors"), keep, &k, NULL), TN_OK);
    assert_int_equal(tn_library_show(library, "b", keep, &k, NULL), TN_OK);
    assert_int_equal(k.count, 3);
    assert_string_equal(k.name, "b");
    assert_int_equal(tn_library_show(library, "a", keep, &k, NULL), TN_AMBIGUOUS_NAME);
    assert_int_equal(tn_library_show(library, "c", keep, &k, &err), TN_NOT_FOUND);
    assert_non_null(strstr(err.message, "\"c\""));
    assert_int_equal(tn_library_show(library, "", keep, &k, NULL), TN_NOT_FOUND);
    assert_int_equal(tn_library_show(library, "99999999999999999999", keep, &k, NULL), TN_NOT_FOUND);
    assert_int_equal(k.count, 3);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_record_has_the_fields_of_the_interface),
        TEST(quotes_and_line_ends_in_a_name_are_told_whole),
        TEST(each_key_stands_once),
        TEST(presence_is_that_of_now),
        TEST(limits_and_a_callback_that_has_enough_end_the_list),
        TEST(a_callback_may_use_the_library),
        TEST(one_is_shown_by_id_path_or_unique_name),
    };
    return cmocka_run_group_tests_name("library.list", tests, NULL, NULL);
}
