/* Bringing the files of an act to their new place. What holds stands in acts.h. */
#include "library/acts.h"

#include <string.h>

#include "core/encode.h"
#include "library/place.h"
#include "os/os_fault.h"

/* Of a copy's size, what folders, journals and the library itself may take beside it. */
#define SPACE_BESIDE ((uint64_t)1 << 20)

/* ---- progress ---- */

static void moved(void *user, uint64_t bytes, const char *path)
{
    tn_act_plan *plan = user;
    plan->done_bytes += bytes;
    if (plan->options->progress == NULL)
        return;
    /* Copies are written and read back. Holes are neither, so what is told stays under the whole. */
    const tn_act_progress now = {2 * plan->bytes, plan->done_bytes < 2 * plan->bytes ? plan->done_bytes : 2 * plan->bytes,
                                 path};
    plan->options->progress(plan->options->user, &now);
}

/* ---- space ---- */

/* The folder itself, or the nearest one above it that is there. */
static tn_status near(tn_act_plan *plan, tn_text folder, tn_text *out, tn_os_info *info, tn_error *err)
{
    for (tn_text at = folder;;) {
        tn_error found;
        tn_status status = tn_os_info_at(at.bytes, true, info, &found);
        tn_text up = tn_act_folder_of(plan, at);
        TN_TRY(tn_arena_status(&plan->arena, err));
        if (status == TN_OK)
            *out = at;
        if (status != TN_NOT_FOUND || up.size == at.size)
            return status == TN_OK ? TN_OK : tn_fail_as(&found, err);
        at = up;
    }
}

static tn_status refuse_space(uint64_t need, uint64_t have, tn_text folder, tn_error *err)
{
    char needed[16], there[16];
    tn_size_show(need, needed);
    tn_size_show(have, there);
    tn_fail(err, TN_NO_SPACE, "%s are needed there, %s are free (%llu and %llu bytes)", needed, there,
            (unsigned long long)need, (unsigned long long)have);
    tn_error_amounts(err, need, have);
    tn_error_at_file(err, folder.bytes);
    return TN_NO_SPACE;
}

/* Bytes that must be copied into the folder of the first target; `always`: also from the same disk. */
static tn_status check_space(tn_act_plan *plan, bool always, tn_error *err)
{
    tn_text folder;
    tn_os_info there, from;
    uint64_t need = 0, have = 0;
    if (plan->count == 0 || plan->steps[0].target.size == 0)
        return TN_OK;
    TN_TRY(near(plan, tn_act_folder_of(plan, plan->steps[0].target), &folder, &there, err));
    for (size_t i = 0; i < plan->count; i++) {
        const tn_act_step *step = &plan->steps[i];
        if (step->placed || step->shape == TN_OS_LINK)
            continue;
        TN_TRY(tn_os_info_at(step->source.bytes, false, &from, err));
        if (always || from.device != there.device)
            need += step->stored_bytes;
    }
    if (need == 0)
        return TN_OK;
    TN_TRY(tn_os_space(folder.bytes, &have, err));
    need += SPACE_BESIDE;
    return need > have ? refuse_space(need, have, folder, err) : TN_OK;
}

tn_status tn_act_check_space(tn_act_plan *plan, tn_error *err)
{
    return check_space(plan, false, err);
}

/* Once an act: all that has still to be copied is counted then. */
static tn_status room(void *user, tn_error *err)
{
    tn_act_plan *plan = user;
    if (plan->room_checked)
        return TN_OK;
    TN_TRY(check_space(plan, true, err));
    plan->room_checked = true;
    return TN_OK;
}

tn_copying tn_act_copying(tn_act_plan *plan)
{
    return (tn_copying){.context = plan->library->context, .follow = plan->kind == TN_ACT_COPY, .moved = moved,
                        .room = room, .user = plan};
}

/* ---- links ---- */

/* Where the link at `path` leads, so that it is true from everywhere: a relative one is taken from its folder. */
static tn_status link_text(tn_act_plan *plan, tn_text path, bool *relative, tn_text *out, tn_error *err)
{
    tn_buffer leads, from;
    tn_buffer_init(&leads, plan->library->memory, TN_PLACE_PATH_MAX);
    tn_buffer_init(&from, plan->library->memory, TN_PLACE_PATH_MAX);
    tn_status status = tn_os_read_link(path.bytes, &leads, err);
    *relative = status == TN_OK && leads.size > 0 && leads.bytes[0] != '/';
    if (status == TN_OK && *relative) {
        status = tn_os_real_path(tn_act_folder_of(plan, path).bytes, &from, err);
        tn_buffer_text(&from, "/");
        tn_buffer_append(&from, leads.bytes, leads.size);
        tn_buffer_clear(&leads);
        if (status == TN_OK)
            status = tn_buffer_status(&from, err);
        if (status == TN_OK)
            status = tn_os_absolute_path(from.bytes, &leads, err);
    }
    if (status == TN_OK) {
        *out = tn_arena_text(&plan->arena, leads.bytes != NULL ? leads.bytes : "", leads.size);
        status = tn_arena_status(&plan->arena, err);
    }
    tn_buffer_free(&leads);
    tn_buffer_free(&from);
    return status;
}

/* ---- one step ---- */

static tn_status sync_folder_of(tn_act_plan *plan, tn_text path, tn_error *err)
{
    tn_text folder = tn_act_folder_of(plan, path);
    TN_TRY(tn_arena_status(&plan->arena, err));
    return tn_os_sync_folder(folder.bytes, err);
}

static tn_status copy_folder(tn_act_plan *plan, const tn_act_step *step, tn_error *err)
{
    tn_tree tree;
    const tn_copying copying = tn_act_copying(plan);
    tn_status status = tn_tree_list(plan->library->context, step->source.bytes, copying.follow, &tree, err);
    if (status == TN_OK)
        status = tn_tree_copy(&copying, &tree, step->source.bytes, step->aside.bytes, err);
    tn_tree_free(&tree);
    return status;
}

static tn_status copy_aside(tn_act_plan *plan, const tn_act_step *step, tn_error *err)
{
    const tn_copying copying = tn_act_copying(plan);
    tn_text leads;
    bool relative;
    switch (step->shape) {
    case TN_OS_REGULAR:
        return tn_copying_file(&copying, step->source.bytes, step->aside.bytes, step->size, step->mtime_ns, err);
    case TN_OS_FOLDER:
        return copy_folder(plan, step, err);
    case TN_OS_LINK:
        TN_TRY(link_text(plan, step->source, &relative, &leads, err));
        return tn_os_make_link(step->aside.bytes, leads.bytes, err);
    case TN_OS_OTHER:
        break;
    }
    return tn_fail(err, TN_INTERNAL, "a step of an unknown shape");
}

/* Copied under the name aside, proved, named, and the name is on the disk. */
static tn_status copy_step(tn_act_plan *plan, tn_act_step *step, tn_error *err)
{
    TN_TRY(copy_aside(plan, step, err));
    tn_os_point("act.copied");
    tn_status status = tn_os_rename(step->aside.bytes, step->target.bytes, false, err);
    if (status != TN_OK) {
        (void)tn_tree_drop(plan->library->context, step->aside.bytes, NULL);
        return status;
    }
    step->placed = step->copied = true;
    tn_os_point("act.named");
    return sync_folder_of(plan, step->target, err);
}

static tn_status rename_step(tn_act_plan *plan, tn_act_step *step, tn_error *err)
{
    tn_os_info now;
    TN_TRY(tn_os_info_at(step->source.bytes, false, &now, err));
    bool as_planned = now.kind == step->shape &&
                      (now.kind != TN_OS_REGULAR || (now.size == step->size && now.mtime_ns == step->mtime_ns));
    if (!as_planned) {
        tn_fail(err, TN_CHANGED, "the file is not the one that was to be moved: it changed meanwhile");
        tn_error_at_file(err, step->source.bytes);
        return TN_CHANGED;
    }
    TN_TRY(tn_os_rename(step->source.bytes, step->target.bytes, false, err));
    step->placed = true;
    tn_os_point("act.renamed");
    TN_TRY(sync_folder_of(plan, step->target, err));
    return sync_folder_of(plan, step->source, err);
}

/* A relative link would lead elsewhere from its new place, and is made anew. */
static tn_status must_copy(tn_act_plan *plan, const tn_act_step *step, bool *out, tn_error *err)
{
    tn_text leads;
    *out = plan->kind == TN_ACT_COPY;
    if (step->shape != TN_OS_LINK || *out || plan->kind == TN_ACT_RESTORE)
        return TN_OK;
    return link_text(plan, step->source, out, &leads, err);
}

static tn_status trash_step(tn_act_plan *plan, tn_act_step *step, tn_error *err)
{
    tn_buffer item, note;
    tn_buffer_init(&item, plan->library->memory, TN_PLACE_PATH_MAX);
    tn_buffer_init(&note, plan->library->memory, TN_PLACE_PATH_MAX);
    tn_buffer_append(&item, step->target.bytes, step->target.size);
    tn_buffer_append(&note, step->aside.bytes, step->aside.size);
    tn_status status = tn_buffer_status(&item, err);
    if (status == TN_OK)
        status = tn_buffer_status(&note, err);
    if (status == TN_OK)
        status = tn_os_trash_put(step->source.bytes, &item, &note, err);
    if (status == TN_OK) {
        step->placed = true;
        step->target = tn_arena_text(&plan->arena, item.bytes != NULL ? item.bytes : "", item.size);
        step->aside = tn_arena_text(&plan->arena, note.bytes != NULL ? note.bytes : "", note.size);
        status = tn_arena_status(&plan->arena, err);
    }
    tn_buffer_free(&item);
    tn_buffer_free(&note);
    TN_TRY(status);
    tn_os_point("act.trashed");
    if (step->target.size > 0)
        TN_TRY(sync_folder_of(plan, step->target, err));
    return sync_folder_of(plan, step->source, err);
}

static tn_status place_step(tn_act_plan *plan, tn_act_step *step, tn_error *err)
{
    bool copy = false;
    TN_TRY(tn_context_check(plan->library->context, err));
    if (plan->kind == TN_ACT_TRASH)
        return trash_step(plan, step, err);
    TN_TRY(must_copy(plan, step, &copy, err));
    if (copy)
        return copy_step(plan, step, err);
    tn_error found;
    tn_status status = rename_step(plan, step, &found);
    if (status == TN_UNAVAILABLE && !step->placed)
        return copy_step(plan, step, err);
    return status == TN_OK ? TN_OK : tn_fail_as(&found, err);
}

/* ---- all steps ---- */

/* The folders of the targets, on the disk when they are made; *made: that of the first was not there. */
static tn_status make_folders(tn_act_plan *plan, bool *made, tn_error *err)
{
    tn_os_info info;
    *made = false;
    for (size_t i = 0; i < plan->count && plan->kind != TN_ACT_TRASH; i++) {
        tn_text folder = tn_act_folder_of(plan, plan->steps[i].target);
        TN_TRY(tn_arena_status(&plan->arena, err));
        if (i == 0)
            *made = tn_os_info_at(folder.bytes, true, &info, NULL) == TN_NOT_FOUND;
        TN_TRY(tn_os_make_folders(folder.bytes, err));
    }
    return TN_OK;
}

static tn_status place_all(tn_act_plan *plan, bool *made, tn_error *err)
{
    TN_TRY(make_folders(plan, made, err));
    for (size_t i = 0; i < plan->count; i++)
        if (!plan->steps[i].placed)
            TN_TRY(place_step(plan, &plan->steps[i], err));
    return TN_OK;
}

tn_status tn_act_place(tn_act_plan *plan, tn_error *err)
{
    bool made = false;
    tn_error found;
    tn_status status = place_all(plan, &made, &found);
    if (status == TN_OK)
        return TN_OK;
    tn_status back = tn_act_take_back(plan, NULL);
    if (made && back == TN_OK)
        (void)tn_os_remove_folder(tn_act_folder_of(plan, plan->steps[0].target).bytes, NULL);
    return tn_fail_as(&found, err);
}
