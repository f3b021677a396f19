/* Read-only windows on POSIX: shared maps that nobody can write through, and that cost no commit. */
#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/os_posix.h"

static tn_status check_end(const tn_os_file *file, uint64_t offset, size_t size, tn_error *err)
{
    struct stat st;
    if (fstat(file->fd, &st) != 0)
        return tn_os_fail_errno(err, errno, "fstat", NULL);
    uint64_t end;
    uint64_t there = (uint64_t)st.st_size;
    if (!tn_add_overflows(offset, size, &end) && end <= there)
        return TN_OK;
    tn_fail(err, TN_TRUNCATED, "the window would end behind the file's last byte");
    tn_error_at_offset(err, offset);
    tn_error_amounts(err, size, offset < there ? there - offset : 0);
    return TN_TRUNCATED;
}

tn_status tn_os_window_open(const tn_os_file *file, uint64_t offset, size_t size, tn_os_window *out, tn_error *err)
{
    TN_TRY(tn_os_before((tn_os_call){.operation = TN_OP_WINDOW, .file = file, .offset = offset, .size = size}, err));
    TN_TRY(check_end(file, offset, size, err));
    if (size == 0) {
        *out = (tn_os_window){.bytes = (const uint8_t *)"", .size = 0};
        return TN_OK;
    }
    uint64_t before = offset % (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t whole;
    if (tn_add_overflows(size, before, &whole) || whole > SIZE_MAX)
        return tn_os_fail_errno(err, ENOMEM, "mmap", NULL);
    void *base = mmap(NULL, (size_t)whole, PROT_READ, MAP_SHARED, file->fd, (off_t)(offset - before));
    if (base == MAP_FAILED)
        return tn_os_fail_errno(err, errno, "mmap", NULL);
    *out = (tn_os_window){
        .bytes = (const uint8_t *)base + before, .size = size, .base = base, .base_size = (size_t)whole};
    return TN_OK;
}

void tn_os_window_close(tn_os_window *window)
{
    if (window == NULL)
        return;
    if (window->base != NULL)
        munmap(window->base, window->base_size);
    *window = (tn_os_window){0};
}
