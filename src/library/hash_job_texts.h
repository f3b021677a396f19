/* Digests as they are recorded: a word and digits for each. */
#ifndef TN_LIBRARY_HASH_JOB_TEXTS_H
#define TN_LIBRARY_HASH_JOB_TEXTS_H

#include <tenure/library.h>

#define TN_HASH_KINDS 8       /* digests of TN_DIGEST_* */
#define TN_HASH_DIGITS_MAX 68 /* of the longest one, with its NUL */

typedef struct tn_hash_texts {
    size_t count;
    tn_hash_text hashes[TN_HASH_KINDS];
    char digits[TN_HASH_KINDS][TN_HASH_DIGITS_MAX];
} tn_hash_texts;

/* All that there are. `out` must stay where it is: its texts point into it. */
void tn_hash_texts_of(const tn_digests *digests, tn_hash_texts *out);
/* The one called so; NULL when it is not among them. */
const tn_hash_text *tn_hash_texts_find(const tn_hash_texts *texts, tn_text algorithm);
/* TN_DIGEST_* as "blake3,sha256", which `tenure hash --algo` takes. Room for all: TN_HASH_WORDS_MAX. */
#define TN_HASH_WORDS_MAX 80
void tn_hash_words(uint32_t which, char out[TN_HASH_WORDS_MAX]);

#endif
