/* Is what a path leads to now what its record was made of? The rules are those of docs/decisions/0009. */
#include "library/record_inside.h"

#include <string.h>

static bool is_broken(const char *state)
{
    return strcmp(state, "damaged") == 0 || strcmp(state, "unreadable") == 0 || strcmp(state, "unsupported") == 0;
}

tn_status tn_record_load_before(tn_recording *r, int64_t model, tn_before *out, tn_error *err)
{
    bool more = false;
    *out = (tn_before){.there = false};
    tn_sql s = tn_sql_start(r->db, TN_QUERY_MODEL_BEFORE);
    tn_sql_int(&s, model);
    TN_TRY(tn_sql_row(&s, &more, err));
    if (!more)
        return TN_OK;
    tn_text sample = tn_sql_get(&s, 1);
    out->there = true;
    out->size = tn_sql_get_int(&s, 0);
    out->has_sample = sample.size == sizeof out->sample;
    if (out->has_sample)
        memcpy(out->sample, sample.bytes, sizeof out->sample);
    out->broken = is_broken(tn_sql_get(&s, 2).bytes);
    out->part_count = tn_sql_get_int(&s, 3);
    tn_sql_end(&s);
    return TN_OK;
}

static bool samples_agree(const tn_recording *r, const tn_before *b)
{
    return b->has_sample && r->reading->has_sample && memcmp(b->sample, r->reading->sample, sizeof b->sample) == 0;
}

/* What size, time and id of a file say against what is recorded. */
typedef struct signs {
    bool size, time, id;
} signs;

static signs compare(const tn_os_info *now, int64_t size, int64_t mtime_ns, const uint64_t file_id[2], bool weak)
{
    const int64_t two_seconds = 2000000000;
    weak = weak || now->weak_identity;
    int64_t apart = now->mtime_ns > mtime_ns ? now->mtime_ns - mtime_ns : mtime_ns - now->mtime_ns;
    return (signs){size >= 0 && now->size == (uint64_t)size, weak ? apart < two_seconds : apart == 0,
                   weak || (now->file_id[0] == file_id[0] && now->file_id[1] == file_id[1])};
}

/* ---- single files ---- */

/* Another path of the same record is known to lead elsewhere, so this one parts from it. */
static tn_status others_differ(tn_recording *r, int64_t model, bool *out, tn_error *err)
{
    int64_t others = 0;
    if (!r->claim->has_who) {
        *out = false;
        return TN_OK;
    }
    tn_sql s = tn_sql_start(r->db, TN_QUERY_OTHER_PATHS);
    tn_sql_int(&s, model);
    tn_sql_int(&s, 0);
    tn_sql_blob(&s, r->claim->path, r->claim->path_size);
    tn_record_bind_file_id(&s, r->claim->info.file_id);
    tn_sql_int(&s, (int64_t)r->claim->info.size);
    TN_TRY(tn_record_one_number(&s, &others, err));
    *out = others > 0;
    return TN_OK;
}

/* Without a sample on either side nothing but all three signs together is believed. */
static bool is_same_file(const tn_recording *r, const tn_entry_row *row, const tn_before *b)
{
    signs s = compare(&r->claim->info, row->size, row->mtime_ns, row->file_id, row->weak);
    if (!s.size || b->part_count != 1)
        return false;
    return (s.time && s.id) || ((s.time || s.id) && samples_agree(r, b));
}

static tn_status judge_file(tn_recording *r, const tn_entry_row *row, const tn_before *b, tn_verdict *out, tn_error *err)
{
    bool differ = false;
    TN_TRY(others_differ(r, row->model, &differ, err));
    if (differ)
        *out = TN_VERDICT_OTHER;
    else if (is_same_file(r, row, b))
        *out = TN_VERDICT_SAME;
    else
        *out = b->broken ? TN_VERDICT_CARRY_ON : TN_VERDICT_OTHER;
    return TN_OK;
}

/* ---- sets and folders ---- */

/* What the parts that were read are, against those of the record. */
typedef struct parts_seen {
    size_t common;  /* under a path that was a part before */
    size_t alike;   /* of these, with the same size, and the same time or id */
    size_t exact;   /* of these, with the same size and time */
} parts_seen;

static tn_status see_part(tn_recording *r, int64_t model, size_t i, parts_seen *seen, tn_error *err)
{
    bool more = false;
    tn_text path = r->reading->answer->parts[i].path;
    tn_sql s = tn_sql_start(r->db, TN_QUERY_PART_AS_KNOWN);
    tn_sql_int(&s, model);
    tn_sql_blob(&s, path.bytes, path.size);
    TN_TRY(tn_sql_row(&s, &more, err));
    if (!more)
        return TN_OK;
    uint64_t file_id[2] = {0, 0};
    tn_text id = tn_sql_get(&s, 2);
    if (id.size == sizeof file_id)
        memcpy(file_id, id.bytes, sizeof file_id);
    signs found = compare(&r->reading->parts[i], tn_sql_get_int(&s, 0), tn_sql_get_int(&s, 1), file_id,
                          tn_sql_get_int(&s, 3) != 0);
    tn_sql_end(&s);
    seen->common++;
    seen->alike += found.size && (found.time || found.id);
    seen->exact += found.size && found.time;
    return TN_OK;
}

/* The same when every part is, and the sample says so; and when parts came or went beside others that stayed as they
 * were: a set that lost a shard is the same set, damaged. */
static tn_status judge_parts(tn_recording *r, const tn_entry_row *row, const tn_before *b, tn_verdict *out, tn_error *err)
{
    parts_seen seen = {0};
    const size_t count = r->reading->part_count;
    for (size_t i = 0; i < count; i++)
        TN_TRY(see_part(r, row->model, i, &seen, err));
    bool whole = seen.common == count && (int64_t)count == b->part_count;
    bool same = whole ? seen.alike == count && (samples_agree(r, b) || seen.exact == count)
                      : seen.common > 0 && seen.exact == seen.common;
    *out = same && count > 0 ? TN_VERDICT_SAME : b->broken ? TN_VERDICT_CARRY_ON : TN_VERDICT_OTHER;
    return TN_OK;
}

tn_status tn_record_judge(tn_recording *r, const tn_entry_row *row, tn_verdict *out, tn_error *err)
{
    tn_before b;
    *out = TN_VERDICT_NEW;
    if (row->model == 0)
        return TN_OK;
    if (row->same) {
        *out = TN_VERDICT_SAME;
        return TN_OK;
    }
    TN_TRY(tn_record_load_before(r, row->model, &b, err));
    if (r->claim->kind == TN_CLAIM_FILE || tn_record_is_one_file(r->reading))
        return judge_file(r, row, &b, out, err);
    return judge_parts(r, row, &b, out, err);
}
