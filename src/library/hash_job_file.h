/* One file of a hash job: what it lacks, and what is recorded of it (hash_job.h, H1 to H3). All inside a transaction of
 * the caller's. */
#ifndef TN_LIBRARY_HASH_JOB_FILE_H
#define TN_LIBRARY_HASH_JOB_FILE_H

#include "library/hash_job_texts.h"
#include "library/inside.h"

/* The row of a file. */
typedef struct tn_hash_row {
    int64_t file; /* 0: there is none */
    uint64_t size, file_id[2];
    int64_t mtime_ns;
    bool weak;
} tn_hash_row;

typedef struct tn_hash_item {
    tn_text path;
    uint32_t wanted; /* TN_DIGEST_* that were asked for */
    uint32_t which;  /* those that are to be taken: what lacks of them, and what H3 asks for; 0: none */
    int64_t deaths;
    uint64_t bytes;  /* as the item says */
    tn_hash_row row; /* as it was when `which` was found out */
} tn_hash_item;

typedef enum tn_hash_outcome {
    TN_HASH_RECORDED = 0,
    TN_HASH_OTHER,  /* the file that was read is not the one the library knows */
    TN_HASH_ROTTEN, /* the one it knows, with other bytes */
    TN_HASH_GONE    /* nothing that is known lacks anything of it any more */
} tn_hash_outcome;

typedef struct tn_hash_recorded {
    tn_hash_outcome outcome;
    int64_t model;           /* the first it is a part of; 0: none */
    tn_hash_texts texts;     /* the digests that were read */
} tn_hash_recorded;

/* Find out the row of the item's path, and which of the wanted digests it lacks. */
tn_status tn_hash_item_ask(tn_library *library, tn_hash_item *item, tn_error *err);
/* Does the library still know the file as it did then? */
tn_status tn_hash_item_same(tn_library *library, const tn_hash_item *item, bool *out, tn_error *err);
/* Record what was read for every part that the file is. `out` must stay where it is. */
tn_status tn_hash_item_record(tn_library *library, int64_t job, const tn_hash_item *item, const tn_digests *digests,
                              tn_hash_recorded *out, tn_error *err);
/* An event of a part whose bytes are not those that were hashed; once, however often it is seen. */
tn_status tn_hash_put_rotten(tn_library *library, int64_t job, int64_t model, int64_t position, tn_text algorithm,
                             tn_text expected, tn_text found, tn_error *err);

#endif
