/* Fault loops over what keeps a library true: scan, relink, relocate. The first, second, ... allocation of ours and call
 * of the system fails, once and for good. Each time the answer is a status, nothing leaks, the library is sound, and the
 * same without faults ends in the same records, wherever it was broken off (promise 5). */
#include "support/library.h"

#include "support/faults.h"

typedef enum kind { OUR_MEMORY, SYSTEM_CALLS } kind;

typedef struct scenario {
    const char *name;
    void (*work)(tn_library *library);   /* under faults */
    void (*finish)(tn_library *library); /* without */
    kind what;
} scenario;

static char before[1 << 20]; /* the bytes of the library that each run begins with */
static size_t before_size;
static char records[1 << 16], undisturbed[1 << 16];

/* ---- the library before and after ---- */

static void remove_library(void)
{
    static const char *const names[] = {"library.db", "library.db-wal", "library.db-shm", "library.db-lock",
                                        "library.db-journal"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        tn_os_remove(at(names[i]), NULL);
}

static void keep_library(void)
{
    tn_os_file file;
    assert_int_equal(tn_os_open(at("library.db"), TN_OS_READ, &file, NULL), TN_OK);
    assert_int_equal(tn_os_read(&file, 0, before, sizeof before, &before_size, NULL), TN_OK);
    tn_os_close(&file);
    assert_in_range(before_size, 4096, sizeof before - 1);
}

static void put_library_back(void)
{
    remove_library();
    put_file(at("library.db"), before, before_size);
}

/* What is known, without ids and times. */
static void read_records(tn_library *library)
{
    static const char sql[] =
        "SELECT group_concat(row, char(10)) FROM (SELECT printf('%s %s %s %s %s', CAST(m.path AS TEXT), m.name, m.presence, "
        "m.state, (SELECT group_concat(tag) FROM (SELECT tag FROM tags t WHERE t.model = m.id ORDER BY tag))) AS row "
        "FROM models m UNION SELECT printf('%s %d %d', CAST(path AS TEXT), size, present) FROM files "
        "UNION SELECT 'root ' || CAST(path AS TEXT) || ' ' || (away_ns <> 0) FROM roots ORDER BY 1)";
    sqlite3_stmt *stmt = NULL;
    assert_int_equal(sqlite3_prepare_v2(library->db.handle, sql, -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    int size = snprintf(records, sizeof records, "%s", (const char *)sqlite3_column_text(stmt, 0));
    assert_in_range(size, 1, sizeof records - 1);
    sqlite3_finalize(stmt);
}

/* ---- one run ---- */

static tn_context *make_context(bool failing)
{
    tn_context *made = NULL;
    tn_context_options options = TN_CONTEXT_OPTIONS_INIT;
    options.memory_limit_bytes = 64u << 20;
    options.jobs = 1;
    if (failing)
        options.allocator.resize = failing_resize;
    return tn_context_create(&options, &made, NULL) == TN_OK ? made : NULL;
}

static void work_with_fault(const scenario *s)
{
    tn_context *own = make_context(s->what == OUR_MEMORY);
    tn_library *library = NULL;
    if (own == NULL)
        return;
    tn_os_hooks hooks = {.before = failing_call};
    if (s->what == SYSTEM_CALLS)
        tn_os_set_hooks(&hooks);
    if (tn_library_open(own, at("library.db"), NULL, &library, NULL) == TN_OK)
        s->work(library);
    tn_library_close(library);
    tn_os_set_hooks(NULL);
    assert_int_equal(tn_context_memory(own).used_bytes, 0);
    tn_context_destroy(own);
}

static void run_with_fault(void *user)
{
    const scenario *s = user;
    put_library_back();
    work_with_fault(s);
    tn_library *library = open_library(NULL);
    assert_verified(library);
    s->finish(library);
    assert_verified(library);
    read_records(library);
    assert_string_equal(records, undisturbed);
    tn_library_close(library);
}

static void loop(scenario s)
{
    keep_library();
    tn_library *library = open_library(NULL);
    s.work(library);
    s.finish(library);
    read_records(library);
    memcpy(undisturbed, records, sizeof records);
    tn_library_close(library);
    for (s.what = OUR_MEMORY; s.what <= SYSTEM_CALLS; s.what++) {
        char said[128];
        snprintf(said, sizeof said, "%s of %s", s.what == OUR_MEMORY ? "allocations" : "calls of the system", s.name);
        each_fault(said, false, run_with_fault, &s);
        each_fault(said, true, run_with_fault, &s);
    }
}

/* ---- what is done ---- */

static void scan_once(tn_library *library)
{
    tn_import_summary *summary = NULL;
    tn_status status = tn_library_scan(library, NULL, 0, NULL, &summary, NULL);
    assert_true((status == TN_OK) == (summary != NULL));
    tn_import_summary_destroy(summary);
}

/* What could not be read under a fault is tried again. */
static void scan_twice(tn_library *library)
{
    scan_once(library);
    scan_once(library);
}

static bool see_sure(void *user, const tn_relink_proposal *proposal)
{
    int64_t *pair = user;
    if (proposal->count != 1 || strcmp(proposal->candidates[0].why.bytes, "same_bytes") != 0)
        return true;
    pair[0] = proposal->id;
    pair[1] = proposal->candidates[0].id;
    return false;
}

/* A path that the system did not answer about the first time is known to be gone a scan later than what came in its
 * place: somebody is asked then, and says yes. */
static void scan_and_answer(tn_library *library)
{
    scan_twice(library);
    for (int64_t pair[2] = {0, 0};; pair[0] = 0) {
        assert_int_equal(tn_library_relink_proposals(library, see_sure, pair, NULL), TN_OK);
        if (pair[0] == 0)
            return;
        assert_int_equal(tn_library_relink(library, pair[0], pair[1], NULL), TN_OK);
    }
}

static bool see(void *user, const tn_relink_proposal *proposal)
{
    int64_t *pair = user;
    pair[0] = proposal->id;
    pair[1] = proposal->candidates[0].id;
    return true;
}

static void relink_once(tn_library *library)
{
    int64_t pair[2] = {0, 0};
    if (tn_library_relink_proposals(library, see, pair, NULL) == TN_OK && pair[0] != 0)
        tn_library_relink(library, pair[0], pair[1], NULL);
}

static void relocate_once(tn_library *library)
{
    tn_import_summary *summary = NULL;
    tn_library_relocate(library, at("m"), at("moved"), NULL, NULL, &summary, NULL);
    tn_import_summary_destroy(summary);
}

static void relocate_and_scan(tn_library *library)
{
    relocate_once(library);
    scan_and_answer(library);
}

/* ---- scenarios ---- */

static void tag_all(tn_library *library)
{
    assert_int_equal(tn_db_script(&library->db, "INSERT INTO tags SELECT id, name FROM models", NULL), TN_OK);
    tn_library_close(library);
}

static void put_models(void)
{
    put_folder(at("m"));
    put_weights(at("m/a.safetensors"), 4);
    put_weights(at("m/b.safetensors"), 5);
    put_weights(at("m/c.safetensors"), 6);
    put_weights(at("m/d.safetensors"), 7);
    put_weights(at("m/e.safetensors"), 8);
    tn_library *library = open_library(NULL);
    import_quietly(library, "m", NULL);
    tag_all(library);
}

static void any_fault_may_meet_a_scan(void **state)
{
    (void)state;
    put_models();
    assert_int_equal(tn_os_rename(at("m/a.safetensors"), at("spare"), false, NULL), TN_OK); /* a and b trade names */
    assert_int_equal(tn_os_rename(at("m/b.safetensors"), at("m/a.safetensors"), false, NULL), TN_OK);
    assert_int_equal(tn_os_rename(at("spare"), at("m/b.safetensors"), false, NULL), TN_OK);
    put_weights(at("m/x.safetensors"), 6); /* c moves, as another file */
    assert_int_equal(tn_os_remove(at("m/c.safetensors"), NULL), TN_OK);
    assert_int_equal(tn_os_remove(at("m/d.safetensors"), NULL), TN_OK);
    put_weights(at("m/e.safetensors"), 80);
    loop((scenario){"a scan", scan_once, scan_and_answer, OUR_MEMORY});
}

static void any_fault_may_meet_a_relink(void **state)
{
    (void)state;
    put_models();
    put_weights(at("m/e.safetensors"), 80);
    tn_library *library = open_library(NULL);
    scan_once(library);
    tn_library_close(library);
    loop((scenario){"a relink", relink_once, relink_once, OUR_MEMORY});
}

static void any_fault_may_meet_a_relocation(void **state)
{
    (void)state;
    put_models();
    put_folder(at("moved"));
    put_weights(at("moved/a.safetensors"), 4); /* the new place is known already, in part */
    put_weights(at("moved/b.safetensors"), 50);
    tn_library *library = open_library(NULL);
    import_quietly(library, "moved", NULL);
    tn_library_close(library);
    for (char name[] = "m/c.safetensors", to[] = "moved/c.safetensors"; name[2] <= 'e'; name[2]++, to[6]++)
        assert_int_equal(tn_os_rename(at(name), at(to), false, NULL), TN_OK);
    scratch_remove(at("m"));
    loop((scenario){"a relocation", relocate_once, relocate_and_scan, OUR_MEMORY});
}

/* In memory where the system has such a place. */
static int setup(void **state)
{
    (void)state;
    tn_os_info info;
    bool memory = tn_os_info_at("/dev/shm", true, &info, NULL) == TN_OK && info.kind == TN_OS_FOLDER;
    return library_setup_in(memory ? "/dev/shm" : NULL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, library_teardown)
    const struct CMUnitTest tests[] = {
        TEST(any_fault_may_meet_a_scan),
        TEST(any_fault_may_meet_a_relink),
        TEST(any_fault_may_meet_a_relocation),
    };
    return cmocka_run_group_tests_name("library.keeping_faults", tests, NULL, NULL);
}
