#include <inttypes.h>
#include <string.h>

#include "library/inside.h"
#include "library/place.h"

/* An invariant: a query that counts what breaks it, and how that reads. */
typedef struct invariant {
    tn_query query;
    const char *says;
} invariant;

static const invariant invariants[] = {
    {TN_QUERY_CHECK_PARTS, "models that are there have no path"},
    {TN_QUERY_CHECK_POSITIONS, "models lack rows for their parts"},
    {TN_QUERY_CHECK_PATHS, "paths stand twice"},
    {TN_QUERY_CHECK_TWINS, "files are two models"},
    {TN_QUERY_CHECK_UNSETTLED, "records wait for a scan that has ended"},
    {TN_QUERY_CHECK_FORGOTTEN, "files were forgotten and not read again"},
    {TN_QUERY_CHECK_ITEMS, "items wait in jobs that have ended"},
};

static tn_status damaged(tn_library *library, int64_t count, const char *says, tn_error *err)
{
    tn_fail(err, TN_LIBRARY_DAMAGED, "%" PRId64 " %s", count, says);
    tn_error_at_file(err, library->path.bytes);
    return TN_LIBRARY_DAMAGED;
}

static tn_status check_one(tn_library *library, const invariant *i, tn_error *err)
{
    bool more = false;
    tn_sql s = tn_sql_start(&library->db, i->query);
    TN_TRY(tn_sql_row(&s, &more, err));
    int64_t count = more ? tn_sql_get_int(&s, 0) : 0;
    tn_sql_end(&s);
    return count == 0 ? TN_OK : damaged(library, count, i->says, err);
}

/* SQLite answers "ok" in one row, or tells what it found. */
static tn_status check_pages(tn_library *library, tn_error *err)
{
    bool more = false;
    tn_sql s = tn_sql_start(&library->db, TN_QUERY_CHECK_PAGES);
    TN_TRY(tn_sql_row(&s, &more, err));
    bool sound = more && strcmp(tn_sql_get(&s, 0).bytes, "ok") == 0;
    tn_sql_end(&s);
    return sound ? TN_OK : damaged(library, 1, "fault was found by SQLite's own check", err);
}

static tn_status check_references(tn_library *library, tn_error *err)
{
    bool more = false;
    tn_sql s = tn_sql_start(&library->db, TN_QUERY_CHECK_REFERENCES);
    TN_TRY(tn_sql_row(&s, &more, err));
    tn_sql_end(&s);
    return more ? damaged(library, 1, "or more rows refer to nothing", err) : TN_OK;
}

/* SQLite reads zeros where the last page of a file ends too early. What is in the write-ahead log is not in the file yet. */
static tn_status check_size(tn_library *library, tn_error *err)
{
    int64_t pages = 0, page_bytes = 0;
    tn_os_info info, log;
    tn_buffer path;
    tn_buffer_init(&path, library->memory, TN_PLACE_PATH_MAX);
    tn_buffer_format(&path, "%s-wal", library->path.bytes);
    tn_status status = tn_buffer_status(&path, err);
    bool logged = status == TN_OK && tn_os_info_at(path.bytes, true, &log, NULL) == TN_OK && log.size > 0;
    tn_buffer_free(&path);
    TN_TRY(status);
    TN_TRY(tn_db_number(&library->db, "PRAGMA page_count", &pages, err));
    TN_TRY(tn_db_number(&library->db, "PRAGMA page_size", &page_bytes, err));
    if (logged || tn_os_info_at(library->path.bytes, true, &info, NULL) != TN_OK)
        return TN_OK;
    bool whole = info.size >= (uint64_t)pages * (uint64_t)page_bytes;
    return whole ? TN_OK : damaged(library, 1, "page is cut short", err);
}

/* The index of words against the words themselves, which SQLite's check of pages does not do. It counts as writing. */
static tn_status check_index(tn_library *library, tn_error *err)
{
    static const tn_query checks[] = {TN_QUERY_CHECK_NAMES_INDEX, TN_QUERY_CHECK_TEXTS_INDEX};
    for (size_t i = 0; !library->read_only && i < sizeof checks / sizeof checks[0]; i++) {
        tn_sql s = tn_sql_start(&library->db, checks[i]);
        TN_TRY(tn_sql_run(&s, err));
    }
    return TN_OK;
}

static tn_status verify(tn_library *library, tn_error *err)
{
    TN_TRY(check_size(library, err));
    TN_TRY(check_pages(library, err));
    TN_TRY(check_references(library, err));
    TN_TRY(check_index(library, err));
    for (size_t i = 0; i < sizeof invariants / sizeof invariants[0]; i++)
        TN_TRY(check_one(library, &invariants[i], err));
    return TN_OK;
}

tn_status tn_library_verify_internal(tn_library *library, tn_error *err)
{
    tn_library_lock(library);
    tn_status status = verify(library, err);
    tn_library_unlock(library);
    return status;
}
