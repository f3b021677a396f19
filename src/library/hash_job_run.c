/* Running a hash job (hash_job.h): one transaction takes the next files and marks them as being read; they are hashed
 * by the context's workers, without any lock; each is recorded as it ends. Suspects come first, one at a time. */
#include <string.h>

#include "library/hash_job.h"
#include "library/hash_job_file.h"
#include "library/isolate.h"
#include "library/journal.h"
#include "library/place.h"
#include "os/os_fault.h"

#define BATCH_ITEMS 32                    /* files marked at once: after a death all of them are suspect */
#define BATCH_BYTES ((uint64_t)32 << 30)  /* no more are taken when they have as many, and each worker one */
#define LOOKED_AT_ONCE 256                /* items looked at in one transaction: most lack nothing any more */
#define HAND_NS ((uint64_t)500000000)     /* how often the row is asked whether another hand stopped the job */
#define CHILD_FROM 2                      /* deaths from which on a child reads the file first */

typedef struct sums {
    uint64_t items, items_done, bytes, bytes_done;
} sums;

typedef struct hash_run {
    tn_library *library;
    const tn_import_options *options;
    tn_journal journal;
    tn_arena arena; /* paths of this batch */
    tn_hash_item items[BATCH_ITEMS];
    tn_digest_want wants[BATCH_ITEMS];
    size_t count;
    bool no_suspects; /* all are done */
    sums sums;        /* as the row had them when the batch began */
    uint64_t recorded_ns, asked_ns;
    tn_hash_recorded recorded; /* of the file that ended last */
} hash_run;

/* ---- the next batch ---- */

static tn_status copy_item(hash_run *r, const tn_sql *s, tn_hash_item *item, tn_error *err)
{
    tn_text path = tn_sql_get(s, 0);
    *item = (tn_hash_item){.path = tn_arena_text(&r->arena, path.bytes, path.size),
                           .wanted = (uint32_t)tn_sql_get_int(s, 1) & TN_DIGEST_ALL,
                           .deaths = tn_sql_get_int(s, 2),
                           .bytes = (uint64_t)tn_sql_get_int(s, 3)};
    return tn_arena_status(&r->arena, err);
}

static tn_status first_of(hash_run *r, tn_query query, tn_hash_item *item, bool *found, tn_error *err)
{
    tn_sql s = tn_sql_start(&r->library->db, query);
    tn_sql_int(&s, r->journal.job);
    TN_TRY(tn_sql_row(&s, found, err));
    if (!*found)
        return TN_OK;
    tn_status status = copy_item(r, &s, item, err);
    tn_sql_end(&s);
    return status;
}

static tn_status next_item(hash_run *r, tn_hash_item *item, bool *found, tn_error *err)
{
    if (!r->no_suspects) {
        TN_TRY(first_of(r, TN_QUERY_HASH_NEXT_SUSPECT, item, found, err));
        r->no_suspects = !*found;
    }
    return r->no_suspects ? first_of(r, TN_QUERY_HASH_NEXT, item, found, err) : TN_OK;
}

static tn_status advance(hash_run *r, uint64_t done_bytes, uint64_t dropped_bytes, uint64_t spent_ns, tn_error *err)
{
    tn_sql s = tn_sql_start(&r->library->db, TN_QUERY_HASH_JOB_ADVANCE);
    tn_sql_int(&s, r->journal.job);
    tn_sql_int(&s, (int64_t)done_bytes);
    tn_sql_int(&s, (int64_t)dropped_bytes);
    tn_sql_int(&s, (int64_t)spent_ns);
    return tn_sql_run(&s, err);
}

/* It lacks nothing any more, or is not known any more: its bytes need not be read. */
static tn_status pass_over(hash_run *r, const tn_hash_item *item, tn_error *err)
{
    TN_TRY(tn_journal_done(&r->journal, item->path, err));
    return advance(r, 0, item->bytes, 0, err);
}

static bool is_full(const hash_run *r, uint64_t bytes)
{
    if (r->count == BATCH_ITEMS)
        return true;
    if (r->count > 0 && r->items[0].deaths > 0)
        return true;
    return bytes >= BATCH_BYTES && r->count >= r->library->context->jobs;
}

static tn_status mark(hash_run *r, const tn_hash_item *item, tn_error *err)
{
    TN_TRY(tn_journal_reading(&r->journal, item->path, err));
    r->items[r->count++] = *item;
    return TN_OK;
}

static tn_status take_batch(hash_run *r, bool *more, tn_error *err)
{
    uint64_t bytes = 0;
    *more = true;
    for (int looked = 0; looked < LOOKED_AT_ONCE && *more && !is_full(r, bytes); looked++) {
        tn_hash_item item;
        TN_TRY(next_item(r, &item, more, err));
        if (!*more || (r->count > 0 && item.deaths > 0))
            break;
        TN_TRY(tn_hash_item_ask(r->library, &item, err));
        bytes += item.which != 0 ? item.row.size : 0;
        TN_TRY(item.which != 0 ? mark(r, &item, err) : pass_over(r, &item, err));
    }
    return TN_OK;
}

static tn_status read_sums(hash_run *r, tn_error *err)
{
    bool found = false;
    tn_sql s = tn_sql_start(&r->library->db, TN_QUERY_HASH_JOB_SUMS);
    tn_sql_int(&s, r->journal.job);
    TN_TRY(tn_sql_row(&s, &found, err));
    if (!found)
        return TN_OK;
    r->sums = (sums){(uint64_t)tn_sql_get_int(&s, 0), (uint64_t)tn_sql_get_int(&s, 1), (uint64_t)tn_sql_get_int(&s, 2),
                     (uint64_t)tn_sql_get_int(&s, 3)};
    tn_sql_end(&s);
    return TN_OK;
}

/* When nothing is left the job ends in the same transaction: what others queue goes before that or into another. */
static tn_status turn_inside(hash_run *r, bool *more, tn_error *err)
{
    TN_TRY(tn_journal_check(&r->journal, err));
    TN_TRY(take_batch(r, more, err));
    TN_TRY(read_sums(r, err));
    if (!*more && r->count == 0) {
        TN_TRY(tn_journal_finish_alone(&r->journal, err));
        tn_os_point("hash.finishing");
    }
    return TN_OK;
}

static tn_status turn(hash_run *r, bool *more, tn_error *err)
{
    r->count = 0;
    tn_arena_free(&r->arena);
    tn_arena_init(&r->arena, r->library->memory, (size_t)BATCH_ITEMS * LOOKED_AT_ONCE * TN_PLACE_PATH_MAX);
    TN_TRY(tn_library_begin(r->library, err));
    TN_TRY(tn_library_end(r->library, turn_inside(r, more, err), err));
    tn_os_point("hash.marked");
    return TN_OK;
}

/* ---- one file that ended ---- */

static tn_status done(hash_run *r, const tn_hash_item *item, tn_error *err)
{
    uint64_t now_ns = tn_os_monotonic_ns(), spent_ns = now_ns - r->recorded_ns;
    r->recorded_ns = now_ns;
    TN_TRY(tn_journal_done(&r->journal, item->path, err));
    return advance(r, item->bytes, 0, spent_ns, err);
}

/* What a scan has found to be another file meanwhile is not done, it waits again. */
static tn_status done_or_again(hash_run *r, const tn_hash_item *item, bool recorded, tn_error *err)
{
    bool same = true;
    if (!recorded)
        TN_TRY(tn_hash_item_same(r->library, item, &same, err));
    if (same)
        return done(r, item, err);
    tn_sql s = tn_sql_start(&r->library->db, TN_QUERY_ITEM_AGAIN);
    tn_sql_int(&s, r->journal.job);
    tn_sql_blob(&s, item->path.bytes, item->path.size);
    return tn_sql_run(&s, err);
}

static tn_status end_inside(hash_run *r, const tn_hash_item *item, const tn_digests *digests, tn_error *err)
{
    r->recorded = (tn_hash_recorded){.outcome = TN_HASH_OTHER};
    if (digests != NULL)
        TN_TRY(tn_hash_item_record(r->library, r->journal.job, item, digests, &r->recorded, err));
    TN_TRY(done_or_again(r, item, r->recorded.outcome != TN_HASH_OTHER, err));
    tn_os_point("hash.recording");
    return TN_OK;
}

static void why_not(const tn_hash_recorded *recorded, const char *path, tn_error *out)
{
    if (recorded->outcome == TN_HASH_ROTTEN)
        tn_fail(out, TN_BAD_CHECKSUM, "its bytes are not those that were hashed before, though its size and time are the "
                                      "same: fetch it again, or restore it from a copy");
    else
        tn_fail(out, TN_CHANGED, "it changed since it was recorded, so its hash was not: scan it again");
    tn_error_at_file(out, path);
}

/* `why` NULL: it was read. */
static void tell(const hash_run *r, const tn_hash_item *item, const tn_error *why)
{
    tn_error found;
    tn_hash_event event = {.model = r->recorded.model, .path = item->path, .size_bytes = item->row.size, .why = why};
    if (r->options->hashed == NULL || (why == NULL && r->recorded.outcome == TN_HASH_GONE))
        return;
    if (why == NULL && r->recorded.outcome != TN_HASH_RECORDED) {
        why_not(&r->recorded, item->path.bytes, &found);
        event.why = &found;
    }
    if (event.why == NULL) {
        event.count = r->recorded.texts.count;
        event.hashes = r->recorded.texts.hashes;
    }
    r->options->hashed(r->options->user, &event);
}

static tn_status ended(void *user, size_t file, const tn_digests *digests, const tn_error *why, tn_error *err)
{
    hash_run *r = user;
    const tn_hash_item *item = &r->items[file];
    TN_TRY(tn_library_begin(r->library, err));
    TN_TRY(tn_library_end(r->library, end_inside(r, item, digests, err), err));
    tn_os_point("hash.recorded");
    tell(r, item, why);
    return TN_OK;
}

/* ---- on the way ---- */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void tell_progress(const hash_run *r, size_t file, uint64_t done_bytes)
{
    if (r->options->progress == NULL)
        return;
    tn_import_progress now = {.found = r->sums.items, .done = r->sums.items_done + file, .path = r->items[file].path.bytes,
                              .bytes = r->sums.bytes, .bytes_done = least(r->sums.bytes_done + done_bytes, r->sums.bytes)};
    r->options->progress(r->options->user, &now);
}

/* Was the job paused or cancelled? A library that cannot be asked now is asked again later. */
static tn_status ask_hand(hash_run *r, tn_error *err)
{
    uint64_t now_ns = tn_os_monotonic_ns();
    if (now_ns - r->asked_ns < HAND_NS)
        return TN_OK;
    r->asked_ns = now_ns;
    tn_error found;
    tn_library_lock(r->library);
    tn_status status = tn_journal_check(&r->journal, &found);
    tn_library_unlock(r->library);
    return status == TN_CANCELLED ? tn_fail_as(&found, err) : TN_OK;
}

static tn_status on_progress(void *user, size_t file, uint64_t done_bytes, tn_error *err)
{
    hash_run *r = user;
    tell_progress(r, file, done_bytes);
    return ask_hand(r, err);
}

/* ---- suspects ---- */

static tn_status set_aside_inside(hash_run *r, const tn_hash_item *item, tn_error *err)
{
    TN_TRY(tn_journal_aside(&r->journal, item->path, err));
    return advance(r, item->bytes, 0, 0, err);
}

static tn_status refuse(hash_run *r, tn_status why, const char *message, tn_error *err)
{
    const tn_hash_item *item = &r->items[0];
    tn_error found;
    tn_fail(&found, why, "%s", message);
    tn_error_at_file(&found, item->path.bytes);
    TN_TRY(tn_library_begin(r->library, err));
    tn_status status = why == TN_CRASHED ? set_aside_inside(r, item, err) : done(r, item, err);
    TN_TRY(tn_library_end(r->library, status, err));
    r->recorded = (tn_hash_recorded){.outcome = TN_HASH_OTHER};
    tell(r, item, &found);
    return TN_OK;
}

/* One death may be the machine's: then it is read alone. From the second on a child goes first. *read: go on and read. */
static tn_status try_suspect(hash_run *r, bool *read, tn_error *err)
{
    const tn_hash_item *item = &r->items[0];
    const char *program = r->library->program.bytes;
    char words[TN_HASH_WORDS_MAX];
    *read = true;
    if (item->deaths < CHILD_FROM)
        return TN_OK;
    tn_hash_words(item->which, words);
    tn_isolated verdict = program != NULL ? tn_isolate_hash(program, words, item->path.bytes) : TN_ISOLATED_NO_CHILD;
    *read = verdict == TN_ISOLATED_SURVIVED;
    if (*read)
        return TN_OK;
    if (verdict == TN_ISOLATED_KILLED)
        return refuse(r, TN_IO, "its reader was killed twice from outside, so it was not hashed: import it again", err);
    return refuse(r, TN_CRASHED, tn_status_text(TN_CRASHED), err);
}

/* ---- the loop ---- */

static tn_status hash_batch(hash_run *r, tn_error *err)
{
    bool read = true;
    r->recorded_ns = tn_os_monotonic_ns();
    tell_progress(r, 0, 0);
    if (r->items[0].deaths > 0)
        TN_TRY(try_suspect(r, &read, err));
    if (!read)
        return TN_OK;
    for (size_t i = 0; i < r->count; i++)
        r->wants[i] = (tn_digest_want){r->items[i].path.bytes, r->items[i].which};
    tn_digest_list list = {r->wants, r->count, ended, on_progress, r};
    return tn_digest_many(r->library->context, &list, err);
}

static tn_status go(hash_run *r, tn_error *err)
{
    for (bool more = true;;) {
        TN_TRY(tn_context_check(r->library->context, err));
        TN_TRY(turn(r, &more, err));
        if (r->count > 0)
            TN_TRY(hash_batch(r, err));
        else if (!more)
            return TN_OK;
    }
}

/* The status of a job that stops is its own; what became of the row is not. */
static tn_status go_journalled(hash_run *r, int64_t job, tn_error *err)
{
    TN_TRY(tn_journal_begin(r->library, "hash", NULL, 0, job, &r->journal, err));
    tn_os_point("hash.begun");
    tn_error found;
    tn_status status = go(r, &found);
    if (status != TN_OK) {
        tn_journal_stop(&r->journal, status, found.message);
        (void)tn_fail_as(&found, err);
    }
    tn_journal_end(&r->journal);
    return status;
}

tn_status tn_hash_job_run(tn_library *library, int64_t job, const tn_import_options *options, tn_error *err)
{
    void *block = NULL;
    static const tn_import_options none = {.size = sizeof none};
    if (options != NULL && options->size != sizeof *options)
        return tn_fail(err, TN_INVALID, "tn_import_options of another size");
    TN_TRY(tn_take_array(library->memory, 1, sizeof(hash_run), &block, err));
    hash_run *r = block;
    r->library = library;
    r->options = options != NULL ? options : &none;
    tn_arena_init(&r->arena, library->memory, 0);
    tn_status status = go_journalled(r, job, err);
    tn_arena_free(&r->arena);
    tn_give(library->memory, block, sizeof(hash_run));
    if (status == TN_OK)
        tn_os_point("hash.finished");
    return status;
}
