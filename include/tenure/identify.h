/* Identification: what a model is, from its header alone, with the evidence.
 *
 * Nothing here loads weights or trusts a file's name. The words of every field are those of interface.md 3, which the
 * JSON form (tn_answer_json) follows to the letter. An answer is immutable and belongs to its caller. */
#ifndef TENURE_IDENTIFY_H
#define TENURE_IDENTIFY_H

#include "checkpoint.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tn_state {
    TN_STATE_IDENTIFIED = 0, /* one type and one base are consistent with the file */
    TN_STATE_AMBIGUOUS,      /* several are: see candidates */
    TN_STATE_UNKNOWN,        /* readable weights that no rule matches */
    TN_STATE_UNSUPPORTED,    /* a container that is named but not read */
    TN_STATE_DAMAGED,
    TN_STATE_DANGEROUS,
    TN_STATE_UNREADABLE
} tn_state;
/* The word of a state, such as "identified". Never NULL. */
TN_API const char *tn_state_word(tn_state state);
/* Whether a person must look at a file in this state (damaged, dangerous, unreadable). */
TN_API bool tn_state_needs_a_look(tn_state state);

/* One row consistent with the header. Empty texts where there is no word. */
typedef struct tn_candidate {
    tn_text type, base, variant;
} tn_candidate;

/* A rule that spoke. weight > 0: for; < 0: against (only with `why`). */
typedef struct tn_evidence {
    tn_text rule; /* name of the row, such as "main/flux/dev" */
    tn_text says; /* in words a user understands, naming the tensors */
    int weight;
} tn_evidence;

/* An adapter's build: only meaningful when algorithm is not empty. */
typedef struct tn_adapter {
    tn_text algorithm; /* "lora", "locon", "loha", "lokr", "dora", "oft", "ia3", "glora", "diff", ... */
    tn_text dialect;   /* "kohya", "diffusers", "peft", "comfyui", "xlabs", ... */
    uint32_t rank_min, rank_max; /* 0 when it has none */
    double alpha;      /* one value for all, NaN when not known */
    uint32_t modules;
    size_t target_count;
    const tn_text *targets; /* "unet", "transformer", "text_encoder", "text_encoder_2", ... */
} tn_adapter;

typedef struct tn_dtype_count {
    tn_dtype dtype;
    uint64_t tensors;
} tn_dtype_count;

/* The whole answer. Texts are empty ({"", 0}) where interface.md says null. */
typedef struct tn_answer {
    tn_text path;
    size_t part_count;
    const tn_part *parts;
    uint64_t size_bytes;
    tn_container container;
    tn_state state;
    tn_text type, base, variant;
    size_t variant_count;
    const tn_text *variants; /* the open ones, when variant is empty and the header leaves several */
    tn_text decided_by;      /* "tensors", "peek", "metadata", "user", or empty */
    size_t candidate_count;
    const tn_candidate *candidates;
    tn_text why;             /* why no more can be said, when ambiguous */
    tn_text prediction_type;
    uint32_t scale, in_channels, out_channels; /* 0: does not apply */
    tn_text purpose;
    tn_adapter adapter;
    tn_text quantization;
    size_t dtype_count;
    const tn_dtype_count *dtypes;
    uint64_t tensors, parameters, header_bytes;
    size_t metadata_count;
    const tn_pair *metadata; /* curated: title, author, trigger_words, trained_on, resolution, license, ... */
    size_t evidence_count;
    const tn_evidence *evidence;
    tn_text name_invokeai, name_comfyui, name_diffsynth, name_diffusers;
    tn_text key_hash;
    bool has_error;
    tn_finding error;
    size_t warning_count;
    const tn_finding *warnings;
} tn_answer;

typedef struct tn_identify_options {
    size_t size;   /* sizeof(tn_identify_options) */
    bool why;      /* collect evidence against as well */
    bool key_hash; /* compute it (costs a sort of all names) */
} tn_identify_options;

/* Identify what stands at `path`: a file, an index, a folder. `options` may be NULL.
 * TN_OK for every path that can be answered about, also damaged, hostile, empty or unreadable ones: the answer's
 * state and error say so. Other statuses are the call's own (TN_INVALID, TN_NO_MEMORY, TN_OVER_BUDGET, TN_CANCELLED). */
TN_API tn_status tn_identify(tn_context *context, const char *path, const tn_identify_options *options,
                             tn_answer **out, tn_error *err);
/* Identify a checkpoint that is open already. */
TN_API tn_status tn_identify_checkpoint(tn_context *context, const tn_checkpoint *checkpoint, const char *path,
                                        const tn_identify_options *options, tn_answer **out, tn_error *err);
TN_API void tn_answer_destroy(tn_answer *answer); /* NULL accepted */

/* The answer as one JSON object without "v" and without a newline, NUL-terminated, and its size; free it with
 * tn_answer_json_destroy. */
TN_API tn_status tn_answer_json(tn_context *context, const tn_answer *answer, char **out, size_t *size, tn_error *err);
TN_API void tn_answer_json_destroy(tn_context *context, char *json, size_t size);

#ifdef __cplusplus
}
#endif
#endif
