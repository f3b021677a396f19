/* Children, threads, time and randomness: what os.h promises on every system. The program runs itself as the child. */
#include "support/check.h"
#include "support/scratch.h"

#include "os/os_fault.h"
#include "os/os_inside.h"

static tn_buffer program;

static tn_os_exit run_self(const char *how, const char *with)
{
    const char *argv[] = {program.bytes, how, with, NULL};
    tn_os_exit result = {0};
    assert_int_equal(tn_os_run(argv, &result, NULL), TN_OK);
    return result;
}

static void a_childs_exit_code_comes_back(void **state)
{
    (void)state;
    static const char *const codes[] = {"0", "1", "3", "130", "255"};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        tn_os_exit how = run_self("--exit", codes[i]);
        assert_false(how.by_itself_dead);
        assert_false(how.killed);
        assert_int_equal(how.code, atoi(codes[i]));
    }
}

static void a_child_that_dies_by_itself_is_told_from_one_that_was_killed(void **state)
{
    (void)state;
    tn_os_exit crashed = run_self("--crash", NULL);
    assert_true(crashed.by_itself_dead);
    assert_false(crashed.killed);
    tn_os_exit aborted = run_self("--abort", NULL);
    assert_true(aborted.by_itself_dead);
    assert_false(aborted.killed);
    tn_os_exit killed = run_self("--die-killed", NULL);
    assert_false(killed.by_itself_dead);
    assert_true(killed.killed);
}

static void arguments_arrive_as_they_were_given(void **state)
{
    (void)state;
    static const char *const arguments[] = {
        "plain", "", "with space", "\"quoted\"", "back\\slash\\", "\\\\\"", "a b\\", "tab\there", "*", "%PATH%", "&|<>",
    };
    for (size_t i = 0; i < sizeof arguments / sizeof arguments[0]; i++) {
        put_text(at("argument"), arguments[i]);
        const char *argv[] = {program.bytes, "--same", arguments[i], at("argument"), NULL};
        tn_os_exit how;
        assert_int_equal(tn_os_run(argv, &how, NULL), TN_OK);
        assert_int_equal(how.code, 7);
    }
}

static void a_program_that_is_not_there_is_an_error_and_not_an_exit(void **state)
{
    (void)state;
    const char *argv[] = {at("no-such-program"), NULL};
    tn_os_exit how;
    tn_error err;
    assert_int_equal(tn_os_run(argv, &how, &err), TN_NOT_FOUND);
    assert_string_equal(err.file, argv[0]);
}

static void random_bytes_differ_every_time(void **state)
{
    (void)state;
    uint8_t one[1000] = {0}, two[1000] = {0};
    tn_os_random(one, sizeof one);
    tn_os_random(two, sizeof two);
    assert_memory_not_equal(one, two, sizeof one);
    unsigned zeros = 0; /* 1000 bytes hold 4 zeros on average; 40 would be a run that was never filled */
    for (size_t i = 0; i < sizeof one; i++)
        zeros += one[i] == 0;
    assert_in_range(zeros, 0, 40);
    char name[17];
    tn_os_random_name(name, 16);
    assert_int_equal(strlen(name), 16);
    assert_int_equal(strspn(name, "0123456789abcdefghijklmnopqrstuv"), 16);
}

static void time_goes_forward_and_sleep_takes_its_time(void **state)
{
    (void)state;
    uint64_t before = tn_os_monotonic_ns();
    int64_t wall = tn_os_wall_ns();
    tn_os_sleep_ms(30);
    uint64_t after = tn_os_monotonic_ns();
    assert_true(after - before >= 29ull * 1000000);
    assert_true(wall > 1700000000ll * 1000000000); /* November 2023 */
}

static void an_unset_variable_is_told_from_a_set_one(void **state)
{
    (void)state;
    tn_buffer out;
    tn_buffer_init(&out, &scratch_memory, 65536);
    assert_false(tn_os_environment("TENURE_SURELY_UNSET", &out));
    assert_int_equal(out.size, 0);
    assert_true(tn_os_environment("PATH", &out));
    assert_true(out.size > 0);
    tn_buffer_free(&out);
}

typedef struct shared {
    tn_os_mutex *mutex;
    tn_os_condition *condition;
    unsigned count, turn;
} shared;

static void add_many(void *argument)
{
    shared *s = argument;
    for (unsigned i = 0; i < 20000; i++) {
        tn_os_mutex_lock(s->mutex);
        s->count++;
        tn_os_mutex_unlock(s->mutex);
    }
}

static void a_mutex_loses_no_count(void **state)
{
    (void)state;
    shared s = {0};
    tn_os_thread *threads[4];
    assert_int_equal(tn_os_mutex_create(&scratch_memory, &s.mutex, NULL), TN_OK);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(tn_os_thread_start(&scratch_memory, add_many, &s, &threads[i], NULL), TN_OK);
    for (size_t i = 0; i < 4; i++)
        tn_os_thread_join(threads[i]);
    assert_int_equal(s.count, 80000);
    tn_os_mutex_destroy(s.mutex);
    tn_os_mutex_destroy(NULL);
    tn_os_thread_join(NULL);
    tn_os_condition_destroy(NULL);
}

static void take_odd_turns(void *argument)
{
    shared *s = argument;
    tn_os_mutex_lock(s->mutex);
    for (unsigned i = 0; i < 500; i++) {
        while (s->turn % 2 == 0)
            tn_os_condition_wait(s->condition, s->mutex);
        s->turn++;
        tn_os_condition_wake_all(s->condition);
    }
    tn_os_mutex_unlock(s->mutex);
}

static void a_condition_wakes_who_waits(void **state)
{
    (void)state;
    shared s = {0};
    tn_os_thread *thread;
    assert_int_equal(tn_os_mutex_create(&scratch_memory, &s.mutex, NULL), TN_OK);
    assert_int_equal(tn_os_condition_create(&scratch_memory, &s.condition, NULL), TN_OK);
    assert_int_equal(tn_os_thread_start(&scratch_memory, take_odd_turns, &s, &thread, NULL), TN_OK);
    tn_os_mutex_lock(s.mutex);
    for (unsigned i = 0; i < 500; i++) {
        while (s.turn % 2 == 1)
            tn_os_condition_wait(s.condition, s.mutex);
        s.turn++;
        tn_os_condition_wake_all(s.condition);
    }
    tn_os_mutex_unlock(s.mutex);
    tn_os_thread_join(thread);
    assert_int_equal(s.turn, 1000);
    tn_os_condition_destroy(s.condition);
    tn_os_mutex_destroy(s.mutex);
}

static void threads_without_memory_are_refused(void **state)
{
    (void)state;
    tn_budget none;
    tn_budget_init(&none, 1);
    tn_memory_source memory = {tn_allocator_system(), &none};
    tn_os_thread *thread = NULL;
    tn_os_mutex *mutex = NULL;
    tn_os_condition *condition = NULL;
    assert_int_equal(tn_os_thread_start(&memory, add_many, NULL, &thread, NULL), TN_OVER_BUDGET);
    assert_int_equal(tn_os_mutex_create(&memory, &mutex, NULL), TN_OVER_BUDGET);
    assert_int_equal(tn_os_condition_create(&memory, &condition, NULL), TN_OVER_BUDGET);
    assert_null(thread);
    assert_null(mutex);
    assert_null(condition);
}

static void there_is_at_least_one_core(void **state)
{
    (void)state;
    assert_in_range(tn_os_cores(), 1, 4096);
    assert_true(tn_os_process_id() != 0);
}

static void what_is_no_terminal_has_eighty_columns(void **state)
{
    (void)state;
    /* Run as a child the streams lead to the null device. */
    assert_int_equal(run_self("--terminal", NULL).code, 80);
}

static int begin(void **state)
{
    if (scratch_begin(state) != 0)
        return -1;
    tn_buffer_init(&program, &scratch_memory, 65536);
    return tn_os_program_path(&program, NULL) == TN_OK ? 0 : -1;
}

static int end(void **state)
{
    tn_buffer_free(&program);
    return scratch_end(state);
}

/* Exits with 7 when the argument is the text of the file. */
static int same(const char *argument, const char *path)
{
    char bytes[256] = {0};
    size_t got = 0;
    tn_os_file file;
    if (tn_os_open(path, TN_OS_READ, &file, NULL) != TN_OK)
        return 1;
    if (tn_os_read(&file, 0, bytes, sizeof bytes - 1, &got, NULL) != TN_OK)
        return 2;
    return strcmp(bytes, argument) == 0 ? 7 : 3;
}

static int child(char **argv)
{
    tn_os_begin_program();
    if (strcmp(argv[1], "--exit") == 0)
        return atoi(argv[2]);
    if (strcmp(argv[1], "--crash") == 0)
        tn_os_die_crashed();
    if (strcmp(argv[1], "--abort") == 0)
        abort();
    if (strcmp(argv[1], "--die-killed") == 0)
        tn_os_die_killed();
    if (strcmp(argv[1], "--same") == 0)
        return same(argv[2], argv[3]);
    if (strcmp(argv[1], "--terminal") == 0)
        return tn_os_is_terminal(1) || tn_os_is_terminal(2) ? 1 : (int)tn_os_terminal_columns(1);
    return 99;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return child(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_childs_exit_code_comes_back),
        cmocka_unit_test(a_child_that_dies_by_itself_is_told_from_one_that_was_killed),
        cmocka_unit_test(arguments_arrive_as_they_were_given),
        cmocka_unit_test(a_program_that_is_not_there_is_an_error_and_not_an_exit),
        cmocka_unit_test(random_bytes_differ_every_time),
        cmocka_unit_test(time_goes_forward_and_sleep_takes_its_time),
        cmocka_unit_test(an_unset_variable_is_told_from_a_set_one),
        cmocka_unit_test(a_mutex_loses_no_count),
        cmocka_unit_test(a_condition_wakes_who_waits),
        cmocka_unit_test(threads_without_memory_are_refused),
        cmocka_unit_test(there_is_at_least_one_core),
        cmocka_unit_test(what_is_no_terminal_has_eighty_columns),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
