/* Jobs keep promise 5: what was in flight when a process died is read with care, and only what kills its reader by
 * itself, twice, is set aside. The child that reads a suspect is this program, called as the command would be. */
#include "support/library_open.h"

#include "library/journal.h"
#include "os/os_inside.h"

static tn_buffer program;

static int setup(void **state)
{
    if (open_setup(state) != 0)
        return -1;
    put_folder(at("m"));
    put_weights(at("m/a.safetensors"), 4);
    put_weights(at("m/poison.safetensors"), 5);
    put_weights(at("m/z.safetensors"), 6);
    return 0;
}

static void reopen_with(const char *path)
{
    tn_library_close(library);
    library = open_library(&(tn_library_options){.size = sizeof(tn_library_options), .program = path});
}

static void put_death(const char *folder, const char *name, int deaths)
{
    char sql[4096];
    tn_journal journal = {.library = library};
    const char *paths[] = {spelled(folder)};
    assert_int_equal(tn_journal_begin(library, "import", paths, 1, 0, &journal, NULL), TN_OK);
    snprintf(sql, sizeof sql, "INSERT INTO job_items (job, path, state, deaths) VALUES (%lld, CAST('%s' AS BLOB), 'reading', %d)",
             (long long)journal.job, spelled(name), deaths);
    run(sql);
    tn_journal_end(&journal);
}

static int64_t count_presence(const char *presence)
{
    char sql[200];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM models WHERE presence = '%s'", presence);
    return ask(library, sql);
}

static void an_interrupted_job_is_gone_on_with_by_an_import_of_the_same_paths(void **state)
{
    (void)state;
    told t;
    put_death("m", "m/a.safetensors", 0);
    tn_import_summary *s = import_path(library, "m", &t);
    assert_true(s->resumed);
    assert_int_equal(s->fresh, 3);
    tn_import_summary_destroy(s);
    assert_int_equal(ask(library, "SELECT count(*) FROM jobs WHERE state = 'done'"), 1);
    assert_int_equal(ask(library, "SELECT count(*) FROM jobs"), 1);
}

static void a_job_that_a_living_process_runs_is_not_taken_over(void **state)
{
    (void)state;
    told t;
    tn_journal journal = {.library = library};
    const char *paths[] = {spelled("m")};
    assert_int_equal(tn_journal_begin(library, "import", paths, 1, 0, &journal, NULL), TN_OK);
    tn_import_summary *s = import_path(library, "m", &t);
    assert_false(s->resumed);
    assert_int_not_equal(s->job, journal.job);
    tn_import_summary_destroy(s);
    assert_int_equal(tn_library_jobs_run(library, journal.job, NULL, NULL), TN_BUSY);
    tn_journal_end(&journal);
    assert_int_equal(tn_library_jobs_run(library, journal.job, NULL, NULL), TN_OK);
}

static void a_suspect_that_its_child_survives_is_recorded_like_any_other(void **state)
{
    (void)state;
    told t;
    reopen_with(program.bytes);
    put_death("m", "m/a.safetensors", 3);
    import_quietly(library, "m", &t);
    assert_int_equal(t.fresh, 3);
    assert_int_equal(count_presence("present"), 3);
    assert_int_equal(ask(library, "SELECT count(*) FROM job_items"), 0);
}

static void a_file_whose_child_dies_twice_is_set_aside_and_the_job_goes_on(void **state)
{
    (void)state;
    told t;
    reopen_with(program.bytes);
    put_death("m", "m/poison.safetensors", 0);
    tn_import_summary *s = import_path(library, "m", &t);
    assert_int_equal(s->problem_count, 1);
    assert_string_equal(s->problems[0].presence.bytes, "crashed");
    assert_int_equal(s->problems[0].state, TN_STATE_UNREADABLE);
    tn_import_summary_destroy(s);
    assert_int_equal(count_presence("crashed"), 1);
    assert_int_equal(count_presence("present"), 2);
    assert_int_equal(ask(library, "SELECT count(*) FROM jobs WHERE state = 'done'"), 1);
    assert_int_equal(ask(library, "SELECT json_extract(answer, '$.error.status') = 'crashed' FROM models "
                                  "WHERE presence = 'crashed'"),
                     1);
    import_quietly(library, "m", &t); /* and it stays aside */
    assert_int_equal(t.unchanged, 3);
    put_weights(at("m/poison.safetensors"), 50); /* until its bytes are others */
    import_quietly(library, "m", &t);
    assert_int_equal(count_presence("present"), 3);
}

static void a_reader_killed_from_outside_blames_nobody(void **state)
{
    (void)state;
    told t;
    put_weights(at("m/killed.safetensors"), 7);
    reopen_with(program.bytes);
    put_death("m", "m/killed.safetensors", 5);
    import_quietly(library, "m", &t);
    assert_int_equal(count_presence("crashed"), 0);
    import_quietly(library, "m", &t);
    assert_int_equal(ask(library, "SELECT count(*) FROM models WHERE state = 'unreadable'"), 0);
}

static void suspects_of_another_job_are_read_with_the_same_care(void **state)
{
    (void)state;
    told t;
    put_folder(at("other"));
    reopen_with(program.bytes);
    put_death("other", "m/poison.safetensors", 0);
    import_quietly(library, "m", &t);
    assert_int_equal(count_presence("crashed"), 1);
    assert_int_equal(count_presence("present"), 2);
    assert_int_equal(ask(library, "SELECT count(*) FROM job_items WHERE state <> 'aside'"), 0);
}

static void without_a_program_the_second_death_sets_a_file_aside_and_not_the_first(void **state)
{
    (void)state;
    told t;
    put_death("m", "m/a.safetensors", 0);
    put_death("n", "m/z.safetensors", 1);
    import_quietly(library, "m", &t);
    assert_int_equal(count_presence("crashed"), 1);
    assert_int_equal(ask(library, "SELECT name = 'z' FROM models WHERE presence = 'crashed'"), 1);
}

static void retrying_a_job_reads_what_was_set_aside_once_more(void **state)
{
    (void)state;
    told t;
    put_death("m", "m/a.safetensors", 1);
    tn_import_summary *s = import_path(library, "m", &t);
    int64_t job = s->job;
    tn_import_summary_destroy(s);
    assert_int_equal(count_presence("crashed"), 1);
    assert_int_equal(tn_library_job_control(library, job, "retry", NULL), TN_OK);
    assert_int_equal(tn_library_jobs_run(library, job, NULL, NULL), TN_OK);
    assert_int_equal(count_presence("crashed"), 0);
    assert_int_equal(count_presence("present"), 3);
}

/* ---- the hand on jobs ---- */

typedef struct last_job {
    size_t count;
    int64_t id;
    char state[32], what[1024];
} last_job;

static bool keep_last(void *user, const tn_job *job)
{
    last_job *last = user;
    last->count++;
    last->id = job->id;
    snprintf(last->state, sizeof last->state, "%s", job->state.bytes);
    snprintf(last->what, sizeof last->what, "%s", job->what.bytes);
    return true;
}

static void jobs_are_listed_and_an_abandoned_one_is_interrupted(void **state)
{
    (void)state;
    last_job last = {0};
    put_death("m", "m/a.safetensors", 0);
    assert_int_equal(tn_library_jobs(library, keep_last, &last, NULL), TN_OK);
    assert_int_equal(last.count, 1);
    assert_string_equal(last.state, "interrupted");
    assert_string_equal(last.what, spelled("m"));
}

static void states_allow_what_they_allow(void **state)
{
    (void)state;
    last_job last = {0};
    put_death("m", "m/a.safetensors", 0);
    assert_int_equal(tn_library_jobs(library, keep_last, &last, NULL), TN_OK);
    assert_int_equal(tn_library_job_control(library, last.id, "pause", NULL), TN_OK);
    assert_int_equal(tn_library_jobs_run(library, last.id, NULL, NULL), TN_INVALID);
    assert_int_equal(tn_library_job_control(library, last.id, "pause", NULL), TN_INVALID);
    assert_int_equal(tn_library_job_control(library, last.id, "resume", NULL), TN_OK);
    assert_int_equal(tn_library_jobs_run(library, 0, NULL, NULL), TN_OK);
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), 3);
    assert_int_equal(tn_library_job_control(library, last.id, "cancel", NULL), TN_INVALID);
    assert_int_equal(tn_library_job_control(library, last.id, "explode", NULL), TN_INVALID);
    assert_int_equal(tn_library_job_control(library, 999, "cancel", NULL), TN_NOT_FOUND);
    assert_int_equal(tn_library_jobs_run(library, 999, NULL, NULL), TN_NOT_FOUND);
}

static void a_cancelled_job_reads_nothing_more(void **state)
{
    (void)state;
    told t;
    put_death("m", "m/a.safetensors", 0);
    assert_int_equal(tn_library_job_control(library, 1, "cancel", NULL), TN_OK);
    assert_int_equal(ask(library, "SELECT count(*) FROM job_items"), 0);
    tn_import_summary *s = import_path(library, "m", &t);
    assert_false(s->resumed);
    tn_import_summary_destroy(s);
}

static void pause_when_walking(void *user, const tn_import_progress *progress)
{
    (void)user;
    if (progress->walking)
        tn_library_job_control(library, 1, "pause", NULL);
}

static void a_running_job_that_is_paused_stops_and_stays_paused(void **state)
{
    (void)state;
    const char *paths[] = {at("m")};
    tn_import_options options = {.size = sizeof options, .progress = pause_when_walking};
    tn_import_summary *s = NULL;
    assert_int_equal(tn_library_import(library, paths, 1, &options, &s, NULL), TN_CANCELLED);
    assert_int_equal(ask(library, "SELECT state = 'paused' FROM jobs"), 1);
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), 0);
}

/* What `tenure probe --json PATH` is to the library: it lives, dies of itself, or is killed. */
static int be_the_child(const char *path)
{
    tn_os_begin_program();
    if (strstr(path, "poison") != NULL)
        abort();
    if (strstr(path, "killed") != NULL)
        tn_os_die_killed();
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "probe") == 0 && strcmp(argv[2], "--json") == 0)
        return be_the_child(argv[3]);
    tn_budget budget;
    tn_budget_init(&budget, 1 << 20);
    tn_memory_source memory = {tn_allocator_system(), &budget};
    tn_buffer_init(&program, &memory, 65536);
    if (tn_os_program_path(&program, NULL) != TN_OK)
        return 1;
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, verify_teardown)
    const struct CMUnitTest tests[] = {
        TEST(an_interrupted_job_is_gone_on_with_by_an_import_of_the_same_paths),
        TEST(a_job_that_a_living_process_runs_is_not_taken_over),
        TEST(a_suspect_that_its_child_survives_is_recorded_like_any_other),
        TEST(a_file_whose_child_dies_twice_is_set_aside_and_the_job_goes_on),
        TEST(a_reader_killed_from_outside_blames_nobody),
        TEST(suspects_of_another_job_are_read_with_the_same_care),
        TEST(without_a_program_the_second_death_sets_a_file_aside_and_not_the_first),
        TEST(retrying_a_job_reads_what_was_set_aside_once_more),
        TEST(jobs_are_listed_and_an_abandoned_one_is_interrupted),
        TEST(states_allow_what_they_allow),
        TEST(a_cancelled_job_reads_nothing_more),
        TEST(a_running_job_that_is_paused_stops_and_stays_paused),
    };
    int failed = cmocka_run_group_tests_name("library.jobs", tests, NULL, NULL);
    tn_buffer_free(&program);
    return failed;
}
