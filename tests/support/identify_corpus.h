/* The corpus of tests/data/corpus in memory, and checkpoints made from it: with another prefix, tensors taken out or
 * added, another element type, another order. */
#ifndef TEST_IDENTIFY_CORPUS_H
#define TEST_IDENTIFY_CORPUS_H

#include <tenure/identify.h>

#include "core/arena.h"

enum { CORPUS_WORDS_MAX = 6 };

typedef struct corpus_tensor {
    tn_text name;
    uint32_t rank;
    const uint64_t *shape;
} corpus_tensor;

typedef struct corpus_header {
    tn_text id, md5, type, arch;
    tn_text bases[CORPUS_WORDS_MAX], variants[CORPUS_WORDS_MAX];
    size_t base_count, variant_count;
    size_t tensor_count;
    const corpus_tensor *tensors;
} corpus_header;

typedef struct corpus {
    tn_context *context;
    tn_arena arena;
    corpus_header *headers;
    size_t count, capacity;
} corpus;

/* Everything here fails the test on the spot when it cannot do its work. */
void corpus_open(corpus *c);
void corpus_read(corpus *c, const char *file); /* "headers.ndjson.gz" */
void corpus_close(corpus *c);
const corpus_header *corpus_find(const corpus *c, const char *id, size_t size);

/* The 163 headers with labels, for a group of tests: open and close are its setup and teardown. */
extern corpus known;
int corpus_open_known(void **state);
int corpus_close_known(void **state);

/* How a header is changed on its way into a checkpoint. */
typedef struct corpus_change {
    const char *prefix;          /* put before every name */
    const char *minus[8];        /* patterns of names left out */
    corpus_tensor plus[4];
    size_t plus_count;
    tn_dtype dtype;              /* of everything; TN_BF16 when zero */
    tn_pair metadata[8];
    size_t metadata_count;
    bool reversed;               /* the last tensor first */
} corpus_change;

tn_checkpoint *corpus_checkpoint(corpus *c, const corpus_header *header, const corpus_change *change);
tn_answer *corpus_identify(corpus *c, const corpus_header *header, const corpus_change *change);

bool text_is(tn_text text, const char *word);

#endif
