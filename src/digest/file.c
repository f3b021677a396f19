/* The digests of a file, several in one pass (include/tenure/digest.h).
 *
 *   F1  Read is one run, from the first byte that a wanted digest needs to the last, and nothing twice but for the
 *       content hash.
 *   F2  Digests that came from different bytes are never handed out together: after the last read the path must still
 *       lead to the file that was opened, unchanged.
 *   F3  What a file's bytes showed takes from it the digests that need a reader, and no others.
 */
#include <tenure/digest.h>

#include <string.h>

#include <blake3.h>

#include "context/context.h"
#include "core/encode.h"
#include "digest/content.h"
#include "digest/sha256.h"
#include "format/index.h"
#include "format/sniff.h"
#include "io/source.h"

#define BLOCK_BYTES ((size_t)1 << 20)
#define AUTOV1_FROM ((uint64_t)0x100000)
#define AUTOV1_BYTES ((uint64_t)0x10000)
#define OF_WHOLE (TN_DIGEST_BLAKE3 | TN_DIGEST_SHA256 | TN_DIGEST_CRC32 | TN_DIGEST_AUTOV2)
#define OF_READER (TN_DIGEST_AUTOV3 | TN_DIGEST_KEY_HASH | TN_DIGEST_CONTENT)

/* A run of the file's bytes: `from` is the first, `to` the one behind the last. */
typedef struct span {
    uint64_t from, to;
} span;

typedef struct pass {
    tn_context *context;
    tn_source *source;
    tn_checkpoint *checkpoint; /* NULL: not needed, or not to be had */
    uint8_t *block;            /* BLOCK_BYTES */
    uint32_t which;            /* what is wanted and can be had */
    span autov1, autov3;       /* empty where they are not wanted */
    uint64_t content_bytes, done, total;
    tn_digest_progress progress;
    void *user;
    blake3_hasher blake3;
    tn_sha256 sha256, sha256_autov1, sha256_autov3;
    tn_digests found;
} pass;

static bool wants(const pass *p, uint32_t any)
{
    return (p->which & any) != 0;
}

static void told(void *user, size_t bytes)
{
    pass *p = user;
    p->done += bytes;
    if (p->progress != NULL)
        p->progress(p->user, p->done, p->total);
}

/* ---- what can be had ---- */

/* F3: the file's bytes showed `status`, so it has no digests of this kind. */
static void without(pass *p, uint32_t digests, tn_status status)
{
    if (wants(p, digests) && (p->found.absent == TN_OK || p->found.absent == TN_UNSUPPORTED))
        p->found.absent = status;
    p->which &= ~digests;
}

static bool is_shown_by_bytes(tn_status status)
{
    const char *state = tn_status_state(status);
    return state[0] != '\0' && strcmp(state, "unreadable") != 0;
}

/* The same for a call that failed; a failure that the file's bytes did not show ends the work. */
static tn_status without_or_fail(pass *p, uint32_t digests, const tn_error *why, tn_error *err)
{
    if (is_shown_by_bytes(why->status)) {
        without(p, digests, why->status);
        return TN_OK;
    }
    return tn_fail_as(why, err);
}

static tn_status open_reader(pass *p, const char *path, tn_error *err)
{
    tn_open_options options = {sizeof options, true};
    tn_error why;
    if (tn_name_is_index(tn_name_of_path(path)))
        without(p, OF_READER, TN_UNSUPPORTED);
    else if (tn_checkpoint_open(p->context, path, &options, &p->checkpoint, &why) != TN_OK)
        return without_or_fail(p, OF_READER, &why, err);
    return TN_OK;
}

static tn_status prepare_reader(pass *p, tn_error *err)
{
    const tn_part *parts;
    tn_error why;
    if (p->checkpoint == NULL)
        return TN_OK;
    tn_checkpoint_parts(p->checkpoint, &parts);
    if (tn_checkpoint_container(p->checkpoint) != TN_CONTAINER_SAFETENSORS)
        without(p, TN_DIGEST_AUTOV3, TN_UNSUPPORTED);
    if (wants(p, TN_DIGEST_AUTOV3))
        p->autov3 = (span){parts[0].header_bytes, tn_source_size(p->source)};
    if (wants(p, TN_DIGEST_CONTENT) && tn_content_measure(p->checkpoint, &p->content_bytes, &why) != TN_OK)
        return without_or_fail(p, TN_DIGEST_CONTENT, &why, err);
    return TN_OK;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* ---- the pass ---- */

/* F1: from the first byte to the last that a digest needs. */
static span needed(const pass *p)
{
    const span one = p->autov1, other = p->autov3;
    if (wants(p, OF_WHOLE))
        return (span){0, tn_source_size(p->source)};
    if (one.from >= one.to || other.from >= other.to)
        return one.from < one.to ? one : other;
    return (span){least(one.from, other.from), one.to > other.to ? one.to : other.to};
}

/* Hash those bytes of the block at `at` that lie in the span. */
static void take_within(tn_sha256 *sha256, span within, const uint8_t *block, span at)
{
    uint64_t from = within.from > at.from ? within.from : at.from, to = least(within.to, at.to);
    if (from < to)
        tn_sha256_add(sha256, block + (from - at.from), (size_t)(to - from));
}

static void take_block(pass *p, span at)
{
    size_t size = (size_t)(at.to - at.from);
    if (wants(p, TN_DIGEST_BLAKE3))
        blake3_hasher_update(&p->blake3, p->block, size);
    if (wants(p, TN_DIGEST_SHA256 | TN_DIGEST_AUTOV2))
        tn_sha256_add(&p->sha256, p->block, size);
    if (wants(p, TN_DIGEST_CRC32))
        p->found.crc32 = tn_crc32(p->found.crc32, p->block, size);
    take_within(&p->sha256_autov1, p->autov1, p->block, at);
    take_within(&p->sha256_autov3, p->autov3, p->block, at);
}

static tn_status take_span(pass *p, span run, tn_error *err)
{
    while (run.from < run.to) {
        span at = {run.from, run.from + least(run.to - run.from, BLOCK_BYTES)};
        TN_TRY(tn_source_read(p->source, at.from, p->block, (size_t)(at.to - at.from), err));
        take_block(p, at);
        told(p, (size_t)(at.to - at.from));
        run.from = at.to;
    }
    return TN_OK;
}

static tn_status take_content(pass *p, tn_error *err)
{
    tn_content content = {p->source, p->checkpoint, p->block, BLOCK_BYTES, told, p};
    return tn_content_hash(&content, p->found.content, err);
}

static tn_status take_all(pass *p, tn_error *err)
{
    span run = needed(p);
    p->total = run.to - run.from + p->content_bytes;
    TN_TRY(take_span(p, run, err));
    if (wants(p, TN_DIGEST_KEY_HASH))
        TN_TRY(tn_digest_key_hash(p->context, p->checkpoint, p->found.key_hash, err));
    if (wants(p, TN_DIGEST_CONTENT))
        TN_TRY(take_content(p, err));
    return tn_source_check(p->source, err); /* F2 */
}

/* ---- the answer ---- */

/* The first digits of a digest. */
static void shorten(const uint8_t digest[32], char *out, size_t digits)
{
    char hex[65];
    tn_hex(digest, 32, hex);
    memcpy(out, hex, digits);
    out[digits] = '\0';
}

static void finish_short(pass *p, uint32_t digest, tn_sha256 *sha256, char *out, size_t digits)
{
    uint8_t whole[32];
    if (!wants(p, digest))
        return;
    tn_sha256_end(sha256, whole);
    shorten(whole, out, digits);
}

static void finish(pass *p, tn_digests *out)
{
    tn_digests *found = &p->found;
    found->have = p->which;
    found->size_bytes = tn_source_size(p->source);
    if (wants(p, TN_DIGEST_BLAKE3))
        blake3_hasher_finalize(&p->blake3, found->blake3, sizeof found->blake3);
    if (wants(p, TN_DIGEST_SHA256 | TN_DIGEST_AUTOV2))
        tn_sha256_end(&p->sha256, found->sha256);
    if (wants(p, TN_DIGEST_AUTOV2))
        shorten(found->sha256, found->autov2, sizeof found->autov2 - 1);
    finish_short(p, TN_DIGEST_AUTOV1, &p->sha256_autov1, found->autov1, sizeof found->autov1 - 1);
    finish_short(p, TN_DIGEST_AUTOV3, &p->sha256_autov3, found->autov3, sizeof found->autov3 - 1);
    *out = *found;
}

static void begin(pass *p)
{
    uint64_t size = tn_source_size(p->source);
    if (wants(p, TN_DIGEST_AUTOV1))
        p->autov1 = (span){least(size, AUTOV1_FROM), least(size, AUTOV1_FROM + AUTOV1_BYTES)};
    blake3_hasher_init(&p->blake3);
    tn_sha256_begin(&p->sha256);
    tn_sha256_begin(&p->sha256_autov1);
    tn_sha256_begin(&p->sha256_autov3);
}

/* With the file open and the block taken. */
static tn_status digest_open(pass *p, const char *path, tn_error *err)
{
    begin(p);
    if (wants(p, OF_READER))
        TN_TRY(open_reader(p, path, err));
    TN_TRY(prepare_reader(p, err));
    return take_all(p, err);
}

tn_status tn_digest_file(tn_context *context, const char *path, uint32_t which, tn_digest_progress progress,
                         void *user, tn_digests *out, tn_error *err)
{
    if (context == NULL || path == NULL || out == NULL || which == 0 || (which & ~TN_DIGEST_ALL) != 0)
        return tn_fail(err, TN_INVALID, "digests are taken with a context, a path, at least one of TN_DIGEST_* and a "
                                        "place for them");
    pass p = {.context = context, .which = which, .progress = progress, .user = user};
    TN_TRY(tn_source_open(context, path, &p.source, err));
    void *block = NULL;
    tn_status status = tn_take(&context->memory, BLOCK_BYTES, &block, err);
    p.block = block;
    if (status == TN_OK)
        status = digest_open(&p, path, err);
    if (status == TN_OK)
        finish(&p, out);
    tn_checkpoint_release(p.checkpoint);
    tn_give(&context->memory, p.block, p.block != NULL ? BLOCK_BYTES : 0);
    tn_source_release(p.source);
    return status;
}
