/* Reading and recording, a batch at a time: suspects first and alone, then the rest by many threads, at last the paths
 * that only lead to what was read. One transaction records the last batch and marks the next. */
#include "library/import_inside.h"

#include <string.h>

#include "os/os_fault.h"

typedef enum batch_kind { BATCH_SUSPECT = 0, BATCH_READ, BATCH_ALIAS, BATCH_KINDS } batch_kind;

typedef struct batch {
    batch_kind kind;
    size_t count;
    tn_import_item *items[TN_BATCH_ITEMS];
    tn_reading readings[TN_BATCH_ITEMS];
    tn_recorded recorded[TN_BATCH_ITEMS];
    bool crashed[TN_BATCH_ITEMS];
} batch;

/* Where the next batch is taken from. */
typedef struct position {
    batch_kind kind;
    size_t item;
} position;

static batch_kind kind_of(const tn_import_item *item)
{
    if (item->target.bytes != NULL)
        return BATCH_ALIAS;
    return item->deaths > 0 ? BATCH_SUSPECT : BATCH_READ;
}

static void take_next(tn_import *import, position *at, batch *out)
{
    out->count = 0;
    while (out->count == 0 && at->kind < BATCH_KINDS) {
        out->kind = at->kind;
        size_t most = at->kind == BATCH_SUSPECT ? 1 : TN_BATCH_ITEMS;
        for (; at->item < import->item_count && out->count < most; at->item++)
            if (kind_of(&import->items[at->item]) == at->kind)
                out->items[out->count++] = &import->items[at->item];
        if (at->item == import->item_count && out->count == 0) {
            at->kind++;
            at->item = 0;
        }
    }
}

static void batch_free(tn_import *import, batch *b)
{
    for (size_t i = 0; i < b->count; i++)
        tn_reading_free(import->context, &b->readings[i]);
    memset(b, 0, sizeof *b);
}

/* ---- reading ---- */

typedef struct batch_work {
    tn_import *import;
    batch *batch;
} batch_work;

static tn_status read_one(void *user, size_t i, tn_error *err)
{
    const batch_work *work = user;
    TN_TRY(tn_reading_take(work->import->context, work->batch->items[i]->claim.path, &work->import->times,
                           &work->batch->readings[i], err));
    tn_os_point("import.identified");
    return TN_OK;
}

static tn_status refuse(tn_import *import, batch *b, tn_status why, const char *message, tn_error *err)
{
    const tn_claim *claim = &b->items[0]->claim;
    b->crashed[0] = why == TN_CRASHED;
    return tn_reading_refuse(import->context, claim->path, claim->info.size, why, message, &b->readings[0], err);
}

/* A suspect is read here only when a child survived it, or, without a child, when it is blamed for the first time. */
static tn_status read_suspect(tn_import *import, batch *b, tn_error *err)
{
    const tn_import_item *item = b->items[0];
    const char *program = import->library->program.bytes;
    tn_isolated verdict = program != NULL ? tn_isolate(program, item->claim.path) : TN_ISOLATED_NO_CHILD;
    if (verdict == TN_ISOLATED_NO_CHILD && item->deaths >= 2)
        verdict = TN_ISOLATED_DIED;
    if (verdict == TN_ISOLATED_DIED)
        return refuse(import, b, TN_CRASHED, tn_status_text(TN_CRASHED), err);
    if (verdict == TN_ISOLATED_KILLED)
        return refuse(import, b, TN_IO, "its reader was killed twice from outside: import it again", err);
    batch_work work = {import, b};
    return read_one(&work, 0, err);
}

static tn_status read_batch(tn_import *import, batch *b, tn_error *err)
{
    batch_work work = {import, b};
    tn_import_progress_now(import, false, b->items[0]->claim.path);
    switch (b->kind) {
    case BATCH_SUSPECT:
        return read_suspect(import, b, err);
    case BATCH_READ:
        return tn_context_each(import->context, b->count, read_one, &work, err);
    case BATCH_ALIAS:
    case BATCH_KINDS:
        break;
    }
    return TN_OK;
}

/* ---- recording ---- */

static tn_status record_one(tn_import *import, batch *b, size_t i, tn_error *err)
{
    const tn_import_item *item = b->items[i];
    tn_text path = {item->claim.path, item->claim.path_size};
    if (b->kind == BATCH_ALIAS)
        TN_TRY(tn_record_alias(import->library, &import->job, &item->claim, item->target, &b->recorded[i], err));
    else
        TN_TRY(tn_record_claim(import->library, &import->job, &item->claim, &b->readings[i], b->crashed[i],
                               !item->was_known, &b->recorded[i], err));
    if (item->deaths > 0)
        TN_TRY(tn_journal_cleared(&import->journal, path, err));
    return b->crashed[i] ? tn_journal_aside(&import->journal, path, err)
                         : tn_journal_done(&import->journal, path, err);
}

static tn_status turn_inside(tn_import *import, batch *last, const batch *next, tn_error *err)
{
    TN_TRY(tn_journal_check(&import->journal, err));
    for (size_t i = 0; i < last->count; i++)
        TN_TRY(record_one(import, last, i, err));
    TN_TRY(tn_journal_advance(&import->journal, last->count, err));
    for (size_t i = 0; i < next->count; i++) {
        tn_text path = {next->items[i]->claim.path, next->items[i]->claim.path_size};
        TN_TRY(tn_journal_reading(&import->journal, path, err));
    }
    tn_os_point("import.before_commit");
    return TN_OK;
}

static bool is_model(const tn_import *import, const batch *b, size_t i)
{
    if (!tn_import_is_dry(import))
        return b->recorded[i].model != 0;
    return b->items[i]->claim.kind != TN_CLAIM_FILE ||
           tn_claim_holds(b->items[i]->claim.suffix, b->readings[i].answer);
}

/* What recording would come to. */
static tn_status foresee(tn_import *import, batch *last, tn_error *err)
{
    for (size_t i = 0; i < last->count && last->kind != BATCH_ALIAS; i++) {
        tn_recorded *recorded = &last->recorded[i];
        TN_TRY(tn_import_foresee(import, last->items[i], &last->readings[i], recorded, err));
        if (!is_model(import, last, i))
            continue;
        if (recorded->attached)
            TN_TRY(tn_import_add_dry_known(import, recorded->model, err));
        else
            TN_TRY(tn_import_add_dry_answer(import, last->items[i], last->readings[i].answer, err));
    }
    return TN_OK;
}

/* Record the last batch and mark the next one, together. */
static tn_status turn(tn_import *import, batch *last, const batch *next, tn_error *err)
{
    if (tn_import_is_dry(import))
        return foresee(import, last, err);
    TN_TRY(tn_library_begin(import->library, err));
    TN_TRY(tn_library_end(import->library, turn_inside(import, last, next, err), err));
    tn_os_point("import.after_commit");
    return TN_OK;
}

/* ---- telling ---- */

/* What is held is counted when it is told. */
static void count_one(tn_import *import, const batch *b, size_t i)
{
    const tn_recorded *recorded = &b->recorded[i];
    if (!is_model(import, b, i)) {
        import->others++;
        return;
    }
    if (recorded->held)
        return;
    if (recorded->fresh)
        import->fresh++;
    else if (recorded->changed)
        import->changed++;
    else if (!recorded->attached)
        import->unchanged++;
}

static tn_status tell_one(tn_import *import, const batch *b, size_t i, tn_error *err)
{
    const tn_recorded *recorded = &b->recorded[i];
    const tn_claim *claim = &b->items[i]->claim;
    import->done++;
    count_one(import, b, i);
    if (recorded->held)
        return tn_import_hold(import, (tn_held){recorded->model, recorded->fresh, recorded->changed}, err);
    if (is_model(import, b, i) || claim->named)
        tn_import_tell(import, &(tn_import_event){.id = tn_import_is_dry(import) ? 0 : recorded->model, .fresh = recorded->fresh,
                                                  .changed = recorded->changed,
                                                  .answer = recorded->known ? NULL : b->readings[i].answer});
    return TN_OK;
}

static tn_status tell(tn_import *import, const batch *b, tn_error *err)
{
    for (size_t i = 0; i < b->count && b->kind != BATCH_ALIAS; i++)
        TN_TRY(tell_one(import, b, i, err));
    if (b->kind == BATCH_ALIAS)
        import->done += b->count;
    if (b->count > 0)
        tn_import_progress_now(import, false, b->items[b->count - 1]->claim.path);
    return TN_OK;
}

/* ---- the loop ---- */

/* When it was cancelled, what is read already is still recorded. */
static tn_status work(tn_import *import, batch *last, batch *next, tn_error *err)
{
    position at = {BATCH_SUSPECT, 0};
    for (;;) {
        tn_status going = tn_context_check(import->context, err);
        if (going == TN_OK)
            take_next(import, &at, next);
        TN_TRY(turn(import, last, next, err));
        TN_TRY(tell(import, last, err));
        batch_free(import, last);
        if (going != TN_OK || next->count == 0)
            return going;
        tn_os_point("import.batch_marked");
        TN_TRY(read_batch(import, next, err));
        *last = *next;
        memset(next, 0, sizeof *next);
    }
}

tn_status tn_import_work(tn_import *import, tn_error *err)
{
    void *block = NULL;
    TN_TRY(tn_take_array(import->library->memory, 2, sizeof(batch), &block, err));
    batch *batches = block;
    tn_status status = work(import, &batches[0], &batches[1], err);
    batch_free(import, &batches[0]);
    batch_free(import, &batches[1]);
    tn_give(import->library->memory, block, 2 * sizeof(batch));
    return status;
}
