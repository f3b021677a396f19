/* What a file says of itself: the pairs a person wants, and which base it claims. A claim is never evidence. */
#include <math.h>
#include <string.h>

#include "core/json.h"
#include "identify/answer.h"
#include "identify/pattern.h"

/* What a person is shown, and where it may stand, the best first. */
static const struct {
    const char *shown, *key;
} curated[] = {
    {"title", "modelspec.title"},
    {"title", "ss_output_name"},
    {"author", "modelspec.author"},
    {"description", "modelspec.description"},
    {"trigger_words", "modelspec.trigger_phrase"},
    {"usage_hint", "modelspec.usage_hint"},
    {"tags", "modelspec.tags"},
    {"license", "modelspec.license"},
    {"resolution", "modelspec.resolution"},
    {"resolution", "ss_resolution"},
    {"date", "modelspec.date"},
    {"trained_on", "ss_sd_model_name"},
    {"trained_on", "ss_base_model_version"},
    {"trained_on", "modelspec.architecture"},
    {"merged_from", "modelspec.merged_from"},
};

void tn_metadata_curate(tn_draft *draft, const tn_checkpoint *checkpoint)
{
    const tn_pair *pairs;
    if (tn_checkpoint_metadata(checkpoint, &pairs) == 0)
        return;
    for (size_t i = 0; i < sizeof curated / sizeof *curated; i++)
        (void)tn_draft_curate(draft, curated[i].shown, tn_checkpoint_metadata_value(checkpoint, curated[i].key));
}

/* ---- claims ---- */

enum { WORD_MAX = 128 };

/* Lower case, without the kind of file that stands behind a slash ("/lora"). 0 when it is too long. */
static size_t plain_word(tn_text value, char *out)
{
    const char *slash = value.size > 0 ? memchr(value.bytes, '/', value.size) : NULL;
    size_t size = slash != NULL ? (size_t)(slash - value.bytes) : value.size;
    if (size > WORD_MAX)
        return 0;
    for (size_t i = 0; i < size; i++) {
        char c = value.bytes[i];
        out[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    return size;
}

static const tn_alias *find_alias(const tn_rules *rules, tn_text value)
{
    char word[WORD_MAX];
    size_t size = plain_word(value, word);
    for (uint32_t i = 0; i < rules->alias_count && size > 0; i++)
        if (rules->aliases[i].word.size == size && memcmp(rules->aliases[i].word.bytes, word, size) == 0)
            return &rules->aliases[i];
    return NULL;
}

tn_claim tn_metadata_claim(const tn_rules *rules, const tn_checkpoint *checkpoint)
{
    tn_claim claim = {{"", 0}, {"", 0}, {"", 0}, {"", 0}};
    const tn_pair *pairs;
    if (tn_checkpoint_metadata(checkpoint, &pairs) == 0)
        return claim;
    for (uint32_t i = 0; i < rules->claim_count; i++) {
        tn_text value = tn_checkpoint_metadata_value(checkpoint, rules->claims[i].bytes);
        const tn_alias *alias = value.size > 0 ? find_alias(rules, value) : NULL;
        if (alias != NULL)
            return (tn_claim){rules->claims[i], value, alias->base, alias->variant};
    }
    return claim;
}

/* ---- alpha ---- */

static double number_of(tn_text text)
{
    tn_json json;
    tn_json_init(&json, text.bytes, text.size);
    tn_json_kind kind = tn_json_next(&json);
    if (kind != TN_JSON_UINT && kind != TN_JSON_NUMBER)
        return (double)NAN;
    double value = tn_json_double(&json);
    return tn_json_next(&json) == TN_JSON_END ? value : (double)NAN;
}

/* peft writes its settings as one JSON object; lora_alpha stands at its top. */
static double alpha_of_peft(tn_text text)
{
    tn_json json;
    tn_json_init(&json, text.bytes, text.size);
    if (tn_json_next(&json) != TN_JSON_OBJECT_BEGIN)
        return (double)NAN;
    while (tn_json_next(&json) == TN_JSON_KEY) {
        bool wanted = tn_json_is(&json, "lora_alpha");
        tn_json_kind kind = tn_json_next(&json);
        if (wanted && (kind == TN_JSON_UINT || kind == TN_JSON_NUMBER))
            return tn_json_double(&json);
        if (!tn_json_skip(&json))
            break;
    }
    return (double)NAN;
}

double tn_metadata_alpha(const tn_checkpoint *checkpoint)
{
    tn_text kohya = tn_checkpoint_metadata_value(checkpoint, "ss_network_alpha");
    if (kohya.size > 0)
        return number_of(kohya);
    tn_text peft = tn_checkpoint_metadata_value(checkpoint, "lora_adapter_metadata");
    return peft.size > 0 ? alpha_of_peft(peft) : (double)NAN;
}
