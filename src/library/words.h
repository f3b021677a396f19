/* What people say of a model: tags as the library spells them, and what words may be. With the library's lock held. */
#ifndef TN_LIBRARY_WORDS_H
#define TN_LIBRARY_WORDS_H

#include "library/inside.h"

/* A tag as the library spells it, or as it is given where the library does not have it yet; `out` anew. */
tn_status tn_words_tag(tn_db *db, tn_text given, tn_buffer *out, tn_error *err);
/* TN_INVALID unless it is 1 to `points_max` characters without control characters. `what` begins the sentence: "a tag". */
tn_status tn_words_check(const char *text, const char *what, size_t points_max, tn_error *err);

#endif
