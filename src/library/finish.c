/* The end of an import: what is gone, which roots there are, and the job's last row, in one transaction. */
#include "library/import_inside.h"

#include <string.h>

#include "library/place.h"
#include "os/os_fault.h"

/* A known file that the walk did not come by and that is not there any more. */
typedef struct gone_file {
    int64_t file;
    bool offline;
} gone_file;

typedef struct gone_list {
    gone_file *files;
    size_t count, capacity;
} gone_list;

static bool is_below(const char *path, size_t size, const char *folder)
{
    size_t folder_size = strlen(folder);
    if (size < folder_size || memcmp(path, folder, folder_size) != 0)
        return false;
    char last = folder_size > 0 ? folder[folder_size - 1] : '/';
    return size == folder_size || path[folder_size] == '/' || path[folder_size] == '\\' || last == '/' || last == '\\';
}

/* A folder that was imported before and is not there now is away, not emptied. */
static bool is_offline(const tn_import *import, const tn_known_file *file)
{
    for (size_t i = 0; i < import->refused_count; i++) {
        const tn_refused_path *refused = &import->refused[i];
        if (refused->status == TN_NOT_FOUND && file->path_size > strlen(refused->path) &&
            is_below(file->path, file->path_size, refused->path))
            return true;
    }
    return false;
}

static bool is_gone(const tn_known_file *file)
{
    tn_os_info info;
    if (file->seen || !file->present)
        return false;
    tn_status status = tn_os_info_at(file->path, true, &info, NULL);
    return status == TN_NOT_FOUND || status == TN_NOT_A_FILE;
}

static tn_status find_gone(tn_import *import, gone_list *out, tn_error *err)
{
    void *block = NULL;
    size_t unseen = 0;
    for (size_t i = 0; i < import->known.count; i++)
        unseen += !import->known.files[i].seen;
    TN_TRY(tn_take_array(import->library->memory, unseen, sizeof *out->files, &block, err));
    *out = (gone_list){block, 0, unseen};
    for (size_t i = 0; i < import->known.count; i++) {
        const tn_known_file *file = &import->known.files[i];
        if (is_gone(file))
            out->files[out->count++] = (gone_file){file->file, is_offline(import, file)};
    }
    return TN_OK;
}

static tn_status mark_gone(tn_import *import, const gone_list *list, tn_error *err)
{
    for (size_t i = 0; i < list->count; i++)
        TN_TRY(tn_record_missing(import->library, import->journal.job, list->files[i].file, list->files[i].offline,
                                 &import->gone, err));
    return TN_OK;
}

static tn_status scanned(tn_import *import, const char *path, tn_error *err)
{
    tn_sql s = tn_sql_start(&import->library->db, TN_QUERY_ROOT_SCANNED);
    tn_sql_blob(&s, path, strlen(path));
    tn_sql_int(&s, tn_os_wall_ns());
    return tn_sql_run(&s, err);
}

static tn_status finish_inside(tn_import *import, const gone_list *list, tn_error *err)
{
    TN_TRY(tn_journal_check(&import->journal, err));
    TN_TRY(mark_gone(import, list, err));
    for (size_t i = 0; i < import->path_count; i++)
        TN_TRY(scanned(import, import->paths[i], err));
    TN_TRY(tn_journal_finish(&import->journal, err));
    tn_os_point("import.finishing");
    return TN_OK;
}

tn_status tn_import_finish(tn_import *import, tn_error *err)
{
    gone_list list = {0};
    if (tn_import_is_dry(import))
        return TN_OK;
    TN_TRY(find_gone(import, &list, err));
    tn_status status = tn_library_begin(import->library, err);
    if (status == TN_OK)
        status = tn_library_end(import->library, finish_inside(import, &list, err), err);
    tn_give(import->library->memory, list.files, list.capacity * sizeof *list.files);
    if (status == TN_OK)
        tn_os_point("import.finished");
    return status;
}
