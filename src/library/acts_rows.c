/* The rows of acts, and the locks that say who is at one. What holds stands in acts.h. */
#include "library/acts.h"

#include <inttypes.h>
#include <string.h>

#include "library/place.h"
#include "library/settle.h"

#define ARENA_MAX ((size_t)1 << 32)     /* bytes; the budget refuses long before */
#define LOCK_FIRST ((uint64_t)1 << 40) /* bytes of the lock file below are jobs' */

static const char *const kinds[TN_ACT_KINDS] = {"copy", "move", "trash", "delete", "forget", "restore"};
static const char *const states[TN_ACT_STATES] = {"planned", "placed", "done", "undone", "failed"};
static const char *const shapes[] = {"file", "folder", "link"}; /* as tn_os_kind */

static int word_index(const char *const *words, int count, const char *word)
{
    for (int i = 0; i < count; i++)
        if (strcmp(words[i], word) == 0)
            return i;
    return count - 1;
}

/* ---- a plan ---- */

tn_status tn_act_options_of(const tn_act_options *given, const tn_act_options **out, tn_error *err)
{
    static const tn_act_options none = {.size = sizeof none};
    const tn_act_options *options = given != NULL ? given : &none;
    if (options->size != sizeof *options)
        return tn_fail(err, TN_INVALID, "tn_act_options of another size");
    *out = options;
    return TN_OK;
}

void tn_act_init(tn_act_plan *plan, tn_library *library, const tn_act_options *options, tn_act_kind kind)
{
    *plan = (tn_act_plan){.library = library, .options = options, .kind = kind, .event = options->event,
                          .name = {"", 0}, .keep = {"", 0}, .error = {"", 0}, .at_ns = tn_os_wall_ns()};
    tn_arena_init(&plan->arena, library->memory, ARENA_MAX);
}

void tn_act_free(tn_act_plan *plan)
{
    tn_act_unlock(plan);
    tn_arena_free(&plan->arena);
    tn_give(plan->library->memory, plan->steps, plan->capacity * sizeof *plan->steps);
    plan->steps = NULL;
    plan->count = plan->capacity = 0;
}

/* ---- locks ---- */

tn_status tn_act_lock(tn_act_plan *plan, tn_error *err)
{
    TN_TRY(tn_os_open(plan->library->lock_path.bytes, TN_OS_WRITE | TN_OS_CREATE, &plan->lock, err));
    tn_status status = tn_os_lock(&plan->lock, LOCK_FIRST + (uint64_t)plan->id, err);
    if (status != TN_OK)
        tn_os_close(&plan->lock);
    return status;
}

void tn_act_unlock(tn_act_plan *plan)
{
    tn_os_close(&plan->lock);
}

/* ---- transactions ---- */

static tn_status begin_durable(tn_library *library, tn_error *err)
{
    TN_TRY(tn_db_script(&library->db, "PRAGMA synchronous = FULL", err));
    return tn_db_begin(&library->db, err);
}

/* The library's own setting again. */
static void end_durable(tn_library *library)
{
    if (!library->durable)
        (void)tn_db_script(&library->db, "PRAGMA synchronous = NORMAL", NULL);
}

tn_status tn_act_begin(tn_library *library, tn_error *err)
{
    if (library->read_only) {
        tn_fail(err, TN_READ_ONLY, "the library was opened to be read only");
        tn_error_at_file(err, library->path.bytes);
        return TN_READ_ONLY;
    }
    tn_library_lock(library);
    tn_status status = begin_durable(library, err);
    if (status != TN_OK) {
        end_durable(library);
        tn_library_unlock(library);
    }
    return status;
}

tn_status tn_act_end(tn_library *library, tn_status status, tn_error *err)
{
    if (status == TN_OK)
        status = tn_settle(&library->db, err);
    status = tn_db_end(&library->db, status, err);
    end_durable(library);
    tn_library_unlock(library);
    return status;
}

/* ---- writing ---- */

static void bind_text(tn_sql *s, tn_text text)
{
    tn_sql_text(s, text.bytes, text.size);
}

static void bind_blob(tn_sql *s, tn_text text)
{
    tn_sql_blob(s, text.bytes, text.size);
}

tn_status tn_act_put_step(tn_act_plan *plan, size_t i, tn_error *err)
{
    const tn_act_step *step = &plan->steps[i];
    const char *shape = shapes[step->shape];
    tn_sql s = tn_sql_start(&plan->library->db, TN_QUERY_ACT_STEP_PUT);
    tn_sql_int(&s, plan->id);
    tn_sql_int(&s, (int64_t)i);
    tn_sql_text(&s, shape, strlen(shape));
    bind_blob(&s, step->source);
    bind_blob(&s, step->target);
    bind_blob(&s, step->aside);
    tn_sql_int(&s, (int64_t)step->size);
    tn_sql_int(&s, step->mtime_ns);
    return tn_sql_run(&s, err);
}

static tn_status put_row(tn_act_plan *plan, tn_act_state state, tn_error *err)
{
    bool more = false;
    tn_sql s = tn_sql_start(&plan->library->db, TN_QUERY_ACT_PUT);
    tn_sql_int(&s, plan->event);
    tn_sql_text(&s, kinds[plan->kind], strlen(kinds[plan->kind]));
    tn_sql_text(&s, states[state], strlen(states[state]));
    tn_sql_int(&s, plan->at_ns);
    tn_sql_int(&s, plan->model);
    bind_text(&s, plan->name);
    tn_sql_int(&s, plan->undoes);
    tn_sql_int(&s, (int64_t)plan->bytes);
    bind_blob(&s, plan->keep);
    TN_TRY(tn_sql_row(&s, &more, err));
    plan->id = tn_sql_get_int(&s, 0);
    plan->event = tn_sql_get_int(&s, 1);
    return tn_sql_run(&s, err); /* RETURNING gives its row before the statement is done */
}

tn_status tn_act_put(tn_act_plan *plan, tn_act_state state, tn_error *err)
{
    TN_TRY(put_row(plan, state, err));
    for (size_t i = 0; i < plan->count; i++)
        TN_TRY(tn_act_put_step(plan, i, err));
    plan->state = state;
    return TN_OK;
}

static tn_status record_inside(tn_act_plan *plan, tn_error *err)
{
    TN_TRY(tn_act_put(plan, TN_ACT_PLANNED, err));
    return tn_act_lock(plan, err);
}

tn_status tn_act_record_plan(tn_act_plan *plan, tn_error *err)
{
    int64_t event = plan->event;
    TN_TRY(tn_act_begin(plan->library, err));
    tn_status status = tn_act_end(plan->library, record_inside(plan, err), err);
    if (status != TN_OK) {
        tn_act_unlock(plan);
        plan->id = 0;
        plan->event = event;
    }
    return status;
}

tn_status tn_act_set_state(tn_act_plan *plan, int64_t act, tn_act_state state, const char *error, tn_error *err)
{
    bool open = state == TN_ACT_PLANNED || state == TN_ACT_PLACED;
    tn_sql s = tn_sql_start(&plan->library->db, TN_QUERY_ACT_STATE);
    tn_sql_int(&s, act);
    tn_sql_text(&s, states[state], strlen(states[state]));
    tn_sql_int(&s, open ? 0 : tn_os_wall_ns());
    tn_sql_text(&s, error, strlen(error));
    TN_TRY(tn_sql_run(&s, err));
    if (act == plan->id)
        plan->state = state;
    return TN_OK;
}

static tn_status close_inside(tn_act_plan *plan, const char *why)
{
    return tn_act_set_state(plan, plan->id, TN_ACT_FAILED, why, NULL);
}

void tn_act_close_failed(tn_act_plan *plan, const char *why)
{
    if (tn_act_begin(plan->library, NULL) == TN_OK)
        (void)tn_act_end(plan->library, close_inside(plan, why), NULL);
}

/* ---- reading ---- */

static tn_text keep(tn_act_plan *plan, const tn_sql *s, int column)
{
    tn_text text = tn_sql_get(s, column);
    return tn_arena_text(&plan->arena, text.bytes, text.size);
}

static tn_status copy_row(tn_act_plan *plan, const tn_sql *s, tn_error *err)
{
    plan->id = tn_sql_get_int(s, 0);
    plan->event = tn_sql_get_int(s, 1);
    plan->kind = (tn_act_kind)word_index(kinds, TN_ACT_KINDS, tn_sql_get(s, 2).bytes);
    plan->state = (tn_act_state)word_index(states, TN_ACT_STATES, tn_sql_get(s, 3).bytes);
    plan->at_ns = tn_sql_get_int(s, 4);
    plan->model = tn_sql_get_int(s, 5);
    plan->name = keep(plan, s, 6);
    plan->undoes = tn_sql_get_int(s, 7);
    plan->bytes = (uint64_t)tn_sql_get_int(s, 8);
    plan->keep = keep(plan, s, 9);
    plan->error = keep(plan, s, 10);
    return tn_arena_status(&plan->arena, err);
}

static tn_status copy_step(tn_act_plan *plan, const tn_sql *s, tn_error *err)
{
    void *steps = plan->steps;
    TN_TRY(tn_make_room(plan->library->memory, &steps, &plan->capacity, plan->count, sizeof *plan->steps, 8, err));
    plan->steps = steps;
    plan->steps[plan->count++] = (tn_act_step){
        .shape = (tn_os_kind)word_index(shapes, 3, tn_sql_get(s, 0).bytes),
        .source = keep(plan, s, 1),
        .target = keep(plan, s, 2),
        .aside = keep(plan, s, 3),
        .size = (uint64_t)tn_sql_get_int(s, 4),
        .stored_bytes = (uint64_t)tn_sql_get_int(s, 4),
        .mtime_ns = tn_sql_get_int(s, 5),
    };
    return tn_arena_status(&plan->arena, err);
}

static tn_status load_inside(tn_act_plan *plan, int64_t id, tn_error *err)
{
    bool more = false;
    tn_sql s = tn_sql_start(&plan->library->db, TN_QUERY_ACT_GET);
    tn_sql_int(&s, id);
    TN_TRY(tn_sql_row(&s, &more, err));
    if (!more)
        return tn_fail(err, TN_NOT_FOUND, "there is no event %" PRId64, id);
    tn_status status = copy_row(plan, &s, err);
    tn_sql_end(&s);
    s = tn_sql_start(&plan->library->db, TN_QUERY_ACT_STEPS_OF);
    tn_sql_int(&s, id);
    for (more = true; more && status == TN_OK;) {
        status = tn_sql_row(&s, &more, err);
        if (status == TN_OK && more)
            status = copy_step(plan, &s, err);
    }
    tn_sql_end(&s);
    return status;
}

tn_status tn_act_load(tn_act_plan *plan, int64_t id, tn_error *err)
{
    tn_library_lock(plan->library);
    tn_status status = load_inside(plan, id, err);
    tn_library_unlock(plan->library);
    return status;
}

static tn_status numbers_inside(tn_act_plan *plan, tn_query query, int64_t parameter, int64_t **out, size_t *count,
                                tn_error *err)
{
    size_t found = 0, room = 0;
    int64_t *numbers = NULL;
    tn_status status = TN_OK;
    tn_sql s = tn_sql_start(&plan->library->db, query);
    if (parameter != 0)
        tn_sql_int(&s, parameter);
    for (bool more = true; more && status == TN_OK;) {
        status = tn_sql_row(&s, &more, err);
        if (status != TN_OK || !more)
            break;
        if (found == room) {
            int64_t *wider = tn_arena_take_array(&plan->arena, room = room > 0 ? 2 * room : 64, sizeof *numbers);
            if (wider != NULL && found > 0)
                memcpy(wider, numbers, found * sizeof *numbers);
            numbers = wider;
            status = tn_arena_status(&plan->arena, err);
        }
        if (status == TN_OK)
            numbers[found++] = tn_sql_get_int(&s, 0);
    }
    tn_sql_end(&s);
    if (status == TN_OK) {
        *out = numbers;
        *count = found;
    }
    return status;
}

tn_status tn_act_numbers(tn_act_plan *plan, tn_query query, int64_t parameter, int64_t **out, size_t *count,
                         tn_error *err)
{
    tn_library_lock(plan->library);
    tn_status status = numbers_inside(plan, query, parameter, out, count, err);
    tn_library_unlock(plan->library);
    return status;
}

/* ---- telling ---- */

static bool can_undo(const tn_act_plan *plan)
{
    if (plan->state != TN_ACT_DONE || plan->undoes != 0 || plan->kind == TN_ACT_DELETE)
        return false;
    return plan->kind != TN_ACT_TRASH || plan->count == 0 || plan->steps[0].target.size > 0;
}

tn_act tn_act_shown(const tn_act_plan *plan)
{
    const tn_text none = {"", 0};
    const tn_act_step *first = plan->count > 0 ? &plan->steps[0] : NULL;
    return (tn_act){
        .id = plan->id,
        .event = plan->id != 0 ? plan->event : 0,
        .model = plan->model,
        .kind = {kinds[plan->kind], strlen(kinds[plan->kind])},
        .state = {states[plan->state], strlen(states[plan->state])},
        .name = plan->name,
        .from = first != NULL ? first->source : none,
        .to = first != NULL ? first->target : none,
        .files = plan->count,
        .bytes = plan->bytes,
        .at_ns = plan->at_ns,
        .undoes = plan->undoes,
        .can_undo = can_undo(plan),
        .error = plan->error,
    };
}

void tn_act_tell(const tn_act_plan *plan)
{
    const tn_act act = tn_act_shown(plan);
    if (plan->options->done != NULL)
        plan->options->done(plan->options->user, &act);
}
