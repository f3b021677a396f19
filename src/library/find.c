#include "library/find.h"

#include <stdlib.h>
#include <string.h>

#include "core/fold.h"
#include "library/place.h"
#include "library/search_words.h"

#define FILES_MAX 1000 /* records of one file name that are told apart */

/* ---- lists of ids ---- */

tn_status tn_ids_add(tn_ids *ids, int64_t id, tn_error *err)
{
    void *block = ids->ids;
    TN_TRY(tn_make_room(ids->memory, &block, &ids->capacity, ids->count, sizeof *ids->ids, 64, err));
    ids->ids = block;
    ids->ids[ids->count++] = id;
    return TN_OK;
}

tn_status tn_ids_collect(tn_ids *ids, tn_sql *s, tn_error *err)
{
    for (;;) {
        bool more = false;
        TN_TRY(tn_sql_row(s, &more, err));
        if (!more)
            return TN_OK;
        tn_status status = tn_ids_add(ids, tn_sql_get_int(s, 0), err);
        if (status != TN_OK) {
            tn_sql_end(s);
            return status;
        }
    }
}

void tn_ids_free(tn_ids *ids)
{
    tn_give(ids->memory, ids->ids, ids->capacity * sizeof *ids->ids);
    *ids = (tn_ids){.memory = ids->memory};
}

/* ---- the ways to mean one ---- */

static tn_status by_id(tn_library *library, const char *model, tn_ids *out, tn_error *err)
{
    size_t digits = strspn(model, "0123456789");
    if (digits == 0 || digits >= 19 || model[digits] != '\0')
        return TN_OK;
    tn_sql s = tn_sql_start(&library->db, TN_QUERY_FIND_ID);
    tn_sql_int(&s, strtoll(model, NULL, 10));
    return tn_ids_collect(out, &s, err);
}

static tn_status by_path(tn_library *library, const char *model, tn_ids *out, tn_error *err)
{
    tn_buffer path;
    tn_buffer_init(&path, library->memory, TN_PLACE_PATH_MAX);
    tn_status status = TN_OK;
    if (model[0] != '\0' && tn_os_absolute_path(model, &path, NULL) == TN_OK) {
        tn_sql s = tn_sql_start(&library->db, TN_QUERY_FIND_PATH);
        tn_sql_blob(&s, path.bytes, path.size);
        status = tn_ids_collect(out, &s, err);
    }
    tn_buffer_free(&path);
    return status;
}

static tn_status by_name(tn_library *library, tn_query query, const char *model, tn_ids *out, tn_error *err)
{
    tn_sql s = tn_sql_start(&library->db, query);
    tn_sql_text(&s, model, strlen(model));
    return tn_ids_collect(out, &s, err);
}

/* Whether the last component of a path is `file`, as it stands or without its suffix. */
static bool is_called(tn_text path, tn_text file)
{
    tn_text name = tn_place_name(path.bytes, path.size);
    if (tn_fold_equal(name, file))
        return true;
    for (size_t i = name.size; i > 1; i--)
        if (name.bytes[i - 1] == '.')
            return tn_fold_equal((tn_text){name.bytes, i - 1}, file);
    return false;
}

static tn_status add_called(tn_sql *s, tn_text file, tn_ids *out, tn_error *err)
{
    for (;;) {
        bool more = false;
        TN_TRY(tn_sql_row(s, &more, err));
        if (!more)
            return TN_OK;
        tn_status status = TN_OK;
        if (is_called(tn_sql_get(s, 1), file))
            status = tn_ids_add(out, tn_sql_get_int(s, 0), err);
        if (status != TN_OK || out->count == FILES_MAX) {
            tn_sql_end(s);
            return status;
        }
    }
}

/* The name of a file, which differs from the record's once a person has named that. The index of trigrams tells where to
 * look, so a name under three letters is none. */
static tn_status by_file(tn_library *library, const char *model, tn_ids *out, tn_error *err)
{
    tn_buffer match;
    tn_text file = {model, strlen(model)};
    if (tn_fold_points(file.bytes, file.size) < TN_SEARCH_GRAM)
        return TN_OK;
    tn_buffer_init(&match, library->memory, TN_SEARCH_MATCH_MAX);
    tn_search_match(&match, file);
    tn_status status = tn_buffer_status(&match, err);
    if (status == TN_OK) {
        tn_sql s = tn_sql_start(&library->db, TN_QUERY_FIND_FILE);
        tn_sql_text(&s, match.bytes, match.size);
        status = add_called(&s, file, out, err);
    }
    tn_buffer_free(&match);
    return status;
}

tn_status tn_find_models(tn_library *library, const char *model, tn_ids *out, tn_error *err)
{
    TN_TRY(by_id(library, model, out, err));
    if (out->count == 0)
        TN_TRY(by_path(library, model, out, err));
    if (out->count == 0)
        TN_TRY(by_name(library, TN_QUERY_FIND_NAME, model, out, err));
    if (out->count == 0)
        TN_TRY(by_name(library, TN_QUERY_FIND_NAME_ANY_CASE, model, out, err));
    if (out->count == 0)
        TN_TRY(by_file(library, model, out, err));
    if (out->count == 0)
        return tn_fail(err, TN_NOT_FOUND, "no model is known by the id, path or name \"%s\"", model);
    return TN_OK;
}

tn_status tn_find_model(tn_library *library, const char *model, int64_t *out, tn_error *err)
{
    tn_ids ids = {.memory = library->memory};
    tn_status status = tn_find_models(library, model, &ids, err);
    if (status == TN_OK && ids.count > 1)
        status = tn_fail(err, TN_AMBIGUOUS_NAME, "%zu models are called \"%s\": name one by its id or path", ids.count,
                         model);
    if (status == TN_OK)
        *out = ids.ids[0];
    tn_ids_free(&ids);
    return status;
}
