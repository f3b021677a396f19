/* Sources of parts, opened at first need. T1 and T2 stand in part_file.h. */
#include "format/part_file.h"

#include <string.h>

#include "core/error.h"
#include "format/catalog_inside.h"
#include "format/limits.h"

tn_status tn_part_file_note(tn_catalog *catalog, tn_source *source, tn_error *err)
{
    const char *path = tn_source_path(source);
    tn_text copy = tn_arena_text(&catalog->arena, path, strlen(path));
    TN_TRY(tn_arena_status(&catalog->arena, err));
    tn_status failed = TN_OK;
    tn_part_file *file = tn_row_add(&catalog->context->memory, &catalog->files, TN_PARTS_MAX, &failed, err);
    if (file == NULL)
        return failed;
    file->part = catalog->parts.count - 1;
    file->no_follow = tn_source_no_follow(source);
    file->path = copy;
    file->info = *tn_source_info(source);
    /* Bytes in memory have no path to be opened by again. */
    bool in_memory = tn_source_bytes(source) != NULL;
    atomic_init(&file->source, in_memory ? tn_source_hold(source) : NULL);
    return TN_OK;
}

void tn_part_files_cut(tn_checkpoint *checkpoint, uint32_t parts)
{
    tn_part_file *files = checkpoint->files.items;
    while (checkpoint->files.count > 0 && files[checkpoint->files.count - 1].part >= parts)
        tn_source_release(atomic_load(&files[--checkpoint->files.count].source));
}

/* ---- opening ---- */

static tn_part_file *file_of(const tn_checkpoint *checkpoint, uint32_t part)
{
    tn_part_file *files = checkpoint->files.items;
    uint32_t low = 0, high = checkpoint->files.count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (files[middle].part < part)
            low = middle + 1;
        else
            high = middle;
    }
    return low < checkpoint->files.count && files[low].part == part ? &files[low] : NULL;
}

/* T1 */
static tn_status open_again(tn_context *context, const tn_part_file *file, tn_source **out, tn_error *err)
{
    tn_source *source = NULL;
    TN_TRY(file->no_follow ? tn_source_open_no_follow(context, file->path.bytes, &source, err)
                           : tn_source_open(context, file->path.bytes, &source, err));
    tn_status status = tn_source_expect(source, &file->info, err);
    if (status == TN_OK)
        *out = source;
    else
        tn_source_release(source);
    return status;
}

/* Two threads may open it at once: the first stays, and both get that. */
static tn_source *put_first(tn_part_file *file, tn_source *fresh)
{
    tn_source *nothing = NULL;
    if (atomic_compare_exchange_strong(&file->source, &nothing, fresh))
        return fresh;
    tn_source_release(fresh);
    return nothing;
}

static tn_status source_of(const tn_checkpoint *checkpoint, tn_part_file *file, bool keep, tn_source **out,
                           tn_error *err)
{
    tn_source *source = atomic_load_explicit(&file->source, memory_order_acquire);
    if (source == NULL) {
        TN_TRY(open_again(checkpoint->context, file, &source, err));
        /* Counted apart from what the pointer says, so a little more than T2's number may be kept. */
        _Atomic uint32_t *opened = (_Atomic uint32_t *)&checkpoint->opened;
        if (!keep && atomic_load(opened) >= TN_PART_FILES_KEPT) {
            *out = source;
            return TN_OK;
        }
        atomic_fetch_add(opened, 1);
        source = put_first(file, source);
    }
    *out = tn_source_hold(source);
    return TN_OK;
}

tn_status tn_part_file_source(const tn_checkpoint *checkpoint, uint32_t part, tn_source **out, tn_error *err)
{
    tn_part_file *file = file_of(checkpoint, part);
    if (file == NULL)
        return tn_fail(err, TN_INVALID, "this checkpoint was not read from a file");
    return source_of(checkpoint, file, false, out, err);
}

tn_status tn_checkpoint_keep_files(const tn_checkpoint *checkpoint, tn_error *err)
{
    if (checkpoint == NULL)
        return tn_fail(err, TN_INVALID, "there is no checkpoint to keep the files of");
    TN_TRY(tn_context_check(checkpoint->context, err));
    tn_part_file *files = checkpoint->files.items;
    for (uint32_t i = 0; i < checkpoint->files.count; i++) {
        tn_source *source = NULL;
        TN_TRY(source_of(checkpoint, &files[i], true, &source, err));
        tn_source_release(source);
    }
    return TN_OK;
}
