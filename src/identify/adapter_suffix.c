/* The suffixes of adapters: what stands behind the path of a layer. The spellings are those of kohya's scripts,
 * LyCORIS, peft, diffusers, transformers, XLabs, OneTrainer and lora_diffusion. */
#include <string.h>

#include "identify/adapter.h"

/* A piece of a name between dots. */
typedef struct piece {
    const char *bytes;
    size_t size;
} piece;

/* The piece that ends at name[end], and where it begins. */
static piece last_piece(const char *name, size_t end)
{
    size_t begin = end;
    while (begin > 0 && name[begin - 1] != '.')
        begin--;
    return (piece){name + begin, end - begin};
}

static bool is(piece p, const char *word, size_t size)
{
    return p.size == size && memcmp(p.bytes, word, size) == 0;
}
#define IS(p, word) is(p, word, sizeof(word) - 1)

static bool ends(piece p, const char *word, size_t size)
{
    return p.size > size && memcmp(p.bytes + p.size - size, word, size) == 0;
}
#define ENDS(p, word) ends(p, word, sizeof(word) - 1)

typedef struct spelling {
    const char *word;
    size_t size;
    tn_role role;
    tn_layer_style style;
} spelling;
#define SPELLING(word, role, style) {word, sizeof(word) - 1, TN_ROLE_##role, TN_STYLE_##style}

/* The last piece, when it is not "weight" or "bias". */
static const spelling alone[] = {
    SPELLING("alpha", SIDE, NONE),        SPELLING("lora_A", DOWN, A_B),       SPELLING("lora_B", UP, A_B),
    SPELLING("dora_scale", DORA, NONE),   SPELLING("hada_w1_a", HADA_1A, NONE), SPELLING("hada_w1_b", HADA_1B, NONE),
    SPELLING("hada_w2_a", HADA, NONE),    SPELLING("hada_w2_b", HADA, NONE),   SPELLING("hada_t1", HADA_T, NONE),
    SPELLING("hada_t2", HADA, NONE),      SPELLING("lokr_w1", LOKR_1, NONE),   SPELLING("lokr_w1_a", LOKR_1A, NONE),
    SPELLING("lokr_w1_b", LOKR_1B, NONE), SPELLING("lokr_w2", LOKR_2, NONE),   SPELLING("lokr_w2_a", LOKR_2A, NONE),
    SPELLING("lokr_w2_b", LOKR_2B, NONE), SPELLING("lokr_t1", SIDE, NONE),     SPELLING("lokr_t2", LOKR_T, NONE),
    SPELLING("diff", DIFF, NONE),         SPELLING("diff_b", SIDE, NONE),      SPELLING("w_norm", DIFF, NONE),
    SPELLING("b_norm", SIDE, NONE),       SPELLING("set_weight", DIFF, NONE),  SPELLING("reshape_weight", SIDE, NONE),
    SPELLING("oft_blocks", OFT, NONE),    SPELLING("on_input", IA3, NONE),     SPELLING("scalar", SIDE, NONE),
    SPELLING("lora_magnitude_vector", DORA, NONE),
};

/* The piece before "weight" or "bias". */
static const spelling before_weight[] = {
    SPELLING("lora_down", DOWN, DOWN_UP), SPELLING("lora_up", UP, DOWN_UP), SPELLING("lora_A", DOWN, A_B),
    SPELLING("lora_B", UP, A_B),          SPELLING("lora_mid", MID, DOWN_UP), SPELLING("oft_R", OFT, NONE),
    SPELLING("a1", GLORA, NONE),          SPELLING("a2", GLORA, NONE),      SPELLING("b1", GLORA, NONE),
    SPELLING("b2", GLORA, NONE),          SPELLING("bm", GLORA, NONE),
    SPELLING("lora_magnitude_vector", DORA, NONE),
};

static const spelling *find_spelling(const spelling *list, size_t count, piece p)
{
    if (p.size == 0)
        return NULL;
    char last = p.bytes[p.size - 1]; /* tells most of them apart */
    for (size_t i = 0; i < count; i++)
        if (list[i].size == p.size && list[i].word[p.size - 1] == last && memcmp(list[i].word, p.bytes, p.size) == 0)
            return &list[i];
    return NULL;
}

/* down and up: `before` is the piece in front of them. */
static tn_suffix down_or_up(const char *name, piece word, tn_role role)
{
    size_t end = (size_t)(word.bytes - name) - (word.bytes > name);
    piece before = last_piece(name, end);
    size_t key = (size_t)(before.bytes - name);
    if (IS(before, "lora") || IS(before, "lora_linear_layer"))
        return (tn_suffix){role, TN_STYLE_DOWN_UP, key - (key > 0)};
    if (ENDS(before, "_lora"))
        return (tn_suffix){role, TN_STYLE_DOWN_UP, key + before.size - 5};
    if (ENDS(before, "_lora1") || ENDS(before, "_lora2"))
        return (tn_suffix){role, TN_STYLE_XLABS, key + before.size};
    return (tn_suffix){TN_ROLE_PLAIN, TN_STYLE_NONE, 0};
}

/* The name ends in .weight or .bias, which begins at `end`. */
static tn_suffix behind_weight(const char *name, size_t end, bool bias)
{
    piece word = last_piece(name, end);
    size_t begin = (size_t)(word.bytes - name);
    const spelling *found = find_spelling(before_weight, sizeof before_weight / sizeof *before_weight, word);
    if (found == NULL && IS(word, "down"))
        return down_or_up(name, word, TN_ROLE_DOWN);
    if (found == NULL && IS(word, "up"))
        return down_or_up(name, word, TN_ROLE_UP);
    if (found == NULL && begin > 1) { /* peft: the adapter's own name stands between */
        word = last_piece(name, begin - 1);
        begin = (size_t)(word.bytes - name);
        if (IS(word, "lora_A") || IS(word, "lora_B"))
            found = find_spelling(before_weight, sizeof before_weight / sizeof *before_weight, word);
    }
    if (found == NULL)
        return (tn_suffix){TN_ROLE_PLAIN, TN_STYLE_NONE, end};
    return (tn_suffix){bias ? TN_ROLE_SIDE : found->role, found->style, begin - (begin > 0)};
}

tn_suffix tn_adapter_suffix(const char *name, size_t size)
{
    piece word = last_piece(name, size);
    size_t begin = (size_t)(word.bytes - name);
    size_t end = begin - (begin > 0);
    if (IS(word, "weight") || IS(word, "bias")) {
        tn_suffix found = behind_weight(name, end, word.size == 4);
        if (found.role == TN_ROLE_PLAIN)
            found.key_size = end;
        return found;
    }
    const spelling *found = find_spelling(alone, sizeof alone / sizeof *alone, word);
    if (found != NULL)
        return (tn_suffix){found->role, found->style, end};
    if (ENDS(word, ":down")) /* unet:6:down, layers by number, as lora_diffusion has it */
        return (tn_suffix){TN_ROLE_DOWN, TN_STYLE_DOWN_UP, size - 5};
    if (ENDS(word, ":up"))
        return (tn_suffix){TN_ROLE_UP, TN_STYLE_DOWN_UP, size - 3};
    return (tn_suffix){TN_ROLE_PLAIN, TN_STYLE_NONE, IS(word, "scale") ? end : size};
}
