/* Naming any bytes, and opening them under names that claim different things.
 *
 * Held: there is always an answer; it does not depend on the name; what is called empty is; all memory is given back. */
#include <stdint.h>
#include <stdlib.h>

#include "context/context.h"
#include "format/checkpoint.h"
#include "format/sniff.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool holds)
{
    if (!holds)
        abort();
}

static tn_container look(tn_context *context, const uint8_t *data, size_t size, const char *name)
{
    tn_source *source = NULL;
    tn_checkpoint *k = NULL;
    tn_container found = TN_CONTAINER_COUNT;
    demand(tn_source_over(context, data, size, name, &source, NULL) == TN_OK);
    demand(tn_sniff_source(source, &found, NULL) == TN_OK);
    demand(found < TN_CONTAINER_COUNT);
    if (tn_checkpoint_open_source(source, &k, NULL) == TN_OK)
        demand(tn_checkpoint_container(k) == TN_CONTAINER_SAFETENSORS);
    tn_checkpoint_release(k);
    tn_source_release(source);
    return found;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tn_context_options options = TN_CONTEXT_OPTIONS_INIT;
    tn_context *context = NULL;
    options.memory_limit_bytes = UINT64_C(256) << 20;
    demand(tn_context_create(&options, &context, NULL) == TN_OK);
    tn_container found = look(context, data, size, "x.bin");
    demand(look(context, data, size, "x.safetensors") == found);
    demand((found == TN_CONTAINER_EMPTY) == (size == 0));
    demand(tn_context_memory(context).used_bytes == 0);
    tn_context_destroy(context);
    return 0;
}
