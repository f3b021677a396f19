/* The public face of identification: a path or an open checkpoint in, an answer out. */
#include <tenure/digest.h>
#include <tenure/identify.h>

#include <string.h>

#include "core/error.h"
#include "format/index.h"
#include "identify/answer.h"

enum { NEAR_MISSES_MAX = 64 };

/* What a file that shows this status is called. */
static tn_state state_of(tn_status status, tn_state otherwise)
{
    const char *word = tn_status_state(status);
    for (int state = 0; state <= (int)TN_STATE_UNREADABLE; state++)
        if (strcmp(word, tn_state_word((tn_state)state)) == 0)
            return (tn_state)state;
    return otherwise;
}

/* ---- an open checkpoint ---- */

static tn_status copy_parts(tn_draft *draft, const tn_checkpoint *checkpoint, tn_error *err)
{
    const tn_part *parts;
    size_t count = tn_checkpoint_parts(checkpoint, &parts);
    tn_part *kept = tn_arena_take_array(&draft->arena, count, sizeof *kept);
    for (size_t i = 0; i < count && kept != NULL; i++) {
        kept[i] = parts[i];
        kept[i].path = tn_arena_text(&draft->arena, parts[i].path.bytes, parts[i].path.size);
        kept[i].component = tn_arena_text(&draft->arena, parts[i].component.bytes, parts[i].component.size);
    }
    draft->answer.parts = kept;
    draft->answer.part_count = kept != NULL ? count : 0;
    return tn_arena_status(&draft->arena, err);
}

static void count_dtypes(tn_draft *draft, const tn_checkpoint *checkpoint)
{
    const tn_tensor *tensors;
    const tn_logical *logicals;
    uint64_t counts[TN_DTYPE_COUNT] = {0};
    size_t count = tn_checkpoint_tensors(checkpoint, &tensors), kinds = 0;
    size_t logical_count = tn_checkpoint_logicals(checkpoint, &logicals);
    for (size_t i = 0; i < count; i++)
        counts[tensors[i].dtype]++;
    tn_dtype_count *list = tn_arena_take_array(&draft->arena, TN_DTYPE_COUNT, sizeof *list);
    for (int i = 0; i < TN_DTYPE_COUNT && list != NULL; i++)
        if (counts[i] > 0)
            list[kinds++] = (tn_dtype_count){(tn_dtype)i, counts[i]};
    draft->answer.dtypes = list;
    draft->answer.dtype_count = kinds;
    draft->answer.tensors = count;
    for (size_t i = 0; i < logical_count; i++)
        draft->answer.parameters += logicals[i].elements;
}

/* Findings come worst first: the first error is the answer's, the rest are warnings. */
static void tell_findings(tn_draft *draft, const tn_checkpoint *checkpoint)
{
    const tn_finding *findings;
    size_t count = tn_checkpoint_findings(checkpoint, &findings);
    for (size_t i = 0; i < count; i++) {
        if (findings[i].severity != TN_ERROR || draft->answer.has_error) {
            tn_draft_warn(draft, &findings[i]);
            continue;
        }
        draft->answer.has_error = true;
        draft->answer.error = tn_draft_finding(draft, &findings[i]);
        draft->answer.state = state_of(findings[i].status, TN_STATE_DAMAGED);
    }
}

static tn_status match_and_decide(tn_context *context, tn_draft *draft, const tn_checkpoint *checkpoint, bool why,
                                  tn_error *err)
{
    tn_facts facts;
    tn_matches *matches = tn_arena_take(&draft->arena, sizeof *matches);
    if (matches == NULL)
        return tn_arena_status(&draft->arena, err);
    matches->misses = why ? tn_arena_take_array(&draft->arena, NEAR_MISSES_MAX, sizeof *matches->misses) : NULL;
    matches->miss_max = NEAR_MISSES_MAX;
    TN_TRY(tn_facts_read(&facts, &tn_rules_built_in, checkpoint, &draft->arena, &context->memory, err));
    tn_match_all(&facts, matches);
    tn_decide(draft, &facts, matches);
    return TN_OK;
}

static tn_status add_key_hash(tn_context *context, tn_draft *draft, const tn_checkpoint *checkpoint, tn_error *err)
{
    char hash[33];
    TN_TRY(tn_digest_key_hash(context, checkpoint, hash, err));
    draft->answer.key_hash = tn_arena_text(&draft->arena, hash, sizeof hash - 1);
    return TN_OK;
}

static tn_status describe(tn_context *context, tn_draft *draft, const tn_checkpoint *checkpoint,
                          const tn_identify_options *options, tn_error *err)
{
    tn_answer *a = &draft->answer;
    a->container = tn_checkpoint_container(checkpoint);
    a->size_bytes = tn_checkpoint_size_bytes(checkpoint);
    a->header_bytes = tn_checkpoint_header_bytes(checkpoint);
    TN_TRY(copy_parts(draft, checkpoint, err));
    count_dtypes(draft, checkpoint);
    a->quantization = tn_quantization_of(checkpoint);
    if (a->quantization.size > 0)
        a->quantization = tn_arena_text(&draft->arena, a->quantization.bytes, a->quantization.size);
    TN_TRY(match_and_decide(context, draft, checkpoint, options != NULL && options->why, err));
    tn_metadata_curate(draft, checkpoint);
    tell_findings(draft, checkpoint);
    if (options != NULL && options->key_hash)
        TN_TRY(add_key_hash(context, draft, checkpoint, err));
    return tn_arena_status(&draft->arena, err);
}

tn_status tn_identify_checkpoint(tn_context *context, const tn_checkpoint *checkpoint, const char *path,
                                 const tn_identify_options *options, tn_answer **out, tn_error *err)
{
    tn_draft *draft;
    if (context == NULL || checkpoint == NULL || out == NULL)
        return tn_fail(err, TN_INVALID, "a context, a checkpoint and a place for the answer are needed");
    TN_TRY(tn_context_check(context, err));
    TN_TRY(tn_draft_begin(context, path, &draft, err));
    tn_status status = describe(context, draft, checkpoint, options, err);
    if (status == TN_OK && path != NULL && path[0] != '\0')
        status = tn_sidecars_read(context, draft, path, err);
    if (status == TN_OK)
        status = tn_arena_status(&draft->arena, err);
    if (status != TN_OK) {
        tn_answer_destroy(&draft->answer);
        return status;
    }
    *out = &draft->answer;
    return TN_OK;
}

/* ---- a path ---- */

/* Whether a failure is the call's own, and not about the file. */
static bool is_of_the_call(tn_status status)
{
    return tn_status_is_of_process(status) || status == TN_INVALID || status == TN_INTERNAL;
}

static tn_status give(tn_draft *draft, tn_answer **out, tn_error *err)
{
    tn_status status = tn_arena_status(&draft->arena, err);
    if (status != TN_OK) {
        tn_answer_destroy(&draft->answer);
        return status;
    }
    *out = &draft->answer;
    return TN_OK;
}

static tn_status begin_without_checkpoint(tn_context *context, const char *path, tn_container container,
                                          tn_draft **out, tn_error *err)
{
    tn_os_info info;
    TN_TRY(tn_draft_begin(context, path, out, err));
    (*out)->answer.container = container;
    if (tn_os_info_at(path, true, &info, NULL) == TN_OK && info.kind == TN_OS_REGULAR)
        (*out)->answer.size_bytes = info.size;
    return TN_OK;
}

/* The answer about a file that could not be read as what it is. */
static tn_status answer_failure(tn_context *context, const char *path, tn_container container,
                                const tn_error *failure, tn_answer **out, tn_error *err)
{
    tn_draft *draft;
    if (is_of_the_call(failure->status))
        return tn_fail_as(failure, err);
    TN_TRY(begin_without_checkpoint(context, path, container, &draft, err));
    tn_draft_fail(draft, failure, state_of(failure->status, TN_STATE_UNREADABLE));
    return give(draft, out, err);
}

static tn_status answer_foreign(tn_context *context, const char *path, tn_container container, tn_answer **out,
                                tn_error *err)
{
    tn_draft *draft;
    TN_TRY(begin_without_checkpoint(context, path, container, &draft, err));
    tn_foreign_answer(draft, path, container);
    return give(draft, out, err);
}

/* Content that is named by no container may still fail as what its suffix says, with a better reason. */
static bool worth_opening(const char *path, tn_container container)
{
    return tn_container_is_weights(container) || tn_name_is_index(path) ||
           (container == TN_CONTAINER_UNKNOWN && tn_path_claims_weights(path, container));
}

tn_status tn_identify(tn_context *context, const char *path, const tn_identify_options *options, tn_answer **out,
                      tn_error *err)
{
    tn_container container = TN_CONTAINER_UNKNOWN;
    tn_checkpoint *checkpoint = NULL;
    tn_error failure;
    if (context == NULL || path == NULL || out == NULL)
        return tn_fail(err, TN_INVALID, "a context, a path and a place for the answer are needed");
    TN_TRY(tn_context_check(context, err));
    if (tn_container_of(context, path, &container, &failure) != TN_OK)
        return answer_failure(context, path, container, &failure, out, err);
    if (!worth_opening(path, container))
        return answer_foreign(context, path, container, out, err);
    tn_status opened = tn_checkpoint_open(context, path, NULL, &checkpoint, &failure);
    if (opened == TN_UNSUPPORTED)
        return answer_foreign(context, path, container, out, err);
    if (opened != TN_OK)
        return answer_failure(context, path, container, &failure, out, err);
    tn_status status = tn_identify_checkpoint(context, checkpoint, path, options, out, err);
    tn_checkpoint_release(checkpoint);
    return status;
}
