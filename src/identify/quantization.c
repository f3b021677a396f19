/* How the weights are stored, in one word: asked of the logical tensors, which know packed weights with their side
 * tensors, and of the element types of plain ones. */
#include <string.h>

#include "identify/answer.h"
#include "identify/pattern.h"

enum { SCHEMES_MAX = 16 };

typedef struct scheme_count {
    tn_text scheme;
    uint64_t elements;
} scheme_count;

typedef struct weighing {
    scheme_count schemes[SCHEMES_MAX];
    uint32_t count;
    uint64_t total, by_dtype[TN_DTYPE_COUNT];
} weighing;

static void add_scheme(weighing *w, tn_text scheme, uint64_t elements)
{
    for (uint32_t i = 0; i < w->count; i++) {
        if (tn_text_is(w->schemes[i].scheme, scheme)) {
            w->schemes[i].elements += elements;
            return;
        }
    }
    if (w->count < SCHEMES_MAX)
        w->schemes[w->count++] = (scheme_count){scheme, elements};
}

static tn_text word_of_dtype(const weighing *w)
{
    static const struct {
        tn_dtype dtype;
        tn_text word;
    } words[] = {
        {TN_F8_E4M3, {"fp8_e4m3", 8}}, {TN_F8_E5M2, {"fp8_e5m2", 8}}, {TN_F8_E4M3FNUZ, {"fp8_e4m3fnuz", 12}},
        {TN_F8_E5M2FNUZ, {"fp8_e5m2fnuz", 12}}, {TN_I8, {"int8", 4}}, {TN_F4, {"fp4", 3}},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (w->by_dtype[words[i].dtype] > w->total / 2)
            return words[i].word;
    return (tn_text){"", 0};
}

/* Nunchaku's packed weights and the marker of scaled fp8 stand under names of their own. */
static tn_text word_of_names(const tn_checkpoint *checkpoint)
{
    const tn_tensor *tensors;
    size_t count = tn_checkpoint_tensors(checkpoint, &tensors), packed = 0, scales = 0;
    for (size_t i = 0; i < count; i++) {
        packed += tn_text_ends(tensors[i].name, ".qweight");
        scales += tn_text_ends(tensors[i].name, ".wscales");
    }
    return packed > 0 && scales > 0 ? (tn_text){"svdq", 4} : (tn_text){"", 0};
}

static bool has_scale_marker(const tn_checkpoint *checkpoint)
{
    static const char *const markers[] = {"scaled_fp8", "model.diffusion_model.scaled_fp8",
                                          "diffusion_model.scaled_fp8"};
    for (size_t i = 0; i < sizeof markers / sizeof *markers; i++)
        if (tn_checkpoint_find(checkpoint, markers[i], strlen(markers[i])) != NULL)
            return true;
    return false;
}

tn_text tn_quantization_of(const tn_checkpoint *checkpoint)
{
    const tn_logical *logicals;
    const tn_tensor *tensors;
    size_t count = tn_checkpoint_logicals(checkpoint, &logicals);
    size_t tensor_count = tn_checkpoint_tensors(checkpoint, &tensors);
    weighing w = {.count = 0};
    for (size_t i = 0; i < count; i++) {
        if (logicals[i].member_count == 0 || logicals[i].members[0] >= tensor_count)
            continue;
        w.total += logicals[i].elements;
        if (logicals[i].scheme.size > 0)
            add_scheme(&w, logicals[i].scheme, logicals[i].elements);
        else
            w.by_dtype[tensors[logicals[i].members[0]].dtype] += logicals[i].elements;
    }
    for (uint32_t i = 0; i < w.count; i++)
        if (w.schemes[i].elements > w.total / 2)
            return w.schemes[i].scheme;
    tn_text word = word_of_dtype(&w);
    if (word.size == 8 && memcmp(word.bytes, "fp8_e4m3", 8) == 0 && has_scale_marker(checkpoint))
        return (tn_text){"fp8_scaled", 10};
    bool packed = w.by_dtype[TN_I8] + w.by_dtype[TN_U8] + w.by_dtype[TN_I32] > w.total / 4;
    tn_text svdq = packed ? word_of_names(checkpoint) : (tn_text){"", 0};
    return svdq.size > 0 ? svdq : word;
}
