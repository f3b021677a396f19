/* Tags, notes and names: what people say of a model. Each change is one transaction with its event; what was corrected in
 * an answer: set.c. */
#include "library/words.h"

#include <string.h>

#include "core/fold.h"
#include "core/utf8.h"
#include "library/change.h"

#define TAG_POINTS_MAX 64u
#define NAME_POINTS_MAX 255u
#define NOTE_BYTES_MAX 65536u

/* ---- what words may be ---- */

static bool is_control(uint32_t point)
{
    return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == TN_UTF8_BAD;
}

tn_status tn_words_check(const char *text, const char *what, size_t points_max, tn_error *err)
{
    size_t size = strlen(text), count = 0, length;
    for (size_t at = 0; at < size; at += length, count++)
        if (is_control(tn_utf8_decode(text + at, size - at, &length)))
            return tn_fail(err, TN_INVALID, "%s has no control characters in it, and is UTF-8", what);
    if (count == 0 || count > points_max)
        return tn_fail(err, TN_INVALID, "%s has 1 to %zu characters", what, points_max);
    return TN_OK;
}

static tn_status check_note(const char *text, tn_error *err)
{
    size_t size = strlen(text);
    if (size > NOTE_BYTES_MAX)
        return tn_fail(err, TN_INVALID, "a note has %u bytes at most, this one %zu", NOTE_BYTES_MAX, size);
    if (tn_utf8_valid_prefix(text, size) != size)
        return tn_fail(err, TN_INVALID, "a note is UTF-8");
    return TN_OK;
}

/* ---- tags ---- */

static tn_status spell_anew(tn_text tag, tn_buffer *out, tn_error *err)
{
    tn_buffer_clear(out);
    tn_buffer_append(out, tag.bytes, tag.size);
    return tn_buffer_status(out, err);
}

tn_status tn_words_tag(tn_db *db, tn_text given, tn_buffer *out, tn_error *err)
{
    TN_TRY(spell_anew(given, out, err));
    tn_sql s = tn_sql_start(db, TN_QUERY_TAG_SPELLINGS);
    for (;;) {
        bool more = false;
        TN_TRY(tn_sql_row(&s, &more, err));
        if (!more)
            return TN_OK;
        tn_text known = tn_sql_get(&s, 0);
        if (!tn_fold_equal(known, given))
            continue;
        tn_status status = spell_anew(known, out, err);
        tn_sql_end(&s);
        return status;
    }
}

static tn_status change_tag(tn_change *c, const char *given, bool add, tn_error *err)
{
    tn_buffer tag, said;
    TN_TRY(tn_words_check(given, "a tag", TAG_POINTS_MAX, err));
    tn_buffer_init(&tag, c->library->memory, 8 * TAG_POINTS_MAX);
    tn_buffer_init(&said, c->library->memory, 8 * TAG_POINTS_MAX);
    tn_status status = tn_words_tag(c->db, (tn_text){given, strlen(given)}, &tag, err);
    tn_buffer_format(&said, "%c%s", add ? '+' : '-', tag.bytes);
    if (status == TN_OK)
        status = tn_buffer_status(&said, err);
    if (status == TN_OK) {
        tn_sql s = tn_sql_start(c->db, add ? TN_QUERY_TAG_PUT : TN_QUERY_TAG_DROP);
        tn_sql_int(&s, c->model);
        tn_sql_text(&s, tag.bytes, tag.size);
        status = tn_change_run(c, &s, "tagged", (tn_text){said.bytes, said.size}, err);
    }
    tn_buffer_free(&tag);
    tn_buffer_free(&said);
    return status;
}

static tn_status change_tags(tn_change *c, const void *wanted, tn_error *err)
{
    const tn_tag_change *tags = wanted;
    for (size_t i = 0; i < tags->remove_count; i++)
        TN_TRY(change_tag(c, tags->remove[i], false, err));
    for (size_t i = 0; i < tags->add_count; i++)
        TN_TRY(change_tag(c, tags->add[i], true, err));
    return TN_OK;
}

tn_status tn_library_tag(tn_library *library, const char *model, const tn_tag_change *change, tn_error *err)
{
    if (change == NULL || change->size != sizeof *change)
        return tn_fail(err, TN_INVALID, "tn_tag_change of another size");
    return tn_change_model(library, model, change_tags, change, err);
}

typedef struct tag_list {
    tn_arena arena; /* of the texts */
    tn_tag *tags;
    size_t count, capacity;
} tag_list;

static tn_status keep_tag(tn_library *library, tag_list *list, const tn_sql *s, tn_error *err)
{
    void *tags = list->tags;
    tn_text tag = tn_sql_get(s, 0);
    TN_TRY(tn_make_room(library->memory, &tags, &list->capacity, list->count, sizeof *list->tags, 64, err));
    list->tags = tags;
    list->tags[list->count++] = (tn_tag){tn_arena_text(&list->arena, tag.bytes, tag.size),
                                         (uint64_t)tn_sql_get_int(s, 1)};
    return tn_arena_status(&list->arena, err);
}

static tn_status read_tags(tn_library *library, tag_list *list, tn_error *err)
{
    tn_sql s = tn_sql_start(&library->db, TN_QUERY_TAGS);
    for (;;) {
        bool more = false;
        TN_TRY(tn_sql_row(&s, &more, err));
        if (!more)
            return TN_OK;
        tn_status status = keep_tag(library, list, &s, err);
        if (status != TN_OK) {
            tn_sql_end(&s);
            return status;
        }
    }
}

tn_status tn_library_tags(tn_library *library, bool (*each)(void *user, const tn_tag *tag), void *user, tn_error *err)
{
    tag_list list = {.count = 0};
    TN_TRY(tn_context_check(library->context, err));
    tn_arena_init(&list.arena, library->memory, SIZE_MAX);
    tn_library_lock(library);
    tn_status status = read_tags(library, &list, err);
    tn_library_unlock(library);
    for (size_t i = 0; status == TN_OK && i < list.count; i++)
        if (!each(user, &list.tags[i]))
            break;
    tn_give(library->memory, list.tags, list.capacity * sizeof *list.tags);
    tn_arena_free(&list.arena);
    return status;
}

/* ---- note and name ---- */

/* Model, text, time: what both queries take. */
static tn_status put_text(tn_change *c, tn_query query, const char *what, const char *text, tn_error *err)
{
    tn_sql s = tn_sql_start(c->db, query);
    tn_sql_int(&s, c->model);
    tn_sql_text(&s, text, strlen(text));
    tn_sql_int(&s, c->now_ns);
    return tn_change_run(c, &s, what, (tn_text){text, strlen(text)}, err);
}

static tn_status change_note(tn_change *c, const void *wanted, tn_error *err)
{
    TN_TRY(check_note(wanted, err));
    return put_text(c, TN_QUERY_MODEL_NOTE, "noted", wanted, err);
}

tn_status tn_library_note(tn_library *library, const char *model, const char *text, tn_error *err)
{
    return tn_change_model(library, model, change_note, text, err);
}

static tn_status change_name(tn_change *c, const void *wanted, tn_error *err)
{
    TN_TRY(tn_words_check(wanted, "a name", NAME_POINTS_MAX, err));
    return put_text(c, TN_QUERY_MODEL_NAME, "named", wanted, err);
}

tn_status tn_library_rename(tn_library *library, const char *model, const char *name, tn_error *err)
{
    return tn_change_model(library, model, change_name, name, err);
}
