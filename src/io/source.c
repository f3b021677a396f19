/* Sources: files, and bytes in memory. S1 to S3 stand in source.h.
 *
 * The handle is the file: it is asked once when opened, and again after each piece that was read. The path is for
 * messages and for tn_source_check alone.
 */
#include "io/source.h"

#include <assert.h>
#include <string.h>

#include "os/os_fault.h"

#define PIECE_BYTES ((size_t)16 << 20) /* read between two looks at the cancel flag */

struct tn_source {
    tn_context *context;
    _Atomic uint64_t holds;
    tn_os_file file;
    tn_os_file direct; /* the same past the system's cache; open when asked for and to be had */
    _Atomic bool was_cold;
    bool no_follow;
    tn_os_info info;
    const uint8_t *bytes; /* of a source over memory, else NULL */
    size_t path_size;
    char path[]; /* with a NUL */
};

static size_t whole_size(const tn_source *source)
{
    return sizeof *source + source->path_size + 1;
}

/* A source with one hold, its path, and nothing else. */
static tn_status create(tn_context *context, const char *path, tn_source **out, tn_error *err)
{
    size_t path_size = strlen(path);
    void *block;
    TN_TRY(tn_take(&context->memory, sizeof(tn_source) + path_size + 1, &block, err));
    tn_source *source = block;
    *source = (tn_source){.context = context, .path_size = path_size};
    atomic_init(&source->holds, 1);
    atomic_init(&source->was_cold, false);
    memcpy(source->path, path, path_size + 1);
    *out = source;
    return TN_OK;
}

/* ---- opening ---- */

static tn_status at_path(const tn_source *source, tn_status status, tn_error *err)
{
    tn_error_at_file(err, source->path);
    return status;
}

static tn_status open_file(tn_source *source, tn_error *err)
{
    unsigned flags = TN_OS_READ | (source->no_follow ? TN_OS_NO_FOLLOW : 0u);
    TN_TRY(tn_os_open(source->path, flags, &source->file, err));
    tn_status status = tn_os_info_of(&source->file, &source->info, err);
    if (status != TN_OK)
        return at_path(source, status, err);
    if (source->info.placeholder) {
        tn_fail(err, TN_PLACEHOLDER, "the file's data is in a cloud; it is not fetched unasked");
        return at_path(source, TN_PLACEHOLDER, err);
    }
    return TN_OK;
}

static tn_status open_source(tn_context *context, const char *path, bool no_follow, tn_source **out, tn_error *err)
{
    TN_TRY(tn_context_check(context, err));
    tn_os_crash_point(path);
    tn_source *source;
    TN_TRY(create(context, path, &source, err));
    source->no_follow = no_follow;
    tn_status status = open_file(source, err);
    if (status != TN_OK) {
        tn_source_release(source);
        return status;
    }
    *out = source;
    return TN_OK;
}

tn_status tn_source_open(tn_context *context, const char *path, tn_source **out, tn_error *err)
{
    return open_source(context, path, false, out, err);
}

tn_status tn_source_open_no_follow(tn_context *context, const char *path, tn_source **out, tn_error *err)
{
    return open_source(context, path, true, out, err);
}

tn_status tn_source_over(tn_context *context, const void *bytes, size_t size, const char *name, tn_source **out,
                         tn_error *err)
{
    TN_TRY(tn_context_check(context, err));
    tn_source *source;
    TN_TRY(create(context, name, &source, err));
    source->bytes = bytes != NULL ? bytes : (const uint8_t *)"";
    source->info = (tn_os_info){.kind = TN_OS_REGULAR, .size = size, .links = 1, .stored_bytes = size};
    *out = source;
    return TN_OK;
}

/* ---- holds ---- */

tn_source *tn_source_hold(tn_source *source)
{
    uint64_t before = atomic_fetch_add_explicit(&source->holds, 1, memory_order_relaxed);
    assert(before > 0);
    (void)before;
    return source;
}

void tn_source_release(tn_source *source)
{
    if (source == NULL)
        return;
    uint64_t before = atomic_fetch_sub_explicit(&source->holds, 1, memory_order_acq_rel);
    assert(before > 0);
    if (before > 1)
        return;
    tn_os_close(&source->direct);
    tn_os_close(&source->file);
    tn_give(&source->context->memory, source, whole_size(source));
}

/* ---- what it is ---- */

tn_context *tn_source_context(const tn_source *source)
{
    return source->context;
}

const char *tn_source_path(const tn_source *source)
{
    return source->path;
}

uint64_t tn_source_size(const tn_source *source)
{
    return source->info.size;
}

const tn_os_info *tn_source_info(const tn_source *source)
{
    return &source->info;
}

/* ---- has it changed? ---- */

static tn_status changed_size(const tn_source *source, uint64_t size, tn_error *err)
{
    tn_fail(err, TN_CHANGED, "the file's size changed while it was in use, from %llu to %llu bytes",
            (unsigned long long)source->info.size, (unsigned long long)size);
    tn_error_amounts(err, source->info.size, size);
    return at_path(source, TN_CHANGED, err);
}

static tn_status changed_time(const tn_source *source, int64_t mtime_ns, tn_error *err)
{
    tn_fail(err, TN_CHANGED,
            "the file was written to while it was in use: its time of change went from %lld to %lld ns",
            (long long)source->info.mtime_ns, (long long)mtime_ns);
    return at_path(source, TN_CHANGED, err);
}

static tn_status compare(const tn_source *source, uint64_t size, int64_t mtime_ns, tn_error *err)
{
    if (size != source->info.size)
        return changed_size(source, size, err);
    if (mtime_ns != source->info.mtime_ns)
        return changed_time(source, mtime_ns, err);
    return TN_OK;
}

/* S2 */
static tn_status check_handle(const tn_source *source, tn_error *err)
{
    uint64_t size;
    int64_t mtime_ns;
    tn_status status = tn_os_stamp_of(&source->file, &size, &mtime_ns, err);
    if (status != TN_OK)
        return at_path(source, status, err);
    return compare(source, size, mtime_ns, err);
}

static bool same_file(const tn_os_info *a, const tn_os_info *b)
{
    return a->device == b->device && a->file_id[0] == b->file_id[0] && a->file_id[1] == b->file_id[1];
}

static tn_status ask_path(const tn_source *source, tn_os_info *out, tn_error *err)
{
    tn_status status = tn_os_info_at(source->path, !source->no_follow, out, err);
    if (status != TN_NOT_FOUND)
        return status;
    tn_fail(err, TN_CHANGED, "the file was removed or renamed while it was in use");
    return at_path(source, TN_CHANGED, err);
}

tn_status tn_source_check(tn_source *source, tn_error *err)
{
    TN_TRY(tn_context_check(source->context, err));
    if (source->bytes != NULL)
        return TN_OK;
    TN_TRY(check_handle(source, err));
    tn_os_info now;
    TN_TRY(ask_path(source, &now, err));
    bool trusted = !source->info.weak_identity && !now.weak_identity;
    if (now.kind != TN_OS_REGULAR || (trusted && !same_file(&source->info, &now))) {
        tn_fail(err, TN_CHANGED, "another file took this file's name while it was in use");
        return at_path(source, TN_CHANGED, err);
    }
    return compare(source, now.size, now.mtime_ns, err);
}

tn_status tn_source_unchanged(const tn_source *source, tn_error *err)
{
    return source->bytes != NULL ? TN_OK : check_handle(source, err);
}

tn_status tn_source_expect(const tn_source *source, const tn_os_info *then, tn_error *err)
{
    bool trusted = !source->info.weak_identity && !then->weak_identity;
    if (!trusted || same_file(&source->info, then)) {
        if (source->info.size == then->size && source->info.mtime_ns == then->mtime_ns)
            return TN_OK;
        tn_fail(err, TN_CHANGED, "the file was written to since its header was read");
        tn_error_amounts(err, then->size, source->info.size);
        return at_path(source, TN_CHANGED, err);
    }
    tn_fail(err, TN_CHANGED, "another file took this file's name since its header was read");
    return at_path(source, TN_CHANGED, err);
}

/* ---- for ways of reading elsewhere ---- */

const tn_os_file *tn_source_file(const tn_source *source)
{
    return source->bytes != NULL ? NULL : &source->file;
}

const uint8_t *tn_source_bytes(const tn_source *source)
{
    return source->bytes;
}

void tn_source_count(tn_source *source, uint64_t bytes)
{
    atomic_fetch_add_explicit(&source->context->bytes_read, bytes, memory_order_relaxed);
}

bool tn_source_no_follow(const tn_source *source)
{
    return source->no_follow;
}

/* ---- reading ---- */

static tn_status check_range(const tn_source *source, uint64_t offset, size_t size, tn_error *err)
{
    uint64_t there = source->info.size;
    if (offset <= there && size <= there - offset)
        return TN_OK;
    tn_fail(err, TN_TRUNCATED, "the file ends at byte %llu, and %zu bytes were to be read at byte %llu",
            (unsigned long long)there, size, (unsigned long long)offset);
    tn_error_at_offset(err, offset);
    tn_error_amounts(err, size, offset < there ? there - offset : 0);
    return at_path(source, TN_TRUNCATED, err);
}

/* ---- past the cache ---- */

bool tn_source_read_past_cache(tn_source *source)
{
    if (source->bytes == NULL && !source->direct.open)
        (void)tn_os_open_direct(&source->file, &source->direct, NULL);
    return source->direct.open && source->info.size >= TN_OS_DIRECT_ALIGN &&
           !tn_os_is_cached(&source->file, 0, TN_OS_DIRECT_ALIGN);
}

bool tn_source_was_cold(const tn_source *source)
{
    return atomic_load_explicit(&source->was_cold, memory_order_relaxed);
}

tn_os_disk tn_source_disk(const tn_source *source)
{
    return source->bytes != NULL ? TN_OS_DISK_UNKNOWN : tn_os_disk_of(&source->file);
}

void tn_source_read_in_order(tn_source *source)
{
    if (source->bytes == NULL)
        tn_os_read_in_order(&source->file);
}

static bool is_for_the_disk(const tn_source *source, uint64_t offset, const void *bytes, size_t size)
{
    const size_t align = TN_OS_DIRECT_ALIGN;
    return source->direct.open && offset % align == 0 && size % align == 0 && (uintptr_t)bytes % align == 0 &&
           !tn_os_is_cached(&source->file, offset, size);
}

/* Past the cache where that is wanted. What does not come that way comes in the ordinary one. */
static tn_status read_bytes(tn_source *source, uint64_t offset, void *bytes, size_t size, size_t *got, tn_error *err)
{
    bool cold = is_for_the_disk(source, offset, bytes, size);
    if (source->direct.open)
        atomic_store_explicit(&source->was_cold, cold, memory_order_relaxed);
    if (cold && tn_os_read(&source->direct, offset, bytes, size, got, NULL) == TN_OK && *got == size)
        return TN_OK;
    return tn_os_read(&source->file, offset, bytes, size, got, err);
}

/* S1, S2: the range is within the size the file was opened with, so fewer bytes mean that it shrank. */
static tn_status read_piece(tn_source *source, uint64_t offset, void *bytes, size_t size, tn_error *err)
{
    size_t got;
    tn_status status = read_bytes(source, offset, bytes, size, &got, err);
    if (status != TN_OK)
        return at_path(source, status, err);
    atomic_fetch_add_explicit(&source->context->bytes_read, got, memory_order_relaxed);
    TN_TRY(check_handle(source, err));
    if (got == size)
        return TN_OK;
    tn_fail(err, TN_IO, "the system gave fewer bytes than the file has");
    tn_error_at_offset(err, offset + got);
    tn_error_amounts(err, size, got);
    return at_path(source, TN_IO, err);
}

tn_status tn_source_read(tn_source *source, uint64_t offset, void *bytes, size_t size, tn_error *err)
{
    TN_TRY(check_range(source, offset, size, err));
    if (source->bytes != NULL) {
        TN_TRY(tn_context_check(source->context, err));
        if (size > 0)
            memcpy(bytes, source->bytes + offset, size);
        atomic_fetch_add_explicit(&source->context->bytes_read, size, memory_order_relaxed);
        return TN_OK;
    }
    for (size_t done = 0; done < size;) {
        size_t piece = size - done < PIECE_BYTES ? size - done : PIECE_BYTES;
        TN_TRY(tn_context_check(source->context, err));
        TN_TRY(read_piece(source, offset + done, (char *)bytes + done, piece, err));
        done += piece;
    }
    return TN_OK;
}

/* ---- looking at bytes in the cache ---- */

typedef struct view {
    void (*work)(void *user, const uint8_t *bytes);
    void *user;
    tn_os_window window;
} view;

static void look(void *user)
{
    const view *v = user;
    v->work(v->user, v->window.bytes);
}

tn_status tn_source_view(tn_source *source, uint64_t offset, size_t size, void (*work)(void *user, const uint8_t *bytes),
                         void *user, bool *done, tn_error *err)
{
    view v = {.work = work, .user = user};
    TN_TRY(tn_context_check(source->context, err));
    TN_TRY(check_range(source, offset, size, err));
    *done = false;
    if (source->bytes != NULL || !tn_os_can_guard() || !tn_os_is_cached(&source->file, offset, size) ||
        tn_os_window_open(&source->file, offset, size, &v.window, NULL) != TN_OK)
        return TN_OK;
    bool whole = tn_os_guarded(&v.window, look, &v);
    tn_os_window_close(&v.window);
    TN_TRY(check_handle(source, err));
    *done = whole;
    if (whole)
        atomic_fetch_add_explicit(&source->context->bytes_read, size, memory_order_relaxed);
    return TN_OK;
}
