/* Which model a claim is, and what becomes of it. The rows themselves: record_rows.c. */
#include "library/record_inside.h"

#include <string.h>

/* ---- which model a claim is ---- */

/* The path is one of several that led to one file, and now leads to another: it becomes a model of its own. */
static tn_status part_ways(tn_recording *r, tn_entry_row *row, tn_error *err)
{
    int64_t others = 0;
    if (row->model == 0 || r->claim->kind != TN_CLAIM_FILE || !r->claim->has_who)
        return TN_OK;
    tn_sql s = tn_sql_start(r->db, TN_QUERY_OTHER_PATHS);
    tn_sql_int(&s, row->model);
    tn_sql_int(&s, 0);
    tn_sql_blob(&s, r->claim->path, r->claim->path_size);
    tn_record_bind_file_id(&s, r->claim->info.file_id);
    tn_sql_int(&s, (int64_t)r->claim->info.size);
    TN_TRY(tn_record_one_number(&s, &others, err));
    if (others == 0)
        return TN_OK;
    s = tn_sql_start(r->db, TN_QUERY_PART_DROP);
    tn_sql_int(&s, row->model);
    tn_sql_int(&s, row->file);
    TN_TRY(tn_sql_run(&s, err));
    s = tn_sql_start(r->db, TN_QUERY_MODEL_SHOW_PATH);
    tn_sql_int(&s, row->model);
    row->model = 0;
    return tn_sql_run(&s, err);
}

/* The same file known by another path: also one that was renamed, whose old path is found missing later. */
static tn_status find_same_file(tn_recording *r, int64_t *out, tn_error *err)
{
    const tn_claim *claim = r->claim;
    *out = 0;
    if (claim->kind != TN_CLAIM_FILE || !claim->has_who || !r->reading->has_sample)
        return TN_OK;
    tn_sql s = tn_sql_start(r->db, TN_QUERY_SAME_FILE);
    tn_record_bind_file_id(&s, claim->info.file_id);
    tn_sql_int(&s, (int64_t)claim->info.size);
    tn_sql_int(&s, claim->info.mtime_ns);
    tn_sql_int(&s, (int64_t)claim->info.device);
    tn_sql_blob(&s, r->reading->sample, sizeof r->reading->sample);
    return tn_record_one_number(&s, out, err);
}

/* A shard that was named, of a set that is recorded by its index. */
static tn_status find_set(tn_recording *r, int64_t *out, tn_error *err)
{
    const tn_answer *answer = r->reading->answer;
    if (*out != 0 || answer->part_count < 2)
        return TN_OK;
    tn_sql s = tn_sql_start(r->db, TN_QUERY_SET_OF_PART);
    tn_sql_blob(&s, answer->parts[0].path.bytes, answer->parts[0].path.size);
    tn_sql_int(&s, (int64_t)answer->part_count);
    return tn_record_one_number(&s, out, err);
}

/* Did the bytes change, as far as size and sample tell? */
static tn_status compare_before(tn_recording *r, int64_t model, bool *changed, tn_error *err)
{
    bool more = false;
    tn_sql s = tn_sql_start(r->db, TN_QUERY_MODEL_BEFORE);
    tn_sql_int(&s, model);
    TN_TRY(tn_sql_row(&s, &more, err));
    if (!more)
        return TN_OK;
    tn_text sample = tn_sql_get(&s, 1);
    const tn_reading *reading = r->reading;
    bool same_sample = reading->has_sample ? sample.size == 32 && memcmp(sample.bytes, reading->sample, 32) == 0
                                           : sample.size == 0;
    *changed = !same_sample || tn_sql_get_int(&s, 0) != (int64_t)reading->answer->size_bytes;
    tn_sql_end(&s);
    return TN_OK;
}

/* ---- rows of parts ---- */

static bool is_entry(const tn_recording *r, const tn_part *part)
{
    return part->path.size == r->claim->path_size && memcmp(part->path.bytes, r->claim->path, part->path.size) == 0;
}

/* The row shows the part as it is now. But where the same path is a model of its own, it keeps showing the bytes that
 * model was read from, or their change would never be noticed. */
static tn_status put_part_file(tn_recording *r, size_t i, int64_t *out, tn_error *err)
{
    tn_text path = r->reading->answer->parts[i].path;
    tn_entry_row row;
    TN_TRY(tn_record_find_entry(r->db, path.bytes, path.size, NULL, &row, err));
    tn_query query = row.model != 0 ? TN_QUERY_FILE_ADD : TN_QUERY_FILE_PUT;
    return tn_record_put_file(r->db, query, path, &r->reading->parts[i], NULL, out, err);
}

static tn_status put_parts(tn_recording *r, int64_t model, int64_t entry_file, tn_error *err)
{
    const tn_answer *answer = r->reading->answer;
    int64_t entry_position = r->reading->part_count == 0 ? 0 : -1;
    for (size_t i = 0; i < r->reading->part_count; i++) {
        int64_t file = 0;
        if (is_entry(r, &answer->parts[i])) {
            entry_position = (int64_t)i;
            continue;
        }
        TN_TRY(put_part_file(r, i, &file, err));
        TN_TRY(tn_record_put_part(r, model, file, (int64_t)i, false, err));
    }
    return tn_record_put_part(r, model, entry_file, entry_position, true, err);
}

static tn_status drop_plain_parts(tn_recording *r, int64_t model, tn_error *err)
{
    tn_sql s = tn_sql_start(r->db, TN_QUERY_PARTS_DROP_PLAIN);
    tn_sql_int(&s, model);
    return tn_sql_run(&s, err);
}

/* ---- a path that changes its model ---- */

static tn_status count_entries(tn_db *db, int64_t model, int64_t *out, tn_error *err)
{
    tn_sql s = tn_sql_start(db, TN_QUERY_ENTRIES);
    tn_sql_int(&s, model);
    return tn_record_one_number(&s, out, err);
}

/* The path belonged to another model. That one keeps its other paths; without any it is no more, and an event says
 * why. */
static tn_status leave(tn_recording *r, int64_t from, int64_t file, const char *why, tn_error *err)
{
    int64_t entries = 0;
    tn_sql s = tn_sql_start(r->db, TN_QUERY_PART_DROP);
    tn_sql_int(&s, from);
    tn_sql_int(&s, file);
    TN_TRY(tn_sql_run(&s, err));
    TN_TRY(count_entries(r->db, from, &entries, err));
    s = tn_sql_start(r->db, entries > 0 ? TN_QUERY_MODEL_SHOW_PATH : TN_QUERY_MODEL_DROP);
    tn_sql_int(&s, from);
    TN_TRY(tn_sql_run(&s, err));
    return entries > 0 ? TN_OK : tn_record_put_event(r, from, why, (tn_text){"", 0}, err);
}

/* ---- a claim that was read ---- */

static tn_status update_or_put(tn_recording *r, int64_t model, tn_recorded *out, tn_error *err)
{
    int64_t file = 0;
    bool changed = false;
    if (model != 0) {
        TN_TRY(compare_before(r, model, &changed, err));
        TN_TRY(drop_plain_parts(r, model, err));
    }
    out->fresh = model == 0;
    TN_TRY(tn_record_write_model(r, &model, err));
    TN_TRY(tn_record_put_entry_file(r, &file, err));
    TN_TRY(put_parts(r, model, file, err));
    out->model = model;
    out->changed = changed;
    const char *what = r->crashed ? "crashed" : out->fresh ? "added" : changed ? "changed" : "looked_at";
    return tn_record_put_event(r, model, what, (tn_text){"", 0}, err);
}

/* A model whose parts all have a path again is there again, and is shown by a path that is. */
static tn_status come_back(tn_recording *r, int64_t model, tn_error *err)
{
    int64_t whole = 0;
    tn_sql s = tn_sql_start(r->db, TN_QUERY_MODEL_WHOLE);
    tn_sql_int(&s, model);
    TN_TRY(tn_record_one_number(&s, &whole, err));
    if (whole == 0)
        return TN_OK;
    s = tn_sql_start(r->db, TN_QUERY_MODEL_BACK);
    tn_sql_int(&s, model);
    tn_sql_int(&s, r->now_ns);
    TN_TRY(tn_sql_run(&s, err));
    s = tn_sql_start(r->db, TN_QUERY_MODEL_SHOW_PATH);
    tn_sql_int(&s, model);
    return tn_sql_run(&s, err);
}

/* The claim's path becomes one more path of `model`, and leaves the model it led to before. */
static tn_status attach(tn_recording *r, int64_t before, int64_t model, int64_t position, tn_recorded *out, tn_error *err)
{
    int64_t file = 0;
    TN_TRY(tn_record_put_entry_file(r, &file, err));
    if (before != 0 && before != model)
        TN_TRY(leave(r, before, file, "merged", err));
    out->model = model;
    out->attached = before != model;
    TN_TRY(tn_record_put_part(r, model, file, position, true, err));
    TN_TRY(come_back(r, model, err));
    return out->attached ? tn_record_put_event(r, model, "path_added", (tn_text){"", 0}, err) : TN_OK;
}

/* Whether all that was ever known of a model is that it could not be read. */
static tn_status was_never_read(tn_recording *r, int64_t model, bool *out, tn_error *err)
{
    bool more = false;
    tn_sql s = tn_sql_start(r->db, TN_QUERY_MODEL_BEFORE);
    tn_sql_int(&s, model);
    TN_TRY(tn_sql_row(&s, &more, err));
    *out = more && strcmp(tn_sql_get(&s, 2).bytes, "unreadable") == 0;
    if (more)
        tn_sql_end(&s);
    return TN_OK;
}

/* The suffix claimed what the content does not keep. */
static tn_status record_no_model(tn_recording *r, tn_entry_row *row, bool *done, tn_error *err)
{
    int64_t file = 0;
    bool never_read = true;
    if (row->model != 0)
        TN_TRY(was_never_read(r, row->model, &never_read, err));
    *done = never_read;
    if (!never_read)
        return TN_OK;
    TN_TRY(tn_record_put_entry_file(r, &file, err));
    return row->model != 0 ? leave(r, row->model, file, "dropped", err) : TN_OK;
}

static tn_status record(tn_recording *r, bool expected_new, tn_recorded *out, tn_error *err)
{
    tn_entry_row row;
    int64_t model = 0;
    bool done = false;
    TN_TRY(tn_record_find_entry(r->db, r->claim->path, r->claim->path_size, r->claim, &row, err));
    if (expected_new && row.file != 0 && row.same && !r->crashed) {
        out->known = true;
        out->model = row.model;
        return TN_OK;
    }
    bool holds = tn_claim_holds(r->claim->suffix, r->reading->answer) || r->claim->kind != TN_CLAIM_FILE || r->crashed;
    if (!holds)
        TN_TRY(record_no_model(r, &row, &done, err));
    if (done)
        return TN_OK;
    TN_TRY(find_same_file(r, &model, err));
    if (row.model == 0)
        TN_TRY(find_set(r, &model, err));
    if (model != 0 && model != row.model)
        return attach(r, row.model, model, r->reading->part_count == 0 ? 0 : -1, out, err);
    TN_TRY(part_ways(r, &row, err));
    return update_or_put(r, row.model, out, err);
}

tn_status tn_record_claim(tn_library *library, int64_t job, const tn_claim *claim, const tn_reading *reading,
                          bool crashed, bool expected_new, tn_recorded *out, tn_error *err)
{
    tn_recording r = {library, &library->db, job, tn_os_wall_ns(), claim, reading, crashed};
    tn_recorded recorded = {0};
    TN_TRY(record(&r, expected_new, &recorded, err));
    *out = recorded;
    return TN_OK;
}

/* ---- a path that leads to a file already recorded ---- */

static tn_status record_alias(tn_recording *r, tn_text target, tn_recorded *out, tn_error *err)
{
    tn_entry_row row, to;
    int64_t file = 0;
    TN_TRY(tn_record_find_entry(r->db, r->claim->path, r->claim->path_size, r->claim, &row, err));
    TN_TRY(tn_record_find_entry(r->db, target.bytes, target.size, NULL, &to, err));
    if (to.model == 0)
        return tn_record_put_entry_file(r, &file, err);
    return attach(r, row.model, to.model, r->claim->kind == TN_CLAIM_FILE ? 0 : -1, out, err);
}

tn_status tn_record_alias(tn_library *library, int64_t job, const tn_claim *claim, tn_text target, tn_recorded *out,
                          tn_error *err)
{
    tn_recording r = {library, &library->db, job, tn_os_wall_ns(), claim, NULL, false};
    tn_recorded recorded = {0};
    TN_TRY(record_alias(&r, target, &recorded, err));
    *out = recorded;
    return TN_OK;
}

/* ---- files that are gone ---- */

#define MODELS_OF_A_FILE 16 /* a file is part of one model, seldom of two */

static tn_status set_presence(tn_recording *r, int64_t model, bool offline, uint64_t *gone, tn_error *err)
{
    int64_t whole = 0;
    const char *presence = offline ? "offline" : "missing";
    tn_sql s = tn_sql_start(r->db, TN_QUERY_MODEL_WHOLE);
    tn_sql_int(&s, model);
    TN_TRY(tn_record_one_number(&s, &whole, err));
    if (whole != 0) {
        s = tn_sql_start(r->db, TN_QUERY_MODEL_SHOW_PATH);
        tn_sql_int(&s, model);
        return tn_sql_run(&s, err);
    }
    s = tn_sql_start(r->db, TN_QUERY_MODEL_PRESENCE);
    tn_sql_int(&s, model);
    tn_sql_text(&s, presence, strlen(presence));
    tn_sql_int(&s, r->now_ns);
    TN_TRY(tn_sql_run(&s, err));
    if (sqlite3_changes(r->db->handle) == 0)
        return TN_OK;
    ++*gone;
    return tn_record_put_event(r, model, presence, (tn_text){"", 0}, err);
}

tn_status tn_record_missing(tn_library *library, int64_t job, int64_t file, bool offline, uint64_t *gone,
                            tn_error *err)
{
    tn_recording r = {library, &library->db, job, tn_os_wall_ns(), NULL, NULL, false};
    int64_t models[MODELS_OF_A_FILE];
    size_t count = 0;
    tn_sql s = tn_sql_start(r.db, TN_QUERY_FILE_MISSING);
    tn_sql_int(&s, file);
    TN_TRY(tn_sql_run(&s, err));
    s = tn_sql_start(r.db, TN_QUERY_MODELS_OF_FILE);
    tn_sql_int(&s, file);
    for (bool more = true; more && count < MODELS_OF_A_FILE;) {
        TN_TRY(tn_sql_row(&s, &more, err));
        if (more)
            models[count++] = tn_sql_get_int(&s, 0);
    }
    tn_sql_end(&s);
    for (size_t i = 0; i < count; i++)
        TN_TRY(set_presence(&r, models[i], offline, gone, err));
    return TN_OK;
}
