/* Records taken out of the list, kept column by column, and put back. */
#include "library/acts_records.h"

#include <string.h>

/* ---- taking out ---- */

static tn_status keep_files(tn_act_plan *plan, int64_t file, tn_error *err)
{
    tn_sql s = tn_sql_start(&plan->library->db, TN_QUERY_ACT_KEEP_FILES);
    tn_sql_int(&s, plan->model);
    tn_sql_int(&s, plan->id);
    tn_sql_int(&s, file);
    return tn_sql_run(&s, err);
}

/* The record stays; the paths of the steps leave it. */
static tn_status take_paths_out(tn_act_plan *plan, tn_recording *r, tn_error *err)
{
    for (size_t i = 0; i < plan->count; i++) {
        tn_entry_row row;
        tn_text path = plan->steps[i].source;
        TN_TRY(tn_record_find_entry(r->db, path.bytes, path.size, NULL, &row, err));
        if (row.file == 0)
            continue;
        TN_TRY(keep_files(plan, row.file, err));
        TN_TRY(tn_act_run_with(plan, TN_QUERY_PART_DROP, plan->model, row.file, err));
        TN_TRY(tn_act_run_with(plan, TN_QUERY_ACT_FILE_AWAY, row.file, 0, err));
    }
    return tn_record_settle_presence(r, plan->model, err);
}

static tn_status drop_rows(tn_act_plan *plan, const int64_t *files, size_t count, tn_error *err)
{
    for (size_t i = 0; i < count; i++)
        TN_TRY(tn_act_run_with(plan, TN_QUERY_ACT_FILE_AWAY, files[i], 0, err));
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->steps[i].shape != TN_OS_FOLDER)
            continue;
        tn_sql s = tn_sql_start(&plan->library->db, TN_QUERY_ACT_ROOT_AWAY);
        tn_sql_blob(&s, plan->steps[i].source.bytes, plan->steps[i].source.size);
        TN_TRY(tn_sql_run(&s, err));
    }
    return TN_OK;
}

/* The files of the model, into the plan's arena. */
static tn_status files_of_model(tn_act_plan *plan, int64_t **out, size_t *count, tn_error *err)
{
    int64_t total = 0;
    bool more = false;
    tn_sql s = tn_sql_start(&plan->library->db, TN_QUERY_ACT_FILES_OF_MODEL);
    tn_sql_int(&s, plan->model);
    for (more = true; more; total += more)
        TN_TRY(tn_sql_row(&s, &more, err));
    *out = tn_arena_take_array(&plan->arena, (size_t)total, sizeof **out);
    *count = 0;
    TN_TRY(tn_arena_status(&plan->arena, err));
    s = tn_sql_start(&plan->library->db, TN_QUERY_ACT_FILES_OF_MODEL);
    tn_sql_int(&s, plan->model);
    for (more = true; more;) {
        TN_TRY(tn_sql_row(&s, &more, err));
        if (more && *count < (size_t)total)
            (*out)[(*count)++] = tn_sql_get_int(&s, 0);
    }
    return TN_OK;
}

static tn_status take_record_out(tn_act_plan *plan, bool keep_rows, tn_error *err)
{
    int64_t *files = NULL;
    size_t count = 0;
    TN_TRY(tn_act_run_with(plan, TN_QUERY_ACT_KEEP_MODEL, plan->model, plan->id, err));
    TN_TRY(keep_files(plan, 0, err));
    TN_TRY(tn_act_run_with(plan, TN_QUERY_ACT_KEEP_TAGS, plan->model, plan->id, err));
    TN_TRY(tn_act_run_with(plan, TN_QUERY_ACT_KEEP_HASHES, plan->model, plan->id, err));
    TN_TRY(files_of_model(plan, &files, &count, err));
    TN_TRY(tn_act_run_with(plan, TN_QUERY_MODEL_DROP, plan->model, 0, err));
    return keep_rows ? TN_OK : drop_rows(plan, files, count, err);
}

static tn_status has_model(tn_act_plan *plan, bool *out, tn_error *err)
{
    int64_t id = 0;
    tn_sql s = tn_sql_start(&plan->library->db, TN_QUERY_FIND_ID);
    tn_sql_int(&s, plan->model);
    TN_TRY(tn_record_one_number(&s, &id, err));
    *out = id != 0;
    return TN_OK;
}

tn_status tn_act_take_out(tn_act_plan *plan, tn_text path, bool keep_rows, tn_error *err)
{
    bool there = false;
    int64_t entries = 0;
    tn_recording r = tn_act_recording(plan);
    TN_TRY(has_model(plan, &there, err));
    if (!there)
        return TN_OK;
    tn_sql s = tn_sql_start(r.db, TN_QUERY_ENTRIES);
    tn_sql_int(&s, plan->model);
    TN_TRY(tn_record_one_number(&s, &entries, err));
    if (path.size > 0 && entries > 1)
        TN_TRY(take_paths_out(plan, &r, err));
    else
        TN_TRY(take_record_out(plan, keep_rows, err));
    const char *what = plan->kind == TN_ACT_FORGET ? "forgotten" : plan->kind == TN_ACT_TRASH ? "trashed" : "deleted";
    return tn_record_put_event(&r, plan->model, what, (tn_text){"", 0}, err);
}

/* ---- putting back ---- */

static tn_status put_file_back(tn_act_plan *plan, tn_recording *r, const tn_sql *row, tn_error *err)
{
    tn_os_info info = {.size = (uint64_t)tn_sql_get_int(row, 1), .mtime_ns = tn_sql_get_int(row, 2),
                       .device = (uint64_t)tn_sql_get_int(row, 3), .links = (uint64_t)tn_sql_get_int(row, 5),
                       .weak_identity = tn_sql_get_int(row, 6) != 0};
    tn_text id = tn_sql_get(row, 4), members = tn_sql_get(row, 7);
    int64_t file = 0;
    if (id.size == sizeof info.file_id)
        memcpy(info.file_id, id.bytes, sizeof info.file_id);
    TN_TRY(tn_record_put_file(r->db, TN_QUERY_FILE_PUT, tn_sql_get(row, 0), &info,
                              members.size == 32 ? (const uint8_t *)members.bytes : NULL, &file, err));
    return tn_record_put_part(r, plan->model, file, tn_sql_get_int(row, 8), tn_sql_get_int(row, 9) != 0, err);
}

static tn_status put_files_back(tn_act_plan *plan, tn_recording *r, int64_t act, tn_error *err)
{
    tn_status status = TN_OK;
    tn_sql s = tn_sql_start(r->db, TN_QUERY_ACT_BACK_FILES);
    tn_sql_int(&s, act);
    for (bool more = true; more && status == TN_OK;) {
        status = tn_sql_row(&s, &more, err);
        if (status == TN_OK && more)
            status = put_file_back(plan, r, &s, err);
    }
    tn_sql_end(&s);
    return status;
}

static tn_status put_model_back(tn_act_plan *plan, int64_t act, tn_error *err)
{
    int64_t kept = 0;
    bool there = false;
    tn_sql s = tn_sql_start(&plan->library->db, TN_QUERY_ACT_KEPT_MODEL);
    tn_sql_int(&s, act);
    TN_TRY(tn_record_one_number(&s, &kept, err));
    if (kept != 0)
        return tn_act_run_with(plan, TN_QUERY_ACT_BACK_MODEL, act, 0, err);
    TN_TRY(has_model(plan, &there, err));
    return there ? TN_OK : tn_fail(err, TN_NOT_FOUND, "the record that this path belonged to is gone");
}

tn_status tn_act_put_back(tn_act_plan *plan, int64_t act, tn_error *err)
{
    static const tn_query drops[] = {TN_QUERY_ACT_DROP_KEPT_MODELS, TN_QUERY_ACT_DROP_KEPT_FILES,
                                     TN_QUERY_ACT_DROP_KEPT_TAGS, TN_QUERY_ACT_DROP_KEPT_HASHES};
    tn_recording r = tn_act_recording(plan);
    int64_t taken = 0;
    tn_sql s = tn_sql_start(r.db, TN_QUERY_ACT_KEPT_TAKEN);
    tn_sql_int(&s, act);
    TN_TRY(tn_record_one_number(&s, &taken, err));
    if (taken != 0)
        return tn_fail(err, TN_EXISTS, "its file is recorded anew, as model %lld: remove that from the list first",
                       (long long)taken);
    TN_TRY(put_model_back(plan, act, err));
    TN_TRY(put_files_back(plan, &r, act, err));
    TN_TRY(tn_act_run_with(plan, TN_QUERY_ACT_BACK_TAGS, act, plan->model, err));
    TN_TRY(tn_act_run_with(plan, TN_QUERY_ACT_BACK_HASHES, act, plan->model, err));
    TN_TRY(tn_record_settle_presence(&r, plan->model, err));
    for (size_t i = 0; i < sizeof drops / sizeof drops[0]; i++)
        TN_TRY(tn_act_run_with(plan, drops[i], act, 0, err));
    return tn_record_put_event(&r, plan->model, "restored", (tn_text){"", 0}, err);
}
