#include "library/verify_files.h"

#include <string.h>

#include "library/find.h"
#include "library/known.h"
#include "library/place.h"

#define ARENA_MAX ((size_t)1 << 32) /* bytes; the budget refuses long before */

static void lock(tn_verify *v)
{
    if (v->library != NULL)
        tn_library_lock(v->library);
}

static void unlock(tn_verify *v)
{
    if (v->library != NULL)
        tn_library_unlock(v->library);
}

static tn_status add(tn_verify *v, int64_t model, const char *path, tn_error *err)
{
    void *names = v->names;
    TN_TRY(tn_make_room(&v->context->memory, &names, &v->capacity, v->count, sizeof *v->names, 64, err));
    v->names = names;
    v->names[v->count++] = (tn_verify_name){model, path};
    return TN_OK;
}

static tn_status add_ids(tn_verify *v, const tn_ids *ids, tn_error *err)
{
    for (size_t i = 0; i < ids->count; i++)
        TN_TRY(add(v, ids->ids[i], NULL, err));
    return TN_OK;
}

/* Run a statement of ids to its end, and add them. Inside the lock. */
static tn_status add_rows(tn_verify *v, tn_sql *s, size_t *added, tn_error *err)
{
    tn_ids ids = {.memory = &v->context->memory};
    tn_status status = tn_ids_collect(&ids, s, err);
    *added = ids.count;
    if (status == TN_OK)
        status = add_ids(v, &ids, err);
    tn_ids_free(&ids);
    return status;
}

/* ---- what is meant ---- */

static tn_status add_path(tn_verify *v, const char *path, tn_error *err)
{
    tn_text kept = tn_arena_text(&v->arena, path, strlen(path));
    TN_TRY(tn_arena_status(&v->arena, err));
    return add(v, 0, kept.bytes, err);
}

/* Every model below a folder. Inside the lock. */
static tn_status add_below(tn_verify *v, const char *folder, size_t *added, tn_error *err)
{
    tn_buffer bounds;
    tn_buffer_init(&bounds, &v->context->memory, 2 * TN_PLACE_PATH_MAX);
    size_t size = tn_known_bounds(&bounds, folder);
    tn_status status = tn_buffer_status(&bounds, err);
    if (status == TN_OK) {
        tn_sql s = tn_sql_start(&v->library->db, TN_QUERY_VERIFY_UNDER);
        tn_sql_blob(&s, bounds.bytes, size);
        tn_sql_blob(&s, bounds.bytes + size, size);
        status = add_rows(v, &s, added, err);
    }
    tn_buffer_free(&bounds);
    return status;
}

static tn_status add_known(tn_verify *v, const char *path, size_t *added, tn_error *err)
{
    tn_sql s = tn_sql_start(&v->library->db, TN_QUERY_FIND_PATH);
    tn_sql_blob(&s, path, strlen(path));
    return add_rows(v, &s, added, err);
}

/* What stands at a path: the model that the library knows there, the models below, or the path alone. */
static tn_status add_at(tn_verify *v, const char *path, tn_os_kind kind, tn_error *err)
{
    size_t added = 0;
    if (v->library != NULL)
        TN_TRY(add_known(v, path, &added, err));
    if (v->library != NULL && added == 0 && kind == TN_OS_FOLDER)
        TN_TRY(add_below(v, path, &added, err));
    return added == 0 ? add_path(v, path, err) : TN_OK;
}

static tn_status add_model(tn_verify *v, const char *model, tn_error *err)
{
    int64_t id = 0;
    tn_error found;
    tn_status status = v->library != NULL ? tn_find_model(v->library, model, &id, &found) : TN_NOT_FOUND;
    if (status == TN_OK)
        return add(v, id, NULL, err);
    return status == TN_NOT_FOUND ? add_path(v, model, err) : tn_fail_as(&found, err);
}

static bool is_number(const char *text)
{
    return text[0] != '\0' && text[strspn(text, "0123456789")] == '\0';
}

/* A number is an id first; what is there as a file is that, whatever models are called. */
static tn_status add_meant(tn_verify *v, const char *model, tn_error *err)
{
    tn_os_info info;
    tn_buffer path;
    tn_buffer_init(&path, &v->context->memory, TN_PLACE_PATH_MAX);
    bool there = !is_number(model) && model[0] != '\0' && tn_os_absolute_path(model, &path, NULL) == TN_OK &&
                 tn_os_info_at(path.bytes, true, &info, NULL) == TN_OK;
    lock(v);
    tn_status status = there ? add_at(v, path.bytes, info.kind, err) : add_model(v, model, err);
    unlock(v);
    tn_buffer_free(&path);
    return status;
}

static tn_status add_all(tn_verify *v, tn_error *err)
{
    size_t added = 0;
    if (v->library == NULL)
        return TN_OK;
    tn_sql s = tn_sql_start(&v->library->db, TN_QUERY_VERIFY_ALL);
    return add_rows(v, &s, &added, err);
}

/* What is to be read, for progress. */
static tn_status add_bytes(tn_verify *v, tn_error *err)
{
    for (size_t i = 0; i < v->count; i++) {
        bool more = false;
        if (v->names[i].model == 0)
            continue;
        tn_sql s = tn_sql_start(&v->library->db, TN_QUERY_VERIFY_BYTES);
        tn_sql_int(&s, v->names[i].model);
        TN_TRY(tn_sql_row(&s, &more, err));
        v->bytes += more ? (uint64_t)tn_sql_get_int(&s, 0) : 0;
        tn_sql_end(&s);
    }
    return TN_OK;
}

static tn_status collect(tn_verify *v, const char *const *models, size_t count, tn_error *err)
{
    for (size_t i = 0; i < count; i++)
        TN_TRY(add_meant(v, models[i], err));
    lock(v);
    tn_status status = count == 0 ? add_all(v, err) : TN_OK;
    if (status == TN_OK && v->options->progress != NULL && !v->options->quick)
        status = add_bytes(v, err);
    unlock(v);
    return status;
}

/* ---- the call ---- */

static tn_status look(tn_verify *v, tn_error *err)
{
    for (size_t at = 0; at < v->count && !v->stopped; at += TN_VERIFY_BATCH) {
        size_t count = v->count - at < TN_VERIFY_BATCH ? v->count - at : TN_VERIFY_BATCH;
        TN_TRY(tn_context_check(v->context, err));
        TN_TRY(tn_verify_batch(v, v->names + at, count, err));
    }
    return TN_OK;
}

tn_status tn_library_verify(tn_context *context, tn_library *library, const char *const *models, size_t count,
                            const tn_verify_options *options, tn_error *err)
{
    TN_TRY(tn_context_check(context, err));
    if (options == NULL || options->size != sizeof *options || options->each == NULL)
        return tn_fail(err, TN_INVALID, "verifying needs tn_verify_options of this version, with someone to tell");
    tn_verify v = {.context = context, .library = library, .options = options};
    tn_arena_init(&v.arena, &context->memory, ARENA_MAX);
    tn_status status = collect(&v, models, count, err);
    if (status == TN_OK)
        status = look(&v, err);
    tn_give(&context->memory, v.names, v.capacity * sizeof *v.names);
    tn_arena_free(&v.arena);
    return status;
}
