/* Records whose files were moved: their paths follow. */
#include "library/acts_records.h"

#include <string.h>

#include "library/known.h"
#include "library/place.h"
#include "library/reading.h"

/* A row of `files` on its way to another path. */
typedef struct moved_row {
    int64_t file;
    tn_text path;
    tn_os_info info;
} moved_row;

/* What belongs to a set or folder, as it looks at its new place. */
typedef struct moved_members {
    tn_text path;
    uint8_t members[32];
} moved_members;

struct tn_act_moved {
    moved_row *rows;
    size_t count, capacity;
    moved_members *sets;
    size_t set_count, set_capacity;
    tn_reading reading; /* what the model is, with the paths of what lies beside it; not read where nothing does */
};

tn_recording tn_act_recording(tn_act_plan *plan)
{
    const tn_record_job job = {0, plan->at_ns};
    return tn_record_begin(plan->library, &job);
}

/* ---- looking ---- */

static tn_status add_row(tn_act_plan *plan, tn_act_moved *moved, const tn_act_step *step, const tn_sql *s, tn_error *err)
{
    void *rows = moved->rows;
    tn_text path = tn_sql_get(s, 1);
    TN_TRY(tn_make_room(plan->library->memory, &rows, &moved->capacity, moved->count, sizeof *moved->rows, 16, err));
    moved->rows = rows;
    tn_text to = tn_arena_format(&plan->arena, "%s%s", step->target.bytes, path.bytes + step->source.size);
    if (to.bytes == NULL)
        return tn_arena_status(&plan->arena, err);
    moved->rows[moved->count++] = (moved_row){.file = tn_sql_get_int(s, 0), .path = to};
    return TN_OK;
}

static tn_status rows_of_step(tn_act_plan *plan, tn_act_moved *moved, const tn_act_step *step, const tn_buffer *bounds,
                              size_t size, tn_error *err)
{
    tn_status status = TN_OK;
    tn_sql s = tn_sql_start(&plan->library->db, TN_QUERY_ACT_FILES_AT);
    tn_sql_blob(&s, step->source.bytes, step->source.size);
    tn_sql_blob(&s, bounds->bytes, size);
    tn_sql_blob(&s, bounds->bytes + size, size);
    for (bool more = true; more && status == TN_OK;) {
        status = tn_sql_row(&s, &more, err);
        if (status == TN_OK && more)
            status = add_row(plan, moved, step, &s, err);
    }
    tn_sql_end(&s);
    return status;
}

static tn_status find_rows(tn_act_plan *plan, tn_act_moved *moved, tn_error *err)
{
    tn_buffer bounds;
    tn_status status = TN_OK;
    tn_buffer_init(&bounds, plan->library->memory, 2 * TN_PLACE_PATH_MAX);
    tn_library_lock(plan->library);
    for (size_t i = 0; i < plan->count && status == TN_OK; i++) {
        tn_buffer_clear(&bounds);
        size_t size = tn_known_bounds(&bounds, plan->steps[i].source.bytes);
        status = tn_buffer_status(&bounds, err);
        if (status == TN_OK)
            status = rows_of_step(plan, moved, &plan->steps[i], &bounds, size, err);
    }
    tn_library_unlock(plan->library);
    tn_buffer_free(&bounds);
    return status;
}

typedef struct look {
    tn_act_plan *plan;
    tn_act_moved *moved;
} look;

static tn_status on_claim(void *user, const tn_claim *claim, tn_error *err)
{
    look *l = user;
    void *sets = l->moved->sets;
    if (claim->kind == TN_CLAIM_FILE)
        return TN_OK;
    TN_TRY(tn_make_room(l->plan->library->memory, &sets, &l->moved->set_capacity, l->moved->set_count,
                        sizeof *l->moved->sets, 4, err));
    l->moved->sets = sets;
    moved_members *set = &l->moved->sets[l->moved->set_count];
    set->path = tn_arena_text(&l->plan->arena, claim->path, claim->path_size);
    memcpy(set->members, claim->members, sizeof set->members);
    l->moved->set_count++;
    return set->path.bytes != NULL ? TN_OK : tn_arena_status(&l->plan->arena, err);
}

static tn_status on_member(void *user, const char *path, size_t size, tn_error *err)
{
    (void)user, (void)path, (void)size, (void)err;
    return TN_OK;
}

static tn_status on_refused(void *user, const char *path, const tn_error *why, tn_error *err)
{
    (void)user, (void)path, (void)why, (void)err;
    return TN_OK;
}

/* An answer holds the path of the picture beside the file. Its best: an old answer is as good but for that path. */
static void read_again(tn_act_plan *plan, tn_act_moved *moved)
{
    tn_reading_times times = {0};
    bool beside = false;
    for (size_t i = 0; i < plan->count; i++)
        beside = beside || plan->steps[i].beside;
    if (beside && plan->model != 0)
        (void)tn_reading_take(plan->library->context, plan->steps[0].target.bytes, &times, &moved->reading, NULL);
}

static tn_status record_answer(tn_act_plan *plan, const tn_act_moved *moved, tn_error *err)
{
    const tn_reading *reading = &moved->reading;
    if (reading->answer == NULL || reading->refused || reading->json == NULL ||
        reading->answer->state == TN_STATE_UNREADABLE)
        return TN_OK;
    tn_sql s = tn_sql_start(&plan->library->db, TN_QUERY_ACT_ANSWER);
    tn_sql_int(&s, plan->model);
    tn_sql_text(&s, reading->json, strlen(reading->json));
    return tn_sql_run(&s, err);
}

static tn_status look_at_all(tn_act_plan *plan, tn_act_moved *moved, tn_error *err)
{
    look l = {plan, moved};
    const tn_scan_visitor visitor = {.claim = on_claim, .member = on_member, .refused = on_refused, .user = &l};
    tn_scan_counts counts;
    TN_TRY(find_rows(plan, moved, err));
    for (size_t i = 0; i < moved->count; i++)
        TN_TRY(tn_os_info_at(moved->rows[i].path.bytes, true, &moved->rows[i].info, err));
    read_again(plan, moved);
    if (moved->count == 0 || (plan->count == 1 && plan->steps[0].shape == TN_OS_REGULAR))
        return TN_OK;
    return tn_scan(plan->library->context, &plan->steps[0].target.bytes, 1, &visitor, &counts, err);
}

tn_status tn_act_moved_look(tn_act_plan *plan, tn_act_moved **out, tn_error *err)
{
    void *block = NULL;
    TN_TRY(tn_take_array(plan->library->memory, 1, sizeof(tn_act_moved), &block, err));
    tn_status status = look_at_all(plan, block, err);
    if (status == TN_OK)
        *out = block;
    else
        tn_act_moved_free(plan, block);
    return status;
}

void tn_act_moved_free(tn_act_plan *plan, tn_act_moved *moved)
{
    if (moved == NULL)
        return;
    tn_memory_source *memory = plan->library->memory;
    tn_reading_free(plan->library->context, &moved->reading);
    tn_give(memory, moved->rows, moved->capacity * sizeof *moved->rows);
    tn_give(memory, moved->sets, moved->set_capacity * sizeof *moved->sets);
    tn_give(memory, moved, sizeof *moved);
}

/* ---- models of a file ---- */

#define MODELS_OF_A_FILE 16

static tn_status models_of(tn_act_plan *plan, int64_t file, int64_t models[MODELS_OF_A_FILE], size_t *count, tn_error *err)
{
    *count = 0;
    tn_sql s = tn_sql_start(&plan->library->db, TN_QUERY_ACT_PARTS_OF_FILE);
    tn_sql_int(&s, file);
    for (bool more = true; more && *count < MODELS_OF_A_FILE;) {
        TN_TRY(tn_sql_row(&s, &more, err));
        if (more)
            models[(*count)++] = tn_sql_get_int(&s, 0);
    }
    tn_sql_end(&s);
    return TN_OK;
}

tn_status tn_act_run_with(tn_act_plan *plan, tn_query query, int64_t first, int64_t second, tn_error *err)
{
    tn_sql s = tn_sql_start(&plan->library->db, query);
    tn_sql_int(&s, first);
    if (second != 0)
        tn_sql_int(&s, second);
    return tn_sql_run(&s, err);
}

static tn_status is_without_path(tn_act_plan *plan, int64_t model, bool *out, tn_error *err)
{
    int64_t entries = 0;
    tn_sql s = tn_sql_start(&plan->library->db, TN_QUERY_ENTRIES);
    tn_sql_int(&s, model);
    TN_TRY(tn_record_one_number(&s, &entries, err));
    *out = entries == 0;
    return TN_OK;
}

/* ---- paths follow files ---- */

/* A scan came by meanwhile. Either it found the record at its new place, and the old row says nothing more; or it took the
 * file there for another one: that row, and a record that has no other path, give way. */
static tn_status clear_target(tn_act_plan *plan, tn_recording *r, const moved_row *row, bool *found, tn_error *err)
{
    int64_t models[MODELS_OF_A_FILE];
    size_t count = 0;
    tn_entry_row there;
    TN_TRY(tn_record_find_entry(r->db, row->path.bytes, row->path.size, NULL, &there, err));
    if (there.file == 0 || there.file == row->file)
        return TN_OK;
    TN_TRY(models_of(plan, row->file, models, &count, err));
    *found = count == 0;
    if (*found)
        return tn_act_run_with(plan, TN_QUERY_ACT_FILE_AWAY, row->file, 0, err);
    TN_TRY(models_of(plan, there.file, models, &count, err));
    for (size_t i = 0; i < count; i++) {
        bool alone = false;
        TN_TRY(tn_act_run_with(plan, TN_QUERY_PART_DROP, models[i], there.file, err));
        TN_TRY(is_without_path(plan, models[i], &alone, err));
        if (!alone || models[i] == plan->model)
            continue;
        TN_TRY(tn_act_run_with(plan, TN_QUERY_MODEL_DROP, models[i], 0, err));
        TN_TRY(tn_record_put_event(r, models[i], "merged", (tn_text){"", 0}, err));
    }
    return tn_act_run_with(plan, TN_QUERY_ACT_FILE_AWAY, there.file, 0, err);
}

static tn_status move_row(tn_act_plan *plan, tn_recording *r, const moved_row *row, tn_error *err)
{
    bool found = false;
    TN_TRY(clear_target(plan, r, row, &found, err));
    if (found)
        return TN_OK;
    tn_sql s = tn_sql_start(r->db, TN_QUERY_ACT_HASHES_FOLLOW);
    tn_sql_int(&s, row->file);
    tn_sql_int(&s, row->info.mtime_ns);
    tn_sql_int(&s, (int64_t)row->info.size);
    TN_TRY(tn_sql_run(&s, err));
    s = tn_sql_start(r->db, TN_QUERY_ACT_FILE_TO);
    tn_sql_int(&s, row->file);
    tn_sql_blob(&s, row->path.bytes, row->path.size);
    tn_sql_int(&s, (int64_t)row->info.size);
    tn_sql_int(&s, row->info.mtime_ns);
    tn_sql_int(&s, (int64_t)row->info.device);
    tn_record_bind_file_id(&s, row->info.file_id);
    tn_sql_int(&s, (int64_t)row->info.links);
    tn_sql_int(&s, row->info.weak_identity);
    return tn_sql_run(&s, err);
}

static tn_status settle_all(tn_act_plan *plan, tn_recording *r, const tn_act_moved *moved, tn_error *err)
{
    int64_t models[MODELS_OF_A_FILE], last = 0;
    size_t count = 0;
    for (size_t i = 0; i < moved->count; i++) {
        TN_TRY(models_of(plan, moved->rows[i].file, models, &count, err));
        for (size_t j = 0; j < count; j++) {
            if (models[j] != last)
                TN_TRY(tn_record_settle_presence(r, models[j], err));
            last = models[j];
        }
    }
    return TN_OK;
}

static tn_status move_roots(tn_act_plan *plan, tn_error *err)
{
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->steps[i].shape != TN_OS_FOLDER)
            continue;
        tn_sql s = tn_sql_start(&plan->library->db, TN_QUERY_ACT_ROOT_TO);
        tn_sql_blob(&s, plan->steps[i].source.bytes, plan->steps[i].source.size);
        tn_sql_blob(&s, plan->steps[i].target.bytes, plan->steps[i].target.size);
        TN_TRY(tn_sql_run(&s, err));
    }
    return TN_OK;
}

tn_status tn_act_moved_record(tn_act_plan *plan, const tn_act_moved *moved, tn_error *err)
{
    tn_recording r = tn_act_recording(plan);
    for (size_t i = 0; i < moved->count; i++)
        TN_TRY(move_row(plan, &r, &moved->rows[i], err));
    for (size_t i = 0; i < moved->set_count; i++) {
        tn_sql s = tn_sql_start(r.db, TN_QUERY_ACT_FILE_MEMBERS);
        tn_sql_blob(&s, moved->sets[i].path.bytes, moved->sets[i].path.size);
        tn_sql_blob(&s, moved->sets[i].members, sizeof moved->sets[i].members);
        TN_TRY(tn_sql_run(&s, err));
    }
    TN_TRY(record_answer(plan, moved, err));
    TN_TRY(settle_all(plan, &r, moved, err));
    TN_TRY(move_roots(plan, err));
    return plan->model != 0 ? tn_record_put_event(&r, plan->model, "moved", (tn_text){"", 0}, err) : TN_OK;
}
