/* Memory in whole pages on POSIX: private maps of nothing. The contract stands in os.h. */
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>

#include "os/os_posix.h"

static void *map(size_t size)
{
    void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

/* Aligned to huge pages: newer kernels do so by themselves, else more is mapped and the ends are cut off. */
static void *map_aligned(size_t size)
{
    const size_t align = TN_OS_HUGE_BYTES;
    uint8_t *pages = map(size);
    if (pages == NULL || (uintptr_t)pages % align == 0)
        return pages;
    munmap(pages, size);
    pages = map(size + align);
    if (pages == NULL)
        return NULL;
    size_t before = (align - (uintptr_t)pages % align) % align;
    if (before > 0)
        munmap(pages, before);
    munmap(pages + before + size, align - before);
    return pages + before;
}

tn_status tn_os_pages_take(size_t size, void **out, tn_error *err)
{
    TN_TRY(tn_os_before((tn_os_call){.operation = TN_OP_PAGES, .size = size}, err));
    if (size > SIZE_MAX - 2 * TN_OS_HUGE_BYTES)
        return tn_os_fail_errno(err, ENOMEM, "mmap", NULL);
    bool huge = size >= TN_OS_HUGE_BYTES;
    void *pages = huge ? map_aligned(size) : map(size);
    if (pages == NULL)
        return tn_os_fail_errno(err, errno, "mmap", NULL);
    if (huge)
        tn_os_prefer_huge_pages(pages, size);
    *out = pages;
    return TN_OK;
}

void tn_os_pages_give(void *pages, size_t size)
{
    if (pages != NULL)
        munmap(pages, size);
}

void tn_os_pages_offer(void *pages, size_t size)
{
#ifdef MADV_FREE
    (void)madvise(pages, size, MADV_FREE);
#else
    (void)pages;
    (void)size;
#endif
}
