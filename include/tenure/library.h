/* The library: what models there are, remembered in one SQLite file that survives a kill at any instant.
 *
 * A library may be used from several threads (it locks inside) and by several processes at once. Everything that
 * takes long is a journalled job: recorded before it starts, resumable after the process died. */
#ifndef TENURE_LIBRARY_H
#define TENURE_LIBRARY_H

#include "identify.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_library tn_library;

typedef struct tn_library_options {
    size_t size;          /* sizeof(tn_library_options) */
    bool read_only;       /* open without changing anything; also chosen by itself when the place is read-only */
    const char *program;  /* path of the tenure command, used to read suspect files in a child process; NULL: none is
                             there, and files in flight when a process died are set aside after the second death */
    unsigned busy_timeout_ms; /* how long to wait for another writer before TN_LOCKED; 0: 10,000 */
} tn_library_options;

/* Open the library at `path`, making it (and its folders) when it is not there. NULL: $TENURE_LIBRARY, else
 * $XDG_DATA_HOME/tenure/library.db or %LOCALAPPDATA%\Tenure\library.db.
 * TN_NEWER: made by a newer version, left untouched. TN_NOT_A_LIBRARY: some other file, left untouched.
 * TN_LOCKED: another program holds it. */
TN_API tn_status tn_library_open(tn_context *context, const char *path, const tn_library_options *options,
                                 tn_library **out, tn_error *err);
TN_API void tn_library_close(tn_library *library); /* NULL accepted */
/* Where it is, as bytes. */
TN_API const char *tn_library_path(const tn_library *library);

/* What an import does as it goes. All callbacks come from the calling thread, without locks held. */
typedef struct tn_import_progress {
    uint64_t found;      /* models and broken things found so far */
    uint64_t done;
    bool walking;        /* the folders are still being walked: found will grow */
    const char *path;    /* what is being read, bytes */
} tn_import_progress;

/* One model or broken thing, as it was recorded (or would be, on a dry run). */
typedef struct tn_import_event {
    int64_t id;              /* of the record; 0 on a dry run */
    bool fresh, changed;     /* new record; bytes under a known path changed */
    const tn_answer *answer; /* valid during the call; NULL when nothing changed since it was recorded */
} tn_import_event;

typedef struct tn_import_options {
    size_t size; /* sizeof(tn_import_options) */
    bool dry_run;
    void (*progress)(void *user, const tn_import_progress *progress);
    void (*each)(void *user, const tn_import_event *event);
    void *user;
} tn_import_options;

/* One line of the table that ends an import. */
typedef struct tn_base_total {
    tn_text base;      /* "" for none */
    tn_text type;
    uint64_t models, bytes;
} tn_base_total;

typedef struct tn_problem {
    tn_text path;      /* bytes */
    tn_state state;
    tn_text presence;  /* "present", "crashed"; "missing" for a path that was named and is not there */
    tn_text message;   /* what is wrong and what to do, one line */
} tn_problem;

typedef struct tn_import_summary {
    int64_t job;
    bool resumed;                 /* it went on with a job that had been interrupted */
    uint64_t models, fresh, changed, unchanged;
    uint64_t vanished;            /* models whose files are gone, and files that went while the folders were walked */
    uint64_t others;              /* pictures, texts, configs, scripts: counted, not recorded */
    uint64_t folders_unreadable;
    size_t total_count;
    const tn_base_total *totals;  /* everything under the imported paths, by base and type */
    size_t problem_count;
    const tn_problem *problems;   /* everything under the imported paths that needs a look */
} tn_import_summary;

/* Scan, identify and record everything under `paths` (files or folders), in place. It is a job: an import of the same
 * paths that was interrupted is gone on with. Bad files and unreadable folders never stop it.
 * TN_CANCELLED leaves a job that can be resumed. Free the summary with tn_import_summary_destroy. */
TN_API tn_status tn_library_import(tn_library *library, const char *const *paths, size_t count,
                                   const tn_import_options *options, tn_import_summary **out, tn_error *err);
TN_API void tn_import_summary_destroy(tn_import_summary *summary); /* NULL accepted */

/* A record, as list and show give it. `json` is the object of interface.md 3 with id, name, tags, note, added and
 * hashes; the fields beside it are the same values for quick use. */
typedef struct tn_record {
    int64_t id;
    tn_text name, path, type, base, variant, container, presence;
    tn_state state;
    uint64_t size_bytes;
    tn_text json;
} tn_record;

/* Call `each` for every record in the order of base, type, name; stop early when it returns false.
 * `limit` 0: all. */
TN_API tn_status tn_library_list(tn_library *library, uint64_t limit, bool (*each)(void *user, const tn_record *record),
                                 void *user, tn_error *err);
/* Find one by id, path or unique name and call `each` once. TN_NOT_FOUND, TN_AMBIGUOUS_NAME. */
TN_API tn_status tn_library_show(tn_library *library, const char *model,
                                 bool (*each)(void *user, const tn_record *record), void *user, tn_error *err);

typedef struct tn_job {
    int64_t id;
    tn_text kind;   /* "import", "hash" */
    tn_text state;  /* "queued", "running", "interrupted", "paused", "done", "failed", "cancelled" */
    tn_text what;   /* its paths, for display */
    int64_t queued_ns, started_ns, ended_ns; /* Unix epoch; 0 when not yet */
    uint64_t items, items_done;
    tn_text error;  /* empty unless failed */
} tn_job;
TN_API tn_status tn_library_jobs(tn_library *library, bool (*each)(void *user, const tn_job *job), void *user,
                                 tn_error *err);
/* Run what is queued or was interrupted: all (id 0) or one. */
TN_API tn_status tn_library_jobs_run(tn_library *library, int64_t id, const tn_import_options *options, tn_error *err);
/* "pause", "resume", "cancel" or "retry" one job. TN_NOT_FOUND; TN_INVALID when its state does not allow it. */
TN_API tn_status tn_library_job_control(tn_library *library, int64_t id, const char *action, tn_error *err);

#ifdef __cplusplus
}
#endif
#endif
