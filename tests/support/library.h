/* What the tests of the library share: a context, small weight files, imports whose events are kept. */
#ifndef TN_TESTS_SUPPORT_LIBRARY_H
#define TN_TESTS_SUPPORT_LIBRARY_H

#include "support/check.h"
#include "support/scratch.h"

#include "library/inside.h"

#define EVENTS_MAX 4096

/* A path below the scratch folder as the library tells it: absolute, in the system's own spelling. Valid until the
 * fourth call after this one. */
static inline const char *spelled(const char *name)
{
    static char paths[4][8192];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    tn_buffer buffer;
    tn_buffer_init(&buffer, &scratch_memory, sizeof paths[0] - 1);
    assert_int_equal(tn_os_absolute_path(at(name), &buffer, NULL), TN_OK);
    memcpy(path, buffer.bytes, buffer.size + 1);
    tn_buffer_free(&buffer);
    return path;
}

/* The events of one import. */
typedef struct told {
    size_t count, fresh, changed, unchanged, relinked;
    int64_t ids[EVENTS_MAX];
} told;

static tn_context *context;

/* A test's setup and teardown: a scratch folder (in `parent`, NULL: where temporary files lie), a context, and at the
 * end a budget back at zero. */
static inline int library_setup_in(const char *parent)
{
    if (scratch_begin_in(parent) != 0)
        return -1;
    tn_context_options options = TN_CONTEXT_OPTIONS_INIT;
    options.memory_limit_bytes = 256u << 20;
    options.jobs = 2;
    return tn_context_create(&options, &context, NULL) == TN_OK ? 0 : -1;
}

static inline int library_setup(void **state)
{
    (void)state;
    return library_setup_in(NULL);
}

static inline int library_teardown(void **state)
{
    uint64_t used = tn_context_memory(context).used_bytes;
    tn_context_destroy(context);
    context = NULL;
    if (used != 0)
        print_error("%llu bytes were not given back\n", (unsigned long long)used);
    return scratch_end(state) == 0 && used == 0 ? 0 : -1;
}

/* The library of a test is "library.db" in its folder; options may be NULL. Fails the test when it does not open. */
static inline tn_library *open_library(const tn_library_options *options)
{
    tn_library *library = NULL;
    tn_error err;
    if (tn_library_open(context, at("library.db"), options, &library, &err) != TN_OK)
        fail_msg("the library does not open: %s", err.message);
    return library;
}

static inline void on_event(void *user, const tn_import_event *event)
{
    told *out = user;
    if (out->count < EVENTS_MAX)
        out->ids[out->count] = event->id;
    out->count++;
    out->fresh += event->fresh;
    out->changed += event->changed;
    out->relinked += event->relinked;
    out->unchanged += event->answer == NULL && !event->fresh && !event->relinked;
}

static inline tn_import_options options_telling(told *out)
{
    tn_import_options options = {.size = sizeof options};
    if (out != NULL) {
        memset(out, 0, sizeof *out);
        options.each = on_event;
        options.user = out;
    }
    return options;
}

/* Import one path (below the scratch folder), keep what is told, and return the summary (to be destroyed). */
static inline tn_import_summary *import_path(tn_library *library, const char *name, told *out)
{
    const char *paths[] = {at(name)};
    tn_import_options options = options_telling(out);
    tn_import_summary *summary = NULL;
    tn_error err;
    if (tn_library_import(library, paths, 1, &options, &summary, &err) != TN_OK)
        fail_msg("the import failed: %s (%s)", err.message, err.file);
    return summary;
}

/* The same, without looking at the summary; fails the test unless it ends with TN_OK. */
static inline void import_quietly(tn_library *library, const char *name, told *out)
{
    tn_import_summary_destroy(import_path(library, name, out));
}

/* The number that a query of one row and one column gives. */
static inline int64_t ask(tn_library *library, const char *sql)
{
    int64_t value = -1;
    tn_error err;
    tn_library_lock(library);
    tn_status status = tn_db_number(&library->db, sql, &value, &err);
    tn_library_unlock(library);
    if (status != TN_OK)
        fail_msg("%s: %s", sql, err.message);
    return value;
}

/* The library is sound by SQLite's checks and ours. */
static inline void assert_verified(tn_library *library)
{
    tn_error err;
    if (tn_library_verify_internal(library, &err) != TN_OK)
        fail_msg("the library is not sound: %s", err.message);
}

/* A safetensors file of one tensor of `rows` x 4 F16, its data a hole of which `missing` bytes are cut off. */
static inline void put_tensor(const char *path, const char *name, unsigned rows, unsigned missing)
{
    char bytes[256];
    int size = snprintf(bytes + 8, sizeof bytes - 8,
                        "{\"%s\":{\"dtype\":\"F16\",\"shape\":[%u,4],\"data_offsets\":[0,%u]}}", name, rows, rows * 8);
    while (size % 8 != 0)
        bytes[8 + size++] = ' ';
    for (int i = 0; i < 8; i++)
        bytes[i] = (char)(i < 2 ? size >> (8 * i) : 0);
    tn_os_file file;
    assert_int_equal(tn_os_open(path, TN_OS_WRITE | TN_OS_CREATE | TN_OS_TRUNCATE, &file, NULL), TN_OK);
    assert_int_equal(tn_os_write(&file, 0, bytes, (size_t)size + 8, NULL), TN_OK);
    assert_int_equal(tn_os_resize(&file, (uint64_t)size + 8 + rows * 8u - missing, NULL), TN_OK);
    tn_os_close(&file);
}

static inline void put_weights(const char *path, unsigned rows)
{
    put_tensor(path, "w", rows, 0);
}

static inline void put_short_weights(const char *path, unsigned rows, unsigned missing)
{
    put_tensor(path, "w", rows, missing);
}

static inline void put_folder(const char *path)
{
    assert_int_equal(tn_os_make_folders(path, NULL), TN_OK);
}

/* Remove a library of the scratch folder, and what lies beside it. */
static inline void library_remove(const char *name)
{
    static const char *const tails[] = {"", "-wal", "-shm", "-lock", "-journal"};
    for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++) {
        char path[64];
        snprintf(path, sizeof path, "%s%s", name, tails[i]);
        tn_os_remove(at(path), NULL);
    }
}

#endif
