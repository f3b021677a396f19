/* Where a library is, and what its file says of itself before SQLite is let near it. */
#ifndef TN_LIBRARY_PLACE_H
#define TN_LIBRARY_PLACE_H

#include "core/buffer.h"
#include "os/os.h"

#define TN_PLACE_PATH_MAX 65536 /* bytes of any path the library deals with */

typedef struct tn_place {
    bool there;          /* a file with at least one byte */
    bool empty;          /* a file without any */
    int64_t version;     /* user_version, bytes 60..63 */
    uint32_t application; /* application_id, bytes 68..71 */
    bool weak;           /* on a network file system, as far as can be told */
    bool scant;          /* on one that a map cannot be trusted on when it is full */
} tn_place;

/* $TENURE_LIBRARY, else $XDG_DATA_HOME/tenure/library.db, %LOCALAPPDATA%\Tenure\library.db or
 * $HOME/.local/share/tenure/library.db; appended. TN_INVALID when none of them is set. */
tn_status tn_place_default(tn_buffer *out, tn_error *err);
/* Read the file's first 100 bytes. TN_NOT_A_LIBRARY when it is something else than a SQLite file. */
tn_status tn_place_look(const char *path, tn_place *out, tn_error *err);
/* The same, and refuse what this program must not touch: TN_NOT_A_LIBRARY, and TN_NEWER above `version`. */
tn_status tn_place_check(const char *path, int version, tn_place *out, tn_error *err);

/* Whether the file system of a lock file has locks at all. True where the file cannot be opened to ask. */
bool tn_place_has_locks(const char *lock_path);

/* Make durable what files are called in the folder of `path`: after one of them got or lost a name. */
tn_status tn_place_settle(const char *path, tn_memory_source *memory, tn_error *err);

/* How paths are put together here: the separator a path uses, told by the path itself (absolute paths begin with a
 * slash on POSIX and nowhere else). */
char tn_place_separator(const char *absolute);
/* The part of a path before its last separator; the path of a root itself. Returns its length. */
size_t tn_place_folder(const char *path, size_t size);
/* The part behind the last separator. */
tn_text tn_place_name(const char *path, size_t size);
/* What every path below `folder` begins with: the folder and a separator (once). Appended. */
void tn_place_below(tn_buffer *out, const char *folder, size_t size);

/* Whether a path is the folder itself or lies below it. Text only. */
bool tn_place_is_below(const char *path, size_t size, const char *folder, size_t folder_size);

#endif
