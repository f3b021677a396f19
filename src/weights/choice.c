/* Choosing a way. What is chosen for what stands in choice.h; the numbers were measured (docs/performance.md). */
#include "weights/choice.h"

#include "weights/pieces.h"

#define MUCH ((uint64_t)8 << 20)      /* under this nothing is asked: one read is soon done */
#define VERY_MUCH ((uint64_t)16 << 20) /* from here on a second thread pays for its start */
#define DIRECT_DEPTH 3u /* one copies out while two read: more only wait for each other */
#define NETWORK_DEPTH 16u
#define NETWORK_PIECE ((size_t)1 << 20) /* more of them are under way then, each over sooner */
#define NETWORK_LEAST ((size_t)128 << 10) /* a part that is worth a round trip of its own */
#define PIECE TN_PIECE_BYTES
#define COPY_DEPTH 4u
#define SAMPLES 32u
#define SAMPLE_BYTES ((size_t)4096)

/* ---- the cache ---- */

static const tn_range *range_at(const tn_ranges *ranges, uint64_t *into)
{
    const tn_range *range = ranges->items;
    while (*into >= range->size) {
        *into -= range->size;
        range++;
    }
    return range;
}

/* Whether a tenth of it or more is not in the system's cache: asked at some places, spread evenly. */
static bool is_cold(const tn_ranges *ranges)
{
    unsigned away = 0;
    for (unsigned i = 0; i < SAMPLES; i++) {
        uint64_t into = ranges->bytes / SAMPLES * i;
        const tn_range *range = range_at(ranges, &into);
        uint64_t at = range->offset + into;
        away += !tn_os_is_cached(tn_source_file(ranges->source), at - at % SAMPLE_BYTES, SAMPLE_BYTES);
    }
    return away * 10 >= SAMPLES;
}

/* ---- choosing ---- */

static unsigned limited(const tn_ranges *ranges, const tn_lease_options *options, unsigned depth)
{
    if ((options->flags & TN_LEASE_BACKGROUND) != 0 || tn_source_context(ranges->source)->jobs == 1)
        return 1;
    return depth;
}

static tn_choice plain(const char *reason)
{
    return (tn_choice){.way = TN_WAY_READ, .depth = 1, .piece_bytes = PIECE, .reason = reason};
}

static tn_choice threads(const tn_ranges *ranges, const tn_lease_options *options, unsigned depth, const char *reason)
{
    depth = limited(ranges, options, depth);
    return (tn_choice){
        .way = depth > 1 ? TN_WAY_THREADS : TN_WAY_READ, .depth = depth, .piece_bytes = PIECE, .reason = reason};
}

static tn_choice direct(const tn_ranges *ranges, const tn_lease_options *options, unsigned depth, const char *reason,
                        const char *otherwise)
{
    tn_choice choice = {.way = TN_WAY_DIRECT, .piece_bytes = PIECE, .reason = reason};
    if (tn_os_open_direct(tn_source_file(ranges->source), &choice.direct, NULL) != TN_OK)
        return threads(ranges, options, COPY_DEPTH, otherwise);
    choice.depth = limited(ranges, options, depth);
    return choice;
}

static unsigned direct_depth(tn_os_disk disk)
{
    switch (disk) {
    case TN_OS_DISK_ROTATIONAL: return 1;
    case TN_OS_DISK_NETWORK: return NETWORK_DEPTH;
    case TN_OS_DISK_UNKNOWN:
    case TN_OS_DISK_SOLID: return DIRECT_DEPTH;
    }
    return DIRECT_DEPTH;
}

static tn_choice as_wished(const tn_ranges *ranges, const tn_lease_options *options)
{
    if (options->way == TN_WAY_READ)
        return plain("plain reads were asked for");
    if (options->way == TN_WAY_THREADS)
        return threads(ranges, options, COPY_DEPTH, "reads by several threads were asked for");
    return direct(ranges, options, direct_depth(tn_os_disk_of(tn_source_file(ranges->source))), "direct reads were asked for",
                  "direct reads were asked for, but this file cannot be read past the system's cache");
}

/* A read past the cache is one request there, where one through it is many small ones. */
static tn_choice far(const tn_ranges *ranges, const tn_lease_options *options)
{
    static const char reason[] = "the file lies on a network, where waiting is the cost";
    bool past = ranges->bytes >= MUCH && is_cold(ranges);
    tn_choice choice = past ? direct(ranges, options, NETWORK_DEPTH, reason, reason)
                            : threads(ranges, options, NETWORK_DEPTH, reason);
    uint64_t share = ranges->bytes / NETWORK_DEPTH / NETWORK_LEAST * NETWORK_LEAST;
    choice.piece_bytes = share >= NETWORK_PIECE ? NETWORK_PIECE : share > 0 ? (size_t)share : NETWORK_LEAST;
    choice.far = true;
    return choice;
}

/* What is small is read in one go, except that on a network several parts come in the time of one. Every network is among
 * the file systems whose identities are not trusted, and that is known already. */
static tn_choice small(const tn_ranges *ranges, const tn_lease_options *options)
{
    bool parts = ranges->count > 1 || ranges->bytes >= 2 * NETWORK_LEAST;
    if (parts && tn_source_info(ranges->source)->weak_identity &&
        tn_os_disk_of(tn_source_file(ranges->source)) == TN_OS_DISK_NETWORK)
        return far(ranges, options);
    return plain("it is small");
}

static tn_choice by_what_it_is(const tn_ranges *ranges, const tn_lease_options *options)
{
    tn_os_disk disk = tn_os_disk_of(tn_source_file(ranges->source));
    if (disk == TN_OS_DISK_NETWORK)
        return far(ranges, options);
    if (is_cold(ranges))
        return direct(ranges, options, direct_depth(disk), "the file is on a disk of this machine and not in the system's cache",
                      "the file is not in the system's cache, and cannot be read past it");
    if (ranges->bytes < VERY_MUCH)
        return plain("the file is in the system's cache, and one thread copies it soon");
    unsigned jobs = tn_source_context(ranges->source)->jobs;
    return threads(ranges, options, jobs < COPY_DEPTH ? jobs : COPY_DEPTH, "the file is in the system's cache");
}

tn_choice tn_choose(const tn_ranges *ranges, const tn_lease_options *options)
{
    if (ranges->bytes == 0)
        return (tn_choice){.way = TN_WAY_NONE, .reason = "there are no elements"};
    if (tn_source_bytes(ranges->source) != NULL)
        return (tn_choice){.way = TN_WAY_MEMORY, .depth = 1, .reason = "the checkpoint lies in memory"};
    if (options->way != TN_WAY_AUTOMATIC)
        return as_wished(ranges, options);
    return ranges->bytes < MUCH ? small(ranges, options) : by_what_it_is(ranges, options);
}

void tn_choice_end(tn_choice *choice)
{
    tn_os_close(&choice->direct);
}
