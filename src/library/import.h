/* An import as a job of a known number, which is what `jobs run` calls, and a scan of roots. */
#ifndef TN_LIBRARY_IMPORT_H
#define TN_LIBRARY_IMPORT_H

#include "library/inside.h"

/* `job` 0: a new one, or the interrupted one over the same paths. `summary` may be NULL. */
tn_status tn_import_run(tn_library *library, const char *const *paths, size_t count, int64_t job,
                        const tn_import_options *options, tn_import_summary **summary, tn_error *err);
/* The same job over roots, which are not added as such. `all`: one that is away is no fault. Without any path nothing is
 * done but the summary. */
tn_status tn_import_scan(tn_library *library, const char *const *paths, size_t count, bool all,
                         const tn_import_options *options, tn_import_summary **summary, tn_error *err);

#endif
