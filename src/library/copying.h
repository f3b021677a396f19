/* Files and folders copied so that the copy is proved before anything relies on it.
 *
 *   C1  A copy is made under a name that nobody else has, flushed, read back from the disk where the system lets us past
 *       its memory, and compared by BLAKE3 with what was read. Only then is it given its name, by the caller.
 *   C2  A source that changes, or gives way to another file, while it is read is TN_CHANGED.
 *   C3  On failure nothing is left under the new name, and the source was only read.
 *   C4  Holes stay holes, times and permissions are kept. Where the file system can share bytes between files nothing is
 *       moved, and there is nothing to compare.
 */
#ifndef TN_LIBRARY_COPYING_H
#define TN_LIBRARY_COPYING_H

#include "context/context.h"
#include "core/arena.h"

/* Told after each piece that was moved or read back. */
typedef struct tn_copying {
    tn_context *context;
    bool follow; /* a link to a file stands for the file */
    void (*moved)(void *user, uint64_t bytes, const char *path); /* NULL: not told */
    tn_status (*room)(void *user, tn_error *err); /* NULL, or asked before the first byte is moved, once nothing can be
                                                     shared: is there room? */
    void *user;
} tn_copying;

/* Copy one regular file of this size and time. TN_EXISTS when `to` is there. */
tn_status tn_copying_file(const tn_copying *copying, const char *from, const char *to, uint64_t size, int64_t mtime_ns,
                          tn_error *err);
/* Whether something is what it was: of the same kind, and a file of the same size and time, as far as the coarsest file
 * systems keep times. */
bool tn_copying_unchanged(tn_os_kind kind, uint64_t size, int64_t mtime_ns, const tn_os_info *now);
/* Whether two regular files hold the same bytes; both are read. */
tn_status tn_copying_same(const tn_copying *copying, const char *a, const char *b, bool *same, tn_error *err);

/* ---- folders ---- */

typedef struct tn_tree_item {
    tn_text below; /* the path below the root, in the tree's arena */
    tn_os_kind kind;
    uint64_t size, stored_bytes;
    int64_t mtime_ns;
} tn_tree_item;

/* All that lies in a folder: every folder before what is in it. Links are items, and are not followed. */
typedef struct tn_tree {
    tn_context *context;
    tn_arena arena;
    tn_tree_item *items;
    size_t count, capacity;
    uint64_t size, stored_bytes;
} tn_tree;

/* `follow`: a link to a file stands for the file. TN_LIMIT when it is deeper than TN_SCAN_DEPTH_MAX. Free with tn_tree_free in any case. Asks for no cancelling, so that
 * what was begun can be taken back after one. */
tn_status tn_tree_list(tn_context *context, const char *root, bool follow, tn_tree *out, tn_error *err);
void tn_tree_free(tn_tree *tree);
/* The first link that leads out of the folder from where it lies, and would lead elsewhere from another place; NULL: none.
 * The first item that cannot be read as a link ends it. */
tn_status tn_tree_link_out(const tn_tree *tree, const char *root, const tn_tree_item **out, tn_error *err);
/* Copy all of it into the folder `to`, which is made. TN_UNSUPPORTED for what is neither file, link nor folder. On
 * failure `to` is taken away again. */
tn_status tn_tree_copy(const tn_copying *copying, const tn_tree *tree, const char *root, const char *to, tn_error *err);
/* Remove from `root` what is, by size and time, in the tree; then each folder that is empty, at last `root` itself. What
 * was changed or added since stays, and so does every folder around it. */
tn_status tn_tree_remove(const tn_tree *tree, const char *root, tn_error *err);
/* Take away a folder of our own making, whatever is in it. TN_OK when it is not there. */
tn_status tn_tree_drop(tn_context *context, const char *root, tn_error *err);
/* Whether `root` holds all that the tree does, by names, kinds, sizes and, with `bytes`, bytes. */
tn_status tn_tree_same(const tn_copying *copying, const tn_tree *tree, const char *tree_root, const char *root, bool bytes,
                       bool *same, tn_error *err);

#endif
