/* The disks that a power cut may leave: which steps are durable, which of the others are there, and what that makes. */
#include "support/check.h"
#include "support/library_posix_power.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digest/pieces.h"

#define SECTOR 512

/* ---- chance, the same every time ---- */

/* splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t draw(uint64_t *seed)
{
    uint64_t z = *seed += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static bool one_in(uint64_t *seed, uint64_t times)
{
    return draw(seed) % times == 0;
}

/* ---- what a step is about ---- */

static bool is_of_names(const power_step *step)
{
    return step->kind == STEP_CREATE || step->kind == STEP_RENAME || step->kind == STEP_LINK ||
           step->kind == STEP_REMOVE || step->kind == STEP_MAKE_FOLDER || step->kind == STEP_REMOVE_FOLDER;
}

static bool is_of_bytes(const power_step *step)
{
    return step->kind == STEP_WRITE || step->kind == STEP_RESIZE || step->kind == STEP_TIME;
}

/* The name that a step makes or takes away. */
static const char *name_of(const power_step *step)
{
    return step->to != NULL ? step->to : step->path;
}

/* The same name, or one below the other: a folder that is renamed takes all in it along. */
static bool same_name(const char *a, const char *b)
{
    size_t size = strlen(a), other = strlen(b), least = size < other ? size : other;
    if (strncmp(a, b, least) != 0)
        return false;
    return size == other || (size < other ? b : a)[least] == '/';
}

static bool share_a_name(const power_step *a, const power_step *b)
{
    return same_name(a->path, b->path) || (a->to != NULL && same_name(a->to, b->path)) ||
           (b->to != NULL && same_name(a->path, b->to)) || (a->to != NULL && b->to != NULL && same_name(a->to, b->to));
}

/* A folder that was made and what was made in it share a name, but the one does not carry the other with it. */
static bool carries(const power_step *later, const power_step *earlier)
{
    return share_a_name(later, earlier) && !(earlier->kind == STEP_MAKE_FOLDER && strcmp(earlier->path, later->path) != 0);
}

static bool is_in_folder(const char *path, const char *folder)
{
    size_t size = strlen(folder);
    return strncmp(path, folder, size) == 0 && path[size] == '/' && strchr(path + size + 1, '/') == NULL;
}

/* ---- what is durable ---- */

static bool makes_durable(const power_step *sync, const power_step *step, power_model model)
{
    if (sync->kind != STEP_SYNC && sync->kind != STEP_SYNC_FOLDER)
        return false;
    if (is_of_bytes(step))
        return sync->kind == STEP_SYNC && sync->node == step->node;
    if (model == POWER_ORDERED)
        return true;
    return sync->kind == STEP_SYNC_FOLDER && is_in_folder(name_of(step), sync->path);
}

/* A durable step cannot be there without those before it that are about the same name. */
static void carry_back(const power_log *log, size_t *durable)
{
    for (size_t i = log->count; i-- > 0;) {
        if (!is_of_names(&log->steps[i]))
            continue;
        for (size_t j = i + 1; j < log->count; j++)
            if (is_of_names(&log->steps[j]) && durable[j] < durable[i] && carries(&log->steps[j], &log->steps[i]))
                durable[i] = durable[j];
    }
}

size_t *power_durable(const power_log *log, power_model model)
{
    size_t *durable = malloc((log->count + 1) * sizeof *durable);
    assert_non_null(durable);
    for (size_t i = 0; i < log->count; i++) {
        const power_step *step = &log->steps[i];
        durable[i] = SIZE_MAX;
        if (model == POWER_STRICT)
            durable[i] = i;
        else if (is_of_names(step) || is_of_bytes(step))
            for (size_t j = i + 1; j < log->count && durable[i] == SIZE_MAX; j++)
                if (makes_durable(&log->steps[j], step, model))
                    durable[i] = j;
    }
    carry_back(log, durable);
    return durable;
}

/* ---- what is there ---- */

enum { DROPPED, THERE, TORN };

typedef struct chance {
    const power_log *log;
    const size_t *durable;
    const power_cut *cut;
    uint64_t seed;
    uint8_t *kept;
} chance;

static bool is_durable(const chance *c, size_t step)
{
    return c->durable[step] < c->cut->at;
}

/* P4 for a name: whether one before it that it needs is not there. */
static bool lacks_one_before(const chance *c, size_t step)
{
    for (size_t i = 0; i < step; i++)
        if (c->kept[i] == DROPPED && is_of_names(&c->log->steps[i]) &&
            share_a_name(&c->log->steps[i], &c->log->steps[step]))
            return true;
    return false;
}

static void decide_names(chance *c)
{
    bool stopped = false; /* of an ordered journal */
    uint64_t keep = 1 + draw(&c->seed) % 4;
    for (size_t i = 0; i < c->cut->at; i++) {
        if (!is_of_names(&c->log->steps[i]))
            continue;
        bool there = is_durable(c, i) || c->cut->fate == POWER_ALL;
        if (!there && c->cut->fate == POWER_SOME && !stopped)
            there = draw(&c->seed) % 4 < keep;
        stopped = c->cut->model == POWER_ORDERED && !there;
        c->kept[i] = there && !lacks_one_before(c, i) ? THERE : DROPPED;
    }
}

static uint8_t draw_write(chance *c, const power_step *step, uint64_t keep)
{
    if (draw(&c->seed) % 4 >= keep)
        return DROPPED;
    return step->kind == STEP_WRITE && step->size > SECTOR && one_in(&c->seed, 4) ? TORN : THERE;
}

static void decide_bytes(chance *c)
{
    uint64_t keep = draw(&c->seed) % 5;
    /* In an ordered file system what follows the first bytes that are not there is not there either. */
    bool *ended = calloc(c->log->node_count + 1, sizeof *ended);
    assert_non_null(ended);
    for (size_t i = 0; i < c->cut->at; i++) {
        const power_step *step = &c->log->steps[i];
        if (!is_of_bytes(step))
            continue;
        c->kept[i] = is_durable(c, i) || c->cut->fate == POWER_ALL ? THERE : DROPPED;
        if (c->kept[i] == DROPPED && c->cut->fate == POWER_SOME)
            c->kept[i] = draw_write(c, step, keep);
        if (c->cut->model == POWER_ORDERED && ended[step->node])
            c->kept[i] = DROPPED;
        ended[step->node] = ended[step->node] || c->kept[i] != THERE;
    }
    free(ended);
    /* The last write of all may be torn in every model. */
    size_t last = c->cut->at;
    if (c->cut->fate == POWER_SOME && last > 0 && c->log->steps[last - 1].kind == STEP_WRITE && one_in(&c->seed, 2))
        c->kept[last - 1] = TORN;
}

/* ---- bytes ---- */

static void make_room(power_bytes *b, size_t size)
{
    if (size <= b->capacity)
        return;
    b->capacity = size > 2 * b->capacity ? size : 2 * b->capacity;
    b->bytes = realloc(b->bytes, b->capacity);
    assert_non_null(b->bytes);
}

static void set_size(power_bytes *b, size_t size)
{
    make_room(b, size);
    if (size > b->size)
        memset(b->bytes + b->size, 0, size - b->size);
    b->size = size;
}

static void put_bytes(power_bytes *b, const uint8_t *bytes, size_t offset, size_t size)
{
    if (offset + size > b->size)
        set_size(b, offset + size);
    if (size > 0)
        memcpy(b->bytes + offset, bytes, size);
}

/* Some sectors of a write. What is not there of a new part of the file may be anything. */
static void put_torn(power_bytes *b, const power_step *step, uint64_t *seed)
{
    bool garbage = one_in(seed, 2);
    for (size_t at = 0; at < step->size; at += SECTOR) {
        size_t size = step->size - at < SECTOR ? (size_t)step->size - at : SECTOR;
        if (one_in(seed, 2)) {
            put_bytes(b, step->bytes + at, (size_t)step->offset + at, size);
        } else if (garbage && (size_t)step->offset + at >= b->size) {
            set_size(b, (size_t)step->offset + at + size);
            memset(b->bytes + step->offset + at, 0xa5, size);
        }
    }
}

static void apply_bytes(const power_log *log, size_t at, uint64_t seed, power_disk *out)
{
    for (size_t i = 0; i < at; i++) {
        const power_step *step = &log->steps[i];
        if (!is_of_bytes(step) || out->kept[i] == DROPPED)
            continue;
        power_bytes *b = &out->nodes[step->node];
        if (step->kind == STEP_TIME)
            out->times[step->node] = step->time;
        else if (step->kind == STEP_RESIZE)
            set_size(b, (size_t)step->size);
        else if (out->kept[i] == TORN)
            put_torn(b, step, &seed);
        else
            put_bytes(b, step->bytes, (size_t)step->offset, (size_t)step->size);
    }
}

/* ---- names ---- */

static bool has_folder(const power_log *log, power_names *names, const char *path)
{
    char folder[2048];
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = '\0';
    if (strcmp(folder, log->root) == 0)
        return true;
    const power_name *found = power_find(names, folder);
    return found != NULL && log->nodes[found->node].folder;
}

/* What is in a folder that is not there is not there. */
static void apply_name(const power_log *log, const power_step *step, power_names *names)
{
    if (step->kind == STEP_REMOVE || step->kind == STEP_REMOVE_FOLDER) {
        power_drop(names, step->path);
        return;
    }
    if (!has_folder(log, names, name_of(step)) || (step->to == NULL && power_find(names, step->path) != NULL))
        return;
    power_name *from = step->to != NULL ? power_find(names, step->path) : NULL;
    if (step->kind == STEP_CREATE || step->kind == STEP_MAKE_FOLDER)
        power_add(names, step->path, step->node);
    else if (step->kind == STEP_RENAME && from != NULL)
        power_move(names, step->path, step->to);
    else if (step->kind == STEP_LINK && from != NULL)
        power_add(names, step->to, from->node);
}

static void take_digest(const power_log *log, power_disk *disk)
{
    tn_text *pieces = calloc(4 * disk->names.count + 1, sizeof *pieces);
    assert_non_null(pieces);
    for (size_t i = 0; i < disk->names.count; i++) {
        const power_name *name = &disk->names.items[i];
        pieces[4 * i] = (tn_text){name->path, strlen(name->path) + 1};
        pieces[4 * i + 1] = (tn_text){(const char *)&name->node, sizeof name->node};
        if (log->nodes[name->node].folder)
            continue;
        const power_bytes *b = &disk->nodes[name->node];
        pieces[4 * i + 1] = (tn_text){(const char *)&b->size, sizeof b->size};
        pieces[4 * i + 2] = (tn_text){(const char *)b->bytes, b->size};
        pieces[4 * i + 3] = (tn_text){(const char *)&disk->times[name->node], sizeof disk->times[0]};
    }
    tn_blake3_pieces(pieces, 4 * disk->names.count, disk->digest);
    free(pieces);
}

/* ---- all together ---- */

static void start_from(const power_log *log, power_disk *out)
{
    *out = (power_disk){.node_count = log->node_count};
    out->nodes = calloc(log->node_count + 1, sizeof *out->nodes);
    out->kept = calloc(log->count + 1, 1);
    out->times = calloc(log->node_count + 1, sizeof *out->times);
    assert_true(out->nodes != NULL && out->kept != NULL && out->times != NULL);
    for (size_t i = 0; i < log->node_count; i++)
        put_bytes(&out->nodes[i], log->nodes[i].bytes != NULL ? log->nodes[i].bytes : (const uint8_t *)"", 0,
                  log->nodes[i].size);
    for (size_t i = 0; i < log->node_count; i++)
        out->times[i] = log->nodes[i].mtime;
    /* A file that was given a time had another before. */
    for (size_t i = 0; i < log->count; i++)
        if (log->steps[i].kind == STEP_TIME)
            out->times[log->steps[i].node].tv_sec += 7;
    power_copy_names(&out->names, &log->names);
}

void power_make(const power_log *log, const size_t *durable, const power_cut *cut, power_disk *out)
{
    start_from(log, out);
    chance c = {log, durable, cut, cut->seed, out->kept};
    decide_names(&c);
    decide_bytes(&c);
    for (size_t i = 0; i < cut->at; i++)
        if (is_of_names(&log->steps[i]) && out->kept[i] != DROPPED)
            apply_name(log, &log->steps[i], &out->names);
    apply_bytes(log, cut->at, c.seed, out);
    take_digest(log, out);
}

void power_free_disk(power_disk *disk)
{
    for (size_t i = 0; i < disk->node_count; i++)
        free(disk->nodes[i].bytes);
    free(disk->nodes);
    free(disk->kept);
    free(disk->times);
    power_free_names(&disk->names);
    *disk = (power_disk){0};
}

bool power_promised(const power_log *log, size_t at, const char *promise)
{
    for (size_t i = 0; i < at; i++)
        if (log->steps[i].kind == STEP_MARK && strcmp(log->steps[i].path, promise) == 0)
            return true;
    return false;
}
