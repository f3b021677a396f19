/* The disk under a file on Windows. The contract stands in os.h. Reading past the cache is not offered: whether bytes are
 * in the cache cannot be asked here, and reading cached bytes past it is slower. */
#include "os/os_win32.h"

#include <winioctl.h>

/* The volume that a handle's file lies on, as it is opened: \\?\Volume{...} without a separator behind it. */
static bool volume_of(HANDLE handle, wchar_t *out, DWORD room)
{
    DWORD size = GetFinalPathNameByHandleW(handle, out, room, FILE_NAME_NORMALIZED | VOLUME_NAME_GUID);
    if (size == 0 || size >= room)
        return false;
    wchar_t *end = wcschr(out, L'}');
    if (end == NULL)
        return false;
    end[1] = L'\0';
    return true;
}

static tn_os_disk ask_volume(HANDLE volume)
{
    STORAGE_PROPERTY_QUERY query = {.PropertyId = StorageDeviceSeekPenaltyProperty, .QueryType = PropertyStandardQuery};
    DEVICE_SEEK_PENALTY_DESCRIPTOR answer = {0};
    DWORD got;
    if (!DeviceIoControl(volume, IOCTL_STORAGE_QUERY_PROPERTY, &query, sizeof query, &answer, sizeof answer, &got, NULL) ||
        got < sizeof answer)
        return TN_OS_DISK_UNKNOWN;
    return answer.IncursSeekPenalty ? TN_OS_DISK_ROTATIONAL : TN_OS_DISK_SOLID;
}

static tn_os_disk disk_of(HANDLE handle)
{
    FILE_REMOTE_PROTOCOL_INFO remote;
    wchar_t path[32768 / 4];
    if (GetFileInformationByHandleEx(handle, FileRemoteProtocolInfo, &remote, sizeof remote))
        return TN_OS_DISK_NETWORK;
    if (!volume_of(handle, path, sizeof path / sizeof *path))
        return TN_OS_DISK_UNKNOWN;
    /* Without any access: enough to ask, and allowed to everyone. */
    HANDLE volume = CreateFileW(path, 0, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL, OPEN_EXISTING, 0, NULL);
    if (volume == INVALID_HANDLE_VALUE)
        return TN_OS_DISK_UNKNOWN;
    tn_os_disk disk = ask_volume(volume);
    CloseHandle(volume);
    return disk;
}

tn_os_disk tn_os_disk_of(const tn_os_file *file)
{
    return tn_os_altered_disk(disk_of(file->handle));
}

tn_status tn_os_open_direct(const tn_os_file *file, tn_os_file *out, tn_error *err)
{
    TN_TRY(tn_os_before((tn_os_call){.operation = TN_OP_OPEN, .file = file}, err));
    (void)out;
    return tn_fail(err, TN_UNSUPPORTED, "this file cannot be read past the system's cache");
}

bool tn_os_is_cached(const tn_os_file *file, uint64_t offset, size_t size)
{
    (void)file;
    (void)offset;
    (void)size;
    return true;
}

void tn_os_read_in_order(const tn_os_file *file)
{
    (void)file; /* the system sees by itself that reads follow each other */
}

void tn_os_prefer_huge_pages(void *memory, size_t size)
{
    (void)memory; /* huge pages need a right that users lack */
    (void)size;
}
