#include "digest/running.h"

#include <blake3.h>

#include "core/error.h"

struct tn_running {
    tn_memory_source *memory;
    blake3_hasher hasher;
};

tn_status tn_running_create(tn_memory_source *memory, tn_running **out, tn_error *err)
{
    void *block = NULL;
    TN_TRY(tn_take(memory, sizeof(tn_running), &block, err));
    tn_running *running = block;
    running->memory = memory;
    blake3_hasher_init(&running->hasher);
    *out = running;
    return TN_OK;
}

void tn_running_add(tn_running *running, const void *bytes, size_t size)
{
    blake3_hasher_update(&running->hasher, bytes, size);
}

void tn_running_end(tn_running *running, uint8_t out[32])
{
    blake3_hasher_finalize(&running->hasher, out, 32);
    blake3_hasher_init(&running->hasher);
}

void tn_running_destroy(tn_running *running)
{
    if (running != NULL)
        tn_give(running->memory, running, sizeof *running);
}
