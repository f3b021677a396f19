/* Paths at the edge to Windows: WTF-8 inside, absolute \\?\ UTF-16 outside, so that long, reserved and odd names are
 * names like any other. */
#include <stdlib.h>
#include <string.h>

#include "os/os_path.h"
#include "os/os_win32.h"
#include "os/os_wtf8.h"

#define UNITS_MAX 32767        /* of a path, as Windows documents it */
#define NAME_UNITS_MAX 255     /* of one name in it */
#define TEXT_MAX (3 * UNITS_MAX) /* its bytes at most */

static void *resize(void *user, void *block, size_t old_size, size_t new_size)
{
    (void)user;
    (void)old_size;
    if (new_size > 0)
        return realloc(block, new_size);
    free(block);
    return NULL;
}

static tn_budget unlimited = {.limit = UINT64_MAX};
static tn_memory_source plain_memory = {.allocator = {.resize = resize}, .budget = &unlimited};

void tn_os_start_text(tn_buffer *out)
{
    tn_buffer_init(out, &plain_memory, TEXT_MAX);
}

void tn_os_append_wide(tn_buffer *out, const wchar_t *units, size_t count)
{
    size_t size = tn_os_wtf8_from_utf16(units, count, NULL, 0);
    char *room = tn_buffer_reserve(out, size);
    if (room == NULL)
        return;
    tn_os_wtf8_from_utf16(units, count, room, size);
    out->size += size;
    if (size > 0)
        out->bytes[out->size] = 0;
}

void tn_os_append_wide_path(tn_buffer *out, const wchar_t *units, size_t count)
{
    if (count >= 8 && wcsncmp(units, L"\\\\?\\UNC\\", 8) == 0) {
        tn_buffer_text(out, "\\");
        units += 7;
        count -= 7;
    } else if (count >= 6 && wcsncmp(units, L"\\\\?\\", 4) == 0 && units[5] == L':') {
        units += 4;
        count -= 4;
    }
    tn_os_append_wide(out, units, count);
}

/* The working folder as text. */
static tn_status working_folder(tn_buffer *out, tn_error *err)
{
    DWORD room = GetCurrentDirectoryW(0, NULL);
    wchar_t *units = malloc(sizeof *units * ((size_t)room + 1));
    if (units == NULL)
        return tn_os_fail_win32(err, ERROR_NOT_ENOUGH_MEMORY, "GetCurrentDirectory", NULL);
    DWORD count = GetCurrentDirectoryW(room + 1, units);
    tn_status status = TN_OK;
    if (count == 0 || count > room)
        status = tn_os_fail_win32(err, GetLastError(), "GetCurrentDirectory", NULL);
    else
        tn_os_append_wide_path(out, units, count);
    free(units);
    return status;
}

static tn_status bad_path(const char *path, const char *why, tn_error *err)
{
    tn_fail(err, TN_BAD_PATH, "%s", why);
    tn_error_at_file(err, path);
    return TN_BAD_PATH;
}

tn_status tn_os_absolute_text(const char *path, tn_buffer *out, tn_error *err)
{
    tn_buffer working;
    tn_os_start_text(out);
    tn_os_start_text(&working);
    tn_status status = working_folder(&working, err);
    if (status == TN_OK && !tn_os_path_absolute_windows(path, working.bytes, out))
        status = bad_path(path, "the path names a device or a stream, not a file", err);
    if (status == TN_OK && out->failed == TN_LIMIT)
        status = bad_path(path, "the path is longer than Windows can take", err);
    if (status == TN_OK)
        status = tn_buffer_status(out, err);
    if (status != TN_OK)
        tn_buffer_free(out);
    tn_buffer_free(&working);
    return status;
}

/* No file system of Windows has longer names, but what they answer to one differs. */
static bool has_long_name(const wchar_t *units)
{
    size_t size = 0;
    for (; *units != 0; units++) {
        size = *units == L'\\' ? 0 : size + 1;
        if (size > NAME_UNITS_MAX)
            return true;
    }
    return false;
}

/* `text` with the prefix it needs, into `out`. */
static tn_status widen(const char *path, const char *text, tn_os_wide *out, tn_error *err)
{
    const char *prefix = "\\\\?\\";
    if (strncmp(text, "\\\\?\\", 4) == 0) {
        prefix = "";
    } else if (strncmp(text, "\\\\", 2) == 0) {
        prefix = "\\\\?\\UNC";
        text++;
    }
    size_t before = strlen(prefix);
    size_t size = strlen(text);
    size_t count = tn_os_utf16_from_wtf8(text, size, NULL, 0);
    if (count == SIZE_MAX)
        return bad_path(path, "the path is not valid UTF-8", err);
    if (before + count >= UNITS_MAX)
        return bad_path(path, "the path is longer than Windows can take", err);
    out->size = before + count;
    out->text = out->small;
    if (out->size >= sizeof out->small / sizeof out->small[0])
        out->text = malloc(sizeof(wchar_t) * (out->size + 1));
    if (out->text == NULL)
        return tn_os_fail_win32(err, ERROR_NOT_ENOUGH_MEMORY, "malloc", path);
    for (size_t i = 0; i < before; i++)
        out->text[i] = (wchar_t)prefix[i];
    tn_os_utf16_from_wtf8(text, size, out->text + before, count);
    out->text[out->size] = 0;
    return TN_OK;
}

tn_status tn_os_wide_from(const char *path, tn_os_wide *out, tn_error *err)
{
    if (path[0] == 0)
        return tn_os_fail_win32(err, ERROR_PATH_NOT_FOUND, "open", path);
    tn_buffer text;
    TN_TRY(tn_os_absolute_text(path, &text, err));
    tn_status status = widen(path, text.bytes, out, err);
    tn_buffer_free(&text);
    if (status != TN_OK || !has_long_name(out->text))
        return status;
    tn_os_wide_free(out);
    return bad_path(path, "a name in the path is longer than 255 characters", err);
}

void tn_os_wide_free(tn_os_wide *wide)
{
    if (wide->text != wide->small)
        free(wide->text);
    wide->text = NULL;
}

tn_status tn_os_absolute_path(const char *path, tn_buffer *out, tn_error *err)
{
    TN_TRY(tn_os_before((tn_os_call){.operation = TN_OP_PATH, .path = path}, err));
    tn_buffer text;
    TN_TRY(tn_os_absolute_text(path, &text, err));
    tn_buffer_append(out, text.bytes, text.size);
    tn_buffer_free(&text);
    return tn_buffer_status(out, err);
}

static tn_status final_path(HANDLE handle, const char *path, tn_buffer *out, tn_error *err)
{
    DWORD room = GetFinalPathNameByHandleW(handle, NULL, 0, FILE_NAME_NORMALIZED | VOLUME_NAME_DOS);
    wchar_t *units = room > 0 ? malloc(sizeof *units * ((size_t)room + 1)) : NULL;
    DWORD count = 0;
    if (units != NULL)
        count = GetFinalPathNameByHandleW(handle, units, room + 1, FILE_NAME_NORMALIZED | VOLUME_NAME_DOS);
    if (count == 0 || count > room) {
        free(units);
        return tn_os_fail_win32(err, GetLastError(), "GetFinalPathNameByHandle", path);
    }
    tn_os_append_wide_path(out, units, count);
    free(units);
    return tn_buffer_status(out, err);
}

tn_status tn_os_real_path(const char *path, tn_buffer *out, tn_error *err)
{
    TN_TRY(tn_os_before((tn_os_call){.operation = TN_OP_PATH, .path = path}, err));
    tn_os_wide wide;
    TN_TRY(tn_os_wide_from(path, &wide, err));
    HANDLE handle = CreateFileW(wide.text, FILE_READ_ATTRIBUTES, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                                NULL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_NO_RECALL, NULL);
    DWORD code = GetLastError();
    tn_os_wide_free(&wide);
    if (handle == INVALID_HANDLE_VALUE)
        return tn_os_fail_win32(err, code, "CreateFile", path);
    tn_status status = final_path(handle, path, out, err);
    CloseHandle(handle);
    return status;
}
