/* Filling the caller's tn_error (include/tenure/status.h). Every function here accepts err == NULL. */
#ifndef TN_CORE_ERROR_H
#define TN_CORE_ERROR_H

#include <tenure/status.h>

#include "core/cc.h"

/* Begin an error: sets status and message (cut at its end, made valid UTF-8), clears everything else.
 * Returns `status`, so that a refusal is one line: return tn_fail(err, TN_LIMIT, "...", ...); */
tn_status tn_fail(tn_error *err, tn_status status, const char *format, ...) TN_PRINTF(3, 4);

/* Fail with what another call found: for callers that look at an error of their own before it goes on. Returns its
 * status. */
tn_status tn_fail_as(const tn_error *found, tn_error *err);

/* Say where, after tn_fail. A path too long for the field keeps its end. Bytes that are not UTF-8 become U+FFFD. */
void tn_error_at_file(tn_error *err, const char *path);
void tn_error_at_tensor(tn_error *err, const char *name, size_t size);
void tn_error_at_offset(tn_error *err, uint64_t offset);
void tn_error_amounts(tn_error *err, uint64_t expected, uint64_t found);

/* Whether there was no memory for it: the system had none, or the budget refused. */
bool tn_status_is_of_memory(tn_status status);
/* Whether a failure is this process's own, whatever file it was at: memory, cancelled, forked. */
bool tn_status_is_of_process(tn_status status);
/* What a file that shows `status` is called: "damaged", "dangerous", "unreadable", "unsupported" or "". */
const char *tn_status_state(tn_status status);

#define TN_TRY(call)                     \
    do {                                 \
        tn_status try_status_ = (call);  \
        if (try_status_ != TN_OK)        \
            return try_status_;          \
    } while (0)

#endif
