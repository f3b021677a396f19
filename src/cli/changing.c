#include "cli/changing.h"

static bool tell(void *user, const tn_record *record)
{
    tn_changing *c = user;
    if (c->cli->settings.json)
        tn_record_json_line(c->cli, record);
    else if (!c->cli->settings.quiet)
        c->say(c, record);
    return true;
}

/* The id, so that a record whose name was changed is found again. */
static bool keep_id(void *user, const tn_record *record)
{
    *(int64_t *)user = record->id;
    return true;
}

static tn_status change(tn_changing *c, const char *model, tn_error *err)
{
    char id[32];
    int64_t number = 0;
    TN_TRY(tn_library_show(c->library, model, keep_id, &number, err));
    snprintf(id, sizeof id, "%lld", (long long)number);
    TN_TRY(c->make(c, id, err));
    return tn_library_show(c->library, id, tell, c, err);
}

void tn_change_each(tn_changing *c, const char *const *models, size_t count)
{
    for (size_t i = 0; i < count && !tn_cli_stopped(c->cli); i++) {
        tn_error err;
        tn_status status = change(c, models[i], &err);
        if (status != TN_OK)
            tn_cli_no_model(c->cli, c->library, models[i], &err);
        if (status == TN_INVALID || status == TN_READ_ONLY || status == TN_LOCKED || tn_status_is_of_process(status))
            return; /* the others would meet the same */
    }
}
