/* tn_library_remove: out of the list, into the trash, or for good. */
#include "library/acts.h"

#include <inttypes.h>
#include <string.h>

#include "library/claim.h"
#include "library/place.h"
#include "os/os_fault.h"

/* ---- into the trash ---- */

static bool any_placed(const tn_act_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++)
        if (plan->steps[i].placed)
            return true;
    return false;
}

/* Nothing lies in the trash: the notes go, and the row is closed. Else both stay for the next recovery. */
static void give_up_trash(tn_act_plan *plan, const tn_error *found)
{
    if (any_placed(plan))
        return;
    for (size_t i = 0; i < plan->count; i++)
        if (plan->steps[i].aside.size > 0)
            (void)tn_os_trash_forget(plan->steps[i].aside.bytes, NULL);
    if (plan->id != 0)
        tn_act_close_failed(plan, found->message);
}

static tn_status reserve(tn_act_plan *plan, tn_act_step *step, tn_error *err)
{
    tn_buffer item, note;
    tn_buffer_init(&item, plan->library->memory, TN_PLACE_PATH_MAX);
    tn_buffer_init(&note, plan->library->memory, TN_PLACE_PATH_MAX);
    tn_status status = tn_os_trash_reserve(step->source.bytes, &item, &note, err);
    if (status == TN_OK) {
        step->target = tn_arena_text(&plan->arena, item.bytes != NULL ? item.bytes : "", item.size);
        step->aside = tn_arena_text(&plan->arena, note.bytes != NULL ? note.bytes : "", note.size);
        status = tn_arena_status(&plan->arena, err);
        if (status != TN_OK && note.size > 0)
            (void)tn_os_trash_forget(note.bytes, NULL);
    }
    tn_buffer_free(&item);
    tn_buffer_free(&note);
    return status;
}

static tn_status reserve_all(tn_act_plan *plan, tn_error *err)
{
    for (size_t i = 0; i < plan->count; i++)
        TN_TRY(reserve(plan, &plan->steps[i], err));
    return TN_OK;
}

static tn_status trash_planned(tn_act_plan *plan, tn_error *err)
{
    tn_os_point("act.planned");
    TN_TRY(tn_act_place(plan, err));
    return tn_act_finish_removal(plan, err);
}

/* The places in the trash are chosen first, so that the row says where to look. A crash in between leaves a note
 * without an item, which every trash passes over. */
static tn_status trash(tn_act_plan *plan, tn_error *err)
{
    tn_error found;
    tn_status status = reserve_all(plan, &found);
    if (status == TN_OK)
        status = tn_act_record_plan(plan, &found);
    if (status == TN_OK)
        status = trash_planned(plan, &found);
    if (status == TN_OK)
        return TN_OK;
    give_up_trash(plan, &found);
    return tn_fail_as(&found, err);
}

/* ---- for good ---- */

static bool ends_with(tn_text name, const char *tail)
{
    size_t size = strlen(tail);
    return name.size >= size && memcmp(name.bytes + name.size - size, tail, size) == 0;
}

/* What model folders are made of, beside weights: docs/formats/folders.md. */
static bool belongs(tn_text name)
{
    static const char *const tails[] = {".json", ".txt", ".model", ".md", ".yaml", ".yml", ".jinja", ".spm", ".vocab",
                                        ".gitattributes", ".gitignore", "LICENSE", "NOTICE", "README"};
    if (tn_suffix_of(name.bytes, name.size) != TN_SUFFIX_NONE)
        return true;
    for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++)
        if (ends_with(name, tails[i]))
            return true;
    return false;
}

static tn_status refuse_foreign_in(const tn_tree *tree, const char *root, tn_error *err)
{
    for (size_t i = 0; i < tree->count; i++) {
        const tn_tree_item *item = &tree->items[i];
        size_t at = item->below.size;
        while (at > 0 && item->below.bytes[at - 1] != tn_place_separator(root))
            at--;
        if (item->kind == TN_OS_FOLDER || item->kind == TN_OS_LINK ||
            belongs((tn_text){item->below.bytes + at, item->below.size - at}))
            continue;
        tn_fail(err, TN_EXISTS, "the folder holds %.300s, which is no part of a model: move it away, or use the trash",
                item->below.bytes);
        tn_error_at_file(err, root);
        return TN_EXISTS;
    }
    return TN_OK;
}

static tn_status refuse_foreign(tn_act_plan *plan, tn_error *err)
{
    tn_tree tree;
    if (plan->steps[0].shape != TN_OS_FOLDER)
        return TN_OK;
    tn_status status = tn_tree_list(plan->library->context, plan->steps[0].source.bytes, false, &tree, err);
    if (status == TN_OK)
        status = refuse_foreign_in(&tree, plan->steps[0].source.bytes, err);
    tn_tree_free(&tree);
    return status;
}

static tn_status check_gone(tn_act_plan *plan, tn_error *err)
{
    tn_os_info info;
    for (size_t i = 0; i < plan->count; i++) {
        if (tn_os_info_at(plan->steps[i].source.bytes, false, &info, NULL) != TN_OK)
            continue;
        tn_fail(err, TN_CHANGED, "it changed while it was to be deleted, and stays");
        tn_error_at_file(err, plan->steps[i].source.bytes);
        return TN_CHANGED;
    }
    return TN_OK;
}

tn_status tn_act_delete(tn_act_plan *plan, tn_error *err)
{
    for (size_t i = 0; i < plan->count; i++)
        if (plan->steps[i].shape == TN_OS_FOLDER)
            TN_TRY(tn_act_name_aside(plan, &plan->steps[i], err));
    TN_TRY(tn_act_record_plan(plan, err));
    tn_os_point("act.planned");
    tn_error found;
    tn_status status = tn_act_remove_sources(plan, &found);
    if (status == TN_OK)
        status = check_gone(plan, &found);
    if (status == TN_OK)
        return tn_act_finish_removal(plan, err);
    /* One that has lost a file is ended by the next recovery; one that has lost none is as it was. */
    bool whole = false, any = true;
    if (tn_act_survey(plan, &whole, &any, NULL) == TN_OK && !any)
        tn_act_close_failed(plan, found.message);
    return tn_fail_as(&found, err);
}

/* ---- from the list ---- */

static tn_status forget_inside(tn_act_plan *plan, tn_error *err)
{
    TN_TRY(tn_act_put(plan, TN_ACT_DONE, err));
    return tn_act_take_out(plan, (tn_text){"", 0}, true, err);
}

static tn_status forget(tn_act_plan *plan, tn_error *err)
{
    TN_TRY(tn_act_begin(plan->library, err));
    return tn_act_end(plan->library, forget_inside(plan, err), err);
}

/* ---- all three ---- */

static tn_status make_plan(tn_act_plan *plan, const char *model, tn_error *err)
{
    tn_text path;
    bool forgets = plan->kind == TN_ACT_FORGET;
    TN_TRY(tn_act_find(plan, model, forgets, &path, err));
    if (forgets)
        return TN_OK;
    TN_TRY(tn_act_add_files(plan, path, NULL, 0, err));
    TN_TRY(tn_act_keep_above(plan, path, err));
    return plan->kind == TN_ACT_DELETE ? refuse_foreign(plan, err) : TN_OK;
}

static tn_status run(tn_act_plan *plan, tn_error *err)
{
    if (plan->kind == TN_ACT_FORGET)
        return forget(plan, err);
    return plan->kind == TN_ACT_TRASH ? trash(plan, err) : tn_act_delete(plan, err);
}

tn_status tn_library_remove(tn_library *library, const char *model, tn_removal how, const tn_act_options *options,
                            tn_error *err)
{
    static const tn_act_kind kinds[] = {TN_ACT_FORGET, TN_ACT_TRASH, TN_ACT_DELETE};
    tn_act_plan plan;
    TN_TRY(tn_context_check(library->context, err));
    TN_TRY(tn_act_options_of(options, &options, err));
    if ((unsigned)how > TN_REMOVE_DELETE)
        return tn_fail(err, TN_INVALID, "there is no such way to remove a model");
    if (!options->dry_run)
        TN_TRY(tn_acts_recover(library, err));
    tn_act_init(&plan, library, options, kinds[how]);
    tn_status status = make_plan(&plan, model, err);
    if (status == TN_OK && !options->dry_run)
        status = run(&plan, err);
    if (status == TN_OK)
        tn_act_tell(&plan);
    tn_act_free(&plan);
    return status;
}
