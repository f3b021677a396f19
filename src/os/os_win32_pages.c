/* Memory in whole pages on Windows. The contract stands in os.h. Large pages need a right that few users have; the first
 * refusal is remembered. */
#include "os/os_win32.h"

static _Atomic bool refused_large;

static void *take_large(size_t size)
{
    size_t unit = GetLargePageMinimum();
    if (unit == 0 || size < unit || size % unit != 0 || atomic_load(&refused_large))
        return NULL;
    void *pages = VirtualAlloc(NULL, size, MEM_RESERVE | MEM_COMMIT | MEM_LARGE_PAGES, PAGE_READWRITE);
    if (pages == NULL)
        atomic_store(&refused_large, true);
    return pages;
}

/* Somewhere in a larger room there is an aligned place; it may be lost to another thread in between, hence the tries. */
static void *take_aligned(size_t size)
{
    const size_t align = TN_OS_HUGE_BYTES;
    for (unsigned tries = 0; tries < 8; tries++) {
        uint8_t *room = VirtualAlloc(NULL, size + align, MEM_RESERVE, PAGE_NOACCESS);
        if (room == NULL)
            return NULL;
        uint8_t *place = room + (align - (uintptr_t)room % align) % align;
        VirtualFree(room, 0, MEM_RELEASE);
        void *pages = VirtualAlloc(place, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
        if (pages != NULL)
            return pages;
        if (GetLastError() != ERROR_INVALID_ADDRESS)
            return NULL;
    }
    return VirtualAlloc(NULL, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

tn_status tn_os_pages_take(size_t size, void **out, tn_error *err)
{
    TN_TRY(tn_os_before((tn_os_call){.operation = TN_OP_PAGES, .size = size}, err));
    if (size > SIZE_MAX - 2 * TN_OS_HUGE_BYTES)
        return tn_os_fail_win32(err, ERROR_NOT_ENOUGH_MEMORY, "VirtualAlloc", NULL);
    void *pages = take_large(size);
    if (pages == NULL && size >= TN_OS_HUGE_BYTES)
        pages = take_aligned(size);
    else if (pages == NULL)
        pages = VirtualAlloc(NULL, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
    DWORD code = GetLastError();
    if (pages == NULL) /* more than the address space has is called a wrong parameter */
        return tn_os_fail_win32(err, code == ERROR_INVALID_PARAMETER ? ERROR_NOT_ENOUGH_MEMORY : code, "VirtualAlloc",
                                NULL);
    *out = pages;
    return TN_OK;
}

void tn_os_pages_give(void *pages, size_t size)
{
    (void)size;
    if (pages != NULL)
        VirtualFree(pages, 0, MEM_RELEASE);
}

/* The commit stays charged; the memory itself can be taken. */
void tn_os_pages_offer(void *pages, size_t size)
{
    (void)VirtualAlloc(pages, size, MEM_RESET, PAGE_READWRITE);
}
