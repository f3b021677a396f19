/* Conversion with ARMv8's vector instructions, which every 64-bit ARM processor has. The formats and their rounding:
 * convert_scalar.c, which also does what is left over at the end. */
#include "weights/convert.h"

#if defined(__aarch64__) && defined(__ARM_NEON)

#include <arm_neon.h>

#define LANES 8u

static void widen_f16(const void *in, float *out, size_t count)
{
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        float16x8_t halves = vreinterpretq_f16_u8(vld1q_u8((const uint8_t *)((const uint16_t *)in + i)));
        vst1q_f32(out + i, vcvt_f32_f16(vget_low_f16(halves)));
        vst1q_f32(out + i + 4, vcvt_high_f32_f16(halves));
    }
    tn_convert_scalar.widen[TN_F16]((const uint16_t *)in + i, out + i, count - i);
}

static void narrow_f16(const float *in, void *out, size_t count)
{
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        float16x8_t halves = vcvt_high_f16_f32(vcvt_f16_f32(vld1q_f32(in + i)), vld1q_f32(in + i + 4));
        vst1q_u8((uint8_t *)((uint16_t *)out + i), vreinterpretq_u8_f16(halves));
    }
    tn_convert_scalar.narrow[TN_F16](in + i, (uint16_t *)out + i, count - i);
}

static void widen_bf16(const void *in, float *out, size_t count)
{
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        uint16x8_t shorts = vreinterpretq_u16_u8(vld1q_u8((const uint8_t *)((const uint16_t *)in + i)));
        vst1q_f32(out + i, vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(shorts), 16)));
        vst1q_f32(out + i + 4, vreinterpretq_f32_u32(vshll_high_n_u16(shorts, 16)));
    }
    tn_convert_scalar.widen[TN_BF16]((const uint16_t *)in + i, out + i, count - i);
}

static inline uint16x4_t bf16_of(float32x4_t values)
{
    uint32x4_t bits = vreinterpretq_u32_f32(values);
    uint32x4_t odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
    uint32x4_t rounded = vaddq_u32(bits, vaddq_u32(odd, vdupq_n_u32(0x7fff)));
    uint32x4_t is_nan = vcgtq_u32(vandq_u32(bits, vdupq_n_u32(0x7fffffff)), vdupq_n_u32(0x7f800000));
    return vshrn_n_u32(vbslq_u32(is_nan, vdupq_n_u32(0x7fc00000), rounded), 16);
}

static void narrow_bf16(const float *in, void *out, size_t count)
{
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        uint16x8_t shorts = vcombine_u16(bf16_of(vld1q_f32(in + i)), bf16_of(vld1q_f32(in + i + 4)));
        vst1q_u8((uint8_t *)((uint16_t *)out + i), vreinterpretq_u8_u16(shorts));
    }
    tn_convert_scalar.narrow[TN_BF16](in + i, (uint16_t *)out + i, count - i);
}

static const tn_convert_set set = {
    .name = "neon",
    .widen = {[TN_F16] = widen_f16, [TN_BF16] = widen_bf16},
    .narrow = {[TN_F16] = narrow_f16, [TN_BF16] = narrow_bf16},
};

const tn_convert_set *tn_convert_neon(void)
{
    return &set;
}

#else

const tn_convert_set *tn_convert_neon(void)
{
    return NULL;
}

#endif
