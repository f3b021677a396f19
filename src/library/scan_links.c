/* Where links to folders lead. They are followed in any case; a person is told how many lead out of what was named. */
#include "library/walk.h"

#include <string.h>

#include "library/place.h"

/* Appended to `out`, which is cleared first. False when the system would not say. */
static bool real_path(const char *path, tn_buffer *out)
{
    tn_buffer_clear(out);
    return tn_os_real_path(path, out, NULL) == TN_OK && out->failed == TN_OK;
}

/* One that cannot be asked about is nowhere: no link leads into it. */
static tn_status ask_named(tn_walk *walk, tn_buffer *room, tn_error *err)
{
    if (walk->real != NULL)
        return TN_OK;
    tn_text *real = tn_arena_take_array(&walk->paths, walk->named_count, sizeof *real);
    for (size_t i = 0; real != NULL && i < walk->named_count; i++)
        if (real_path(walk->named[i], room))
            real[i] = tn_arena_text(&walk->paths, room->bytes, room->size);
    TN_TRY(tn_arena_status(&walk->paths, err));
    walk->real = real;
    return TN_OK;
}

static bool is_inside(const tn_walk *walk, const tn_buffer *path)
{
    for (size_t i = 0; i < walk->named_count; i++)
        if (walk->real[i].bytes != NULL &&
            tn_place_is_below(path->bytes, path->size, walk->real[i].bytes, walk->real[i].size))
            return true;
    return false;
}

tn_status tn_walk_see_link(tn_walk *walk, const char *path, tn_error *err)
{
    tn_buffer room;
    tn_buffer_init(&room, &walk->context->memory, TN_PLACE_PATH_MAX);
    tn_status status = ask_named(walk, &room, err);
    if (status == TN_OK && real_path(path, &room) && !is_inside(walk, &room))
        walk->counts.links_outside++;
    tn_buffer_free(&room);
    return status;
}
