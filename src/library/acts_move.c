/* tn_library_move: plan, record, place, end. */
#include "library/acts.h"

#include <string.h>

#include "os/os_fault.h"

/* By what the system says, so that another spelling of a folder is the same one. */
static bool is_same_folder(tn_text a, tn_text b)
{
    tn_os_info x, y;
    if (a.size == b.size && memcmp(a.bytes, b.bytes, a.size) == 0)
        return true;
    return tn_os_info_at(a.bytes, true, &x, NULL) == TN_OK && tn_os_info_at(b.bytes, true, &y, NULL) == TN_OK &&
           x.kind == TN_OS_FOLDER && x.device == y.device && (x.file_id[0] | x.file_id[1]) != 0 &&
           x.file_id[0] == y.file_id[0] && x.file_id[1] == y.file_id[1];
}

static tn_status refuse_into_itself(const tn_act_plan *plan, tn_text folder, tn_error *err)
{
    tn_text source = plan->steps[0].source;
    if (plan->steps[0].shape != TN_OS_FOLDER || !tn_act_is_in(folder, source))
        return TN_OK;
    tn_fail(err, TN_INVALID, "a folder cannot be moved into itself");
    tn_error_at_file(err, folder.bytes);
    return TN_INVALID;
}

/* *here: nothing has to be done. */
static tn_status make_plan(tn_act_plan *plan, const char *model, const char *folder, bool *here, tn_error *err)
{
    tn_text path, to;
    bool same = false;
    *here = false;
    TN_TRY(tn_act_find(plan, model, false, &path, err));
    TN_TRY(tn_act_absolute(plan->library->memory, &plan->arena, folder, &to, err));
    TN_TRY(tn_act_add_files(plan, path, NULL, 0, err));
    tn_text from = tn_act_folder_of(plan, path);
    TN_TRY(tn_arena_status(&plan->arena, err));
    *here = is_same_folder(from, to);
    if (*here)
        return TN_OK;
    TN_TRY(refuse_into_itself(plan, to, err));
    TN_TRY(tn_act_aim(plan, to, err));
    TN_TRY(tn_act_check_targets(plan, &same, err));
    TN_TRY(tn_act_keep_above(plan, path, err));
    return tn_act_check_space(plan, err);
}

/* Nothing is where it should not be, or the row stays open for the next recovery. */
static tn_status stop(tn_act_plan *plan, const tn_error *found, tn_error *err)
{
    bool placed = false;
    for (size_t i = 0; i < plan->count; i++)
        placed = placed || plan->steps[i].placed;
    if (!placed && tn_act_drop_leftovers(plan, NULL) == TN_OK)
        tn_act_close_failed(plan, found->message);
    return tn_fail_as(found, err);
}

tn_status tn_act_run(tn_act_plan *plan, tn_error *err)
{
    tn_error found;
    TN_TRY(tn_act_record_plan(plan, err));
    tn_os_point("act.planned");
    tn_status status = tn_act_place(plan, &found);
    if (status != TN_OK)
        return stop(plan, &found, err);
    TN_TRY(tn_act_finish_move(plan, err));
    tn_act_tell(plan);
    return TN_OK;
}

static tn_status move(tn_act_plan *plan, const char *model, const char *folder, tn_error *err)
{
    bool here = false;
    TN_TRY(make_plan(plan, model, folder, &here, err));
    if (here) {
        plan->count = 0;
        plan->bytes = 0;
        plan->state = TN_ACT_DONE;
    }
    if (!here && !plan->options->dry_run)
        return tn_act_run(plan, err);
    tn_act_tell(plan);
    return TN_OK;
}

tn_status tn_library_move(tn_library *library, const char *model, const char *folder, const tn_act_options *options,
                          tn_error *err)
{
    tn_act_plan plan;
    TN_TRY(tn_context_check(library->context, err));
    TN_TRY(tn_act_options_of(options, &options, err));
    if (!options->dry_run)
        TN_TRY(tn_acts_recover(library, err));
    tn_act_init(&plan, library, options, TN_ACT_MOVE);
    tn_status status = move(&plan, model, folder, err);
    tn_act_free(&plan);
    return status;
}
