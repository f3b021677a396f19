/* A folder read into one catalog. A pipeline's components come in the order of model_index.json; each brings its JSON
 * files as metadata and its weights as parts. What is missing, unread or unsafe in one component is a finding, and the
 * others are read. Only names that lie in the folder, or plain names that its files give, are opened. */
#include "format/folder.h"

#include <string.h>

#include "core/error.h"
#include "format/index.h"
#include "format/limits.h"
#include "format/part.h"
#include "format/safetensors.h"

/* One folder of weights: a component, or the root of a model that has none. */
typedef struct room {
    tn_catalog *catalog;
    const char *folder;    /* its path */
    const char *component; /* "" for the root */
    tn_listing listing;
    tn_weights_choice choice;
} room;

static tn_text path_of(const room *r, const char *name)
{
    return tn_path_join(tn_catalog_arena(r->catalog), r->folder, name);
}

/* How a file of the room is called in keys of metadata: "unet/config.json#". */
static tn_text head_of(const room *r, const char *name)
{
    return tn_arena_format(tn_catalog_arena(r->catalog), "%s%s%s#", r->component, r->component[0] != '\0' ? "/" : "",
                           name);
}

/* ---- JSON files ---- */

static tn_status read_config_into(const room *r, const char *path, const char *head, tn_error *err)
{
    tn_context *context = tn_catalog_context(r->catalog);
    char *text = NULL;
    size_t size = 0;
    TN_TRY(tn_part_text(context, r->folder, path, TN_CONFIG_BYTES_MAX, &text, &size, err));
    tn_status status = tn_config_flatten(r->catalog, head, path, text, size, err);
    tn_give(&context->memory, text, size);
    return status;
}

static tn_status read_config(const room *r, const char *name, tn_error *err)
{
    tn_text path = path_of(r, name), head = head_of(r, name);
    TN_TRY(tn_arena_status(tn_catalog_arena(r->catalog), err));
    tn_catalog_mark before = tn_catalog_mark_now(r->catalog);
    tn_error failure;
    if (read_config_into(r, path.bytes, head.bytes, &failure) == TN_OK)
        return TN_OK;
    tn_catalog_return_to(r->catalog, before);
    return tn_catalog_note_failure(r->catalog, &failure, path.bytes, err);
}

static tn_status read_configs(const room *r, tn_error *err)
{
    static const char *const names[] = {"config.json", "quantization_config.json", "scheduler_config.json",
                                        "preprocessor_config.json"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (tn_listing_find(&r->listing, names[i]) != NULL)
            TN_TRY(read_config(r, names[i], err));
    return TN_OK;
}

/* ---- weights ---- */

static tn_status read_open(const room *r, tn_source *source, const char *path, const char *head, tn_error *err)
{
    if (r->choice.index) {
        tn_set_place set = {.folder = r->folder, .component = r->component, .index_path = path, .metadata_head = head};
        return tn_set_open(r->catalog, source, &set, err);
    }
    tn_safetensors_place file = {.path = path, .component = r->component, .metadata_head = head};
    return tn_safetensors_read(r->catalog, source, &file, err);
}

static tn_status read_chosen(const room *r, const char *path, const char *head, tn_error *err)
{
    if (r->choice.shard) {
        tn_set_place set = {.folder = r->folder, .component = r->component, .metadata_head = head};
        TN_TRY(tn_set_of_pattern(r->catalog, r->choice.name, &set, err));
        return tn_catalog_note(r->catalog, TN_WARNING, TN_MISSING_PART, path, err, "the set has no index");
    }
    tn_source *source = NULL;
    TN_TRY(tn_part_open(tn_catalog_context(r->catalog), r->folder, path, &source, err));
    tn_status status = read_open(r, source, path, head, err);
    tn_source_release(source);
    return status;
}

static tn_status note_variants(const room *r, tn_error *err)
{
    for (uint32_t i = 0; i < r->listing.count; i++) {
        const char *name = r->listing.names[i].name;
        if (!tn_is_other_variant(&r->choice, name))
            continue;
        tn_text path = path_of(r, name);
        TN_TRY(tn_arena_status(tn_catalog_arena(r->catalog), err));
        TN_TRY(tn_catalog_note(r->catalog, TN_NOTE, TN_EXTRA_PART, path.bytes, err,
                               "another variant of the same weights, not read"));
    }
    return TN_OK;
}

static tn_status note_foreign(const room *r, tn_error *err)
{
    tn_text path = path_of(r, r->choice.first_foreign);
    TN_TRY(tn_arena_status(tn_catalog_arena(r->catalog), err));
    bool alone = r->choice.name == NULL;
    return tn_catalog_note(r->catalog, alone ? TN_WARNING : TN_NOTE, TN_UNSUPPORTED, path.bytes, err,
                           alone ? "the weights are in a container without a reader"
                                 : "the same weights in a container without a reader, not read");
}

static tn_status read_weights(const room *r, tn_error *err)
{
    tn_text path = path_of(r, r->choice.name), head = head_of(r, r->choice.name);
    TN_TRY(tn_arena_status(tn_catalog_arena(r->catalog), err));
    tn_catalog_mark before = tn_catalog_mark_now(r->catalog);
    tn_error failure;
    if (read_chosen(r, path.bytes, head.bytes, &failure) != TN_OK) {
        tn_catalog_return_to(r->catalog, before);
        return tn_catalog_note_failure(r->catalog, &failure, failure.file[0] != '\0' ? failure.file : path.bytes, err);
    }
    return note_variants(r, err);
}

/* Everything in one listed folder. `wanted`: it should hold weights. */
static tn_status read_room(room *r, bool wanted, tn_error *err)
{
    TN_TRY(read_configs(r, err));
    r->choice = tn_choose_weights(&r->listing);
    if (r->choice.name != NULL)
        TN_TRY(read_weights(r, err));
    if (r->choice.foreign)
        TN_TRY(note_foreign(r, err));
    if (!wanted || r->choice.name != NULL || r->choice.foreign)
        return TN_OK;
    return tn_catalog_note(r->catalog, TN_ERROR, TN_MISSING_PART, r->folder, err, "the component has no weights");
}

/* ---- components ---- */

static tn_status note_missing(tn_catalog *catalog, const tn_component *c, const char *folder, tn_error *err)
{
    bool needed = tn_component_has_weights(c) && strcmp(c->name.bytes, "safety_checker") != 0;
    return tn_catalog_note(catalog, needed ? TN_ERROR : TN_WARNING, TN_MISSING_PART, folder, err,
                           "model_index.json names this component and it is not there");
}

static tn_status read_listed(tn_catalog *catalog, const tn_component *c, const char *folder, tn_error *err)
{
    room r = {.catalog = catalog, .folder = folder, .component = c->name.bytes};
    tn_error failure;
    tn_status status = tn_listing_read(tn_catalog_context(catalog), folder, &r.listing, &failure);
    status = status == TN_OK ? read_room(&r, tn_component_has_weights(c), err)
                             : tn_catalog_note_failure(catalog, &failure, folder, err);
    tn_listing_free(&r.listing);
    return status;
}

static tn_status read_component(tn_catalog *catalog, const tn_component *c, const char *root,
                                const tn_listing *listing, tn_error *err)
{
    tn_text folder = tn_path_join(tn_catalog_arena(catalog), root, c->name.bytes);
    TN_TRY(tn_arena_status(tn_catalog_arena(catalog), err));
    const tn_named *found = tn_listing_find(listing, c->name.bytes);
    if (found == NULL)
        return note_missing(catalog, c, folder.bytes, err);
    if (found->value == TN_OS_LINK)
        return tn_catalog_note(catalog, TN_ERROR, TN_UNSAFE_PATH, folder.bytes, err,
                               "the component is a link, which is not followed");
    if (found->value != TN_OS_FOLDER)
        return tn_catalog_note(catalog, TN_ERROR, TN_MISSING_PART, folder.bytes, err, "the component is no folder");
    return read_listed(catalog, c, folder.bytes, err);
}

/* The components of the pipeline at `path` into `out`, which has room for TN_COMPONENTS_MAX. */
static tn_status list_components(tn_context *context, const char *path, tn_arena *arena, tn_component *out,
                                 uint32_t *count, tn_error *err)
{
    tn_text file = tn_path_join(arena, path, "model_index.json");
    char *text = NULL;
    size_t size = 0;
    TN_TRY(tn_arena_status(arena, err));
    TN_TRY(tn_part_text(context, path, file.bytes, TN_CONFIG_BYTES_MAX, &text, &size, err));
    tn_status status = tn_model_index_parse(text, size, arena, out, count, err);
    if (status != TN_OK)
        tn_error_at_file(err, file.bytes);
    tn_give(&context->memory, text, size);
    return status;
}

static tn_status read_pipeline(tn_catalog *catalog, const char *path, const tn_listing *listing, tn_error *err)
{
    tn_context *context = tn_catalog_context(catalog);
    uint32_t count = 0;
    void *block = NULL;
    TN_TRY(tn_take_array(&context->memory, TN_COMPONENTS_MAX, sizeof(tn_component), &block, err));
    tn_component *components = block;
    room root = {.catalog = catalog, .folder = path, .component = ""};
    tn_status status = list_components(context, path, tn_catalog_arena(catalog), components, &count, err);
    if (status == TN_OK)
        status = read_config(&root, "model_index.json", err);
    for (uint32_t i = 0; i < count && status == TN_OK; i++)
        status = read_component(catalog, &components[i], path, listing, err);
    tn_give(&context->memory, block, TN_COMPONENTS_MAX * sizeof(tn_component));
    return status;
}

tn_status tn_folder_components(tn_context *context, const char *path, tn_listing *out, tn_error *err)
{
    tn_listing_init(out, &context->memory);
    uint32_t count = 0;
    void *block = NULL;
    TN_TRY(tn_take_array(&context->memory, TN_COMPONENTS_MAX, sizeof(tn_component), &block, err));
    tn_component *components = block;
    tn_status status = list_components(context, path, &out->arena, components, &count, err);
    for (uint32_t i = 0; i < count && status == TN_OK; i++)
        status = tn_listing_add(out, components[i].name.bytes, TN_OS_FOLDER, err);
    tn_give(&context->memory, block, TN_COMPONENTS_MAX * sizeof(tn_component));
    tn_listing_sort(out);
    return status;
}

/* ---- the folder ---- */

static tn_status read_as(tn_catalog *catalog, const char *path, tn_listing *listing, tn_error *err)
{
    tn_folder_signs signs = {0};
    for (uint32_t i = 0; i < listing->count; i++)
        tn_folder_see(&signs, listing->names[i].name);
    tn_container kind = tn_folder_verdict(&signs);
    if (kind == TN_CONTAINER_UNKNOWN) {
        tn_fail(err, TN_UNSUPPORTED, "the folder is no model: neither model_index.json nor config.json with weights");
        tn_error_at_file(err, path);
        return TN_UNSUPPORTED;
    }
    tn_catalog_set_container(catalog, kind);
    if (signs.pipeline)
        return read_pipeline(catalog, path, listing, err);
    room root = {.catalog = catalog, .folder = path, .component = "", .listing = *listing};
    return read_room(&root, true, err);
}

tn_status tn_folder_read(tn_catalog *catalog, const char *path, tn_error *err)
{
    tn_listing listing;
    tn_status status = tn_listing_read(tn_catalog_context(catalog), path, &listing, err);
    if (status == TN_OK)
        status = read_as(catalog, path, &listing, err);
    tn_listing_free(&listing);
    return status;
}
