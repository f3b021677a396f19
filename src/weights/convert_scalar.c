/* The loops that define what conversion does, one element at a time. Formats: IEEE 754-2019 (F16, F32, F64); OCP 8-bit
 * Floating Point Specification 1.0 (F8_E4M3, F8_E5M2); Noune and others, "8-bit Numerical Formats for Deep Neural
 * Networks", 2022 (the FNUZ pair); OCP Microscaling Formats 1.0 (F8_E8M0).
 *
 * No float here is ever subnormal on its way to a wider type, so that a program that has told the processor to flush
 * those gets the same values. */
#include <string.h>

#include "weights/convert.h"

/* ---- bits ---- */

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#define SIGN 0x80000000u
#define INFINITE 0x7f800000u
#define QUIET_NAN 0x7fc00000u

/* ---- small floats: a sign, an exponent and `mantissa` bits ---- */

/* A magnitude (no sign, finite) as F32. */
static float widen_small(uint32_t magnitude, unsigned mantissa, unsigned bias)
{
    if (magnitude >> mantissa != 0)
        return float_of((magnitude << (23 - mantissa)) + ((127 - bias) << 23));
    return (float)magnitude * float_of((127 + 1 - bias - mantissa) << 23); /* subnormal: a count of the least steps */
}

/* The nearest magnitude, ties to even; it may be one too great for the format. `magnitude`: of a finite F32. */
static uint32_t narrow_small(uint32_t magnitude, unsigned mantissa, unsigned bias)
{
    const unsigned shift = 23 - mantissa;
    const uint32_t least_normal = (127 + 1 - bias) << 23;
    if (magnitude < least_normal) { /* adding a power of two leaves the steps of the format as the last bits */
        const uint32_t steps = (127 + 1 - bias + shift) << 23;
        return bits_of(float_of(magnitude) + float_of(steps)) - steps;
    }
    magnitude -= (127 - bias) << 23;
    return (magnitude + (1u << (shift - 1)) - 1 + (magnitude >> shift & 1)) >> shift;
}

static float with_sign(float magnitude, bool negative)
{
    return float_of(bits_of(magnitude) | (negative ? SIGN : 0));
}

/* ---- F16, BF16 ---- */

static float float_of_f16(uint16_t bits)
{
    uint32_t magnitude = bits & 0x7fffu;
    if (magnitude < 0x7c00)
        return with_sign(widen_small(magnitude, 10, 15), (bits & 0x8000) != 0);
    uint32_t quiet = magnitude > 0x7c00 ? 0x00400000u : 0;
    return float_of((bits & 0x8000u) << 16 | INFINITE | magnitude << 13 | quiet);
}

static uint16_t f16_of_float(float value)
{
    uint32_t bits = bits_of(value), magnitude = bits & ~SIGN, sign = bits >> 16 & 0x8000;
    if (magnitude > INFINITE)
        return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
    if (magnitude >= 0x47800000) /* 65536 */
        return (uint16_t)(sign | 0x7c00);
    return (uint16_t)(sign | narrow_small(magnitude, 10, 15));
}

static float float_of_bf16(uint16_t bits)
{
    return float_of((uint32_t)bits << 16);
}

static uint16_t bf16_of_float(float value)
{
    uint32_t bits = bits_of(value);
    if ((bits & ~SIGN) > INFINITE)
        return 0x7fc0;
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* ---- F8 ---- */

static float float_of_e5m2(uint8_t bits)
{
    return float_of_f16((uint16_t)(bits << 8));
}

static uint8_t e5m2_of_float(float value)
{
    uint32_t bits = bits_of(value), magnitude = bits & ~SIGN, sign = bits >> 24 & 0x80;
    if (magnitude > INFINITE)
        return (uint8_t)(sign | 0x7f);
    if (magnitude >= 0x47800000)
        return (uint8_t)(sign | 0x7c);
    return (uint8_t)(sign | narrow_small(magnitude, 2, 15));
}

static float float_of_e4m3(uint8_t bits)
{
    uint32_t magnitude = bits & 0x7fu;
    float value = magnitude == 0x7f ? float_of(QUIET_NAN) : widen_small(magnitude, 3, 7);
    return with_sign(value, (bits & 0x80) != 0);
}

static uint8_t e4m3_of_float(float value)
{
    uint32_t bits = bits_of(value), magnitude = bits & ~SIGN, sign = bits >> 24 & 0x80;
    if (magnitude > INFINITE)
        return (uint8_t)(sign | 0x7f);
    if (magnitude > 0x43e00000) /* 448, the greatest number there is */
        return (uint8_t)(sign | 0x7e);
    return (uint8_t)(sign | narrow_small(magnitude, 3, 7));
}

/* The FNUZ pair: what would be -0 is the only NaN, and there is no infinity. */
static float float_of_fnuz(uint8_t bits, unsigned mantissa, unsigned bias)
{
    if (bits == 0x80)
        return float_of(QUIET_NAN);
    return with_sign(widen_small(bits & 0x7fu, mantissa, bias), (bits & 0x80) != 0);
}

static uint8_t fnuz_of_float(float value, unsigned mantissa, unsigned bias, uint32_t too_great)
{
    uint32_t bits = bits_of(value), magnitude = bits & ~SIGN;
    uint32_t small = magnitude >= too_great ? 0x80 : narrow_small(magnitude, mantissa, bias);
    return (uint8_t)(small == 0 ? 0 : small | (bits >> 24 & 0x80));
}

static float float_of_e4m3fnuz(uint8_t bits)
{
    return float_of_fnuz(bits, 3, 8);
}

static uint8_t e4m3fnuz_of_float(float value)
{
    return fnuz_of_float(value, 3, 8, 0x43800000); /* 256 */
}

static float float_of_e5m2fnuz(uint8_t bits)
{
    return float_of_fnuz(bits, 2, 16);
}

static uint8_t e5m2fnuz_of_float(float value)
{
    return fnuz_of_float(value, 2, 16, 0x47800000); /* 65536 */
}

/* A power of two: the exponent of an F32 and nothing else. */
static float float_of_e8m0(uint8_t bits)
{
    if (bits == 0xff)
        return float_of(QUIET_NAN);
    return float_of(bits == 0 ? 0x00400000u : (uint32_t)bits << 23);
}

/* The nearest power of two, a tie to the greater one (but for the least); the sign is dropped. */
static uint8_t e8m0_of_float(float value)
{
    uint32_t bits = bits_of(value), exponent = bits >> 23 & 0xff, rest = bits & 0x7fffff;
    if (exponent == 0xff)
        return 0xff;
    bool up = rest > 0x400000 || (rest == 0x400000 && exponent > 0);
    return (uint8_t)(exponent + up);
}

/* ---- loops ---- */

#define LOOPS(name, type, to_float, from_float)                                        \
    static void widen_##name(const void *in, float *out, size_t count)                 \
    {                                                                                  \
        const uint8_t *from = in;                                                      \
        for (size_t i = 0; i < count; i++) {                                           \
            type element;                                                              \
            memcpy(&element, from + i * sizeof element, sizeof element);               \
            out[i] = to_float(element);                                                \
        }                                                                              \
    }                                                                                  \
    static void narrow_##name(const float *in, void *out, size_t count)                \
    {                                                                                  \
        uint8_t *to = out;                                                             \
        for (size_t i = 0; i < count; i++) {                                           \
            type element = from_float(in[i]);                                          \
            memcpy(to + i * sizeof element, &element, sizeof element);                 \
        }                                                                              \
    }

LOOPS(f16, uint16_t, float_of_f16, f16_of_float)
LOOPS(bf16, uint16_t, float_of_bf16, bf16_of_float)
LOOPS(e5m2, uint8_t, float_of_e5m2, e5m2_of_float)
LOOPS(e4m3, uint8_t, float_of_e4m3, e4m3_of_float)
LOOPS(e4m3fnuz, uint8_t, float_of_e4m3fnuz, e4m3fnuz_of_float)
LOOPS(e5m2fnuz, uint8_t, float_of_e5m2fnuz, e5m2fnuz_of_float)
LOOPS(e8m0, uint8_t, float_of_e8m0, e8m0_of_float)

const tn_convert_set tn_convert_scalar = {
    .name = "scalar",
    .widen = {[TN_F16] = widen_f16, [TN_BF16] = widen_bf16, [TN_F8_E5M2] = widen_e5m2, [TN_F8_E4M3] = widen_e4m3,
              [TN_F8_E4M3FNUZ] = widen_e4m3fnuz, [TN_F8_E5M2FNUZ] = widen_e5m2fnuz, [TN_F8_E8M0] = widen_e8m0},
    .narrow = {[TN_F16] = narrow_f16, [TN_BF16] = narrow_bf16, [TN_F8_E5M2] = narrow_e5m2, [TN_F8_E4M3] = narrow_e4m3,
               [TN_F8_E4M3FNUZ] = narrow_e4m3fnuz, [TN_F8_E5M2FNUZ] = narrow_e5m2fnuz, [TN_F8_E8M0] = narrow_e8m0},
};
