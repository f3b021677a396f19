/* The digests of files, by threads over a crew (crew.h).
 *
 *   M1  A disk that seeks, or one behind a network, has one reader at a time; others have as many as there are workers.
 *   M2  Callbacks are called in the calling thread alone, without the mutex held, while the others go on.
 *   M3  What one file meets (gone, changed, over budget) is told of that file and stops no other.
 * All threads do the same: choose a task under the mutex, do it without, note it. The caller's does so too, and between
 * two tasks it tells what has happened. */
#include <tenure/digest.h>

#include <assert.h>
#include <stdint.h>

#include "digest/crew.h"

#define ALONE_UP_TO ((uint64_t)4 << 20) /* a smaller file is done before a thread has started */
#define PLACES_BESIDE 2u                /* blocks that are read ahead, beside two for each thread */
#define READERS_OF_COLD 1u              /* a thread that keeps the disk busy while the others hash; more made it slower */

/* ---- the mutex, when there is one ---- */

static void lock(tn_crew *crew)
{
    if (crew->mutex != NULL)
        tn_os_mutex_lock(crew->mutex);
}

static void unlock(tn_crew *crew)
{
    if (crew->mutex != NULL)
        tn_os_mutex_unlock(crew->mutex);
}

static void wake(tn_crew *crew)
{
    if (crew->waiting > 0)
        tn_os_condition_wake_all(crew->changed);
}

static void wait(tn_crew *crew)
{
    assert(crew->mutex != NULL); /* C4: who works alone always finds a task */
    crew->waiting++;
    tn_os_condition_wait(crew->changed, crew->mutex);
    crew->waiting--;
}

/* ---- telling (M2) ---- */

/* How much of the file is behind us: where a part of it is read twice, each counts half. */
static uint64_t part_done(const tn_crew_file *file)
{
    if (file->stage == TN_CREW_TO_FINISH || file->stage == TN_CREW_ENDED)
        return file->size;
    if (file->stage != TN_CREW_TO_READ || file->pass.total == 0)
        return 0;
    return (uint64_t)((double)file->size * ((double)file->done / (double)file->pass.total));
}

/* The first of the files that have not been told about, and of all bytes those that are behind us. */
static const tn_crew_file *now_at(const tn_crew *crew, uint64_t *done)
{
    const tn_crew_file *first = NULL;
    *done = crew->behind;
    for (size_t i = 0; i < crew->file_count; i++) {
        const tn_crew_file *file = &crew->files[i];
        if (file->stage == TN_CREW_FREE)
            continue;
        *done += part_done(file);
        if (first == NULL || file->number < first->number)
            first = file;
    }
    return first;
}

static bool tell_progress(tn_crew *crew)
{
    uint64_t done;
    const tn_crew_file *at = now_at(crew, &done);
    if (crew->list->progress == NULL || at == NULL || done <= crew->told)
        return false;
    size_t number = at->number;
    crew->told = done;
    tn_error error;
    unlock(crew);
    tn_status status = crew->list->progress(crew->list->user, number, done, &error);
    lock(crew);
    if (status != TN_OK)
        tn_crew_stop(crew, status, &error);
    return true;
}

/* Of the only file, in the bytes that are read of it. */
static bool tell_one(tn_crew *crew)
{
    const tn_crew_file *file = &crew->files[0];
    uint64_t done = file->done;
    if (crew->one == NULL || done <= crew->told)
        return false;
    uint64_t total = file->pass.total;
    crew->told = done;
    unlock(crew);
    crew->one(crew->list->user, done, total);
    lock(crew);
    return true;
}

static bool tell_ended(tn_crew *crew)
{
    tn_crew_file *ended = NULL;
    for (size_t i = 0; i < crew->file_count && ended == NULL; i++)
        if (crew->files[i].stage == TN_CREW_ENDED)
            ended = &crew->files[i];
    if (ended == NULL)
        return false;
    tn_error error;
    bool found = ended->status == TN_OK;
    unlock(crew);
    tn_status status = crew->list->ended(crew->list->user, ended->number, found ? &ended->digests : NULL,
                                         found ? NULL : &ended->error, &error);
    lock(crew);
    crew->behind += ended->size;
    ended->stage = TN_CREW_FREE;
    if (status != TN_OK)
        tn_crew_stop(crew, status, &error);
    wake(crew);
    return true;
}

/* Whether anything was told, so that what has been looked at may have changed. */
static bool tell(tn_crew *crew)
{
    return !crew->stopped && (tell_one(crew) || tell_progress(crew) || tell_ended(crew));
}

/* ---- working ---- */

static bool is_over(const tn_crew *crew, bool helper)
{
    if (crew->stopped)
        return true;
    if (crew->next_file < crew->list->count)
        return false;
    for (size_t i = 0; i < crew->file_count; i++)
        if (tn_crew_is_at_work(&crew->files[i]) || (!helper && crew->files[i].stage == TN_CREW_ENDED))
            return false;
    return true;
}

static void notice_cancel(tn_crew *crew)
{
    tn_error error;
    tn_status status = tn_context_check(crew->context, &error);
    if (status != TN_OK)
        tn_crew_stop(crew, status, &error);
}

static void work(void *user, bool helper)
{
    tn_crew *crew = user;
    tn_crew_task task;
    lock(crew);
    bool reader = helper && ++crew->begun >= crew->threads; /* the caller is one of the threads */
    for (;;) {
        notice_cancel(crew);
        if (is_over(crew, helper))
            break;
        if (!helper && tell(crew))
            continue;
        if (!tn_crew_choose(crew, reader, &task)) {
            wait(crew);
            continue;
        }
        wake(crew); /* what was chosen may have made room for another choice */
        unlock(crew);
        tn_error error;
        tn_status status = tn_crew_do(crew, &task, &error);
        lock(crew);
        tn_crew_note(crew, &task, status, &error);
        wake(crew);
    }
    wake(crew);
    unlock(crew);
}

/* ---- birth and end ---- */

/* One block of memory for all places, as many as the budget allows; its first bytes are the first of a huge page. */
static tn_status take_places(tn_crew *crew, unsigned wanted, tn_error *err)
{
    unsigned count = wanted < TN_CREW_PLACES_MAX ? wanted : TN_CREW_PLACES_MAX;
    size_t spare = count > 1 ? TN_OS_HUGE_BYTES : 0;
    tn_memory_source *memory = &crew->context->memory;
    while (count > 1 && tn_take(memory, count * TN_PASS_BLOCK_BYTES + spare, &crew->memory, NULL) != TN_OK)
        count /= 2;
    if (count == 1) {
        spare = 0;
        TN_TRY(tn_take(memory, TN_PASS_BLOCK_BYTES, &crew->memory, err));
    }
    crew->memory_size = count * TN_PASS_BLOCK_BYTES + spare;
    uint8_t *bytes = crew->memory;
    if (spare > 0) {
        bytes += TN_OS_HUGE_BYTES - (uintptr_t)bytes % TN_OS_HUGE_BYTES;
        tn_os_prefer_huge_pages(bytes, count * TN_PASS_BLOCK_BYTES);
    }
    for (unsigned i = 0; i < count; i++) {
        crew->places[i].bytes = bytes + i * TN_PASS_BLOCK_BYTES;
        crew->free[i] = &crew->places[i];
    }
    crew->place_count = crew->free_count = count;
    return TN_OK;
}

/* Without what threads need, the caller works alone. */
static void take_mutex(tn_crew *crew)
{
    tn_memory_source *memory = &crew->context->memory;
    if (crew->threads > 1 && tn_os_mutex_create(memory, &crew->mutex, NULL) == TN_OK &&
        tn_os_condition_create(memory, &crew->changed, NULL) == TN_OK)
        return;
    crew->threads = 1;
}

/* How many threads a single file is worth is known when it is open, and that files are cold when the first one is. */
static void open_the_first(tn_crew *crew)
{
    tn_crew_task task;
    tn_error error;
    if (!tn_crew_choose(crew, false, &task))
        return;
    tn_status status = tn_crew_do(crew, &task, &error);
    tn_crew_note(crew, &task, status, &error);
    if (crew->list->count == 1 && task.file->size <= ALONE_UP_TO)
        crew->threads = 1;
    crew->readers = crew->threads > 1 && task.file->cold && !task.file->slow ? READERS_OF_COLD : 0;
}

static tn_status begin(tn_crew *crew, tn_error *err)
{
    void *files;
    crew->threads = crew->context->jobs;
    crew->file_count = crew->list->count == 1 ? 1 : (size_t)2 * crew->threads + 2;
    TN_TRY(tn_take_array(&crew->context->memory, crew->file_count, sizeof *crew->files, &files, err));
    crew->files = files;
    open_the_first(crew);
    take_mutex(crew);
    return take_places(crew, crew->threads > 1 ? 2 * (crew->threads + crew->readers) + PLACES_BESIDE : 1, err);
}

static unsigned helpers_for(const tn_crew *crew)
{
    unsigned wanted = crew->threads - 1 + (crew->threads > 1 ? crew->readers : 0);
    return wanted < TN_JOBS_MAX ? wanted : TN_JOBS_MAX;
}

static void end(tn_crew *crew)
{
    tn_memory_source *memory = &crew->context->memory;
    for (size_t i = 0; crew->files != NULL && i < crew->file_count; i++)
        if (tn_crew_is_at_work(&crew->files[i]))
            tn_pass_close(&crew->files[i].pass);
    tn_os_condition_destroy(crew->changed);
    tn_os_mutex_destroy(crew->mutex);
    tn_give(memory, crew->memory, crew->memory_size);
    tn_give(memory, crew->files, crew->files != NULL ? crew->file_count * sizeof *crew->files : 0);
}

static bool is_sound(const tn_digest_want *want)
{
    return want->path != NULL && want->which != 0 && (want->which & ~TN_DIGEST_ALL) == 0;
}

static tn_status run(tn_context *context, const tn_digest_list *list, tn_digest_progress one, tn_error *err)
{
    tn_crew crew = {.context = context, .list = list, .one = one};
    TN_TRY(tn_context_check(context, err));
    tn_status status = begin(&crew, err);
    if (status == TN_OK) {
        tn_context_together(context, helpers_for(&crew), work, &crew);
        status = crew.status;
        if (status != TN_OK)
            tn_fail_as(&crew.error, err);
    }
    end(&crew);
    return status;
}

tn_status tn_digest_many(tn_context *context, const tn_digest_list *list, tn_error *err)
{
    if (context == NULL || list == NULL || list->ended == NULL || (list->count > 0 && list->files == NULL))
        return tn_fail(err, TN_INVALID, "digests of many files need a context, a list and someone to tell");
    for (size_t i = 0; i < list->count; i++)
        if (!is_sound(&list->files[i]))
            return tn_fail(err, TN_INVALID, "each file needs a path and at least one of TN_DIGEST_*");
    return list->count > 0 ? run(context, list, NULL, err) : tn_context_check(context, err);
}

/* ---- one file ---- */

typedef struct answer {
    tn_digest_progress progress;
    void *user;
    tn_digests digests;
    tn_status status;
    tn_error error;
} answer;

static tn_status keep(void *user, size_t file, const tn_digests *digests, const tn_error *why, tn_error *err)
{
    answer *a = user;
    (void)file;
    (void)err;
    if (digests != NULL)
        a->digests = *digests;
    else
        a->status = tn_fail_as(why, &a->error);
    return TN_OK;
}

static void pass_on(void *user, uint64_t done, uint64_t total)
{
    const answer *a = user;
    a->progress(a->user, done, total);
}

tn_status tn_digest_file(tn_context *context, const char *path, uint32_t which, tn_digest_progress progress,
                         void *user, tn_digests *out, tn_error *err)
{
    tn_digest_want want = {path, which};
    if (context == NULL || out == NULL || !is_sound(&want))
        return tn_fail(err, TN_INVALID, "digests are taken with a context, a path, at least one of TN_DIGEST_* and a "
                                        "place for them");
    answer a = {.progress = progress, .user = user};
    tn_digest_list list = {.files = &want, .count = 1, .ended = keep, .user = &a};
    TN_TRY(run(context, &list, progress != NULL ? pass_on : NULL, err));
    if (a.status != TN_OK)
        return tn_fail_as(&a.error, err);
    *out = a.digests;
    return TN_OK;
}
