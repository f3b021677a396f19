/* What is wrong with a file, in one line that a person can act on. */
#include <inttypes.h>

#include "core/encode.h"
#include "library/reading.h"

/* What a list of problems says for a status: `what` in place of the message where that speaks to the writers of files
 * (NULL: the message itself), and what to do. TN_EMPTY and TN_NOT_WEIGHTS say both in their message. */
typedef struct advice_row {
    tn_status status;
    const char *what, *to_do;
} advice_row;

static const advice_row advice[] = {
    {TN_TRUNCATED, NULL, "fetch it again"},
    {TN_BAD_HEADER, "its header is garbled", "fetch it again"},
    {TN_BAD_JSON, "its header is garbled", "fetch it again"},
    {TN_LIMIT, "its header is garbled", "fetch it again"},
    {TN_DUPLICATE, "a name stands twice in its header", "ask its author"},
    {TN_OVERFLOW, "its header contradicts itself", "fetch it again"},
    {TN_BAD_LAYOUT, "its header contradicts itself", "fetch it again"},
    {TN_UNKNOWN_DTYPE, "a type of numbers no one else knows", "ask its author"},
    {TN_BAD_CHECKSUM, NULL, "fetch it again"},
    {TN_TRAILING_BYTES, NULL, "fetch it again"},
    {TN_MISSING_PART, NULL, "fetch the missing part"},
    {TN_STALE_INDEX, NULL, "fetch the index again"},
    {TN_DANGEROUS, NULL, "do not load it"},
    {TN_UNSAFE_PATH, NULL, "do not load it"},
    {TN_PERMISSION, NULL, "allow reading it"},
    {TN_PLACEHOLDER, NULL, "make it available offline first"},
    {TN_BUSY, NULL, "close the program that holds it, then import again"},
    {TN_CHANGED, NULL, "import again when it is written"},
    {TN_OVER_BUDGET, NULL, "raise --memory"},
    {TN_NO_MEMORY, NULL, "free memory, then import again"},
    {TN_CRASHED, NULL, "report it, please"},
};

static const advice_row *advice_for(tn_status status)
{
    static const advice_row none = {TN_OK, NULL, NULL};
    for (size_t i = 0; i < sizeof advice / sizeof advice[0]; i++)
        if (advice[i].status == status)
            return &advice[i];
    return &none;
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
    const advice_row *row = advice_for(e->status);
    if (row->what != NULL)
        tn_buffer_text(out, row->what);
    else if (!append_difference(out, e))
        tn_buffer_append(out, e->message.bytes, e->message.size);
    if (row->to_do != NULL)
        tn_buffer_format(out, ": %s", row->to_do);
}
