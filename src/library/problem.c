/* What is wrong with a file, in one line that a person can act on. */
#include <inttypes.h>

#include "core/encode.h"
#include "library/reading.h"

typedef struct advice_row {
    tn_status status;
    const char *advice;
} advice_row;

/* TN_EMPTY and TN_NOT_WEIGHTS say it themselves. */
static const advice_row advice[] = {
    {TN_TRUNCATED, "fetch it again"},
    {TN_BAD_HEADER, "fetch it again"},
    {TN_BAD_JSON, "fetch it again"},
    {TN_BAD_CHECKSUM, "fetch it again"},
    {TN_BAD_LAYOUT, "fetch it again, or ask its author"},
    {TN_TRAILING_BYTES, "fetch it again"},
    {TN_MISSING_PART, "fetch the missing part"},
    {TN_STALE_INDEX, "fetch the index again"},
    {TN_DANGEROUS, "do not load it"},
    {TN_UNSAFE_PATH, "do not load it"},
    {TN_PERMISSION, "allow reading it"},
    {TN_PLACEHOLDER, "make it available offline first"},
    {TN_BUSY, "close the program that holds it, then import again"},
    {TN_CHANGED, "import again when it is written"},
    {TN_OVER_BUDGET, "raise --memory"},
    {TN_NO_MEMORY, "free memory, then import again"},
    {TN_CRASHED, "report it, please"},
};

static const char *advice_for(tn_status status)
{
    for (size_t i = 0; i < sizeof advice / sizeof advice[0]; i++)
        if (advice[i].status == status)
            return advice[i].advice;
    return NULL;
}

/* "short by 1.2 GB" says more than the two numbers do. */
static bool append_difference(tn_buffer *out, const tn_finding *e)
{
    char shown[16];
    if (e->expected == TN_NONE || e->found == TN_NONE)
        return false;
    if (e->status == TN_TRUNCATED && e->found < e->expected) {
        tn_size_show(e->expected - e->found, shown);
        tn_buffer_format(out, "short by %s", shown);
        return true;
    }
    if (e->status == TN_TRAILING_BYTES && e->found > e->expected) {
        tn_size_show(e->found - e->expected, shown);
        tn_buffer_format(out, "%s too many", shown);
        return true;
    }
    return false;
}

void tn_problem_append(tn_buffer *out, const tn_answer *answer)
{
    if (!answer->has_error)
        return;
    const tn_finding *e = &answer->error;
    if (!append_difference(out, e))
        tn_buffer_append(out, e->message.bytes, e->message.size);
    const char *what_to_do = advice_for(e->status);
    if (what_to_do != NULL)
        tn_buffer_format(out, ": %s", what_to_do);
}
