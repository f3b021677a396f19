/* Reads into several places, and reads that leave the cache as it was, on POSIX. The contract stands in os.h. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "os/os_posix.h"

static size_t fill(struct iovec *places, const tn_os_piece *pieces, size_t count)
{
    size_t whole = 0;
    assert(count <= TN_OS_PIECES_MAX);
    for (size_t i = 0; i < count; i++) {
        places[i] = (struct iovec){pieces[i].bytes, pieces[i].size};
        whole += pieces[i].size;
    }
    return whole;
}

/* Take `n` bytes off the front of what is still to be filled. */
static struct iovec *behind(struct iovec *places, int *count, size_t n)
{
    while (*count > 0 && n >= places->iov_len) {
        n -= places->iov_len;
        places++;
        (*count)--;
    }
    if (*count > 0) {
        places->iov_base = (char *)places->iov_base + n;
        places->iov_len -= n;
    }
    return places;
}

tn_status tn_os_read_pieces(const tn_os_file *file, uint64_t offset, const tn_os_piece *pieces, size_t count,
                            size_t *got, tn_error *err)
{
    struct iovec places[TN_OS_PIECES_MAX], *left = places;
    size_t whole = fill(places, pieces, count), done = 0;
    int many = (int)count;
    TN_TRY(tn_os_before((tn_os_call){.operation = TN_OP_READ, .file = file, .offset = offset, .size = whole}, err));
    if (tn_os_reachable(offset, whole) < whole)
        return tn_os_fail_errno(err, EINVAL, "preadv", NULL);
    while (done < whole) {
        ssize_t n = preadv(file->fd, left, many, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            tn_status status = tn_os_fail_errno(err, errno, "preadv", NULL);
            tn_error_at_offset(err, offset + done);
            return status;
        }
        if (n == 0)
            break;
        done += (size_t)n;
        left = behind(left, &many, (size_t)n);
    }
    *got = done;
    return TN_OK;
}

#if defined(__linux__) && defined(POSIX_FADV_DONTNEED)

#define PAGE_LEAST ((size_t)4096)
#define PAGES_MAX (TN_OS_BEHIND_MAX / PAGE_LEAST + 2)

/* Which pages of a run are in the cache: they are asked for through a map and not touched. False when that cannot be
 * told. */
static bool ask_cache(const tn_os_file *file, uint64_t first, size_t pages, size_t page, unsigned char *in_memory)
{
    void *map = mmap(NULL, pages * page, PROT_READ, MAP_SHARED, file->fd, (off_t)first);
    if (map == MAP_FAILED)
        return false;
    bool told = mincore(map, pages * page, in_memory) == 0;
    munmap(map, pages * page);
    return told;
}

static void forget(const tn_os_file *file, uint64_t first, size_t pages, size_t page, const unsigned char *in_memory)
{
    for (size_t i = 0; i < pages;) {
        size_t end = i;
        while (end < pages && (in_memory[end] & 1) == 0)
            end++;
        if (end > i)
            (void)posix_fadvise(file->fd, (off_t)(first + i * page), (off_t)((end - i) * page), POSIX_FADV_DONTNEED);
        i = end > i ? end : i + 1;
    }
}

tn_status tn_os_read_behind(const tn_os_file *file, uint64_t offset, const tn_os_piece *pieces, size_t count,
                            size_t *got, tn_error *err)
{
    unsigned char in_memory[PAGES_MAX];
    size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = 0;
    for (size_t i = 0; i < count; i++)
        whole += pieces[i].size;
    uint64_t first = offset - offset % page;
    size_t pages = (size_t)(offset - first + whole + page - 1) / page;
    bool told = whole > 0 && pages <= PAGES_MAX && ask_cache(file, first, pages, page, in_memory);
    if (told) /* or the system reads ahead of what it is to forget */
        (void)posix_fadvise(file->fd, 0, 0, POSIX_FADV_RANDOM);
    tn_status status = tn_os_read_pieces(file, offset, pieces, count, got, err);
    if (told) {
        (void)posix_fadvise(file->fd, 0, 0, POSIX_FADV_NORMAL);
        forget(file, first, pages, page, in_memory);
    }
    return status;
}

#else

tn_status tn_os_read_behind(const tn_os_file *file, uint64_t offset, const tn_os_piece *pieces, size_t count,
                            size_t *got, tn_error *err)
{
    return tn_os_read_pieces(file, offset, pieces, count, got, err);
}

#endif
