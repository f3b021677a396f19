#include "library/settle.h"

#include <string.h>

#include "library/answer_row.h"
#include "library/find.h"

#define ANSWER_MAX_BYTES ((size_t)256 << 20)

static tn_status write_answer(tn_db *db, int64_t id, const tn_buffer *answer, tn_error *err)
{
    tn_sql s = tn_sql_start(db, TN_QUERY_SETTLE_ANSWER);
    tn_sql_int(&s, id);
    tn_sql_text(&s, answer->bytes, answer->size);
    return tn_sql_run(&s, err);
}

/* An answer that is none stays as it is. */
static tn_status share_answer(tn_db *db, int64_t id, tn_buffer *kept, tn_error *err)
{
    bool more = false;
    tn_error found;
    tn_sql s = tn_sql_start(db, TN_QUERY_SETTLE_ANSWER_OF);
    tn_sql_int(&s, id);
    TN_TRY(tn_sql_row(&s, &more, err));
    if (!more)
        return TN_OK;
    tn_text answer = tn_sql_get(&s, 0);
    tn_buffer_clear(kept);
    tn_status status = tn_answer_row_keep(kept, answer, db, &found);
    bool same = kept->size == answer.size && memcmp(kept->bytes, answer.bytes, answer.size) == 0;
    tn_sql_end(&s);
    if (status == TN_BAD_JSON || (status == TN_OK && same))
        return TN_OK;
    return status == TN_OK ? write_answer(db, id, kept, err) : tn_fail_as(&found, err);
}

static tn_status share_answers(tn_db *db, tn_error *err)
{
    tn_buffer kept;
    tn_ids ids = {.memory = &db->context->memory};
    tn_buffer_init(&kept, &db->context->memory, ANSWER_MAX_BYTES);
    tn_sql s = tn_sql_start(db, TN_QUERY_SETTLE_IDS);
    tn_status status = tn_ids_collect(&ids, &s, err);
    for (size_t i = 0; i < ids.count && status == TN_OK; i++)
        status = share_answer(db, ids.ids[i], &kept, err);
    tn_ids_free(&ids);
    tn_buffer_free(&kept);
    return status;
}

static tn_status write_words(tn_db *db, tn_error *err)
{
    static const tn_query steps[] = {TN_QUERY_WORDS_UNINDEX_NAMES, TN_QUERY_WORDS_UNINDEX_TEXTS, TN_QUERY_WORDS_DROP,
                                     TN_QUERY_WORDS_PUT, TN_QUERY_WORDS_INDEX_NAMES, TN_QUERY_WORDS_INDEX_TEXTS,
                                     TN_QUERY_WORDS_SETTLED};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        tn_sql s = tn_sql_start(db, steps[i]);
        TN_TRY(tn_sql_run(&s, err));
    }
    return TN_OK;
}

tn_status tn_settle(tn_db *db, tn_error *err)
{
    bool any = false;
    tn_sql s = tn_sql_start(db, TN_QUERY_SETTLE_ANY);
    TN_TRY(tn_sql_row(&s, &any, err));
    if (!any)
        return TN_OK;
    tn_sql_end(&s);
    TN_TRY(share_answers(db, err));
    return write_words(db, err);
}
