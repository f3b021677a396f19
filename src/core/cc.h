/* What the compiler gives beyond C17, and nothing else does: the only home of attributes and built-ins. */
#ifndef TN_CORE_CC_H
#define TN_CORE_CC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__)
#define TN_PRINTF(text, first) __attribute__((__format__(__printf__, text, first)))
#define TN_MUST_USE __attribute__((warn_unused_result))
/* Compiled for instructions that not every processor has: called only where this one was asked. */
#define TN_TARGET(instructions) __attribute__((target(instructions)))
#define TN_LIKELY(x) __builtin_expect(!!(x), 1)
#define TN_UNLIKELY(x) __builtin_expect(!!(x), 0)
#else
#error "Tenure is built with gcc or clang"
#endif
#if defined(__MINGW32__) && !defined(__clang__)
#undef TN_PRINTF /* mingw's own printf is used, which knows %zu */
#define TN_PRINTF(text, first) __attribute__((__format__(__gnu_printf__, text, first)))
#endif

/* Built with a sanitizer that watches memory: then no freed block may be kept for the next taker. */
#if defined(__SANITIZE_ADDRESS__)
#define TN_SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define TN_SANITIZED true
#endif
#endif
#ifndef TN_SANITIZED
#define TN_SANITIZED false
#endif

/* Under AddressSanitizer: memory that is ours but given to nobody may not be touched. */
#if defined(__SANITIZE_ADDRESS__) || (defined(__has_feature) && TN_SANITIZED)
void __asan_poison_memory_region(void const volatile *bytes, size_t size);
void __asan_unpoison_memory_region(void const volatile *bytes, size_t size);
#define TN_POISON(bytes, size) __asan_poison_memory_region(bytes, size)
#define TN_UNPOISON(bytes, size) __asan_unpoison_memory_region(bytes, size)
#else
#define TN_POISON(bytes, size) ((void)(bytes), (void)(size))
#define TN_UNPOISON(bytes, size) ((void)(bytes), (void)(size))
#endif

/* Checked arithmetic on sizes from outside: true when the result does not fit (and `out` is then undefined). */
static inline bool tn_add_overflows(uint64_t a, uint64_t b, uint64_t *out)
{
    return __builtin_add_overflow(a, b, out);
}

static inline bool tn_mul_overflows(uint64_t a, uint64_t b, uint64_t *out)
{
    return __builtin_mul_overflow(a, b, out);
}

/* The number of the lowest bit that is set, 0 to 63. `bits` is not 0. */
static inline unsigned tn_lowest_bit(uint64_t bits)
{
    return (unsigned)__builtin_ctzll(bits);
}

/* Both halves of the 128-bit product of two numbers, folded into one. */
static inline uint64_t tn_mul_fold(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Eight bytes as a number, the first lowest. */
static inline uint64_t tn_load_le64(const char *bytes)
{
    uint64_t value;
    memcpy(&value, bytes, sizeof value);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap64(value);
#endif
    return value;
}

#endif
