/* A record as it is told: its row, and the object of interface.md made of all that the library knows of it. */
#ifndef TN_LIBRARY_SHOW_H
#define TN_LIBRARY_SHOW_H

#include "library/find.h"

/* Read one record under the lock and call `each` without it. *go_on false when that returned false; a record that has
 * gone meanwhile is passed over. */
tn_status tn_show_record(tn_library *library, int64_t id, bool (*each)(void *user, const tn_record *record), void *user,
                         bool *go_on, tn_error *err);
/* The same for a list of them, until it is cancelled or `each` has enough. */
tn_status tn_show_records(tn_library *library, const tn_ids *ids, bool (*each)(void *user, const tn_record *record),
                          void *user, tn_error *err);

#endif
