/* What the library knows of the files under the imported paths, read once before a walk so that what did not change is
 * told without a question to SQLite. Its memory is charged to the budget. One thread. */
#ifndef TN_LIBRARY_KNOWN_H
#define TN_LIBRARY_KNOWN_H

#include "core/map.h"
#include "library/inside.h"
#include "library/scan.h"

typedef struct tn_known_file {
    const char *path; /* in the arena */
    size_t path_size;
    uint64_t size, file_id[2];
    int64_t mtime_ns;
    int64_t file, model; /* rows; model 0: it is nobody's entry */
    uint64_t device;
    bool weak, present;
    bool retry;          /* it could not be read the last time */
    bool offline;        /* not present, and a part of a model that is offline */
    bool unsettled;      /* the entry of a record of which a scan has still to decide whether it is new */
    bool folder;         /* the entry of a model that is a folder */
    bool has_members;
    bool seen;           /* the walk came by */
    uint8_t members[32];
} tn_known_file;

typedef struct tn_known {
    tn_memory_source *memory;
    tn_arena arena;
    tn_map by_path;
    tn_known_file *files;
    size_t count, capacity;
} tn_known;

void tn_known_init(tn_known *known, tn_library *library);
/* Add every row of `path` and of what lies below it. Takes the library's lock. */
tn_status tn_known_load(tn_known *known, tn_library *library, const char *path, tn_error *err);
/* NULL when nothing is known of the path. */
tn_known_file *tn_known_find(tn_known *known, const char *path, size_t size);
/* Whether a claim shows what was recorded of it, so that it need not be read; also one that was gone and is back. */
bool tn_known_unchanged(const tn_known_file *file, const tn_claim *claim);
void tn_known_free(tn_known *known);

/* The bounds of all paths below `folder`, as BLOBs compare: from "folder/" up to, not with, "folder0". Both appended
 * to `out`, of the same size; returns it, or 0 when there was no memory. */
size_t tn_known_bounds(tn_buffer *out, const char *folder);
/* Run a statement whose three parameters are `path` and its bounds. The lock held. */
tn_status tn_known_run_below(tn_library *library, tn_query query, const char *path, tn_error *err);

#endif
