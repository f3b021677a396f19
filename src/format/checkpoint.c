/* Opening a path: a folder, an index, a shard of a set, or a file by its content. What each is, is decided here; how
 * it is read is decided by its reader. */
#include "format/checkpoint.h"

#include <string.h>

#include "core/error.h"
#include "format/catalog.h"
#include "format/folder.h"
#include "format/index.h"
#include "format/limits.h"
#include "format/part.h"
#include "format/safetensors.h"
#include "format/sniff.h"

/* ---- words ---- */

typedef struct container_row {
    const char *word;
    bool weights;
} container_row;

static const container_row containers[] = {
#define TN_CONTAINER(NAME, word, weights) {word, (weights) != 0},
#include <tenure/container.def>
#undef TN_CONTAINER
};

const char *tn_container_word(tn_container container)
{
    return (unsigned)container < TN_CONTAINER_COUNT ? containers[container].word : "unknown";
}

bool tn_container_is_weights(tn_container container)
{
    return (unsigned)container < TN_CONTAINER_COUNT && containers[container].weights;
}

/* ---- naming a path ---- */

/* `opened` is what opening the path as a file said. *folder: it is one, and may be looked at as such. */
static tn_status or_folder(const char *path, tn_status opened, bool *folder, tn_error *err)
{
    tn_os_info info;
    *folder = false;
    if (opened != TN_NOT_A_FILE)
        return opened;
    tn_error why;
    tn_status status = tn_os_info_at(path, true, &info, &why);
    if (status != TN_OK && err != NULL)
        *err = why;
    if (status != TN_OK)
        return status;
    *folder = info.kind == TN_OS_FOLDER;
    return *folder ? TN_OK : opened;
}

static tn_container kind_of_names(const tn_listing *listing)
{
    tn_folder_signs signs = {0};
    for (uint32_t i = 0; i < listing->count; i++)
        tn_folder_see(&signs, listing->names[i].name);
    tn_container kind = tn_folder_verdict(&signs);
    bool tfjs = tn_listing_find(listing, "model.json") != NULL;
    for (uint32_t i = 0; kind == TN_CONTAINER_UNKNOWN && tfjs && i < listing->count; i++)
        if (strncmp(listing->names[i].name, "group1-shard1of", 15) == 0)
            kind = TN_CONTAINER_TFJS;
    return kind;
}

static tn_status name_folder(tn_context *context, const char *path, tn_container *out, tn_error *err)
{
    tn_listing listing;
    tn_status status = tn_listing_read(context, path, &listing, err);
    if (status == TN_OK)
        *out = kind_of_names(&listing);
    tn_listing_free(&listing);
    return status;
}

static tn_status is_unfinished(tn_context *context, const char *path, bool *out, tn_error *err)
{
    *out = true;
    return tn_name_is_partial(path) ? TN_OK : tn_path_has_download_record(context, path, out, err);
}

tn_status tn_container_of(tn_context *context, const char *path, tn_container *out, tn_error *err)
{
    tn_source *source = NULL;
    bool unfinished = false, folder = false;
    TN_TRY(tn_context_check(context, err));
    tn_status status = tn_source_open(context, path, &source, err);
    TN_TRY(or_folder(path, status, &folder, err));
    if (folder)
        return name_folder(context, path, out, err);
    tn_container found = TN_CONTAINER_PARTIAL_DOWNLOAD;
    status = is_unfinished(context, path, &unfinished, err);
    if (status == TN_OK && !unfinished)
        status = tn_sniff_source(source, &found, err);
    tn_source_release(source);
    if (status == TN_OK)
        *out = found;
    return status;
}

/* ---- refusing what is not read ---- */

static tn_status refuse(const char *path, tn_container container, tn_error *err)
{
    tn_status status = TN_UNSUPPORTED;
    if (container == TN_CONTAINER_EMPTY)
        status = tn_fail(err, TN_EMPTY, "%s", tn_container_accident(container));
    else if (tn_container_is_weights(container))
        tn_fail(err, status, "there is no reader for %s files", tn_container_word(container));
    else if (tn_name_claims_weights(path))
        status = tn_fail(err, TN_NOT_WEIGHTS, "%s", tn_container_accident(container));
    else
        tn_fail(err, status, "this is no weight file: %s", tn_container_word(container));
    tn_error_at_file(err, path);
    return status;
}

static bool may_be_misnamed(tn_status status)
{
    return status == TN_LIMIT || status == TN_TRUNCATED || status == TN_BAD_HEADER || status == TN_BAD_JSON;
}

/* Looking at something beside the matter may fail without harm; but no memory, or a cancel, ends the opening. */
static tn_status unless_of_process(tn_status status, const tn_error *why, tn_error *err)
{
    if (status == TN_OK || !tn_failure_is_of_process(status))
        return TN_OK;
    return tn_fail_as(why, err);
}

/* ---- one file ---- */

/* Read a safetensors file. A failure that may come from another container is explained by what it really is. */
static tn_status read_safetensors(tn_catalog *catalog, tn_source *source, tn_error *err)
{
    const char *path = tn_source_path(source);
    tn_safetensors_place place = {.path = path, .component = "", .metadata_head = "", .alone = true};
    tn_status status = tn_safetensors_read(catalog, source, &place, err);
    tn_container really = TN_CONTAINER_SAFETENSORS;
    if (!may_be_misnamed(status))
        return status;
    tn_error why;
    tn_status looked = tn_sniff_source(source, &really, &why);
    TN_TRY(unless_of_process(looked, &why, err));
    if (looked != TN_OK || really == TN_CONTAINER_SAFETENSORS || really == TN_CONTAINER_UNKNOWN)
        return status;
    return refuse(path, really, err);
}

static tn_status read_file(tn_catalog *catalog, tn_source *source, tn_error *err)
{
    const char *path = tn_source_path(source);
    tn_container container = TN_CONTAINER_UNKNOWN;
    if (tn_name_claims_safetensors(path)) /* its reader believes nothing: no need to look first */
        return read_safetensors(catalog, source, err);
    TN_TRY(tn_sniff_source(source, &container, err));
    return container == TN_CONTAINER_SAFETENSORS ? read_safetensors(catalog, source, err)
                                                 : refuse(path, container, err);
}

tn_status tn_checkpoint_open_source(tn_source *source, tn_checkpoint **out, tn_error *err)
{
    tn_catalog *catalog = NULL;
    TN_TRY(tn_catalog_begin(tn_source_context(source), TN_CONTAINER_SAFETENSORS, tn_source_path(source), &catalog,
                            err));
    tn_status status = read_file(catalog, source, err);
    if (status == TN_OK)
        status = tn_catalog_finish(catalog, out, err);
    if (status != TN_OK)
        tn_catalog_abandon(catalog);
    return status;
}

/* A file by a path: also whether it is an unfinished download. */
static tn_status read_path(tn_catalog *catalog, tn_source *source, const char *path, tn_error *err)
{
    bool unfinished = false;
    TN_TRY(is_unfinished(tn_catalog_context(catalog), path, &unfinished, err));
    tn_status status = read_file(catalog, source, err);
    if (!unfinished)
        return status;
    if (status == TN_OK)
        return tn_catalog_note(catalog, TN_ERROR, TN_TRUNCATED, NULL, err,
                               "the download of this file has not finished");
    if (tn_status_state(status)[0] == '\0' || strcmp(tn_status_state(status), "unreadable") == 0)
        return status;
    tn_fail(err, TN_TRUNCATED, "the download of this file has not finished");
    tn_error_at_file(err, path);
    return TN_TRUNCATED;
}

/* ---- sets ---- */

/* The names that the index of a shard can have: STEM.safetensors.index.json, and for a stem that ends in a variant,
 * BASE.safetensors.index.VARIANT.json. Which of them there is, or NULL. */
static tn_status find_index(tn_catalog *catalog, const char *folder, const char *name, const tn_shard_name *shard,
                            const char **out, tn_error *err)
{
    tn_arena *arena = tn_catalog_arena(catalog);
    int stem = (int)shard->stem_size, base = stem;
    while (base > 0 && name[base] != '.')
        base--;
    tn_text names[2] = {tn_arena_format(arena, "%.*s.safetensors.index.json", stem, name), {NULL, 0}};
    if (base > 0)
        names[1] = tn_arena_format(arena, "%.*s.safetensors.index.%.*s.json", base, name, stem - base - 1,
                                   name + base + 1);
    for (size_t i = 0; i < 2 && names[i].bytes != NULL; i++) {
        tn_text path = tn_path_join(arena, folder, names[i].bytes);
        tn_os_info info;
        if (path.bytes != NULL && tn_os_info_at(path.bytes, true, &info, NULL) == TN_OK) {
            *out = path.bytes;
            return TN_OK;
        }
    }
    return tn_arena_status(arena, err);
}

/* Read the set of a shard when its index names it. *done false: it does not, or cannot be read, and `why` says so. */
static tn_status read_named_set(tn_catalog *catalog, const tn_set_place *place, const char *name, bool *done,
                                tn_error *why, tn_error *err)
{
    tn_context *context = tn_catalog_context(catalog);
    char *text = NULL;
    size_t size = 0;
    tn_index index;
    *done = false;
    tn_status status = tn_part_text(context, place->folder, place->index_path, TN_INDEX_BYTES_MAX, &text, &size, why);
    if (status != TN_OK)
        return unless_of_process(status, why, err);
    status = tn_index_parse(&context->memory, text, size, &index, why);
    tn_give(&context->memory, text, size);
    if (status == TN_OK && !tn_index_names_shard(&index, name))
        tn_fail(why, TN_STALE_INDEX, "the index beside this shard does not name it");
    else if (status == TN_OK) {
        *done = true;
        status = tn_set_read(catalog, &index, place, err);
    }
    tn_index_free(&index);
    return *done ? status : unless_of_process(status, why, err);
}

/* A shard alone, with what is wrong with its set as a warning. */
static tn_status read_lone_shard(tn_catalog *catalog, tn_source *source, const char *path, const tn_shard_name *shard,
                                 const char *index_path, const tn_error *why, tn_error *err)
{
    TN_TRY(read_path(catalog, source, path, err));
    if (index_path == NULL)
        return tn_catalog_note(catalog, TN_WARNING, TN_MISSING_PART, NULL, err,
                               "this is part %u of %u of a set without an index, opened alone", shard->number,
                               shard->total);
    return tn_catalog_note(catalog, TN_WARNING, why->status, index_path, err, "%s; the shard is opened alone",
                           why->message);
}

static tn_status read_shard(tn_catalog *catalog, tn_source *source, const char *path, const tn_shard_name *shard,
                            tn_error *err)
{
    tn_text folder = tn_path_folder(tn_catalog_arena(catalog), path);
    const char *name = tn_name_of_path(path), *index_path = NULL;
    tn_error why;
    bool done = false;
    TN_TRY(tn_arena_status(tn_catalog_arena(catalog), err));
    TN_TRY(find_index(catalog, folder.bytes, name, shard, &index_path, err));
    if (index_path != NULL) {
        tn_set_place place = {.folder = folder.bytes, .component = "", .index_path = index_path, .metadata_head = ""};
        TN_TRY(read_named_set(catalog, &place, name, &done, &why, err));
    }
    return done ? TN_OK : read_lone_shard(catalog, source, path, shard, index_path, &why, err);
}

static tn_status read_index(tn_catalog *catalog, tn_source *source, const char *path, tn_error *err)
{
    tn_text folder = tn_path_folder(tn_catalog_arena(catalog), path);
    TN_TRY(tn_arena_status(tn_catalog_arena(catalog), err));
    tn_set_place place = {.folder = folder.bytes, .component = "", .index_path = path, .metadata_head = ""};
    return tn_set_open(catalog, source, &place, err);
}

/* ---- a path ---- */

static tn_status read_any(tn_catalog *catalog, const char *path, bool alone, tn_error *err)
{
    tn_source *source = NULL;
    tn_shard_name shard;
    const char *name = tn_name_of_path(path);
    bool folder = false;
    tn_status status = tn_source_open(tn_catalog_context(catalog), path, &source, err);
    TN_TRY(or_folder(path, status, &folder, err));
    if (folder)
        return tn_folder_read(catalog, path, err);
    if (tn_name_is_index(name))
        status = read_index(catalog, source, path, err);
    else if (!alone && tn_shard_name_parse(name, &shard))
        status = read_shard(catalog, source, path, &shard, err);
    else
        status = read_path(catalog, source, path, err);
    tn_source_release(source);
    return status;
}

tn_status tn_checkpoint_open(tn_context *context, const char *path, const tn_open_options *options,
                             tn_checkpoint **out, tn_error *err)
{
    if (context == NULL || path == NULL || out == NULL || (options != NULL && options->size < sizeof *options))
        return tn_fail(err, TN_INVALID, "a checkpoint is opened with a context, a path and a place for it");
    tn_catalog *catalog = NULL;
    TN_TRY(tn_context_check(context, err));
    TN_TRY(tn_catalog_begin(context, TN_CONTAINER_SAFETENSORS, path, &catalog, err));
    tn_status status = read_any(catalog, path, options != NULL && options->alone, err);
    if (status == TN_OK)
        status = tn_catalog_finish(catalog, out, err);
    if (status != TN_OK)
        tn_catalog_abandon(catalog);
    return status;
}
