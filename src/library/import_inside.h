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

#include "library/isolate.h"
#include "library/journal.h"
#include "library/known.h"
#include "library/reading.h"
#include "library/record.h"

#define TN_BATCH_ITEMS 32
#define TN_NAMED_MAX 10 /* paths of one kind that a summary names; the rest is counted */

/* Something that is to be read, or to be attached to something that is. */
typedef struct tn_import_item {
    tn_claim claim;   /* its path lies in the import's arena */
    bool was_known;   /* the library had a row for its path, with this model (0: none) */
    int64_t known_model;
    tn_text target;   /* another path of the same file, which is read; bytes NULL: this one is read */
    int64_t deaths;   /* how often a process died while it was in flight */
} tn_import_item;

typedef struct tn_refused_path {
    const char *path, *message;
    tn_status status;
    bool known; /* it has a record, which stays as it is */
} tn_refused_path;

/* A folder that is kept, as this import found it. */
typedef enum tn_root_state { TN_ROOT_HERE = 0, TN_ROOT_AWAY, TN_ROOT_UNKNOWN } tn_root_state;
typedef struct tn_import_root {
    tn_text path;
    uint64_t device;
    bool has_device;   /* known from an earlier look */
    uint64_t was_on;   /* then */
    tn_root_state state;
} tn_import_root;

/* A record whose event waits for the end of the scan, which may give it to another. */
typedef struct tn_held {
    int64_t model;
    bool fresh, changed;
} tn_held;

/* A record that took over another, which is no more. */
typedef struct tn_relinked {
    int64_t model, gone;
} tn_relinked;

/* A path to be named in the summary, and why. */
typedef struct tn_named_path {
    tn_text path, message;
} tn_named_path;

/* What a dry run would have recorded, for its summary. */
typedef struct tn_dry_model {
    tn_text base, type, path, presence, message;
    tn_state state;
    uint64_t bytes;
} tn_dry_model;

typedef struct tn_import {
    tn_library *library;
    tn_context *context;
    const tn_import_options *options;
    const char *const *paths; /* absolute */
    size_t path_count;
    bool scan, all;           /* of roots, which are known as such; of all, so that one that is away is no fault */
    tn_journal journal;
    tn_record_job job;
    tn_known known;
    tn_arena arena;
    tn_map by_path;           /* item of each path gathered */
    tn_map by_who;            /* item, or known file, of each file gathered */
    tn_import_item *items;
    size_t item_count, item_capacity;
    tn_refused_path *refused;
    size_t refused_count, refused_capacity;
    tn_import_root *roots;
    size_t root_count, root_capacity;
    tn_row_news *news;        /* rows of paths that are not read: gone, or there again */
    size_t news_count, news_capacity;
    tn_held *held;
    size_t held_count, held_capacity;
    tn_relinked *relinked;
    size_t relinked_count, relinked_capacity;
    tn_named_path *unreadable; /* folders; the first TN_NAMED_MAX */
    size_t unreadable_count, unreadable_capacity;
    tn_dry_model *dry;
    size_t dry_count, dry_capacity;
    int64_t *dry_known;       /* models that are known and stay as they are, some of them twice */
    size_t dry_known_count, dry_known_capacity;
    tn_scan_counts counts;
    uint64_t done, fresh, changed, unchanged, others;
    uint64_t began_ns;        /* by the monotonic clock */
    uint64_t growing;         /* left for a later scan: they may still be being written */
    uint64_t held_fresh;      /* new ones that wait to be told */
    int64_t hash_job;         /* where what lacks hashes waits; 0: nothing does */
    tn_reading_times times;
} tn_import;

/* Walk the paths: unchanged things are counted and told, the rest becomes items. */
tn_status tn_import_gather(tn_import *import, tn_error *err);
/* Which roots are here (roots_look.c), and which known files are gone. Asks the disk. */
tn_status tn_import_look_at_roots(tn_import *import, tn_error *err);
tn_status tn_import_find_gone(tn_import *import, tn_error *err);
/* Inside a transaction: what was found about roots. */
tn_status tn_import_put_roots(tn_import *import, tn_error *err);
/* Mark items that were in flight when a process died. */
tn_status tn_import_suspects(tn_import *import, tn_error *err);
/* Read and record all items. On a dry run nothing is recorded. */
tn_status tn_import_work(tn_import *import, tn_error *err);
/* Decide which new records are old ones (docs/decisions/0009, 6), end the job, tell what waited for that. */
tn_status tn_import_finish(tn_import *import, tn_error *err);
tn_status tn_import_summarise(tn_import *import, tn_import_summary **out, tn_error *err);

/* On a dry run (summary_dry.c): what recording would come to, and what the summary is made of. */
tn_status tn_import_foresee(tn_import *import, const tn_import_item *item, const tn_reading *reading, tn_recorded *out,
                            tn_error *err);
tn_status tn_import_add_dry_answer(tn_import *import, const tn_import_item *item, const tn_answer *answer, tn_error *err);
tn_status tn_import_add_dry_known(tn_import *import, int64_t model, tn_error *err);
bool tn_import_is_dry(const tn_import *import);
tn_status tn_import_add_news(tn_import *import, tn_row_news news, tn_error *err);
tn_status tn_import_hold(tn_import *import, tn_held held, tn_error *err);
void tn_import_tell(tn_import *import, const tn_import_event *event);
void tn_import_progress_now(tn_import *import, bool walking, const char *path);

#endif
