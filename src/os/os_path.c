/* Paths as text. What it promises stands in os_path.h. */
#include "os/os_path.h"

#include <string.h>

typedef struct clean {
    tn_buffer *out;
    size_t root; /* out->size that ".." never goes under; a root ends with its separator */
    char separator;
} clean;

static bool separates(const clean *c, char byte)
{
    return byte == '/' || byte == c->separator;
}

static void drop_last(clean *c)
{
    tn_buffer *out = c->out;
    size_t size = out->size;
    while (size > c->root && out->bytes[size - 1] != c->separator)
        size--;
    if (size > c->root)
        size--; /* the separator itself */
    if (out->bytes != NULL) {
        out->size = size;
        out->bytes[size] = 0;
    }
}

static void add_name(clean *c, const char *name, size_t size)
{
    if (size == 0 || (size == 1 && name[0] == '.'))
        return;
    if (size == 2 && memcmp(name, "..", 2) == 0) {
        drop_last(c);
        return;
    }
    if (c->out->size > c->root)
        tn_buffer_append(c->out, &c->separator, 1);
    tn_buffer_append(c->out, name, size);
}

static void add_names(clean *c, const char *path)
{
    while (*path != 0 && c->out->failed == TN_OK) {
        size_t size = 0;
        while (path[size] != 0 && !separates(c, path[size]))
            size++;
        add_name(c, path, size);
        path += size;
        if (*path != 0)
            path++;
    }
}

void tn_os_path_absolute_posix(const char *path, const char *working, tn_buffer *out)
{
    clean c = {.out = out, .separator = '/'};
    tn_buffer_append(out, "/", 1);
    c.root = out->size;
    if (path[0] != '/')
        add_names(&c, working);
    add_names(&c, path);
}

/* ---- Windows ---- */

static bool is_separator(char byte)
{
    return byte == '/' || byte == '\\';
}

static bool is_drive(const char *path)
{
    char letter = (char)(path[0] | 0x20);
    return letter >= 'a' && letter <= 'z' && path[1] == ':';
}

static bool is_share(const char *path)
{
    return is_separator(path[0]) && is_separator(path[1]);
}

/* "C:\" or "\\server\share\", appended; what follows in the path is returned. */
static const char *add_root(clean *c, const char *path)
{
    if (is_drive(path)) {
        tn_buffer_append(c->out, path, 2);
        path += 2;
    } else {
        tn_buffer_append(c->out, "\\\\", 2);
        path += 2;
        for (int part = 0; part < 2; part++) {
            size_t size = strcspn(path, "/\\");
            if (part == 1)
                tn_buffer_append(c->out, "\\", 1);
            tn_buffer_append(c->out, path, size);
            path += size + strspn(path + size, "/\\");
        }
    }
    tn_buffer_append(c->out, "\\", 1);
    c->root = c->out->size;
    return path;
}

static bool names_no_file(const char *path)
{
    if (is_share(path) && (path[2] == '.' || path[2] == '?') && is_separator(path[3]))
        return true;
    return strchr(is_drive(path) ? path + 2 : path, ':') != NULL;
}

bool tn_os_path_absolute_windows(const char *path, const char *working, tn_buffer *out)
{
    if (strncmp(path, "\\\\?\\", 4) == 0) {
        tn_buffer_text(out, path);
        return true;
    }
    if (names_no_file(path))
        return false;
    clean c = {.out = out, .separator = '\\'};
    if (is_share(path) || (is_drive(path) && is_separator(path[2]))) {
        path = add_root(&c, path);
    } else if (is_drive(path) && (path[0] | 0x20) != (working[0] | 0x20)) {
        path = add_root(&c, path);
    } else {
        const char *rest = add_root(&c, working);
        if (!is_separator(path[0]))
            add_names(&c, rest);
        if (is_drive(path))
            path += 2;
    }
    add_names(&c, path);
    return true;
}
