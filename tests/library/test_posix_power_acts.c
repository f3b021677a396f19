/* Power cuts while files are moved, copied, put into the trash, deleted and brought back (promise 5). On every disk that
 * one may leave:
 *
 *   1. each file that was there is somewhere, whole (but for one that was to be deleted);
 *   2. no file is away from its place, and none is new, without a record that says so;
 *   3. when the library has ended what it finds begun, each path it knows is there, and what was promised holds;
 *   4. the same work done again ends as if nothing had happened, tags and notes with their files. */
#include "support/library_posix_scenario.h"

#include <dirent.h>
#include <sys/stat.h>

#include "library/acts.h"

/* What is moved: one file with what lies beside it, a set, a folder. And where it goes. */
#define FILE_OLD "disk/m/model 01.safetensors"
#define FILE_NEW "disk/m/sorted/model 01.safetensors"
#define SET_OLD "disk/m/set.safetensors.index.json"
#define SET_NEW "disk/m/sorted/set.safetensors.index.json"
#define FOLDER_OLD "disk/m/p"
#define FOLDER_NEW "disk/m/sorted/p"
#define FAR "disk/m/far"
#define FAR_NEW FAR "/model 01.safetensors"
#define FAR_FOLDER_NEW FAR "/p"

/* ---- the files of a disk ---- */

static bool is_of_library(const char *path)
{
    return strncmp(path, at("disk/lib/"), strlen(at("disk/lib/"))) == 0;
}

static bool ends_with(const char *text, const char *end)
{
    size_t size = strlen(text), end_size = strlen(end);
    return size >= end_size && strcmp(text + size - end_size, end) == 0;
}

static bool holds(const char *path, const power_node *node)
{
    static char bytes[1 << 16];
    struct stat st;
    size_t got = 0;
    tn_os_file file;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || (size_t)st.st_size != node->size)
        return false;
    assert_in_range(node->size, 0, sizeof bytes);
    assert_int_equal(tn_os_open(path, TN_OS_READ, &file, NULL), TN_OK);
    assert_int_equal(tn_os_read(&file, 0, bytes, sizeof bytes, &got, NULL), TN_OK);
    tn_os_close(&file);
    return got == node->size && memcmp(bytes, node->bytes, got) == 0;
}

/* Call `each` for every file that is not the library's, until it says that it has seen enough. */
static bool any_file(const char *folder, bool (*each)(const char *path, const void *user), const void *user)
{
    bool found = false;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (const struct dirent *entry = readdir(dir); entry != NULL && !found; entry = readdir(dir)) {
        char path[2048];
        struct stat st;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 || lstat(path, &st) != 0)
            continue;
        if (S_ISDIR(st.st_mode))
            found = any_file(path, each, user);
        else if (!is_of_library(path))
            found = each(path, user);
    }
    closedir(dir);
    return found;
}

static bool holds_node(const char *path, const void *user)
{
    return holds(path, user);
}

/* ---- 1. nothing is lost ---- */

static const char *deleted; /* the one file or folder that may go; NULL: none */

static bool may_go(const char *path)
{
    size_t size = deleted != NULL ? strlen(at(deleted)) : 0;
    return deleted != NULL && strncmp(path, at(deleted), size) == 0 && (path[size] == '\0' || path[size] == '/');
}

static void nothing_is_lost(void)
{
    const power_log *log = &tape;
    for (size_t i = 0; i < log->names.count; i++) {
        const char *path = log->names.items[i].path;
        const power_node *node = &log->nodes[log->names.items[i].node];
        if (node->folder || is_of_library(path) || ends_with(path, ".trashinfo") || may_go(path))
            continue;
        if (!holds(path, node) && !any_file(log->root, holds_node, node))
            power_wrong("the bytes of %s are lost", path + strlen(log->root));
    }
}

static void check_raw(const power_log *log, size_t at_step)
{
    (void)log;
    (void)at_step;
    nothing_is_lost();
}

/* ---- 2. nothing without a record ---- */

/* A step of an act has this path, or a folder that it is in, in one of the columns. */
static bool is_recorded(tn_library *library, const char *path, const char *columns)
{
    char sql[4096];
    snprintf(sql, sizeof sql,
             "SELECT count(*) FROM act_steps, (SELECT '%s' AS p) WHERE instr(p || '/', CAST(source AS TEXT) || '/') = 1 "
             "AND %d OR length(target) > 0 AND instr(p || '/', CAST(target AS TEXT) || '/') = 1 AND %d OR length(aside) > 0 "
             "AND instr(p || '/', CAST(aside AS TEXT) || '/') = 1 AND %d",
             path, strchr(columns, 's') != NULL, strchr(columns, 't') != NULL, strchr(columns, 't') != NULL);
    return ask(library, sql) > 0;
}

/* A note of the trash may be there before the act is recorded: a note without an item means nothing. */
static bool is_without_record(const char *path, const void *user)
{
    tn_library *library = *(tn_library *const *)user;
    if (ends_with(path, ".trashinfo") || power_find(&tape.names, path) != NULL || is_recorded(library, path, "t"))
        return false;
    power_wrong("%s is new, and no act is recorded that made it", path + strlen(tape.root));
    return true;
}

static void check_records(tn_library *library)
{
    const power_log *log = &tape;
    for (size_t i = 0; i < log->names.count; i++) {
        const char *path = log->names.items[i].path;
        const power_node *node = &log->nodes[log->names.items[i].node];
        if (!node->folder && !is_of_library(path) && !ends_with(path, ".trashinfo") && !holds(path, node) &&
            !is_recorded(library, path, "s"))
            power_wrong("%s is not at its place, and no act is recorded that moved it", path + strlen(log->root));
    }
    any_file(log->root, is_without_record, &library);
}

/* ---- 3. what was begun is ended ---- */

static const char *old_place, *new_place; /* of the work; NULL: nowhere */

/* Every path that a query gives is there, or none is. */
static void check_paths(tn_library *library, const char *sql, bool there, const char *says)
{
    sqlite3_stmt *stmt = NULL;
    assert_int_equal(sqlite3_prepare_v2(library->db.handle, sql, -1, &stmt, NULL), SQLITE_OK);
    while (sqlite3_step(stmt) == SQLITE_ROW)
        if (is_there((const char *)sqlite3_column_text(stmt, 0)) != there)
            power_wrong("%s %s", says, (const char *)sqlite3_column_text(stmt, 0));
    sqlite3_finalize(stmt);
}

static void check_settled(tn_library *library, const power_log *log, size_t at_step)
{
    tn_error err;
    works(tn_acts_recover(library, &err), "ending what was begun", &err);
    if (ask(library, "SELECT count(*) FROM acts WHERE state IN ('planned', 'placed')") != 0)
        power_wrong("an act that was begun is not ended");
    nothing_is_lost();
    check_paths(library, "SELECT CAST(path AS TEXT) FROM files WHERE present = 1", true, "the library knows what is gone:");
    check_paths(library, "SELECT CAST(aside AS TEXT) FROM act_steps s JOIN acts a ON a.id = s.act WHERE kind <> 'trash' "
                         "AND length(aside) > 0", false, "a half copy is left behind:");
    bool promised = power_promised(log, at_step, "done");
    if (promised && old_place != NULL && is_there(at(old_place)))
        power_wrong("it was said to be done, and %s is still there", old_place);
    if (promised && new_place != NULL && !is_there(at(new_place)))
        power_wrong("it was said to be done, and %s is not there", new_place);
}

/* ---- the disk before ---- */

static void prepare(void)
{
    tn_library_close(open_at(LIBRARY));
    put_models(3);
    put_folder(at(FAR));
    put_folder(at("disk/home"));
    put_text(at("disk/m/model 01.json"), "{\"notes\":\"mine\"}");
    put_text(at("disk/m/p/README.md"), "a folder");
    tn_library *library = open_at(LIBRARY);
    import_models(library);
    const char *plus[] = {"kept"};
    const tn_tag_change change = {.size = sizeof change, .add = plus, .add_count = 1};
    assert_int_equal(tn_library_tag(library, at(FILE_OLD), &change, NULL), TN_OK);
    assert_int_equal(tn_library_note(library, at(SET_OLD), "a set", NULL), TN_OK);
    assert_int_equal(tn_library_note(library, at(FOLDER_OLD), "a folder", NULL), TN_OK);
    tn_library_close(library);
}

/* ---- moves ---- */

static void move(tn_library *library, const char *from, const char *to)
{
    tn_error err;
    if (is_there(at(from)))
        works(tn_library_move(library, at(from), at(to), NULL, &err), "the move", &err);
}

/* Each is run once by `run_...`, and once more by `..._again` with an import at the end. */
static void run(void (*work)(tn_library *library))
{
    tn_library *library = open_at(LIBRARY);
    work(library);
    power_mark("done");
    tn_library_close(library);
}

#define WORK(name, call)                                                                                              \
    static void name(tn_library *library)                                                                             \
    {                                                                                                                 \
        call;                                                                                                         \
    }                                                                                                                 \
    static void name##_again(tn_library *library)                                                                     \
    {                                                                                                                 \
        name(library);                                                                                                \
        import_models(library);                                                                                       \
        nothing_is_lost();                                                                                            \
    }                                                                                                                 \
    static void run_##name(void)                                                                                      \
    {                                                                                                                 \
        run(name);                                                                                                    \
    }

WORK(move_file, move(library, FILE_OLD, "disk/m/sorted"))
WORK(move_set, move(library, SET_OLD, "disk/m/sorted"))
WORK(move_folder, move(library, FOLDER_OLD, "disk/m/sorted"))
WORK(move_far, move(library, FILE_OLD, FAR))
WORK(move_folder_far, move(library, FOLDER_OLD, FAR))

/* ---- taking away ---- */

static void take(tn_library *library, const char *from, tn_removal how)
{
    tn_error err;
    if (is_there(at(from)))
        works(tn_library_remove(library, at(from), how, NULL, &err), "the removal", &err);
}

WORK(trash_file, take(library, FILE_OLD, TN_REMOVE_TRASH))
WORK(trash_folder, take(library, FOLDER_OLD, TN_REMOVE_TRASH))
WORK(delete_folder, take(library, FOLDER_OLD, TN_REMOVE_DELETE))
WORK(delete_file, take(library, "disk/m/model 02.safetensors", TN_REMOVE_DELETE))

/* ---- and back ---- */

static void prepare_moved(void)
{
    prepare();
    tn_library *library = open_at(LIBRARY);
    move(library, FILE_OLD, "disk/m/sorted");
    tn_library_close(library);
}

static void prepare_trashed(void)
{
    prepare();
    tn_library *library = open_at(LIBRARY);
    take(library, FILE_OLD, TN_REMOVE_TRASH);
    tn_library_close(library);
}

static void undo(tn_library *library)
{
    tn_error err;
    if (!is_there(at(FILE_OLD)))
        works(tn_library_undo(library, 0, NULL, &err), "the undoing", &err);
}

WORK(undo_it, undo(library))

/* ---- copies ---- */

static void prepare_inbox(void)
{
    prepare();
    put_folder(at("disk/inbox/deep"));
    put_weights(at("disk/inbox/one.safetensors"), 201);
    put_weights(at("disk/inbox/deep/two.safetensors"), 202);
}

static void place(tn_library *library, bool moving)
{
    tn_error err;
    const char *paths[] = {at("disk/inbox")};
    works(tn_library_place(library, paths, 1, at("disk/m/placed"), moving, NULL, NULL, &err), "the placing", &err);
}

WORK(copy_in, place(library, false))
WORK(move_in, place(library, true))

/* ---- the scenarios ---- */

#define SCENARIO(what, work, prepares, ...)                                                                           \
    {                                                                                                                 \
        .name = what, .prepare = prepares, .run = run_##work, .again = work##_again, .before = check_raw,            \
        .opened = check_records, .settled = check_settled, __VA_ARGS__                                                \
    }

static const scenario file_moved = SCENARIO("move a file", move_file, prepare, .far = NULL);
static const scenario set_moved = SCENARIO("move a set", move_set, prepare, .far = NULL);
static const scenario folder_moved = SCENARIO("move a folder", move_folder, prepare, .far = NULL);
static const scenario file_moved_far = SCENARIO("move a file to another disk", move_far, prepare, .far = FAR);
static const scenario folder_moved_far = SCENARIO("move a folder to another disk", move_folder_far, prepare, .far = FAR);
static const scenario file_trashed = SCENARIO("put a file into the trash", trash_file, prepare, .far = NULL);
static const scenario folder_trashed = SCENARIO("put a folder into the trash", trash_folder, prepare, .far = NULL);
static const scenario file_deleted = SCENARIO("delete a file", delete_file, prepare, .far = NULL);
static const scenario folder_deleted = SCENARIO("delete a folder", delete_folder, prepare, .far = NULL);
static const scenario move_undone = SCENARIO("undo a move", undo_it, prepare_moved, .far = NULL);
static const scenario trash_undone = SCENARIO("undo a removal", undo_it, prepare_trashed, .far = NULL);
static const scenario copied_in = SCENARIO("copy files in", copy_in, prepare_inbox, .far = NULL);
static const scenario moved_in = SCENARIO("move files in", move_in, prepare_inbox, .far = NULL);
static const scenario network_moved = SCENARIO("move a file, on a network disk", move_file, prepare, .network = true);

static void set_places(const char *from, const char *to, const char *goes)
{
    old_place = from;
    new_place = to;
    deleted = goes;
}

#define MUST_SURVIVE(name, scenario_, from, to, goes)                                                                 \
    static void name(void **state)                                                                                    \
    {                                                                                                                 \
        (void)state;                                                                                                  \
        set_places(from, to, goes);                                                                                   \
        try_scenario(&scenario_);                                                                                     \
    }

MUST_SURVIVE(a_file_is_moved, file_moved, FILE_OLD, FILE_NEW, NULL)
MUST_SURVIVE(a_set_is_moved, set_moved, SET_OLD, SET_NEW, NULL)
MUST_SURVIVE(a_folder_is_moved, folder_moved, FOLDER_OLD, FOLDER_NEW, NULL)
MUST_SURVIVE(a_file_is_moved_to_another_disk, file_moved_far, FILE_OLD, FAR_NEW, NULL)
MUST_SURVIVE(a_folder_is_moved_to_another_disk, folder_moved_far, FOLDER_OLD, FAR_FOLDER_NEW, NULL)
MUST_SURVIVE(a_file_is_put_into_the_trash, file_trashed, FILE_OLD, NULL, NULL)
MUST_SURVIVE(a_folder_is_put_into_the_trash, folder_trashed, FOLDER_OLD, NULL, NULL)
MUST_SURVIVE(a_file_is_deleted, file_deleted, "disk/m/model 02.safetensors", NULL, "disk/m/model 02.safetensors")
MUST_SURVIVE(a_folder_is_deleted, folder_deleted, FOLDER_OLD, NULL, FOLDER_OLD)
MUST_SURVIVE(a_move_is_undone, move_undone, FILE_NEW, FILE_OLD, NULL)
MUST_SURVIVE(a_removal_is_undone, trash_undone, NULL, FILE_OLD, NULL)
MUST_SURVIVE(files_are_copied_in, copied_in, NULL, "disk/m/placed/deep/two.safetensors", NULL)
MUST_SURVIVE(files_are_moved_in, moved_in, NULL, "disk/m/placed/deep/two.safetensors", NULL)
MUST_SURVIVE(a_file_is_moved_on_a_network_disk, network_moved, FILE_OLD, FILE_NEW, NULL)

/* ---- faults put in ---- */

static bool of_log(const power_step *step)
{
    return step->kind == STEP_SYNC && strstr(step->path, "-wal") != NULL;
}

static bool of_folder_after_rename(const power_step *step)
{
    return step->kind == STEP_SYNC_FOLDER && !step->sqlite &&
           (step[-1].kind == STEP_RENAME || (step[-1].kind == STEP_SYNC_FOLDER && step[-2].kind == STEP_RENAME));
}

static bool of_copies(const power_step *step)
{
    return step->kind == STEP_SYNC && !step->sqlite && strncmp(step->path, at(FAR), strlen(at(FAR))) == 0;
}

static bool of_journal(const power_step *step)
{
    return step->kind == STEP_SYNC_FOLDER && step->sqlite;
}

#define MUST_BE_FOUND(name, scenario_, from, to, what, lost)                                                          \
    static void name(void **state)                                                                                    \
    {                                                                                                                 \
        (void)state;                                                                                                  \
        set_places(from, to, NULL);                                                                                   \
        try_without(&scenario_, what, lost);                                                                          \
    }

MUST_BE_FOUND(a_forgotten_log_is_found, file_moved, FILE_OLD, FILE_NEW, "the syncs of SQLite's log", of_log)
MUST_BE_FOUND(forgotten_folders_are_found, file_moved, FILE_OLD, FILE_NEW, "the syncs of folders after a rename",
              of_folder_after_rename)
MUST_BE_FOUND(a_forgotten_copy_is_found, file_moved_far, FILE_OLD, FAR_NEW, "the syncs of copies", of_copies)
MUST_BE_FOUND(a_forgotten_name_of_a_copy_is_found, file_moved_far, FILE_OLD, FAR_NEW,
              "the syncs of folders after a rename", of_folder_after_rename)
MUST_BE_FOUND(a_forgotten_name_in_the_trash_is_found, file_trashed, FILE_OLD, NULL, "the syncs of folders after a rename",
              of_folder_after_rename)
MUST_BE_FOUND(a_forgotten_journal_is_found, network_moved, FILE_OLD, FILE_NEW, "the syncs of SQLite's folder", of_journal)

static int setup(void **state)
{
    if (power_setup(state) != 0)
        return -1;
    return setenv("XDG_DATA_HOME", at("disk/home"), 1);
}

int main(int argc, char **argv)
{
    if (power_main(argc, argv))
        return 0;
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, library_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_file_is_moved),
        TEST(a_set_is_moved),
        TEST(a_folder_is_moved),
        TEST(a_file_is_moved_to_another_disk),
        TEST(a_folder_is_moved_to_another_disk),
        TEST(a_file_is_put_into_the_trash),
        TEST(a_folder_is_put_into_the_trash),
        TEST(a_file_is_deleted),
        TEST(a_folder_is_deleted),
        TEST(a_move_is_undone),
        TEST(a_removal_is_undone),
        TEST(files_are_copied_in),
        TEST(files_are_moved_in),
        TEST(a_file_is_moved_on_a_network_disk),
        TEST(a_forgotten_log_is_found),
        TEST(forgotten_folders_are_found),
        TEST(a_forgotten_copy_is_found),
        TEST(a_forgotten_name_of_a_copy_is_found),
        TEST(a_forgotten_name_in_the_trash_is_found),
        TEST(a_forgotten_journal_is_found),
    };
    return cmocka_run_group_tests_name("library.power_acts", tests, NULL, NULL);
}
