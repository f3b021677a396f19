/* The element types, out of dtype.def. As for statuses, the compiler checks that the enum of include/tenure/status.h
 * names the rows in the same order. */
#include "core/dtype.h"

#include <string.h>

typedef struct row {
    const char *name;
    unsigned char name_size;
} row;

static const row rows[] = {
#define TN_DTYPE(NAME, bits, text) {#NAME, sizeof(#NAME) - 1},
#include "core/dtype.def"
#undef TN_DTYPE
};

const unsigned char tn_dtype_bits_table[] = {
#define TN_DTYPE(NAME, bits, text) bits,
#include "core/dtype.def"
#undef TN_DTYPE
};

enum {
#define TN_DTYPE(NAME, bits, text) ROW_##NAME,
#include "core/dtype.def"
#undef TN_DTYPE
    ROW_COUNT
};

#define TN_DTYPE(NAME, bits, text) \
    _Static_assert((int)TN_##NAME == (int)ROW_##NAME, "status.h and dtype.def differ at " #NAME);
#include "core/dtype.def"
#undef TN_DTYPE
_Static_assert((int)TN_DTYPE_COUNT == (int)ROW_COUNT, "status.h and dtype.def differ in length");

const char *tn_dtype_name(tn_dtype dtype)
{
    assert((unsigned)dtype < TN_DTYPE_COUNT);
    return (unsigned)dtype < TN_DTYPE_COUNT ? rows[dtype].name : "?";
}

unsigned tn_dtype_bits(tn_dtype dtype)
{
    assert((unsigned)dtype < TN_DTYPE_COUNT);
    return (unsigned)dtype < TN_DTYPE_COUNT ? tn_dtype_bits_table[dtype] : 8;
}

bool tn_dtype_from_name(const char *name, size_t size, tn_dtype *out)
{
    for (unsigned i = 0; i < TN_DTYPE_COUNT; i++) {
        if (rows[i].name_size == size && memcmp(rows[i].name, name, size) == 0) {
            *out = (tn_dtype)i;
            return true;
        }
    }
    return false;
}
