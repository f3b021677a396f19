/* A record stays with its file through whatever is done to it, by the rules of docs/decisions/0009. */
#include "support/library_open.h"

#include "os/os_fault.h"

static int setup(void **state)
{
    if (open_setup(state) != 0)
        return -1;
    put_folder(at("m"));
    return 0;
}

static int64_t id_of(const char *name)
{
    char sql[256];
    snprintf(sql, sizeof sql, "SELECT id FROM models WHERE name = '%s'", name);
    return ask(library, sql);
}

static void tag(int64_t id, const char *word)
{
    char sql[256];
    snprintf(sql, sizeof sql, "INSERT INTO tags VALUES (%lld, '%s')", (long long)id, word);
    run(sql);
}

/* The record that has a tag is present at a path that ends so. */
static void assert_tagged_at(const char *word, const char *end)
{
    char sql[512];
    snprintf(sql, sizeof sql,
             "SELECT count(*) FROM tags t JOIN models m ON m.id = t.model JOIN parts p ON p.model = m.id JOIN files f ON "
             "f.id = p.file WHERE t.tag = '%s' AND m.presence = 'present' AND p.entry = 1 AND f.present = 1 AND "
             "replace(CAST(f.path AS TEXT), char(92), '/') LIKE '%%%s'", word, end);
    if (ask(library, sql) != 1)
        fail_msg("what was tagged %s is not at %s", word, end);
}

static void assert_presence(const char *word, const char *presence)
{
    char sql[512];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM tags t JOIN models m ON m.id = t.model WHERE t.tag = '%s' AND "
                              "m.presence = '%s'", word, presence);
    if (ask(library, sql) != 1)
        fail_msg("what was tagged %s is not %s", word, presence);
}

static void rename_to(const char *from, const char *to)
{
    assert_int_equal(tn_os_rename(at(from), at(to), true, NULL), TN_OK);
}

/* Every id that an import told is that of a record at its end: no event tells of what is no more. */
static void assert_told_truly(const told *t)
{
    for (size_t i = 0; i < t->count && i < EVENTS_MAX; i++) {
        char sql[128];
        snprintf(sql, sizeof sql, "SELECT count(*) FROM models WHERE id = %lld", (long long)t->ids[i]);
        assert_int_equal(ask(library, sql), 1);
    }
}

/* ---- rules 1 to 4 ---- */

static void swapped_names_take_their_records_along(void **state)
{
    (void)state;
    told t;
    put_weights(at("m/a.safetensors"), 4);
    put_weights(at("m/b.safetensors"), 5);
    import_quietly(library, "m", NULL);
    tag(id_of("a"), "first");
    tag(id_of("b"), "second");
    rename_to("m/a.safetensors", "m/spare");
    rename_to("m/b.safetensors", "m/a.safetensors");
    rename_to("m/spare", "m/b.safetensors");
    tn_import_summary *s = import_path(library, "m", &t);
    assert_int_equal(s->fresh, 0);
    assert_int_equal(s->vanished, 0);
    tn_import_summary_destroy(s);
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), 2);
    assert_tagged_at("first", "/b.safetensors");
    assert_tagged_at("second", "/a.safetensors");
    assert_int_equal(ask(library, "SELECT count(*) FROM former"), 0);
    assert_told_truly(&t);
}

static void an_automatic_name_follows_its_file_and_a_persons_name_stays(void **state)
{
    (void)state;
    put_weights(at("m/a.safetensors"), 4);
    put_weights(at("m/b.safetensors"), 5);
    import_quietly(library, "m", NULL);
    run("UPDATE models SET name = 'mine', named = 1 WHERE name = 'b'");
    rename_to("m/a.safetensors", "m/x.safetensors");
    rename_to("m/b.safetensors", "m/y.safetensors");
    import_quietly(library, "m", NULL);
    assert_int_equal(ask(library, "SELECT count(*) FROM models WHERE name = 'x' AND CAST(path AS TEXT) LIKE '%x.safetensors'"),
                     1);
    assert_int_equal(ask(library, "SELECT count(*) FROM models WHERE name = 'mine' AND CAST(path AS TEXT) LIKE "
                                  "'%y.safetensors'"), 1);
}

static void alter_ids(void *user, const char *path, tn_os_info *info)
{
    (void)path;
    info->file_id[0] += *(uint64_t *)user;
}

/* Write a byte as it was, later: nothing but the time changes. */
static void touch(const char *path)
{
    char byte = 0;
    size_t got = 0;
    tn_os_file file;
    tn_os_sleep_ms(30);
    assert_int_equal(tn_os_open(path, TN_OS_WRITE, &file, NULL), TN_OK);
    assert_int_equal(tn_os_read(&file, 0, &byte, 1, &got, NULL), TN_OK);
    assert_int_equal(tn_os_write(&file, 0, &byte, 1, NULL), TN_OK);
    tn_os_close(&file);
}

/* A hash of each file as it is. */
static void put_hashes(void)
{
    run("INSERT INTO hashes SELECT p.model, p.position, 'blake3', 'x', f.size, f.mtime_ns FROM parts p JOIN files f ON f.id "
        "= p.file WHERE p.position >= 0");
}

static void a_faithful_copy_in_its_place_is_the_same_record_with_its_hashes(void **state)
{
    (void)state;
    told t;
    uint64_t shift = 1000000;
    put_weights(at("m/a.safetensors"), 4);
    import_quietly(library, "m", NULL);
    tag(id_of("a"), "first");
    put_hashes();
    tn_os_set_hooks(&(tn_os_hooks){.alter_info = alter_ids, .user = &shift});
    import_quietly(library, "m", &t);
    tn_os_set_hooks(NULL);
    assert_int_equal(t.fresh + t.changed, 0);
    assert_tagged_at("first", "/a.safetensors");
    assert_int_equal(ask(library, "SELECT count(*) FROM hashes"), 1);
}

static void a_touched_file_is_the_same_record_without_its_hashes(void **state)
{
    (void)state;
    told t;
    put_weights(at("m/a.safetensors"), 4);
    import_quietly(library, "m", NULL);
    tag(id_of("a"), "first");
    put_hashes();
    touch(at("m/a.safetensors"));
    import_quietly(library, "m", &t);
    assert_int_equal(t.fresh + t.changed, 0);
    assert_tagged_at("first", "/a.safetensors");
    assert_int_equal(ask(library, "SELECT count(*) FROM hashes"), 0);
}

static void what_a_person_set_counts_more_than_what_is_read_again(void **state)
{
    (void)state;
    put_weights(at("m/a.safetensors"), 4);
    import_quietly(library, "m", NULL);
    run("UPDATE models SET set_type = 'lora', type = 'lora', set_base = 'sdxl', base = 'sdxl'");
    touch(at("m/a.safetensors"));
    import_quietly(library, "m", NULL);
    assert_int_equal(ask(library, "SELECT count(*) FROM events WHERE what = 'looked_at'"), 1); /* it was read */
    assert_int_equal(ask(library, "SELECT type = 'lora' AND base = 'sdxl' FROM models"), 1);
}

/* ---- rule 5 ---- */

static void another_file_in_its_place_leaves_the_record_missing_with_all_it_had(void **state)
{
    (void)state;
    told t;
    put_weights(at("m/a.safetensors"), 4);
    import_quietly(library, "m", NULL);
    int64_t id = id_of("a");
    tag(id, "first");
    put_hashes();
    assert_int_equal(tn_os_remove(at("m/a.safetensors"), NULL), TN_OK);
    put_weights(at("m/a.safetensors"), 40);
    tn_import_summary *s = import_path(library, "m", &t);
    assert_int_equal(s->fresh, 1);
    assert_int_equal(s->vanished, 1);
    assert_string_equal(s->vanished_named[0].path.bytes, spelled("m/a.safetensors"));
    assert_string_equal(s->vanished_named[0].message.bytes, "another file has its name now");
    tn_import_summary_destroy(s);
    assert_presence("first", "missing");
    assert_int_equal(ask(library, "SELECT count(*) FROM hashes"), 1);
    assert_int_equal(ask(library, "SELECT count(*) FROM models WHERE presence = 'present'"), 1);
    assert_int_not_equal(t.ids[0], id);
}

static void a_download_that_ends_carries_its_record_on(void **state)
{
    (void)state;
    told t;
    put_short_weights(at("m/a.safetensors"), 1000, 3000);
    import_quietly(library, "m", NULL);
    tag(id_of("a"), "first");
    put_weights(at("m/a.safetensors"), 1000);
    import_quietly(library, "m", &t);
    assert_int_equal(t.changed, 1);
    assert_tagged_at("first", "/a.safetensors");
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), 1);
    put_weights(at("m/a.safetensors"), 30); /* it is sound now: what comes next is another */
    import_quietly(library, "m", &t);
    assert_presence("first", "missing");
}

/* ---- rule 6 ---- */

static void put_again_elsewhere(const char *from, const char *to, unsigned rows)
{
    put_weights(at("other"), rows); /* keeps the file's id from being used again at once */
    assert_int_equal(tn_os_remove(at(from), NULL), TN_OK);
    rename_to("other", to);
}

static void a_file_moved_through_another_disk_is_found_again_and_told_as_the_old_record(void **state)
{
    (void)state;
    told t;
    put_folder(at("n"));
    put_weights(at("m/a.safetensors"), 4);
    put_weights(at("m/b.safetensors"), 5);
    import_quietly(library, "m", NULL);
    int64_t id = id_of("a");
    tag(id, "first");
    put_again_elsewhere("m/a.safetensors", "m/z.safetensors", 4);
    tn_import_summary *s = import_path(library, "m", &t);
    assert_int_equal(s->relinked, 1);
    assert_int_equal(s->fresh, 0);
    assert_int_equal(s->vanished, 0);
    assert_int_equal(s->asks, 0);
    tn_import_summary_destroy(s);
    assert_int_equal(t.relinked, 1);
    assert_int_equal(t.ids[1], id); /* b is told at once, a at the end */
    assert_tagged_at("first", "/z.safetensors");
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), 2);
    assert_int_equal(ask(library, "SELECT count(*) FROM files"), 2);
    assert_int_equal(ask(library, "SELECT count(*) FROM models WHERE unsettled IS NOT NULL"), 0);
    assert_told_truly(&t);
}

static void of_two_copies_none_is_taken_and_it_is_asked_about(void **state)
{
    (void)state;
    told t;
    put_weights(at("m/a.safetensors"), 4);
    import_quietly(library, "m", NULL);
    tag(id_of("a"), "first");
    put_weights(at("m/y.safetensors"), 4);
    put_again_elsewhere("m/a.safetensors", "m/z.safetensors", 4);
    tn_import_summary *s = import_path(library, "m", &t);
    assert_int_equal(s->relinked, 0);
    assert_int_equal(s->fresh, 2);
    assert_int_equal(s->vanished, 1);
    assert_int_equal(s->asks, 1);
    tn_import_summary_destroy(s);
    assert_int_equal(t.fresh, 2); /* they waited, and are told as new */
    assert_presence("first", "missing");
    assert_told_truly(&t);
}

/* Read before the record that it belongs to has become missing: it is told with its final id all the same. */
static void an_event_waits_also_where_the_old_path_is_read_later(void **state)
{
    (void)state;
    told t;
    put_weights(at("m/z.safetensors"), 4);
    import_quietly(library, "m", NULL);
    tag(id_of("z"), "first");
    put_again_elsewhere("m/z.safetensors", "m/a.safetensors", 4);
    put_weights(at("m/z.safetensors"), 50);
    import_quietly(library, "m", &t);
    assert_int_equal(t.relinked, 1);
    assert_int_equal(t.fresh, 1);
    assert_tagged_at("first", "/a.safetensors");
    assert_told_truly(&t);
}

static void a_copy_of_what_is_still_there_is_a_new_record(void **state)
{
    (void)state;
    told t;
    put_weights(at("m/a.safetensors"), 4);
    import_quietly(library, "m", NULL);
    put_weights(at("m/b.safetensors"), 4);
    import_quietly(library, "m", &t);
    assert_int_equal(t.fresh, 1);
    assert_int_equal(t.relinked, 0);
    assert_int_equal(ask(library, "SELECT count(*) FROM models WHERE presence = 'present'"), 2);
}

static void a_new_record_that_somebody_has_spoken_of_is_not_taken_over(void **state)
{
    (void)state;
    put_weights(at("m/a.safetensors"), 4);
    import_quietly(library, "m", NULL);
    tag(id_of("a"), "first");
    put_again_elsewhere("m/a.safetensors", "m/z.safetensors", 4);
    run("CREATE TEMP TRIGGER speak AFTER INSERT ON models BEGIN INSERT INTO tags VALUES (NEW.id, 'quick'); END");
    import_quietly(library, "m", NULL);
    assert_presence("first", "missing");
    assert_presence("quick", "present");
}

/* ---- sets and folders ---- */

static void put_set(const char *folder)
{
    char name[256];
    snprintf(name, sizeof name, "%s/s-00001-of-00002.safetensors", folder);
    put_tensor(at(name), "v", 6, 0);
    snprintf(name, sizeof name, "%s/s-00002-of-00002.safetensors", folder);
    put_tensor(at(name), "w", 6, 0);
    snprintf(name, sizeof name, "%s/s.safetensors.index.json", folder);
    put_text(at(name), "{\"metadata\":{\"total_size\":96},\"weight_map\":{\"v\":\"s-00001-of-00002.safetensors\","
                       "\"w\":\"s-00002-of-00002.safetensors\"}}");
}

static void a_set_and_a_folder_that_moved_are_found_again(void **state)
{
    (void)state;
    put_folder(at("m/old/p"));
    put_set("m/old");
    put_text(at("m/old/p/config.json"), "{\"_class_name\":\"AutoencoderKL\"}");
    put_weights(at("m/old/p/diffusion_pytorch_model.safetensors"), 7);
    import_quietly(library, "m", NULL);
    tag(id_of("s"), "set");
    tag(id_of("p"), "folder");
    rename_to("m/old", "m/new");
    tn_import_summary *s = import_path(library, "m", NULL);
    assert_int_equal(s->relinked, 2);
    assert_int_equal(s->vanished, 0);
    tn_import_summary_destroy(s);
    assert_tagged_at("set", "/new/s.safetensors.index.json");
    assert_tagged_at("folder", "/new/p");
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), 2);
    assert_int_equal(ask(library, "SELECT count(*) FROM files WHERE CAST(path AS TEXT) LIKE '%old%'"), 0);
}

static void a_set_that_loses_a_shard_and_gets_it_back_stays_one_record(void **state)
{
    (void)state;
    put_set("m");
    import_quietly(library, "m", NULL);
    tag(id_of("s"), "set");
    rename_to("m/s-00002-of-00002.safetensors", "shard");
    import_quietly(library, "m", NULL);
    assert_int_equal(ask(library, "SELECT state = 'damaged' FROM models"), 1);
    assert_tagged_at("set", "/s.safetensors.index.json");
    rename_to("shard", "m/s-00002-of-00002.safetensors");
    import_quietly(library, "m", NULL);
    assert_int_equal(ask(library, "SELECT state <> 'damaged' AND part_count = 2 FROM models"), 1);
    assert_tagged_at("set", "/s.safetensors.index.json");
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), 1);
}

static void a_set_with_other_shards_is_another_record(void **state)
{
    (void)state;
    put_set("m");
    import_quietly(library, "m", NULL);
    tag(id_of("s"), "set");
    put_tensor(at("m/s-00001-of-00002.safetensors"), "v", 8, 0);
    import_quietly(library, "m", NULL);
    assert_presence("set", "missing");
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), 2);
}

static void a_text_beside_the_weights_of_a_folder_changes_no_record(void **state)
{
    (void)state;
    put_folder(at("m/p"));
    put_text(at("m/p/config.json"), "{\"_class_name\":\"AutoencoderKL\"}");
    put_weights(at("m/p/diffusion_pytorch_model.safetensors"), 7);
    import_quietly(library, "m", NULL);
    tag(id_of("p"), "folder");
    put_hashes();
    put_text(at("m/p/config.json"), "{\"_class_name\":\"AutoencoderKL\",\"x\":1}");
    import_quietly(library, "m", NULL);
    assert_tagged_at("folder", "/p");
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), 1);
    assert_int_equal(ask(library, "SELECT count(*) FROM hashes"), 1);
}

/* ---- what cannot be asked about ---- */

static tn_status deny(void *user, const tn_os_call *call)
{
    (void)user;
    return call->path != NULL && strstr(call->path, "closed") != NULL ? TN_PERMISSION : TN_OK;
}

static void a_path_that_cannot_be_asked_about_says_nothing(void **state)
{
    (void)state;
    put_folder(at("m/closed"));
    put_weights(at("m/closed/a.safetensors"), 4);
    import_quietly(library, "m", NULL);
    tag(id_of("a"), "first");
    tn_os_set_hooks(&(tn_os_hooks){.before = deny});
    tn_import_summary *s = import_path(library, "m", NULL);
    tn_os_set_hooks(NULL);
    assert_int_equal(s->folders_unreadable, 1);
    assert_int_equal(s->unreadable_count, 1);
    assert_string_equal(s->unreadable[0].path.bytes, spelled("m/closed"));
    assert_true(s->unreadable[0].message.size > 0);
    assert_int_equal(s->vanished, 0);
    tn_import_summary_destroy(s);
    assert_presence("first", "present");
}

static void a_file_that_became_a_folder_is_gone(void **state)
{
    (void)state;
    put_weights(at("m/a.safetensors"), 4);
    import_quietly(library, "m", NULL);
    tag(id_of("a"), "first");
    assert_int_equal(tn_os_remove(at("m/a.safetensors"), NULL), TN_OK);
    put_folder(at("m/a.safetensors"));
    import_quietly(library, "m", NULL);
    assert_presence("first", "missing");
}

/* ---- an import that is interrupted ---- */

static void cancel_at_once(void *user, const tn_import_progress *progress)
{
    tn_import_progress *last = user;
    *last = *progress;
    if (!progress->walking && progress->done >= 32)
        tn_context_cancel(context);
}

static void an_interrupted_scan_relinks_when_it_is_gone_on_with(void **state)
{
    (void)state;
    told t;
    tn_import_progress last = {0};
    put_folder(at("m/old"));
    put_folder(at("m/new"));
    for (unsigned i = 0; i < 100; i++) {
        char name[64], other[64];
        snprintf(name, sizeof name, "m/old/x%03u.safetensors", i);
        put_weights(at(name), 10 + i);
        snprintf(other, sizeof other, "spare%03u", i);
        put_weights(at(other), 10 + i);
    }
    import_quietly(library, "m", NULL);
    for (unsigned i = 0; i < 100; i++) {
        char name[64], word[16], other[64];
        snprintf(name, sizeof name, "x%03u", i);
        snprintf(word, sizeof word, "t%u", i);
        tag(id_of(name), word);
        snprintf(name, sizeof name, "m/old/x%03u.safetensors", i);
        assert_int_equal(tn_os_remove(at(name), NULL), TN_OK);
        snprintf(other, sizeof other, "spare%03u", i);
        snprintf(name, sizeof name, "m/new/y%03u.safetensors", i);
        rename_to(other, name);
    }
    const char *paths[] = {at("m")};
    tn_import_options options = {.size = sizeof options, .progress = cancel_at_once, .user = &last};
    tn_import_summary *s = NULL;
    assert_int_equal(tn_library_import(library, paths, 1, &options, &s, NULL), TN_CANCELLED);
    tn_context_resume(context);
    int64_t recorded = ask(library, "SELECT count(*) FROM models WHERE unsettled IS NOT NULL");
    assert_in_range(recorded, 32, 99);
    assert_int_equal(last.fresh, recorded); /* the counts of what was recorded are true */
    assert_verified(library);
    s = import_path(library, "m", &t);
    assert_true(s->resumed);
    assert_int_equal(s->relinked, 100);
    tn_import_summary_destroy(s);
    assert_told_truly(&t);
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), 100);
    assert_tagged_at("t0", "/new/y000.safetensors");
    assert_tagged_at("t99", "/new/y099.safetensors");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, verify_teardown)
    const struct CMUnitTest tests[] = {
        TEST(swapped_names_take_their_records_along),
        TEST(an_automatic_name_follows_its_file_and_a_persons_name_stays),
        TEST(a_faithful_copy_in_its_place_is_the_same_record_with_its_hashes),
        TEST(a_touched_file_is_the_same_record_without_its_hashes),
        TEST(what_a_person_set_counts_more_than_what_is_read_again),
        TEST(another_file_in_its_place_leaves_the_record_missing_with_all_it_had),
        TEST(a_download_that_ends_carries_its_record_on),
        TEST(a_file_moved_through_another_disk_is_found_again_and_told_as_the_old_record),
        TEST(of_two_copies_none_is_taken_and_it_is_asked_about),
        TEST(an_event_waits_also_where_the_old_path_is_read_later),
        TEST(a_copy_of_what_is_still_there_is_a_new_record),
        TEST(a_new_record_that_somebody_has_spoken_of_is_not_taken_over),
        TEST(a_set_and_a_folder_that_moved_are_found_again),
        TEST(a_set_that_loses_a_shard_and_gets_it_back_stays_one_record),
        TEST(a_set_with_other_shards_is_another_record),
        TEST(a_text_beside_the_weights_of_a_folder_changes_no_record),
        TEST(a_path_that_cannot_be_asked_about_says_nothing),
        TEST(a_file_that_became_a_folder_is_gone),
        TEST(an_interrupted_scan_relinks_when_it_is_gone_on_with),
    };
    return cmocka_run_group_tests_name("library.identity", tests, NULL, NULL);
}
