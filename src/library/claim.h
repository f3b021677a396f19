/* What a name claims to be: the only place where suffixes are looked at. What a file is, its content tells. */
#ifndef TN_LIBRARY_CLAIM_H
#define TN_LIBRARY_CLAIM_H

#include <tenure/identify.h>

typedef enum tn_suffix {
    TN_SUFFIX_NONE = 0, /* not looked into */
    TN_SUFFIX_MAYBE,    /* used for weights and for much else: recorded when the content is weights */
    TN_SUFFIX_SURE      /* used for weights alone: recorded in any case */
} tn_suffix;

/* Case does not matter. A download that is not finished ("x.safetensors.part") claims what it will be. */
tn_suffix tn_suffix_of(const char *name, size_t size);

/* The name of a shard, "NAME-00002-of-00005.safetensors": where its number stands. */
typedef struct tn_shard {
    size_t stem;     /* bytes before "-00002" */
    size_t tail;     /* where the text behind the number begins: "-of-00005.safetensors" */
    uint64_t number; /* from 1 */
    uint64_t of;
} tn_shard;
bool tn_shard_of(const char *name, size_t size, tn_shard *out);
/* Whether two shard names belong to one set. */
bool tn_shard_same_set(const char *a, size_t a_size, const tn_shard *a_shard, const char *b, size_t b_size,
                       const tn_shard *b_shard);
/* "NAME.safetensors.index.json": how long NAME is. False for any other name. */
bool tn_index_stem(const char *name, size_t size, size_t *stem);

/* Whether what a suffix claimed and a read answered is a model or a broken one, to be recorded. */
bool tn_claim_holds(tn_suffix suffix, const tn_answer *answer);

/* The name a model gets: its file's without suffix, a set's without number and index, a folder's as it is. */
tn_text tn_claim_model_name(const char *path, size_t size, bool folder);

#endif
