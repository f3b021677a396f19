/* After fork() the child may destroy a context and nothing else. */
#include "support/check.h"

#include <sys/wait.h>
#include <unistd.h>

#include "context/context.h"

static tn_status nothing(void *user, size_t item, tn_error *err)
{
    (void)user;
    (void)item;
    (void)err;
    return TN_OK;
}

static int in_the_child(tn_context *context)
{
    tn_error err;
    if (tn_context_check(context, &err) != TN_FORKED || err.status != TN_FORKED)
        return 1;
    if (tn_context_each(context, 1, nothing, NULL, NULL) != TN_FORKED)
        return 2;
    tn_context_destroy(context);
    tn_context *own = NULL;
    if (tn_context_create(NULL, &own, NULL) != TN_OK || tn_context_check(own, NULL) != TN_OK)
        return 3;
    tn_context_destroy(own);
    return 0;
}

static void a_forked_child_is_told_so(void **state)
{
    (void)state;
    tn_context *context = NULL;
    assert_int_equal(tn_context_create(NULL, &context, NULL), TN_OK);
    pid_t child = fork();
    if (child == 0)
        _exit(in_the_child(context));
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(tn_context_check(context, NULL), TN_OK);
    tn_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_forked_child_is_told_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
