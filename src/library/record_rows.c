/* The rows that a recording writes: files, models, parts, events. */
#include "library/record_inside.h"

#include <string.h>

#include "core/utf8.h"

#define NAME_MAX_BYTES 65536
#define MESSAGE_MAX_BYTES 4096

/* One number out of a query whose parameters are bound; 0 when there is no row. */
tn_status tn_record_one_number(tn_sql *s, int64_t *out, tn_error *err)
{
    bool more = false;
    int64_t value = 0;
    TN_TRY(tn_sql_row(s, &more, err));
    if (more) {
        value = tn_sql_get_int(s, 0);
        tn_sql_end(s);
    }
    *out = value;
    return TN_OK;
}

tn_status tn_record_run_of(tn_db *db, tn_query query, int64_t model, tn_error *err)
{
    tn_sql s = tn_sql_start(db, query);
    tn_sql_int(&s, model);
    return tn_sql_run(&s, err);
}

/* ---- rows of files ---- */

tn_status tn_record_drop_forgotten(tn_db *db, tn_error *err)
{
    tn_sql s = tn_sql_start(db, TN_QUERY_FILES_DROP_FORGOTTEN);
    return tn_sql_run(&s, err);
}

void tn_record_bind_file_id(tn_sql *s, const uint64_t file_id[2])
{
    tn_sql_blob(s, file_id, 2 * sizeof file_id[0]);
}

static void copy_entry(const tn_sql *s, tn_entry_row *out)
{
    tn_text id = tn_sql_get(s, 3);
    out->file = tn_sql_get_int(s, 0);
    out->size = tn_sql_get_int(s, 1);
    out->mtime_ns = tn_sql_get_int(s, 2);
    if (id.size == sizeof out->file_id)
        memcpy(out->file_id, id.bytes, id.size);
    out->weak = tn_sql_get_int(s, 4) != 0;
    out->present = tn_sql_get_int(s, 5) != 0;
    out->model = tn_sql_get_int(s, 7);
    out->device = tn_sql_get_int(s, 8);
}

static bool row_is_same(const tn_entry_row *row, tn_text members, const tn_claim *claim)
{
    if (claim->kind != TN_CLAIM_FILE)
        return members.size == sizeof claim->members && memcmp(members.bytes, claim->members, members.size) == 0;
    return members.size == 0 && row->size >= 0 &&
           tn_scan_same(&claim->info, (uint64_t)row->size, row->mtime_ns, row->file_id, row->weak);
}

tn_status tn_record_find_entry(tn_db *db, const char *path, size_t size, const tn_claim *claim, tn_entry_row *out,
                               tn_error *err)
{
    tn_entry_row row = {0};
    bool more = false;
    tn_sql s = tn_sql_start(db, TN_QUERY_ENTRY_OF_PATH);
    tn_sql_blob(&s, path, size);
    TN_TRY(tn_sql_row(&s, &more, err));
    if (more) {
        copy_entry(&s, &row);
        row.same = claim != NULL && row_is_same(&row, tn_sql_get(&s, 6), claim);
        tn_sql_end(&s);
    }
    *out = row;
    return TN_OK;
}

tn_status tn_record_model_at(tn_library *library, tn_text path, int64_t *out, tn_error *err)
{
    tn_entry_row row;
    tn_library_lock(library);
    tn_status status = tn_record_find_entry(&library->db, path.bytes, path.size, NULL, &row, err);
    tn_library_unlock(library);
    if (status == TN_OK)
        *out = row.model;
    return status;
}

/* Put or refresh the row of a path; *out is its id. `members` NULL for a single file. */
tn_status tn_record_put_file(tn_db *db, tn_query query, tn_text path, const tn_os_info *info, const uint8_t *members,
                          int64_t *out, tn_error *err)
{
    bool more = false;
    tn_sql s = tn_sql_start(db, query);
    tn_sql_blob(&s, path.bytes, path.size);
    tn_sql_int(&s, (int64_t)info->size);
    tn_sql_int(&s, info->mtime_ns);
    tn_sql_int(&s, (int64_t)info->device);
    tn_record_bind_file_id(&s, info->file_id);
    tn_sql_int(&s, (int64_t)info->links);
    tn_sql_int(&s, info->weak_identity);
    if (members != NULL)
        tn_sql_blob(&s, members, 32);
    else
        tn_sql_null(&s);
    TN_TRY(tn_sql_row(&s, &more, err));
    *out = tn_sql_get_int(&s, 0);
    /* RETURNING gives its row before the statement is done; it must be run to its end. */
    return tn_sql_run(&s, err);
}

tn_status tn_record_put_entry_file(tn_recording *r, int64_t *out, tn_error *err)
{
    const tn_claim *claim = r->claim;
    return tn_record_put_file(r->db, TN_QUERY_FILE_PUT, (tn_text){claim->path, claim->path_size}, &claim->info,
                    claim->kind == TN_CLAIM_FILE ? NULL : claim->members, out, err);
}

tn_status tn_record_put_part(tn_recording *r, int64_t model, int64_t file, int64_t position, bool entry, tn_error *err)
{
    tn_sql s = tn_sql_start(r->db, TN_QUERY_PART_PUT);
    tn_sql_int(&s, model);
    tn_sql_int(&s, file);
    tn_sql_int(&s, position);
    tn_sql_int(&s, entry);
    return tn_sql_run(&s, err);
}

tn_status tn_record_put_event(tn_recording *r, int64_t model, const char *what, tn_text detail, tn_error *err)
{
    tn_sql s = tn_sql_start(r->db, TN_QUERY_EVENT_PUT);
    tn_sql_int(&s, r->now_ns);
    if (r->job != 0)
        tn_sql_int(&s, r->job);
    else
        tn_sql_null(&s);
    tn_sql_int(&s, model);
    tn_sql_text(&s, what, strlen(what));
    tn_sql_text(&s, detail.bytes, detail.size);
    return tn_sql_run(&s, err);
}

/* ---- rows of models ---- */

static void bind_text(tn_sql *s, tn_text text)
{
    tn_sql_text(s, text.bytes, text.size);
}

static int64_t part_count(const tn_answer *answer)
{
    return answer->part_count > 1 ? (int64_t)answer->part_count : 1;
}

/* The columns that a new row and an updated one share, in their order. */
static void bind_model(tn_sql *s, const tn_recording *r, tn_text name, tn_text message)
{
    const tn_reading *reading = r->reading;
    const tn_answer *answer = reading->answer;
    const char *container = tn_container_word(answer->container), *state = tn_state_word(answer->state);
    const char *presence = r->crashed ? "crashed" : "present";
    bind_text(s, name);
    bind_text(s, answer->type);
    bind_text(s, answer->base);
    bind_text(s, answer->variant);
    tn_sql_text(s, container, strlen(container));
    tn_sql_text(s, state, strlen(state));
    tn_sql_text(s, presence, strlen(presence));
    tn_sql_int(s, (int64_t)(answer->size_bytes != 0 ? answer->size_bytes : r->claim->info.size));
    tn_sql_int(s, part_count(answer));
    tn_sql_blob(s, r->claim->path, r->claim->path_size);
    if (reading->has_sample)
        tn_sql_blob(s, reading->sample, sizeof reading->sample);
    else
        tn_sql_null(s);
    bind_text(s, message);
    tn_sql_int(s, r->now_ns);
    tn_sql_text(s, reading->json, strlen(reading->json));
}

static tn_status run_put(tn_recording *r, tn_text name, tn_text message, int64_t *model, tn_error *err)
{
    tn_sql s = tn_sql_start(r->db, TN_QUERY_MODEL_PUT);
    bind_model(&s, r, name, message);
    if (r->job != 0)
        tn_sql_int(&s, r->job);
    else
        tn_sql_null(&s);
    TN_TRY(tn_sql_run(&s, err));
    *model = sqlite3_last_insert_rowid(r->db->handle);
    return TN_OK;
}

static tn_status run_update(tn_recording *r, tn_text name, tn_text message, int64_t model, tn_error *err)
{
    tn_sql s = tn_sql_start(r->db, TN_QUERY_MODEL_UPDATE);
    bind_model(&s, r, name, message);
    tn_sql_int(&s, model);
    return tn_sql_run(&s, err);
}

tn_status tn_record_write_model(tn_recording *r, int64_t *model, tn_error *err)
{
    tn_buffer name, message;
    tn_buffer_init(&name, r->library->memory, NAME_MAX_BYTES);
    tn_buffer_init(&message, r->library->memory, MESSAGE_MAX_BYTES);
    tn_text stem = tn_claim_model_name(r->claim->path, r->claim->path_size, r->claim->kind == TN_CLAIM_FOLDER);
    tn_utf8_append_valid(&name, stem.bytes, stem.size);
    tn_problem_append(&message, r->reading->answer);
    tn_status status = tn_buffer_status(&name, err);
    if (status == TN_OK && message.failed != TN_LIMIT)
        status = tn_buffer_status(&message, err);
    tn_text n = {name.bytes, name.size}, m = {message.bytes, message.size};
    if (status == TN_OK)
        status = *model == 0 ? run_put(r, n, m, model, err) : run_update(r, n, m, *model, err);
    tn_buffer_free(&name);
    tn_buffer_free(&message);
    return status;
}
