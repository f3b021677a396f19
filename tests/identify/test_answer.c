/* Answers about paths: what is no model, what is damaged, what lies beside a file, and the JSON form of interface.md 3. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <tenure/identify.h>

#include "context/context.h"
#include "core/json.h"
#include "support/scratch.h"

static tn_context *context;

static const char *write_file(const char *name, const void *bytes, size_t size)
{
    const char *path = at(name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    return path;
}

/* A safetensors file of one tensor; `short_by` bytes of its data are left out. */
static const char *write_model(const char *name, const char *header, size_t data, size_t short_by)
{
    static uint8_t bytes[1 << 16];
    uint64_t size = strlen(header);
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(size >> (8 * i));
    memcpy(bytes + 8, header, size);
    memset(bytes + 8 + size, 1, data);
    return write_file(name, bytes, 8 + size + data - short_by);
}

static const char embedding[] = "{\"emb_params\":{\"dtype\":\"F16\",\"shape\":[4,768],\"data_offsets\":[0,6144]}}";

static bool is(tn_text text, const char *word)
{
    return text.size == strlen(word) && memcmp(text.bytes, word, text.size) == 0;
}

static bool holds(tn_text text, const char *word)
{
    return text.bytes != NULL && strstr(text.bytes, word) != NULL;
}

static tn_answer *identify(const char *path)
{
    tn_answer *answer;
    tn_error err;
    if (tn_identify(context, path, NULL, &answer, &err) != TN_OK)
        fail_msg("%s: %s", path, err.message);
    return answer;
}

/* ---- what is no model ---- */

static void a_web_page_named_as_a_model_is_damaged_and_says_what_to_do(void **state)
{
    (void)state;
    static const char page[] = "<!DOCTYPE html><html><head><title>Sign in</title></head><body></body></html>";
    tn_answer *a = identify(write_file("page.safetensors", page, sizeof page - 1));
    assert_int_equal(a->state, TN_STATE_DAMAGED);
    assert_int_equal(a->container, TN_CONTAINER_HTML);
    assert_int_equal(a->error.status, TN_NOT_WEIGHTS);
    assert_true(holds(a->error.message, "web page"));
    assert_true(holds(a->error.message, "fetch it again"));
    assert_int_equal(a->size_bytes, sizeof page - 1);
    tn_answer_destroy(a);
    a = identify(write_file("page.html", page, sizeof page - 1));
    assert_int_equal(a->state, TN_STATE_UNSUPPORTED);
    tn_answer_destroy(a);
}

static void a_git_lfs_pointer_says_git_lfs_pull(void **state)
{
    (void)state;
    static const char pointer[] = "version https://git-lfs.github.com/spec/v1\n"
                                  "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n"
                                  "size 12345\n";
    tn_answer *a = identify(write_file("pointer.safetensors", pointer, sizeof pointer - 1));
    assert_int_equal(a->state, TN_STATE_DAMAGED);
    assert_int_equal(a->container, TN_CONTAINER_GIT_LFS_POINTER);
    assert_true(holds(a->error.message, "git lfs pull"));
    tn_answer_destroy(a);
}

static void an_empty_file_is_damaged_only_when_it_claims_to_be_a_model(void **state)
{
    (void)state;
    tn_answer *a = identify(write_file("nothing.ckpt", "", 0));
    assert_int_equal(a->state, TN_STATE_DAMAGED);
    assert_int_equal(a->error.status, TN_EMPTY);
    tn_answer_destroy(a);
    a = identify(write_file("nothing.txt", "", 0));
    assert_int_equal(a->state, TN_STATE_UNSUPPORTED);
    tn_answer_destroy(a);
}

static void what_is_not_there_is_unreadable(void **state)
{
    (void)state;
    tn_answer *a = identify(at("absent.safetensors"));
    assert_int_equal(a->state, TN_STATE_UNREADABLE);
    assert_int_equal(a->error.status, TN_NOT_FOUND);
    tn_answer_destroy(a);
}

static void rubbish_named_as_a_model_is_damaged(void **state)
{
    (void)state;
    uint8_t rubbish[4096];
    for (size_t i = 0; i < sizeof rubbish; i++)
        rubbish[i] = (uint8_t)(i * 167 + 13);
    tn_answer *a = identify(write_file("rubbish.safetensors", rubbish, sizeof rubbish));
    assert_int_equal(a->state, TN_STATE_DAMAGED);
    assert_true(a->has_error);
    tn_answer_destroy(a);
}

/* ---- models ---- */

static void a_sound_file_is_identified_by_its_header(void **state)
{
    (void)state;
    tn_answer *a = identify(write_model("word.safetensors", embedding, 6144, 0));
    assert_int_equal(a->state, TN_STATE_IDENTIFIED);
    assert_true(is(a->type, "embedding"));
    assert_true(is(a->base, "sd-1"));
    assert_true(is(a->decided_by, "tensors"));
    assert_int_equal(a->parameters, 4 * 768);
    assert_int_equal(a->tensors, 1);
    assert_true(a->evidence_count > 0);
    assert_false(a->has_error);
    tn_answer_destroy(a);
}

static void a_truncated_file_is_damaged_and_keeps_its_identity(void **state)
{
    (void)state;
    tn_answer *a = identify(write_model("short.safetensors", embedding, 6144, 100));
    assert_int_equal(a->state, TN_STATE_DAMAGED);
    assert_int_equal(a->error.status, TN_TRUNCATED);
    assert_true(is(a->type, "embedding"));
    assert_true(is(a->base, "sd-1"));
    tn_answer_destroy(a);
}

static void readable_weights_without_a_rule_are_unknown(void **state)
{
    (void)state;
    static const char header[] = "{\"proj\":{\"dtype\":\"F16\",\"shape\":[768,2],\"data_offsets\":[0,3072]}}";
    tn_answer *a = identify(write_model("proj.safetensors", header, 3072, 0));
    assert_int_equal(a->state, TN_STATE_UNKNOWN);
    assert_false(a->has_error);
    tn_answer_destroy(a);
    a = identify(write_model("bare.safetensors", "{}", 0, 0)); /* elsewhere taken for an adapter of FLUX */
    assert_int_equal(a->state, TN_STATE_UNKNOWN);
    assert_int_equal(a->type.size, 0);
    tn_answer_destroy(a);
}

static void the_key_hash_is_given_when_asked_for(void **state)
{
    (void)state;
    static const tn_identify_options options = {.size = sizeof options, .key_hash = true};
    tn_answer *a;
    const char *path = write_model("hashed.safetensors", embedding, 6144, 0);
    assert_int_equal(tn_identify(context, path, &options, &a, NULL), TN_OK);
    /* printf 'emb_params,emb_params:4_768' | md5sum */
    assert_true(is(a->key_hash, "90af53b137b986cf2b738f50e8efd5d2"));
    tn_answer_destroy(a);
}

/* ---- beside a file ---- */

static const tn_pair *curated(const tn_answer *a, const char *key)
{
    for (size_t i = 0; i < a->metadata_count; i++)
        if (is(a->metadata[i].key, key))
            return &a->metadata[i];
    return NULL;
}

static void what_other_programs_left_beside_it_is_shown(void **state)
{
    (void)state;
    static const char info[] = "{\"id\":1,\"baseModel\":\"SD 1.5\",\"trainedWords\":[\"blue cat\",\"c\\u0061t2\"],"
                               "\"model\":{\"name\":\"Blue cats\",\"tags\":[\"x\"]},\"files\":[{\"name\":\"no\"}]}";
    (void)write_file("cat.civitai.info", info, sizeof info - 1);
    (void)write_file("cat.preview.png", "x", 1);
    tn_answer *a = identify(write_model("cat.safetensors", embedding, 6144, 0));
    assert_true(is(curated(a, "title")->value, "Blue cats"));
    assert_true(is(curated(a, "trigger_words")->value, "blue cat, cat2"));
    assert_true(is(curated(a, "trained_on")->value, "SD 1.5"));
    assert_true(holds(curated(a, "preview")->value, "cat.preview.png"));
    assert_true(is(a->base, "sd-1"));
    tn_answer_destroy(a);
}

static void what_is_wrong_beside_it_is_as_if_it_were_not_there(void **state)
{
    (void)state;
    static char deep[4096];
    memset(deep, '[', sizeof deep);
    (void)write_file("odd.json", deep, sizeof deep);
    (void)write_file("odd.metadata.json", "{\"model_name\": ", 15);
    (void)write_file("odd.civitai.info", "\"a text\"", 8);
    tn_answer *a = identify(write_model("odd.safetensors", embedding, 6144, 0));
    assert_int_equal(a->state, TN_STATE_IDENTIFIED);
    assert_null(curated(a, "title"));
    tn_answer_destroy(a);
}

static void a_file_beside_it_has_a_limit(void **state)
{
    (void)state;
    enum { LIMIT = 1048576 }; /* 1 MiB */
    static char text[LIMIT + 1];
    for (size_t size = LIMIT; size <= LIMIT + 1; size++) {
        memset(text, ' ', sizeof text);
        memcpy(text, "{\"model_name\":\"big\"}", 20);
        (void)write_file("big.metadata.json", text, size);
        tn_answer *a = identify(write_model("big.safetensors", embedding, 6144, 0));
        assert_int_equal(curated(a, "title") != NULL, size == LIMIT);
        tn_answer_destroy(a);
    }
}

static void the_files_own_metadata_comes_before_what_lies_beside_it(void **state)
{
    (void)state;
    static const char header[] = "{\"__metadata__\":{\"modelspec.title\":\"Own\",\"modelspec.license\":\"MIT\"},"
                                 "\"emb_params\":{\"dtype\":\"F16\",\"shape\":[4,768],\"data_offsets\":[0,6144]}}";
    (void)write_file("own.metadata.json", "{\"model_name\":\"Other\"}", 22);
    tn_answer *a = identify(write_model("own.safetensors", header, 6144, 0));
    assert_true(is(curated(a, "title")->value, "Own"));
    assert_true(is(curated(a, "license")->value, "MIT"));
    tn_answer_destroy(a);
}

/* ---- JSON ---- */

static const char *const fields[] = {
    "path", "presence", "size_bytes", "container", "state", "type", "base", "variant", "variants", "decided_by",
    "candidates", "why", "prediction_type", "scale", "in_channels", "out_channels", "purpose", "adapter",
    "quantization", "dtypes", "tensors", "parameters", "header_bytes", "metadata", "evidence", "names", "key_hash",
    "error", "warnings"};

/* Valid JSON whose top holds exactly `fields`, in that order, and "path_b64" and "parts" where they apply. */
static void assert_fields(const char *json, size_t size, bool with_bytes)
{
    tn_json reader;
    size_t next = 0;
    bool bytes_seen = false;
    tn_json_init(&reader, json, size);
    assert_int_equal(tn_json_next(&reader), TN_JSON_OBJECT_BEGIN);
    while (tn_json_next(&reader) == TN_JSON_KEY) {
        if (tn_json_is(&reader, "path_b64")) {
            bytes_seen = true;
        } else if (!tn_json_is(&reader, "parts")) {
            assert_true(next < sizeof fields / sizeof *fields);
            assert_true(tn_json_is(&reader, fields[next++]));
        }
        (void)tn_json_next(&reader);
        assert_true(tn_json_skip(&reader));
    }
    assert_int_equal(reader.kind, TN_JSON_OBJECT_END);
    assert_int_equal(tn_json_next(&reader), TN_JSON_END);
    assert_int_equal(next, sizeof fields / sizeof *fields);
    assert_int_equal(bytes_seen, with_bytes);
}

static void every_answer_has_every_field(void **state)
{
    (void)state;
    const char *const paths[] = {write_model("a.safetensors", embedding, 6144, 0),
                                 write_model("b.safetensors", embedding, 6144, 9),
                                 write_file("c.safetensors", "", 0), at("absent.gguf")};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        char *json;
        size_t size;
        tn_answer *a = identify(paths[i]);
        assert_int_equal(tn_answer_json(context, a, &json, &size, NULL), TN_OK);
        assert_int_equal(strlen(json), size);
        assert_fields(json, size, false);
        tn_answer_json_destroy(context, json, size);
        tn_answer_destroy(a);
    }
}

static void a_path_that_is_not_utf8_is_given_as_bytes_too(void **state)
{
    (void)state;
    char *json;
    size_t size;
    tn_answer *a = identify("b\xff.safetensors"); /* need not be there */
    assert_int_equal(tn_answer_json(context, a, &json, &size, NULL), TN_OK);
    assert_fields(json, size, true);
    assert_non_null(strstr(json, "\"path_b64\":\"Yv8uc2FmZXRlbnNvcnM=\"")); /* base64 of 62 ff 2e 73... (RFC 4648) */
    tn_answer_json_destroy(context, json, size);
    tn_answer_destroy(a);
}

static void an_identified_file_reads_as_the_manual_shows(void **state)
{
    (void)state;
    char *json;
    size_t size;
    tn_answer *a = identify(write_model("shown.safetensors", embedding, 6144, 0));
    assert_int_equal(tn_answer_json(context, a, &json, &size, NULL), TN_OK);
    assert_non_null(strstr(json, "\"container\":\"safetensors\",\"state\":\"identified\",\"type\":\"embedding\","
                                 "\"base\":\"sd-1\",\"variant\":null,\"variants\":[],\"decided_by\":\"tensors\","
                                 "\"candidates\":[]"));
    assert_non_null(strstr(json, "\"dtypes\":{\"F16\":1},\"tensors\":1,\"parameters\":3072"));
    assert_non_null(strstr(json, "\"adapter\":null"));
    assert_non_null(strstr(json, "\"invokeai\":\"embedding/sd-1\""));
    tn_answer_json_destroy(context, json, size);
    tn_answer_destroy(a);
}

/* ---- the call ---- */

static void arguments_that_cannot_be_used_are_refused(void **state)
{
    (void)state;
    tn_answer *a = NULL;
    assert_int_equal(tn_identify(NULL, "x", NULL, &a, NULL), TN_INVALID);
    assert_int_equal(tn_identify(context, NULL, NULL, &a, NULL), TN_INVALID);
    assert_int_equal(tn_identify(context, "x", NULL, NULL, NULL), TN_INVALID);
    assert_int_equal(tn_identify_checkpoint(context, NULL, NULL, NULL, &a, NULL), TN_INVALID);
    tn_answer_destroy(NULL);
    assert_null(a);
}

static void a_cancelled_context_gives_no_answer(void **state)
{
    (void)state;
    tn_answer *a = NULL;
    const char *path = write_model("late.safetensors", embedding, 6144, 0);
    tn_context_cancel(context);
    assert_int_equal(tn_identify(context, path, NULL, &a, NULL), TN_CANCELLED);
    tn_context_resume(context);
    assert_null(a);
}

/* Every allocation fails once, in turn: the answer is a status, and nothing leaks. */
typedef struct failing {
    uint64_t count, at;
} failing;

static void *resize_or_fail(void *user, void *block, size_t old_size, size_t new_size)
{
    failing *f = user;
    if (new_size > 0 && f->count++ == f->at)
        return NULL;
    tn_allocator system = tn_allocator_system();
    return system.resize(system.user, block, old_size, new_size);
}

static void every_failed_allocation_is_a_status_and_nothing_leaks(void **state)
{
    (void)state;
    static const char adapter[] =
        "{\"lora_unet_double_blocks_0_img_attn_proj.lora_down.weight\":{\"dtype\":\"F16\",\"shape\":[1,3072],"
        "\"data_offsets\":[0,6144]},\"lora_unet_double_blocks_0_img_attn_proj.lora_up.weight\":{\"dtype\":\"F16\","
        "\"shape\":[3072,1],\"data_offsets\":[6144,12288]}}";
    const char *path = write_model("faulty.safetensors", adapter, 12288, 0);
    for (uint64_t n = 0;; n++) {
        failing f = {0, n};
        tn_context *fragile;
        tn_answer *a = NULL;
        char *json = NULL;
        size_t size = 0;
        const tn_context_options options = {.size = sizeof options, .allocator = {resize_or_fail, &f}};
        if (tn_context_create(&options, &fragile, NULL) != TN_OK)
            continue;
        tn_status status = tn_identify(fragile, path, NULL, &a, NULL);
        if (status == TN_OK)
            status = tn_answer_json(fragile, a, &json, &size, NULL);
        assert_true(status == TN_OK || status == TN_NO_MEMORY);
        tn_answer_json_destroy(fragile, json, size);
        tn_answer_destroy(a);
        assert_int_equal(tn_context_memory(fragile).used_bytes, 0);
        tn_context_destroy(fragile);
        if (f.count <= n) {
            assert_int_equal(status, TN_OK);
            assert_true(n > 10);
            return;
        }
    }
}

static int begin_all(void **state)
{
    assert_int_equal(tn_context_create(NULL, &context, NULL), TN_OK);
    return scratch_begin(state);
}

static int end_all(void **state)
{
    assert_int_equal(tn_context_memory(context).used_bytes, 0);
    tn_context_destroy(context);
    return scratch_end(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_web_page_named_as_a_model_is_damaged_and_says_what_to_do),
        cmocka_unit_test(a_git_lfs_pointer_says_git_lfs_pull),
        cmocka_unit_test(an_empty_file_is_damaged_only_when_it_claims_to_be_a_model),
        cmocka_unit_test(what_is_not_there_is_unreadable),
        cmocka_unit_test(rubbish_named_as_a_model_is_damaged),
        cmocka_unit_test(a_sound_file_is_identified_by_its_header),
        cmocka_unit_test(a_truncated_file_is_damaged_and_keeps_its_identity),
        cmocka_unit_test(readable_weights_without_a_rule_are_unknown),
        cmocka_unit_test(the_key_hash_is_given_when_asked_for),
        cmocka_unit_test(what_other_programs_left_beside_it_is_shown),
        cmocka_unit_test(what_is_wrong_beside_it_is_as_if_it_were_not_there),
        cmocka_unit_test(a_file_beside_it_has_a_limit),
        cmocka_unit_test(the_files_own_metadata_comes_before_what_lies_beside_it),
        cmocka_unit_test(every_answer_has_every_field),
        cmocka_unit_test(a_path_that_is_not_utf8_is_given_as_bytes_too),
        cmocka_unit_test(an_identified_file_reads_as_the_manual_shows),
        cmocka_unit_test(arguments_that_cannot_be_used_are_refused),
        cmocka_unit_test(a_cancelled_context_gives_no_answer),
        cmocka_unit_test(every_failed_allocation_is_a_status_and_nothing_leaks),
    };
    return cmocka_run_group_tests(tests, begin_all, end_all);
}
