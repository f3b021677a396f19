/* The digests of many files at once: tn_digest_many of <tenure/digest.h>. */
#ifndef TN_DIGEST_MANY_H
#define TN_DIGEST_MANY_H

#include <tenure/digest.h>

#endif
