/* The recycle bin on Windows. The system chooses the place and writes the note; both are looked for afterwards, so that
 * what was put there can be brought back.
 *
 *   T1  Only a disk of this machine has a bin that keeps things: elsewhere the system would delete for good, so those are
 *       refused, and so is a path that the shell cannot take (over MAX_PATH).
 *   T2  An item is $R and six characters, its note $I and the same six. A note begins with the version 2, the item's size,
 *       the time, the path's length in units with its NUL, and the path.
 */
#include <string.h>

#include "os/os_win32.h"

#include <shellapi.h>
#include <sddl.h>

#define NOTE_HEAD 28
#define NOTE_MAX (NOTE_HEAD + 2 * 32768)

static tn_status no_trash(const char *path, const char *why, tn_error *err)
{
    tn_fail(err, TN_UNAVAILABLE, "%s", why);
    tn_error_at_file(err, path);
    return TN_UNAVAILABLE;
}

static tn_status check(const char *path, const tn_os_wide *wide, tn_error *err)
{
    const wchar_t *plain = wide->text + 4; /* behind \\?\ */
    wchar_t root[] = {plain[0], L':', L'\\', 0};
    if (wide->size < 7 || plain[1] != L':' || GetDriveTypeW(root) != DRIVE_FIXED)
        return no_trash(path, "this disk has no recycle bin", err);
    if (wide->size - 4 >= MAX_PATH)
        return no_trash(path, "the path is too long for the recycle bin", err);
    return TN_OK;
}

tn_status tn_os_trash_reserve(const char *path, tn_buffer *item, tn_buffer *note, tn_error *err)
{
    tn_os_info info;
    tn_os_wide wide;
    TN_TRY(tn_os_before((tn_os_call){.operation = TN_OP_TRASH, .path = path}, err));
    TN_TRY(tn_os_info_at(path, false, &info, err));
    TN_TRY(tn_os_wide_from(path, &wide, err));
    tn_status status = check(path, &wide, err);
    tn_os_wide_free(&wide);
    tn_buffer_clear(item);
    tn_buffer_clear(note);
    return status;
}

/* ---- where it went ---- */

/* "C:\$Recycle.Bin\S-1-5-..." */
static bool bin_of_user(const wchar_t *path, tn_buffer *out)
{
    HANDLE token;
    DWORD size = 0;
    union {
        TOKEN_USER user;
        char room[256];
    } told;
    wchar_t *sid = NULL;
    if (!OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token))
        return false;
    bool known = GetTokenInformation(token, TokenUser, &told, sizeof told, &size) &&
                 ConvertSidToStringSidW(told.user.User.Sid, &sid);
    CloseHandle(token);
    if (!known)
        return false;
    tn_os_append_wide(out, path, 2);
    tn_buffer_text(out, "\\$Recycle.Bin\\");
    tn_os_append_wide(out, sid, wcslen(sid));
    LocalFree(sid);
    return out->failed == TN_OK;
}

/* Whether the note at `path` tells of `original`. */
static bool note_tells(const char *path, const wchar_t *original, unsigned char *room)
{
    tn_os_file file;
    size_t got = 0;
    uint32_t units = 0;
    if (tn_os_open(path, TN_OS_READ, &file, NULL) != TN_OK)
        return false;
    tn_status status = tn_os_read(&file, 0, room, NOTE_MAX, &got, NULL);
    tn_os_close(&file);
    if (status != TN_OK || got < NOTE_HEAD || room[0] != 2)
        return false;
    memcpy(&units, room + 24, sizeof units);
    return units == wcslen(original) + 1 && got >= NOTE_HEAD + 2 * (size_t)units &&
           memcmp(room + NOTE_HEAD, original, 2 * (size_t)units) == 0;
}

/* Look through the notes; the last one that fits and has its item. */
static void find_in(const tn_buffer *bin, const wchar_t *original, unsigned char *room, tn_buffer *item, tn_buffer *note)
{
    tn_os_folder *folder = NULL;
    tn_os_entry entry;
    tn_os_info info;
    bool more = false;
    tn_buffer at;
    tn_os_start_text(&at);
    if (tn_os_folder_open(bin->memory, bin->bytes, &folder, NULL) != TN_OK)
        return;
    while (tn_os_folder_next(folder, &entry, &more, NULL) == TN_OK && more) {
        if (strncmp(entry.name, "$I", 2) != 0)
            continue;
        tn_buffer_clear(&at);
        tn_buffer_format(&at, "%s\\%s", bin->bytes, entry.name);
        if (at.failed != TN_OK || !note_tells(at.bytes, original, room))
            continue;
        tn_buffer_clear(note);
        tn_buffer_append(note, at.bytes, at.size);
        tn_buffer_clear(item);
        tn_buffer_format(item, "%s\\$R%s", bin->bytes, entry.name + 2);
        if (tn_os_info_at(item->bytes, false, &info, NULL) == TN_OK)
            break;
        tn_buffer_clear(item);
        tn_buffer_clear(note);
    }
    tn_os_folder_close(folder);
    tn_buffer_free(&at);
}

static void find(const wchar_t *original, tn_buffer *item, tn_buffer *note)
{
    tn_buffer bin, room;
    tn_os_start_text(&bin);
    tn_os_start_text(&room);
    unsigned char *bytes = (unsigned char *)tn_buffer_reserve(&room, NOTE_MAX);
    if (bytes != NULL && bin_of_user(original, &bin))
        find_in(&bin, original, bytes, item, note);
    tn_buffer_free(&bin);
    tn_buffer_free(&room);
}

/* ---- putting ---- */

/* The system asks when it would delete for good instead. */
static tn_status recycle(const char *path, const wchar_t *plain, tn_error *err)
{
    wchar_t list[MAX_PATH + 2] = {0}; /* ended by two NULs */
    wcsncpy(list, plain, MAX_PATH);
    SHFILEOPSTRUCTW work = {.wFunc = FO_DELETE, .pFrom = list,
                            .fFlags = FOF_ALLOWUNDO | FOF_NOCONFIRMATION | FOF_SILENT | FOF_NOERRORUI |
                                      FOF_WANTNUKEWARNING};
    int code = SHFileOperationW(&work);
    if (code == 0 && !work.fAnyOperationsAborted)
        return TN_OK;
    tn_status status = code == ERROR_SHARING_VIOLATION ? TN_BUSY : TN_IO;
    tn_fail(err, status, "the recycle bin did not take it (SHFileOperation: %d)", code);
    tn_error_at_file(err, path);
    return status;
}

tn_status tn_os_trash_put(const char *path, tn_buffer *item, tn_buffer *note, tn_error *err)
{
    tn_os_call call = {.operation = TN_OP_TRASH, .path = path};
    tn_os_wide wide;
    TN_TRY(tn_os_before(call, err));
    TN_TRY(tn_os_wide_from(path, &wide, err));
    tn_status status = check(path, &wide, err);
    if (status == TN_OK)
        status = recycle(path, wide.text + 4, err);
    if (status == TN_OK) {
        find(wide.text + 4, item, note);
        tn_os_after(call);
    }
    tn_os_wide_free(&wide);
    return status;
}

tn_status tn_os_trash_forget(const char *note, tn_error *err)
{
    tn_status status = tn_os_remove(note, err);
    return status == TN_NOT_FOUND ? TN_OK : status;
}
