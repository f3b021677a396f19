/* A window whose file is shortened under it ends the reading, not the process; any other fault is what it was. */
#include "support/check.h"
#include "support/scratch.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE ((size_t)1 << 16)

static tn_os_file file;
static tn_os_window window;

static int setup(void **state)
{
    char bytes[SIZE] = {7};
    if (scratch_begin(state) != 0)
        return -1;
    put_file(at("a"), bytes, sizeof bytes);
    assert_int_equal(tn_os_open(at("a"), TN_OS_READ, &file, NULL), TN_OK);
    assert_int_equal(tn_os_window_open(&file, 0, SIZE, &window, NULL), TN_OK);
    return 0;
}

static int teardown(void **state)
{
    tn_os_window_close(&window);
    tn_os_close(&file);
    return scratch_end(state);
}

static void add_up(void *user)
{
    unsigned *sum = user;
    for (size_t i = 0; i < window.size; i++)
        *sum += window.bytes[i];
}

static void shorten_and_add_up(void *user)
{
    assert_int_equal(truncate(at("a"), 0), 0);
    add_up(user);
}

static void without_a_program_of_ours_nothing_is_guarded(void **state)
{
    (void)state;
    unsigned sum = 0;
    assert_false(tn_os_can_guard());
    assert_false(tn_os_guarded(&window, add_up, &sum));
    assert_int_equal(sum, 0);
    tn_os_begin_program();
    assert_true(tn_os_can_guard());
}

static void a_sound_window_is_read(void **state)
{
    (void)state;
    unsigned sum = 0;
    tn_os_begin_program(); /* over the handler that cmocka sets for each test */
    assert_true(tn_os_guarded(&window, add_up, &sum));
    assert_int_equal(sum, 7);
}

static void a_file_shortened_under_it_ends_the_reading(void **state)
{
    (void)state;
    unsigned sum = 0;
    tn_os_begin_program(); /* over the handler that cmocka sets for each test */
    for (int i = 0; i < 3; i++)
        assert_false(tn_os_guarded(&window, shorten_and_add_up, &sum));
}

/* In a child: what it dies of. */
static int signal_of(void (*act)(void))
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        act();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void read_unguarded(void)
{
    unsigned sum = 0;
    shorten_and_add_up(&sum);
}

static void read_another_window(void *user)
{
    const tn_os_window *other = user;
    volatile uint8_t byte = other->bytes[0];
    (void)byte;
}

static void read_another_under_guard(void)
{
    tn_os_file longer;
    tn_os_window other;
    char bytes[SIZE] = {1};
    put_file(at("b"), bytes, sizeof bytes);
    if (tn_os_open(at("b"), TN_OS_READ, &longer, NULL) != TN_OK ||
        tn_os_window_open(&longer, 0, SIZE, &other, NULL) != TN_OK || truncate(at("b"), 0) != 0)
        _exit(1);
    tn_os_guarded(&window, read_another_window, &other);
}

static void any_other_fault_ends_the_process(void **state)
{
    (void)state;
    if (getenv("TENURE_SANITIZED") != NULL || getenv("ASAN_OPTIONS") != NULL) {
        print_message("skipped: a sanitizer answers faults itself\n");
        skip();
    }
    tn_os_begin_program();
    assert_int_equal(signal_of(read_unguarded), SIGBUS);
    assert_int_equal(signal_of(read_another_under_guard), SIGBUS);
}

static void on_other(int number)
{
    (void)number;
}

static void a_handler_put_over_ours_turns_it_off(void **state)
{
    (void)state;
    unsigned sum = 0;
    signal(SIGBUS, on_other);
    assert_false(tn_os_can_guard());
    assert_false(tn_os_guarded(&window, add_up, &sum));
    tn_os_begin_program();
    assert_true(tn_os_can_guard());
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(without_a_program_of_ours_nothing_is_guarded),
        TEST(a_sound_window_is_read),
        TEST(a_file_shortened_under_it_ends_the_reading),
        TEST(any_other_fault_ends_the_process),
        TEST(a_handler_put_over_ours_turns_it_off),
    };
    return cmocka_run_group_tests_name("os.guard", tests, NULL, NULL);
}
