/* MD5 (RFC 1321). It names headers here and protects nothing. */
#ifndef TN_DIGEST_MD5_H
#define TN_DIGEST_MD5_H

#include <stddef.h>
#include <stdint.h>

typedef struct tn_md5 {
    uint32_t state[4];
    uint64_t bytes;    /* taken so far */
    uint8_t block[64]; /* the last, not yet full one */
} tn_md5;

void tn_md5_begin(tn_md5 *md5);
void tn_md5_add(tn_md5 *md5, const void *bytes, size_t size);
void tn_md5_end(tn_md5 *md5, uint8_t out[16]);

#endif
