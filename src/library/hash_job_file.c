#include "library/hash_job_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "library/scan.h"

#define PARTS_OF_A_FILE 16 /* a file is part of one model, seldom of two */
#define WEAK_NS 2000000000 /* times count to two seconds where identities are weak (tn_scan_same) */
#define OF_WHOLE (TN_DIGEST_BLAKE3 | TN_DIGEST_SHA256 | TN_DIGEST_CRC32)

/* A part of a model that the file is. */
typedef struct part {
    int64_t model, position;
    uint32_t can, have;
} part;

/* ---- rows ---- */

static tn_status find_row(tn_library *library, tn_text path, tn_hash_row *out, tn_error *err)
{
    bool more = false;
    tn_hash_row row = {0};
    tn_sql s = tn_sql_start(&library->db, TN_QUERY_HASH_FILE);
    tn_sql_blob(&s, path.bytes, path.size);
    TN_TRY(tn_sql_row(&s, &more, err));
    if (more && tn_sql_get_int(&s, 5) != 0) {
        tn_text id = tn_sql_get(&s, 3);
        row = (tn_hash_row){.file = tn_sql_get_int(&s, 0), .size = (uint64_t)tn_sql_get_int(&s, 1),
                            .mtime_ns = tn_sql_get_int(&s, 2), .weak = tn_sql_get_int(&s, 4) != 0};
        if (id.size == sizeof row.file_id)
            memcpy(row.file_id, id.bytes, sizeof row.file_id);
    }
    if (more)
        tn_sql_end(&s);
    *out = row;
    return TN_OK;
}

static tn_status find_parts(tn_library *library, int64_t file, part parts[PARTS_OF_A_FILE], size_t *count, tn_error *err)
{
    tn_sql s = tn_sql_start(&library->db, TN_QUERY_HASH_PARTS);
    tn_sql_int(&s, file);
    *count = 0;
    for (bool more = true; more;) {
        TN_TRY(tn_sql_row(&s, &more, err));
        if (more && *count < PARTS_OF_A_FILE)
            parts[(*count)++] = (part){tn_sql_get_int(&s, 0), tn_sql_get_int(&s, 1), (uint32_t)tn_sql_get_int(&s, 2),
                                       (uint32_t)tn_sql_get_int(&s, 3)};
    }
    return TN_OK;
}

static bool same_row(const tn_hash_row *a, const tn_hash_row *b)
{
    return a->file == b->file && a->size == b->size && a->mtime_ns == b->mtime_ns &&
           memcmp(a->file_id, b->file_id, sizeof a->file_id) == 0;
}

tn_status tn_hash_item_same(tn_library *library, const tn_hash_item *item, bool *out, tn_error *err)
{
    tn_hash_row row;
    TN_TRY(find_row(library, item->path, &row, err));
    *out = same_row(&row, &item->row);
    return TN_OK;
}

/* ---- what lacks ---- */

/* H3: one of those that are known, the cheapest. */
static uint32_t witness(uint32_t have)
{
    uint32_t whole = have & OF_WHOLE;
    if (whole & TN_DIGEST_BLAKE3)
        return TN_DIGEST_BLAKE3;
    return whole & TN_DIGEST_CRC32 ? TN_DIGEST_CRC32 : whole;
}

static uint32_t lacks(const part *p, uint32_t wanted)
{
    if ((wanted & p->can & ~p->have) == 0)
        return 0;
    return (wanted & ~p->have) | witness(p->have);
}

tn_status tn_hash_item_ask(tn_library *library, tn_hash_item *item, tn_error *err)
{
    part parts[PARTS_OF_A_FILE];
    size_t count = 0;
    item->which = 0;
    TN_TRY(find_row(library, item->path, &item->row, err));
    TN_TRY(find_parts(library, item->row.file, parts, &count, err));
    for (size_t i = 0; i < count; i++)
        item->which |= lacks(&parts[i], item->wanted);
    return TN_OK;
}

/* ---- recording ---- */

/* A size, a time, and how near to it another one is the same. */
static void bind_stamp(tn_sql *s, const tn_hash_row *row)
{
    tn_sql_int(s, (int64_t)row->size);
    tn_sql_int(s, row->mtime_ns);
    tn_sql_int(s, row->weak ? WEAK_NS : 1);
}

/* H3. Is any of the digests known, and another? `expected` has room for TN_HASH_DIGITS_MAX. */
static tn_status find_contradiction(tn_library *library, const part *p, const tn_hash_row *row, const tn_hash_texts *texts,
                                    const tn_hash_text **found, char *expected, tn_error *err)
{
    tn_sql s = tn_sql_start(&library->db, TN_QUERY_HASH_KNOWN);
    tn_sql_int(&s, p->model);
    tn_sql_int(&s, p->position);
    bind_stamp(&s, row);
    *found = NULL;
    for (bool more = true; more;) {
        TN_TRY(tn_sql_row(&s, &more, err));
        if (!more)
            break;
        const tn_hash_text *taken = tn_hash_texts_find(texts, tn_sql_get(&s, 0));
        tn_text known = tn_sql_get(&s, 1);
        if (taken == NULL || (taken->value.size == known.size && memcmp(taken->value.bytes, known.bytes, known.size) == 0))
            continue;
        *found = taken;
        snprintf(expected, TN_HASH_DIGITS_MAX, "%.*s", (int)known.size, known.bytes);
        tn_sql_end(&s);
        break;
    }
    return TN_OK;
}

static tn_status put_hash(tn_library *library, const part *p, const tn_hash_row *row, const tn_hash_text *hash, tn_error *err)
{
    tn_sql s = tn_sql_start(&library->db, TN_QUERY_HASH_PUT);
    tn_sql_int(&s, p->model);
    tn_sql_int(&s, p->position);
    tn_sql_text(&s, hash->algorithm.bytes, hash->algorithm.size);
    tn_sql_text(&s, hash->value.bytes, hash->value.size);
    tn_sql_int(&s, (int64_t)row->size);
    tn_sql_int(&s, row->mtime_ns);
    return tn_sql_run(&s, err);
}

/* What was recorded when the file was another goes first. */
static tn_status put_hashes(tn_library *library, const part *p, const tn_hash_row *row, const tn_hash_texts *texts,
                            tn_error *err)
{
    tn_sql s = tn_sql_start(&library->db, TN_QUERY_HASH_DROP_STALE);
    tn_sql_int(&s, p->model);
    tn_sql_int(&s, p->position);
    bind_stamp(&s, row);
    TN_TRY(tn_sql_run(&s, err));
    for (size_t i = 0; i < texts->count; i++)
        TN_TRY(put_hash(library, p, row, &texts->hashes[i], err));
    return TN_OK;
}

tn_status tn_hash_put_rotten(tn_library *library, int64_t job, int64_t model, int64_t position, tn_text algorithm,
                             tn_text expected, tn_text found, tn_error *err)
{
    char detail[64 + 2 * TN_HASH_DIGITS_MAX];
    int size = snprintf(detail, sizeof detail, "part %" PRId64 ": %.*s was %.*s, is %.*s", position, (int)algorithm.size,
                        algorithm.bytes, (int)expected.size, expected.bytes, (int)found.size, found.bytes);
    tn_sql s = tn_sql_start(&library->db, TN_QUERY_HASH_EVENT_PUT);
    tn_sql_int(&s, tn_os_wall_ns());
    tn_sql_int(&s, job);
    tn_sql_int(&s, model);
    tn_sql_text(&s, "rotten", strlen("rotten"));
    tn_sql_text(&s, detail, (size_t)size < sizeof detail ? (size_t)size : sizeof detail - 1);
    return tn_sql_run(&s, err);
}

static tn_status record_part(tn_library *library, int64_t job, const part *p, const tn_hash_row *row,
                             tn_hash_recorded *out, tn_error *err)
{
    const tn_hash_text *other = NULL;
    char expected[TN_HASH_DIGITS_MAX];
    TN_TRY(find_contradiction(library, p, row, &out->texts, &other, expected, err));
    if (other == NULL)
        return put_hashes(library, p, row, &out->texts, err);
    out->outcome = TN_HASH_ROTTEN;
    return tn_hash_put_rotten(library, job, p->model, p->position, other->algorithm,
                              (tn_text){expected, strlen(expected)}, other->value, err);
}

/* H2 */
static bool is_of_row(const tn_digests *digests, const tn_hash_row *row)
{
    tn_os_info read = {.size = digests->size_bytes, .mtime_ns = digests->mtime_ns, .weak_identity = row->weak};
    memcpy(read.file_id, digests->file_id, sizeof read.file_id);
    return row->file != 0 && tn_scan_same(&read, row->size, row->mtime_ns, row->file_id, row->weak);
}

tn_status tn_hash_item_record(tn_library *library, int64_t job, const tn_hash_item *item, const tn_digests *digests,
                              tn_hash_recorded *out, tn_error *err)
{
    tn_hash_row row;
    part parts[PARTS_OF_A_FILE];
    size_t count = 0;
    TN_TRY(find_row(library, item->path, &row, err));
    tn_hash_texts_of(digests, &out->texts);
    out->model = 0;
    out->outcome = TN_HASH_OTHER;
    if (!is_of_row(digests, &row))
        return TN_OK;
    TN_TRY(find_parts(library, row.file, parts, &count, err));
    out->outcome = count > 0 ? TN_HASH_RECORDED : TN_HASH_GONE;
    out->model = count > 0 ? parts[0].model : 0;
    for (size_t i = 0; i < count; i++)
        TN_TRY(record_part(library, job, &parts[i], &row, out, err));
    return TN_OK;
}
