/* What POSIX's errno values are called here: the one table. */
#include <errno.h>

#include "os/os_posix.h"

static const struct {
    int number;
    tn_status status;
} table[] = {
    {ENOENT, TN_NOT_FOUND},
    {ENOTDIR, TN_NOT_FOUND}, /* a part of the path is a file, so nothing is behind it */
    {EEXIST, TN_EXISTS},
    {ENOTEMPTY, TN_EXISTS},
    {EACCES, TN_PERMISSION},
    {EPERM, TN_PERMISSION},
    {EROFS, TN_READ_ONLY},
    {ENAMETOOLONG, TN_BAD_PATH},
    {EILSEQ, TN_BAD_PATH},
    {ELOOP, TN_BAD_PATH},
    {EISDIR, TN_NOT_A_FILE},
    {ENXIO, TN_NOT_A_FILE}, /* opening a socket */
    {ENODEV, TN_UNAVAILABLE}, /* a file system that cannot map */
    {EMFILE, TN_TOO_MANY_FILES},
    {ENFILE, TN_TOO_MANY_FILES},
    {EBUSY, TN_BUSY},
    {ETXTBSY, TN_BUSY},
    {EAGAIN, TN_BUSY},
    {EDEADLK, TN_BUSY},
    {ENOLCK, TN_UNAVAILABLE},
    {ENOSPC, TN_NO_SPACE},
    {EDQUOT, TN_NO_SPACE},
    {EFBIG, TN_NO_SPACE},
    {ENOMEM, TN_NO_MEMORY},
    {EXDEV, TN_UNAVAILABLE}, /* a rename to another file system */
    {ENOSYS, TN_UNAVAILABLE},
    {EOPNOTSUPP, TN_UNAVAILABLE},
    {ESTALE, TN_CHANGED}, /* a network share gave the file away */
    {EBADF, TN_INVALID},
    {EINVAL, TN_INVALID},
};

static tn_status status_of(int number)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (table[i].number == number)
            return table[i].status;
    }
    return TN_IO;
}

bool tn_os_means_full(int number)
{
    return status_of(number) == TN_NO_SPACE;
}

/* What is said instead of a number where a server, or the wire to it, is gone. */
static bool is_cut_off(int number)
{
    switch (number) {
    case ENOTCONN: /* also of a FUSE file system whose program ended */
    case ENOLINK:
    case ETIMEDOUT:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENETDOWN:
    case ENETUNREACH: return true;
    default: return false;
    }
}

tn_status tn_os_fail_errno(tn_error *err, int number, const char *what, const char *path)
{
    tn_status status = status_of(number);
    if (status == TN_IO && is_cut_off(number))
        tn_fail(err, status, "%s: the file system behind this path does not answer", tn_status_text(status));
    else if (status == TN_IO) /* says little by itself */
        tn_fail(err, status, "%s (%s: errno %d)", tn_status_text(status), what, number);
    else
        tn_fail(err, status, "%s", tn_status_text(status));
    if (path != NULL)
        tn_error_at_file(err, path);
    return status;
}
