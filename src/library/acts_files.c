/* Taking files back, finding out where they are after a crash, and what goes when all is at its new place. */
#include "library/acts.h"

#include <string.h>

#include "library/place.h"
#include "os/os_fault.h"

/* What stands at a path; no path is one at which nothing stands. */
static tn_status look(tn_text path, bool *there, tn_os_info *info, tn_error *err)
{
    tn_error found;
    tn_status status = path.size > 0 ? tn_os_info_at(path.bytes, false, info, &found) : TN_NOT_FOUND;
    if (status != TN_OK && status != TN_NOT_FOUND)
        return tn_fail_as(&found, err);
    *there = status == TN_OK;
    return TN_OK;
}

static bool is_as_planned(const tn_act_step *step, const tn_os_info *now)
{
    return tn_copying_unchanged(step->shape, step->size, step->mtime_ns, now);
}

static void sync_both(tn_act_plan *plan, const tn_act_step *step)
{
    tn_text folders[2] = {tn_act_folder_of(plan, step->source), tn_act_folder_of(plan, step->target)};
    for (int i = 0; i < 2; i++)
        if (folders[i].bytes != NULL)
            (void)tn_os_sync_folder(folders[i].bytes, NULL);
}

/* ---- taking back ---- */

static tn_status take_step_back(tn_act_plan *plan, tn_act_step *step, tn_error *err)
{
    tn_status status;
    if (step->copied)
        status = tn_tree_drop(plan->library->context, step->target.bytes, err);
    else
        status = tn_os_rename(step->target.bytes, step->source.bytes, false, err);
    TN_TRY(status);
    step->placed = step->copied = false;
    sync_both(plan, step);
    return TN_OK;
}

tn_status tn_act_take_back(tn_act_plan *plan, tn_error *err)
{
    tn_status worst = TN_OK;
    for (size_t i = plan->count; i-- > 0;) {
        tn_act_step *step = &plan->steps[i];
        tn_error found;
        tn_status status = step->placed ? take_step_back(plan, step, &found) : TN_OK;
        if (status != TN_OK && worst == TN_OK)
            worst = tn_fail_as(&found, err);
        if (plan->kind == TN_ACT_TRASH && status == TN_OK && step->aside.size > 0)
            (void)tn_os_trash_forget(step->aside.bytes, NULL);
    }
    return worst;
}

/* ---- after a crash ---- */

static tn_status same_folder(tn_act_plan *plan, const tn_act_step *step, bool *same, tn_error *err)
{
    tn_tree tree;
    const tn_copying copying = tn_act_copying(plan);
    tn_status status = tn_tree_list(plan->library->context, step->target.bytes, false, &tree, err);
    if (status == TN_OK)
        status = tn_tree_same(&copying, &tree, step->target.bytes, step->source.bytes, true, same, err);
    tn_tree_free(&tree);
    return status;
}

/* Both are there: is the one at the new place our copy? */
static tn_status is_our_copy(tn_act_plan *plan, const tn_act_step *step, const tn_os_info *there, bool *out, tn_error *err)
{
    const tn_copying copying = tn_act_copying(plan);
    *out = false;
    if (plan->kind == TN_ACT_TRASH || !is_as_planned(step, there))
        return TN_OK;
    if (step->shape == TN_OS_REGULAR)
        return tn_copying_same(&copying, step->source.bytes, step->target.bytes, out, err);
    if (step->shape == TN_OS_FOLDER)
        return same_folder(plan, step, out, err);
    *out = step->shape == TN_OS_LINK; /* its name was free when the act was planned */
    return TN_OK;
}

/* Neither is there: the disk of one of them may only be away, and then nothing can be said. */
static tn_status check_away(tn_act_plan *plan, const tn_act_step *step, tn_error *err)
{
    tn_os_info info;
    tn_text from = tn_act_folder_of(plan, step->source);
    TN_TRY(tn_arena_status(&plan->arena, err));
    TN_TRY(tn_os_info_at(from.bytes, true, &info, err));
    if (step->target.size == 0)
        return TN_OK;
    tn_text to = tn_act_folder_of(plan, step->target);
    TN_TRY(tn_arena_status(&plan->arena, err));
    return tn_os_info_at(to.bytes, true, &info, err);
}

static tn_status survey_step(tn_act_plan *plan, tn_act_step *step, tn_error *err)
{
    tn_os_info from, to;
    bool before = false, after = false;
    TN_TRY(look(step->source, &before, &from, err));
    TN_TRY(look(step->target, &after, &to, err));
    TN_TRY(before || after ? TN_OK : check_away(plan, step, err));
    if (plan->kind == TN_ACT_DELETE || (plan->kind == TN_ACT_TRASH && step->target.size == 0))
        step->placed = !before;
    else if (!before)
        step->placed = after && is_as_planned(step, &to);
    else if (after)
        TN_TRY(is_our_copy(plan, step, &to, &step->placed, err));
    step->copied = step->placed && before;
    return TN_OK;
}

/* The name aside was drawn by us for this act alone. What is to be deleted and has it is deleted. That it is gone is on the
 * disk before the act is ended: nobody looks for it afterwards. */
static tn_status drop_leftover(tn_act_plan *plan, const tn_act_step *step, tn_error *err)
{
    tn_os_info info;
    bool there = false;
    if (plan->kind == TN_ACT_TRASH || step->aside.size == 0)
        return TN_OK;
    TN_TRY(look(step->aside, &there, &info, err));
    if (!there)
        return TN_OK;
    TN_TRY(tn_tree_drop(plan->library->context, step->aside.bytes, err));
    tn_text folder = tn_act_folder_of(plan, step->aside);
    TN_TRY(tn_arena_status(&plan->arena, err));
    return tn_os_sync_folder(folder.bytes, err);
}

tn_status tn_act_drop_leftovers(tn_act_plan *plan, tn_error *err)
{
    for (size_t i = 0; i < plan->count; i++)
        TN_TRY(drop_leftover(plan, &plan->steps[i], err));
    return TN_OK;
}

tn_status tn_act_survey(tn_act_plan *plan, bool *whole, bool *any, tn_error *err)
{
    *whole = true;
    *any = false;
    TN_TRY(tn_act_drop_leftovers(plan, err));
    for (size_t i = 0; i < plan->count; i++) {
        TN_TRY(survey_step(plan, &plan->steps[i], err));
        *whole = *whole && plan->steps[i].placed;
        *any = *any || plan->steps[i].placed;
    }
    return TN_OK;
}

/* ---- what goes ---- */

static tn_status remove_folder_as_in(tn_act_plan *plan, const tn_act_step *step, tn_text like, tn_error *err)
{
    tn_tree tree;
    tn_status status = tn_tree_list(plan->library->context, like.bytes, false, &tree, err);
    if (status == TN_OK)
        status = tn_tree_remove(&tree, step->source.bytes, err);
    tn_tree_free(&tree);
    return status;
}

static tn_status sync_source_folder(tn_act_plan *plan, const tn_act_step *step, tn_error *err)
{
    tn_text folder = tn_act_folder_of(plan, step->source);
    TN_TRY(tn_arena_status(&plan->arena, err));
    return tn_os_sync_folder(folder.bytes, err);
}

/* Whole, under another name, and then away: so that a crash never leaves half of a folder under its own. */
static tn_status delete_folder(tn_act_plan *plan, const tn_act_step *step, tn_error *err)
{
    TN_TRY(tn_os_rename(step->source.bytes, step->aside.bytes, false, err));
    TN_TRY(sync_source_folder(plan, step, err));
    tn_os_point("act.set_aside");
    return tn_tree_drop(plan->library->context, step->aside.bytes, err);
}

/* A source that is not what it was stays: it is somebody's. */
static tn_status remove_source(tn_act_plan *plan, const tn_act_step *step, tn_error *err)
{
    tn_os_info from, to;
    bool before = false, after = false, deleting = plan->kind == TN_ACT_DELETE;
    TN_TRY(look(step->source, &before, &from, err));
    if (!before || !is_as_planned(step, &from))
        return TN_OK;
    TN_TRY(look(step->target, &after, &to, err));
    if (!deleting && !after)
        return TN_OK;
    if (step->shape != TN_OS_FOLDER)
        TN_TRY(tn_os_remove(step->source.bytes, err));
    else if (deleting)
        TN_TRY(delete_folder(plan, step, err));
    else
        TN_TRY(remove_folder_as_in(plan, step, step->target, err));
    tn_os_point("act.source_removed");
    return sync_source_folder(plan, step, err);
}

tn_status tn_act_remove_sources(tn_act_plan *plan, tn_error *err)
{
    for (size_t i = plan->count; i-- > 0;)
        TN_TRY(remove_source(plan, &plan->steps[i], err));
    return TN_OK;
}

static bool separates(char c)
{
    return c == '/' || c == '\\';
}

bool tn_act_is_in(tn_text path, tn_text folder)
{
    if (path.size < folder.size || memcmp(path.bytes, folder.bytes, folder.size) != 0)
        return false;
    return path.size == folder.size || folder.size == 0 || separates(path.bytes[folder.size]) ||
           separates(folder.bytes[folder.size - 1]);
}

static bool is_below(tn_text path, tn_text folder)
{
    return path.size > folder.size && tn_act_is_in(path, folder);
}

void tn_act_remove_emptied(tn_act_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        tn_text folder = tn_act_folder_of(plan, plan->steps[i].source);
        while (folder.bytes != NULL && plan->keep.size > 0 && is_below(folder, plan->keep) &&
               tn_os_remove_folder(folder.bytes, NULL) == TN_OK)
            folder = tn_act_folder_of(plan, folder);
        if (folder.bytes != NULL && is_below(plan->steps[i].source, folder))
            (void)tn_os_sync_folder(folder.bytes, NULL);
    }
}
