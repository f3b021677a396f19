/* Whatever fails while a file, a set or a folder is opened, the answer is a status, and nothing leaks: for each n the
 * n-th allocation fails, once or from then on, then the n-th call of the system; the budget is back at zero, and the
 * same path opens afterwards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "os/os_fault.h"
#include "support/format.h"

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})
#define ROUNDS_MAX 4000u

/* ---- an allocator that fails when told, and knows what is out ---- */

typedef struct allocator {
    unsigned calls, fail_at; /* fail_at 0: never */
    bool for_good;
    size_t out;
} allocator;

static void *resize(void *user, void *block, size_t old_size, size_t new_size)
{
    allocator *a = user;
    if (new_size > old_size || block == NULL) {
        a->calls++;
        if (a->fail_at != 0 && (a->calls == a->fail_at || (a->for_good && a->calls > a->fail_at)))
            return NULL;
    }
    if (new_size == 0) {
        a->out -= old_size;
        free(block);
        return NULL;
    }
    void *moved = realloc(block, new_size);
    if (moved != NULL)
        a->out += new_size - old_size;
    return moved;
}

/* ---- a system that fails when told ---- */

typedef struct system_fault {
    unsigned calls, fail_at;
    bool for_good;
} system_fault;

static tn_status before(void *user, const tn_os_call *call)
{
    system_fault *f = user;
    (void)call;
    f->calls++;
    return f->fail_at != 0 && (f->calls == f->fail_at || (f->for_good && f->calls > f->fail_at)) ? TN_IO : TN_OK;
}

/* ---- what is opened ---- */

static void write_all(void)
{
    format_write_tensors("one.safetensors", NAMES("a", "b", "c"));
    format_write_text("page.safetensors", "<html>this is not a model</html>");
    format_write_tensors("m-00001-of-00002.safetensors", NAMES("a", "b"));
    format_write_tensors("m-00002-of-00002.safetensors", NAMES("c"));
    format_write_text("m.safetensors.index.json", "{\"metadata\":{\"total_size\":24},\"weight_map\":{"
                                                  "\"a\":\"m-00001-of-00002.safetensors\","
                                                  "\"b\":\"m-00001-of-00002.safetensors\","
                                                  "\"c\":\"m-00002-of-00002.safetensors\"}}");
    format_make_folder("p/unet");
    format_make_folder("p/scheduler");
    format_write_text("p/model_index.json", "{\"_class_name\":\"P\",\"scheduler\":[\"d\",\"PNDMScheduler\"],"
                                            "\"unet\":[\"d\",\"UNet\"]}");
    format_write_text("p/scheduler/scheduler_config.json", "{\"a\":[1,2,{\"b\":\"\\u0041\"}]}");
    format_write_text("p/unet/config.json", "{\"a\":1}");
    format_write_tensors("p/unet/diffusion_pytorch_model.safetensors", NAMES("a", "b"));
    format_write_tensors("p/unet/diffusion_pytorch_model.fp16.safetensors", NAMES("a"));
}

static const char *const paths[] = {"one.safetensors", "page.safetensors", "m.safetensors.index.json",
                                    "m-00002-of-00002.safetensors", "p"};

static tn_status open_once(tn_context *context, const char *path, size_t *tensors)
{
    tn_checkpoint *k = NULL;
    const tn_tensor *all = NULL;
    tn_error err;
    tn_status status = tn_checkpoint_open(context, format_path(path), NULL, &k, &err);
    if (status == TN_OK) {
        *tensors = tn_checkpoint_tensors(k, &all);
    } else {
        assert_null(k);
        assert_int_equal(err.status, status);
        assert_true(err.message[0] != '\0');
    }
    tn_checkpoint_release(k);
    return status;
}

static tn_context *make_context(allocator *a)
{
    tn_context_options options = TN_CONTEXT_OPTIONS_INIT;
    options.memory_limit_bytes = UINT64_C(1) << 28;
    options.allocator = (tn_allocator){resize, a};
    tn_context *context = NULL;
    assert_int_equal(tn_context_create(&options, &context, NULL), TN_OK);
    return context;
}

static void any_allocation_may_fail(void **state)
{
    (void)state;
    allocator a = {0};
    write_all();
    tn_context *context = make_context(&a);
    size_t resting = a.out;
    for (size_t p = 0; p < sizeof paths / sizeof paths[0]; p++) {
        size_t whole = 0, tensors = 0;
        tn_status sound = open_once(context, paths[p], &whole);
        for (unsigned round = 0; round < 2 * ROUNDS_MAX; round++) {
            a.for_good = round % 2 != 0;
            a.calls = 0;
            a.fail_at = round / 2 + 1;
            tn_status status = open_once(context, paths[p], &tensors);
            assert_int_equal(a.out, resting);
            assert_int_equal(tn_context_memory(context).used_bytes, 0);
            if (a.calls < a.fail_at) {
                assert_int_equal(status, sound);
                assert_true(round > 4);
                break;
            }
            assert_true(status == TN_NO_MEMORY || status == sound);
            assert_true(status != TN_OK || tensors == whole);
        }
        a.fail_at = 0;
        assert_int_equal(open_once(context, paths[p], &tensors), sound);
        assert_int_equal(tensors, whole);
    }
    tn_context_destroy(context);
    assert_int_equal(a.out, 0);
}

static void any_call_of_the_system_may_fail(void **state)
{
    (void)state;
    allocator a = {0};
    system_fault f = {0};
    tn_os_hooks hooks = {.before = before, .user = &f};
    write_all();
    tn_context *context = make_context(&a);
    size_t resting = a.out;
    for (size_t p = 0; p < sizeof paths / sizeof paths[0]; p++) {
        size_t whole = 0, tensors = 0;
        tn_status sound = open_once(context, paths[p], &whole);
        tn_os_set_hooks(&hooks);
        for (unsigned round = 0; round < 2 * ROUNDS_MAX; round++) {
            f = (system_fault){0, round / 2 + 1, round % 2 != 0};
            tn_status status = open_once(context, paths[p], &tensors);
            assert_int_equal(a.out, resting);
            assert_int_equal(tn_context_memory(context).used_bytes, 0);
            if (f.calls < f.fail_at) {
                assert_int_equal(status, sound);
                assert_true(round > 2);
                break;
            }
        }
        tn_os_set_hooks(NULL);
        assert_int_equal(open_once(context, paths[p], &tensors), sound);
        assert_int_equal(tensors, whole);
    }
    tn_context_destroy(context);
}

static int up(void **state)
{
    (void)state;
    format_folder_make();
    return 0;
}

static int down(void **state)
{
    (void)state;
    tn_os_set_hooks(NULL);
    format_folder_remove();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(any_allocation_may_fail, up, down),
        cmocka_unit_test_setup_teardown(any_call_of_the_system_may_fail, up, down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
