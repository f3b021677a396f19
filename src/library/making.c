#include "library/making.h"

#include <inttypes.h>
#include <string.h>

#include "library/place.h"

#define STEP_MS 10

/* ---- what was left behind ---- */

/* Behind `text`: `digits` of hexadecimal, and then nothing or what SQLite puts behind a name. */
static bool is_draw(const char *text, size_t digits)
{
    static const char *const tails[] = {"", "-journal", "-wal", "-shm"};
    if (strspn(text, "0123456789abcdef") != digits)
        return false;
    for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++)
        if (strcmp(text + digits, tails[i]) == 0)
            return true;
    return false;
}

/* LIBRARY.new-0123456789abcdef and LIBRARY.bak-v1.01234567: names that nothing has for long. */
static bool is_leftover(const char *name, tn_text library)
{
    if (strncmp(name, library.bytes, library.size) != 0)
        return false;
    const char *rest = name + library.size;
    if (strncmp(rest, ".new-", 5) == 0)
        return is_draw(rest + 5, 16);
    if (strncmp(rest, ".bak-v", 6) != 0)
        return false;
    rest += 6 + strspn(rest + 6, "0123456789");
    return rest[0] == '.' && is_draw(rest + 1, 8);
}

static void remove_leftovers_in(tn_library *library, const char *folder)
{
    tn_os_folder *entries = NULL;
    tn_os_entry entry;
    bool more = false;
    tn_buffer path;
    tn_buffer_init(&path, library->memory, TN_PLACE_PATH_MAX);
    tn_text name = tn_place_name(library->path.bytes, library->path.size);
    tn_status status = tn_os_folder_open(library->memory, folder, &entries, NULL);
    while (status == TN_OK && tn_os_folder_next(entries, &entry, &more, NULL) == TN_OK && more) {
        if (!is_leftover(entry.name, name))
            continue;
        tn_buffer_clear(&path);
        tn_place_below(&path, folder, strlen(folder));
        tn_buffer_text(&path, entry.name);
        if (tn_buffer_status(&path, NULL) == TN_OK)
            tn_os_remove(path.bytes, NULL);
    }
    tn_os_folder_close(entries);
    tn_buffer_free(&path);
}

/* A leftover that cannot be found or removed is in nobody's way. */
static void remove_leftovers(tn_library *library)
{
    tn_buffer folder;
    tn_buffer_init(&folder, library->memory, TN_PLACE_PATH_MAX);
    tn_buffer_append(&folder, library->path.bytes, tn_place_folder(library->path.bytes, library->path.size));
    if (tn_buffer_status(&folder, NULL) == TN_OK)
        remove_leftovers_in(library, folder.bytes);
    tn_buffer_free(&folder);
}

/* ---- the lock ---- */

static tn_status no_locks(const tn_library *library, tn_error *err)
{
    tn_fail(err, TN_UNAVAILABLE, "this file system has no locks, and a library that is written to needs them: keep it on "
                                 "another one");
    tn_error_at_file(err, library->path.bytes);
    return TN_UNAVAILABLE;
}

static tn_status wait_for_lock(tn_library *library, const tn_os_file *lock, unsigned busy_ms, tn_error *err)
{
    for (unsigned waited = 0;; waited += STEP_MS) {
        tn_status status = tn_os_lock(lock, 0, NULL);
        if (status == TN_UNAVAILABLE)
            return no_locks(library, err);
        if (status != TN_BUSY)
            return status == TN_OK ? TN_OK : tn_os_lock(lock, 0, err);
        if (tn_context_cancelled(library->context))
            return tn_fail(err, TN_CANCELLED, "cancelled while another program made the library");
        if (waited >= busy_ms)
            break;
        tn_os_sleep_ms(STEP_MS);
    }
    tn_fail(err, TN_LOCKED, "another program has been making the library, or bringing it up to date, for %u s",
            busy_ms / 1000);
    tn_error_at_file(err, library->path.bytes);
    return TN_LOCKED;
}

tn_status tn_making_begin(tn_library *library, unsigned busy_ms, tn_making *out, tn_error *err)
{
    tn_making making = {0};
    TN_TRY(tn_os_open(library->lock_path.bytes, TN_OS_WRITE | TN_OS_CREATE, &making.lock, err));
    tn_status status = wait_for_lock(library, &making.lock, busy_ms, err);
    if (status != TN_OK) {
        tn_os_close(&making.lock);
        return status;
    }
    remove_leftovers(library);
    *out = making;
    return TN_OK;
}

void tn_making_end(tn_making *making)
{
    tn_os_unlock(&making->lock, 0);
    tn_os_close(&making->lock);
}

/* ---- what lies beside a library that is not there ---- */

static tn_status set_aside(tn_library *library, const char *tail, tn_error *err)
{
    tn_buffer from, to;
    tn_buffer_init(&from, library->memory, TN_PLACE_PATH_MAX);
    tn_buffer_init(&to, library->memory, TN_PLACE_PATH_MAX);
    uint64_t draw;
    tn_os_random(&draw, sizeof draw);
    tn_buffer_format(&from, "%s%s", library->path.bytes, tail);
    tn_buffer_format(&to, "%s%s.lost-%08" PRIx64, library->path.bytes, tail, draw & 0xffffffff);
    tn_status status = tn_buffer_status(&from, err);
    if (status == TN_OK)
        status = tn_buffer_status(&to, err);
    tn_error found;
    if (status == TN_OK && tn_os_rename(from.bytes, to.bytes, false, &found) != TN_OK && found.status != TN_NOT_FOUND)
        status = tn_fail_as(&found, err);
    tn_buffer_free(&from);
    tn_buffer_free(&to);
    return status;
}

tn_status tn_making_set_aside(tn_library *library, tn_error *err)
{
    TN_TRY(set_aside(library, "-wal", err));
    return set_aside(library, "-journal", err);
}
