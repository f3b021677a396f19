/* Which record a claim belongs to, and what becomes of it. What its path was before: record_judge.c; the rows themselves:
 * record_rows.c; records without a path: record_presence.c. */
#include "library/record_inside.h"

#include <string.h>

bool tn_record_is_one_file(const tn_reading *reading)
{
    return reading->part_count == 0 && reading->answer->part_count == 1;
}

/* ---- the same file under another path ---- */

static tn_status find_same_file(tn_recording *r, int64_t *out, tn_error *err)
{
    const tn_claim *claim = r->claim;
    *out = 0;
    if (!tn_record_is_one_file(r->reading) || !claim->has_who || !r->reading->has_sample)
        return TN_OK;
    tn_sql s = tn_sql_start(r->db, TN_QUERY_SAME_FILE);
    tn_record_bind_file_id(&s, claim->info.file_id);
    tn_sql_int(&s, (int64_t)claim->info.size);
    tn_sql_int(&s, claim->info.mtime_ns);
    tn_sql_int(&s, (int64_t)claim->info.device);
    tn_sql_blob(&s, r->reading->sample, sizeof r->reading->sample);
    return tn_record_one_number(&s, out, err);
}

/* A shard that was named, or an index that was added, of a set that is recorded by another entry. */
static tn_status find_set(tn_recording *r, int64_t *out, tn_error *err)
{
    const tn_answer *answer = r->reading->answer;
    if (answer->part_count < 2 || !r->reading->has_sample)
        return TN_OK;
    tn_sql s = tn_sql_start(r->db, TN_QUERY_SET_OF_PART);
    tn_sql_blob(&s, answer->parts[0].path.bytes, answer->parts[0].path.size);
    tn_sql_int(&s, (int64_t)answer->part_count);
    tn_sql_int(&s, (int64_t)answer->size_bytes);
    tn_sql_blob(&s, r->reading->sample, sizeof r->reading->sample);
    return tn_record_one_number(&s, out, err);
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

/* What was a part and is none any more is met anew, should it be met alone. */
static tn_status drop_plain_parts(tn_recording *r, int64_t model, tn_error *err)
{
    TN_TRY(tn_record_run_of(r->db, TN_QUERY_FILES_FORGET_PLAIN, model, err));
    return tn_record_run_of(r->db, TN_QUERY_PARTS_DROP_PLAIN, model, err);
}

/* ---- a claim that was read ---- */

/* Did the bytes change, as far as size and sample tell? */
static tn_status bytes_changed(tn_recording *r, int64_t model, bool *changed, tn_error *err)
{
    tn_before b;
    const tn_reading *reading = r->reading;
    TN_TRY(tn_record_load_before(r, model, &b, err));
    if (!b.there)
        return TN_OK;
    bool same_sample = b.has_sample == reading->has_sample &&
                       (!b.has_sample || memcmp(b.sample, reading->sample, sizeof b.sample) == 0);
    *changed = !same_sample || b.size != (int64_t)reading->answer->size_bytes;
    return TN_OK;
}

/* Whether another record has the same size and sample: this one may turn out to be its file. */
static tn_status has_twin(tn_recording *r, int64_t model, bool *out, tn_error *err)
{
    int64_t twins = 0;
    *out = false;
    if (!r->reading->has_sample)
        return TN_OK;
    tn_sql s = tn_sql_start(r->db, TN_QUERY_TWINS_OF);
    tn_sql_int(&s, model);
    TN_TRY(tn_record_one_number(&s, &twins, err));
    *out = twins > 0;
    return TN_OK;
}

/* A record whose bytes were never seen is as good as new once they are: it may turn out to be the file of another. */
static tn_status unsettle(tn_recording *r, int64_t model, tn_recorded *out, tn_error *err)
{
    tn_sql s = tn_sql_start(r->db, TN_QUERY_MODEL_UNSETTLE);
    tn_sql_int(&s, model);
    tn_sql_int(&s, r->job);
    TN_TRY(tn_sql_run(&s, err));
    return has_twin(r, model, &out->held, err);
}

static tn_status update(tn_recording *r, int64_t model, tn_recorded *out, tn_error *err)
{
    int64_t file = 0;
    tn_nobody nobody;
    TN_TRY(tn_record_ask_nobody(r, model, &nobody, err));
    TN_TRY(bytes_changed(r, model, &out->changed, err));
    TN_TRY(drop_plain_parts(r, model, err));
    TN_TRY(tn_record_write_model(r, &model, err));
    TN_TRY(tn_record_put_entry_file(r, &file, err));
    TN_TRY(put_parts(r, model, file, err));
    TN_TRY(tn_record_drop_forgotten(r->db, err));
    TN_TRY(tn_record_run_of(r->db, TN_QUERY_HASHES_DROP_OTHER, model, err));
    TN_TRY(tn_record_run_of(r->db, TN_QUERY_FORMER_DROP, model, err));
    if (nobody.unsampled && r->reading->has_sample)
        TN_TRY(unsettle(r, model, out, err));
    out->model = model;
    const char *what = r->crashed ? "crashed" : out->changed ? "changed" : "looked_at";
    return tn_record_put_event(r, model, what, (tn_text){"", 0}, err);
}

static tn_status put_new(tn_recording *r, tn_recorded *out, tn_error *err)
{
    int64_t file = 0, model = 0;
    TN_TRY(tn_record_write_model(r, &model, err));
    TN_TRY(tn_record_put_entry_file(r, &file, err));
    TN_TRY(put_parts(r, model, file, err));
    TN_TRY(has_twin(r, model, &out->held, err));
    out->model = model;
    out->fresh = true;
    return tn_record_put_event(r, model, r->crashed ? "crashed" : "added", (tn_text){"", 0}, err);
}

/* A file that is a part of the model already keeps its position. */
static tn_status join(tn_recording *r, int64_t model, int64_t file, int64_t position, tn_error *err)
{
    tn_sql s = tn_sql_start(r->db, TN_QUERY_PART_JOIN);
    tn_sql_int(&s, model);
    tn_sql_int(&s, file);
    tn_sql_int(&s, position);
    return tn_sql_run(&s, err);
}

/* The claim's path becomes one more path of `model`, and leaves the record it belonged to before. */
static tn_status attach(tn_recording *r, const tn_entry_row *row, int64_t model, int64_t position, tn_recorded *out,
                        tn_error *err)
{
    int64_t file = 0;
    TN_TRY(tn_record_put_entry_file(r, &file, err));
    if (row->model != 0 && row->model != model)
        TN_TRY(tn_record_leave(r, row->model, row, err));
    TN_TRY(join(r, model, file, position, err));
    TN_TRY(tn_record_settle_presence(r, model, err));
    out->model = model;
    out->attached = row->model != model;
    return out->attached ? tn_record_put_event(r, model, "path_added", (tn_text){"", 0}, err) : TN_OK;
}

/* ---- what is no model ---- */

/* The suffix claimed what the content does not keep. *done false when it is a record that stays one. */
static tn_status record_no_model(tn_recording *r, const tn_entry_row *row, tn_verdict verdict, bool *done, tn_error *err)
{
    int64_t file = 0;
    tn_nobody nobody = {false, false};
    if (row->model != 0)
        TN_TRY(tn_record_ask_nobody(r, row->model, &nobody, err));
    *done = nobody.unread || verdict != TN_VERDICT_SAME;
    if (!*done)
        return TN_OK;
    if (row->model != 0)
        TN_TRY(tn_record_leave(r, row->model, row, err));
    return tn_record_put_entry_file(r, &file, err);
}

/* ---- the whole of it ---- */

static bool holds(const tn_recording *r)
{
    return r->claim->kind != TN_CLAIM_FILE || r->crashed || tn_claim_holds(r->claim->suffix, r->reading->answer);
}

static tn_status record_model(tn_recording *r, const tn_entry_row *row, tn_verdict verdict, tn_recorded *out,
                              tn_error *err)
{
    int64_t model = 0;
    TN_TRY(find_same_file(r, &model, err));
    if (model == 0 && row->model == 0)
        TN_TRY(find_set(r, &model, err));
    if (model != 0 && model != row->model)
        return attach(r, row, model, r->reading->part_count == 0 ? 0 : -1, out, err);
    if (verdict == TN_VERDICT_SAME || verdict == TN_VERDICT_CARRY_ON)
        return update(r, row->model, out, err);
    if (verdict == TN_VERDICT_OTHER)
        TN_TRY(tn_record_leave(r, row->model, row, err));
    return put_new(r, out, err);
}

static tn_status record(tn_recording *r, bool expected_new, tn_recorded *out, tn_error *err)
{
    tn_entry_row row;
    tn_verdict verdict = TN_VERDICT_NEW;
    bool done = false;
    TN_TRY(tn_record_find_entry(r->db, r->claim->path, r->claim->path_size, r->claim, &row, err));
    if (expected_new && row.file != 0 && row.present && row.same && !r->crashed) {
        out->known = true;
        out->model = row.model;
        return TN_OK;
    }
    TN_TRY(tn_record_judge(r, &row, &verdict, err));
    if (!holds(r))
        TN_TRY(record_no_model(r, &row, verdict, &done, err));
    return done ? TN_OK : record_model(r, &row, verdict, out, err);
}

tn_status tn_record_claim(tn_library *library, const tn_record_job *job, const tn_claim *claim,
                          const tn_reading *reading, bool crashed, bool expected_new, tn_recorded *out, tn_error *err)
{
    tn_recording r = tn_record_begin(library, job);
    tn_recorded recorded = {0};
    r.claim = claim;
    r.reading = reading;
    r.crashed = crashed;
    TN_TRY(record(&r, expected_new, &recorded, err));
    *out = recorded;
    return TN_OK;
}

static tn_status foresee(tn_recording *r, tn_recorded *out, tn_error *err)
{
    tn_entry_row row;
    tn_verdict verdict = TN_VERDICT_NEW;
    int64_t model = 0;
    TN_TRY(tn_record_find_entry(r->db, r->claim->path, r->claim->path_size, r->claim, &row, err));
    TN_TRY(tn_record_judge(r, &row, &verdict, err));
    TN_TRY(find_same_file(r, &model, err));
    if (model == 0 && row.model == 0)
        TN_TRY(find_set(r, &model, err));
    out->attached = model != 0 && model != row.model;
    out->model = out->attached ? model : 0;
    out->fresh = !out->attached && (verdict == TN_VERDICT_NEW || verdict == TN_VERDICT_OTHER);
    if (!out->attached && !out->fresh)
        TN_TRY(bytes_changed(r, row.model, &out->changed, err));
    return TN_OK;
}

tn_status tn_record_foresee(tn_library *library, const tn_claim *claim, const tn_reading *reading, tn_recorded *out,
                            tn_error *err)
{
    tn_recording r = {.library = library, .db = &library->db, .claim = claim, .reading = reading};
    tn_recorded recorded = {0};
    TN_TRY(foresee(&r, &recorded, err));
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
    if (to.model != 0)
        return attach(r, &row, to.model, r->claim->kind == TN_CLAIM_FILE ? 0 : -1, out, err);
    if (row.model != 0)
        TN_TRY(tn_record_leave(r, row.model, &row, err));
    return tn_record_put_entry_file(r, &file, err);
}

tn_status tn_record_alias(tn_library *library, const tn_record_job *job, const tn_claim *claim, tn_text target,
                          tn_recorded *out, tn_error *err)
{
    tn_recording r = tn_record_begin(library, job);
    tn_recorded recorded = {0};
    r.claim = claim;
    TN_TRY(record_alias(&r, target, &recorded, err));
    *out = recorded;
    return TN_OK;
}
