/* Export: every row of every table as a line of JSON (library/dump.h), out of one snapshot. A row is held at a time. */
#include <string.h>

#include "core/encode.h"
#include "core/json.h"
#include "core/utf8.h"
#include "library/dump.h"

typedef struct exporting {
    tn_library *library;
    bool (*write)(void *user, const char *bytes, size_t size);
    void *user;
    tn_buffer line;
    uint64_t rows;
} exporting;

static tn_status put_line(exporting *e, tn_error *err)
{
    tn_buffer_text(&e->line, "\n");
    TN_TRY(tn_buffer_status(&e->line, err));
    if (!e->write(e->user, e->line.bytes, e->line.size))
        return tn_fail(err, TN_CANCELLED, "the export was given up: it could not be written");
    tn_buffer_clear(&e->line);
    return TN_OK;
}

/* ---- values ---- */

/* An object that can stand as it is: one of ours would be taken for bytes if its first key were "b64". */
static bool is_object(tn_text text)
{
    tn_json json;
    if (text.size < 2 || text.bytes[0] != '{' || memchr(text.bytes, '\n', text.size) != NULL)
        return false;
    tn_json_init(&json, text.bytes, text.size);
    tn_json_next(&json);
    if (tn_json_next(&json) == TN_JSON_KEY && tn_json_is(&json, "b64"))
        return false;
    tn_json_init(&json, text.bytes, text.size);
    tn_json_next(&json);
    return tn_json_skip(&json) && json.depth < TN_JSON_DEPTH_MAX - 2 && tn_json_next(&json) == TN_JSON_END &&
           text.bytes[text.size - 1] == '}';
}

static void put_bytes(exporting *e, tn_json_writer *w, tn_text bytes)
{
    tn_buffer encoded;
    tn_buffer_init(&encoded, e->library->memory, TN_DUMP_LINE_MAX);
    tn_base64_append(&encoded, bytes.bytes, bytes.size);
    tn_json_object(w);
    tn_json_key(w, "b64");
    tn_json_string(w, encoded.bytes != NULL ? encoded.bytes : "", encoded.size);
    tn_json_object_end(w);
    if (encoded.failed != TN_OK)
        e->line.failed = encoded.failed;
    tn_buffer_free(&encoded);
}

static void put_value(exporting *e, tn_json_writer *w, const tn_sql *s, int column)
{
    tn_text bytes = {"", 0};
    switch (sqlite3_column_type(s->stmt, column)) {
    case SQLITE_INTEGER: tn_json_int(w, tn_sql_get_int(s, column)); return;
    case SQLITE_NULL: tn_json_null(w); return;
    default: bytes = tn_sql_get(s, column);
    }
    if (tn_utf8_valid_prefix(bytes.bytes, bytes.size) != bytes.size)
        put_bytes(e, w, bytes);
    else if (sqlite3_column_type(s->stmt, column) == SQLITE_TEXT && is_object(bytes))
        tn_json_raw(w, bytes.bytes, bytes.size);
    else
        tn_json_string(w, bytes.bytes, bytes.size);
}

static tn_status put_row(exporting *e, const tn_dump_table *table, const tn_sql *s, tn_error *err)
{
    tn_json_writer w;
    tn_json_writer_init(&w, &e->line);
    tn_json_object(&w);
    tn_json_key_text(&w, table->name.bytes, table->name.size);
    tn_json_object(&w);
    for (size_t i = 0; i < table->column_count; i++) {
        tn_json_key_text(&w, table->columns[i].name.bytes, table->columns[i].name.size);
        put_value(e, &w, s, (int)i);
    }
    tn_json_object_end(&w);
    tn_json_object_end(&w);
    e->rows++;
    if (e->rows % 1024 == 0)
        TN_TRY(tn_context_check(e->library->context, err));
    return put_line(e, err);
}

/* ---- the file ---- */

static tn_status put_table(exporting *e, const tn_dump_table *table, tn_error *err)
{
    tn_sql s = {&e->library->db, table->select, 0, SQLITE_OK};
    for (;;) {
        bool more = false;
        TN_TRY(tn_sql_row(&s, &more, err));
        if (!more)
            return TN_OK;
        tn_status status = put_row(e, table, &s, err);
        if (status != TN_OK) {
            tn_sql_end(&s);
            return status;
        }
    }
}

static tn_status put_head(exporting *e, tn_error *err)
{
    int64_t version = 0;
    TN_TRY(tn_db_number(&e->library->db, "PRAGMA user_version", &version, err));
    tn_buffer_format(&e->line, "{\"tenure\":\"library\",\"version\":%lld}", (long long)version);
    return put_line(e, err);
}

static tn_status put_tables(exporting *e, const tn_dump *dump, tn_error *err)
{
    for (size_t i = 0; i < dump->table_count; i++)
        TN_TRY(put_table(e, &dump->tables[i], err));
    tn_buffer_format(&e->line, "{\"end\":{\"rows\":%llu}}", (unsigned long long)e->rows);
    return put_line(e, err);
}

static tn_status put_all(exporting *e, tn_error *err)
{
    tn_dump dump;
    TN_TRY(put_head(e, err));
    tn_status status = tn_dump_open(&dump, e->library, false, err);
    if (status == TN_OK)
        status = put_tables(e, &dump, err);
    tn_dump_close(&dump);
    return status;
}

static tn_status put_snapshot(exporting *e, tn_error *err)
{
    tn_sql s = tn_sql_start(&e->library->db, TN_QUERY_BEGIN_READ);
    TN_TRY(tn_sql_run(&s, err));
    return tn_db_end(&e->library->db, put_all(e, err), err);
}

tn_status tn_library_export(tn_library *library, bool (*write)(void *user, const char *bytes, size_t size), void *user,
                            tn_error *err)
{
    exporting e = {.library = library, .write = write, .user = user};
    TN_TRY(tn_context_check(library->context, err));
    if (write == NULL)
        return tn_fail(err, TN_INVALID, "a function that writes is needed");
    tn_buffer_init(&e.line, library->memory, 2 * TN_DUMP_LINE_MAX);
    tn_library_lock(library);
    tn_status status = put_snapshot(&e, err);
    tn_library_unlock(library);
    tn_buffer_free(&e.line);
    return status;
}
