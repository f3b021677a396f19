/* What other programs leave beside a model, and goes with it. */
#include "library/acts.h"

#include <string.h>

#include "library/claim.h"
#include "library/place.h"

/* What other programs leave beside "x.safetensors": descriptions, previews, the settings of a checkpoint. */
static bool is_sidecar_tail(const char *tail)
{
    static const char *const tails[] = {
        ".json",        ".civitai.info", ".metadata.json", ".txt",         ".yaml",         ".yml", ".png", ".webp",
        ".jpg",         ".jpeg",         ".gif",           ".preview.png", ".preview.webp", ".preview.jpg",
        ".preview.jpeg", ".preview.gif", ".cm-info.json",  ".sha256",
    };
    for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++)
        if (strcmp(tails[i], tail) == 0)
            return true;
    return false;
}

typedef struct beside {
    tn_act_plan *plan;
    tn_text folder, stem;
    tn_text names[64];
    size_t count;
    bool shared; /* another model has the same stem: the files beside it may be its */
} beside;

static tn_status see_name(beside *b, const char *name, tn_error *err)
{
    size_t size = strlen(name);
    tn_text stem = tn_claim_model_name(name, size, false);
    if (tn_suffix_of(name, size) != TN_SUFFIX_NONE && tn_act_same_text(stem, b->stem)) {
        tn_buffer path;
        tn_buffer_init(&path, b->plan->library->memory, TN_PLACE_PATH_MAX);
        tn_place_below(&path, b->folder.bytes, b->folder.size);
        tn_buffer_append(&path, name, size);
        tn_status status = tn_buffer_status(&path, err);
        if (status == TN_OK && !tn_act_has_step(b->plan, (tn_text){path.bytes, path.size}))
            b->shared = true;
        tn_buffer_free(&path);
        return status;
    }
    if (size <= b->stem.size || memcmp(name, b->stem.bytes, b->stem.size) != 0 || !is_sidecar_tail(name + b->stem.size) ||
        b->count == sizeof b->names / sizeof b->names[0])
        return TN_OK;
    b->names[b->count] = tn_arena_text(&b->plan->arena, name, size);
    return b->names[b->count++].bytes != NULL ? TN_OK : tn_arena_status(&b->plan->arena, err);
}

static tn_status see_names(beside *b, tn_error *err)
{
    tn_os_folder *folder = NULL;
    TN_TRY(tn_os_folder_open(b->plan->library->memory, b->folder.bytes, &folder, err));
    tn_status status = TN_OK;
    for (bool more = true; more && status == TN_OK;) {
        tn_os_entry entry;
        status = tn_os_folder_next(folder, &entry, &more, err);
        if (status == TN_OK && more && (entry.kind == TN_OS_REGULAR || entry.kind == TN_OS_LINK))
            status = see_name(b, entry.name, err);
    }
    tn_os_folder_close(folder);
    return status;
}

static int compare_names(const tn_text *a, const tn_text *b)
{
    return strcmp(a->bytes, b->bytes);
}

static void sort_names(beside *b)
{
    for (size_t i = 1; i < b->count; i++)
        for (size_t j = i; j > 0 && compare_names(&b->names[j], &b->names[j - 1]) < 0; j--) {
            tn_text other = b->names[j];
            b->names[j] = b->names[j - 1];
            b->names[j - 1] = other;
        }
}

tn_status tn_act_add_beside(tn_act_plan *plan, tn_text entry, tn_error *err)
{
    beside b = {.plan = plan, .folder = tn_act_folder_of(plan, entry)};
    TN_TRY(tn_arena_status(&plan->arena, err));
    b.stem = tn_claim_model_name(entry.bytes, entry.size, false);
    TN_TRY(see_names(&b, err));
    sort_names(&b);
    for (size_t i = 0; i < b.count && !b.shared; i++) {
        tn_text path;
        TN_TRY(tn_act_below(plan, b.folder, b.names[i], &path, err));
        if (tn_act_has_step(plan, path))
            continue;
        TN_TRY(tn_act_add_step(plan, path, (tn_text){"", 0}, err));
        plan->steps[plan->count - 1].beside = true;
    }
    return TN_OK;
}
