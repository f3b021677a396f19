/* Showing records. Rows are read a page at a time under the lock and told without it, so that a callback may take its
 * time or use the library itself. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/encode.h"
#include "core/json.h"
#include "core/utf8.h"
#include "library/inside.h"
#include "library/place.h"

#define JSON_MAX_BYTES (256u << 20)
#define PAGE_ROWS 64

/* One row and what is shown of it. */
typedef struct shown {
    tn_record record;
    int64_t added_ns;
    tn_text answer;
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

static void write_paths(tn_json_writer *w, const tn_sql *s)
{
    tn_text path = tn_sql_get(s, 0);
    tn_json_string(w, path.bytes, path.size);
}

/* `paths`: only where there are several, for a model that links or hard links lead to. */
static tn_status write_other_paths(tn_library *library, int64_t id, tn_json_writer *w, tn_error *err)
{
    int64_t count = 0;
    bool more = false;
    tn_sql s = tn_sql_start(&library->db, TN_QUERY_ENTRIES);
    tn_sql_int(&s, id);
    TN_TRY(tn_sql_row(&s, &more, err));
    count = more ? tn_sql_get_int(&s, 0) : 0;
    tn_sql_end(&s);
    if (count < 2)
        return TN_OK;
    tn_json_key(w, "paths");
    tn_json_array(w);
    s = tn_sql_start(&library->db, TN_QUERY_RECORD_PATHS);
    tn_sql_int(&s, id);
    for (more = true; more;) {
        TN_TRY(tn_sql_row(&s, &more, err));
        if (more)
            write_paths(w, &s);
    }
    tn_json_array_end(w);
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

/* What the row knows better than the answer of the day it was read. */
static bool is_of_the_row(const tn_json *json)
{
    static const char *const keys[] = {"path", "path_b64", "presence", "id", "name", "tags", "note", "added", "hashes"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (tn_json_is(json, keys[i]))
            return true;
    return false;
}

/* Copy the answer's other members as they are. */
static tn_status write_answer(tn_json_writer *w, tn_text answer, tn_error *err)
{
    tn_json json;
    tn_json_init(&json, answer.bytes, answer.size);
    if (tn_json_next(&json) != TN_JSON_OBJECT_BEGIN)
        return tn_json_fail(&json, 0, err);
    while (tn_json_next(&json) == TN_JSON_KEY) {
        bool skip = is_of_the_row(&json);
        if (!skip) {
            char key[128];
            size_t size = json.text_size < sizeof key ? tn_json_unescape(json.text, json.text_size, key) : 0;
            tn_json_key_text(w, key, size);
        }
        tn_json_next(&json);
        size_t from = json.token_at;
        if (!tn_json_skip(&json))
            break;
        if (!skip)
            tn_json_raw(w, answer.bytes + from, (size_t)(json.at - json.bytes) - from);
    }
    return json.kind == TN_JSON_OBJECT_END ? TN_OK : tn_json_fail(&json, 0, err);
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
    write_path(&w, r->path, library->memory);
    TN_TRY(write_other_paths(library, r->id, &w, err));
    tn_json_key(&w, "presence");
    tn_json_string(&w, r->presence.bytes, r->presence.size);
    TN_TRY(write_answer(&w, row->answer, err));
    tn_json_key(&w, "tags");
    tn_json_array(&w);
    tn_json_array_end(&w);
    tn_json_key(&w, "note");
    tn_json_null(&w);
    tn_json_key(&w, "added");
    tn_json_cstring(&w, added);
    tn_json_key(&w, "hashes");
    tn_json_object(&w);
    tn_json_object_end(&w);
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
    tn_text *texts[] = {&r->name, &r->path, &r->type, &r->base, &r->variant, &r->container, &r->presence};
    r->id = tn_sql_get_int(s, 0);
    for (int i = 0; i < 7; i++) {
        tn_text text = tn_sql_get(s, i + 1);
        *texts[i] = tn_arena_text(&row->arena, text.bytes, text.size);
    }
    r->state = tn_library_state_of_word(tn_sql_get(s, 8).bytes);
    r->size_bytes = (uint64_t)tn_sql_get_int(s, 9);
    row->added_ns = tn_sql_get_int(s, 10);
    tn_text answer = tn_sql_get(s, 11);
    row->answer = tn_arena_text(&row->arena, answer.bytes, answer.size);
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

static tn_status tell_row(tn_library *library, int64_t id, bool (*each)(void *user, const tn_record *record),
                          void *user, bool *go_on, tn_error *err)
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

/* ---- list ---- */

typedef struct id_list {
    int64_t *ids;
    size_t count, capacity;
} id_list;

static tn_status add_id(tn_library *library, id_list *list, int64_t id, tn_error *err)
{
    void *ids = list->ids;
    TN_TRY(tn_make_room(library->memory, &ids, &list->capacity, list->count, sizeof *list->ids, 256, err));
    list->ids = ids;
    list->ids[list->count++] = id;
    return TN_OK;
}

static tn_status collect(tn_library *library, tn_sql *s, id_list *list, tn_error *err)
{
    for (;;) {
        bool more = false;
        TN_TRY(tn_sql_row(s, &more, err));
        if (!more)
            return TN_OK;
        tn_status status = add_id(library, list, tn_sql_get_int(s, 0), err);
        if (status != TN_OK) {
            tn_sql_end(s);
            return status;
        }
    }
}

tn_status tn_library_list(tn_library *library, uint64_t limit, bool (*each)(void *user, const tn_record *record),
                          void *user, tn_error *err)
{
    id_list list = {0};
    bool go_on = true;
    TN_TRY(tn_context_check(library->context, err));
    tn_library_lock(library);
    tn_sql s = tn_sql_start(&library->db, TN_QUERY_LIST_IDS);
    tn_sql_int(&s, limit == 0 || limit > INT64_MAX ? -1 : (int64_t)limit);
    tn_status status = collect(library, &s, &list, err);
    tn_library_unlock(library);
    for (size_t i = 0; i < list.count && status == TN_OK && go_on; i++) {
        status = tn_context_check(library->context, err);
        if (status == TN_OK)
            status = tell_row(library, list.ids[i], each, user, &go_on, err);
    }
    tn_give(library->memory, list.ids, list.capacity * sizeof *list.ids);
    return status;
}

/* ---- show ---- */

static tn_status find_by(tn_library *library, tn_query query, const char *model, id_list *list, tn_error *err)
{
    tn_library_lock(library);
    tn_sql s = tn_sql_start(&library->db, query);
    if (query == TN_QUERY_FIND_ID)
        tn_sql_int(&s, strtoll(model, NULL, 10));
    else if (query == TN_QUERY_FIND_PATH)
        tn_sql_blob(&s, model, strlen(model));
    else
        tn_sql_text(&s, model, strlen(model));
    tn_status status = collect(library, &s, list, err);
    tn_library_unlock(library);
    return status;
}

static bool is_number(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    return digits > 0 && digits < 19 && text[digits] == '\0';
}

static tn_status find_path(tn_library *library, const char *model, id_list *list, tn_error *err)
{
    tn_buffer path;
    tn_buffer_init(&path, library->memory, TN_PLACE_PATH_MAX);
    tn_status status = TN_OK;
    if (model[0] != '\0' && tn_os_absolute_path(model, &path, NULL) == TN_OK)
        status = find_by(library, TN_QUERY_FIND_PATH, path.bytes, list, err);
    tn_buffer_free(&path);
    return status;
}

/* An id, a path, a name, in this order: the first that is known counts. */
static tn_status find(tn_library *library, const char *model, id_list *list, tn_error *err)
{
    if (is_number(model))
        TN_TRY(find_by(library, TN_QUERY_FIND_ID, model, list, err));
    if (list->count == 0)
        TN_TRY(find_path(library, model, list, err));
    if (list->count == 0)
        TN_TRY(find_by(library, TN_QUERY_FIND_NAME, model, list, err));
    if (list->count == 0)
        return tn_fail(err, TN_NOT_FOUND, "no model is known by the id, path or name \"%s\"", model);
    if (list->count > 1)
        return tn_fail(err, TN_AMBIGUOUS_NAME, "more than one model is called \"%s\": name its path or id", model);
    return TN_OK;
}

tn_status tn_library_show(tn_library *library, const char *model,
                          bool (*each)(void *user, const tn_record *record), void *user, tn_error *err)
{
    id_list list = {0};
    bool go_on = true;
    TN_TRY(tn_context_check(library->context, err));
    tn_status status = find(library, model, &list, err);
    if (status == TN_OK)
        status = tell_row(library, list.ids[0], each, user, &go_on, err);
    tn_give(library->memory, list.ids, list.capacity * sizeof *list.ids);
    return status;
}
