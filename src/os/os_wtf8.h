/* WTF-8: UTF-8 that can also carry a surrogate without its partner, as names on Windows may hold (the WTF-8 encoding,
 * S. Sapin). A name has one spelling: a pair of surrogates is always written as one code point, and text that is
 * written otherwise is not WTF-8. */
#ifndef TN_OS_WTF8_H
#define TN_OS_WTF8_H

#include <stddef.h>
#include <stdint.h>

/* Units of UTF-16 for `size` bytes, into `out` as far as `room` goes; the answer is how many there are. SIZE_MAX when
 * the bytes are not WTF-8. `out` may be NULL when `room` is 0. */
size_t tn_os_utf16_from_wtf8(const char *bytes, size_t size, uint16_t *out, size_t room);
/* Bytes of WTF-8 for `count` units; at most three for each. The same way round. Any units can be given. */
size_t tn_os_wtf8_from_utf16(const uint16_t *units, size_t count, char *out, size_t room);

#endif
