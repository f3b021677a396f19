/* Which records have a path: what is gone, what is there again, and what a record is shown by. */
#include "library/record_inside.h"

#include <string.h>

#include "core/utf8.h"
#include "library/place.h"

tn_recording tn_record_begin(tn_library *library, const tn_record_job *job)
{
    return (tn_recording){.library = library, .db = &library->db, .job = job->job, .now_ns = tn_os_wall_ns(),
                          .began_ns = job->began_ns};
}

/* ---- the path that a record is shown by ---- */

static tn_status move_to(tn_recording *r, int64_t model, tn_text path, bool folder, tn_error *err)
{
    tn_buffer name;
    tn_buffer_init(&name, r->library->memory, TN_PLACE_PATH_MAX);
    tn_text stem = tn_claim_model_name(path.bytes, path.size, folder);
    tn_utf8_append_valid(&name, stem.bytes, stem.size);
    tn_status status = tn_buffer_status(&name, err);
    if (status == TN_OK) {
        tn_sql s = tn_sql_start(r->db, TN_QUERY_MODEL_MOVE);
        tn_sql_int(&s, model);
        tn_sql_blob(&s, path.bytes, path.size);
        tn_sql_text(&s, name.bytes, name.size);
        status = tn_sql_run(&s, err);
    }
    tn_buffer_free(&name);
    return status;
}

/* Nothing changes while the path it is shown by is there. */
static tn_status show_path(tn_recording *r, int64_t model, tn_error *err)
{
    bool more = false;
    tn_sql s = tn_sql_start(r->db, TN_QUERY_MODEL_SHOW_PATH);
    tn_sql_int(&s, model);
    TN_TRY(tn_sql_row(&s, &more, err));
    if (!more)
        return TN_OK;
    tn_buffer path;
    tn_buffer_init(&path, r->library->memory, TN_PLACE_PATH_MAX);
    tn_text found = tn_sql_get(&s, 0);
    tn_buffer_append(&path, found.bytes, found.size);
    bool folder = tn_sql_get_int(&s, 1) != 0;
    tn_sql_end(&s);
    tn_status status = tn_buffer_status(&path, err);
    if (status == TN_OK)
        status = move_to(r, model, (tn_text){path.bytes, path.size}, folder, err);
    tn_buffer_free(&path);
    return status;
}

/* ---- presence ---- */

static tn_status ask_of(tn_recording *r, tn_query query, int64_t model, bool *out, tn_error *err)
{
    int64_t value = 0;
    tn_sql s = tn_sql_start(r->db, query);
    tn_sql_int(&s, model);
    TN_TRY(tn_record_one_number(&s, &value, err));
    *out = value != 0;
    return TN_OK;
}

static tn_status go_missing(tn_recording *r, int64_t model, tn_error *err)
{
    bool away = false;
    TN_TRY(ask_of(r, TN_QUERY_MODEL_IS_AWAY, model, &away, err));
    const char *presence = away ? "offline" : "missing";
    tn_sql s = tn_sql_start(r->db, TN_QUERY_MODEL_PRESENCE);
    tn_sql_int(&s, model);
    tn_sql_text(&s, presence, strlen(presence));
    tn_sql_int(&s, r->now_ns);
    tn_sql_int(&s, r->began_ns);
    TN_TRY(tn_sql_run(&s, err));
    if (sqlite3_changes(r->db->handle) == 0)
        return TN_OK;
    return tn_record_put_event(r, model, presence, (tn_text){"", 0}, err);
}

static tn_status come_back(tn_recording *r, int64_t model, tn_error *err)
{
    tn_sql s = tn_sql_start(r->db, TN_QUERY_MODEL_BACK);
    tn_sql_int(&s, model);
    tn_sql_int(&s, r->now_ns);
    TN_TRY(tn_sql_run(&s, err));
    if (sqlite3_changes(r->db->handle) > 0)
        TN_TRY(tn_record_put_event(r, model, "back", (tn_text){"", 0}, err));
    TN_TRY(tn_record_run_of(r->db, TN_QUERY_FORMER_DROP, model, err));
    return show_path(r, model, err);
}

tn_status tn_record_settle_presence(tn_recording *r, int64_t model, tn_error *err)
{
    bool whole = false;
    TN_TRY(ask_of(r, TN_QUERY_MODEL_WHOLE, model, &whole, err));
    return whole ? come_back(r, model, err) : go_missing(r, model, err);
}

/* ---- a path that leaves its record ---- */

/* Who the file was, so that it is known when it is met under another path. Weak identities say nothing. */
static tn_status keep_identity(tn_recording *r, int64_t model, const tn_entry_row *row, tn_error *err)
{
    if (row->weak || row->size < 0 || (row->file_id[0] | row->file_id[1]) == 0)
        return TN_OK;
    tn_sql s = tn_sql_start(r->db, TN_QUERY_FORMER_PUT);
    tn_sql_int(&s, model);
    tn_record_bind_file_id(&s, row->file_id);
    tn_sql_int(&s, row->device);
    tn_sql_int(&s, row->size);
    tn_sql_int(&s, row->mtime_ns);
    return tn_sql_run(&s, err);
}

static tn_status drop_all_parts(tn_recording *r, int64_t model, tn_error *err)
{
    TN_TRY(tn_record_run_of(r->db, TN_QUERY_FILES_FORGET_OF, model, err));
    TN_TRY(tn_record_run_of(r->db, TN_QUERY_PARTS_DROP_ALL, model, err));
    return tn_record_drop_forgotten(r->db, err);
}

tn_status tn_record_ask_nobody(tn_recording *r, int64_t model, tn_nobody *out, tn_error *err)
{
    bool more = false;
    *out = (tn_nobody){false, false};
    tn_sql s = tn_sql_start(r->db, TN_QUERY_NEVER_SAMPLED_NOR_SPOKEN_OF);
    tn_sql_int(&s, model);
    TN_TRY(tn_sql_row(&s, &more, err));
    if (!more)
        return TN_OK;
    out->unsampled = tn_sql_get_int(&s, 0) != 0;
    out->unread = out->unsampled && tn_sql_get_int(&s, 1) != 0;
    tn_sql_end(&s);
    return TN_OK;
}

static tn_status lose_last_path(tn_recording *r, int64_t model, const tn_entry_row *row, bool *dropped, tn_error *err)
{
    tn_nobody nobody;
    TN_TRY(keep_identity(r, model, row, err));
    TN_TRY(drop_all_parts(r, model, err));
    TN_TRY(tn_record_ask_nobody(r, model, &nobody, err));
    *dropped = nobody.unsampled;
    if (!nobody.unsampled)
        return TN_OK;
    TN_TRY(tn_record_run_of(r->db, TN_QUERY_MODEL_DROP, model, err));
    return tn_record_put_event(r, model, "dropped", (tn_text){"", 0}, err);
}

tn_status tn_record_leave(tn_recording *r, int64_t model, const tn_entry_row *row, tn_error *err)
{
    int64_t entries = 0;
    tn_sql s = tn_sql_start(r->db, TN_QUERY_PART_DROP);
    tn_sql_int(&s, model);
    tn_sql_int(&s, row->file);
    TN_TRY(tn_sql_run(&s, err));
    s = tn_sql_start(r->db, TN_QUERY_ENTRIES);
    tn_sql_int(&s, model);
    TN_TRY(tn_record_one_number(&s, &entries, err));
    bool dropped = false;
    if (entries == 0)
        TN_TRY(lose_last_path(r, model, row, &dropped, err));
    return dropped ? TN_OK : tn_record_settle_presence(r, model, err);
}

/* ---- rows of paths that were not read ---- */

#define MODELS_OF_A_FILE 16 /* a file is part of one model, seldom of two */

static tn_status change_row(tn_recording *r, const tn_row_news *news, tn_error *err)
{
    tn_sql s = tn_sql_start(r->db, news->change == TN_ROW_GONE ? TN_QUERY_FILE_MISSING : TN_QUERY_FILE_BACK);
    tn_sql_int(&s, news->file);
    if (news->change == TN_ROW_BACK)
        tn_sql_int(&s, news->device);
    return tn_sql_run(&s, err);
}

static tn_status settle_models_of(tn_recording *r, int64_t file, tn_error *err)
{
    int64_t models[MODELS_OF_A_FILE];
    size_t count = 0;
    tn_sql s = tn_sql_start(r->db, TN_QUERY_MODELS_OF_FILE);
    tn_sql_int(&s, file);
    for (bool more = true; more && count < MODELS_OF_A_FILE;) {
        TN_TRY(tn_sql_row(&s, &more, err));
        if (more)
            models[count++] = tn_sql_get_int(&s, 0);
    }
    tn_sql_end(&s);
    for (size_t i = 0; i < count; i++)
        TN_TRY(tn_record_settle_presence(r, models[i], err));
    return TN_OK;
}

/* All rows first, so that a model whose paths trade places is not taken for one that has none. A row that was there
 * before and still is needs no more than its device. */
tn_status tn_record_rows(tn_library *library, const tn_record_job *job, const tn_row_news *news, size_t count,
                         tn_error *err)
{
    tn_recording r = tn_record_begin(library, job);
    for (size_t i = 0; i < count; i++)
        TN_TRY(change_row(&r, &news[i], err));
    for (size_t i = 0; i < count; i++)
        if (news[i].change == TN_ROW_GONE || !news[i].present)
            TN_TRY(settle_models_of(&r, news[i].file, err));
    return TN_OK;
}
