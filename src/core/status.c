/* What each status is called and what it becomes at each edge, out of status.def.
 *
 * The enum of include/tenure/status.h is written out there for its readers; here the compiler checks that it names the
 * rows of status.def in the same order, so that neither can be changed alone. */
#include <tenure/status.h>

#include "core/error.h"

typedef struct row {
    const char *word, *text;
    int exit_code, http;
    const char *python_class, *state;
} row;

static const row rows[] = {
#define TN_STATUS(NAME, word, text, exit_code, http, python_class, state) \
    {word, text, exit_code, http, python_class, state},
#include "core/status.def"
#undef TN_STATUS
};

enum {
#define TN_STATUS(NAME, word, text, exit_code, http, python_class, state) ROW_##NAME,
#include "core/status.def"
#undef TN_STATUS
    ROW_COUNT
};

#define TN_STATUS(NAME, word, text, exit_code, http, python_class, state) \
    _Static_assert((int)TN_##NAME == (int)ROW_##NAME, "status.h and status.def differ at " #NAME);
#include "core/status.def"
#undef TN_STATUS
_Static_assert((int)TN_STATUS_COUNT == (int)ROW_COUNT, "status.h and status.def differ in length");

/* A number that is no status can only come from a fault of our own. */
static const row *row_of(tn_status status)
{
    return (unsigned)status < TN_STATUS_COUNT ? &rows[status] : &rows[TN_INTERNAL];
}

const char *tn_status_word(tn_status status)
{
    return row_of(status)->word;
}

const char *tn_status_text(tn_status status)
{
    return row_of(status)->text;
}

int tn_status_exit_code(tn_status status)
{
    return row_of(status)->exit_code;
}

int tn_status_http(tn_status status)
{
    return row_of(status)->http;
}

const char *tn_status_python_class(tn_status status)
{
    return row_of(status)->python_class;
}

const char *tn_status_state(tn_status status)
{
    return row_of(status)->state;
}

bool tn_status_is_of_memory(tn_status status)
{
    return status == TN_NO_MEMORY || status == TN_OVER_BUDGET;
}

bool tn_status_is_of_process(tn_status status)
{
    return tn_status_is_of_memory(status) || status == TN_CANCELLED || status == TN_FORKED;
}
