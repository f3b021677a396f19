/* Sharded sets: whole ones are one model, and everything that is wrong with one is told while the rest is listed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/index.h"
#include "format/limits.h"
#include "format/part.h"
#include "support/format.h"

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})
#define FIRST "m-00001-of-00002.safetensors"
#define SECOND "m-00002-of-00002.safetensors"
#define INDEX "m.safetensors.index.json"
/* Three tensors of two F32 each: 24 bytes. */
#define WHOLE "{\"metadata\":{\"total_size\":24},\"weight_map\":{\"c\":\"" SECOND "\",\"a\":\"" FIRST "\",\"b\":\"" FIRST "\"}}"

static void write_whole(void)
{
    format_write_tensors(FIRST, NAMES("a", "b"));
    format_write_tensors(SECOND, NAMES("c"));
    format_write_text(INDEX, WHOLE);
}

static tn_checkpoint *open_path(tn_context *context, const char *name)
{
    tn_checkpoint *out = NULL;
    tn_error err = {.message = ""};
    tn_status status = tn_checkpoint_open(context, format_path(name), NULL, &out, &err);
    if (status != TN_OK)
        print_error("%s: %s\n", tn_status_word(status), err.message);
    assert_int_equal(status, TN_OK);
    return out;
}

static size_t count_tensors(const tn_checkpoint *checkpoint)
{
    const tn_tensor *tensors = NULL;
    return tn_checkpoint_tensors(checkpoint, &tensors);
}

static void an_index_and_each_of_its_shards_open_the_whole_set(void **state)
{
    write_whole();
    static const char *const paths[] = {INDEX, FIRST, SECOND};
    for (size_t i = 0; i < 3; i++) {
        const tn_part *parts = NULL;
        const tn_finding *findings = NULL;
        const tn_tensor *tensors = NULL;
        const tn_storage *storages = NULL;
        tn_checkpoint *k = open_path(*state, paths[i]);
        assert_int_equal(tn_checkpoint_container(k), TN_CONTAINER_SAFETENSORS);
        assert_int_equal(tn_checkpoint_parts(k, &parts), 2);
        assert_string_equal(parts[0].path.bytes, format_path(FIRST));
        assert_string_equal(parts[1].path.bytes, format_path(SECOND));
        assert_int_equal(tn_checkpoint_tensors(k, &tensors), 3);
        tn_checkpoint_storages(k, &storages);
        assert_string_equal(tensors[2].name.bytes, "c");
        assert_int_equal(storages[tensors[2].storage].part, 1);
        size_t count = tn_checkpoint_findings(k, &findings);
        for (size_t f = 0; f < count; f++)
            assert_int_equal(findings[f].severity, TN_NOTE); /* alignment in the file */
        assert_int_equal(tn_checkpoint_size_bytes(k), parts[0].size_bytes + parts[1].size_bytes);
        tn_checkpoint_release(k);
    }
}

static void a_shard_opened_alone_is_only_itself(void **state)
{
    write_whole();
    tn_open_options options = {sizeof options, true};
    tn_checkpoint *k = NULL;
    assert_int_equal(tn_checkpoint_open(*state, format_path(FIRST), &options, &k, NULL), TN_OK);
    assert_int_equal(count_tensors(k), 2);
    tn_checkpoint_release(k);
}

static void a_shard_without_an_index_opens_alone_with_a_warning(void **state)
{
    format_write_tensors(FIRST, NAMES("a", "b"));
    tn_checkpoint *k = open_path(*state, FIRST);
    assert_int_equal(count_tensors(k), 2);
    assert_int_equal(format_finding_of(k, TN_MISSING_PART)->severity, TN_WARNING);
    tn_checkpoint_release(k);
}

static void a_shard_that_its_index_does_not_name_opens_alone_with_a_warning(void **state)
{
    format_write_tensors(FIRST, NAMES("a", "b"));
    format_write_text(INDEX, "{\"weight_map\":{\"c\":\"" SECOND "\"}}");
    tn_checkpoint *k = open_path(*state, FIRST);
    assert_int_equal(count_tensors(k), 2);
    assert_int_equal(format_finding_of(k, TN_STALE_INDEX)->severity, TN_WARNING);
    tn_checkpoint_release(k);
}

static void an_index_of_a_variant_is_found_for_its_shards(void **state)
{
    format_write_tensors("m.fp16-00001-of-00002.safetensors", NAMES("a"));
    format_write_tensors("m.fp16-00002-of-00002.safetensors", NAMES("b"));
    format_write_text("m.safetensors.index.fp16.json",
                      "{\"weight_map\":{\"a\":\"m.fp16-00001-of-00002.safetensors\","
                      "\"b\":\"m.fp16-00002-of-00002.safetensors\"}}");
    tn_checkpoint *k = open_path(*state, "m.fp16-00002-of-00002.safetensors");
    assert_int_equal(count_tensors(k), 2);
    tn_checkpoint_release(k);
}

static void a_missing_shard_is_named_and_the_others_are_listed(void **state)
{
    format_write_tensors(FIRST, NAMES("a", "b"));
    format_write_text(INDEX, WHOLE);
    tn_checkpoint *k = open_path(*state, INDEX);
    const tn_finding *found = format_finding(k, TN_ERROR);
    assert_non_null(found);
    assert_int_equal(found->status, TN_MISSING_PART);
    assert_string_equal(found->file.bytes, format_path(SECOND));
    assert_int_equal(count_tensors(k), 2);
    assert_null(format_finding_of(k, TN_STALE_INDEX)); /* its tensors are missed with it, not told again */
    tn_checkpoint_release(k);
}

static void a_set_without_any_of_its_shards_is_refused(void **state)
{
    format_write_text(INDEX, WHOLE);
    tn_checkpoint *k = NULL;
    tn_error err;
    assert_int_equal(tn_checkpoint_open(*state, format_path(INDEX), NULL, &k, &err), TN_MISSING_PART);
    assert_string_equal(err.file, format_path(FIRST));
}

static void a_damaged_shard_is_told_and_its_tensors_are_left_out(void **state)
{
    write_whole();
    format_write(SECOND, "\x02\0\0\0\0\0\0\0[]", 10);
    tn_checkpoint *k = open_path(*state, INDEX);
    const tn_finding *found = format_finding(k, TN_ERROR);
    assert_int_equal(found->status, TN_BAD_HEADER);
    assert_string_equal(found->file.bytes, format_path(SECOND));
    assert_int_equal(count_tensors(k), 2);
    tn_checkpoint_release(k);
}

static void a_short_shard_keeps_its_tensors_and_says_so(void **state)
{
    write_whole();
    tn_os_file file;
    tn_os_info info;
    assert_int_equal(tn_os_open(format_path(SECOND), TN_OS_WRITE, &file, NULL), TN_OK);
    assert_int_equal(tn_os_info_of(&file, &info, NULL), TN_OK);
    assert_int_equal(tn_os_resize(&file, info.size - 3, NULL), TN_OK);
    tn_os_close(&file);
    tn_checkpoint *k = open_path(*state, INDEX);
    const tn_finding *found = format_finding(k, TN_ERROR);
    assert_int_equal(found->status, TN_TRUNCATED);
    assert_string_equal(found->file.bytes, format_path(SECOND));
    assert_string_equal(found->tensor.bytes, "c");
    assert_int_equal(count_tensors(k), 3);
    tn_checkpoint_release(k);
}

static void tensors_that_are_not_where_the_index_says_make_it_stale(void **state)
{
    format_write_tensors(FIRST, NAMES("a", "c"));
    format_write_tensors(SECOND, NAMES("b", "extra"));
    format_write_text(INDEX, "{\"weight_map\":{\"a\":\"" FIRST "\",\"b\":\"" FIRST "\",\"c\":\"" SECOND
                             "\",\"gone\":\"" SECOND "\"}}");
    tn_checkpoint *k = open_path(*state, INDEX);
    const tn_finding *findings = NULL;
    unsigned elsewhere = 0, nowhere = 0, unnamed = 0;
    size_t count = tn_checkpoint_findings(k, &findings);
    for (size_t i = 0; i < count; i++) {
        if (findings[i].status != TN_STALE_INDEX)
            continue;
        elsewhere += findings[i].severity == TN_ERROR && findings[i].found == 2;
        nowhere += findings[i].severity == TN_ERROR && strcmp(findings[i].tensor.bytes, "gone") == 0;
        unnamed += findings[i].severity == TN_WARNING && strcmp(findings[i].tensor.bytes, "extra") == 0;
    }
    assert_int_equal(elsewhere, 1);
    assert_int_equal(nowhere, 1);
    assert_int_equal(unnamed, 1);
    tn_checkpoint_release(k);
}

static void a_tensor_in_two_shards_is_a_duplicate(void **state)
{
    write_whole();
    format_write_tensors(SECOND, NAMES("c", "a"));
    tn_checkpoint *k = open_path(*state, INDEX);
    assert_int_equal(format_finding(k, TN_ERROR)->status, TN_DUPLICATE);
    tn_checkpoint_release(k);
}

static void a_file_beside_the_set_that_looks_like_a_part_is_a_warning(void **state)
{
    write_whole();
    format_write_tensors("m-00001-of-00003.safetensors", NAMES("x"));
    format_write_tensors("other-00001-of-00002.safetensors", NAMES("x"));
    tn_checkpoint *k = open_path(*state, INDEX);
    const tn_finding *found = format_finding(k, TN_WARNING);
    assert_int_equal(found->status, TN_EXTRA_PART);
    assert_string_equal(found->file.bytes, "m-00001-of-00003.safetensors");
    assert_null(format_finding(k, TN_ERROR));
    tn_checkpoint_release(k);
}

static void a_wrong_total_size_is_a_note(void **state)
{
    write_whole();
    format_write_text(INDEX, "{\"metadata\":{\"total_size\":-1.5},\"weight_map\":{\"c\":\"" SECOND "\",\"a\":\"" FIRST
                             "\",\"b\":\"" FIRST "\"}}");
    tn_checkpoint *k = open_path(*state, INDEX);
    assert_null(format_finding_of(k, TN_METADATA_DISAGREES)); /* no number to disagree with */
    tn_checkpoint_release(k);
    format_write_text(INDEX, "{\"metadata\":{\"total_size\":25},\"weight_map\":{\"c\":\"" SECOND "\",\"a\":\"" FIRST
                             "\",\"b\":\"" FIRST "\"}}");
    k = open_path(*state, INDEX);
    assert_int_equal(format_finding_of(k, TN_METADATA_DISAGREES)->severity, TN_NOTE);
    tn_checkpoint_release(k);
}

/* ---- texts ---- */

typedef struct text_case {
    const char *text;
    tn_status status;
} text_case;

static void an_index_is_believed_in_nothing(void **state)
{
    static const text_case texts[] = {
        {"{\"weight_map\":{\"a\":\"x.safetensors\"}}", TN_OK},
        {"{\"weight_map\":{\"a\":\"x.safetensors\"},\"more\":[{\"y\":1}]}", TN_OK},
        {"{\"weight_map\":{\"a\":\"x.safetensors\"},\"metadata\":7}", TN_OK},
        {"{\"weight_map\":{\"a\":\"../x.safetensors\"}}", TN_UNSAFE_PATH},
        {"{\"weight_map\":{\"a\":\"y/x.safetensors\"}}", TN_UNSAFE_PATH},
        {"{\"weight_map\":{\"a\":\"y\\\\x.safetensors\"}}", TN_UNSAFE_PATH},
        {"{\"weight_map\":{\"a\":\"/x.safetensors\"}}", TN_UNSAFE_PATH},
        {"{\"weight_map\":{\"a\":\"C:x.safetensors\"}}", TN_UNSAFE_PATH},
        {"{\"weight_map\":{\"a\":\"http:x\"}}", TN_UNSAFE_PATH},
        {"{\"weight_map\":{\"a\":\"..\"}}", TN_UNSAFE_PATH},
        {"{\"weight_map\":{\"a\":\".\"}}", TN_UNSAFE_PATH},
        {"{\"weight_map\":{\"a\":\"\"}}", TN_UNSAFE_PATH},
        {"{\"weight_map\":{\"a\":\"x\\u0000y\"}}", TN_UNSAFE_PATH},
        {"{\"weight_map\":{\"a\":\"x\\u002f..\\u002fy\"}}", TN_UNSAFE_PATH},
        {"{\"weight_map\":{\"a\":1}}", TN_BAD_HEADER},
        {"{\"weight_map\":{\"a\":null}}", TN_BAD_HEADER},
        {"{\"weight_map\":[]}", TN_BAD_HEADER},
        {"{\"weight_map\":{}}", TN_BAD_HEADER},
        {"{\"metadata\":{}}", TN_BAD_HEADER},
        {"[]", TN_BAD_HEADER},
        {"{\"weight_map\":{\"a\":\"x\",\"a\":\"x\"}}", TN_DUPLICATE},
        {"{\"weight_map\":{\"a\":\"x\",\"\\u0061\":\"y\"}}", TN_DUPLICATE},
        {"{\"weight_map\":{\"a\":\"x\"},\"weight_map\":{\"b\":\"x\"}}", TN_DUPLICATE},
        {"{\"weight_map\":{\"a\":\"x\"}", TN_BAD_JSON},
        {"{\"weight_map\":{\"a\":\"x\"}} x", TN_BAD_JSON},
        {"", TN_BAD_JSON},
    };
    tn_context *context = *state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        tn_index index;
        tn_status status = tn_index_parse(&context->memory, texts[i].text, strlen(texts[i].text), &index, NULL);
        if (status != texts[i].status)
            print_error("%s: %s\n", texts[i].text, tn_status_word(status));
        assert_int_equal(status, texts[i].status);
        tn_index_free(&index);
    }
}

static void hostile_indexes_are_refused(void **state)
{
    static const struct {
        const char *name;
        tn_status status;
    } files[] = {
        {"ix_trav", TN_UNSAFE_PATH},  {"ix_abs", TN_UNSAFE_PATH}, {"ix_url", TN_UNSAFE_PATH},
        {"ix_missing", TN_MISSING_PART}, {"ix_nomap", TN_BAD_HEADER}, {"ix_dup", TN_DUPLICATE},
        {"ix_nonstr", TN_BAD_HEADER}, {"ix_self", TN_LIMIT}, {"ix_size", TN_BAD_HEADER},
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char name[64];
        tn_checkpoint *k = NULL;
        snprintf(name, sizeof name, "%s.safetensors.index.json", files[i].name);
        format_bytes bytes = format_data("attacks", name);
        format_write(name, bytes.bytes, bytes.size);
        format_bytes_free(&bytes);
        assert_int_equal(tn_checkpoint_open(*state, format_path(name), NULL, &k, NULL), files[i].status);
        assert_null(k);
    }
}

static void two_hundred_thousand_tensors_that_no_shard_has_are_counted_once(void **state)
{
    enum { COUNT = 200000 };
    char *text = malloc(COUNT * 40 + 100);
    assert_non_null(text);
    size_t at = (size_t)sprintf(text, "{\"weight_map\":{");
    for (unsigned i = 0; i < COUNT; i++)
        at += (size_t)sprintf(text + at, "%s\"k%u\":\"x.safetensors\"", i > 0 ? "," : "", i);
    memcpy(text + at, "}}", 3);
    format_write(INDEX, text, at + 2);
    format_write_tensors("x.safetensors", NAMES("a"));
    tn_checkpoint *k = open_path(*state, INDEX);
    const tn_finding *found = format_finding(k, TN_ERROR);
    assert_int_equal(found->status, TN_STALE_INDEX);
    assert_int_equal(found->found, COUNT);
    tn_checkpoint_release(k);
    free(text);
}

static void an_index_names_16384_files_at_most(void **state)
{
    tn_context *context = *state;
    char *text = malloc(TN_PARTS_MAX * 40 + 100);
    assert_non_null(text);
    for (unsigned extra = 0; extra < 2; extra++) {
        tn_index index;
        size_t at = (size_t)sprintf(text, "{\"weight_map\":{");
        for (unsigned i = 0; i < TN_PARTS_MAX + extra; i++)
            at += (size_t)sprintf(text + at, "%s\"k%u\":\"x%u\"", i > 0 ? "," : "", i, i);
        at += (size_t)sprintf(text + at, "}}");
        tn_status status = tn_index_parse(&context->memory, text, at, &index, NULL);
        assert_int_equal(status, extra == 0 ? TN_OK : TN_LIMIT);
        tn_index_free(&index);
    }
    free(text);
}

static void an_index_file_is_64_MiB_at_most(void **state)
{
    tn_os_file file;
    tn_checkpoint *k = NULL;
    assert_int_equal(TN_INDEX_BYTES_MAX, 64 << 20);
    format_write_text(INDEX, "{");
    for (unsigned extra = 0; extra < 2; extra++) {
        assert_int_equal(tn_os_open(format_path(INDEX), TN_OS_WRITE, &file, NULL), TN_OK);
        assert_int_equal(tn_os_resize(&file, TN_INDEX_BYTES_MAX + extra, NULL), TN_OK);
        tn_os_close(&file);
        tn_status status = tn_checkpoint_open(*state, format_path(INDEX), NULL, &k, NULL);
        assert_int_equal(status, extra == 0 ? TN_BAD_JSON : TN_LIMIT);
    }
}

/* ---- names ---- */

static void shards_are_known_by_five_digits_of_five(void **state)
{
    (void)state;
    tn_shard_name shard;
    assert_true(tn_shard_name_parse("model.fp16-00002-of-00012.safetensors", &shard));
    assert_int_equal(shard.number, 2);
    assert_int_equal(shard.total, 12);
    assert_int_equal(shard.stem_size, strlen("model.fp16"));
    static const char *const others[] = {"model.safetensors",
                                         "model-00003-of-00002.safetensors",
                                         "model-00000-of-00002.safetensors",
                                         "model-0001-of-00002.safetensors",
                                         "-00001-of-00002.safetensors",
                                         "model-00001-of-00002.bin",
                                         "model-0000a-of-00002.safetensors",
                                         ""};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_false(tn_shard_name_parse(others[i], &shard));
}

static void indexes_are_known_with_and_without_a_variant(void **state)
{
    (void)state;
    assert_true(tn_name_is_index("model.safetensors.index.json"));
    assert_true(tn_name_is_index("model.safetensors.index.fp16.json"));
    assert_false(tn_name_is_index(".safetensors.index.json"));
    assert_false(tn_name_is_index("model.safetensors.json"));
    assert_false(tn_name_is_index("model.safetensors.index..json.txt"));
    assert_false(tn_name_is_index("pytorch_model.bin.index.json"));
}

/* ---- links ---- */

static void only_a_link_into_the_blobs_of_the_same_cached_repository_is_followed(void **state)
{
    (void)state;
    const char *folder = "/c/hub/models--o--m/snapshots/0123/unet";
    assert_true(tn_part_link_is_cached(folder, "/c/hub/models--o--m/blobs/abcd"));
    assert_true(tn_part_link_is_cached("C:\\c\\models--o--m\\snapshots\\0123", "C:\\c\\models--o--m\\blobs\\abcd"));
    assert_false(tn_part_link_is_cached(folder, "/c/hub/models--o--other/blobs/abcd"));
    assert_false(tn_part_link_is_cached(folder, "/c/hub/models--o--m/blobs/sub/abcd"));
    assert_false(tn_part_link_is_cached(folder, "/c/hub/models--o--m/blobs/"));
    assert_false(tn_part_link_is_cached(folder, "/c/hub/models--o--m/blobsx"));
    assert_false(tn_part_link_is_cached(folder, "/etc/passwd"));
    assert_false(tn_part_link_is_cached("/c/models", "/c/blobs/abcd"));
    assert_false(tn_part_link_is_cached("/c/mysnapshots/x", "/c/blobs/abcd"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_index_and_each_of_its_shards_open_the_whole_set, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(a_shard_opened_alone_is_only_itself, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(a_shard_without_an_index_opens_alone_with_a_warning, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(a_shard_that_its_index_does_not_name_opens_alone_with_a_warning, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(an_index_of_a_variant_is_found_for_its_shards, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(a_missing_shard_is_named_and_the_others_are_listed, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(a_set_without_any_of_its_shards_is_refused, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(a_damaged_shard_is_told_and_its_tensors_are_left_out, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(a_short_shard_keeps_its_tensors_and_says_so, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(tensors_that_are_not_where_the_index_says_make_it_stale, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(a_tensor_in_two_shards_is_a_duplicate, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(a_file_beside_the_set_that_looks_like_a_part_is_a_warning, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(a_wrong_total_size_is_a_note, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(an_index_is_believed_in_nothing, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(hostile_indexes_are_refused, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(two_hundred_thousand_tensors_that_no_shard_has_are_counted_once, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(an_index_names_16384_files_at_most, format_folder_up, format_folder_down),
        cmocka_unit_test_setup_teardown(an_index_file_is_64_MiB_at_most, format_folder_up, format_folder_down),
        cmocka_unit_test(shards_are_known_by_five_digits_of_five),
        cmocka_unit_test(indexes_are_known_with_and_without_a_variant),
        cmocka_unit_test(only_a_link_into_the_blobs_of_the_same_cached_repository_is_followed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
