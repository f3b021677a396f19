/* Opening a library: look at the file's own bytes, refuse what is foreign or newer, make it when it is not there,
 * bring it to this version, and set the connection up for the place it is in.
 *
 *   O1  A file that is refused has not been written to, nor opened by SQLite.
 *   O2  A library appears under its name whole (made under another name, flushed, then renamed), so a kill or a power cut
 *       while it is made leaves none or all of it; once it is open its name is durable.
 *   O3  What cannot be written is opened to be read: plainly, else as an immutable file, else as a copy of it; an older
 *       one always as a copy, which is brought to this version.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "library/inside.h"
#include "library/making.h"
#include "library/place.h"
#include "library/snapshot.h"
#include "library/settle.h"
#include "os/os_fault.h"

#define BUSY_MS 10000

/* ---- the lock ---- */

void tn_library_lock(tn_library *library)
{
    tn_os_mutex_lock(library->mutex);
}

void tn_library_unlock(tn_library *library)
{
    tn_os_mutex_unlock(library->mutex);
}

tn_status tn_library_begin(tn_library *library, tn_error *err)
{
    if (library->read_only) {
        tn_fail(err, TN_READ_ONLY, "the library was opened to be read only");
        tn_error_at_file(err, library->path.bytes);
        return TN_READ_ONLY;
    }
    tn_library_lock(library);
    tn_status status = tn_db_begin(&library->db, err);
    if (status != TN_OK)
        tn_library_unlock(library);
    return status;
}

tn_status tn_library_end(tn_library *library, tn_status status, tn_error *err)
{
    if (status == TN_OK)
        status = tn_settle(&library->db, err);
    status = tn_db_end(&library->db, status, err);
    tn_library_unlock(library);
    return status;
}

/* ---- a new library ---- */

static const char fresh_settings[] = "PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL;";

static tn_status fill_new(tn_library *library, const char *name, const tn_place *place, const tn_migration *migrations,
                          int count, tn_error *err)
{
    tn_db db = {.path = name};
    TN_TRY(tn_db_open(&db, library->context, name, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, BUSY_MS, err));
    tn_status status = tn_db_script(&db, fresh_settings, err);
    if (status == TN_OK)
        status = tn_migrate(&db, migrations, count, false, err);
    if (status == TN_OK && !place->weak && !place->scant)
        status = tn_db_script(&db, "PRAGMA journal_mode = WAL", err);
    tn_db_close(&db);
    return status;
}

/* Another process may have put one there meanwhile: that one is as good. An empty file in its place holds nothing
 * that could be lost. */
static tn_status put_in_place(tn_library *library, const char *name, bool replace, tn_error *err)
{
    tn_os_point("library.created");
    tn_error found;
    tn_status status = tn_os_rename(name, library->path.bytes, replace, &found);
    if (status == TN_EXISTS)
        return tn_os_remove(name, err);
    if (status != TN_OK)
        return tn_fail_as(&found, err);
    return tn_place_settle(library->path.bytes, library->memory, err);
}

static tn_status make_under(tn_library *library, const char *name, const tn_place *place,
                            const tn_migration *migrations, int count, tn_error *err)
{
    tn_status status = fill_new(library, name, place, migrations, count, err);
    if (status == TN_OK) /* that SQLite has removed its journal */
        status = tn_place_settle(name, library->memory, err);
    if (status == TN_OK)
        status = put_in_place(library, name, place->empty, err);
    if (status != TN_OK)
        tn_os_remove(name, NULL);
    return status;
}

static tn_status make_folder_of(tn_library *library, tn_place *place, tn_error *err)
{
    tn_buffer folder;
    tn_buffer_init(&folder, library->memory, TN_PLACE_PATH_MAX);
    tn_buffer_append(&folder, library->path.bytes, tn_place_folder(library->path.bytes, library->path.size));
    tn_status status = tn_buffer_status(&folder, err);
    if (status == TN_OK)
        status = tn_os_make_folders(folder.bytes, err);
    tn_os_info info;
    if (status == TN_OK && tn_os_info_at(folder.bytes, true, &info, NULL) == TN_OK)
        *place = (tn_place){.empty = place->empty, .weak = info.weak_identity, .scant = info.scant_maps};
    tn_buffer_free(&folder);
    return status;
}

static tn_status make_named(tn_library *library, const tn_place *place, const tn_migration *migrations, int count,
                            tn_error *err)
{
    uint64_t draw;
    tn_os_random(&draw, sizeof draw);
    tn_buffer name;
    tn_buffer_init(&name, library->memory, TN_PLACE_PATH_MAX);
    tn_buffer_format(&name, "%s.new-%016" PRIx64, library->path.bytes, draw);
    tn_status status = tn_buffer_status(&name, err);
    if (status == TN_OK)
        status = make_under(library, name.bytes, place, migrations, count, err);
    tn_buffer_free(&name);
    return status;
}

/* Another process may have made it while this one waited. */
static tn_status make_alone(tn_library *library, const tn_place *folder, const tn_migration *migrations, int count,
                            tn_error *err)
{
    tn_place place;
    TN_TRY(tn_place_look(library->path.bytes, &place, err));
    if (place.there)
        return TN_OK;
    place.weak = folder->weak;
    place.scant = folder->scant;
    TN_TRY(tn_making_set_aside(library, err));
    return make_named(library, &place, migrations, count, err);
}

static tn_status make_new(tn_library *library, tn_place *place, unsigned busy_ms, const tn_migration *migrations,
                          int count, tn_error *err)
{
    tn_making making;
    TN_TRY(make_folder_of(library, place, err));
    TN_TRY(tn_making_begin(library, busy_ms, &making, err));
    tn_status status = make_alone(library, place, migrations, count, err);
    tn_making_end(&making);
    return status;
}

/* ---- an existing one ---- */

/* Whether the file, and the lock file beside it, can be written. Says no rather than failing. */
static bool can_write(tn_library *library)
{
    tn_os_file file = {0};
    if (tn_os_open(library->path.bytes, TN_OS_WRITE, &file, NULL) != TN_OK)
        return false;
    tn_os_close(&file);
    if (tn_os_open(library->lock_path.bytes, TN_OS_WRITE | TN_OS_CREATE, &file, NULL) != TN_OK)
        return false;
    tn_os_close(&file);
    return tn_place_has_locks(library->lock_path.bytes);
}

/* The version again, now that SQLite has added what lies in the write-ahead log. A newer library is let go without
 * the checkpoint that closing would make. */
static tn_status check_version(tn_db *db, int count, tn_error *err)
{
    int64_t version = 0;
    TN_TRY(tn_db_number(db, "PRAGMA user_version", &version, err));
    if (version <= count)
        return TN_OK;
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    tn_fail(err, TN_NEWER, "the library has version %" PRId64 ", this program knows up to %d: use a newer Tenure",
            version, count);
    tn_error_at_file(err, db->path);
    return TN_NEWER;
}

static const char local_settings[] = "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;";
/* SQLite shares the index of a write-ahead log between processes in a map, which must not be where maps are scant. */
static const char scant_settings[] = "PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL;";
/* In exclusive mode the first write takes the lock and keeps it, so that a second machine is refused at once. The journal
 * is not removed then but emptied and flushed, so that FULL makes a transaction durable. */
static const char network_settings[] = "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = DELETE;"
                                       "PRAGMA synchronous = FULL; BEGIN EXCLUSIVE; COMMIT;";
static const char shared_settings[] = "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -8000;"
                                      "CREATE TEMP TABLE scope (model INTEGER PRIMARY KEY);";

static const char *settings_for(const tn_place *place)
{
    return place->weak ? network_settings : place->scant ? scant_settings : local_settings;
}

static tn_status bring_up_to_date(tn_library *library, unsigned busy_ms, const tn_migration *migrations, int count,
                                  tn_error *err)
{
    int64_t version = 0;
    TN_TRY(tn_db_number(&library->db, "PRAGMA user_version", &version, err));
    if (version >= count)
        return TN_OK;
    tn_making making;
    TN_TRY(tn_making_begin(library, busy_ms, &making, err));
    tn_status status = tn_migrate(&library->db, migrations, count, true, err);
    tn_making_end(&making);
    return status;
}

static tn_status set_up(tn_library *library, const tn_place *place, unsigned busy_ms, const tn_migration *migrations,
                        int count, tn_error *err)
{
    TN_TRY(check_version(&library->db, count, err));
    TN_TRY(tn_db_script(&library->db, settings_for(place), err));
    TN_TRY(bring_up_to_date(library, busy_ms, migrations, count, err));
    return tn_db_script(&library->db, shared_settings, err);
}

static tn_status open_to_write(tn_library *library, const tn_place *place, unsigned busy_ms,
                               const tn_migration *migrations, int count, tn_error *err)
{
    library->durable = place->weak || place->scant;
    library->db.path = library->path.bytes;
    TN_TRY(tn_db_open(&library->db, library->context, library->path.bytes, SQLITE_OPEN_READWRITE, busy_ms, err));
    return set_up(library, place, busy_ms, migrations, count, err);
}

static tn_status open_to_read(tn_library *library, unsigned busy_ms, const tn_migration *migrations, int count,
                              tn_error *err)
{
    int64_t version = 0;
    library->read_only = true;
    library->db.path = library->path.bytes;
    TN_TRY(tn_snapshot_open(library, busy_ms, err));
    TN_TRY(check_version(&library->db, count, err));
    TN_TRY(tn_db_number(&library->db, "PRAGMA user_version", &version, err));
    return version < count ? tn_snapshot_migrate(library, busy_ms, migrations, count, err) : TN_OK;
}

/* Nothing of it is ever on a disk. */
static tn_status open_in_memory(tn_library *library, unsigned busy_ms, const tn_migration *migrations, int count,
                                tn_error *err)
{
    library->read_only = true;
    library->db.path = library->path.bytes;
    TN_TRY(tn_db_open(&library->db, library->context, ":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, busy_ms,
                      err));
    return tn_migrate(&library->db, migrations, count, false, err);
}

/* ---- opening ---- */

static tn_status set_paths(tn_library *library, const char *path, const tn_library_options *options, tn_error *err)
{
    tn_buffer given;
    tn_buffer_init(&given, library->memory, TN_PLACE_PATH_MAX);
    if (path != NULL)
        tn_buffer_text(&given, path);
    tn_status status = path != NULL ? tn_buffer_status(&given, err) : tn_place_default(&given, err);
    if (status == TN_OK && given.size == 0)
        status = tn_fail(err, TN_INVALID, "the path of the library is empty");
    if (status == TN_OK)
        status = tn_os_absolute_path(given.bytes, &library->path, err);
    tn_buffer_free(&given);
    TN_TRY(status);
    tn_buffer_append(&library->lock_path, library->path.bytes, library->path.size);
    tn_buffer_text(&library->lock_path, "-lock");
    if (options->program != NULL)
        tn_buffer_text(&library->program, options->program);
    TN_TRY(tn_buffer_status(&library->program, err));
    return tn_buffer_status(&library->lock_path, err);
}

static tn_status open_place(tn_library *library, const tn_library_options *options, const tn_migration *migrations,
                            int count, tn_error *err)
{
    unsigned busy_ms = options->busy_timeout_ms != 0 ? options->busy_timeout_ms : BUSY_MS;
    tn_place place;
    if (options->in_memory)
        return open_in_memory(library, busy_ms, migrations, count, err);
    TN_TRY(tn_place_check(library->path.bytes, count, &place, err));
    if (!place.there && options->read_only) {
        tn_fail(err, TN_NOT_FOUND, "there is no library here");
        tn_error_at_file(err, library->path.bytes);
        return TN_NOT_FOUND;
    }
    if (!place.there) {
        TN_TRY(make_new(library, &place, busy_ms, migrations, count, err));
        TN_TRY(tn_place_check(library->path.bytes, count, &place, err));
    }
    if (options->read_only || !can_write(library))
        return open_to_read(library, busy_ms, migrations, count, err);
    return open_to_write(library, &place, busy_ms, migrations, count, err);
}

static tn_status make_library(tn_context *context, tn_library **out, tn_error *err)
{
    void *block = NULL;
    TN_TRY(tn_take_array(&context->memory, 1, sizeof(tn_library), &block, err));
    tn_library *library = block;
    library->context = context;
    library->memory = &context->memory;
    tn_buffer_init(&library->path, library->memory, TN_PLACE_PATH_MAX);
    tn_buffer_init(&library->lock_path, library->memory, TN_PLACE_PATH_MAX);
    tn_buffer_init(&library->program, library->memory, TN_PLACE_PATH_MAX);
    tn_buffer_init(&library->snapshot, library->memory, TN_PLACE_PATH_MAX);
    tn_status status = tn_os_mutex_create(library->memory, &library->mutex, err);
    if (status == TN_OK)
        *out = library;
    else
        tn_give(&context->memory, library, sizeof *library);
    return status;
}

tn_status tn_library_open_with(tn_context *context, const char *path, const tn_library_options *options,
                               const tn_migration *migrations, int migration_count, tn_library **out, tn_error *err)
{
    static const tn_library_options none = {.size = sizeof none};
    TN_TRY(tn_context_check(context, err));
    if (options == NULL)
        options = &none;
    if (options->size != sizeof *options)
        return tn_fail(err, TN_INVALID, "tn_library_options of another size");
    tn_library *library = NULL;
    TN_TRY(make_library(context, &library, err));
    tn_status status = set_paths(library, path, options, err);
    if (status == TN_OK)
        status = open_place(library, options, migrations, migration_count, err);
    if (status == TN_OK)
        *out = library;
    else
        tn_library_close(library);
    return status;
}

tn_status tn_library_open(tn_context *context, const char *path, const tn_library_options *options, tn_library **out,
                          tn_error *err)
{
    return tn_library_open_with(context, path, options, tn_migrations, tn_migration_count, out, err);
}

void tn_library_close(tn_library *library)
{
    if (library == NULL)
        return;
    if (library->db.handle != NULL)
        tn_db_close(&library->db);
    tn_snapshot_remove(library);
    tn_os_mutex_destroy(library->mutex);
    tn_buffer_free(&library->path);
    tn_buffer_free(&library->lock_path);
    tn_buffer_free(&library->program);
    tn_buffer_free(&library->snapshot);
    tn_give(library->memory, library, sizeof *library);
}

const char *tn_library_path(const tn_library *library)
{
    return library->path.bytes;
}
