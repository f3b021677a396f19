/* The sample digest: enough of a file to tell it from every other, little enough to be read at import.
 *
 *   D1  Read are the header of each part and at most 48 KiB of its data, nothing else.
 *   D2  Where the blocks lie depends on the sizes of header and part alone.
 * It refuses to stand for equality: two files that differ between the blocks have the same digest.
 */
#include <tenure/digest.h>

#include <blake3.h>

#include "context/context.h"
#include "io/source.h"

#define BLOCKS 12
#define BLOCK_BYTES 4096
#define WHOLE_BYTES (BLOCKS * BLOCK_BYTES) /* data up to this size is taken whole */
#define FILE_HEADER_BYTES 65536            /* stands for the header where there is no reader */
#define CHUNK_BYTES 65536                  /* read at once; at least WHOLE_BYTES */

/* One digest being taken, with the room to read into. */
typedef struct sampling {
    tn_context *context;
    blake3_hasher hasher;
    uint8_t *chunk; /* CHUNK_BYTES */
} sampling;

static tn_status sampling_begin(sampling *s, tn_context *context, tn_error *err)
{
    void *chunk = NULL;
    TN_TRY(tn_take(&context->memory, CHUNK_BYTES, &chunk, err));
    s->context = context;
    s->chunk = chunk;
    blake3_hasher_init(&s->hasher);
    return TN_OK;
}

static void sampling_end(sampling *s, tn_status status, uint8_t out[32])
{
    if (status == TN_OK)
        blake3_hasher_finalize(&s->hasher, out, 32);
    tn_give(&s->context->memory, s->chunk, CHUNK_BYTES);
}

static tn_status take_run(sampling *s, tn_source *source, uint64_t at, uint64_t size, tn_error *err)
{
    while (size > 0) {
        size_t now = size < CHUNK_BYTES ? (size_t)size : CHUNK_BYTES;
        TN_TRY(tn_source_read(source, at, s->chunk, now, err));
        blake3_hasher_update(&s->hasher, s->chunk, now);
        at += now;
        size -= now;
    }
    return TN_OK;
}

/* floor(span * i / 11) without leaving 64 bits, i being 0 to 11. */
static uint64_t fraction(uint64_t span, uint64_t i)
{
    const uint64_t last = BLOCKS - 1;
    return span / last * i + span % last * i / last;
}

/* The blocks are gathered and hashed as one run, which is what BLAKE3 is fast at. */
static tn_status take_data(sampling *s, tn_source *source, uint64_t start, uint64_t size, tn_error *err)
{
    if (size < WHOLE_BYTES)
        return take_run(s, source, start, size, err);
    for (uint64_t i = 0; i < BLOCKS; i++)
        TN_TRY(tn_source_read(source, start + fraction(size - BLOCK_BYTES, i), s->chunk + i * BLOCK_BYTES, BLOCK_BYTES,
                              err));
    blake3_hasher_update(&s->hasher, s->chunk, WHOLE_BYTES);
    return TN_OK;
}

/* `header` bytes, then the data behind them. A header that is said to be longer than the file is all there is. */
static tn_status take_file(sampling *s, const char *path, uint64_t header, tn_error *err)
{
    tn_source *source = NULL;
    TN_TRY(tn_source_open(s->context, path, &source, err));
    uint64_t size = tn_source_size(source);
    if (header > size)
        header = size;
    tn_status status = take_run(s, source, 0, header, err);
    if (status == TN_OK)
        status = take_data(s, source, header, size - header, err);
    tn_source_release(source);
    return status;
}

tn_status tn_digest_sample(tn_context *context, const tn_checkpoint *checkpoint, uint8_t out[32], tn_error *err)
{
    TN_TRY(tn_context_check(context, err));
    sampling s;
    TN_TRY(sampling_begin(&s, context, err));
    const tn_part *parts = NULL;
    size_t count = tn_checkpoint_parts(checkpoint, &parts);
    tn_status status = TN_OK;
    for (size_t i = 0; i < count && status == TN_OK; i++)
        status = take_file(&s, parts[i].path.bytes, parts[i].header_bytes, err);
    sampling_end(&s, status, out);
    return status;
}

tn_status tn_digest_sample_file(tn_context *context, const char *path, uint8_t out[32], tn_error *err)
{
    TN_TRY(tn_context_check(context, err));
    sampling s;
    TN_TRY(sampling_begin(&s, context, err));
    tn_status status = take_file(&s, path, FILE_HEADER_BYTES, err);
    sampling_end(&s, status, out);
    return status;
}
