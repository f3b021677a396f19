/* From a walk to a list of work: what is known and unchanged is left out, what is reached twice is read once. */
#include "library/import_inside.h"

#include <string.h>

#define KNOWN_BIT ((uint64_t)1 << 63) /* in by_who: the value is a known file, not an item */

static tn_status make_room(tn_import *import, tn_error *err)
{
    void *items = import->items;
    TN_TRY(tn_make_room(import->library->memory, &items, &import->item_capacity, import->item_count, sizeof *import->items, 128, err));
    import->items = items;
    return TN_OK;
}

tn_status tn_import_add_news(tn_import *import, tn_row_news news, tn_error *err)
{
    void *items = import->news;
    TN_TRY(tn_make_room(import->library->memory, &items, &import->news_capacity, import->news_count, sizeof news, 128,
                        err));
    import->news = items;
    import->news[import->news_count++] = news;
    return TN_OK;
}

tn_status tn_import_hold(tn_import *import, tn_held held, tn_error *err)
{
    void *items = import->held;
    TN_TRY(tn_make_room(import->library->memory, &items, &import->held_capacity, import->held_count,
                        sizeof *import->held, 64, err));
    import->held = items;
    import->held[import->held_count++] = held;
    import->held_fresh += held.fresh;
    return TN_OK;
}

static tn_status keep_text(tn_import *import, const char *bytes, size_t size, tn_text *out, tn_error *err)
{
    tn_text text = tn_arena_text(&import->arena, bytes, size);
    if (text.bytes == NULL)
        return tn_arena_status(&import->arena, err);
    *out = text;
    return TN_OK;
}

/* Is there, among what was gathered, another path to the same file? If not, this one is the first. */
static tn_status meet(tn_import *import, const tn_claim *claim, uint64_t value, tn_text *target, tn_error *err)
{
    bool fresh = false;
    uint64_t existing = 0;
    tn_text who = {NULL, 0};
    *target = (tn_text){NULL, 0};
    if (!claim->has_who)
        return TN_OK;
    TN_TRY(keep_text(import, (const char *)claim->who, sizeof claim->who, &who, err));
    TN_TRY(tn_map_put(&import->by_who, who.bytes, who.size, value, &fresh, &existing, err));
    if (fresh)
        return TN_OK;
    if ((existing & KNOWN_BIT) != 0) {
        const tn_known_file *file = &import->known.files[existing & ~KNOWN_BIT];
        *target = (tn_text){file->path, file->path_size};
        return TN_OK;
    }
    const tn_claim *first = &import->items[existing].claim;
    *target = (tn_text){first->path, first->path_size};
    return TN_OK;
}

/* A row that did not count as there, or whose disk has another number now, is put right. */
static tn_status note_back(tn_import *import, const tn_known_file *file, uint64_t device, tn_error *err)
{
    if (file->present && file->device == device)
        return TN_OK;
    return tn_import_add_news(import, (tn_row_news){file->file, (int64_t)device, TN_ROW_BACK, file->present}, err);
}

static tn_status pass_over(tn_import *import, const tn_claim *claim, const tn_known_file *file, tn_error *err)
{
    tn_text target = {NULL, 0};
    uint64_t value = KNOWN_BIT | (uint64_t)(file - import->known.files);
    TN_TRY(note_back(import, file, claim->info.device, err));
    TN_TRY(meet(import, claim, value, &target, err));
    if (file->model == 0) {
        import->others++;
        return TN_OK;
    }
    if (target.bytes != NULL)
        return TN_OK;
    import->unchanged++;
    import->done++;
    if (tn_import_is_dry(import))
        TN_TRY(tn_import_add_dry_known(import, file->model, err));
    if (file->unsettled && !tn_import_is_dry(import))
        return tn_import_hold(import, (tn_held){file->model, false, false}, err);
    tn_import_tell(import, &(tn_import_event){.id = file->model});
    tn_import_progress_now(import, true, claim->path);
    return TN_OK;
}

static tn_status add_item(tn_import *import, const tn_claim *claim, const tn_known_file *file, tn_error *err)
{
    bool fresh = false;
    uint64_t existing = 0;
    tn_text path = {NULL, 0}, target = {NULL, 0};
    TN_TRY(make_room(import, err));
    TN_TRY(keep_text(import, claim->path, claim->path_size, &path, err));
    TN_TRY(tn_map_put(&import->by_path, path.bytes, path.size, import->item_count, &fresh, &existing, err));
    if (!fresh)
        return TN_OK;
    TN_TRY(meet(import, claim, import->item_count, &target, err));
    tn_import_item *item = &import->items[import->item_count++];
    *item = (tn_import_item){.claim = *claim, .was_known = file != NULL, .target = target};
    item->known_model = file != NULL ? file->model : 0;
    item->claim.path = path.bytes;
    tn_import_progress_now(import, true, path.bytes);
    return TN_OK;
}

/* What was written to a moment ago may not be whole yet: it waits for a later scan. A time that lies ahead, as of a clock
 * that went wrong, says nothing. */
static bool is_growing(const tn_import *import, const tn_claim *claim)
{
    int64_t still_ns = (int64_t)import->options->still_ms * 1000000;
    if (still_ns == 0 || claim->named)
        return false;
    int64_t since_ns = tn_os_wall_ns() - claim->newest_ns;
    return since_ns < still_ns && since_ns > -still_ns;
}

static tn_status keep_refused(tn_import *import, const char *path, const char *why, tn_status status, bool known,
                              tn_error *err)
{
    tn_text kept_path = {NULL, 0}, message = {NULL, 0};
    void *items = import->refused;
    TN_TRY(keep_text(import, path, strlen(path), &kept_path, err));
    TN_TRY(keep_text(import, why, strlen(why), &message, err));
    TN_TRY(tn_make_room(import->library->memory, &items, &import->refused_capacity, import->refused_count,
                        sizeof *import->refused, 4, err));
    import->refused = items;
    import->refused[import->refused_count++] = (tn_refused_path){kept_path.bytes, message.bytes, status, known};
    return TN_OK;
}

static tn_status on_claim(void *user, const tn_claim *claim, tn_error *err)
{
    tn_import *import = user;
    TN_TRY(tn_context_check(import->context, err));
    tn_known_file *file = tn_known_find(&import->known, claim->path, claim->path_size);
    /* It says nothing, so its record stays as it is; unless its root turns out to be away. */
    if (claim->asked != TN_OK && file != NULL && file->model != 0)
        return keep_refused(import, claim->path, tn_status_text(claim->asked), claim->asked, true, err);
    bool again = file != NULL && file->seen;
    if (file != NULL)
        file->seen = true;
    bool answered = file != NULL && (file->model != 0 || !claim->named);
    bool unchanged = answered && tn_known_unchanged(file, claim);
    if (!unchanged && is_growing(import, claim)) {
        import->growing++;
        return TN_OK;
    }
    if (!unchanged)
        return add_item(import, claim, file, err);
    return again ? TN_OK : pass_over(import, claim, file, err);
}

static tn_status on_member(void *user, const char *path, size_t size, tn_error *err)
{
    tn_import *import = user;
    tn_known_file *file = tn_known_find(&import->known, path, size);
    /* The entry of a set can be one of its members; its claim comes later and must not take itself for a repetition. */
    if (file == NULL || file->model != 0)
        return TN_OK;
    file->seen = true;
    /* Where it is another file than before, its set is read again and the row written anew. */
    return note_back(import, file, file->device, err);
}

static tn_status on_refused(void *user, const char *path, const tn_error *why, tn_error *err)
{
    return keep_refused(user, path, why->message, why->status, false, err);
}

/* The first few are named; the walk counts them all. */
static tn_status on_unreadable(void *user, const char *path, const char *why, tn_error *err)
{
    tn_import *import = user;
    tn_named_path named = {{NULL, 0}, {NULL, 0}};
    void *items = import->unreadable;
    if (import->unreadable_count == TN_NAMED_MAX)
        return TN_OK;
    TN_TRY(keep_text(import, path, strlen(path), &named.path, err));
    TN_TRY(keep_text(import, why, strlen(why), &named.message, err));
    TN_TRY(tn_make_room(import->library->memory, &items, &import->unreadable_capacity, import->unreadable_count,
                        sizeof named, TN_NAMED_MAX, err));
    import->unreadable = items;
    import->unreadable[import->unreadable_count++] = named;
    return TN_OK;
}

tn_status tn_import_gather(tn_import *import, tn_error *err)
{
    const tn_scan_visitor visitor = {on_claim, on_member, on_refused, on_unreadable, import};
    for (size_t i = 0; i < import->path_count; i++)
        TN_TRY(tn_known_load(&import->known, import->library, import->paths[i], err));
    TN_TRY(tn_scan(import->context, import->paths, import->path_count, &visitor, &import->counts, err));
    import->others += import->counts.others;
    return TN_OK;
}

static tn_status on_suspect(void *user, tn_text path, int64_t deaths, tn_error *err)
{
    (void)err;
    tn_import *import = user;
    uint64_t at = 0;
    if (tn_map_get(&import->by_path, path.bytes, path.size, &at))
        import->items[at].deaths = deaths;
    return TN_OK;
}

tn_status tn_import_suspects(tn_import *import, tn_error *err)
{
    tn_library_lock(import->library);
    tn_status status = tn_journal_suspects(import->library, on_suspect, import, err);
    tn_library_unlock(import->library);
    return status;
}
