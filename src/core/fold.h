/* Text as it is compared when the case of letters does not count: the simple case folding of Unicode for the scripts that
 * have case and stand in names of models (Latin, Greek, Cyrillic, full width). Other letters are themselves. */
#ifndef TN_CORE_FOLD_H
#define TN_CORE_FOLD_H

#include "core/buffer.h"

/* The lower case of a code point, or itself. */
uint32_t tn_fold_point(uint32_t point);
/* Append `bytes` folded; bytes that are not UTF-8 stay as they are. */
void tn_fold_append(tn_buffer *out, const char *bytes, size_t size);
/* Whether two texts are the same but for case. Allocates nothing. */
bool tn_fold_equal(tn_text a, tn_text b);
/* How many code points a text has; each maximal run that is no UTF-8 counts as one. */
size_t tn_fold_points(const char *bytes, size_t size);

#endif
