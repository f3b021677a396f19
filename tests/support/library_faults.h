/* Fault loops over a library: what can be made to fail, a context of its own for each run, and the bytes of the library
 * that each run begins with. */
#ifndef TN_TESTS_SUPPORT_LIBRARY_FAULTS_H
#define TN_TESTS_SUPPORT_LIBRARY_FAULTS_H

#include "support/library.h"

#include <sqlite3.h>

#include "support/faults.h"

/* SQLITE_MEMORY: an allocation of SQLite's (after sqlite_memory_may_fail). The last three need support/library_vfs.h. A
 * call of SQLite's that changes a disk, opens a file or flushes one; one that reads; a write, of which half is done, for
 * the disk is full. */
typedef enum kind { OUR_MEMORY, SYSTEM_CALLS, SQLITE_MEMORY, SQLITE_DISK, SQLITE_READS, SQLITE_SPACE } kind;

/* ---- SQLite's memory ---- */

static bool sqlite_counts;
static sqlite3_mem_methods sqlite_system;

static inline void *failing_sqlite_malloc(int size)
{
    return sqlite_counts && must_fail() ? NULL : sqlite_system.xMalloc(size);
}

static inline void *failing_sqlite_realloc(void *block, int size)
{
    return sqlite_counts && must_fail() ? NULL : sqlite_system.xRealloc(block, size);
}

/* Before SQLite is used at all. False when it cannot be arranged. */
static inline bool sqlite_memory_may_fail(void)
{
    sqlite3_mem_methods failing;
    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &sqlite_system);
    failing = sqlite_system;
    failing.xMalloc = failing_sqlite_malloc;
    failing.xRealloc = failing_sqlite_realloc;
    return sqlite3_config(SQLITE_CONFIG_MALLOC, &failing) == SQLITE_OK;
}

/* ---- one run ---- */

/* NULL when its own making failed. */
static inline tn_context *fault_context(bool failing)
{
    tn_context *made = NULL;
    tn_context_options options = TN_CONTEXT_OPTIONS_INIT;
    options.memory_limit_bytes = 64u << 20;
    options.jobs = 1;
    if (failing)
        options.allocator.resize = failing_resize;
    return tn_context_create(&options, &made, NULL) == TN_OK ? made : NULL;
}

/* Nothing is held any more. */
static inline void fault_context_end(tn_context *own)
{
    assert_int_equal(tn_context_memory(own).used_bytes, 0);
    tn_context_destroy(own);
}

static inline void with_fault(kind what, void (*work)(tn_context *own))
{
    const tn_os_hooks hooks = {.before = failing_call};
    tn_context *own = fault_context(what == OUR_MEMORY);
    if (own == NULL)
        return;
    sqlite_counts = what == SQLITE_MEMORY;
    if (what == SYSTEM_CALLS)
        tn_os_set_hooks(&hooks);
    work(own);
    tn_os_set_hooks(NULL);
    sqlite_counts = false;
    fault_context_end(own);
}

/* Every fault, once and for good. */
static inline void fault_loop(const char *said, kind what, void (*run)(void *user))
{
    each_fault(said, false, run, &what);
    each_fault(said, true, run, &what);
}

/* ---- what a run begins with ---- */

typedef struct library_bytes {
    char bytes[4 << 20];
    size_t size;
} library_bytes;

/* The library of that name, closed before. */
static inline void library_keep(library_bytes *out)
{
    tn_os_file file;
    assert_int_equal(tn_os_open(at("library.db"), TN_OS_READ, &file, NULL), TN_OK);
    assert_int_equal(tn_os_read(&file, 0, out->bytes, sizeof out->bytes, &out->size, NULL), TN_OK);
    tn_os_close(&file);
    assert_in_range(out->size, 4096, sizeof out->bytes - 1);
}

static inline void library_put_back(const library_bytes *kept)
{
    library_remove("library.db");
    put_file(at("library.db"), kept->bytes, kept->size);
}

/* A setup in memory where the system has such a place: a thousand libraries are made, and none need outlive a power cut. */
static inline int library_setup_in_memory(void)
{
    tn_os_info info;
    bool memory = tn_os_info_at("/dev/shm", true, &info, NULL) == TN_OK && info.kind == TN_OS_FOLDER;
    if (memory && library_setup_in("/dev/shm") == 0)
        return 0;
    return library_setup_in(NULL);
}

#endif
