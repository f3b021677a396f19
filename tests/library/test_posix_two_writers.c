/* Several processes at one library: imports of the same folder with readers beside them lose and double nothing, and
 * one that is killed at any named point is gone on with. */
#include "support/library_posix_children.h"

#define MODELS 300

static int setup(void **state)
{
    return library_setup(state) != 0 ? -1 : put_many_models(MODELS);
}

static int import_once(void)
{
    tn_import_summary *summary = NULL;
    const char *paths[] = {at("m")};
    tn_library *library = open_own();
    if (library == NULL)
        return 1;
    tn_error err;
    if (tn_library_import(library, paths, 1, NULL, &summary, &err) != TN_OK) {
        fprintf(stderr, "import: %s\n", err.message);
        return 2;
    }
    int result = summary->models == MODELS && summary->problem_count == 0 ? 0 : 3;
    tn_import_summary_destroy(summary);
    tn_library_close(library);
    return result;
}

/* Ids seen in one listing: each once, and each record whole. */
typedef struct seen {
    size_t count;
    int64_t ids[MODELS + 1];
    bool wrong;
} seen;

static bool see(void *user, const tn_record *record)
{
    seen *s = user;
    for (size_t i = 0; i < s->count; i++)
        s->wrong = s->wrong || s->ids[i] == record->id;
    s->wrong = s->wrong || record->json.size == 0 || s->count >= MODELS;
    if (!s->wrong)
        s->ids[s->count++] = record->id;
    return !s->wrong;
}

/* Lists until everything is there. */
static int read_until_all(void)
{
    for (int turns = 0; turns < 6000; turns++) {
        tn_library *library = open_own();
        seen s = {.count = 0};
        if (library == NULL || tn_library_list(library, 0, see, &s, NULL) != TN_OK || s.wrong)
            return 4;
        tn_library_close(library);
        if (s.count == MODELS)
            return 0;
        tn_os_sleep_ms(5);
    }
    return 5;
}

static void check(void)
{
    tn_library *library = open_library(NULL);
    assert_verified(library);
    assert_int_equal(ask(library, "SELECT count(*) FROM models WHERE presence = 'present'"), MODELS);
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), MODELS);
    assert_int_equal(ask(library, "SELECT count(*) FROM parts WHERE entry = 1"), MODELS + 1);
    assert_int_equal(ask(library, "SELECT count(*) FROM jobs WHERE state <> 'done'"), 0);
    assert_int_equal(ask(library, "SELECT count(*) FROM job_items"), 0);
    tn_library_close(library);
}

static void two_imports_and_ten_readers_end_well(void **state)
{
    enum { WRITERS = 2, READERS = 10 };
    (void)state;
    pid_t children[WRITERS + READERS];
    for (size_t i = 0; i < WRITERS + READERS; i++)
        children[i] = start(i < WRITERS ? import_once : read_until_all, NULL);
    for (size_t i = 0; i < WRITERS + READERS; i++)
        assert_int_equal(end_of(children[i]), 0);
    check();
}

static void an_import_killed_at_any_point_is_gone_on_with(void **state)
{
    (void)state;
    static const char *const points[] = {
        "library.migrating:1", "library.migrated:1",   "library.created:1",      "import.begun:1",
        "import.scanned:1",    "import.queued:1",      "import.batch_marked:3",  "import.identified:70",
        "import.before_commit:1", "import.before_commit:4", "import.after_commit:2", "import.finishing:1",
        "import.finished:1",
    };
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        assert_killed(end_of(start(import_once, points[i])));
        assert_int_equal(end_of(start(import_once, NULL)), 0);
        check();
        library_remove("library.db");
    }
}

static void one_dies_while_the_other_goes_on(void **state)
{
    (void)state;
    pid_t dying = start(import_once, "import.batch_marked:4"), living = start(import_once, NULL);
    assert_true(WIFSIGNALED(end_of(dying)));
    assert_int_equal(end_of(living), 0);
    assert_int_equal(end_of(start(import_once, NULL)), 0);
    check();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, library_teardown)
    const struct CMUnitTest tests[] = {
        TEST(two_imports_and_ten_readers_end_well),
        TEST(an_import_killed_at_any_point_is_gone_on_with),
        TEST(one_dies_while_the_other_goes_on),
    };
    return cmocka_run_group_tests_name("library.two_writers", tests, NULL, NULL);
}
