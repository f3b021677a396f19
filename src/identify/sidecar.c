/* What other programs leave beside a model: x.json (A1111), x.civitai.info, x.metadata.json (LoRA Manager), and a
 * preview picture. At most TN_SIDECAR_MAX bytes of each are read; what cannot be read is as if it were not there. */
#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "identify/answer.h"
#include "identify/pattern.h"
#include "io/source.h"

#define TN_SIDECAR_MAX 1048576u
enum { PATH_MAX_BYTES = 4096, KEY_MAX = 256, LEVELS_MAX = 8, WORDS_MAX = 1024 };

/* Where things stand, with array items as 0; the first that is found is taken. */
static const struct {
    const char *path, *shown;
} wanted[] = {
    {"model.name", "title"},
    {"model_name", "title"},
    {"creator.username", "author"},
    {"civitai.creator.username", "author"},
    {"baseModel", "trained_on"},
    {"base_model", "trained_on"},
    {"sd version", "trained_on"},
    {"activation text", "trigger_words"},
    {"modelDescription", "description"},
    {"description", "description"},
    {"notes", "notes"},
};
static const char *const word_lists[] = {"trainedWords", "civitai.trainedWords"};

typedef struct reader {
    tn_json json;
    tn_draft *draft;
    char key[KEY_MAX];             /* names from the top, joined with dots */
    size_t ends[LEVELS_MAX];       /* how much of it stands at each level */
    unsigned level;
    unsigned arrays;               /* bits: the level is an array */
    char words[WORDS_MAX];
    size_t words_size;
} reader;

static tn_text here(const reader *r)
{
    return (tn_text){r->key, r->ends[r->level]};
}

static void push_name(reader *r, tn_text name)
{
    size_t at = r->level > 0 ? r->ends[r->level - 1] : 0;
    size_t dot = at > 0;
    if (name.bytes == NULL || at + dot + name.size > KEY_MAX) {
        r->ends[r->level] = 0; /* matches nothing */
        return;
    }
    if (dot)
        r->key[at] = '.';
    memcpy(r->key + at + dot, name.bytes, name.size);
    r->ends[r->level] = at + dot + name.size;
}

static void add_word(reader *r, tn_text word)
{
    size_t comma = r->words_size > 0 ? 2 : 0;
    if (word.size == 0 || r->words_size + comma + word.size > WORDS_MAX)
        return;
    memcpy(r->words + r->words_size, ", ", comma);
    memcpy(r->words + r->words_size + comma, word.bytes, word.size);
    r->words_size += comma + word.size;
}

static void take_string(reader *r, bool in_array)
{
    tn_text value = tn_json_text(&r->json, &r->draft->arena);
    tn_text path = here(r);
    if (value.bytes == NULL)
        return;
    for (size_t i = 0; i < sizeof word_lists / sizeof *word_lists && in_array; i++)
        if (path.size == strlen(word_lists[i]) && memcmp(path.bytes, word_lists[i], path.size) == 0)
            add_word(r, value);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted && !in_array; i++)
        if (path.size == strlen(wanted[i].path) && memcmp(path.bytes, wanted[i].path, path.size) == 0)
            (void)tn_draft_curate(r->draft, wanted[i].shown, value);
}

/* Go one level down. Objects in arrays hold nothing that is wanted. */
static void enter(reader *r, bool array)
{
    if (r->level + 1 == LEVELS_MAX || (r->arrays >> r->level & 1) != 0) {
        (void)tn_json_skip(&r->json);
        return;
    }
    r->level++;
    r->ends[r->level] = r->ends[r->level - 1];
    r->arrays = array ? r->arrays | 1u << r->level : r->arrays & ~(1u << r->level);
}

static void read_document(reader *r)
{
    tn_json_kind kind = tn_json_next(&r->json);
    if (kind != TN_JSON_OBJECT_BEGIN)
        return;
    for (kind = tn_json_next(&r->json); kind != TN_JSON_END && kind != TN_JSON_ERROR; kind = tn_json_next(&r->json)) {
        if (kind == TN_JSON_KEY)
            push_name(r, tn_json_text(&r->json, &r->draft->arena));
        else if (kind == TN_JSON_STRING)
            take_string(r, (r->arrays >> r->level & 1) != 0);
        else if (kind == TN_JSON_OBJECT_BEGIN || kind == TN_JSON_ARRAY_BEGIN)
            enter(r, kind == TN_JSON_ARRAY_BEGIN);
        else if (kind == TN_JSON_OBJECT_END || kind == TN_JSON_ARRAY_END)
            r->level -= r->level > 0;
    }
}

static void read_json(tn_draft *draft, const char *bytes, size_t size)
{
    reader r = {.draft = draft, .level = 0};
    tn_json_init(&r.json, bytes, size);
    read_document(&r);
    (void)tn_draft_curate(draft, "trigger_words", (tn_text){r.words, r.words_size});
}

/* The path with its suffix replaced. False when it is too long or has none. */
static bool beside(const char *path, const char *suffix, char *out)
{
    size_t size = strlen(path), stem = size;
    while (stem > 0 && path[stem - 1] != '.' && path[stem - 1] != '/' && path[stem - 1] != '\\')
        stem--;
    if (stem < 2 || path[stem - 1] != '.' || stem - 1 + strlen(suffix) >= PATH_MAX_BYTES)
        return false;
    memcpy(out, path, stem - 1);
    memcpy(out + stem - 1, suffix, strlen(suffix) + 1);
    return true;
}

static bool is_file(const char *path)
{
    tn_os_info info;
    return tn_os_info_at(path, true, &info, NULL) == TN_OK && info.kind == TN_OS_REGULAR && !info.placeholder;
}

static tn_status read_source(tn_context *context, tn_draft *draft, tn_source *source, tn_error *err)
{
    uint64_t size = tn_source_size(source);
    void *bytes = NULL;
    if (size == 0 || size > TN_SIDECAR_MAX)
        return TN_OK;
    TN_TRY(tn_take(&context->memory, (size_t)size, &bytes, err));
    if (tn_source_read(source, 0, bytes, (size_t)size, NULL) == TN_OK)
        read_json(draft, bytes, (size_t)size);
    tn_give(&context->memory, bytes, (size_t)size);
    return TN_OK;
}

/* A sidecar that cannot be read is one that is not there; only memory that is not there is told. */
static tn_status read_sidecar(tn_context *context, tn_draft *draft, const char *path, tn_error *err)
{
    tn_source *source = NULL;
    tn_error found;
    if (!is_file(path))
        return TN_OK;
    tn_status status = tn_source_open(context, path, &source, &found);
    if (status == TN_OK)
        status = read_source(context, draft, source, &found);
    tn_source_release(source);
    if (!tn_status_is_of_memory(status))
        return TN_OK;
    return tn_fail_as(&found, err);
}

tn_status tn_sidecars_read(tn_context *context, tn_draft *draft, const char *path, tn_error *err)
{
    static const char *const texts[] = {".civitai.info", ".metadata.json", ".json"};
    static const char *const pictures[] = {".preview.png", ".png", ".webp", ".jpg", ".jpeg"};
    char other[PATH_MAX_BYTES];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (beside(path, texts[i], other) && strcmp(other, path) != 0)
            TN_TRY(read_sidecar(context, draft, other, err));
    for (size_t i = 0; i < sizeof pictures / sizeof *pictures; i++) {
        if (beside(path, pictures[i], other) && is_file(other)) {
            (void)tn_draft_curate(draft, "preview", (tn_text){other, strlen(other)});
            return TN_OK;
        }
    }
    return TN_OK;
}
