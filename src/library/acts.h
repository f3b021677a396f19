/* Acts: files moved, copied, put into the trash, deleted and brought back, each with a record of it.
 *
 *   A1  An act and all its steps are committed, and on the disk, before the first file is touched. Its process holds the
 *       act's lock from within that transaction on; an open act whose lock is free was abandoned.
 *   A2  At every instant each file is whole at its old place, at its new place, or, while a copy is proved, at both. No
 *       old copy goes before the new one is proved, flushed, and recorded.
 *   A3  Nothing is ever replaced: a name that is taken at the new place refuses the act.
 *   A4  An act that fails takes its steps back. What cannot be taken back stands in the records as it is.
 *   A5  An abandoned act is finished when all its files are at their new place, or when it was to remove them and has
 *       begun to; else it is taken back. No file is copied for that.
 * Files are touched without the library's mutex and outside of every transaction.
 */
#ifndef TN_LIBRARY_ACTS_H
#define TN_LIBRARY_ACTS_H

#include "library/copying.h"
#include "library/inside.h"

/* In the order of the words in acts_rows.c. */
typedef enum tn_act_kind {
    TN_ACT_COPY,
    TN_ACT_MOVE,
    TN_ACT_TRASH,
    TN_ACT_DELETE,
    TN_ACT_FORGET,
    TN_ACT_RESTORE,
    TN_ACT_KINDS
} tn_act_kind;

typedef enum tn_act_state {
    TN_ACT_PLANNED,
    TN_ACT_PLACED,
    TN_ACT_DONE,
    TN_ACT_UNDONE,
    TN_ACT_FAILED,
    TN_ACT_STATES
} tn_act_state;

/* One file, link or folder. Paths are absolute, with a NUL behind them, in the plan's arena; "" where there is none. */
typedef struct tn_act_step {
    tn_os_kind shape;
    tn_text source, target, aside;
    uint64_t size, stored_bytes;
    int64_t mtime_ns;
    bool placed; /* by this process, or as found after a crash */
    bool copied; /* placed by copying: the source has still to go, or to stay */
    bool beside; /* what another program left beside the model */
} tn_act_step;

/* An act as it is planned, done, or read back. */
typedef struct tn_act_plan {
    tn_library *library;
    const tn_act_options *options;
    tn_arena arena;
    tn_act_kind kind;
    tn_act_state state;
    int64_t id, event, model, undoes, at_ns;
    tn_text name, keep, error;
    uint64_t bytes;
    tn_act_step *steps;
    size_t count, capacity;
    tn_os_file lock;
    uint64_t done_bytes; /* for progress */
    bool room_checked;
} tn_act_plan;

void tn_act_init(tn_act_plan *plan, tn_library *library, const tn_act_options *options, tn_act_kind kind);
void tn_act_free(tn_act_plan *plan);
/* TN_INVALID for options of another size; NULL gives defaults. */
tn_status tn_act_options_of(const tn_act_options *given, const tn_act_options **out, tn_error *err);

/* ---- rows (acts_rows.c) ---- */

/* A transaction whose commit is on the disk when it ends. Like tn_library_begin and tn_library_end otherwise. */
tn_status tn_act_begin(tn_library *library, tn_error *err);
tn_status tn_act_end(tn_library *library, tn_status status, tn_error *err);
/* Commit the plan as a row, `planned`, with its lock held (A1). */
tn_status tn_act_record_plan(tn_act_plan *plan, tn_error *err);
/* Inside a transaction. */
tn_status tn_act_put(tn_act_plan *plan, tn_act_state state, tn_error *err);
tn_status tn_act_put_step(tn_act_plan *plan, size_t step, tn_error *err);
tn_status tn_act_set_state(tn_act_plan *plan, int64_t act, tn_act_state state, const char *error, tn_error *err);
/* Read an act back. Takes the lock of the library. TN_NOT_FOUND. */
tn_status tn_act_load(tn_act_plan *plan, int64_t id, tn_error *err);
/* The numbers that a query with at most one parameter gives, into the plan's arena. */
tn_status tn_act_numbers(tn_act_plan *plan, tn_query query, int64_t parameter, int64_t **out, size_t *count,
                         tn_error *err);
/* Take the act's lock; TN_BUSY when its process lives. */
tn_status tn_act_lock(tn_act_plan *plan, tn_error *err);
void tn_act_unlock(tn_act_plan *plan);
/* Tell the caller's `done`. */
void tn_act_tell(const tn_act_plan *plan);
tn_act tn_act_shown(const tn_act_plan *plan);

/* ---- which model (acts_model.c) ---- */

/* A path of a model, as the library has it. */
typedef struct tn_act_path {
    tn_text path;
    int64_t position;
    bool entry;
} tn_act_path;

typedef struct tn_act_paths {
    tn_act_path *items; /* entries first */
    size_t count, entries;
    int64_t part_count;
} tn_act_paths;

bool tn_act_same_text(tn_text a, tn_text b);
tn_text tn_act_folder_of(tn_act_plan *plan, tn_text path);
/* The path made absolute, in the arena. */
tn_status tn_act_absolute(tn_memory_source *memory, tn_arena *arena, const char *path, tn_text *out, tn_error *err);
/* The paths of plan->model, and plan->name. Nothing when there is no model. Takes the lock of the library. */
tn_status tn_act_read_paths(tn_act_plan *plan, tn_act_paths *out, tn_error *err);

/* Find a model by id, path or unique name, and which of its paths is meant (an arena text): the one that was named, or
 * its only one. `any_path`: with several paths it is not an error to have named none; *path is "" then. */
tn_status tn_act_find(tn_act_plan *plan, const char *model, bool any_path, tn_text *path, tn_error *err);
/* ---- what belongs to it (acts_plan.c, acts_beside.c) ---- */

/* Add a step for each file that goes with the model under `path`: shards, index, sidecars; a folder whole. Sources only.
 * `members`: the files of a set that no record tells of. */
tn_status tn_act_add_files(tn_act_plan *plan, tn_text path, const tn_text *members, size_t count, tn_error *err);
/* Add steps for what lies beside the file `entry`. */
tn_status tn_act_add_beside(tn_act_plan *plan, tn_text entry, tn_error *err);
bool tn_act_has_step(const tn_act_plan *plan, tn_text source);
/* The path of `name` in `folder`, in the plan's arena. */
tn_status tn_act_below(tn_act_plan *plan, tn_text folder, tn_text name, tn_text *out, tn_error *err);
/* Add one step. `target` "" for none. */
tn_status tn_act_add_step(tn_act_plan *plan, tn_text source, tn_text target, tn_error *err);
/* Give every step a target of the same name in the folder, and a name aside. */
tn_status tn_act_aim(tn_act_plan *plan, tn_text folder, tn_error *err);
/* Beside its target; without one, beside its source. */
tn_status tn_act_name_aside(tn_act_plan *plan, tn_act_step *step, tn_error *err);
/* The folder above `path` that stays: the root that holds it, else its own folder. */
tn_status tn_act_keep_above(tn_act_plan *plan, tn_text path, tn_error *err);
/* Refuse what is taken at the new place, with both sizes. *same: only equal bytes are in the way of the first step. */
tn_status tn_act_check_targets(tn_act_plan *plan, bool *same, tn_error *err);

/* ---- files (acts_place.c, acts_files.c) ---- */

/* TN_NO_SPACE, with numbers, when what is on another disk than its target does not fit there. */
tn_status tn_act_check_space(tn_act_plan *plan, tn_error *err);

/* Bring every step to its target: by renaming, else by a proved copy (always, for TN_ACT_COPY). On failure those that
 * were placed are taken back. */
tn_status tn_act_place(tn_act_plan *plan, tn_error *err);
/* Take placed steps back; the first failure is told, all are tried. */
tn_status tn_act_take_back(tn_act_plan *plan, tn_error *err);
/* After a crash: which steps are placed? *whole: all; *any: at least one. Leftovers of copies are taken away. */
tn_status tn_act_survey(tn_act_plan *plan, bool *whole, bool *any, tn_error *err);
/* Take away what copies that were not finished have left under their names aside. */
tn_status tn_act_drop_leftovers(tn_act_plan *plan, tn_error *err);
/* Remove the sources of placed steps that are still there and still what they were. */
tn_status tn_act_remove_sources(tn_act_plan *plan, tn_error *err);
/* Whether `path` is the folder or lies in it. */
bool tn_act_is_in(tn_text path, tn_text folder);
/* Remove folders that the sources left empty, up to but without plan->keep. Never fails: a folder that stays harms
 * nobody. */
void tn_act_remove_emptied(tn_act_plan *plan);
tn_copying tn_act_copying(tn_act_plan *plan);

/* ---- records (acts_records.c, acts_removed.c); inside a transaction but for the first ---- */

/* What the rows of moved files are to become, asked of the disk before the transaction. */
typedef struct tn_act_moved tn_act_moved;
tn_status tn_act_moved_look(tn_act_plan *plan, tn_act_moved **out, tn_error *err);
tn_status tn_act_moved_record(tn_act_plan *plan, const tn_act_moved *moved, tn_error *err);
void tn_act_moved_free(tn_act_plan *plan, tn_act_moved *moved);
/* Take the record out, into the tables removed_...; where another path of it stays, only the path. `keep_rows`: the rows
 * of its files stay, so that a scan passes them over. */
tn_status tn_act_take_out(tn_act_plan *plan, tn_text path, bool keep_rows, tn_error *err);
/* Put back what `act` took out. */
tn_status tn_act_put_back(tn_act_plan *plan, int64_t act, tn_error *err);

/* ---- from the record to the end (acts_move.c, acts_remove.c) ---- */

/* Do a plan that has its targets: a move, a copy, a restoring. */
tn_status tn_act_run(tn_act_plan *plan, tn_error *err);
/* Delete the files of a plan for good. */
tn_status tn_act_delete(tn_act_plan *plan, tn_error *err);

/* ---- after a crash (acts_recover.c) ---- */

/* Finish or take back every act whose process is gone. Called before anything else is changed. */
tn_status tn_acts_recover(tn_library *library, tn_error *err);
/* The end of a move: records, then old copies and emptied folders. Used by the act itself and after a crash. */
tn_status tn_act_finish_move(tn_act_plan *plan, tn_error *err);
tn_status tn_act_finish_removal(tn_act_plan *plan, tn_error *err);
tn_status tn_act_finish_placed(tn_act_plan *plan, tn_error *err);
/* Close the row of an act that was taken back. Its best: a library that cannot be written keeps it open, and the next
 * recovery closes it. */
void tn_act_close_failed(tn_act_plan *plan, const char *why);

#endif
