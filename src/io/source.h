/* A source: random-access bytes with an identity.
 *
 *   S1  A read gives exactly the bytes asked for, or an error; never zeros in place of bytes that are not there.
 *   S2  A file that changed in place since it was opened (size or mtime of its handle) is TN_CHANGED, and the message
 *       names what changed, from and to. It is asked after each read, so that torn bytes are not believed.
 *   S3  The file stays open, and its bytes readable, until the last hold is released, whatever happens to its name.
 * Counted; safe from any thread; reads take no lock.
 */
#ifndef TN_IO_SOURCE_H
#define TN_IO_SOURCE_H

#include "context/context.h"

typedef struct tn_source tn_source;

/* Open a regular file. TN_PLACEHOLDER for a file whose data is in a cloud; TN_NOT_A_FILE for folders and devices. */
tn_status tn_source_open(tn_context *context, const char *path, tn_source **out, tn_error *err);
/* The same, but a link as the last component is refused with TN_UNSAFE_PATH (parts named inside a file). */
tn_status tn_source_open_no_follow(tn_context *context, const char *path, tn_source **out, tn_error *err);
/* Over bytes in memory that outlive it: fuzzing and tests. `name` is shown in errors. */
tn_status tn_source_over(tn_context *context, const void *bytes, size_t size, const char *name, tn_source **out,
                         tn_error *err);
tn_source *tn_source_hold(tn_source *source);
void tn_source_release(tn_source *source); /* NULL accepted */

tn_context *tn_source_context(const tn_source *source);
const char *tn_source_path(const tn_source *source);
uint64_t tn_source_size(const tn_source *source);
const tn_os_info *tn_source_info(const tn_source *source); /* as when it was opened */
/* Exactly `size` bytes at `offset`. Past the end: TN_TRUNCATED, expected is `size` and found how many of them there
 * are. Long reads are done in pieces, between which a cancel is noticed. On failure `bytes` holds rubbish. */
tn_status tn_source_read(tn_source *source, uint64_t offset, void *bytes, size_t size, tn_error *err);
/* From now on, reads that are aligned (TN_OS_DIRECT_ALIGN) and whose bytes are not in the system's cache go past it
 * where the disk can do that; all others are as they were. For a big file that is read once. Before the source is
 * shared with other threads. Whether that is so for its first bytes. */
bool tn_source_read_past_cache(tn_source *source);
/* Whether the last read had to wait for the disk itself, as far as is known. */
bool tn_source_was_cold(const tn_source *source);
tn_os_disk tn_source_disk(const tn_source *source);
/* Tell the system that reads will follow each other. */
void tn_source_read_in_order(tn_source *source);
/* Call `work(user, bytes)` with these bytes of the file where they lie, without copying them, when all of them are in the
 * system's cache and a window on them can be guarded (tn_os_guarded); `work` must leave nothing to be undone. *done
 * false: it was not called, or not to its end, and the bytes are to be read. Counted and checked as a read is. */
tn_status tn_source_view(tn_source *source, uint64_t offset, size_t size, void (*work)(void *user, const uint8_t *bytes),
                         void *user, bool *done, tn_error *err);
/* For what reads in ways of its own (src/weights), keeping S1 and S2 itself: the open file, NULL over memory; the bytes,
 * NULL of a file; the question of S2; and bytes that were read, to be counted. */
const tn_os_file *tn_source_file(const tn_source *source);
const uint8_t *tn_source_bytes(const tn_source *source);
tn_status tn_source_unchanged(const tn_source *source, tn_error *err);
void tn_source_count(tn_source *source, uint64_t bytes);
/* Whether its last component was opened as no link. */
bool tn_source_no_follow(const tn_source *source);
/* Is it the file that this was told of, unchanged? TN_CHANGED names what differs. */
tn_status tn_source_expect(const tn_source *source, const tn_os_info *then, tn_error *err);
/* Does the path still lead to this same, unchanged file? TN_CHANGED names what differs, also when nothing is there any
 * more. */
tn_status tn_source_check(tn_source *source, tn_error *err);

#endif
