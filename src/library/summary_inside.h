/* The inside of a summary: its tables (summary.c), the paths it names (summary_named.c), and what a dry run puts into it
 * (summary_dry.c). */
#ifndef TN_LIBRARY_SUMMARY_INSIDE_H
#define TN_LIBRARY_SUMMARY_INSIDE_H

#include "library/import_inside.h"

/* The public struct comes first; its texts and tables lie in the arena. */
typedef struct tn_summary_block {
    tn_import_summary summary;
    tn_memory_source *memory;
    tn_arena arena;
    size_t total_capacity, problem_capacity, away_capacity;
    tn_base_total *totals;
    tn_problem *problems;
    tn_named *away;
    tn_named vanished[TN_NAMED_MAX], unreadable[TN_NAMED_MAX];
} tn_summary_block;

tn_status tn_summary_keep(tn_summary_block *b, tn_text text, tn_text *out, tn_error *err);
tn_status tn_summary_add_total(tn_summary_block *b, tn_text base, tn_text type, uint64_t models, uint64_t bytes,
                               tn_error *err);
tn_status tn_summary_add_problem(tn_summary_block *b, tn_text path, tn_state state, tn_text presence, tn_text message,
                                 tn_error *err);

/* What vanished, which roots are away, which folders could not be read. Inside the lock. */
tn_status tn_summary_name(tn_import *import, tn_summary_block *b, tn_error *err);
/* The table and the problems that a real import would have ended with. */
tn_status tn_summary_of_dry_run(tn_import *import, tn_summary_block *b, tn_error *err);

/* When all roots are scanned, one that is away is told as that, and is no fault: nothing else is said of what is in
 * it. */
bool tn_summary_is_told_as_away(const tn_import *import, const char *path);

#endif
