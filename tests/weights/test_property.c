/* Random lives of leases beside a plain model: files are opened, leased whole or in slices, replaced, cut, deleted; leases
 * move to other threads, which check and release them; checkpoints are closed at any time. Every byte of every lease is
 * what the file held when it was opened, or the call said why not. TENURE_LEASE_OPERATIONS says how many (a million:
 * make soak); TENURE_LEASE_SEED repeats a run. */
#include "support/weights.h"

#include <stdlib.h>

enum { FILES = 3, CHECKPOINTS = 6, LEASES = 40, THREADS = 3 };

static const row rows[] = {
    {"whole", TN_F32, 2, {90, 333}}, {"half", TN_F16, 2, {1500, 64}}, {"none", TN_F32, 2, {0, 7}},
    {"odd", TN_U8, 1, {13}},         {"behind", TN_F16, 2, {40, 11}}, {"one", TN_F64, 0, {0}},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

/* ---- the model ---- */

typedef struct path_state {
    char name[32];
    uint64_t seed;    /* of what is in it; 0: there is none */
    bool spoilt;      /* cut or grown in place: nobody may read it */
    uint64_t version; /* of the name: another file each time */
} path_state;

typedef struct open_state {
    tn_checkpoint *checkpoint;
    unsigned path;
    uint64_t seed, version;
    bool is_open; /* its file is open, so that its name matters no more */
    bool spoilt;  /* its own file was changed in place */
} open_state;

typedef struct lease_state {
    tn_lease *lease;
    uint64_t seed;
    unsigned row;
    int64_t first, step; /* rows of dimension 0: of a slice; 0, 1 of a whole tensor */
    bool view;
    bool spoilt;         /* of a view: its file was changed in place */
    uint64_t file;       /* the version of it */
    unsigned holds;
} lease_state;

static path_state paths[FILES];
static open_state opened[CHECKPOINTS];
static lease_state leases[LEASES];
static uint64_t random_state, versions;
static bool still; /* the files stay as they are: Windows does not let open ones be changed so freely */

static uint64_t draw(uint64_t below)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 33) % below;
}

/* ---- checking ---- */

static uint64_t row_bytes(unsigned number)
{
    const row *r = &rows[number];
    return r->rank == 0 || r->shape[0] == 0 ? bytes_of(r) : bytes_of(r) / r->shape[0];
}

static void check_bytes(const lease_state *l, const void *data)
{
    uint64_t line = row_bytes(l->row), from = data_at(rows, l->row), n = l->lease->rank == 0 ? 1 : l->lease->shape[0];
    if (l->lease->elements == 0)
        return;
    for (uint64_t i = 0; i < n; i++) {
        int64_t place = l->first + (int64_t)i * l->step;
        const uint8_t *bytes = (const uint8_t *)data + i * line;
        for (uint64_t b = 0; b < line; b++)
            if (bytes[b] != byte_of(l->seed, from + (uint64_t)place * line + b))
                fail_msg("%s of seed %llu: row %lld, byte %llu", rows[l->row].name, (unsigned long long)l->seed,
                         (long long)place, (unsigned long long)b);
    }
}

static void check(const lease_state *l)
{
    if (!l->view) {
        check_bytes(l, l->lease->data);
        return;
    }
    size_t size = (size_t)l->lease->size_bytes;
    void *copy = malloc(size + 1);
    tn_status status = tn_lease_copy(l->lease, copy, size, NULL);
    if (status == TN_OK)
        check_bytes(l, copy);
    assert_int_equal(status == TN_OK, !l->spoilt);
    free(copy);
}

/* ---- other threads ---- */

static struct {
    tn_os_mutex *mutex;
    tn_os_condition *condition;
    lease_state waiting[16];
    size_t count;
    bool ended, failed;
} post;

/* What fails in another thread is told to the first, which is cmocka's. */
static bool is_right(const lease_state *l)
{
    uint64_t line = row_bytes(l->row), from = data_at(rows, l->row), n = l->lease->rank == 0 ? 1 : l->lease->shape[0];
    for (uint64_t i = 0; i < n && l->lease->elements > 0; i++)
        for (uint64_t b = 0; b < line; b++)
            if (((const uint8_t *)l->lease->data)[i * line + b] !=
                byte_of(l->seed, from + (uint64_t)(l->first + (int64_t)i * l->step) * line + b))
                return false;
    return true;
}

static void receive(void *nothing)
{
    (void)nothing;
    tn_os_mutex_lock(post.mutex);
    for (;;) {
        while (post.count == 0 && !post.ended)
            tn_os_condition_wait(post.condition, post.mutex);
        if (post.count == 0)
            break;
        lease_state l = post.waiting[--post.count];
        tn_os_mutex_unlock(post.mutex);
        bool right = l.view || is_right(&l);
        while (l.holds-- > 0)
            tn_lease_release(l.lease);
        tn_os_mutex_lock(post.mutex);
        post.failed |= !right;
    }
    tn_os_mutex_unlock(post.mutex);
}

static bool send_away(lease_state *l)
{
    tn_os_mutex_lock(post.mutex);
    bool room = post.count < sizeof post.waiting / sizeof post.waiting[0];
    if (room) {
        post.waiting[post.count++] = *l;
        l->lease = NULL;
        tn_os_condition_wake_all(post.condition);
    }
    assert_false(post.failed);
    tn_os_mutex_unlock(post.mutex);
    return room;
}

/* ---- what happens ---- */

static void spoil(unsigned path)
{
    paths[path].spoilt = true;
    for (unsigned i = 0; i < CHECKPOINTS; i++)
        if (opened[i].checkpoint != NULL && opened[i].version == paths[path].version)
            opened[i].spoilt = true;
    for (unsigned i = 0; i < LEASES; i++)
        if (leases[i].lease != NULL && leases[i].file == paths[path].version)
            leases[i].spoilt = true;
}

static void put_version(unsigned path)
{
    uint64_t seed = ++versions;
    put_tensors(at("new"), rows, ROWS, seed, (unsigned)draw(2) * 8);
    if (tn_os_rename(at("new"), at(paths[path].name), true, NULL) == TN_OK) {
        paths[path].seed = paths[path].version = seed;
        paths[path].spoilt = false;
    }
}

/* In place: the size always changes, as the time of a file is coarse. */
static void change_in_place(unsigned path)
{
    tn_os_file file;
    tn_os_info info;
    if (paths[path].seed == 0 || tn_os_open(at(paths[path].name), TN_OS_WRITE, &file, NULL) != TN_OK)
        return;
    assert_int_equal(tn_os_info_of(&file, &info, NULL), TN_OK);
    if (tn_os_resize(&file, draw(2) == 0 ? info.size + 1 : draw(info.size), NULL) == TN_OK)
        spoil(path);
    tn_os_close(&file);
}

static void delete_file(unsigned path)
{
    if (paths[path].seed != 0 && tn_os_remove(at(paths[path].name), NULL) == TN_OK)
        paths[path].seed = paths[path].version = 0;
}

static void open_some(void)
{
    open_state *o = &opened[draw(CHECKPOINTS)];
    unsigned path = (unsigned)draw(FILES);
    tn_checkpoint_release(o->checkpoint);
    *o = (open_state){.path = path, .seed = paths[path].seed, .version = paths[path].version};
    tn_status status = tn_checkpoint_open(context, at(paths[path].name), NULL, &o->checkpoint, NULL);
    if (paths[path].seed == 0)
        assert_int_equal(status, TN_NOT_FOUND);
    else if (!paths[path].spoilt)
        assert_int_equal(status, TN_OK);
    if (status != TN_OK || paths[path].spoilt) {
        if (status == TN_OK)
            tn_checkpoint_release(o->checkpoint);
        o->checkpoint = NULL;
    }
}

static lease_state *free_place(void)
{
    lease_state *l = &leases[draw(LEASES)];
    if (l->lease == NULL)
        return l;
    check(l);
    while (l->holds-- > 0)
        tn_lease_release(l->lease);
    l->lease = NULL;
    return l;
}

/* Whether a lease of these bytes must come, and must not. */
static void expect(open_state *o, tn_status status, bool any_bytes)
{
    bool there = o->is_open || (paths[o->path].version == o->version);
    if (!any_bytes)
        return;
    if (o->spoilt || !there)
        assert_true(status == TN_CHANGED || status == TN_TRUNCATED || status == TN_NOT_FOUND);
    else
        assert_int_equal(status, TN_OK);
    o->is_open |= status == TN_OK;
}

static tn_lease_options random_options(void)
{
    static const tn_way ways[] = {TN_WAY_AUTOMATIC, TN_WAY_AUTOMATIC, TN_WAY_READ, TN_WAY_THREADS, TN_WAY_DIRECT};
    static const uint32_t flags[] = {0, 0, 0, TN_LEASE_VIEW, TN_LEASE_DROP_BEHIND, TN_LEASE_BACKGROUND};
    tn_lease_options options = TN_LEASE_OPTIONS_INIT;
    options.way = ways[draw(5)];
    options.flags = flags[draw(6)];
    return options;
}

static void keep(lease_state *l, open_state *o, tn_lease *lease, unsigned number, int64_t first, int64_t step)
{
    *l = (lease_state){lease, o->seed, number, first, step, lease->way == TN_WAY_VIEW, false, o->version, 1};
}

static void lease_one(open_state *o)
{
    unsigned number = (unsigned)draw(ROWS);
    lease_state *l = free_place();
    tn_lease_options options = random_options();
    tn_lease *lease = NULL;
    tn_status status = tn_lease_named(o->checkpoint, rows[number].name, &options, &lease, NULL);
    expect(o, status, bytes_of(&rows[number]) > 0);
    if (status == TN_OK)
        keep(l, o, lease, number, 0, 1);
}

static void lease_rows(open_state *o)
{
    unsigned number = (unsigned[]){0, 1, 3, 4}[draw(4)];
    int64_t size = (int64_t)rows[number].shape[0], start = (int64_t)draw((uint64_t)size);
    int64_t step = (int64_t)draw(9) - 4, stop = (int64_t)draw((uint64_t)size);
    step = step == 0 ? 1 : step;
    lease_state *l = free_place();
    tn_index index = {TN_INDEX_RANGE, start, stop, step};
    tn_lease_options options = random_options();
    tn_lease *lease = NULL;
    options.index = &index;
    options.index_count = 1;
    tn_status status = tn_lease_named(o->checkpoint, rows[number].name, &options, &lease, NULL);
    expect(o, status, step > 0 ? start < stop : start > stop);
    o->is_open |= status == TN_OK; /* also by a slice without elements */
    if (status == TN_OK)
        keep(l, o, lease, number, start, step);
}

static void lease_all(open_state *o)
{
    tn_lease *all[ROWS] = {NULL};
    const tn_tensor *tensors;
    tn_lease_options options = random_options();
    tn_status status = tn_lease_many(o->checkpoint, NULL, ROWS, &options, all, NULL);
    expect(o, status, true);
    tn_checkpoint_tensors(o->checkpoint, &tensors);
    for (unsigned i = 0; status == TN_OK && i < ROWS; i++) {
        unsigned number = 0;
        while (strcmp(rows[number].name, all[i]->name.bytes) != 0)
            number++;
        keep(free_place(), o, all[i], number, 0, 1);
    }
}

static void touch_lease(void)
{
    lease_state *l = &leases[draw(LEASES)];
    if (l->lease == NULL)
        return;
    switch (draw(4)) {
    case 0: check(l); break;
    case 1:
        if (l->holds < 5 && tn_lease_hold(l->lease) == l->lease)
            l->holds++;
        break;
    case 2: (void)send_away(l); break;
    default:
        check(l);
        tn_lease_release(l->lease);
        if (--l->holds == 0)
            l->lease = NULL;
        break;
    }
}

static void use_checkpoint(open_state *o, uint64_t what)
{
    if (o->checkpoint == NULL)
        return;
    if (what < 12)
        lease_one(o);
    else if (what < 20)
        lease_rows(o);
    else if (what < 22)
        lease_all(o);
    else if (what == 22)
        expect(o, tn_checkpoint_keep_files(o->checkpoint, NULL), !o->is_open && !o->spoilt);
    else {
        tn_checkpoint_release(o->checkpoint);
        o->checkpoint = NULL;
    }
}

static void happen(void)
{
    uint64_t what = draw(100);
    unsigned path = (unsigned)draw(FILES);
    if (what < 3 && still)
        return;
    if (what < 2)
        put_version(path);
    else if (what == 2)
        draw(2) == 0 ? change_in_place(path) : delete_file(path);
    else if (what < 12)
        open_some();
    else if (what == 12)
        tn_context_trim(context);
    else if (what < 60)
        use_checkpoint(&opened[draw(CHECKPOINTS)], draw(24));
    else
        touch_lease();
}

/* ---- the run ---- */

static uint64_t number_in(const char *name, uint64_t otherwise)
{
    uint64_t value = otherwise;
    tn_buffer text;
    tn_buffer_init(&text, &scratch_memory, 64);
    if (tn_os_environment(name, &text) && text.size > 0)
        value = strtoull(text.bytes, NULL, 10);
    tn_buffer_free(&text);
    return value;
}

static void everything_goes(void)
{
    for (unsigned i = 0; i < CHECKPOINTS; i++) {
        tn_checkpoint_release(opened[i].checkpoint);
        opened[i].checkpoint = NULL;
    }
    for (unsigned i = 0; i < LEASES; i++) {
        if (leases[i].lease != NULL)
            check(&leases[i]);
        while (leases[i].lease != NULL && leases[i].holds-- > 0)
            tn_lease_release(leases[i].lease);
        leases[i].lease = NULL;
    }
}

static void random_lives_keep_every_byte(void **state)
{
    (void)state;
    tn_os_thread *threads[THREADS];
    uint64_t operations = number_in("TENURE_LEASE_OPERATIONS", 4000);
    random_state = number_in("TENURE_LEASE_SEED", 20261201);
    print_message("seed %llu, %llu operations\n", (unsigned long long)random_state, (unsigned long long)operations);
    assert_int_equal(tn_os_mutex_create(&scratch_memory, &post.mutex, NULL), TN_OK);
    assert_int_equal(tn_os_condition_create(&scratch_memory, &post.condition, NULL), TN_OK);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(tn_os_thread_start(&scratch_memory, receive, NULL, &threads[i], NULL), TN_OK);
    for (unsigned i = 0; i < FILES; i++) {
        snprintf(paths[i].name, sizeof paths[i].name, "file %u.safetensors", i);
        put_version(i);
    }
    still = on_windows();
    for (uint64_t i = 0; i < operations; i++)
        happen();
    tn_os_mutex_lock(post.mutex);
    post.ended = true;
    tn_os_condition_wake_all(post.condition);
    tn_os_mutex_unlock(post.mutex);
    for (unsigned i = 0; i < THREADS; i++)
        tn_os_thread_join(threads[i]);
    assert_false(post.failed);
    everything_goes();
    tn_os_condition_destroy(post.condition);
    tn_os_mutex_destroy(post.mutex);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(random_lives_keep_every_byte, weights_setup, weights_teardown),
    };
    return cmocka_run_group_tests_name("weights.property", tests, NULL, NULL);
}
