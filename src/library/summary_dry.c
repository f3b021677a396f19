/* A dry run records nothing, so that what a real import would read back from the library is put together here: the
 * records of what did not change, and the answers of what was read. */
#include "library/summary_inside.h"

#include <stdlib.h>
#include <string.h>

#define MESSAGE_MAX_BYTES 4096

static tn_status add(tn_import *import, tn_dry_model model, tn_error *err)
{
    void *items = import->dry;
    tn_text *texts[] = {&model.base, &model.type, &model.path, &model.presence, &model.message};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        *texts[i] = tn_arena_text(&import->arena, texts[i]->bytes, texts[i]->size);
    TN_TRY(tn_arena_status(&import->arena, err));
    TN_TRY(tn_make_room(import->library->memory, &items, &import->dry_capacity, import->dry_count, sizeof model, 64, err));
    import->dry = items;
    import->dry[import->dry_count++] = model;
    return TN_OK;
}

tn_status tn_import_foresee(tn_import *import, const tn_import_item *item, const tn_reading *reading, tn_recorded *out,
                            tn_error *err)
{
    tn_library_lock(import->library);
    tn_status status = tn_record_foresee(import->library, &item->claim, reading, out, err);
    tn_library_unlock(import->library);
    return status;
}

tn_status tn_import_add_dry_answer(tn_import *import, const tn_import_item *item, const tn_answer *answer, tn_error *err)
{
    tn_buffer message;
    tn_buffer_init(&message, import->library->memory, MESSAGE_MAX_BYTES);
    tn_problem_append(&message, answer);
    uint64_t bytes = answer->size_bytes != 0 ? answer->size_bytes : item->claim.info.size;
    tn_text says = {message.bytes != NULL ? message.bytes : "", message.size};
    tn_status status = message.failed == TN_OK || message.failed == TN_LIMIT ? TN_OK : tn_buffer_status(&message, err);
    if (status == TN_OK)
        status = add(import, (tn_dry_model){answer->base, answer->type, {item->claim.path, item->claim.path_size},
                                            TN_TEXT("present"), says, answer->state, bytes}, err);
    tn_buffer_free(&message);
    return status;
}

/* ---- what did not change ---- */

static int by_id(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static tn_status add_known(tn_import *import, int64_t model, tn_error *err)
{
    bool more = false;
    tn_sql s = tn_sql_start(&import->library->db, TN_QUERY_DRY_MODEL);
    tn_sql_int(&s, model);
    TN_TRY(tn_sql_row(&s, &more, err));
    if (!more)
        return TN_OK;
    tn_status status = add(import, (tn_dry_model){tn_sql_get(&s, 0), tn_sql_get(&s, 1), tn_sql_get(&s, 3),
                                                  tn_sql_get(&s, 5), tn_sql_get(&s, 6),
                                                  tn_library_state_of_word(tn_sql_get(&s, 4).bytes),
                                                  (uint64_t)tn_sql_get_int(&s, 2)}, err);
    tn_sql_end(&s);
    return status;
}

static tn_status add_all_known(tn_import *import, tn_error *err)
{
    if (import->dry_known_count > 0)
        qsort(import->dry_known, import->dry_known_count, sizeof *import->dry_known, by_id);
    for (size_t i = 0; i < import->dry_known_count; i++)
        if (i == 0 || import->dry_known[i] != import->dry_known[i - 1])
            TN_TRY(add_known(import, import->dry_known[i], err));
    return TN_OK;
}

tn_status tn_import_add_dry_known(tn_import *import, int64_t model, tn_error *err)
{
    void *items = import->dry_known;
    TN_TRY(tn_make_room(import->library->memory, &items, &import->dry_known_capacity, import->dry_known_count,
                        sizeof *import->dry_known, 64, err));
    import->dry_known = items;
    import->dry_known[import->dry_known_count++] = model;
    return TN_OK;
}

/* ---- the table ---- */

static int text_order(tn_text a, tn_text b)
{
    int order = memcmp(a.bytes, b.bytes, a.size < b.size ? a.size : b.size);
    return order != 0 ? order : a.size < b.size ? -1 : a.size > b.size;
}

/* As the library's own table is ordered: no base comes last. */
static int by_kind(const void *a, const void *b)
{
    const tn_dry_model *x = a, *y = b;
    if ((x->base.size == 0) != (y->base.size == 0))
        return x->base.size == 0 ? 1 : -1;
    int order = text_order(x->base, y->base);
    order = order != 0 ? order : text_order(x->type, y->type);
    return order != 0 ? order : text_order(x->path, y->path);
}

static int by_path(const void *a, const void *b)
{
    const tn_dry_model *x = a, *y = b;
    return text_order(x->path, y->path);
}

static tn_status add_totals(const tn_import *import, tn_summary_block *b, tn_error *err)
{
    for (size_t i = 0; i < import->dry_count;) {
        const tn_dry_model *first = &import->dry[i];
        uint64_t models = 0, bytes = 0;
        for (; i < import->dry_count && text_order(import->dry[i].base, first->base) == 0 &&
               text_order(import->dry[i].type, first->type) == 0; i++) {
            models++;
            bytes += import->dry[i].bytes;
        }
        TN_TRY(tn_summary_add_total(b, first->base, first->type, models, bytes, err));
    }
    return TN_OK;
}

static bool needs_a_look(const tn_dry_model *model)
{
    return model->state == TN_STATE_DAMAGED || model->state == TN_STATE_DANGEROUS ||
           model->state == TN_STATE_UNREADABLE || strcmp(model->presence.bytes, "crashed") == 0;
}

tn_status tn_summary_of_dry_run(tn_import *import, tn_summary_block *b, tn_error *err)
{
    TN_TRY(add_all_known(import, err));
    if (import->dry_count > 0)
        qsort(import->dry, import->dry_count, sizeof *import->dry, by_kind);
    TN_TRY(add_totals(import, b, err));
    if (import->dry_count > 0)
        qsort(import->dry, import->dry_count, sizeof *import->dry, by_path);
    for (size_t i = 0; i < import->dry_count; i++) {
        const tn_dry_model *model = &import->dry[i];
        if (needs_a_look(model))
            TN_TRY(tn_summary_add_problem(b, model->path, model->state, model->presence, model->message, err));
    }
    return TN_OK;
}
