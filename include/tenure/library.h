/* The library: what models there are, remembered in one SQLite file that survives a kill at any instant.
 *
 * A library may be used from several threads (it locks inside) and by several processes at once. Everything that
 * takes long is a journalled job: recorded before it starts, resumable after the process died. */
#ifndef TENURE_LIBRARY_H
#define TENURE_LIBRARY_H

#include "digest.h"
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
    bool in_memory;       /* an empty library that leaves no trace, for a dry run where there is none yet; `path` only
                             names it */
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
    uint64_t bytes, bytes_done; /* while files are hashed: of all of them, and behind us; else 0 */
    uint64_t fresh, changed, unchanged; /* models recorded, or passed over, so far */
} tn_import_progress;

/* One model or broken thing, as it was recorded (or would be, on a dry run). */
typedef struct tn_import_event {
    int64_t id;              /* of the record; 0 on a dry run */
    bool fresh, changed;     /* new record; a record that was broken is carried on by other bytes, or a set lost or got
                                files. Other bytes under the path of a sound record are a new record */
    bool relinked;           /* a record whose files were missing, found again in another place */
    const tn_answer *answer; /* valid during the call; NULL when the record as it is in the library says it: nothing has
                                changed since, or it was told at the end of the scan, which had to decide whose it is */
} tn_import_event;

/* What becomes of the hashes that files found by an import lack. */
typedef enum tn_hash_mode {
    TN_HASH_NONE = 0, /* nothing */
    TN_HASH_QUEUE,    /* they wait in the one hash job of the library, which tn_library_jobs_run does */
    TN_HASH_NOW       /* they are taken before the import ends, in a job of their own */
} tn_hash_mode;

/* What an import queues unless it is told otherwise: BLAKE3, SHA-256 and AutoV2, which is a part of it. */
#define TN_HASH_DEFAULT (TN_DIGEST_BLAKE3 | TN_DIGEST_SHA256 | TN_DIGEST_AUTOV2)

/* A digest as it is recorded: "blake3", "sha256", "crc32", "autov1" to "autov3", "key_hash" or "content", and its
 * digits. */
typedef struct tn_hash_text {
    tn_text algorithm, value;
} tn_hash_text;

/* One file of a hash job. */
typedef struct tn_hash_event {
    int64_t model;        /* the first that the file is a part of */
    tn_text path;         /* bytes */
    uint64_t size_bytes;
    size_t count;
    const tn_hash_text *hashes; /* what was recorded; valid during the call */
    const tn_error *why;  /* NULL: recorded. Else nothing was: TN_CHANGED, the file is not the one that the library knows
                             (a scan finds it again); TN_BAD_CHECKSUM, its bytes are not those that were hashed before,
                             though its size and time are; TN_CRASHED, it was set aside; or what else it met */
} tn_hash_event;

typedef struct tn_import_options {
    size_t size; /* sizeof(tn_import_options) */
    bool dry_run;
    unsigned still_ms; /* what was written to within this time is left for a later import; 0: nothing is */
    tn_hash_mode hash;
    uint32_t digests; /* TN_DIGEST_* for TN_HASH_QUEUE and TN_HASH_NOW; 0: TN_HASH_DEFAULT */
    void (*hashed)(void *user, const tn_hash_event *event); /* NULL, or told of each file of a hash job */
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

/* A path that a summary names, and why. */
typedef struct tn_named {
    tn_text path;    /* bytes */
    tn_text message; /* one line; may be empty */
} tn_named;

typedef struct tn_import_summary {
    int64_t job;                  /* 0: a dry run. A scan of a watch that found nothing leaves no job behind */
    bool resumed;                 /* it went on with a job that had been interrupted */
    uint64_t took_ns;
    uint64_t models, fresh, changed, unchanged;
    uint64_t relinked;            /* records whose files were missing, or now are, found again in another place */
    uint64_t vanished;            /* models whose files are gone */
    size_t vanished_count;        /* the first of them by path, at most 10 */
    const tn_named *vanished_named;
    uint64_t away_count;          /* roots whose folder is not there; their models are offline */
    const tn_named *away;
    uint64_t asks;                /* records of the library that tn_library_relink_proposals tells of */
    uint64_t others;              /* pictures, texts, configs, scripts: counted, not recorded */
    uint64_t folders_unreadable;
    size_t unreadable_count;      /* the first of them, at most 10 */
    const tn_named *unreadable;
    uint64_t links_dangling;      /* links that lead nowhere */
    uint64_t links_outside;       /* links to folders outside of all that was named; they were followed */
    uint64_t growing;             /* files and folders that may still be being written, left for later: see still_ms */
    size_t total_count;
    const tn_base_total *totals;  /* everything under the imported paths, by base and type */
    size_t problem_count;
    const tn_problem *problems;   /* everything under the imported paths that needs a look */
    uint64_t hash_files, hash_bytes; /* what waits in the library's hash job; 0 unless TN_HASH_QUEUE */
    uint64_t hash_about_ns;       /* how long that will take, by the speed of the last hash job; 0: not known */
    bool hash_paused;             /* the hash job was paused */
} tn_import_summary;

/* Scan, identify and record everything under `paths` (files or folders), in place. It is a job: an import of the same
 * paths that was interrupted is gone on with. Bad files and unreadable folders never stop it.
 * TN_CANCELLED leaves a job that can be resumed. Free the summary with tn_import_summary_destroy. */
TN_API tn_status tn_library_import(tn_library *library, const char *const *paths, size_t count,
                                   const tn_import_options *options, tn_import_summary **out, tn_error *err);
TN_API void tn_import_summary_destroy(tn_import_summary *summary); /* NULL accepted */

/* ---- roots: the folders that were imported ---- */

typedef struct tn_root {
    tn_text path;        /* bytes */
    bool away;           /* its folder is not there or does not answer, or is the mount point of a disk that is not there */
    uint64_t models, bytes; /* known below it, but for missing ones */
    int64_t scanned_ns;  /* Unix epoch; 0: never */
} tn_root;
/* Call `each` for every root, by path, with its state now; stop early when it returns false. */
TN_API tn_status tn_library_roots(tn_library *library, bool (*each)(void *user, const tn_root *root), void *user,
                                  tn_error *err);
/* Keep a folder as a root, which a scan looks at; nothing is read yet. TN_NOT_FOUND; TN_INVALID for a file. One that is
 * kept already is TN_OK. */
TN_API tn_status tn_library_root_add(tn_library *library, const char *path, tn_error *err);
/* Forget a root: it is not scanned any more. Its models stay in the library as they are. TN_NOT_FOUND. */
TN_API tn_status tn_library_root_remove(tn_library *library, const char *path, tn_error *err);

/* What tn_library_relocate did before it scanned. */
typedef struct tn_relocation {
    uint64_t paths;    /* rewritten */
    uint64_t taken;    /* records that took over one that the new place had already */
    uint64_t asked;    /* records whose new path belongs to another record: see tn_library_relink_proposals */
} tn_relocation;
/* Everything recorded below `from` lies below `to` from now on: a drive has another letter, a disk is mounted elsewhere,
 * a folder was moved. The paths are rewritten in one transaction, then `to` is scanned: what is there by path, size,
 * time and sample digest is the same as before. Where a record of the new place is the same and nobody has said anything
 * of it, the old record takes it over. TN_NOT_FOUND when nothing is known below `from` or `to` is not there; TN_INVALID
 * when one lies within the other. `relocation` and `out` may be NULL. */
TN_API tn_status tn_library_relocate(tn_library *library, const char *from, const char *to,
                                     const tn_import_options *options, tn_relocation *relocation,
                                     tn_import_summary **out, tn_error *err);

/* Look at roots again: all (count 0), or those named, which are roots or lie below one (else TN_NOT_FOUND). The same job
 * as an import of them, but that a root which is away is no fault: see tn_import_summary.away. With no root at all
 * nothing is done and the summary says 0 models. */
TN_API tn_status tn_library_scan(tn_library *library, const char *const *roots, size_t count,
                                 const tn_import_options *options, tn_import_summary **out, tn_error *err);

typedef struct tn_watch_options {
    size_t size;      /* sizeof(tn_watch_options) */
    const tn_import_options *import; /* of each scan; NULL: none. A still_ms of 0 counts as 2,000 */
    unsigned poll_ms; /* how often to look where the system tells nothing or not all: a network folder, a root that is
                         away, a library that lies in a root. 0: 30,000 */
    /* Told of the first scan and of each that found something; false ends the watch. May be NULL. */
    bool (*scanned)(void *user, const tn_import_summary *summary);
    void *user;
} tn_watch_options;

/* Scan roots (as tn_library_scan takes them), and again whenever something in them was made, written, renamed or
 * removed, until the context is cancelled (TN_CANCELLED) or `scanned` returns false (TN_OK). What is still being written
 * is left alone until it has been still for a while. `options` may be NULL. Blocks. */
TN_API tn_status tn_library_watch(tn_library *library, const char *const *roots, size_t count,
                                  const tn_watch_options *options, tn_error *err);

/* ---- records whose files are gone, and where those may be ---- */

typedef struct tn_relink_candidate {
    int64_t id;
    tn_text name, path;
    tn_text why; /* "same_bytes": same size and sample digest; "same_path": it is where the missing one was */
} tn_relink_candidate;

typedef struct tn_relink_proposal {
    int64_t id;           /* of a record that is missing or offline */
    tn_text name, path;   /* where it was */
    tn_text presence;
    size_t count;         /* at least 1, at most 100 */
    const tn_relink_candidate *candidates;
} tn_relink_proposal;

/* Call `each` for every record that may be found again but could not be relinked for sure: several agree, or what lies
 * in its place is another file that its tags could be carried over to. Stop early when it returns false. */
TN_API tn_status tn_library_relink_proposals(tn_library *library,
                                             bool (*each)(void *user, const tn_relink_proposal *proposal), void *user,
                                             tn_error *err);
/* The missing or offline record `model` takes over the files of `candidate`, which is no more: its paths, answer and
 * hashes. Tags are united, a note of the candidate's is appended. TN_NOT_FOUND; TN_INVALID when `model` is neither
 * missing nor offline, or the candidate is. */
TN_API tn_status tn_library_relink(tn_library *library, int64_t model, int64_t candidate, tn_error *err);

/* A record, as list, show and search give it. `json` is the object of interface.md 3 with id, name, tags, note, added and
 * hashes (for a set `part_hashes`, an object a part); the fields beside it are the same values for quick use. Type, base
 * and variant are the person's where they were set, and then `decided_by` is "user". */
typedef struct tn_record {
    int64_t id;
    tn_text name, path, type, base, variant, container, presence;
    tn_text message; /* what a person should know of it, one line; empty when nothing is wrong */
    tn_state state;
    uint64_t size_bytes;
    uint64_t part_count;
    tn_text json;
} tn_record;

/* Call `each` for every record that is missing or offline, by path. */
TN_API tn_status tn_library_missing(tn_library *library, bool (*each)(void *user, const tn_record *record), void *user,
                                    tn_error *err);

/* What is listed; NULL texts: anything. */
typedef struct tn_list_options {
    size_t size;      /* sizeof(tn_list_options) */
    uint64_t limit;   /* 0: all */
    const char *type, *base, *tag;
    const char *state;    /* "damaged", ... */
    const char *presence; /* "missing", "offline", ... */
} tn_list_options;

/* Call `each` for every record in the order of base, type, name, those without a base last; stop early when it returns
 * false. `options` NULL: all. Callbacks come from the calling thread, without locks held. TN_INVALID for a state or
 * presence that there is none of. */
TN_API tn_status tn_library_list(tn_library *library, const tn_list_options *options,
                                 bool (*each)(void *user, const tn_record *record), void *user, tn_error *err);
/* Find one and call `each` once. `model` is an id, a path, a name, or the name of a file with or without its suffix: the
 * first of these that is known counts. TN_NOT_FOUND; TN_AMBIGUOUS_NAME when several have that name. */
TN_API tn_status tn_library_show(tn_library *library, const char *model,
                                 bool (*each)(void *user, const tn_record *record), void *user, tn_error *err);
/* The same for all that `model` may mean. TN_NOT_FOUND when there is none. */
TN_API tn_status tn_library_find(tn_library *library, const char *model,
                                 bool (*each)(void *user, const tn_record *record), void *user, tn_error *err);
/* Call `each` for every record that has all words of `text`, in any case of letters, in its name, path, tags, note, base,
 * type, title or trigger words; the nearest first: names that begin with the word, names that have all words, the rest.
 * Words have blanks between; "several words" in quotes are one. A single word of eight hexadecimal digits or more also
 * finds the models of which a hash begins so. type:, base:, tag:, state: and is: (present, missing, offline, crashed) with
 * a word behind them narrow the search. `limit` 0: all. TN_INVALID when nothing is searched for. */
TN_API tn_status tn_library_search(tn_library *library, const char *text, uint64_t limit,
                                   bool (*each)(void *user, const tn_record *record), void *user, tn_error *err);

/* ---- what people say of a model. `model` is what tn_library_show takes; TN_NOT_FOUND, TN_AMBIGUOUS_NAME. Each call is
 * one transaction with an event; the file is not touched. ---- */

typedef struct tn_tag_change {
    size_t size; /* sizeof(tn_tag_change) */
    const char *const *add;
    size_t add_count;
    const char *const *remove;
    size_t remove_count;
} tn_tag_change;

/* A tag and how many models have it. */
typedef struct tn_tag {
    tn_text tag;
    uint64_t models;
} tn_tag;

/* Take tags from a model and add others. A tag is 1 to 64 characters without control characters, and the same tag in any
 * case of letters: the library keeps the spelling that it was given first. TN_INVALID: it is no tag. */
TN_API tn_status tn_library_tag(tn_library *library, const char *model, const tn_tag_change *change, tn_error *err);
/* Every tag, those with most models first. */
TN_API tn_status tn_library_tags(tn_library *library, bool (*each)(void *user, const tn_tag *tag), void *user,
                                 tn_error *err);
/* Put a note of up to 64 KiB of UTF-8 in place of the one there is; "" takes it away. */
TN_API tn_status tn_library_note(tn_library *library, const char *model, const char *text, tn_error *err);
/* Name a model in the library: 1 to 255 characters without control characters. Its file keeps the name it has. */
TN_API tn_status tn_library_rename(tn_library *library, const char *model, const char *name, tn_error *err);

typedef struct tn_set_options {
    size_t size;        /* sizeof(tn_set_options) */
    bool automatic;     /* give back to what the file says; what follows is set after that */
    const char *type;   /* NULL: left as it is */
    const char *base;
    const char *variant; /* "": none */
    bool new_words;     /* a base or variant that neither the rules nor the library know is accepted */
} tn_set_options;

/* Say what a model is, against or beyond its file. TN_INVALID: a type that there is none of, or a new word. */
TN_API tn_status tn_library_set(tn_library *library, const char *model, const tn_set_options *options, tn_error *err);
/* Every word that is known for "type", "base" or "variant": those of the interface, the rules and the library. A word may
 * come more than once. */
TN_API tn_status tn_library_known_words(tn_library *library, const char *kind, bool (*each)(void *user, const char *word),
                                        void *user, tn_error *err);

/* ---- what could be saved, and where the bytes are ---- */

typedef struct tn_twin {
    int64_t id;
    tn_text name, path;
    bool hashed; /* every part of it has a BLAKE3 */
} tn_twin;

/* Models that have the same bytes. */
typedef struct tn_twins {
    bool sure;            /* equal BLAKE3 of all parts; else equal size and sample, and one at least is not hashed */
    uint64_t size_bytes;  /* of each */
    uint64_t saves_bytes; /* what all but one of them take; of a group that is not sure: at most, beside what sure ones do */
    size_t count;
    const tn_twin *twins;
} tn_twins;

/* Call `each` for every group of duplicates, the largest saving first. Missing and offline models are not looked at; one
 * file under several paths is one model and no duplicate. Valid during the call. */
TN_API tn_status tn_library_duplicates(tn_library *library, bool (*each)(void *user, const tn_twins *twins), void *user,
                                       tn_error *err);

/* One folder of the tree, or one base or type. */
typedef struct tn_usage {
    tn_text path;          /* of the folder, bytes; or the base or type, empty for none */
    unsigned depth;        /* 0: a root */
    uint64_t models;       /* below it, whose first path is there */
    uint64_t bytes;        /* of their files; a file of several paths or hard links counts once, at its first path */
    uint64_t stored_bytes; /* what these take on the disk: less where they have holes; TN_NONE unless asked for */
} tn_usage;

typedef struct tn_usage_options {
    size_t size;    /* sizeof(tn_usage_options) */
    const char *by; /* NULL: by folder; "base" or "type" */
    bool disk;      /* ask the disk for stored_bytes: one question a file */
} tn_usage_options;

/* Call `each` for every root and the folders below it that hold models, each before the folders in it. */
TN_API tn_status tn_library_usage(tn_library *library, const tn_usage_options *options,
                                  bool (*each)(void *user, const tn_usage *usage), void *user, tn_error *err);

/* ---- the whole library as text ---- */

/* Write everything the library remembers as JSON lines, the first of which names the version. `write` returns false to
 * give up (TN_CANCELLED). It is called with the library's lock held: it must not use the library. */
TN_API tn_status tn_library_export(tn_library *library, bool (*write)(void *user, const char *bytes, size_t size),
                                   void *user, tn_error *err);
/* Read what tn_library_export wrote into a library that holds no model, root or job: all of it or nothing. `read` fills
 * up to `size` bytes and gives how many, 0 at the end and SIZE_MAX when it cannot (TN_IO); it must not use the library.
 * `models`, when not NULL, is how many there were.
 * TN_BAD_JSON, TN_BAD_LAYOUT: not such a file, with the line; TN_NEWER: written by a newer version; TN_EXISTS: the
 * library holds something already. The files are looked at by the next scan. */
TN_API tn_status tn_library_restore(tn_library *library, size_t (*read)(void *user, char *bytes, size_t size),
                                    void *user, uint64_t *models, tn_error *err);

typedef struct tn_job {
    int64_t id;
    tn_text kind;   /* "import", "hash" */
    tn_text state;  /* "queued", "running", "interrupted", "paused", "done", "failed", "cancelled" */
    tn_text what;   /* its paths, for display; empty: the whole library */
    int64_t queued_ns, started_ns, ended_ns; /* Unix epoch; 0 when not yet */
    uint64_t items, items_done;
    tn_text error;  /* empty unless failed */
    uint64_t bytes, bytes_done; /* of a hash job: of all its files, and behind it; else 0 */
} tn_job;
/* All jobs, the newest last. A hash job without paths is that of the whole library. */
TN_API tn_status tn_library_jobs(tn_library *library, bool (*each)(void *user, const tn_job *job), void *user,
                                 tn_error *err);
/* Run what is queued or was interrupted: all (id 0) or one. */
TN_API tn_status tn_library_jobs_run(tn_library *library, int64_t id, const tn_import_options *options, tn_error *err);
/* "pause", "resume", "cancel" or "retry" one job. TN_NOT_FOUND; TN_INVALID when its state does not allow it.
 * A hash job whose hand has changed stops within a second, in the middle of a file. */
TN_API tn_status tn_library_job_control(tn_library *library, int64_t id, const char *action, tn_error *err);

/* What was found out about one model or file. */
typedef struct tn_verified {
    int64_t model;    /* 0: the library does not know it */
    tn_text path;     /* bytes */
    bool sound;       /* no finding is a TN_ERROR */
    uint64_t hashed_bytes; /* read again and compared with what is recorded */
    size_t count;
    const tn_finding *findings; /* worst first */
} tn_verified;

typedef struct tn_verify_options {
    size_t size; /* sizeof(tn_verify_options) */
    bool quick;  /* the structure only: headers are read and no tensor */
    void (*progress)(void *user, const tn_import_progress *progress); /* NULL: not told */
    bool (*each)(void *user, const tn_verified *verified);            /* false stops; valid during the call */
    void *user;
} tn_verify_options;

/* Are the files still what they should be? Opens each for its structure, reads it whole where the library has a hash of
 * it, and compares. `models` are ids, paths or unique names; a folder that is no model stands for all models below it;
 * `count` 0: every model that is not offline. `library` NULL: only paths, only their structure.
 * A file of other size or time than when it was hashed is not compared (a scan hashes it anew); one of the same size
 * and time whose bytes differ is told as TN_BAD_CHECKSUM and becomes an event of its model, where the library can be
 * written. Takes no hash anew and changes no record else. Callbacks come from the calling thread, without locks held,
 * as each model is done. What is neither known nor there is told as TN_NOT_FOUND. TN_AMBIGUOUS_NAME: nothing was looked
 * at. */
TN_API tn_status tn_library_verify(tn_context *context, tn_library *library, const char *const *models, size_t count,
                                   const tn_verify_options *options, tn_error *err);

/* ---- files moved, copied, removed and brought back ---- */

/* One thing that was done to the files of one model. Texts are valid during the call that tells of it. */
typedef struct tn_act {
    int64_t id;    /* 0 on a dry run */
    int64_t event; /* what tn_library_undo is given: the first act of the same command; 0 on a dry run */
    int64_t model; /* its id, also when its record is gone; 0: files of no record */
    tn_text kind;  /* "copy", "move", "trash", "delete", "forget" (taken out of the list), "restore" */
    tn_text state; /* "planned" and "placed" (not ended), "done", "undone", "failed" */
    tn_text name;  /* of the model */
    tn_text from, to; /* bytes; of its first file or folder. `to` is "" where there is none, and where the recycle bin
                         does not tell */
    uint64_t files; /* how many files, links and folders; a folder counts as one */
    uint64_t bytes;
    int64_t at_ns;  /* Unix epoch */
    int64_t undoes; /* the act that this one takes back; 0: none */
    bool can_undo;
    tn_text error;  /* of one that failed */
} tn_act;

typedef struct tn_act_progress {
    uint64_t bytes, bytes_done; /* of copies, which are read twice: to be written, and to be proved */
    const char *path;           /* bytes */
} tn_act_progress;

typedef struct tn_act_options {
    size_t size;   /* sizeof(tn_act_options) */
    bool dry_run;  /* say what would be done, and refuse what would be refused */
    bool follow;   /* a path that is a link stands for the file it leads to; otherwise the link itself is meant */
    int64_t event; /* acts of one command share it: that of the first one; 0 begins one */
    void (*progress)(void *user, const tn_act_progress *progress);
    void (*done)(void *user, const tn_act *act); /* told of every act that was done */
    void *user;
} tn_act_options;

/* All of the following record what they are going to do before they touch a file, never replace a file, and leave each
 * file whole at its old or its new place whatever happens. What a process that died has left open is finished or taken
 * back first. `model` is an id, a path or a unique name; where several paths lead to one model, the path says which is
 * meant (TN_AMBIGUOUS_NAME). `options` may be NULL. Callbacks come from the calling thread, without locks held.
 * TN_EXISTS: the name is taken (err->expected and err->found are both sizes). TN_NO_SPACE: with what is needed and what
 * there is. TN_CHANGED: the file is not what the library or the act knew. TN_READ_ONLY, TN_PERMISSION, TN_BUSY,
 * TN_CANCELLED. After any of them all is as it was. */

/* Move a model's files into `folder`, which is made when it is not there: the file with what other programs left beside
 * it (x.json, x.preview.png), a set with its index, a folder whole. On another disk it is copied, flushed, read back and
 * compared before the old files go. Folders that become empty go too, up to the root. The record keeps its id, tags,
 * notes and hashes. TN_OK, with an act of no files, when it is there already. */
TN_API tn_status tn_library_move(tn_library *library, const char *model, const char *folder,
                                 const tn_act_options *options, tn_error *err);

typedef enum tn_removal {
    TN_REMOVE_FORGET = 0, /* from the list only: a scan passes the file over until it changes or is named */
    TN_REMOVE_TRASH,      /* the files go to the trash of their own disk, or nowhere: TN_UNAVAILABLE */
    TN_REMOVE_DELETE      /* for good. A folder that holds anything else is refused */
} tn_removal;

/* Remove a model. Of several paths only the one that was named goes, and the record stays; TN_REMOVE_FORGET takes the
 * record whatever it was called by. */
TN_API tn_status tn_library_remove(tn_library *library, const char *model, tn_removal how,
                                   const tn_act_options *options, tn_error *err);

/* Take back all acts of one event, the last first; 0: the last event that was not undone. Files go back to where they
 * were and records come back with their ids. TN_NOT_FOUND: there is none; TN_INVALID: it is undone already, or cannot be
 * undone. The first act that is refused ends it: those before it stay undone. */
TN_API tn_status tn_library_undo(tn_library *library, int64_t event, const tn_act_options *options, tn_error *err);

/* Every act, the oldest first; stop early when `each` returns false. */
TN_API tn_status tn_library_acts(tn_library *library, bool (*each)(void *user, const tn_act *act), void *user,
                                 tn_error *err);

/* Bring everything under `paths` that claims to be a model below `folder`, keeping where it lies below the named path: by
 * copying, or by moving. What is below `folder` already, and what is there already with equal bytes, is left alone. Import
 * `folder` afterwards. A file that is refused is told to `refused` and stops no other. Resumable: done again, it goes on.
 * TN_NO_SPACE before anything is copied when not all of it fits. */
TN_API tn_status tn_library_place(tn_library *library, const char *const *paths, size_t count, const char *folder,
                                  bool move, const tn_act_options *options,
                                  void (*refused)(void *user, const char *path, const tn_error *why), tn_error *err);

#ifdef __cplusplus
}
#endif
#endif
