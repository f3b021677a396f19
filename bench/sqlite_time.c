/* Says on stderr, when the program ends, how long it was inside SQLite: CPU and wall time of the calls that do work.
 *
 * Loaded with LD_PRELOAD. Calls inside calls (SQLite's own, callbacks) count once. Binding and reading columns are not
 * measured: measuring would cost more than they do. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include <sqlite3.h>

static atomic_ullong cpu_ns, wall_ns, calls;
static _Thread_local int depth;

static unsigned long long clock_ns(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (unsigned long long)now.tv_sec * 1000000000u + (unsigned long long)now.tv_nsec;
}

typedef struct span {
    unsigned long long cpu, wall;
} span;

static span enter(void)
{
    span begun = {0, 0};
    if (depth++ == 0)
        begun = (span){clock_ns(CLOCK_THREAD_CPUTIME_ID), clock_ns(CLOCK_MONOTONIC)};
    return begun;
}

static void leave(span begun)
{
    if (--depth)
        return;
    cpu_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun.cpu;
    wall_ns += clock_ns(CLOCK_MONOTONIC) - begun.wall;
    calls++;
}

/* The real function behind a name, looked up once. */
#define REAL(name)                                                                                                     \
    static __typeof__(name) *real;                                                                                     \
    if (!real)                                                                                                         \
        *(void **)&real = dlsym(RTLD_NEXT, #name)

#define MEASURED(name, parameters, arguments)                                                                          \
    int name parameters                                                                                                \
    {                                                                                                                  \
        REAL(name);                                                                                                    \
        span begun = enter();                                                                                          \
        int code = real arguments;                                                                                     \
        leave(begun);                                                                                                  \
        return code;                                                                                                   \
    }

MEASURED(sqlite3_step, (sqlite3_stmt * s), (s))
MEASURED(sqlite3_reset, (sqlite3_stmt * s), (s))
MEASURED(sqlite3_finalize, (sqlite3_stmt * s), (s))
MEASURED(sqlite3_exec, (sqlite3 * db, const char *sql, int (*each)(void *, int, char **, char **), void *user, char **err),
         (db, sql, each, user, err))
MEASURED(sqlite3_open_v2, (const char *name, sqlite3 **db, int flags, const char *vfs), (name, db, flags, vfs))
MEASURED(sqlite3_close, (sqlite3 * db), (db))
MEASURED(sqlite3_close_v2, (sqlite3 * db), (db))
MEASURED(sqlite3_prepare_v2, (sqlite3 * db, const char *sql, int size, sqlite3_stmt **out, const char **tail),
         (db, sql, size, out, tail))
MEASURED(sqlite3_prepare_v3,
         (sqlite3 * db, const char *sql, int size, unsigned flags, sqlite3_stmt **out, const char **tail),
         (db, sql, size, flags, out, tail))
MEASURED(sqlite3_wal_checkpoint_v2, (sqlite3 * db, const char *name, int mode, int *log, int *done),
         (db, name, mode, log, done))

__attribute__((destructor)) static void say(void)
{
    fprintf(stderr, "sqlite_time: cpu_ns=%llu wall_ns=%llu calls=%llu\n", cpu_ns, wall_ns, calls);
}
