/* What the files that change records for acts share. Inside a transaction, the lock held. */
#ifndef TN_LIBRARY_ACTS_RECORDS_H
#define TN_LIBRARY_ACTS_RECORDS_H

#include "library/acts.h"
#include "library/record_inside.h"

tn_recording tn_act_recording(tn_act_plan *plan);
/* Run a statement of one number, or of two when the second is not 0. */
tn_status tn_act_run_with(tn_act_plan *plan, tn_query query, int64_t first, int64_t second, tn_error *err);

#endif
