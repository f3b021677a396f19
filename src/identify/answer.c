/* Making an answer and giving it back. */
#include "identify/answer.h"

#include <math.h>
#include <string.h>

#include "core/error.h"
#include "identify/pattern.h"

const char *tn_state_word(tn_state state)
{
    switch (state) {
    case TN_STATE_IDENTIFIED: return "identified";
    case TN_STATE_AMBIGUOUS: return "ambiguous";
    case TN_STATE_UNKNOWN: return "unknown";
    case TN_STATE_UNSUPPORTED: return "unsupported";
    case TN_STATE_DAMAGED: return "damaged";
    case TN_STATE_DANGEROUS: return "dangerous";
    case TN_STATE_UNREADABLE: return "unreadable";
    }
    return "unknown";
}

bool tn_state_needs_a_look(tn_state state)
{
    return state == TN_STATE_DAMAGED || state == TN_STATE_DANGEROUS || state == TN_STATE_UNREADABLE;
}

static const tn_text nothing = {"", 0};

tn_status tn_draft_begin(tn_context *context, const char *path, tn_draft **out, tn_error *err)
{
    void *taken;
    TN_TRY(tn_take_array(&context->memory, 1, sizeof(tn_draft), &taken, err));
    tn_draft *draft = taken;
    tn_arena_init(&draft->arena, &context->memory, TN_ANSWER_BYTES_MAX);
    draft->memory = &context->memory;
    tn_answer *a = &draft->answer;
    tn_text *texts[] = {&a->type, &a->base, &a->variant, &a->decided_by, &a->why, &a->prediction_type, &a->purpose,
                        &a->quantization, &a->name_invokeai, &a->name_comfyui, &a->name_diffsynth,
                        &a->name_diffusers, &a->key_hash, &a->adapter.algorithm, &a->adapter.dialect};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        *texts[i] = nothing;
    a->path = path != NULL ? tn_arena_text(&draft->arena, path, strlen(path)) : nothing;
    a->state = TN_STATE_UNKNOWN;
    a->adapter.alpha = (double)NAN;
    a->evidence = draft->evidence;
    a->metadata = draft->curated;
    *out = draft;
    return TN_OK;
}

void tn_answer_destroy(tn_answer *answer)
{
    if (answer == NULL)
        return;
    tn_draft *draft = (tn_draft *)(void *)answer;
    tn_arena_free(&draft->arena);
    tn_give(draft->memory, draft, sizeof *draft);
}

void tn_draft_say(tn_draft *draft, tn_text rule, int weight, tn_text says)
{
    if (says.bytes != NULL && draft->answer.evidence_count < TN_EVIDENCE_MAX)
        draft->evidence[draft->answer.evidence_count++] = (tn_evidence){rule, says, weight};
}

/* Where to cut so that no character is cut in two. */
static size_t whole_characters(tn_text text, size_t max)
{
    if (text.size <= max)
        return text.size;
    while (max > 0 && ((unsigned char)text.bytes[max] & 0xC0) == 0x80)
        max--;
    return max;
}

bool tn_draft_curate(tn_draft *draft, const char *key, tn_text value)
{
    tn_text name = {key, strlen(key)};
    if (value.size == 0 || draft->answer.metadata_count == TN_CURATED_MAX)
        return false;
    for (size_t i = 0; i < draft->answer.metadata_count; i++)
        if (tn_text_is(draft->curated[i].key, name))
            return false;
    tn_text kept = tn_arena_text(&draft->arena, value.bytes, whole_characters(value, TN_CURATED_BYTES_MAX));
    if (kept.bytes == NULL)
        return false;
    draft->curated[draft->answer.metadata_count++] = (tn_pair){name, kept};
    return true;
}

static tn_text copy(tn_draft *draft, tn_text text)
{
    return text.size > 0 ? tn_arena_text(&draft->arena, text.bytes, text.size) : nothing;
}

tn_finding tn_draft_finding(tn_draft *draft, const tn_finding *finding)
{
    tn_finding made = *finding;
    made.message = copy(draft, finding->message);
    made.file = copy(draft, finding->file);
    made.tensor = copy(draft, finding->tensor);
    return made;
}

void tn_draft_warn(tn_draft *draft, const tn_finding *finding)
{
    tn_answer *a = &draft->answer;
    tn_finding *grown = tn_arena_take_array(&draft->arena, a->warning_count + 1, sizeof *grown);
    if (grown == NULL)
        return;
    if (a->warning_count > 0)
        memcpy(grown, a->warnings, a->warning_count * sizeof *grown);
    grown[a->warning_count] = tn_draft_finding(draft, finding);
    a->warnings = grown;
    a->warning_count++;
}

void tn_draft_fail(tn_draft *draft, const tn_error *failure, tn_state state)
{
    const tn_finding finding = {
        .severity = TN_ERROR,
        .status = failure->status,
        .message = {failure->message, strlen(failure->message)},
        .file = {failure->file, strlen(failure->file)},
        .tensor = {failure->tensor, strlen(failure->tensor)},
        .offset = failure->offset,
        .expected = failure->expected,
        .found = failure->found,
    };
    draft->answer.has_error = true;
    draft->answer.error = tn_draft_finding(draft, &finding);
    draft->answer.state = state;
}
