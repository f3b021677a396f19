/* SQLite behind a few calls that bind in order, fail once and map every failure to a status.
 *
 *   Q1  A statement is prepared at its first use and kept until the connection is closed; those that end a transaction
 *       are prepared at once, so that there is no lack of memory they could not be run in.
 *   Q2  The first failure of a statement stays: binding goes on harmlessly, running tells it.
 *   Q3  A statement is reset when it ended, failed, or tn_sql_end was called; none stays open across a transaction.
 * One thread at a time: whoever holds the library's lock.
 */
#ifndef TN_LIBRARY_SQL_H
#define TN_LIBRARY_SQL_H

#include <sqlite3.h>

#include "context/context.h"

typedef enum tn_query {
#define TN_QUERY(NAME, text) TN_QUERY_##NAME,
#include "library/queries.def"
#undef TN_QUERY
    TN_QUERY_COUNT
} tn_query;

/* One connection. */
typedef struct tn_db {
    sqlite3 *handle;
    sqlite3_stmt *prepared[TN_QUERY_COUNT];
    tn_context *context;
    const char *path;   /* for messages */
    unsigned busy_ms;   /* how long to wait for another writer */
    uint64_t spent_ns;  /* inside write transactions, for the log */
    uint64_t began_ns;
} tn_db;

/* Open a connection. `flags` are SQLite's; `name` is a path or, with SQLITE_OPEN_URI, a URI. On failure nothing is
 * left open. */
tn_status tn_db_open(tn_db *db, tn_context *context, const char *name, int flags, unsigned busy_ms, tn_error *err);
void tn_db_close(tn_db *db);
/* Statements without parameters or results, one or many (pragmas, migrations). */
tn_status tn_db_script(tn_db *db, const char *sql, tn_error *err);
/* The first column of the first row of a statement without parameters. */
tn_status tn_db_number(tn_db *db, const char *sql, int64_t *out, tn_error *err);
/* Turn a result code of SQLite into a status. */
tn_status tn_db_fail(tn_db *db, int code, tn_error *err);

/* Begin to write: waits for other writers up to busy_ms, then TN_LOCKED. */
tn_status tn_db_begin(tn_db *db, tn_error *err);
/* Commit when `status` is TN_OK, else roll back and return it as it is. A failed commit rolls back too. */
tn_status tn_db_end(tn_db *db, tn_status status, tn_error *err);

/* A prepared statement being used. */
typedef struct tn_sql {
    tn_db *db;
    sqlite3_stmt *stmt;
    int bound; /* parameters bound so far */
    int code;  /* SQLITE_OK, or the first failure */
} tn_sql;

tn_sql tn_sql_start(tn_db *db, tn_query query);
void tn_sql_int(tn_sql *s, int64_t value);
/* Borrowed until the statement ends. */
void tn_sql_blob(tn_sql *s, const void *bytes, size_t size);
void tn_sql_text(tn_sql *s, const char *bytes, size_t size);
void tn_sql_null(tn_sql *s);
/* The next row: *more false at the end (and then the statement has ended). */
tn_status tn_sql_row(tn_sql *s, bool *more, tn_error *err);
/* Run to the end, looking at no rows. */
tn_status tn_sql_run(tn_sql *s, tn_error *err);
void tn_sql_end(tn_sql *s);

/* Columns of the current row. Texts and blobs are valid until the next row or end. */
int64_t tn_sql_get_int(const tn_sql *s, int column);
tn_text tn_sql_get(const tn_sql *s, int column);

#endif
