#include "os/os_trash.h"

#include <string.h>

/* 255 bytes of a name, less ".trashinfo" and the number of an attempt. */
#define NAME_MAX_BYTES ((size_t)230)

/* RFC 2396, 2.3: letters, digits and marks stand for themselves. */
static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != 0 && strchr("-_.!~*'()/", c) != NULL);
}

static void append_escaped(tn_buffer *out, const char *text)
{
    for (; *text != 0; text++) {
        if (is_plain(*text))
            tn_buffer_append(out, text, 1);
        else
            tn_buffer_format(out, "%%%02X", (unsigned)(unsigned char)*text);
    }
}

void tn_os_trash_note(tn_buffer *out, const char *path, const char *date)
{
    tn_buffer_text(out, "[Trash Info]\nPath=");
    append_escaped(out, path);
    tn_buffer_format(out, "\nDeletionDate=%s\n", date);
}

void tn_os_trash_name(tn_buffer *out, const char *name, unsigned attempt)
{
    size_t size = strlen(name);
    if (size > NAME_MAX_BYTES)
        size = NAME_MAX_BYTES;
    while (size > 1 && name[size] != 0 && ((unsigned char)name[size] & 0xc0) == 0x80)
        size--; /* not inside a character */
    tn_buffer_append(out, name, size);
    if (attempt > 1)
        tn_buffer_format(out, ".%u", attempt);
}
