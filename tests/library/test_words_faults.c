/* Fault loops over what people say and ask: each allocation of ours, of SQLite's, and each call of the system fails, once
 * and for good. The answer is a status, nothing leaks, and the library is sound: each change is there whole, with its
 * event and its place in the index, or not at all. */
#include "support/library_faults.h"
#include "support/library_records.h"

/* ---- the library before a run ---- */

static library_bytes fresh;
static char exported[1 << 16];
static size_t exported_size, exported_at;

static bool write_export(void *user, const char *bytes, size_t size)
{
    (void)user;
    if (exported_size + size > sizeof exported)
        return false;
    memcpy(exported + exported_size, bytes, size);
    exported_size += size;
    return true;
}

static bool write_nowhere(void *user, const char *bytes, size_t size)
{
    (void)user;
    (void)bytes;
    return size > 0;
}

static size_t read_export(void *user, char *bytes, size_t size)
{
    (void)user;
    size_t left = exported_size - exported_at, got = left < size ? left : size;
    memcpy(bytes, exported + exported_at, got);
    exported_at += got;
    return got;
}

static void keep_fresh(void)
{
    tn_library *library = open_library(NULL);
    import_quietly(library, "m", NULL);
    change(library, "INSERT INTO hashes SELECT 1, 0, 'blake3', '0123456789', size, mtime_ns FROM files LIMIT 1");
    exported_size = 0;
    assert_int_equal(tn_library_export(library, write_export, NULL, NULL), TN_OK);
    tn_library_close(library);
    library_keep(&fresh);
}

/* ---- what is done under faults ---- */

static bool see(void *user, const tn_record *record)
{
    (void)user;
    return record->json.size > 0;
}

static bool see_twins(void *user, const tn_twins *twins)
{
    (void)user;
    return twins->count > 1;
}

static bool see_usage(void *user, const tn_usage *usage)
{
    (void)user;
    return usage->path.bytes != NULL;
}

static bool see_tag(void *user, const tn_tag *tag)
{
    (void)user;
    return tag->models > 0;
}

static void words_work(tn_context *own)
{
    tn_library *library = NULL;
    tn_error err;
    const char *add = "new", *none = "old";
    tn_tag_change tags = {.size = sizeof tags, .add = &add, .add_count = 1, .remove = &none, .remove_count = 1};
    tn_set_options set = {.size = sizeof set, .type = "lora", .base = "sdxl"};
    tn_usage_options disk = {.size = sizeof disk, .disk = true};
    if (tn_library_open(own, at("library.db"), NULL, &library, &err) != TN_OK)
        return;
    tn_library_tag(library, "a", &tags, &err);
    tn_library_note(library, "a", "a note", &err);
    tn_library_rename(library, "b", "other", &err);
    tn_library_set(library, "a", &set, &err);
    tn_library_search(library, "note tag:new", 0, see, NULL, &err);
    tn_library_search(library, "01234567", 10, see, NULL, &err);
    tn_library_search(library, "ot", 10, see, NULL, &err);
    tn_library_find(library, "a.safetensors", see, NULL, &err);
    tn_library_tags(library, see_tag, NULL, &err);
    tn_library_duplicates(library, see_twins, NULL, &err);
    tn_library_usage(library, &disk, see_usage, NULL, &err);
    tn_library_usage(library, NULL, see_usage, NULL, &err);
    tn_library_export(library, write_nowhere, NULL, &err);
    tn_library_close(library);
}

static void restore_work(tn_context *own)
{
    tn_library *library = NULL;
    tn_error err;
    exported_at = 0;
    if (tn_library_open(own, at("other.db"), NULL, &library, &err) != TN_OK)
        return;
    tn_library_restore(library, read_export, NULL, NULL, &err);
    tn_library_close(library);
}

/* ---- what is left behind ---- */

static void words_with_fault(void *user)
{
    library_put_back(&fresh);
    with_fault(*(const kind *)user, words_work);
    tn_library *library = open_library(NULL);
    assert_verified(library);
    assert_indexed(library);
    /* Each change has its event, or neither is there. */
    assert_int_equal(ask(library, "SELECT (SELECT count(*) FROM tags) - (SELECT count(*) FROM events WHERE what = 'tagged')"), 0);
    assert_int_equal(ask(library, "SELECT (SELECT count(*) FROM models WHERE note <> '') - (SELECT count(*) FROM events WHERE "
                                  "what = 'noted')"), 0);
    assert_int_equal(ask(library, "SELECT (SELECT count(*) FROM models WHERE named) - (SELECT count(*) FROM events WHERE what "
                                  "= 'named')"), 0);
    assert_int_equal(ask(library, "SELECT (SELECT count(*) FROM models WHERE base = 'sdxl' AND set_base = 'sdxl') - (SELECT "
                                  "count(*) FROM events WHERE what = 'set')"), 0);
    tn_library_close(library);
}

static void restore_with_fault(void *user)
{
    library_remove("other.db");
    with_fault(*(const kind *)user, restore_work);
    tn_library *library = NULL;
    assert_int_equal(tn_library_open(context, at("other.db"), NULL, &library, NULL), TN_OK);
    assert_verified(library);
    assert_indexed(library);
    int64_t models = ask(library, "SELECT count(*) FROM models");
    assert_true(models == 0 || models == 3); /* all or nothing */
    assert_int_equal(ask(library, "SELECT count(*) FROM files") == 0, models == 0);
    tn_library_close(library);
}

static void any_allocation_may_fail(void **state)
{
    (void)state;
    fault_loop("allocations of words, searches and sums", OUR_MEMORY, words_with_fault);
    fault_loop("allocations of a restore", OUR_MEMORY, restore_with_fault);
}

static void any_call_of_the_system_may_fail(void **state)
{
    (void)state;
    fault_loop("calls of the system for words, searches and sums", SYSTEM_CALLS, words_with_fault);
    fault_loop("calls of the system of a restore", SYSTEM_CALLS, restore_with_fault);
}

/* SQLite's own tests go through all of its allocations; here some show that a failure arrives as a status. */
static void sqlite_may_run_out_of_memory(void **state)
{
    (void)state;
    kind what = SQLITE_MEMORY;
    const uint64_t stride = fault_stride();
    for (uint64_t n = 1; n < 6000; n += stride * (n < 400 ? 11 : 97)) {
        faults = (struct faults){0, n, n % 2 == 0};
        words_with_fault(&what);
        faults = (struct faults){0, n, n % 2 == 0};
        restore_with_fault(&what);
    }
    faults = (struct faults){0};
}

static int setup(void **state)
{
    (void)state;
    if (library_setup_in_memory() != 0)
        return -1;
    put_folder(at("m"));
    put_weights(at("m/a.safetensors"), 4);
    put_weights(at("m/b.safetensors"), 4);
    put_short_weights(at("m/short.safetensors"), 50, 10);
    keep_fresh();
    return 0;
}

int main(void)
{
    if (!sqlite_memory_may_fail())
        return 1;
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, library_teardown)
    const struct CMUnitTest tests[] = {
        TEST(any_allocation_may_fail),
        TEST(any_call_of_the_system_may_fail),
        TEST(sqlite_may_run_out_of_memory),
    };
    return cmocka_run_group_tests_name("library.words_faults", tests, NULL, NULL);
}
