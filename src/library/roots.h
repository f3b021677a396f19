/* Roots: the folders that were imported. What a scan finds out of them: roots_look.c; what a person does with them:
 * roots.c; moving all that is known below one folder to another: relocate.c. */
#ifndef TN_LIBRARY_ROOTS_H
#define TN_LIBRARY_ROOTS_H

#include "core/arena.h"
#include "library/inside.h"

/* One row, as it is kept. */
typedef struct tn_root_row {
    tn_text path;
    int64_t scanned_ns, away_ns;
    bool has_device;
    uint64_t device; /* that its folder was on at the last look */
} tn_root_row;

typedef struct tn_root_rows {
    tn_memory_source *memory;
    tn_arena arena; /* of their paths */
    tn_root_row *rows;
    size_t count, capacity;
} tn_root_rows;

void tn_root_rows_init(tn_root_rows *rows, tn_library *library);
/* All roots, by path. Takes the library's lock. */
tn_status tn_root_rows_load(tn_root_rows *rows, tn_library *library, tn_error *err);
void tn_root_rows_free(tn_root_rows *rows);

/* Look at a root's folder. It is opened too, for the system may remember what a server said that is gone; that it may not be
 * listed is no answer to this. */
tn_status tn_root_look(tn_memory_source *memory, const char *path, tn_os_info *info);
/* Whether a look at a root's folder, which gave `status` and, with TN_OK, `info`, says that it is away: it is not there, is no
 * folder, or its file system does not answer (TN_IO; TN_CHANGED: a stale handle). No permission says nothing. */
bool tn_root_is_gone(tn_status status, const tn_os_info *info);
/* Whether the root's folder is there now, on the disk it was on. */
bool tn_root_is_away(tn_memory_source *memory, const tn_root_row *row);

#endif
