/* Random histories of a file system against a plain model of it: whatever people do to their files, after the next scan
 * every record that somebody said something about is at a file with the bytes it was said of, or is known not to have
 * one (docs/decisions/0009). The seed of a history that fails is printed; TENURE_SOAK=1 runs twenty times as many. */
#include "support/library.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDERS 4
#define NAMES 6
#define PLACES (FOLDERS * NAMES)
#define CONTENTS_MAX 4000

static const char *const folders[FOLDERS] = {"r0", "r0/sub", "r1", "r1/sub"};

static tn_library *library;
static uint64_t draws;
static int64_t clock_s;  /* of the times that files get: each write has its own */
static int next_content;
static bool away;        /* r1 is not plugged in */
static bool one_copy;    /* of each content, under however many names */

/* What is at each place. 0: nothing. */
static int content_at[PLACES];

static int setup(void **state)
{
    return library_setup(state);
}

static int teardown(void **state)
{
    return library_teardown(state);
}

static unsigned draw(unsigned below)
{
    draws ^= draws << 13;
    draws ^= draws >> 7;
    draws ^= draws << 17;
    return (unsigned)(draws >> 33) % below;
}

/* ---- places ---- */

static const char *path_of(int place)
{
    char name[64];
    snprintf(name, sizeof name, "%s/m%d.safetensors", folders[place / NAMES], place % NAMES);
    return at(name);
}

static bool is_reachable(int place)
{
    return !away || place / NAMES < 2;
}

/* A place that holds something, or nothing, and can be reached; -1 when the draws found none. */
static int find_place(bool full)
{
    for (int i = 0; i < 40; i++) {
        int place = (int)draw(PLACES);
        if (is_reachable(place) && (content_at[place] != 0) == full)
            return place;
    }
    return -1;
}

static void set_time(const char *path)
{
    struct timespec times[2] = {{.tv_sec = clock_s}, {.tv_sec = clock_s}};
    clock_s++;
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void write_content(const char *path, int content)
{
    char name[16];
    snprintf(name, sizeof name, "t%04d", content);
    put_tensor(path, name, 4, 0); /* all of the same size */
    set_time(path);
}

/* Which content a file on the disk is, by the name of its tensor. */
static int content_of(const char *path)
{
    char bytes[64] = {0};
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return 0;
    size_t got = fread(bytes, 1, sizeof bytes - 1, file);
    fclose(file);
    return got > 20 ? (int)strtol(bytes + 11, NULL, 10) : 0;
}

/* ---- what people do ---- */

static void create(void)
{
    int place = find_place(false);
    if (place < 0)
        return;
    content_at[place] = ++next_content;
    write_content(path_of(place), next_content);
}

/* Names of one file stay on one disk. */
static bool may_go(int from, int to)
{
    int names = 0;
    for (int i = 0; i < PLACES; i++)
        names += content_at[i] == content_at[from];
    return names < 2 || from / (2 * NAMES) == to / (2 * NAMES);
}

static void move(void)
{
    int from = find_place(true), to = find_place(false);
    if (from < 0 || to < 0 || !may_go(from, to))
        return;
    assert_int_equal(rename(path_of(from), path_of(to)), 0);
    content_at[to] = content_at[from];
    content_at[from] = 0;
}

/* Over what is there. */
static void move_over(void)
{
    int from = find_place(true), to = find_place(true);
    if (from < 0 || to < 0 || from == to || !may_go(from, to))
        return;
    assert_int_equal(rename(path_of(from), path_of(to)), 0);
    if (is_there(path_of(from))) { /* two names of one file: rename leaves both */
        assert_int_equal(unlink(path_of(from)), 0);
    }
    content_at[to] = content_at[from];
    content_at[from] = 0;
}

static void swap(void)
{
    int a = find_place(true), b = find_place(true), content;
    if (a < 0 || b < 0 || a == b || !may_go(a, b) || !may_go(b, a))
        return;
    assert_int_equal(rename(path_of(a), at("spare")), 0);
    assert_int_equal(rename(path_of(b), path_of(a)), 0);
    assert_int_equal(rename(at("spare"), path_of(b)), 0);
    content = content_at[a];
    content_at[a] = content_at[b];
    content_at[b] = content;
}

/* Writing one of several names of a file anew would make two copies of it. */
static bool would_double(int place)
{
    int names = 0;
    for (int i = 0; i < PLACES; i++)
        names += content_at[i] == content_at[place];
    return one_copy && names > 1;
}

/* Through another file system, or by a program that writes anew: another file with the same bytes; with `keep_time` its
 * time too. */
static void carry(int from, int to, bool keep_time)
{
    struct stat info;
    assert_int_equal(stat(path_of(from), &info), 0);
    unlink(path_of(to));
    write_content(path_of(to), content_at[from]);
    if (keep_time) {
        struct timespec times[2] = {info.st_mtim, info.st_mtim};
        assert_int_equal(utimensat(AT_FDCWD, path_of(to), times, 0), 0);
    }
    content_at[to] = content_at[from];
}

static void move_across(void)
{
    int from = find_place(true), to = find_place(false);
    if (from < 0 || to < 0 || would_double(from))
        return;
    carry(from, to, draw(2) == 0);
    assert_int_equal(unlink(path_of(from)), 0);
    content_at[from] = 0;
}

static void copy(void)
{
    int from = find_place(true), to = find_place(draw(3) == 0);
    if (from >= 0 && to >= 0 && from != to)
        carry(from, to, draw(2) == 0);
}

/* Restored from a backup in its place: the same bytes and time, another file. */
static void restore(void)
{
    int place = find_place(true);
    struct stat info;
    if (place < 0 || would_double(place))
        return;
    assert_int_equal(stat(path_of(place), &info), 0);
    unlink(path_of(place));
    write_content(path_of(place), content_at[place]);
    struct timespec times[2] = {info.st_mtim, info.st_mtim};
    assert_int_equal(utimensat(AT_FDCWD, path_of(place), times, 0), 0);
}

static void replace(void)
{
    int place = find_place(true);
    if (place < 0)
        return;
    unlink(path_of(place));
    content_at[place] = ++next_content;
    write_content(path_of(place), next_content);
}

/* Other bytes in the same file; its other names have them too. */
static void overwrite(void)
{
    int place = find_place(true);
    if (place < 0)
        return;
    write_content(path_of(place), ++next_content);
    for (int i = 0; i < PLACES; i++)
        if (content_at[i] != 0 && is_reachable(i))
            content_at[i] = content_of(path_of(i));
}

static void touch(void)
{
    int place = find_place(true);
    if (place >= 0)
        set_time(path_of(place));
}

static void delete(void)
{
    int place = find_place(true);
    if (place < 0)
        return;
    assert_int_equal(unlink(path_of(place)), 0);
    content_at[place] = 0;
    for (int i = 0; i < PLACES; i++) /* links that led to it */
        if (content_at[i] != 0 && is_reachable(i) && content_of(path_of(i)) == 0) {
            unlink(path_of(i));
            content_at[i] = 0;
        }
}

/* Within a disk. */
static void hard_link(void)
{
    int from = find_place(true), to = find_place(false);
    if (from >= 0 && to >= 0 && from / (2 * NAMES) == to / (2 * NAMES) && link(path_of(from), path_of(to)) == 0)
        content_at[to] = content_at[from];
}

static void unplug(void)
{
    if (!away)
        assert_int_equal(rename(at("r1"), at("r1.away")), 0);
    else
        assert_int_equal(rename(at("r1.away"), at("r1")), 0);
    away = !away;
}

typedef void act(void);
/* Where every content is on the disk once, under however many names. */
static act *const single[] = {create, create, move, move, swap, swap, move_across, restore, replace, overwrite,
                              touch,  delete, hard_link, unplug};
/* And where copies make it hard to tell. */
static act *const doubled[] = {create, move, move_over, swap, swap, move_across, copy, copy, copy, restore, replace,
                               overwrite, touch, delete, hard_link, unplug};

/* ---- what must hold ---- */

static void scan(const char *const *names, size_t count)
{
    const char *paths[2];
    tn_error err;
    for (size_t i = 0; i < count; i++)
        paths[i] = at(names[i]);
    tn_import_summary *summary = NULL;
    if (tn_library_import(library, paths, count, NULL, &summary, &err) != TN_OK)
        fail_msg("the scan failed: %s", err.message);
    tn_import_summary_destroy(summary);
}

static int64_t count_of(const char *format, int content)
{
    char sql[512];
    snprintf(sql, sizeof sql, format, content);
    return ask(library, sql);
}

/* Somebody says of each record that nobody has spoken of yet what it is. */
static void tag_all(void)
{
    sqlite3_stmt *rows = NULL;
    assert_int_equal(sqlite3_prepare_v2(library->db.handle,
                                        "SELECT id, path FROM models WHERE presence = 'present' AND NOT EXISTS "
                                        "(SELECT 1 FROM tags WHERE model = models.id) AND id % 3 <> 0",
                                        -1, &rows, NULL), SQLITE_OK);
    char sql[128];
    while (sqlite3_step(rows) == SQLITE_ROW) {
        char path[4096];
        snprintf(path, sizeof path, "%.*s", sqlite3_column_bytes(rows, 1), (const char *)sqlite3_column_blob(rows, 1));
        int content = content_of(path);
        if (one_copy && count_of("SELECT count(*) FROM tags WHERE tag = '%d'", content) > 0)
            continue; /* it is asked about */
        snprintf(sql, sizeof sql, "INSERT INTO tags VALUES (%lld, '%d')", (long long)sqlite3_column_int64(rows, 0), content);
        assert_int_equal(sqlite3_exec(library->db.handle, sql, NULL, NULL, NULL), SQLITE_OK);
    }
    sqlite3_finalize(rows);
}

static void assert_each_at_its_file(uint64_t seed, int step)
{
    sqlite3_stmt *rows = NULL;
    assert_int_equal(sqlite3_prepare_v2(library->db.handle,
                                        "SELECT m.id, t.tag, f.path FROM models m JOIN tags t ON t.model = m.id "
                                        "JOIN parts p ON p.model = m.id JOIN files f ON f.id = p.file "
                                        "WHERE m.presence = 'present' AND f.present = 1",
                                        -1, &rows, NULL), SQLITE_OK);
    while (sqlite3_step(rows) == SQLITE_ROW) {
        char path[4096];
        snprintf(path, sizeof path, "%.*s", sqlite3_column_bytes(rows, 2), (const char *)sqlite3_column_blob(rows, 2));
        int there = content_of(path);
        if (there != sqlite3_column_int(rows, 1) && (!away || there != 0))
            fail_msg("seed %llu, step %d: record %lld was said to be %d and is at %s, which is %d",
                     (unsigned long long)seed, step, (long long)sqlite3_column_int64(rows, 0),
                     sqlite3_column_int(rows, 1), path, there);
    }
    sqlite3_finalize(rows);
}

/* Whether somebody is asked if the missing record of a content is what lies at a path. */
typedef struct question {
    int64_t record, there;
    bool asked;
} question;

static bool see_proposal(void *user, const tn_relink_proposal *proposal)
{
    question *q = user;
    for (size_t i = 0; proposal->id == q->record && i < proposal->count; i++)
        q->asked = q->asked || proposal->candidates[i].id == q->there;
    return !q->asked;
}

static bool is_asked(int64_t record, const char *path)
{
    char sql[4200];
    snprintf(sql, sizeof sql, "SELECT p.model FROM files f JOIN parts p ON p.file = f.id WHERE CAST(f.path AS TEXT) = '%s'",
             path);
    question q = {record, ask(library, sql), false};
    assert_int_equal(tn_library_relink_proposals(library, see_proposal, &q, NULL), TN_OK);
    return q.asked;
}

/* Where no content has two copies, none that is there may be lost from sight: its record is there, or somebody is asked
 * (it went from a disk that was then unplugged, so that it may be a copy). */
static void assert_all_found(uint64_t seed, int step)
{
    for (int place = 0; place < PLACES; place++) {
        int content = content_at[place];
        if (content == 0 || !is_reachable(place) || count_of("SELECT count(*) FROM tags WHERE tag = '%d'", content) == 0)
            continue;
        if (count_of("SELECT count(*) FROM tags t JOIN models m ON m.id = t.model WHERE t.tag = '%d' AND m.presence = "
                     "'present'", content) == 1)
            continue;
        if (!is_asked(count_of("SELECT min(model) FROM tags WHERE tag = '%d'", content), path_of(place)))
            fail_msg("seed %llu, step %d: what was said of content %d, which is at %s, was lost", (unsigned long long)seed,
                     step, content, path_of(place));
    }
}

static void assert_every_file_has_a_record(uint64_t seed, int step)
{
    for (int place = 0; place < PLACES; place++) {
        char sql[512];
        if (content_at[place] == 0 || !is_reachable(place))
            continue;
        snprintf(sql, sizeof sql, "SELECT count(*) FROM files f JOIN parts p ON p.file = f.id JOIN models m ON m.id = "
                                  "p.model WHERE CAST(f.path AS TEXT) = '%s' AND m.presence = 'present' AND f.present",
                 path_of(place));
        if (ask(library, sql) != 1)
            fail_msg("seed %llu, step %d: %s has no record", (unsigned long long)seed, step, path_of(place));
    }
}

/* ---- histories ---- */

static void begin_history(uint64_t seed)
{
    draws = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    clock_s = 1000000;
    next_content = 0;
    away = false;
    memset(content_at, 0, sizeof content_at);
    for (int i = 0; i < FOLDERS; i++)
        put_folder(at(folders[i]));
    library = open_library(NULL);
    for (int i = 0; i < 8; i++)
        create();
}

static void end_history(void)
{
    static const char *const left[] = {"r0", "r1", "r1.away", "library.db", "library.db-wal", "library.db-shm",
                                       "library.db-lock"};
    assert_verified(library);
    tn_library_close(library);
    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++)
        scratch_remove(at(left[i]));
}

static void run_history(uint64_t seed, act *const *acts, unsigned count, int steps, bool is_single)
{
    static const char *const both[] = {"r0", "r1"};
    begin_history(seed);
    one_copy = is_single;
    for (int step = 0; step < steps; step++) {
        unsigned part = is_single ? 2 : draw(4);
        scan(part < 2 ? both + part : both, part < 2 ? 1 : 2);
        if (part >= 2) {
            assert_each_at_its_file(seed, step);
            assert_every_file_has_a_record(seed, step);
            if (is_single)
                assert_all_found(seed, step);
            tag_all();
        }
        for (unsigned i = 1 + draw(5); i > 0 && next_content < CONTENTS_MAX; i--)
            { unsigned d = draw(count); if (getenv("TRACE")) { printf("step %d act %u:", step, d); for (int k=0;k<PLACES;k++) printf(" %d", content_at[k]); printf("\n"); } acts[d](); }
    }
    end_history();
}

static uint64_t histories(uint64_t usual)
{
    tn_buffer value;
    tn_buffer_init(&value, &scratch_memory, 512);
    bool soak = tn_os_environment("TENURE_SOAK", &value), sanitized = tn_os_environment("TENURE_SANITIZED", &value);
    tn_buffer_free(&value);
    return soak ? 20 * usual : sanitized ? usual / 4 : usual;
}

static void every_record_is_found_again_where_no_content_has_two_copies(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= histories(30); seed++)
        run_history(seed, single, sizeof single / sizeof single[0], 25, true);
}

static void no_record_is_ever_at_other_bytes_even_where_there_are_copies(void **state)
{
    (void)state;
    for (uint64_t seed = 1001; seed <= 1000 + histories(30); seed++)
        run_history(seed, doubled, sizeof doubled / sizeof doubled[0], 25, false);
}

/* ---- files that no sample can tell apart ---- */

#define LOOKALIKES 6
#define DATA_BYTES (256u << 10)
#define UNSAMPLED 8000u /* lies between the first two blocks of the sample: 4 KiB at 0 and at (262144 - 4096) / 11 */

static void put_lookalike(const char *path, int which)
{
    put_tensor(path, "w", DATA_BYTES / 8, 0);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, 8 + 200 + (long)UNSAMPLED, SEEK_SET), 0);
    fputc(which + 1, file);
    fclose(file);
}

static int which_lookalike(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return -1;
    fseek(file, 8 + 200 + (long)UNSAMPLED, SEEK_SET);
    int byte = fgetc(file);
    fclose(file);
    return byte - 1;
}

static const char *place_of(int i)
{
    char name[64];
    snprintf(name, sizeof name, "r0/l%d.safetensors", i);
    return at(name);
}

/* Rename them round in one random order, so that each name leads to another file than before. */
static void trade_places(void)
{
    for (int i = 0; i < LOOKALIKES; i++)
        assert_int_equal(rename(place_of(i), place_of(i + 100)), 0);
    for (int left = LOOKALIKES, free = 0; left > 0; left--, free++) {
        int from = (int)draw(LOOKALIKES);
        while (!is_there(place_of(from + 100)))
            from = (from + 1) % LOOKALIKES;
        assert_int_equal(rename(place_of(from + 100), place_of(free)), 0);
    }
}

static void assert_lookalikes_at_their_files(uint64_t seed, int step)
{
    for (int i = 0; i < LOOKALIKES; i++) {
        char sql[512];
        snprintf(sql, sizeof sql, "SELECT CAST(t.tag AS INTEGER) FROM files f JOIN parts p ON p.file = f.id JOIN tags t ON "
                                  "t.model = p.model WHERE CAST(f.path AS TEXT) = '%s'", place_of(i));
        if (ask(library, sql) != which_lookalike(place_of(i)))
            fail_msg("seed %llu, step %d: the record of a lookalike is at another", (unsigned long long)seed, step);
    }
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), LOOKALIKES);
}

static void tag_lookalikes(void)
{
    for (int i = 0; i < LOOKALIKES; i++) {
        char sql[512];
        snprintf(sql, sizeof sql, "INSERT INTO tags SELECT p.model, '%d' FROM files f JOIN parts p ON p.file = f.id WHERE "
                                  "CAST(f.path AS TEXT) = '%s'", i, place_of(i));
        assert_int_equal(sqlite3_exec(library->db.handle, sql, NULL, NULL, NULL), SQLITE_OK);
    }
}

static void lookalikes_that_trade_places_are_told_apart_by_their_ids(void **state)
{
    (void)state;
    static const char *const root[] = {"r0"};
    for (uint64_t seed = 2001; seed <= 2000 + histories(8); seed++) {
        draws = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
        put_folder(at("r0"));
        library = open_library(NULL);
        for (int i = 0; i < LOOKALIKES; i++) {
            put_lookalike(place_of(i), i);
            if (seed % 2 == 0) /* the same time for all, so that nothing but the id is left to tell by */
                clock_s = 5000;
            set_time(place_of(i));
        }
        scan(root, 1);
        assert_int_equal(ask(library, "SELECT count(DISTINCT sample) FROM models"), 1);
        tag_lookalikes();
        for (int step = 0; step < 6; step++) {
            trade_places();
            scan(root, 1);
            assert_lookalikes_at_their_files(seed, step);
        }
        end_history();
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(every_record_is_found_again_where_no_content_has_two_copies),
        TEST(no_record_is_ever_at_other_bytes_even_where_there_are_copies),
        TEST(lookalikes_that_trade_places_are_told_apart_by_their_ids),
    };
    return cmocka_run_group_tests_name("library.histories", tests, NULL, NULL);
}
