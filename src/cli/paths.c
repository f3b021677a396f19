/* The paths a verb is given: from the command line, and from a list on stdin where "-" stands (cli/cli.h). */
#include <string.h>

#include "cli/cli.h"

#define CHUNK ((size_t)64 << 10)

static tn_status add(tn_paths *paths, const char *path, tn_error *err)
{
    if (paths->count == paths->capacity) {
        size_t wanted = paths->capacity ? 2 * paths->capacity : 64;
        void *items = (void *)paths->items;
        TN_TRY(tn_retake(paths->memory, &items, paths->capacity * sizeof *paths->items, wanted * sizeof *paths->items,
                         err));
        paths->items = items;
        paths->capacity = wanted;
    }
    paths->items[paths->count++] = path;
    return TN_OK;
}

tn_status tn_paths_add_list(tn_paths *paths, char *list, size_t size, tn_error *err)
{
    char separator = size && memchr(list, '\0', size) ? '\0' : '\n';
    char *end = list + size;
    while (list < end) {
        char *stop = memchr(list, separator, (size_t)(end - list));
        if (!stop)
            stop = end; /* the NUL behind the buffer ends it */
        *stop = '\0';
        if (stop > list)
            TN_TRY(add(paths, list, err));
        list = stop + 1;
    }
    return TN_OK;
}

static tn_status read_list(tn_paths *paths, FILE *input, tn_error *err)
{
    for (;;) {
        char *room = tn_buffer_reserve(&paths->list, CHUNK);
        if (!room)
            return tn_buffer_status(&paths->list, err);
        size_t got = fread(room, 1, CHUNK, input);
        paths->list.size += got;
        if (got < CHUNK)
            break;
    }
    if (ferror(input))
        return tn_fail(err, TN_IO, "the list of paths on stdin cannot be read");
    tn_buffer_append(&paths->list, "", 1); /* so that the last path ends too */
    return tn_buffer_status(&paths->list, err);
}

tn_status tn_paths_collect(tn_paths *paths, tn_memory_source *memory, const tn_settings *settings, FILE *input,
                           tn_error *err)
{
    *paths = (tn_paths){.memory = memory};
    tn_buffer_init(&paths->list, memory, TN_CLI_STDIN_MAX);
    tn_status status = TN_OK;
    for (size_t i = 0; i < settings->argument_count && status == TN_OK; i++) {
        const char *argument = settings->arguments[i];
        bool listed = strcmp(argument, "-") == 0 && i < settings->literal_from;
        if (!listed) {
            status = add(paths, argument, err);
        } else if (!paths->list.size) { /* a second "-" finds the list read */
            status = read_list(paths, input, err);
            if (status == TN_OK)
                status = tn_paths_add_list(paths, paths->list.bytes, paths->list.size - 1, err);
        }
    }
    if (status != TN_OK)
        tn_paths_free(paths);
    return status;
}

void tn_paths_free(tn_paths *paths)
{
    tn_give(paths->memory, (void *)paths->items, paths->capacity * sizeof *paths->items);
    tn_buffer_free(&paths->list);
    *paths = (tn_paths){.memory = paths->memory};
}

bool tn_cli_paths(tn_cli *cli, tn_paths *out)
{
    tn_error err;
    if (tn_paths_collect(out, &cli->memory, &cli->settings, stdin, &err) == TN_OK)
        return true;
    tn_cli_fail(cli, &err);
    return false;
}
