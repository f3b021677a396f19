/* Which way bytes are read, and why. The system's cache decides: what is in it is copied, by several threads when there
 * is much of it; what is not comes past it straight from the disk; what lies on a network is asked for several times
 * at once. */
#ifndef TN_WEIGHTS_CHOICE_H
#define TN_WEIGHTS_CHOICE_H

#include <tenure/lease.h>

#include "io/source.h"

/* A run of one file that is wanted, and where it goes. */
typedef struct tn_range {
    uint64_t offset;
    size_t size;
    uint8_t *to; /* NULL while only the cost is asked for */
    const tn_tensor *tensor;
    tn_dtype as; /* the type of the elements there */
    const uint8_t *digest; /* that its bytes must have; NULL: any */
} tn_range;

/* Ranges of one source, in ascending order of their offsets, none empty. */
typedef struct tn_ranges {
    tn_source *source;
    const tn_range *items;
    size_t count;
    uint64_t bytes;
    const uint8_t *file_digest; /* that the whole file must have: then all of it is read. NULL: any */
} tn_ranges;

typedef struct tn_choice {
    tn_way way;
    unsigned depth; /* reads under way at a time, at most */
    size_t piece_bytes; /* of one read, at most */
    bool far;           /* on a network, where each question costs a round trip */
    const char *reason;
    tn_os_file direct; /* open for TN_WAY_DIRECT */
} tn_choice;

/* Never fails: what cannot be found out is read in the plain way. Ended with tn_choice_end. */
tn_choice tn_choose(const tn_ranges *ranges, const tn_lease_options *options);
void tn_choice_end(tn_choice *choice);

#endif
