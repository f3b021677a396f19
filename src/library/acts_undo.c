/* tn_library_undo and tn_library_acts. */
#include "library/acts.h"

#include <inttypes.h>
#include <string.h>

#include "library/place.h"
#include "library/record_inside.h"

/* ---- what stands in the way ---- */

/* What an act left is still what it left. */
static tn_status check_unchanged(const tn_act_step *was, const tn_act_step *now, tn_error *err)
{
    const tn_os_info info = {.kind = now->shape, .size = now->size, .mtime_ns = now->mtime_ns};
    if (tn_copying_unchanged(was->shape, was->size, was->mtime_ns, &info))
        return TN_OK;
    tn_fail(err, TN_CHANGED, "it changed since, so it is left where it is");
    tn_error_amounts(err, was->size, now->size);
    tn_error_at_file(err, now->source.bytes);
    return TN_CHANGED;
}

/* Steps from where the act's files are now to where they came from. */
static tn_status turn_around(tn_act_plan *plan, const tn_act_plan *act, tn_error *err)
{
    for (size_t i = 0; i < act->count; i++) {
        const tn_act_step *was = &act->steps[i];
        tn_text now = tn_arena_text(&plan->arena, was->target.bytes, was->target.size);
        tn_text back = tn_arena_text(&plan->arena, was->source.bytes, was->source.size);
        TN_TRY(tn_arena_status(&plan->arena, err));
        if (was->target.size == 0)
            return tn_fail(err, TN_UNAVAILABLE, "the recycle bin does not tell where it is: restore it there by hand, "
                                                "then import it");
        TN_TRY(tn_act_add_step(plan, now, back, err));
        TN_TRY(check_unchanged(was, &plan->steps[i], err));
        TN_TRY(tn_act_name_aside(plan, &plan->steps[i], err));
    }
    return TN_OK;
}

static tn_status begin_plan(tn_act_plan *plan, const tn_act_plan *act, tn_error *err)
{
    plan->undoes = act->id;
    plan->model = act->model;
    plan->name = tn_arena_text(&plan->arena, act->name.bytes, act->name.size);
    return tn_arena_status(&plan->arena, err);
}

/* A file that is recorded anew in the place of one that was removed. */
static tn_status check_not_taken(tn_act_plan *plan, tn_error *err)
{
    int64_t taken = 0;
    tn_library_lock(plan->library);
    tn_sql s = tn_sql_start(&plan->library->db, TN_QUERY_ACT_KEPT_TAKEN);
    tn_sql_int(&s, plan->undoes);
    tn_status status = tn_record_one_number(&s, &taken, err);
    tn_library_unlock(plan->library);
    TN_TRY(status);
    return taken == 0 ? TN_OK
                      : tn_fail(err, TN_EXISTS, "its file is recorded anew, as model %" PRId64 ": remove that one first",
                                taken);
}

/* ---- one act ---- */

static tn_status go_back(tn_act_plan *plan, const tn_act_plan *act, tn_error *err)
{
    bool same = false;
    TN_TRY(turn_around(plan, act, err));
    TN_TRY(tn_act_check_targets(plan, &same, err));
    TN_TRY(check_not_taken(plan, err));
    if (plan->count > 0)
        TN_TRY(tn_act_keep_above(plan, plan->steps[0].source, err));
    TN_TRY(tn_act_check_space(plan, err));
    if (!plan->options->dry_run)
        return tn_act_run(plan, err);
    tn_act_tell(plan);
    return TN_OK;
}

/* The only copy there is stays. */
static tn_status check_original(const tn_act_step *was, tn_error *err)
{
    tn_os_info info;
    if (tn_os_info_at(was->source.bytes, true, &info, NULL) == TN_OK && info.kind == was->shape &&
        (was->shape != TN_OS_REGULAR || info.size == was->size))
        return TN_OK;
    tn_fail(err, TN_CHANGED, "what it was copied from is not there any more, so the copy stays");
    tn_error_at_file(err, was->source.bytes);
    return TN_CHANGED;
}

/* What was put into the copy of a folder since is nowhere else. */
static tn_status check_nothing_added(tn_act_plan *plan, const tn_act_step *was, tn_error *err)
{
    tn_tree tree;
    bool same = false;
    const tn_copying copying = {.context = plan->library->context, .follow = true};
    if (was->shape != TN_OS_FOLDER)
        return TN_OK;
    tn_status status = tn_tree_list(plan->library->context, was->target.bytes, false, &tree, err);
    if (status == TN_OK)
        status = tn_tree_same(&copying, &tree, was->target.bytes, was->source.bytes, false, &same, err);
    tn_tree_free(&tree);
    if (status != TN_OK || same)
        return status;
    tn_fail(err, TN_CHANGED, "something in it was added or changed since it was copied, so it stays");
    tn_error_at_file(err, was->target.bytes);
    return TN_CHANGED;
}

static tn_status uncopy(tn_act_plan *plan, const tn_act_plan *act, tn_error *err)
{
    for (size_t i = 0; i < act->count; i++) {
        tn_text copy = tn_arena_text(&plan->arena, act->steps[i].target.bytes, act->steps[i].target.size);
        TN_TRY(tn_arena_status(&plan->arena, err));
        TN_TRY(check_original(&act->steps[i], err));
        TN_TRY(check_nothing_added(plan, &act->steps[i], err));
        TN_TRY(tn_act_add_step(plan, copy, (tn_text){"", 0}, err));
        TN_TRY(check_unchanged(&act->steps[i], &plan->steps[i], err));
    }
    if (plan->count == 0)
        return TN_OK;
    TN_TRY(tn_record_model_at(plan->library, plan->steps[0].source, &plan->model, err));
    TN_TRY(tn_act_keep_above(plan, plan->steps[0].source, err));
    if (!plan->options->dry_run)
        TN_TRY(tn_act_delete(plan, err));
    tn_act_tell(plan);
    return TN_OK;
}

static tn_status remember_inside(tn_act_plan *plan, tn_error *err)
{
    TN_TRY(tn_act_put(plan, TN_ACT_DONE, err));
    TN_TRY(tn_act_put_back(plan, plan->undoes, err));
    return tn_act_set_state(plan, plan->undoes, TN_ACT_UNDONE, "", err);
}

/* What stands at the path of a kept row now: another file is not the one that was recorded. */
static tn_status check_kept(tn_act_plan *plan, const tn_sql *row, tn_error *err)
{
    tn_os_info info;
    tn_text path = tn_sql_get(row, 0);
    tn_text kept = tn_arena_text(&plan->arena, path.bytes, path.size);
    TN_TRY(tn_arena_status(&plan->arena, err));
    if (tn_os_info_at(kept.bytes, true, &info, NULL) != TN_OK || info.kind != TN_OS_REGULAR)
        return TN_OK;
    const tn_act_step was = {.shape = info.kind, .size = (uint64_t)tn_sql_get_int(row, 1),
                             .mtime_ns = tn_sql_get_int(row, 2)};
    const tn_act_step now = {.shape = info.kind, .size = info.size, .mtime_ns = info.mtime_ns, .source = kept};
    return check_unchanged(&was, &now, err);
}

static tn_status check_all_kept(tn_act_plan *plan, tn_error *err)
{
    tn_status status = TN_OK;
    tn_library_lock(plan->library);
    tn_sql s = tn_sql_start(&plan->library->db, TN_QUERY_ACT_BACK_FILES);
    tn_sql_int(&s, plan->undoes);
    for (bool more = true; more && status == TN_OK;) {
        status = tn_sql_row(&s, &more, err);
        if (status == TN_OK && more)
            status = check_kept(plan, &s, err);
    }
    tn_sql_end(&s);
    tn_library_unlock(plan->library);
    return status;
}

static tn_status remember(tn_act_plan *plan, tn_error *err)
{
    TN_TRY(check_not_taken(plan, err));
    TN_TRY(check_all_kept(plan, err));
    if (!plan->options->dry_run) {
        TN_TRY(tn_act_begin(plan->library, err));
        TN_TRY(tn_act_end(plan->library, remember_inside(plan, err), err));
    }
    tn_act_tell(plan);
    return TN_OK;
}

static tn_act_kind kind_of_undo(tn_act_kind kind)
{
    return kind == TN_ACT_MOVE ? TN_ACT_MOVE : kind == TN_ACT_COPY ? TN_ACT_DELETE : TN_ACT_RESTORE;
}

static tn_status undo_one(tn_library *library, const tn_act_plan *act, const tn_act_options *options, int64_t *event,
                          tn_error *err)
{
    tn_act_plan plan;
    tn_act_init(&plan, library, options, kind_of_undo(act->kind));
    plan.event = *event;
    tn_status status = begin_plan(&plan, act, err);
    if (status == TN_OK && act->kind == TN_ACT_COPY)
        status = uncopy(&plan, act, err);
    else if (status == TN_OK && act->kind == TN_ACT_FORGET)
        status = remember(&plan, err);
    else if (status == TN_OK)
        status = go_back(&plan, act, err);
    if (status == TN_OK)
        *event = plan.event;
    tn_act_free(&plan);
    return status;
}

/* ---- an event ---- */

static tn_status check_can_undo(const tn_act_plan *act, tn_error *err)
{
    if (act->undoes != 0)
        return tn_fail(err, TN_INVALID, "event %" PRId64 " is itself an undo: do again what it took back", act->event);
    if (act->kind == TN_ACT_DELETE)
        return tn_fail(err, TN_INVALID, "event %" PRId64 " deleted %.200s for good, and cannot be undone; an earlier event can, by its number", act->event,
                       act->name.bytes);
    return TN_OK;
}

static tn_status undo_act(tn_library *library, int64_t id, const tn_act_options *options, int64_t *event, size_t *undone,
                          tn_error *err)
{
    tn_act_plan act;
    tn_act_init(&act, library, options, TN_ACT_MOVE);
    tn_status status = tn_act_load(&act, id, err);
    if (status == TN_OK && act.state == TN_ACT_DONE) {
        status = check_can_undo(&act, err);
        if (status == TN_OK)
            status = undo_one(library, &act, options, event, err);
        *undone += status == TN_OK;
    }
    tn_act_free(&act);
    return status;
}

static tn_status undo(tn_act_plan *list, int64_t event, tn_error *err)
{
    int64_t *ids = NULL, undo_event = 0;
    size_t count = 0, undone = 0;
    if (event == 0) {
        TN_TRY(tn_act_numbers(list, TN_QUERY_ACT_LAST_EVENT, 0, &ids, &count, err));
        if (count == 0)
            return tn_fail(err, TN_NOT_FOUND, "there is nothing to undo");
        event = ids[0];
    }
    TN_TRY(tn_act_numbers(list, TN_QUERY_ACTS_OF_EVENT, event, &ids, &count, err));
    if (count == 0)
        return tn_fail(err, TN_NOT_FOUND, "there is no event %" PRId64, event);
    for (size_t i = 0; i < count; i++)
        TN_TRY(undo_act(list->library, ids[i], list->options, &undo_event, &undone, err));
    return undone > 0 ? TN_OK : tn_fail(err, TN_INVALID, "nothing of event %" PRId64 " is left to undo", event);
}

tn_status tn_library_undo(tn_library *library, int64_t event, const tn_act_options *options, tn_error *err)
{
    tn_act_plan list;
    TN_TRY(tn_context_check(library->context, err));
    TN_TRY(tn_act_options_of(options, &options, err));
    if (!options->dry_run)
        TN_TRY(tn_acts_recover(library, err));
    tn_act_init(&list, library, options, TN_ACT_MOVE);
    tn_status status = undo(&list, event, err);
    tn_act_free(&list);
    return status;
}

/* ---- the list ---- */

static tn_status tell_one(tn_library *library, int64_t id, bool (*each)(void *user, const tn_act *act), void *user,
                          bool *go_on, tn_error *err)
{
    static const tn_act_options none = {.size = sizeof none};
    tn_act_plan plan;
    tn_act_init(&plan, library, &none, TN_ACT_MOVE);
    tn_status status = tn_act_load(&plan, id, err);
    if (status == TN_OK) {
        const tn_act act = tn_act_shown(&plan);
        *go_on = each(user, &act);
    }
    tn_act_free(&plan);
    return status;
}

tn_status tn_library_acts(tn_library *library, bool (*each)(void *user, const tn_act *act), void *user, tn_error *err)
{
    static const tn_act_options none = {.size = sizeof none};
    tn_act_plan list;
    int64_t *ids = NULL;
    size_t count = 0;
    bool go_on = true;
    TN_TRY(tn_context_check(library->context, err));
    tn_act_init(&list, library, &none, TN_ACT_MOVE);
    tn_status status = tn_act_numbers(&list, TN_QUERY_ACTS_ALL, 0, &ids, &count, err);
    for (size_t i = 0; i < count && status == TN_OK && go_on; i++)
        status = tell_one(library, ids[i], each, user, &go_on, err);
    tn_act_free(&list);
    return status;
}
