/* Doubles as JSON numbers: private to the JSON reader and writer. */
#ifndef TN_CORE_JSON_NUMBER_H
#define TN_CORE_JSON_NUMBER_H

#include <stddef.h>

#define TN_JSON_NUMBER_ROOM 32 /* a sign, 17 digits, a point, and up to 6 zeros or an exponent */

/* The shortest text that reads back as `value`, which is finite. Returns its size; no NUL is put. */
size_t tn_json_number_text(double value, char out[TN_JSON_NUMBER_ROOM]);

#endif
