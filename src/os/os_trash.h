/* The note that lies beside what was put into the trash, as the freedesktop trash specification 1.0 has it. */
#ifndef TN_OS_TRASH_H
#define TN_OS_TRASH_H

#include "core/buffer.h"

/* Append the note. `path` is where the item came from: absolute, or relative to the top folder of its disk. `date` is
 * local time, "2026-01-31T23:59:59". */
void tn_os_trash_note(tn_buffer *out, const char *path, const char *date);
/* Append the name that an item called `name` gets at the `attempt`th try (from 1): cut so that the note's name, which is
 * longer, still fits a file system's 255 bytes. */
void tn_os_trash_name(tn_buffer *out, const char *name, unsigned attempt);

#endif
