#include "library/snapshot.h"

#include <inttypes.h>
#include <string.h>

#include "library/place.h"

#define COPY_BYTES 262144

/* A path as a URI of SQLite: everything but letters, digits and a few signs is written as %HH
 * (https://www.sqlite.org/uri.html). */
static void append_uri(tn_buffer *out, const char *path, const char *query)
{
    static const char plain[] = "/-_.~";
    tn_buffer_text(out, path[0] == '/' ? "file:" : "file:///");
    for (const char *c = path; *c != '\0'; c++) {
        bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9');
        if (letter || strchr(plain, *c) != NULL)
            tn_buffer_append(out, c, 1);
        else if (*c == '\\')
            tn_buffer_text(out, "/");
        else
            tn_buffer_format(out, "%%%02X", (unsigned)(unsigned char)*c);
    }
    tn_buffer_text(out, query);
}

static const char settings[] = "PRAGMA temp_store = MEMORY; PRAGMA query_only = ON; SELECT count(*) FROM sqlite_schema;";

/* Open and touch the file, for SQLite opens lazily. */
static tn_status try_open(tn_library *library, const char *name, int flags, unsigned busy_ms, tn_error *err)
{
    TN_TRY(tn_db_open(&library->db, library->context, name, flags, busy_ms, err));
    tn_status status = tn_db_script(&library->db, settings, err);
    if (status != TN_OK)
        tn_db_close(&library->db);
    return status;
}

static tn_status open_immutable(tn_library *library, unsigned busy_ms, tn_error *err)
{
    tn_buffer uri;
    tn_buffer_init(&uri, library->memory, 4 * TN_PLACE_PATH_MAX);
    append_uri(&uri, library->path.bytes, "?immutable=1");
    tn_status status = tn_buffer_status(&uri, err);
    if (status == TN_OK)
        status = try_open(library, uri.bytes, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, busy_ms, err);
    tn_buffer_free(&uri);
    return status;
}

/* ---- the copy ---- */

static tn_status copy_bytes(const tn_os_file *from, const tn_os_file *to, char *block, tn_error *err)
{
    for (uint64_t at = 0;;) {
        size_t got = 0;
        TN_TRY(tn_os_read(from, at, block, COPY_BYTES, &got, err));
        if (got == 0)
            return TN_OK;
        TN_TRY(tn_os_write(to, at, block, got, err));
        at += got;
    }
}

static tn_status copy_file(tn_library *library, const char *from_path, const char *to_path, tn_error *err)
{
    tn_os_file from = {0}, to = {0};
    void *block = NULL;
    tn_status status = tn_take(library->memory, COPY_BYTES, &block, err);
    if (status == TN_OK)
        status = tn_os_open(from_path, TN_OS_READ, &from, err);
    if (status == TN_OK)
        status = tn_os_open(to_path, TN_OS_WRITE | TN_OS_CREATE | TN_OS_EXCLUSIVE | TN_OS_PRIVATE, &to, err);
    if (status == TN_OK)
        status = copy_bytes(&from, &to, block, err);
    tn_os_close(&from);
    tn_os_close(&to);
    tn_give(library->memory, block, COPY_BYTES);
    return status;
}

/* `path` with `tail` behind it, in `out`, anew. */
static tn_status with_tail(tn_buffer *out, const tn_buffer *path, const char *tail, tn_error *err)
{
    tn_buffer_clear(out);
    tn_buffer_append(out, path->bytes, path->size);
    tn_buffer_text(out, tail);
    return tn_buffer_status(out, err);
}

static tn_status copy_one(tn_library *library, const char *from_tail, const char *to_tail, tn_error *err)
{
    tn_buffer from, to;
    tn_buffer_init(&from, library->memory, TN_PLACE_PATH_MAX);
    tn_buffer_init(&to, library->memory, TN_PLACE_PATH_MAX);
    tn_status status = with_tail(&from, &library->path, from_tail, err);
    if (status == TN_OK)
        status = with_tail(&to, &library->snapshot, to_tail, err);
    if (status == TN_OK)
        status = copy_file(library, from.bytes, to.bytes, err);
    tn_buffer_free(&from);
    tn_buffer_free(&to);
    return status;
}

static tn_status name_folder(tn_library *library, tn_error *err)
{
    tn_buffer *out = &library->snapshot;
    uint64_t draw;
    tn_os_random(&draw, sizeof draw);
    if (!tn_os_environment("TMPDIR", out) && !tn_os_environment("TEMP", out))
        tn_buffer_text(out, "/tmp");
    tn_buffer_format(out, "/tenure-%016" PRIx64, draw);
    TN_TRY(tn_buffer_status(out, err));
    return tn_os_make_folder(out->bytes, err);
}

static tn_status open_copy(tn_library *library, unsigned busy_ms, tn_error *err)
{
    TN_TRY(name_folder(library, err));
    TN_TRY(copy_one(library, "", "/library.db", err));
    TN_TRY(copy_one(library, "-wal", "/library.db-wal", err));
    tn_buffer name;
    tn_buffer_init(&name, library->memory, TN_PLACE_PATH_MAX);
    tn_status status = with_tail(&name, &library->snapshot, "/library.db", err);
    if (status == TN_OK)
        status = try_open(library, name.bytes, SQLITE_OPEN_READWRITE, busy_ms, err);
    tn_buffer_free(&name);
    return status;
}

static bool log_has_bytes(tn_library *library)
{
    tn_buffer path;
    tn_buffer_init(&path, library->memory, TN_PLACE_PATH_MAX);
    tn_os_info info;
    bool has = with_tail(&path, &library->path, "-wal", NULL) == TN_OK &&
               tn_os_info_at(path.bytes, true, &info, NULL) == TN_OK && info.size > 0;
    tn_buffer_free(&path);
    return has;
}

tn_status tn_snapshot_open(tn_library *library, unsigned busy_ms, tn_error *err)
{
    tn_error found;
    tn_status status = TN_IO; /* where there are no locks SQLite would wait for them */
    if (tn_place_has_locks(library->lock_path.bytes))
        status = try_open(library, library->path.bytes, SQLITE_OPEN_READONLY, busy_ms, &found);
    if (status == TN_IO || status == TN_READ_ONLY || status == TN_PERMISSION)
        return log_has_bytes(library) ? open_copy(library, busy_ms, err) : open_immutable(library, busy_ms, err);
    if (status != TN_OK && err != NULL)
        *err = found;
    return status;
}

/* ---- an older library ---- */

/* The copy is made through the open connection, which sees one state of the library whoever writes to it. */
static tn_status go_over_to_copy(tn_library *library, unsigned busy_ms, tn_error *err)
{
    if (library->snapshot.size != 0)
        return TN_OK;
    TN_TRY(name_folder(library, err));
    tn_buffer name;
    tn_buffer_init(&name, library->memory, TN_PLACE_PATH_MAX);
    tn_status status = with_tail(&name, &library->snapshot, "/library.db", err);
    tn_os_file file = {0};
    if (status == TN_OK) /* SQLite would let others read it */
        status = tn_os_open(name.bytes, TN_OS_WRITE | TN_OS_CREATE | TN_OS_EXCLUSIVE | TN_OS_PRIVATE, &file, err);
    tn_os_close(&file);
    if (status == TN_OK)
        status = tn_migrate_copy(&library->db, name.bytes, err);
    if (status == TN_OK) {
        tn_db_close(&library->db);
        status = try_open(library, name.bytes, SQLITE_OPEN_READWRITE, busy_ms, err);
    }
    tn_buffer_free(&name);
    return status;
}

tn_status tn_snapshot_migrate(tn_library *library, unsigned busy_ms, const tn_migration *migrations, int count,
                              tn_error *err)
{
    TN_TRY(go_over_to_copy(library, busy_ms, err));
    TN_TRY(tn_db_script(&library->db, "PRAGMA query_only = OFF; PRAGMA synchronous = OFF", err));
    TN_TRY(tn_migrate(&library->db, migrations, count, false, err));
    return tn_db_script(&library->db, "PRAGMA query_only = ON", err);
}

void tn_snapshot_remove(tn_library *library)
{
    if (library->snapshot.size == 0)
        return;
    static const char *const tails[] = {"/library.db", "/library.db-wal", "/library.db-shm", "/library.db-journal"};
    tn_buffer path;
    tn_buffer_init(&path, library->memory, TN_PLACE_PATH_MAX);
    for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++)
        if (with_tail(&path, &library->snapshot, tails[i], NULL) == TN_OK)
            tn_os_remove(path.bytes, NULL);
    tn_os_remove_folder(library->snapshot.bytes, NULL);
    tn_buffer_free(&path);
}
