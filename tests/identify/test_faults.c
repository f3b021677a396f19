/* Whatever fails while something is identified and told as JSON, the answer is a status or says what failed, nothing
 * leaks, and the same path is identified afterwards: each allocation and each call of the system, once and for good. */
#include "support/check.h"
#include "support/scratch.h"

#include <tenure/identify.h>

#include "support/faults.h"

/* A safetensors file; `missing` bytes of its data are left out. */
static void put_model(const char *path, const char *header, size_t data, size_t missing)
{
    static const uint8_t zeros[16384];
    uint8_t size[8] = {(uint8_t)strlen(header), (uint8_t)(strlen(header) >> 8)};
    tn_os_file file;
    assert_int_equal(tn_os_open(path, TN_OS_WRITE | TN_OS_CREATE, &file, NULL), TN_OK);
    assert_int_equal(tn_os_write(&file, 0, size, 8, NULL), TN_OK);
    assert_int_equal(tn_os_write(&file, 8, header, strlen(header), NULL), TN_OK);
    assert_int_equal(tn_os_write(&file, 8 + strlen(header), zeros, data - missing, NULL), TN_OK);
    tn_os_close(&file);
}

static const char lora[] =
    "{\"__metadata__\":{\"ss_network_alpha\":\"1\",\"modelspec.title\":\"A\"},"
    "\"lora_unet_double_blocks_0_img_attn_proj.lora_down.weight\":{\"dtype\":\"F16\",\"shape\":[1,3072],"
    "\"data_offsets\":[0,6144]},\"lora_unet_double_blocks_0_img_attn_proj.lora_up.weight\":{\"dtype\":\"F16\","
    "\"shape\":[3072,1],\"data_offsets\":[6144,12288]}}";
static const char embedding[] = "{\"emb_params\":{\"dtype\":\"F16\",\"shape\":[4,768],\"data_offsets\":[0,6144]}}";

/* One of every kind that is looked at in another way, and something beside them that other programs leave. */
static const char *const names[] = {"lora.safetensors", "short.safetensors", "page.safetensors",
                                    "set-00001-of-00002.safetensors", "set.safetensors.index.json",
                                    "p", "nowhere"};

static void put_all(void)
{
    put_model(at("lora.safetensors"), lora, 12288, 0);
    put_text(at("lora.json"), "{\"description\":\"of a user\",\"activation text\":\"word\"}");
    put_model(at("short.safetensors"), embedding, 6144, 100);
    put_text(at("page.safetensors"), "<!DOCTYPE html><html><body></body></html>");
    put_model(at("set-00001-of-00002.safetensors"), embedding, 6144, 0);
    put_model(at("set-00002-of-00002.safetensors"),
              "{\"w\":{\"dtype\":\"F16\",\"shape\":[4],\"data_offsets\":[0,8]}}", 8, 0);
    put_text(at("set.safetensors.index.json"),
             "{\"metadata\":{\"total_size\":6152},\"weight_map\":{\"emb_params\":\"set-00001-of-00002.safetensors\","
             "\"w\":\"set-00002-of-00002.safetensors\"}}");
    assert_int_equal(tn_os_make_folders(at("p/vae"), NULL), TN_OK);
    put_text(at("p/model_index.json"), "{\"_class_name\":\"P\",\"vae\":[\"diffusers\",\"AutoencoderKL\"]}");
    put_text(at("p/vae/config.json"), "{\"_class_name\":\"AutoencoderKL\"}");
    put_model(at("p/vae/diffusion_pytorch_model.safetensors"), embedding, 6144, 0);
}

/* What one identification came to. Untouched by a failure it is the same every time. */
typedef struct told {
    tn_status status;
    tn_state state;
    char type[64], json[16384];
} told;

static void keep(told *out, const tn_answer *answer, const char *json, size_t size)
{
    assert_in_range(size, 1, sizeof out->json - 1);
    out->state = answer->state;
    snprintf(out->type, sizeof out->type, "%.*s", (int)answer->type.size, answer->type.bytes);
    memcpy(out->json, json, size + 1);
}

static told identify(tn_context *context, const char *path)
{
    told out = {.status = TN_OK};
    const tn_identify_options options = {.size = sizeof options, .why = true, .key_hash = true};
    tn_answer *answer = NULL;
    char *json = NULL;
    size_t size = 0;
    tn_error err;
    out.status = tn_identify(context, path, &options, &answer, &err);
    assert_true((out.status == TN_OK) == (answer != NULL));
    if (out.status == TN_OK)
        out.status = tn_answer_json(context, answer, &json, &size, &err);
    if (out.status == TN_OK) {
        keep(&out, answer, json, size);
    } else {
        assert_int_equal(err.status, out.status);
        assert_true(err.message[0] != '\0');
    }
    tn_answer_json_destroy(context, json, size);
    tn_answer_destroy(answer);
    assert_int_equal(tn_context_memory(context).used_bytes, 0);
    return out;
}

static tn_context *make_context(bool failing)
{
    tn_context *context = NULL;
    tn_context_options options = {.size = sizeof options, .memory_limit_bytes = 64u << 20, .jobs = 1};
    options.allocator = tn_allocator_system();
    if (failing)
        options.allocator.resize = failing_resize;
    return tn_context_create(&options, &context, NULL) == TN_OK ? context : NULL;
}

/* One path, and what is said of it when nothing fails. */
typedef struct probe {
    const char *path;
    told whole;
} probe;

static void assert_same(const told *a, const told *b)
{
    assert_int_equal(a->status, b->status);
    assert_int_equal(a->state, b->state);
    assert_string_equal(a->json, b->json);
}

/* Without memory there is no answer, and none that says less than it could. */
static void probe_with_failed_allocation(void *user)
{
    const probe *p = user;
    tn_context *context = make_context(true);
    if (context == NULL)
        return;
    told now = identify(context, p->path);
    if (now.status != TN_NO_MEMORY)
        assert_same(&now, &p->whole);
    tn_context_destroy(context);
}

/* A file that cannot be read may be told as less than it is, never as something else that it is not. */
static void probe_with_failed_call(void *user)
{
    const probe *p = user;
    const tn_os_hooks hooks = {.before = failing_call};
    tn_context *context = make_context(false);
    tn_os_set_hooks(&hooks);
    told now = identify(context, p->path);
    tn_os_set_hooks(NULL);
    assert_true(now.status == TN_OK || now.status == TN_IO);
    if (now.status == TN_OK && now.state == TN_STATE_IDENTIFIED) {
        assert_int_equal(p->whole.state, TN_STATE_IDENTIFIED);
        assert_string_equal(now.type, p->whole.type);
    }
    now = identify(context, p->path);
    assert_same(&now, &p->whole);
    tn_context_destroy(context);
}

static void for_all(void (*run)(void *user))
{
    static probe p;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[2048];
        snprintf(path, sizeof path, "%s", at(names[i]));
        tn_context *context = make_context(false);
        p.path = path;
        p.whole = identify(context, path);
        tn_context_destroy(context);
        assert_int_equal(p.whole.status, TN_OK);
        each_fault(names[i], false, run, &p);
        each_fault(names[i], true, run, &p);
    }
}

static void any_allocation_may_fail(void **state)
{
    (void)state;
    for_all(probe_with_failed_allocation);
}

static void any_call_of_the_system_may_fail(void **state)
{
    (void)state;
    for_all(probe_with_failed_call);
}

static int begin(void **state)
{
    if (scratch_begin(state) != 0)
        return -1;
    put_all();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_allocation_may_fail),
        cmocka_unit_test(any_call_of_the_system_may_fail),
    };
    return cmocka_run_group_tests_name("identify.faults", tests, begin, scratch_end);
}
