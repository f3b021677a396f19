/* Asking about records whose files are gone: what may be their files, and a person's answer. */
#include <string.h>

#include "core/arena.h"
#include "library/relink.h"
#include "library/show.h"

#define CANDIDATES_MAX 100
#define ARENA_MAX ((size_t)1 << 32) /* bytes; the budget refuses long before */

/* All proposals, read under the lock and told without it. */
typedef struct proposals {
    tn_memory_source *memory;
    tn_arena arena;
    tn_relink_proposal *items;
    size_t count, capacity;
    tn_relink_candidate *candidates; /* of all items, one behind the other */
    size_t candidate_count, candidate_capacity;
} proposals;

static void proposals_free(proposals *p)
{
    tn_arena_free(&p->arena);
    tn_give(p->memory, p->items, p->capacity * sizeof *p->items);
    tn_give(p->memory, p->candidates, p->candidate_capacity * sizeof *p->candidates);
}

static tn_text keep(proposals *p, const tn_sql *s, int column)
{
    tn_text text = tn_sql_get(s, column);
    return tn_arena_text(&p->arena, text.bytes, text.size);
}

static tn_status begin_proposal(proposals *p, const tn_sql *s, tn_error *err)
{
    void *items = p->items;
    TN_TRY(tn_make_room(p->memory, &items, &p->capacity, p->count, sizeof *p->items, 16, err));
    p->items = items;
    p->items[p->count++] = (tn_relink_proposal){.id = tn_sql_get_int(s, 0), .name = keep(p, s, 1), .path = keep(p, s, 2),
                                                .presence = keep(p, s, 3)};
    return tn_arena_status(&p->arena, err);
}

/* The same record can be there for two reasons: the better one came first. */
static bool is_there(const proposals *p, size_t count, int64_t id)
{
    for (size_t i = p->candidate_count - count; i < p->candidate_count; i++)
        if (p->candidates[i].id == id)
            return true;
    return false;
}

static tn_status add_candidate(proposals *p, const tn_sql *s, tn_error *err)
{
    void *items = p->candidates;
    tn_relink_proposal *last = &p->items[p->count - 1];
    if (last->count == CANDIDATES_MAX || is_there(p, last->count, tn_sql_get_int(s, 4)))
        return TN_OK;
    TN_TRY(tn_make_room(p->memory, &items, &p->candidate_capacity, p->candidate_count, sizeof *p->candidates, 16, err));
    p->candidates = items;
    p->candidates[p->candidate_count++] = (tn_relink_candidate){.id = tn_sql_get_int(s, 4), .name = keep(p, s, 5),
                                                                .path = keep(p, s, 6), .why = keep(p, s, 7)};
    last->count++;
    return tn_arena_status(&p->arena, err);
}

static tn_status add_row(proposals *p, const tn_sql *s, tn_error *err)
{
    if (p->count == 0 || p->items[p->count - 1].id != tn_sql_get_int(s, 0))
        TN_TRY(begin_proposal(p, s, err));
    return add_candidate(p, s, err);
}

static tn_status read_rows(tn_library *library, proposals *p, tn_error *err)
{
    tn_sql s = tn_sql_start(&library->db, TN_QUERY_RELINK_PROPOSALS);
    for (;;) {
        bool more = false;
        TN_TRY(tn_sql_row(&s, &more, err));
        if (!more)
            return TN_OK;
        tn_status status = add_row(p, &s, err);
        if (status != TN_OK) {
            tn_sql_end(&s);
            return status;
        }
    }
}

tn_status tn_library_relink_proposals(tn_library *library, bool (*each)(void *user, const tn_relink_proposal *proposal),
                                      void *user, tn_error *err)
{
    proposals p = {.memory = library->memory};
    TN_TRY(tn_context_check(library->context, err));
    tn_arena_init(&p.arena, library->memory, ARENA_MAX);
    tn_library_lock(library);
    tn_status status = read_rows(library, &p, err);
    tn_library_unlock(library);
    const tn_relink_candidate *next = p.candidates;
    bool go_on = status == TN_OK;
    for (size_t i = 0; i < p.count && go_on; i++) {
        p.items[i].candidates = next;
        next += p.items[i].count;
        go_on = each(user, &p.items[i]);
    }
    proposals_free(&p);
    return status;
}

tn_status tn_relink_count(tn_library *library, uint64_t *out, tn_error *err)
{
    uint64_t count = 0;
    int64_t last = 0;
    tn_sql s = tn_sql_start(&library->db, TN_QUERY_RELINK_PROPOSALS);
    for (bool more = true; more;) {
        TN_TRY(tn_sql_row(&s, &more, err));
        if (more && tn_sql_get_int(&s, 0) != last) {
            last = tn_sql_get_int(&s, 0);
            count++;
        }
    }
    *out = count;
    return TN_OK;
}

/* ---- the answer ---- */

/* `presence` needs room for its words. */
static tn_status presence_of(tn_library *library, int64_t model, char presence[16], bool *waits, tn_error *err)
{
    bool more = false;
    tn_sql s = tn_sql_start(&library->db, TN_QUERY_RELINK_PRESENCE);
    tn_sql_int(&s, model);
    TN_TRY(tn_sql_row(&s, &more, err));
    if (!more)
        return tn_fail(err, TN_NOT_FOUND, "there is no model %lld", (long long)model);
    tn_text word = tn_sql_get(&s, 0);
    size_t size = word.size < 15 ? word.size : 15;
    memcpy(presence, word.bytes, size);
    presence[size] = '\0';
    *waits = tn_sql_get_int(&s, 1) != 0;
    tn_sql_end(&s);
    return TN_OK;
}

static tn_status relink_inside(tn_library *library, int64_t model, int64_t candidate, tn_error *err)
{
    char presence[16];
    bool waits = false;
    TN_TRY(presence_of(library, model, presence, &waits, err));
    if (strcmp(presence, "missing") != 0 && strcmp(presence, "offline") != 0)
        return tn_fail(err, TN_INVALID, "model %lld is %s: only what is missing or offline is linked to other files",
                       (long long)model, presence);
    TN_TRY(presence_of(library, candidate, presence, &waits, err));
    if (strcmp(presence, "present") != 0)
        return tn_fail(err, TN_INVALID, "model %lld is %s: it has no files to take over", (long long)candidate, presence);
    if (waits)
        return tn_fail(err, TN_BUSY, "model %lld was found by a scan that has not ended: wait for it, or go on with it: "
                                     "tenure jobs run", (long long)candidate);
    return tn_relink_take(library, &(tn_record_job){0, tn_os_wall_ns()}, model, candidate, err);
}

tn_status tn_library_relink(tn_library *library, int64_t model, int64_t candidate, tn_error *err)
{
    TN_TRY(tn_context_check(library->context, err));
    TN_TRY(tn_library_begin(library, err));
    return tn_library_end(library, relink_inside(library, model, candidate, err), err);
}

/* ---- what is missing ---- */

tn_status tn_library_missing(tn_library *library, bool (*each)(void *user, const tn_record *record), void *user,
                             tn_error *err)
{
    tn_ids ids = {.memory = library->memory};
    TN_TRY(tn_context_check(library->context, err));
    tn_library_lock(library);
    tn_sql s = tn_sql_start(&library->db, TN_QUERY_MISSING_IDS);
    tn_status status = tn_ids_collect(&ids, &s, err);
    tn_library_unlock(library);
    if (status == TN_OK)
        status = tn_show_records(library, &ids, each, user, err);
    tn_ids_free(&ids);
    return status;
}
