/* See format.h. */
#include "support/format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/checkpoint.h"

#define PATHS 16
#define PATH_BYTES 1024

int format_context_up(void **state)
{
    tn_context_options options = TN_CONTEXT_OPTIONS_INIT;
    options.memory_limit_bytes = UINT64_C(1) << 30;
    tn_context *context = NULL;
    tn_status status = tn_context_create(&options, &context, NULL);
    *state = context;
    return status == TN_OK ? 0 : -1;
}

int format_context_down(void **state)
{
    tn_context *context = *state;
    uint64_t used = tn_context_memory(context).used_bytes;
    tn_context_destroy(context);
    if (used != 0)
        print_error("%llu bytes are still charged\n", (unsigned long long)used);
    return used == 0 ? 0 : -1;
}

format_bytes format_data(const char *folder, const char *name)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/format/%s/%s", TEST_DATA, folder, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        print_error("no %s\n", path);
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    assert_true(size >= 0);
    rewind(file);
    format_bytes out = {malloc((size_t)size + 1), (size_t)size};
    assert_int_equal(fread(out.bytes, 1, out.size, file), out.size);
    fclose(file);
    return out;
}

void format_bytes_free(format_bytes *bytes)
{
    free(bytes->bytes);
    *bytes = (format_bytes){NULL, 0};
}

format_bytes format_safetensors(const char *header, size_t data_size)
{
    size_t length = strlen(header);
    format_bytes out = {calloc(1, 8 + length + data_size + 1), 8 + length + data_size};
    assert_non_null(out.bytes);
    for (unsigned i = 0; i < 8; i++)
        out.bytes[i] = (char)((uint64_t)length >> (8 * i) & 0xff);
    memcpy(out.bytes + 8, header, length);
    return out;
}

tn_status format_open(tn_context *context, const void *bytes, size_t size, const char *name, tn_checkpoint **out,
                      tn_error *err)
{
    tn_source *source = NULL;
    tn_status status = tn_source_over(context, bytes, size, name, &source, err);
    if (status == TN_OK)
        status = tn_checkpoint_open_source(source, out, err);
    tn_source_release(source);
    return status;
}

const tn_finding *format_finding(const tn_checkpoint *checkpoint, tn_severity severity)
{
    const tn_finding *findings = NULL;
    size_t count = tn_checkpoint_findings(checkpoint, &findings);
    for (size_t i = 0; i < count; i++)
        if (findings[i].severity == severity)
            return &findings[i];
    return NULL;
}

const tn_finding *format_finding_of(const tn_checkpoint *checkpoint, tn_status status)
{
    const tn_finding *findings = NULL;
    size_t count = tn_checkpoint_findings(checkpoint, &findings);
    for (size_t i = 0; i < count; i++)
        if (findings[i].status == status)
            return &findings[i];
    return NULL;
}

/* ---- folders ---- */

static char root[128];
static char paths[PATHS][PATH_BYTES];
static unsigned next_path;

const char *format_folder_make(void)
{
    static unsigned made;
    snprintf(root, sizeof root, "format-test-%llu-%u", (unsigned long long)tn_os_process_id(), made++);
    assert_int_equal(tn_os_make_folder(root, NULL), TN_OK);
    return root;
}

const char *format_path(const char *relative)
{
    char *path = paths[next_path++ % PATHS];
    snprintf(path, PATH_BYTES, "%s/%s", root, relative);
    return path;
}

/* Take away what lies in a folder; false when a folder in it has to be emptied first, whose path is then in `inner`. */
static bool empty(tn_memory_source *memory, const char *path, char *inner)
{
    tn_os_folder *folder = NULL;
    tn_os_entry entry;
    bool more = true, emptied = true;
    assert_int_equal(tn_os_folder_open(memory, path, &folder, NULL), TN_OK);
    while (emptied && tn_os_folder_next(folder, &entry, &more, NULL) == TN_OK && more) {
        char child[PATH_BYTES];
        snprintf(child, sizeof child, "%s/%s", path, entry.name);
        if (entry.kind != TN_OS_FOLDER) {
            tn_os_remove(child, NULL);
        } else if (tn_os_remove_folder(child, NULL) != TN_OK) {
            memcpy(inner, child, sizeof child);
            emptied = false;
        }
    }
    tn_os_folder_close(folder);
    return emptied;
}

void format_folder_remove(void)
{
    tn_budget budget;
    tn_budget_init(&budget, UINT64_C(1) << 30);
    tn_memory_source memory = {tn_allocator_system(), &budget};
    char at[PATH_BYTES], inner[PATH_BYTES];
    for (unsigned rounds = 0; rounds < 1000 && tn_os_remove_folder(root, NULL) != TN_OK; rounds++) {
        snprintf(at, sizeof at, "%s", root);
        while (!empty(&memory, at, inner))
            memcpy(at, inner, sizeof at);
        if (strcmp(at, root) != 0)
            tn_os_remove_folder(at, NULL);
    }
}

void format_make_folder(const char *relative)
{
    assert_int_equal(tn_os_make_folders(format_path(relative), NULL), TN_OK);
}

void format_write(const char *relative, const void *bytes, size_t size)
{
    tn_os_file file;
    const char *path = format_path(relative);
    assert_int_equal(tn_os_open(path, TN_OS_WRITE | TN_OS_CREATE | TN_OS_TRUNCATE, &file, NULL), TN_OK);
    assert_int_equal(tn_os_write(&file, 0, bytes, size, NULL), TN_OK);
    tn_os_close(&file);
}

void format_write_text(const char *relative, const char *text)
{
    format_write(relative, text, strlen(text));
}

void format_write_tensors(const char *relative, const char *const *names)
{
    char header[8192];
    size_t at = 0, count = 0;
    for (; names[count] != NULL; count++)
        at += (size_t)snprintf(header + at, sizeof header - at,
                               "%c\"%s\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[%zu,%zu]}",
                               count == 0 ? '{' : ',', names[count], count * 8, count * 8 + 8);
    assert_true(at + 2 < sizeof header);
    snprintf(header + at, sizeof header - at, "}");
    format_bytes file = format_safetensors(header, count * 8);
    format_write(relative, file.bytes, file.size);
    format_bytes_free(&file);
}

int format_folder_up(void **state)
{
    format_folder_make();
    return format_context_up(state);
}

int format_folder_down(void **state)
{
    format_folder_remove();
    return format_context_down(state);
}
