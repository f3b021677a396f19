#include "library/reading.h"

#include <string.h>

#include <tenure/digest.h>

#include "library/answer_row.h"

/* ---- an answer where there was no reader ---- */

static tn_finding finding_of(tn_status status, const char *message)
{
    return (tn_finding){TN_ERROR, status, {message, strlen(message)}, {"", 0}, {"", 0}, TN_NONE, TN_NONE, TN_NONE};
}

static tn_text unknown_text(void)
{
    return (tn_text){"", 0};
}

/* The block behind a refusal's answer, which comes first in it. */
typedef struct refusal {
    tn_answer answer;
    char message[512];
    char path[1];
} refusal;

static size_t refusal_size(size_t path_size)
{
    return sizeof(refusal) + path_size;
}

static tn_status refusal_make(tn_context *context, const char *path, uint64_t size_bytes, tn_status why,
                              const char *message, tn_answer **out, tn_error *err)
{
    size_t path_size = strlen(path);
    void *block = NULL;
    TN_TRY(tn_take_array(&context->memory, 1, refusal_size(path_size), &block, err));
    refusal *r = block;
    memcpy(r->path, path, path_size + 1);
    size_t message_size = strlen(message);
    if (message_size >= sizeof r->message)
        message_size = sizeof r->message - 1;
    memcpy(r->message, message, message_size);
    tn_answer *a = &r->answer;
    a->path = (tn_text){r->path, path_size};
    a->size_bytes = size_bytes;
    a->container = TN_CONTAINER_UNKNOWN;
    a->state = TN_STATE_UNREADABLE;
    tn_text *empty[] = {&a->type, &a->base, &a->variant, &a->why, &a->prediction_type, &a->purpose, &a->quantization,
                        &a->name_invokeai, &a->name_comfyui, &a->name_diffsynth, &a->name_diffusers, &a->key_hash,
                        &a->adapter.algorithm, &a->adapter.dialect, &a->decided_by};
    for (size_t i = 0; i < sizeof empty / sizeof empty[0]; i++)
        *empty[i] = unknown_text();
    a->has_error = true;
    a->error = finding_of(why, r->message);
    *out = a;
    return TN_OK;
}

/* ---- reading ---- */

/* A file whose header does not fit the budget, or that the system does not let us read, is that file's misfortune; the
 * others go on. */
static bool is_about_the_file(tn_status status)
{
    return status != TN_INTERNAL && strcmp(tn_status_state(status), "unreadable") == 0;
}

/* Cancelled, forked, misused: nothing that another file would not meet too. */
static bool is_of_the_call(tn_status status)
{
    return status == TN_INTERNAL || tn_status_state(status)[0] == '\0';
}

static void add_time(_Atomic uint64_t *sum, uint64_t began)
{
    atomic_fetch_add_explicit(sum, tn_os_monotonic_ns() - began, memory_order_relaxed);
}

/* What could not be opened is named by its bytes alone. A file that the system did not let us read the first time and
 * does now would be told as less than it is, so that its first failure stands. */
static tn_status identify_unopened(tn_context *context, const char *path, const tn_error *found, tn_answer **answer,
                                   tn_error *err)
{
    tn_answer *made = NULL;
    TN_TRY(tn_identify(context, path, NULL, &made, err));
    if (made->state != TN_STATE_UNREADABLE && is_about_the_file(found->status)) {
        tn_answer_destroy(made);
        return tn_fail_as(found, err);
    }
    *answer = made;
    return TN_OK;
}

static tn_status identify(tn_context *context, const char *path, tn_checkpoint **checkpoint, tn_answer **answer,
                          tn_error *err)
{
    tn_error found;
    tn_status status = tn_checkpoint_open(context, path, NULL, checkpoint, &found);
    if (status == TN_OK)
        return tn_identify_checkpoint(context, *checkpoint, path, NULL, answer, err);
    if (tn_status_is_of_memory(status) || is_of_the_call(status))
        return tn_fail_as(&found, err);
    return identify_unopened(context, path, &found, answer, err);
}

static bool is_one_file(const tn_answer *answer)
{
    return answer->container != TN_CONTAINER_DIFFUSERS && answer->container != TN_CONTAINER_TRANSFORMERS;
}

/* A digest that cannot be taken is a digest that is not there: the header was read, and what it says is not thrown away
 * for a bad sector behind it. The next import tries again. */
static tn_status sample(tn_context *context, const char *path, const tn_checkpoint *checkpoint, tn_reading *reading,
                        tn_error *err)
{
    tn_status status = TN_NOT_FOUND;
    if (checkpoint != NULL)
        status = tn_digest_sample(context, checkpoint, reading->sample, err);
    else if (is_one_file(reading->answer) && reading->answer->state != TN_STATE_UNREADABLE)
        status = tn_digest_sample_file(context, path, reading->sample, err);
    reading->has_sample = status == TN_OK;
    return status != TN_OK && is_of_the_call(status) ? status : TN_OK;
}

/* Whether the path is the only part itself. */
static bool is_its_own_part(const tn_answer *answer, const char *path)
{
    return answer->part_count == 1 && strcmp(answer->parts[0].path.bytes, path) == 0;
}

/* Who the parts of a set or folder are, for their rows. One that was read and now cannot be asked about is changing under
 * our eyes: the whole is unreadable for this time. */
static tn_status ask_parts(tn_context *context, const char *path, tn_reading *reading, tn_error *err)
{
    const tn_answer *answer = reading->answer;
    if (answer->part_count == 0 || is_its_own_part(answer, path))
        return TN_OK;
    void *block = NULL;
    TN_TRY(tn_take_array(&context->memory, answer->part_count, sizeof *reading->parts, &block, err));
    reading->parts = block;
    reading->part_count = answer->part_count;
    for (size_t i = 0; i < reading->part_count; i++)
        TN_TRY(tn_os_info_at(answer->parts[i].path.bytes, true, &reading->parts[i], err));
    return TN_OK;
}

static tn_status take(tn_context *context, const char *path, tn_reading_times *times, tn_reading *out, tn_error *err)
{
    tn_checkpoint *checkpoint = NULL;
    uint64_t began = tn_os_monotonic_ns();
    tn_status status = identify(context, path, &checkpoint, &out->answer, err);
    add_time(&times->identify_ns, began);
    began = tn_os_monotonic_ns();
    if (status == TN_OK)
        status = sample(context, path, checkpoint, out, err);
    add_time(&times->sample_ns, began);
    tn_checkpoint_release(checkpoint);
    began = tn_os_monotonic_ns();
    if (status == TN_OK)
        status = ask_parts(context, path, out, err);
    if (status == TN_OK)
        status = tn_answer_row_json(context, out->answer, &out->json, &out->json_size, err);
    add_time(&times->json_ns, began);
    return status;
}

tn_status tn_reading_take(tn_context *context, const char *path, tn_reading_times *times, tn_reading *out,
                          tn_error *err)
{
    tn_reading reading = {0};
    tn_error found;
    tn_status status = take(context, path, times, &reading, &found);
    if (status == TN_OK) {
        *out = reading;
        return TN_OK;
    }
    tn_reading_free(context, &reading);
    if (is_about_the_file(status))
        return tn_reading_refuse(context, path, 0, status, found.message, out, err);
    return tn_fail_as(&found, err);
}

tn_status tn_reading_refuse(tn_context *context, const char *path, uint64_t size_bytes, tn_status why,
                            const char *message, tn_reading *out, tn_error *err)
{
    tn_reading reading = {0};
    tn_status status = refusal_make(context, path, size_bytes, why, message, &reading.answer, err);
    reading.refused = status == TN_OK;
    if (status == TN_OK)
        status = tn_answer_row_json(context, reading.answer, &reading.json, &reading.json_size, err);
    if (status == TN_OK)
        *out = reading;
    else
        tn_reading_free(context, &reading);
    return status;
}

void tn_reading_free(tn_context *context, tn_reading *reading)
{
    if (reading->refused)
        tn_give(&context->memory, reading->answer, refusal_size(reading->answer->path.size));
    else
        tn_answer_destroy(reading->answer);
    if (reading->json != NULL)
        tn_answer_json_destroy(context, reading->json, reading->json_size);
    tn_give(&context->memory, reading->parts, reading->part_count * sizeof *reading->parts);
    memset(reading, 0, sizeof *reading);
}
