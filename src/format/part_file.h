/* The files behind a checkpoint: which they were when their headers were read, and their sources once data is read.
 *
 *   T1  A source is handed out only for the file whose header was read, unchanged since; else TN_CHANGED.
 *   T2  A source that a checkpoint has opened stays with it until its last release, at most TN_PART_FILES_KEPT unasked;
 *       more are opened for one use each.
 * Safe from any thread, without a lock.
 */
#ifndef TN_FORMAT_PART_FILE_H
#define TN_FORMAT_PART_FILE_H

#include "format/catalog.h"
#include "io/source.h"

#define TN_PART_FILES_KEPT 128u

/* While a catalog is written: `source` is where the last part came from. */
tn_status tn_part_file_note(tn_catalog *catalog, tn_source *source, tn_error *err);
/* One hold on the source of a part. TN_INVALID for a part that came from no file. */
tn_status tn_part_file_source(const tn_checkpoint *checkpoint, uint32_t part, tn_source **out, tn_error *err);

#endif
