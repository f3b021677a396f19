/* A growing run of bytes with a maximum from birth.
 *
 *   B1  size <= capacity <= max, always.
 *   B2  The first failure stays (sticky): a writer may append a whole document and ask once at its end.
 *   B3  When capacity > 0 a NUL stands behind the bytes (not counted), so bytes can be used as a C string.
 */
#ifndef TN_CORE_BUFFER_H
#define TN_CORE_BUFFER_H

#include "core/memory.h"

typedef struct tn_buffer {
    tn_memory_source *memory;
    char *bytes; /* NULL until the first byte */
    size_t size, capacity, max;
    tn_status failed; /* TN_OK, TN_LIMIT (max reached), TN_NO_MEMORY or TN_OVER_BUDGET */
} tn_buffer;

/* Start empty; takes no memory. `max` bytes at most. */
void tn_buffer_init(tn_buffer *buffer, tn_memory_source *memory, size_t max);
void tn_buffer_append(tn_buffer *buffer, const void *bytes, size_t size);
void tn_buffer_text(tn_buffer *buffer, const char *text);
void tn_buffer_format(tn_buffer *buffer, const char *format, ...) TN_PRINTF(2, 3);
/* Room for `size` more bytes, to be filled by the caller, who then adds to buffer->size. NULL on failure. */
char *tn_buffer_reserve(tn_buffer *buffer, size_t size);
void tn_buffer_clear(tn_buffer *buffer); /* size 0, failure forgotten, memory kept */
void tn_buffer_free(tn_buffer *buffer);  /* all given back; may be used again. NULL accepted */
/* TN_OK, or the first failure told in full. */
tn_status tn_buffer_status(const tn_buffer *buffer, tn_error *err);

#endif
