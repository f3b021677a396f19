/* Adapters made from headers of the corpus, in every dialect: for each linear layer of the base (its truth is known,
 * since it is made from it) the factors that the trainers write. Spellings: kohya sd-scripts, LyCORIS, peft, diffusers.
 * Named cases are public faults of other programs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "format/catalog.h"
#include "identify/adapter.h"
#include "identify/pattern.h"
#include "support/identify_corpus.h"


typedef enum style { KOHYA, PEFT, OLD_DIFFUSERS, LOHA, LOKR, LOKR_FACTORED, DORA, STYLES } style;

typedef struct recipe {
    const char *header, *strip;   /* where layers come from, and the prefix taken off there */
    const char *only, *except;    /* patterns of the layers taken; NULL: all, none */
    const char *prefix;           /* put before them */
    style style;
    bool convolutions;
} recipe;

static void put(tn_catalog *catalog, const char *key, const char *suffix, uint64_t a, uint64_t b, uint64_t k)
{
    char name[1024];
    uint64_t shape[4] = {a, b, k, k};
    (void)snprintf(name, sizeof name, "%s%s", key, suffix);
    tn_status status = tn_catalog_add_shape(catalog, name, TN_F16, b == 0 ? 0 : k > 0 ? 4 : 2, shape, NULL);
    assert_int_equal(status, TN_OK);
}

enum { RANK = 8 };

static void put_layer(tn_catalog *catalog, const char *key, style s, uint64_t out, uint64_t in, uint64_t k)
{
    switch (s) {
    case KOHYA:
    case DORA:
        put(catalog, key, ".lora_down.weight", RANK, in, k);
        put(catalog, key, ".lora_up.weight", out, RANK, k > 0 ? 1 : 0);
        put(catalog, key, ".alpha", 0, 0, 0);
        if (s == DORA)
            put(catalog, key, ".dora_scale", out, 1, 0);
        break;
    case PEFT:
        put(catalog, key, ".lora_A.weight", RANK, in, k);
        put(catalog, key, ".lora_B.weight", out, RANK, k > 0 ? 1 : 0);
        break;
    case OLD_DIFFUSERS:
        put(catalog, key, ".lora.down.weight", RANK, in, k);
        put(catalog, key, ".lora.up.weight", out, RANK, k > 0 ? 1 : 0);
        break;
    case LOHA: /* without Tucker's core, kernels are flattened into the inputs */
        put(catalog, key, ".hada_w1_a", out, RANK, 0);
        put(catalog, key, ".hada_w1_b", RANK, in * (k > 0 ? k * k : 1), 0);
        put(catalog, key, ".hada_w2_a", out, RANK, 0);
        put(catalog, key, ".hada_w2_b", RANK, in * (k > 0 ? k * k : 1), 0);
        break;
    case LOKR:
        put(catalog, key, ".lokr_w1", 4, 4, 0);
        put(catalog, key, ".lokr_w2", out / 4, in / 4, k);
        break;
    case LOKR_FACTORED:
        put(catalog, key, ".lokr_w1_a", 4, 2, 0);
        put(catalog, key, ".lokr_w1_b", 2, 4, 0);
        put(catalog, key, ".lokr_w2_a", out / 4, RANK, 0);
        put(catalog, key, ".lokr_w2_b", RANK, in / 4 * (k > 0 ? k * k : 1), 0);
        break;
    case STYLES:
        fail();
    }
}

static bool matches(const char *pattern, tn_text name)
{
    return pattern != NULL && tn_pattern_matches((tn_text){pattern, strlen(pattern)}, name.bytes, name.size, NULL);
}

/* The layers of one header, as an adapter's. Returns how many. */
static size_t put_layers(tn_catalog *catalog, const recipe *r)
{
    const corpus_header *h = corpus_find(&known, r->header, strlen(r->header));
    size_t count = 0, strip = strlen(r->strip), prefix = strlen(r->prefix);
    assert_non_null(h);
    for (size_t i = 0; i < h->tensor_count; i++) {
        const corpus_tensor *t = &h->tensors[i];
        tn_text name = {t->name.bytes + strip, t->name.size - strip};
        bool linear = t->rank == 2, convolution = t->rank == 4 && t->shape[2] == t->shape[3];
        if (!tn_text_begins(t->name, r->strip) || !tn_text_ends(name, ".weight") ||
            (!linear && !(convolution && r->convolutions)) || t->shape[1] % 4 != 0 ||
            (r->only != NULL && !matches(r->only, name)) || matches(r->except, name) ||
            matches("*embedding*", name))
            continue;
        char key[1024];
        int size = snprintf(key, sizeof key, "%s%.*s", r->prefix, (int)(name.size - 7), name.bytes);
        bool flat = prefix > 0 && r->prefix[prefix - 1] == '_';
        for (int j = 0; j < size && flat; j++)
            key[j] = key[j] == '.' ? '_' : key[j];
        put_layer(catalog, key, r->style, t->shape[0], t->shape[1], convolution ? t->shape[2] : 0);
        count++;
    }
    return count;
}

static tn_answer *identify(const recipe *recipes, size_t count, const tn_pair *claim)
{
    tn_catalog *catalog;
    tn_checkpoint *checkpoint;
    tn_answer *answer;
    assert_int_equal(tn_catalog_begin(known.context, TN_CONTAINER_SAFETENSORS, "test", &catalog, NULL), TN_OK);
    assert_int_equal(tn_catalog_add_part(catalog, "test", 0, 0, "", NULL), TN_OK);
    for (size_t i = 0; i < count; i++)
        assert_true(put_layers(catalog, &recipes[i]) > 0);
    if (claim != NULL)
        assert_int_equal(tn_catalog_add_metadata(catalog, claim->key, claim->value, NULL), TN_OK);
    assert_int_equal(tn_catalog_finish(catalog, &checkpoint, NULL), TN_OK);
    assert_int_equal(tn_identify_checkpoint(known.context, checkpoint, NULL, NULL, &answer, NULL), TN_OK);
    tn_checkpoint_release(checkpoint);
    return answer;
}

static bool is_candidate(const tn_answer *a, const char *base)
{
    for (size_t i = 0; i < a->candidate_count; i++)
        if (text_is(a->candidates[i].base, base))
            return true;
    return false;
}

static void tell(const tn_answer *a)
{
    (void)fprintf(stderr, "  %s %s %s", tn_state_word(a->state), a->type.bytes, a->base.bytes);
    for (size_t i = 0; i < a->candidate_count; i++)
        (void)fprintf(stderr, " [%s]", a->candidates[i].base.bytes);
    (void)fprintf(stderr, "\n");
}

static void assert_base(const recipe *recipes, size_t count, const char *base)
{
    tn_answer *a = identify(recipes, count, NULL);
    if (a->state != TN_STATE_IDENTIFIED || !text_is(a->base, base)) {
        tell(a);
        fail_msg("%s (style %d) is not %s", recipes->header, (int)recipes->style, base);
    }
    assert_true(text_is(a->type, "lora"));
    assert_true(a->adapter.modules > 0);
    tn_answer_destroy(a);
}

#define SD1_LDM "native/sd15_unet", "model.diffusion_model."
#define SD1_DIFFUSERS "dsyn/stable_diffusion_unet/AI-ModelScope_stable-diffusion-v1-5", ""
#define SD2_LDM "native/sd21_inpaint_unet", "model.diffusion_model."
#define SDXL_LDM "native/sdxl_unet", "model.diffusion_model."
#define SDXL_DIFFUSERS "dsyn/stable_diffusion_xl_unet/stabilityai_stable-diffusion-xl-base-1.0", ""
#define FLUX "native/flux1_dev", ""

/* ---- the bases in scope, in every dialect ---- */

static void sd_and_sdxl_adapters_are_known_in_every_dialect(void **state)
{
    (void)state;
    static const struct {
        const char *header, *strip, *base;
    } bases[] = {{SD1_LDM, "sd-1"},   {SD1_DIFFUSERS, "sd-1"}, {SD2_LDM, "sd-2"},
                 {SDXL_LDM, "sdxl"}, {SDXL_DIFFUSERS, "sdxl"}};
    static const struct {
        const char *prefix;
        style style;
    } dialects[] = {{"lora_unet_", KOHYA}, {"lora_unet_", LOHA}, {"lora_unet_", LOKR}, {"lora_unet_", LOKR_FACTORED},
                    {"lora_unet_", DORA},  {"unet.", PEFT},      {"unet.", OLD_DIFFUSERS},
                    {"base_model.model.", PEFT}, {"diffusion_model.", PEFT}};
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++)
        for (size_t j = 0; j < sizeof dialects / sizeof *dialects; j++) {
            recipe attention = {bases[i].header, bases[i].strip, "*attn#.*", NULL, dialects[j].prefix,
                                dialects[j].style, false};
            recipe all = {bases[i].header, bases[i].strip, NULL, NULL, dialects[j].prefix, dialects[j].style, true};
            attention.only = "*transformer_blocks*";
            assert_base(&attention, 1, bases[i].base);
            assert_base(&all, 1, bases[i].base);
        }
}

static void flux_adapters_of_all_layers_are_known_in_every_dialect(void **state)
{
    (void)state;
    static const struct {
        const char *prefix;
        style style;
    } dialects[] = {{"lora_unet_", KOHYA}, {"lora_unet_", LOHA},   {"lora_unet_", LOKR},
                    {"lora_unet_", DORA},  {"transformer.", PEFT}, {"diffusion_model.", LOKR},
                    {"base_model.model.", PEFT}};
    for (size_t j = 0; j < sizeof dialects / sizeof *dialects; j++) {
        recipe blocks = {FLUX, "*_blocks*", NULL, dialects[j].prefix, dialects[j].style, false};
        assert_base(&blocks, 1, "flux");
    }
}

static void a_text_encoder_beside_it_changes_nothing(void **state)
{
    (void)state;
    const recipe sd1[] = {{SD1_LDM, "*attn#*", NULL, "lora_unet_", KOHYA, false},
                          {"te/clip_l_hf", "", NULL, NULL, "lora_te_", KOHYA, false}};
    const recipe sdxl[] = {{SDXL_LDM, "*attn#*", NULL, "lora_unet_", KOHYA, false},
                           {"te/clip_l_hf", "", NULL, NULL, "lora_te1_", KOHYA, false},
                           {"te/clip_g_hf", "", "text_model.*", NULL, "lora_te2_", KOHYA, false}};
    const recipe flux[] = {{FLUX, "*_blocks*", NULL, "lora_unet_", KOHYA, false},
                           {"te/clip_l_hf", "", NULL, NULL, "lora_te1_", KOHYA, false}};
    recipe sd1_[2], sdxl_[3];
    memcpy(sd1_, sd1, sizeof sd1);
    memcpy(sdxl_, sdxl, sizeof sdxl);
    sd1_[0].only = sdxl_[0].only = "*transformer_blocks*";
    assert_base(sd1_, 2, "sd-1");
    assert_base(sdxl_, 3, "sdxl");
    assert_base(flux, 2, "flux");
}

static void what_is_found_is_described(void **state)
{
    (void)state;
    static const tn_pair alpha = {{"ss_network_alpha", 16}, {"4.0", 3}};
    const recipe sdxl[] = {{SDXL_LDM, "*transformer_blocks*", NULL, "lora_unet_", KOHYA, false},
                           {"te/clip_l_hf", "", NULL, NULL, "lora_te1_", KOHYA, false}};
    tn_answer *a = identify(sdxl, 2, &alpha);
    assert_true(text_is(a->adapter.algorithm, "lora"));
    assert_true(text_is(a->adapter.dialect, "kohya"));
    assert_int_equal(a->adapter.rank_min, RANK);
    assert_int_equal(a->adapter.rank_max, RANK);
    assert_true(a->adapter.alpha > 3.99 && a->adapter.alpha < 4.01);
    assert_int_equal(a->adapter.target_count, 2);
    assert_true(text_is(a->adapter.targets[0], "unet"));
    assert_true(text_is(a->adapter.targets[1], "text_encoder"));
    assert_int_equal(a->adapter.modules, 700 + 72); /* 70 blocks of 10 linear layers; 12 layers of 6 */
    tn_answer_destroy(a);
}

/* ---- what cannot be told apart, and what other programs take for something else ---- */

static void assert_ambiguous(const recipe *r, size_t count, const char *base, size_t most)
{
    tn_answer *a = identify(r, count, NULL);
    if (a->state != TN_STATE_AMBIGUOUS || !is_candidate(a, base) || a->candidate_count > most)
        tell(a);
    assert_int_equal(a->state, TN_STATE_AMBIGUOUS);
    assert_true(is_candidate(a, base));
    assert_true(a->candidate_count <= most);
    assert_true(a->why.size > 0);
    assert_true(text_is(a->type, "lora"));
    tn_answer_destroy(a);
}

/* All keys match the pattern that elsewhere means FLUX (kohya's CLIP-L names). */
static void a_first_text_encoder_alone_may_be_sdxls_or_fluxs(void **state)
{
    (void)state;
    const recipe te1 = {"te/clip_l_hf", "", NULL, NULL, "lora_te1_", KOHYA, false};
    assert_ambiguous(&te1, 1, "sdxl", 5);
    assert_ambiguous(&te1, 1, "flux", 5);
    const recipe te2 = {"te/clip_g_hf", "", "text_model.*", NULL, "lora_te2_", KOHYA, false};
    assert_ambiguous(&te2, 1, "sdxl", 4);
    const recipe te = {"te/clip_l_hf", "", NULL, NULL, "lora_te_", KOHYA, false};
    assert_base(&te, 1, "sd-1");
}

static void the_metadata_chooses_among_what_fits(void **state)
{
    (void)state;
    static const tn_pair sdxl = {{"ss_base_model_version", 21}, {"sdxl_base_v1-0", 14}};
    static const tn_pair other = {{"modelspec.architecture", 22}, {"stable-diffusion-v1/lora", 24}};
    const recipe te1 = {"te/clip_l_hf", "", NULL, NULL, "lora_te1_", KOHYA, false};
    tn_answer *a = identify(&te1, 1, &sdxl);
    assert_int_equal(a->state, TN_STATE_IDENTIFIED);
    assert_true(text_is(a->base, "sdxl"));
    assert_true(text_is(a->decided_by, "metadata"));
    tn_answer_destroy(a);
    a = identify(&te1, 1, &other); /* no candidate: it adds nothing, and is told */
    assert_int_equal(a->state, TN_STATE_AMBIGUOUS);
    assert_int_equal(a->warning_count, 1);
    assert_int_equal(a->warnings[0].status, TN_METADATA_DISAGREES);
    tn_answer_destroy(a);
}

/* Self-attention of the first blocks only: SD 1 and SDXL have the same names there, with the same shapes. */
static void self_attention_alone_may_be_of_several_bases(void **state)
{
    (void)state;
    const recipe r = {SDXL_DIFFUSERS, "down_blocks.1.*transformer_blocks.0.attn1.*", NULL, "lora_unet_", KOHYA, false};
    assert_ambiguous(&r, 1, "sdxl", 6);
    assert_ambiguous(&r, 1, "sd-1", 6);
    const recipe deep = {SDXL_DIFFUSERS, "*attn1*", NULL, "lora_unet_", KOHYA, false};
    assert_base(&deep, 1, "sdxl");
}

/* The first layer in the file is time_emb_proj (1280 inputs), which elsewhere means SDXL. */
static void a_locon_that_begins_with_the_time_embedding_is_sd1s(void **state)
{
    (void)state;
    const recipe r[] = {{SD1_DIFFUSERS, "*time_emb_proj*", NULL, "lora_unet_", KOHYA, true},
                        {SD1_DIFFUSERS, "*attn2*", NULL, "lora_unet_", KOHYA, true}};
    assert_base(r, 2, "sd-1");
}

static void a_klein_adapter_of_attention_alone_is_not_called_flux1s(void **state)
{
    (void)state;
    const recipe r = {"native/flux1_dev", "", "double_blocks.#.*_attn.*", "double_blocks.1#.*", "lora_unet_", KOHYA,
                      false};
    recipe few = r;
    few.only = "double_blocks.0.*_attn.*";
    assert_ambiguous(&few, 1, "flux2", 8);
    assert_ambiguous(&few, 1, "flux", 8);
}

static void adapters_of_neighbours_are_never_fluxs_or_sds(void **state)
{
    (void)state;
    static const struct {
        const char *header, *strip, *only, *prefix, *truth;
        style style;
    } cases[] = {
        {"dsyn/qwen_image_dit/Qwen_Qwen-Image-Layered", "", "transformer_blocks*", "transformer.", "qwen-image", PEFT},
        {"dsyn/qwen_image_dit/Qwen_Qwen-Image-Layered", "", "transformer_blocks*", "lora_unet_", "qwen-image", LOKR},
        {"dsyn/z_image_dit/Tongyi-MAI_Z-Image-Turbo", "", "layers*", "diffusion_model.", "z-image", LOKR},
        {"dsyn/z_image_dit/Tongyi-MAI_Z-Image-Turbo", "", "context_refiner*", "diffusion_model.", "z-image", LOHA},
        {"native/lumina2", "model.diffusion_model.", "layers*", "lora_unet_", "lumina-2", KOHYA},
        {"dsyn/wan_video_dit/Wan-AI_Wan2.1-T2V-14B", "", "blocks*", "lora_unet_", "wan", KOHYA},
        {"dsyn/wan_video_dit/Wan-AI_Wan2.2-TI2V-5B", "", "blocks*", "diffusion_model.", "wan", PEFT},
        {"dsyn/krea2_dit/krea_Krea-2-Raw", "", "blocks*", "lora_unet_", "krea-2", KOHYA},
        {"dsyn/flux2_dit/black-forest-labs_FLUX.2-dev", "", "*transformer_blocks*", "transformer.", "flux2", PEFT},
        {"dsyn/flux2_dit/black-forest-labs_FLUX.2-klein-4B", "", "*transformer_blocks*", "transformer.", "flux2", PEFT},
        {"native/hunyuan_video", "", "double_blocks*", "lora_unet_", "hunyuan-video", KOHYA},
        {"native/sd35_large", "model.diffusion_model.", "joint_blocks*", "lora_unet_", "sd-3", KOHYA},
        {"native/sd3_medium", "model.diffusion_model.", "joint_blocks*", "lora_unet_", "sd-3", KOHYA},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        recipe r = {cases[i].header, cases[i].strip, cases[i].only, NULL, cases[i].prefix, cases[i].style, false};
        assert_base(&r, 1, cases[i].truth);
    }
    const recipe chroma = {"native/chroma", "", "*_blocks*", NULL, "lora_unet_", KOHYA, false};
    assert_ambiguous(&chroma, 1, "chroma", 4);
}

/* Layers by number, as lora_diffusion saves them: the first seven of the U-Net, and a word taught beside them.
 * Shapes: example_loras/lora_disney.safetensors of cloneofsimo/lora. */
static void layers_by_number_are_known_by_their_shapes(void **state)
{
    (void)state;
    static const uint64_t outs[] = {320, 320, 320, 320, 2560, 320, 320}, token[] = {768};
    for (uint64_t context = 768; context <= 1024; context += 256) {
        const uint64_t ins[] = {320, 320, 320, 320, 320, 320, context};
        tn_catalog *catalog;
        tn_checkpoint *checkpoint;
        tn_answer *a;
        assert_int_equal(tn_catalog_begin(known.context, TN_CONTAINER_SAFETENSORS, "t", &catalog, NULL), TN_OK);
        assert_int_equal(tn_catalog_add_part(catalog, "t", 0, 0, "", NULL), TN_OK);
        for (unsigned i = 0; i < 7; i++) {
            char key[32];
            (void)snprintf(key, sizeof key, "unet:%u", i);
            put(catalog, key, ":down", 1, ins[i], 0);
            put(catalog, key, ":up", outs[i], 1, 0);
        }
        assert_int_equal(tn_catalog_add_shape(catalog, "<s1>", TN_F32, 1, token, NULL), TN_OK);
        assert_int_equal(tn_catalog_finish(catalog, &checkpoint, NULL), TN_OK);
        assert_int_equal(tn_identify_checkpoint(known.context, checkpoint, NULL, NULL, &a, NULL), TN_OK);
        assert_int_equal(a->state, context == 768 ? TN_STATE_IDENTIFIED : TN_STATE_UNKNOWN);
        assert_true(text_is(a->base, context == 768 ? "sd-1" : ""));
        assert_true(text_is(a->adapter.dialect, "lora_diffusion"));
        tn_answer_destroy(a);
        tn_checkpoint_release(checkpoint);
    }
}

/* An adapter with one layer that its base has not is of no known base; it is an adapter all the same. */
static void a_strange_layer_makes_it_unknown(void **state)
{
    (void)state;
    const recipe r[] = {{SD1_LDM, "*transformer_blocks*", NULL, "lora_unet_", KOHYA, false},
                        {"te/gemma2_2b", "model.", "layers.0.mlp.*", NULL, "lora_unet_", KOHYA, false}};
    tn_answer *a = identify(r, 2, NULL);
    assert_int_equal(a->state, TN_STATE_UNKNOWN);
    assert_true(text_is(a->type, "lora"));
    assert_true(text_is(a->adapter.algorithm, "lora"));
    tn_answer_destroy(a);
}

static void a_file_of_very_many_tensors_is_not_looked_at_as_an_adapter(void **state)
{
    (void)state;
    static const uint64_t shape[] = {4, 3072};
    for (uint32_t count = TN_ADAPTER_TENSORS_MAX; count <= TN_ADAPTER_TENSORS_MAX + 1; count++) {
        tn_catalog *catalog;
        tn_checkpoint *checkpoint;
        tn_answer *a;
        assert_int_equal(tn_catalog_begin(known.context, TN_CONTAINER_SAFETENSORS, "t", &catalog, NULL), TN_OK);
        assert_int_equal(tn_catalog_add_part(catalog, "t", 0, 0, "", NULL), TN_OK);
        for (uint32_t i = 0; i < count; i++) {
            char name[64];
            (void)snprintf(name, sizeof name, "a.%u.lora_A.weight", (unsigned)i);
            assert_int_equal(tn_catalog_add_shape(catalog, name, TN_F16, 2, shape, NULL), TN_OK);
        }
        assert_int_equal(tn_catalog_finish(catalog, &checkpoint, NULL), TN_OK);
        assert_int_equal(tn_identify_checkpoint(known.context, checkpoint, NULL, NULL, &a, NULL), TN_OK);
        assert_int_equal(a->state, TN_STATE_UNKNOWN);
        assert_int_equal(a->adapter.modules, count == TN_ADAPTER_TENSORS_MAX ? count : 0);
        tn_answer_destroy(a);
        tn_checkpoint_release(checkpoint);
    }
}

/* ---- suffixes ---- */

static void every_suffix_is_taken_off_at_its_place(void **state)
{
    (void)state;
    static const struct {
        const char *name, *key;
        tn_role role;
    } cases[] = {
        {"a.b.lora_down.weight", "a.b", TN_ROLE_DOWN},
        {"a.b.lora_up.weight", "a.b", TN_ROLE_UP},
        {"a.b.lora_mid.weight", "a.b", TN_ROLE_MID},
        {"a.b.alpha", "a.b", TN_ROLE_SIDE},
        {"a.b.lora_A.weight", "a.b", TN_ROLE_DOWN},
        {"a.b.lora_B.weight", "a.b", TN_ROLE_UP},
        {"a.b.lora_B.bias", "a.b", TN_ROLE_SIDE},
        {"a.b.lora_A.default.weight", "a.b", TN_ROLE_DOWN},
        {"a.b.lora_A", "a.b", TN_ROLE_DOWN},
        {"a.b.processor.to_q_lora.down.weight", "a.b.processor.to_q", TN_ROLE_DOWN},
        {"a.b.lora.up.weight", "a.b", TN_ROLE_UP},
        {"a.b.lora_linear_layer.down.weight", "a.b", TN_ROLE_DOWN},
        {"a.processor.qkv_lora1.down.weight", "a.processor.qkv_lora1", TN_ROLE_DOWN},
        {"a.b.dora_scale", "a.b", TN_ROLE_DORA},
        {"a.b.lora_magnitude_vector.weight", "a.b", TN_ROLE_DORA},
        {"a.b.hada_w1_a", "a.b", TN_ROLE_HADA_1A},
        {"a.b.lokr_w2_b", "a.b", TN_ROLE_LOKR_2B},
        {"a.b.oft_blocks", "a.b", TN_ROLE_OFT},
        {"a.b.oft_R.weight", "a.b", TN_ROLE_OFT},
        {"a.b.on_input", "a.b", TN_ROLE_IA3},
        {"a.b.diff", "a.b", TN_ROLE_DIFF},
        {"unet:6:down", "unet:6", TN_ROLE_DOWN},
        {"text_encoder:11:up", "text_encoder:11", TN_ROLE_UP},
        {":down", ":down", TN_ROLE_PLAIN},
        {"a.b.weight", "a.b", TN_ROLE_PLAIN},
        {"a.down.weight", "a.down", TN_ROLE_PLAIN},
        {"weight", "", TN_ROLE_PLAIN},
        {".weight", "", TN_ROLE_PLAIN},
        {"lora_A", "", TN_ROLE_DOWN},
        {"down.weight", "down", TN_ROLE_PLAIN},
        {"", "", TN_ROLE_PLAIN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tn_suffix s = tn_adapter_suffix(cases[i].name, strlen(cases[i].name));
        if (s.role != cases[i].role || s.key_size != strlen(cases[i].key))
            fail_msg("%s: role %d, key of %zu bytes", cases[i].name, (int)s.role, s.key_size);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sd_and_sdxl_adapters_are_known_in_every_dialect),
        cmocka_unit_test(flux_adapters_of_all_layers_are_known_in_every_dialect),
        cmocka_unit_test(a_text_encoder_beside_it_changes_nothing),
        cmocka_unit_test(what_is_found_is_described),
        cmocka_unit_test(a_first_text_encoder_alone_may_be_sdxls_or_fluxs),
        cmocka_unit_test(the_metadata_chooses_among_what_fits),
        cmocka_unit_test(self_attention_alone_may_be_of_several_bases),
        cmocka_unit_test(a_locon_that_begins_with_the_time_embedding_is_sd1s),
        cmocka_unit_test(a_klein_adapter_of_attention_alone_is_not_called_flux1s),
        cmocka_unit_test(adapters_of_neighbours_are_never_fluxs_or_sds),
        cmocka_unit_test(layers_by_number_are_known_by_their_shapes),
        cmocka_unit_test(a_strange_layer_makes_it_unknown),
        cmocka_unit_test(a_file_of_very_many_tensors_is_not_looked_at_as_an_adapter),
        cmocka_unit_test(every_suffix_is_taken_off_at_its_place),
    };
    return cmocka_run_group_tests(tests, corpus_open_known, corpus_close_known);
}
