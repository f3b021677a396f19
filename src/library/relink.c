#include "library/relink.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "library/record_inside.h"
#include "os/os_fault.h"

/* ---- one record takes over another ---- */

static tn_status run_pair(tn_db *db, tn_query query, int64_t model, int64_t candidate, tn_error *err)
{
    tn_sql s = tn_sql_start(db, query);
    tn_sql_int(&s, model);
    tn_sql_int(&s, candidate);
    return tn_sql_run(&s, err);
}

static tn_status take_row(tn_recording *r, int64_t model, int64_t candidate, tn_error *err)
{
    tn_sql s = tn_sql_start(r->db, TN_QUERY_RELINK_TAKE);
    tn_sql_int(&s, model);
    tn_sql_int(&s, candidate);
    tn_sql_int(&s, r->now_ns);
    return tn_sql_run(&s, err);
}

/* Hashes of other bytes go; those of the same stay only while their files show the size and time they were taken at. */
static tn_status take_hashes(tn_recording *r, int64_t model, int64_t candidate, tn_error *err)
{
    TN_TRY(run_pair(r->db, TN_QUERY_RELINK_HASHES_DROP, model, candidate, err));
    return run_pair(r->db, TN_QUERY_RELINK_HASHES, model, candidate, err);
}

static tn_status take_parts(tn_recording *r, int64_t model, int64_t candidate, tn_error *err)
{
    TN_TRY(tn_record_run_of(r->db, TN_QUERY_FILES_FORGET_OF, model, err));
    TN_TRY(tn_record_run_of(r->db, TN_QUERY_PARTS_DROP_ALL, model, err));
    TN_TRY(tn_record_drop_forgotten(r->db, err));
    return run_pair(r->db, TN_QUERY_RELINK_PARTS, model, candidate, err);
}

static tn_status put_event(tn_recording *r, int64_t model, const char *what, int64_t other, tn_error *err)
{
    char detail[32];
    int size = snprintf(detail, sizeof detail, "%" PRId64, other);
    return tn_record_put_event(r, model, what, (tn_text){detail, (size_t)size}, err);
}

tn_status tn_relink_take(tn_library *library, const tn_record_job *job, int64_t model, int64_t candidate, tn_error *err)
{
    tn_recording r = tn_record_begin(library, job);
    TN_TRY(take_hashes(&r, model, candidate, err));
    TN_TRY(take_parts(&r, model, candidate, err));
    TN_TRY(run_pair(r.db, TN_QUERY_RELINK_TAGS, model, candidate, err));
    TN_TRY(take_row(&r, model, candidate, err));
    TN_TRY(tn_record_run_of(r.db, TN_QUERY_HASHES_DROP_OTHER, model, err));
    TN_TRY(tn_record_run_of(r.db, TN_QUERY_FORMER_DROP, model, err));
    TN_TRY(tn_record_run_of(r.db, TN_QUERY_MODEL_DROP, candidate, err));
    tn_os_point("import.relinked");
    TN_TRY(put_event(&r, candidate, "merged", model, err));
    return put_event(&r, model, "relinked", candidate, err);
}

/* ---- the end of a scan ---- */

/* The first pair that is sure, with the new record behind pair[1]; zeros when there is none. Taking one over changes
 * nothing about those before it, for no others agree with it. */
static tn_status next_pair(tn_library *library, int64_t job, int64_t pair[2], tn_error *err)
{
    bool more = false;
    tn_sql s = tn_sql_start(&library->db, TN_QUERY_RELINK_SURE);
    tn_sql_int(&s, job);
    tn_sql_int(&s, pair[1]);
    pair[0] = pair[1] = 0;
    TN_TRY(tn_sql_row(&s, &more, err));
    if (!more)
        return TN_OK;
    pair[0] = tn_sql_get_int(&s, 0);
    pair[1] = tn_sql_get_int(&s, 1);
    tn_sql_end(&s);
    return TN_OK;
}

static tn_status run_of_job(tn_library *library, tn_query query, int64_t job, tn_error *err)
{
    tn_sql s = tn_sql_start(&library->db, query);
    tn_sql_int(&s, job);
    return tn_sql_run(&s, err);
}

tn_status tn_relink_settle(tn_library *library, const tn_record_job *job,
                           tn_status (*each)(void *user, int64_t model, int64_t gone, tn_error *err), void *user,
                           tn_error *err)
{
    TN_TRY(run_of_job(library, TN_QUERY_UNSETTLED_ADOPT, job->job, err));
    for (int64_t pair[2] = {0, 0};;) {
        TN_TRY(next_pair(library, job->job, pair, err));
        if (pair[0] == 0)
            break;
        TN_TRY(tn_relink_take(library, job, pair[0], pair[1], err));
        TN_TRY(each(user, pair[0], pair[1], err));
    }
    return run_of_job(library, TN_QUERY_UNSETTLED_SETTLE, job->job, err);
}
