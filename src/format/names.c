/* What names of files tell: claims, not facts. */
#include <string.h>

#include "core/buffer.h"
#include "format/sniff.h"

#define PATH_MAX_BYTES 65536u

const char *tn_name_of_path(const char *path)
{
    const char *name = path;
    for (const char *at = path; *at != '\0'; at++)
        if (*at == '/' || *at == '\\')
            name = at + 1;
    return name;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

bool tn_name_ends(const char *name, const char *suffix)
{
    size_t size = strlen(name), want = strlen(suffix);
    if (size < want)
        return false;
    for (size_t i = 0; i < want; i++)
        if (lower(name[size - want + i]) != lower(suffix[i]))
            return false;
    return true;
}

static bool ends_with_one_of(const char *path, const char *const *suffixes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (tn_name_ends(path, suffixes[i]))
            return true;
    return false;
}

bool tn_name_is_partial(const char *path)
{
    static const char *const suffixes[] = {".part",        ".partial", ".crdownload", ".aria2", ".incomplete",
                                           ".downloading", ".download", ".opdownload", ".!ut",  ".!qb"};
    return ends_with_one_of(path, suffixes, sizeof suffixes / sizeof suffixes[0]);
}

bool tn_name_claims_safetensors(const char *path)
{
    return tn_name_ends(path, ".safetensors") || tn_name_ends(path, ".sft");
}

bool tn_name_claims_weights(const char *path)
{
    static const char *const suffixes[] = {".safetensors", ".sft",  ".ckpt", ".pt",     ".pth",  ".bin",
                                           ".gguf",        ".ggml", ".onnx", ".h5",     ".hdf5", ".keras",
                                           ".tflite",      ".npz",  ".npy",  ".engine", ".plan", ".msgpack",
                                           ".pkl",         ".pickle", ".t7", ".jit"};
    return ends_with_one_of(path, suffixes, sizeof suffixes / sizeof suffixes[0]);
}

tn_status tn_path_has_download_record(tn_context *context, const char *path, bool *out, tn_error *err)
{
    tn_buffer record;
    tn_os_info info;
    tn_buffer_init(&record, &context->memory, PATH_MAX_BYTES);
    tn_buffer_text(&record, path);
    tn_buffer_text(&record, ".aria2");
    tn_status status = tn_buffer_status(&record, err);
    if (status == TN_OK)
        *out = tn_os_info_at(record.bytes, true, &info, NULL) == TN_OK && info.kind == TN_OS_REGULAR;
    tn_buffer_free(&record);
    return status;
}

const char *tn_container_accident(tn_container container)
{
    static const struct {
        tn_container container;
        const char *says;
    } accidents[] = {
        {TN_CONTAINER_HTML,
         "a web page was saved in place of the model: fetch it again (the site may ask you to log in first)"},
        {TN_CONTAINER_GIT_LFS_POINTER,
         "this is a Git LFS pointer, not the model: run `git lfs pull` in its repository"},
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
