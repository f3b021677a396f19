/* What is found out about one model by opening it (verify_files.h). */
#include <string.h>

#include <tenure/identify.h>

#include "library/verify_files.h"

/* ---- findings ---- */

tn_text tn_verify_keep(tn_verify_target *t, tn_text text)
{
    tn_text kept = tn_arena_text(&t->arena, text.bytes, text.size);
    return kept.bytes != NULL ? kept : (tn_text){"", 0};
}

static tn_status add_finding(tn_context *context, tn_verify_target *t, const tn_finding *finding, tn_error *err)
{
    void *findings = t->findings;
    TN_TRY(tn_make_room(&context->memory, &findings, &t->capacity, t->count, sizeof *t->findings, 4, err));
    t->findings = findings;
    size_t at = t->count++;
    for (; at > 0 && t->findings[at - 1].severity < finding->severity; at--)
        t->findings[at] = t->findings[at - 1];
    t->findings[at] = *finding;
    t->findings[at].message = tn_verify_keep(t, finding->message);
    t->findings[at].file = tn_verify_keep(t, finding->file);
    t->findings[at].tensor = tn_verify_keep(t, finding->tensor);
    return tn_arena_status(&t->arena, err);
}

tn_status tn_verify_say(tn_context *context, tn_verify_target *t, tn_severity severity, tn_status status, const char *message,
                     const char *file, tn_error *err)
{
    bool own = file == NULL || strcmp(file, t->path) == 0;
    tn_finding finding = {severity, status, {message, strlen(message)}, {own ? "" : file, own ? 0 : strlen(file)},
                          {"", 0}, TN_NONE, TN_NONE, TN_NONE};
    return add_finding(context, t, &finding, err);
}

tn_status tn_verify_say_error(tn_context *context, tn_verify_target *t, const tn_error *why, const char *file, tn_error *err)
{
    bool own = file == NULL || strcmp(file, t->path) == 0;
    tn_finding finding = {TN_ERROR, why->status, {why->message, strlen(why->message)},
                          {own ? "" : file, own ? 0 : strlen(file)}, {why->tensor, strlen(why->tensor)}, why->offset,
                          why->expected, why->found};
    return add_finding(context, t, &finding, err);
}

/* ---- structure ---- */

/* Cancelled, forked, misused: nothing that is about this file. A file that asks for too much memory is. */
static bool is_of_the_call(tn_status status)
{
    return status == TN_INTERNAL || tn_status_state(status)[0] == '\0';
}

/* No reader: what its bytes are called tells whether that is a fault. */
static tn_status look_unread(tn_context *context, tn_verify_target *t, const tn_error *why, tn_error *err)
{
    tn_answer *answer = NULL;
    TN_TRY(tn_identify(context, t->path, NULL, &answer, err));
    tn_status status;
    if (answer->has_error && answer->state != TN_STATE_UNSUPPORTED)
        status = add_finding(context, t, &answer->error, err);
    else
        status = tn_verify_say(context, t, TN_NOTE, TN_UNSUPPORTED, why->message, NULL, err);
    tn_answer_destroy(answer);
    return status;
}

tn_status tn_verify_structure(tn_context *context, tn_verify_target *t, tn_error *err)
{
    tn_checkpoint *checkpoint = NULL;
    tn_error why;
    const tn_finding *findings;
    tn_status status = tn_checkpoint_open(context, t->path, NULL, &checkpoint, &why);
    if (status == TN_UNSUPPORTED)
        return look_unread(context, t, &why, err);
    if (status != TN_OK)
        return is_of_the_call(status) ? tn_fail_as(&why, err) : tn_verify_say_error(context, t, &why, NULL, err);
    size_t count = tn_checkpoint_findings(checkpoint, &findings);
    for (size_t i = 0; i < count && status == TN_OK; i++)
        status = add_finding(context, t, &findings[i], err);
    tn_checkpoint_release(checkpoint);
    return status;
}
