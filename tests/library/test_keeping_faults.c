/* Fault loops over what keeps a library true: scan, relink, relocate. The first, second, ... allocation of ours and call
 * of the system fails, once and for good. Each time the answer is a status, nothing leaks, the library is sound, and the
 * same without faults ends in the same records, wherever it was broken off (promise 5). */
#include "support/library_faults.h"

typedef struct scenario {
    const char *name;
    void (*work)(tn_library *library);   /* under faults */
    void (*finish)(tn_library *library); /* without */
    kind what;
} scenario;

static library_bytes before; /* that each run begins with */
static char records[1 << 16], undisturbed[1 << 16];

/* ---- the library before and after ---- */

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

static void work_with_fault(const scenario *s)
{
    const tn_os_hooks hooks = {.before = failing_call};
    tn_context *own = fault_context(s->what == OUR_MEMORY);
    tn_library *library = NULL;
    if (own == NULL)
        return;
    if (s->what == SYSTEM_CALLS)
        tn_os_set_hooks(&hooks);
    if (tn_library_open(own, at("library.db"), NULL, &library, NULL) == TN_OK)
        s->work(library);
    tn_library_close(library);
    tn_os_set_hooks(NULL);
    fault_context_end(own);
}

static void run_with_fault(void *user)
{
    const scenario *s = user;
    library_put_back(&before);
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
    library_keep(&before);
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

static int setup(void **state)
{
    (void)state;
    return library_setup_in_memory();
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
