/* Choosing, doing and noting tasks. C1 to C4 stand in crew.h. */
#include "digest/crew.h"

#include <assert.h>
#include <string.h>

#define LANE(lane) (1u << (lane))
#define PAST_CACHE_FROM ((uint64_t)16 << 20) /* smaller files are worth keeping in the cache */

bool tn_crew_is_at_work(const tn_crew_file *file)
{
    return file->stage != TN_CREW_FREE && file->stage != TN_CREW_ENDED;
}

static bool is_reading_stage(const tn_crew_file *file)
{
    return file->status == TN_OK && file->stage == TN_CREW_TO_READ;
}

void tn_crew_stop(tn_crew *crew, tn_status status, const tn_error *error)
{
    if (crew->stopped)
        return;
    crew->stopped = true;
    crew->status = status;
    crew->error = *error;
}

/* ---- choosing ---- */

static bool take(tn_crew_task *out, tn_crew_task_kind kind, tn_crew_file *file, tn_crew_place *place, tn_lane lane)
{
    file->tasks++;
    *out = (tn_crew_task){kind, file, place, lane};
    return true;
}

/* At work, and opened. */
static bool is_known(const tn_crew_file *file)
{
    return tn_crew_is_at_work(file) && file->stage != TN_CREW_TO_OPEN;
}

static bool has_to_be_read(const tn_crew_file *file)
{
    return file->stage == TN_CREW_TO_PREPARE || (is_reading_stage(file) && file->has_next);
}

/* M1 of many.c: of the files on a slow disk the first one reads, and once at a time. */
static bool may_read(const tn_crew *crew, const tn_crew_file *file)
{
    if (!file->slow)
        return true;
    for (size_t i = 0; i < crew->file_count; i++) {
        const tn_crew_file *other = &crew->files[i];
        if (!is_known(other) || !other->slow || other->device != file->device)
            continue;
        if (other->reading > 0 || (other->number < file->number && has_to_be_read(other)))
            return false;
    }
    return true;
}

static unsigned files_at_work(const tn_crew *crew)
{
    unsigned count = 0;
    for (size_t i = 0; i < crew->file_count; i++)
        count += tn_crew_is_at_work(&crew->files[i]);
    return count;
}

/* No file takes the places that another needs to go on. */
static bool has_room(const tn_crew *crew, const tn_crew_file *file)
{
    unsigned share = crew->place_count / files_at_work(crew);
    return crew->free_count > 0 && file->held < (share > 1 ? share : 1);
}

static bool choose_stage(tn_crew *crew, tn_crew_task *out)
{
    for (size_t i = 0; i < crew->file_count; i++) {
        tn_crew_file *file = &crew->files[i];
        if (file->tasks > 0)
            continue;
        if (file->stage == TN_CREW_TO_FINISH)
            return take(out, TN_CREW_FINISH, file, NULL, TN_LANES);
        if (file->stage == TN_CREW_TO_PREPARE && may_read(crew, file)) {
            file->reading++;
            return take(out, TN_CREW_PREPARE, file, NULL, TN_LANES);
        }
    }
    return false;
}

static bool begin_read(tn_crew *crew, tn_crew_file *file, tn_crew_task *out)
{
    tn_crew_place *place = crew->free[--crew->free_count];
    uint8_t *bytes = place->bytes;
    *place = (tn_crew_place){.bytes = bytes, .file = file, .block = file->next, .left = file->next.lanes};
    place->piece_begun = tn_pass_is_looked_at(&place->block);
    file->has_next = tn_pass_next(&file->pass, &file->next);
    file->held++;
    file->reading++;
    return take(out, TN_CREW_READ, file, place, TN_LANES);
}

/* How much a read is wanted: where a disk would idle otherwise; by one who does nothing else; or rather than nothing. */
typedef enum eagerness { READ_IDLE_DISK, READ_BY_READER, READ_ANY } eagerness;

static bool is_wanted(const tn_crew_file *file, eagerness how)
{
    bool from_disk = file->slow || tn_source_was_cold(file->pass.source);
    switch (how) {
    case READ_IDLE_DISK: return from_disk && file->reading == 0;
    case READ_BY_READER: return from_disk;
    case READ_ANY: return true;
    }
    return true;
}

/* The first file of the list comes first. */
static bool choose_read(tn_crew *crew, eagerness how, tn_crew_task *out)
{
    tn_crew_file *first = NULL;
    for (size_t i = 0; i < crew->file_count; i++) {
        tn_crew_file *file = &crew->files[i];
        if (!is_reading_stage(file) || !file->has_next || !has_room(crew, file) || !may_read(crew, file))
            continue;
        if (is_wanted(file, how) && (first == NULL || file->number < first->number))
            first = file;
    }
    return first != NULL && begin_read(crew, first, out);
}

/* Whether the block's turn has come for a lane that is free. */
static bool is_due(const tn_crew_place *place, tn_lane lane)
{
    const tn_crew_file *file = place->file;
    return (place->left & LANE(lane)) != 0 && (file->busy & LANE(lane)) == 0 &&
           file->turn[lane] == place->block.number && !(lane == TN_LANE_BLAKE3 && tn_pass_is_piece(&place->block));
}

static bool is_usable(const tn_crew_place *place)
{
    return place->file != NULL && place->is_read && is_reading_stage(place->file);
}

static bool choose_lane(tn_crew *crew, tn_crew_task *out)
{
    for (unsigned lane = 0; lane < TN_LANES; lane++) {
        for (unsigned i = 0; i < crew->place_count; i++) {
            tn_crew_place *place = &crew->places[i];
            if (!is_usable(place) || !is_due(place, (tn_lane)lane))
                continue;
            place->file->busy |= LANE(lane);
            return take(out, TN_CREW_TAKE, place->file, place, (tn_lane)lane);
        }
    }
    return false;
}

static bool choose_piece(tn_crew *crew, tn_crew_task *out)
{
    tn_crew_place *first = NULL;
    for (unsigned i = 0; i < crew->place_count; i++) {
        tn_crew_place *place = &crew->places[i];
        if (!is_usable(place) || place->piece_begun || !tn_pass_is_piece(&place->block))
            continue;
        if (first == NULL || place->block.number < first->block.number)
            first = place;
    }
    if (first == NULL)
        return false;
    first->piece_begun = true;
    return take(out, TN_CREW_PIECE, first->file, first, TN_LANE_BLAKE3);
}

static bool choose_file(tn_crew *crew, tn_crew_task *out)
{
    if (crew->next_file == crew->list->count || files_at_work(crew) >= crew->threads)
        return false;
    for (size_t i = 0; i < crew->file_count; i++) {
        tn_crew_file *file = &crew->files[i];
        if (file->stage != TN_CREW_FREE)
            continue;
        memset(file, 0, sizeof *file);
        file->stage = TN_CREW_TO_OPEN;
        file->number = crew->next_file++;
        return take(out, TN_CREW_OPEN, file, NULL, TN_LANES);
    }
    return false;
}

/* What others wait for comes first: a lane that lags holds places, and a disk that idles is time that never returns. */
bool tn_crew_choose(tn_crew *crew, bool reader, tn_crew_task *out)
{
    if (crew->stopped)
        return false;
    if (reader)
        return choose_read(crew, READ_BY_READER, out);
    return choose_stage(crew, out) || choose_read(crew, READ_IDLE_DISK, out) || choose_lane(crew, out) ||
           choose_piece(crew, out) || choose_read(crew, READ_ANY, out) || choose_file(crew, out);
}

/* ---- doing ---- */

static tn_status open_file(tn_crew *crew, tn_crew_file *file, tn_error *err)
{
    const tn_digest_want *want = &crew->list->files[file->number];
    TN_TRY(tn_pass_open(&file->pass, crew->context, want->path, want->which, err));
    tn_source *source = file->pass.source;
    tn_os_disk disk = tn_source_disk(source);
    file->size = tn_source_size(source);
    file->device = tn_source_info(source)->device;
    file->slow = disk == TN_OS_DISK_ROTATIONAL || disk == TN_OS_DISK_NETWORK;
    tn_source_read_in_order(source);
    /* One thread alone would wait for the disk; behind the cache, the system reads ahead for it. */
    if (crew->threads > 1 && disk != TN_OS_DISK_NETWORK && file->size >= PAST_CACHE_FROM)
        file->cold = tn_source_read_past_cache(source);
    return TN_OK;
}

static tn_status finish_file(tn_crew_file *file, tn_error *err)
{
    tn_status status = file->status;
    if (status == TN_OK)
        status = tn_pass_finish(&file->pass, &file->digests, err);
    else
        tn_fail_as(&file->error, err);
    tn_pass_close(&file->pass);
    return status;
}

static tn_status read_place(const tn_pass *pass, tn_crew_place *place, tn_error *err)
{
    if (tn_pass_is_looked_at(&place->block))
        return tn_pass_look(pass, &place->block, place->bytes, place->pieces, &place->warm, err);
    return tn_pass_read(pass, &place->block, place->bytes, err);
}

tn_status tn_crew_do(tn_crew *crew, const tn_crew_task *task, tn_error *err)
{
    tn_crew_file *file = task->file;
    tn_crew_place *place = task->place;
    switch (task->kind) {
    case TN_CREW_OPEN: return open_file(crew, file, err);
    case TN_CREW_PREPARE: return tn_pass_prepare(&file->pass, err);
    case TN_CREW_READ: return read_place(&file->pass, place, err);
    case TN_CREW_TAKE: tn_pass_take(&file->pass, task->lane, &place->block, place->bytes); return TN_OK;
    case TN_CREW_PIECE:
        place->pieces[0] = tn_blake3_piece(place->bytes, place->block.size, place->block.at);
        return TN_OK;
    case TN_CREW_FINISH: return finish_file(file, err);
    }
    return TN_OK;
}

/* ---- noting ---- */

static void free_place(tn_crew *crew, tn_crew_place *place)
{
    place->file->held--;
    place->file = NULL;
    crew->free[crew->free_count++] = place;
}

static void note_taken(tn_crew *crew, tn_crew_place *place, tn_lane lane)
{
    place->left &= ~LANE(lane);
    place->file->turn[lane]++;
    if (place->left != 0)
        return;
    place->file->done += place->block.size;
    free_place(crew, place);
}

static tn_crew_place *place_to_push(tn_crew *crew, const tn_crew_file *file)
{
    for (unsigned i = 0; i < crew->place_count; i++) {
        tn_crew_place *place = &crew->places[i];
        if (place->file == file && place->piece_done && place->block.number == file->turn[TN_LANE_BLAKE3])
            return place;
    }
    return NULL;
}

/* Push the piece whose turn it is, and those that have waited for it. */
static void note_piece(tn_crew *crew, tn_crew_place *done)
{
    tn_crew_file *file = done->file;
    done->piece_done = true;
    for (tn_crew_place *place; (place = place_to_push(crew, file)) != NULL;) {
        place->piece_done = false;
        tn_pass_push(&file->pass, &place->block, place->pieces);
        note_taken(crew, place, TN_LANE_BLAKE3);
    }
}

static void note_prepared(tn_crew_file *file)
{
    for (unsigned lane = 0; lane < TN_LANES; lane++)
        file->turn[lane] = tn_pass_first(&file->pass, (tn_lane)lane);
    file->has_next = tn_pass_next(&file->pass, &file->next);
    file->stage = TN_CREW_TO_READ;
}

/* A file that failed ends when its last task has: its blocks are for nobody. */
static void settle(tn_crew *crew, tn_crew_file *file)
{
    if (file->tasks > 0 || file->stage == TN_CREW_ENDED)
        return;
    if (file->status != TN_OK) {
        for (unsigned i = 0; i < crew->place_count; i++)
            if (crew->places[i].file == file)
                free_place(crew, &crew->places[i]);
        file->stage = TN_CREW_TO_FINISH;
    } else if (file->stage == TN_CREW_TO_READ && !file->has_next && file->held == 0) {
        file->stage = TN_CREW_TO_FINISH;
    }
}

/* A file most of which is not in the cache is read from here on as it always is, by one thread, while others hash. */
static void note_read(tn_crew *crew, tn_crew_place *place)
{
    place->is_read = true;
    if (!tn_pass_is_looked_at(&place->block))
        return;
    place->file->warmth += place->warm ? 1 : -1;
    place->file->pass.looks = place->file->pass.looks && place->file->warmth >= 0;
    note_piece(crew, place);
}

static void note_success(tn_crew *crew, const tn_crew_task *task)
{
    tn_crew_file *file = task->file;
    switch (task->kind) {
    case TN_CREW_OPEN: file->stage = TN_CREW_TO_PREPARE; break;
    case TN_CREW_PREPARE: note_prepared(file); break;
    case TN_CREW_READ: note_read(crew, task->place); break;
    case TN_CREW_TAKE: note_taken(crew, task->place, task->lane); break;
    case TN_CREW_PIECE: note_piece(crew, task->place); break;
    case TN_CREW_FINISH: break;
    }
}

void tn_crew_note(tn_crew *crew, const tn_crew_task *task, tn_status status, const tn_error *error)
{
    tn_crew_file *file = task->file;
    file->tasks--;
    if (task->kind == TN_CREW_READ || task->kind == TN_CREW_PREPARE)
        file->reading--;
    if (task->kind == TN_CREW_TAKE)
        file->busy &= ~LANE(task->lane);
    if (status != TN_OK && file->status == TN_OK) {
        file->status = status;
        file->error = *error;
    }
    if (task->kind == TN_CREW_FINISH)
        file->stage = TN_CREW_ENDED;
    else if (file->status == TN_OK)
        note_success(crew, task);
    if (status == TN_CANCELLED || status == TN_FORKED)
        tn_crew_stop(crew, status, error);
    settle(crew, file);
}
