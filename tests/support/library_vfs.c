#include "support/library_vfs.h"

#include <stddef.h>

/* An open file: ours, and behind it in the same block the real one's. */
typedef struct vfs_file {
    sqlite3_file base;
    const char *path; /* SQLite keeps it until the file is closed */
    bool sync_folder; /* the next sync is of the folder too */
} vfs_file;

static sqlite3_vfs vfs, *real;
static const vfs_hooks *hooks;

void vfs_set_hooks(const vfs_hooks *new_hooks)
{
    hooks = new_hooks;
}

int vfs_failure(vfs_operation operation)
{
    static const int codes[VFS_OPERATION_COUNT] = {
        [VFS_OPEN] = SQLITE_CANTOPEN,      [VFS_CLOSE] = SQLITE_IOERR_CLOSE,       [VFS_READ] = SQLITE_IOERR_READ,
        [VFS_WRITE] = SQLITE_IOERR_WRITE,  [VFS_TRUNCATE] = SQLITE_IOERR_TRUNCATE, [VFS_SYNC] = SQLITE_IOERR_FSYNC,
        [VFS_DELETE] = SQLITE_IOERR_DELETE,
    };
    return codes[operation];
}

#define STEP sizeof(max_align_t)
#define OWN_SIZE ((sizeof(vfs_file) + STEP - 1) / STEP * STEP)

static sqlite3_file *behind(vfs_file *file)
{
    return (sqlite3_file *)((char *)file + OWN_SIZE);
}

static int ask(const vfs_call *call)
{
    return hooks != NULL && hooks->before != NULL ? hooks->before(hooks->user, call) : SQLITE_OK;
}

static int tell(int code, const vfs_call *call)
{
    if (code == SQLITE_OK && hooks != NULL && hooks->after != NULL)
        hooks->after(hooks->user, call);
    return code;
}

static vfs_call call_on(vfs_operation operation, const vfs_file *file)
{
    return (vfs_call){.operation = operation, .path = file->path, .handle = file};
}

/* ---- files ---- */

static int close_file(sqlite3_file *base)
{
    vfs_file *file = (vfs_file *)base;
    vfs_call call = call_on(VFS_CLOSE, file);
    return tell(behind(file)->pMethods->xClose(behind(file)), &call);
}

static int read_file(sqlite3_file *base, void *bytes, int size, sqlite3_int64 offset)
{
    vfs_file *file = (vfs_file *)base;
    vfs_call call = call_on(VFS_READ, file);
    int code = ask(&call);
    return code != SQLITE_OK ? code : behind(file)->pMethods->xRead(behind(file), bytes, size, offset);
}

static int write_file(sqlite3_file *base, const void *bytes, int size, sqlite3_int64 offset)
{
    vfs_file *file = (vfs_file *)base;
    sqlite3_file *to = behind(file);
    uint64_t first = 0;
    vfs_call call = call_on(VFS_WRITE, file);
    call.offset = (uint64_t)offset;
    call.size = (uint64_t)size;
    call.bytes = bytes;
    call.write_first = &first;
    int code = ask(&call);
    if (code == SQLITE_OK)
        return tell(to->pMethods->xWrite(to, bytes, size, offset), &call);
    if (first > 0)
        (void)to->pMethods->xWrite(to, bytes, first < (uint64_t)size ? (int)first : size, offset);
    return code;
}

static int truncate_file(sqlite3_file *base, sqlite3_int64 size)
{
    vfs_file *file = (vfs_file *)base;
    vfs_call call = call_on(VFS_TRUNCATE, file);
    call.size = (uint64_t)size;
    int code = ask(&call);
    return code != SQLITE_OK ? code : tell(behind(file)->pMethods->xTruncate(behind(file), size), &call);
}

static int sync_file(sqlite3_file *base, int flags)
{
    vfs_file *file = (vfs_file *)base;
    vfs_call call = call_on(VFS_SYNC, file);
    call.syncs_folder = file->sync_folder;
    int code = ask(&call);
    if (code == SQLITE_OK)
        code = behind(file)->pMethods->xSync(behind(file), flags);
    if (code == SQLITE_OK)
        file->sync_folder = false;
    return tell(code, &call);
}

static int file_size(sqlite3_file *base, sqlite3_int64 *size)
{
    sqlite3_file *file = behind((vfs_file *)base);
    return file->pMethods->xFileSize(file, size);
}

static int lock_file(sqlite3_file *base, int level)
{
    sqlite3_file *file = behind((vfs_file *)base);
    return file->pMethods->xLock(file, level);
}

static int unlock_file(sqlite3_file *base, int level)
{
    sqlite3_file *file = behind((vfs_file *)base);
    return file->pMethods->xUnlock(file, level);
}

static int is_reserved(sqlite3_file *base, int *out)
{
    sqlite3_file *file = behind((vfs_file *)base);
    return file->pMethods->xCheckReservedLock(file, out);
}

static int control_file(sqlite3_file *base, int what, void *argument)
{
    sqlite3_file *file = behind((vfs_file *)base);
    return file->pMethods->xFileControl(file, what, argument);
}

static int sector_size(sqlite3_file *base)
{
    sqlite3_file *file = behind((vfs_file *)base);
    return file->pMethods->xSectorSize(file);
}

static int device_characteristics(sqlite3_file *base)
{
    sqlite3_file *file = behind((vfs_file *)base);
    return file->pMethods->xDeviceCharacteristics(file);
}

static int map_shared(sqlite3_file *base, int page, int size, int extend, void volatile **out)
{
    sqlite3_file *file = behind((vfs_file *)base);
    return file->pMethods->xShmMap(file, page, size, extend, out);
}

static int lock_shared(sqlite3_file *base, int offset, int count, int flags)
{
    sqlite3_file *file = behind((vfs_file *)base);
    return file->pMethods->xShmLock(file, offset, count, flags);
}

static void barrier(sqlite3_file *base)
{
    sqlite3_file *file = behind((vfs_file *)base);
    file->pMethods->xShmBarrier(file);
}

static int unmap_shared(sqlite3_file *base, int delete)
{
    sqlite3_file *file = behind((vfs_file *)base);
    return file->pMethods->xShmUnmap(file, delete);
}

/* A file whose real one has no shared memory (an immutable one) must not seem to have it. */
static const sqlite3_io_methods plain_methods = {
    .iVersion = 1, .xClose = close_file, .xRead = read_file, .xWrite = write_file, .xTruncate = truncate_file,
    .xSync = sync_file, .xFileSize = file_size, .xLock = lock_file, .xUnlock = unlock_file,
    .xCheckReservedLock = is_reserved, .xFileControl = control_file, .xSectorSize = sector_size,
    .xDeviceCharacteristics = device_characteristics,
};

static const sqlite3_io_methods shared_methods = {
    .iVersion = 2, .xClose = close_file, .xRead = read_file, .xWrite = write_file, .xTruncate = truncate_file,
    .xSync = sync_file, .xFileSize = file_size, .xLock = lock_file, .xUnlock = unlock_file,
    .xCheckReservedLock = is_reserved, .xFileControl = control_file, .xSectorSize = sector_size,
    .xDeviceCharacteristics = device_characteristics, .xShmMap = map_shared, .xShmLock = lock_shared,
    .xShmBarrier = barrier, .xShmUnmap = unmap_shared,
};

static const sqlite3_io_methods *methods_for(const sqlite3_io_methods *theirs)
{
    return theirs->iVersion >= 2 && theirs->xShmMap != NULL ? &shared_methods : &plain_methods;
}

/* ---- names ---- */

/* SQLite's POSIX code flushes the folder with the first sync of a journal or log that it may have made. */
static bool is_new_journal(int flags)
{
    const int journals = SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL | SQLITE_OPEN_WAL;
    return (flags & SQLITE_OPEN_CREATE) != 0 && (flags & journals) != 0;
}

static int open_file(sqlite3_vfs *self, const char *path, sqlite3_file *base, int flags, int *out_flags)
{
    (void)self;
    vfs_file *file = (vfs_file *)base;
    *file = (vfs_file){.path = path, .sync_folder = is_new_journal(flags)};
    vfs_call call = call_on(VFS_OPEN, file);
    call.creates = (flags & SQLITE_OPEN_CREATE) != 0;
    int code = ask(&call);
    if (code != SQLITE_OK)
        return code;
    behind(file)->pMethods = NULL;
    code = real->xOpen(real, path, behind(file), flags, out_flags);
    if (behind(file)->pMethods != NULL)
        file->base.pMethods = methods_for(behind(file)->pMethods);
    return tell(code, &call);
}

static int delete_file(sqlite3_vfs *self, const char *path, int sync_folder)
{
    (void)self;
    vfs_call call = {.operation = VFS_DELETE, .path = path, .syncs_folder = sync_folder != 0};
    int code = ask(&call);
    return code != SQLITE_OK ? code : tell(real->xDelete(real, path, sync_folder), &call);
}

static int access_file(sqlite3_vfs *self, const char *path, int flags, int *out)
{
    (void)self;
    return real->xAccess(real, path, flags, out);
}

static int full_path(sqlite3_vfs *self, const char *path, int size, char *out)
{
    (void)self;
    return real->xFullPathname(real, path, size, out);
}

/* ---- the rest ---- */

static int randomness(sqlite3_vfs *self, int size, char *out)
{
    (void)self;
    return real->xRandomness(real, size, out);
}

static int sleep_us(sqlite3_vfs *self, int us)
{
    (void)self;
    return real->xSleep(real, us);
}

static int current_time(sqlite3_vfs *self, double *out)
{
    (void)self;
    return real->xCurrentTime(real, out);
}

static int current_time_64(sqlite3_vfs *self, sqlite3_int64 *out)
{
    (void)self;
    return real->xCurrentTimeInt64(real, out);
}

static int last_error(sqlite3_vfs *self, int size, char *out)
{
    (void)self;
    return real->xGetLastError(real, size, out);
}

int vfs_install(void)
{
    int code = sqlite3_initialize();
    real = sqlite3_vfs_find(NULL);
    if (code != SQLITE_OK || real == NULL)
        return code != SQLITE_OK ? code : SQLITE_ERROR;
    vfs = (sqlite3_vfs){
        .iVersion = 2, .szOsFile = (int)OWN_SIZE + real->szOsFile, .mxPathname = real->mxPathname, .zName = "tenure-test",
        .xOpen = open_file, .xDelete = delete_file, .xAccess = access_file, .xFullPathname = full_path,
        .xRandomness = randomness, .xSleep = sleep_us, .xCurrentTime = current_time, .xGetLastError = last_error,
        .xCurrentTimeInt64 = current_time_64,
    };
    return sqlite3_vfs_register(&vfs, 1);
}
