/* Power cuts keep promise 5. Everything that a piece of work changes on the disk is recorded; the disks that a power cut
 * may leave at each point of it are laid out one after the other (support/library_posix_power.h); and on each of them the
 * library opens, is sound, its jobs run, and the same work done again ends as if nothing had happened.
 *
 * And the test can fail: with one kind of sync taken out of the log it finds a disk that is wrong.
 * TENURE_SOAK=1 tries every cut point. docs/power-cuts.md tells what was tried. */
#include "support/library_posix_scenario.h"

/* ---- making a library ---- */

static void prepare_models(void)
{
    put_models(3);
}

static void run_make(void)
{
    tn_library *library = open_at(LIBRARY);
    power_mark("made");
    tn_library_close(library);
}

/* Who was told that there is a library finds it after a power cut. */
static void check_made(const power_log *log, size_t at_step)
{
    tn_os_info info;
    if (power_promised(log, at_step, "made") && tn_os_info_at(at(LIBRARY), true, &info, NULL) != TN_OK)
        power_wrong("the library was made and is gone");
}

/* ---- imports ---- */

static void run_import(void)
{
    tn_library *library = open_at(LIBRARY);
    import_models(library);
    tn_library_close(library);
}

static void cancel_soon(void *user, const tn_import_event *event)
{
    unsigned *left = user;
    (void)event;
    if (--*left == 0)
        tn_context_cancel(context);
}

/* An import that stops after its first batch. */
static void interrupt_import(void)
{
    tn_library *library = open_at(LIBRARY);
    unsigned left = 2;
    tn_import_options options = {.size = sizeof options, .each = cancel_soon, .user = &left};
    const char *paths[] = {at("disk/m")};
    tn_import_summary *summary = NULL;
    assert_int_equal(tn_library_import(library, paths, 1, &options, &summary, NULL), TN_CANCELLED);
    tn_context_resume(context);
    assert_int_equal(ask(library, "SELECT count(*) FROM jobs WHERE state = 'interrupted'"), 1);
    tn_library_close(library);
}

static void prepare_interrupted(void)
{
    prepare_library();
    interrupt_import();
}

/* Files went, came, became others and moved since the last import. */
static void prepare_changed(void)
{
    prepare_library();
    tn_library *library = open_at(LIBRARY);
    import_models(library);
    tn_library_close(library);
    tn_os_remove(at("disk/m/model 01.safetensors"), NULL);
    put_weights(at("disk/m/model 02.safetensors"), 99);
    put_weights(at("disk/m/new.safetensors"), 98);
    put_folder(at("disk/m/further"));
    assert_int_equal(tn_os_rename(at("disk/m/model 03.safetensors"), at("disk/m/further/moved.safetensors"), false, NULL),
                     TN_OK);
}

/* ---- jobs ---- */

static int64_t first_job(tn_library *library)
{
    return ask(library, "SELECT min(id) FROM jobs");
}

static void run_jobs_controlled(void)
{
    tn_library *library = open_at(LIBRARY);
    int64_t job = first_job(library);
    assert_int_equal(tn_library_job_control(library, job, "pause", NULL), TN_OK);
    assert_int_equal(tn_library_job_control(library, job, "resume", NULL), TN_OK);
    assert_int_equal(tn_library_job_control(library, job, "cancel", NULL), TN_OK);
    assert_int_equal(tn_library_job_control(library, job, "retry", NULL), TN_OK);
    run_jobs(library);
    tn_library_close(library);
}

static void hash_again(tn_library *library)
{
    import_with(library, TN_HASH_QUEUE);
    run_jobs(library);
}

static void run_hash(void)
{
    tn_library *library = open_at(LIBRARY);
    hash_again(library);
    tn_library_close(library);
}

/* ---- migration ---- */

#define OLD_MODELS 50

static const char old_rows[] =
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50) "
    "INSERT INTO models (id, name, type, base, variant, container, state, presence, size_bytes, part_count, path, message,"
    " added_ns, updated_ns, answer) SELECT i, 'old ' || i, 'lora', 'sdxl', '', 'safetensors', 'identified', 'missing', i, 1,"
    " CAST('/gone/' || i AS BLOB), '', 1, 1, printf('{\"v\":1,\"path\":\"/gone/%d\",\"words\":\"%s\"}', i, hex(zeroblob(900)))"
    " FROM n;"
    "INSERT INTO files (id, path, size, mtime_ns, device, file_id, links, weak, present)"
    " SELECT id, path, id, id, 1, CAST(printf('%016d', id) AS BLOB), 1, 0, 0 FROM models;"
    "INSERT INTO parts (model, file, position, entry) SELECT id, id, 0, 1 FROM models;";

static void prepare_version_1(void)
{
    tn_library *library = NULL;
    put_models(1);
    assert_int_equal(tn_library_open_with(context, at(LIBRARY), NULL, tn_migrations, 1, &library, NULL), TN_OK);
    assert_int_equal(tn_db_script(&library->db, old_rows, NULL), TN_OK);
    tn_library_close(library);
}

static void run_migration(void)
{
    tn_library *library = open_at(LIBRARY);
    power_mark("migrated");
    tn_library_close(library);
}

/* migrate.h, V2: whatever stands in the library, what stood there before is there too. */
static void check_copy(tn_library *library)
{
    sqlite3 *copy = NULL;
    sqlite3_stmt *stmt = NULL;
    int64_t models = 0;
    int code = sqlite3_open_v2(at(LIBRARY ".bak-v1"), &copy, SQLITE_OPEN_READONLY, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_prepare_v2(copy, "SELECT count(*) FROM models, pragma_user_version WHERE user_version = 1", -1, &stmt,
                                  NULL);
    if (code == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW)
        models = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    sqlite3_close(copy);
    if (models != OLD_MODELS)
        power_wrong("the copy of the older library is not whole: %d models of %d (SQLite %d)", (int)models, OLD_MODELS, code);
    if (ask(library, "SELECT count(*) FROM models WHERE presence = 'missing'") != OLD_MODELS)
        power_wrong("models of the older library are gone");
}

/* ---- the scenarios ---- */

static const scenario make = {
    .name = "make a library", .prepare = prepare_models, .run = run_make, .again = import_models, .before = check_made};
static const scenario first = {
    .name = "import", .prepare = prepare_library, .run = run_import, .again = import_models};
static const scenario gone_on = {
    .name = "import, gone on with", .prepare = prepare_interrupted, .run = run_import, .again = import_models};
static const scenario rescan = {
    .name = "import after changes", .prepare = prepare_changed, .run = run_import, .again = import_models};
static const scenario jobs = {
    .name = "jobs", .prepare = prepare_interrupted, .run = run_jobs_controlled, .again = import_models};
static const scenario hash = {
    .name = "hash job", .prepare = prepare_library, .run = run_hash, .again = hash_again};
static const scenario migrate = {.name = "migration from version 1", .prepare = prepare_version_1, .run = run_migration,
                                 .again = import_models, .after = check_copy};
static const scenario network_make = {.name = "make, on a network disk", .prepare = prepare_models, .run = run_make,
                                      .again = import_models, .before = check_made, .network = true};
static const scenario network_import = {.name = "import, on a network disk", .prepare = prepare_library,
                                        .run = run_import, .again = import_models, .network = true};

static void a_library_is_made(void **state)
{
    (void)state;
    try_scenario(&make);
}

static void an_import(void **state)
{
    (void)state;
    try_scenario(&first);
}

static void an_import_that_is_gone_on_with(void **state)
{
    (void)state;
    try_scenario(&gone_on);
}

static void an_import_after_changes(void **state)
{
    (void)state;
    try_scenario(&rescan);
}

static void jobs_that_are_controlled(void **state)
{
    (void)state;
    try_scenario(&jobs);
}

static void a_hash_job(void **state)
{
    (void)state;
    try_scenario(&hash);
}

static void a_migration(void **state)
{
    (void)state;
    try_scenario(&migrate);
}

static void a_library_made_on_a_network_disk(void **state)
{
    (void)state;
    try_scenario(&network_make);
}

static void an_import_on_a_network_disk(void **state)
{
    (void)state;
    try_scenario(&network_import);
}

/* ---- faults put in ---- */

static bool of_new_library(const power_step *step)
{
    return step->kind == STEP_SYNC && strstr(step->path, ".new-") != NULL && strstr(step->path, "-journal") == NULL;
}

static bool of_folders(const power_step *step)
{
    return step->kind == STEP_SYNC_FOLDER;
}

static bool of_log(const power_step *step)
{
    return step->kind == STEP_SYNC && strstr(step->path, "-wal") != NULL;
}

static bool of_library(const power_step *step)
{
    return step->kind == STEP_SYNC && strcmp(step->path, at(LIBRARY)) == 0;
}

static bool of_copy(const power_step *step)
{
    return step->kind == STEP_SYNC && strstr(step->path, ".bak-") != NULL;
}

static bool of_journal(const power_step *step)
{
    return step->kind == STEP_SYNC && strstr(step->path, "-journal") != NULL;
}

static void a_forgotten_sync_is_found(void **state)
{
    (void)state;
    try_without(&make, "the sync of the new library", of_new_library);
}

static void forgotten_folders_are_found(void **state)
{
    (void)state;
    try_without(&make, "the syncs of folders", of_folders);
}

static void a_forgotten_log_is_found(void **state)
{
    (void)state;
    try_without(&first, "the syncs of SQLite's log", of_log);
}

static void a_forgotten_checkpoint_is_found(void **state)
{
    (void)state;
    try_without(&first, "the syncs of the library itself", of_library);
}

static void a_forgotten_copy_is_found(void **state)
{
    (void)state;
    try_without(&migrate, "the sync of the copy", of_copy);
}

static void a_forgotten_copy_name_is_found(void **state)
{
    (void)state;
    try_without(&migrate, "the syncs of folders", of_folders);
}

static void a_forgotten_journal_is_found(void **state)
{
    (void)state;
    try_without(&network_import, "the syncs of SQLite's journal", of_journal);
}

int main(int argc, char **argv)
{
    if (power_main(argc, argv))
        return 0;
    const struct CMUnitTest tests[] = {
        POWER_TEST(a_library_is_made),
        POWER_TEST(an_import),
        POWER_TEST(an_import_that_is_gone_on_with),
        POWER_TEST(an_import_after_changes),
        POWER_TEST(jobs_that_are_controlled),
        POWER_TEST(a_hash_job),
        POWER_TEST(a_migration),
        POWER_TEST(a_library_made_on_a_network_disk),
        POWER_TEST(an_import_on_a_network_disk),
        POWER_TEST(a_forgotten_sync_is_found),
        POWER_TEST(forgotten_folders_are_found),
        POWER_TEST(a_forgotten_log_is_found),
        POWER_TEST(a_forgotten_checkpoint_is_found),
        POWER_TEST(a_forgotten_copy_is_found),
        POWER_TEST(a_forgotten_copy_name_is_found),
        POWER_TEST(a_forgotten_journal_is_found),
    };
    return cmocka_run_group_tests_name("library.power", tests, NULL, NULL);
}
