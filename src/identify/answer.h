/* An answer while it is made: one arena holds all its texts. */
#ifndef TN_IDENTIFY_ANSWER_H
#define TN_IDENTIFY_ANSWER_H

#include <tenure/identify.h>

#include "context/context.h"
#include "core/arena.h"
#include "identify/match.h"

#define TN_ANSWER_BYTES_MAX (size_t)(256 << 20) /* texts and tables of one answer */
#define TN_EVIDENCE_MAX 64u                     /* kept, of rules that spoke */
#define TN_CURATED_MAX 16u                      /* pairs of metadata a person wants */
#define TN_CURATED_BYTES_MAX 4096u              /* of one value; longer ones are cut */

typedef struct tn_draft {
    tn_answer answer; /* first: an answer given out is its draft */
    tn_arena arena;
    tn_memory_source *memory;
    tn_evidence evidence[TN_EVIDENCE_MAX];
    tn_pair curated[TN_CURATED_MAX];
} tn_draft;

/* All fields empty, the path copied. */
tn_status tn_draft_begin(tn_context *context, const char *path, tn_draft **out, tn_error *err);
void tn_draft_say(tn_draft *draft, tn_text rule, int weight, tn_text says);
/* Copies; false when it is empty, or the key is there already, or there is no room. */
bool tn_draft_curate(tn_draft *draft, const char *key, tn_text value);
void tn_draft_fail(tn_draft *draft, const tn_error *failure, tn_state state);
/* Copies what it points to. */
tn_finding tn_draft_finding(tn_draft *draft, const tn_finding *finding);
void tn_draft_warn(tn_draft *draft, const tn_finding *finding);

/* What the metadata claims to be the base: empty when it claims none that is known. */
typedef struct tn_claim {
    tn_text key, value, base, variant;
} tn_claim;
tn_claim tn_metadata_claim(const tn_rules *rules, const tn_checkpoint *checkpoint);
void tn_metadata_curate(tn_draft *draft, const tn_checkpoint *checkpoint);
/* A number from the metadata such as ss_network_alpha; NaN when it is not there or none. */
double tn_metadata_alpha(const tn_checkpoint *checkpoint);

/* What speaks for a row that matches, and against the rows that nearly do (evidence.c). */
void tn_tell_for(tn_draft *draft, const tn_match *match);
void tn_tell_against(tn_draft *draft, const tn_matches *matches);

/* What the rows that match come to: state, type, base, variant, candidates, evidence, names, numbers. */
void tn_decide(tn_draft *draft, const tn_facts *facts, const tn_matches *matches);

/* One word for how the weights are stored, or empty. Borrowed or constant. */
tn_text tn_quantization_of(const tn_checkpoint *checkpoint);

/* What lies beside the file: x.json, x.civitai.info, x.metadata.json, a preview. Nothing there is believed as far as
 * the identity goes, and nothing wrong there is an error: only TN_NO_MEMORY and TN_OVER_BUDGET are. */
tn_status tn_sidecars_read(tn_context *context, tn_draft *draft, const char *path, tn_error *err);

/* What is wrong with a file that holds no weights though its name says so, and what to do. */
void tn_foreign_answer(tn_draft *draft, const char *path, tn_container container);
bool tn_path_claims_weights(const char *path, tn_container container);

#endif
