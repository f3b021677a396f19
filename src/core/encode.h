/* Small encodings of bytes as text, and sizes as people write them. */
#ifndef TN_CORE_ENCODE_H
#define TN_CORE_ENCODE_H

#include "core/buffer.h"

/* Lower-case hexadecimal: 2 * size characters and a NUL into `out`. */
void tn_hex(const uint8_t *bytes, size_t size, char *out);
/* Standard base64 with padding (RFC 4648 4), appended. */
void tn_base64_append(tn_buffer *out, const void *bytes, size_t size);
/* Decode it strictly. False on anything not canonical; `out` then holds rubbish to be cleared. */
bool tn_base64_decode(const char *text, size_t size, tn_buffer *out);
/* CRC-32 (IEEE 802.3, reflected), continued from `crc`; begin with 0. */
uint32_t tn_crc32(uint32_t crc, const void *bytes, size_t size);
/* "512M", "2G", "1.5GiB", "64k", "1000": powers of 1024; optional "B" or "iB"; no sign, no spaces. False when it is
 * none or does not fit. */
bool tn_size_parse(const char *text, uint64_t *out);
/* "96.1 GB", "1.2 MB", "512 B": powers of 1000, one decimal from KB on, into `out` (at least 16 bytes). */
void tn_size_show(uint64_t bytes, char out[16]);

#endif
