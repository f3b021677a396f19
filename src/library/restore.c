/* Restore: a library out of the lines that export wrote (library/dump.h).
 *
 *   E1  All of it or nothing: one transaction, and only when the last line is there and the count is right.
 *   E2  The file is not trusted: tables and columns are those the library has, values have the type of their column, and
 *       what rows must hold beyond that is asked for before the end.
 *   E3  A line is held at a time.
 */
#include <stdlib.h>
#include <string.h>

#include "core/encode.h"
#include "core/json.h"
#include "library/dump.h"

#define CHUNK 65536u

typedef struct restoring {
    tn_library *library;
    size_t (*read)(void *user, char *bytes, size_t size);
    void *user;
    tn_buffer text;  /* what was read and not yet used */
    size_t from;     /* where the next line begins in it */
    bool at_end;     /* of what there is to read */
    uint64_t line, rows, models;
    tn_dump dump;
    tn_arena values; /* of one row */
    bool ended;      /* the last line was seen */
} restoring;

/* ---- lines ---- */

static tn_status refuse(restoring *r, tn_status status, const char *why, tn_error *err)
{
    return tn_fail(err, status, "line %llu: %s", (unsigned long long)r->line, why);
}

static tn_status read_more(restoring *r, tn_error *err)
{
    if (r->from > 0) {
        memmove(r->text.bytes, r->text.bytes + r->from, r->text.size - r->from);
        r->text.size -= r->from;
        r->from = 0;
    }
    char *room = tn_buffer_reserve(&r->text, CHUNK);
    if (room == NULL)
        return r->text.failed == TN_LIMIT ? refuse(r, TN_LIMIT, "it is longer than a line may be", err)
                                          : tn_buffer_status(&r->text, err);
    size_t got = r->read(r->user, room, CHUNK);
    if (got > CHUNK)
        return tn_fail(err, TN_IO, "what is to be restored cannot be read");
    r->text.size += got;
    r->at_end = got == 0;
    return TN_OK;
}

/* The next line without its end; *more false when there is none. It is valid until the next call. */
static tn_status next_line(restoring *r, tn_text *out, bool *more, tn_error *err)
{
    size_t seen = 0;
    r->line++;
    for (;;) {
        size_t left = r->text.size - r->from;
        const char *begin = left > 0 ? r->text.bytes + r->from : "";
        const char *end = left > seen ? memchr(begin + seen, '\n', left - seen) : NULL;
        if (end != NULL || r->at_end) {
            size_t size = end != NULL ? (size_t)(end - begin) : left;
            *out = (tn_text){begin, size};
            *more = end != NULL || left > 0;
            r->from += size + (end != NULL);
            return TN_OK;
        }
        seen = left;
        TN_TRY(read_more(r, err));
    }
}

static tn_status bad_json(restoring *r, const tn_json *json, tn_error *err)
{
    tn_error found;
    tn_json_fail(json, 0, &found);
    return refuse(r, TN_BAD_JSON, found.message, err);
}

/* ---- values ---- */

/* The contents of a string or of {"b64":"..."}; the last token of it is then the current one. */
static tn_status read_encoded(restoring *r, tn_json *json, tn_text *out, tn_error *err)
{
    tn_buffer bytes;
    tn_text text = tn_json_next(json) == TN_JSON_STRING ? tn_json_text(json, &r->values) : (tn_text){NULL, 0};
    if (text.bytes == NULL)
        return json->kind == TN_JSON_STRING ? tn_arena_status(&r->values, err) : bad_json(r, json, err);
    tn_buffer_init(&bytes, r->library->memory, TN_DUMP_LINE_MAX);
    bool good = tn_base64_decode(text.bytes, text.size, &bytes);
    tn_status status = bytes.failed != TN_OK ? tn_buffer_status(&bytes, err) : TN_OK;
    if (status == TN_OK && !good)
        status = refuse(r, TN_BAD_JSON, "this is no base64", err);
    if (status == TN_OK) {
        *out = tn_arena_text(&r->values, bytes.bytes != NULL ? bytes.bytes : "", bytes.size);
        status = tn_arena_status(&r->values, err);
    }
    tn_buffer_free(&bytes);
    if (status == TN_OK && tn_json_next(json) != TN_JSON_OBJECT_END)
        status = bad_json(r, json, err);
    return status;
}

static tn_status read_object(restoring *r, tn_json *json, tn_text *out, tn_error *err)
{
    tn_json inside = *json;
    const char *begin = json->bytes + json->token_at;
    if (tn_json_next(&inside) == TN_JSON_KEY && tn_json_is(&inside, "b64")) {
        *json = inside;
        return read_encoded(r, json, out, err);
    }
    if (!tn_json_skip(json))
        return bad_json(r, json, err);
    *out = (tn_text){begin, (size_t)(json->at - begin)};
    return TN_OK;
}

static tn_status read_text(restoring *r, tn_json *json, tn_text *out, tn_error *err)
{
    if (json->kind == TN_JSON_OBJECT_BEGIN)
        return read_object(r, json, out, err);
    if (json->kind != TN_JSON_STRING)
        return refuse(r, TN_BAD_LAYOUT, "a text is wanted here", err);
    *out = tn_json_text(json, &r->values);
    return out->bytes != NULL ? TN_OK : tn_arena_status(&r->values, err);
}

static bool read_integer(const tn_json *json, int64_t *out)
{
    char digits[24], *end;
    if (json->kind == TN_JSON_UINT && json->u <= INT64_MAX) {
        *out = (int64_t)json->u;
        return true;
    }
    if (json->kind != TN_JSON_NUMBER || json->text_size >= sizeof digits || json->text[0] != '-')
        return false;
    memcpy(digits, json->text, json->text_size);
    digits[json->text_size] = '\0';
    size_t count = strspn(digits + 1, "0123456789");
    bool least = strcmp(digits, "-9223372036854775808") == 0;
    *out = strtoll(digits, &end, 10);
    return digits[count + 1] == '\0' && (least || (count < 20 && *out != INT64_MIN));
}

/* Bind the current value as column `at` of the row. */
static tn_status bind_value(restoring *r, const tn_dump_table *table, size_t at, tn_json *json, tn_error *err)
{
    int64_t number = 0;
    tn_text text = {"", 0};
    int code = SQLITE_OK;
    if (json->kind == TN_JSON_NULL)
        return TN_OK; /* nothing is bound anew for each row */
    if (table->columns[at].kind == TN_DUMP_INTEGER) {
        if (!read_integer(json, &number))
            return refuse(r, TN_BAD_LAYOUT, "a number of 64 bits is wanted here", err);
        code = sqlite3_bind_int64(table->insert, (int)at + 1, number);
        return code == SQLITE_OK ? TN_OK : tn_db_fail(r->dump.db, code, err);
    }
    TN_TRY(read_text(r, json, &text, err));
    if (table->columns[at].kind == TN_DUMP_TEXT) {
        if (text.size > 0 && memchr(text.bytes, '\0', text.size) != NULL)
            return refuse(r, TN_BAD_LAYOUT, "a text has no NUL in it", err);
        code = sqlite3_bind_text64(table->insert, (int)at + 1, text.bytes, text.size, SQLITE_STATIC, SQLITE_UTF8);
    } else {
        code = sqlite3_bind_blob64(table->insert, (int)at + 1, text.bytes, text.size, SQLITE_STATIC);
    }
    return code == SQLITE_OK ? TN_OK : tn_db_fail(r->dump.db, code, err);
}

/* ---- rows ---- */

static const tn_dump_table *table_of(const restoring *r, const tn_json *json)
{
    for (size_t i = 0; i < r->dump.table_count; i++)
        if (tn_json_is(json, r->dump.tables[i].name.bytes))
            return &r->dump.tables[i];
    return NULL;
}

static size_t column_of(const tn_dump_table *table, const tn_json *json)
{
    size_t i = 0;
    while (i < table->column_count && !tn_json_is(json, table->columns[i].name.bytes))
        i++;
    return i;
}

static tn_status bind_row(restoring *r, const tn_dump_table *table, tn_json *json, tn_error *err)
{
    uint64_t have = 0;
    if (tn_json_next(json) != TN_JSON_OBJECT_BEGIN)
        return bad_json(r, json, err);
    while (tn_json_next(json) == TN_JSON_KEY) {
        size_t at = column_of(table, json);
        if (at == table->column_count)
            return refuse(r, TN_BAD_LAYOUT, "the library has no such column", err);
        if ((have >> at & 1) != 0)
            return refuse(r, TN_BAD_LAYOUT, "a column stands twice", err);
        have |= UINT64_C(1) << at;
        tn_json_next(json);
        TN_TRY(bind_value(r, table, at, json, err));
    }
    if (json->kind != TN_JSON_OBJECT_END)
        return bad_json(r, json, err);
    if (have != (table->column_count < 64 ? (UINT64_C(1) << table->column_count) - 1 : UINT64_MAX))
        return refuse(r, TN_BAD_LAYOUT, "a column is missing", err);
    return TN_OK;
}

/* What the library itself refuses is the file's fault. */
static tn_status insert_row(restoring *r, const tn_dump_table *table, tn_error *err)
{
    tn_sql s = {r->dump.db, table->insert, 0, SQLITE_OK};
    tn_error found;
    tn_status status = tn_sql_run(&s, &found);
    int code = sqlite3_errcode(r->dump.db->handle) & 0xff;
    if (status == TN_OK)
        return TN_OK;
    if (code == SQLITE_CONSTRAINT || code == SQLITE_MISMATCH || code == SQLITE_TOOBIG)
        return refuse(r, TN_BAD_LAYOUT, found.message, err);
    return tn_fail_as(&found, err);
}

static tn_status take_row(restoring *r, const tn_dump_table *table, tn_json *json, tn_error *err)
{
    tn_status status = bind_row(r, table, json, err);
    if (status == TN_OK)
        status = insert_row(r, table, err);
    sqlite3_reset(table->insert);
    sqlite3_clear_bindings(table->insert);
    r->rows++;
    r->models += strcmp(table->name.bytes, "models") == 0;
    return status;
}

/* {"end":{"rows":N}} */
static tn_status take_end(restoring *r, tn_json *json, tn_error *err)
{
    if (tn_json_next(json) != TN_JSON_OBJECT_BEGIN || tn_json_next(json) != TN_JSON_KEY || !tn_json_is(json, "rows") ||
        tn_json_next(json) != TN_JSON_UINT)
        return bad_json(r, json, err);
    if (json->u != r->rows)
        return refuse(r, TN_TRUNCATED, "rows are missing before it", err);
    r->ended = true;
    return tn_json_next(json) == TN_JSON_OBJECT_END ? TN_OK : bad_json(r, json, err);
}

static tn_status take_line(restoring *r, tn_text line, tn_error *err)
{
    tn_json json;
    tn_json_init(&json, line.bytes, line.size);
    if (r->ended)
        return refuse(r, TN_TRAILING_BYTES, "something follows the end", err);
    if (tn_json_next(&json) != TN_JSON_OBJECT_BEGIN || tn_json_next(&json) != TN_JSON_KEY)
        return bad_json(r, &json, err);
    const tn_dump_table *table = table_of(r, &json);
    if (table != NULL)
        TN_TRY(take_row(r, table, &json, err));
    else if (tn_json_is(&json, "end"))
        TN_TRY(take_end(r, &json, err));
    else
        return refuse(r, TN_BAD_LAYOUT, "the library has no such table", err);
    if (tn_json_next(&json) != TN_JSON_OBJECT_END || tn_json_next(&json) != TN_JSON_END)
        return bad_json(r, &json, err);
    return TN_OK;
}

/* ---- the file ---- */

static tn_status check_version(restoring *r, uint64_t version, tn_error *err)
{
    int64_t ours = 0;
    TN_TRY(tn_db_number(r->dump.db, "PRAGMA user_version", &ours, err));
    if (version > (uint64_t)ours)
        return tn_fail(err, TN_NEWER, "this was written by a newer Tenure: library version %llu, this program knows %lld",
                       (unsigned long long)version, (long long)ours);
    if (version < (uint64_t)ours)
        return tn_fail(err, TN_UNSUPPORTED, "this is of library version %llu, this program reads %lld: restore it with the "
                       "Tenure that wrote it", (unsigned long long)version, (long long)ours);
    return TN_OK;
}

/* {"tenure":"library","version":N} */
static tn_status take_head(restoring *r, tn_error *err)
{
    tn_json json;
    tn_text line;
    bool more = false;
    TN_TRY(next_line(r, &line, &more, err));
    tn_json_init(&json, line.bytes, line.size);
    if (tn_json_next(&json) != TN_JSON_OBJECT_BEGIN || tn_json_next(&json) != TN_JSON_KEY ||
        !tn_json_is(&json, "tenure") || tn_json_next(&json) != TN_JSON_STRING || !tn_json_is(&json, "library") ||
        tn_json_next(&json) != TN_JSON_KEY || !tn_json_is(&json, "version") || tn_json_next(&json) != TN_JSON_UINT)
        return refuse(r, TN_BAD_LAYOUT, "this is not what `tenure export` writes", err);
    return check_version(r, json.u, err);
}

static tn_status take_lines(restoring *r, tn_error *err)
{
    for (bool more = true;;) {
        tn_text line;
        TN_TRY(next_line(r, &line, &more, err));
        if (!more)
            break;
        tn_status status = take_line(r, line, err);
        tn_arena_free(&r->values);
        TN_TRY(status);
        if (r->line % 256 == 0)
            TN_TRY(tn_context_check(r->library->context, err));
    }
    return r->ended ? TN_OK : refuse(r, TN_TRUNCATED, "the end is missing: it was cut", err);
}

static tn_status run(restoring *r, tn_query query, tn_error *err)
{
    tn_sql s = tn_sql_start(r->dump.db, query);
    return tn_sql_run(&s, err);
}

static tn_status check_empty(restoring *r, tn_error *err)
{
    bool any = false;
    tn_sql s = tn_sql_start(&r->library->db, TN_QUERY_RESTORE_ANYTHING);
    TN_TRY(tn_sql_row(&s, &any, err));
    if (any)
        tn_sql_end(&s);
    return any ? tn_fail(err, TN_EXISTS, "the library holds something already: restore into a new one") : TN_OK;
}

static tn_status check_rows(restoring *r, tn_error *err)
{
    bool more = false;
    tn_sql s = tn_sql_start(r->dump.db, TN_QUERY_RESTORE_WRONG);
    TN_TRY(tn_sql_row(&s, &more, err));
    if (!more)
        return TN_OK;
    tn_fail(err, TN_BAD_LAYOUT, "the rows do not make a library: %s", tn_sql_get(&s, 0).bytes);
    tn_sql_end(&s);
    return TN_BAD_LAYOUT;
}

static tn_status check_references(restoring *r, tn_error *err)
{
    bool more = false;
    tn_sql s = tn_sql_start(r->dump.db, TN_QUERY_CHECK_REFERENCES);
    TN_TRY(tn_sql_row(&s, &more, err));
    tn_sql_end(&s);
    return more ? tn_fail(err, TN_BAD_LAYOUT, "the rows do not make a library: some refer to rows that are not there")
                : TN_OK;
}

static tn_status fill(restoring *r, tn_error *err)
{
    TN_TRY(check_empty(r, err));
    TN_TRY(run(r, TN_QUERY_RESTORE_FORGET_SEQUENCES, err));
    TN_TRY(run(r, TN_QUERY_RESTORE_DEFER, err));
    TN_TRY(take_head(r, err));
    TN_TRY(take_lines(r, err));
    TN_TRY(run(r, TN_QUERY_RESTORE_ONE_SEQUENCE, err));
    TN_TRY(check_rows(r, err));
    return check_references(r, err);
}

static tn_status restore(restoring *r, tn_error *err)
{
    TN_TRY(tn_library_begin(r->library, err));
    tn_status status = tn_dump_open(&r->dump, r->library, true, err);
    if (status == TN_OK)
        status = fill(r, err);
    tn_dump_close(&r->dump);
    return tn_library_end(r->library, status, err);
}

tn_status tn_library_restore(tn_library *library, size_t (*read)(void *user, char *bytes, size_t size), void *user,
                             uint64_t *models, tn_error *err)
{
    restoring r = {.library = library, .read = read, .user = user};
    TN_TRY(tn_context_check(library->context, err));
    if (read == NULL)
        return tn_fail(err, TN_INVALID, "a function that reads is needed");
    tn_buffer_init(&r.text, library->memory, TN_DUMP_LINE_MAX);
    tn_arena_init(&r.values, library->memory, 2 * TN_DUMP_LINE_MAX);
    tn_status status = restore(&r, err);
    if (status == TN_OK && models != NULL)
        *models = r.models;
    tn_arena_free(&r.values);
    tn_buffer_free(&r.text);
    return status;
}
