/* Names on Windows: folders made, files renamed, removed and replaced. The contract stands in os.h. */
#include <stdio.h>
#include <string.h>

#include "os/os_win32.h"

/* ---- folders ---- */

tn_status tn_os_make_folder(const char *path, tn_error *err)
{
    tn_os_call call = {.operation = TN_OP_MAKE_FOLDER, .path = path};
    TN_TRY(tn_os_before(call, err));
    tn_os_wide wide;
    TN_TRY(tn_os_wide_from(path, &wide, err));
    bool made = CreateDirectoryW(wide.text, NULL);
    DWORD code = GetLastError();
    tn_os_wide_free(&wide);
    if (!made)
        return tn_os_fail_win32(err, code, "CreateDirectory", path);
    tn_os_after(call);
    return TN_OK;
}

/* Made, or there already as a folder (a drive's root is told as TN_PERMISSION). */
static tn_status ensure_folder(const char *path, tn_error *err)
{
    tn_os_info info;
    tn_status status = tn_os_make_folder(path, err);
    if (status == TN_OK || status == TN_NOT_FOUND || tn_os_info_at(path, true, &info, NULL) != TN_OK)
        return status;
    return info.kind == TN_OS_FOLDER ? TN_OK : status;
}

/* Up from the whole path to the first part that is there or can be made, then down again. `path` is written to. */
static tn_status make_parts(char *path, size_t size, tn_error *err)
{
    size_t cut = size;
    tn_status status = ensure_folder(path, err);
    while (status == TN_NOT_FOUND) {
        while (cut > 0 && path[cut - 1] != '\\')
            cut--;
        if (cut < 2)
            return status;
        path[--cut] = 0;
        status = ensure_folder(path, err);
    }
    while (status == TN_OK && cut < size) {
        path[cut] = '\\';
        cut += strlen(path + cut);
        status = ensure_folder(path, err);
    }
    return status;
}

tn_status tn_os_make_folders(const char *path, tn_error *err)
{
    tn_buffer text;
    TN_TRY(tn_os_absolute_text(path, &text, err));
    tn_status status = make_parts(text.bytes, text.size, err);
    tn_buffer_free(&text);
    return status;
}

tn_status tn_os_remove_folder(const char *path, tn_error *err)
{
    tn_os_call call = {.operation = TN_OP_REMOVE_FOLDER, .path = path};
    TN_TRY(tn_os_before(call, err));
    tn_os_wide wide;
    TN_TRY(tn_os_wide_from(path, &wide, err));
    bool removed = RemoveDirectoryW(wide.text);
    DWORD code = GetLastError();
    tn_os_wide_free(&wide);
    if (!removed)
        return tn_os_fail_win32(err, code, "RemoveDirectory", path);
    tn_os_after(call);
    return TN_OK;
}

/* Windows writes names through on its own (MOVEFILE_WRITE_THROUGH); there is no such call for a folder. */
tn_status tn_os_sync_folder(const char *path, tn_error *err)
{
    tn_os_call call = {.operation = TN_OP_SYNC_FOLDER, .path = path};
    TN_TRY(tn_os_before(call, err));
    tn_os_after(call);
    return TN_OK;
}

tn_status tn_os_sync_above(const char *path, tn_error *err)
{
    return tn_os_sync_folder(path, err);
}

/* ---- files ---- */

/* A link to a folder is removed as a folder is, without touching what it leads to. */
static bool remove_wide(const wchar_t *path)
{
    WIN32_FIND_DATAW found;
    DWORD attributes = GetFileAttributesW(path);
    const DWORD folder_link = FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT;
    if (attributes == INVALID_FILE_ATTRIBUTES || (attributes & folder_link) != folder_link)
        return DeleteFileW(path);
    HANDLE search = FindFirstFileW(path, &found);
    if (search != INVALID_HANDLE_VALUE)
        FindClose(search);
    if (search != INVALID_HANDLE_VALUE && IsReparseTagNameSurrogate(found.dwReserved0))
        return RemoveDirectoryW(path);
    SetLastError(ERROR_ACCESS_DENIED);
    return false;
}

tn_status tn_os_remove(const char *path, tn_error *err)
{
    tn_os_call call = {.operation = TN_OP_REMOVE, .path = path};
    TN_TRY(tn_os_before(call, err));
    tn_os_wide wide;
    TN_TRY(tn_os_wide_from(path, &wide, err));
    bool removed = remove_wide(wide.text);
    DWORD code = GetLastError();
    tn_os_wide_free(&wide);
    if (!removed)
        return tn_os_fail_win32(err, code, "DeleteFile", path);
    tn_os_after(call);
    return TN_OK;
}

/* Virus scanners and indexers hold new files for moments; a rename is tried again for about 60 ms. */
static bool move(const wchar_t *from, const wchar_t *to, bool replace)
{
    DWORD flags = MOVEFILE_WRITE_THROUGH | (replace ? MOVEFILE_REPLACE_EXISTING : 0);
    for (DWORD wait = 1;; wait *= 2) {
        if (MoveFileExW(from, to, flags))
            return true;
        DWORD code = GetLastError();
        bool held = code == ERROR_SHARING_VIOLATION || (replace && code == ERROR_ACCESS_DENIED);
        if (!held || wait > 32) {
            SetLastError(code);
            return false;
        }
        Sleep(wait);
    }
}

tn_status tn_os_rename(const char *from, const char *to, bool replace, tn_error *err)
{
    tn_os_call call = {.operation = TN_OP_RENAME, .path = from, .other_path = to};
    TN_TRY(tn_os_before(call, err));
    tn_os_wide wide_from;
    tn_os_wide wide_to;
    TN_TRY(tn_os_wide_from(from, &wide_from, err));
    tn_status status = tn_os_wide_from(to, &wide_to, err);
    if (status != TN_OK) {
        tn_os_wide_free(&wide_from);
        return status;
    }
    bool moved = move(wide_from.text, wide_to.text, replace);
    DWORD code = GetLastError();
    tn_os_wide_free(&wide_from);
    tn_os_wide_free(&wide_to);
    if (!moved) {
        bool there = code == ERROR_ALREADY_EXISTS || code == ERROR_FILE_EXISTS;
        return tn_os_fail_win32(err, code, "MoveFileEx", there ? to : from);
    }
    tn_os_after(call);
    return TN_OK;
}

/* ---- a whole file in place of another ---- */

/* The names of a replacement, beside the file: the new bytes, and the old file set aside. */
typedef struct names {
    tn_buffer absolute, temporary, aside;
} names;

static void free_names(names *n)
{
    tn_buffer_free(&n->absolute);
    tn_buffer_free(&n->temporary);
    tn_buffer_free(&n->aside);
}

static tn_status make_names(const char *path, names *out, tn_error *err)
{
    char random[17];
    tn_os_start_text(&out->temporary);
    tn_os_start_text(&out->aside);
    TN_TRY(tn_os_absolute_text(path, &out->absolute, err));
    tn_os_random_name(random, 16);
    const char *slash = strrchr(out->absolute.bytes, '\\');
    size_t folder = slash == NULL ? 0 : (size_t)(slash - out->absolute.bytes) + 1;
    tn_buffer_append(&out->temporary, out->absolute.bytes, folder);
    tn_buffer_format(&out->temporary, ".tn-%s.tmp", random);
    tn_buffer_format(&out->aside, "%s.tn-old", out->absolute.bytes);
    tn_status status = tn_buffer_status(&out->temporary, err);
    if (status == TN_OK)
        status = tn_buffer_status(&out->aside, err);
    if (status != TN_OK)
        free_names(out);
    return status;
}

static tn_status write_new(const char *temporary, const void *bytes, size_t size, tn_error *err)
{
    tn_os_file file;
    TN_TRY(tn_os_open(temporary, TN_OS_WRITE | TN_OS_CREATE | TN_OS_EXCLUSIVE, &file, err));
    tn_status status = tn_os_write(&file, 0, bytes, size, err);
    if (status == TN_OK)
        status = tn_os_sync(&file, err);
    tn_os_close(&file);
    return status;
}

/* Where a file that others hold open cannot be replaced it can still be renamed: old aside, new in, old away. */
static tn_status put_with_aside(const char *temporary, const char *path, const char *aside, tn_error *err)
{
    tn_status status = tn_os_rename(temporary, path, true, err);
    if (status != TN_PERMISSION && status != TN_BUSY)
        return status;
    if (tn_os_rename(path, aside, true, NULL) != TN_OK)
        return status;
    status = tn_os_rename(temporary, path, false, err);
    if (status != TN_OK)
        (void)tn_os_rename(aside, path, false, NULL);
    else
        (void)tn_os_remove(aside, NULL);
    return status;
}

tn_status tn_os_put_in_place(const char *temporary, const char *path, tn_error *err)
{
    tn_buffer aside;
    tn_os_start_text(&aside);
    tn_buffer_format(&aside, "%s.tn-old", path);
    tn_status status = tn_buffer_status(&aside, err);
    if (status == TN_OK)
        status = put_with_aside(temporary, path, aside.bytes, err);
    tn_buffer_free(&aside);
    return status;
}

static void drop(const char *path)
{
    tn_os_wide wide;
    if (tn_os_wide_from(path, &wide, NULL) != TN_OK)
        return;
    DeleteFileW(wide.text);
    tn_os_wide_free(&wide);
}

static tn_status replace(const names *n, const char *path, const void *bytes, size_t size, tn_error *err)
{
    tn_status status = write_new(n->temporary.bytes, bytes, size, err);
    if (status == TN_OK)
        status = put_with_aside(n->temporary.bytes, path, n->aside.bytes, err);
    if (status != TN_OK) {
        drop(n->temporary.bytes);
        tn_error_at_file(err, path);
        return status;
    }
    return tn_os_sync_folder(path, err);
}

tn_status tn_os_replace_file(const char *path, const void *bytes, size_t size, tn_error *err)
{
    names n;
    TN_TRY(make_names(path, &n, err));
    tn_status status = replace(&n, path, bytes, size, err);
    free_names(&n);
    return status;
}
