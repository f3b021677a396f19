/* What the Windows files of this folder share. */
#ifndef TN_OS_WIN32_H
#define TN_OS_WIN32_H

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include "os/os_inside.h"

/* Fill `err` for the system call `what` that failed with GetLastError() `code`. `path` may be NULL. The one place
 * where a Windows error becomes a status. */
tn_status tn_os_fail_win32(tn_error *err, DWORD code, const char *what, const char *path);

/* A path as Windows takes it: absolute, UTF-16, with \\?\ before it. Short ones need no memory of their own. */
typedef struct tn_os_wide {
    wchar_t *text;
    size_t size; /* units, without the NUL */
    wchar_t small[300];
} tn_os_wide;

/* At most 32767 units; a longer path, one that is not WTF-8, and one that names a device or stream is TN_BAD_PATH. An
 * empty path is TN_NOT_FOUND. */
tn_status tn_os_wide_from(const char *path, tn_os_wide *out, tn_error *err);
void tn_os_wide_free(tn_os_wide *wide);
/* Append units as WTF-8. */
void tn_os_append_wide(tn_buffer *out, const wchar_t *units, size_t count);
/* The same for a path: without the \\?\ before it. */
void tn_os_append_wide_path(tn_buffer *out, const wchar_t *units, size_t count);
/* The path made absolute as text, into a buffer that is started here; on success the caller frees it. */
tn_status tn_os_absolute_text(const char *path, tn_buffer *out, tn_error *err);

/* A buffer outside every budget, for paths: they have a maximum of their own. */
void tn_os_start_text(tn_buffer *out);

#endif
