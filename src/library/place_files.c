/* tn_library_place: what an import with --copy-to or --move-to does before it begins. Everything that claims to be a model
 * is found first; then each is an act of its own. What an earlier run has brought there is known by its act, or by equal
 * bytes, so an interrupted one goes on where it stopped. */
#include "library/acts.h"

#include <string.h>

#include "core/utf8.h"
#include "library/place.h"
#include "library/reading.h"
#include "library/record_inside.h"
#include "os/os_fault.h"

typedef struct placing_item {
    tn_claim_kind kind;
    tn_suffix suffix;
    bool named;
    tn_text path, root;       /* `root`: what was named; the part of the path below it is kept */
    size_t first, member_count; /* of a set: its files, among the members */
} placing_item;

typedef struct placing {
    tn_library *library;
    tn_context *context;
    const tn_act_options *options;
    bool move;
    tn_text folder, root;
    void (*refused)(void *user, const char *path, const tn_error *why);
    tn_arena arena;
    placing_item *items;
    size_t count, capacity;
    tn_text *members;
    size_t member_count, member_capacity, member_first;
    int64_t event;
} placing;

#define ARENA_MAX ((size_t)1 << 40) /* bytes; the budget refuses long before */

/* ---- finding ---- */

static tn_status on_member(void *user, const char *path, size_t size, tn_error *err)
{
    placing *p = user;
    void *members = p->members;
    TN_TRY(tn_make_room(p->library->memory, &members, &p->member_capacity, p->member_count, sizeof *p->members, 64, err));
    p->members = members;
    p->members[p->member_count++] = tn_arena_text(&p->arena, path, size);
    return tn_arena_status(&p->arena, err);
}

static tn_status on_claim(void *user, const tn_claim *claim, tn_error *err)
{
    placing *p = user;
    void *items = p->items;
    size_t first = p->member_first;
    p->member_first = p->member_count;
    TN_TRY(tn_context_check(p->context, err));
    TN_TRY(tn_make_room(p->library->memory, &items, &p->capacity, p->count, sizeof *p->items, 64, err));
    p->items = items;
    p->items[p->count++] = (placing_item){.kind = claim->kind, .suffix = claim->suffix, .named = claim->named,
                                          .path = tn_arena_text(&p->arena, claim->path, claim->path_size),
                                          .root = p->root, .first = first, .member_count = p->member_count - first};
    return tn_arena_status(&p->arena, err);
}

static tn_status on_refused(void *user, const char *path, const tn_error *why, tn_error *err)
{
    (void)err;
    placing *p = user;
    if (p->refused != NULL)
        p->refused(p->options->user, path, why);
    return TN_OK;
}

static tn_status find_all(placing *p, const char *const *paths, size_t count, tn_error *err)
{
    const tn_scan_visitor visitor = {.claim = on_claim, .member = on_member, .refused = on_refused, .user = p};
    tn_scan_counts counts;
    for (size_t i = 0; i < count; i++) {
        TN_TRY(tn_act_absolute(p->library->memory, &p->arena, paths[i], &p->root, err));
        TN_TRY(tn_scan(p->context, &p->root.bytes, 1, &visitor, &counts, err));
    }
    return TN_OK;
}

/* ---- what is left out ---- */

/* Suffixes that much else has are looked into, as an import does. */
static tn_status is_wanted(placing *p, const placing_item *item, bool *out, tn_error *err)
{
    *out = !tn_act_is_in(item->path, p->folder);
    if (!*out || item->kind != TN_CLAIM_FILE || item->suffix != TN_SUFFIX_MAYBE || item->named)
        return TN_OK;
    tn_reading reading = {0};
    tn_reading_times times = {0};
    TN_TRY(tn_reading_take(p->context, item->path.bytes, &times, &reading, err));
    *out = reading.answer != NULL && tn_claim_holds(item->suffix, reading.answer);
    tn_reading_free(p->context, &reading);
    return TN_OK;
}

/* ---- one of them ---- */

/* The folder it goes to: the target folder, and what lies between the named path and the file. */
static tn_status folder_for(placing *p, const placing_item *item, tn_act_plan *plan, tn_text *out, tn_error *err)
{
    size_t above = tn_place_folder(item->path.bytes, item->path.size);
    size_t root = item->root.size;
    if (root > 0 && item->root.bytes[root - 1] == tn_place_separator(item->root.bytes))
        root--;
    *out = p->folder;
    if (above <= root || item->path.size == item->root.size)
        return TN_OK;
    *out = tn_arena_format(&plan->arena, "%s%.*s", p->folder.bytes, (int)(above - root), item->path.bytes + root);
    return tn_arena_status(&plan->arena, err);
}

/* What no record names yet. */
static tn_status name_it(tn_act_plan *plan, const placing_item *item, tn_error *err)
{
    tn_buffer name;
    tn_text found = tn_claim_model_name(item->path.bytes, item->path.size, item->kind == TN_CLAIM_FOLDER);
    tn_buffer_init(&name, plan->library->memory, TN_PLACE_PATH_MAX);
    tn_utf8_append_valid(&name, found.bytes, found.size);
    tn_status status = tn_buffer_status(&name, err);
    if (status == TN_OK) {
        plan->name = tn_arena_text(&plan->arena, name.bytes, name.size);
        status = tn_arena_status(&plan->arena, err);
    }
    tn_buffer_free(&name);
    return status;
}

static tn_status make_plan(placing *p, const placing_item *item, tn_act_plan *plan, tn_error *err)
{
    tn_text folder;
    if (p->move)
        TN_TRY(tn_record_model_at(p->library, item->path, &plan->model, err));
    plan->event = p->event;
    plan->keep = tn_act_is_in(item->path, item->root) && item->path.size > item->root.size ? item->root : (tn_text){"", 0};
    TN_TRY(tn_act_add_files(plan, item->path, &p->members[item->first],
                            item->kind == TN_CLAIM_SET ? item->member_count : 0, err));
    if (plan->name.size == 0)
        TN_TRY(name_it(plan, item, err));
    TN_TRY(folder_for(p, item, plan, &folder, err));
    return tn_act_aim(plan, folder, err);
}

/* An earlier run did it, and what it brought there is as it was. */
static tn_status was_done(placing *p, const tn_act_step *step, bool *out, tn_error *err)
{
    int64_t found = 0;
    tn_os_info there;
    *out = false;
    if (p->move || tn_os_info_at(step->target.bytes, false, &there, NULL) != TN_OK ||
        there.kind != step->shape || (there.kind == TN_OS_REGULAR && there.size != step->size))
        return TN_OK;
    tn_library_lock(p->library);
    tn_sql s = tn_sql_start(&p->library->db, TN_QUERY_ACT_DONE_BEFORE);
    tn_sql_blob(&s, step->source.bytes, step->source.size);
    tn_sql_blob(&s, step->target.bytes, step->target.size);
    tn_sql_int(&s, (int64_t)step->size);
    tn_sql_int(&s, step->mtime_ns);
    tn_status status = tn_record_one_number(&s, &found, err);
    tn_library_unlock(p->library);
    *out = found != 0;
    return status;
}

static tn_status place_plan(placing *p, tn_act_plan *plan, tn_error *err)
{
    bool done = false, same = false;
    tn_error found;
    TN_TRY(was_done(p, &plan->steps[0], &done, err));
    if (done)
        return TN_OK;
    tn_status status = tn_act_check_targets(plan, &same, &found);
    if (status == TN_EXISTS && same)
        return TN_OK;
    if (status != TN_OK)
        return tn_fail_as(&found, err);
    if (p->options->dry_run) {
        tn_act_tell(plan);
        return TN_OK;
    }
    TN_TRY(tn_act_run(plan, err));
    p->event = plan->event;
    tn_os_point("place.one");
    return TN_OK;
}

static tn_status place_one(placing *p, const placing_item *item, tn_error *err)
{
    tn_act_plan plan;
    tn_act_init(&plan, p->library, p->options, p->move ? TN_ACT_MOVE : TN_ACT_COPY);
    tn_status status = make_plan(p, item, &plan, err);
    if (status == TN_OK)
        status = place_plan(p, &plan, err);
    tn_act_free(&plan);
    return status;
}

/* ---- all of them ---- */

/* Faults of the process and of the place itself end it; those of a file are told. */
static bool ends_all(tn_status status)
{
    return tn_status_is_of_process(status) || status == TN_NO_SPACE || status == TN_READ_ONLY || status == TN_LOCKED ||
           status == TN_LIBRARY_DAMAGED;
}

static tn_status place_each(placing *p, tn_error *err)
{
    for (size_t i = 0; i < p->count; i++) {
        bool wanted = false;
        tn_error found;
        TN_TRY(tn_context_check(p->context, err));
        TN_TRY(is_wanted(p, &p->items[i], &wanted, err));
        tn_status status = wanted ? place_one(p, &p->items[i], &found) : TN_OK;
        if (ends_all(status))
            return tn_fail_as(&found, err);
        if (status != TN_OK && p->refused != NULL)
            p->refused(p->options->user, p->items[i].path.bytes, &found);
    }
    return TN_OK;
}

/* ---- space ---- */

/* What is not there yet, as one plan whose steps all count. */
static tn_status add_to_sum(placing *p, const placing_item *item, tn_act_plan *sum, tn_error *err)
{
    tn_act_plan plan;
    tn_os_info there;
    tn_act_init(&plan, p->library, p->options, sum->kind);
    tn_status status = make_plan(p, item, &plan, err);
    for (size_t i = 0; i < plan.count && status == TN_OK; i++) {
        if (tn_os_info_at(plan.steps[i].target.bytes, false, &there, NULL) == TN_OK)
            continue;
        tn_text from = tn_arena_text(&sum->arena, plan.steps[i].source.bytes, plan.steps[i].source.size);
        tn_text to = tn_arena_text(&sum->arena, plan.steps[i].target.bytes, plan.steps[i].target.size);
        status = tn_arena_status(&sum->arena, err);
        if (status == TN_OK)
            status = tn_act_add_step(sum, from, to, err);
    }
    tn_act_free(&plan);
    return status;
}

static tn_status check_space(placing *p, tn_error *err)
{
    tn_act_plan sum;
    tn_status status = TN_OK;
    tn_act_init(&sum, p->library, p->options, p->move ? TN_ACT_MOVE : TN_ACT_COPY);
    for (size_t i = 0; i < p->count && status == TN_OK; i++) {
        tn_error found;
        if (tn_act_is_in(p->items[i].path, p->folder))
            continue;
        status = add_to_sum(p, &p->items[i], &sum, &found); /* what is wrong with one is told when its turn comes */
        status = tn_status_is_of_process(status) ? tn_fail_as(&found, err) : TN_OK;
    }
    if (status == TN_OK)
        status = tn_act_check_space(&sum, err);
    tn_act_free(&sum);
    return status;
}

static tn_status place_all(placing *p, const char *const *paths, size_t count, const char *folder, tn_error *err)
{
    TN_TRY(tn_act_absolute(p->library->memory, &p->arena, folder, &p->folder, err));
    TN_TRY(find_all(p, paths, count, err));
    TN_TRY(check_space(p, err));
    return place_each(p, err);
}

tn_status tn_library_place(tn_library *library, const char *const *paths, size_t count, const char *folder, bool move,
                           const tn_act_options *options,
                           void (*refused)(void *user, const char *path, const tn_error *why), tn_error *err)
{
    TN_TRY(tn_context_check(library->context, err));
    TN_TRY(tn_act_options_of(options, &options, err));
    if (!options->dry_run)
        TN_TRY(tn_acts_recover(library, err));
    placing p = {.library = library, .context = library->context, .options = options, .move = move, .refused = refused,
                 .event = options->event};
    tn_arena_init(&p.arena, library->memory, ARENA_MAX);
    tn_status status = place_all(&p, paths, count, folder, err);
    tn_give(library->memory, p.items, p.capacity * sizeof *p.items);
    tn_give(library->memory, p.members, p.member_capacity * sizeof *p.members);
    tn_arena_free(&p.arena);
    return status;
}
