/* Copying, space and links on Windows. The contract stands in os.h. */
#include "os/os_win32.h"

#include <winioctl.h>

/* What FSCTL_DUPLICATE_EXTENTS_TO_FILE takes (winioctl.h of the Windows SDK). */
typedef struct duplicate {
    HANDLE from;
    LARGE_INTEGER from_offset, to_offset, size;
} duplicate;
#define DUPLICATE_EXTENTS CTL_CODE(FILE_DEVICE_FILE_SYSTEM, 209, METHOD_BUFFERED, FILE_WRITE_DATA)
#define CLUSTER ((uint64_t)65536) /* the greatest that ReFS has: runs must end on one */
#define RUN_MAX ((uint64_t)1 << 30)

static bool duplicate_run(HANDLE from, HANDLE to, uint64_t at, uint64_t size)
{
    DWORD got;
    duplicate run = {.from = from};
    run.from_offset.QuadPart = run.to_offset.QuadPart = (LONGLONG)at;
    run.size.QuadPart = (LONGLONG)((size + CLUSTER - 1) / CLUSTER * CLUSTER);
    return DeviceIoControl(to, DUPLICATE_EXTENTS, &run, sizeof run, NULL, 0, &got, NULL);
}

static bool duplicate_all(HANDLE from, HANDLE to, uint64_t size)
{
    for (uint64_t at = 0; at < size; at += RUN_MAX)
        if (!duplicate_run(from, to, at, size - at < RUN_MAX ? size - at : RUN_MAX))
            return false;
    return true;
}

tn_status tn_os_share_data(const tn_os_file *from, const tn_os_file *to, tn_error *err)
{
    tn_os_call call = {.operation = TN_OP_SHARE_DATA, .file = to, .other_file = from};
    TN_TRY(tn_os_before(call, err));
    DWORD flags = 0;
    LARGE_INTEGER size;
    bool can = GetVolumeInformationByHandleW(from->handle, NULL, 0, NULL, NULL, &flags, NULL, 0) &&
               (flags & 0x08000000) != 0; /* FILE_SUPPORTS_BLOCK_REFCOUNTING */
    if (can && GetFileSizeEx(from->handle, &size)) {
        TN_TRY(tn_os_resize(to, (uint64_t)size.QuadPart, err));
        if (duplicate_all(from->handle, to->handle, (uint64_t)size.QuadPart)) {
            tn_os_after(call);
            return TN_OK;
        }
        TN_TRY(tn_os_resize(to, 0, err));
    }
    return tn_fail(err, TN_UNAVAILABLE, "this file system cannot share bytes between files");
}

tn_status tn_os_next_data(const tn_os_file *file, uint64_t offset, uint64_t *begin, uint64_t *end, tn_error *err)
{
    TN_TRY(tn_os_before((tn_os_call){.operation = TN_OP_NEXT_DATA, .file = file, .offset = offset}, err));
    LARGE_INTEGER size;
    if (!GetFileSizeEx(file->handle, &size))
        return tn_os_fail_win32(err, GetLastError(), "GetFileSizeEx", NULL);
    *end = (uint64_t)size.QuadPart;
    *begin = offset < *end ? offset : *end;
    return TN_OK;
}

tn_status tn_os_keep_attributes(const tn_os_file *from, const tn_os_file *to, tn_error *err)
{
    tn_os_call call = {.operation = TN_OP_ATTRIBUTES, .file = to, .other_file = from};
    TN_TRY(tn_os_before(call, err));
    FILETIME written;
    if (!GetFileTime(from->handle, NULL, NULL, &written) || !SetFileTime(to->handle, NULL, NULL, &written))
        return tn_os_fail_win32(err, GetLastError(), "SetFileTime", NULL);
    tn_os_after(call);
    return TN_OK;
}

void tn_os_forget_cached(const tn_os_file *file)
{
    (void)file;
}

tn_status tn_os_space(const char *path, uint64_t *bytes, tn_error *err)
{
    TN_TRY(tn_os_before((tn_os_call){.operation = TN_OP_SPACE, .path = path}, err));
    ULARGE_INTEGER mine;
    tn_os_wide wide;
    TN_TRY(tn_os_wide_from(path, &wide, err));
    bool told = GetDiskFreeSpaceExW(wide.text, &mine, NULL, NULL);
    DWORD code = GetLastError();
    tn_os_wide_free(&wide);
    if (!told)
        return tn_os_fail_win32(err, code, "GetDiskFreeSpaceEx", path);
    *bytes = mine.QuadPart;
    return TN_OK;
}

/* ---- links ---- */

tn_status tn_os_read_link(const char *path, tn_buffer *out, tn_error *err)
{
    (void)out;
    TN_TRY(tn_os_before((tn_os_call){.operation = TN_OP_READ_LINK, .path = path}, err));
    tn_fail(err, TN_UNAVAILABLE, "links are not moved on Windows: move the file, or make the link anew");
    tn_error_at_file(err, path);
    return TN_UNAVAILABLE;
}

tn_status tn_os_make_link(const char *path, const char *leads_to, tn_error *err)
{
    TN_TRY(tn_os_before((tn_os_call){.operation = TN_OP_MAKE_LINK, .path = path, .other_path = leads_to}, err));
    tn_fail(err, TN_UNAVAILABLE, "links are not made on Windows");
    tn_error_at_file(err, path);
    return TN_UNAVAILABLE;
}
