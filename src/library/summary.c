/* What an import tells at its end: everything under its paths by base and type, and what needs a look. */
#include <string.h>

#include "library/import_inside.h"
#include "library/place.h"

#define SUMMARY_MAX ((size_t)1 << 32) /* bytes; the budget refuses long before */

/* The public struct comes first; its texts and tables lie in the arena. */
typedef struct summary_block {
    tn_import_summary summary;
    tn_memory_source *memory;
    tn_arena arena;
    size_t total_capacity, problem_capacity;
    tn_base_total *totals;
    tn_problem *problems;
} summary_block;

/* ---- tables that grow ---- */

static tn_status keep(summary_block *b, tn_text text, tn_text *out, tn_error *err)
{
    tn_text kept = tn_arena_text(&b->arena, text.bytes, text.size);
    if (kept.bytes == NULL)
        return tn_arena_status(&b->arena, err);
    *out = kept;
    return TN_OK;
}

static tn_status add_total(summary_block *b, tn_text base, tn_text type, uint64_t models, uint64_t bytes,
                           tn_error *err)
{
    void *items = b->totals;
    TN_TRY(tn_make_room(b->memory, &items, &b->total_capacity, b->summary.total_count, sizeof *b->totals, 16, err));
    b->totals = items;
    tn_base_total *total = &b->totals[b->summary.total_count];
    *total = (tn_base_total){.models = models, .bytes = bytes};
    TN_TRY(keep(b, base, &total->base, err));
    TN_TRY(keep(b, type, &total->type, err));
    b->summary.total_count++;
    b->summary.models += models;
    return TN_OK;
}

static tn_status add_problem(summary_block *b, tn_text path, tn_state state, tn_text presence, tn_text message,
                             tn_error *err)
{
    void *items = b->problems;
    TN_TRY(tn_make_room(b->memory, &items, &b->problem_capacity, b->summary.problem_count, sizeof *b->problems, 16,
                        err));
    b->problems = items;
    tn_problem *problem = &b->problems[b->summary.problem_count];
    *problem = (tn_problem){.state = state};
    TN_TRY(keep(b, path, &problem->path, err));
    TN_TRY(keep(b, presence, &problem->presence, err));
    TN_TRY(keep(b, message, &problem->message, err));
    b->summary.problem_count++;
    return TN_OK;
}

/* ---- from the library ---- */

static tn_status add_total_row(summary_block *b, const tn_sql *s, tn_error *err)
{
    return add_total(b, tn_sql_get(s, 0), tn_sql_get(s, 1), (uint64_t)tn_sql_get_int(s, 2),
                     (uint64_t)tn_sql_get_int(s, 3), err);
}

static tn_status add_problem_row(summary_block *b, const tn_sql *s, tn_error *err)
{
    return add_problem(b, tn_sql_get(s, 0), tn_library_state_of_word(tn_sql_get(s, 1).bytes), tn_sql_get(s, 2), tn_sql_get(s, 3), err);
}

static tn_status each_row(summary_block *b, tn_db *db, tn_query query,
                          tn_status (*add)(summary_block *b, const tn_sql *s, tn_error *err), tn_error *err)
{
    tn_sql s = tn_sql_start(db, query);
    for (;;) {
        bool more = false;
        TN_TRY(tn_sql_row(&s, &more, err));
        if (!more)
            return TN_OK;
        tn_status status = add(b, &s, err);
        if (status != TN_OK) {
            tn_sql_end(&s);
            return status;
        }
    }
}

static tn_status add_scope(tn_import *import, const char *path, tn_error *err)
{
    tn_buffer bounds;
    tn_buffer_init(&bounds, import->library->memory, 2 * TN_PLACE_PATH_MAX);
    size_t size = tn_known_bounds(&bounds, path);
    tn_status status = tn_buffer_status(&bounds, err);
    if (status == TN_OK) {
        tn_sql s = tn_sql_start(&import->library->db, TN_QUERY_SCOPE_ADD);
        tn_sql_blob(&s, path, strlen(path));
        tn_sql_blob(&s, bounds.bytes, size);
        tn_sql_blob(&s, bounds.bytes + size, size);
        status = tn_sql_run(&s, err);
    }
    tn_buffer_free(&bounds);
    return status;
}

static tn_status from_library(tn_import *import, summary_block *b, tn_error *err)
{
    tn_db *db = &import->library->db;
    tn_sql s = tn_sql_start(db, TN_QUERY_SCOPE_CLEAR);
    TN_TRY(tn_sql_run(&s, err));
    for (size_t i = 0; i < import->path_count; i++)
        TN_TRY(add_scope(import, import->paths[i], err));
    TN_TRY(each_row(b, db, TN_QUERY_TOTALS, add_total_row, err));
    return each_row(b, db, TN_QUERY_PROBLEMS, add_problem_row, err);
}

static tn_status add_refused(tn_import *import, summary_block *b, tn_error *err)
{
    for (size_t i = 0; i < import->refused_count; i++) {
        const tn_refused_path *refused = &import->refused[i];
        TN_TRY(add_problem(b, (tn_text){refused->path, strlen(refused->path)}, TN_STATE_UNREADABLE,
                           TN_TEXT("missing"), (tn_text){refused->message, strlen(refused->message)}, err));
    }
    return TN_OK;
}

static void copy_counts(const tn_import *import, tn_import_summary *s)
{
    s->job = import->journal.job;
    s->resumed = import->journal.resumed;
    s->fresh = import->fresh;
    s->changed = import->changed;
    s->unchanged = import->unchanged;
    s->vanished = import->gone + import->scan.vanished;
    s->others = import->others;
    s->folders_unreadable = import->scan.folders_unreadable;
}

static tn_status fill(tn_import *import, summary_block *b, tn_error *err)
{
    copy_counts(import, &b->summary);
    if (tn_import_is_dry(import)) {
        b->summary.models = import->fresh + import->changed + import->unchanged;
    } else {
        tn_library_lock(import->library);
        tn_status status = from_library(import, b, err);
        tn_library_unlock(import->library);
        TN_TRY(status);
    }
    TN_TRY(add_refused(import, b, err));
    b->summary.totals = b->totals;
    b->summary.problems = b->problems;
    return TN_OK;
}

tn_status tn_import_summarise(tn_import *import, tn_import_summary **out, tn_error *err)
{
    void *block = NULL;
    tn_memory_source *memory = import->library->memory;
    TN_TRY(tn_take_array(memory, 1, sizeof(summary_block), &block, err));
    summary_block *b = block;
    b->memory = memory;
    tn_arena_init(&b->arena, memory, SUMMARY_MAX);
    tn_status status = fill(import, b, err);
    if (status == TN_OK)
        *out = &b->summary;
    else
        tn_import_summary_destroy(&b->summary);
    return status;
}

void tn_import_summary_destroy(tn_import_summary *summary)
{
    if (summary == NULL)
        return;
    summary_block *b = (summary_block *)summary;
    tn_memory_source *memory = b->memory;
    tn_give(memory, b->totals, b->total_capacity * sizeof *b->totals);
    tn_give(memory, b->problems, b->problem_capacity * sizeof *b->problems);
    tn_arena_free(&b->arena);
    tn_give(memory, b, sizeof *b);
}
