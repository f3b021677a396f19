/* Hooks, recorder and named points: what os_fault.h promises, the same on every system. */
#include "os/os_fault.h"

#include <stdlib.h>
#include <string.h>

#include "os/os_inside.h"

_Atomic(const tn_os_hooks *) tn_os_hooks_now;

void tn_os_set_hooks(const tn_os_hooks *hooks)
{
    atomic_store_explicit(&tn_os_hooks_now, hooks, memory_order_release);
}

static const char *const names[TN_OP_COUNT] = {
    [TN_OP_OPEN] = "open",
    [TN_OP_INFO] = "info",
    [TN_OP_READ] = "read",
    [TN_OP_WRITE] = "write",
    [TN_OP_RESIZE] = "resize",
    [TN_OP_SYNC] = "sync",
    [TN_OP_MAKE_FOLDER] = "make_folder",
    [TN_OP_REMOVE] = "remove",
    [TN_OP_REMOVE_FOLDER] = "remove_folder",
    [TN_OP_RENAME] = "rename",
    [TN_OP_SYNC_FOLDER] = "sync_folder",
    [TN_OP_FOLDER_OPEN] = "folder_open",
    [TN_OP_FOLDER_NEXT] = "folder_next",
    [TN_OP_WINDOW] = "window",
    [TN_OP_LOCK] = "lock",
    [TN_OP_THREAD] = "thread",
    [TN_OP_RUN] = "run",
    [TN_OP_PATH] = "path",
    [TN_OP_SHARE_DATA] = "share_data",
    [TN_OP_NEXT_DATA] = "next_data",
    [TN_OP_ATTRIBUTES] = "attributes",
    [TN_OP_SPACE] = "space",
    [TN_OP_READ_LINK] = "read_link",
    [TN_OP_MAKE_LINK] = "make_link",
    [TN_OP_TRASH] = "trash",
    [TN_OP_WATCH] = "watch",
    [TN_OP_PAGES] = "pages",
};

const char *tn_os_operation_name(tn_os_operation operation)
{
    unsigned index = (unsigned)operation;
    return index < TN_OP_COUNT ? names[index] : "unknown";
}

tn_status tn_os_ask_hook(const tn_os_hooks *hooks, const tn_os_call *call, tn_error *err)
{
    if (hooks->before == NULL)
        return TN_OK;
    tn_status status = hooks->before(hooks->user, call);
    if (status == TN_OK)
        return TN_OK;
    tn_fail(err, status, "%s (%s failed for a test)", tn_status_text(status), tn_os_operation_name(call->operation));
    if (call->path != NULL)
        tn_error_at_file(err, call->path);
    return status;
}

#ifdef TN_TEST_POINTS

void tn_os_point(const char *name)
{
    static _Atomic unsigned long passed;
    const char *wanted = getenv("TENURE_TEST_KILL");
    if (wanted == NULL)
        return;
    size_t size = strlen(name);
    if (strncmp(wanted, name, size) != 0 || wanted[size] != ':')
        return;
    if (atomic_fetch_add(&passed, 1) + 1 == strtoul(wanted + size + 1, NULL, 10))
        tn_os_die_killed();
}

void tn_os_crash_point(const char *path)
{
    const char *wanted = getenv("TENURE_TEST_CRASH");
    if (wanted != NULL && wanted[0] != 0 && strstr(path, wanted) != NULL)
        tn_os_die_crashed();
}

#endif
