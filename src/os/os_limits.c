/* Parsing the kernel's texts about memory, and the least of its limits. What it promises stands in os_limits.h. */
#include "os/os_limits.h"

#include <string.h>

#include "os/os.h"

/* Kernels write "no limit" in v1 as the largest multiple of a page that fits a signed 64-bit number. */
#define NO_LIMIT ((uint64_t)1 << 62)

static const char *skip_blanks(const char *text)
{
    return text + strspn(text, " \t");
}

/* A decimal number at the start of `text`. False when there is none or it does not fit. */
static bool number(const char *text, uint64_t *out)
{
    uint64_t value = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (tn_mul_overflows(value, 10, &value) || tn_add_overflows(value, (uint64_t)(*at - '0'), &value))
            return false;
    }
    *out = value;
    return at != text;
}

static const char *next_line(const char *line)
{
    const char *end = strchr(line, '\n');
    return end == NULL ? NULL : end + 1;
}

/* The first line that starts with `head`, behind it. NULL when there is none. */
static const char *behind(const char *text, const char *head)
{
    size_t size = strlen(head);
    for (const char *line = text; line != NULL; line = next_line(line)) {
        if (strncmp(line, head, size) == 0)
            return line + size;
    }
    return NULL;
}

uint64_t tn_os_limits_field(const char *text, const char *name)
{
    const char *at = behind(text, name);
    uint64_t value;
    if (at == NULL)
        return TN_NONE;
    at = skip_blanks(at);
    if (!number(at, &value))
        return TN_NONE;
    at = skip_blanks(at + strspn(at, "0123456789"));
    if (strncmp(at, "kB", 2) == 0 && tn_mul_overflows(value, 1024, &value))
        return TN_NONE;
    return value;
}

uint64_t tn_os_limits_amount(const char *text)
{
    uint64_t value;
    if (!number(skip_blanks(text), &value) || value >= NO_LIMIT)
        return TN_NONE;
    return value;
}

uint64_t tn_os_limits_stat(const char *text, const char *word)
{
    size_t size = strlen(word);
    uint64_t value;
    for (const char *line = text; line != NULL; line = next_line(line)) {
        if (strncmp(line, word, size) == 0 && line[size] == ' ' && number(line + size + 1, &value))
            return value;
    }
    return 0;
}

static bool copy(char *out, size_t room, const char *text, size_t size)
{
    if (size >= room)
        return false;
    memcpy(out, text, size);
    out[size] = 0;
    return true;
}

/* Is `word` one of the words between commas in the `size` bytes at `list`? */
static bool lists(const char *list, size_t size, const char *word)
{
    size_t wanted = strlen(word);
    const char *end = list + size;
    while (list < end) {
        const char *comma = memchr(list, ',', (size_t)(end - list));
        size_t length = (size_t)((comma != NULL ? comma : end) - list);
        if (length == wanted && memcmp(list, word, wanted) == 0)
            return true;
        list += length + 1;
    }
    return false;
}

bool tn_os_limits_cgroup_path(const char *text, bool version_2, char *out, size_t size)
{
    for (const char *line = text; line != NULL; line = next_line(line)) {
        size_t length = strcspn(line, "\n");
        const char *controllers = memchr(line, ':', length);
        if (controllers == NULL)
            continue;
        controllers++;
        const char *path = memchr(controllers, ':', length - (size_t)(controllers - line));
        if (path == NULL)
            continue;
        size_t listed = (size_t)(path - controllers);
        path++;
        bool ours = version_2 ? strncmp(line, "0::", 3) == 0 : lists(controllers, listed, "memory");
        if (ours)
            return copy(out, size, path, length - (size_t)(path - line));
    }
    return false;
}

/* The `index`th word of a line, counted from 0. Empty when the line has fewer. */
static const char *word_at(const char *line, unsigned index, size_t *size)
{
    for (; index > 0; index--) {
        line += strcspn(line, " \n");
        line += strspn(line, " ");
    }
    *size = strcspn(line, " \n");
    return line;
}

/* mountinfo (man 5 proc): 3 is the root, 4 the mount point; behind " - " come type, source and options. */
static bool is_cgroup(const char *line, bool version_2)
{
    size_t length = strcspn(line, "\n");
    for (const char *at = line; at + 3 <= line + length; at++) {
        if (strncmp(at, " - ", 3) != 0)
            continue;
        size_t size;
        const char *type = word_at(at + 3, 0, &size);
        if (version_2)
            return size == 7 && memcmp(type, "cgroup2", 7) == 0;
        if (size != 6 || memcmp(type, "cgroup", 6) != 0)
            return false;
        const char *options = word_at(at + 3, 2, &size);
        return lists(options, size, "memory");
    }
    return false;
}

bool tn_os_limits_cgroup_mount(const char *text, bool version_2, char *root, char *point, size_t size)
{
    for (const char *line = text; line != NULL; line = next_line(line)) {
        if (!is_cgroup(line, version_2))
            continue;
        size_t root_size;
        size_t point_size;
        const char *root_text = word_at(line, 3, &root_size);
        const char *point_text = word_at(line, 4, &point_size);
        return root_size > 0 && point_size > 0 && copy(root, size, root_text, root_size) &&
               copy(point, size, point_text, point_size);
    }
    return false;
}

bool tn_os_limits_cgroup_folder(const char *path, const char *root, const char *point, char *out, size_t size)
{
    size_t root_size = strcmp(root, "/") == 0 ? 0 : strlen(root);
    const char *rest = "";
    if (strncmp(path, root, root_size) == 0 && (path[root_size] == '/' || path[root_size] == 0))
        rest = path + root_size;
    if (strcmp(rest, "/") == 0)
        rest = "";
    if (strstr(rest, "/..") != NULL)
        return false;
    size_t head = strlen(point);
    return copy(out, size, point, head) && copy(out + head, size - head, rest, strlen(rest));
}

uint64_t tn_os_limits_left(uint64_t limit, uint64_t usage, uint64_t cache)
{
    if (limit == TN_NONE || usage == TN_NONE)
        return TN_NONE;
    uint64_t held = usage > cache ? usage - cache : 0;
    return limit > held ? limit - held : 0;
}

uint64_t tn_os_memory_left(void)
{
    tn_os_limits limits = tn_os_limits_now();
    const uint64_t all[] = {limits.ram_available, limits.cgroup_left, limits.address_left, limits.data_left,
                            limits.commit_left};
    uint64_t least = TN_NONE;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        least = all[i] < least ? all[i] : least;
    return least;
}
