/* Which record a person means by an id, a path or a name. Every function here is called with the library's lock held. */
#ifndef TN_LIBRARY_FIND_H
#define TN_LIBRARY_FIND_H

#include "library/inside.h"

/* A growing list of ids. Zero it, with its memory, before use. */
typedef struct tn_ids {
    tn_memory_source *memory;
    int64_t *ids;
    size_t count, capacity;
} tn_ids;

tn_status tn_ids_add(tn_ids *ids, int64_t id, tn_error *err);
/* Run a statement to its end and add the first column of its rows. */
tn_status tn_ids_collect(tn_ids *ids, tn_sql *s, tn_error *err);
void tn_ids_free(tn_ids *ids);

/* All records that `model` may mean. The first of these that knows any counts: an id, a path, a name, a name in another
 * case of letters, the name of a file with or without its suffix. TN_NOT_FOUND when none does. */
tn_status tn_find_models(tn_library *library, const char *model, tn_ids *out, tn_error *err);
/* The one record that `model` means. TN_NOT_FOUND, TN_AMBIGUOUS_NAME. */
tn_status tn_find_model(tn_library *library, const char *model, int64_t *out, tn_error *err);

#endif
