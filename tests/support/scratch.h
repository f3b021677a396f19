/* A folder of its own for a test program, and small files in it. Include after <cmocka.h>. */
#ifndef TN_TESTS_SUPPORT_SCRATCH_H
#define TN_TESTS_SUPPORT_SCRATCH_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/os.h"

static tn_budget scratch_budget;
static tn_memory_source scratch_memory;
static char scratch_folder[1024];

/* A path in the scratch folder. Valid until the fourth call after this one. */
static inline const char *at(const char *name)
{
    static char paths[4][8192];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", scratch_folder, name);
    return path;
}

static inline bool scratch_environment(const char *name)
{
    tn_buffer buffer;
    tn_buffer_init(&buffer, &scratch_memory, 512);
    bool found = tn_os_environment(name, &buffer) && buffer.size > 0;
    if (found)
        snprintf(scratch_folder, sizeof scratch_folder, "%s", buffer.bytes);
    tn_buffer_free(&buffer);
    return found;
}

/* Make the folder in `parent`; NULL: where temporary files lie. */
static inline int scratch_begin_in(const char *parent)
{
    uint64_t number;
    tn_budget_init(&scratch_budget, UINT64_MAX);
    scratch_memory = (tn_memory_source){tn_allocator_system(), &scratch_budget};
    if (parent != NULL)
        snprintf(scratch_folder, sizeof scratch_folder, "%s", parent);
    else if (!scratch_environment("TMPDIR") && !scratch_environment("TEMP"))
        snprintf(scratch_folder, sizeof scratch_folder, "/tmp");
    tn_os_random(&number, sizeof number);
    size_t size = strlen(scratch_folder);
    snprintf(scratch_folder + size, sizeof scratch_folder - size, "/tenure-test-%016llx", (unsigned long long)number);
    return tn_os_make_folder(scratch_folder, NULL) == TN_OK ? 0 : -1;
}

/* A group setup: makes the folder. */
static inline int scratch_begin(void **state)
{
    (void)state;
    return scratch_begin_in(NULL);
}

static inline void scratch_remove(const char *path)
{
    tn_os_info info;
    if (tn_os_info_at(path, false, &info, NULL) != TN_OK)
        return;
    if (info.kind != TN_OS_FOLDER) {
        tn_os_remove(path, NULL);
        return;
    }
    tn_os_folder *folder = NULL;
    tn_os_entry entry;
    bool more;
    if (tn_os_folder_open(&scratch_memory, path, &folder, NULL) == TN_OK) {
        while (tn_os_folder_next(folder, &entry, &more, NULL) == TN_OK && more) {
            size_t size = strlen(path) + strlen(entry.name) + 2;
            char *inner = malloc(size);
            snprintf(inner, size, "%s/%s", path, entry.name);
            scratch_remove(inner);
            free(inner);
        }
    }
    tn_os_folder_close(folder);
    tn_os_remove_folder(path, NULL);
}

/* A group teardown: takes the folder away, and finds memory that was not given back. */
static inline int scratch_end(void **state)
{
    (void)state;
    scratch_remove(scratch_folder);
    return atomic_load(&scratch_budget.used) == 0 ? 0 : -1;
}

static inline void put_file(const char *path, const void *bytes, size_t size)
{
    tn_os_file file;
    assert_int_equal(tn_os_open(path, TN_OS_WRITE | TN_OS_CREATE | TN_OS_TRUNCATE, &file, NULL), TN_OK);
    assert_int_equal(tn_os_write(&file, 0, bytes, size, NULL), TN_OK);
    tn_os_close(&file);
}

static inline void put_text(const char *path, const char *text)
{
    put_file(path, text, strlen(text));
}

/* The file holds exactly this text. */
static inline void assert_text(const char *path, const char *text)
{
    char bytes[256] = {0};
    size_t got = 0;
    tn_os_file file;
    assert_int_equal(tn_os_open(path, TN_OS_READ, &file, NULL), TN_OK);
    assert_int_equal(tn_os_read(&file, 0, bytes, sizeof bytes - 1, &got, NULL), TN_OK);
    tn_os_close(&file);
    assert_string_equal(bytes, text);
    assert_int_equal(got, strlen(text));
}

static inline bool is_there(const char *path)
{
    tn_os_info info;
    return tn_os_info_at(path, false, &info, NULL) == TN_OK;
}

static inline unsigned entries_in(const char *path)
{
    tn_os_folder *folder;
    tn_os_entry entry;
    bool more;
    unsigned count = 0;
    assert_int_equal(tn_os_folder_open(&scratch_memory, path, &folder, NULL), TN_OK);
    while (tn_os_folder_next(folder, &entry, &more, NULL) == TN_OK && more)
        count++;
    tn_os_folder_close(folder);
    return count;
}

#endif
