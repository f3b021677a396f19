/* Looking at files again: what is sound is called so, what is not is named with its reason, and nothing is called rotten
 * that was only changed. */
#include "support/library_open.h"

#include "os/os_fault.h"

static int setup(void **state)
{
    if (open_setup(state) != 0)
        return -1;
    put_folder(at("m"));
    put_weights(at("m/a.safetensors"), 4);
    put_weights(at("m/b.safetensors"), 5);
    return 0;
}

/* What was told. */
typedef struct heard {
    size_t count, sound;
    int64_t model;      /* of the last */
    uint64_t bytes;
    size_t findings;    /* of the last that had any, and the worst of them: */
    tn_status status;
    tn_severity severity;
    char file[1024], message[1024], path[1024];
    size_t stop_after;
} heard;

static bool on_verified(void *user, const tn_verified *v)
{
    heard *h = user;
    h->count++;
    h->sound += v->sound;
    h->model = v->model;
    h->bytes += v->hashed_bytes;
    snprintf(h->path, sizeof h->path, "%s", v->path.bytes);
    if (v->count > 0) {
        h->findings = v->count;
        h->status = v->findings[0].status;
        h->severity = v->findings[0].severity;
        snprintf(h->file, sizeof h->file, "%s", v->findings[0].file.bytes);
        snprintf(h->message, sizeof h->message, "%s", v->findings[0].message.bytes);
    }
    return h->count != h->stop_after;
}

static tn_status look(const char *model, bool quick, heard *h, tn_error *err)
{
    const char *models[] = {model};
    tn_verify_options options = {.size = sizeof options, .quick = quick, .each = on_verified, .user = h};
    return tn_library_verify(context, library, models, model != NULL, &options, err);
}

/* NULL: everything. */
static heard verify(const char *model, bool quick)
{
    heard h = {0};
    tn_error err;
    if (look(model, quick, &h, &err) != TN_OK)
        fail_msg("%s", err.message);
    return h;
}

static void import_hashed(void)
{
    const char *paths[] = {at("m")};
    tn_import_options options = {.size = sizeof options, .hash = TN_HASH_NOW};
    tn_import_summary *summary = NULL;
    assert_int_equal(tn_library_import(library, paths, 1, &options, &summary, NULL), TN_OK);
    tn_import_summary_destroy(summary);
}

static void run_sql(const char *sql)
{
    tn_error err;
    if (tn_db_script(&library->db, sql, &err) != TN_OK)
        fail_msg("%s", err.message);
}

static void sound_models_are_compared_with_their_hashes(void **state)
{
    (void)state;
    tn_os_info info;
    import_hashed();
    heard h = verify(NULL, false);
    assert_int_equal(h.count, 2);
    assert_int_equal(h.sound, 2);
    assert_int_equal(h.findings, 0);
    assert_int_equal(tn_os_info_at(at("m/a.safetensors"), true, &info, NULL), TN_OK);
    assert_int_equal(h.bytes, info.size + info.size + 8);
}

static void quick_compares_no_hash(void **state)
{
    (void)state;
    import_hashed();
    run_sql("UPDATE hashes SET value = 'another'");
    heard h = verify(NULL, true);
    assert_int_equal(h.sound, 2);
    assert_int_equal(h.bytes, 0);
}

static void other_bytes_under_the_same_size_and_time_are_told_and_become_an_event(void **state)
{
    (void)state;
    import_hashed();
    run_sql("UPDATE hashes SET value = 'another' WHERE model = (SELECT id FROM models WHERE name = 'a')");
    heard h = verify(NULL, false);
    assert_int_equal(h.count, 2);
    assert_int_equal(h.sound, 1);
    assert_int_equal(h.status, TN_BAD_CHECKSUM);
    assert_non_null(strstr(h.message, "blake3 was another, is "));
    assert_string_equal(h.file, "");
    verify(NULL, false);
    assert_int_equal(ask(library, "SELECT count(*) FROM events WHERE what = 'rotten' AND job IS NULL"), 1);
}

static void a_file_that_changed_since_it_was_hashed_is_no_fault_of_its_bytes(void **state)
{
    (void)state;
    import_hashed();
    put_weights(at("m/a.safetensors"), 9);
    heard h = verify(at("m/a.safetensors"), false);
    assert_int_equal(h.sound, 1);
    assert_int_equal(h.status, TN_CHANGED);
    assert_int_equal(h.severity, TN_WARNING);
    assert_int_equal(ask(library, "SELECT count(*) FROM events WHERE what = 'rotten'"), 0);
}

static struct {
    unsigned until;     /* this manyth call */
    tn_os_operation of; /* of this operation replaces the file */
} hook;

/* Windows lets an open file be renamed, not replaced. */
static tn_status replace_then(void *user, const tn_os_call *call)
{
    (void)user;
    if (call->operation != hook.of || hook.until == 0 || (call->path != NULL && strstr(call->path, "a.safetensors") == NULL))
        return TN_OK;
    if (--hook.until == 0) {
        put_tensor(at("new"), "v", 4, 0); /* of the same size */
        assert_int_equal(tn_os_rename(at("m/a.safetensors"), at("old"), true, NULL), TN_OK);
        assert_int_equal(tn_os_rename(at("new"), at("m/a.safetensors"), false, NULL), TN_OK);
    }
    return TN_OK;
}

/* Before each of the calls that verifying makes of the system. The last of a kind are those of hashing. */
static void a_file_that_is_replaced_while_it_is_verified_is_no_fault_of_its_bytes(void **state)
{
    (void)state;
    static const tn_os_hooks hooks = {.before = replace_then};
    static const tn_os_operation operations[] = {TN_OP_OPEN, TN_OP_INFO, TN_OP_READ};
    for (unsigned i = 0; i < 3; i++) {
        heard h = {0}, last;
        unsigned n = 0;
        do {
            last = h;
            put_weights(at("m/a.safetensors"), 4);
            import_hashed();
            hook.of = operations[i];
            hook.until = ++n;
            tn_os_set_hooks(&hooks);
            h = verify(at("m/a.safetensors"), false);
            tn_os_set_hooks(NULL);
            assert_int_equal(h.count, 1);
            assert_true(h.sound == 1 || h.status == TN_CHANGED);
        } while (hook.until == 0);
        hook.until = 0;
        assert_int_equal(last.sound, 1);
        assert_int_equal(last.status, TN_CHANGED);
    }
    assert_int_equal(ask(library, "SELECT count(*) FROM events WHERE what = 'rotten'"), 0);
}

static void what_was_never_hashed_is_said_to_be_so(void **state)
{
    (void)state;
    import_quietly(library, "m", NULL);
    heard h = verify("a", false);
    assert_int_equal(h.count, 1);
    assert_int_equal(h.sound, 1);
    assert_int_equal(h.status, TN_NOT_HASHED);
    assert_int_equal(h.severity, TN_NOTE);
}

static void damage_of_the_structure_is_found_with_its_numbers(void **state)
{
    (void)state;
    put_short_weights(at("m/short.safetensors"), 50, 10);
    import_hashed();
    heard h = verify("short", false);
    assert_int_equal(h.sound, 0);
    assert_int_equal(h.status, TN_TRUNCATED);
    assert_true(h.bytes > 0); /* and its hash is compared all the same */
}

static void models_that_are_gone_are_not_sound(void **state)
{
    (void)state;
    import_hashed();
    assert_int_equal(tn_os_remove(at("m/a.safetensors"), NULL), TN_OK);
    heard h = verify(NULL, false);
    assert_int_equal(h.count, 2);
    assert_int_equal(h.sound, 1);
    assert_int_equal(h.status, TN_NOT_FOUND);
    import_quietly(library, "m", NULL);
    h = verify(NULL, true);
    assert_int_equal(h.sound, 1);
    assert_int_equal(h.status, TN_NOT_FOUND);
}

static void a_part_with_other_bytes_is_named(void **state)
{
    (void)state;
    put_tensor(at("m/set-00001-of-00002.safetensors"), "v", 6, 0);
    put_tensor(at("m/set-00002-of-00002.safetensors"), "w", 6, 0);
    put_text(at("m/set.safetensors.index.json"),
             "{\"metadata\":{\"total_size\":96},\"weight_map\":{\"v\":\"set-00001-of-00002.safetensors\","
             "\"w\":\"set-00002-of-00002.safetensors\"}}");
    import_hashed();
    run_sql("UPDATE hashes SET value = 'another' WHERE position = 1");
    heard h = verify("set", false);
    assert_int_equal(h.count, 1);
    assert_int_equal(h.sound, 0);
    assert_non_null(strstr(h.file, "set-00002-of-00002.safetensors"));
}

static void a_folder_stands_for_all_models_below_it(void **state)
{
    (void)state;
    import_hashed();
    heard h = verify(at("m"), false);
    assert_int_equal(h.count, 2);
    assert_int_equal(h.sound, 2);
}

static void a_path_that_the_library_does_not_know_has_a_structure(void **state)
{
    (void)state;
    put_weights(at("alone.safetensors"), 3);
    heard h = verify(at("alone.safetensors"), false);
    assert_int_equal(h.count, 1);
    assert_int_equal(h.sound, 1);
    assert_int_equal(h.model, 0);
    h = verify(at("nothing.safetensors"), false);
    assert_int_equal(h.sound, 0);
    assert_int_equal(h.status, TN_NOT_FOUND);
    put_text(at("web.safetensors"), "<!DOCTYPE html><html><head></head></html>");
    h = verify(at("web.safetensors"), false);
    assert_int_equal(h.sound, 0);
}

static void a_name_of_two_models_is_refused_before_anything_is_looked_at(void **state)
{
    (void)state;
    heard h = {0};
    put_folder(at("m/x"));
    put_weights(at("m/x/a.safetensors"), 8);
    import_quietly(library, "m", NULL);
    assert_int_equal(look("a", false, &h, NULL), TN_AMBIGUOUS_NAME);
    assert_int_equal(h.count, 0);
}

static void the_one_who_is_told_can_stop_it(void **state)
{
    (void)state;
    import_hashed();
    heard h = {.stop_after = 1};
    assert_int_equal(look(NULL, false, &h, NULL), TN_OK);
    assert_int_equal(h.count, 1);
}

static void without_a_library_paths_are_looked_at(void **state)
{
    (void)state;
    heard h = {0};
    const char *paths[] = {at("m/a.safetensors"), at("m/b.safetensors")};
    tn_verify_options options = {.size = sizeof options, .each = on_verified, .user = &h};
    assert_int_equal(tn_library_verify(context, NULL, paths, 2, &options, NULL), TN_OK);
    assert_int_equal(h.sound, 2);
}

static void a_cancel_ends_it(void **state)
{
    (void)state;
    heard h = {0};
    import_hashed();
    tn_context_cancel(context);
    assert_int_equal(look(NULL, false, &h, NULL), TN_CANCELLED);
    tn_context_resume(context);
    assert_int_equal(h.count, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, close_teardown)
    const struct CMUnitTest tests[] = {
        TEST(sound_models_are_compared_with_their_hashes),
        TEST(quick_compares_no_hash),
        TEST(other_bytes_under_the_same_size_and_time_are_told_and_become_an_event),
        TEST(a_file_that_changed_since_it_was_hashed_is_no_fault_of_its_bytes),
        TEST(a_file_that_is_replaced_while_it_is_verified_is_no_fault_of_its_bytes),
        TEST(what_was_never_hashed_is_said_to_be_so),
        TEST(damage_of_the_structure_is_found_with_its_numbers),
        TEST(models_that_are_gone_are_not_sound),
        TEST(a_part_with_other_bytes_is_named),
        TEST(a_folder_stands_for_all_models_below_it),
        TEST(a_path_that_the_library_does_not_know_has_a_structure),
        TEST(a_name_of_two_models_is_refused_before_anything_is_looked_at),
        TEST(the_one_who_is_told_can_stop_it),
        TEST(without_a_library_paths_are_looked_at),
        TEST(a_cancel_ends_it),
    };
    return cmocka_run_group_tests_name("library.verify_files", tests, NULL, NULL);
}
