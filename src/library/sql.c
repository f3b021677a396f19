#include "library/sql.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

static const char *const texts[] = {
#define TN_QUERY(NAME, text) text,
#include "library/queries.def"
#undef TN_QUERY
};

/* ---- failures ---- */

static tn_status status_of_io(tn_db *db, int code)
{
    if (code == SQLITE_IOERR_NOMEM)
        return TN_NO_MEMORY;
    if (code == SQLITE_IOERR_SHORT_READ || code == SQLITE_IOERR_CORRUPTFS) /* it ends within a page */
        return TN_LIBRARY_DAMAGED;
    if (db->handle != NULL && tn_os_means_full(sqlite3_system_errno(db->handle)))
        return TN_NO_SPACE;
    return TN_IO;
}

static tn_status status_of(tn_db *db, int code)
{
    switch (code & 0xff) {
    case SQLITE_FULL:
        return TN_NO_SPACE;
    case SQLITE_READONLY:
        return TN_READ_ONLY;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return TN_LIBRARY_DAMAGED;
    case SQLITE_IOERR:
        return status_of_io(db, code);
    case SQLITE_NOMEM:
        return TN_NO_MEMORY;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
        return TN_LOCKED;
    case SQLITE_INTERRUPT:
        return TN_CANCELLED;
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return TN_PERMISSION;
    case SQLITE_CANTOPEN:
        return TN_IO;
    case SQLITE_TOOBIG:
        return TN_LIMIT;
    default:
        return TN_INTERNAL;
    }
}

tn_status tn_db_fail(tn_db *db, int code, tn_error *err)
{
    tn_status status = status_of(db, code);
    if (status == TN_LOCKED && tn_context_cancelled(db->context))
        status = TN_CANCELLED;
    const char *says = db->handle != NULL ? sqlite3_errmsg(db->handle) : sqlite3_errstr(code);
    tn_fail(err, status, "%s (SQLite %d: %s)", tn_status_text(status), code, says);
    tn_error_at_file(err, db->path);
    return status;
}

/* ---- connections ---- */

#define BUSY_CANCELLED_MS 1000

/* Waits a little longer each time, and not for long once the context is cancelled. */
static int on_busy(void *user, int times)
{
    const tn_db *db = user;
    static const unsigned steps_ms[] = {1, 2, 5, 10, 15, 20, 25, 50};
    const int steps = (int)(sizeof steps_ms / sizeof steps_ms[0]);
    unsigned waited = 0;
    for (int i = 0; i < times && waited < db->busy_ms; i++)
        waited += steps_ms[i < steps ? i : steps - 1];
    if (waited >= db->busy_ms || (waited >= BUSY_CANCELLED_MS && tn_context_cancelled(db->context)))
        return 0;
    tn_os_sleep_ms(steps_ms[times < steps ? times : steps - 1]);
    return 1;
}

static tn_status prepare_ends(tn_db *db, tn_error *err)
{
    static const tn_query ends[] = {TN_QUERY_COMMIT, TN_QUERY_ROLLBACK};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        tn_sql s = tn_sql_start(db, ends[i]);
        if (s.code != SQLITE_OK)
            return tn_db_fail(db, s.code, err);
    }
    return TN_OK;
}

tn_status tn_db_open(tn_db *db, tn_context *context, const char *name, int flags, unsigned busy_ms, tn_error *err)
{
    memset(db->prepared, 0, sizeof db->prepared);
    db->context = context;
    db->busy_ms = busy_ms;
    db->spent_ns = 0;
    int code = sqlite3_open_v2(name, &db->handle, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
    if (code != SQLITE_OK) {
        tn_status status = tn_db_fail(db, code, err);
        tn_db_close(db);
        return status;
    }
    sqlite3_busy_handler(db->handle, on_busy, db);
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_ENABLE_FKEY, 1, NULL);
    tn_status status = prepare_ends(db, err);
    if (status != TN_OK)
        tn_db_close(db);
    return status;
}

void tn_db_close(tn_db *db)
{
    for (int i = 0; i < TN_QUERY_COUNT; i++) {
        sqlite3_finalize(db->prepared[i]);
        db->prepared[i] = NULL;
    }
    sqlite3_close_v2(db->handle);
    db->handle = NULL;
}

tn_status tn_db_script(tn_db *db, const char *sql, tn_error *err)
{
    int code = sqlite3_exec(db->handle, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? TN_OK : tn_db_fail(db, code, err);
}

tn_status tn_db_number(tn_db *db, const char *sql, int64_t *out, tn_error *err)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(db->handle, sql, -1, &stmt, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(stmt);
    if (code == SQLITE_ROW)
        *out = sqlite3_column_int64(stmt, 0);
    tn_status status = code == SQLITE_ROW ? TN_OK : tn_db_fail(db, code, err);
    sqlite3_finalize(stmt);
    return status;
}

/* ---- transactions ---- */

static tn_status run_plain(tn_db *db, tn_query query, tn_error *err)
{
    tn_sql s = tn_sql_start(db, query);
    return tn_sql_run(&s, err);
}

tn_status tn_db_begin(tn_db *db, tn_error *err)
{
    TN_TRY(run_plain(db, TN_QUERY_BEGIN_WRITE, err));
    db->began_ns = tn_os_monotonic_ns();
    return TN_OK;
}

tn_status tn_db_end(tn_db *db, tn_status status, tn_error *err)
{
    if (status == TN_OK)
        status = run_plain(db, TN_QUERY_COMMIT, err);
    /* A full disk or a lack of memory can end the transaction by itself: then there is nothing to roll back. */
    if (status != TN_OK && sqlite3_get_autocommit(db->handle) == 0)
        run_plain(db, TN_QUERY_ROLLBACK, NULL);
    db->spent_ns += tn_os_monotonic_ns() - db->began_ns;
    return status;
}

/* ---- statements ---- */

tn_sql tn_sql_start(tn_db *db, tn_query query)
{
    tn_sql s = {db, db->prepared[query], 0, SQLITE_OK};
    if (s.stmt != NULL)
        return s;
    s.code = sqlite3_prepare_v3(db->handle, texts[query], -1, SQLITE_PREPARE_PERSISTENT, &db->prepared[query], NULL);
    s.stmt = db->prepared[query];
    assert(s.code != SQLITE_ERROR);
    return s;
}

static void note(tn_sql *s, int code)
{
    if (s->code == SQLITE_OK)
        s->code = code;
}

void tn_sql_int(tn_sql *s, int64_t value)
{
    note(s, sqlite3_bind_int64(s->stmt, ++s->bound, value));
}

/* A NULL pointer would bind NULL; nothing is an empty value here. */
void tn_sql_blob(tn_sql *s, const void *bytes, size_t size)
{
    note(s, sqlite3_bind_blob64(s->stmt, ++s->bound, bytes != NULL ? bytes : "", size, SQLITE_STATIC));
}

void tn_sql_text(tn_sql *s, const char *bytes, size_t size)
{
    note(s, sqlite3_bind_text64(s->stmt, ++s->bound, bytes != NULL ? bytes : "", size, SQLITE_STATIC, SQLITE_UTF8));
}

void tn_sql_null(tn_sql *s)
{
    note(s, sqlite3_bind_null(s->stmt, ++s->bound));
}

tn_status tn_sql_row(tn_sql *s, bool *more, tn_error *err)
{
    if (s->code == SQLITE_OK) {
        int code = sqlite3_step(s->stmt);
        if (code == SQLITE_ROW) {
            *more = true;
            return TN_OK;
        }
        s->code = code == SQLITE_DONE ? SQLITE_OK : code;
    }
    tn_status status = s->code == SQLITE_OK ? TN_OK : tn_db_fail(s->db, s->code, err);
    tn_sql_end(s);
    if (status == TN_OK)
        *more = false;
    return status;
}

tn_status tn_sql_run(tn_sql *s, tn_error *err)
{
    for (bool more = true; more;)
        TN_TRY(tn_sql_row(s, &more, err));
    return TN_OK;
}

void tn_sql_end(tn_sql *s)
{
    s->bound = 0;
    if (s->stmt == NULL)
        return;
    sqlite3_reset(s->stmt);
    sqlite3_clear_bindings(s->stmt);
}

int64_t tn_sql_get_int(const tn_sql *s, int column)
{
    return sqlite3_column_int64(s->stmt, column);
}

tn_text tn_sql_get(const tn_sql *s, int column)
{
    const char *bytes = sqlite3_column_blob(s->stmt, column);
    int size = sqlite3_column_bytes(s->stmt, column);
    return (tn_text){bytes != NULL ? bytes : "", size > 0 ? (size_t)size : 0};
}
