#include "library/answer_row.h"

#include <string.h>

#include "digest/pieces.h"

#define JSON_MAX_BYTES ((size_t)256 << 20)
#define SHARED_MIN 32u /* bytes of a member that is worth a row of its own */
#define KEY_MAX 128u /* longer ones of a later day are left out */

/* Who knows a member. */
typedef enum owner {
    OF_ANSWER,   /* the answer alone */
    OF_BOTH,     /* the row, and what the answer says is kept for the day the person takes theirs back */
    OF_ROW,      /* the row: not kept */
    OF_DECISION, /* the answer, until a person has decided */
    NOT_TOLD     /* other parts of the record say it */
} owner;

/* Every member in the order of telling, and what it is when it is not kept. */
static const struct {
    const char *key, *absent;
    owner owner;
    bool shared; /* the same in many answers */
} members[] = {
    {"path", "", NOT_TOLD, false},
    {"path_b64", "", NOT_TOLD, false},
    {"parts", "", NOT_TOLD, false},
    {"presence", "", NOT_TOLD, false},
    {"id", "", NOT_TOLD, false},
    {"name", "", NOT_TOLD, false},
    {"paths", "", NOT_TOLD, false},
    {"tags", "", NOT_TOLD, false},
    {"note", "", NOT_TOLD, false},
    {"added", "", NOT_TOLD, false},
    {"hashes", "", NOT_TOLD, false},
    {"part_hashes", "", NOT_TOLD, false},
    {"size_bytes", "0", OF_ROW, false},
    {"container", "null", OF_ROW, false},
    {"state", "null", OF_BOTH, false},
    {"type", "null", OF_BOTH, false},
    {"base", "null", OF_BOTH, false},
    {"variant", "null", OF_BOTH, false},
    {"variants", "[]", OF_DECISION, false},
    {"decided_by", "null", OF_DECISION, false},
    {"candidates", "[]", OF_DECISION, true},
    {"why", "null", OF_DECISION, true},
    {"prediction_type", "null", OF_ANSWER, false},
    {"scale", "null", OF_ANSWER, false},
    {"in_channels", "null", OF_ANSWER, false},
    {"out_channels", "null", OF_ANSWER, false},
    {"purpose", "null", OF_ANSWER, false},
    {"adapter", "null", OF_ANSWER, false},
    {"quantization", "null", OF_ANSWER, false},
    {"dtypes", "{}", OF_ANSWER, false},
    {"tensors", "0", OF_ANSWER, false},
    {"parameters", "0", OF_ANSWER, false},
    {"header_bytes", "0", OF_ANSWER, false},
    {"metadata", "{}", OF_ANSWER, false},
    {"evidence", "[]", OF_ANSWER, true},
    {"names", "{\"invokeai\":null,\"comfyui\":null,\"diffsynth\":null,\"diffusers\":null}", OF_ANSWER, true},
    {"key_hash", "null", OF_ANSWER, false},
    {"error", "null", OF_ANSWER, false},
    {"warnings", "[]", OF_ANSWER, false},
};
#define MEMBERS (sizeof members / sizeof members[0])

/* ---- the members of one object ---- */

typedef struct member {
    size_t known;  /* which of `members`; MEMBERS: none */
    tn_text key;   /* raw, between its quotes */
    tn_text value; /* as it stands in the JSON */
} member;

static size_t which(const tn_json *json)
{
    size_t i = 0;
    while (i < MEMBERS && !tn_json_is(json, members[i].key))
        i++;
    return i;
}

/* The next member of the object; false at its end, and when the JSON is not valid. */
static bool next_member(tn_json *json, member *out)
{
    if (tn_json_next(json) != TN_JSON_KEY)
        return false;
    out->known = which(json);
    out->key = (tn_text){json->text, json->text_size};
    tn_json_next(json);
    size_t from = json->token_at;
    if (!tn_json_skip(json))
        return false;
    out->value = (tn_text){json->bytes + from, (size_t)(json->at - json->bytes) - from};
    return true;
}

static tn_status begin_object(tn_json *json, tn_text text, tn_error *err)
{
    tn_json_init(json, text.bytes, text.size);
    return tn_json_next(json) == TN_JSON_OBJECT_BEGIN ? TN_OK : tn_json_fail(json, 0, err);
}

static tn_status end_object(const tn_json *json, tn_error *err)
{
    return json->kind == TN_JSON_OBJECT_END ? TN_OK : tn_json_fail(json, 0, err);
}

static bool says(tn_text value, const char *text)
{
    return value.size == strlen(text) && memcmp(value.bytes, text, value.size) == 0;
}

/* ---- keeping ---- */

static bool is_kept(const member *m)
{
    if (m->known == MEMBERS)
        return m->key.size < KEY_MAX;
    owner by = members[m->known].owner;
    return by != NOT_TOLD && by != OF_ROW && !says(m->value, members[m->known].absent);
}

static void write_key(tn_json_writer *w, const member *m)
{
    char key[KEY_MAX];
    if (m->known < MEMBERS)
        tn_json_key(w, members[m->known].key);
    else
        tn_json_key_text(w, key, tn_json_unescape(m->key.bytes, m->key.size, key));
}

static bool is_shared(const member *m)
{
    return m->known < MEMBERS && members[m->known].shared && m->value.size >= SHARED_MIN;
}

/* A number that is made of the text itself, so that it is the same in every library. */
static int64_t number_of(tn_text text)
{
    uint8_t digest[32];
    int64_t number = 0;
    tn_blake3_pieces(&text, 1, digest);
    for (int i = 0; i < 8; i++)
        number = (int64_t)((uint64_t)number << 8 | digest[i]);
    return number & INT64_MAX;
}

/* Put the text into the table; *out false when another text has its number. */
static tn_status share(tn_db *db, tn_text text, int64_t number, bool *out, tn_error *err)
{
    tn_sql s = tn_sql_start(db, TN_QUERY_SAID_PUT);
    tn_sql_int(&s, number);
    tn_sql_text(&s, text.bytes, text.size);
    TN_TRY(tn_sql_run(&s, err));
    s = tn_sql_start(db, TN_QUERY_SAID_GET);
    tn_sql_int(&s, number);
    bool more = false;
    TN_TRY(tn_sql_row(&s, &more, err));
    tn_text there = more ? tn_sql_get(&s, 0) : (tn_text){"", 0};
    *out = there.size == text.size && memcmp(there.bytes, text.bytes, text.size) == 0;
    tn_sql_end(&s);
    return TN_OK;
}

static tn_status write_kept(tn_json_writer *w, const member *m, tn_db *db, tn_error *err)
{
    bool shared = db != NULL && is_shared(m);
    int64_t number = shared ? number_of(m->value) : 0;
    if (shared)
        TN_TRY(share(db, m->value, number, &shared, err));
    write_key(w, m);
    if (shared)
        tn_json_int(w, number);
    else
        tn_json_raw(w, m->value.bytes, m->value.size);
    return TN_OK;
}

tn_status tn_answer_row_keep(tn_buffer *out, tn_text text, tn_db *db, tn_error *err)
{
    tn_json json;
    tn_json_writer w;
    member m;
    TN_TRY(begin_object(&json, text, err));
    tn_json_writer_init(&w, out);
    tn_json_object(&w);
    while (next_member(&json, &m))
        if (is_kept(&m))
            TN_TRY(write_kept(&w, &m, db, err));
    TN_TRY(end_object(&json, err));
    tn_json_object_end(&w);
    return tn_buffer_status(out, err);
}

static tn_status take_kept(tn_context *context, tn_text text, char **out, size_t *size, tn_error *err)
{
    tn_buffer kept;
    void *exact = NULL;
    tn_buffer_init(&kept, &context->memory, JSON_MAX_BYTES);
    tn_status status = tn_answer_row_keep(&kept, text, NULL, err);
    if (status == TN_OK)
        status = tn_take(&context->memory, kept.size + 1, &exact, err);
    if (status == TN_OK) {
        memcpy(exact, kept.bytes, kept.size + 1);
        *out = exact;
        *size = kept.size;
    }
    tn_buffer_free(&kept);
    return status;
}

tn_status tn_answer_row_json(tn_context *context, const tn_answer *answer, char **out, size_t *size, tn_error *err)
{
    char *whole;
    size_t whole_size;
    TN_TRY(tn_answer_json(context, answer, &whole, &whole_size, err));
    tn_status status = take_kept(context, (tn_text){whole, whole_size}, out, size, err);
    tn_answer_json_destroy(context, whole, whole_size);
    return status;
}

/* ---- telling ---- */

static void write_text(tn_json_writer *w, tn_text text)
{
    if (text.size > 0)
        tn_json_string(w, text.bytes, text.size);
    else
        tn_json_null(w);
}

static void write_of_row(tn_json_writer *w, const char *key, const tn_record *r)
{
    if (strcmp(key, "size_bytes") == 0)
        tn_json_uint(w, r->size_bytes);
    else if (strcmp(key, "state") == 0)
        tn_json_cstring(w, tn_state_word(r->state));
    else if (strcmp(key, "type") == 0)
        write_text(w, r->type);
    else if (strcmp(key, "base") == 0)
        write_text(w, r->base);
    else if (strcmp(key, "variant") == 0)
        write_text(w, r->variant);
    else
        write_text(w, r->container);
}

/* What stands for a number in the table `said`; nothing is written where it is not there, or is no JSON. */
static tn_status write_said(tn_json_writer *w, uint64_t number, const char *absent, tn_db *db, tn_error *err)
{
    tn_json json;
    bool more = false;
    tn_sql s = tn_sql_start(db, TN_QUERY_SAID_GET);
    tn_sql_int(&s, (int64_t)number);
    TN_TRY(tn_sql_row(&s, &more, err));
    tn_text text = more ? tn_sql_get(&s, 0) : (tn_text){"", 0};
    tn_json_init(&json, text.bytes, text.size);
    tn_json_next(&json);
    bool good = tn_json_skip(&json) && tn_json_next(&json) == TN_JSON_END;
    tn_json_raw(w, good ? text.bytes : absent, good ? text.size : strlen(absent));
    if (more)
        tn_sql_end(&s);
    return TN_OK;
}

static tn_status tell_value(tn_json_writer *w, size_t i, tn_text value, tn_db *db, tn_error *err)
{
    tn_json json;
    const char *absent = members[i].absent;
    tn_json_init(&json, value.bytes, value.size);
    if (members[i].shared && tn_json_next(&json) == TN_JSON_UINT)
        return write_said(w, json.u, absent, db, err);
    tn_json_raw(w, value.size > 0 ? value.bytes : absent, value.size > 0 ? value.size : strlen(absent));
    return TN_OK;
}

static tn_status tell_member(tn_json_writer *w, size_t i, tn_text value, const tn_record *record, bool user, tn_db *db,
                             tn_error *err)
{
    if (members[i].owner == NOT_TOLD)
        return TN_OK;
    tn_json_key(w, members[i].key);
    if (members[i].owner == OF_ROW || members[i].owner == OF_BOTH)
        write_of_row(w, members[i].key, record);
    else if (user && strcmp(members[i].key, "decided_by") == 0)
        tn_json_cstring(w, "user");
    else
        return tell_value(w, i, user && members[i].owner == OF_DECISION ? (tn_text){"", 0} : value, db, err);
    return TN_OK;
}

/* Members of a later day. */
static void tell_others(tn_json_writer *w, tn_json *json)
{
    member m;
    while (next_member(json, &m))
        if (m.known == MEMBERS && is_kept(&m)) {
            write_key(w, &m);
            tn_json_raw(w, m.value.bytes, m.value.size);
        }
}

tn_status tn_answer_row_tell(tn_json_writer *w, tn_text kept, const tn_record *record, bool user, tn_db *db,
                             tn_error *err)
{
    tn_text values[MEMBERS] = {{NULL, 0}};
    tn_json json;
    member m;
    TN_TRY(begin_object(&json, kept, err));
    while (next_member(&json, &m))
        if (m.known < MEMBERS)
            values[m.known] = m.value;
    TN_TRY(end_object(&json, err));
    for (size_t i = 0; i < MEMBERS; i++)
        TN_TRY(tell_member(w, i, values[i], record, user, db, err));
    TN_TRY(begin_object(&json, kept, err));
    tell_others(w, &json);
    return TN_OK;
}
