/* Read-only windows on Windows: PAGE_READONLY sections, which cost no commit, and every answer checked. */
#include "os/os_win32.h"

static tn_status check_end(const tn_os_file *file, uint64_t offset, size_t size, tn_error *err)
{
    LARGE_INTEGER there;
    if (!GetFileSizeEx(file->handle, &there))
        return tn_os_fail_win32(err, GetLastError(), "GetFileSizeEx", NULL);
    uint64_t end;
    uint64_t last = (uint64_t)there.QuadPart;
    if (!tn_add_overflows(offset, size, &end) && end <= last)
        return TN_OK;
    tn_fail(err, TN_TRUNCATED, "the window would end behind the file's last byte");
    tn_error_at_offset(err, offset);
    tn_error_amounts(err, size, offset < last ? last - offset : 0);
    return TN_TRUNCATED;
}

/* Where a view may start: 64 KiB on every Windows there is, but it is asked for. */
static uint64_t granularity(void)
{
    SYSTEM_INFO system;
    GetSystemInfo(&system);
    return system.dwAllocationGranularity;
}

static void *map(HANDLE file, uint64_t offset, size_t size)
{
    HANDLE section = CreateFileMappingW(file, NULL, PAGE_READONLY, 0, 0, NULL);
    if (section == NULL)
        return NULL;
    void *base = MapViewOfFile(section, FILE_MAP_READ, (DWORD)(offset >> 32), (DWORD)offset, size);
    DWORD code = GetLastError();
    CloseHandle(section); /* the view keeps the section */
    SetLastError(code);
    return base;
}

tn_status tn_os_window_open(const tn_os_file *file, uint64_t offset, size_t size, tn_os_window *out, tn_error *err)
{
    TN_TRY(tn_os_before((tn_os_call){.operation = TN_OP_WINDOW, .file = file, .offset = offset, .size = size}, err));
    TN_TRY(check_end(file, offset, size, err));
    if (size == 0) {
        *out = (tn_os_window){.bytes = (const uint8_t *)"", .size = 0};
        return TN_OK;
    }
    uint64_t before = offset % granularity();
    uint64_t whole;
    if (tn_add_overflows(size, before, &whole) || whole > SIZE_MAX)
        return tn_os_fail_win32(err, ERROR_NOT_ENOUGH_MEMORY, "MapViewOfFile", NULL);
    void *base = map(file->handle, offset - before, (size_t)whole);
    if (base == NULL)
        return tn_os_fail_win32(err, GetLastError(), "MapViewOfFile", NULL);
    *out = (tn_os_window){
        .bytes = (const uint8_t *)base + before, .size = size, .base = base, .base_size = (size_t)whole};
    return TN_OK;
}

void tn_os_window_close(tn_os_window *window)
{
    if (window == NULL)
        return;
    if (window->base != NULL)
        UnmapViewOfFile(window->base);
    *window = (tn_os_window){0};
}

bool tn_os_can_guard(void)
{
    return false;
}

bool tn_os_guarded(const tn_os_window *window, void (*work)(void *user), void *user)
{
    (void)window;
    (void)work;
    (void)user;
    return false;
}
