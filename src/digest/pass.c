/* P1 to P4 stand in pass.h. Blocks lie on the multiples of their size, so that they are pieces of BLAKE3's tree and can
 * be read past the system's cache. */
#include "digest/pass.h"

#include <assert.h>
#include <string.h>

#include "core/encode.h"
#include "format/index.h"
#include "format/sniff.h"

#define AUTOV1_FROM ((uint64_t)0x100000)
#define AUTOV1_BYTES ((uint64_t)0x10000)
#define OF_WHOLE (TN_DIGEST_BLAKE3 | TN_DIGEST_SHA256 | TN_DIGEST_CRC32 | TN_DIGEST_AUTOV2)
#define OF_READER (TN_DIGEST_AUTOV3 | TN_DIGEST_KEY_HASH | TN_DIGEST_CONTENT)
#define LANE(lane) (1u << (lane))

static bool wants(const tn_pass *p, uint32_t any)
{
    return (p->which & any) != 0;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static bool is_empty(tn_span span)
{
    return span.from >= span.to;
}

/* The least span that holds both. */
static tn_span spanning(tn_span a, tn_span b)
{
    if (is_empty(a))
        return b;
    return is_empty(b) ? a : (tn_span){least(a.from, b.from), most(a.to, b.to)};
}

/* ---- what can be had ---- */

/* P3: the file's bytes showed `status`, so it has no digests of this kind. */
static void without(tn_pass *p, uint32_t digests, tn_status status)
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
static tn_status without_or_fail(tn_pass *p, uint32_t digests, const tn_error *why, tn_error *err)
{
    if (is_shown_by_bytes(why->status)) {
        without(p, digests, why->status);
        return TN_OK;
    }
    return tn_fail_as(why, err);
}

static tn_status open_reader(tn_pass *p, tn_error *err)
{
    tn_open_options options = {sizeof options, true};
    tn_error why;
    if (tn_name_is_index(tn_name_of_path(p->path)))
        without(p, OF_READER, TN_UNSUPPORTED);
    else if (tn_checkpoint_open(p->context, p->path, &options, &p->checkpoint, &why) != TN_OK)
        return without_or_fail(p, OF_READER, &why, err);
    return TN_OK;
}

static void prepare_autov3(tn_pass *p)
{
    const tn_part *parts;
    tn_checkpoint_parts(p->checkpoint, &parts);
    if (tn_checkpoint_container(p->checkpoint) != TN_CONTAINER_SAFETENSORS)
        without(p, TN_DIGEST_AUTOV3, TN_UNSUPPORTED);
    if (wants(p, TN_DIGEST_AUTOV3))
        p->autov3 = (tn_span){parts[0].header_bytes, tn_source_size(p->source)};
}

/* Where its tensors lie in order, `within` is what has to be read for them. */
static tn_status prepare_content(tn_pass *p, tn_span *within, uint64_t *apart, tn_error *err)
{
    tn_error why;
    uint64_t bytes;
    if (!wants(p, TN_DIGEST_CONTENT))
        return TN_OK;
    if (tn_content_measure(p->checkpoint, &bytes, &why) != TN_OK)
        return without_or_fail(p, TN_DIGEST_CONTENT, &why, err);
    TN_TRY(tn_content_begin(&p->content, p->context, p->checkpoint, err));
    if (tn_content_in_order(&p->content, &within->from, &within->to))
        return TN_OK;
    p->content_apart = true;
    *apart = bytes;
    return TN_OK;
}

static uint32_t lanes_of(const tn_pass *p)
{
    uint32_t lanes = wants(p, TN_DIGEST_BLAKE3) ? LANE(TN_LANE_BLAKE3) : 0;
    lanes |= wants(p, TN_DIGEST_SHA256 | TN_DIGEST_AUTOV2) ? LANE(TN_LANE_SHA256) : 0;
    lanes |= wants(p, TN_DIGEST_CRC32) ? LANE(TN_LANE_CRC32) : 0;
    lanes |= wants(p, TN_DIGEST_CONTENT) && !p->content_apart ? LANE(TN_LANE_CONTENT) : 0;
    lanes |= is_empty(p->autov1) ? 0 : LANE(TN_LANE_AUTOV1);
    lanes |= is_empty(p->autov3) ? 0 : LANE(TN_LANE_AUTOV3);
    return lanes;
}

tn_status tn_pass_prepare(tn_pass *p, tn_error *err)
{
    uint64_t size = tn_source_size(p->source), apart = 0;
    tn_span within = {0, 0};
    if (wants(p, OF_READER))
        TN_TRY(open_reader(p, err));
    if (p->checkpoint != NULL) {
        prepare_autov3(p);
        TN_TRY(prepare_content(p, &within, &apart, err));
    }
    if (wants(p, TN_DIGEST_AUTOV1))
        p->autov1 = (tn_span){least(size, AUTOV1_FROM), least(size, AUTOV1_FROM + AUTOV1_BYTES)};
    if (wants(p, OF_WHOLE))
        within = (tn_span){0, size};
    p->read = spanning(within, spanning(p->autov1, p->autov3));
    p->lanes = lanes_of(p);
    p->looks = p->lanes == LANE(TN_LANE_BLAKE3) && !p->content_apart && tn_os_can_guard() && tn_blake3_splits();
    p->total = p->read.to - p->read.from + apart;
    return TN_OK;
}

tn_status tn_pass_open(tn_pass *p, tn_context *context, const char *path, uint32_t which, tn_error *err)
{
    *p = (tn_pass){.context = context, .path = path, .which = which};
    blake3_hasher_init(&p->blake3);
    tn_sha256_begin(&p->sha256);
    tn_sha256_begin(&p->sha256_autov1);
    tn_sha256_begin(&p->sha256_autov3);
    return tn_source_open(context, path, &p->source, err);
}

/* ---- the blocks ---- */

/* What `read` still has from here on: up to the next multiple of a block's size, or several pieces. */
static bool next_of_read(tn_pass *p, tn_pass_block *block)
{
    const uint64_t several = TN_PASS_PIECES * TN_PASS_BLOCK_BYTES;
    uint64_t at = most(p->at, p->read.from);
    if (at >= p->read.to)
        return false;
    bool looked_at = p->looks && at % several == 0 && p->read.to - at >= several;
    uint64_t end = looked_at ? at + several : (at / TN_PASS_BLOCK_BYTES + 1) * TN_PASS_BLOCK_BYTES;
    block->at = at;
    block->size = (size_t)(least(end, p->read.to) - at);
    block->lanes = p->lanes;
    p->at = at + block->size;
    return true;
}

bool tn_pass_next(tn_pass *p, tn_pass_block *out)
{
    tn_pass_block block = {.number = p->blocks};
    if (!next_of_read(p, &block)) {
        block.lanes = LANE(TN_LANE_CONTENT);
        if (!p->content_apart || !tn_content_next(&p->content, TN_PASS_BLOCK_BYTES, &block.at, &block.size))
            return false;
    }
    p->blocks++;
    *out = block;
    return true;
}

/* Blocks of several pieces are not counted here: where there are some, no content is apart. */
static uint64_t blocks_of(tn_span span)
{
    if (is_empty(span))
        return 0;
    return (span.to - 1) / TN_PASS_BLOCK_BYTES - span.from / TN_PASS_BLOCK_BYTES + 1;
}

uint64_t tn_pass_first(const tn_pass *p, tn_lane lane)
{
    return lane == TN_LANE_CONTENT && p->content_apart ? blocks_of(p->read) : 0;
}

tn_status tn_pass_read(const tn_pass *p, const tn_pass_block *block, uint8_t *bytes, tn_error *err)
{
    return tn_source_read(p->source, block->at, bytes, block->size, err);
}

/* ---- the lanes ---- */

/* Hash those bytes of the block that lie in the span. */
static void take_within(tn_sha256 *sha256, tn_span within, const tn_pass_block *block, const uint8_t *bytes)
{
    uint64_t from = most(within.from, block->at), to = least(within.to, block->at + block->size);
    if (from < to)
        tn_sha256_add(sha256, bytes + (from - block->at), (size_t)(to - from));
}

void tn_pass_take(tn_pass *p, tn_lane lane, const tn_pass_block *block, const uint8_t *bytes)
{
    switch (lane) {
    case TN_LANE_SHA256: tn_sha256_add(&p->sha256, bytes, block->size); break;
    case TN_LANE_AUTOV3: take_within(&p->sha256_autov3, p->autov3, block, bytes); break;
    case TN_LANE_CRC32: p->found.crc32 = tn_crc32(p->found.crc32, bytes, block->size); break;
    case TN_LANE_CONTENT: tn_content_take(&p->content, block->at, bytes, block->size); break;
    case TN_LANE_BLAKE3: blake3_hasher_update(&p->blake3, bytes, block->size); break;
    case TN_LANE_AUTOV1: take_within(&p->sha256_autov1, p->autov1, block, bytes); break;
    case TN_LANES: assert(false); break;
    }
}

bool tn_pass_is_looked_at(const tn_pass_block *block)
{
    return block->size == TN_PASS_PIECES * TN_PASS_BLOCK_BYTES;
}

bool tn_pass_is_piece(const tn_pass_block *block)
{
    return (block->size == TN_PASS_BLOCK_BYTES || tn_pass_is_looked_at(block)) &&
           (block->lanes & LANE(TN_LANE_BLAKE3)) != 0 && tn_blake3_splits();
}

typedef struct looking {
    const tn_pass_block *block;
    tn_blake3_pair *pieces;
} looking;

static void look(void *user, const uint8_t *bytes)
{
    const looking *l = user;
    for (size_t i = 0; i < TN_PASS_PIECES; i++)
        l->pieces[i] = tn_blake3_piece(bytes + i * TN_PASS_BLOCK_BYTES, TN_PASS_BLOCK_BYTES,
                                       l->block->at + i * TN_PASS_BLOCK_BYTES);
}

tn_status tn_pass_look(const tn_pass *p, const tn_pass_block *block, uint8_t *bytes, tn_blake3_pair *pieces, bool *warm,
                       tn_error *err)
{
    looking l = {block, pieces};
    TN_TRY(tn_source_view(p->source, block->at, block->size, look, &l, warm, err));
    for (size_t i = 0; i < TN_PASS_PIECES && !*warm; i++) {
        uint64_t at = block->at + i * TN_PASS_BLOCK_BYTES;
        TN_TRY(tn_source_read(p->source, at, bytes, TN_PASS_BLOCK_BYTES, err));
        pieces[i] = tn_blake3_piece(bytes, TN_PASS_BLOCK_BYTES, at);
    }
    return TN_OK;
}

void tn_pass_push(tn_pass *p, const tn_pass_block *block, const tn_blake3_pair *pieces)
{
    for (size_t i = 0; i < block->size / TN_PASS_BLOCK_BYTES; i++)
        tn_blake3_push(&p->blake3, &pieces[i], TN_PASS_BLOCK_BYTES);
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

static void finish_short(tn_pass *p, uint32_t digest, tn_sha256 *sha256, char *out, size_t digits)
{
    uint8_t whole[32];
    if (!wants(p, digest))
        return;
    tn_sha256_end(sha256, whole);
    shorten(whole, out, digits);
}

static void finish(tn_pass *p)
{
    tn_digests *found = &p->found;
    found->have = p->which;
    const tn_os_info *info = tn_source_info(p->source);
    found->size_bytes = tn_source_size(p->source);
    found->mtime_ns = info->mtime_ns;
    found->device = info->device;
    memcpy(found->file_id, info->file_id, sizeof found->file_id);
    if (wants(p, TN_DIGEST_BLAKE3))
        blake3_hasher_finalize(&p->blake3, found->blake3, sizeof found->blake3);
    if (wants(p, TN_DIGEST_SHA256 | TN_DIGEST_AUTOV2))
        tn_sha256_end(&p->sha256, found->sha256);
    if (wants(p, TN_DIGEST_AUTOV2))
        shorten(found->sha256, found->autov2, sizeof found->autov2 - 1);
    if (wants(p, TN_DIGEST_CONTENT))
        tn_content_end(&p->content, found->content);
    finish_short(p, TN_DIGEST_AUTOV1, &p->sha256_autov1, found->autov1, sizeof found->autov1 - 1);
    finish_short(p, TN_DIGEST_AUTOV3, &p->sha256_autov3, found->autov3, sizeof found->autov3 - 1);
}

tn_status tn_pass_finish(tn_pass *p, tn_digests *out, tn_error *err)
{
    if (wants(p, TN_DIGEST_KEY_HASH))
        TN_TRY(tn_digest_key_hash(p->context, p->checkpoint, p->found.key_hash, err));
    TN_TRY(tn_source_check(p->source, err)); /* P4 */
    finish(p);
    *out = p->found;
    return TN_OK;
}

void tn_pass_close(tn_pass *p)
{
    tn_content_free(&p->content);
    tn_checkpoint_release(p->checkpoint);
    tn_source_release(p->source);
    p->checkpoint = NULL;
    p->source = NULL;
}
