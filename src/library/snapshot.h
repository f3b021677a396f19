/* Opening a library that cannot be written. */
#ifndef TN_LIBRARY_SNAPSHOT_H
#define TN_LIBRARY_SNAPSHOT_H

#include "library/inside.h"

/* Open library->db for reading: plainly where SQLite can; where it cannot make its shared memory file, as immutable
 * when there is nothing in the write-ahead log, else as a copy in the folder for temporary files. */
tn_status tn_snapshot_open(tn_library *library, unsigned busy_ms, tn_error *err);
/* The library is of an older version: go over to a copy of it, in the folder for temporary files, and bring that to this
 * version. */
tn_status tn_snapshot_migrate(tn_library *library, unsigned busy_ms, const tn_migration *migrations, int count,
                              tn_error *err);
/* Remove the copy, if there is one. */
void tn_snapshot_remove(tn_library *library);

#endif
