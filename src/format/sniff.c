/* What is this file? By the first bytes where a format has a magic number, by a short look at its structure where it
 * has none, by its text else. The order matters: sure signs come before likely ones, and text comes last. */
#include "format/sniff.h"

#include <string.h>

#include "core/error.h"
#include "core/utf8.h"
#include "format/limits.h"

#define ZEROS_TAIL_BYTES 4096u
#define TEXT_SLACK 3u /* bytes of a character that the end of the sample may have cut off */

/* ---- magic numbers ---- */

typedef struct magic {
    uint16_t at;
    uint8_t size;
    const char *bytes;
    tn_container container;
} magic;

static const magic magics[] = {
    {0, 4, "GGUF", TN_CONTAINER_GGUF},
    {0, 4, "lmgg", TN_CONTAINER_GGML}, /* ggml, ggmf, ggjt, ggla as little-endian words */
    {0, 4, "fmgg", TN_CONTAINER_GGML},
    {0, 4, "tjgg", TN_CONTAINER_GGML},
    {0, 4, "algg", TN_CONTAINER_GGML},
    {0, 8, "PYTORCH1", TN_CONTAINER_TORCHSCRIPT}, /* preview container of PyTorch 1.0 */
    {0, 6, "\x93NUMPY", TN_CONTAINER_NUMPY},
    {0, 8, "\x89HDF\r\n\x1a\n", TN_CONTAINER_HDF5},
    {512, 8, "\x89HDF\r\n\x1a\n", TN_CONTAINER_HDF5}, /* behind a user block */
    {1024, 8, "\x89HDF\r\n\x1a\n", TN_CONTAINER_HDF5},
    {2048, 8, "\x89HDF\r\n\x1a\n", TN_CONTAINER_HDF5},
    {0, 4, "ptrt", TN_CONTAINER_TENSORRT},
    {0, 4, "ftrt", TN_CONTAINER_TENSORRT},
    {0, 6, "7z\xBC\xAF\x27\x1C", TN_CONTAINER_ARCHIVE},
    {0, 6, "Rar!\x1a\x07", TN_CONTAINER_ARCHIVE},
    {0, 3, "\x1f\x8b\x08", TN_CONTAINER_ARCHIVE},       /* gzip */
    {0, 6, "\xFD" "7zXZ\0", TN_CONTAINER_ARCHIVE},
    {0, 3, "BZh", TN_CONTAINER_ARCHIVE},
    {0, 4, "\x28\xB5\x2F\xFD", TN_CONTAINER_ARCHIVE},   /* zstd */
    {0, 4, "\x04\x22\x4D\x18", TN_CONTAINER_ARCHIVE},   /* lz4 */
    {0, 4, "MSCF", TN_CONTAINER_ARCHIVE},
    {0, 8, "\x89PNG\r\n\x1a\n", TN_CONTAINER_IMAGE},
    {0, 3, "\xFF\xD8\xFF", TN_CONTAINER_IMAGE},         /* JPEG */
    {0, 4, "GIF8", TN_CONTAINER_IMAGE},
    {8, 4, "WEBP", TN_CONTAINER_IMAGE},
    {0, 4, "II*\0", TN_CONTAINER_IMAGE},                /* TIFF */
    {0, 4, "MM\0*", TN_CONTAINER_IMAGE},
    {0, 4, "8BPS", TN_CONTAINER_IMAGE},
    {4, 8, "ftypavif", TN_CONTAINER_IMAGE},
    {4, 8, "ftypheic", TN_CONTAINER_IMAGE},
    {4, 8, "ftypmif1", TN_CONTAINER_IMAGE},
    {0, 12, "\0\0\0\x0cJXL \r\n\x87\n", TN_CONTAINER_IMAGE},
};

static bool stands_at(const tn_sample *s, size_t at, const char *bytes, size_t size)
{
    return s->head_size >= at + size && memcmp(s->head + at, bytes, size) == 0;
}

static bool by_magic(const tn_sample *s, tn_container *out)
{
    for (size_t i = 0; i < sizeof magics / sizeof magics[0]; i++) {
        if (stands_at(s, magics[i].at, magics[i].bytes, magics[i].size)) {
            *out = magics[i].container;
            return true;
        }
    }
    return false;
}

/* ---- nothing but zeros ---- */

static bool all_zero(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

static bool is_zeros(const tn_sample *s)
{
    size_t tail = s->tail_size < ZEROS_TAIL_BYTES ? s->tail_size : ZEROS_TAIL_BYTES;
    return all_zero(s->head, s->head_size) && all_zero(s->tail + s->tail_size - tail, tail);
}

/* ---- pickles and old PyTorch ---- */

/* A pickle of protocol 2 to 5: PROTO, and an opcode with which objects begin. The 15 bytes of torch's magic number are
 * one of these; what torch refuses as a bare pickle (old embeddings, hostile files) is named the same. */
static bool is_binary_pickle(const tn_sample *s)
{
    static const char opcodes[] = "}](){cXKMJGNIU\x8a\x8c\x95\x88\x89\x8b\x8d\x8e\x8f\x96TVBC";
    return s->head_size >= 3 && s->head[0] == 0x80 && s->head[1] >= 2 && s->head[1] <= 5 && s->head[2] != 0 &&
           memchr(opcodes, s->head[2], sizeof opcodes - 1) != NULL;
}

static bool is_text_pickle(const tn_sample *s)
{
    static const char *const beginnings[] = {"L119547037146038801333356L\n.", "(dp", "(lp", "ccopy_reg\n",
                                             "c__builtin__\n", "ccollections\n"};
    for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++)
        if (stands_at(s, 0, beginnings[i], strlen(beginnings[i])))
            return true;
    return false;
}

/* ---- tar ---- */

#define TAR_BLOCK 512u

static bool is_torch_member(const char *name)
{
    return strcmp(name, "sys_info") == 0 || strcmp(name, "pickle") == 0 || strcmp(name, "tensors") == 0 ||
           strcmp(name, "storages") == 0;
}

static uint64_t octal(const uint8_t *digits, size_t count)
{
    uint64_t value = 0;
    for (size_t i = 0; i < count && digits[i] >= '0' && digits[i] <= '7'; i++)
        value = value * 8 + (uint64_t)(digits[i] - '0');
    return value;
}

/* Walk the members whose headers lie in the sample. */
static tn_container tar_kind(const tn_sample *s)
{
    uint64_t at = 0;
    while (at + TAR_BLOCK <= s->head_size && s->head[at] != 0) {
        char name[101] = {0};
        memcpy(name, s->head + at, 100);
        if (is_torch_member(name))
            return TN_CONTAINER_TORCH_TAR;
        uint64_t size = octal(s->head + at + 124, 11); /* at most 8^11 */
        at += TAR_BLOCK + (size + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
    }
    return TN_CONTAINER_ARCHIVE;
}

/* ---- safetensors ---- */

static bool is_json_space(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static size_t skip_space(const tn_sample *s, size_t at)
{
    while (at < s->head_size && is_json_space(s->head[at]))
        at++;
    return at;
}

static bool holds(const tn_sample *s, const char *text)
{
    size_t size = strlen(text);
    const uint8_t *at = s->head, *end = s->head + s->head_size;
    while (at < end && (size_t)(end - at) >= size) {
        at = memchr(at, text[0], (size_t)(end - at) - size + 1);
        if (at == NULL)
            return false;
        if (memcmp(at, text, size) == 0)
            return true;
        at++;
    }
    return false;
}

/* Eight bytes that could begin a text are no length: JSON with a brace at its ninth byte is JSON. */
static bool is_length_like(const tn_sample *s)
{
    for (unsigned i = 0; i < 8; i++)
        if ((s->head[i] < 0x20 && !is_json_space(s->head[i])) || s->head[i] >= 0x7f)
            return true;
    return false;
}

/* A length, and behind it the beginning of an object. A length that cannot be is believed to be a damaged one when the
 * words of a header follow. */
static bool is_safetensors(const tn_sample *s)
{
    uint64_t length = 0;
    if (s->head_size < 10)
        return false;
    for (unsigned i = 0; i < 8; i++)
        length |= (uint64_t)s->head[i] << (8 * i);
    size_t at = skip_space(s, 8);
    if (at >= s->head_size || s->head[at] != '{')
        return false;
    at = skip_space(s, at + 1);
    bool object = at < s->head_size && (s->head[at] == '"' || s->head[at] == '}');
    return object && (length <= TN_HEADER_MAX || (is_length_like(s) && holds(s, "\"dtype\"")));
}

/* ---- texts ---- */

static bool begins(const tn_sample *s, size_t at, const char *lower)
{
    size_t size = strlen(lower);
    if (s->head_size < at + size)
        return false;
    for (size_t i = 0; i < size; i++) {
        uint8_t c = s->head[at + i];
        if ((c >= 'A' && c <= 'Z' ? c + 32 : c) != (uint8_t)lower[i])
            return false;
    }
    return true;
}

static bool is_control(uint8_t c)
{
    return (c < 0x20 && !is_json_space(c) && c != '\f' && c != 0x1b) || c == 0x7f;
}

static bool is_text(const tn_sample *s)
{
    if (begins(s, 0, "\xff\xfe") || begins(s, 0, "\xfe\xff"))
        return s->file_size % 2 == 0 && s->head_size > 2 && (s->head[2] == 0 || s->head[3] == 0); /* UTF-16 */
    for (size_t i = 0; i < s->head_size; i++)
        if (is_control(s->head[i]))
            return false;
    size_t valid = tn_utf8_valid_prefix((const char *)s->head, s->head_size);
    bool cut = s->file_size > s->head_size && s->head_size - valid <= TEXT_SLACK;
    return valid == s->head_size || cut;
}

static bool is_html(const tn_sample *s)
{
    size_t at = skip_space(s, begins(s, 0, "\xef\xbb\xbf") ? 3 : 0);
    return begins(s, at, "<!doctype html") || begins(s, at, "<html") || begins(s, at, "<head");
}

static bool is_git_lfs_pointer(const tn_sample *s)
{
    return s->file_size < 1024 && begins(s, 0, "version http") && (holds(s, "git-lfs") || holds(s, "hawser")) &&
           holds(s, "oid ");
}

static tn_container text_kind(const tn_sample *s)
{
    if (is_git_lfs_pointer(s))
        return TN_CONTAINER_GIT_LFS_POINTER;
    if (is_html(s))
        return TN_CONTAINER_HTML;
    size_t at = skip_space(s, 0);
    bool object = at < s->head_size && s->head[at] == '{';
    if (object && (holds(s, "\"weightsManifest\"") || holds(s, "\"modelTopology\"")))
        return TN_CONTAINER_TFJS;
    return TN_CONTAINER_TEXT;
}

/* ---- all together ---- */

static bool is_bitmap(const tn_sample *s)
{
    uint64_t size = s->head_size >= 14 ? (uint64_t)s->head[2] | (uint64_t)s->head[3] << 8 |
                                             (uint64_t)s->head[4] << 16 | (uint64_t)s->head[5] << 24
                                       : 0;
    return stands_at(s, 0, "BM", 2) && size == s->file_size;
}

tn_container tn_sniff_sample(const tn_sample *s)
{
    tn_container named = TN_CONTAINER_UNKNOWN;
    if (s->file_size == 0)
        return TN_CONTAINER_EMPTY;
    if (is_zeros(s))
        return TN_CONTAINER_ZEROS;
    if (is_safetensors(s))
        return TN_CONTAINER_SAFETENSORS;
    if (stands_at(s, 0, "PK\x03\x04", 4) || stands_at(s, 0, "PK\x05\x06", 4))
        return tn_sniff_zip(s);
    if (by_magic(s, &named))
        return named;
    if (stands_at(s, 257, "ustar", 5))
        return tar_kind(s);
    if (is_binary_pickle(s) || is_text_pickle(s))
        return TN_CONTAINER_TORCH_LEGACY;
    if (is_bitmap(s))
        return TN_CONTAINER_IMAGE;
    if (tn_sniff_flatbuffers(s))
        return TN_CONTAINER_FLATBUFFERS;
    if (tn_sniff_onnx(s))
        return TN_CONTAINER_ONNX;
    if (tn_sniff_flax(s))
        return TN_CONTAINER_MSGPACK;
    return is_text(s) ? text_kind(s) : TN_CONTAINER_UNKNOWN;
}

tn_status tn_sniff_source(tn_source *source, tn_container *out, tn_error *err)
{
    uint64_t size = tn_source_size(source);
    size_t head = size < TN_SNIFF_HEAD_BYTES ? (size_t)size : TN_SNIFF_HEAD_BYTES;
    size_t tail = size < TN_SNIFF_TAIL_BYTES ? (size_t)size : TN_SNIFF_TAIL_BYTES;
    tn_memory_source *memory = &tn_source_context(source)->memory;
    void *block = NULL;
    if (size == 0) {
        *out = TN_CONTAINER_EMPTY;
        return TN_OK;
    }
    TN_TRY(tn_take(memory, head + tail, &block, err));
    uint8_t *bytes = block;
    tn_status status = tn_source_read(source, 0, bytes, head, err);
    if (status == TN_OK)
        status = tn_source_read(source, size - tail, bytes + head, tail, err);
    if (status == TN_OK) {
        tn_sample sample = {bytes, head, bytes + head, tail, size};
        *out = tn_sniff_sample(&sample);
    }
    tn_give(memory, block, head + tail);
    return status;
}
