/* BLAKE3 of what lies in memory: for keys and for digests of small things. Files are hashed as <tenure/digest.h> says. */
#ifndef TN_DIGEST_PIECES_H
#define TN_DIGEST_PIECES_H

#include <tenure/status.h>

/* The digest of the pieces' bytes, one after the other, as if they were one text: where one piece ends and the next
 * begins is not hashed. `pieces` may hold the bytes of `out`. */
void tn_blake3_pieces(const tn_text *pieces, size_t count, uint8_t out[32]);

#endif
