/* Telling records. Each is read under the lock and told without it, so that a callback may take its time or use the
 * library itself. */
#include "library/show.h"

#include <stdio.h>
#include <string.h>

#include "core/encode.h"
#include "core/json.h"
#include "core/utf8.h"
#include "library/answer_row.h"
#include "library/place.h"

#define JSON_MAX_BYTES (256u << 20)

/* One row and what is told of it. */
typedef struct shown {
    tn_record record;
    int64_t added_ns;
    bool user; /* a person has set its type, base or variant */
    tn_text answer, note;
    tn_arena arena; /* of the texts above */
} shown;

/* ---- times ---- */

/* RFC 3339 in UTC, from days since 1970 by the civil calendar (Howard Hinnant's chrono-compatible algorithm). */
static void show_time(int64_t ns, char out[64])
{
    int64_t seconds = ns / 1000000000, days = seconds / 86400, rest = seconds % 86400;
    int64_t z = days + 719468, era = z / 146097, doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365, doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t mp = (5 * doy + 2) / 153, day = doy - (153 * mp + 2) / 5 + 1, month = mp < 10 ? mp + 3 : mp - 9;
    int64_t year = yoe + era * 400 + (month <= 2);
    snprintf(out, 64, "%04d-%02d-%02dT%02d:%02d:%02dZ", (int)(year % 10000), (int)month, (int)day, (int)(rest / 3600),
             (int)(rest / 60 % 60), (int)(rest % 60));
}

/* ---- JSON ---- */

static void write_text_of(tn_json_writer *w, const tn_sql *s, int column)
{
    tn_text text = tn_sql_get(s, column);
    tn_json_string(w, text.bytes, text.size);
}

/* An array of the first column of a statement whose only parameter is the model. */
static tn_status write_texts(tn_library *library, tn_query query, int64_t id, const char *key, tn_json_writer *w,
                             tn_error *err)
{
    tn_json_key(w, key);
    tn_json_array(w);
    tn_sql s = tn_sql_start(&library->db, query);
    tn_sql_int(&s, id);
    for (bool more = true; more;) {
        TN_TRY(tn_sql_row(&s, &more, err));
        if (more)
            write_text_of(w, &s, 0);
    }
    tn_json_array_end(w);
    return TN_OK;
}

static tn_status count_entries(tn_library *library, int64_t id, int64_t *out, tn_error *err)
{
    bool more = false;
    tn_sql s = tn_sql_start(&library->db, TN_QUERY_ENTRIES);
    tn_sql_int(&s, id);
    TN_TRY(tn_sql_row(&s, &more, err));
    *out = more ? tn_sql_get_int(&s, 0) : 0;
    tn_sql_end(&s);
    return TN_OK;
}

static void write_path(tn_json_writer *w, tn_text path, tn_memory_source *memory)
{
    tn_json_key(w, "path");
    tn_json_string(w, path.bytes, path.size);
    if (tn_utf8_valid_prefix(path.bytes, path.size) == path.size)
        return;
    tn_buffer encoded;
    tn_buffer_init(&encoded, memory, 2 * TN_PLACE_PATH_MAX);
    tn_base64_append(&encoded, path.bytes, path.size);
    tn_json_key(w, "path_b64");
    tn_json_string(w, encoded.bytes != NULL ? encoded.bytes : "", encoded.size);
    tn_buffer_free(&encoded);
}

/* `paths` only where there are several, for a model that links lead to; `parts` only for sets. */
static tn_status write_paths(tn_library *library, const shown *row, tn_json_writer *w, tn_error *err)
{
    int64_t entries = 0;
    const tn_record *r = &row->record;
    write_path(w, r->path, library->memory);
    TN_TRY(count_entries(library, r->id, &entries, err));
    if (entries > 1)
        TN_TRY(write_texts(library, TN_QUERY_RECORD_PATHS, r->id, "paths", w, err));
    if (r->part_count > 1)
        TN_TRY(write_texts(library, TN_QUERY_RECORD_PARTS, r->id, "parts", w, err));
    return TN_OK;
}

/* The hashes of a model of one file: algorithm and digits. */
static tn_status write_hashes(tn_json_writer *w, tn_sql *s, tn_error *err)
{
    tn_json_key(w, "hashes");
    tn_json_object(w);
    for (bool more = true; more;) {
        TN_TRY(tn_sql_row(s, &more, err));
        if (!more)
            continue;
        tn_text algorithm = tn_sql_get(s, 1);
        tn_json_key_text(w, algorithm.bytes, algorithm.size);
        write_text_of(w, s, 2);
    }
    tn_json_object_end(w);
    return TN_OK;
}

/* Those of a set: an object a part, with its path. Rows come part by part. */
static tn_status write_part_hashes(tn_json_writer *w, tn_sql *s, tn_error *err)
{
    int64_t position = -1;
    tn_json_key(w, "part_hashes");
    tn_json_array(w);
    for (bool more = true; more;) {
        TN_TRY(tn_sql_row(s, &more, err));
        if (position >= 0 && (!more || tn_sql_get_int(s, 0) != position))
            tn_json_object_end(w);
        if (!more)
            continue;
        tn_text algorithm = tn_sql_get(s, 1);
        if (tn_sql_get_int(s, 0) != position) {
            position = tn_sql_get_int(s, 0);
            tn_json_object(w);
            tn_json_key(w, "path");
            write_text_of(w, s, 3);
        }
        tn_json_key_text(w, algorithm.bytes, algorithm.size);
        write_text_of(w, s, 2);
    }
    tn_json_array_end(w);
    return TN_OK;
}

static tn_status write_all_hashes(tn_library *library, const tn_record *r, tn_json_writer *w, tn_error *err)
{
    tn_sql s = tn_sql_start(&library->db, TN_QUERY_RECORD_HASHES);
    tn_sql_int(&s, r->id);
    if (r->part_count == 1)
        return write_hashes(w, &s, err);
    tn_json_key(w, "hashes");
    tn_json_object(w);
    tn_json_object_end(w);
    return write_part_hashes(w, &s, err);
}

/* An answer that cannot be read (by what means ever it came to be so) is an empty one: the record is still told. */
static tn_status tell_answer(tn_library *library, const shown *row, tn_json_writer *w, tn_error *err)
{
    tn_error found;
    tn_status status = tn_answer_row_tell(w, row->answer, &row->record, row->user, &library->db, &found);
    if (status == TN_BAD_JSON)
        return tn_answer_row_tell(w, TN_TEXT("{}"), &row->record, row->user, &library->db, err);
    return status == TN_OK ? TN_OK : tn_fail_as(&found, err);
}

static tn_status write_json(tn_library *library, const shown *row, tn_buffer *out, tn_error *err)
{
    char added[64];
    tn_json_writer w;
    const tn_record *r = &row->record;
    show_time(row->added_ns, added);
    tn_json_writer_init(&w, out);
    tn_json_object(&w);
    tn_json_key(&w, "id");
    tn_json_int(&w, r->id);
    tn_json_key(&w, "name");
    tn_json_string(&w, r->name.bytes, r->name.size);
    TN_TRY(write_paths(library, row, &w, err));
    tn_json_key(&w, "presence");
    tn_json_string(&w, r->presence.bytes, r->presence.size);
    TN_TRY(tell_answer(library, row, &w, err));
    TN_TRY(write_texts(library, TN_QUERY_RECORD_TAGS, r->id, "tags", &w, err));
    tn_json_key(&w, "note");
    if (row->note.size > 0)
        tn_json_string(&w, row->note.bytes, row->note.size);
    else
        tn_json_null(&w);
    tn_json_key(&w, "added");
    tn_json_cstring(&w, added);
    TN_TRY(write_all_hashes(library, r, &w, err));
    tn_json_object_end(&w);
    return tn_buffer_status(out, err);
}

/* ---- rows ---- */

tn_state tn_library_state_of_word(const char *word)
{
    for (int state = TN_STATE_IDENTIFIED; state < TN_STATE_UNREADABLE; state++)
        if (strcmp(tn_state_word((tn_state)state), word) == 0)
            return (tn_state)state;
    return TN_STATE_UNREADABLE;
}

static tn_status copy_row(const tn_sql *s, shown *row, tn_error *err)
{
    tn_record *r = &row->record;
    tn_text *texts[] = {&r->name, &r->path, &r->type, &r->base, &r->variant, &r->container, &r->presence, &r->message,
                        &row->answer, &row->note};
    for (int i = 0; i < (int)(sizeof texts / sizeof texts[0]); i++) {
        tn_text text = tn_sql_get(s, i + 1);
        *texts[i] = tn_arena_text(&row->arena, text.bytes, text.size);
    }
    r->id = tn_sql_get_int(s, 0);
    r->state = tn_library_state_of_word(tn_sql_get(s, 11).bytes);
    r->size_bytes = (uint64_t)tn_sql_get_int(s, 12);
    r->part_count = (uint64_t)tn_sql_get_int(s, 13);
    row->added_ns = tn_sql_get_int(s, 14);
    row->user = tn_sql_get_int(s, 15) != 0;
    return tn_arena_status(&row->arena, err);
}

/* Read one row and write its JSON. *found false when it has gone meanwhile. */
static tn_status read_row(tn_library *library, int64_t id, shown *row, bool *found, tn_error *err)
{
    tn_sql s = tn_sql_start(&library->db, TN_QUERY_RECORD);
    tn_sql_int(&s, id);
    TN_TRY(tn_sql_row(&s, found, err));
    if (!*found)
        return TN_OK;
    tn_status status = copy_row(&s, row, err);
    tn_sql_end(&s);
    TN_TRY(status);
    tn_buffer json;
    tn_buffer_init(&json, library->memory, JSON_MAX_BYTES);
    status = write_json(library, row, &json, err);
    if (status == TN_OK) {
        row->record.json = tn_arena_text(&row->arena, json.bytes, json.size);
        status = tn_arena_status(&row->arena, err);
    }
    tn_buffer_free(&json);
    return status;
}

tn_status tn_show_record(tn_library *library, int64_t id, bool (*each)(void *user, const tn_record *record), void *user,
                         bool *go_on, tn_error *err)
{
    shown row = {0};
    bool found = false;
    tn_arena_init(&row.arena, library->memory, JSON_MAX_BYTES);
    tn_library_lock(library);
    tn_status status = read_row(library, id, &row, &found, err);
    tn_library_unlock(library);
    if (status == TN_OK && found)
        *go_on = each(user, &row.record);
    tn_arena_free(&row.arena);
    return status;
}

tn_status tn_show_records(tn_library *library, const tn_ids *ids, bool (*each)(void *user, const tn_record *record),
                          void *user, tn_error *err)
{
    bool go_on = true;
    for (size_t i = 0; i < ids->count && go_on; i++) {
        TN_TRY(tn_context_check(library->context, err));
        TN_TRY(tn_show_record(library, ids->ids[i], each, user, &go_on, err));
    }
    return TN_OK;
}
