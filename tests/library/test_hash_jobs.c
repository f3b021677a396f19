/* Hash jobs: what lacks hashes waits in one job, what is recorded is of the bytes that the library knows, and nothing
 * that happens on the way records a hash of another file or loses one. */
#include "support/library_open.h"

#include "library/journal.h"
#include "os/os_fault.h"
#include "os/os_inside.h"

/* FIPS 180-4, the example "abc" (csrc.nist.gov, SHA_All.pdf); BLAKE3 of "abc" by b3sum 1.5 and by the reference
 * implementation of github.com/BLAKE3-team/BLAKE3. */
#define ABC_SHA256 "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define ABC_BLAKE3 "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85"

static tn_buffer program;

static int setup(void **state)
{
    if (open_setup(state) != 0)
        return -1;
    put_folder(at("m"));
    put_text(at("m/abc.safetensors"), "abc");
    put_weights(at("m/w.safetensors"), 5);
    return 0;
}

static int teardown(void **state)
{
    tn_os_set_hooks(NULL);
    return verify_teardown(state);
}

/* What was told of hashed files. */
typedef struct heard {
    size_t count, hashed;
    tn_status why; /* of the last that was not */
    size_t digests; /* of the last that was */
} heard;

static void on_hashed(void *user, const tn_hash_event *event)
{
    heard *h = user;
    h->count++;
    h->hashed += event->why == NULL;
    if (event->why != NULL)
        h->why = event->why->status;
    else
        h->digests = event->count;
}

static tn_import_options hashing(tn_hash_mode mode, uint32_t digests, heard *h)
{
    *h = (heard){0};
    return (tn_import_options){.size = sizeof(tn_import_options), .hash = mode, .digests = digests, .hashed = on_hashed,
                               .user = h};
}

static tn_import_summary *import_hashing(const char *name, tn_hash_mode mode, uint32_t digests, heard *h)
{
    const char *paths[] = {at(name)};
    tn_import_options options = hashing(mode, digests, h);
    tn_import_summary *summary = NULL;
    tn_error err;
    if (tn_library_import(library, paths, 1, &options, &summary, &err) != TN_OK)
        fail_msg("the import failed: %s (%s)", err.message, err.file);
    return summary;
}

static void queue(const char *name)
{
    heard h;
    tn_import_summary_destroy(import_hashing(name, TN_HASH_QUEUE, 0, &h));
    assert_int_equal(h.count, 0);
}

static heard run_jobs(void)
{
    heard h;
    tn_error err;
    tn_import_options options = hashing(TN_HASH_QUEUE, 0, &h);
    if (tn_library_jobs_run(library, 0, &options, &err) != TN_OK)
        fail_msg("the jobs failed: %s (%s)", err.message, err.file);
    return h;
}

static void run_sql(const char *sql)
{
    tn_error err;
    if (tn_db_script(&library->db, sql, &err) != TN_OK)
        fail_msg("%s", err.message);
}

static int64_t hashes_of(const char *name)
{
    char sql[300];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM hashes h JOIN models m ON m.id = h.model WHERE CAST(m.path AS TEXT) LIKE '%%%s'", name);
    return ask(library, sql);
}

static void reopen_with(const char *path)
{
    tn_library_close(library);
    library = open_library(&(tn_library_options){.size = sizeof(tn_library_options), .program = path});
}

/* ---- what is queued ---- */

static void what_lacks_hashes_waits_in_one_job_whose_size_is_said(void **state)
{
    (void)state;
    heard h;
    tn_os_info info;
    assert_int_equal(tn_os_info_at(at("m/w.safetensors"), true, &info, NULL), TN_OK);
    tn_import_summary *s = import_hashing("m", TN_HASH_QUEUE, 0, &h);
    assert_int_equal(s->hash_files, 2);
    assert_int_equal(s->hash_bytes, 3 + info.size);
    assert_int_equal(s->hash_about_ns, 0);
    tn_import_summary_destroy(s);
    put_folder(at("n"));
    put_weights(at("n/x.safetensors"), 5);
    s = import_hashing("n", TN_HASH_QUEUE, 0, &h);
    assert_int_equal(s->hash_files, 3);
    assert_int_equal(s->hash_bytes, 3 + 2 * info.size);
    tn_import_summary_destroy(s);
    queue("m");
    assert_int_equal(ask(library, "SELECT count(*) FROM jobs WHERE kind = 'hash'"), 1);
    assert_int_equal(ask(library, "SELECT count(*) FROM job_items"), 3);
    assert_int_equal(ask(library, "SELECT items = 3 AND items_done = 0 AND state = 'queued' FROM jobs WHERE kind = 'hash'"), 1);
}

static void nothing_is_queued_that_was_not_asked_for(void **state)
{
    (void)state;
    heard h;
    tn_import_summary *s = import_hashing("m", TN_HASH_NONE, 0, &h);
    assert_int_equal(s->hash_files, 0);
    tn_import_summary_destroy(s);
    assert_int_equal(ask(library, "SELECT count(*) FROM jobs WHERE kind = 'hash'"), 0);
}

static void a_run_records_the_hashes_and_nothing_is_left_to_do(void **state)
{
    (void)state;
    heard h;
    queue("m");
    h = run_jobs();
    assert_int_equal(h.count, 2);
    assert_int_equal(h.hashed, 2);
    assert_int_equal(h.digests, 3);
    assert_int_equal(ask(library, "SELECT count(*) FROM hashes WHERE algorithm = 'sha256' AND value = '" ABC_SHA256 "'"), 1);
    assert_int_equal(ask(library, "SELECT count(*) FROM hashes WHERE algorithm = 'blake3' AND value = '" ABC_BLAKE3 "'"), 1);
    assert_int_equal(ask(library, "SELECT count(*) FROM hashes WHERE algorithm = 'autov2' AND value = 'ba7816bf8f'"), 1);
    assert_int_equal(ask(library, "SELECT count(*) FROM hashes"), 6);
    assert_int_equal(ask(library, "SELECT state = 'done' AND items = 2 AND items_done = 2 AND bytes = bytes_done AND "
                                  "bytes > 0 FROM jobs WHERE kind = 'hash'"),
                     1);
    tn_import_summary *s = import_hashing("m", TN_HASH_QUEUE, 0, &h);
    assert_int_equal(s->hash_files, 0);
    tn_import_summary_destroy(s);
    assert_int_equal(ask(library, "SELECT count(*) FROM jobs WHERE kind = 'hash'"), 1);
    assert_int_equal(run_jobs().count, 0);
}

static void what_is_asked_for_at_once_is_done_before_the_end_also_for_what_is_unchanged(void **state)
{
    (void)state;
    heard h;
    tn_import_summary_destroy(import_hashing("m", TN_HASH_NOW, TN_DIGEST_BLAKE3, &h));
    assert_int_equal(h.hashed, 2);
    assert_int_equal(h.digests, 1);
    assert_int_equal(ask(library, "SELECT count(*) FROM hashes"), 2);
    tn_import_summary_destroy(import_hashing("m", TN_HASH_NOW, TN_DIGEST_ALL, &h));
    assert_int_equal(h.hashed, 2);
    assert_int_equal(hashes_of("w.safetensors"), 8);
    assert_int_equal(hashes_of("abc.safetensors"), 5); /* it has no tensors: no autov3, key_hash and content */
    tn_import_summary_destroy(import_hashing("m", TN_HASH_NOW, TN_DIGEST_ALL, &h));
    assert_int_equal(h.count, 0);
    assert_int_equal(ask(library, "SELECT count(*) FROM jobs WHERE kind = 'hash' AND state <> 'done'"), 0);
}

static void what_an_import_takes_at_once_leaves_the_librarys_job_alone(void **state)
{
    (void)state;
    heard h;
    put_folder(at("n"));
    put_weights(at("n/x.safetensors"), 5);
    queue("m");
    tn_import_summary_destroy(import_hashing("n", TN_HASH_NOW, 0, &h));
    assert_int_equal(h.hashed, 1);
    assert_int_equal(ask(library, "SELECT count(*) FROM jobs WHERE kind = 'hash' AND state = 'queued'"), 1);
    assert_int_equal(run_jobs().hashed, 2);
}

static void what_was_hashed_meanwhile_is_passed_over(void **state)
{
    (void)state;
    heard h;
    queue("m");
    tn_import_summary_destroy(import_hashing("m", TN_HASH_NOW, 0, &h));
    assert_int_equal(h.hashed, 2);
    assert_int_equal(run_jobs().count, 0);
    assert_int_equal(ask(library, "SELECT count(*) FROM jobs WHERE kind = 'hash' AND state = 'done' AND items = items_done "
                                  "AND bytes = bytes_done"),
                     2);
}

static void every_shard_is_hashed_and_several_paths_of_a_file_once(void **state)
{
    (void)state;
    put_tensor(at("m/set-00001-of-00002.safetensors"), "v", 6, 0);
    put_tensor(at("m/set-00002-of-00002.safetensors"), "w", 6, 0);
    put_text(at("m/set.safetensors.index.json"),
             "{\"metadata\":{\"total_size\":96},\"weight_map\":{\"v\":\"set-00001-of-00002.safetensors\","
             "\"w\":\"set-00002-of-00002.safetensors\"}}");
    queue("m");
    assert_int_equal(run_jobs().hashed, 4);
    assert_int_equal(ask(library, "SELECT count(DISTINCT position) FROM hashes h JOIN models m ON m.id = h.model WHERE "
                                  "m.part_count = 2"),
                     2);
}

/* ---- files that change ---- */

static void a_file_that_changed_since_is_not_recorded_and_the_next_scan_queues_it_again(void **state)
{
    (void)state;
    queue("m");
    put_weights(at("m/w.safetensors"), 77);
    heard h = run_jobs();
    assert_int_equal(h.hashed, 1);
    assert_int_equal(h.why, TN_CHANGED);
    assert_int_equal(hashes_of("w.safetensors"), 0);
    queue("m");
    assert_int_equal(run_jobs().hashed, 1);
    assert_int_equal(hashes_of("w.safetensors"), 3);
    assert_int_equal(ask(library, "SELECT count(*) FROM hashes h JOIN parts p ON p.model = h.model AND p.position = "
                                  "h.position JOIN files f ON f.id = p.file WHERE f.size <> h.size OR f.mtime_ns <> "
                                  "h.mtime_ns"),
                     0);
}

static void hashes_of_a_file_that_was_before_go_with_it(void **state)
{
    (void)state;
    heard h;
    tn_import_summary_destroy(import_hashing("m", TN_HASH_NOW, TN_DIGEST_ALL, &h));
    put_weights(at("m/w.safetensors"), 77);
    queue("m");
    assert_int_equal(run_jobs().hashed, 1);
    assert_int_equal(ask(library, "SELECT count(*) FROM hashes h JOIN models m ON m.id = h.model AND m.presence = 'present'"
                                  " WHERE CAST(m.path AS TEXT) LIKE '%w.safetensors'"),
                     3);
}

static void a_hash_of_another_time_goes_when_the_file_is_hashed_again(void **state)
{
    (void)state;
    heard h;
    tn_import_summary_destroy(import_hashing("m", TN_HASH_NOW, TN_DIGEST_BLAKE3, &h));
    run_sql("UPDATE hashes SET mtime_ns = 1");
    tn_import_summary_destroy(import_hashing("m", TN_HASH_NOW, TN_DIGEST_SHA256, &h));
    assert_int_equal(h.hashed, 2);
    assert_int_equal(ask(library, "SELECT count(*) FROM hashes WHERE algorithm = 'blake3'"), 0);
    assert_int_equal(ask(library, "SELECT count(*) FROM hashes WHERE algorithm = 'sha256'"), 2);
}

static struct {
    bool armed;
    void (*then)(void);
} hook;

static tn_status on_read(void *user, const tn_os_call *call)
{
    (void)user;
    if (hook.armed && call->operation == TN_OP_READ) {
        hook.armed = false;
        hook.then();
    }
    return TN_OK;
}

static heard run_with_hook(void (*then)(void))
{
    static const tn_os_hooks hooks = {.before = on_read};
    hook.armed = true;
    hook.then = then;
    tn_os_set_hooks(&hooks);
    heard h = run_jobs();
    tn_os_set_hooks(NULL);
    assert_false(hook.armed);
    return h;
}

/* A folder of one file, so that the first read is of it. */
static void queue_one(void)
{
    put_folder(at("one"));
    put_text(at("one/abc.safetensors"), "abc");
    queue("one");
}

/* Another file of the same size under the same path. Windows lets an open file be renamed, not replaced. */
static void replace(void)
{
    put_text(at("new"), "xyz");
    assert_int_equal(tn_os_rename(at("one/abc.safetensors"), at("old"), false, NULL), TN_OK);
    assert_int_equal(tn_os_rename(at("new"), at("one/abc.safetensors"), false, NULL), TN_OK);
}

static void a_file_that_is_replaced_while_it_is_hashed_is_not_recorded(void **state)
{
    (void)state;
    queue_one();
    heard h = run_with_hook(replace);
    assert_int_equal(h.hashed, 0);
    assert_int_equal(h.why, TN_CHANGED);
    assert_int_equal(ask(library, "SELECT count(*) FROM hashes"), 0);
    queue("one");
    assert_int_equal(run_jobs().hashed, 1);
}

static void replace_and_scan(void)
{
    replace();
    queue("one");
}

static void a_file_that_is_replaced_and_scanned_while_it_is_hashed_is_hashed_again(void **state)
{
    (void)state;
    queue_one();
    heard h = run_with_hook(replace_and_scan);
    assert_int_equal(h.hashed, 1);
    assert_int_equal(ask(library, "SELECT count(*) FROM hashes WHERE value = '" ABC_SHA256 "'"), 0);
    assert_int_equal(ask(library, "SELECT count(*) FROM hashes h JOIN models m ON m.id = h.model AND m.presence = 'present'"),
                     3);
    assert_int_equal(ask(library, "SELECT count(*) FROM job_items"), 0);
}

static void a_file_that_is_gone_is_told_and_stops_no_other(void **state)
{
    (void)state;
    queue("m");
    assert_int_equal(tn_os_remove(at("m/abc.safetensors"), NULL), TN_OK);
    heard h = run_jobs();
    assert_int_equal(h.hashed, 1);
    assert_int_equal(h.why, TN_NOT_FOUND);
}

static void bytes_that_differ_from_an_earlier_hash_are_an_event_and_no_new_hash(void **state)
{
    (void)state;
    heard h;
    tn_import_summary_destroy(import_hashing("m", TN_HASH_NOW, TN_DIGEST_BLAKE3, &h));
    run_sql("UPDATE hashes SET value = 'was another' WHERE value = '" ABC_BLAKE3 "'");
    tn_import_summary_destroy(import_hashing("m", TN_HASH_NOW, 0, &h));
    assert_int_equal(h.hashed, 1);
    assert_int_equal(h.why, TN_BAD_CHECKSUM);
    assert_int_equal(hashes_of("abc.safetensors"), 1);
    assert_int_equal(ask(library, "SELECT count(*) FROM events WHERE what = 'rotten' AND detail LIKE '%was another%'"), 1);
    tn_import_summary_destroy(import_hashing("m", TN_HASH_NOW, 0, &h));
    assert_int_equal(h.why, TN_BAD_CHECKSUM);
    assert_int_equal(ask(library, "SELECT count(*) FROM events WHERE what = 'rotten'"), 1);
}

/* ---- the hand on a job ---- */

static tn_status pause_result;

static void pause_at_bytes(void *user, const tn_import_progress *progress)
{
    (void)user;
    if (progress->bytes > 0 && pause_result == TN_INVALID)
        pause_result = tn_library_job_control(library, 2, "pause", NULL);
}

static void a_running_job_that_is_paused_stops_and_goes_on_when_it_is_resumed(void **state)
{
    (void)state;
    queue("m");
    pause_result = TN_INVALID;
    tn_import_options options = {.size = sizeof options, .progress = pause_at_bytes};
    assert_int_equal(tn_library_jobs_run(library, 2, &options, NULL), TN_CANCELLED);
    assert_int_equal(pause_result, TN_OK);
    assert_int_equal(ask(library, "SELECT count(*) FROM job_items WHERE state = 'reading'"), 0);
    heard h;
    tn_import_summary *s = import_hashing("m", TN_HASH_QUEUE, 0, &h);
    assert_true(s->hash_paused || s->hash_files == 0);
    tn_import_summary_destroy(s);
    assert_int_equal(run_jobs().count, 0);
    assert_int_equal(tn_library_job_control(library, 2, "resume", NULL), TN_OK);
    run_jobs();
    assert_int_equal(ask(library, "SELECT count(*) FROM hashes"), 6);
}

static void pause_once(void *user, const tn_hash_event *event)
{
    on_hashed(user, event);
    if (pause_result == TN_INVALID)
        pause_result = tn_library_job_control(library, 2, "pause", NULL);
}

static void a_job_that_is_paused_at_its_last_file_stays_paused(void **state)
{
    (void)state;
    heard h;
    queue("m");
    pause_result = TN_INVALID;
    tn_import_options options = hashing(TN_HASH_QUEUE, 0, &h);
    options.hashed = pause_once;
    assert_int_equal(tn_library_jobs_run(library, 2, &options, NULL), TN_CANCELLED);
    assert_int_equal(pause_result, TN_OK);
    assert_int_equal(ask(library, "SELECT state = 'paused' FROM jobs WHERE id = 2"), 1);
}

static bool stop_in_the_middle(void *user, const tn_job *job)
{
    (void)user;
    (void)job;
    return false;
}

static void a_cancelled_job_hashes_nothing_and_one_that_is_tried_again_does(void **state)
{
    (void)state;
    queue("m");
    assert_int_equal(tn_library_job_control(library, 2, "cancel", NULL), TN_OK);
    assert_int_equal(run_jobs().count, 0);
    assert_int_equal(ask(library, "SELECT count(*) FROM job_items"), 0);
    assert_int_equal(tn_library_job_control(library, 2, "retry", NULL), TN_OK);
    assert_int_equal(tn_library_jobs(library, stop_in_the_middle, NULL, NULL), TN_OK);
    assert_int_equal(run_jobs().hashed, 2);
}

static void cancel_at_bytes(void *user, const tn_import_progress *progress)
{
    (void)user;
    if (progress->bytes > 0)
        tn_context_cancel(context);
}

static void an_interrupted_job_goes_on_without_blame(void **state)
{
    (void)state;
    queue("m");
    tn_import_options options = {.size = sizeof options, .progress = cancel_at_bytes};
    assert_int_equal(tn_library_jobs_run(library, 0, &options, NULL), TN_CANCELLED);
    tn_context_resume(context);
    assert_int_equal(ask(library, "SELECT count(*) FROM jobs WHERE state = 'interrupted'"), 1);
    assert_int_equal(ask(library, "SELECT count(*) FROM job_items WHERE deaths > 0 OR state <> 'queued'"), 0);
    run_jobs();
    assert_int_equal(ask(library, "SELECT count(*) FROM hashes"), 6);
}

static void import_more(void *user, const tn_hash_event *event)
{
    heard *h = user;
    on_hashed(user, event);
    if (h->count > 1)
        return;
    put_folder(at("n"));
    put_weights(at("n/x.safetensors"), 9);
    queue("n");
}

static void what_is_queued_while_the_job_runs_is_done_in_the_same_run(void **state)
{
    (void)state;
    heard h;
    queue("m");
    tn_import_options options = hashing(TN_HASH_QUEUE, 0, &h);
    options.hashed = import_more;
    assert_int_equal(tn_library_jobs_run(library, 0, &options, NULL), TN_OK);
    assert_int_equal(h.hashed, 3);
    assert_int_equal(ask(library, "SELECT count(*) FROM jobs WHERE kind = 'hash'"), 1);
    assert_int_equal(ask(library, "SELECT items = 3 AND items_done = 3 FROM jobs WHERE kind = 'hash'"), 1);
}

/* ---- deaths ---- */

/* The library's job, whose process died while it read a file, `deaths` deaths after the first. */
static void put_death(const char *name, int deaths)
{
    char sql[4096];
    tn_journal journal = {.library = library};
    queue("m");
    assert_int_equal(tn_journal_begin(library, "hash", NULL, 0, 2, &journal, NULL), TN_OK);
    snprintf(sql, sizeof sql, "UPDATE job_items SET state = 'reading', deaths = %d WHERE path = CAST('%s' AS BLOB)", deaths,
             spelled(name));
    run_sql(sql);
    tn_journal_end(&journal);
}

static void after_one_death_a_file_is_read_alone(void **state)
{
    (void)state;
    put_death("m/w.safetensors", 0);
    assert_int_equal(run_jobs().hashed, 2);
    assert_int_equal(ask(library, "SELECT count(*) FROM job_items"), 0);
}

static void after_two_deaths_a_child_reads_it_first(void **state)
{
    (void)state;
    reopen_with(program.bytes);
    put_death("m/w.safetensors", 1);
    assert_int_equal(run_jobs().hashed, 2);
}

static void a_file_whose_child_dies_twice_is_set_aside_until_it_is_tried_again(void **state)
{
    (void)state;
    put_weights(at("m/poison.safetensors"), 8);
    reopen_with(program.bytes);
    put_death("m/poison.safetensors", 1);
    heard h = run_jobs();
    assert_int_equal(h.hashed, 2);
    assert_int_equal(h.why, TN_CRASHED);
    assert_int_equal(ask(library, "SELECT count(*) FROM job_items WHERE state = 'aside'"), 1);
    tn_import_summary *s = import_hashing("m", TN_HASH_QUEUE, 0, &h);
    assert_int_equal(s->hash_files, 0);
    tn_import_summary_destroy(s);
    assert_int_equal(tn_library_job_control(library, 2, "retry", NULL), TN_OK);
    assert_int_equal(run_jobs().hashed, 1); /* deaths are forgotten */
    assert_int_equal(ask(library, "SELECT count(*) FROM job_items"), 0);
}

static void a_child_killed_from_outside_blames_nobody(void **state)
{
    (void)state;
    put_weights(at("m/killed.safetensors"), 8);
    reopen_with(program.bytes);
    put_death("m/killed.safetensors", 4);
    heard h = run_jobs();
    assert_int_equal(h.hashed, 2);
    assert_int_equal(h.why, TN_IO);
    queue("m");
    assert_int_equal(run_jobs().hashed, 1);
}

static void without_a_program_the_second_death_sets_it_aside(void **state)
{
    (void)state;
    put_death("m/w.safetensors", 1);
    heard h = run_jobs();
    assert_int_equal(h.hashed, 1);
    assert_int_equal(h.why, TN_CRASHED);
}

static void a_death_while_hashing_is_not_cleared_by_an_import(void **state)
{
    (void)state;
    put_death("m/w.safetensors", 0);
    put_weights(at("m/w.safetensors"), 21);
    queue("m"); /* reads it as a suspect, and survives */
    assert_int_equal(ask(library, "SELECT count(*) FROM job_items"), 2);
    assert_int_equal(run_jobs().hashed, 2);
}

/* What `tenure hash` is to the library: it lives, dies of itself, or is killed. */
static int be_the_child(const char *path)
{
    tn_os_begin_program();
    if (strstr(path, "poison") != NULL)
        abort();
    if (strstr(path, "killed") != NULL)
        tn_os_die_killed();
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "hash") == 0 && strcmp(argv[2], "--algo") == 0 &&
        strcmp(argv[3], "blake3,sha256,autov2") == 0)
        return be_the_child(argv[4]);
    if (argc == 4 && strcmp(argv[1], "probe") == 0)
        return be_the_child(argv[3]);
    tn_budget budget;
    tn_budget_init(&budget, 1 << 20);
    tn_memory_source memory = {tn_allocator_system(), &budget};
    tn_buffer_init(&program, &memory, 65536);
    if (tn_os_program_path(&program, NULL) != TN_OK)
        return 1;
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(what_lacks_hashes_waits_in_one_job_whose_size_is_said),
        TEST(nothing_is_queued_that_was_not_asked_for),
        TEST(a_run_records_the_hashes_and_nothing_is_left_to_do),
        TEST(what_is_asked_for_at_once_is_done_before_the_end_also_for_what_is_unchanged),
        TEST(what_an_import_takes_at_once_leaves_the_librarys_job_alone),
        TEST(what_was_hashed_meanwhile_is_passed_over),
        TEST(every_shard_is_hashed_and_several_paths_of_a_file_once),
        TEST(a_file_that_changed_since_is_not_recorded_and_the_next_scan_queues_it_again),
        TEST(hashes_of_a_file_that_was_before_go_with_it),
        TEST(a_hash_of_another_time_goes_when_the_file_is_hashed_again),
        TEST(a_file_that_is_replaced_while_it_is_hashed_is_not_recorded),
        TEST(a_file_that_is_replaced_and_scanned_while_it_is_hashed_is_hashed_again),
        TEST(a_file_that_is_gone_is_told_and_stops_no_other),
        TEST(bytes_that_differ_from_an_earlier_hash_are_an_event_and_no_new_hash),
        TEST(a_running_job_that_is_paused_stops_and_goes_on_when_it_is_resumed),
        TEST(a_job_that_is_paused_at_its_last_file_stays_paused),
        TEST(a_cancelled_job_hashes_nothing_and_one_that_is_tried_again_does),
        TEST(an_interrupted_job_goes_on_without_blame),
        TEST(what_is_queued_while_the_job_runs_is_done_in_the_same_run),
        TEST(after_one_death_a_file_is_read_alone),
        TEST(after_two_deaths_a_child_reads_it_first),
        TEST(a_file_whose_child_dies_twice_is_set_aside_until_it_is_tried_again),
        TEST(a_child_killed_from_outside_blames_nobody),
        TEST(without_a_program_the_second_death_sets_it_aside),
        TEST(a_death_while_hashing_is_not_cleared_by_an_import),
    };
    int failed = cmocka_run_group_tests_name("library.hash_jobs", tests, NULL, NULL);
    tn_buffer_free(&program);
    return failed;
}
