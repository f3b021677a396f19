/* What the tests of power cuts share: a piece of work, recorded, and the check that every disk must pass. Include once in
 * a test program. The disk is the folder "disk" of the scratch folder: models lie in "disk/m", the library in "disk/lib". */
#ifndef TEST_SUPPORT_LIBRARY_POSIX_SCENARIO_H
#define TEST_SUPPORT_LIBRARY_POSIX_SCENARIO_H

#include "support/library.h"

#include <sqlite3.h>

#include "support/library_posix_power.h"
#include "support/library_vfs.h"

#define LIBRARY "disk/lib/library.db"

/* A piece of work. All but the first three may be NULL. */
typedef struct scenario {
    const char *name;
    void (*prepare)(void);
    void (*run)(void);                                             /* is recorded */
    void (*again)(tn_library *library);                            /* the same work once more */
    void (*before)(const power_log *log, size_t at);               /* a disk, before anything opens it */
    void (*opened)(tn_library *library);                           /* before anything is resumed */
    void (*settled)(tn_library *library, const power_log *log, size_t at); /* when what was begun has been ended */
    void (*after)(tn_library *library);                            /* at the end */
    bool network;
    const char *far;                                               /* a folder below "disk" that is on another disk */
} scenario;

static const scenario *current;
static power_log tape; /* it begins with the disk before the work */
static const char *power_program; /* this one */
static const char *reader; /* the program that reads files which were being read when the power went twice; NULL: none */
static char expected[65536]; /* what the library says after the work that nothing cut; "" while that is not known yet */

/* ---- calls that must succeed on a disk that is looked at ---- */

static inline bool works(tn_status status, const char *what, const tn_error *err)
{
    if (status != TN_OK)
        power_wrong("%s: %s (%s)", what, err->message, err->file);
    return status == TN_OK;
}

static inline tn_library *open_at(const char *path)
{
    tn_library *library = NULL;
    tn_library_options options = {.size = sizeof options, .program = reader};
    tn_error err;
    works(tn_library_open(context, at(path), &options, &library, &err), "the library does not open", &err);
    return library;
}

static inline void must_be_sound(tn_library *library)
{
    tn_error err;
    works(tn_library_verify_internal(library, &err), "the library is not sound", &err);
}

static inline void import_with(tn_library *library, tn_hash_mode hash)
{
    const char *paths[] = {at("disk/m")};
    tn_import_options options = {.size = sizeof options, .hash = hash};
    tn_import_summary *summary = NULL;
    tn_error err;
    works(tn_library_import(library, paths, 1, &options, &summary, &err), "the import", &err);
    tn_import_summary_destroy(summary);
}

static inline void import_models(tn_library *library)
{
    import_with(library, TN_HASH_NONE);
}

/* Everything is known as it is on the disk: one more import has nothing to do. */
static inline void nothing_is_new(tn_library *library)
{
    const char *paths[] = {at("disk/m")};
    tn_import_summary *summary = NULL;
    tn_error err;
    if (!works(tn_library_import(library, paths, 1, NULL, &summary, &err), "one more import", &err))
        return;
    if (summary->fresh + summary->changed + summary->vanished != 0)
        power_wrong("one more import finds %d fresh, %d changed and %d vanished models", (int)summary->fresh,
                    (int)summary->changed, (int)summary->vanished);
    tn_import_summary_destroy(summary);
}

static inline void run_jobs(tn_library *library)
{
    tn_error err;
    works(tn_library_jobs_run(library, 0, NULL, &err), "the jobs", &err);
}

/* ---- what a library says, as one text ---- */

static inline void say(tn_library *library, const char *sql, char *out, size_t size)
{
    sqlite3_stmt *stmt = NULL;
    size_t used = strlen(out);
    if (sqlite3_prepare_v2(library->db.handle, sql, -1, &stmt, NULL) == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW &&
        sqlite3_column_text(stmt, 0) != NULL)
        snprintf(out + used, size - used, "%s\n", (const char *)sqlite3_column_text(stmt, 0));
    else
        power_wrong("the library cannot be asked: %s", sqlite3_errmsg(library->db.handle));
    sqlite3_finalize(stmt);
}

/* Who a file is on the disk (its id, and what belongs to a set) is not said: a copy made again is another file. A pause may
 * be the last thing that is durable, and is the user's word. */
static const char say_records[] =
    "SELECT group_concat(row, char(10)) FROM (SELECT printf('%s %s %s %s %s %s %s %s %s %d %d %s %s', path, name, note, "
    "presence, state, type, base, variant, container, size_bytes, part_count, hex(sample), answer) AS row FROM models "
    "UNION SELECT printf('%s %d %d %d %d %d %d', path, CASE WHEN members IS NULL THEN size END, "
    "CASE WHEN members IS NULL THEN mtime_ns END, members IS NULL, links, weak, present) FROM files "
    "UNION SELECT printf('%s tag %s', m.path, t.tag) FROM tags t JOIN models m ON m.id = t.model "
    "UNION SELECT printf('%s hash %d %s %s', m.path, h.position, h.algorithm, h.value) FROM hashes h JOIN models m "
    "ON m.id = h.model "
    "UNION SELECT printf('%d jobs are open', count(*)) FROM jobs WHERE state NOT IN ('done', 'cancelled', 'paused') "
    "UNION SELECT printf('%d acts are open', count(*)) FROM acts WHERE state IN ('planned', 'placed') ORDER BY row)";

static inline void compare_with_expected(tn_library *library)
{
    char found[sizeof expected] = "";
    say(library, say_records, found, sizeof found);
    if (expected[0] == '\0') {
        memcpy(expected, found, sizeof found);
        return;
    }
    size_t same = 0;
    while (found[same] == expected[same] && found[same] != '\0')
        same++;
    if (found[same] != expected[same])
        power_wrong("the library ends otherwise: \"%.60s\", expected \"%.60s\"", found + (same > 20 ? same - 20 : 0),
                    expected + (same > 20 ? same - 20 : 0));
}

/* Nothing that was only for a while lies beside the library. */
static inline void must_be_tidy(void)
{
    tn_os_folder *folder = NULL;
    tn_os_entry entry;
    bool more;
    if (tn_os_folder_open(&scratch_memory, at("disk/lib"), &folder, NULL) != TN_OK)
        return;
    while (tn_os_folder_next(folder, &entry, &more, NULL) == TN_OK && more)
        if (strstr(entry.name, ".new-") != NULL || strstr(entry.name, ".bak-v1.") != NULL)
            power_wrong("%s is left behind", entry.name);
    tn_os_folder_close(folder);
}

/* ---- one disk ---- */

static inline void resume(tn_library *library, const power_log *log, size_t at_step)
{
    if (current->opened != NULL)
        current->opened(library);
    run_jobs(library);
    if (current->settled != NULL)
        current->settled(library, log, at_step);
    current->again(library);
    if (current->after != NULL)
        current->after(library);
}

static inline void check_disk(const power_log *log, size_t at_step)
{
    if (current->before != NULL)
        current->before(log, at_step);
    tn_library *library = open_at(LIBRARY);
    if (library == NULL)
        return;
    must_be_sound(library);
    resume(library, log, at_step);
    nothing_is_new(library);
    must_be_sound(library);
    must_be_tidy();
    compare_with_expected(library);
    tn_library_close(library);
}

/* ---- models and a library ---- */

static inline void put_models(unsigned count)
{
    put_folder(at("disk/m/p"));
    for (unsigned i = 0; i < count; i++) {
        char name[64];
        snprintf(name, sizeof name, "disk/m/model %02u.safetensors", i);
        put_weights(at(name), 10 + i);
    }
    put_short_weights(at("disk/m/short.safetensors"), 50, 10);
    put_tensor(at("disk/m/set-00001-of-00002.safetensors"), "v", 6, 0);
    put_tensor(at("disk/m/set-00002-of-00002.safetensors"), "w", 6, 0);
    put_text(at("disk/m/set.safetensors.index.json"),
             "{\"metadata\":{\"total_size\":96},\"weight_map\":{\"v\":\"set-00001-of-00002.safetensors\","
             "\"w\":\"set-00002-of-00002.safetensors\"}}");
    put_text(at("disk/m/p/config.json"), "{\"_class_name\":\"AutoencoderKL\"}");
    put_weights(at("disk/m/p/diffusion_pytorch_model.safetensors"), 7);
}

static inline void prepare_library(void)
{
    put_models(40); /* more than one batch */
    tn_library_close(open_at(LIBRARY));
}

/* ---- recording and trying ---- */

static inline void record(const scenario *s)
{
    current = s;
    expected[0] = '\0';
    put_folder(at("disk/m"));
    put_folder(at("store"));
    put_folder(at("store again"));
    s->prepare();
    power_begin(&tape, at("disk"), at("store"), s->network, s->far != NULL ? at(s->far) : NULL);
    s->run();
    power_end(&tape);
    assert_in_range(tape.count, 2, 100000);
}

static inline void learn_expected(void)
{
    power_report report;
    power_look(&tape, check_disk, &report);
    if (report.wrong > 0)
        fail_msg("%s: without a cut: %s", current->name, report.first);
    assert_true(expected[0] != '\0');
}

/* What was begun is resumed, and cut once more: on a disk that the first cut, at this point, may have left. */
static inline void try_resuming(size_t at_step, power_report *sum)
{
    power_log second;
    power_report report;
    power_disk disk;
    size_t *durable = power_durable(&tape, POWER_LEAST);
    power_make(&tape, durable, &(power_cut){POWER_LEAST, POWER_SOME, at_step, at_step}, &disk);
    power_lay(&tape, &disk);
    reader = power_program;
    power_begin(&second, tape.root, at("store again"), current->network, tape.far[0] != '\0' ? tape.far : NULL);
    tn_library *library = open_at(LIBRARY);
    assert_non_null(library);
    resume(library, &second, 0);
    tn_library_close(library);
    power_end(&second);
    power_effort effort = power_effort_now();
    power_explore(&second, check_disk, (power_effort){.cuts = effort.cuts == 0 ? 24 : effort.cuts / 6, .draws = 1}, &report);
    reader = NULL;
    power_hand_back(&second, &tape);
    power_free(&second);
    power_free_disk(&disk);
    free(durable);
    if (sum->wrong == 0)
        memcpy(sum->first, report.first, sizeof sum->first);
    sum->cuts += report.cuts;
    sum->disks += report.disks;
    sum->different += report.different;
    sum->wrong += report.wrong;
}

static inline void tell(const char *name, const char *what, const power_report *report)
{
    print_message("%-30s %-8s %5u steps, %5u cut points, %6u disks, %6u different: %u wrong\n", name, what,
                  (unsigned)report->steps, (unsigned)report->cuts, (unsigned)report->disks, (unsigned)report->different,
                  (unsigned)report->wrong);
    if (report->wrong > 0)
        print_error("%s%s%s: %s\n", name, what[0] != '\0' ? ", " : "", what, report->first);
}

static inline void try_scenario(const scenario *s)
{
    power_report report, again = {0};
    power_effort effort = power_effort_now();
    record(s);
    learn_expected();
    power_explore(&tape, check_disk, effort, &report);
    again.steps = tape.count;
    for (size_t i = 1; i <= effort.again; i++)
        try_resuming(i * tape.count / (effort.again + 1), &again);
    power_free(&tape);
    tell(s->name, "", &report);
    tell(s->name, "resumed", &again);
    assert_int_equal(report.wrong + again.wrong, 0);
}

/* The syncs that `lost` names were forgotten: a disk that is wrong must be found. */
static inline void try_without(const scenario *s, const char *what, bool (*lost)(const power_step *step))
{
    power_report report;
    record(s);
    learn_expected();
    size_t count = power_lose(&tape, lost);
    assert_in_range(count, 1, 1000);
    power_explore(&tape, check_disk, (power_effort){.draws = 4, .stop_at_wrong = true}, &report);
    print_message("%s, without %s (%zu): found on different disk %zu: %.*s\n", s->name, what, count, report.different,
                  (int)strcspn(report.first, "\n"), report.first);
    power_free(&tape);
    if (report.wrong == 0)
        fail_msg("%s: without %s nothing is found", s->name, what);
}

/* What main() begins with. True: this process was started as a reader, and has read. */
static inline bool power_main(int argc, char **argv)
{
    power_program = argv[0];
    if (argc == 4 && strcmp(argv[1], "probe") == 0)
        return true;
    if (vfs_install() != SQLITE_OK)
        abort();
    return false;
}

/* In memory where the system has such a place: thousands of libraries are opened. */
static inline int power_setup(void **state)
{
    (void)state;
    tn_os_info info;
    bool memory = tn_os_info_at("/dev/shm", true, &info, NULL) == TN_OK && info.kind == TN_OS_FOLDER;
    return library_setup_in(memory ? "/dev/shm" : NULL);
}

#define POWER_TEST(name) cmocka_unit_test_setup_teardown(name, power_setup, library_teardown)

#endif
