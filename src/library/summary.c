/* What an import tells at its end: everything under its paths by base and type, and what needs a look. */
#include "library/summary_inside.h"

#include <string.h>

#include "library/hash_job.h"
#include "library/place.h"
#include "library/relink.h"

#define SUMMARY_MAX ((size_t)1 << 32) /* bytes; the budget refuses long before */

/* ---- tables that grow ---- */

tn_status tn_summary_keep(tn_summary_block *b, tn_text text, tn_text *out, tn_error *err)
{
    tn_text kept = tn_arena_text(&b->arena, text.bytes, text.size);
    if (kept.bytes == NULL)
        return tn_arena_status(&b->arena, err);
    *out = kept;
    return TN_OK;
}

tn_status tn_summary_add_total(tn_summary_block *b, tn_text base, tn_text type, uint64_t models, uint64_t bytes,
                               tn_error *err)
{
    void *items = b->totals;
    TN_TRY(tn_make_room(b->memory, &items, &b->total_capacity, b->summary.total_count, sizeof *b->totals, 16, err));
    b->totals = items;
    tn_base_total *total = &b->totals[b->summary.total_count];
    *total = (tn_base_total){.models = models, .bytes = bytes};
    TN_TRY(tn_summary_keep(b, base, &total->base, err));
    TN_TRY(tn_summary_keep(b, type, &total->type, err));
    b->summary.total_count++;
    b->summary.models += models;
    return TN_OK;
}

tn_status tn_summary_add_problem(tn_summary_block *b, tn_text path, tn_state state, tn_text presence, tn_text message,
                                 tn_error *err)
{
    void *items = b->problems;
    TN_TRY(tn_make_room(b->memory, &items, &b->problem_capacity, b->summary.problem_count, sizeof *b->problems, 16,
                        err));
    b->problems = items;
    tn_problem *problem = &b->problems[b->summary.problem_count];
    *problem = (tn_problem){.state = state};
    TN_TRY(tn_summary_keep(b, path, &problem->path, err));
    TN_TRY(tn_summary_keep(b, presence, &problem->presence, err));
    TN_TRY(tn_summary_keep(b, message, &problem->message, err));
    b->summary.problem_count++;
    return TN_OK;
}

/* ---- from the library ---- */

static tn_status add_total_row(tn_summary_block *b, const tn_sql *s, tn_error *err)
{
    return tn_summary_add_total(b, tn_sql_get(s, 0), tn_sql_get(s, 1), (uint64_t)tn_sql_get_int(s, 2),
                                (uint64_t)tn_sql_get_int(s, 3), err);
}

static tn_status add_problem_row(tn_summary_block *b, const tn_sql *s, tn_error *err)
{
    return tn_summary_add_problem(b, tn_sql_get(s, 0), tn_library_state_of_word(tn_sql_get(s, 1).bytes),
                                  tn_sql_get(s, 2), tn_sql_get(s, 3), err);
}

static tn_status each_row(tn_summary_block *b, tn_db *db, tn_query query,
                          tn_status (*add)(tn_summary_block *b, const tn_sql *s, tn_error *err), tn_error *err)
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

static tn_status from_library(tn_import *import, tn_summary_block *b, tn_error *err)
{
    tn_db *db = &import->library->db;
    tn_sql s = tn_sql_start(db, TN_QUERY_SCOPE_CLEAR);
    TN_TRY(tn_sql_run(&s, err));
    for (size_t i = 0; i < import->path_count; i++)
        TN_TRY(tn_known_run_below(import->library, TN_QUERY_SCOPE_ADD, import->paths[i], err));
    TN_TRY(each_row(b, db, TN_QUERY_TOTALS, add_total_row, err));
    TN_TRY(each_row(b, db, TN_QUERY_PROBLEMS, add_problem_row, err));
    return tn_hash_job_left(import->library, import->options, &b->summary, err);
}

/* ---- from the import ---- */

bool tn_summary_is_told_as_away(const tn_import *import, const char *path)
{
    for (size_t i = 0; i < import->root_count && import->all; i++)
        if (import->roots[i].state == TN_ROOT_AWAY &&
            tn_place_is_below(path, strlen(path), import->roots[i].path.bytes, import->roots[i].path.size))
            return true;
    return false;
}

static tn_status add_refused(tn_import *import, tn_summary_block *b, tn_error *err)
{
    for (size_t i = 0; i < import->refused_count; i++) {
        const tn_refused_path *refused = &import->refused[i];
        if (tn_summary_is_told_as_away(import, refused->path))
            continue;
        TN_TRY(tn_summary_add_problem(b, (tn_text){refused->path, strlen(refused->path)}, TN_STATE_UNREADABLE,
                                      refused->known ? TN_TEXT("present") : TN_TEXT("missing"),
                                      (tn_text){refused->message, strlen(refused->message)}, err));
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
    s->relinked = import->relinked_count;
    s->others = import->others;
    s->folders_unreadable = import->counts.folders_unreadable;
    s->links_dangling = import->counts.links_dangling;
    s->links_outside = import->counts.links_outside;
    s->growing = import->growing;
    s->took_ns = tn_os_monotonic_ns() - import->began_ns;
}

static tn_status fill_locked(tn_import *import, tn_summary_block *b, tn_error *err)
{
    if (tn_import_is_dry(import))
        TN_TRY(tn_summary_of_dry_run(import, b, err));
    else
        TN_TRY(from_library(import, b, err));
    TN_TRY(tn_summary_name(import, b, err));
    return tn_relink_count(import->library, &b->summary.asks, err);
}

static tn_status fill(tn_import *import, tn_summary_block *b, tn_error *err)
{
    copy_counts(import, &b->summary);
    tn_library_lock(import->library);
    tn_status status = fill_locked(import, b, err);
    tn_library_unlock(import->library);
    TN_TRY(status);
    TN_TRY(add_refused(import, b, err));
    b->summary.totals = b->totals;
    b->summary.problems = b->problems;
    b->summary.away = b->away;
    b->summary.vanished_named = b->vanished;
    b->summary.unreadable = b->unreadable;
    return TN_OK;
}

tn_status tn_import_summarise(tn_import *import, tn_import_summary **out, tn_error *err)
{
    void *block = NULL;
    tn_memory_source *memory = import->library->memory;
    TN_TRY(tn_take_array(memory, 1, sizeof(tn_summary_block), &block, err));
    tn_summary_block *b = block;
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
    tn_summary_block *b = (tn_summary_block *)summary;
    tn_memory_source *memory = b->memory;
    tn_give(memory, b->totals, b->total_capacity * sizeof *b->totals);
    tn_give(memory, b->problems, b->problem_capacity * sizeof *b->problems);
    tn_give(memory, b->away, b->away_capacity * sizeof *b->away);
    tn_arena_free(&b->arena);
    tn_give(memory, b, sizeof *b);
}
