/* Time, randomness, environment and child processes on POSIX. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

#include "os/os_posix.h"

extern char **environ;

/* ---- time ---- */

uint64_t tn_os_monotonic_ns(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int64_t tn_os_wall_ns(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void tn_os_sleep_ms(unsigned ms)
{
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

/* ---- randomness ---- */

static bool random_from_system(unsigned char *bytes, size_t size)
{
    while (size > 0) {
        size_t part = size < 256 ? size : 256; /* the most getentropy gives at once */
        if (getentropy(bytes, part) != 0)
            return false;
        bytes += part;
        size -= part;
    }
    return true;
}

void tn_os_random(void *bytes, size_t size)
{
    if (!random_from_system(bytes, size))
        tn_os_random_by_clock(bytes, size);
}

/* ---- this process ---- */

/* Asked at the head of every call, so it is kept; a forked child forgets it. 0: not known. */
static _Atomic uint64_t own_id;

static void forget_id(void)
{
    atomic_store_explicit(&own_id, 0, memory_order_relaxed);
}

/* Whether forget_id could be set up for children; without that nothing is kept. */
static bool watched;
static pthread_once_t watched_once = PTHREAD_ONCE_INIT;

static void watch_forks(void)
{
    watched = pthread_atfork(NULL, NULL, forget_id) == 0;
}

uint64_t tn_os_process_id(void)
{
    uint64_t id = atomic_load_explicit(&own_id, memory_order_relaxed);
    if (id != 0)
        return id;
    pthread_once(&watched_once, watch_forks);
    id = (uint64_t)getpid();
    if (watched)
        atomic_store_explicit(&own_id, id, memory_order_relaxed);
    return id;
}

bool tn_os_environment(const char *name, tn_buffer *out)
{
    const char *value = getenv(name);
    if (value == NULL)
        return false;
    tn_buffer_text(out, value);
    return true;
}

tn_status tn_os_program_path(tn_buffer *out, tn_error *err)
{
    TN_TRY(tn_os_before((tn_os_call){.operation = TN_OP_PATH}, err));
    char path[TN_OS_POSIX_PATH_MAX];
#ifdef __APPLE__
    uint32_t room = sizeof path;
    if (_NSGetExecutablePath(path, &room) != 0)
        return tn_os_fail_errno(err, ENAMETOOLONG, "_NSGetExecutablePath", NULL);
    tn_buffer_text(out, path);
#else
    ssize_t size = readlink("/proc/self/exe", path, sizeof path);
    if (size < 0)
        return tn_os_fail_errno(err, errno, "readlink", "/proc/self/exe");
    if ((size_t)size == sizeof path)
        return tn_os_fail_errno(err, ENAMETOOLONG, "readlink", "/proc/self/exe");
    tn_buffer_append(out, path, (size_t)size);
#endif
    return tn_buffer_status(out, err);
}

void tn_os_die_killed(void)
{
    for (;;)
        kill(getpid(), SIGKILL);
}

void tn_os_die_crashed(void)
{
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
    abort();
}

/* ---- children ---- */

static tn_os_exit classify(int status)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGTRAP};
    if (WIFEXITED(status))
        return (tn_os_exit){.code = WEXITSTATUS(status)};
    int number = WTERMSIG(status);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        if (faults[i] == number)
            return (tn_os_exit){.by_itself_dead = true, .code = number};
    }
    return (tn_os_exit){.killed = true, .code = number};
}

/* The child's three streams lead nowhere. Nothing else is inherited: every descriptor of ours closes at exec. */
static int set_streams(posix_spawn_file_actions_t *actions)
{
    int number = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
    for (int fd = 1; number == 0 && fd <= 2; fd++)
        number = posix_spawn_file_actions_addopen(actions, fd, "/dev/null", O_WRONLY, 0);
    return number;
}

/* The child begins with no signal blocked and none handled, whatever thread started it. */
static int set_signals(posix_spawnattr_t *attributes)
{
    sigset_t none;
    sigset_t defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGINT);
    sigaddset(&defaults, SIGTERM);
    sigaddset(&defaults, SIGPIPE);
    posix_spawnattr_setsigmask(attributes, &none);
    posix_spawnattr_setsigdefault(attributes, &defaults);
    return posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

static int spawn(const char *const *argv, pid_t *out)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int number = posix_spawn_file_actions_init(&actions);
    if (number != 0)
        return number;
    number = posix_spawnattr_init(&attributes);
    if (number != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return number;
    }
    number = set_streams(&actions);
    if (number == 0)
        number = set_signals(&attributes);
    /* argv is not written to; POSIX's type is older than const. */
    if (number == 0)
        number = posix_spawn(out, argv[0], &actions, &attributes, (char *const *)argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return number;
}

tn_status tn_os_run(const char *const *argv, tn_os_exit *out, tn_error *err)
{
    TN_TRY(tn_os_before((tn_os_call){.operation = TN_OP_RUN, .path = argv[0]}, err));
    pid_t child;
    int number = spawn(argv, &child);
    if (number != 0)
        return tn_os_fail_errno(err, number, "posix_spawn", argv[0]);
    int status;
    pid_t answer;
    do
        answer = waitpid(child, &status, 0);
    while (answer < 0 && errno == EINTR);
    if (answer < 0)
        return tn_os_fail_errno(err, errno, "waitpid", argv[0]);
    *out = classify(status);
    return TN_OK;
}
