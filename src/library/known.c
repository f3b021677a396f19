#include "library/known.h"

#include <string.h>

#include "library/place.h"

#define ARENA_MAX ((size_t)1 << 40) /* bytes; the budget refuses long before */

void tn_known_init(tn_known *known, tn_library *library)
{
    *known = (tn_known){.memory = library->memory};
    tn_arena_init(&known->arena, library->memory, ARENA_MAX);
    tn_map_init(&known->by_path, library->memory);
}

void tn_known_free(tn_known *known)
{
    tn_map_free(&known->by_path);
    tn_arena_free(&known->arena);
    tn_give(known->memory, known->files, known->capacity * sizeof *known->files);
    known->files = NULL;
    known->count = known->capacity = 0;
}

size_t tn_known_bounds(tn_buffer *out, const char *folder)
{
    tn_place_below(out, folder, strlen(folder));
    size_t size = out->size;
    if (out->failed != TN_OK || tn_buffer_reserve(out, size) == NULL)
        return 0;
    memcpy(out->bytes + size, out->bytes, size);
    out->size = 2 * size;
    out->bytes[out->size - 1]++;
    return size;
}

tn_status tn_known_run_below(tn_library *library, tn_query query, const char *path, tn_error *err)
{
    tn_buffer bounds;
    tn_buffer_init(&bounds, library->memory, 2 * TN_PLACE_PATH_MAX);
    size_t size = tn_known_bounds(&bounds, path);
    tn_status status = tn_buffer_status(&bounds, err);
    if (status == TN_OK) {
        tn_sql s = tn_sql_start(&library->db, query);
        tn_sql_blob(&s, path, strlen(path));
        tn_sql_blob(&s, bounds.bytes, size);
        tn_sql_blob(&s, bounds.bytes + size, size);
        status = tn_sql_run(&s, err);
    }
    tn_buffer_free(&bounds);
    return status;
}

static tn_status make_room(tn_known *known, tn_error *err)
{
    void *items = known->files;
    TN_TRY(tn_make_room(known->memory, &items, &known->capacity, known->count, sizeof *known->files, 256, err));
    known->files = items;
    return TN_OK;
}

static tn_status add_row(tn_known *known, const tn_sql *s, tn_error *err)
{
    tn_text path = tn_sql_get(s, 0), file_id = tn_sql_get(s, 3), members = tn_sql_get(s, 6);
    tn_text kept = tn_arena_text(&known->arena, path.bytes, path.size);
    if (kept.bytes == NULL)
        return tn_arena_status(&known->arena, err);
    TN_TRY(make_room(known, err));
    bool fresh = false;
    uint64_t existing = 0;
    TN_TRY(tn_map_put(&known->by_path, kept.bytes, kept.size, known->count, &fresh, &existing, err));
    if (!fresh)
        return TN_OK;
    tn_known_file *file = &known->files[known->count++];
    *file = (tn_known_file){.path = kept.bytes, .path_size = kept.size, .size = (uint64_t)tn_sql_get_int(s, 1),
                            .mtime_ns = tn_sql_get_int(s, 2), .weak = tn_sql_get_int(s, 4) != 0,
                            .present = tn_sql_get_int(s, 5) != 0, .file = tn_sql_get_int(s, 7),
                            .model = tn_sql_get_int(s, 8), .retry = tn_sql_get_int(s, 9) != 0,
                            .device = (uint64_t)tn_sql_get_int(s, 10), .offline = tn_sql_get_int(s, 11) != 0,
                            .unsettled = tn_sql_get_int(s, 12) != 0, .folder = tn_sql_get_int(s, 13) != 0};
    if (file_id.size == sizeof file->file_id)
        memcpy(file->file_id, file_id.bytes, sizeof file->file_id);
    file->has_members = members.size == sizeof file->members;
    if (file->has_members)
        memcpy(file->members, members.bytes, sizeof file->members);
    return TN_OK;
}

static tn_status load_rows(tn_known *known, tn_sql *s, tn_error *err)
{
    for (;;) {
        bool more = false;
        TN_TRY(tn_sql_row(s, &more, err));
        if (!more)
            return TN_OK;
        tn_status status = add_row(known, s, err);
        if (status != TN_OK) {
            tn_sql_end(s);
            return status;
        }
    }
}

tn_status tn_known_load(tn_known *known, tn_library *library, const char *path, tn_error *err)
{
    tn_buffer bounds;
    tn_buffer_init(&bounds, library->memory, 2 * TN_PLACE_PATH_MAX);
    size_t size = tn_known_bounds(&bounds, path);
    tn_status status = tn_buffer_status(&bounds, err);
    if (status == TN_OK) {
        tn_library_lock(library);
        tn_sql s = tn_sql_start(&library->db, TN_QUERY_KNOWN_UNDER);
        tn_sql_blob(&s, path, strlen(path));
        tn_sql_blob(&s, bounds.bytes, size);
        tn_sql_blob(&s, bounds.bytes + size, size);
        status = load_rows(known, &s, err);
        tn_library_unlock(library);
    }
    tn_buffer_free(&bounds);
    return status;
}

tn_known_file *tn_known_find(tn_known *known, const char *path, size_t size)
{
    uint64_t at = 0;
    return tn_map_get(&known->by_path, path, size, &at) ? &known->files[at] : NULL;
}

bool tn_known_unchanged(const tn_known_file *file, const tn_claim *claim)
{
    if (file == NULL || file->retry)
        return false;
    if (claim->kind != TN_CLAIM_FILE)
        return file->has_members && memcmp(file->members, claim->members, sizeof file->members) == 0;
    return !file->has_members && tn_scan_same(&claim->info, file->size, file->mtime_ns, file->file_id, file->weak);
}
