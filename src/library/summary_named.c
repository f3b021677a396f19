/* Paths that a summary names, the first few of each kind: people look for the one they know, not for a number. */
#include "library/summary_inside.h"

#include <inttypes.h>
#include <string.h>

#include "library/place.h"

static tn_status name_one(tn_summary_block *b, tn_text path, tn_text message, tn_named *out, tn_error *err)
{
    TN_TRY(tn_summary_keep(b, path, &out->path, err));
    return tn_summary_keep(b, message, &out->message, err);
}

/* ---- what vanished in this job, and was not found again ---- */

static tn_status see_vanished(tn_summary_block *b, const tn_sql *s, tn_error *err)
{
    tn_text why = tn_sql_get_int(s, 1) != 0 ? TN_TEXT("another file has its name now") : TN_TEXT("");
    if (b->summary.vanished++ >= TN_NAMED_MAX)
        return TN_OK;
    TN_TRY(name_one(b, tn_sql_get(s, 0), why, &b->vanished[b->summary.vanished_count], err));
    b->summary.vanished_count++;
    return TN_OK;
}

static tn_status name_vanished(tn_import *import, tn_summary_block *b, tn_error *err)
{
    tn_sql s = tn_sql_start(&import->library->db, TN_QUERY_VANISHED_OF_JOB);
    tn_sql_int(&s, import->journal.job);
    for (;;) {
        bool more = false;
        TN_TRY(tn_sql_row(&s, &more, err));
        if (!more)
            return TN_OK;
        tn_status status = see_vanished(b, &s, err);
        if (status != TN_OK) {
            tn_sql_end(&s);
            return status;
        }
    }
}

/* ---- roots that are away ---- */

static tn_status count_offline(tn_import *import, const char *root, int64_t *out, tn_error *err)
{
    tn_buffer bounds;
    bool more = false;
    *out = 0;
    tn_buffer_init(&bounds, import->library->memory, 2 * TN_PLACE_PATH_MAX);
    size_t size = tn_known_bounds(&bounds, root);
    tn_status status = tn_buffer_status(&bounds, err);
    if (status == TN_OK) {
        tn_sql s = tn_sql_start(&import->library->db, TN_QUERY_OFFLINE_BELOW);
        tn_sql_blob(&s, root, strlen(root));
        tn_sql_blob(&s, bounds.bytes, size);
        tn_sql_blob(&s, bounds.bytes + size, size);
        status = tn_sql_row(&s, &more, err);
        *out = status == TN_OK && more ? tn_sql_get_int(&s, 0) : 0;
        tn_sql_end(&s);
    }
    tn_buffer_free(&bounds);
    return status;
}

static tn_status name_away(tn_import *import, tn_summary_block *b, const tn_import_root *root, tn_error *err)
{
    int64_t offline = 0;
    void *items = b->away;
    TN_TRY(count_offline(import, root->path.bytes, &offline, err));
    TN_TRY(tn_make_room(b->memory, &items, &b->away_capacity, (size_t)b->summary.away_count, sizeof *b->away, 4, err));
    b->away = items;
    tn_text message = tn_arena_format(&b->arena, "%" PRId64 " %s", offline, offline == 1 ? "model is offline"
                                                                                          : "models are offline");
    TN_TRY(tn_arena_status(&b->arena, err));
    TN_TRY(name_one(b, root->path, message, &b->away[b->summary.away_count], err));
    b->summary.away_count++;
    return TN_OK;
}

tn_status tn_summary_name(tn_import *import, tn_summary_block *b, tn_error *err)
{
    if (!tn_import_is_dry(import))
        TN_TRY(name_vanished(import, b, err));
    for (size_t i = 0; i < import->root_count; i++)
        if (import->roots[i].state == TN_ROOT_AWAY)
            TN_TRY(name_away(import, b, &import->roots[i], err));
    for (size_t i = 0; i < import->unreadable_count; i++) {
        const tn_named_path *named = &import->unreadable[i];
        if (tn_summary_is_told_as_away(import, named->path.bytes)) {
            b->summary.folders_unreadable--;
            continue;
        }
        TN_TRY(name_one(b, named->path, named->message, &b->unreadable[b->summary.unreadable_count], err));
        b->summary.unreadable_count++;
    }
    return TN_OK;
}
