/* Files that hold no weights we read, though their names may say so: what they are, and what to do about it. */
#include <string.h>

#include "core/error.h"
#include "identify/answer.h"

static bool ends_without_case(const char *path, const char *suffix)
{
    size_t size = strlen(path), length = strlen(suffix);
    if (size < length)
        return false;
    for (size_t i = 0; i < length; i++) {
        char c = path[size - length + i];
        if ((c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) != suffix[i])
            return false;
    }
    return true;
}

/* .bin says little by itself: it counts when the content is one of the usual accidents of a download. */
static bool is_accident(tn_container container)
{
    return container == TN_CONTAINER_GIT_LFS_POINTER || container == TN_CONTAINER_HTML ||
           container == TN_CONTAINER_EMPTY || container == TN_CONTAINER_ZEROS ||
           container == TN_CONTAINER_PARTIAL_DOWNLOAD;
}

bool tn_path_claims_weights(const char *path, tn_container container)
{
    static const char *const suffixes[] = {".safetensors", ".sft", ".ckpt", ".pt", ".pth", ".gguf", ".onnx"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (ends_without_case(path, suffixes[i]))
            return true;
    return ends_without_case(path, ".bin") && is_accident(container);
}

/* What was saved in place of a model. */
static const char *accident_of(tn_container container)
{
    static const struct {
        tn_container container;
        const char *says;
    } accidents[] = {
        {TN_CONTAINER_HTML,
         "a web page was saved in place of the model: fetch it again (the site may ask you to log in first)"},
        {TN_CONTAINER_GIT_LFS_POINTER,
         "this is a git-lfs pointer, not the model: run git lfs pull in its repository"},
        {TN_CONTAINER_EMPTY, "the file is empty: fetch it again"},
        {TN_CONTAINER_ZEROS,
         "the file holds only zeros, as an interrupted download or copy leaves it: fetch it again"},
        {TN_CONTAINER_PARTIAL_DOWNLOAD, "the download has not finished: let it go on, or fetch it again"},
        {TN_CONTAINER_ARCHIVE, "this is an archive, not a model: unpack it first"},
        {TN_CONTAINER_IMAGE, "this is a picture, not a model"},
        {TN_CONTAINER_TEXT, "this is text, not a model: fetch it again"},
    };
    for (size_t i = 0; i < sizeof accidents / sizeof *accidents; i++)
        if (accidents[i].container == container)
            return accidents[i].says;
    return "what is in the file is no weight format that is known: fetch it again";
}

void tn_foreign_answer(tn_draft *draft, const char *path, tn_container container)
{
    tn_error failure;
    bool claims = tn_path_claims_weights(path, container);
    if (claims && !tn_container_is_weights(container)) {
        tn_status status = container == TN_CONTAINER_EMPTY ? TN_EMPTY : TN_NOT_WEIGHTS;
        (void)tn_fail(&failure, status, "%s", accident_of(container));
        tn_draft_fail(draft, &failure, TN_STATE_DAMAGED);
        return;
    }
    if (container == TN_CONTAINER_UNKNOWN)
        (void)tn_fail(&failure, TN_UNSUPPORTED, "what is in it is no format that is known");
    else
        (void)tn_fail(&failure, TN_UNSUPPORTED, "there is no reader for %s", tn_container_word(container));
    tn_draft_fail(draft, &failure, TN_STATE_UNSUPPORTED);
}
