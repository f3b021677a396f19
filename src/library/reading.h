/* Reading one claim: what is it, which bytes stand for it, and what its record will say. */
#ifndef TN_LIBRARY_READING_H
#define TN_LIBRARY_READING_H

#include "library/scan.h"

typedef struct tn_reading {
    tn_answer *answer; /* NULL until it was read */
    bool refused;      /* the answer was made here, without a reader */
    char *json;
    size_t json_size;
    bool has_sample;
    uint8_t sample[32];
    tn_os_info *parts; /* of answer->parts, unless the path itself is the only one: then NULL and 0 */
    size_t part_count;
} tn_reading;

/* Where the time went, over all workers. */
typedef struct tn_reading_times {
    _Atomic uint64_t identify_ns, sample_ns, json_ns;
} tn_reading_times;

/* Identify and sample what stands at `path`. What is wrong with the file is in the answer; a status is the process's
 * own (TN_CANCELLED, TN_FORKED, TN_INTERNAL), for a file that asks for too much memory is unreadable, no more. */
tn_status tn_reading_take(tn_context *context, const char *path, tn_reading_times *times, tn_reading *out,
                          tn_error *err);
/* The same without opening anything: for a file that killed its readers, or whose reader could not be kept alive. */
tn_status tn_reading_refuse(tn_context *context, const char *path, uint64_t size_bytes, tn_status why,
                            const char *message, tn_reading *out, tn_error *err);
void tn_reading_free(tn_context *context, tn_reading *reading);

/* One line for a person: what is wrong and what to do. Appends nothing when nothing is. */
void tn_problem_append(tn_buffer *out, const tn_answer *answer);

#endif
