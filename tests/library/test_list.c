/* list and show give the object of the interface: the answer's fields and those of the record, as they are now. */
#include "support/library_records.h"
#include "support/library_open.h"

static int setup(void **state)
{
    if (open_setup(state) != 0)
        return -1;
    put_folder(at("m"));
    put_folder(at("n"));
    return 0;
}

static kept list(uint64_t limit, size_t stop_after)
{
    kept k = {.stop_after = stop_after};
    tn_list_options options = {.size = sizeof options, .limit = limit};
    assert_int_equal(tn_library_list(library, &options, keep, &k, NULL), TN_OK);
    return k;
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
    assert_true(holds(library, &k, "$.id", "1"));
    assert_true(holds(library, &k, "$.name", "'a'"));
    snprintf(path, sizeof path, "'%s'", spelled("m/a.safetensors"));
    assert_true(holds(library, &k, "$.path", path));
    assert_true(holds(library, &k, "$.presence", "'present'"));
    assert_true(holds(library, &k, "$.container", "'safetensors'"));
    assert_true(holds(library, &k, "$.tensors", "1"));
    assert_true(holds(library, &k, "$.tags", "json('[]')"));
    assert_true(holds(library, &k, "$.note", "NULL"));
    assert_true(holds(library, &k, "$.hashes", "json('{}')"));
    assert_true(holds(library, &k, "$.paths", "NULL")); /* only where there are several */
    assert_int_equal(ask(library, "SELECT datetime('now') >= datetime(added_ns / 1000000000, 'unixepoch') FROM models"), 1);
    char added[64];
    int64_t ns = ask(library, "SELECT added_ns FROM models");
    snprintf(added, sizeof added, "strftime('%%Y-%%m-%%dT%%H:%%M:%%SZ', %lld, 'unixepoch')", (long long)(ns / 1000000000));
    assert_true(holds(library, &k, "$.added", added));
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
    assert_true(holds(library, &k, "$.name", "'a \"quoted\"' || char(10) || 'name'"));
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
    assert_true(holds(library, &k, "$.presence", "'missing'"));
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

static void filters_narrow_the_list(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        char name[32];
        snprintf(name, sizeof name, "m/%u.safetensors", i);
        put_weights(at(name), 4 + i);
    }
    import_quietly(library, "m", NULL);
    change(library, "UPDATE models SET base = 'sdxl', type = 'lora' WHERE id = 2; UPDATE models SET base = 'flux', type = "
                    "'main', state = 'damaged' WHERE id = 3; UPDATE models SET presence = 'missing' WHERE id = 4;"
                    "INSERT INTO tags VALUES (2, 'Old')");
    const struct {
        tn_list_options options;
        int64_t id;
    } cases[] = {
        {{.size = sizeof(tn_list_options), .type = "lora"}, 2}, {{.size = sizeof(tn_list_options), .base = "flux"}, 3},
        {{.size = sizeof(tn_list_options), .state = "damaged"}, 3}, {{.size = sizeof(tn_list_options), .tag = "oLD"}, 2},
        {{.size = sizeof(tn_list_options), .presence = "missing"}, 4},
        {{.size = sizeof(tn_list_options), .base = "flux", .type = "lora"}, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kept k = {.count = 0};
        assert_int_equal(tn_library_list(library, &cases[i].options, keep, &k, NULL), TN_OK);
        assert_int_equal(k.count, cases[i].id != 0);
        assert_int_equal(k.ids[0], cases[i].id);
    }
    tn_error err;
    kept k = {.count = 0};
    tn_list_options none = {.size = sizeof none, .state = "broken"};
    assert_int_equal(tn_library_list(library, &none, keep, &k, &err), TN_INVALID);
    assert_non_null(strstr(err.message, "damaged"));
}

static void what_has_no_base_stands_last(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        char name[32];
        snprintf(name, sizeof name, "m/%u.safetensors", i);
        put_weights(at(name), 4 + i);
    }
    import_quietly(library, "m", NULL);
    change(library, "UPDATE models SET base = 'sdxl', name = 'b' WHERE id = 2; UPDATE models SET base = 'sdxl', name = 'A' "
                    "WHERE id = 3");
    kept k = list(0, 0);
    assert_int_equal(k.count, 3);
    assert_int_equal(k.ids[0], 3); /* names in any case of letters */
    assert_int_equal(k.ids[1], 2);
    assert_int_equal(k.ids[2], 1);
    assert_int_equal(list(2, 0).count, 2);
}

static void a_file_is_found_by_its_own_name_whatever_the_record_is_called(void **state)
{
    (void)state;
    put_weights(at("m/portrait.v2.safetensors"), 4);
    import_quietly(library, "m", NULL);
    assert_int_equal(tn_library_rename(library, "1", "Faces", NULL), TN_OK);
    assert_int_equal(show(library, "Faces").ids[0], 1);
    assert_int_equal(show(library, "fACES").ids[0], 1);
    assert_int_equal(show(library, "portrait.v2.safetensors").ids[0], 1);
    assert_int_equal(show(library, "Portrait.V2").ids[0], 1);
    assert_int_equal(show(library, at("m/portrait.v2.safetensors")).ids[0], 1);
    kept k = {.count = 0};
    assert_int_equal(tn_library_show(library, "portrait", keep, &k, NULL), TN_NOT_FOUND);
}

static void all_that_a_name_may_mean_are_told(void **state)
{
    (void)state;
    kept k = {.count = 0};
    tn_error err;
    put_weights(at("m/a.safetensors"), 4);
    put_weights(at("n/a.safetensors"), 5);
    import_quietly(library, "m", NULL);
    import_quietly(library, "n", NULL);
    assert_int_equal(tn_library_show(library, "a", keep, &k, &err), TN_AMBIGUOUS_NAME);
    assert_non_null(strstr(err.message, "2 models"));
    assert_int_equal(tn_library_find(library, "a", keep, &k, &err), TN_OK);
    assert_int_equal(k.count, 2);
    assert_int_equal(tn_library_find(library, "b", keep, &k, &err), TN_NOT_FOUND);
}

static void only_hashes_of_the_file_as_it_is_are_told(void **state)
{
    (void)state;
    put_weights(at("m/a.safetensors"), 4);
    import_quietly(library, "m", NULL);
    change(library, "INSERT INTO hashes SELECT 1, 0, 'blake3', 'aa', size, mtime_ns FROM files;"
                    "INSERT INTO hashes SELECT 1, 0, 'sha256', 'bb', size, mtime_ns + 1 FROM files;"
                    "INSERT INTO hashes SELECT 1, 0, 'crc32', 'cc', size + 1, mtime_ns FROM files");
    kept k = show(library, "1");
    assert_true(holds(library, &k, "$.hashes", "json('{\"blake3\":\"aa\"}')"));
    assert_true(holds(library, &k, "$.part_hashes", "NULL"));
}

static void a_set_has_its_hashes_part_by_part(void **state)
{
    (void)state;
    char expected[512];
    put_tensor(at("m/s-00001-of-00002.safetensors"), "v", 6, 0);
    put_tensor(at("m/s-00002-of-00002.safetensors"), "w", 6, 0);
    put_text(at("m/s.safetensors.index.json"),
             "{\"metadata\":{\"total_size\":96},\"weight_map\":{\"v\":\"s-00001-of-00002.safetensors\","
             "\"w\":\"s-00002-of-00002.safetensors\"}}");
    import_quietly(library, "m", NULL);
    change(library, "INSERT INTO hashes SELECT p.model, p.position, 'blake3', 'h' || p.position, f.size, f.mtime_ns FROM "
                    "parts p JOIN files f ON f.id = p.file WHERE p.position >= 0 ORDER BY 2");
    kept k = show(library, "1");
    assert_true(holds(library, &k, "$.hashes", "json('{}')"));
    assert_true(holds(library, &k, "$.part_hashes[0].blake3", "'h0'"));
    assert_true(holds(library, &k, "$.part_hashes[1].blake3", "'h1'"));
    snprintf(expected, sizeof expected, "'%s'", spelled("m/s-00002-of-00002.safetensors"));
    assert_true(holds(library, &k, "$.part_hashes[1].path", expected));
    assert_true(holds(library, &k, "$.parts[1]", expected));
}

/* What a row leaves out is put back: the record says all that the answer of the day said. */
static void a_record_says_all_that_probe_says(void **state)
{
    (void)state;
    tn_answer *answer = NULL;
    char *json = NULL;
    size_t size = 0;
    put_weights(at("m/a.safetensors"), 4);
    import_quietly(library, "m", NULL);
    kept k = show(library, "1");
    assert_int_equal(tn_identify(context, spelled("m/a.safetensors"), NULL, &answer, NULL), TN_OK);
    assert_int_equal(tn_answer_json(context, answer, &json, &size, NULL), TN_OK);
    sqlite3_stmt *stmt = NULL;
    assert_int_equal(sqlite3_prepare_v2(library->db.handle,
                                        "SELECT count(*) FROM json_each(?2) p LEFT JOIN json_each(?1) r ON r.key = p.key "
                                        "WHERE r.key IS NULL OR r.value IS NOT p.value", -1, &stmt, NULL), SQLITE_OK);
    sqlite3_bind_text(stmt, 1, k.json, -1, SQLITE_STATIC);
    sqlite3_bind_text(stmt, 2, json, (int)size, SQLITE_STATIC);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(stmt, 0), 0);
    sqlite3_finalize(stmt);
    tn_answer_json_destroy(context, json, size);
    tn_answer_destroy(answer);
}

static void a_row_that_makes_no_sense_does_not_stop_the_others(void **state)
{
    (void)state;
    put_weights(at("m/a.safetensors"), 4);
    put_weights(at("m/b.safetensors"), 5);
    import_quietly(library, "m", NULL);
    change(library, "UPDATE models SET answer = '{\"evidence\":7' WHERE id = 1; UPDATE models SET answer = "
                    "'{\"evidence\":7}' WHERE id = 2");
    kept k = list(0, 0);
    assert_int_equal(k.count, 2);
    assert_true(holds(library, &k, "$.evidence", "json('[]')"));
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
    assert_int_equal(tn_library_list(library, NULL, show_inside, &inner, NULL), TN_OK);
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
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, close_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_record_has_the_fields_of_the_interface),
        TEST(quotes_and_line_ends_in_a_name_are_told_whole),
        TEST(each_key_stands_once),
        TEST(presence_is_that_of_now),
        TEST(limits_and_a_callback_that_has_enough_end_the_list),
        TEST(a_callback_may_use_the_library),
        TEST(one_is_shown_by_id_path_or_unique_name),
        TEST(filters_narrow_the_list),
        TEST(what_has_no_base_stands_last),
        TEST(a_file_is_found_by_its_own_name_whatever_the_record_is_called),
        TEST(all_that_a_name_may_mean_are_told),
        TEST(only_hashes_of_the_file_as_it_is_are_told),
        TEST(a_set_has_its_hashes_part_by_part),
        TEST(a_record_says_all_that_probe_says),
        TEST(a_row_that_makes_no_sense_does_not_stop_the_others),
    };
    return cmocka_run_group_tests_name("library.list", tests, NULL, NULL);
}
