/* The trash on POSIX: the freedesktop trash specification 1.0.
 *
 *   T1  An item goes to the trash of its own file system or nowhere: moving it is a rename.
 *   T2  The note is made first and exclusively, and is on the disk before the item moves. So a crash leaves a note
 *       without an item, never an item without a note.
 *   T3  Folders that others could have prepared are checked as the specification asks: $top/.Trash must be a real folder
 *       with the sticky bit, and the user's own folder a real one of this user.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "os/os_posix.h"
#include "os/os_trash.h"

#define NOTE_MAX_BYTES ((size_t)4 * TN_OS_POSIX_PATH_MAX)
#define ATTEMPTS 10000u

/* Where an item goes. */
typedef struct trash {
    char base[TN_OS_POSIX_PATH_MAX]; /* the folder with files/ and info/ in it */
    char from[TN_OS_POSIX_PATH_MAX]; /* the item's path as the note has it */
} trash;

static tn_status no_trash(const char *path, tn_error *err)
{
    tn_fail(err, TN_UNAVAILABLE, "this disk has no trash that could be used");
    tn_error_at_file(err, path);
    return TN_UNAVAILABLE;
}

/* False when it does not fit. */
static bool join(char out[TN_OS_POSIX_PATH_MAX], const char *folder, const char *name)
{
    const char *between = folder[0] != 0 && folder[strlen(folder) - 1] == '/' ? "" : "/";
    int size = snprintf(out, TN_OS_POSIX_PATH_MAX, "%s%s%s", folder, between, name);
    return size > 0 && size < TN_OS_POSIX_PATH_MAX;
}

/* ---- folders ---- */

/* A folder of this user alone, made (its name flushed) or there. Links are not followed. False with errno 0: it is
 * something else. */
static bool ensure_private(const char *path)
{
    struct stat st;
    tn_os_call call = {.operation = TN_OP_MAKE_FOLDER, .path = path};
    if (lstat(path, &st) != 0) {
        if (tn_os_before(call, NULL) != TN_OK || (mkdir(path, 0700) != 0 && errno != EEXIST))
            return false;
        tn_os_after(call);
        if (tn_os_sync_above(path, NULL) != TN_OK)
            return false;
        if (lstat(path, &st) != 0)
            return false;
    }
    errno = 0;
    return S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

/* The folder itself and those in it. */
static bool ensure_base(const char *base)
{
    char inner[TN_OS_POSIX_PATH_MAX];
    return ensure_private(base) && join(inner, base, "files") && ensure_private(inner) && join(inner, base, "info") &&
           ensure_private(inner);
}

/* The device of a path, or of the nearest folder above it that is there. */
static bool device_near(const char *path, dev_t *out)
{
    char part[TN_OS_POSIX_PATH_MAX];
    struct stat st;
    snprintf(part, sizeof part, "%s", path);
    while (stat(part, &st) != 0) {
        char *slash = strrchr(part, '/');
        if (slash == NULL)
            return false;
        slash[slash == part] = 0;
    }
    *out = st.st_dev;
    return true;
}

static bool home_trash(char out[TN_OS_POSIX_PATH_MAX])
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    if (data != NULL && data[0] == '/')
        return join(out, data, "Trash");
    return home != NULL && home[0] == '/' && join(out, home, ".local/share/Trash");
}

static bool ensure_parents(const char *path)
{
    char parent[TN_OS_POSIX_PATH_MAX];
    snprintf(parent, sizeof parent, "%s", path);
    char *slash = strrchr(parent, '/');
    if (slash == NULL || slash == parent)
        return slash != NULL;
    *slash = 0;
    return tn_os_make_folders(parent, NULL) == TN_OK;
}

static bool is_home(trash *t, dev_t device)
{
    dev_t there;
    return home_trash(t->base) && device_near(t->base, &there) && there == device;
}

/* The home trash of the item's own disk is used or nothing is: another place would be a surprise. */
static tn_status use_home(trash *t, const char *path, tn_error *err)
{
    snprintf(t->from, sizeof t->from, "%s", path);
    if (ensure_parents(t->base) && ensure_base(t->base))
        return TN_OK;
    if (tn_os_means_full(errno))
        return tn_os_fail_errno(err, errno, "mkdir", t->base);
    tn_fail(err, TN_UNAVAILABLE, "the trash cannot be used: it must be a folder of yours alone");
    tn_error_at_file(err, t->base);
    return TN_UNAVAILABLE;
}

/* The highest folder above `folder` (a real path) on the same device. */
static void find_top(const char *folder, dev_t device, char top[TN_OS_POSIX_PATH_MAX])
{
    char up[TN_OS_POSIX_PATH_MAX];
    struct stat st;
    snprintf(up, sizeof up, "%s", folder);
    snprintf(top, TN_OS_POSIX_PATH_MAX, "%s", folder);
    while (strcmp(up, "/") != 0) {
        char *slash = strrchr(up, '/');
        slash[slash == up] = 0;
        if (stat(up, &st) != 0 || st.st_dev != device)
            return;
        snprintf(top, TN_OS_POSIX_PATH_MAX, "%s", up);
    }
}

/* $top/.Trash/$uid, where an administrator made .Trash. */
static bool use_shared(trash *t, const char *top)
{
    char shared[TN_OS_POSIX_PATH_MAX], uid[32];
    struct stat st;
    snprintf(uid, sizeof uid, "%lu", (unsigned long)getuid());
    if (!join(shared, top, ".Trash") || lstat(shared, &st) != 0 || !S_ISDIR(st.st_mode) || (st.st_mode & S_ISVTX) == 0)
        return false;
    return join(t->base, shared, uid) && ensure_base(t->base);
}

/* $top/.Trash-$uid */
static bool use_own(trash *t, const char *top)
{
    char name[64];
    snprintf(name, sizeof name, ".Trash-%lu", (unsigned long)getuid());
    return join(t->base, top, name) && ensure_base(t->base);
}

/* ---- which one ---- */

/* The path with its folder resolved, its last name as it is. */
static bool real_place(const char *path, char folder[PATH_MAX], const char **name)
{
    char parent[TN_OS_POSIX_PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (slash == NULL || slash[1] == 0 || (size_t)(slash - path) >= sizeof parent)
        return false;
    snprintf(parent, sizeof parent, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    *name = slash + 1;
    return realpath(parent, folder) != NULL;
}

static tn_status choose(const char *path, trash *t, const char **name, tn_error *err)
{
    char folder[PATH_MAX], top[TN_OS_POSIX_PATH_MAX], inside[TN_OS_POSIX_PATH_MAX];
    struct stat st;
    TN_TRY(tn_os_before((tn_os_call){.operation = TN_OP_TRASH, .path = path}, err));
    if (lstat(path, &st) != 0 || !real_place(path, folder, name))
        return tn_os_fail_errno(err, errno, "lstat", path);
    if (is_home(t, st.st_dev))
        return use_home(t, path, err);
    find_top(folder, st.st_dev, top);
    if (!use_shared(t, top) && !use_own(t, top))
        return tn_os_means_full(errno) ? tn_os_fail_errno(err, errno, "mkdir", t->base) : no_trash(path, err);
    const char *below = folder + (strcmp(top, "/") == 0 ? 0 : strlen(top));
    below += *below == '/';
    bool fits = below[0] == 0 ? join(inside, "", *name) : join(inside, below, *name);
    snprintf(t->from, sizeof t->from, "%s", below[0] == 0 ? *name : inside);
    return fits ? TN_OK : no_trash(path, err);
}

/* ---- the note ---- */

static void local_date(char out[32])
{
    time_t now = time(NULL);
    struct tm parts;
    if (localtime_r(&now, &parts) == NULL || strftime(out, 32, "%Y-%m-%dT%H:%M:%S", &parts) == 0)
        snprintf(out, 32, "1970-01-01T00:00:00");
}

static tn_status write_note(const char *path, const trash *t, tn_memory_source *memory, tn_error *err)
{
    char date[32];
    tn_buffer text;
    tn_os_file file;
    TN_TRY(tn_os_open(path, TN_OS_WRITE | TN_OS_CREATE | TN_OS_EXCLUSIVE | TN_OS_PRIVATE, &file, err));
    local_date(date);
    tn_buffer_init(&text, memory, NOTE_MAX_BYTES);
    tn_os_trash_note(&text, t->from, date);
    tn_status status = tn_buffer_status(&text, err);
    if (status == TN_OK)
        status = tn_os_write(&file, 0, text.bytes, text.size, err);
    if (status == TN_OK)
        status = tn_os_sync(&file, err);
    tn_buffer_free(&text);
    tn_os_close(&file);
    if (status != TN_OK)
        (void)tn_os_remove(path, NULL);
    return status;
}

/* One attempt: TN_EXISTS when the name is taken, by a note or by an item without one. */
static tn_status try_name(const trash *t, const char *name, unsigned attempt, tn_buffer *item, tn_buffer *note,
                          tn_error *err)
{
    struct stat st;
    tn_buffer_clear(item);
    tn_buffer_clear(note);
    tn_buffer_format(item, "%s/files/", t->base);
    tn_os_trash_name(item, name, attempt);
    tn_buffer_format(note, "%s/info/", t->base);
    tn_os_trash_name(note, name, attempt);
    tn_buffer_text(note, ".trashinfo");
    TN_TRY(tn_buffer_status(item, err));
    TN_TRY(tn_buffer_status(note, err));
    if (lstat(item->bytes, &st) == 0)
        return tn_fail(err, TN_EXISTS, "%s", tn_status_text(TN_EXISTS));
    return write_note(note->bytes, t, item->memory, err);
}

static tn_status sync_info(const trash *t, tn_error *err)
{
    char info[TN_OS_POSIX_PATH_MAX];
    return join(info, t->base, "info") ? tn_os_sync_folder(info, err) : TN_OK;
}

tn_status tn_os_trash_reserve(const char *path, tn_buffer *item, tn_buffer *note, tn_error *err)
{
    trash t = {.base = ""};
    const char *name = NULL;
    TN_TRY(choose(path, &t, &name, err));
    tn_error found;
    tn_status status = TN_EXISTS;
    for (unsigned attempt = 1; status == TN_EXISTS && attempt <= ATTEMPTS; attempt++)
        status = try_name(&t, name, attempt, item, note, &found);
    if (status != TN_OK)
        return tn_fail_as(&found, err);
    status = sync_info(&t, err);
    if (status != TN_OK)
        (void)tn_os_remove(note->bytes, NULL);
    return status;
}

tn_status tn_os_trash_put(const char *path, tn_buffer *item, tn_buffer *note, tn_error *err)
{
    (void)note;
    return tn_os_rename(path, item->bytes, false, err);
}

tn_status tn_os_trash_forget(const char *note, tn_error *err)
{
    tn_status status = tn_os_remove(note, err);
    return status == TN_NOT_FOUND ? TN_OK : status;
}
