/* Listings and paths; see listing.h. Both separators separate, on every system: a path that a user typed on Windows
 * has backslashes, and a file name with one in it loses nothing but the files beside it. */
#include "format/listing.h"

#include <string.h>

#include "core/error.h"
#include "format/limits.h"
#include "format/sniff.h"

#define NAME_BYTES_MAX 255u /* of a component, on every file system that matters */

/* ---- sorting: a heap ---- */

static void sink(tn_named *names, uint32_t at, uint32_t count)
{
    tn_named moved = names[at];
    for (uint32_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && strcmp(names[child].name, names[child + 1].name) < 0)
            child++;
        if (strcmp(moved.name, names[child].name) >= 0)
            break;
        names[at] = names[child];
        at = child;
    }
    names[at] = moved;
}

void tn_named_sort(tn_named *names, uint32_t count)
{
    for (uint32_t i = count / 2; i > 0; i--)
        sink(names, i - 1, count);
    for (uint32_t end = count; end > 1; end--) {
        tn_named largest = names[0];
        names[0] = names[end - 1];
        names[end - 1] = largest;
        sink(names, 0, end - 1);
    }
}

/* ---- listings ---- */

void tn_listing_init(tn_listing *listing, tn_memory_source *memory)
{
    *listing = (tn_listing){.memory = memory};
    tn_arena_init(&listing->arena, memory, TN_CATALOG_BYTES_MAX);
}

void tn_listing_free(tn_listing *listing)
{
    tn_give(listing->memory, listing->names, listing->capacity * sizeof *listing->names);
    listing->names = NULL;
    listing->count = listing->capacity = 0;
    tn_arena_free(&listing->arena);
}

static tn_status grow(tn_listing *listing, tn_error *err)
{
    uint32_t wider = listing->capacity == 0 ? 32 : listing->capacity * 2;
    void *block = listing->names;
    TN_TRY(tn_retake(listing->memory, &block, listing->capacity * sizeof *listing->names,
                     wider * sizeof *listing->names, err));
    listing->names = block;
    listing->capacity = wider;
    return TN_OK;
}

tn_status tn_listing_add(tn_listing *listing, const char *name, uint32_t value, tn_error *err)
{
    if (listing->count == TN_FOLDER_NAMES_MAX)
        return tn_fail(err, TN_LIMIT, "the folder holds more than %u names", TN_FOLDER_NAMES_MAX);
    if (listing->count == listing->capacity)
        TN_TRY(grow(listing, err));
    tn_text copy = tn_arena_text(&listing->arena, name, strlen(name));
    if (copy.bytes == NULL)
        return tn_arena_status(&listing->arena, err);
    listing->names[listing->count++] = (tn_named){copy.bytes, value};
    return TN_OK;
}

void tn_listing_sort(tn_listing *listing)
{
    tn_named_sort(listing->names, listing->count);
}

const tn_named *tn_listing_find(const tn_listing *listing, const char *name)
{
    uint32_t low = 0, high = listing->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = strcmp(listing->names[middle].name, name);
        if (order == 0)
            return &listing->names[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

tn_status tn_listing_read(tn_context *context, const char *path, tn_listing *out, tn_error *err)
{
    tn_listing_init(out, &context->memory);
    tn_os_folder *folder = NULL;
    TN_TRY(tn_os_folder_open(&context->memory, path[0] != '\0' ? path : ".", &folder, err));
    tn_os_entry entry;
    bool more = true;
    tn_status status = TN_OK;
    while (status == TN_OK && more) {
        status = tn_os_folder_next(folder, &entry, &more, err);
        if (status == TN_OK && more)
            status = tn_listing_add(out, entry.name, (uint32_t)entry.kind, err);
    }
    tn_os_folder_close(folder);
    if (status == TN_LIMIT)
        tn_error_at_file(err, path);
    tn_listing_sort(out);
    return status;
}

/* ---- paths ---- */

static bool is_separator(char c)
{
    return c == '/' || c == '\\';
}

tn_text tn_path_folder(tn_arena *arena, const char *path)
{
    size_t size = (size_t)(tn_name_of_path(path) - path);
    bool root = size == 1 || (size > 1 && path[size - 2] == ':');
    return tn_arena_text(arena, path, size > 0 && !root ? size - 1 : size);
}

/* A path of Windows, on a drive or a share, goes on in its own spelling, so that one file has one path. */
static const char *separator_of(const char *folder)
{
    bool drive = folder[0] != '\0' && folder[1] == ':' && folder[2] == '\\';
    return drive || (folder[0] == '\\' && folder[1] == '\\') ? "\\" : "/";
}

tn_text tn_path_join(tn_arena *arena, const char *folder, const char *name)
{
    size_t size = strlen(folder);
    bool bare = size == 0 || is_separator(folder[size - 1]);
    return tn_arena_format(arena, "%s%s%s", folder, bare ? "" : separator_of(folder), name);
}

bool tn_name_is_plain(const char *name, size_t size)
{
    if (size == 0 || size > NAME_BYTES_MAX || (size == 1 && name[0] == '.') ||
        (size == 2 && name[0] == '.' && name[1] == '.'))
        return false;
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)name[i];
        if (is_separator(name[i]) || c == ':' || c < 0x20 || c == 0x7f)
            return false;
    }
    return true;
}
