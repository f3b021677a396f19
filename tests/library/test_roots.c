/* Roots: kept, forgotten, away and back, and moved to another place with all that is known below them. */
#include "support/library_open.h"

#include "os/os_fault.h"

#define ROOTS_MAX 8

typedef struct roots {
    size_t count;
    char paths[ROOTS_MAX][1024];
    bool away[ROOTS_MAX];
    uint64_t models[ROOTS_MAX], bytes[ROOTS_MAX];
    int64_t scanned[ROOTS_MAX];
} roots;

static int setup(void **state)
{
    if (open_setup(state) != 0)
        return -1;
    put_folder(at("m"));
    return 0;
}

static bool keep(void *user, const tn_root *root)
{
    roots *r = user;
    assert_in_range(r->count, 0, ROOTS_MAX - 1);
    snprintf(r->paths[r->count], sizeof r->paths[0], "%s", root->path.bytes);
    r->away[r->count] = root->away;
    r->models[r->count] = root->models;
    r->bytes[r->count] = root->bytes;
    r->scanned[r->count] = root->scanned_ns;
    r->count++;
    return true;
}

static roots all_roots(void)
{
    roots r = {.count = 0};
    assert_int_equal(tn_library_roots(library, keep, &r, NULL), TN_OK);
    return r;
}

/* Scan all roots; the summary is to be destroyed. */
static tn_import_summary *scan(told *t)
{
    tn_import_options options = options_telling(t);
    tn_import_summary *s = NULL;
    tn_error err;
    if (tn_library_scan(library, NULL, 0, &options, &s, &err) != TN_OK)
        fail_msg("the scan failed: %s (%s)", err.message, err.file);
    return s;
}

static void scan_quietly(void)
{
    tn_import_summary_destroy(scan(NULL));
}

static int64_t count_presence(const char *presence)
{
    char sql[200];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM models WHERE presence = '%s'", presence);
    return ask(library, sql);
}

/* ---- keeping and forgetting ---- */

static void a_folder_that_was_imported_is_listed_with_what_is_in_it(void **state)
{
    (void)state;
    put_weights(at("m/a.safetensors"), 4);
    put_weights(at("m/b.safetensors"), 5);
    import_quietly(library, "m", NULL);
    roots r = all_roots();
    assert_int_equal(r.count, 1);
    assert_string_equal(r.paths[0], spelled("m"));
    assert_false(r.away[0]);
    assert_int_equal(r.models[0], 2);
    assert_int_equal(r.bytes[0], ask(library, "SELECT sum(size_bytes) FROM models"));
    assert_true(r.scanned[0] > 0);
}

static void a_root_is_added_once_whatever_its_spelling_and_scanned_then(void **state)
{
    (void)state;
    put_weights(at("m/a.safetensors"), 4);
    assert_int_equal(tn_library_root_add(library, at("m"), NULL), TN_OK);
    assert_int_equal(tn_library_root_add(library, at("m/"), NULL), TN_OK);
    assert_int_equal(tn_library_root_add(library, at("m/../m/."), NULL), TN_OK);
    roots r = all_roots();
    assert_int_equal(r.count, 1);
    assert_int_equal(r.scanned[0], 0);
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), 0);
    scan_quietly();
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), 1);
    assert_true(all_roots().scanned[0] > 0);
}

static void a_file_is_no_root_and_neither_is_nothing(void **state)
{
    (void)state;
    put_weights(at("m/a.safetensors"), 4);
    assert_int_equal(tn_library_root_add(library, at("m/a.safetensors"), NULL), TN_INVALID);
    assert_int_equal(tn_library_root_add(library, at("nowhere"), NULL), TN_NOT_FOUND);
    assert_int_equal(tn_library_root_add(library, "", NULL), TN_BAD_PATH);
    assert_int_equal(all_roots().count, 0);
}

static void a_root_that_is_forgotten_leaves_its_records_as_they_are(void **state)
{
    (void)state;
    put_weights(at("m/a.safetensors"), 4);
    import_quietly(library, "m", NULL);
    assert_int_equal(tn_library_root_remove(library, at("m"), NULL), TN_OK);
    assert_int_equal(tn_library_root_remove(library, at("m"), NULL), TN_NOT_FOUND);
    assert_int_equal(tn_os_remove(at("m/a.safetensors"), NULL), TN_OK);
    tn_import_summary *s = scan(NULL);
    assert_int_equal(s->models, 0);
    tn_import_summary_destroy(s);
    assert_int_equal(count_presence("present"), 1);
}

static void roots_within_roots_are_each_kept_and_their_models_scanned_once(void **state)
{
    (void)state;
    told t;
    put_folder(at("m/in"));
    put_weights(at("m/a.safetensors"), 4);
    put_weights(at("m/in/b.safetensors"), 5);
    import_quietly(library, "m/in", NULL);
    import_quietly(library, "m", NULL);
    roots r = all_roots();
    assert_int_equal(r.count, 2);
    assert_int_equal(r.models[0] + r.models[1], 3);
    tn_import_summary *s = scan(&t);
    assert_int_equal(s->models, 2);
    assert_int_equal(t.unchanged, 2);
    tn_import_summary_destroy(s);
}

static void what_is_no_root_is_not_scanned(void **state)
{
    (void)state;
    tn_import_summary *s = NULL;
    put_folder(at("m/in"));
    put_folder(at("n"));
    put_weights(at("m/in/b.safetensors"), 5);
    import_quietly(library, "m", NULL);
    const char *paths[] = {at("n")};
    assert_int_equal(tn_library_scan(library, paths, 1, NULL, &s, NULL), TN_NOT_FOUND);
    paths[0] = at("m/in");
    assert_int_equal(tn_library_scan(library, paths, 1, NULL, &s, NULL), TN_OK);
    assert_int_equal(s->models, 1);
    tn_import_summary_destroy(s);
    assert_int_equal(all_roots().count, 1); /* a folder of a root is none for having been scanned */
}

/* ---- away and back ---- */

static void a_root_that_is_away_makes_its_models_offline_until_it_is_back(void **state)
{
    (void)state;
    told t;
    put_weights(at("m/a.safetensors"), 4);
    put_weights(at("m/b.safetensors"), 5);
    import_quietly(library, "m", NULL);
    assert_int_equal(tn_os_rename(at("m"), at("unplugged"), false, NULL), TN_OK);
    assert_true(all_roots().away[0]); /* told without a scan */
    tn_import_summary *s = scan(NULL);
    assert_int_equal(s->problem_count, 0);
    assert_int_equal(s->away_count, 1);
    assert_string_equal(s->away[0].path.bytes, spelled("m"));
    assert_string_equal(s->away[0].message.bytes, "2 models are offline");
    assert_int_equal(s->vanished, 0);
    tn_import_summary_destroy(s);
    assert_int_equal(count_presence("offline"), 2);
    assert_int_equal(all_roots().models[0], 2);
    assert_int_equal(tn_os_rename(at("unplugged"), at("m"), false, NULL), TN_OK);
    assert_int_equal(tn_os_remove(at("m/b.safetensors"), NULL), TN_OK);
    uint64_t read = tn_context_bytes_read(context);
    s = scan(&t);
    assert_int_equal(s->vanished, 1);
    assert_int_equal(s->away_count, 0);
    tn_import_summary_destroy(s);
    assert_int_equal(tn_context_bytes_read(context), read); /* nothing is read again */
    assert_int_equal(t.unchanged, 1);
    assert_int_equal(count_presence("present"), 1);
    assert_int_equal(count_presence("missing"), 1);
}

static void a_root_that_is_named_and_away_needs_a_look(void **state)
{
    (void)state;
    tn_import_summary *s = NULL;
    put_weights(at("m/a.safetensors"), 4);
    import_quietly(library, "m", NULL);
    assert_int_equal(tn_os_rename(at("m"), at("unplugged"), false, NULL), TN_OK);
    const char *paths[] = {at("m")};
    assert_int_equal(tn_library_scan(library, paths, 1, NULL, &s, NULL), TN_OK);
    assert_int_equal(s->problem_count, 1);
    tn_import_summary_destroy(s);
    assert_int_equal(count_presence("offline"), 1);
}

typedef struct failing {
    const char *below; /* every call for a path in this folder fails, but of the path's text */
    tn_status status;
} failing;

static tn_status fail_below(void *user, const tn_os_call *call)
{
    const failing *f = user;
    return call->operation != TN_OP_PATH && call->path != NULL && strncmp(call->path, f->below, strlen(f->below)) == 0 ? f->status : TN_OK;
}

static int64_t offline_where_it_fails_with(tn_status status)
{
    failing f = {spelled("m"), status};
    const tn_os_hooks hooks = {.before = fail_below, .user = &f};
    tn_os_set_hooks(&hooks);
    bool away = all_roots().away[0];
    scan_quietly();
    tn_os_set_hooks(NULL);
    int64_t offline = count_presence("offline");
    assert_int_equal(offline, away ? 2 : 0);
    assert_int_equal(count_presence("present"), 2 - offline);
    scan_quietly();
    assert_int_equal(count_presence("present"), 2);
    return offline;
}

/* The server of a network share is gone (an I/O error, a stale handle). No permission says nothing about what is there. */
static void a_root_whose_file_system_does_not_answer_is_away(void **state)
{
    (void)state;
    put_weights(at("m/a.safetensors"), 4);
    put_folder(at("m/in"));
    put_weights(at("m/in/b.safetensors"), 5);
    import_quietly(library, "m", NULL);
    assert_int_equal(offline_where_it_fails_with(TN_IO), 2);
    assert_int_equal(offline_where_it_fails_with(TN_CHANGED), 2);
    assert_int_equal(offline_where_it_fails_with(TN_PERMISSION), 0);
}

static void a_model_with_a_path_in_a_root_that_is_here_is_not_offline(void **state)
{
    (void)state;
    told t;
    put_folder(at("n"));
    put_weights(at("m/a.safetensors"), 4);
    import_quietly(library, "m", NULL);
    assert_int_equal(tn_os_rename(at("m/a.safetensors"), at("n/a.safetensors"), false, NULL), TN_OK);
    import_quietly(library, "n", NULL);
    assert_int_equal(tn_os_rename(at("m"), at("unplugged"), false, NULL), TN_OK);
    tn_import_summary_destroy(scan(&t));
    assert_int_equal(count_presence("present"), 1);
}

static tn_status fail_files_of_m(void *user, const tn_os_call *call)
{
    const tn_status *status = user;
    bool asks = call->operation == TN_OP_INFO || call->operation == TN_OP_OPEN;
    return asks && call->path != NULL && strstr(call->path, ".safetensors") != NULL ? *status : TN_OK;
}

/* The server goes, or rights do, after the folder was listed. */
static void a_file_that_does_not_answer_while_its_root_does_keeps_its_record(void **state)
{
    (void)state;
    static const tn_status faults[] = {TN_IO, TN_CHANGED, TN_PERMISSION};
    put_weights(at("m/a.safetensors"), 4);
    put_tensor(at("m/set-00001-of-00002.safetensors"), "v", 6, 0);
    put_tensor(at("m/set-00002-of-00002.safetensors"), "w", 6, 0);
    import_quietly(library, "m", NULL);
    int64_t ids = ask(library, "SELECT sum(id * id) FROM models");
    assert_int_equal(count_presence("present"), 2);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        tn_status f = faults[i];
        tn_os_hooks hooks = {.before = fail_files_of_m, .user = &f};
        tn_os_set_hooks(&hooks);
        tn_import_summary *s = scan(NULL);
        tn_os_set_hooks(NULL);
        assert_int_equal(s->problem_count, 1); /* the set is passed over as one that vanished while it was looked at */
        assert_string_equal(s->problems[0].path.bytes, spelled("m/a.safetensors"));
        tn_import_summary_destroy(s);
        assert_int_equal(count_presence("present"), 2);
        assert_int_equal(ask(library, "SELECT sum(id * id) FROM models WHERE state <> 'unreadable'"), ids);
        scan_quietly();
        assert_int_equal(ask(library, "SELECT sum(id * id) FROM models WHERE presence = 'present'"), ids);
    }
}

static tn_status fail_to_open_folders(void *user, const tn_os_call *call)
{
    const char *below = user;
    return call->operation == TN_OP_FOLDER_OPEN && strncmp(call->path, below, strlen(below)) == 0 ? TN_IO : TN_OK;
}

/* What is known of files and folders may come out of the system's memory long after the server has gone. */
static void a_root_that_is_only_remembered_is_away_and_no_fault(void **state)
{
    (void)state;
    char below[1024];
    snprintf(below, sizeof below, "%s", spelled("m"));
    const tn_os_hooks hooks = {.before = fail_to_open_folders, .user = below};
    put_weights(at("m/a.safetensors"), 4);
    import_quietly(library, "m", NULL);
    tn_os_set_hooks(&hooks);
    tn_import_summary *s = scan(NULL);
    bool away = all_roots().away[0];
    tn_os_set_hooks(NULL);
    assert_true(away);
    assert_int_equal(s->away_count, 1);
    assert_int_equal(s->folders_unreadable, 0); /* it is told as away */
    assert_int_equal(s->problem_count, 0);
    tn_import_summary_destroy(s);
    assert_int_equal(count_presence("offline"), 1);
    scan_quietly();
    assert_int_equal(count_presence("present"), 1);
}

/* A folder of a root that is here was emptied by somebody: what was in it is missing, not offline. */
static void a_folder_that_vanishes_within_a_root_makes_its_models_missing(void **state)
{
    (void)state;
    put_folder(at("m/in"));
    put_weights(at("m/in/a.safetensors"), 4);
    put_weights(at("m/b.safetensors"), 5);
    import_quietly(library, "m", NULL);
    assert_int_equal(tn_os_remove(at("m/in/a.safetensors"), NULL), TN_OK);
    assert_int_equal(tn_os_remove_folder(at("m/in"), NULL), TN_OK);
    scan_quietly();
    assert_int_equal(count_presence("missing"), 1);
}

/* As a mount point shows itself: the folder is there, empty, and on the disk of the folder above it. */
static void other_disk(void *user, const char *path, tn_os_info *info)
{
    (void)user;
    (void)path;
    info->device += 77;
}

static void an_empty_mount_point_is_away_and_an_emptied_folder_is_not(void **state)
{
    (void)state;
    put_weights(at("m/a.safetensors"), 4);
    import_quietly(library, "m", NULL);
    assert_int_equal(tn_os_rename(at("m/a.safetensors"), at("a"), false, NULL), TN_OK);
    tn_os_set_hooks(&(tn_os_hooks){.alter_info = other_disk});
    tn_import_summary *s = scan(NULL);
    assert_int_equal(s->away_count, 1);
    tn_import_summary_destroy(s);
    assert_true(all_roots().away[0]);
    tn_os_set_hooks(NULL);
    assert_int_equal(count_presence("offline"), 1);
    s = scan(NULL); /* the same folder on its own disk: it was emptied */
    assert_int_equal(s->vanished, 1);
    tn_import_summary_destroy(s);
    assert_int_equal(count_presence("missing"), 1);
    assert_int_equal(tn_os_rename(at("a"), at("m/a.safetensors"), false, NULL), TN_OK);
    scan_quietly();
    assert_int_equal(count_presence("present"), 1);
}

/* The disk has another number after it was plugged in again; there are models on it. */
static void another_number_of_the_disk_is_no_other_disk(void **state)
{
    (void)state;
    told t;
    put_weights(at("m/a.safetensors"), 4);
    put_weights(at("m/b.safetensors"), 5);
    import_quietly(library, "m", NULL);
    assert_int_equal(tn_os_remove(at("m/b.safetensors"), NULL), TN_OK);
    tn_os_set_hooks(&(tn_os_hooks){.alter_info = other_disk});
    tn_import_summary_destroy(scan(&t));
    assert_int_equal(t.unchanged, 1);
    assert_int_equal(count_presence("missing"), 1);
    /* The rows learned the new number, so that a rename on this disk is known by it. */
    assert_int_equal(tn_os_rename(at("m/a.safetensors"), at("m/c.safetensors"), false, NULL), TN_OK);
    tn_import_summary *s = scan(&t);
    tn_os_set_hooks(NULL);
    assert_int_equal(s->relinked, 0);
    assert_int_equal(s->fresh, 0);
    tn_import_summary_destroy(s);
    assert_int_equal(ask(library, "SELECT count(*) FROM models WHERE name = 'c' AND presence = 'present'"), 1);
}

/* ---- relocate ---- */

static tn_import_summary *relocate(const char *from, const char *to, tn_relocation *did)
{
    tn_import_summary *s = NULL;
    tn_error err;
    if (tn_library_relocate(library, at(from), at(to), NULL, did, &s, &err) != TN_OK)
        fail_msg("it was not relocated: %s (%s)", err.message, err.file);
    return s;
}

static void put_tagged(void)
{
    put_folder(at("m/in/p"));
    put_weights(at("m/a.safetensors"), 4);
    put_weights(at("m/in/b.safetensors"), 5);
    put_text(at("m/in/p/config.json"), "{\"_class_name\":\"AutoencoderKL\"}");
    put_weights(at("m/in/p/diffusion_pytorch_model.safetensors"), 7);
    import_quietly(library, "m", NULL);
    run("INSERT INTO tags SELECT id, name FROM models");
}

/* All three are where they were said to be, under the folder's new name. */
static void assert_all_below(const char *folder)
{
    char sql[512];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM models m JOIN tags t ON t.model = m.id AND t.tag = m.name WHERE "
                              "m.presence = 'present' AND replace(CAST(m.path AS TEXT), char(92), '/') LIKE '%%/%s/%%'",
             folder);
    assert_int_equal(ask(library, sql), 3);
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), 3);
}

static void a_folder_that_was_moved_keeps_its_records_in_its_new_place(void **state)
{
    (void)state;
    tn_relocation did;
    put_tagged();
    assert_int_equal(tn_os_rename(at("m"), at("moved"), false, NULL), TN_OK);
    tn_import_summary *s = relocate("m", "moved", &did);
    assert_int_equal(s->models, 3);
    assert_int_equal(s->fresh + s->vanished + s->relinked + s->asks, 0);
    tn_import_summary_destroy(s);
    assert_int_equal(did.paths, 4); /* two files, a folder and its part */
    assert_int_equal(did.taken + did.asked, 0);
    assert_all_below("moved");
    roots r = all_roots();
    assert_int_equal(r.count, 1);
    assert_string_equal(r.paths[0], spelled("moved"));
    assert_int_equal(ask(library, "SELECT count(*) FROM events WHERE what IN ('missing', 'offline')"), 0);
}

static void it_is_found_also_after_it_was_offline(void **state)
{
    (void)state;
    put_tagged();
    assert_int_equal(tn_os_rename(at("m"), at("moved"), false, NULL), TN_OK);
    scan_quietly();
    assert_int_equal(count_presence("offline"), 3);
    tn_import_summary_destroy(relocate("m", "moved", NULL));
    assert_all_below("moved");
}

static void copy_file(const char *from, const char *to)
{
    char bytes[4096];
    size_t got = 0;
    tn_os_file file;
    assert_int_equal(tn_os_open(at(from), TN_OS_READ, &file, NULL), TN_OK);
    assert_int_equal(tn_os_read(&file, 0, bytes, sizeof bytes, &got, NULL), TN_OK);
    tn_os_close(&file);
    put_file(at(to), bytes, got);
}

/* Copied and imported anew before anybody thought of relocating: every model is there twice. */
static void copy_tree(void)
{
    put_folder(at("moved/in/p"));
    copy_file("m/a.safetensors", "moved/a.safetensors");
    copy_file("m/in/b.safetensors", "moved/in/b.safetensors");
    copy_file("m/in/p/config.json", "moved/in/p/config.json");
    copy_file("m/in/p/diffusion_pytorch_model.safetensors", "moved/in/p/diffusion_pytorch_model.safetensors");
}

static void records_made_anew_in_the_new_place_are_taken_over(void **state)
{
    (void)state;
    tn_relocation did;
    put_tagged();
    copy_tree();
    import_quietly(library, "moved", NULL);
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), 6);
    scratch_remove(at("m"));
    tn_import_summary *s = relocate("m", "moved", &did);
    assert_int_equal(s->models, 3);
    tn_import_summary_destroy(s);
    assert_int_equal(did.taken, 3);
    assert_int_equal(did.asked, 0);
    assert_all_below("moved");
    assert_int_equal(all_roots().count, 1);
}

static bool count_proposal(void *user, const tn_relink_proposal *proposal)
{
    size_t *count = user;
    assert_int_equal(proposal->count, 1);
    ++*count;
    return true;
}

static void where_somebody_has_spoken_of_the_new_record_it_is_asked_about(void **state)
{
    (void)state;
    tn_relocation did;
    size_t proposals = 0;
    put_tagged();
    copy_tree();
    put_weights(at("moved/in/b.safetensors"), 99); /* and this one is another */
    import_quietly(library, "moved", NULL);
    run("UPDATE models SET note = 'mine' WHERE name = 'a' AND id NOT IN (SELECT model FROM tags)");
    scratch_remove(at("m"));
    tn_import_summary *s = relocate("m", "moved", &did);
    assert_int_equal(s->asks, 2);
    tn_import_summary_destroy(s);
    assert_int_equal(did.taken, 1);
    assert_int_equal(did.asked, 2);
    assert_int_equal(count_presence("missing"), 2);
    assert_int_equal(count_presence("present"), 3);
    assert_int_equal(tn_library_relink_proposals(library, count_proposal, &proposals, NULL), TN_OK);
    assert_int_equal(proposals, 2);
}

static void places_that_make_no_sense_are_refused_and_nothing_changes(void **state)
{
    (void)state;
    tn_import_summary *s = NULL;
    put_tagged();
    put_folder(at("n"));
    put_text(at("file"), "x");
    static const struct {
        const char *from, *to;
        tn_status status;
    } cases[] = {{"m", "m/in", TN_INVALID}, {"m/in", "m", TN_INVALID}, {"m", "m", TN_INVALID},
                 {"m", "nowhere", TN_NOT_FOUND}, {"m", "file", TN_INVALID}, {"n", "m", TN_NOT_FOUND}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(tn_library_relocate(library, at(cases[i].from), at(cases[i].to), NULL, NULL, &s, NULL),
                         cases[i].status);
    assert_all_below("m");
    assert_int_equal(all_roots().count, 1);
}

static void a_folder_of_a_root_may_be_relocated_and_becomes_a_root(void **state)
{
    (void)state;
    put_tagged();
    put_folder(at("n"));
    assert_int_equal(tn_os_rename(at("m/in"), at("n/in"), false, NULL), TN_OK);
    tn_import_summary_destroy(relocate("m/in", "n/in", NULL));
    scan_quietly();
    assert_int_equal(count_presence("present"), 3);
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), 3);
    assert_int_equal(all_roots().count, 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, verify_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_folder_that_was_imported_is_listed_with_what_is_in_it),
        TEST(a_root_is_added_once_whatever_its_spelling_and_scanned_then),
        TEST(a_file_is_no_root_and_neither_is_nothing),
        TEST(a_root_that_is_forgotten_leaves_its_records_as_they_are),
        TEST(roots_within_roots_are_each_kept_and_their_models_scanned_once),
        TEST(what_is_no_root_is_not_scanned),
        TEST(a_root_that_is_away_makes_its_models_offline_until_it_is_back),
        TEST(a_root_that_is_named_and_away_needs_a_look),
        TEST(a_root_whose_file_system_does_not_answer_is_away),
        TEST(a_root_that_is_only_remembered_is_away_and_no_fault),
        TEST(a_model_with_a_path_in_a_root_that_is_here_is_not_offline),
        TEST(a_file_that_does_not_answer_while_its_root_does_keeps_its_record),
        TEST(a_folder_that_vanishes_within_a_root_makes_its_models_missing),
        TEST(an_empty_mount_point_is_away_and_an_emptied_folder_is_not),
        TEST(another_number_of_the_disk_is_no_other_disk),
        TEST(a_folder_that_was_moved_keeps_its_records_in_its_new_place),
        TEST(it_is_found_also_after_it_was_offline),
        TEST(records_made_anew_in_the_new_place_are_taken_over),
        TEST(where_somebody_has_spoken_of_the_new_record_it_is_asked_about),
        TEST(places_that_make_no_sense_are_refused_and_nothing_changes),
        TEST(a_folder_of_a_root_may_be_relocated_and_becomes_a_root),
    };
    return cmocka_run_group_tests_name("library.roots", tests, NULL, NULL);
}
