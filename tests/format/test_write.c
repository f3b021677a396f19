/* The safetensors writer: the bytes of the real one, whole or not at all, also over a file that is being read. Files of
 * the real writer are recorded here as hexadecimal digits: safetensors 0.8.0 from PyPI, safetensors.numpy.save. */
#include "support/check.h"

#include <stdlib.h>
#include <string.h>

#include <tenure/writer.h>

#include "context/context.h"
#include "core/encode.h"
#include "support/faults.h"
#include "support/scratch.h"

static tn_context *context;

static int up(void **state)
{
    static const tn_context_options options = {.size = sizeof options, .allocator = {failing_resize, NULL}};
    if (scratch_begin(state) != 0)
        return -1;
    return tn_context_create(&options, &context, NULL) == TN_OK ? 0 : -1;
}

static int down(void **state)
{
    tn_context_destroy(context);
    return scratch_end(state);
}

/* ---- files ---- */

static size_t load(const char *name, uint8_t *out, size_t room)
{
    tn_os_file file = {0};
    size_t got = 0;
    assert_int_equal(tn_os_open(at(name), TN_OS_READ, &file, NULL), TN_OK);
    assert_int_equal(tn_os_read(&file, 0, out, room, &got, NULL), TN_OK);
    tn_os_close(&file);
    return got;
}

static void assert_file_is(const char *name, const char *digits)
{
    uint8_t bytes[4096];
    char found[2 * sizeof bytes + 1];
    size_t size = load(name, bytes, sizeof bytes);
    tn_hex(bytes, size, found);
    assert_string_equal(found, digits);
}

/* How many files lie in the scratch folder: no temporary may stay. */
static unsigned files(void)
{
    tn_os_folder *folder = NULL;
    tn_os_entry entry;
    bool more = true;
    unsigned count = 0;
    assert_int_equal(tn_os_folder_open(&scratch_memory, scratch_folder, &folder, NULL), TN_OK);
    while (tn_os_folder_next(folder, &entry, &more, NULL) == TN_OK && more)
        count++;
    tn_os_folder_close(folder);
    return count;
}

static void remove_file(const char *name)
{
    assert_int_equal(tn_os_remove(at(name), NULL), TN_OK);
}

/* ---- the bytes of the real writer ---- */

static const uint64_t three[] = {3}, one_one[] = {1, 1}, two[] = {2}, none_three[] = {0, 3}, one[] = {1};
static const float floats[] = {0, 1, 2};
static const uint8_t bytes_12[] = {1, 2}, half[] = {0x00, 0x3e}; /* 1.5 */

#define TEXT(literal) {literal, sizeof(literal) - 1}

static const tn_write_tensor mixed[] = {{TEXT("b"), TN_F32, 1, three}, {TEXT("a"), TN_U8, 1, two}, {TEXT("c"), TN_F16, 2, one_one}};

static tn_writer *open_mixed(const char *name)
{
    static const tn_pair pair = {TEXT("k"), TEXT("v\"\n\xc3\xa9\x01")};
    static const tn_writer_options options = {.size = sizeof options, .metadata = &pair, .metadata_count = 1};
    tn_writer *writer = NULL;
    assert_int_equal(tn_writer_open(context, at(name), mixed, 3, &options, &writer, NULL), TN_OK);
    return writer;
}

static void fill_mixed(tn_writer *writer)
{
    assert_int_equal(tn_writer_put(writer, 1, bytes_12, 1, NULL), TN_OK);
    assert_int_equal(tn_writer_put(writer, 0, floats, sizeof floats, NULL), TN_OK);
    assert_int_equal(tn_writer_put(writer, 2, half, 2, NULL), TN_OK);
    assert_int_equal(tn_writer_put(writer, 1, bytes_12 + 1, 1, NULL), TN_OK);
}

#define MIXED                                                                                                            \
    "d0000000000000007b225f5f6d657461646174615f5f223a7b226b223a22765c225c6ec3a95c7530303031227d2c2262223a7b22647479706522" \
    "3a22463332222c227368617065223a5b335d2c22646174615f6f666673657473223a5b302c31325d7d2c2263223a7b226474797065223a224631" \
    "36222c227368617065223a5b312c315d2c22646174615f6f666673657473223a5b31322c31345d7d2c2261223a7b226474797065223a22553822" \
    "2c227368617065223a5b325d2c22646174615f6f666673657473223a5b31342c31365d7d7d2020202020000000000000803f00000040003e0102"

static void tensors_are_sorted_padded_and_escaped_as_the_real_writer_does_it(void **state)
{
    (void)state;
    tn_writer *writer = open_mixed("mixed.safetensors");
    assert_int_equal(tn_writer_size_bytes(writer), 232);
    fill_mixed(writer);
    assert_int_equal(tn_writer_finish(writer, NULL), TN_OK);
    tn_writer_destroy(writer);
    assert_file_is("mixed.safetensors", MIXED);
    assert_int_equal(files(), 1);
    remove_file("mixed.safetensors");
}

static void write_whole(const char *name, const tn_write_tensor *tensors, size_t count, bool metadata)
{
    const tn_writer_options options = {.size = sizeof options, .metadata_empty = metadata};
    tn_writer *writer = NULL;
    assert_int_equal(tn_writer_open(context, at(name), tensors, count, &options, &writer, NULL), TN_OK);
    for (size_t i = 0; i < count; i++)
        if (tensors[i].shape != none_three)
            assert_int_equal(tn_writer_put(writer, i, "", 1, NULL), TN_OK);
    assert_int_equal(tn_writer_finish(writer, NULL), TN_OK);
    tn_writer_destroy(writer);
}

static void nothing_odd_names_and_empty_shapes_too(void **state)
{
    (void)state;
    static const tn_write_tensor odd[] = {{TEXT(""), TN_U8, 0, NULL},
                                          {TEXT("a\"b\\\t/\xc3\xa9\x7f\xe2\x80\xa8"), TN_I64, 2, none_three}};
    static const tn_write_tensor plain = {TEXT("a"), TN_U8, 1, one};
    write_whole("empty", NULL, 0, false);
    assert_file_is("empty", "08000000000000007b7d202020202020");
    write_whole("odd", odd, 2, false);
    assert_file_is("odd", "78000000000000007b22615c22625c5c5c742fc3a97fe280a8223a7b226474797065223a22493634222c22736861"
                          "7065223a5b302c335d2c22646174615f6f666673657473223a5b302c305d7d2c22223a7b226474797065223a225538"
                          "222c227368617065223a5b5d2c22646174615f6f666673657473223a5b302c315d7d7d00");
    write_whole("metadata", &plain, 1, true);
    assert_file_is("metadata", "48000000000000007b225f5f6d657461646174615f5f223a7b7d2c2261223a7b226474797065223a22553822"
                               "2c227368617065223a5b315d2c22646174615f6f666673657473223a5b302c315d7d7d2000");
    remove_file("empty");
    remove_file("odd");
    remove_file("metadata");
}

/* ---- whole or not at all ---- */

static void what_is_not_finished_leaves_nothing_behind(void **state)
{
    (void)state;
    tn_error err;
    tn_writer *writer = open_mixed("m");
    assert_int_equal(tn_writer_put(writer, 0, floats, sizeof floats, NULL), TN_OK);
    assert_int_equal(tn_writer_finish(writer, &err), TN_INVALID);
    assert_string_equal(err.tensor, "a");
    tn_writer_destroy(writer);
    assert_int_equal(files(), 0);
}

/* Whichever it is: the first of the file, the first given, the last. */
static void a_tensor_that_lacks_bytes_is_named(void **state)
{
    static const char *const names[] = {"b", "a", "c"};
    static const struct {
        const void *bytes;
        size_t size;
    } data[] = {{floats, sizeof floats}, {bytes_12, 2}, {half, 2}};
    (void)state;
    for (size_t lacking = 0; lacking < 3; lacking++) {
        tn_error err;
        tn_writer *writer = open_mixed("m");
        for (size_t i = 0; i < 3; i++)
            assert_int_equal(tn_writer_put(writer, i, data[i].bytes, data[i].size - (i == lacking), NULL), TN_OK);
        assert_int_equal(tn_writer_finish(writer, &err), TN_INVALID);
        assert_string_equal(err.tensor, names[lacking]);
        tn_writer_destroy(writer);
    }
    assert_int_equal(files(), 0);
}

static void more_than_a_tensor_holds_is_refused_and_the_rest_may_follow(void **state)
{
    (void)state;
    tn_error err;
    tn_writer *writer = open_mixed("m");
    assert_int_equal(tn_writer_put(writer, 2, floats, 3, &err), TN_INVALID);
    assert_string_equal(err.tensor, "c");
    assert_int_equal(tn_writer_put(writer, 3, floats, 1, NULL), TN_INVALID);
    fill_mixed(writer);
    assert_int_equal(tn_writer_finish(writer, NULL), TN_OK);
    assert_int_equal(tn_writer_finish(writer, NULL), TN_INVALID);
    tn_writer_destroy(writer);
    assert_file_is("m", MIXED);
    remove_file("m");
}

static void a_checkpoint_that_is_open_keeps_its_bytes_while_its_file_is_replaced(void **state)
{
    (void)state;
    static const tn_write_tensor old = {TEXT("old"), TN_U8, 1, one};
    tn_checkpoint *checkpoint = NULL;
    write_whole("m.safetensors", &old, 1, false);
    assert_int_equal(tn_checkpoint_open(context, at("m.safetensors"), NULL, &checkpoint, NULL), TN_OK);
    tn_os_file file = {0};
    assert_int_equal(tn_os_open(at("m.safetensors"), TN_OS_READ, &file, NULL), TN_OK);
    tn_writer *writer = open_mixed("m.safetensors");
    fill_mixed(writer);
    assert_int_equal(tn_writer_finish(writer, NULL), TN_OK);
    tn_writer_destroy(writer);
    assert_file_is("m.safetensors", MIXED);
    uint8_t head[8];
    size_t got = 0;
    assert_int_equal(tn_os_read(&file, 0, head, sizeof head, &got, NULL), TN_OK);
    assert_int_equal(head[0], 56); /* the old header has 55 characters and a space */
    assert_non_null(tn_checkpoint_find(checkpoint, "old", 3));
    tn_os_close(&file);
    tn_checkpoint_release(checkpoint);
    remove_file("m.safetensors");
}

/* ---- what cannot be written ---- */

static void refused(const tn_write_tensor *tensors, size_t count, tn_status status, const char *tensor)
{
    tn_error err;
    tn_writer *writer = NULL;
    assert_int_equal(tn_writer_open(context, at("refused"), tensors, count, NULL, &writer, &err), status);
    assert_null(writer);
    assert_string_equal(err.tensor, tensor);
    assert_int_equal(files(), 0);
}

static void tensors_that_cannot_be_are_refused_by_name(void **state)
{
    (void)state;
    static const uint64_t great[] = {UINT64_MAX, 2}, much[] = {UINT64_C(1) << 60};
    static const tn_write_tensor twice[] = {{TEXT("w"), TN_F32, 1, one}, {TEXT("w"), TN_F16, 1, one}};
    static const tn_write_tensor reserved = {TEXT("__metadata__"), TN_F32, 1, one}, bad_utf8 = {TEXT("\xff"), TN_F32, 1, one},
                                 packed = {TEXT("p"), TN_F4, 1, three}, complex_double = {TEXT("z"), TN_C128, 1, one},
                                 overflow = {TEXT("o"), TN_U8, 2, great}, shapeless = {TEXT("s"), TN_U8, 1, NULL};
    static const tn_write_tensor too_much[] = { /* eight times 2^60 bytes are one more than any file can have */
        {TEXT("1"), TN_U8, 1, much}, {TEXT("2"), TN_U8, 1, much}, {TEXT("3"), TN_U8, 1, much}, {TEXT("4"), TN_U8, 1, much},
        {TEXT("5"), TN_U8, 1, much}, {TEXT("6"), TN_U8, 1, much}, {TEXT("7"), TN_U8, 1, much}, {TEXT("8"), TN_U8, 1, much}};
    refused(twice, 2, TN_DUPLICATE, "w");
    refused(&reserved, 1, TN_INVALID, "__metadata__");
    refused(&bad_utf8, 1, TN_INVALID, "\xef\xbf\xbd"); /* shown as U+FFFD */
    refused(&packed, 1, TN_INVALID, "p");
    refused(&complex_double, 1, TN_UNSUPPORTED, "z");
    refused(&overflow, 1, TN_OVERFLOW, "o");
    refused(&shapeless, 1, TN_INVALID, "s");
    refused(too_much, 8, TN_OVERFLOW, "8");
}

static void a_key_twice_in_the_metadata_is_refused(void **state)
{
    (void)state;
    static const tn_pair pairs[] = {{TEXT("k"), TEXT("1")}, {TEXT("j"), TEXT("2")}, {TEXT("k"), TEXT("3")}};
    const tn_writer_options options = {.size = sizeof options, .metadata = pairs, .metadata_count = 3};
    tn_writer *writer = NULL;
    assert_int_equal(tn_writer_open(context, at("m"), NULL, 0, &options, &writer, NULL), TN_DUPLICATE);
    assert_int_equal(files(), 0);
}

/* ---- faults ---- */

static void write_with_faults(void *user)
{
    (void)user;
    const tn_os_hooks hooks = {.before = failing_call};
    tn_writer *writer = NULL;
    tn_os_set_hooks(&hooks);
    tn_status status = tn_writer_open(context, at("m"), mixed, 3, NULL, &writer, NULL);
    for (size_t i = 0; i < 3 && status == TN_OK; i++)
        status = tn_writer_put(writer, i, floats, i == 0 ? 12 : 2, NULL);
    if (status == TN_OK)
        status = tn_writer_finish(writer, NULL);
    tn_os_set_hooks(NULL);
    tn_writer_destroy(writer);
    tn_os_info info;
    bool there = tn_os_info_at(at("m"), true, &info, NULL) == TN_OK;
    assert_true(status != TN_OK || there);
    if (there) {
        assert_int_equal(info.size, 8 + 168 + 16); /* whole: a header of 166 characters and two spaces, 16 of data */
        remove_file("m");
    }
}

/* What could not be removed when removing failed is a hidden file of its own name. */
static void remove_leftovers(void)
{
    scratch_remove(scratch_folder);
    assert_int_equal(tn_os_make_folder(scratch_folder, NULL), TN_OK);
}

static void whatever_fails_the_file_is_whole_or_not_there(void **state)
{
    (void)state;
    each_fault("write", false, write_with_faults, NULL);
    assert_int_equal(files(), 0);
    each_fault("write", true, write_with_faults, NULL);
    remove_leftovers();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_are_sorted_padded_and_escaped_as_the_real_writer_does_it),
        cmocka_unit_test(nothing_odd_names_and_empty_shapes_too),
        cmocka_unit_test(what_is_not_finished_leaves_nothing_behind),
        cmocka_unit_test(a_tensor_that_lacks_bytes_is_named),
        cmocka_unit_test(more_than_a_tensor_holds_is_refused_and_the_rest_may_follow),
        cmocka_unit_test(a_checkpoint_that_is_open_keeps_its_bytes_while_its_file_is_replaced),
        cmocka_unit_test(tensors_that_cannot_be_are_refused_by_name),
        cmocka_unit_test(a_key_twice_in_the_metadata_is_refused),
        cmocka_unit_test(whatever_fails_the_file_is_whole_or_not_there),
    };
    return cmocka_run_group_tests(tests, up, down);
}
