/* Files that hold no weights we read, though their names may say so: what they are, and what to do about it. */
#include <string.h>

#include "core/error.h"
#include "format/sniff.h"
#include "identify/answer.h"
#include "os/os.h"

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
        if (tn_name_ends(path, suffixes[i]))
            return true;
    return tn_name_ends(path, ".bin") && is_accident(container);
}

static bool is_folder(const char *path)
{
    tn_os_info info;
    return tn_os_info_at(path, true, &info, NULL) == TN_OK && info.kind == TN_OS_FOLDER;
}

void tn_foreign_answer(tn_draft *draft, const char *path, tn_container container)
{
    tn_error failure;
    bool claims = tn_path_claims_weights(path, container);
    if (claims && !tn_container_is_weights(container)) {
        tn_status status = container == TN_CONTAINER_EMPTY ? TN_EMPTY : TN_NOT_WEIGHTS;
        (void)tn_fail(&failure, status, "%s", tn_container_accident(container));
        tn_draft_fail(draft, &failure, TN_STATE_DAMAGED);
        return;
    }
    if (container == TN_CONTAINER_UNKNOWN && is_folder(path))
        (void)tn_fail(&failure, TN_UNSUPPORTED, "a folder that is no model itself: import it to find the models in it");
    else if (container == TN_CONTAINER_UNKNOWN)
        (void)tn_fail(&failure, TN_UNSUPPORTED, "what is in it is no format that is known");
    else
        (void)tn_fail(&failure, TN_UNSUPPORTED, "there is no reader for %s", tn_container_word(container));
    tn_draft_fail(draft, &failure, TN_STATE_UNSUPPORTED);
}
