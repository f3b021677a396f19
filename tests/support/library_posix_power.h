/* Power cuts: a log of everything that changed a disk, the disks that a power cut may leave at each point of it, and one
 * of those laid out as true files.
 *
 *   P1  The log is complete: what it adds up to is compared with the disk itself when the recording ends.
 *   P2  A disk is made of nodes (what is in a file) and names (which file is where). A write is durable once its file
 *       was synced, a name once its folder was; until then each may be there or not.
 *   P3  A rename is atomic: one name or the other. It is durable once the folder it leads into was synced.
 *   P4  Changes of one name happen in their order: none is there without those before it.
 *   P5  A file keeps its identity (inode, time) in every disk, for the library looks at it.
 *
 * The time of a file is a part of what is in it. Symbolic links, and renaming between disks, are not known here.
 *
 * Everything here fails the test on the spot when it cannot do its work. Shared memory files of SQLite are no part of a
 * disk. Folders below `root` alone are looked at. */
#ifndef TEST_SUPPORT_LIBRARY_POSIX_POWER_H
#define TEST_SUPPORT_LIBRARY_POSIX_POWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

typedef enum step_kind {
    STEP_CREATE, STEP_WRITE, STEP_RESIZE, STEP_TIME, STEP_SYNC, STEP_RENAME, STEP_LINK, STEP_REMOVE, STEP_MAKE_FOLDER,
    STEP_REMOVE_FOLDER, STEP_SYNC_FOLDER, STEP_MARK
} step_kind;

/* One change of the disk, or one sync, or a promise made (STEP_MARK). */
typedef struct power_step {
    step_kind kind;
    int node;            /* CREATE, MAKE_FOLDER, WRITE, RESIZE, TIME, SYNC */
    char *path;          /* of the name it is about; of a node its name at that time */
    char *to;            /* RENAME, LINK */
    uint64_t offset;     /* WRITE */
    uint64_t size;       /* WRITE, RESIZE */
    uint8_t *bytes;      /* WRITE */
    struct timespec time; /* TIME */
    bool sqlite;         /* it was SQLite's */
} power_step;

/* A file or folder: what is in it when the log begins (nothing, for one that is made in it), and who it is. */
typedef struct power_node {
    bool folder;
    uint8_t *bytes;
    size_t size;
    ino_t inode; /* 0: not known */
    struct timespec mtime;
} power_node;

typedef struct power_name {
    char *path;
    int node;
} power_name;

typedef struct power_names {
    power_name *items;
    size_t count, capacity;
} power_names;

typedef struct power_log {
    char root[1024], store[1024];
    bool network;  /* files look as on a network file system */
    char far[1024]; /* a folder that no file can be renamed into or out of, as if it were another disk; "": none */
    power_step *steps;
    size_t count, capacity;
    power_node *nodes;
    size_t node_count, node_capacity;
    power_names names; /* when it begins */
} power_log;

/* ---- recording: library_posix_log.c ---- */

/* From here on all that os.h and SQLite change below `root` is kept. `store` is a folder on the same disk, for files
 * whose last name goes. vfs_install must have been called. */
void power_begin(power_log *log, const char *root, const char *store, bool network, const char *far);
/* A promise was made to the caller, who may be told from here on that it must hold. */
void power_mark(const char *promise);
void power_end(power_log *log);
void power_free(power_log *log);
/* Files that the library removes or replaces keep their identity for the next disk. Turned off with NULL. */
void power_guard(power_log *log);
/* A step as one line of text. */
void power_describe(const power_log *log, size_t step, char *out, size_t size);

/* Names, in the order in which they came. */
power_name *power_find(power_names *names, const char *path);
void power_add(power_names *names, const char *path, int node);
void power_drop(power_names *names, const char *path);
/* A name, and all that is below it, under another. */
void power_move(power_names *names, const char *from, const char *to);
void power_copy_names(power_names *to, const power_names *from);
void power_free_names(power_names *names);

/* ---- cutting: library_posix_cut.c ---- */

/* What a file system promises. LEAST: what stands above and no more. ORDERED: like ext4, one journal of names in their
 * order, which any sync writes out; bytes of a file arrive in their order. STRICT: all in its order. */
typedef enum power_model { POWER_LEAST, POWER_ORDERED, POWER_STRICT, POWER_MODEL_COUNT } power_model;
/* What becomes of what was not synced: all is there, nothing is, or some, drawn. */
typedef enum power_fate { POWER_ALL, POWER_NOTHING, POWER_SOME } power_fate;

typedef struct power_cut {
    power_model model;
    power_fate fate;
    size_t at;     /* steps that were done */
    uint64_t seed;
} power_cut;

typedef struct power_bytes {
    uint8_t *bytes;
    size_t size, capacity;
} power_bytes;

/* One disk. */
typedef struct power_disk {
    power_names names;
    power_bytes *nodes;     /* as many as the log has */
    struct timespec *times; /* of each */
    size_t node_count;
    uint8_t digest[32]; /* of names and bytes */
    uint8_t *kept;      /* of each step before the cut: whether it is there */
} power_disk;

/* When each step becomes durable under a model: the number of the step that made it so, SIZE_MAX when none did. One for
 * each step; freed with free(). */
size_t *power_durable(const power_log *log, power_model model);
void power_make(const power_log *log, const size_t *durable, const power_cut *cut, power_disk *out);
void power_free_disk(power_disk *disk);
/* Whether the promise was made before the cut. */
bool power_promised(const power_log *log, size_t at, const char *promise);

/* ---- laying out: library_posix_lay.c ---- */

/* Make what is below the log's root this disk and nothing else. */
void power_lay(power_log *log, const power_disk *disk);
/* The files of a log that began on a disk of another one go back to that one: none of them must be looked for in the
 * wrong store. */
void power_hand_back(power_log *from, const power_log *to);

/* ---- going through all of them: library_posix_explore.c ---- */

/* How much is tried. */
typedef struct power_effort {
    size_t cuts;        /* cut points at most, spread over the log; 0: each */
    unsigned draws;     /* disks drawn at each cut point under each model */
    size_t again;       /* disks on which the resuming is cut too */
    bool stop_at_wrong; /* one fault is enough */
} power_effort;

/* What was tried and what was found. */
typedef struct power_report {
    size_t steps, cuts, disks, different, wrong;
    char first[2048]; /* the first fault, with the disk it was found on */
} power_report;

/* What this run is to do: little under sanitizers, all with TENURE_SOAK. */
power_effort power_effort_now(void);
/* Lay out disk after disk, each different one once, and let `check` look at it; `at` is the cut point. What it does not
 * like it tells with power_wrong(). */
void power_explore(power_log *log, void (*check)(const power_log *log, size_t at), power_effort effort,
                   power_report *out);
/* The same for the one disk that no power cut met. */
void power_look(power_log *log, void (*check)(const power_log *log, size_t at), power_report *out);
/* Something is not as promised. The first of a disk counts. */
void power_wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Take those syncs out of the log for which `lost` is true, as if the program had forgotten them. Returns how many. */
size_t power_lose(power_log *log, bool (*lost)(const power_step *step));

#endif
