#include "library/hash_job_texts.h"

#include <string.h>

#include "core/arena.h"
#include "core/encode.h"

static const struct {
    uint32_t bit;
    tn_text word;
} kinds[TN_HASH_KINDS] = {
    {TN_DIGEST_BLAKE3, {"blake3", 6}},     {TN_DIGEST_SHA256, {"sha256", 6}}, {TN_DIGEST_CRC32, {"crc32", 5}},
    {TN_DIGEST_AUTOV1, {"autov1", 6}},     {TN_DIGEST_AUTOV2, {"autov2", 6}}, {TN_DIGEST_AUTOV3, {"autov3", 6}},
    {TN_DIGEST_KEY_HASH, {"key_hash", 8}}, {TN_DIGEST_CONTENT, {"content", 7}},
};

static void crc32_digits(uint32_t crc, char *out)
{
    uint8_t bytes[4] = {(uint8_t)(crc >> 24), (uint8_t)(crc >> 16), (uint8_t)(crc >> 8), (uint8_t)crc};
    tn_hex(bytes, sizeof bytes, out);
}

static void digits_of(const tn_digests *digests, uint32_t bit, char out[TN_HASH_DIGITS_MAX])
{
    const char *text = NULL;
    switch (bit) {
    case TN_DIGEST_BLAKE3: tn_hex(digests->blake3, sizeof digests->blake3, out); return;
    case TN_DIGEST_SHA256: tn_hex(digests->sha256, sizeof digests->sha256, out); return;
    case TN_DIGEST_CRC32: crc32_digits(digests->crc32, out); return;
    case TN_DIGEST_AUTOV1: text = digests->autov1; break;
    case TN_DIGEST_AUTOV2: text = digests->autov2; break;
    case TN_DIGEST_AUTOV3: text = digests->autov3; break;
    case TN_DIGEST_KEY_HASH: text = digests->key_hash; break;
    default: text = digests->content; break;
    }
    memcpy(out, text, strlen(text) + 1);
}

void tn_hash_texts_of(const tn_digests *digests, tn_hash_texts *out)
{
    out->count = 0;
    for (size_t i = 0; i < TN_HASH_KINDS; i++) {
        if ((digests->have & kinds[i].bit) == 0)
            continue;
        char *digits = out->digits[out->count];
        digits_of(digests, kinds[i].bit, digits);
        out->hashes[out->count++] = (tn_hash_text){kinds[i].word, {digits, strlen(digits)}};
    }
}

const tn_hash_text *tn_hash_texts_find(const tn_hash_texts *texts, tn_text algorithm)
{
    for (size_t i = 0; i < texts->count; i++) {
        tn_text word = texts->hashes[i].algorithm;
        if (word.size == algorithm.size && memcmp(word.bytes, algorithm.bytes, word.size) == 0)
            return &texts->hashes[i];
    }
    return NULL;
}

void tn_hash_words(uint32_t which, char out[TN_HASH_WORDS_MAX])
{
    size_t at = 0;
    for (size_t i = 0; i < TN_HASH_KINDS; i++) {
        if ((which & kinds[i].bit) == 0)
            continue;
        if (at > 0)
            out[at++] = ',';
        memcpy(out + at, kinds[i].word.bytes, kinds[i].word.size);
        at += kinds[i].word.size;
    }
    out[at] = '\0';
}
