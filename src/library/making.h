/* Only one process at a time makes a library, or brings one to another version.
 *
 *   N1  Who does it holds byte 0 of LIBRARY-lock (jobs have the others). Where there are no locks nothing is made.
 *   N2  What a process that died at such work left beside the library belongs to nobody while the lock is held, and is
 *       removed.
 *   N3  A log or journal that lies beside a library that is not there is never taken for the new one's: it gets another
 *       name, for it may hold what somebody wants back.
 */
#ifndef TN_LIBRARY_MAKING_H
#define TN_LIBRARY_MAKING_H

#include "library/inside.h"

typedef struct tn_making {
    tn_os_file lock;
} tn_making;

/* Wait up to `busy_ms` for others, then TN_LOCKED. TN_UNAVAILABLE where the file system has no locks: SQLite could not
 * work there either. The library's folder must be there. */
tn_status tn_making_begin(tn_library *library, unsigned busy_ms, tn_making *out, tn_error *err);
void tn_making_end(tn_making *making);
/* N3. The library is not there, and the lock is held. */
tn_status tn_making_set_aside(tn_library *library, tn_error *err);

#endif
