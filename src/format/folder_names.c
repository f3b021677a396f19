/* What the names in a folder say: whether it is a model, which files are its weights, which other precisions lie
 * beside them. Names as diffusers and transformers write them (their constants WEIGHTS_NAME, SAFETENSORS_WEIGHTS_NAME,
 * FLAX_WEIGHTS_NAME, TF2_WEIGHTS_NAME and their variants). */
#include <string.h>

#include "format/folder.h"
#include "format/index.h"
#include "format/sniff.h"

typedef enum form { FORM_NONE, FORM_FILE, FORM_INDEX, FORM_SHARD, FORM_FOREIGN } form;

/* What a name is when it is one of a model's weights. */
typedef struct weights_name {
    form form;
    unsigned base;       /* 0: diffusion_pytorch_model, 1: model */
    const char *variant; /* not terminated; NULL for full precision */
    size_t variant_size;
} weights_name;

static bool begins(const char *name, const char *head, size_t *size)
{
    *size = strlen(head);
    return strncmp(name, head, *size) == 0;
}

/* Take a "-00001-of-00002" off the end of the variant or base. True when there was one. */
static bool without_shard(const char *at, size_t *size)
{
    static const char pattern[] = "-00000-of-00000";
    size_t length = sizeof pattern - 1;
    if (*size < length)
        return false;
    const char *tail = at + *size - length;
    for (size_t i = 0; i < length; i++) {
        bool digit = tail[i] >= '0' && tail[i] <= '9';
        if (pattern[i] == '0' ? !digit : tail[i] != pattern[i])
            return false;
    }
    *size -= length;
    return true;
}

/* `middle` is what stands between the base and the suffix: "", ".fp16", "-00001-of-00002", ".fp16-00001-of-00002" or
 * "-00001-of-00002.fp16". */
static bool read_middle(const char *middle, size_t size, weights_name *out)
{
    bool shard = without_shard(middle, &size);
    if (!shard && size > 15 && middle[15] == '.') {
        size_t front = 15;
        shard = without_shard(middle, &front) && front == 0;
        middle += shard ? 15 : 0;
        size -= shard ? 15 : 0;
    }
    if (size > 0 && (middle[0] != '.' || size == 1))
        return false;
    out->variant = size > 0 ? middle + 1 : NULL;
    out->variant_size = size > 0 ? size - 1 : 0;
    out->form = shard ? FORM_SHARD : FORM_FILE;
    return true;
}

/* The index of a variant is BASE.safetensors.index.VARIANT.json. */
static bool read_index(const char *rest, weights_name *out)
{
    size_t head = 0, size = strlen(rest);
    if (!begins(rest, ".safetensors.index.", &head) || size < head + 4 || strcmp(rest + size - 4, "json") != 0)
        return false;
    size_t between = size - head - 4;
    if (between == 1 || (between > 0 && rest[size - 5] != '.'))
        return false;
    out->variant = between > 0 ? rest + head : NULL;
    out->variant_size = between > 0 ? between - 1 : 0;
    out->form = FORM_INDEX;
    return true;
}

static weights_name read_name(const char *name)
{
    static const char *const bases[] = {"diffusion_pytorch_model", "model"};
    static const char suffix[] = ".safetensors";
    for (unsigned base = 0; base < 2; base++) {
        weights_name found = {.form = FORM_NONE, .base = base};
        size_t head = 0, size = strlen(name), end = sizeof suffix - 1;
        if (!begins(name, bases[base], &head))
            continue;
        if (read_index(name + head, &found))
            return found;
        bool safetensors = size >= head + end && strcmp(name + size - end, suffix) == 0;
        if (safetensors && read_middle(name + head, size - head - end, &found))
            return found;
    }
    return (weights_name){.form = FORM_NONE};
}

/* Weights of the same model in containers that have no reader. */
static bool is_foreign(const char *name)
{
    static const char *const bases[] = {"diffusion_pytorch_model", "pytorch_model", "model",     "tf_model",
                                        "flax_model",              "diffusion_flax_model", "rust_model", "openvino_model"};
    static const char *const suffixes[] = {".bin", ".bin.index.json", ".msgpack", ".h5",   ".onnx", ".ot",
                                           ".pt",  ".pth",            ".ckpt",    ".gguf", ".xml"};
    size_t head = 0;
    bool known = false;
    for (size_t i = 0; i < sizeof bases / sizeof bases[0] && !known; i++)
        known = begins(name, bases[i], &head) && (name[head] == '.' || name[head] == '-');
    for (size_t i = 0; known && i < sizeof suffixes / sizeof suffixes[0]; i++)
        if (tn_name_ends(name, suffixes[i]))
            return true;
    return false;
}

/* ---- is it a model, and what belongs to it ---- */

void tn_folder_see(tn_folder_signs *signs, const char *name)
{
    if (strcmp(name, "model_index.json") == 0)
        signs->pipeline = true;
    else if (strcmp(name, "config.json") == 0)
        signs->config = true;
    bool weights = read_name(name).form != FORM_NONE || is_foreign(name);
    size_t head = 0;
    if (weights && begins(name, "diffusion_", &head))
        signs->diffusers_weights = true;
    else if (weights)
        signs->transformers_weights = true;
}

tn_container tn_folder_verdict(const tn_folder_signs *signs)
{
    if (signs->pipeline || (signs->config && signs->diffusers_weights))
        return TN_CONTAINER_DIFFUSERS;
    return signs->config && signs->transformers_weights ? TN_CONTAINER_TRANSFORMERS : TN_CONTAINER_UNKNOWN;
}

bool tn_folder_owns_file(const tn_folder_signs *signs, const char *name)
{
    if (tn_folder_verdict(signs) == TN_CONTAINER_UNKNOWN)
        return false;
    if (!tn_name_claims_weights(name) && !tn_name_is_partial(name))
        return true; /* configs, vocabularies, readme */
    if (signs->pipeline)
        return false;
    return read_name(name).form != FORM_NONE || is_foreign(name);
}

/* ---- which weights are read ---- */

/* Lower is better: full precision before variants, a known one before others, a file before a set. */
static unsigned rank_of(const weights_name *w)
{
    static const char *const variants[] = {"fp32", "bf16", "fp16"};
    unsigned precision = 0;
    if (w->variant != NULL) {
        precision = 4;
        for (unsigned i = 0; i < 3; i++)
            if (w->variant_size == 4 && memcmp(w->variant, variants[i], 4) == 0)
                precision = i + 1;
    }
    bool ema = w->variant_size >= 7 && memcmp(w->variant, "non_ema", 7) == 0;
    return w->base * 100 + (ema ? 50 : 0) + precision * 4 + (unsigned)w->form;
}

tn_weights_choice tn_choose_weights(const tn_listing *listing)
{
    tn_weights_choice choice = {0};
    unsigned best = UINT32_MAX;
    for (uint32_t i = 0; i < listing->count; i++) {
        const char *name = listing->names[i].name;
        weights_name w = read_name(name);
        if (w.form == FORM_NONE) {
            if (!choice.foreign && is_foreign(name)) {
                choice.foreign = true;
                choice.first_foreign = name;
            }
        } else if (rank_of(&w) < best) {
            best = rank_of(&w);
            choice.name = name;
            choice.index = w.form == FORM_INDEX;
            choice.shard = w.form == FORM_SHARD;
        }
    }
    return choice;
}

bool tn_is_other_variant(const tn_weights_choice *choice, const char *name)
{
    weights_name w = read_name(name);
    if (w.form == FORM_NONE || choice->name == NULL || strcmp(choice->name, name) == 0)
        return false;
    weights_name chosen = read_name(choice->name);
    bool same = w.variant_size == chosen.variant_size &&
                (w.variant_size == 0 || memcmp(w.variant, chosen.variant, w.variant_size) == 0);
    return !same && w.form != FORM_SHARD; /* a set is told once, by its index */
}
