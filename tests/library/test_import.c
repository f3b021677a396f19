/* Imports keep promise 5: each thing is recorded once, what did not change is not read again, nothing recorded is lost. */
#include "support/library_open.h"

#include "os/os_fault.h"

static int setup(void **state)
{
    if (open_setup(state) != 0)
        return -1;
    put_folder(at("models"));
    return 0;
}

static void assert_events(const told *t, size_t fresh, size_t changed, size_t unchanged)
{
    assert_int_equal(t->fresh, fresh);
    assert_int_equal(t->changed, changed);
    assert_int_equal(t->unchanged, unchanged);
}

static void every_model_is_recorded_once_and_told(void **state)
{
    (void)state;
    told t;
    for (unsigned i = 0; i < 100; i++) {
        char name[64];
        snprintf(name, sizeof name, "models/m%03u.safetensors", i);
        put_weights(at(name), 10 + i);
    }
    tn_import_summary *s = import_path(library, "models", &t);
    assert_events(&t, 100, 0, 0);
    assert_int_equal(s->models, 100);
    assert_int_equal(s->fresh, 100);
    assert_int_equal(s->problem_count, 0);
    assert_false(s->resumed);
    tn_import_summary_destroy(s);
    assert_int_equal(ask(library, "SELECT count(*) FROM models WHERE length(sample) = 32"), 100);
    assert_int_equal(ask(library, "SELECT count(*) FROM job_items"), 0);
    assert_int_equal(ask(library, "SELECT count(*) FROM jobs WHERE state = 'done' AND items = 100 AND items_done = 100"),
                     1);
    assert_int_equal(ask(library, "SELECT count(*) FROM roots"), 1);
}

static void a_second_import_reads_nothing_that_did_not_change(void **state)
{
    (void)state;
    told t;
    put_weights(at("models/a.safetensors"), 4);
    put_weights(at("models/b.safetensors"), 5);
    put_text(at("models/c.bin"), "no weights, only a name");
    put_text(at("models/readme.txt"), "hello");
    import_quietly(library, "models", &t);
    assert_events(&t, 2, 0, 0);
    uint64_t read = tn_context_bytes_read(context);
    tn_import_summary *s = import_path(library, "models", &t);
    assert_events(&t, 0, 0, 2);
    assert_int_equal(tn_context_bytes_read(context), read);
    assert_int_equal(s->unchanged, 2);
    assert_int_equal(s->others, 2);
    tn_import_summary_destroy(s);
}

static void other_bytes_under_a_known_path_are_a_new_record_and_the_old_one_is_missing(void **state)
{
    (void)state;
    told t;
    put_weights(at("models/a.safetensors"), 4);
    put_weights(at("models/b.safetensors"), 5);
    import_quietly(library, "models", &t);
    int64_t id = ask(library, "SELECT id FROM models WHERE name = 'a'");
    put_weights(at("models/a.safetensors"), 40);
    import_quietly(library, "models", &t);
    assert_events(&t, 1, 0, 1);
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), 3);
    assert_int_equal(ask(library, "SELECT id FROM models WHERE name = 'a' AND presence = 'missing'"), id);
    assert_int_equal(ask(library, "SELECT count(*) FROM models WHERE name = 'a' AND presence = 'present'"), 1);
    assert_int_equal(ask(library, "SELECT count(*) FROM events WHERE what = 'missing'"), 1);
}

static void what_vanished_is_missing_and_kept_and_comes_back(void **state)
{
    (void)state;
    told t;
    put_weights(at("models/a.safetensors"), 4);
    put_weights(at("models/b.safetensors"), 5);
    import_quietly(library, "models", &t);
    assert_int_equal(tn_os_rename(at("models/a.safetensors"), at("away"), false, NULL), TN_OK);
    tn_import_summary *s = import_path(library, "models", &t);
    assert_int_equal(s->vanished, 1);
    assert_int_equal(s->models, 1);
    tn_import_summary_destroy(s);
    assert_int_equal(ask(library, "SELECT presence = 'missing' FROM models WHERE name = 'a'"), 1);
    assert_int_equal(tn_os_rename(at("away"), at("models/a.safetensors"), false, NULL), TN_OK);
    uint64_t read = tn_context_bytes_read(context);
    import_quietly(library, "models", &t);
    assert_events(&t, 0, 0, 2);
    assert_int_equal(tn_context_bytes_read(context), read); /* it came back as it was: nothing is read */
    assert_int_equal(ask(library, "SELECT count(*) FROM models WHERE presence = 'present' AND missing_ns = 0"), 2);
}

static void a_root_that_is_away_makes_its_models_offline_not_missing(void **state)
{
    (void)state;
    told t;
    put_weights(at("models/a.safetensors"), 4);
    import_quietly(library, "models", &t);
    assert_int_equal(tn_os_rename(at("models"), at("unplugged"), false, NULL), TN_OK);
    tn_import_summary *s = import_path(library, "models", &t);
    assert_int_equal(s->problem_count, 1); /* the path itself */
    assert_string_equal(s->problems[0].presence.bytes, "missing");
    tn_import_summary_destroy(s);
    assert_int_equal(ask(library, "SELECT presence = 'offline' FROM models"), 1);
}

static void a_short_file_is_recorded_as_damaged_with_what_to_do(void **state)
{
    (void)state;
    told t;
    put_short_weights(at("models/a.safetensors"), 1000, 3000); /* 8,000 bytes of data, 5,000 there */
    tn_import_summary *s = import_path(library, "models", &t);
    assert_int_equal(s->problem_count, 1);
    assert_int_equal(s->problems[0].state, TN_STATE_DAMAGED);
    assert_string_equal(s->problems[0].presence.bytes, "present");
    assert_non_null(strstr(s->problems[0].message.bytes, "short by 3.0 KB"));
    assert_non_null(strstr(s->problems[0].message.bytes, "fetch it again"));
    tn_import_summary_destroy(s);
}

static void an_unmistakable_suffix_is_recorded_whatever_it_holds_and_others_only_as_weights(void **state)
{
    (void)state;
    told t;
    put_text(at("models/page.safetensors"), "<html>Not found</html>");
    put_text(at("models/old.ckpt"), "");
    put_text(at("models/data.bin"), "some game's data");
    put_text(at("models/photo.png"), "\x89PNG\r\n\x1a\n");
    tn_import_summary *s = import_path(library, "models", &t);
    assert_int_equal(s->models, 2);
    assert_int_equal(s->others, 2);
    tn_import_summary_destroy(s);
}

static void a_path_that_is_named_is_answered_even_when_it_is_no_model(void **state)
{
    (void)state;
    told t;
    put_text(at("photo.png"), "\x89PNG\r\n\x1a\n");
    import_quietly(library, "photo.png", &t);
    assert_int_equal(t.count, 1);
    assert_int_equal(t.ids[0], 0);
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), 0);
}

static void naming_a_file_twice_or_beside_its_folder_records_it_once(void **state)
{
    (void)state;
    told t;
    put_weights(at("models/a.safetensors"), 4);
    const char *paths[] = {at("models/a.safetensors"), at("models"), at("models/../models/a.safetensors")};
    tn_import_options options = options_telling(&t);
    tn_import_summary *s = NULL;
    assert_int_equal(tn_library_import(library, paths, 3, &options, &s, NULL), TN_OK);
    tn_import_summary_destroy(s);
    assert_events(&t, 1, 0, 0);
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), 1);
}

static void a_dry_run_says_what_it_would_do_and_writes_nothing(void **state)
{
    (void)state;
    told t;
    put_weights(at("models/a.safetensors"), 4);
    const char *paths[] = {at("models")};
    tn_import_options options = options_telling(&t);
    options.dry_run = true;
    tn_import_summary *s = NULL;
    assert_int_equal(tn_library_import(library, paths, 1, &options, &s, NULL), TN_OK);
    assert_int_equal(t.count, 1);
    assert_int_equal(t.ids[0], 0);
    assert_int_equal(s->fresh, 1);
    tn_import_summary_destroy(s);
    assert_int_equal(ask(library, "SELECT (SELECT count(*) FROM models) + (SELECT count(*) FROM jobs)"), 0);
}

static void no_path_or_an_empty_one_is_refused(void **state)
{
    (void)state;
    const char *paths[] = {""};
    tn_import_summary *s = NULL;
    assert_int_equal(tn_library_import(library, paths, 0, NULL, &s, NULL), TN_INVALID);
    assert_int_equal(tn_library_import(library, paths, 1, NULL, &s, NULL), TN_BAD_PATH);
    assert_int_equal(ask(library, "SELECT count(*) FROM jobs"), 0);
}

/* ---- sets ---- */

static const char index_json[] = "{\"metadata\":{\"total_size\":64},\"weight_map\":{\"w\":\"m-00001-of-00002.safetensors\","
                                 "\"v\":\"m-00002-of-00002.safetensors\"}}";

/* A shard of one tensor of its own name. */
static void put_shard(const char *path, char tensor)
{
    char bytes[256];
    int size = snprintf(bytes + 8, 200, "{\"%c\":{\"dtype\":\"F16\",\"shape\":[4,4],\"data_offsets\":[0,32]}} ", tensor);
    memset(bytes, 0, 8);
    bytes[0] = (char)size;
    memset(bytes + 8 + size, 0, 32);
    put_file(path, bytes, (size_t)size + 40);
}

static void put_set(void)
{
    put_shard(at("models/m-00001-of-00002.safetensors"), 'w');
    put_shard(at("models/m-00002-of-00002.safetensors"), 'v');
}

static void a_set_is_one_model_by_its_index(void **state)
{
    (void)state;
    told t;
    put_set();
    put_text(at("models/m.safetensors.index.json"), index_json);
    import_quietly(library, "models", &t);
    assert_events(&t, 1, 0, 0);
    assert_int_equal(ask(library, "SELECT name = 'm' AND part_count = 2 FROM models"), 1);
    assert_int_equal(ask(library, "SELECT count(*) FROM parts WHERE position >= 0"), 2);
    import_quietly(library, "models", &t);
    assert_events(&t, 0, 0, 1);
    import_quietly(library, "models/m-00002-of-00002.safetensors", &t);
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), 1);
}

static void a_set_without_index_is_one_model_by_its_first_shard(void **state)
{
    (void)state;
    told t;
    put_set();
    import_quietly(library, "models", &t);
    assert_events(&t, 1, 0, 0);
    assert_int_equal(ask(library, "SELECT name = 'm' FROM models"), 1);
    import_quietly(library, "models", &t);
    assert_events(&t, 0, 0, 1);
}

static void a_shard_that_vanishes_makes_its_set_be_read_again(void **state)
{
    (void)state;
    told t;
    put_set();
    put_text(at("models/m.safetensors.index.json"), index_json);
    import_quietly(library, "models", &t);
    assert_int_equal(tn_os_remove(at("models/m-00002-of-00002.safetensors"), NULL), TN_OK);
    import_quietly(library, "models", &t);
    assert_int_equal(t.count - t.unchanged, 1);
    assert_int_equal(ask(library, "SELECT state = 'damaged' FROM models"), 1);
}

static int64_t size_on_disk(const char *path)
{
    tn_os_info info;
    assert_int_equal(tn_os_info_at(path, true, &info, NULL), TN_OK);
    return (int64_t)info.size;
}

static void a_shard_that_changes_is_shown_as_it_is_now(void **state)
{
    (void)state;
    static const char size_of_shard[] = "SELECT size FROM files WHERE CAST(path AS TEXT) LIKE '%m-00002-of-%'";
    char shard[2048];
    snprintf(shard, sizeof shard, "%s", at("models/m-00002-of-00002.safetensors"));
    put_set();
    put_text(at("models/m.safetensors.index.json"), index_json);
    import_quietly(library, "models", NULL);
    int64_t before = size_on_disk(shard);
    assert_int_equal(ask(library, size_of_shard), before);
    put_tensor(shard, "v", 100, 0);
    import_quietly(library, "models", NULL);
    assert_int_equal(ask(library, size_of_shard), size_on_disk(shard));
    assert_int_not_equal(size_on_disk(shard), before);
}

static void a_folder_that_cannot_be_made_sense_of_is_not_read_again(void **state)
{
    (void)state;
    told t;
    put_folder(at("models/p"));
    put_text(at("models/p/model_index.json"), "{\"_class_name\":");
    import_quietly(library, "models", &t);
    assert_events(&t, 1, 0, 0);
    assert_int_equal(ask(library, "SELECT state = 'damaged' AND sample IS NULL FROM models"), 1);
    import_quietly(library, "models", &t);
    assert_events(&t, 0, 0, 1);
}

/* ---- file systems that tell less ---- */

/* As FAT and SMB have it: other file ids at every look, times to two seconds. */
static void make_weak(void *user, const char *path, tn_os_info *info)
{
    (void)path;
    int64_t *shift_ns = user;
    info->weak_identity = info->kind == TN_OS_REGULAR;
    info->file_id[0] += (uint64_t)*shift_ns;
    info->mtime_ns += *shift_ns;
}

static void weak_identities_are_unchanged_within_two_seconds_and_changed_past_them(void **state)
{
    (void)state;
    told t;
    int64_t shift_ns = 0;
    tn_os_hooks hooks = {.alter_info = make_weak, .user = &shift_ns};
    put_weights(at("models/a.safetensors"), 4);
    put_set();
    tn_os_set_hooks(&hooks);
    import_quietly(library, "models", &t);
    assert_events(&t, 2, 0, 0);
    uint64_t read = tn_context_bytes_read(context);
    shift_ns = 1999999999;
    import_quietly(library, "models/a.safetensors", &t);
    assert_events(&t, 0, 0, 1);
    assert_int_equal(tn_context_bytes_read(context), read);
    shift_ns = 2000000000;
    import_quietly(library, "models/a.safetensors", &t);
    tn_os_set_hooks(NULL);
    assert_true(tn_context_bytes_read(context) > read);
}

static void make_placeholder(void *user, const char *path, tn_os_info *info)
{
    (void)user;
    (void)path;
    info->placeholder = info->kind == TN_OS_REGULAR;
}

static void a_file_in_the_cloud_is_named_and_not_read(void **state)
{
    (void)state;
    told t;
    tn_os_hooks hooks = {.alter_info = make_placeholder};
    put_weights(at("models/a.safetensors"), 4);
    tn_os_set_hooks(&hooks);
    uint64_t read = tn_context_bytes_read(context);
    tn_import_summary *s = import_path(library, "models", &t);
    tn_os_set_hooks(NULL);
    assert_int_equal(tn_context_bytes_read(context), read);
    assert_int_equal(s->problem_count, 1);
    assert_int_equal(s->problems[0].state, TN_STATE_UNREADABLE);
    tn_import_summary_destroy(s);
    import_quietly(library, "models", &t); /* unreadable things are tried again */
    assert_int_equal(ask(library, "SELECT count(*) FROM models WHERE state <> 'unreadable'"), 1);
}

/* ---- cancelling ---- */

static void cancel_at_once(void *user, const tn_import_progress *progress)
{
    (void)user;
    if (!progress->walking && progress->done >= 32)
        tn_context_cancel(context);
}

static void a_cancelled_import_loses_nothing_and_is_resumed(void **state)
{
    (void)state;
    told t;
    for (unsigned i = 0; i < 200; i++) {
        char name[64];
        snprintf(name, sizeof name, "models/m%03u.safetensors", i);
        put_weights(at(name), 10 + i);
    }
    const char *paths[] = {at("models")};
    tn_import_options options = options_telling(&t);
    options.progress = cancel_at_once;
    tn_import_summary *s = NULL;
    assert_int_equal(tn_library_import(library, paths, 1, &options, &s, NULL), TN_CANCELLED);
    tn_context_resume(context);
    int64_t recorded = ask(library, "SELECT count(*) FROM models");
    assert_in_range(recorded, 32, 199);
    assert_int_equal(t.fresh, recorded);
    assert_int_equal(ask(library, "SELECT count(*) FROM jobs WHERE state = 'interrupted'"), 1);
    assert_int_equal(ask(library, "SELECT count(*) FROM job_items WHERE state = 'reading' OR deaths > 0"), 0);
    s = import_path(library, "models", &t);
    assert_true(s->resumed);
    assert_events(&t, (size_t)(200 - recorded), 0, (size_t)recorded);
    tn_import_summary_destroy(s);
    assert_int_equal(ask(library, "SELECT count(*) FROM jobs WHERE state = 'done'"), 1);
}

/* ---- threads ---- */

static void import_in_a_thread(void *argument)
{
    tn_import_summary *s = NULL;
    const char *path = argument;
    tn_status status = tn_library_import(library, &path, 1, NULL, &s, NULL);
    tn_import_summary_destroy(s);
    if (status != TN_OK)
        print_error("an import in a thread ended with %s\n", tn_status_word(status));
}

static void two_threads_may_import_with_one_library_at_once(void **state)
{
    (void)state;
    tn_os_thread *threads[2] = {NULL, NULL};
    char path[2048];
    for (unsigned i = 0; i < 100; i++) {
        char name[64];
        snprintf(name, sizeof name, "models/m%03u.safetensors", i);
        put_weights(at(name), 10 + i);
    }
    snprintf(path, sizeof path, "%s", at("models"));
    for (int i = 0; i < 2; i++)
        assert_int_equal(tn_os_thread_start(&scratch_memory, import_in_a_thread, path, &threads[i], NULL), TN_OK);
    for (int i = 0; i < 2; i++)
        tn_os_thread_join(threads[i]);
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), 100);
    assert_int_equal(ask(library, "SELECT count(*) FROM jobs WHERE state = 'done'"), 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, verify_teardown)
    const struct CMUnitTest tests[] = {
        TEST(every_model_is_recorded_once_and_told),
        TEST(a_second_import_reads_nothing_that_did_not_change),
        TEST(other_bytes_under_a_known_path_are_a_new_record_and_the_old_one_is_missing),
        TEST(what_vanished_is_missing_and_kept_and_comes_back),
        TEST(a_root_that_is_away_makes_its_models_offline_not_missing),
        TEST(a_short_file_is_recorded_as_damaged_with_what_to_do),
        TEST(an_unmistakable_suffix_is_recorded_whatever_it_holds_and_others_only_as_weights),
        TEST(a_path_that_is_named_is_answered_even_when_it_is_no_model),
        TEST(naming_a_file_twice_or_beside_its_folder_records_it_once),
        TEST(a_dry_run_says_what_it_would_do_and_writes_nothing),
        TEST(no_path_or_an_empty_one_is_refused),
        TEST(a_set_is_one_model_by_its_index),
        TEST(a_set_without_index_is_one_model_by_its_first_shard),
        TEST(a_shard_that_vanishes_makes_its_set_be_read_again),
        TEST(a_shard_that_changes_is_shown_as_it_is_now),
        TEST(a_folder_that_cannot_be_made_sense_of_is_not_read_again),
        TEST(weak_identities_are_unchanged_within_two_seconds_and_changed_past_them),
        TEST(a_file_in_the_cloud_is_named_and_not_read),
        TEST(two_threads_may_import_with_one_library_at_once),
        TEST(a_cancelled_import_loses_nothing_and_is_resumed),
    };
    return cmocka_run_group_tests_name("library.import", tests, NULL, NULL);
}
