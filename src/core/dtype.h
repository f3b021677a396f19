/* The bits of an element, for what asks it of every tensor: tn_dtype_bits without the call. */
#ifndef TN_CORE_DTYPE_H
#define TN_CORE_DTYPE_H

#include <assert.h>

#include <tenure/status.h>

extern const unsigned char tn_dtype_bits_table[TN_DTYPE_COUNT];

/* `dtype` is one of the enum: it was checked when it came in. */
static inline unsigned tn_dtype_bits_of(tn_dtype dtype)
{
    assert((unsigned)dtype < TN_DTYPE_COUNT);
    return tn_dtype_bits_table[dtype];
}

#endif
