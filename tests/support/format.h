/* What the tests of the formats share: contexts, files in memory, folders that are made and taken away again. */
#ifndef TEST_SUPPORT_FORMAT_H
#define TEST_SUPPORT_FORMAT_H

#include <tenure/checkpoint.h>

#include "context/context.h"

/* cmocka fixtures: *state is a tn_context with a budget of 1 GiB; taking it down asserts that nothing is charged. */
int format_context_up(void **state);
int format_context_down(void **state);
/* The same with the scratch folder, made and removed. */
int format_folder_up(void **state);
int format_folder_down(void **state);

typedef struct format_bytes {
    char *bytes;
    size_t size;
} format_bytes;
/* A file of tests/data/format, whole. Freed with format_bytes_free. */
format_bytes format_data(const char *folder, const char *name);
void format_bytes_free(format_bytes *bytes);
/* A safetensors file of this header and `data_size` zero bytes. `header` NULL with a size: bytes to be filled. */
format_bytes format_safetensors(const char *header, size_t data_size);

/* Open bytes as a file of this name. */
tn_status format_open(tn_context *context, const void *bytes, size_t size, const char *name, tn_checkpoint **out,
                      tn_error *err);
/* The first finding of a severity, or NULL. */
const tn_finding *format_finding(const tn_checkpoint *checkpoint, tn_severity severity);
/* The finding of this status, or NULL. */
const tn_finding *format_finding_of(const tn_checkpoint *checkpoint, tn_status status);

/* A new empty folder; its path stays valid until format_folder_remove, which takes all in it away. */
const char *format_folder_make(void);
void format_folder_remove(void);
/* A path in it; valid until sixteen more were asked for. */
const char *format_path(const char *relative);
void format_make_folder(const char *relative);
void format_write(const char *relative, const void *bytes, size_t size);
void format_write_text(const char *relative, const char *text);
/* A safetensors file with one F32 tensor of two numbers for each name; names end with NULL. */
void format_write_tensors(const char *relative, const char *const *names);

#endif
