#include "library/dump.h"

#include <string.h>

/* sqlite_sequence declares no types. */
static tn_dump_kind kind_of(const char *declared, const char *name)
{
    if (declared == NULL)
        return strcmp(name, "seq") == 0 ? TN_DUMP_INTEGER : TN_DUMP_TEXT;
    if (strcmp(declared, "BLOB") == 0)
        return TN_DUMP_BLOB;
    return strcmp(declared, "TEXT") == 0 ? TN_DUMP_TEXT : TN_DUMP_INTEGER;
}

static tn_status prepare(tn_dump *dump, tn_text sql, sqlite3_stmt **out, tn_error *err)
{
    int code = sqlite3_prepare_v2(dump->db->handle, sql.bytes, (int)sql.size, out, NULL);
    return code == SQLITE_OK ? TN_OK : tn_db_fail(dump->db, code, err);
}

static tn_status read_columns(tn_dump *dump, tn_dump_table *table, tn_error *err)
{
    int count = sqlite3_column_count(table->select);
    if (count < 1 || count > (int)TN_DUMP_COLUMNS_MAX)
        return tn_fail(err, TN_LIMIT, "the table %s has %d columns", table->name.bytes, count);
    table->columns = tn_arena_take_array(&dump->arena, (size_t)count, sizeof *table->columns);
    for (int i = 0; table->columns != NULL && i < count; i++) {
        const char *name = sqlite3_column_name(table->select, i);
        if (name == NULL)
            return tn_db_fail(dump->db, SQLITE_NOMEM, err);
        table->columns[i].name = tn_arena_text(&dump->arena, name, strlen(name));
        table->columns[i].kind = kind_of(sqlite3_column_decltype(table->select, i), name);
    }
    table->column_count = (size_t)count;
    return tn_arena_status(&dump->arena, err);
}

static tn_status add_table(tn_dump *dump, const tn_sql *s, bool inserts, tn_error *err)
{
    if (dump->table_count == TN_DUMP_TABLES_MAX)
        return tn_fail(err, TN_LIMIT, "the library has more than %u tables", TN_DUMP_TABLES_MAX);
    tn_dump_table *table = &dump->tables[dump->table_count++];
    tn_text name = tn_sql_get(s, 0);
    table->name = tn_arena_text(&dump->arena, name.bytes, name.size);
    TN_TRY(tn_arena_status(&dump->arena, err));
    TN_TRY(prepare(dump, tn_sql_get(s, 1), &table->select, err));
    if (inserts)
        TN_TRY(prepare(dump, tn_sql_get(s, 2), &table->insert, err));
    return read_columns(dump, table, err);
}

tn_status tn_dump_open(tn_dump *dump, tn_library *library, bool inserts, tn_error *err)
{
    *dump = (tn_dump){.db = &library->db};
    tn_arena_init(&dump->arena, library->memory, (size_t)1 << 20);
    tn_sql s = tn_sql_start(dump->db, TN_QUERY_DUMP_TABLES);
    for (;;) {
        bool more = false;
        TN_TRY(tn_sql_row(&s, &more, err));
        if (!more)
            return TN_OK;
        tn_status status = add_table(dump, &s, inserts, err);
        if (status != TN_OK) {
            tn_sql_end(&s);
            return status;
        }
    }
}

void tn_dump_close(tn_dump *dump)
{
    for (size_t i = 0; i < dump->table_count; i++) {
        sqlite3_finalize(dump->tables[i].select);
        sqlite3_finalize(dump->tables[i].insert);
    }
    tn_arena_free(&dump->arena);
}
