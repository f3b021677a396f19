/* Paths as text: made absolute without asking the disk. One for each family of systems, both built everywhere, so that
 * either is tested on any machine. */
#ifndef TN_OS_PATH_H
#define TN_OS_PATH_H

#include "core/buffer.h"

/* Append `path`, taken from the folder `working` when it is relative, without ".", "..", doubled separators and
 * separators at its end. `working` is absolute and clean. ".." above the root stays at the root. An empty path is the
 * working folder. */
void tn_os_path_absolute_posix(const char *path, const char *working, tn_buffer *out);

/* The same for Windows: '/' and '\\' separate, the result has '\\' alone. Roots are "C:\", "\\server\share\" and
 * "\\?\...", which is passed on untouched. A path from the root ("\x") stays on the drive of `working`; "C:x" is taken
 * from `working` when that is on the same drive, else from the drive's root. False, with nothing appended, for a path
 * that names a device ("\\.\") or a stream ("name:stream"). */
bool tn_os_path_absolute_windows(const char *path, const char *working, tn_buffer *out);

#endif
