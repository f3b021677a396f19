/* The log of a disk: what os.h's recorder and SQLite's file system tell, as one list in its order. */
#include "support/check.h"
#include "support/library_posix_power.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/os_fault.h"
#include "support/library_vfs.h"

#define HANDLES_MAX 64

/* An open file that is written to: a descriptor of os.h, or a file of SQLite's. */
typedef struct handle {
    const void *key;
    int node; /* ELSEWHERE: not below the root */
    char path[1024];
} handle;

#define ELSEWHERE (-2)

static struct recording {
    power_log *log;  /* NULL: none */
    power_names now;
    handle handles[HANDLES_MAX];
    char kept[1200]; /* a second name given to a file whose removal has not been told yet; "": none */
    pthread_mutex_t lock;
} recording = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- steps ---- */

static char *copy_text(const char *text)
{
    char *copy = text == NULL ? NULL : strdup(text);
    assert_true(text == NULL || copy != NULL);
    return copy;
}

static void add_step(power_step step)
{
    power_log *log = recording.log;
    if (log->count == log->capacity) {
        log->capacity = log->capacity == 0 ? 256 : 2 * log->capacity;
        log->steps = realloc(log->steps, log->capacity * sizeof *log->steps);
        assert_non_null(log->steps);
    }
    step.path = copy_text(step.path);
    step.to = copy_text(step.to);
    if (step.bytes != NULL) {
        uint8_t *bytes = malloc(step.size + 1);
        assert_non_null(bytes);
        memcpy(bytes, step.bytes, step.size);
        step.bytes = bytes;
    }
    log->steps[log->count++] = step;
}

static int add_node(power_log *log, bool folder)
{
    if (log->node_count == log->node_capacity) {
        log->node_capacity = log->node_capacity == 0 ? 64 : 2 * log->node_capacity;
        log->nodes = realloc(log->nodes, log->node_capacity * sizeof *log->nodes);
        assert_non_null(log->nodes);
    }
    log->nodes[log->node_count] = (power_node){.folder = folder};
    return (int)log->node_count++;
}

static bool ends_with(const char *text, const char *end)
{
    size_t size = strlen(text), end_size = strlen(end);
    return size >= end_size && strcmp(text + size - end_size, end) == 0;
}

static bool is_ours(const char *path)
{
    size_t size = strlen(recording.log->root);
    return strncmp(path, recording.log->root, size) == 0 && (path[size] == '/' || path[size] == '\0') &&
           !ends_with(path, "-shm");
}

/* ---- handles ---- */

static handle *find_handle(const void *key)
{
    for (size_t i = 0; i < HANDLES_MAX; i++)
        if (recording.handles[i].key == key)
            return &recording.handles[i];
    return NULL;
}

/* A file was opened: the name may be new. */
static void open_handle(const void *key, const char *path, bool sqlite)
{
    handle *h = find_handle(key);
    if (h == NULL)
        h = find_handle(NULL);
    assert_non_null(h);
    *h = (handle){key, ELSEWHERE, ""};
    if (path == NULL || !is_ours(path))
        return;
    snprintf(h->path, sizeof h->path, "%s", path);
    power_name *name = power_find(&recording.now, path);
    if (name != NULL) {
        h->node = name->node;
        return;
    }
    h->node = add_node(recording.log, false);
    power_add(&recording.now, path, h->node);
    add_step((power_step){.kind = STEP_CREATE, .node = h->node, .path = (char *)(uintptr_t)path, .sqlite = sqlite});
}

static void on_handle(const void *key, power_step step)
{
    handle *h = find_handle(key);
    if (h == NULL)
        fail_msg("something was written to a file whose opening nobody told");
    if (h->node == ELSEWHERE)
        return;
    step.node = h->node;
    step.path = h->path;
    add_step(step);
}

/* ---- names ---- */

static void on_name(step_kind kind, const char *path, bool sqlite)
{
    if (!is_ours(path))
        return;
    char plain[1024];
    snprintf(plain, sizeof plain, "%s", path);
    size_t size = strlen(plain);
    if (size > 1 && plain[size - 1] == '/')
        plain[size - 1] = '\0';
    int node = kind == STEP_MAKE_FOLDER ? add_node(recording.log, true) : 0;
    add_step((power_step){.kind = kind, .node = node, .path = plain, .sqlite = sqlite});
    if (kind == STEP_MAKE_FOLDER)
        power_add(&recording.now, plain, node);
    if (kind == STEP_REMOVE || kind == STEP_REMOVE_FOLDER)
        power_drop(&recording.now, plain);
}

static void on_rename(const char *from, const char *to)
{
    if (!is_ours(from) && !is_ours(to))
        return;
    if (!is_ours(from) || !is_ours(to))
        fail_msg("%s was renamed to %s, over the edge of what is recorded", from, to);
    add_step((power_step){.kind = STEP_RENAME, .path = (char *)(uintptr_t)from, .to = (char *)(uintptr_t)to});
    power_move(&recording.now, from, to);
}

static void sync_folder_of(const char *path)
{
    char folder[1024];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    assert_non_null(slash);
    *slash = '\0';
    on_name(STEP_SYNC_FOLDER, folder, true);
}

/* ---- what is told ---- */

static const void *key_of(const tn_os_file *file)
{
    return (const void *)(uintptr_t)(file->fd + 1);
}

static void on_os_open(const tn_os_call *call)
{
    const void *key = key_of(call->file);
    open_handle(key, call->path, false);
    if ((call->offset & TN_OS_TRUNCATE) != 0)
        on_handle(key, (power_step){.kind = STEP_RESIZE});
}

/* Bytes shared with another file are as good as written. */
static void on_share(const tn_os_call *call)
{
    struct stat st;
    assert_int_equal(fstat(call->other_file->fd, &st), 0);
    uint8_t *bytes = malloc((size_t)st.st_size + 1);
    assert_non_null(bytes);
    assert_int_equal(pread(call->other_file->fd, bytes, (size_t)st.st_size, 0), st.st_size);
    on_handle(key_of(call->file), (power_step){.kind = STEP_WRITE, .size = (uint64_t)st.st_size, .bytes = bytes});
    free(bytes);
}

static void on_attributes(const tn_os_call *call)
{
    struct stat st;
    assert_int_equal(fstat(call->file->fd, &st), 0);
    on_handle(key_of(call->file), (power_step){.kind = STEP_TIME, .time = st.st_mtim});
}

static void on_os_change(const tn_os_call *call)
{
    if (call->operation == TN_OP_OPEN)
        on_os_open(call);
    else if (call->operation == TN_OP_WRITE)
        on_handle(key_of(call->file), (power_step){.kind = STEP_WRITE, .offset = call->offset, .size = call->size,
                                                   .bytes = (uint8_t *)(uintptr_t)call->bytes});
    else if (call->operation == TN_OP_RESIZE)
        on_handle(key_of(call->file), (power_step){.kind = STEP_RESIZE, .size = call->size});
    else if (call->operation == TN_OP_SYNC)
        on_handle(key_of(call->file), (power_step){.kind = STEP_SYNC});
    else if (call->operation == TN_OP_RENAME)
        on_rename(call->path, call->other_path);
    else if (call->operation == TN_OP_REMOVE)
        on_name(STEP_REMOVE, call->path, false);
    else if (call->operation == TN_OP_MAKE_FOLDER)
        on_name(STEP_MAKE_FOLDER, call->path, false);
    else if (call->operation == TN_OP_REMOVE_FOLDER)
        on_name(STEP_REMOVE_FOLDER, call->path, false);
    else if (call->operation == TN_OP_SYNC_FOLDER)
        on_name(STEP_SYNC_FOLDER, call->path, false);
    else if (call->operation == TN_OP_SHARE_DATA)
        on_share(call);
    else if (call->operation == TN_OP_ATTRIBUTES)
        on_attributes(call);
    else
        fail_msg("the log does not know the operation %s", tn_os_operation_name(call->operation));
}

static void after_os(void *user, const tn_os_call *call)
{
    (void)user;
    pthread_mutex_lock(&recording.lock);
    recording.kept[0] = '\0';
    if (recording.log != NULL)
        on_os_change(call);
    pthread_mutex_unlock(&recording.lock);
}

static void on_vfs_change(const vfs_call *call)
{
    if (call->operation == VFS_OPEN)
        open_handle(call->handle, call->path, true);
    else if (call->operation == VFS_WRITE)
        on_handle(call->handle, (power_step){.kind = STEP_WRITE, .offset = call->offset, .size = call->size,
                                             .bytes = (uint8_t *)(uintptr_t)call->bytes, .sqlite = true});
    else if (call->operation == VFS_TRUNCATE)
        on_handle(call->handle, (power_step){.kind = STEP_RESIZE, .size = call->size, .sqlite = true});
    else if (call->operation == VFS_SYNC)
        on_handle(call->handle, (power_step){.kind = STEP_SYNC, .sqlite = true});
    else if (call->operation == VFS_DELETE)
        on_name(STEP_REMOVE, call->path, true);
    else if (call->operation == VFS_CLOSE && find_handle(call->handle) != NULL)
        find_handle(call->handle)->key = NULL;
    if (call->syncs_folder && call->path != NULL)
        sync_folder_of(call->path);
}

static void after_vfs(void *user, const vfs_call *call)
{
    (void)user;
    pthread_mutex_lock(&recording.lock);
    if (recording.log != NULL)
        on_vfs_change(call);
    pthread_mutex_unlock(&recording.lock);
}

/* ---- files that lose their last name ---- */

/* A second name in the store, so that the file itself stays; and who it was, for disks on which it is still there. */
static void keep_file(power_log *log, const char *path)
{
    struct stat st;
    if (strncmp(path, log->root, strlen(log->root)) != 0 || lstat(path, &st) != 0 || !S_ISREG(st.st_mode) ||
        st.st_nlink > 1)
        return;
    snprintf(recording.kept, sizeof recording.kept, "%s/%llu", log->store, (unsigned long long)st.st_ino);
    if (link(path, recording.kept) != 0)
        recording.kept[0] = '\0';
    power_name *name = recording.log != NULL ? power_find(&recording.now, path) : NULL;
    if (name == NULL)
        return;
    log->nodes[name->node].inode = st.st_ino;
    log->nodes[name->node].mtime = st.st_mtim;
}

static bool is_far(const power_log *log, const char *path)
{
    return log->far[0] != '\0' && strncmp(path, log->far, strlen(log->far)) == 0;
}

/* A call that then fails is told to nobody: what was kept for it is let go before the next one. */
static tn_status before_os(void *user, const tn_os_call *call)
{
    const power_log *log = user;
    if (call->operation == TN_OP_RENAME && is_far(log, call->path) != is_far(log, call->other_path))
        return TN_UNAVAILABLE;
    if (recording.kept[0] != '\0')
        unlink(recording.kept);
    recording.kept[0] = '\0';
    if (call->operation == TN_OP_REMOVE)
        keep_file(user, call->path);
    if (call->operation == TN_OP_RENAME)
        keep_file(user, call->other_path);
    return TN_OK;
}

static void look_like_network(void *user, const char *path, tn_os_info *info)
{
    const power_log *log = user;
    (void)path;
    info->weak_identity = info->weak_identity || log->network;
}

void power_guard(power_log *log)
{
    static tn_os_hooks hooks;
    hooks = (tn_os_hooks){.before = before_os, .after = after_os, .alter_info = look_like_network, .user = log};
    tn_os_set_hooks(log != NULL ? &hooks : NULL);
}

/* ---- the disk as it is ---- */

static void read_whole(const char *path, const struct stat *st, uint8_t **bytes, size_t *size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    *size = (size_t)st->st_size;
    *bytes = malloc(*size + 1);
    assert_non_null(*bytes);
    assert_int_equal(pread(fd, *bytes, *size, 0), (ssize_t)*size);
    close(fd);
}

static int node_of_inode(const power_log *log, ino_t inode)
{
    for (size_t i = 0; i < log->node_count; i++)
        if (log->nodes[i].inode == inode)
            return (int)i;
    return -1;
}

static void each_entry(power_log *log, const char *folder, void (*each)(power_log *log, const char *path, const struct stat *st))
{
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 || ends_with(entry->d_name, "-shm"))
            continue;
        char path[2048];
        struct stat st;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        assert_int_equal(lstat(path, &st), 0);
        each(log, path, &st);
        if (S_ISDIR(st.st_mode))
            each_entry(log, path, each);
    }
    closedir(dir);
}

static void take_entry(power_log *log, const char *path, const struct stat *st)
{
    assert_true(S_ISDIR(st->st_mode) || S_ISREG(st->st_mode));
    int node = node_of_inode(log, st->st_ino);
    if (node < 0) {
        node = add_node(log, S_ISDIR(st->st_mode));
        log->nodes[node].inode = st->st_ino;
        log->nodes[node].mtime = st->st_mtim;
        if (S_ISREG(st->st_mode))
            read_whole(path, st, &log->nodes[node].bytes, &log->nodes[node].size);
    }
    power_add(&log->names, path, node);
}

/* P1: the disk is what the log adds up to. And who each file is becomes known. */
static void compare_entry(power_log *log, const char *path, const struct stat *st)
{
    power_name *name = power_find(&recording.now, path);
    if (name == NULL)
        fail_msg("%s is there and the log says nothing of it", path);
    power_node *node = &log->nodes[name->node];
    assert_true(S_ISDIR(st->st_mode) == node->folder);
    node->inode = st->st_ino;
    node->mtime = st->st_mtim;
}

static void compare_bytes(power_log *log)
{
    power_cut all = {POWER_STRICT, POWER_ALL, log->count, 0};
    size_t *durable = power_durable(log, POWER_STRICT);
    power_disk disk;
    power_make(log, durable, &all, &disk);
    assert_int_equal(disk.names.count, recording.now.count);
    for (size_t i = 0; i < disk.names.count; i++) {
        power_name *name = &disk.names.items[i];
        struct stat st;
        if (lstat(name->path, &st) != 0)
            fail_msg("%s is not there and the log says that it is", name->path);
        if (log->nodes[name->node].folder)
            continue;
        uint8_t *bytes;
        size_t size;
        read_whole(name->path, &st, &bytes, &size);
        const power_bytes *said = &disk.nodes[name->node];
        if (size != said->size || (size > 0 && memcmp(bytes, said->bytes, size) != 0))
            fail_msg("%s holds other bytes than the log says", name->path);
        free(bytes);
    }
    power_free_disk(&disk);
    free(durable);
}

/* ---- begin and end ---- */

void power_begin(power_log *log, const char *root, const char *store, bool network, const char *far)
{
    static vfs_hooks vfs;
    *log = (power_log){.network = network};
    snprintf(log->root, sizeof log->root, "%s", root);
    snprintf(log->store, sizeof log->store, "%s", store);
    snprintf(log->far, sizeof log->far, "%s", far != NULL ? far : "");
    each_entry(log, root, take_entry);
    power_copy_names(&recording.now, &log->names);
    memset(recording.handles, 0, sizeof recording.handles);
    recording.log = log;
    vfs = (vfs_hooks){.after = after_vfs};
    vfs_set_hooks(&vfs);
    power_guard(log);
}

void power_mark(const char *promise)
{
    if (recording.log != NULL)
        add_step((power_step){.kind = STEP_MARK, .path = (char *)(uintptr_t)promise});
}

void power_end(power_log *log)
{
    power_guard(NULL);
    vfs_set_hooks(NULL);
    recording.log = NULL;
    each_entry(log, log->root, compare_entry);
    compare_bytes(log);
    power_free_names(&recording.now);
}

void power_free(power_log *log)
{
    for (size_t i = 0; i < log->count; i++) {
        free(log->steps[i].path);
        free(log->steps[i].to);
        free(log->steps[i].bytes);
    }
    for (size_t i = 0; i < log->node_count; i++)
        free(log->nodes[i].bytes);
    free(log->steps);
    free(log->nodes);
    power_free_names(&log->names);
    *log = (power_log){0};
}

void power_describe(const power_log *log, size_t step, char *out, size_t size)
{
    static const char *const words[] = {
        [STEP_CREATE] = "create", [STEP_WRITE] = "write", [STEP_RESIZE] = "resize", [STEP_TIME] = "time", [STEP_SYNC] = "sync",
        [STEP_RENAME] = "rename", [STEP_LINK] = "link", [STEP_REMOVE] = "remove",
        [STEP_MAKE_FOLDER] = "make folder", [STEP_REMOVE_FOLDER] = "remove folder",
        [STEP_SYNC_FOLDER] = "sync folder", [STEP_MARK] = "promise",
    };
    const power_step *s = &log->steps[step];
    size_t root = s->kind == STEP_MARK ? 0 : strlen(log->root);
    int used = snprintf(out, size, "%s %s", words[s->kind], s->path + root);
    if (s->to != NULL)
        snprintf(out + used, size - (size_t)used, " -> %s", s->to + root);
    else if (s->kind == STEP_WRITE || s->kind == STEP_RESIZE)
        snprintf(out + used, size - (size_t)used, " [%llu + %llu]", (unsigned long long)s->offset,
                 (unsigned long long)s->size);
}
