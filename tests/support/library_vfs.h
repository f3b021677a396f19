/* SQLite's own calls of the system, seen and broken by tests: a file system of SQLite's that hands everything to the one
 * it had before and asks a hook first, as os/os_fault.h does for ours.
 *
 * What it does not see: shared memory files (-shm), which hold nothing that must survive, and reads through maps, which
 * the library does not ask for. */
#ifndef TEST_SUPPORT_LIBRARY_VFS_H
#define TEST_SUPPORT_LIBRARY_VFS_H

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

typedef enum vfs_operation {
    VFS_OPEN, VFS_CLOSE, VFS_READ, VFS_WRITE, VFS_TRUNCATE, VFS_SYNC, VFS_DELETE, VFS_OPERATION_COUNT
} vfs_operation;

typedef struct vfs_call {
    vfs_operation operation;
    const char *path;    /* NULL: a temporary file without a name */
    const void *handle;  /* of an open file; NULL for VFS_DELETE */
    uint64_t offset;
    uint64_t size;       /* a truncation: the new size */
    const void *bytes;   /* what is written */
    bool creates;        /* an open that may make the file */
    bool syncs_folder;   /* a sync or deletion that makes the folder's names durable too */
    uint64_t *write_first; /* before a write only: as many bytes as are to be written before it fails */
} vfs_call;

typedef struct vfs_hooks {
    int (*before)(void *user, const vfs_call *call); /* SQLITE_OK, or the code it fails with; NULL: never fails */
    void (*after)(void *user, const vfs_call *call); /* after each that succeeded, reads left out; NULL: nobody is told */
    void *user;
} vfs_hooks;

/* Make it the one that every connection uses from here on. Once, before the first connection. SQLITE_OK or a code. */
int vfs_install(void);
/* NULL takes the hooks off. Borrowed until then. Only while no other thread uses SQLite. */
void vfs_set_hooks(const vfs_hooks *hooks);
/* The code that a failure of this operation has when the disk fails. */
int vfs_failure(vfs_operation operation);

#endif
