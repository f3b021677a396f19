/* Which files wait to be hashed, and where (hash_job.h). How it is done stands in hash_job_run.c. */
#include "library/hash_job.h"

#include <string.h>

#include "library/journal.h"
#include "library/known.h"
#include "library/place.h"
#include "os/os_fault.h"

static uint32_t wanted_of(const tn_import_options *options)
{
    return options->digests != 0 ? options->digests : TN_HASH_DEFAULT;
}

/* ---- what lacks ---- */

/* A statement over a path and all below it. `bounds` outlives it. */
static tn_sql start_under(tn_library *library, tn_query query, const char *path, const tn_buffer *bounds, uint32_t wanted)
{
    size_t size = bounds->size / 2;
    tn_sql s = tn_sql_start(&library->db, query);
    tn_sql_blob(&s, path, strlen(path));
    tn_sql_blob(&s, bounds->bytes, size);
    tn_sql_blob(&s, bounds->bytes + size, size);
    tn_sql_int(&s, wanted);
    return s;
}

static tn_status lacks_within(tn_library *library, const char *path, const tn_buffer *bounds, uint32_t wanted, bool *out,
                              tn_error *err)
{
    bool more = false;
    tn_sql s = start_under(library, TN_QUERY_HASH_LACKS_UNDER, path, bounds, wanted);
    TN_TRY(tn_sql_row(&s, &more, err));
    if (more)
        tn_sql_end(&s);
    *out = more;
    return TN_OK;
}

static tn_status queue_within(tn_library *library, const char *path, const tn_buffer *bounds, uint32_t wanted,
                              int64_t job, tn_error *err)
{
    tn_sql s = start_under(library, TN_QUERY_HASH_ITEMS_UNDER, path, bounds, wanted);
    tn_sql_int(&s, job);
    return tn_sql_run(&s, err);
}

/* `job` 0: ask whether anything lacks. */
static tn_status each_path(tn_library *library, const char *const *paths, size_t count, uint32_t wanted, int64_t job,
                           bool *lacks, tn_error *err)
{
    tn_buffer bounds;
    tn_status status = TN_OK;
    tn_buffer_init(&bounds, library->memory, 2 * TN_PLACE_PATH_MAX);
    for (size_t i = 0; i < count && status == TN_OK && !*lacks; i++) {
        tn_buffer_clear(&bounds);
        tn_known_bounds(&bounds, paths[i]);
        status = tn_buffer_status(&bounds, err);
        if (status == TN_OK)
            status = job != 0 ? queue_within(library, paths[i], &bounds, wanted, job, err)
                              : lacks_within(library, paths[i], &bounds, wanted, lacks, err);
    }
    tn_buffer_free(&bounds);
    return status;
}

static tn_status count_again(tn_library *library, int64_t job, tn_error *err)
{
    tn_sql s = tn_sql_start(&library->db, TN_QUERY_HASH_JOB_TOTAL);
    tn_sql_int(&s, job);
    return tn_sql_run(&s, err);
}

/* ---- the job it waits in ---- */

/* Where what lacks can wait: what was paused stays so, what failed is queued again. A job of an import's own is joined
 * only when nobody can be at it. */
static bool can_wait_in(const char *state, tn_hash_mode mode)
{
    return mode == TN_HASH_QUEUE || (strcmp(state, "paused") != 0 && strcmp(state, "running") != 0);
}

static tn_status find_open(tn_library *library, const uint8_t key[32], tn_hash_mode mode, int64_t *job, tn_error *err)
{
    bool more = false;
    tn_sql s = tn_sql_start(&library->db, TN_QUERY_HASH_JOB_OPEN);
    tn_sql_blob(&s, key, 32);
    TN_TRY(tn_sql_row(&s, &more, err));
    if (!more)
        return TN_OK;
    const char *state = tn_sql_get(&s, 1).bytes;
    bool joins = can_wait_in(state, mode), failed = strcmp(state, "failed") == 0;
    *job = joins ? tn_sql_get_int(&s, 0) : 0;
    tn_sql_end(&s);
    if (!joins || !failed)
        return TN_OK;
    s = tn_sql_start(&library->db, TN_QUERY_JOB_SET_STATE);
    tn_sql_int(&s, *job);
    tn_sql_text(&s, "queued", strlen("queued"));
    return tn_sql_run(&s, err);
}

static tn_status put_job(tn_library *library, const uint8_t key[32], const char *const *paths, size_t count, int64_t *job,
                         tn_error *err)
{
    tn_buffer joined;
    tn_buffer_init(&joined, library->memory, (size_t)1 << 32);
    for (size_t i = 0; i < count; i++)
        tn_buffer_append(&joined, paths[i], strlen(paths[i]) + 1);
    tn_status status = tn_buffer_status(&joined, err);
    if (status == TN_OK) {
        tn_sql s = tn_sql_start(&library->db, TN_QUERY_HASH_JOB_PUT);
        tn_sql_blob(&s, key, 32);
        tn_sql_blob(&s, joined.bytes, joined.size);
        tn_sql_int(&s, tn_os_wall_ns());
        status = tn_sql_run(&s, err);
    }
    tn_buffer_free(&joined);
    if (status == TN_OK)
        *job = sqlite3_last_insert_rowid(library->db.handle);
    return status;
}

/* H6: the library's job has no paths. */
static tn_status find_or_put(tn_library *library, const char *const *paths, size_t count, tn_hash_mode mode, int64_t *job,
                             tn_error *err)
{
    uint8_t key[32];
    size_t own = mode == TN_HASH_NOW ? count : 0;
    TN_TRY(tn_journal_key(library, "hash", paths, own, key, err));
    TN_TRY(find_open(library, key, mode, job, err));
    return *job != 0 ? TN_OK : put_job(library, key, paths, own, job, err);
}

tn_status tn_hash_job_queue(tn_library *library, const char *const *paths, size_t count,
                            const tn_import_options *options, int64_t *job, tn_error *err)
{
    int64_t found = 0;
    bool lacks = false, nothing = false;
    uint32_t wanted = wanted_of(options);
    if (options->hash != TN_HASH_NONE)
        TN_TRY(each_path(library, paths, count, wanted, 0, &lacks, err));
    if (lacks) {
        TN_TRY(find_or_put(library, paths, count, options->hash, &found, err));
        TN_TRY(each_path(library, paths, count, wanted, found, &nothing, err));
        TN_TRY(count_again(library, found, err));
        tn_os_point("hash.queued");
    }
    *job = found;
    return TN_OK;
}

tn_status tn_hash_job_fill(tn_library *library, int64_t job, tn_text paths, tn_error *err)
{
    bool nothing = false;
    if (paths.size == 0) {
        tn_sql s = tn_sql_start(&library->db, TN_QUERY_HASH_ITEMS_ALL);
        tn_sql_int(&s, TN_HASH_DEFAULT);
        tn_sql_int(&s, job);
        TN_TRY(tn_sql_run(&s, err));
    }
    for (size_t at = 0; at < paths.size; at += strlen(paths.bytes + at) + 1) {
        const char *path = paths.bytes + at;
        TN_TRY(each_path(library, &path, 1, TN_HASH_DEFAULT, job, &nothing, err));
    }
    return count_again(library, job, err);
}

tn_status tn_hash_job_after(tn_library *library, int64_t job, const tn_import_options *options, tn_error *err)
{
    return job != 0 && options->hash == TN_HASH_NOW ? tn_hash_job_run(library, job, options, err) : TN_OK;
}

/* ---- what waits ---- */

/* As long as the last job of a gigabyte or more took for each byte. */
static tn_status foretell(tn_library *library, uint64_t bytes, uint64_t *about_ns, tn_error *err)
{
    bool more = false;
    tn_sql s = tn_sql_start(&library->db, TN_QUERY_HASH_SPEED);
    TN_TRY(tn_sql_row(&s, &more, err));
    if (!more)
        return TN_OK;
    *about_ns = (uint64_t)((double)bytes / (double)tn_sql_get_int(&s, 0) * (double)tn_sql_get_int(&s, 1));
    tn_sql_end(&s);
    return TN_OK;
}

static tn_status left_in(tn_library *library, int64_t job, tn_import_summary *summary, tn_error *err)
{
    bool more = false;
    tn_sql s = tn_sql_start(&library->db, TN_QUERY_HASH_JOB_SUMS);
    tn_sql_int(&s, job);
    TN_TRY(tn_sql_row(&s, &more, err));
    if (!more)
        return TN_OK;
    summary->hash_files = (uint64_t)(tn_sql_get_int(&s, 0) - tn_sql_get_int(&s, 1));
    summary->hash_bytes = (uint64_t)(tn_sql_get_int(&s, 2) - tn_sql_get_int(&s, 3));
    summary->hash_paused = strcmp(tn_sql_get(&s, 4).bytes, "paused") == 0;
    tn_sql_end(&s);
    return foretell(library, summary->hash_bytes, &summary->hash_about_ns, err);
}

tn_status tn_hash_job_left(tn_library *library, const tn_import_options *options, tn_import_summary *summary,
                           tn_error *err)
{
    uint8_t key[32];
    bool more = false;
    if (options->hash != TN_HASH_QUEUE || options->dry_run)
        return TN_OK;
    TN_TRY(tn_journal_key(library, "hash", NULL, 0, key, err));
    tn_sql s = tn_sql_start(&library->db, TN_QUERY_HASH_JOB_OPEN);
    tn_sql_blob(&s, key, 32);
    TN_TRY(tn_sql_row(&s, &more, err));
    if (!more)
        return TN_OK;
    int64_t job = tn_sql_get_int(&s, 0);
    tn_sql_end(&s);
    return left_in(library, job, summary, err);
}
