/* Walking one folder on Windows. */
#include <string.h>

#include "os/os_win32.h"
#include "os/os_wtf8.h"

struct tn_os_folder {
    tn_memory_source *memory;
    HANDLE search; /* INVALID_HANDLE_VALUE once the walk has ended */
    bool waiting;  /* `found` has not been handed out yet */
    WIN32_FIND_DATAW found;
    char name[3 * MAX_PATH + 1];
};

static tn_status fail_folder(const char *path, DWORD code, tn_error *err)
{
    tn_os_info info;
    if (tn_os_info_at(path, true, &info, NULL) != TN_OK || info.kind == TN_OS_FOLDER)
        return tn_os_fail_win32(err, code, "FindFirstFile", path);
    tn_fail(err, TN_NOT_A_FILE, "this is not a folder");
    tn_error_at_file(err, path);
    return TN_NOT_A_FILE;
}

/* "folder\*" */
static tn_status make_pattern(const char *path, tn_os_wide *out, tn_error *err)
{
    tn_buffer text;
    if (path[0] == 0)
        return tn_os_fail_win32(err, ERROR_PATH_NOT_FOUND, "FindFirstFile", path);
    TN_TRY(tn_os_absolute_text(path, &text, err));
    tn_buffer_text(&text, text.bytes[text.size - 1] == '\\' ? "*" : "\\*");
    tn_status status = tn_buffer_status(&text, err);
    if (status == TN_OK)
        status = tn_os_wide_from(text.bytes, out, err);
    tn_buffer_free(&text);
    return status;
}

static tn_status start(tn_os_folder *folder, const char *path, tn_error *err)
{
    tn_os_wide pattern;
    TN_TRY(make_pattern(path, &pattern, err));
    folder->search = FindFirstFileExW(pattern.text, FindExInfoBasic, &folder->found, FindExSearchNameMatch, NULL,
                                      FIND_FIRST_EX_LARGE_FETCH);
    DWORD code = GetLastError();
    tn_os_wide_free(&pattern);
    if (folder->search != INVALID_HANDLE_VALUE) {
        folder->waiting = true;
        return TN_OK;
    }
    tn_os_info info;
    bool empty_root = code == ERROR_FILE_NOT_FOUND && tn_os_info_at(path, true, &info, NULL) == TN_OK &&
                      info.kind == TN_OS_FOLDER; /* a drive's root has no "." */
    return empty_root ? TN_OK : fail_folder(path, code, err);
}

tn_status tn_os_folder_open(tn_memory_source *memory, const char *path, tn_os_folder **out, tn_error *err)
{
    TN_TRY(tn_os_before((tn_os_call){.operation = TN_OP_FOLDER_OPEN, .path = path}, err));
    void *block;
    TN_TRY(tn_take(memory, sizeof(tn_os_folder), &block, err));
    tn_os_folder *folder = block;
    folder->memory = memory;
    folder->search = INVALID_HANDLE_VALUE;
    folder->waiting = false;
    tn_status status = start(folder, path, err);
    if (status != TN_OK) {
        tn_give(memory, block, sizeof *folder);
        return status;
    }
    *out = folder;
    return TN_OK;
}

static tn_os_kind entry_kind(const WIN32_FIND_DATAW *found)
{
    if (found->dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT && IsReparseTagNameSurrogate(found->dwReserved0))
        return TN_OS_LINK;
    if (found->dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY)
        return TN_OS_FOLDER;
    return found->dwFileAttributes & FILE_ATTRIBUTE_DEVICE ? TN_OS_OTHER : TN_OS_REGULAR;
}

static bool is_dots(const wchar_t *name)
{
    return wcscmp(name, L".") == 0 || wcscmp(name, L"..") == 0;
}

static void end_walk(tn_os_folder *folder)
{
    if (folder->search != INVALID_HANDLE_VALUE)
        FindClose(folder->search);
    folder->search = INVALID_HANDLE_VALUE;
}

/* The next entry that is no dots into `found`. False at the end and on failure, which GetLastError tells apart. */
static bool advance(tn_os_folder *folder)
{
    do {
        if (!folder->waiting && !FindNextFileW(folder->search, &folder->found))
            return false;
        folder->waiting = false;
    } while (is_dots(folder->found.cFileName));
    return true;
}

static void hand_out(tn_os_folder *folder, tn_os_entry *out)
{
    const wchar_t *name = folder->found.cFileName;
    size_t size = tn_os_wtf8_from_utf16(name, wcslen(name), folder->name, sizeof folder->name - 1);
    folder->name[size] = 0; /* at most three bytes for each of MAX_PATH units */
    *out = (tn_os_entry){.name = folder->name, .kind = entry_kind(&folder->found)};
}

tn_status tn_os_folder_next(tn_os_folder *folder, tn_os_entry *out, bool *more, tn_error *err)
{
    if (folder->search == INVALID_HANDLE_VALUE) {
        *more = false;
        return TN_OK;
    }
    tn_status status = tn_os_before((tn_os_call){.operation = TN_OP_FOLDER_NEXT}, err);
    if (status != TN_OK) {
        end_walk(folder);
        return status;
    }
    if (advance(folder)) {
        hand_out(folder, out);
        *more = true;
        return TN_OK;
    }
    DWORD code = GetLastError();
    end_walk(folder);
    if (code != ERROR_NO_MORE_FILES)
        return tn_os_fail_win32(err, code, "FindNextFile", NULL);
    *more = false;
    return TN_OK;
}

void tn_os_folder_close(tn_os_folder *folder)
{
    if (folder == NULL)
        return;
    end_walk(folder);
    tn_give(folder->memory, folder, sizeof *folder);
}
