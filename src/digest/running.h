/* BLAKE3 of bytes that come one run after the other: for whoever reads them anyway. */
#ifndef TN_DIGEST_RUNNING_H
#define TN_DIGEST_RUNNING_H

#include "core/memory.h"

typedef struct tn_running tn_running;

tn_status tn_running_create(tn_memory_source *memory, tn_running **out, tn_error *err);
void tn_running_add(tn_running *running, const void *bytes, size_t size);
/* The digest of all that was added, and begin anew. */
void tn_running_end(tn_running *running, uint8_t out[32]);
void tn_running_destroy(tn_running *running); /* NULL accepted */

#endif
