#include "library/place.h"

#include <inttypes.h>
#include <string.h>

#include "core/cursor.h"
#include "library/migrate.h"

/* ---- paths ---- */

char tn_place_separator(const char *absolute)
{
    return absolute[0] == '/' ? '/' : '\\';
}

static bool is_separator(char c, char separator)
{
    return c == separator || c == '/';
}

size_t tn_place_folder(const char *path, size_t size)
{
    char separator = tn_place_separator(path);
    size_t end = size;
    while (end > 0 && !is_separator(path[end - 1], separator))
        end--;
    if (end <= 1)
        return end;
    return path[end - 2] == ':' ? end : end - 1; /* "C:\" keeps its separator */
}

tn_text tn_place_name(const char *path, size_t size)
{
    char separator = tn_place_separator(path);
    size_t begin = size;
    while (begin > 0 && !is_separator(path[begin - 1], separator))
        begin--;
    return (tn_text){path + begin, size - begin};
}

void tn_place_below(tn_buffer *out, const char *folder, size_t size)
{
    char separator = tn_place_separator(folder);
    tn_buffer_append(out, folder, size);
    if (size == 0 || !is_separator(folder[size - 1], separator))
        tn_buffer_append(out, &separator, 1);
}

tn_status tn_place_settle(const char *path, tn_memory_source *memory, tn_error *err)
{
    tn_buffer folder;
    tn_buffer_init(&folder, memory, TN_PLACE_PATH_MAX);
    tn_buffer_append(&folder, path, tn_place_folder(path, strlen(path)));
    tn_status status = tn_buffer_status(&folder, err);
    if (status == TN_OK)
        status = tn_os_sync_folder(folder.bytes, err);
    tn_buffer_free(&folder);
    return status;
}

bool tn_place_is_below(const char *path, size_t size, const char *folder, size_t folder_size)
{
    if (size < folder_size || memcmp(path, folder, folder_size) != 0)
        return false;
    char separator = tn_place_separator(folder);
    return size == folder_size || is_separator(path[folder_size], separator) ||
           (folder_size > 0 && is_separator(folder[folder_size - 1], separator));
}

/* ---- the default place ---- */

/* $NAME followed by `rest`; false when it is unset or empty. */
static bool from_environment(tn_buffer *out, const char *name, const char *rest)
{
    size_t before = out->size;
    if (!tn_os_environment(name, out) || out->size == before)
        return false;
    tn_buffer_text(out, rest);
    return true;
}

tn_status tn_place_default(tn_buffer *out, tn_error *err)
{
    if (from_environment(out, "TENURE_LIBRARY", "") || from_environment(out, "XDG_DATA_HOME", "/tenure/library.db") ||
        from_environment(out, "LOCALAPPDATA", "\\Tenure\\library.db") ||
        from_environment(out, "HOME", "/.local/share/tenure/library.db"))
        return tn_buffer_status(out, err);
    return tn_fail(err, TN_INVALID, "no place for the library: set TENURE_LIBRARY or give --library FILE");
}

/* ---- the header's own bytes (https://www.sqlite.org/fileformat2.html, 1.3) ---- */

#define HEADER_SIZE 100

static uint32_t u32_big_endian(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static tn_status not_a_library(const char *path, const char *why, tn_error *err)
{
    tn_fail(err, TN_NOT_A_LIBRARY, "%s; it was left as it is", why);
    tn_error_at_file(err, path);
    return TN_NOT_A_LIBRARY;
}

static tn_status read_header(const tn_os_file *file, const char *path, tn_place *out, tn_error *err)
{
    uint8_t header[HEADER_SIZE];
    size_t got = 0;
    tn_os_info info;
    TN_TRY(tn_os_info_of(file, &info, err));
    TN_TRY(tn_os_read(file, 0, header, sizeof header, &got, err));
    *out = (tn_place){got > 0, got == 0, 0, 0, info.weak_identity, info.scant_maps};
    if (got == 0)
        return TN_OK;
    if (got < sizeof header || memcmp(header, "SQLite format 3", 16) != 0) {
        return not_a_library(path, "this file is not a Tenure library", err);
    }
    out->version = (int32_t)u32_big_endian(header + 60);
    out->application = u32_big_endian(header + 68);
    return TN_OK;
}

#define PROBE_SLOT ((uint64_t)INT64_MAX - 1) /* nobody's, and never kept: closing lets go of it */

bool tn_place_has_locks(const char *lock_path)
{
    tn_os_file file = {0};
    if (tn_os_open(lock_path, TN_OS_WRITE, &file, NULL) != TN_OK)
        return true;
    tn_status status = tn_os_lock(&file, PROBE_SLOT, NULL);
    tn_os_close(&file);
    return status != TN_UNAVAILABLE;
}

tn_status tn_place_look(const char *path, tn_place *out, tn_error *err)
{
    tn_os_file file = {0};
    tn_error found;
    tn_status status = tn_os_open(path, TN_OS_READ, &file, &found);
    if (status == TN_NOT_FOUND) {
        *out = (tn_place){0};
        return TN_OK;
    }
    if (status == TN_NOT_A_FILE)
        return not_a_library(path, "this is a folder or device, not a Tenure library", err);
    if (status != TN_OK)
        return tn_fail_as(&found, err);
    tn_place place;
    status = read_header(&file, path, &place, err);
    tn_os_close(&file);
    if (status == TN_OK)
        *out = place;
    return status;
}

tn_status tn_place_check(const char *path, int version, tn_place *out, tn_error *err)
{
    tn_place place;
    TN_TRY(tn_place_look(path, &place, err));
    if (place.there && place.application != TN_APPLICATION_ID)
        return not_a_library(path, "this is another program's SQLite file", err);
    if (place.version > version) {
        tn_fail(err, TN_NEWER, "the library has version %" PRId64 ", this program knows up to %d: use a newer Tenure",
                place.version, version);
        tn_error_at_file(err, path);
        return TN_NEWER;
    }
    *out = place;
    return TN_OK;
}
