#include "digest/pieces.h"

#include <blake3.h>

void tn_blake3_pieces(const tn_text *pieces, size_t count, uint8_t out[32])
{
    blake3_hasher hasher;
    blake3_hasher_init(&hasher);
    for (size_t i = 0; i < count; i++)
        blake3_hasher_update(&hasher, pieces[i].bytes, pieces[i].size);
    blake3_hasher_finalize(&hasher, out, 32);
}
