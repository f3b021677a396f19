/* Parts named inside files; see part.h. */
#include "format/part.h"

#include <string.h>

#include "core/error.h"

#define REAL_PATH_MAX 65536u

static bool is_separator(char c)
{
    return c == '/' || c == '\\';
}

/* Where the last component of this name begins in the path, or NULL. */
static const char *last_component(const char *path, const char *name)
{
    const char *found = NULL;
    size_t size = strlen(name);
    for (const char *at = path; *at != '\0'; at++)
        if ((at == path || is_separator(at[-1])) && strncmp(at, name, size) == 0 && is_separator(at[size]))
            found = at;
    return found;
}

bool tn_part_link_is_cached(const char *real_folder, const char *real_target)
{
    static const char blobs[] = "blobs";
    const char *snapshots = last_component(real_folder, "snapshots");
    if (snapshots == NULL)
        return false;
    size_t repo = (size_t)(snapshots - real_folder);
    if (strncmp(real_folder, real_target, repo) != 0)
        return false;
    const char *rest = real_target + repo;
    if (strncmp(rest, blobs, sizeof blobs - 1) != 0 || !is_separator(rest[sizeof blobs - 1]))
        return false;
    const char *file = rest + sizeof blobs;
    return *file != '\0' && strpbrk(file, "/\\") == NULL;
}

/* Open what a link of a cache leads to. `refused` is what opening it without following said. */
static tn_status open_cached(tn_context *context, const char *folder, const char *path, tn_source **out,
                             tn_status refused, tn_error *err)
{
    tn_buffer real_folder, real_target;
    tn_buffer_init(&real_folder, &context->memory, REAL_PATH_MAX);
    tn_buffer_init(&real_target, &context->memory, REAL_PATH_MAX);
    tn_error why; /* err keeps the refusal unless something else went wrong */
    tn_status status = tn_os_real_path(folder[0] != '\0' ? folder : ".", &real_folder, &why);
    if (status == TN_OK)
        status = tn_os_real_path(path, &real_target, &why);
    if (status != TN_OK && err != NULL)
        *err = why;
    if (status == TN_OK && !tn_part_link_is_cached(real_folder.bytes, real_target.bytes))
        status = refused;
    else if (status == TN_OK)
        status = tn_source_open_no_follow(context, real_target.bytes, out, err);
    tn_buffer_free(&real_target);
    tn_buffer_free(&real_folder);
    return status;
}

tn_status tn_part_open(tn_context *context, const char *folder, const char *path, tn_source **out, tn_error *err)
{
    tn_status status = tn_source_open_no_follow(context, path, out, err);
    return status == TN_UNSAFE_PATH ? open_cached(context, folder, path, out, status, err) : status;
}

tn_status tn_source_text(tn_source *source, uint64_t max, char **out, size_t *size, tn_error *err)
{
    uint64_t bytes = tn_source_size(source);
    if (bytes == 0 || bytes > max) {
        tn_status status = bytes == 0 ? TN_EMPTY : TN_LIMIT;
        tn_fail(err, status, bytes == 0 ? "the file is empty" : "the file is too large for what it is");
        tn_error_at_file(err, tn_source_path(source));
        tn_error_amounts(err, max, bytes);
        return status;
    }
    tn_memory_source *memory = &tn_source_context(source)->memory;
    void *block = NULL;
    TN_TRY(tn_take(memory, (size_t)bytes, &block, err));
    tn_status status = tn_source_read(source, 0, block, (size_t)bytes, err);
    if (status != TN_OK) {
        tn_give(memory, block, (size_t)bytes);
        return status;
    }
    *out = block;
    *size = (size_t)bytes;
    return TN_OK;
}

tn_status tn_part_text(tn_context *context, const char *folder, const char *path, uint64_t max, char **out,
                       size_t *size, tn_error *err)
{
    tn_source *source = NULL;
    TN_TRY(tn_part_open(context, folder, path, &source, err));
    tn_status status = tn_source_text(source, max, out, size, err);
    tn_source_release(source);
    return status;
}
