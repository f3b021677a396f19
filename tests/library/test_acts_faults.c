/* Fault loops over acts: the first, second, ... allocation and call of the system fails, once and for good. Each time the
 * answer is a status and nothing leaks; and when the library is next changed, every file is whole at exactly one of its
 * two places, the records say which, and nothing is left open (promise 5). */
#include "support/library_faults.h"

#include "library/acts.h"

typedef enum work { MOVE, MOVE_ACROSS, UNDO, UNDO_ACROSS, DELETE, TRASH, RESTORE, COPY } work;

typedef struct scenario {
    work work;
    bool memory; /* allocations fail; else calls of the system */
} scenario;

static bool across;

static tn_status before(void *user, const tn_os_call *call)
{
    const scenario *s = user;
    if (!s->memory && must_fail())
        return TN_IO;
    bool aside = call->operation == TN_OP_RENAME && strstr(call->path, ".tn-") != NULL;
    return across && call->operation == TN_OP_RENAME && !aside ? TN_UNAVAILABLE : TN_OK;
}

/* ---- the library before a run ---- */

static library_bytes fresh;

/* A set of two shards with index and sidecar, and a folder. */
static const char *const names[] = {"s-00001-of-00002.safetensors", "s-00002-of-00002.safetensors",
                                    "s.safetensors.index.json", "s.json", "p"};
#define NAMES (sizeof names / sizeof names[0])
#define SET_NAMES (NAMES - 1)

static void put_models(void)
{
    scratch_remove(at("a"));
    scratch_remove(at("b"));
    scratch_remove(at("data"));
    put_folder(at("a/p/inner"));
    put_tensor(at("a/s-00001-of-00002.safetensors"), "v", 6, 0);
    put_tensor(at("a/s-00002-of-00002.safetensors"), "w", 6, 0);
    put_text(at("a/s.safetensors.index.json"),
             "{\"metadata\":{\"total_size\":96},\"weight_map\":{\"v\":\"s-00001-of-00002.safetensors\","
             "\"w\":\"s-00002-of-00002.safetensors\"}}");
    put_text(at("a/s.json"), "{}");
    put_text(at("a/p/config.json"), "{\"_class_name\":\"AutoencoderKL\"}");
    put_weights(at("a/p/diffusion_pytorch_model.safetensors"), 7);
    put_text(at("a/p/inner/notes.txt"), "along");
}

static void prepare(const scenario *s)
{
    put_models();
    library_put_back(&fresh);
    tn_library *library = open_library(NULL);
    if (s->work != COPY)
        import_quietly(library, "a", NULL);
    if (s->work == UNDO || s->work == UNDO_ACROSS)
        for (int i = 0; i < 2; i++)
            assert_int_equal(tn_library_move(library, i == 0 ? "s" : "p", at("b"), NULL, NULL), TN_OK);
    if (s->work == RESTORE)
        for (int i = 0; i < 2; i++)
            assert_int_equal(tn_library_remove(library, i == 0 ? "s" : "p", TN_REMOVE_TRASH, NULL, NULL), TN_OK);
    tn_library_close(library);
}

/* ---- the run ---- */

static void act(tn_library *library, work what)
{
    const char *paths[] = {at("a")};
    if (what == COPY) {
        tn_library_place(library, paths, 1, at("b"), false, NULL, NULL, NULL);
        return;
    }
    for (int i = 0; i < 2; i++) {
        const char *model = i == 0 ? "s" : "p";
        if (what == MOVE || what == MOVE_ACROSS)
            tn_library_move(library, model, at("b"), NULL, NULL);
        else if (what == DELETE || what == TRASH)
            tn_library_remove(library, model, what == DELETE ? TN_REMOVE_DELETE : TN_REMOVE_TRASH, NULL, NULL);
        else
            tn_library_undo(library, 0, NULL, NULL);
    }
}

static void run_with_faults(scenario *s)
{
    tn_library *library = NULL;
    const tn_os_hooks hooks = {.before = before, .user = s};
    tn_context *own = fault_context(s->memory);
    if (own == NULL)
        return;
    across = s->work == MOVE_ACROSS || s->work == UNDO_ACROSS;
    tn_os_set_hooks(&hooks);
    if (tn_library_open(own, at("library.db"), NULL, &library, NULL) == TN_OK)
        act(library, s->work);
    tn_library_close(library);
    tn_os_set_hooks(NULL);
    fault_context_end(own);
}

/* ---- what is left behind ---- */

static const char *in(const char *folder, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return at(path);
}

/* All of the model is in the one folder or all of it in the other; which? Deleted: in neither. */
static int side_of(size_t from, size_t to)
{
    int side = -1;
    for (size_t i = from; i < to; i++) {
        bool a = is_there(in("a", names[i])), b = is_there(in("b", names[i])), t = is_there(in("data/Trash/files", names[i]));
        if (a + b + t > 1)
            fail_msg("%s is at two places", names[i]);
        int here = a ? 1 : b ? 2 : t ? 3 : 0;
        if (side >= 0 && here != side)
            fail_msg("%s is not where the rest of its model is", names[i]);
        side = here;
    }
    return side;
}

static void assert_whole(const char *folder)
{
    assert_text(in(folder, "p/inner/notes.txt"), "along");
    assert_text(in(folder, "p/config.json"), "{\"_class_name\":\"AutoencoderKL\"}");
}

static int64_t recorded_in(tn_library *library, const char *folder, const char *name)
{
    char sql[4096];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM models WHERE name = '%s' AND presence = 'present' AND CAST(path AS TEXT) LIKE '%s_%%'",
             name, spelled(folder));
    return ask(library, sql);
}

static void assert_no_leftovers(const char *folder)
{
    tn_os_folder *listing;
    tn_os_entry entry;
    bool more;
    if (!is_there(at(folder)))
        return;
    assert_int_equal(tn_os_folder_open(&scratch_memory, at(folder), &listing, NULL), TN_OK);
    while (tn_os_folder_next(listing, &entry, &more, NULL) == TN_OK && more)
        assert_int_not_equal(strncmp(entry.name, ".tn-", 4), 0);
    tn_os_folder_close(listing);
}

static void check_copies(tn_library *library)
{
    assert_no_leftovers("b");
    act(library, COPY); /* done again, it goes on */
    for (size_t i = 0; i < NAMES; i++) {
        assert_true(is_there(in("a", names[i])));
        assert_true(is_there(in("b", names[i])));
    }
    assert_whole("a");
    assert_whole("b");
    import_quietly(library, "b", NULL);
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), 2);
}

static void check(const scenario *s)
{
    static const char *const folders[] = {"", "a", "b", "data"};
    tn_library *library = open_library(NULL);
    assert_int_equal(tn_acts_recover(library, NULL), TN_OK);
    assert_int_equal(ask(library, "SELECT count(*) FROM acts WHERE state IN ('planned', 'placed')"), 0);
    assert_verified(library);
    if (s->work == COPY) {
        check_copies(library);
    } else {
        int set = side_of(0, SET_NAMES), folder = side_of(SET_NAMES, NAMES);
        assert_true(s->work == DELETE || (set > 0 && folder > 0));
        assert_int_equal(recorded_in(library, "a", "s"), set == 1);
        assert_int_equal(recorded_in(library, "b", "s"), set == 2);
        assert_int_equal(recorded_in(library, "a", "p"), folder == 1);
        assert_int_equal(recorded_in(library, "b", "p"), folder == 2);
        assert_no_leftovers("a");
        assert_no_leftovers("b");
        if (folder == 1 || folder == 2)
            assert_whole(folders[folder]);
    }
    assert_verified(library);
    tn_library_close(library);
}

static void once(void *user)
{
    scenario *s = user;
    struct faults kept = faults;
    faults = (struct faults){0};
    prepare(s);
    faults = kept;
    run_with_faults(s);
    kept = faults;
    faults = (struct faults){0};
    check(s);
    faults = kept;
}

static void loop(const char *said, work what)
{
    for (int memory = 0; memory < 2; memory++) {
        scenario s = {what, memory != 0};
        char label[128];
        snprintf(label, sizeof label, "%s: %s", said, s.memory ? "allocations" : "calls of the system");
        each_fault(label, false, once, &s);
        each_fault(label, true, once, &s);
    }
}

#define LOOP(name, said, what)      \
    static void name(void **state)  \
    {                               \
        (void)state;                \
        loop(said, what);           \
    }
LOOP(any_call_of_a_move_may_fail, "a move", MOVE)
LOOP(any_call_of_a_move_to_another_disk_may_fail, "a move to another disk", MOVE_ACROSS)
LOOP(any_call_of_an_undo_may_fail, "an undo", UNDO)
LOOP(any_call_of_an_undo_from_another_disk_may_fail, "an undo from another disk", UNDO_ACROSS)
LOOP(any_call_of_a_deletion_may_fail, "a deletion", DELETE)
LOOP(any_call_of_a_copy_may_fail, "copies", COPY)
#ifndef _WIN32
LOOP(any_call_of_putting_into_the_trash_may_fail, "into the trash", TRASH)
LOOP(any_call_of_bringing_back_may_fail, "out of the trash", RESTORE)
#endif

static int setup(void **state)
{
    (void)state;
    if (library_setup_in_memory() != 0)
        return -1;
#ifndef _WIN32
    setenv("XDG_DATA_HOME", at("data"), 1);
#endif
    tn_library_close(open_library(NULL));
    library_keep(&fresh);
    return 0;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, library_teardown)
    const struct CMUnitTest tests[] = {
        TEST(any_call_of_a_move_may_fail),
        TEST(any_call_of_a_move_to_another_disk_may_fail),
        TEST(any_call_of_an_undo_may_fail),
        TEST(any_call_of_an_undo_from_another_disk_may_fail),
        TEST(any_call_of_a_deletion_may_fail),
        TEST(any_call_of_a_copy_may_fail),
#ifndef _WIN32
        TEST(any_call_of_putting_into_the_trash_may_fail),
        TEST(any_call_of_bringing_back_may_fail),
#endif
    };
    return cmocka_run_group_tests_name("library.acts_faults", tests, NULL, NULL);
}
