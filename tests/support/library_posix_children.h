/* Several processes at one library: children that each have a context of their own, and may be killed at a named point. */
#ifndef TN_TESTS_SUPPORT_LIBRARY_POSIX_CHILDREN_H
#define TN_TESTS_SUPPORT_LIBRARY_POSIX_CHILDREN_H

#include "support/library.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* `count` models of different sizes below "m", the first of them under two paths. */
static inline int put_many_models(unsigned count)
{
    put_folder(at("m"));
    for (unsigned i = 0; i < count; i++) {
        char name[64];
        snprintf(name, sizeof name, "m/m%03u.safetensors", i);
        put_weights(at(name), 10 + i);
    }
    return link(at("m/m000.safetensors"), at("m/again.safetensors"));
}

/* A child has a context of its own: the parent's is not for it. */
static inline tn_library *open_own(void)
{
    tn_context *own = NULL;
    tn_library *library = NULL;
    tn_context_options options = TN_CONTEXT_OPTIONS_INIT;
    options.jobs = 2;
    if (tn_context_create(&options, &own, NULL) != TN_OK)
        return NULL;
    return tn_library_open(own, at("library.db"), NULL, &library, NULL) == TN_OK ? library : NULL;
}

/* A child that does the work and ends with its result. `kill_at`: "point:times", or NULL. */
static inline pid_t start(int (*work)(void), const char *kill_at)
{
    pid_t child = fork();
    if (child == 0) {
        if (kill_at != NULL)
            setenv("TENURE_TEST_KILL", kill_at, 1);
        _exit(work());
    }
    return child;
}

static inline int end_of(pid_t child)
{
    int how = 0;
    assert_int_equal(waitpid(child, &how, 0), child);
    return how;
}

static inline void assert_killed(int how)
{
    assert_true(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
}

#endif
