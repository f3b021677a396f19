/* The tables of a library as text: what export writes and restore reads.
 *
 * A file of JSON lines. The first is {"tenure":"library","version":N}, the last {"end":{"rows":N}}, so that one that was
 * cut is known; between them each line is a row, {"table":{"column":value, ...}}, table by table, in the order of the
 * primary key. Numbers are numbers and NULL is null. Texts and bytes are strings; bytes that are no UTF-8 are
 * {"b64":"..."}. A text that is itself a JSON object stands as it is. Which tables there are the library itself says, so
 * that a table or column of a later version is never forgotten; what is derived (the words of search) is left out.
 */
#ifndef TN_LIBRARY_DUMP_H
#define TN_LIBRARY_DUMP_H

#include "library/inside.h"

#define TN_DUMP_TABLES_MAX 64u
#define TN_DUMP_COLUMNS_MAX 64u
#define TN_DUMP_LINE_MAX ((size_t)64 << 20) /* bytes of one row */

typedef enum tn_dump_kind { TN_DUMP_INTEGER, TN_DUMP_TEXT, TN_DUMP_BLOB } tn_dump_kind;

typedef struct tn_dump_column {
    tn_text name;
    tn_dump_kind kind;
} tn_dump_column;

typedef struct tn_dump_table {
    tn_text name;
    sqlite3_stmt *select, *insert; /* all columns in their order; insert may be NULL */
    size_t column_count;
    tn_dump_column *columns;
} tn_dump_table;

typedef struct tn_dump {
    tn_db *db;
    tn_arena arena;
    size_t table_count;
    tn_dump_table tables[TN_DUMP_TABLES_MAX];
} tn_dump;

/* Read which tables there are and prepare their statements, those to write too when `inserts`. Under the lock. Free it
 * whatever it returned. */
tn_status tn_dump_open(tn_dump *dump, tn_library *library, bool inserts, tn_error *err);
void tn_dump_close(tn_dump *dump);

#endif
