/* The inside of many.c: files, blocks and the tasks that threads take.
 *
 *   C1  Everything here but what a task works on is touched under the mutex; tasks are done without it.
 *   C2  A file has its tasks in stages: opened, prepared (its header read), read and hashed, finished, told about.
 *   C3  A block keeps its place until every lane has taken it. There are only so many places, so reading runs ahead of
 *       hashing by no more than they hold.
 *   C4  No thread waits while there is a task that may be done. */
#ifndef TN_DIGEST_CREW_H
#define TN_DIGEST_CREW_H

#include "digest/pass.h"

typedef enum tn_crew_stage {
    TN_CREW_FREE, /* no file */
    TN_CREW_TO_OPEN,
    TN_CREW_TO_PREPARE,
    TN_CREW_TO_READ,
    TN_CREW_TO_FINISH,
    TN_CREW_ENDED
} tn_crew_stage;

/* A file at work. */
typedef struct tn_crew_file {
    tn_crew_stage stage;
    size_t number; /* in the list */
    tn_pass pass;
    uint64_t size, device; /* from here to `next`: known once it is opened */
    bool slow;             /* its disk has one reader at a time */
    bool cold;             /* its beginning was not in the system's cache */
    int warmth;            /* blocks that could be looked at, less those that could not */
    tn_pass_block next; /* to be read, when there is one */
    bool has_next;
    unsigned tasks, reading, held; /* under way; of these, reads; blocks that have a place */
    uint64_t turn[TN_LANES];       /* the number of the block that each lane takes next */
    uint32_t busy;                 /* lanes that are taking one */
    uint64_t done;                 /* bytes that every lane has taken */
    tn_status status;
    tn_error error;
    tn_digests digests;
} tn_crew_file;

/* A place for a block. */
typedef struct tn_crew_place {
    uint8_t *bytes;
    tn_crew_file *file; /* NULL: free */
    tn_pass_block block;
    bool is_read;
    uint32_t left; /* lanes that have not taken it */
    bool piece_begun, piece_done;
    bool warm; /* it was looked at where it lies */
    tn_blake3_pair pieces[TN_PASS_PIECES];
} tn_crew_place;

typedef enum tn_crew_task_kind {
    TN_CREW_OPEN,
    TN_CREW_PREPARE,
    TN_CREW_READ,
    TN_CREW_TAKE,  /* by a lane */
    TN_CREW_PIECE, /* of BLAKE3 */
    TN_CREW_FINISH
} tn_crew_task_kind;

typedef struct tn_crew_task {
    tn_crew_task_kind kind;
    tn_crew_file *file;
    tn_crew_place *place;
    tn_lane lane;
} tn_crew_task;

#define TN_CREW_PLACES_MAX 64u

typedef struct tn_crew {
    tn_context *context;
    const tn_digest_list *list;
    tn_digest_progress one; /* of the only file, in place of the list's; may be NULL */
    unsigned threads; /* the caller's among them */
    unsigned readers; /* beside them, for a cold file: they do nothing but wait for the disk */
    unsigned begun;   /* of both, those that are at work */
    tn_os_mutex *mutex; /* NULL when the caller works alone */
    tn_os_condition *changed;
    unsigned waiting;
    size_t next_file; /* of the list */
    tn_crew_file *files;
    size_t file_count;
    void *memory; /* of all places */
    size_t memory_size;
    tn_crew_place places[TN_CREW_PLACES_MAX];
    unsigned place_count;
    tn_crew_place *free[TN_CREW_PLACES_MAX]; /* the last one freed on top: its bytes are in a near cache */
    unsigned free_count;
    uint64_t behind, told; /* bytes of files told about; what progress was last told */
    bool stopped;
    tn_status status;
    tn_error error;
} tn_crew;

/* Choose a task and mark it as under way. False: there is none now. `reader`: a read from a disk, and nothing else. */
bool tn_crew_choose(tn_crew *crew, bool reader, tn_crew_task *out);
/* Do it, without the mutex. */
tn_status tn_crew_do(tn_crew *crew, const tn_crew_task *task, tn_error *err);
/* Note that it was done. */
void tn_crew_note(tn_crew *crew, const tn_crew_task *task, tn_status status, const tn_error *error);
bool tn_crew_is_at_work(const tn_crew_file *file);
/* Nothing more is begun. */
void tn_crew_stop(tn_crew *crew, tn_status status, const tn_error *error);

#endif
