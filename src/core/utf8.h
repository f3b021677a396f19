/* UTF-8: checking it, mending it, and showing text from outside on a terminal. */
#ifndef TN_CORE_UTF8_H
#define TN_CORE_UTF8_H

#include "core/buffer.h"

#define TN_UTF8_BAD UINT32_MAX

/* The character that begins at bytes[0] (size > 0): its code point, and how many bytes it takes in *length. Where the
 * bytes are not UTF-8 it is TN_UTF8_BAD, and *length is the maximal invalid run, 1 to 3. */
uint32_t tn_utf8_decode(const char *bytes, size_t size, size_t *length);

/* Where the first byte stands that is not valid UTF-8 (no overlong forms, no surrogates, at most U+10FFFF);
 * `size` when all is valid. */
size_t tn_utf8_valid_prefix(const char *bytes, size_t size);
/* Append `bytes`, each maximal invalid run replaced by U+FFFD (as the Unicode standard, chapter 3, and WHATWG do). */
void tn_utf8_append_valid(tn_buffer *out, const char *bytes, size_t size);
/* Encode one code point (not a surrogate) into 1 to 4 bytes; returns how many. */
size_t tn_utf8_encode(uint32_t code_point, char out[4]);

/* Append text so that it cannot move the cursor, change colours, ring, reorder or hide anything: C0 and C1 controls,
 * DEL, bidirectional and zero-width format characters, line and paragraph separators and BOM become \n, \t,
 * \xHH or \u{H...}; bytes that are not UTF-8 become \xHH. A backslash stays as it is (Windows paths hold many), so the
 * text shown is for reading, not for taking back apart. */
void tn_utf8_append_shown(tn_buffer *out, const char *bytes, size_t size);
/* Columns a text takes on a terminal: 0 for combining marks, 2 for wide East Asian characters and emoji, else 1.
 * Expects text that tn_utf8_append_shown made. */
size_t tn_utf8_columns(const char *bytes, size_t size);

#endif
