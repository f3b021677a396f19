/* The names in one folder, and how names and folders become paths. */
#ifndef TN_FORMAT_LISTING_H
#define TN_FORMAT_LISTING_H

#include "context/context.h"
#include "core/arena.h"

typedef struct tn_named {
    const char *name;
    uint32_t value; /* in a listing: a tn_os_kind, a link told as a link */
} tn_named;

typedef struct tn_listing {
    tn_memory_source *memory;
    tn_arena arena;
    tn_named *names; /* sorted by bytes */
    uint32_t count, capacity;
} tn_listing;

/* Read the names in a folder: TN_FOLDER_NAMES_MAX at most, more is TN_LIMIT. Free it in any case. */
tn_status tn_listing_read(tn_context *context, const char *path, tn_listing *out, tn_error *err);
/* The same out of names that are known; for tests and fuzzing. */
void tn_listing_init(tn_listing *listing, tn_memory_source *memory);
tn_status tn_listing_add(tn_listing *listing, const char *name, uint32_t value, tn_error *err);
void tn_listing_sort(tn_listing *listing);
const tn_named *tn_listing_find(const tn_listing *listing, const char *name);
void tn_listing_free(tn_listing *listing);

/* Sort by the bytes of the names: no recursion, no memory, no input that makes it slow. */
void tn_named_sort(tn_named *names, uint32_t count);

/* The folder that a path's last component stands in: "" when it has none, with its separator when it is a root. */
tn_text tn_path_folder(tn_arena *arena, const char *path);
/* `folder` may be "": the name alone. bytes == NULL when there is no memory. */
tn_text tn_path_join(tn_arena *arena, const char *folder, const char *name);
/* Whether a name read from a file can be nothing but a plain name in the folder of that file: no separators, no drive,
 * no "." or "..", no control characters, not empty, not over 255 bytes. */
bool tn_name_is_plain(const char *name, size_t size);

#endif
