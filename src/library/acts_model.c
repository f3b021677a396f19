/* Which model is meant, and by which of its paths. */
#include "library/acts.h"

#include <inttypes.h>
#include <string.h>

#include "library/find.h"
#include "library/place.h"

bool tn_act_same_text(tn_text a, tn_text b)
{
    return a.size == b.size && memcmp(a.bytes, b.bytes, a.size) == 0;
}

tn_text tn_act_folder_of(tn_act_plan *plan, tn_text path)
{
    return tn_arena_text(&plan->arena, path.bytes, tn_place_folder(path.bytes, path.size));
}

/* ---- the model and its paths ---- */

static tn_status read_model(tn_act_plan *plan, tn_act_paths *paths, tn_error *err)
{
    bool more = false;
    tn_sql s = tn_sql_start(&plan->library->db, TN_QUERY_ACT_MODEL);
    tn_sql_int(&s, plan->model);
    TN_TRY(tn_sql_row(&s, &more, err));
    if (!more)
        return tn_fail(err, TN_NOT_FOUND, "there is no model %" PRId64 " any more", plan->model);
    tn_text name = tn_sql_get(&s, 1);
    plan->name = tn_arena_text(&plan->arena, name.bytes, name.size);
    paths->part_count = tn_sql_get_int(&s, 2);
    tn_sql_end(&s);
    return tn_arena_status(&plan->arena, err);
}

static tn_status add_path(tn_act_plan *plan, const tn_sql *s, tn_act_paths *paths, size_t *room, tn_error *err)
{
    if (paths->count == *room) {
        *room = *room > 0 ? 2 * *room : 16;
        tn_act_path *wider = tn_arena_take_array(&plan->arena, *room, sizeof *wider);
        if (wider != NULL && paths->count > 0)
            memcpy(wider, paths->items, paths->count * sizeof *wider);
        if (wider == NULL)
            return tn_arena_status(&plan->arena, err);
        paths->items = wider;
    }
    tn_text path = tn_sql_get(s, 0);
    bool entry = tn_sql_get_int(s, 2) != 0;
    paths->items[paths->count++] = (tn_act_path){tn_arena_text(&plan->arena, path.bytes, path.size), tn_sql_get_int(s, 1), entry};
    paths->entries += entry;
    return tn_arena_status(&plan->arena, err);
}

/* Entries come first. */
static tn_status read_paths(tn_act_plan *plan, tn_act_paths *out, tn_error *err)
{
    size_t room = 0;
    tn_act_paths paths = {0};
    TN_TRY(read_model(plan, &paths, err));
    tn_sql s = tn_sql_start(&plan->library->db, TN_QUERY_ACT_PATHS);
    tn_sql_int(&s, plan->model);
    tn_status status = TN_OK;
    for (bool more = true; more && status == TN_OK;) {
        status = tn_sql_row(&s, &more, err);
        if (status == TN_OK && more)
            status = add_path(plan, &s, &paths, &room, err);
    }
    tn_sql_end(&s);
    if (status == TN_OK)
        *out = paths;
    return status;
}

tn_status tn_act_absolute(tn_memory_source *memory, tn_arena *arena, const char *path, tn_text *out, tn_error *err)
{
    tn_buffer buffer;
    tn_buffer_init(&buffer, memory, TN_PLACE_PATH_MAX);
    tn_status status = path[0] != 0 ? tn_os_absolute_path(path, &buffer, err)
                                    : tn_fail(err, TN_BAD_PATH, "an empty path was named");
    if (status == TN_OK) {
        *out = tn_arena_text(arena, buffer.bytes, buffer.size);
        status = tn_arena_status(arena, err);
    }
    tn_buffer_free(&buffer);
    return status;
}

static const tn_act_path *path_among(const tn_act_paths *paths, tn_text path)
{
    for (size_t i = 0; i < paths->count; i++)
        if (paths->items[i].entry && tn_act_same_text(paths->items[i].path, path))
            return &paths->items[i];
    return NULL;
}

static tn_status choose_path(tn_act_plan *plan, const char *model, bool any_path, const tn_act_paths *paths, tn_text *out,
                             tn_error *err)
{
    tn_text named = {"", 0};
    tn_error unused;
    tn_status status = tn_act_absolute(plan->library->memory, &plan->arena, model, &named, &unused);
    if (tn_status_is_of_process(status))
        return tn_fail_as(&unused, err);
    const tn_act_path *found = path_among(paths, named); /* an id or a name is no path of a model */
    if (found == NULL && paths->entries == 1)
        found = &paths->items[0];
    *out = found != NULL ? found->path : (tn_text){"", 0};
    if (found != NULL || any_path)
        return TN_OK;
    if (paths->entries == 0)
        return tn_fail(err, TN_NOT_FOUND, "no file of this model is known any more: it is missing");
    return tn_fail(err, TN_AMBIGUOUS_NAME, "%zu paths lead to this model: name the one that is meant", paths->entries);
}

/* --follow: the file that the link leads to, which must be one that the library knows as this model. */
static tn_status follow(tn_act_plan *plan, const tn_act_paths *paths, tn_text *path, tn_error *err)
{
    tn_buffer real;
    tn_buffer_init(&real, plan->library->memory, TN_PLACE_PATH_MAX);
    tn_status status = tn_os_real_path(path->bytes, &real, err);
    tn_text found = {real.bytes, real.size};
    const tn_act_path *known = status == TN_OK ? path_among(paths, found) : NULL;
    if (known != NULL)
        *path = known->path;
    else if (status == TN_OK)
        status = tn_fail(err, TN_NOT_FOUND, "the link leads to %.300s, which the library does not know: import it first",
                         real.bytes);
    tn_buffer_free(&real);
    return status;
}

static tn_status find_inside(tn_act_plan *plan, const char *model, tn_act_paths *paths, tn_error *err)
{
    TN_TRY(tn_find_model(plan->library, model, &plan->model, err));
    return read_paths(plan, paths, err);
}

tn_status tn_act_find(tn_act_plan *plan, const char *model, bool any_path, tn_text *path, tn_error *err)
{
    tn_act_paths paths = {0};
    tn_library_lock(plan->library);
    tn_status status = find_inside(plan, model, &paths, err);
    tn_library_unlock(plan->library);
    TN_TRY(status);
    TN_TRY(choose_path(plan, model, any_path, &paths, path, err));
    return plan->options->follow && path->size > 0 ? follow(plan, &paths, path, err) : TN_OK;
}

tn_status tn_act_read_paths(tn_act_plan *plan, tn_act_paths *out, tn_error *err)
{
    if (plan->model == 0)
        return TN_OK;
    tn_library_lock(plan->library);
    tn_status status = read_paths(plan, out, err);
    tn_library_unlock(plan->library);
    return status;
}
