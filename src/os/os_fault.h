/* Faults and a recorder for every call of os.h that asks the system for something: what tests break the product with.
 *
 * A hook is called before the system is. It may answer TN_OK (go on), or a status that the call then fails with; for
 * writes it may shorten the write first. After a call that changes a disk has succeeded the recorder is told.
 * Process-wide; set by tests only, while no other thread is inside os.h. Costs one load and one branch when unset.
 */
#ifndef TN_OS_FAULT_H
#define TN_OS_FAULT_H

#include "os/os.h"

/* Every operation, once: open read write resize sync info rename remove ... */
typedef enum tn_os_operation {
    TN_OP_OPEN, TN_OP_INFO, TN_OP_READ, TN_OP_WRITE, TN_OP_RESIZE, TN_OP_SYNC, TN_OP_MAKE_FOLDER, TN_OP_REMOVE,
    TN_OP_REMOVE_FOLDER, TN_OP_RENAME, TN_OP_SYNC_FOLDER, TN_OP_FOLDER_OPEN, TN_OP_FOLDER_NEXT, TN_OP_WINDOW,
    TN_OP_LOCK, TN_OP_THREAD, TN_OP_RUN, TN_OP_PATH, TN_OP_WATCH, TN_OP_SHARE_DATA, TN_OP_NEXT_DATA, TN_OP_ATTRIBUTES,
    TN_OP_SPACE, TN_OP_READ_LINK, TN_OP_MAKE_LINK, TN_OP_TRASH, TN_OP_PAGES, TN_OP_COUNT
} tn_os_operation;

typedef struct tn_os_call {
    tn_os_operation operation;
    const char *path;       /* NULL when only a handle is known */
    const char *other_path; /* rename's target; where a new link leads */
    const tn_os_file *file; /* NULL when only a path is known */
    const tn_os_file *other_file; /* of a share and of attributes: where they came from */
    uint64_t offset, size;  /* a resize: the new size; an open: its flags in `offset` */
    const void *bytes;      /* what is written */
    uint64_t *write_first;  /* before a write only: 0, or as many bytes as are to be written before it fails */
} tn_os_call;

typedef struct tn_os_hooks {
    tn_status (*before)(void *user, const tn_os_call *call); /* NULL: never fails */
    void (*after)(void *user, const tn_os_call *call);       /* NULL: no recorder. Only for calls that change a disk,
                                                                and for opens to write, which say whose a handle is */
    /* What was found out about a file may be changed before the caller sees it: placeholders, weak identities and
     * other times, which no Linux disk can be asked for. NULL: left as it is. */
    void (*alter_info)(void *user, const char *path, tn_os_info *info);
    /* The same of the disk that a file lies on. */
    void (*alter_disk)(void *user, tn_os_disk *disk);
    void *user;
} tn_os_hooks;

/* NULL takes the hooks off. `hooks` is borrowed until then. */
void tn_os_set_hooks(const tn_os_hooks *hooks);
const char *tn_os_operation_name(tn_os_operation operation);

/* Named points where a test may kill the process: tn_os_point("import.batch") does nothing unless the environment
 * says TENURE_TEST_KILL=import.batch:3 (die by SIGKILL the third time the point is passed) and the build has
 * TN_TEST_POINTS. Release builds compile it to nothing. */
#ifdef TN_TEST_POINTS
void tn_os_point(const char *name);
/* Die as by a fault of one's own when `path` holds the text that TENURE_TEST_CRASH names: how tests show that one
 * deadly file does not take the others with it. */
void tn_os_crash_point(const char *path);
#else
#define tn_os_point(name) ((void)0)
#define tn_os_crash_point(path) ((void)0)
#endif

#endif
