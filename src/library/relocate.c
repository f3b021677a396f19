/* Everything below one folder lies below another from now on. All paths are rewritten in one transaction and the ids of
 * files forgotten, so that the scan behind it tells by path, size, time and sample whether it is all there.
 *
 *   L1  No path stands twice: where the new place has a row already, either the old row goes or the new one does.
 *   L2  A record of the new place about which somebody said something, or that is not the same, keeps its path. The old
 *       record is missing then and is asked about.
 */
#include <string.h>

#include "library/import.h"
#include "library/known.h"
#include "library/place.h"
#include "library/record_inside.h"
#include "library/relink.h"
#include "library/roots.h"
#include "os/os_fault.h"

/* What every statement here is given, in this order. */
typedef struct move {
    tn_library *library;
    tn_text from, to;        /* the folders */
    tn_buffer bounds;        /* of all paths below `from` */
    size_t bound_size;
    tn_text head;            /* what stands before the rest of a path: `to` without a separator at its end */
    int64_t rest;            /* where that rest begins, from 1 */
    tn_relocation did;
} move;

static size_t without_separator(tn_text folder)
{
    char last = folder.size > 0 ? folder.bytes[folder.size - 1] : '\0';
    return folder.size - (last == '/' || last == '\\');
}

static void bind_bounds(tn_sql *s, const move *m)
{
    tn_sql_blob(s, m->from.bytes, m->from.size);
    tn_sql_blob(s, m->bounds.bytes, m->bound_size);
    tn_sql_blob(s, m->bounds.bytes + m->bound_size, m->bound_size);
}

static void bind_move(tn_sql *s, const move *m)
{
    bind_bounds(s, m);
    tn_sql_blob(s, m->to.bytes, m->to.size);
    tn_sql_blob(s, m->head.bytes, m->head.size);
    tn_sql_int(s, m->rest);
}

static tn_status run_move(move *m, tn_query query, tn_error *err)
{
    tn_sql s = tn_sql_start(&m->library->db, query);
    bind_move(&s, m);
    return tn_sql_run(&s, err);
}

static tn_status run_file(move *m, tn_query query, int64_t file, tn_error *err)
{
    return tn_record_run_of(&m->library->db, query, file, err);
}

/* ---- a path that the new place has already ---- */

typedef struct conflict {
    int64_t old_file, old_model, new_file, new_model; /* models: 0 when the path is nobody's entry */
} conflict;

/* `at` is the old path of the last one, and becomes that of this one. The search begins at `from`, then behind the last
 * one: at its path with a NUL, which is the least that is greater. */
static tn_status next_conflict(move *m, tn_buffer *at, conflict *out, bool *found, tn_error *err)
{
    bool first = at->size == 0;
    tn_sql s = tn_sql_start(&m->library->db, TN_QUERY_RELOCATE_CONFLICT);
    bind_move(&s, m);
    tn_sql_blob(&s, first ? m->from.bytes : at->bytes, first ? m->from.size : at->size + 1);
    TN_TRY(tn_sql_row(&s, found, err));
    if (!*found)
        return TN_OK;
    tn_text path = tn_sql_get(&s, 1);
    *out = (conflict){tn_sql_get_int(&s, 0), tn_sql_get_int(&s, 2), tn_sql_get_int(&s, 3), tn_sql_get_int(&s, 4)};
    tn_buffer next;
    tn_buffer_init(&next, m->library->memory, TN_PLACE_PATH_MAX);
    tn_buffer_append(&next, path.bytes, path.size);
    tn_sql_end(&s);
    tn_buffer_free(at);
    *at = next;
    return tn_buffer_status(at, err);
}

static tn_status leave_old(move *m, const conflict *c, const tn_buffer *path, tn_error *err)
{
    tn_entry_row row;
    tn_recording r = tn_record_begin(m->library, &(tn_record_job){0, tn_os_wall_ns()});
    TN_TRY(tn_record_find_entry(r.db, path->bytes, path->size, NULL, &row, err));
    m->did.asked++;
    return tn_record_leave(&r, c->old_model, &row, err);
}

static tn_status agree(move *m, const conflict *c, bool *out, tn_error *err)
{
    int64_t yes = 0;
    tn_sql s = tn_sql_start(&m->library->db, TN_QUERY_RELOCATE_AGREE);
    tn_sql_int(&s, c->old_model);
    tn_sql_int(&s, c->new_model);
    TN_TRY(tn_record_one_number(&s, &yes, err));
    *out = yes != 0;
    return TN_OK;
}

/* Two records: one takes over the other, or the old one is asked about. */
static tn_status settle_records(move *m, const conflict *c, const tn_buffer *path, tn_error *err)
{
    bool same = false;
    if (c->old_model == c->new_model)
        return TN_OK;
    TN_TRY(agree(m, c, &same, err));
    if (!same)
        return leave_old(m, c, path, err);
    m->did.taken++;
    return tn_relink_take(m->library, &(tn_record_job){0, tn_os_wall_ns()}, c->old_model, c->new_model, err);
}

/* The row of the old path goes, and what is still made of it is made of the new one. */
static tn_status drop_old_row(move *m, const conflict *c, tn_error *err)
{
    tn_sql s = tn_sql_start(&m->library->db, TN_QUERY_RELOCATE_POINT);
    tn_sql_int(&s, c->old_file);
    tn_sql_int(&s, c->new_file);
    TN_TRY(tn_sql_run(&s, err));
    TN_TRY(run_file(m, TN_QUERY_RELOCATE_UNPOINT, c->old_file, err));
    return run_file(m, TN_QUERY_FILE_DROP_PARTLESS, c->old_file, err);
}

static tn_status settle_conflict(move *m, const conflict *c, const tn_buffer *path, tn_error *err)
{
    int64_t has_parts = 0;
    tn_sql s = tn_sql_start(&m->library->db, TN_QUERY_FILE_HAS_PARTS);
    tn_sql_int(&s, c->new_file);
    TN_TRY(tn_record_one_number(&s, &has_parts, err));
    if (has_parts == 0 && c->old_model != 0)
        return run_file(m, TN_QUERY_FILE_DROP_PARTLESS, c->new_file, err);
    if (c->old_model != 0 && c->new_model != 0)
        TN_TRY(settle_records(m, c, path, err));
    else if (c->old_model != 0)
        TN_TRY(leave_old(m, c, path, err));
    return drop_old_row(m, c, err);
}

static tn_status settle_conflicts(move *m, tn_error *err)
{
    tn_buffer at;
    tn_buffer_init(&at, m->library->memory, TN_PLACE_PATH_MAX);
    tn_status status = TN_OK;
    for (bool found = true; found && status == TN_OK;) {
        conflict c;
        status = tn_context_check(m->library->context, err);
        if (status == TN_OK)
            status = next_conflict(m, &at, &c, &found, err);
        if (status == TN_OK && found)
            status = settle_conflict(m, &c, &at, err);
    }
    tn_buffer_free(&at);
    return status;
}

/* ---- the transaction ---- */

static tn_status put_new_root(move *m, tn_error *err)
{
    tn_sql s = tn_sql_start(&m->library->db, TN_QUERY_RELOCATE_ROOTS_LEFT);
    bind_bounds(&s, m);
    TN_TRY(tn_sql_run(&s, err));
    s = tn_sql_start(&m->library->db, TN_QUERY_ROOT_PUT);
    tn_sql_blob(&s, m->to.bytes, m->to.size);
    tn_sql_int(&s, tn_os_wall_ns());
    return tn_sql_run(&s, err);
}

static tn_status move_inside(move *m, tn_error *err)
{
    TN_TRY(settle_conflicts(m, err));
    TN_TRY(run_move(m, TN_QUERY_RELOCATE_FILES, err));
    m->did.paths = (uint64_t)sqlite3_changes64(m->library->db.handle);
    TN_TRY(run_move(m, TN_QUERY_RELOCATE_MODELS, err));
    TN_TRY(run_move(m, TN_QUERY_RELOCATE_ITEMS, err));
    TN_TRY(run_move(m, TN_QUERY_RELOCATE_ROOTS, err));
    tn_os_point("roots.relocating");
    return put_new_root(m, err);
}

static tn_status count_known(move *m, int64_t *out, tn_error *err)
{
    tn_library_lock(m->library);
    tn_sql s = tn_sql_start(&m->library->db, TN_QUERY_RELOCATE_KNOWN);
    bind_bounds(&s, m);
    tn_status status = tn_record_one_number(&s, out, err);
    tn_library_unlock(m->library);
    return status;
}

/* ---- what is refused ---- */

static tn_status check_places(const move *m, tn_error *err)
{
    tn_os_info info;
    if (tn_place_is_below(m->to.bytes, m->to.size, m->from.bytes, m->from.size) ||
        tn_place_is_below(m->from.bytes, m->from.size, m->to.bytes, m->to.size))
        return tn_fail(err, TN_INVALID, "one folder lies within the other: scan the outer one instead, which finds what "
                                        "was moved");
    TN_TRY(tn_os_info_at(m->to.bytes, true, &info, err));
    if (info.kind == TN_OS_FOLDER)
        return TN_OK;
    tn_fail(err, TN_INVALID, "this is no folder, so that nothing can lie below it");
    tn_error_at_file(err, m->to.bytes);
    return TN_INVALID;
}

static tn_status check_known(move *m, tn_error *err)
{
    int64_t known = 0;
    TN_TRY(count_known(m, &known, err));
    if (known > 0)
        return TN_OK;
    tn_fail(err, TN_NOT_FOUND, "nothing is recorded below this folder: `tenure roots` lists the roots");
    tn_error_at_file(err, m->from.bytes);
    return TN_NOT_FOUND;
}

/* ---- from two paths to a scan ---- */

static tn_status relocate(move *m, const tn_import_options *options, tn_import_summary **out, tn_error *err)
{
    TN_TRY(check_places(m, err));
    TN_TRY(check_known(m, err));
    TN_TRY(tn_library_begin(m->library, err));
    TN_TRY(tn_library_end(m->library, move_inside(m, err), err));
    tn_os_point("roots.relocated");
    const char *paths[] = {m->to.bytes};
    return tn_import_scan(m->library, paths, 1, false, options, out, err);
}

static tn_status prepare(move *m, const tn_buffer *from, const tn_buffer *to, tn_error *err)
{
    m->from = (tn_text){from->bytes, from->size};
    m->to = (tn_text){to->bytes, to->size};
    m->head = (tn_text){to->bytes, without_separator(m->to)};
    m->rest = (int64_t)without_separator(m->from) + 1;
    m->bound_size = tn_known_bounds(&m->bounds, from->bytes);
    return tn_buffer_status(&m->bounds, err);
}

static tn_status absolute(const char *path, tn_buffer *out, tn_error *err)
{
    return path[0] == '\0' ? tn_fail(err, TN_BAD_PATH, "an empty path was named") : tn_os_absolute_path(path, out, err);
}

tn_status tn_library_relocate(tn_library *library, const char *from, const char *to, const tn_import_options *options,
                              tn_relocation *relocation, tn_import_summary **out, tn_error *err)
{
    move m = {.library = library};
    tn_buffer a, b;
    TN_TRY(tn_context_check(library->context, err));
    tn_buffer_init(&a, library->memory, TN_PLACE_PATH_MAX);
    tn_buffer_init(&b, library->memory, TN_PLACE_PATH_MAX);
    tn_buffer_init(&m.bounds, library->memory, 2 * TN_PLACE_PATH_MAX);
    tn_status status = absolute(from, &a, err);
    if (status == TN_OK)
        status = absolute(to, &b, err);
    if (status == TN_OK)
        status = prepare(&m, &a, &b, err);
    if (status == TN_OK)
        status = relocate(&m, options, out, err);
    if (status == TN_OK && relocation != NULL)
        *relocation = m.did;
    tn_buffer_free(&m.bounds);
    tn_buffer_free(&b);
    tn_buffer_free(&a);
    return status;
}
