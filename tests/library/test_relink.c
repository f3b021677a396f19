/* Asking about records whose files are gone: who is asked about, and what an answer does. */
#include "support/library_open.h"

#define ASKED_MAX 16

typedef struct asked {
    size_t count;
    int64_t ids[ASKED_MAX];
    size_t candidates[ASKED_MAX];
    int64_t first[ASKED_MAX]; /* candidate */
    char why[ASKED_MAX][16], presence[ASKED_MAX][16];
} asked;

static int setup(void **state)
{
    if (open_setup(state) != 0)
        return -1;
    put_folder(at("m"));
    return 0;
}

static int64_t id_of(const char *name, const char *presence)
{
    char sql[256];
    snprintf(sql, sizeof sql, "SELECT id FROM models WHERE name = '%s' AND presence = '%s'", name, presence);
    return ask(library, sql);
}

static bool keep(void *user, const tn_relink_proposal *p)
{
    asked *a = user;
    assert_in_range(a->count, 0, ASKED_MAX - 1);
    a->ids[a->count] = p->id;
    a->candidates[a->count] = p->count;
    a->first[a->count] = p->candidates[0].id;
    snprintf(a->why[a->count], sizeof a->why[0], "%s", p->candidates[0].why.bytes);
    snprintf(a->presence[a->count], sizeof a->presence[0], "%s", p->presence.bytes);
    a->count++;
    return true;
}

static asked proposals(void)
{
    asked a = {.count = 0};
    assert_int_equal(tn_library_relink_proposals(library, keep, &a, NULL), TN_OK);
    return a;
}

/* a.safetensors is gone, and two copies of it have come: records "a" (missing), "y" and "z". */
static void put_two_copies(void)
{
    put_weights(at("m/a.safetensors"), 4);
    import_quietly(library, "m", NULL);
    put_weights(at("m/y.safetensors"), 4);
    put_weights(at("m/z.safetensors"), 4);
    assert_int_equal(tn_os_remove(at("m/a.safetensors"), NULL), TN_OK);
    import_quietly(library, "m", NULL);
}

static void two_new_copies_are_two_candidates(void **state)
{
    (void)state;
    put_two_copies();
    asked a = proposals();
    assert_int_equal(a.count, 1);
    assert_int_equal(a.ids[0], id_of("a", "missing"));
    assert_int_equal(a.candidates[0], 2);
    assert_string_equal(a.why[0], "same_bytes");
    assert_string_equal(a.presence[0], "missing");
}

static void a_copy_that_was_there_before_is_asked_about_only_when_there_is_something_to_carry_over(void **state)
{
    (void)state;
    put_weights(at("m/a.safetensors"), 4);
    put_weights(at("m/b.safetensors"), 4);
    import_quietly(library, "m", NULL);
    assert_int_equal(tn_os_remove(at("m/a.safetensors"), NULL), TN_OK);
    import_quietly(library, "m", NULL);
    assert_int_equal(proposals().count, 0);
    run("UPDATE models SET note = 'mine' WHERE name = 'a'");
    asked a = proposals();
    assert_int_equal(a.count, 1);
    assert_int_equal(a.first[0], id_of("b", "present"));
}

static void other_bytes_in_its_place_are_asked_about_when_there_is_something_to_carry_over(void **state)
{
    (void)state;
    put_weights(at("m/a.safetensors"), 4);
    put_weights(at("m/b.safetensors"), 5);
    import_quietly(library, "m", NULL);
    int64_t id = id_of("a", "present");
    run("INSERT INTO tags SELECT id, 'mine' FROM models WHERE name = 'a'");
    put_weights(at("m/a.safetensors"), 40);
    put_weights(at("m/b.safetensors"), 50);
    import_quietly(library, "m", NULL);
    asked a = proposals();
    assert_int_equal(a.count, 1);
    assert_int_equal(a.ids[0], id);
    assert_int_equal(a.candidates[0], 1);
    assert_string_equal(a.why[0], "same_path");
    assert_int_equal(a.first[0], id_of("a", "present"));
}

static void an_offline_record_whose_bytes_appeared_elsewhere_is_asked_about(void **state)
{
    (void)state;
    put_folder(at("n"));
    put_weights(at("m/a.safetensors"), 4);
    import_quietly(library, "m", NULL);
    assert_int_equal(tn_os_rename(at("m"), at("unplugged"), false, NULL), TN_OK);
    import_quietly(library, "m", NULL);
    put_weights(at("n/b.safetensors"), 4);
    import_quietly(library, "n", NULL);
    asked a = proposals();
    assert_int_equal(a.count, 1);
    assert_string_equal(a.presence[0], "offline");
    assert_int_equal(a.first[0], id_of("b", "present"));
}

static void the_record_takes_over_paths_hashes_tags_and_note(void **state)
{
    (void)state;
    put_two_copies();
    int64_t id = id_of("a", "missing"), y = id_of("y", "present");
    run("INSERT INTO tags SELECT id, 'mine' FROM models WHERE name = 'a';"
        "INSERT INTO tags SELECT id, 'new' FROM models WHERE name = 'y';"
        "UPDATE models SET note = 'old words' WHERE name = 'a'; UPDATE models SET note = 'new words' WHERE name = 'y';"
        "UPDATE models SET set_base = 'sdxl', base = 'sdxl' WHERE name = 'y';"
        "INSERT INTO hashes SELECT p.model, 0, 'blake3', 'h', f.size, f.mtime_ns FROM parts p JOIN files f ON f.id = p.file "
        "JOIN models m ON m.id = p.model WHERE m.name = 'y'");
    assert_int_equal(tn_library_relink(library, id, y, NULL), TN_OK);
    char sql[512];
    snprintf(sql, sizeof sql, "SELECT presence = 'present' AND name = 'y' AND note = 'old words' || char(10) || 'new words' "
                              "AND base = 'sdxl' AND set_base = 'sdxl' AND missing_ns = 0 FROM models WHERE id = %lld",
             (long long)id);
    assert_int_equal(ask(library, sql), 1);
    snprintf(sql, sizeof sql, "SELECT count(*) FROM tags WHERE model = %lld", (long long)id);
    assert_int_equal(ask(library, sql), 2);
    snprintf(sql, sizeof sql, "SELECT count(*) FROM hashes WHERE model = %lld", (long long)id);
    assert_int_equal(ask(library, sql), 1);
    snprintf(sql, sizeof sql, "SELECT count(*) FROM models WHERE id = %lld", (long long)y);
    assert_int_equal(ask(library, sql), 0);
    snprintf(sql, sizeof sql, "SELECT count(*) FROM events WHERE (model = %lld AND what = 'relinked' AND detail = '%lld') OR "
                              "(model = %lld AND what = 'merged' AND detail = '%lld')", (long long)id, (long long)y,
             (long long)y, (long long)id);
    assert_int_equal(ask(library, sql), 2);
    assert_int_equal(proposals().count, 0);
    told t;
    import_quietly(library, "m", &t);
    assert_int_equal(t.unchanged, 2);
}

static void hashes_of_other_bytes_are_not_carried_over(void **state)
{
    (void)state;
    put_weights(at("m/a.safetensors"), 4);
    import_quietly(library, "m", NULL);
    int64_t id = id_of("a", "present");
    run("INSERT INTO tags SELECT id, 'mine' FROM models;"
        "INSERT INTO hashes SELECT p.model, 0, 'blake3', 'h', f.size, f.mtime_ns FROM parts p JOIN files f ON f.id = p.file");
    put_tensor(at("m/a.safetensors"), "x", 4, 0); /* of the same size */
    import_quietly(library, "m", NULL);
    assert_int_equal(tn_library_relink(library, id, id_of("a", "present"), NULL), TN_OK);
    assert_int_equal(ask(library, "SELECT count(*) FROM hashes"), 0);
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), 1);
}

static void only_what_is_missing_is_linked_and_only_to_what_is_there(void **state)
{
    (void)state;
    put_two_copies();
    int64_t a = id_of("a", "missing"), y = id_of("y", "present"), z = id_of("z", "present");
    assert_int_equal(tn_library_relink(library, y, z, NULL), TN_INVALID);
    assert_int_equal(tn_library_relink(library, a, a, NULL), TN_INVALID);
    assert_int_equal(tn_library_relink(library, a, 4711, NULL), TN_NOT_FOUND);
    assert_int_equal(tn_library_relink(library, 4711, y, NULL), TN_NOT_FOUND);
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), 3);
}

static bool count_missing(void *user, const tn_record *record)
{
    size_t *count = user;
    assert_string_equal(record->presence.bytes, "missing");
    ++*count;
    return true;
}

static void what_is_missing_is_listed(void **state)
{
    (void)state;
    size_t count = 0;
    put_two_copies();
    assert_int_equal(tn_library_missing(library, count_missing, &count, NULL), TN_OK);
    assert_int_equal(count, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, verify_teardown)
    const struct CMUnitTest tests[] = {
        TEST(two_new_copies_are_two_candidates),
        TEST(a_copy_that_was_there_before_is_asked_about_only_when_there_is_something_to_carry_over),
        TEST(other_bytes_in_its_place_are_asked_about_when_there_is_something_to_carry_over),
        TEST(an_offline_record_whose_bytes_appeared_elsewhere_is_asked_about),
        TEST(the_record_takes_over_paths_hashes_tags_and_note),
        TEST(hashes_of_other_bytes_are_not_carried_over),
        TEST(only_what_is_missing_is_linked_and_only_to_what_is_there),
        TEST(what_is_missing_is_listed),
    };
    return cmocka_run_group_tests_name("library.relink", tests, NULL, NULL);
}
