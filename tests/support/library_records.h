/* What the tests of records share: what list, show and search tell is kept, and looked into with SQLite's own JSON functions,
 * a peer. Include after support/library.h. */
#ifndef TN_TESTS_SUPPORT_LIBRARY_RECORDS_H
#define TN_TESTS_SUPPORT_LIBRARY_RECORDS_H

#include "support/library.h"

typedef struct kept {
    size_t count, stop_after;
    int64_t ids[64];
    char json[16384], name[256];
    tn_state state;
    uint64_t size_bytes;
} kept;

static inline bool keep(void *user, const tn_record *record)
{
    kept *k = user;
    if (k->count < 64)
        k->ids[k->count] = record->id;
    k->count++;
    snprintf(k->json, sizeof k->json, "%s", record->json.bytes);
    snprintf(k->name, sizeof k->name, "%s", record->name.bytes);
    k->state = record->state;
    k->size_bytes = record->size_bytes;
    return k->stop_after == 0 || k->count < k->stop_after;
}

/* Whether the member at a path of the object is `expected`, a value of SQL. */
static inline int64_t holds(tn_library *library, const kept *k, const char *path, const char *expected)
{
    char sql[1024];
    int64_t value = -1;
    sqlite3_stmt *stmt = NULL;
    snprintf(sql, sizeof sql, "SELECT json_extract(?1, '%s') IS %s", path, expected);
    assert_int_equal(sqlite3_prepare_v2(library->db.handle, sql, -1, &stmt, NULL), SQLITE_OK);
    sqlite3_bind_text(stmt, 1, k->json, -1, SQLITE_STATIC);
    if (sqlite3_step(stmt) == SQLITE_ROW)
        value = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return value;
}

static inline kept show(tn_library *library, const char *model)
{
    kept k = {.count = 0};
    tn_error err;
    if (tn_library_show(library, model, keep, &k, &err) != TN_OK)
        fail_msg("%s cannot be shown: %s", model, err.message);
    return k;
}

/* What a search finds, as ids with blanks between. Valid until the next call. */
static inline const char *found(tn_library *library, const char *text, uint64_t limit)
{
    static char ids[1024];
    kept k = {.count = 0};
    tn_error err;
    if (tn_library_search(library, text, limit, keep, &k, &err) != TN_OK)
        fail_msg("%s: %s", text, err.message);
    ids[0] = '\0';
    for (size_t i = 0, at = 0; i < k.count; i++)
        at += (size_t)snprintf(ids + at, sizeof ids - at, "%s%lld", i > 0 ? " " : "", (long long)k.ids[i]);
    return ids;
}

/* Run SQL that changes rows behind the library's back, as an import does inside of a transaction of its own. */
static inline void change(tn_library *library, const char *sql)
{
    tn_error err;
    assert_int_equal(tn_library_begin(library, &err), TN_OK);
    tn_status status = tn_db_script(&library->db, sql, &err);
    if (tn_library_end(library, status, &err) != TN_OK)
        fail_msg("%s: %.60s", err.message, sql);
}

/* The index says of every record what `words` says, and `words` has a row for each. */
static inline void assert_indexed(tn_library *library)
{
    assert_int_equal(ask(library, "SELECT count(*) FROM words_stale"), 0);
    assert_int_equal(ask(library, "SELECT (SELECT count(*) FROM models) - (SELECT count(*) FROM words)"), 0);
    assert_int_equal(ask(library, "SELECT count(*) FROM models m LEFT JOIN words w ON w.model = m.id "
                                  "WHERE w.name IS NOT m.name OR instr(w.text, CAST(m.path AS TEXT)) = 0"), 0);
    change(library, "INSERT INTO words_names (words_names, rank) VALUES ('integrity-check', 1)");
    change(library, "INSERT INTO words_texts (words_texts, rank) VALUES ('integrity-check', 1)");
}

#endif
