/* Hash jobs with several processes: killed at any named point they are gone on with, and one that hashes beside one that
 * imports loses and doubles nothing. */
#include "support/library_posix_children.h"

#define MODELS 70 /* more than two batches */

static int setup(void **state)
{
    return library_setup(state) != 0 ? -1 : put_many_models(MODELS);
}

static int import(tn_hash_mode mode)
{
    const char *paths[] = {at("m")};
    tn_import_options options = {.size = sizeof options, .hash = mode};
    tn_library *library = open_own();
    tn_error err;
    if (library == NULL)
        return 1;
    tn_status status = tn_library_import(library, paths, 1, &options, NULL, &err);
    if (status != TN_OK)
        fprintf(stderr, "import: %s\n", err.message);
    tn_library_close(library);
    return status == TN_OK ? 0 : 2;
}

static int import_once(void)
{
    return import(TN_HASH_QUEUE);
}

static int import_and_hash(void)
{
    return import(TN_HASH_NOW);
}

static int run_once(void)
{
    tn_library *library = open_own();
    tn_error err;
    if (library == NULL)
        return 1;
    tn_status status = tn_library_jobs_run(library, 0, NULL, &err);
    if (status != TN_OK)
        fprintf(stderr, "jobs run: %s\n", err.message);
    tn_library_close(library);
    return status == TN_OK ? 0 : 2;
}

static int import_often(void)
{
    for (int i = 0; i < 5; i++)
        if (import_once() != 0)
            return 1;
    return 0;
}

static int run_until_done(void)
{
    for (int i = 0; i < 400; i++) {
        tn_library *library = open_own();
        if (library == NULL || tn_library_jobs_run(library, 0, NULL, NULL) != TN_OK)
            return 1;
        int64_t hashes = ask(library, "SELECT count(*) FROM hashes WHERE algorithm = 'blake3'");
        tn_library_close(library);
        if (hashes == MODELS)
            return 0;
        tn_os_sleep_ms(5);
    }
    return 2;
}

static void check(void)
{
    tn_library *library = open_library(NULL);
    assert_verified(library);
    assert_int_equal(ask(library, "SELECT count(*) FROM hashes"), 3 * MODELS);
    assert_int_equal(ask(library, "SELECT count(DISTINCT value) FROM hashes WHERE algorithm = 'blake3'"), MODELS);
    assert_int_equal(ask(library, "SELECT count(*) FROM jobs WHERE state <> 'done'"), 0);
    assert_int_equal(ask(library, "SELECT count(*) FROM jobs WHERE bytes <> bytes_done OR items <> items_done"), 0);
    assert_int_equal(ask(library, "SELECT count(*) FROM job_items"), 0);
    tn_library_close(library);
}

static void a_run_killed_at_any_point_is_gone_on_with(void **state)
{
    (void)state;
    static const char *const points[] = {
        "hash.begun:1",      "hash.marked:1",    "hash.marked:2",     "hash.recording:1", "hash.recording:40",
        "hash.recorded:1",   "hash.recorded:33", "hash.recorded:70",  "hash.finishing:1", "hash.finished:1",
    };
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        assert_int_equal(end_of(start(import_once, NULL)), 0);
        assert_killed(end_of(start(run_once, points[i])));
        assert_int_equal(end_of(start(run_once, NULL)), 0);
        check();
        library_remove("library.db");
    }
}

static void an_import_killed_where_it_queues_or_hashes_is_gone_on_with(void **state)
{
    (void)state;
    static const char *const points[] = {"hash.queued:1", "import.finished:1", "hash.begun:1", "hash.recorded:20"};
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        assert_killed(end_of(start(import_and_hash, points[i])));
        assert_int_equal(end_of(start(import_and_hash, NULL)), 0);
        assert_int_equal(end_of(start(run_once, NULL)), 0);
        check();
        library_remove("library.db");
    }
}

static void several_deaths_in_a_row_lose_nothing(void **state)
{
    (void)state;
    assert_int_equal(end_of(start(import_once, NULL)), 0);
    for (int i = 0; i < 4; i++)
        assert_killed(end_of(start(run_once, "hash.recorded:9")));
    assert_int_equal(end_of(start(run_once, NULL)), 0);
    check();
}

static void one_hashes_while_others_import_and_hash(void **state)
{
    (void)state;
    assert_int_equal(end_of(start(import_once, NULL)), 0);
    pid_t children[] = {start(run_until_done, NULL), start(import_often, NULL), start(run_until_done, NULL)};
    for (size_t i = 0; i < sizeof children / sizeof children[0]; i++)
        assert_int_equal(end_of(children[i]), 0);
    assert_int_equal(end_of(start(run_once, NULL)), 0);
    check();
}

static void one_dies_while_the_other_imports(void **state)
{
    (void)state;
    assert_int_equal(end_of(start(import_once, NULL)), 0);
    pid_t dying = start(run_once, "hash.recorded:20"), living = start(import_often, NULL);
    assert_killed(end_of(dying));
    assert_int_equal(end_of(living), 0);
    assert_int_equal(end_of(start(run_once, NULL)), 0);
    check();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, library_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_run_killed_at_any_point_is_gone_on_with),
        TEST(an_import_killed_where_it_queues_or_hashes_is_gone_on_with),
        TEST(several_deaths_in_a_row_lose_nothing),
        TEST(one_hashes_while_others_import_and_hash),
        TEST(one_dies_while_the_other_imports),
    };
    return cmocka_run_group_tests_name("library.hash_two", tests, NULL, NULL);
}
