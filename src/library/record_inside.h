/* The inside of recording: one claim on its way into the library, and the rows it writes. */
#ifndef TN_LIBRARY_RECORD_INSIDE_H
#define TN_LIBRARY_RECORD_INSIDE_H

#include "library/record.h"

/* The row of a path, as it stands in the library. */
typedef struct tn_entry_row {
    int64_t file;   /* 0: there is none */
    int64_t model;  /* 0: it is nobody's entry */
    bool same;      /* it shows the claim's bytes as they are now */
} tn_entry_row;

/* A claim on its way into the library. */
typedef struct tn_recording {
    tn_library *library;
    tn_db *db;
    int64_t job, now_ns;
    const tn_claim *claim;
    const tn_reading *reading;
    bool crashed;
} tn_recording;

/* One number out of a query whose parameters are bound; 0 when there is no row. */
tn_status tn_record_one_number(tn_sql *s, int64_t *out, tn_error *err);
void tn_record_bind_file_id(tn_sql *s, const uint64_t file_id[2]);
/* The row of a path; all zero when there is none. `claim` NULL: `same` is not asked for. */
tn_status tn_record_find_entry(tn_db *db, const char *path, size_t size, const tn_claim *claim, tn_entry_row *out,
                               tn_error *err);
/* Put or refresh the row of a path; *out is its id. `members` NULL for a single file. */
tn_status tn_record_put_file(tn_db *db, tn_query query, tn_text path, const tn_os_info *info, const uint8_t *members,
                             int64_t *out, tn_error *err);
/* The same for the claim's own path. */
tn_status tn_record_put_entry_file(tn_recording *r, int64_t *out, tn_error *err);
tn_status tn_record_put_part(tn_recording *r, int64_t model, int64_t file, int64_t position, bool entry, tn_error *err);
tn_status tn_record_put_event(tn_recording *r, int64_t model, const char *what, tn_text detail, tn_error *err);
/* Write the row of a model; *model 0: a new one, whose id it becomes. */
tn_status tn_record_write_model(tn_recording *r, int64_t *model, tn_error *err);

#endif
