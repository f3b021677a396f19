/* What the POSIX files of this folder share. */
#ifndef TN_OS_POSIX_H
#define TN_OS_POSIX_H

#include "os/os_inside.h"

/* The longest path that is composed here; the systems themselves take no longer one. */
#define TN_OS_POSIX_PATH_MAX 4096

/* Fill `err` for the system call `what` that failed with errno `number`. `path` may be NULL. The
 * one place where an errno becomes a status. */
tn_status tn_os_fail_errno(tn_error *err, int number, const char *what, const char *path);

#endif
