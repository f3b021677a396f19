/* What is in the system's cache is told to the page, also by a system that cannot count pages. */
#include "support/check.h"
#include "support/scratch.h"

#include <fcntl.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif
#include <errno.h>
#include <sys/wait.h>

#include "os/os.h"

enum { PAGE = 4096, PAGES = 600, GONE = 256, GONE_PAGES = 64 };

static tn_os_file put(void)
{
    static char bytes[PAGES * PAGE - 100];
    tn_os_file file;
    put_file(at("a"), bytes, sizeof bytes);
    assert_int_equal(tn_os_open(at("a"), TN_OS_READ, &file, NULL), TN_OK);
    assert_int_equal(fsync(file.fd), 0);
    return file;
}

static void read_pages(const tn_os_file *file, size_t from, size_t to)
{
    char page[PAGE];
    for (size_t i = from; i < to; i++)
        assert_true(pread(file->fd, page, PAGE, (off_t)(i * PAGE)) > 0);
}

/* All but a run of pages is in the cache. False where the file system keeps its files in memory. */
static bool take_out(const tn_os_file *file)
{
#ifdef POSIX_FADV_DONTNEED
    (void)posix_fadvise(file->fd, 0, 0, POSIX_FADV_DONTNEED);
    (void)posix_fadvise(file->fd, 0, 0, POSIX_FADV_RANDOM); /* nothing is read ahead */
#endif
    if (tn_os_is_cached(file, (uint64_t)GONE * PAGE, (size_t)GONE_PAGES * PAGE))
        return false;
    read_pages(file, 0, GONE);
    read_pages(file, GONE + GONE_PAGES, PAGES);
    return true;
}

/* 0: as it should be. To be called in a child, too. */
static int look(const tn_os_file *file)
{
    return !tn_os_is_cached(file, 0, (size_t)GONE * PAGE)                 ? 1
           : tn_os_is_cached(file, 0, (size_t)PAGES * PAGE)               ? 2
           : tn_os_is_cached(file, (uint64_t)GONE * PAGE + 5, 1)          ? 3
           : tn_os_is_cached(file, (uint64_t)GONE * PAGE - 1, 2)          ? 4
           : !tn_os_is_cached(file, (uint64_t)(GONE + GONE_PAGES) * PAGE, (size_t)(PAGES - GONE - GONE_PAGES) * PAGE) ? 5
                                                                          : 0; /* to the end of its last page */
}

static void each_page_is_told_apart(void **state)
{
    (void)state;
    tn_os_file file = put();
    if (take_out(&file))
        assert_int_equal(look(&file), 0);
    else
        print_message("this file system keeps its files in memory\n");
    tn_os_close(&file);
}

#ifdef __linux__

/* cachestat(2) fails from here on as on an older system. */
static bool forbid_counting(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 451, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void so_it_is_by_a_system_that_cannot_count_them(void **state)
{
    enum { NO_FILTER = 77 };
    (void)state;
    tn_os_file file = put();
    if (take_out(&file)) {
        int status;
        pid_t child = fork();
        if (child == 0)
            _exit(forbid_counting() ? look(&file) : NO_FILTER);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        if (WEXITSTATUS(status) == NO_FILTER)
            print_message("this system forbids nothing to its programs\n");
        else
            assert_int_equal(WEXITSTATUS(status), 0);
    }
    tn_os_close(&file);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_page_is_told_apart),
#ifdef __linux__
        cmocka_unit_test(so_it_is_by_a_system_that_cannot_count_them),
#endif
    };
    return cmocka_run_group_tests_name("os.posix_cached", tests, scratch_begin, scratch_end);
}
