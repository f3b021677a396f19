/* Bringing a library to the version of this program: numbered steps that only go forward.
 *
 *   V1  Each step and its number are one transaction: a library stands at a version, never between two.
 *   V2  Before the first step an existing library is copied to LIBRARY.bak-vN, N being the version it had. The copy is
 *       durable before the step begins.
 *   V3  Afterwards the write-ahead log is emptied, so that the version in the file's own header is the true one.
 */
#ifndef TN_LIBRARY_MIGRATE_H
#define TN_LIBRARY_MIGRATE_H

#include "library/sql.h"

#define TN_APPLICATION_ID 0x54656e75 /* "Tenu", big-endian at byte 68 of the file */

typedef struct tn_migration {
    int version; /* that the library has afterwards */
    const char *sql;
} tn_migration;

extern const tn_migration tn_migrations[];
extern const int tn_migration_count;

/* Copy the library as this connection sees it into a new file. */
tn_status tn_migrate_copy(tn_db *db, const char *path, tn_error *err);
/* Run the steps above the version the library has. `backup`: copy it first, when there is anything to run. */
tn_status tn_migrate(tn_db *db, const tn_migration *migrations, int count, bool backup, tn_error *err);

#endif
