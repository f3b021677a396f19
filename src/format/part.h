/* Opening a file that another file named, or that lies beside it: never out of its folder. */
#ifndef TN_FORMAT_PART_H
#define TN_FORMAT_PART_H

#include "core/buffer.h"
#include "io/source.h"

/* Open `path`, whose last component is a plain name in `folder`. A link is TN_UNSAFE_PATH, unless it is one of a
 * Hugging Face cache: `folder` lies in REPO/snapshots/REVISION, and the link leads to a file in REPO/blobs. */
tn_status tn_part_open(tn_context *context, const char *folder, const char *path, tn_source **out, tn_error *err);
/* The whole of an open file as text, at most `max` bytes (TN_LIMIT), into memory of the context that the caller gives
 * back with its size. A file of no bytes is TN_EMPTY. */
tn_status tn_source_text(tn_source *source, uint64_t max, char **out, size_t *size, tn_error *err);
/* Both in one. */
tn_status tn_part_text(tn_context *context, const char *folder, const char *path, uint64_t max, char **out,
                       size_t *size, tn_error *err);

/* The rule for links, on real paths (links resolved) as text. Separators are those of either system. */
bool tn_part_link_is_cached(const char *real_folder, const char *real_target);

#endif
