/* How acts end: in the process that began them, and after it died. What holds stands in acts.h. */
#include "library/acts.h"

#include <string.h>

#include "os/os_fault.h"

/* ---- the end of a move, of a copy, of a restoring ---- */

/* Something has still to go when all is recorded: old copies, the notes of the trash. */
static bool has_more_to_do(const tn_act_plan *plan)
{
    if (plan->kind == TN_ACT_RESTORE)
        return true;
    for (size_t i = 0; i < plan->count; i++)
        if (plan->steps[i].copied && plan->kind != TN_ACT_COPY)
            return true;
    return false;
}

static tn_status record_inside(tn_act_plan *plan, const tn_act_moved *moved, tn_error *err)
{
    if (plan->kind == TN_ACT_RESTORE)
        TN_TRY(tn_act_put_back(plan, plan->undoes, err));
    else if (plan->kind == TN_ACT_MOVE)
        TN_TRY(tn_act_moved_record(plan, moved, err));
    if (plan->undoes != 0)
        TN_TRY(tn_act_set_state(plan, plan->undoes, TN_ACT_UNDONE, "", err));
    return tn_act_set_state(plan, plan->id, has_more_to_do(plan) ? TN_ACT_PLACED : TN_ACT_DONE, "", err);
}

static tn_status record(tn_act_plan *plan, const tn_act_moved *moved, tn_error *err)
{
    tn_act_state before = plan->state;
    TN_TRY(tn_act_begin(plan->library, err));
    tn_status status = tn_act_end(plan->library, record_inside(plan, moved, err), err);
    if (status != TN_OK)
        plan->state = before;
    return status;
}

tn_status tn_act_finish_move(tn_act_plan *plan, tn_error *err)
{
    tn_act_moved *moved = NULL;
    tn_os_point("act.placed");
    if (plan->kind == TN_ACT_MOVE)
        TN_TRY(tn_act_moved_look(plan, &moved, err));
    tn_status status = record(plan, moved, err);
    tn_act_moved_free(plan, moved);
    TN_TRY(status);
    tn_os_point("act.recorded");
    if (plan->state == TN_ACT_PLACED)
        return tn_act_finish_placed(plan, err);
    if (plan->kind == TN_ACT_MOVE)
        tn_act_remove_emptied(plan);
    return TN_OK;
}

/* The notes of what was brought back out of the trash. */
static tn_status forget_notes(tn_act_plan *plan, tn_error *err)
{
    tn_act_plan trashed;
    tn_act_init(&trashed, plan->library, plan->options, TN_ACT_TRASH);
    tn_status status = tn_act_load(&trashed, plan->undoes, err);
    for (size_t i = 0; i < trashed.count && status == TN_OK; i++)
        if (trashed.steps[i].aside.size > 0)
            status = tn_os_trash_forget(trashed.steps[i].aside.bytes, err);
    tn_act_free(&trashed);
    return status;
}

static tn_status done_inside(tn_act_plan *plan, tn_error *err)
{
    return tn_act_set_state(plan, plan->id, TN_ACT_DONE, "", err);
}

tn_status tn_act_finish_placed(tn_act_plan *plan, tn_error *err)
{
    TN_TRY(tn_act_remove_sources(plan, err));
    if (plan->kind == TN_ACT_RESTORE)
        TN_TRY(forget_notes(plan, err));
    else
        tn_act_remove_emptied(plan);
    TN_TRY(tn_act_begin(plan->library, err));
    return tn_act_end(plan->library, done_inside(plan, err), err);
}

/* ---- the end of a removal ---- */

static tn_status removed_inside(tn_act_plan *plan, tn_error *err)
{
    for (size_t i = 0; i < plan->count; i++)
        TN_TRY(tn_act_put_step(plan, i, err));
    if (plan->model != 0)
        TN_TRY(tn_act_take_out(plan, plan->steps[0].source, false, err));
    if (plan->undoes != 0)
        TN_TRY(tn_act_set_state(plan, plan->undoes, TN_ACT_UNDONE, "", err));
    return tn_act_set_state(plan, plan->id, TN_ACT_DONE, "", err);
}

tn_status tn_act_finish_removal(tn_act_plan *plan, tn_error *err)
{
    tn_act_state before = plan->state;
    tn_os_point("act.placed");
    TN_TRY(tn_act_begin(plan->library, err));
    tn_status status = tn_act_end(plan->library, removed_inside(plan, err), err);
    if (status != TN_OK) {
        plan->state = before;
        return status;
    }
    tn_act_remove_emptied(plan);
    return TN_OK;
}

/* ---- after a crash ---- */

static const char interrupted[] = "it was interrupted, and what it had done was taken back";

static tn_status take_back(tn_act_plan *plan, tn_error *err)
{
    TN_TRY(tn_act_take_back(plan, err));
    tn_act_close_failed(plan, interrupted);
    return TN_OK;
}

/* Not from a recycle bin that does not tell where things are. */
static bool can_take_back(const tn_act_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++)
        if (plan->steps[i].placed && plan->steps[i].target.size == 0)
            return false;
    return true;
}

static tn_status recover_planned(tn_act_plan *plan, tn_error *err)
{
    bool whole = false, any = false;
    TN_TRY(tn_act_survey(plan, &whole, &any, err));
    switch (plan->kind) {
    case TN_ACT_TRASH:
        if (!whole && can_take_back(plan))
            return take_back(plan, err);
        TN_TRY(tn_act_place(plan, err));
        return tn_act_finish_removal(plan, err);
    case TN_ACT_DELETE:
        if (!any)
            return take_back(plan, err);
        TN_TRY(tn_act_remove_sources(plan, err));
        return tn_act_finish_removal(plan, err);
    case TN_ACT_COPY:
    case TN_ACT_MOVE:
    case TN_ACT_RESTORE:
        return whole && any ? tn_act_finish_move(plan, err) : take_back(plan, err);
    case TN_ACT_FORGET:
    case TN_ACT_KINDS:
        break;
    }
    return take_back(plan, err);
}

static tn_status recover_locked(tn_act_plan *plan, int64_t id, tn_error *err)
{
    TN_TRY(tn_act_load(plan, id, err));
    if (plan->state == TN_ACT_PLACED)
        return tn_act_finish_placed(plan, err);
    return plan->state == TN_ACT_PLANNED ? recover_planned(plan, err) : TN_OK;
}

/* One that cannot be told about now, because its disk is away, stays open for the next time. */
static tn_status recover(tn_library *library, int64_t id, tn_error *err)
{
    static const tn_act_options none = {.size = sizeof none};
    tn_act_plan plan;
    tn_error found;
    tn_act_init(&plan, library, &none, TN_ACT_MOVE);
    plan.id = id;
    tn_status status = tn_act_lock(&plan, &found);
    if (status == TN_OK)
        status = recover_locked(&plan, id, &found);
    tn_act_free(&plan);
    if (status == TN_OK || status == TN_BUSY)
        return TN_OK;
    if (tn_status_is_of_process(status) || status == TN_LOCKED || status == TN_READ_ONLY)
        return tn_fail_as(&found, err);
    tn_context_log(library->context, TN_LOG_WARN, "event %lld was interrupted and cannot be ended yet: %s (%s)",
                   (long long)id, found.message, found.file);
    return TN_OK;
}

tn_status tn_acts_recover(tn_library *library, tn_error *err)
{
    static const tn_act_options none = {.size = sizeof none};
    tn_act_plan list;
    int64_t *ids = NULL;
    size_t count = 0;
    if (library->read_only)
        return TN_OK;
    tn_act_init(&list, library, &none, TN_ACT_MOVE);
    tn_status status = tn_act_numbers(&list, TN_QUERY_ACTS_ABANDONED, 0, &ids, &count, err);
    for (size_t i = 0; i < count && status == TN_OK; i++)
        status = recover(library, ids[i], err);
    tn_act_free(&list);
    return status;
}
