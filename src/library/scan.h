/* Walking folders for what claims to be a model.
 *
 *   W1  Each folder is walked once, however many links lead to it; real folders before links.
 *   W2  Nothing found ends the walk: what cannot be listed, vanishes or leads nowhere is counted. Only cancelling, a
 *       lack of memory and a visitor's failure do.
 *   W3  No recursion; at most TN_SCAN_DEPTH_MAX folders deep; all memory is charged to the budget.
 *   W4  The order is the same every time: names sorted as bytes, within a folder files before folders.
 * No file is opened: contents are not its business.
 */
#ifndef TN_LIBRARY_SCAN_H
#define TN_LIBRARY_SCAN_H

#include "context/context.h"
#include "library/claim.h"

#define TN_SCAN_DEPTH_MAX 128

typedef enum tn_claim_kind { TN_CLAIM_FILE = 0, TN_CLAIM_SET, TN_CLAIM_FOLDER } tn_claim_kind;

/* One thing that claims to be a model, by its name or, for a folder, by the names in it. */
typedef struct tn_claim {
    tn_claim_kind kind;
    tn_suffix suffix;
    bool named;          /* asked for by this very path */
    const char *path;    /* of the entry: the file, the index (else the first shard) of a set, the folder */
    size_t path_size;
    tn_status asked;     /* TN_OK, or why the system would not say what a file of it is */
    tn_os_info info;     /* of the entry; all zero when the system would not say */
    uint8_t members[32]; /* SET, FOLDER: digest of names, sizes and times of all that belongs to it */
    uint8_t who[32];     /* the same for every path that leads to the same file or files; meaningful when has_who */
    bool has_who;
    int64_t newest_ns;   /* when a file of it was last written to: the latest time of all */
} tn_claim;

typedef struct tn_scan_counts {
    uint64_t folders, files;      /* seen */
    uint64_t others;              /* files that claim nothing */
    uint64_t folders_unreadable;  /* not listed to the end, or too deep */
    uint64_t vanished;            /* gone between being listed and being asked about */
    uint64_t links_dangling;      /* links that lead nowhere, or to what is neither file nor folder */
    uint64_t links_outside;       /* links to folders outside of all that were named; they are walked */
} tn_scan_counts;

/* Who hears of it. Paths are valid during the call. */
typedef struct tn_scan_visitor {
    tn_status (*claim)(void *user, const tn_claim *claim, tn_error *err);
    /* A file that belongs to a set or folder; its claim follows. */
    tn_status (*member)(void *user, const char *path, size_t size, tn_error *err);
    /* A path that was named and cannot be walked or asked about. */
    tn_status (*refused)(void *user, const char *path, const tn_error *why, tn_error *err);
    /* A folder that could not be listed to the end, or is too deep. NULL: only counted. */
    tn_status (*unreadable)(void *user, const char *path, const char *why, tn_error *err);
    void *user;
} tn_scan_visitor;

/* `paths` are absolute. The counts are right when it returns TN_OK. */
tn_status tn_scan(tn_context *context, const char *const *paths, size_t count, const tn_scan_visitor *visitor,
                  tn_scan_counts *counts, tn_error *err);

/* Does a file look unchanged? Where the identity is weak, file ids are passed over and times count to two seconds. */
bool tn_scan_same(const tn_os_info *now, uint64_t size, int64_t mtime_ns, const uint64_t file_id[2], bool weak);

#endif
