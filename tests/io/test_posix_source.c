/* Sources on POSIX: links, and maps that none of them makes. */
#include "support/check.h"
#include "support/scratch.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/source.h"

static tn_context *context;

static void a_link_is_followed_only_where_the_user_named_it(void **state)
{
    (void)state;
    put_text(at("real"), "x");
    assert_int_equal(symlink("real", at("link")), 0);
    tn_source *source = NULL;
    tn_error err;
    assert_int_equal(tn_source_open_no_follow(context, at("link"), &source, &err), TN_UNSAFE_PATH);
    assert_string_equal(err.file, at("link"));
    assert_int_equal(tn_source_open(context, at("link"), &source, NULL), TN_OK);
    assert_int_equal(tn_source_check(source, NULL), TN_OK);
    tn_source_release(source);
    assert_int_equal(tn_source_open_no_follow(context, at("real"), &source, NULL), TN_OK);
    assert_int_equal(rename(at("real"), at("moved")), 0);
    assert_int_equal(symlink("moved", at("real")), 0);
    assert_int_equal(tn_source_check(source, NULL), TN_CHANGED); /* the same file, but by a link now */
    tn_source_release(source);
}

static void a_pipe_is_refused_without_waiting(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(at("pipe"), 0600), 0);
    alarm(20);
    tn_source *source = NULL;
    assert_int_equal(tn_source_open(context, at("pipe"), &source, NULL), TN_NOT_A_FILE);
    alarm(0);
}

static int in_the_child(tn_source *source)
{
    char byte;
    tn_source *other = NULL;
    if (tn_source_read(source, 0, &byte, 1, NULL) != TN_FORKED || tn_source_check(source, NULL) != TN_FORKED)
        return 1;
    if (tn_source_open(context, at("forked"), &other, NULL) != TN_FORKED)
        return 2;
    tn_source_release(source);
    return 0;
}

static void a_forked_child_may_only_let_go(void **state)
{
    (void)state;
    put_text(at("forked"), "x");
    tn_source *source = NULL;
    assert_int_equal(tn_source_open(context, at("forked"), &source, NULL), TN_OK);
    pid_t child = fork();
    if (child == 0)
        _exit(in_the_child(source));
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    char byte;
    assert_int_equal(tn_source_read(source, 0, &byte, 1, NULL), TN_OK);
    tn_source_release(source);
}

static void a_deadly_file_kills_only_who_opens_it(void **state)
{
    (void)state;
    put_text(at("deadly.bin"), "x");
    pid_t child = fork();
    if (child == 0) {
        setenv("TENURE_TEST_CRASH", "deadly", 1);
        tn_context *own = NULL;
        tn_source *source = NULL;
        if (tn_context_create(NULL, &own, NULL) == TN_OK)
            (void)tn_source_open(own, at("deadly.bin"), &source, NULL);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
}

static int begin(void **state)
{
    if (tn_context_create(NULL, &context, NULL) != TN_OK)
        return -1;
    return scratch_begin(state);
}

static int end(void **state)
{
    uint64_t used = tn_context_memory(context).used_bytes;
    tn_context_destroy(context);
    return used == 0 ? scratch_end(state) : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_link_is_followed_only_where_the_user_named_it),
        cmocka_unit_test(a_pipe_is_refused_without_waiting),
        cmocka_unit_test(a_forked_child_may_only_let_go),
        cmocka_unit_test(a_deadly_file_kills_only_who_opens_it),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
