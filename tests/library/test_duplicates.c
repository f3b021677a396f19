/* Which models are the same twice, and where the bytes are. */
#include "support/library_records.h"
#include "support/library_open.h"

static int setup(void **state)
{
    if (open_setup(state) != 0)
        return -1;
    put_folder(at("m/sub/deep"));
    put_folder(at("n"));
    return 0;
}

/* What was told, a line a group: "sure 2 saves 100: 1 2". */
static char told_text[4096];

static bool on_twins(void *user, const tn_twins *twins)
{
    size_t *size = user;
    *size += (size_t)snprintf(told_text + *size, sizeof told_text - *size, "%s saves %llu of %llu:",
                              twins->sure ? "sure" : "possible", (unsigned long long)twins->saves_bytes,
                              (unsigned long long)twins->size_bytes);
    for (size_t i = 0; i < twins->count; i++)
        *size += (size_t)snprintf(told_text + *size, sizeof told_text - *size, " %lld%s", (long long)twins->twins[i].id,
                                  twins->twins[i].hashed ? "" : "?");
    *size += (size_t)snprintf(told_text + *size, sizeof told_text - *size, "\n");
    return true;
}

static const char *duplicates(void)
{
    size_t size = 0;
    tn_error err;
    told_text[0] = '\0';
    if (tn_library_duplicates(library, on_twins, &size, &err) != TN_OK)
        fail_msg("%s", err.message);
    return told_text;
}

static void hash(int64_t model, const char *value)
{
    char sql[512];
    snprintf(sql, sizeof sql, "INSERT INTO hashes SELECT %lld, p.position, 'blake3', '%s', f.size, f.mtime_ns FROM parts p "
             "JOIN files f ON f.id = p.file WHERE p.model = %lld AND p.position >= 0 GROUP BY p.position", (long long)model, value, (long long)model);
    change(library, sql);
}

/* put_weights(4): 4 rows of 4 F16 are 32 bytes behind a header of 64 and its 8. */
#define SIZE 104u

static void equal_samples_are_possible_until_all_are_hashed(void **state)
{
    (void)state;
    put_weights(at("m/a.safetensors"), 4);
    put_weights(at("m/b.safetensors"), 4);
    put_weights(at("m/c.safetensors"), 4);
    put_weights(at("m/other.safetensors"), 5);
    import_quietly(library, "m", NULL);
    assert_int_equal(ask(library, "SELECT size_bytes FROM models WHERE id = 1"), SIZE);
    assert_string_equal(duplicates(), "possible saves 208 of 104: 1? 2? 3?\n");
    hash(1, "aa");
    assert_string_equal(duplicates(), "possible saves 208 of 104: 2? 3? 1\n");
    hash(2, "aa");
    assert_string_equal(duplicates(), "sure saves 104 of 104: 1 2\npossible saves 104 of 104: 3? 1 2\n");
    hash(3, "bb");
    assert_string_equal(duplicates(), "sure saves 104 of 104: 1 2\n");
    put_weights(at("m/great.safetensors"), 400); /* 400 rows of 8 bytes, and 72 as above */
    put_weights(at("m/greater.safetensors"), 400);
    import_quietly(library, "m", NULL);
    assert_string_equal(duplicates(), "sure saves 104 of 104: 1 2\npossible saves 3272 of 3272: 5? 6?\n"); /* sure ones first */
    change(library, "UPDATE hashes SET mtime_ns = mtime_ns - 1 WHERE model = 2"); /* of the file as it was */
    assert_string_equal(duplicates(), "possible saves 3272 of 3272: 5? 6?\npossible saves 104 of 104: 2? 1 3\n");
}

static void what_is_not_there_is_no_duplicate(void **state)
{
    (void)state;
    put_weights(at("m/a.safetensors"), 4);
    put_weights(at("m/b.safetensors"), 4);
    import_quietly(library, "m", NULL);
    change(library, "UPDATE models SET presence = 'missing' WHERE id = 2");
    assert_string_equal(duplicates(), "");
}

static void put_set(const char *folder)
{
    char path[512];
    snprintf(path, sizeof path, "%s/s-00001-of-00002.safetensors", folder);
    put_tensor(at(path), "v", 6, 0);
    snprintf(path, sizeof path, "%s/s-00002-of-00002.safetensors", folder);
    put_tensor(at(path), "w", 6, 0);
    snprintf(path, sizeof path, "%s/s.safetensors.index.json", folder);
    put_text(at(path), "{\"metadata\":{\"total_size\":96},\"weight_map\":{\"v\":\"s-00001-of-00002.safetensors\","
                       "\"w\":\"s-00002-of-00002.safetensors\"}}");
}

static void a_set_is_the_same_when_all_its_parts_are(void **state)
{
    (void)state;
    put_set("m");
    put_set("n");
    import_quietly(library, "m", NULL);
    import_quietly(library, "n", NULL);
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), 2);
    hash(1, "aa");
    change(library, "INSERT INTO hashes SELECT 2, 0, 'blake3', 'aa', size, mtime_ns FROM files LIMIT 1");
    assert_non_null(strstr(duplicates(), "possible")); /* one part of two is hashed */
    change(library, "DELETE FROM hashes WHERE model = 2");
    hash(2, "aa");
    assert_non_null(strstr(duplicates(), "sure"));
    change(library, "UPDATE hashes SET value = 'bb' WHERE model = 2 AND position = 1");
    assert_string_equal(duplicates(), "");
}

/* ---- usage ---- */

static bool on_usage(void *user, const tn_usage *usage)
{
    size_t *size = user, root = strlen(spelled("m")) - 1;
    bool below = usage->path.size > root && memcmp(usage->path.bytes, spelled("m"), root) == 0;
    tn_text path = below ? (tn_text){usage->path.bytes + root, usage->path.size - root} : usage->path;
    *size += (size_t)snprintf(told_text + *size, sizeof told_text - *size, "%u %.*s %llu %llu", usage->depth, (int)path.size,
                              path.bytes, (unsigned long long)usage->models, (unsigned long long)usage->bytes);
    *size += (size_t)snprintf(told_text + *size, sizeof told_text - *size, usage->stored_bytes == TN_NONE ? "\n" : " %s\n",
                              usage->stored_bytes <= usage->bytes ? "less" : "more");
    for (char *c = told_text; *c != '\0'; c++)
        *c = *c == '\\' ? '/' : *c;
    return true;
}

static const char *usage(const char *by, bool disk)
{
    size_t size = 0;
    tn_error err;
    tn_usage_options options = {.size = sizeof options, .by = by, .disk = disk};
    told_text[0] = '\0';
    if (tn_library_usage(library, &options, on_usage, &size, &err) != TN_OK)
        fail_msg("%s", err.message);
    return told_text;
}

static void folders_hold_what_is_below_them(void **state)
{
    (void)state;
    put_weights(at("m/a.safetensors"), 4);
    put_weights(at("m/sub/b.safetensors"), 5);
    put_weights(at("m/sub/deep/c.safetensors"), 6);
    put_weights(at("n/d.safetensors"), 7);
    import_quietly(library, "m", NULL);
    import_quietly(library, "n/d.safetensors", NULL);
    assert_string_equal(usage(NULL, false), "0 m 3 336\n1 m/sub 2 232\n2 m/sub/deep 1 120\n0 n 1 128\n");
    change(library, "UPDATE models SET presence = 'missing' WHERE name = 'c'");
    assert_string_equal(usage(NULL, false), "0 m 2 216\n1 m/sub 1 112\n0 n 1 128\n");
}

static void a_file_of_several_paths_counts_once(void **state)
{
    (void)state;
    put_weights(at("m/a.safetensors"), 4);
    import_quietly(library, "m", NULL);
    /* A second path of the same file, as a hard link would be. */
    char sql[1024];
    snprintf(sql, sizeof sql, "INSERT INTO files (path, size, mtime_ns, device, file_id, links, weak, present) SELECT CAST("
             "'%s' AS BLOB), size, mtime_ns, device, file_id, 2, weak, 1 FROM files WHERE weak = 0; INSERT INTO parts SELECT "
             "1, max(id), 0, 1 FROM files GROUP BY size HAVING count(*) > 1", spelled("m/sub/b.safetensors"));
    change(library, sql);
    if (ask(library, "SELECT weak FROM files LIMIT 1") != 0)
        skip();
    assert_string_equal(usage(NULL, false), "0 m 1 104\n");
}

static void bytes_are_added_up_by_base_and_type(void **state)
{
    (void)state;
    put_weights(at("m/a.safetensors"), 4);
    put_weights(at("m/b.safetensors"), 5);
    import_quietly(library, "m", NULL);
    change(library, "UPDATE models SET base = 'sdxl', type = 'lora' WHERE id = 1");
    assert_string_equal(usage("base", false), "0 sdxl 1 104\n0  1 112\n");
    assert_string_equal(usage("type", false), "0 lora 1 104\n0  1 112\n");
    size_t size = 0;
    tn_usage_options options = {.size = sizeof options, .by = "colour"};
    assert_int_equal(tn_library_usage(library, &options, on_usage, &size, NULL), TN_INVALID);
}

static void the_disk_is_asked_what_a_file_takes(void **state)
{
    (void)state;
    tn_os_info info;
    put_weights(at("m/a.safetensors"), 1000000); /* 8 MB of hole */
    assert_int_equal(tn_os_info_at(at("m/a.safetensors"), true, &info, NULL), TN_OK);
    if (info.stored_bytes >= info.size)
        skip();
    import_quietly(library, "m", NULL);
    assert_non_null(strstr(usage(NULL, true), " less\n"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, close_teardown)
    const struct CMUnitTest tests[] = {
        TEST(equal_samples_are_possible_until_all_are_hashed),
        TEST(what_is_not_there_is_no_duplicate),
        TEST(a_set_is_the_same_when_all_its_parts_are),
        TEST(folders_hold_what_is_below_them),
        TEST(a_file_of_several_paths_counts_once),
        TEST(bytes_are_added_up_by_base_and_type),
        TEST(the_disk_is_asked_what_a_file_takes),
    };
    return cmocka_run_group_tests_name("library.duplicates", tests, NULL, NULL);
}
