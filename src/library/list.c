/* Which records are listed or shown, and in which order. How one is told: show.c. */
#include <string.h>

#include "library/search_words.h"
#include "library/show.h"

static tn_text text_of(const char *text)
{
    return text != NULL ? (tn_text){text, strlen(text)} : (tn_text){"", 0};
}

static tn_status collect(tn_library *library, tn_query query, const tn_filter *filter, uint64_t limit, tn_ids *ids,
                         tn_error *err)
{
    uint64_t left = limit == 0 || limit > INT64_MAX ? INT64_MAX : limit - ids->count;
    tn_sql s = tn_sql_start(&library->db, query);
    tn_filter_bind(&s, filter);
    tn_sql_int(&s, (int64_t)left);
    return tn_ids_collect(ids, &s, err);
}

tn_status tn_list_ids(tn_library *library, const tn_filter *filter, uint64_t limit, tn_ids *ids, tn_error *err)
{
    TN_TRY(collect(library, TN_QUERY_LIST_OF_BASE, filter, limit, ids, err));
    if (limit != 0 && ids->count >= limit)
        return TN_OK;
    return collect(library, TN_QUERY_LIST_WITHOUT_BASE, filter, limit, ids, err);
}

tn_status tn_library_list(tn_library *library, const tn_list_options *options,
                          bool (*each)(void *user, const tn_record *record), void *user, tn_error *err)
{
    static const tn_list_options all = {.size = sizeof all};
    tn_ids ids = {.memory = library->memory};
    TN_TRY(tn_context_check(library->context, err));
    if (options == NULL)
        options = &all;
    if (options->size != sizeof *options)
        return tn_fail(err, TN_INVALID, "tn_list_options of another size");
    tn_filter filter = {.type = text_of(options->type), .base = text_of(options->base), .tag = text_of(options->tag),
                        .state = text_of(options->state), .presence = text_of(options->presence)};
    tn_library_lock(library);
    tn_status status = tn_filter_check(&filter, err);
    if (status == TN_OK)
        status = tn_list_ids(library, &filter, options->limit, &ids, err);
    tn_library_unlock(library);
    if (status == TN_OK)
        status = tn_show_records(library, &ids, each, user, err);
    tn_ids_free(&ids);
    return status;
}

tn_status tn_library_show(tn_library *library, const char *model,
                          bool (*each)(void *user, const tn_record *record), void *user, tn_error *err)
{
    int64_t id = 0;
    bool go_on = true;
    TN_TRY(tn_context_check(library->context, err));
    tn_library_lock(library);
    tn_status status = tn_find_model(library, model, &id, err);
    tn_library_unlock(library);
    if (status == TN_OK)
        status = tn_show_record(library, id, each, user, &go_on, err);
    return status;
}

tn_status tn_library_find(tn_library *library, const char *model, bool (*each)(void *user, const tn_record *record),
                          void *user, tn_error *err)
{
    tn_ids ids = {.memory = library->memory};
    TN_TRY(tn_context_check(library->context, err));
    tn_library_lock(library);
    tn_status status = tn_find_models(library, model, &ids, err);
    tn_library_unlock(library);
    if (status == TN_OK)
        status = tn_show_records(library, &ids, each, user, err);
    tn_ids_free(&ids);
    return status;
}
