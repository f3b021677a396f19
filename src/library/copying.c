/* One file copied, or compared. What holds stands in copying.h. */
#include "library/copying.h"

#include "digest/running.h"
#include "os/os_fault.h"

#define BLOCK_BYTES ((size_t)1 << 20)

typedef struct copy {
    const tn_copying *copying;
    const char *from_path, *to_path;
    tn_os_file from, to;
    tn_os_info before; /* the source as it was opened */
    void *block;
    tn_running *running;
    bool shared;
} copy;

static tn_status changed(const char *path, tn_error *err)
{
    tn_fail(err, TN_CHANGED, "the file changed while it was copied; nothing was moved");
    tn_error_at_file(err, path);
    return TN_CHANGED;
}

static tn_status at(tn_status status, tn_error *err, const char *path)
{
    if (status != TN_OK && err != NULL && err->file[0] == 0)
        tn_error_at_file(err, path);
    return status;
}

static void tell(const tn_copying *copying, uint64_t bytes, const char *path)
{
    if (copying->moved != NULL)
        copying->moved(copying->user, bytes, path);
}

/* ---- runs of data ---- */

typedef tn_status (*on_block)(copy *c, uint64_t offset, size_t size, tn_error *err);

/* Call `each` for every block of data of the source; what is a hole there is left out. */
static tn_status each_block(copy *c, on_block each, tn_error *err)
{
    uint64_t begin = 0, end = 0;
    for (uint64_t offset = 0;; offset = end) {
        TN_TRY(at(tn_os_next_data(&c->from, offset, &begin, &end, err), err, c->from_path));
        if (begin >= end)
            return TN_OK;
        for (uint64_t done = begin; done < end; done += BLOCK_BYTES) {
            TN_TRY(tn_context_check(c->copying->context, err));
            TN_TRY(each(c, done, end - done < BLOCK_BYTES ? (size_t)(end - done) : BLOCK_BYTES, err));
        }
    }
}

static tn_status read_exactly(const tn_os_file *file, const char *path, uint64_t offset, void *block, size_t size,
                              tn_error *err)
{
    size_t got = 0;
    TN_TRY(at(tn_os_read(file, offset, block, size, &got, err), err, path));
    return got == size ? TN_OK : changed(path, err);
}

static tn_status move_block(copy *c, uint64_t offset, size_t size, tn_error *err)
{
    TN_TRY(read_exactly(&c->from, c->from_path, offset, c->block, size, err));
    tn_running_add(c->running, c->block, size);
    TN_TRY(at(tn_os_write(&c->to, offset, c->block, size, err), err, c->to_path));
    tell(c->copying, size, c->from_path);
    tn_os_point("act.copying");
    return TN_OK;
}

static tn_status prove_block(copy *c, uint64_t offset, size_t size, tn_error *err)
{
    TN_TRY(read_exactly(&c->to, c->to_path, offset, c->block, size, err));
    tn_running_add(c->running, c->block, size);
    tell(c->copying, size, c->to_path);
    return TN_OK;
}

/* ---- one copy ---- */

static unsigned reading(const tn_copying *copying)
{
    return copying->follow ? TN_OS_READ : TN_OS_READ | TN_OS_NO_FOLLOW;
}

/* C2: the handle shows what it did, and the path still leads to it. */
static tn_status check_source(copy *c, tn_error *err)
{
    tn_os_info now;
    uint64_t size = 0;
    int64_t mtime_ns = 0;
    TN_TRY(at(tn_os_stamp_of(&c->from, &size, &mtime_ns, err), err, c->from_path));
    if (size != c->before.size || mtime_ns != c->before.mtime_ns)
        return changed(c->from_path, err);
    TN_TRY(tn_os_info_at(c->from_path, c->copying->follow, &now, err));
    bool same = now.device == c->before.device && now.file_id[0] == c->before.file_id[0] &&
                now.file_id[1] == c->before.file_id[1];
    return same || now.weak_identity ? TN_OK : changed(c->from_path, err);
}

static tn_status fill(copy *c, tn_error *err)
{
    tn_error found;
    tn_status status = tn_os_share_data(&c->from, &c->to, &found);
    c->shared = status == TN_OK;
    if (status != TN_OK && status != TN_UNAVAILABLE)
        return at(tn_fail_as(&found, err), err, c->to_path);
    if (!c->shared) {
        if (c->copying->room != NULL)
            TN_TRY(c->copying->room(c->copying->user, err));
        TN_TRY(each_block(c, move_block, err));
        TN_TRY(at(tn_os_resize(&c->to, c->before.size, err), err, c->to_path));
    }
    TN_TRY(at(tn_os_keep_attributes(&c->from, &c->to, err), err, c->to_path));
    return at(tn_os_sync(&c->to, err), err, c->to_path);
}

static tn_status prove(copy *c, tn_error *err)
{
    uint8_t written[32], found[32];
    if (c->shared)
        return TN_OK;
    tn_running_end(c->running, written);
    tn_os_forget_cached(&c->to);
    TN_TRY(each_block(c, prove_block, err));
    tn_running_end(c->running, found);
    if (memcmp(written, found, sizeof found) == 0)
        return TN_OK;
    tn_fail(err, TN_BAD_CHECKSUM, "the copy does not read back as it was written: the disk or the memory is faulty");
    tn_error_at_file(err, c->to_path);
    return TN_BAD_CHECKSUM;
}

static tn_status copy_open(copy *c, uint64_t size, int64_t mtime_ns, tn_error *err)
{
    TN_TRY(tn_os_open(c->from_path, reading(c->copying), &c->from, err));
    TN_TRY(at(tn_os_info_of(&c->from, &c->before, err), err, c->from_path));
    if (c->before.size != size || c->before.mtime_ns != mtime_ns)
        return changed(c->from_path, err);
    return tn_os_open(c->to_path, TN_OS_WRITE | TN_OS_CREATE | TN_OS_EXCLUSIVE, &c->to, err);
}

static tn_status run(copy *c, tn_error *err)
{
    tn_memory_source *memory = &c->copying->context->memory;
    TN_TRY(tn_take(memory, BLOCK_BYTES, &c->block, err));
    TN_TRY(tn_running_create(memory, &c->running, err));
    TN_TRY(fill(c, err));
    TN_TRY(prove(c, err));
    return check_source(c, err);
}

tn_status tn_copying_file(const tn_copying *copying, const char *from, const char *to, uint64_t size, int64_t mtime_ns,
                          tn_error *err)
{
    copy c = {.copying = copying, .from_path = from, .to_path = to};
    tn_status status = copy_open(&c, size, mtime_ns, err);
    bool made = status == TN_OK;
    if (made)
        status = run(&c, err);
    tn_running_destroy(c.running);
    tn_give(&copying->context->memory, c.block, c.block != NULL ? BLOCK_BYTES : 0);
    tn_os_close(&c.from);
    tn_os_close(&c.to);
    if (made && status != TN_OK)
        (void)tn_os_remove(to, NULL);
    return status;
}

/* ---- comparing ---- */

bool tn_copying_unchanged(tn_os_kind kind, uint64_t size, int64_t mtime_ns, const tn_os_info *now)
{
    const int64_t two_seconds = 2000000000;
    int64_t apart = now->mtime_ns - mtime_ns;
    if (now->kind != kind)
        return false;
    return kind != TN_OS_REGULAR || (now->size == size && apart < two_seconds && apart > -two_seconds);
}


static tn_status compare_blocks(const tn_copying *copying, const tn_os_file files[2], const char *const paths[2],
                                uint64_t size, char *block, bool *same, tn_error *err)
{
    *same = true;
    for (uint64_t done = 0; done < size && *same; done += BLOCK_BYTES) {
        size_t piece = size - done < BLOCK_BYTES ? (size_t)(size - done) : BLOCK_BYTES;
        TN_TRY(tn_context_check(copying->context, err));
        for (int i = 0; i < 2; i++)
            TN_TRY(read_exactly(&files[i], paths[i], done, block + (size_t)i * BLOCK_BYTES, piece, err));
        *same = memcmp(block, block + BLOCK_BYTES, piece) == 0;
        tell(copying, piece, paths[0]);
    }
    return TN_OK;
}

tn_status tn_copying_same(const tn_copying *copying, const char *a, const char *b, bool *same, tn_error *err)
{
    const char *const paths[2] = {a, b};
    tn_memory_source *memory = &copying->context->memory;
    tn_os_file files[2] = {{0}, {0}};
    tn_os_info info[2];
    void *block = NULL;
    bool found = false;
    tn_status status = tn_take(memory, 2 * BLOCK_BYTES, &block, err);
    for (int i = 0; i < 2 && status == TN_OK; i++) {
        status = tn_os_open(paths[i], reading(copying), &files[i], err);
        if (status == TN_OK)
            status = at(tn_os_info_of(&files[i], &info[i], err), err, paths[i]);
    }
    if (status == TN_OK && info[0].size == info[1].size)
        status = compare_blocks(copying, files, paths, info[0].size, block, &found, err);
    tn_os_close(&files[0]);
    tn_os_close(&files[1]);
    tn_give(memory, block, block != NULL ? 2 * BLOCK_BYTES : 0);
    if (status == TN_OK)
        *same = found;
    return status;
}
