/* Names of a disk, as an array in the order in which they came: there are few. */
#include "support/check.h"
#include "support/library_posix_power.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

power_name *power_find(power_names *names, const char *path)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->items[i].path, path) == 0)
            return &names->items[i];
    return NULL;
}

void power_add(power_names *names, const char *path, int node)
{
    if (names->count == names->capacity) {
        names->capacity = names->capacity == 0 ? 64 : 2 * names->capacity;
        names->items = realloc(names->items, names->capacity * sizeof *names->items);
        assert_non_null(names->items);
    }
    names->items[names->count++] = (power_name){strdup(path), node};
}

void power_drop(power_names *names, const char *path)
{
    power_name *found = power_find(names, path);
    if (found == NULL)
        return;
    free(found->path);
    size_t at = (size_t)(found - names->items);
    memmove(found, found + 1, (--names->count - at) * sizeof *found);
}

void power_move(power_names *names, const char *from, const char *to)
{
    size_t size = strlen(from);
    power_drop(names, to);
    for (size_t i = 0; i < names->count; i++) {
        char *old = names->items[i].path;
        if (strncmp(old, from, size) != 0 || (old[size] != '\0' && old[size] != '/'))
            continue;
        size_t need = strlen(to) + strlen(old + size) + 1;
        char *path = malloc(need);
        assert_non_null(path);
        snprintf(path, need, "%s%s", to, old + size);
        names->items[i].path = path;
        free(old);
    }
}

void power_copy_names(power_names *to, const power_names *from)
{
    *to = (power_names){0};
    for (size_t i = 0; i < from->count; i++)
        power_add(to, from->items[i].path, from->items[i].node);
}

void power_free_names(power_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->items[i].path);
    free(names->items);
    *names = (power_names){0};
}
