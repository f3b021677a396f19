/* Work on many items with the context's threads (context.h).
 *
 *   E1  An item is handed out once, in order, to whichever thread comes first.
 *   E2  Once something failed or was cancelled nothing more is handed out; what runs is waited for.
 * The threads are those of together.c; the caller is one of them.
 */
#include "context/context.h"

typedef struct each {
    tn_context *context;
    size_t count;
    tn_status (*work)(void *user, size_t item, tn_error *err);
    void *user;
    _Atomic size_t next;
    _Atomic bool stopped;
    tn_os_mutex *mutex; /* over the three below; NULL when the caller works alone */
    tn_status status;
    size_t failed_item;
    tn_error error;
} each;

static void keep_failure(each *all, size_t item, tn_status status, const tn_error *error)
{
    if (all->mutex != NULL)
        tn_os_mutex_lock(all->mutex);
    if (all->status == TN_OK || item < all->failed_item) {
        all->status = status;
        all->failed_item = item;
        all->error = *error;
    }
    if (all->mutex != NULL)
        tn_os_mutex_unlock(all->mutex);
    atomic_store(&all->stopped, true);
}

static tn_status do_item(each *all, size_t item, tn_error *error)
{
    TN_TRY(tn_context_check(all->context, error));
    return all->work(all->user, item, error);
}

static void work_through(void *user, bool helper)
{
    each *all = user;
    (void)helper;
    while (!atomic_load(&all->stopped)) {
        size_t item = atomic_fetch_add(&all->next, 1); /* E1: past count by at most one for each thread */
        if (item >= all->count)
            return;
        tn_error error;
        tn_status status = do_item(all, item, &error);
        if (status != TN_OK)
            keep_failure(all, item, status, &error);
    }
}

/* Without a mutex the caller works alone. */
static unsigned helpers_for(each *all)
{
    unsigned most = all->context->jobs - 1;
    unsigned wanted = all->count - 1 < most ? (unsigned)(all->count - 1) : most;
    if (wanted == 0 || tn_os_mutex_create(&all->context->memory, &all->mutex, NULL) != TN_OK)
        return 0;
    return wanted;
}

tn_status tn_context_each(tn_context *context, size_t count,
                          tn_status (*work)(void *user, size_t item, tn_error *err), void *user, tn_error *err)
{
    TN_TRY(tn_context_check(context, err));
    if (count == 0)
        return TN_OK;
    each all = {.context = context, .count = count, .work = work, .user = user};
    tn_context_together(context, helpers_for(&all), work_through, &all);
    tn_os_mutex_destroy(all.mutex);
    if (all.status != TN_OK && err != NULL)
        *err = all.error;
    return all.status;
}
