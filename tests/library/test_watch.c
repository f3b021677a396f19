/* A watch: what appears is recorded soon, what is still being written is left alone until it is still, and scans that find
 * nothing leave nothing behind. */
#include "support/library.h"

#include <stdatomic.h>

#define STILL_MS 1200u

typedef struct seen {
    unsigned scans;           /* that were told of */
    uint64_t fresh, problems; /* of all of them */
    uint64_t wanted;          /* so many new models end the watch */
    atomic_uint begun;        /* scans, told of or not */
    unsigned most;            /* so many end it too, by a cancel; 0: no matter */
} seen;

static bool on_scanned(void *user, const tn_import_summary *summary)
{
    seen *s = user;
    s->scans++;
    s->fresh += summary->fresh;
    s->problems += summary->problem_count;
    return s->fresh < s->wanted;
}

/* A scan begins when its walk does. */
static void on_progress(void *user, const tn_import_progress *progress)
{
    seen *s = user;
    if (progress->walking && atomic_fetch_add(&s->begun, 1) + 1 == s->most)
        tn_context_cancel(context);
}

static tn_status watch_with(tn_library *library, seen *s, unsigned poll_ms)
{
    const tn_import_options import = {.size = sizeof import, .still_ms = STILL_MS, .progress = on_progress, .user = s};
    const tn_watch_options options = {.size = sizeof options, .import = &import, .poll_ms = poll_ms,
                                      .scanned = on_scanned, .user = s};
    return tn_library_watch(library, NULL, 0, &options, NULL);
}

/* A library beside a root: one inside would be looked at now and then only. */
static tn_library *library_with_root(void)
{
    assert_int_equal(tn_os_make_folder(at("models"), NULL), TN_OK);
    tn_library *library = open_library(NULL);
    assert_int_equal(tn_library_root_add(library, at("models"), NULL), TN_OK);
    return library;
}

static void put_later(void *unused)
{
    (void)unused;
    tn_os_sleep_ms(300);
    put_tensor(at("models/later.safetensors"), "w", 4, 0);
}

static void a_file_that_appears_is_recorded_without_being_asked_for(void **state)
{
    (void)state;
    seen s = {.wanted = 1};
    tn_os_thread *thread = NULL;
    tn_library *library = library_with_root();
    assert_int_equal(tn_os_thread_start(&scratch_memory, put_later, NULL, &thread, NULL), TN_OK);
    assert_int_equal(watch_with(library, &s, 1000), TN_OK);
    tn_os_thread_join(thread);
    assert_int_equal(s.fresh, 1);
    assert_int_equal(ask(library, "SELECT count(*) FROM models WHERE state <> 'damaged'"), 1);
    assert_verified(library);
    tn_library_close(library);
}

/* A download: the header and a part of the data, then more and more of it, each piece well within the time. */
static void download(void *unused)
{
    (void)unused;
    put_tensor(at("models/big.safetensors"), "w", 64, 512);
    for (unsigned missing = 512; missing > 0; missing -= 64) {
        tn_os_sleep_ms(150);
        put_tensor(at("models/big.safetensors"), "w", 64, missing - 64);
    }
}

static void a_download_is_left_alone_until_it_is_still(void **state)
{
    (void)state;
    seen s = {.wanted = 1};
    tn_os_thread *thread = NULL;
    tn_library *library = library_with_root();
    assert_int_equal(tn_os_thread_start(&scratch_memory, download, NULL, &thread, NULL), TN_OK);
    assert_int_equal(watch_with(library, &s, 1000), TN_OK);
    tn_os_thread_join(thread);
    assert_int_equal(s.fresh, 1);
    assert_int_equal(s.problems, 0);
    assert_int_equal(ask(library, "SELECT count(*) FROM models WHERE state = 'damaged'"), 0);
    assert_int_equal(ask(library, "SELECT count(*) FROM events WHERE what = 'changed'"), 0); /* read once, when whole */
    tn_library_close(library);
}

static void scans_that_find_nothing_leave_no_job_behind(void **state)
{
    (void)state;
    seen s = {.wanted = 1000, .most = 60};
    assert_int_equal(tn_os_make_folder(at("models"), NULL), TN_OK);
    for (int i = 0; i < 5; i++) {
        char name[64];
        snprintf(name, sizeof name, "models/%d.safetensors", i);
        put_tensor(at(name), "w", 4 + (unsigned)i, 0);
    }
    tn_os_sleep_ms(STILL_MS);
    tn_library_options options = {.size = sizeof options};
    tn_library *library = NULL;
    assert_int_equal(tn_library_open(context, at("models/library.db"), &options, &library, NULL), TN_OK);
    assert_int_equal(tn_library_root_add(library, at("models"), NULL), TN_OK);
    assert_int_equal(watch_with(library, &s, 1), TN_CANCELLED); /* the library lies in the root: it looks now and then */
    assert_int_equal(s.scans, 1);
    assert_int_equal(s.fresh, 5);
    assert_int_equal(ask(library, "SELECT count(*) FROM jobs WHERE state = 'done'"), 1);
    tn_library_close(library);
}

static void cancel_later(void *unused)
{
    (void)unused;
    tn_os_sleep_ms(3000);
    tn_context_cancel(context);
}

/* What the library writes beside itself is no news, however its folder is spelled. */
static void a_library_in_a_named_root_does_not_keep_the_watch_awake(void **state)
{
    (void)state;
    seen s = {.wanted = 1000};
    tn_os_thread *thread = NULL;
    tn_library *library = NULL;
    assert_int_equal(tn_os_make_folder(at("models"), NULL), TN_OK);
    put_tensor(at("models/a.safetensors"), "w", 4, 0);
    tn_os_sleep_ms(STILL_MS);
    assert_int_equal(tn_library_open(context, at("models/library.db"), NULL, &library, NULL), TN_OK);
    assert_int_equal(tn_library_root_add(library, at("models"), NULL), TN_OK);
    const char *named[] = {at("models/../models/.")};
    const tn_import_options import = {.size = sizeof import, .still_ms = STILL_MS, .progress = on_progress, .user = &s};
    const tn_watch_options options = {.size = sizeof options, .import = &import, .scanned = on_scanned, .user = &s};
    assert_int_equal(tn_os_thread_start(&scratch_memory, cancel_later, NULL, &thread, NULL), TN_OK);
    assert_int_equal(tn_library_watch(library, named, 1, &options, NULL), TN_CANCELLED);
    tn_os_thread_join(thread);
    assert_int_equal(s.scans, 1);
    assert_in_range(atomic_load(&s.begun), 1, 2); /* one scan of one model; 30 s pass before the next */
    tn_library_close(library);
}

static void a_root_that_is_away_is_noticed_when_it_comes_back(void **state)
{
    (void)state;
    seen s = {.wanted = 1};
    tn_library *library = library_with_root();
    put_tensor(at("models/a.safetensors"), "w", 4, 0);
    tn_os_sleep_ms(STILL_MS);
    assert_int_equal(watch_with(library, &s, 50), TN_OK);
    assert_int_equal(tn_os_rename(at("models"), at("unplugged"), false, NULL), TN_OK);
    tn_import_summary *summary = NULL;
    const tn_import_options plain = {.size = sizeof plain};
    assert_int_equal(tn_library_scan(library, NULL, 0, &plain, &summary, NULL), TN_OK);
    assert_int_equal(summary->away_count, 1);
    tn_import_summary_destroy(summary);
    put_tensor(at("unplugged/b.safetensors"), "v", 9, 0);
    assert_int_equal(tn_os_rename(at("unplugged"), at("models"), false, NULL), TN_OK);
    s = (seen){.wanted = 1};
    assert_int_equal(watch_with(library, &s, 50), TN_OK);
    assert_int_equal(ask(library, "SELECT count(*) FROM models WHERE presence = 'present'"), 2);
    tn_library_close(library);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_that_appears_is_recorded_without_being_asked_for, library_setup,
                                        library_teardown),
        cmocka_unit_test_setup_teardown(a_download_is_left_alone_until_it_is_still, library_setup, library_teardown),
        cmocka_unit_test_setup_teardown(scans_that_find_nothing_leave_no_job_behind, library_setup, library_teardown),
        cmocka_unit_test_setup_teardown(a_library_in_a_named_root_does_not_keep_the_watch_awake, library_setup,
                                        library_teardown),
        cmocka_unit_test_setup_teardown(a_root_that_is_away_is_noticed_when_it_comes_back, library_setup,
                                        library_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
