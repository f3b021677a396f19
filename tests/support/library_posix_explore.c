/* Disk after disk: which are tried, and what is told of the first that is wrong. */
#include "support/check.h"
#include "support/library_posix_power.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEED 20240229u
#define STEPS_TOLD 6

/* ---- effort ---- */

power_effort power_effort_now(void)
{
    if (getenv("TENURE_SOAK") != NULL)
        return (power_effort){.cuts = 0, .draws = 4, .again = 6};
    if (getenv("TENURE_SANITIZED") != NULL)
        return (power_effort){.cuts = 12, .draws = 1, .again = 1};
    return (power_effort){.cuts = 60, .draws = 2, .again = 3};
}

/* ---- disks that were tried ---- */

typedef struct tried {
    uint64_t *keys; /* 0: free */
    size_t count, capacity;
} tried;

static bool put_key(tried *t, uint64_t key)
{
    size_t at = (size_t)key & (t->capacity - 1);
    while (t->keys[at] != 0 && t->keys[at] != key)
        at = (at + 1) & (t->capacity - 1);
    bool fresh = t->keys[at] == 0;
    t->keys[at] = key;
    return fresh;
}

static bool is_new(tried *t, uint64_t key)
{
    if (2 * t->count >= t->capacity) {
        tried larger = {.count = t->count, .capacity = t->capacity == 0 ? 1024 : 2 * t->capacity};
        larger.keys = calloc(larger.capacity, sizeof *larger.keys);
        assert_non_null(larger.keys);
        for (size_t i = 0; i < t->capacity; i++)
            if (t->keys[i] != 0)
                put_key(&larger, t->keys[i]);
        free(t->keys);
        *t = larger;
    }
    bool fresh = put_key(t, key);
    t->count += fresh;
    return fresh;
}

/* The same disk is another matter after one more promise. */
static uint64_t key_of(const power_log *log, const power_disk *disk, size_t at)
{
    uint64_t key, promises = 0;
    memcpy(&key, disk->digest, sizeof key);
    for (size_t i = 0; i < at; i++)
        promises += log->steps[i].kind == STEP_MARK;
    return (key ^ promises) | 1;
}

/* ---- what is wrong ---- */

static char wrong[1024];

void power_wrong(const char *format, ...)
{
    if (wrong[0] != '\0')
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(wrong, sizeof wrong, format, arguments);
    va_end(arguments);
}

static void tell_step(const power_log *log, const power_disk *disk, size_t step, char *out, size_t size)
{
    static const char *const words[] = {"lost", "kept", "torn"};
    char text[400];
    power_describe(log, step, text, sizeof text);
    size_t used = strlen(out);
    bool can_be_lost = log->steps[step].kind != STEP_SYNC && log->steps[step].kind != STEP_SYNC_FOLDER &&
                       log->steps[step].kind != STEP_MARK;
    snprintf(out + used, size - used, "\n      %4zu %s%s%s", step, text, can_be_lost ? ": " : "",
             can_be_lost ? words[disk->kept[step]] : "");
}

static void tell(const power_log *log, const power_cut *cut, const power_disk *disk, char *out, size_t size)
{
    static const char *const models[] = {"least", "ordered", "strict"}, *const fates[] = {"all", "nothing", "some"};
    snprintf(out, size, "%s\n    cut at %zu of %zu, model %s, of what was not synced %s (seed %llu), after", wrong,
             cut->at, log->count, models[cut->model], fates[cut->fate], (unsigned long long)cut->seed);
    for (size_t i = cut->at > STEPS_TOLD ? cut->at - STEPS_TOLD : 0; i < cut->at; i++)
        tell_step(log, disk, i, out, size);
}

/* ---- one disk ---- */

typedef struct exploration {
    power_log *log;
    void (*check)(const power_log *log, size_t at);
    size_t *durable[POWER_MODEL_COUNT];
    tried tried;
    power_report *report;
} exploration;

static void try_one(exploration *e, power_cut cut)
{
    power_disk disk;
    power_make(e->log, e->durable[cut.model], &cut, &disk);
    e->report->disks++;
    if (is_new(&e->tried, key_of(e->log, &disk, cut.at))) {
        e->report->different++;
        power_lay(e->log, &disk);
        wrong[0] = '\0';
        power_guard(e->log);
        e->check(e->log, cut.at);
        power_guard(NULL);
        if (wrong[0] != '\0' && e->report->wrong++ == 0)
            tell(e->log, &cut, &disk, e->report->first, sizeof e->report->first);
    }
    power_free_disk(&disk);
}

static void try_cut(exploration *e, size_t at, unsigned draws)
{
    uint64_t seed = SEED + 1000 * (uint64_t)at;
    try_one(e, (power_cut){POWER_STRICT, POWER_ALL, at, seed});
    try_one(e, (power_cut){POWER_STRICT, POWER_SOME, at, seed + 1});
    for (int model = POWER_LEAST; model <= POWER_ORDERED; model++) {
        try_one(e, (power_cut){(power_model)model, POWER_NOTHING, at, seed});
        for (unsigned i = 0; i < draws; i++)
            try_one(e, (power_cut){(power_model)model, POWER_SOME, at, seed + 10 * (unsigned)model + 2 + i});
    }
}

/* ---- all of them ---- */

static size_t common_divisor(size_t a, size_t b)
{
    while (b != 0) {
        size_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Spread evenly, the first and the last among them, and not in their order (a fault is met sooner); the same every
 * time. */
static size_t cut_point(size_t number, size_t cuts, size_t steps)
{
    if (cuts < 2)
        return steps;
    size_t stride = cuts * 5 / 8 + 1;
    while (common_divisor(stride, cuts) != 1)
        stride++;
    return number * stride % cuts * steps / (cuts - 1);
}

void power_explore(power_log *log, void (*check)(const power_log *log, size_t at), power_effort effort,
                   power_report *out)
{
    exploration e = {.log = log, .check = check, .report = out};
    *out = (power_report){.steps = log->count};
    for (int model = 0; model < POWER_MODEL_COUNT; model++)
        e.durable[model] = power_durable(log, (power_model)model);
    size_t all = log->count + 1, cuts = effort.cuts == 0 || effort.cuts > all ? all : effort.cuts;
    for (size_t i = 0; i < cuts && !(effort.stop_at_wrong && out->wrong > 0); i++) {
        try_cut(&e, cut_point(i, cuts, log->count), effort.draws);
        out->cuts++;
    }
    for (int model = 0; model < POWER_MODEL_COUNT; model++)
        free(e.durable[model]);
    free(e.tried.keys);
}

void power_look(power_log *log, void (*check)(const power_log *log, size_t at), power_report *out)
{
    exploration e = {.log = log, .check = check, .report = out};
    *out = (power_report){.steps = log->count};
    e.durable[POWER_STRICT] = power_durable(log, POWER_STRICT);
    try_one(&e, (power_cut){POWER_STRICT, POWER_ALL, log->count, SEED});
    free(e.durable[POWER_STRICT]);
    free(e.tried.keys);
}

size_t power_lose(power_log *log, bool (*lost)(const power_step *step))
{
    size_t count = 0;
    for (size_t i = 0; i < log->count; i++) {
        power_step *step = &log->steps[i];
        if ((step->kind != STEP_SYNC && step->kind != STEP_SYNC_FOLDER) || !lost(step))
            continue;
        step->kind = STEP_MARK; /* a promise that nobody asks about */
        count++;
    }
    return count;
}
