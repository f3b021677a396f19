/* Watching folders on Windows: change notifications, one handle a folder, everything below included. What changed is
 * not asked for, so no buffer can overflow. */
#include "os/os_win32.h"

struct tn_os_watch {
    tn_memory_source *memory;
    HANDLE handles[MAXIMUM_WAIT_OBJECTS];
    DWORD count;
};

#define WANTED                                                                                                        \
    (FILE_NOTIFY_CHANGE_FILE_NAME | FILE_NOTIFY_CHANGE_DIR_NAME | FILE_NOTIFY_CHANGE_SIZE | FILE_NOTIFY_CHANGE_LAST_WRITE)

static tn_status watch_one(tn_os_watch *watch, const char *path, tn_error *err)
{
    tn_os_wide wide;
    TN_TRY(tn_os_before((tn_os_call){.operation = TN_OP_WATCH, .path = path}, err));
    if (watch->count == MAXIMUM_WAIT_OBJECTS)
        return tn_fail(err, TN_UNAVAILABLE, "more than %d folders are to be watched", MAXIMUM_WAIT_OBJECTS);
    TN_TRY(tn_os_wide_from(path, &wide, err));
    HANDLE handle = FindFirstChangeNotificationW(wide.text, TRUE, WANTED);
    DWORD code = GetLastError();
    tn_os_wide_free(&wide);
    if (handle == INVALID_HANDLE_VALUE)
        return tn_os_fail_win32(err, code, "FindFirstChangeNotification", path);
    watch->handles[watch->count++] = handle;
    return TN_OK;
}

tn_status tn_os_watch_open(tn_memory_source *memory, const char *const *folders, size_t count, tn_os_watch **out,
                           tn_error *err)
{
    void *block;
    TN_TRY(tn_os_before((tn_os_call){.operation = TN_OP_WATCH}, err));
    TN_TRY(tn_take(memory, sizeof(tn_os_watch), &block, err));
    tn_os_watch *watch = block;
    *watch = (tn_os_watch){.memory = memory};
    tn_status status = TN_OK;
    for (size_t i = 0; i < count && status == TN_OK; i++)
        status = watch_one(watch, folders[i], err);
    if (status == TN_OK)
        *out = watch;
    else
        tn_os_watch_close(watch);
    return status;
}

tn_status tn_os_watch_wait(tn_os_watch *watch, unsigned timeout_ms, bool *changed, tn_error *err)
{
    TN_TRY(tn_os_before((tn_os_call){.operation = TN_OP_WATCH}, err));
    if (watch->count == 0) {
        Sleep(timeout_ms);
        *changed = false;
        return TN_OK;
    }
    DWORD which = WaitForMultipleObjects(watch->count, watch->handles, FALSE, timeout_ms);
    if (which == WAIT_FAILED)
        return tn_os_fail_win32(err, GetLastError(), "WaitForMultipleObjects", NULL);
    bool told = which < WAIT_OBJECT_0 + watch->count;
    if (told && !FindNextChangeNotification(watch->handles[which - WAIT_OBJECT_0]))
        return tn_os_fail_win32(err, GetLastError(), "FindNextChangeNotification", NULL);
    *changed = told;
    return TN_OK;
}

void tn_os_watch_close(tn_os_watch *watch)
{
    if (watch == NULL)
        return;
    for (DWORD i = 0; i < watch->count; i++)
        FindCloseChangeNotification(watch->handles[i]);
    tn_give(watch->memory, watch, sizeof *watch);
}
