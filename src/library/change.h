/* One change that a person makes to one model: found, changed and told as an event, in one transaction. */
#ifndef TN_LIBRARY_CHANGE_H
#define TN_LIBRARY_CHANGE_H

#include "library/find.h"

typedef struct tn_change {
    tn_library *library;
    tn_db *db;
    int64_t model, now_ns;
} tn_change;

/* Find `model` and let `make` change it. */
tn_status tn_change_model(tn_library *library, const char *model,
                          tn_status (*make)(tn_change *c, const void *wanted, tn_error *err), const void *wanted,
                          tn_error *err);
/* Run a statement; where it changed something, write an event of this name. */
tn_status tn_change_run(tn_change *c, tn_sql *s, const char *what, tn_text detail, tn_error *err);

#endif
