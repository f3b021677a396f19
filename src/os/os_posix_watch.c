/* Watching folders on POSIX: inotify on Linux; elsewhere the caller looks from time to time. */
#include "os/os_posix.h"

#ifdef __linux__

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#define PATHS_MAX ((size_t)256 << 20) /* bytes of paths that wait to be watched */
#define WANTED                                                                                                        \
    (IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_DELETE_SELF | IN_ONLYDIR | IN_EXCL_UNLINK)

struct tn_os_watch {
    tn_memory_source *memory;
    int fd;
    bool grown;        /* folders were added, or events were lost: not everything may be watched */
    tn_buffer folders; /* that were named, each ended by a NUL */
};

/* ---- one system watch a folder ---- */

static tn_status watch_one(tn_os_watch *watch, const char *path, tn_error *err)
{
    TN_TRY(tn_os_before((tn_os_call){.operation = TN_OP_WATCH, .path = path}, err));
    if (inotify_add_watch(watch->fd, path, WANTED) >= 0)
        return TN_OK;
    if (errno == ENOENT || errno == ENOTDIR || errno == EACCES)
        return TN_OK; /* went or closed meanwhile: nothing in it can be seen anyway */
    if (errno != ENOSPC)
        return tn_os_fail_errno(err, errno, "inotify_add_watch", path);
    tn_fail(err, TN_UNAVAILABLE, "the system watches no more folders (fs.inotify.max_user_watches)");
    tn_error_at_file(err, path);
    return TN_UNAVAILABLE;
}

/* Put the folders in `path` on the stack of those still to be watched. One that cannot be listed has none. */
static tn_status push_inside(tn_os_watch *watch, const char *path, size_t size, tn_buffer *stack, tn_error *err)
{
    tn_os_folder *folder = NULL;
    tn_os_entry entry;
    tn_error found;
    bool more = true;
    tn_status status = tn_os_folder_open(watch->memory, path, &folder, &found);
    if (status != TN_OK)
        return tn_status_is_of_memory(status) ? tn_fail_as(&found, err) : TN_OK;
    while (tn_os_folder_next(folder, &entry, &more, NULL) == TN_OK && more) {
        if (entry.kind != TN_OS_FOLDER)
            continue;
        tn_buffer_append(stack, path, size);
        tn_buffer_text(stack, "/");
        tn_buffer_append(stack, entry.name, strlen(entry.name) + 1);
    }
    tn_os_folder_close(folder);
    return tn_buffer_status(stack, err);
}

/* Take the last path off a stack of paths that each end with a NUL. It is copied, for the stack grows meanwhile. */
static tn_status pop(tn_buffer *stack, tn_buffer *path, tn_error *err)
{
    size_t begin = stack->size - 1;
    while (begin > 0 && stack->bytes[begin - 1] != '\0')
        begin--;
    tn_buffer_clear(path);
    tn_buffer_append(path, stack->bytes + begin, stack->size - 1 - begin);
    stack->size = begin;
    return tn_buffer_status(path, err);
}

static tn_status watch_below(tn_os_watch *watch, tn_buffer *stack, tn_buffer *path, tn_error *err)
{
    while (stack->size > 0) {
        TN_TRY(pop(stack, path, err));
        TN_TRY(watch_one(watch, path->bytes, err));
        TN_TRY(push_inside(watch, path->bytes, path->size, stack, err));
    }
    return TN_OK;
}

/* Watch everything there is; what is watched already stays so. */
static tn_status watch_all(tn_os_watch *watch, tn_error *err)
{
    tn_buffer stack, path;
    tn_buffer_init(&stack, watch->memory, PATHS_MAX);
    tn_buffer_init(&path, watch->memory, PATHS_MAX);
    tn_buffer_append(&stack, watch->folders.bytes, watch->folders.size);
    tn_status status = tn_buffer_status(&stack, err);
    if (status == TN_OK)
        status = watch_below(watch, &stack, &path, err);
    tn_buffer_free(&stack);
    tn_buffer_free(&path);
    watch->grown = false;
    return status;
}

/* ---- events ---- */

/* Take all events there are: only that there were some matters, and whether folders were among them. */
static tn_status take_events(tn_os_watch *watch, tn_error *err)
{
    _Alignas(struct inotify_event) char bytes[16384];
    for (;;) {
        ssize_t got = read(watch->fd, bytes, sizeof bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno != EAGAIN)
            return tn_os_fail_errno(err, errno, "read", NULL);
        if (got <= 0)
            return TN_OK;
        for (size_t at = 0; at < (size_t)got;) {
            const struct inotify_event *event = (const void *)(bytes + at);
            watch->grown = watch->grown || (event->mask & (IN_ISDIR | IN_Q_OVERFLOW)) != 0;
            at += sizeof *event + event->len;
        }
    }
}

tn_status tn_os_watch_wait(tn_os_watch *watch, unsigned timeout_ms, bool *changed, tn_error *err)
{
    struct pollfd wanted = {watch->fd, POLLIN, 0};
    TN_TRY(tn_os_before((tn_os_call){.operation = TN_OP_WATCH}, err));
    int ready = poll(&wanted, 1, timeout_ms > INT32_MAX ? INT32_MAX : (int)timeout_ms);
    if (ready < 0 && errno != EINTR)
        return tn_os_fail_errno(err, errno, "poll", NULL);
    if (ready > 0)
        TN_TRY(take_events(watch, err));
    if (watch->grown) /* before the caller looks, so that nothing comes between */
        TN_TRY(watch_all(watch, err));
    *changed = ready > 0;
    return TN_OK;
}

/* ---- the whole ---- */

static tn_status start(tn_os_watch *watch, const char *const *folders, size_t count, tn_error *err)
{
    for (size_t i = 0; i < count; i++)
        tn_buffer_append(&watch->folders, folders[i], strlen(folders[i]) + 1);
    TN_TRY(tn_buffer_status(&watch->folders, err));
    watch->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (watch->fd < 0)
        return tn_os_fail_errno(err, errno, "inotify_init1", NULL);
    return watch_all(watch, err);
}

tn_status tn_os_watch_open(tn_memory_source *memory, const char *const *folders, size_t count, tn_os_watch **out,
                           tn_error *err)
{
    void *block;
    TN_TRY(tn_os_before((tn_os_call){.operation = TN_OP_WATCH}, err));
    TN_TRY(tn_take(memory, sizeof(tn_os_watch), &block, err));
    tn_os_watch *watch = block;
    *watch = (tn_os_watch){.memory = memory, .fd = -1};
    tn_buffer_init(&watch->folders, memory, PATHS_MAX);
    tn_status status = start(watch, folders, count, err);
    if (status == TN_OK)
        *out = watch;
    else
        tn_os_watch_close(watch);
    return status;
}

void tn_os_watch_close(tn_os_watch *watch)
{
    if (watch == NULL)
        return;
    if (watch->fd >= 0)
        close(watch->fd);
    tn_buffer_free(&watch->folders);
    tn_give(watch->memory, watch, sizeof *watch);
}

#else

tn_status tn_os_watch_open(tn_memory_source *memory, const char *const *folders, size_t count, tn_os_watch **out,
                           tn_error *err)
{
    (void)memory, (void)folders, (void)count, (void)out;
    return tn_fail(err, TN_UNAVAILABLE, "%s", tn_status_text(TN_UNAVAILABLE));
}

tn_status tn_os_watch_wait(tn_os_watch *watch, unsigned timeout_ms, bool *changed, tn_error *err)
{
    (void)watch, (void)timeout_ms, (void)changed;
    return tn_fail(err, TN_UNAVAILABLE, "%s", tn_status_text(TN_UNAVAILABLE));
}

void tn_os_watch_close(tn_os_watch *watch)
{
    (void)watch;
}

#endif
