/* Threads for one piece of work (context.h): started for one call, and ended with it. */
#include <assert.h>

#include "context/context.h"

typedef struct together {
    void (*work)(void *user, bool helper);
    void *user;
} together;

static void help(void *argument)
{
    const together *all = argument;
    all->work(all->user, true);
}

void tn_context_together(tn_context *context, unsigned helpers, void (*work)(void *user, bool helper), void *user)
{
    together all = {work, user};
    tn_os_thread *threads[TN_JOBS_MAX];
    unsigned started = 0;
    assert(helpers <= TN_JOBS_MAX);
    while (started < helpers &&
           tn_os_thread_start(&context->memory, help, &all, &threads[started], NULL) == TN_OK)
        started++;
    work(user, false);
    for (unsigned i = 0; i < started; i++)
        tn_os_thread_join(threads[i]);
}
