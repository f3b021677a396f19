/* The inside of recording: one claim on its way into the library, what its path was before (record_judge.c), the rows
 * it writes (record_rows.c), and which records have a path (record_presence.c). */
#ifndef TN_LIBRARY_RECORD_INSIDE_H
#define TN_LIBRARY_RECORD_INSIDE_H

#include "library/record.h"

/* The row of a path, as it stands in the library. */
typedef struct tn_entry_row {
    int64_t file;   /* 0: there is none */
    int64_t model;  /* 0: it is nobody's entry */
    int64_t size;   /* below 0: forgotten */
    int64_t mtime_ns, device;
    uint64_t file_id[2];
    bool weak, present;
    bool same;      /* it shows the claim's bytes as they are now */
} tn_entry_row;

/* A claim on its way into the library. */
typedef struct tn_recording {
    tn_library *library;
    tn_db *db;
    int64_t job, now_ns;
    int64_t began_ns; /* when the job was asked for: what it finds gone went by then */
    const tn_claim *claim;
    const tn_reading *reading;
    bool crashed;
} tn_recording;

tn_recording tn_record_begin(tn_library *library, const tn_record_job *job);

/* ---- what a path was before: docs/decisions/0009 ---- */

typedef enum tn_verdict {
    TN_VERDICT_NEW = 0,  /* it was nobody's entry */
    TN_VERDICT_SAME,     /* what its record was made of, as far as size, time, id and sample tell: rules 1, 3, 4 */
    TN_VERDICT_CARRY_ON, /* something in the place of what was broken: the exception to rule 5 */
    TN_VERDICT_OTHER     /* another file: rule 5 */
} tn_verdict;

/* What a record was made of. */
typedef struct tn_before {
    bool there;
    int64_t size, part_count;
    bool has_sample, broken;
    uint8_t sample[32];
} tn_before;

/* Whether what was read is one file under its own path, whatever its name claimed. */
bool tn_record_is_one_file(const tn_reading *reading);
/* `there` false when the record has gone. */
tn_status tn_record_load_before(tn_recording *r, int64_t model, tn_before *out, tn_error *err);
tn_status tn_record_judge(tn_recording *r, const tn_entry_row *row, tn_verdict *out, tn_error *err);

/* ---- rows ---- */

/* One number out of a query whose parameters are bound; 0 when there is no row. */
tn_status tn_record_one_number(tn_sql *s, int64_t *out, tn_error *err);
/* A statement whose one parameter is a model. */
tn_status tn_record_run_of(tn_db *db, tn_query query, int64_t model, tn_error *err);
/* Rows of files that show nothing any more go. */
tn_status tn_record_drop_forgotten(tn_db *db, tn_error *err);
void tn_record_bind_file_id(tn_sql *s, const uint64_t file_id[2]);
/* The row of a path; all zero when there is none. `claim` NULL: `same` is not asked for. */
tn_status tn_record_find_entry(tn_db *db, const char *path, size_t size, const tn_claim *claim, tn_entry_row *out,
                               tn_error *err);
/* The model that a path is an entry of; 0 when there is none. Takes the library's lock. */
tn_status tn_record_model_at(tn_library *library, tn_text path, int64_t *out, tn_error *err);
/* Put or refresh the row of a path; *out is its id. `members` NULL for a single file. */
tn_status tn_record_put_file(tn_db *db, tn_query query, tn_text path, const tn_os_info *info, const uint8_t *members,
                             int64_t *out, tn_error *err);
/* The same for the claim's own path. */
tn_status tn_record_put_entry_file(tn_recording *r, int64_t *out, tn_error *err);
tn_status tn_record_put_part(tn_recording *r, int64_t model, int64_t file, int64_t position, bool entry, tn_error *err);
tn_status tn_record_put_event(tn_recording *r, int64_t model, const char *what, tn_text detail, tn_error *err);
/* Write the row of a model; *model 0: a new one, whose id it becomes. */
tn_status tn_record_write_model(tn_recording *r, int64_t *model, tn_error *err);

/* ---- which records have a path ---- */

/* Make `presence` true by what is known of the model's files, show it by a path that is there, and let its automatic
 * name follow. One that has lost something, or got it back, gets an event. */
tn_status tn_record_settle_presence(tn_recording *r, int64_t model, tn_error *err);
/* A record of which nobody has said anything, and of which the library has neither sample nor hash: without a path it
 * could never be known again. */
typedef struct tn_nobody {
    bool unsampled;
    bool unread; /* it could not even be read */
} tn_nobody;
tn_status tn_record_ask_nobody(tn_recording *r, int64_t model, tn_nobody *out, tn_error *err);
/* The path leaves the model, which keeps its others; without any it is missing and keeps everything but its parts. One
 * that could never be known again, and of which nobody has said anything, goes. */
tn_status tn_record_leave(tn_recording *r, int64_t model, const tn_entry_row *row, tn_error *err);

#endif
