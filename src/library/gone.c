/* What is gone: known files that the walk did not come by and that are not there any more, or whose root is away: such a one
 * is not asked about them. Elsewhere a path that cannot be asked about (no permission, a fault of the disk) says nothing. */
#include "library/import_inside.h"
#include "library/place.h"

/* A file where a folder was, or a folder where a file was, is not what was known. */
static bool is_of_another_kind(const tn_known_file *file, const tn_os_info *info)
{
    return info->kind == TN_OS_OTHER || (info->kind == TN_OS_FOLDER) != file->folder;
}

/* Of roots within each other the innermost counts. */
static bool has_root_away(const tn_import *import, const tn_known_file *file)
{
    const tn_import_root *nearest = NULL;
    for (size_t i = 0; i < import->root_count; i++) {
        const tn_import_root *root = &import->roots[i];
        if ((nearest == NULL || root->path.size > nearest->path.size) &&
            tn_place_is_below(file->path, file->path_size, root->path.bytes, root->path.size))
            nearest = root;
    }
    return nearest != NULL && nearest->state == TN_ROOT_AWAY;
}

static bool is_gone(const tn_import *import, const tn_known_file *file)
{
    tn_os_info info;
    if (file->seen || (!file->present && !file->offline))
        return false;
    if (has_root_away(import, file))
        return true;
    tn_status status = tn_os_info_at(file->path, true, &info, NULL);
    if (status == TN_OK)
        return is_of_another_kind(file, &info);
    return status == TN_NOT_FOUND || status == TN_NOT_A_FILE;
}

tn_status tn_import_find_gone(tn_import *import, tn_error *err)
{
    for (size_t i = 0; i < import->known.count; i++) {
        const tn_known_file *file = &import->known.files[i];
        if (i % 1024 == 0)
            TN_TRY(tn_context_check(import->context, err));
        if (is_gone(import, file))
            TN_TRY(tn_import_add_news(import, (tn_row_news){file->file, 0, TN_ROW_GONE, file->present}, err));
    }
    return TN_OK;
}
