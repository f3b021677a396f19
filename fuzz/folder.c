/* Folders on any bytes: the input is three texts with a zero byte between them, the model_index.json, a config.json, and
 * the names in a folder, one a line.
 *
 * Held: components are plain names, each once; every pair of a config begins with its head, and its key stands once;
 * weights are chosen among the names that were given; all memory is given back. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "context/context.h"
#include "format/folder.h"
#include "format/limits.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool holds)
{
    if (!holds)
        abort();
}

static void read_model_index(tn_context *context, const char *text, size_t size)
{
    static tn_component components[TN_COMPONENTS_MAX];
    tn_arena arena;
    uint32_t count = 0;
    tn_arena_init(&arena, &context->memory, 1 << 24);
    if (tn_model_index_parse(text, size, &arena, components, &count, NULL) != TN_OK)
        demand(count == 0);
    for (uint32_t i = 0; i < count; i++) {
        demand(tn_name_is_plain(components[i].name.bytes, components[i].name.size));
        (void)tn_component_has_weights(&components[i]);
    }
    tn_arena_free(&arena);
}

static void read_config(tn_context *context, const char *text, size_t size)
{
    tn_catalog *catalog = NULL;
    tn_checkpoint *k = NULL;
    const tn_pair *pairs;
    demand(tn_catalog_begin(context, TN_CONTAINER_DIFFUSERS, "f", &catalog, NULL) == TN_OK);
    (void)tn_config_flatten(catalog, "unet/config.json#", "f/unet/config.json", text, size, NULL);
    demand(tn_catalog_finish(catalog, &k, NULL) == TN_OK);
    size_t count = tn_checkpoint_metadata(k, &pairs);
    demand(count <= TN_CONFIG_PAIRS_MAX);
    for (size_t i = 0; i < count; i++)
        demand(pairs[i].key.size <= TN_CONFIG_KEY_MAX && strncmp(pairs[i].key.bytes, "unet/config.json#", 17) == 0);
    tn_checkpoint_release(k);
}

static void read_names(tn_context *context, const char *text, size_t size)
{
    tn_listing listing;
    tn_folder_signs signs = {0};
    tn_listing_init(&listing, &context->memory);
    for (const char *at = text, *end = text + size; at < end;) {
        char name[256];
        const char *line = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((line != NULL ? line : end) - at);
        size_t kept = length < sizeof name - 1 ? length : sizeof name - 1;
        memcpy(name, at, kept);
        name[kept] = '\0';
        demand(tn_listing_add(&listing, name, TN_OS_REGULAR, NULL) == TN_OK || listing.count == TN_FOLDER_NAMES_MAX);
        tn_folder_see(&signs, name);
        at += length + 1;
    }
    tn_listing_sort(&listing);
    tn_weights_choice choice = tn_choose_weights(&listing);
    demand(choice.name == NULL || tn_listing_find(&listing, choice.name) != NULL);
    for (uint32_t i = 0; i < listing.count; i++) {
        demand(i == 0 || strcmp(listing.names[i - 1].name, listing.names[i].name) <= 0);
        bool owned = tn_folder_owns_file(&signs, listing.names[i].name);
        demand(!owned || tn_folder_verdict(&signs) != TN_CONTAINER_UNKNOWN);
        (void)tn_is_other_variant(&choice, listing.names[i].name);
    }
    tn_listing_free(&listing);
}

/* The next of the texts: its size, the zero byte behind it passed over. */
static size_t next(const char **at, const char *end)
{
    const char *zero = *at < end ? memchr(*at, 0, (size_t)(end - *at)) : NULL;
    size_t size = (size_t)((zero != NULL ? zero : end) - *at);
    *at += zero != NULL ? size + 1 : size;
    return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tn_context_options options = TN_CONTEXT_OPTIONS_INIT;
    tn_context *context = NULL;
    options.memory_limit_bytes = UINT64_C(256) << 20;
    demand(tn_context_create(&options, &context, NULL) == TN_OK);
    const char *at = data != NULL ? (const char *)data : "", *end = at + size, *text = at;
    size_t length = next(&at, end);
    read_model_index(context, text, length);
    text = at;
    length = next(&at, end);
    read_config(context, text, length);
    read_names(context, at, (size_t)(end - at));
    demand(tn_context_memory(context).used_bytes == 0);
    tn_context_destroy(context);
    return 0;
}
