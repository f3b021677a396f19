/* The end of an import: which new records are old ones, what was left behind, the job's last row, in one transaction.
 * Then what waited for it is told. */
#include "library/import_inside.h"

#include <stdlib.h>
#include <string.h>

#include "library/hash_job.h"
#include "library/place.h"
#include "library/relink.h"
#include "os/os_fault.h"

/* A record that is there by another path forgets the one it was moved from, and so does the library. */
static tn_status leave_behind(tn_import *import, tn_error *err)
{
    for (size_t i = 0; i < import->path_count; i++) {
        TN_TRY(tn_known_run_below(import->library, TN_QUERY_PARTS_LEFT_BEHIND, import->paths[i], err));
        TN_TRY(tn_known_run_below(import->library, TN_QUERY_FILES_DROP_GONE, import->paths[i], err));
    }
    return TN_OK;
}

static tn_status add_relinked(void *user, int64_t model, int64_t gone, tn_error *err)
{
    tn_import *import = user;
    void *items = import->relinked;
    TN_TRY(tn_make_room(import->library->memory, &items, &import->relinked_capacity, import->relinked_count,
                        sizeof *import->relinked, 16, err));
    import->relinked = items;
    import->relinked[import->relinked_count++] = (tn_relinked){model, gone};
    return TN_OK;
}

static tn_status scanned(tn_import *import, const char *path, tn_error *err)
{
    tn_sql s = tn_sql_start(&import->library->db, TN_QUERY_ROOT_SCANNED);
    tn_sql_blob(&s, path, strlen(path));
    tn_sql_int(&s, tn_os_wall_ns());
    return tn_sql_run(&s, err);
}

/* A watch scans again and again: what found nothing at all leaves no row behind. */
static tn_status drop_idle(tn_import *import, tn_error *err)
{
    bool idle = import->item_count == 0 && import->news_count == 0 && import->relinked_count == 0;
    if (import->options->still_ms == 0 || import->journal.resumed || !idle)
        return TN_OK;
    tn_sql s = tn_sql_start(&import->library->db, TN_QUERY_JOB_DROP);
    tn_sql_int(&s, import->journal.job);
    return tn_sql_run(&s, err);
}

static tn_status finish_inside(tn_import *import, tn_error *err)
{
    TN_TRY(tn_journal_check(&import->journal, err));
    TN_TRY(tn_relink_settle(import->library, &import->job, add_relinked, import, err));
    tn_os_point("import.settled");
    TN_TRY(leave_behind(import, err));
    for (size_t i = 0; i < import->path_count; i++)
        TN_TRY(scanned(import, import->paths[i], err));
    TN_TRY(tn_hash_job_queue(import->library, import->paths, import->path_count, import->options, &import->hash_job,
                             err));
    TN_TRY(tn_journal_finish(&import->journal, err));
    TN_TRY(drop_idle(import, err));
    tn_os_point("import.finishing");
    return TN_OK;
}

/* ---- what waited ---- */

static int by_gone(const void *a, const void *b)
{
    const tn_relinked *x = a, *y = b;
    return x->gone < y->gone ? -1 : x->gone > y->gone;
}

/* They came in the order of the records that are gone. */
static const tn_relinked *find_relinked(const tn_import *import, int64_t gone)
{
    const tn_relinked key = {0, gone};
    if (import->relinked_count == 0)
        return NULL;
    return bsearch(&key, import->relinked, import->relinked_count, sizeof key, by_gone);
}

static void tell_held(tn_import *import, const tn_held *held)
{
    const tn_relinked *to = find_relinked(import, held->model);
    import->held_fresh -= held->fresh;
    if (held->fresh && to == NULL)
        import->fresh++;
    else if (held->changed && to == NULL)
        import->changed++;
    tn_import_tell(import, &(tn_import_event){.id = to != NULL ? to->model : held->model,
                                              .fresh = held->fresh && to == NULL,
                                              .changed = held->changed && to == NULL, .relinked = to != NULL});
}

tn_status tn_import_finish(tn_import *import, tn_error *err)
{
    if (tn_import_is_dry(import))
        return TN_OK;
    TN_TRY(tn_library_begin(import->library, err));
    TN_TRY(tn_library_end(import->library, finish_inside(import, err), err));
    tn_os_point("import.finished");
    for (size_t i = 0; i < import->held_count; i++)
        tell_held(import, &import->held[i]);
    return TN_OK;
}
