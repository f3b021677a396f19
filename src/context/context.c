/* Making a context, and what every call under it asks. Contracts: include/tenure/context.h and context.h.
 *
 * The context itself is taken from its allocator but not charged, so that a budget at rest stands at zero.
 */
#include "context/context.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/map.h"
#include "core/utf8.h"

#define JOBS_BY_DEFAULT 8
#define LOG_LINE_MAX 2048
#define MEASURE_KEPT_NS ((uint64_t)100 * 1000 * 1000)
#define MEASURE_SMALL_BYTES ((uint64_t)1 << 20) /* a charge under this is never worth a fresh measure */
#define MEASURE_SMALL_SHARE 64                  /* nor one under this part of what is left */

const char *tn_version(void)
{
    return TN_VERSION;
}

/* ---- the measured limit ---- */

/* 80 % of what could be had if nothing of ours were charged. */
static uint64_t limit_from(uint64_t left, uint64_t used)
{
    uint64_t all;
    if (left == TN_NONE || tn_add_overflows(left, used, &all))
        return TN_NONE;
    return all / 5 * 4;
}

static bool is_fresh(const tn_context *context, uint64_t now)
{
    uint64_t at = atomic_load_explicit(&context->measured_at_ns, memory_order_acquire);
    return at != 0 && now - at < MEASURE_KEPT_NS;
}

static bool is_small(uint64_t wanted, uint64_t used, uint64_t limit)
{
    return wanted < MEASURE_SMALL_BYTES || (limit > used && wanted < (limit - used) / MEASURE_SMALL_SHARE);
}

static uint64_t measure(void *user, uint64_t used, uint64_t wanted)
{
    tn_context *context = user;
    uint64_t now = tn_os_monotonic_ns();
    if (is_fresh(context, now)) {
        uint64_t kept = atomic_load_explicit(&context->measured_limit, memory_order_relaxed);
        if (is_small(wanted, used, kept))
            return kept;
    }
    uint64_t kept = tn_pool_kept(&context->pool); /* may be offered to the system, which counts it as to be had */
    uint64_t limit = limit_from(tn_os_memory_left(), used > kept ? used - kept : 0);
    atomic_store_explicit(&context->measured_limit, limit, memory_order_relaxed);
    atomic_store_explicit(&context->measured_at_ns, now, memory_order_release);
    return limit;
}

/* ---- birth and end ---- */

/* Options of an older or newer program: what it does not have is zero, what it has beyond ours must be. */
static tn_status read_options(const tn_context_options *given, tn_context_options *out, tn_error *err)
{
    *out = (tn_context_options){.size = sizeof *out};
    if (given == NULL)
        return TN_OK;
    if (given->size < sizeof given->size)
        return tn_fail(err, TN_INVALID, "the options of a context must begin with their size");
    const char *bytes = (const char *)given;
    for (size_t i = sizeof *out; i < given->size; i++) {
        if (bytes[i] != 0)
            return tn_fail(err, TN_INVALID, "the options of a context hold something this version does not know");
    }
    memcpy(out, given, given->size < sizeof *out ? given->size : sizeof *out);
    if (out->jobs > TN_JOBS_MAX) {
        tn_fail(err, TN_LIMIT, "%u worker threads were asked for, at most %u can be", out->jobs, (unsigned)TN_JOBS_MAX);
        tn_error_amounts(err, TN_JOBS_MAX, out->jobs);
        return TN_LIMIT;
    }
    return TN_OK;
}

static unsigned jobs_from(unsigned wanted)
{
    if (wanted != 0)
        return wanted;
    unsigned cores = tn_os_cores();
    return cores < JOBS_BY_DEFAULT ? cores : JOBS_BY_DEFAULT;
}

static void seed_maps(void)
{
    uint64_t seed;
    tn_os_random(&seed, sizeof seed);
    tn_map_seed_process(seed);
}

static void fill(tn_context *context, const tn_context_options *options)
{
    tn_budget_init(&context->budget, options->memory_limit_bytes);
    if (options->memory_limit_bytes == 0) {
        context->budget.measure = measure;
        context->budget.user = context;
    }
    tn_recycler_init(&context->recycler);
    bool given = options->allocator.resize != NULL;
    context->memory.allocator = given ? options->allocator : tn_recycler_allocator(&context->recycler);
    context->memory.budget = &context->budget;
    tn_pool_init(&context->pool, &context->memory, options->keep_bytes, given);
    context->budget.reclaim = tn_pool_reclaim;
    context->budget.reclaim_user = &context->pool;
    atomic_init(&context->holds, 1);
    atomic_init(&context->foreground, 0);
    context->jobs = jobs_from(options->jobs);
    context->process_id = tn_os_process_id();
    atomic_init(&context->bytes_read, 0);
    atomic_init(&context->cancelled, false);
    context->log = options->log;
    context->log_user = options->log_user;
    context->log_level = options->log_level;
    atomic_init(&context->measured_at_ns, 0);
    atomic_init(&context->measured_limit, 0);
}

tn_status tn_context_create(const tn_context_options *options, tn_context **out, tn_error *err)
{
    tn_context_options read;
    TN_TRY(read_options(options, &read, err));
    tn_allocator allocator = read.allocator.resize != NULL ? read.allocator : tn_allocator_system();
    tn_context *context = allocator.resize(allocator.user, NULL, 0, sizeof *context);
    if (context == NULL)
        return tn_fail(err, TN_NO_MEMORY, "there is no memory for a context");
    fill(context, &read);
    seed_maps();
    *out = context;
    return TN_OK;
}

bool tn_context_is_here(const tn_context *context)
{
    return context->process_id == tn_os_process_id();
}

void tn_context_hold(tn_context *context)
{
    atomic_fetch_add_explicit(&context->holds, 1, memory_order_relaxed);
}

void tn_context_drop(tn_context *context)
{
    if (atomic_fetch_sub_explicit(&context->holds, 1, memory_order_acq_rel) > 1)
        return;
    tn_allocator allocator = context->memory.allocator;
    if (allocator.user == &context->recycler) {
        tn_recycler_empty(&context->recycler);
        allocator = tn_allocator_system();
    }
    allocator.resize(allocator.user, context, sizeof *context, 0);
}

void tn_context_destroy(tn_context *context)
{
    if (context == NULL)
        return;
    if (tn_context_is_here(context))
        tn_pool_close(&context->pool);
    tn_context_drop(context);
}

void tn_context_trim(tn_context *context)
{
    if (tn_context_is_here(context))
        (void)tn_pool_reclaim(&context->pool);
}

/* ---- what it stands at ---- */

tn_memory tn_context_memory(const tn_context *context)
{
    /* Measuring refreshes the kept measure, which no caller can see: the context is const to them all the same. */
    tn_budget *budget = (tn_budget *)&context->budget;
    uint64_t kept = tn_pool_kept(&context->pool), used = atomic_load(&budget->used);
    return (tn_memory){
        .used_bytes = used > kept ? used - kept : 0,
        .kept_bytes = kept,
        .high_water_bytes = atomic_load(&budget->high_water),
        .limit_bytes = tn_budget_limit(budget),
        .refused = atomic_load(&budget->refused),
    };
}

uint64_t tn_context_bytes_read(const tn_context *context)
{
    return atomic_load_explicit(&context->bytes_read, memory_order_relaxed);
}

void tn_context_cancel(tn_context *context)
{
    atomic_store(&context->cancelled, true);
}

void tn_context_resume(tn_context *context)
{
    atomic_store(&context->cancelled, false);
}

bool tn_context_cancelled(const tn_context *context)
{
    return atomic_load(&context->cancelled);
}

tn_status tn_context_check(tn_context *context, tn_error *err)
{
    if (!tn_context_is_here(context))
        return tn_fail(err, TN_FORKED, "%s", tn_status_text(TN_FORKED));
    if (tn_context_cancelled(context))
        return tn_fail(err, TN_CANCELLED, "%s", tn_status_text(TN_CANCELLED));
    return TN_OK;
}

/* ---- log ---- */

/* A message may hold names from anywhere: bytes that are not UTF-8 become '?'. */
static void make_valid(char *text)
{
    size_t size = strlen(text);
    size_t at = 0;
    for (;;) {
        at += tn_utf8_valid_prefix(text + at, size - at);
        if (at == size)
            return;
        text[at++] = '?';
    }
}

void tn_context_log(tn_context *context, tn_log_level level, const char *format, ...)
{
    if (context->log == NULL || level > context->log_level)
        return;
    char line[LOG_LINE_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    make_valid(line);
    context->log(context->log_user, level, line);
}
