#include "library/migrate.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "library/place.h"
#include "os/os_fault.h"

const tn_migration tn_migrations[] = {
#define TN_MIGRATION(number, text) {number, text},
#include "library/migrations.def"
#undef TN_MIGRATION
};
const int tn_migration_count = (int)(sizeof tn_migrations / sizeof tn_migrations[0]);

static tn_status version_of(tn_db *db, int64_t *out, tn_error *err)
{
    return tn_db_number(db, "PRAGMA user_version", out, err);
}

/* ---- the copy before ---- */

static tn_status copy_pages(tn_db *db, sqlite3 *to, tn_error *err)
{
    sqlite3_backup *backup = sqlite3_backup_init(to, "main", db->handle, "main");
    if (backup == NULL)
        return tn_db_fail(db, sqlite3_errcode(to), err);
    int code = sqlite3_backup_step(backup, -1);
    int end = sqlite3_backup_finish(backup);
    if (code == SQLITE_DONE && end == SQLITE_OK)
        return TN_OK;
    return tn_db_fail(db, code == SQLITE_DONE ? end : code, err);
}

tn_status tn_migrate_copy(tn_db *db, const char *path, tn_error *err)
{
    sqlite3 *to = NULL;
    int code = sqlite3_open_v2(path, &to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
    tn_status status = code == SQLITE_OK ? copy_pages(db, to, err) : tn_db_fail(db, code, err);
    sqlite3_close(to);
    return status;
}

/* The copy gets its name only when it is whole and still shows the old version: another process may have been faster. */
static tn_status keep_copy(tn_db *db, const char *copy, const char *name, int64_t version, tn_error *err)
{
    TN_TRY(tn_migrate_copy(db, copy, err));
    tn_place place;
    TN_TRY(tn_place_look(copy, &place, err));
    if (place.version != version)
        return tn_os_remove(copy, err);
    TN_TRY(tn_place_settle(copy, &db->context->memory, err)); /* that SQLite has removed its journal */
    TN_TRY(tn_os_rename(copy, name, true, err));
    return tn_place_settle(name, &db->context->memory, err);
}

static tn_status back_up(tn_db *db, int64_t version, tn_error *err)
{
    tn_buffer copy, name;
    tn_buffer_init(&copy, &db->context->memory, TN_PLACE_PATH_MAX);
    tn_buffer_init(&name, &db->context->memory, TN_PLACE_PATH_MAX);
    uint64_t draw;
    tn_os_random(&draw, sizeof draw);
    tn_buffer_format(&name, "%s.bak-v%" PRId64, db->path, version);
    tn_buffer_format(&copy, "%s.bak-v%" PRId64 ".%08" PRIx64, db->path, version, draw & 0xffffffff);
    tn_status status = tn_buffer_status(&copy, err);
    if (status == TN_OK)
        status = keep_copy(db, copy.bytes, name.bytes, version, err);
    if (status != TN_OK && copy.failed == TN_OK)
        tn_os_remove(copy.bytes, NULL);
    tn_buffer_free(&copy);
    tn_buffer_free(&name);
    return status;
}

/* ---- the steps ---- */

static tn_status set_number(tn_db *db, const char *pragma, int number, tn_error *err)
{
    char sql[64];
    snprintf(sql, sizeof sql, "PRAGMA %s = %d", pragma, number);
    return tn_db_script(db, sql, err);
}

/* Inside the transaction the version is asked again: another process may have made this step meanwhile. */
static tn_status step_inside(tn_db *db, const tn_migration *migration, tn_error *err)
{
    int64_t version = 0;
    TN_TRY(version_of(db, &version, err));
    if (version >= migration->version)
        return TN_OK;
    TN_TRY(tn_db_script(db, migration->sql, err));
    TN_TRY(set_number(db, "application_id", TN_APPLICATION_ID, err));
    TN_TRY(set_number(db, "user_version", migration->version, err));
    tn_os_point("library.migrating");
    return TN_OK;
}

static tn_status step(tn_db *db, const tn_migration *migration, tn_error *err)
{
    TN_TRY(tn_db_begin(db, err));
    return tn_db_end(db, step_inside(db, migration, err), err);
}

tn_status tn_migrate(tn_db *db, const tn_migration *migrations, int count, bool backup, tn_error *err)
{
    int64_t version = 0;
    TN_TRY(version_of(db, &version, err));
    if (version >= count)
        return TN_OK;
    if (backup)
        TN_TRY(back_up(db, version, err));
    for (int i = 0; i < count; i++)
        if (migrations[i].version > version)
            TN_TRY(step(db, &migrations[i], err));
    tn_os_point("library.migrated");
    return tn_db_script(db, "PRAGMA wal_checkpoint(TRUNCATE)", err);
}
