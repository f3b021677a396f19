/* From any type to any other, a block at a time by way of what both can be turned into: a float (the narrow floats), a
 * double, or a 64-bit integer. */
#include "weights/convert.h"

#include <stdatomic.h>
#include <string.h>

#include <tenure/status.h>
#include "core/error.h"

#define BLOCK 512u /* elements that wait between two loops; they stay in the nearest cache */

/* ---- what becomes of a float as an integer ---- */

/* As x86 does it where C leaves it undefined: what does not fit is the least number there is. */
static int32_t to_i32(double value)
{
    return value > -2147483649.0 && value < 2147483648.0 ? (int32_t)value : INT32_MIN;
}

static int64_t to_i64(double value)
{
    return value >= -9223372036854775808.0 && value < 9223372036854775808.0 ? (int64_t)value : INT64_MIN;
}

static uint32_t to_u32(double value)
{
    if (value >= 2147483648.0)
        return value < 4294967296.0 ? (uint32_t)value : 0;
    return (uint32_t)to_i32(value);
}

static uint64_t to_u64(double value)
{
    if (value >= 9223372036854775808.0)
        return value < 18446744073709551616.0 ? (uint64_t)value : 0;
    return (uint64_t)to_i64(value);
}

/* ---- one type to another, a loop each ---- */

#define LOOP(name, from_type, to_type, expression)                        \
    static void name(const void *in, void *out, size_t count)             \
    {                                                                     \
        const uint8_t *from = in;                                         \
        uint8_t *to = out;                                                \
        for (size_t i = 0; i < count; i++) {                              \
            from_type x;                                                  \
            memcpy(&x, from + i * sizeof x, sizeof x);                    \
            to_type y = (to_type)(expression);                            \
            memcpy(to + i * sizeof y, &y, sizeof y);                      \
        }                                                                 \
    }

/* An integer type: out of it into all three, and back. The intermediate of integers is int64_t; U64 keeps its bits. */
#define INTEGER(name, type, of_double)                     \
    LOOP(name##_to_float, type, float, x)                  \
    LOOP(name##_to_double, type, double, x)                \
    LOOP(name##_to_whole, type, int64_t, x)                \
    LOOP(name##_of_float, float, type, of_double((double)x)) \
    LOOP(name##_of_double, double, type, of_double(x))     \
    LOOP(name##_of_whole, int64_t, type, x)

INTEGER(u8, uint8_t, to_i32)
INTEGER(i8, int8_t, to_i32)
INTEGER(i16, int16_t, to_i32)
INTEGER(u16, uint16_t, to_i32)
INTEGER(i32, int32_t, to_i32)
INTEGER(u32, uint32_t, to_u32)
INTEGER(i64, int64_t, to_i64)
INTEGER(u64, uint64_t, to_u64)

LOOP(bool_to_float, uint8_t, float, x != 0)
LOOP(bool_to_double, uint8_t, double, x != 0)
LOOP(bool_to_whole, uint8_t, int64_t, x != 0)
LOOP(bool_of_float, float, uint8_t, x != 0)
LOOP(bool_of_double, double, uint8_t, x != 0)
LOOP(bool_of_whole, int64_t, uint8_t, x != 0)

LOOP(f32_same, uint32_t, uint32_t, x)
LOOP(f64_same, uint64_t, uint64_t, x)
LOOP(f64_of_float, float, double, x)
LOOP(f64_to_float, double, float, x)

typedef void loop(const void *in, void *out, size_t count);

typedef struct loops {
    loop *to_float, *to_double, *to_whole, *of_float, *of_double, *of_whole;
} loops;

#define ALL_SIX(name) {name##_to_float, name##_to_double, name##_to_whole, name##_of_float, name##_of_double, name##_of_whole}

/* The narrow floats have their loops in the sets. */
static const loops table[TN_DTYPE_COUNT] = {
    [TN_BOOL] = ALL_SIX(bool), [TN_U8] = ALL_SIX(u8),   [TN_I8] = ALL_SIX(i8),
    [TN_I16] = ALL_SIX(i16),   [TN_U16] = ALL_SIX(u16), [TN_I32] = ALL_SIX(i32),
    [TN_U32] = ALL_SIX(u32),   [TN_I64] = ALL_SIX(i64), [TN_U64] = ALL_SIX(u64),
    [TN_F32] = {.to_float = f32_same, .of_float = f32_same},
    [TN_F64] = {.to_float = f64_to_float, .to_double = f64_same, .of_float = f64_of_float, .of_double = f64_same},
};

static bool is_narrow(tn_dtype dtype)
{
    return tn_convert_scalar.widen[dtype] != NULL;
}

static bool is_integer(tn_dtype dtype)
{
    return table[dtype].to_whole != NULL;
}

bool tn_convert_can(tn_dtype from, tn_dtype to)
{
    if ((unsigned)from >= TN_DTYPE_COUNT || (unsigned)to >= TN_DTYPE_COUNT)
        return false;
    return from == to || ((is_narrow(from) || table[from].to_float != NULL) && (is_narrow(to) || table[to].of_float != NULL));
}

/* ---- a pair of types ---- */

typedef enum middle { MIDDLE_FLOAT, MIDDLE_DOUBLE, MIDDLE_WHOLE } middle;

typedef struct pair {
    middle by;
    loop *in, *out;      /* NULL: the one below serves */
    tn_widen *widen;
    tn_narrow *narrow;
} pair;

static middle middle_of(tn_dtype from, tn_dtype to)
{
    if (is_integer(from) && is_integer(to))
        return MIDDLE_WHOLE;
    bool double_from = from == TN_F64 && is_integer(to), double_to = to == TN_F64 && is_integer(from);
    return double_from || double_to ? MIDDLE_DOUBLE : MIDDLE_FLOAT;
}

static const tn_convert_set *slower(const tn_convert_set *set)
{
    return set->slower != NULL ? set->slower : &tn_convert_scalar;
}

static tn_widen *widen_of(const tn_convert_set *set, tn_dtype dtype)
{
    while (set->widen[dtype] == NULL && set != &tn_convert_scalar)
        set = slower(set);
    return set->widen[dtype];
}

static tn_narrow *narrow_of(const tn_convert_set *set, tn_dtype dtype)
{
    while (set->narrow[dtype] == NULL && set != &tn_convert_scalar)
        set = slower(set);
    return set->narrow[dtype];
}

static pair pair_of(const tn_convert_set *set, tn_dtype from, tn_dtype to)
{
    const loops *f = &table[from], *t = &table[to];
    pair p = {.by = middle_of(from, to)};
    switch (p.by) {
    case MIDDLE_WHOLE: return (pair){p.by, f->to_whole, t->of_whole, NULL, NULL};
    case MIDDLE_DOUBLE: return (pair){p.by, f->to_double, t->of_double, NULL, NULL};
    case MIDDLE_FLOAT: break;
    }
    p.in = f->to_float;
    p.out = t->of_float;
    p.widen = widen_of(set, from);
    p.narrow = narrow_of(set, to);
    return p;
}

static void block_in(const pair *p, const void *in, void *middle_bytes, size_t count)
{
    if (p->in != NULL)
        p->in(in, middle_bytes, count);
    else
        p->widen(in, middle_bytes, count);
}

static void block_out(const pair *p, const void *middle_bytes, void *out, size_t count)
{
    if (p->out != NULL)
        p->out(middle_bytes, out, count);
    else
        p->narrow(middle_bytes, out, count);
}

static bool is_aligned(const void *bytes)
{
    return (uintptr_t)bytes % sizeof(float) == 0;
}

static void by_blocks(const pair *p, const uint8_t *in, size_t in_bytes, uint8_t *out, size_t out_bytes, uint64_t count)
{
    _Alignas(64) uint64_t between[BLOCK];
    while (count > 0) {
        size_t now = count < BLOCK ? (size_t)count : BLOCK;
        block_in(p, in, between, now);
        block_out(p, between, out, now);
        in += now * in_bytes;
        out += now * out_bytes;
        count -= now;
    }
}

tn_status tn_convert_with(const tn_convert_set *set, tn_dtype from, const void *in, tn_dtype to, void *out,
                          uint64_t count, tn_error *err)
{
    if (!tn_convert_can(from, to))
        return tn_fail(err, TN_UNSUPPORTED, "elements of type %s cannot become %s", tn_dtype_name(from),
                       tn_dtype_name(to));
    if (count > SIZE_MAX / 16)
        return tn_fail(err, TN_OVERFLOW, "%s", tn_status_text(TN_OVERFLOW));
    if (from == to) {
        if (count > 0)
            memcpy(out, in, (size_t)((count * tn_dtype_bits(from) + 7) / 8));
        return TN_OK;
    }
    pair p = pair_of(set, from, to);
    size_t in_bytes = tn_dtype_bits(from) / 8, out_bytes = tn_dtype_bits(to) / 8;
    if (to == TN_F32 && p.widen != NULL && is_aligned(out))
        p.widen(in, out, (size_t)count);
    else if (from == TN_F32 && p.narrow != NULL && is_aligned(in))
        p.narrow(in, out, (size_t)count);
    else
        by_blocks(&p, in, in_bytes, out, out_bytes, count);
    return TN_OK;
}

/* ---- the way chosen ---- */

static const tn_convert_set *ask_processor(void)
{
    const tn_convert_set *const sets[] = {tn_convert_avx512(), tn_convert_avx2(), tn_convert_neon(), tn_convert_sse2()};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if (sets[i] != NULL)
            return sets[i];
    return &tn_convert_scalar;
}

/* Asked once: the question is slow in a virtual machine. Two threads that ask at once get the same. */
const tn_convert_set *tn_convert_fastest(void)
{
    static const tn_convert_set *_Atomic chosen;
    const tn_convert_set *set = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (set == NULL) {
        set = ask_processor();
        atomic_store_explicit(&chosen, set, memory_order_relaxed);
    }
    return set;
}

tn_status tn_convert(tn_dtype from, const void *in, tn_dtype to, void *out, uint64_t count, tn_error *err)
{
    return tn_convert_with(tn_convert_fastest(), from, in, to, out, count, err);
}

const char *tn_convert_way(void)
{
    return tn_convert_fastest()->name;
}

/* ---- byte order ---- */

static void swap_item(uint8_t *item, unsigned item_bytes)
{
    for (unsigned i = 0; i < item_bytes / 2; i++) {
        uint8_t byte = item[i];
        item[i] = item[item_bytes - 1 - i];
        item[item_bytes - 1 - i] = byte;
    }
}

tn_status tn_swap_bytes(void *bytes, unsigned item_bytes, uint64_t count, tn_error *err)
{
    uint8_t *at = bytes;
    if (item_bytes == 0 || item_bytes > 16 || (item_bytes & (item_bytes - 1)) != 0)
        return tn_fail(err, TN_INVALID, "items of %u bytes have no byte order", item_bytes);
    for (uint64_t i = 0; i < count && item_bytes > 1; i++)
        swap_item(at + i * item_bytes, item_bytes);
    return TN_OK;
}
