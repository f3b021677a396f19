/* An answer as a row keeps it: without what the row's other columns and tables know, and without members that say
 * nothing (null, empty lists). A library of 100,000 models is half as large for it. Telling puts all of them back. */
#ifndef TN_LIBRARY_ANSWER_ROW_H
#define TN_LIBRARY_ANSWER_ROW_H

#include <tenure/library.h>

#include "core/json.h"
#include "library/sql.h"

/* The JSON of an answer as it is kept; free it with tn_answer_json_destroy. */
tn_status tn_answer_row_json(tn_context *context, const tn_answer *answer, char **out, size_t *size, tn_error *err);
/* The same from an answer's JSON, whole or kept, appended. With `db` (and a transaction open) the members that many models
 * have in common, such as evidence, go to the table `said`, and a number stands for them. TN_BAD_JSON: it is no answer. */
tn_status tn_answer_row_keep(tn_buffer *out, tn_text json, tn_db *db, tn_error *err);
/* Write the members of interface.md 3 from `size_bytes` on into the object that is open. What `record` says counts; `user`:
 * a person has set type, base or variant. TN_BAD_JSON: it is no answer, and nothing was written. */
tn_status tn_answer_row_tell(tn_json_writer *w, tn_text kept, const tn_record *record, bool user, tn_db *db,
                             tn_error *err);

#endif
