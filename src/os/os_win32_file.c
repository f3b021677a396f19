/* Files on Windows: open, ask, read, write, lock. The contract stands in os.h.
 *
 *   F1  Nothing but a regular file is ever read or written: the handle is asked before it is handed out.
 *   F2  Others may read, write, rename and delete what is open here (every share mode is given).
 *   F3  Truncation happens on a handle that F1 has passed, never in CreateFile itself.
 *   F4  Nothing is fetched from a cloud unasked: files are opened without recall.
 */
#include "os/os_win32.h"

#include <sddl.h>

#define SHARE_ALL (FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE)
#define TRANSFER_MAX ((size_t)1 << 30) /* one call takes 32 bits of size */

#ifndef FILE_ATTRIBUTE_RECALL_ON_OPEN
#define FILE_ATTRIBUTE_RECALL_ON_OPEN 0x00040000
#endif
#ifndef FILE_ATTRIBUTE_RECALL_ON_DATA_ACCESS
#define FILE_ATTRIBUTE_RECALL_ON_DATA_ACCESS 0x00400000
#endif

/* ---- what a file is ---- */

/* FILETIME counts 100 ns from 1601; 11644473600 s lie between that and 1970. */
static int64_t unix_ns(int64_t filetime)
{
    const int64_t epoch = 116444736000000000;
    const int64_t most = INT64_MAX / 100;
    int64_t since = filetime - epoch; /* filetime is never negative on a disk */
    return (since > most ? most : since) * 100;
}

static bool is_link(HANDLE handle)
{
    FILE_ATTRIBUTE_TAG_INFO tag;
    return GetFileInformationByHandleEx(handle, FileAttributeTagInfo, &tag, sizeof tag) &&
           tag.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT && IsReparseTagNameSurrogate(tag.ReparseTag);
}

static tn_os_kind kind_of(HANDLE handle, DWORD attributes)
{
    if (GetFileType(handle) != FILE_TYPE_DISK)
        return TN_OS_OTHER;
    if (attributes & FILE_ATTRIBUTE_REPARSE_POINT && is_link(handle))
        return TN_OS_LINK;
    return attributes & FILE_ATTRIBUTE_DIRECTORY ? TN_OS_FOLDER : TN_OS_REGULAR;
}

/* NTFS and ReFS on this machine keep ids and fine times; FAT, exFAT and shares do not. */
static bool is_weak(HANDLE handle)
{
    wchar_t name[MAX_PATH + 1] = L"";
    FILE_REMOTE_PROTOCOL_INFO remote;
    if (GetFileInformationByHandleEx(handle, FileRemoteProtocolInfo, &remote, sizeof remote))
        return true;
    if (!GetVolumeInformationByHandleW(handle, NULL, 0, NULL, NULL, NULL, name, MAX_PATH + 1))
        return true;
    return wcscmp(name, L"NTFS") != 0 && wcscmp(name, L"ReFS") != 0;
}

/* The 128-bit id where the system has it, else the older 64-bit one. */
static void ask_identity(HANDLE handle, tn_os_info *info)
{
    FILE_ID_INFO id;
    BY_HANDLE_FILE_INFORMATION older;
    if (GetFileInformationByHandleEx(handle, FileIdInfo, &id, sizeof id)) {
        info->device = id.VolumeSerialNumber;
        memcpy(info->file_id, &id.FileId, sizeof info->file_id);
    } else if (GetFileInformationByHandle(handle, &older)) {
        info->device = older.dwVolumeSerialNumber;
        info->file_id[0] = (uint64_t)older.nFileIndexHigh << 32 | older.nFileIndexLow;
    }
    if (info->device == 0)
        info->weak_identity = true; /* a volume without a number cannot be told from another */
}

static uint64_t stored(HANDLE handle, const FILE_STANDARD_INFO *standard)
{
    FILE_COMPRESSION_INFO packed; /* a sparse file is told as packed */
    if (GetFileInformationByHandleEx(handle, FileCompressionInfo, &packed, sizeof packed))
        return (uint64_t)packed.CompressedFileSize.QuadPart;
    return (uint64_t)standard->AllocationSize.QuadPart;
}

static tn_status ask_handle(HANDLE handle, const char *path, tn_os_info *out, tn_error *err)
{
    const DWORD away =
        FILE_ATTRIBUTE_OFFLINE | FILE_ATTRIBUTE_RECALL_ON_OPEN | FILE_ATTRIBUTE_RECALL_ON_DATA_ACCESS;
    FILE_BASIC_INFO basic;
    FILE_STANDARD_INFO standard;
    if (!GetFileInformationByHandleEx(handle, FileBasicInfo, &basic, sizeof basic) ||
        !GetFileInformationByHandleEx(handle, FileStandardInfo, &standard, sizeof standard))
        return tn_os_fail_win32(err, GetLastError(), "GetFileInformationByHandleEx", path);
    tn_os_info info = {
        .kind = kind_of(handle, basic.FileAttributes),
        .size = (uint64_t)standard.EndOfFile.QuadPart,
        .mtime_ns = unix_ns(basic.LastWriteTime.QuadPart),
        .links = standard.NumberOfLinks,
        .stored_bytes = stored(handle, &standard),
        .placeholder = (basic.FileAttributes & away) != 0,
        .weak_identity = is_weak(handle),
    };
    ask_identity(handle, &info);
    *out = info;
    tn_os_alter_info(path, out);
    return TN_OK;
}

tn_status tn_os_info_of(const tn_os_file *file, tn_os_info *out, tn_error *err)
{
    TN_TRY(tn_os_before((tn_os_call){.operation = TN_OP_INFO, .file = file}, err));
    return ask_handle(file->handle, NULL, out, err);
}

tn_status tn_os_stamp_of(const tn_os_file *file, uint64_t *size, int64_t *mtime_ns, tn_error *err)
{
    TN_TRY(tn_os_before((tn_os_call){.operation = TN_OP_INFO, .file = file}, err));
    BY_HANDLE_FILE_INFORMATION info;
    if (!GetFileInformationByHandle(file->handle, &info))
        return tn_os_fail_win32(err, GetLastError(), "GetFileInformationByHandle", NULL);
    const FILETIME *time = &info.ftLastWriteTime;
    *size = (uint64_t)info.nFileSizeHigh << 32 | info.nFileSizeLow;
    *mtime_ns = unix_ns((int64_t)((uint64_t)time->dwHighDateTime << 32 | time->dwLowDateTime));
    return TN_OK;
}

/* A handle that can be asked but not read. */
static HANDLE open_to_ask(const wchar_t *path, bool follow)
{
    DWORD flags = FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_NO_RECALL;
    flags |= follow ? 0 : FILE_FLAG_OPEN_REPARSE_POINT;
    return CreateFileW(path, FILE_READ_ATTRIBUTES, SHARE_ALL, NULL, OPEN_EXISTING, flags, NULL);
}

tn_status tn_os_info_at(const char *path, bool follow, tn_os_info *out, tn_error *err)
{
    TN_TRY(tn_os_before((tn_os_call){.operation = TN_OP_INFO, .path = path}, err));
    tn_os_wide wide;
    TN_TRY(tn_os_wide_from(path, &wide, err));
    HANDLE handle = open_to_ask(wide.text, follow);
    DWORD code = GetLastError();
    tn_os_wide_free(&wide);
    if (handle == INVALID_HANDLE_VALUE)
        return tn_os_fail_win32(err, code, "CreateFile", path);
    tn_status status = ask_handle(handle, path, out, err);
    CloseHandle(handle);
    return status;
}

/* ---- opening ---- */

static DWORD disposition(unsigned flags)
{
    if (!(flags & TN_OS_CREATE))
        return OPEN_EXISTING;
    return flags & TN_OS_EXCLUSIVE ? CREATE_NEW : OPEN_ALWAYS;
}

/* Full rights for the owner, the system and administrators; none inherited. NULL when that cannot be had. */
static PSECURITY_DESCRIPTOR owner_alone(unsigned flags)
{
    PSECURITY_DESCRIPTOR descriptor = NULL;
    if (flags & TN_OS_PRIVATE && flags & TN_OS_CREATE)
        ConvertStringSecurityDescriptorToSecurityDescriptorW(L"D:P(A;;FA;;;OW)(A;;FA;;;SY)(A;;FA;;;BA)",
                                                             SDDL_REVISION_1, &descriptor, NULL);
    return descriptor;
}

static HANDLE create(const wchar_t *path, unsigned flags, DWORD more)
{
    SECURITY_ATTRIBUTES security = {.nLength = sizeof security, .lpSecurityDescriptor = owner_alone(flags)};
    DWORD access = flags & TN_OS_WRITE ? GENERIC_READ | GENERIC_WRITE : GENERIC_READ;
    /* BACKUP_SEMANTICS opens folders too, so that they are refused as what they are. */
    DWORD kind = FILE_ATTRIBUTE_NORMAL | FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_NO_RECALL | more;
    HANDLE handle = CreateFileW(path, access, SHARE_ALL, &security, disposition(flags), kind, NULL);
    DWORD code = GetLastError();
    LocalFree(security.lpSecurityDescriptor);
    SetLastError(code);
    return handle;
}

static bool same_file(HANDLE a, HANDLE b)
{
    BY_HANDLE_FILE_INFORMATION one, two;
    return GetFileInformationByHandle(a, &one) && GetFileInformationByHandle(b, &two) &&
           one.dwVolumeSerialNumber == two.dwVolumeSerialNumber && one.nFileIndexHigh == two.nFileIndexHigh &&
           one.nFileIndexLow == two.nFileIndexLow;
}

static tn_status refuse_link(const char *path, tn_error *err)
{
    tn_fail(err, TN_UNSAFE_PATH, "the path ends in a link, which is not followed here");
    tn_error_at_file(err, path);
    return TN_UNSAFE_PATH;
}

/* What was opened as itself may be a link, which is refused; or a file whose bytes a driver makes (deduplicated,
 * packed, in a cloud), which is opened anew through that driver, and must still be the same file. */
static tn_status pass_no_link(const wchar_t *wide, const char *path, unsigned flags, HANDLE *handle, tn_error *err)
{
    FILE_ATTRIBUTE_TAG_INFO tag;
    if (!GetFileInformationByHandleEx(*handle, FileAttributeTagInfo, &tag, sizeof tag) ||
        !(tag.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT))
        return TN_OK;
    if (IsReparseTagNameSurrogate(tag.ReparseTag))
        return refuse_link(path, err);
    HANDLE again = create(wide, flags & ~(unsigned)(TN_OS_CREATE | TN_OS_EXCLUSIVE), 0);
    if (again == INVALID_HANDLE_VALUE)
        return tn_os_fail_win32(err, GetLastError(), "CreateFile", path);
    bool same = same_file(*handle, again);
    CloseHandle(*handle);
    *handle = again;
    return same ? TN_OK : refuse_link(path, err);
}

static tn_status not_a_file(const char *path, const char *what, tn_error *err)
{
    tn_fail(err, TN_NOT_A_FILE, "this is %s, not a regular file", what);
    tn_error_at_file(err, path);
    return TN_NOT_A_FILE;
}

static bool set_end(HANDLE handle, uint64_t size)
{
    FILE_END_OF_FILE_INFO end = {.EndOfFile.QuadPart = (LONGLONG)size};
    return SetFileInformationByHandle(handle, FileEndOfFileInfo, &end, sizeof end);
}

/* F1, then F3. */
static tn_status admit(HANDLE handle, unsigned flags, const char *path, tn_error *err)
{
    FILE_STANDARD_INFO standard;
    if (GetFileType(handle) != FILE_TYPE_DISK)
        return not_a_file(path, "a pipe or device", err);
    if (!GetFileInformationByHandleEx(handle, FileStandardInfo, &standard, sizeof standard))
        return tn_os_fail_win32(err, GetLastError(), "GetFileInformationByHandleEx", path);
    if (standard.Directory)
        return not_a_file(path, "a folder", err);
    if (flags & TN_OS_TRUNCATE && !set_end(handle, 0))
        return tn_os_fail_win32(err, GetLastError(), "SetEndOfFile", path);
    return TN_OK;
}

static bool is_folder(const wchar_t *path)
{
    DWORD attributes = GetFileAttributesW(path);
    return attributes != INVALID_FILE_ATTRIBUTES && attributes & FILE_ATTRIBUTE_DIRECTORY;
}

static tn_status open_wide(const wchar_t *wide, const char *path, unsigned flags, HANDLE *out, tn_error *err)
{
    HANDLE handle = create(wide, flags, flags & TN_OS_NO_FOLLOW ? FILE_FLAG_OPEN_REPARSE_POINT : 0);
    if (handle == INVALID_HANDLE_VALUE) {
        DWORD code = GetLastError();
        if (code != ERROR_FILE_EXISTS && is_folder(wide)) /* a folder cannot be opened for writing */
            return not_a_file(path, "a folder", err);
        return tn_os_fail_win32(err, code, "CreateFile", path);
    }
    tn_status status = flags & TN_OS_NO_FOLLOW ? pass_no_link(wide, path, flags, &handle, err) : TN_OK;
    if (status == TN_OK)
        status = admit(handle, flags, path, err);
    if (status == TN_OK)
        *out = handle;
    else
        CloseHandle(handle);
    return status;
}

tn_status tn_os_open(const char *path, unsigned flags, tn_os_file *out, tn_error *err)
{
    tn_os_call call = {.operation = TN_OP_OPEN, .path = path, .offset = flags};
    TN_TRY(tn_os_before(call, err));
    tn_os_wide wide;
    TN_TRY(tn_os_wide_from(path, &wide, err));
    HANDLE handle = NULL;
    tn_status status = open_wide(wide.text, path, flags, &handle, err);
    tn_os_wide_free(&wide);
    if (status != TN_OK)
        return status;
    *out = (tn_os_file){.handle = handle, .open = true};
    if (flags & (TN_OS_WRITE | TN_OS_CREATE | TN_OS_TRUNCATE)) {
        call.file = out;
        tn_os_after(call);
    }
    return TN_OK;
}

void tn_os_close(tn_os_file *file)
{
    if (file == NULL || !file->open)
        return;
    CloseHandle(file->handle);
    *file = (tn_os_file){.handle = NULL};
}

/* ---- reading and writing ---- */

static DWORD piece(size_t left)
{
    return (DWORD)(left < TRANSFER_MAX ? left : TRANSFER_MAX);
}

static OVERLAPPED at_offset(uint64_t offset)
{
    return (OVERLAPPED){.Offset = (DWORD)offset, .OffsetHigh = (DWORD)(offset >> 32)};
}

tn_status tn_os_read(const tn_os_file *file, uint64_t offset, void *bytes, size_t size, size_t *got, tn_error *err)
{
    TN_TRY(tn_os_before((tn_os_call){.operation = TN_OP_READ, .file = file, .offset = offset, .size = size}, err));
    size_t wanted = tn_os_reachable(offset, size);
    size_t done = 0;
    while (done < wanted) {
        OVERLAPPED at = at_offset(offset + done);
        DWORD n = 0;
        if (!ReadFile(file->handle, (char *)bytes + done, piece(wanted - done), &n, &at)) {
            DWORD code = GetLastError();
            if (code == ERROR_HANDLE_EOF)
                break;
            tn_status status = tn_os_fail_win32(err, code, "ReadFile", NULL);
            tn_error_at_offset(err, offset + done);
            return status;
        }
        if (n == 0)
            break;
        done += n;
    }
    *got = done;
    return TN_OK;
}

static tn_status write_all(const tn_os_file *file, uint64_t offset, const void *bytes, size_t size, tn_error *err)
{
    if (tn_os_reachable(offset, size) < size)
        return tn_os_fail_win32(err, ERROR_FILE_TOO_LARGE, "WriteFile", NULL);
    size_t done = 0;
    while (done < size) {
        OVERLAPPED at = at_offset(offset + done);
        DWORD n = 0;
        BOOL ok = WriteFile(file->handle, (const char *)bytes + done, piece(size - done), &n, &at);
        if (!ok || n == 0) {
            tn_status status = tn_os_fail_win32(err, ok ? ERROR_DISK_FULL : GetLastError(), "WriteFile", NULL);
            tn_error_at_offset(err, offset + done);
            return status;
        }
        done += n;
    }
    return TN_OK;
}

tn_status tn_os_write(const tn_os_file *file, uint64_t offset, const void *bytes, size_t size, tn_error *err)
{
    uint64_t first = 0;
    tn_os_call call = {.operation = TN_OP_WRITE, .file = file, .offset = offset, .size = size, .bytes = bytes,
                       .write_first = &first};
    tn_status status = tn_os_before(call, err);
    if (status != TN_OK) {
        if (first > 0)
            (void)write_all(file, offset, bytes, first < size ? (size_t)first : size, NULL);
        return status;
    }
    TN_TRY(write_all(file, offset, bytes, size, err));
    call.write_first = NULL;
    tn_os_after(call);
    return TN_OK;
}

tn_status tn_os_resize(const tn_os_file *file, uint64_t size, tn_error *err)
{
    tn_os_call call = {.operation = TN_OP_RESIZE, .file = file, .size = size};
    TN_TRY(tn_os_before(call, err));
    if (size > INT64_MAX)
        return tn_os_fail_win32(err, ERROR_FILE_TOO_LARGE, "SetEndOfFile", NULL);
    if (!set_end(file->handle, size))
        return tn_os_fail_win32(err, GetLastError(), "SetEndOfFile", NULL);
    tn_os_after(call);
    return TN_OK;
}

tn_status tn_os_sync(const tn_os_file *file, tn_error *err)
{
    tn_os_call call = {.operation = TN_OP_SYNC, .file = file};
    TN_TRY(tn_os_before(call, err));
    if (!FlushFileBuffers(file->handle))
        return tn_os_fail_win32(err, GetLastError(), "FlushFileBuffers", NULL);
    tn_os_after(call);
    return TN_OK;
}

/* ---- locks ---- */

/* Locks on Windows keep others from reading the byte, so they are set where no file has bytes. */
#define LOCKS_BEGIN ((uint64_t)1 << 62)

tn_status tn_os_lock(const tn_os_file *file, uint64_t slot, tn_error *err)
{
    TN_TRY(tn_os_before((tn_os_call){.operation = TN_OP_LOCK, .file = file, .offset = slot, .size = 1}, err));
    if (slot >= LOCKS_BEGIN)
        return tn_os_fail_win32(err, ERROR_INVALID_PARAMETER, "LockFileEx", NULL);
    OVERLAPPED at = at_offset(LOCKS_BEGIN + slot);
    if (LockFileEx(file->handle, LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at))
        return TN_OK;
    DWORD code = GetLastError();
    return tn_os_fail_win32(err, code == ERROR_IO_PENDING ? ERROR_LOCK_VIOLATION : code, "LockFileEx", NULL);
}

void tn_os_unlock(const tn_os_file *file, uint64_t slot)
{
    OVERLAPPED at = at_offset(LOCKS_BEGIN + slot);
    if (slot < LOCKS_BEGIN)
        UnlockFileEx(file->handle, 0, 1, 0, &at);
}
