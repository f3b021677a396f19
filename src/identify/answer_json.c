/* An answer as JSON: the fields of interface.md 3, all of them, in its order. */
#include <math.h>
#include <string.h>

#include "context/context.h"
#include "core/encode.h"
#include "core/json.h"
#include "core/utf8.h"
#include "identify/answer.h"

enum { JSON_BYTES_MAX = 64 << 20 };

static void text_or_null(tn_json_writer *w, const char *key, tn_text text)
{
    tn_json_key(w, key);
    if (text.size > 0)
        tn_json_string(w, text.bytes, text.size);
    else
        tn_json_null(w);
}

static void number_or_null(tn_json_writer *w, const char *key, uint64_t number, uint64_t none)
{
    tn_json_key(w, key);
    if (number != none)
        tn_json_uint(w, number);
    else
        tn_json_null(w);
}

/* The path as text, and as bytes where the text is not all of it. */
static void write_path(tn_json_writer *w, tn_context *context, tn_text path)
{
    tn_json_key(w, "path");
    tn_json_string(w, path.bytes, path.size);
    if (tn_utf8_valid_prefix(path.bytes, path.size) == path.size)
        return;
    tn_buffer encoded;
    tn_buffer_init(&encoded, &context->memory, JSON_BYTES_MAX);
    tn_base64_append(&encoded, path.bytes, path.size);
    tn_json_key(w, "path_b64");
    tn_json_string(w, encoded.bytes, encoded.size);
    tn_buffer_free(&encoded);
}

static void write_parts(tn_json_writer *w, const tn_answer *a)
{
    if (a->part_count < 2)
        return;
    tn_json_key(w, "parts");
    tn_json_array(w);
    for (size_t i = 0; i < a->part_count; i++)
        tn_json_string(w, a->parts[i].path.bytes, a->parts[i].path.size);
    tn_json_array_end(w);
}

static void write_texts(tn_json_writer *w, const char *key, const tn_text *texts, size_t count)
{
    tn_json_key(w, key);
    tn_json_array(w);
    for (size_t i = 0; i < count; i++)
        tn_json_string(w, texts[i].bytes, texts[i].size);
    tn_json_array_end(w);
}

static void write_candidates(tn_json_writer *w, const tn_answer *a)
{
    tn_json_key(w, "candidates");
    tn_json_array(w);
    for (size_t i = 0; i < a->candidate_count; i++) {
        tn_json_object(w);
        text_or_null(w, "type", a->candidates[i].type);
        text_or_null(w, "base", a->candidates[i].base);
        text_or_null(w, "variant", a->candidates[i].variant);
        tn_json_object_end(w);
    }
    tn_json_array_end(w);
}

static void write_adapter(tn_json_writer *w, const tn_adapter *adapter)
{
    tn_json_key(w, "adapter");
    if (adapter->algorithm.size == 0) {
        tn_json_null(w);
        return;
    }
    tn_json_object(w);
    text_or_null(w, "algorithm", adapter->algorithm);
    text_or_null(w, "dialect", adapter->dialect);
    number_or_null(w, "rank_min", adapter->rank_min, 0);
    number_or_null(w, "rank_max", adapter->rank_max, 0);
    tn_json_key(w, "alpha");
    tn_json_number(w, adapter->alpha);
    write_texts(w, "targets", adapter->targets, adapter->target_count);
    tn_json_key(w, "modules");
    tn_json_uint(w, adapter->modules);
    tn_json_object_end(w);
}

static void write_finding(tn_json_writer *w, const tn_finding *finding)
{
    tn_json_object(w);
    tn_json_key(w, "status");
    tn_json_cstring(w, tn_status_word(finding->status));
    text_or_null(w, "message", finding->message);
    text_or_null(w, "file", finding->file);
    text_or_null(w, "tensor", finding->tensor);
    number_or_null(w, "offset", finding->offset, TN_NONE);
    number_or_null(w, "expected", finding->expected, TN_NONE);
    number_or_null(w, "found", finding->found, TN_NONE);
    tn_json_object_end(w);
}

static void write_counts(tn_json_writer *w, const tn_answer *a)
{
    tn_json_key(w, "dtypes");
    tn_json_object(w);
    for (size_t i = 0; i < a->dtype_count; i++) {
        tn_json_key(w, tn_dtype_name(a->dtypes[i].dtype));
        tn_json_uint(w, a->dtypes[i].tensors);
    }
    tn_json_object_end(w);
    tn_json_key(w, "tensors");
    tn_json_uint(w, a->tensors);
    tn_json_key(w, "parameters");
    tn_json_uint(w, a->parameters);
    tn_json_key(w, "header_bytes");
    tn_json_uint(w, a->header_bytes);
}

static void write_metadata(tn_json_writer *w, const tn_answer *a)
{
    tn_json_key(w, "metadata");
    tn_json_object(w);
    for (size_t i = 0; i < a->metadata_count; i++) {
        tn_json_key_text(w, a->metadata[i].key.bytes, a->metadata[i].key.size);
        tn_json_string(w, a->metadata[i].value.bytes, a->metadata[i].value.size);
    }
    tn_json_object_end(w);
}

static void write_evidence(tn_json_writer *w, const tn_answer *a)
{
    tn_json_key(w, "evidence");
    tn_json_array(w);
    for (size_t i = 0; i < a->evidence_count; i++) {
        tn_json_object(w);
        text_or_null(w, "rule", a->evidence[i].rule);
        text_or_null(w, "says", a->evidence[i].says);
        tn_json_key(w, "weight");
        tn_json_int(w, a->evidence[i].weight);
        tn_json_object_end(w);
    }
    tn_json_array_end(w);
}

static void write_names(tn_json_writer *w, const tn_answer *a)
{
    tn_json_key(w, "names");
    tn_json_object(w);
    text_or_null(w, "invokeai", a->name_invokeai);
    text_or_null(w, "comfyui", a->name_comfyui);
    text_or_null(w, "diffsynth", a->name_diffsynth);
    text_or_null(w, "diffusers", a->name_diffusers);
    tn_json_object_end(w);
}

static void write_identity(tn_json_writer *w, const tn_answer *a)
{
    tn_json_key(w, "presence");
    tn_json_cstring(w, a->has_error && a->error.status == TN_NOT_FOUND ? "missing" : "present");
    tn_json_key(w, "size_bytes");
    tn_json_uint(w, a->size_bytes);
    tn_json_key(w, "container");
    tn_json_cstring(w, tn_container_word(a->container));
    tn_json_key(w, "state");
    tn_json_cstring(w, tn_state_word(a->state));
    text_or_null(w, "type", a->type);
    text_or_null(w, "base", a->base);
    text_or_null(w, "variant", a->variant);
    write_texts(w, "variants", a->variants, a->variant_count);
    text_or_null(w, "decided_by", a->decided_by);
    write_candidates(w, a);
    text_or_null(w, "why", a->why);
    text_or_null(w, "prediction_type", a->prediction_type);
    number_or_null(w, "scale", a->scale, 0);
    number_or_null(w, "in_channels", a->in_channels, 0);
    number_or_null(w, "out_channels", a->out_channels, 0);
    text_or_null(w, "purpose", a->purpose);
}

static void write_answer(tn_json_writer *w, tn_context *context, const tn_answer *a)
{
    tn_json_object(w);
    write_path(w, context, a->path);
    write_parts(w, a);
    write_identity(w, a);
    write_adapter(w, &a->adapter);
    text_or_null(w, "quantization", a->quantization);
    write_counts(w, a);
    write_metadata(w, a);
    write_evidence(w, a);
    write_names(w, a);
    text_or_null(w, "key_hash", a->key_hash);
    tn_json_key(w, "error");
    if (a->has_error)
        write_finding(w, &a->error);
    else
        tn_json_null(w);
    tn_json_key(w, "warnings");
    tn_json_array(w);
    for (size_t i = 0; i < a->warning_count; i++)
        write_finding(w, &a->warnings[i]);
    tn_json_array_end(w);
    tn_json_object_end(w);
}

tn_status tn_answer_json(tn_context *context, const tn_answer *answer, char **out, size_t *size, tn_error *err)
{
    tn_buffer buffer;
    tn_json_writer writer;
    void *exact = NULL;
    if (context == NULL || answer == NULL || out == NULL || size == NULL)
        return tn_fail(err, TN_INVALID, "a context, an answer and places for text and size are needed");
    tn_buffer_init(&buffer, &context->memory, JSON_BYTES_MAX);
    tn_json_writer_init(&writer, &buffer);
    write_answer(&writer, context, answer);
    tn_status status = tn_buffer_status(&buffer, err);
    if (status == TN_OK)
        status = tn_take(&context->memory, buffer.size + 1, &exact, err);
    if (status == TN_OK) {
        memcpy(exact, buffer.bytes, buffer.size + 1);
        *size = buffer.size;
        *out = exact;
    }
    tn_buffer_free(&buffer);
    return status;
}

void tn_answer_json_destroy(tn_context *context, char *json, size_t size)
{
    if (json != NULL)
        tn_give(&context->memory, json, size + 1);
}
