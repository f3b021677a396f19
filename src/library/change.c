#include "library/change.h"

#include <string.h>

static tn_status find_and_make(tn_library *library, const char *model,
                               tn_status (*make)(tn_change *c, const void *wanted, tn_error *err), const void *wanted,
                               tn_error *err)
{
    tn_change c = {.library = library, .db = &library->db, .now_ns = tn_os_wall_ns()};
    TN_TRY(tn_find_model(library, model, &c.model, err));
    return make(&c, wanted, err);
}

tn_status tn_change_model(tn_library *library, const char *model,
                          tn_status (*make)(tn_change *c, const void *wanted, tn_error *err), const void *wanted,
                          tn_error *err)
{
    TN_TRY(tn_context_check(library->context, err));
    if (model == NULL || wanted == NULL)
        return tn_fail(err, TN_INVALID, "a model and what to say of it are needed");
    TN_TRY(tn_library_begin(library, err));
    return tn_library_end(library, find_and_make(library, model, make, wanted, err), err);
}

tn_status tn_change_run(tn_change *c, tn_sql *s, const char *what, tn_text detail, tn_error *err)
{
    TN_TRY(tn_sql_run(s, err));
    if (sqlite3_changes(c->db->handle) == 0)
        return TN_OK;
    tn_sql event = tn_sql_start(c->db, TN_QUERY_EVENT_PUT);
    tn_sql_int(&event, c->now_ns);
    tn_sql_null(&event);
    tn_sql_int(&event, c->model);
    tn_sql_text(&event, what, strlen(what));
    tn_sql_text(&event, detail.bytes, detail.size);
    return tn_sql_run(&event, err);
}
