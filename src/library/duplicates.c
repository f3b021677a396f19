/* Duplicates: models of the same bytes. Rows of equal size and sample come side by side; each run of them is taken apart
 * into groups, which are told when all are known, the largest saving first. */
#include <stdlib.h>
#include <string.h>

#include "library/inside.h"

/* One row: a twin, and what stands for its bytes. */
typedef struct row {
    tn_twin twin;
    uint64_t size_bytes;
    tn_text sample, key; /* key: the BLAKE3 of all parts in order; empty when one lacks it */
} row;

typedef struct finder {
    tn_library *library;
    tn_arena arena; /* of all texts, and of the twins of groups */
    row *run;       /* of equal size and sample */
    size_t count, capacity;
    tn_twins *groups;
    size_t group_count, group_capacity;
} finder;

static bool same(tn_text a, tn_text b)
{
    return a.size == b.size && memcmp(a.bytes, b.bytes, a.size) == 0;
}

/* ---- groups ---- */

/* `count` rows of the run from `from` on become a group. */
static tn_status add_group(finder *f, size_t from, size_t count, bool sure, uint64_t saved, tn_error *err)
{
    void *groups = f->groups;
    tn_twin *twins = tn_arena_take_array(&f->arena, count, sizeof *twins);
    if (twins == NULL)
        return tn_arena_status(&f->arena, err);
    for (size_t i = 0; i < count; i++)
        twins[i] = f->run[from + i].twin;
    TN_TRY(tn_make_room(f->library->memory, &groups, &f->group_capacity, f->group_count, sizeof *f->groups, 16, err));
    f->groups = groups;
    uint64_t size = f->run[from].size_bytes;
    f->groups[f->group_count++] = (tn_twins){.sure = sure, .size_bytes = size, .saves_bytes = saved * size,
                                             .count = count, .twins = twins};
    return TN_OK;
}

/* Rows of one key stand side by side, those without one first. */
static tn_status end_run(finder *f, tn_error *err)
{
    size_t unhashed = 0, keys = 0;
    while (unhashed < f->count && f->run[unhashed].key.size == 0)
        unhashed++;
    for (size_t from = unhashed, to; from < f->count; from = to, keys++) {
        for (to = from + 1; to < f->count && same(f->run[from].key, f->run[to].key);)
            to++;
        if (to - from > 1)
            TN_TRY(add_group(f, from, to - from, true, to - from - 1, err));
    }
    if (unhashed > 0 && f->count > 1)
        TN_TRY(add_group(f, 0, f->count, false, keys > 0 ? unhashed : unhashed - 1, err));
    f->count = 0;
    return TN_OK;
}

/* ---- rows ---- */

static tn_text keep(finder *f, const tn_sql *s, int column)
{
    tn_text text = tn_sql_get(s, column);
    return tn_arena_text(&f->arena, text.bytes, text.size);
}

static tn_status take_row(finder *f, const tn_sql *s, tn_error *err)
{
    uint64_t size = (uint64_t)tn_sql_get_int(s, 3);
    if (f->count > 0 && (f->run[0].size_bytes != size || !same(f->run[0].sample, tn_sql_get(s, 4))))
        TN_TRY(end_run(f, err));
    void *run = f->run;
    TN_TRY(tn_make_room(f->library->memory, &run, &f->capacity, f->count, sizeof *f->run, 16, err));
    f->run = run;
    row *r = &f->run[f->count++];
    *r = (row){.size_bytes = size, .sample = keep(f, s, 4), .key = keep(f, s, 5)};
    r->twin = (tn_twin){.id = tn_sql_get_int(s, 0), .name = keep(f, s, 1), .path = keep(f, s, 2),
                        .hashed = r->key.size > 0};
    return tn_arena_status(&f->arena, err);
}

static tn_status read_rows(finder *f, tn_error *err)
{
    tn_sql s = tn_sql_start(&f->library->db, TN_QUERY_TWINS);
    for (;;) {
        bool more = false;
        TN_TRY(tn_sql_row(&s, &more, err));
        if (!more)
            return end_run(f, err);
        tn_status status = take_row(f, &s, err);
        if (status != TN_OK) {
            tn_sql_end(&s);
            return status;
        }
    }
}

static int by_saving(const void *left, const void *right)
{
    const tn_twins *a = left, *b = right;
    if (a->sure != b->sure)
        return a->sure ? -1 : 1;
    if (a->saves_bytes != b->saves_bytes)
        return a->saves_bytes > b->saves_bytes ? -1 : 1;
    return a->twins[0].id < b->twins[0].id ? -1 : a->twins[0].id > b->twins[0].id;
}

tn_status tn_library_duplicates(tn_library *library, bool (*each)(void *user, const tn_twins *twins), void *user,
                                tn_error *err)
{
    finder f = {.library = library};
    TN_TRY(tn_context_check(library->context, err));
    tn_arena_init(&f.arena, library->memory, SIZE_MAX);
    tn_library_lock(library);
    tn_status status = read_rows(&f, err);
    tn_library_unlock(library);
    if (status == TN_OK && f.group_count > 1)
        qsort(f.groups, f.group_count, sizeof *f.groups, by_saving);
    for (size_t i = 0; status == TN_OK && i < f.group_count; i++)
        if (!each(user, &f.groups[i]))
            break;
    tn_give(library->memory, f.groups, f.group_capacity * sizeof *f.groups);
    tn_give(library->memory, f.run, f.capacity * sizeof *f.run);
    tn_arena_free(&f.arena);
    return status;
}
