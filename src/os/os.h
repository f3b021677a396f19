/* The operating system, one contract for POSIX (os_posix*.c) and Windows (os_win32*.c).
 *
 * Paths are `const char *`: bytes on POSIX, WTF-8 on Windows (turned into \\?\ UTF-16 at this edge, so that long,
 * reserved and odd names work). Files are opened so that others may rename and delete them. Open first, then ask the
 * handle: no decision is taken on a path that is opened later. Every call that fails fills `err` with a status, a
 * sentence, and the path. No call here allocates under a budget except where a tn_memory_source is passed.
 * Interrupted calls are repeated; short transfers are continued.
 */
#ifndef TN_OS_OS_H
#define TN_OS_OS_H

#include "core/error.h"
#include "core/memory.h"
#include "core/buffer.h"

/* Whether a number that the system gave to others for a failure (errno; on Windows that of GetLastError) says that a disk
 * or a quota is full. */
bool tn_os_means_full(int number);

/* ---- files ---- */

typedef struct tn_os_file {
#ifdef _WIN32
    void *handle;
#else
    int fd;
#endif
    bool open;
} tn_os_file;

typedef enum tn_os_kind { TN_OS_REGULAR, TN_OS_FOLDER, TN_OS_LINK, TN_OS_OTHER } tn_os_kind;

/* Who a file is, and what was last known of its contents. */
typedef struct tn_os_info {
    tn_os_kind kind;
    uint64_t size;
    int64_t mtime_ns;      /* Unix epoch */
    uint64_t device;       /* st_dev; volume serial number */
    uint64_t file_id[2];   /* st_ino, 0; or the 128-bit FILE_ID_INFO */
    uint64_t links;
    uint64_t stored_bytes; /* what it takes on the disk: less than size when it has holes */
    bool placeholder;      /* its data is in a cloud; reading would fetch it */
    bool scant_maps;       /* here a full disk takes away pages of a map that have space in the file: a write to one may end
                            * the process (blocks smaller than pages; file systems that write to another place) */
    bool weak_identity;    /* file id or sub-2-second times are not to be trusted here (FAT, SMB, NFS, FUSE, 9p) */
} tn_os_info;

typedef enum tn_os_open_flags {
    TN_OS_READ = 1,
    TN_OS_WRITE = 2,     /* and read */
    TN_OS_CREATE = 4,    /* make it when it is not there */
    TN_OS_EXCLUSIVE = 8, /* with CREATE: TN_EXISTS when it is there */
    TN_OS_TRUNCATE = 16,
    TN_OS_NO_FOLLOW = 32, /* a link as the last component is TN_UNSAFE_PATH */
    TN_OS_PRIVATE = 64    /* with CREATE: readable by this user only */
} tn_os_open_flags;

/* Opening a folder for reading gives TN_NOT_A_FILE; sockets, pipes and devices too, without blocking. */
tn_status tn_os_open(const char *path, unsigned flags, tn_os_file *out, tn_error *err);
void tn_os_close(tn_os_file *file); /* NULL and never-opened accepted */
tn_status tn_os_info_of(const tn_os_file *file, tn_os_info *out, tn_error *err);
/* Only what changes when a file is written: its size and time, in one cheap question. */
tn_status tn_os_stamp_of(const tn_os_file *file, uint64_t *size, int64_t *mtime_ns, tn_error *err);
/* Ask about a path: only to look (scans, messages), never to decide about a file that is opened afterwards. */
tn_status tn_os_info_at(const char *path, bool follow, tn_os_info *out, tn_error *err);
/* Read up to `size` bytes at `offset`; *got < size only at the end of the file. */
tn_status tn_os_read(const tn_os_file *file, uint64_t offset, void *bytes, size_t size, size_t *got, tn_error *err);
tn_status tn_os_write(const tn_os_file *file, uint64_t offset, const void *bytes, size_t size, tn_error *err);
tn_status tn_os_resize(const tn_os_file *file, uint64_t size, tn_error *err);
tn_status tn_os_sync(const tn_os_file *file, tn_error *err);

/* ---- the disk under a file, and reading it as that disk likes ---- */

typedef enum tn_os_disk {
    TN_OS_DISK_UNKNOWN,    /* treated as one that does not seek */
    TN_OS_DISK_SOLID,
    TN_OS_DISK_ROTATIONAL, /* two readers make it seek */
    TN_OS_DISK_NETWORK
} tn_os_disk;
/* What the file lies on. Never fails. A virtual machine's disk does not say what is below it, nor does one file system
 * over several disks: unknown. */
tn_os_disk tn_os_disk_of(const tn_os_file *file);

#define TN_OS_DIRECT_ALIGN ((size_t)4096)
/* A second handle on an open file, whose reads go past the system's cache straight into memory that offset, size and
 * address are multiples of TN_OS_DIRECT_ALIGN of. TN_UNSUPPORTED where there is none; a read of it may fail where
 * another would not, and is then to be done in the ordinary way. */
tn_status tn_os_open_direct(const tn_os_file *file, tn_os_file *out, tn_error *err);
/* Whether all these bytes of a file are in the system's cache, so that looking at them costs no disk. They begin within the
 * file and end within its last page; the file is not asked about that, for it may lie far away. True where it cannot be
 * told. */
bool tn_os_is_cached(const tn_os_file *file, uint64_t offset, size_t size);
/* Tell that the file is going to be read from its beginning to its end, so that the system reads further ahead. */
void tn_os_read_in_order(const tn_os_file *file);
/* Tell that this memory, aligned to TN_OS_HUGE_BYTES, is better had in huge pages. */
#define TN_OS_HUGE_BYTES ((size_t)2 << 20)
void tn_os_prefer_huge_pages(void *memory, size_t size);

/* One of several places that a read fills, one after the other. */
typedef struct tn_os_piece {
    void *bytes;
    size_t size;
} tn_os_piece;
/* Read a run of the file at `offset` into `count` places (at most TN_OS_PIECES_MAX); *got is less than all of them
 * together only at the end of the file. */
#define TN_OS_PIECES_MAX 64
tn_status tn_os_read_pieces(const tn_os_file *file, uint64_t offset, const tn_os_piece *pieces, size_t count,
                            size_t *got, tn_error *err);
/* Read a run, and leave the system's cache as it was: what was not in it before does not stay in it. Where the cache
 * cannot be asked this is tn_os_read_pieces. At most TN_OS_BEHIND_MAX bytes. */
#define TN_OS_BEHIND_MAX ((size_t)16 << 20)
tn_status tn_os_read_behind(const tn_os_file *file, uint64_t offset, const tn_os_piece *pieces, size_t count,
                            size_t *got, tn_error *err);

/* ---- memory in whole pages ---- */

/* `size` bytes, cleared, at a multiple of TN_OS_HUGE_BYTES when that many are asked for (of a page otherwise), in huge
 * pages where the system gives them. TN_NO_MEMORY. */
tn_status tn_os_pages_take(size_t size, void **out, tn_error *err);
void tn_os_pages_give(void *pages, size_t size);
/* Their contents are needed no more: until they are written again the system may take the memory behind them. */
void tn_os_pages_offer(void *pages, size_t size);

/* ---- names and folders ---- */

tn_status tn_os_make_folder(const char *path, tn_error *err); /* TN_EXISTS when there; parents must be */
tn_status tn_os_make_folders(const char *path, tn_error *err); /* with parents, names flushed; TN_OK when there */
tn_status tn_os_remove(const char *path, tn_error *err);       /* a file or a link, never a folder */
tn_status tn_os_remove_folder(const char *path, tn_error *err); /* an empty one */
/* Rename within one file system (across: TN_UNAVAILABLE). `replace` false: TN_EXISTS when `to` is there, without a race where the system can. */
tn_status tn_os_rename(const char *from, const char *to, bool replace, tn_error *err);
tn_status tn_os_sync_folder(const char *path, tn_error *err); /* TN_OK where the system has no such thing */
/* The same for the folder that `path` is in. One that may be written to but not looked into cannot be, and is passed over. */
tn_status tn_os_sync_above(const char *path, tn_error *err);
/* A finished and flushed file gets the name of another, which may be open and keeps its bytes for who has it open. On
 * Windows, where such a file cannot be replaced: old aside, new in, old away, as below. The folder is not flushed. */
tn_status tn_os_put_in_place(const char *temporary, const char *path, tn_error *err);
/* A whole file put in place of another, or not at all: temporary beside it, write, flush, rename, flush the folder
 * (Windows: old aside, new in, old away; a crash between leaves one of them under its name or `path`.tn-old). A link
 * of that name gives way to the file; where it leads to is left alone. */
tn_status tn_os_replace_file(const char *path, const void *bytes, size_t size, tn_error *err);
/* The path with links, "." and ".." resolved, appended to `out`. The file must be there. */
tn_status tn_os_real_path(const char *path, tn_buffer *out, tn_error *err);
/* The path made absolute against the working folder, "." and ".." and doubled separators taken out textually,
 * appended to `out`; links are kept and nothing is asked of the disk. */
tn_status tn_os_absolute_path(const char *path, tn_buffer *out, tn_error *err);

/* ---- copying, space, links ---- */

/* Let an empty file have all bytes of another, shared until one of them is written to (a reflink). TN_UNAVAILABLE where
 * the file system cannot; the file is empty then. */
tn_status tn_os_share_data(const tn_os_file *from, const tn_os_file *to, tn_error *err);
/* The next run of data from `offset` on: what lies between is a hole and reads as zeros. *begin == *end: there is none up
 * to the end of the file. Where the system cannot tell, all is data. */
tn_status tn_os_next_data(const tn_os_file *file, uint64_t offset, uint64_t *begin, uint64_t *end, tn_error *err);
/* Give `to` the time of the last change and, on POSIX, the permissions of `from`. Permissions that the file system does
 * not keep are passed over. */
tn_status tn_os_keep_attributes(const tn_os_file *from, const tn_os_file *to, tn_error *err);
/* Ask the system to forget what it holds in memory of a flushed file, so that the next read is of the disk. Only Linux can
 * be asked; elsewhere, and on file systems that live in memory, nothing happens. */
void tn_os_forget_cached(const tn_os_file *file);
/* How many bytes this user may still write in the folder `path`. */
tn_status tn_os_space(const char *path, uint64_t *bytes, tn_error *err);
/* What is written in a link, appended; and a new one. On Windows TN_UNAVAILABLE. */
tn_status tn_os_read_link(const char *path, tn_buffer *out, tn_error *err);
tn_status tn_os_make_link(const char *path, const char *leads_to, tn_error *err);

/* ---- the trash (freedesktop trash specification 1.0; the recycle bin) ---- */

/* Choose where `path` (absolute) would lie in the trash of its own disk, and make the note that says where it came from:
 * `item` and `note` become their paths. Nothing is moved. On Windows, where the system chooses, both stay
 * empty. TN_UNAVAILABLE when this disk has no trash that may be used: nothing is ever copied to another disk. */
tn_status tn_os_trash_reserve(const char *path, tn_buffer *item, tn_buffer *note, tn_error *err);
/* Move `path` there. On Windows `item` and `note` are told now; they stay empty when the bin does not tell. */
tn_status tn_os_trash_put(const char *path, tn_buffer *item, tn_buffer *note, tn_error *err);
/* Take a note away, of a place that was not used or is used no more. */
tn_status tn_os_trash_forget(const char *note, tn_error *err);

/* Walking one folder. Entries come in the system's order, without "." and "..". */
typedef struct tn_os_folder tn_os_folder;
typedef struct tn_os_entry {
    const char *name;   /* valid until the next entry */
    tn_os_kind kind;    /* of the entry itself: a link is TN_OS_LINK */
} tn_os_entry;
tn_status tn_os_folder_open(tn_memory_source *memory, const char *path, tn_os_folder **out, tn_error *err);
/* TN_OK with *more false at the end. After an error the walk has ended. */
tn_status tn_os_folder_next(tn_os_folder *folder, tn_os_entry *out, bool *more, tn_error *err);
void tn_os_folder_close(tn_os_folder *folder); /* NULL accepted */

/* ---- watching folders ---- */

/* Told when something in the folders, or below them, was made, written and closed, renamed or removed. What it was is
 * not told: the caller looks. Links are not followed. One thread. */
typedef struct tn_os_watch tn_os_watch;
/* TN_UNAVAILABLE: this system, or its limits, cannot; the caller looks from time to time instead. Network file systems
 * may tell nothing of what other machines do. */
tn_status tn_os_watch_open(tn_memory_source *memory, const char *const *folders, size_t count, tn_os_watch **out,
                           tn_error *err);
/* Wait at most timeout_ms. *changed false: nothing was told (a signal may have ended the wait early). */
tn_status tn_os_watch_wait(tn_os_watch *watch, unsigned timeout_ms, bool *changed, tn_error *err);
void tn_os_watch_close(tn_os_watch *watch); /* NULL accepted */

/* ---- read-only windows on a file (never writable, never copy-on-write) ---- */

typedef struct tn_os_window {
    const uint8_t *bytes; /* the byte at the offset asked for */
    size_t size;
    void *base; /* the mapping itself, aligned */
    size_t base_size;
} tn_os_window;
/* Map `size` bytes at any `offset`. The window must end within the file (TN_TRUNCATED). */
tn_status tn_os_window_open(const tn_os_file *file, uint64_t offset, size_t size, tn_os_window *out, tn_error *err);
void tn_os_window_close(tn_os_window *window);
/* Whether tn_os_guarded works: in a program that has called tn_os_begin_program, and still is the one that is asked about
 * faults, on POSIX. On Windows an open window keeps others from shortening or removing the file, so none is offered. */
bool tn_os_can_guard(void);
/* Run `work(user)`, which reads the window and leaves nothing that would have to be undone. False: a byte of the window
 * could not be had (the file was shortened, its disk failed) and `work` ended there, or it cannot be guarded at all. */
bool tn_os_guarded(const tn_os_window *window, void (*work)(void *user), void *user);

/* ---- locks between processes: the system lets go when the process dies ---- */

/* Try to lock byte `slot` of an open, writable file, for this handle alone (not shared, not waiting). TN_BUSY when
 * another process, or another handle of this one, has it. */
tn_status tn_os_lock(const tn_os_file *file, uint64_t slot, tn_error *err);
void tn_os_unlock(const tn_os_file *file, uint64_t slot);

/* ---- threads ---- */

typedef struct tn_os_mutex tn_os_mutex;
typedef struct tn_os_condition tn_os_condition;
typedef struct tn_os_thread tn_os_thread;
tn_status tn_os_mutex_create(tn_memory_source *memory, tn_os_mutex **out, tn_error *err);
void tn_os_mutex_destroy(tn_os_mutex *mutex); /* NULL accepted */
void tn_os_mutex_lock(tn_os_mutex *mutex);
void tn_os_mutex_unlock(tn_os_mutex *mutex);
tn_status tn_os_condition_create(tn_memory_source *memory, tn_os_condition **out, tn_error *err);
void tn_os_condition_destroy(tn_os_condition *condition);
void tn_os_condition_wait(tn_os_condition *condition, tn_os_mutex *mutex);
void tn_os_condition_wake_all(tn_os_condition *condition);
tn_status tn_os_thread_start(tn_memory_source *memory, void (*run)(void *), void *argument, tn_os_thread **out,
                             tn_error *err);
void tn_os_thread_join(tn_os_thread *thread); /* and free it; NULL accepted */
unsigned tn_os_cores(void);
bool tn_os_has_arm_sha256(void); /* the instructions of ARMv8's cryptography extension; false on other processors */

/* ---- time, randomness, environment, process ---- */

uint64_t tn_os_monotonic_ns(void);
int64_t tn_os_wall_ns(void); /* Unix epoch */
void tn_os_sleep_ms(unsigned ms);
void tn_os_random(void *bytes, size_t size); /* seeds and temporary names; never fails */
uint64_t tn_os_process_id(void);
/* The value as UTF-8 appended to `out`; false when unset. */
bool tn_os_environment(const char *name, tn_buffer *out);
/* The running program's own path, appended to `out`. */
tn_status tn_os_program_path(tn_buffer *out, tn_error *err);

/* The first call of a program of ours, not of the library: from here on an abort() ends it as a fault of its own, which
 * tn_os_run tells as one, and no window asks the user about a fault or an empty drive (POSIX does both by itself); and a
 * fault at a window's bytes is asked about by tn_os_guarded. No other program's faults are meddled with. */
void tn_os_begin_program(void);

/* How a child ended. An abort() on Windows is an exit with code 3 unless the child has called tn_os_begin_program. */
typedef struct tn_os_exit {
    bool by_itself_dead; /* a fault of its own: SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGTRAP; 0xC0000xxx */
    bool killed;         /* from outside: SIGKILL, SIGTERM, SIGINT, ... */
    int code;            /* exit code, or the signal's number, or the NTSTATUS */
} tn_os_exit;
/* Run a program to its end with the given arguments (argv[0] is the program; NULL ends), stdin and stdout from/to the
 * null device, stderr too. No shell. */
tn_status tn_os_run(const char *const *argv, tn_os_exit *out, tn_error *err);

/* The terminal on stdout (1) or stderr (2): is it one, and how wide (80 when unknown). On Windows this also turns on
 * UTF-8 output and escape sequences. */
bool tn_os_is_terminal(int stream);
unsigned tn_os_terminal_columns(int stream);
/* Call `handler` once at the first Ctrl-C (SIGINT, SIGTERM, CTRL_C_EVENT); a second one ends the process with 130.
 * The handler runs in a signal context: it may only set flags. */
void tn_os_on_interrupt(void (*handler)(void *), void *user);

/* ---- what this machine allows ---- */

/* Bytes; TN_NONE where the system sets no such limit. */
typedef struct tn_os_limits {
    uint64_t ram_available;    /* MemAvailable; ullAvailPhys */
    uint64_t cgroup_left;      /* v1 or v2: the least of limit - usage up the tree, file cache not counted as usage; a
                                  Windows job: its limit - our commit */
    uint64_t address_left;     /* RLIMIT_AS - VmSize; ullAvailVirtual */
    uint64_t data_left;        /* RLIMIT_DATA - VmData */
    uint64_t commit_left;      /* Windows: ullAvailPageFile; Linux with overcommit_memory=2: CommitLimit - Committed_AS */
    uint64_t open_files;       /* RLIMIT_NOFILE */
} tn_os_limits;
tn_os_limits tn_os_limits_now(void);
/* The least of the memory limits above. */
uint64_t tn_os_memory_left(void);

#endif
