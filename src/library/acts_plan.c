/* The steps of a plan: what belongs to a model, and where it would go. Looks, and changes nothing. */
#include "library/acts.h"

#include <inttypes.h>
#include <string.h>

#include "library/known.h"
#include "library/place.h"

static tn_status at(tn_status status, tn_error *err, tn_text path)
{
    tn_error_at_file(err, path.bytes);
    return status;
}

/* ---- steps ---- */

/* The files of a cache are links out of its folder, and would lead nowhere from another place. */
static tn_status refuse_links_out(const tn_tree *tree, const char *root, tn_error *err)
{
    const tn_tree_item *out = NULL;
    TN_TRY(tn_tree_link_out(tree, root, &out, err));
    if (out == NULL)
        return TN_OK;
    tn_fail(err, TN_UNSUPPORTED, "%.300s in it is a link that leads out of the folder, as in a cache: copy it with "
                                 "`tenure import --copy-to`",
            out->below.bytes);
    tn_error_at_file(err, root);
    return TN_UNSUPPORTED;
}

static tn_status look_into_folder(tn_act_plan *plan, tn_act_step *step, tn_error *err)
{
    tn_tree tree;
    bool copies = plan->kind == TN_ACT_COPY;
    tn_status status = tn_tree_list(plan->library->context, step->source.bytes, copies, &tree, err);
    if (status == TN_OK && plan->kind == TN_ACT_MOVE)
        status = refuse_links_out(&tree, step->source.bytes, err);
    step->size = tree.size;
    step->stored_bytes = tree.stored_bytes;
    step->mtime_ns = 0;
    tn_tree_free(&tree);
    return status;
}

tn_status tn_act_add_step(tn_act_plan *plan, tn_text source, tn_text target, tn_error *err)
{
    tn_os_info info;
    void *steps = plan->steps;
    TN_TRY(tn_os_info_at(source.bytes, plan->kind == TN_ACT_COPY, &info, err));
    if (info.kind == TN_OS_OTHER)
        return at(tn_fail(err, TN_NOT_A_FILE, "%s", tn_status_text(TN_NOT_A_FILE)), err, source);
    if (info.placeholder)
        return at(tn_fail(err, TN_PLACEHOLDER, "%s", tn_status_text(TN_PLACEHOLDER)), err, source);
    TN_TRY(tn_make_room(plan->library->memory, &steps, &plan->capacity, plan->count, sizeof *plan->steps, 8, err));
    plan->steps = steps;
    tn_act_step step = {.shape = info.kind, .source = source, .target = target, .aside = {"", 0}, .size = info.size,
                        .stored_bytes = info.stored_bytes < info.size ? info.stored_bytes : info.size,
                        .mtime_ns = info.mtime_ns};
    if (info.kind == TN_OS_FOLDER)
        TN_TRY(look_into_folder(plan, &step, err));
    plan->steps[plan->count++] = step;
    plan->bytes += step.shape == TN_OS_LINK ? 0 : step.size;
    return TN_OK;
}

/* ---- what other models there are at a place ---- */

static tn_status others_inside(tn_act_plan *plan, tn_text path, const tn_buffer *bounds, size_t size, tn_error *err)
{
    bool more = false;
    tn_status status = TN_OK;
    tn_sql s = tn_sql_start(&plan->library->db, TN_QUERY_ACT_OTHERS_AT);
    tn_sql_blob(&s, path.bytes, path.size);
    tn_sql_blob(&s, bounds->bytes, size);
    tn_sql_blob(&s, bounds->bytes + size, size);
    tn_sql_int(&s, plan->model);
    TN_TRY(tn_sql_row(&s, &more, err));
    if (more)
        status = tn_fail(err, TN_EXISTS, "the model %" PRId64 " (%.200s) is made of it, or lies in it, too",
                         tn_sql_get_int(&s, 0), tn_sql_get(&s, 1).bytes);
    tn_sql_end(&s);
    return status;
}

/* Another record would be left with a hole. */
static tn_status refuse_others(tn_act_plan *plan, tn_text path, tn_error *err)
{
    tn_buffer bounds;
    tn_buffer_init(&bounds, plan->library->memory, 2 * TN_PLACE_PATH_MAX);
    size_t size = tn_known_bounds(&bounds, path.bytes);
    tn_status status = tn_buffer_status(&bounds, err);
    if (status == TN_OK) {
        tn_library_lock(plan->library);
        status = others_inside(plan, path, &bounds, size, err);
        tn_library_unlock(plan->library);
        if (status == TN_EXISTS)
            tn_error_at_file(err, path.bytes);
    }
    tn_buffer_free(&bounds);
    return status;
}

/* ---- sets ---- */

static bool in_folder_of(tn_text path, tn_text other)
{
    size_t size = tn_place_folder(path.bytes, path.size);
    return size == tn_place_folder(other.bytes, other.size) && memcmp(path.bytes, other.bytes, size) == 0;
}

bool tn_act_has_step(const tn_act_plan *plan, tn_text path)
{
    for (size_t i = 0; i < plan->count; i++)
        if (tn_act_same_text(plan->steps[i].source, path))
            return true;
    return false;
}

static bool has_position(const tn_act_paths *paths, int64_t position, tn_text entry)
{
    for (size_t i = 0; i < paths->count; i++)
        if (paths->items[i].position == position && in_folder_of(paths->items[i].path, entry))
            return true;
    return false;
}

/* The shards of a set in the folder of its entry, which must be all of them. */
static tn_status add_set(tn_act_plan *plan, const tn_act_paths *paths, tn_text entry, tn_error *err)
{
    for (int64_t position = 0; position < paths->part_count; position++)
        if (!has_position(paths, position, entry))
            return at(tn_fail(err, TN_MISSING_PART, "not all parts of this set lie in one folder"), err, entry);
    for (size_t i = 0; i < paths->count; i++)
        if (in_folder_of(paths->items[i].path, entry) && !tn_act_has_step(plan, paths->items[i].path))
            TN_TRY(tn_act_add_step(plan, paths->items[i].path, (tn_text){"", 0}, err));
    return TN_OK;
}

/* ---- all of it ---- */

tn_status tn_act_add_files(tn_act_plan *plan, tn_text path, const tn_text *members, size_t count, tn_error *err)
{
    tn_act_paths paths = {0};
    TN_TRY(tn_act_read_paths(plan, &paths, err));
    TN_TRY(tn_act_add_step(plan, path, (tn_text){"", 0}, err));
    bool folder = plan->steps[0].shape == TN_OS_FOLDER;
    if (!folder && paths.part_count > 1)
        TN_TRY(add_set(plan, &paths, path, err));
    for (size_t i = 0; i < count && plan->model == 0; i++)
        if (!tn_act_has_step(plan, members[i]))
            TN_TRY(tn_act_add_step(plan, members[i], (tn_text){"", 0}, err));
    for (size_t i = 0; i < plan->count && plan->kind != TN_ACT_COPY; i++)
        TN_TRY(refuse_others(plan, plan->steps[i].source, err));
    return folder ? TN_OK : tn_act_add_beside(plan, path, err);
}

/* ---- where it goes ---- */

tn_status tn_act_below(tn_act_plan *plan, tn_text folder, tn_text name, tn_text *out, tn_error *err)
{
    tn_buffer path;
    tn_buffer_init(&path, plan->library->memory, TN_PLACE_PATH_MAX);
    tn_place_below(&path, folder.bytes, folder.size);
    tn_buffer_append(&path, name.bytes, name.size);
    tn_status status = tn_buffer_status(&path, err);
    if (status == TN_LIMIT)
        status = tn_fail(err, TN_BAD_PATH, "a path would be longer than %d bytes", TN_PLACE_PATH_MAX);
    if (status == TN_OK) {
        *out = tn_arena_text(&plan->arena, path.bytes, path.size);
        status = tn_arena_status(&plan->arena, err);
    }
    tn_buffer_free(&path);
    return status;
}

tn_status tn_act_name_aside(tn_act_plan *plan, tn_act_step *step, tn_error *err)
{
    uint64_t draw;
    tn_os_random(&draw, sizeof draw);
    tn_text name = tn_arena_format(&plan->arena, ".tn-%016" PRIx64 ".tmp", draw);
    tn_text folder = tn_act_folder_of(plan, step->target.size > 0 ? step->target : step->source);
    TN_TRY(tn_arena_status(&plan->arena, err));
    return tn_act_below(plan, folder, name, &step->aside, err);
}

tn_status tn_act_aim(tn_act_plan *plan, tn_text folder, tn_error *err)
{
    for (size_t i = 0; i < plan->count; i++) {
        tn_act_step *step = &plan->steps[i];
        tn_text name = tn_place_name(step->source.bytes, step->source.size);
        TN_TRY(tn_act_below(plan, folder, name, &step->target, err));
        TN_TRY(tn_act_name_aside(plan, step, err));
    }
    return TN_OK;
}

static tn_status root_inside(tn_act_plan *plan, tn_text path, tn_error *err)
{
    bool more = false;
    tn_sql s = tn_sql_start(&plan->library->db, TN_QUERY_ACT_ROOT_ABOVE);
    tn_sql_blob(&s, path.bytes, path.size);
    TN_TRY(tn_sql_row(&s, &more, err));
    if (!more)
        return TN_OK;
    tn_text root = tn_sql_get(&s, 0);
    plan->keep = tn_arena_text(&plan->arena, root.bytes, root.size);
    tn_sql_end(&s);
    return tn_arena_status(&plan->arena, err);
}

tn_status tn_act_keep_above(tn_act_plan *plan, tn_text path, tn_error *err)
{
    plan->keep = tn_act_folder_of(plan, path);
    TN_TRY(tn_arena_status(&plan->arena, err));
    tn_library_lock(plan->library);
    tn_status status = root_inside(plan, path, err);
    tn_library_unlock(plan->library);
    return status;
}

/* ---- what is in the way ---- */

static tn_status is_same(tn_act_plan *plan, const tn_act_step *step, const tn_os_info *there, bool *same, tn_error *err)
{
    const tn_copying copying = tn_act_copying(plan);
    *same = false;
    if (step->shape != TN_OS_REGULAR || there->kind != TN_OS_REGULAR || there->size != step->size)
        return TN_OK;
    return tn_copying_same(&copying, step->source.bytes, step->target.bytes, same, err);
}

static tn_status in_the_way(const tn_act_step *step, const tn_os_info *there, bool same, tn_error *err)
{
    if (same)
        tn_fail(err, TN_EXISTS, "the same bytes are there already, under this name");
    else if (there->kind == TN_OS_REGULAR && step->shape == TN_OS_REGULAR)
        tn_fail(err, TN_EXISTS, "another file of this name is there: it has %" PRIu64 " bytes, the one to go there %" PRIu64,
                there->size, step->size);
    else
        tn_fail(err, TN_EXISTS, "something of this name is there already");
    tn_error_amounts(err, step->size, there->size);
    return at(TN_EXISTS, err, step->target);
}

static void drop_step(tn_act_plan *plan, size_t i)
{
    plan->bytes -= plan->steps[i].shape == TN_OS_LINK ? 0 : plan->steps[i].size;
    memmove(&plan->steps[i], &plan->steps[i + 1], (plan->count - i - 1) * sizeof *plan->steps);
    plan->count--;
}

tn_status tn_act_check_targets(tn_act_plan *plan, bool *same, tn_error *err)
{
    *same = false;
    for (size_t i = 0; i < plan->count;) {
        const tn_act_step *step = &plan->steps[i];
        tn_os_info there;
        tn_error found;
        bool equal = false;
        tn_status status = tn_os_info_at(step->target.bytes, false, &there, &found);
        if (status == TN_NOT_FOUND) {
            i++;
            continue;
        }
        if (status != TN_OK)
            return tn_fail_as(&found, err);
        TN_TRY(is_same(plan, step, &there, &equal, err));
        if (!(equal && step->beside)) {
            *same = equal && i == 0;
            return in_the_way(step, &there, equal, err);
        }
        drop_step(plan, i);
    }
    return TN_OK;
}
