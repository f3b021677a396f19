/* Watching folders: whatever happens in them or below is told, also in folders that came later. */
#include "support/check.h"

#include "support/faults.h"
#include "support/scratch.h"

#define SOON_MS 5000 /* long enough for a loaded machine; a test waits that long only when it fails */

static tn_os_watch *watch;

static void put(const char *name)
{
    assert_int_equal(tn_os_replace_file(at(name), "x", 1, NULL), TN_OK);
}

static int watch_up(void **state)
{
    (void)state;
    const char *const folders[] = {at("models")};
    assert_int_equal(tn_os_make_folders(at("models/loras"), NULL), TN_OK);
    tn_status status = tn_os_watch_open(&scratch_memory, folders, 1, &watch, NULL);
    assert_true(status == TN_OK || status == TN_UNAVAILABLE);
    return 0;
}

static int watch_down(void **state)
{
    (void)state;
    tn_os_watch_close(watch);
    watch = NULL;
    scratch_remove(at("models"));
    return 0;
}

static bool told(unsigned timeout_ms)
{
    bool changed = false;
    if (watch == NULL)
        skip(); /* a system that tells nothing: callers look from time to time */
    assert_int_equal(tn_os_watch_wait(watch, timeout_ms, &changed, NULL), TN_OK);
    return changed;
}

/* One change may be told in several turns. */
static void settle(void)
{
    while (told(200)) {
    }
}

static void a_new_file_is_told_and_silence_is_not(void **state)
{
    (void)state;
    assert_false(told(50));
    put("models/a.safetensors");
    assert_true(told(SOON_MS));
    settle();
    assert_false(told(50));
}

/* Wine tells nothing of what lies below a watched folder; Windows does. */
static bool is_wine(void)
{
    tn_buffer value;
    tn_buffer_init(&value, &scratch_memory, 65536);
    bool set = tn_os_environment("WINEPREFIX", &value);
    tn_buffer_free(&value);
    return set;
}

static void below_and_in_folders_that_came_later_too(void **state)
{
    (void)state;
    if (is_wine())
        skip();
    put("models/loras/b.safetensors");
    assert_true(told(SOON_MS));
    settle();
    assert_int_equal(tn_os_make_folders(at("models/new/deep"), NULL), TN_OK);
    assert_true(told(SOON_MS));
    settle();
    put("models/new/deep/c.safetensors");
    assert_true(told(SOON_MS));
}

static void renamed_and_removed_files_are_told(void **state)
{
    (void)state;
    put("models/a.safetensors");
    settle();
    assert_int_equal(tn_os_rename(at("models/a.safetensors"), at("models/b.safetensors"), false, NULL), TN_OK);
    assert_true(told(SOON_MS));
    settle();
    assert_int_equal(tn_os_remove(at("models/b.safetensors"), NULL), TN_OK);
    assert_true(told(SOON_MS));
}

static void what_is_outside_is_not_told(void **state)
{
    (void)state;
    put("elsewhere.safetensors");
    assert_false(told(200));
    assert_int_equal(tn_os_remove(at("elsewhere.safetensors"), NULL), TN_OK);
}

static void watch_with_faults(void *user)
{
    const char *const folders[] = {at("models")};
    const tn_os_hooks hooks = {.before = failing_call};
    tn_memory_source memory = *(tn_memory_source *)user;
    bool changed = false;
    tn_os_watch *w = NULL;
    tn_os_set_hooks(&hooks);
    if (tn_os_watch_open(&memory, folders, 1, &w, NULL) == TN_OK)
        (void)tn_os_watch_wait(w, 0, &changed, NULL);
    tn_os_set_hooks(NULL);
    tn_os_watch_close(w);
    assert_int_equal(memory.budget->used, 0);
}

static void every_allocation_and_call_may_fail(void **state)
{
    (void)state;
    tn_budget budget;
    tn_budget_init(&budget, 1 << 20);
    tn_memory_source memory = {{failing_resize, NULL}, &budget};
    if (watch == NULL)
        skip();
    each_fault("watch", false, watch_with_faults, &memory);
    each_fault("watch", true, watch_with_faults, &memory);
}

static void a_watch_that_was_never_opened_can_be_closed(void **state)
{
    (void)state;
    tn_os_watch_close(NULL);
}

int main(void)
{
#define WATCHED(test) cmocka_unit_test_setup_teardown(test, watch_up, watch_down)
    const struct CMUnitTest tests[] = {
        WATCHED(a_new_file_is_told_and_silence_is_not),
        WATCHED(below_and_in_folders_that_came_later_too),
        WATCHED(renamed_and_removed_files_are_told),
        WATCHED(what_is_outside_is_not_told),
        WATCHED(every_allocation_and_call_may_fail),
        cmocka_unit_test(a_watch_that_was_never_opened_can_be_closed),
    };
    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
