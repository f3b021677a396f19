/* restore on any bytes: what becomes a library can be listed, searched, added up and exported.
 *
 * Held: reading ends; a refusal leaves the library empty; what was accepted is sound by SQLite's own check, gives every
 * record as JSON, and is the same again after export and restore; all memory is given back. The library lies in the folder
 * for temporary files and is made anew only after something was restored. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "library/inside.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool holds)
{
    if (!holds)
        abort();
}

typedef struct input {
    const uint8_t *data;
    size_t size, at;
} input;

static size_t give(void *user, char *bytes, size_t size)
{
    input *in = user;
    size_t left = in->size - in->at, got = left < size ? left : size;
    memcpy(bytes, in->data + in->at, got);
    in->at += got;
    return got;
}

typedef struct output {
    char *bytes;
    size_t size, room;
} output;

static bool take(void *user, const char *bytes, size_t size)
{
    output *out = user;
    while (out->size + size > out->room) {
        out->room = out->room == 0 ? 65536 : 2 * out->room;
        out->bytes = realloc(out->bytes, out->room);
        demand(out->bytes != NULL);
    }
    memcpy(out->bytes + out->size, bytes, size);
    out->size += size;
    return true;
}

static bool see_record(void *user, const tn_record *record)
{
    (void)user;
    tn_json json;
    tn_json_init(&json, record->json.bytes, record->json.size);
    tn_json_next(&json);
    demand(tn_json_skip(&json) && tn_json_next(&json) == TN_JSON_END);
    return true;
}

static bool see_twins(void *user, const tn_twins *twins)
{
    (void)user;
    demand(twins->count > 1);
    return true;
}

static bool see_usage(void *user, const tn_usage *usage)
{
    (void)user;
    demand(usage->path.bytes != NULL);
    return true;
}

static bool see_tag(void *user, const tn_tag *tag)
{
    (void)user;
    return tag->models > 0;
}

/* ---- the library ---- */

static char path[512];
static tn_context *context;
static tn_library *library;

static void remove_files(void)
{
    static const char *const tails[] = {"", "-wal", "-shm", "-lock", "-journal"};
    for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++) {
        char name[600];
        snprintf(name, sizeof name, "%s%s", path, tails[i]);
        tn_os_remove(name, NULL);
    }
}

static void begin(void)
{
    if (context == NULL) {
        tn_context_options options = TN_CONTEXT_OPTIONS_INIT;
        options.memory_limit_bytes = 256u << 20;
        demand(tn_context_create(&options, &context, NULL) == TN_OK);
        const char *folder = getenv("TMPDIR");
        snprintf(path, sizeof path, "%s/tenure-fuzz-%llu.db", folder != NULL ? folder : "/tmp",
                 (unsigned long long)tn_os_process_id());
        atexit(remove_files);
    }
    if (library == NULL) {
        remove_files();
        demand(tn_library_open(context, path, NULL, &library, NULL) == TN_OK);
    }
}

static void end(void)
{
    tn_library_close(library);
    library = NULL;
    remove_files();
}

static tn_status restore(const void *data, size_t size)
{
    input in = {data, size, 0};
    return tn_library_restore(library, give, &in, NULL, NULL);
}

/* ---- what is held ---- */

static void ask(void)
{
    demand(tn_library_list(library, NULL, see_record, NULL, NULL) == TN_OK);
    demand(tn_library_search(library, "mod", 0, see_record, NULL, NULL) == TN_OK);
    demand(tn_library_search(library, "e", 0, see_record, NULL, NULL) == TN_OK);
    demand(tn_library_search(library, "01234567", 0, see_record, NULL, NULL) == TN_OK);
    demand(tn_library_duplicates(library, see_twins, NULL, NULL) == TN_OK);
    demand(tn_library_usage(library, NULL, see_usage, NULL, NULL) == TN_OK);
    demand(tn_library_tags(library, see_tag, NULL, NULL) == TN_OK);
}

static void go_round(void)
{
    output first = {0}, second = {0};
    demand(tn_library_export(library, take, &first, NULL) == TN_OK);
    end();
    begin();
    demand(restore(first.bytes, first.size) == TN_OK);
    demand(tn_library_export(library, take, &second, NULL) == TN_OK);
    demand(first.size == second.size && memcmp(first.bytes, second.bytes, first.size) == 0);
    free(first.bytes);
    free(second.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    begin();
    if (restore(data, size) == TN_OK) {
        ask();
        go_round();
        end();
    }
    demand(library != NULL || tn_context_memory(context).used_bytes == 0);
    return 0;
}
