/* The inside of an import: what it gathers (gather.c), how it reads and records it (batch.c), how it ends (finish.c).
 *
 *   I1  The job and every item it will read are committed before the first item is read.
 *   I2  An item is marked "reading" in a committed transaction before it is read, and its row goes in the transaction
 *       that records its result. So whatever was in flight when a process dies is known, and nothing else is blamed.
 *   I3  At most TN_BATCH_ITEMS items are in flight, and a suspect only ever alone.
 *   I4  Callbacks come after the commit they tell of.
 */
#ifndef TN_LIBRARY_IMPORT_INSIDE_H
#define TN_LIBRARY_IMPORT_INSIDE_H

#include "library/journal.h"
#include "library/known.h"
#include "library/reading.h"
#include "library/record.h"

#define TN_BATCH_ITEMS 32

/* Something that is to be read, or to be attached to something that is. */
typedef struct tn_import_item {
    tn_claim claim;   /* its path lies in the import's arena */
    bool was_known;   /* the library had a row for its path */
    tn_text target;   /* another path of the same file, which is read; bytes NULL: this one is read */
    int64_t deaths;   /* how often a process died while it was in flight */
} tn_import_item;

typedef struct tn_refused_path {
    const char *path, *message;
    tn_status status;
} tn_refused_path;

typedef struct tn_import {
    tn_library *library;
    tn_context *context;
    const tn_import_options *options;
    const char *const *paths; /* absolute */
    size_t path_count;
    tn_journal journal;
    tn_known known;
    tn_arena arena;
    tn_map by_path;           /* item of each path gathered */
    tn_map by_who;            /* item, or known file, of each file gathered */
    tn_import_item *items;
    size_t item_count, item_capacity;
    tn_refused_path *refused; /* as many as paths */
    size_t refused_count;
    tn_scan_counts scan;
    uint64_t done, fresh, changed, unchanged, others, gone;
    tn_reading_times times;
} tn_import;

/* Walk the paths: unchanged things are counted and told, the rest becomes items. */
tn_status tn_import_gather(tn_import *import, tn_error *err);
/* Mark items that were in flight when a process died. */
tn_status tn_import_suspects(tn_import *import, tn_error *err);
/* Read and record all items. On a dry run nothing is recorded. */
tn_status tn_import_work(tn_import *import, tn_error *err);
/* Tell what vanished, note the roots, end the job. */
tn_status tn_import_finish(tn_import *import, tn_error *err);
tn_status tn_import_summarise(tn_import *import, tn_import_summary **out, tn_error *err);

bool tn_import_is_dry(const tn_import *import);
void tn_import_tell(tn_import *import, const tn_import_event *event);
void tn_import_progress_now(tn_import *import, bool walking, const char *path);

/* What a child process made of a suspect. */
typedef enum tn_isolated { TN_ISOLATED_SURVIVED = 0, TN_ISOLATED_DIED, TN_ISOLATED_KILLED, TN_ISOLATED_NO_CHILD } tn_isolated;
/* Let `program probe --json PATH` read the file. DIED: twice, of itself. KILLED: twice, by others. */
tn_isolated tn_isolate(const char *program, const char *path);

#endif
