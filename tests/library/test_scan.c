/* A walk finds what claims to be a model, counts the rest, and is stopped by nothing it finds. */
#include "support/library.h"

#include "library/place.h"
#include "library/scan.h"
#include "os/os_fault.h"

#define FOUND_MAX 64

/* What a walk told, in its order. */
typedef struct found {
    size_t claims, members, refused;
    char paths[FOUND_MAX][512]; /* of claims, below the folder of the test, with slashes on every system */
    tn_claim_kind kinds[FOUND_MAX];
    tn_suffix suffixes[FOUND_MAX];
    tn_status refusal;
    tn_scan_counts counts;
} found;

static void with_slashes(char *path)
{
    for (; *path != '\0'; path++)
        if (*path == '\\')
            *path = '/';
}

static tn_status on_claim(void *user, const tn_claim *claim, tn_error *err)
{
    (void)err;
    found *f = user;
    assert_int_equal(strlen(claim->path), claim->path_size);
    size_t skip = strlen(scratch_folder) + 1;
    if (f->claims < FOUND_MAX) {
        snprintf(f->paths[f->claims], sizeof f->paths[0], "%s", claim->path + skip);
        with_slashes(f->paths[f->claims]);
        f->kinds[f->claims] = claim->kind;
        f->suffixes[f->claims] = claim->suffix;
    }
    f->claims++;
    return TN_OK;
}

static tn_status on_member(void *user, const char *path, size_t size, tn_error *err)
{
    (void)err;
    found *f = user;
    assert_int_equal(strlen(path), size);
    f->members++;
    return TN_OK;
}

static tn_status on_refused(void *user, const char *path, const tn_error *why, tn_error *err)
{
    (void)path;
    (void)err;
    found *f = user;
    f->refused++;
    f->refusal = why->status;
    return TN_OK;
}

static found walk(const char *name)
{
    found f = {.claims = 0};
    const char *path = spelled(name);
    const tn_scan_visitor visitor = {on_claim, on_member, on_refused, NULL, &f};
    assert_int_equal(tn_scan(context, &path, 1, &visitor, &f.counts, NULL), TN_OK);
    return f;
}

static void assert_claims(const found *f, size_t count, const char *const *paths)
{
    for (size_t i = 0; i < count && i < f->claims; i++)
        assert_string_equal(f->paths[i], paths[i]);
    assert_int_equal(f->claims, count);
}

static void suffixes_count_in_any_case_and_other_files_are_only_counted(void **state)
{
    (void)state;
    put_folder(at("m/sub"));
    put_text(at("m/a.SafeTensors"), "");
    put_text(at("m/b.CKPT"), "");
    put_text(at("m/c.bin"), "");
    put_text(at("m/d.png"), "");
    put_text(at("m/e.safetensors.txt"), "");
    put_text(at("m/sub/f.gguf"), "");
    put_text(at("m/.hidden.safetensors"), "");
    found f = walk("m");
    assert_claims(&f, 4, (const char *const[]){"m/a.SafeTensors", "m/b.CKPT", "m/c.bin", "m/sub/f.gguf"});
    assert_int_equal(f.suffixes[0], TN_SUFFIX_SURE);
    assert_int_equal(f.suffixes[2], TN_SUFFIX_MAYBE);
    assert_int_equal(f.counts.others, 2);
    assert_int_equal(f.counts.folders, 2);
}

static void a_hidden_path_that_is_named_is_walked(void **state)
{
    (void)state;
    put_folder(at("m/.cache"));
    put_text(at("m/.cache/a.pt"), "");
    found f = walk("m");
    assert_int_equal(f.claims, 0);
    f = walk("m/.cache");
    assert_int_equal(f.claims, 1);
}

static void unfinished_downloads_of_models_are_claims(void **state)
{
    (void)state;
    put_folder(at("m"));
    put_text(at("m/a.safetensors.part"), "");
    put_text(at("m/b.gguf.crdownload"), "");
    put_text(at("m/film.mkv.part"), "");
    found f = walk("m");
    assert_claims(&f, 2, (const char *const[]){"m/a.safetensors.part", "m/b.gguf.crdownload"});
}

static void loose_checkpoints_beside_a_config_json_are_found(void **state)
{
    (void)state;
    put_folder(at("m"));
    put_text(at("m/config.json"), "{}");
    put_text(at("m/model.safetensors"), "");
    put_text(at("m/my finetune.safetensors"), "");
    found f = walk("m");
    assert_claims(&f, 2, (const char *const[]){"m/my finetune.safetensors", "m"});
    assert_int_equal(f.kinds[1], TN_CLAIM_FOLDER);
    assert_int_equal(f.members, 2);
    assert_int_equal(f.counts.others, 0);
}

static void a_config_json_alone_makes_no_model(void **state)
{
    (void)state;
    put_folder(at("m/deep"));
    put_text(at("m/config.json"), "{}");
    put_text(at("m/deep/a.ckpt"), "");
    found f = walk("m");
    assert_claims(&f, 1, (const char *const[]){"m/deep/a.ckpt"});
}

static void a_pipeline_is_one_model_with_its_components_and_nothing_else(void **state)
{
    (void)state;
    put_folder(at("p/unet"));
    put_folder(at("p/vae"));
    put_folder(at("p/loras"));
    put_text(at("p/model_index.json"), "{\"_class_name\":\"StableDiffusionPipeline\",\"unet\":[\"diffusers\","
                                       "\"UNet2DConditionModel\"],\"vae\":[\"diffusers\",\"AutoencoderKL\"]}");
    put_text(at("p/unet/config.json"), "{}");
    put_text(at("p/unet/diffusion_pytorch_model.safetensors"), "");
    put_text(at("p/vae/diffusion_pytorch_model.safetensors"), "");
    put_text(at("p/loras/mine.safetensors"), "");
    put_text(at("p/v1-5-pruned.safetensors"), "");
    found f = walk("p");
    assert_claims(&f, 3, (const char *const[]){"p/v1-5-pruned.safetensors", "p", "p/loras/mine.safetensors"});
    assert_int_equal(f.kinds[1], TN_CLAIM_FOLDER);
    assert_int_equal(f.members, 4);
}

static void shards_are_one_claim_by_index_or_by_number(void **state)
{
    (void)state;
    put_folder(at("m"));
    put_text(at("m/a-00001-of-00002.safetensors"), "");
    put_text(at("m/a-00002-of-00002.safetensors"), "");
    put_text(at("m/a.safetensors.index.json"), "{}");
    put_text(at("m/b-00001-of-00003.gguf"), "");
    put_text(at("m/b-00003-of-00003.gguf"), "");
    put_text(at("m/c-00001-of-00002.safetensors"), "");
    put_text(at("m/c-00001-of-00003.safetensors"), "");
    found f = walk("m");
    assert_claims(&f, 4, (const char *const[]){"m/a.safetensors.index.json", "m/b-00001-of-00003.gguf",
                                               "m/c-00001-of-00002.safetensors", "m/c-00001-of-00003.safetensors"});
    assert_int_equal(f.kinds[0], TN_CLAIM_SET);
    f = walk("m/a-00002-of-00002.safetensors");
    assert_claims(&f, 1, (const char *const[]){"m/a.safetensors.index.json"});
}

static void names_that_only_look_like_shards_are_files(void **state)
{
    (void)state;
    static const char *const names[] = {"a-00003-of-00002.safetensors", "a-00000-of-00002.safetensors",
                                        "a-1-of-b.safetensors", "a-of-00002.safetensors",
                                        "a-12345678901-of-12345678901.safetensors"};
    tn_shard shard;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_false(tn_shard_of(names[i], strlen(names[i]), &shard));
    assert_true(tn_shard_of("a-00002-of-00002.safetensors", 28, &shard));
    assert_int_equal(shard.stem, 1);
    assert_int_equal(shard.number, 2);
}

static void a_path_that_is_not_there_is_told_not_failed(void **state)
{
    (void)state;
    found f = walk("nowhere");
    assert_int_equal(f.refused, 1);
    assert_int_equal(f.refusal, TN_NOT_FOUND);
}

/* TN_SCAN_DEPTH_MAX folders below the one that is named are walked, and not one more. */
static void folders_are_walked_to_the_limit_of_depth_and_not_past_it(void **state)
{
    (void)state;
    char path[8192];
    size_t size = (size_t)snprintf(path, sizeof path, "%s", at("m"));
    put_folder(path);
    for (unsigned depth = 1; depth <= TN_SCAN_DEPTH_MAX + 1; depth++) {
        size += (size_t)snprintf(path + size, sizeof path - size, "/d");
        put_folder(path);
        if (depth >= TN_SCAN_DEPTH_MAX) {
            snprintf(path + size, sizeof path - size, "/a.pt");
            put_text(path, "");
            path[size] = '\0';
        }
    }
    found f = walk("m");
    assert_int_equal(f.claims, 1);
    assert_int_equal(f.counts.folders, TN_SCAN_DEPTH_MAX + 1);
    assert_int_equal(f.counts.folders_unreadable, 1);
}

/* ---- faults ---- */

typedef struct fault {
    tn_os_operation operation;
    tn_status status;
    const char *name; /* only for a path that ends in this name */
} fault;

static tn_status fail_one(void *user, const tn_os_call *call)
{
    const fault *f = user;
    if (call->operation != f->operation || call->path == NULL)
        return TN_OK;
    tn_text name = tn_place_name(call->path, strlen(call->path));
    return strcmp(name.bytes, f->name) == 0 ? f->status : TN_OK;
}

static found walk_with(tn_os_operation operation, tn_status status, const char *name)
{
    fault f = {operation, status, name};
    tn_os_set_hooks(&(tn_os_hooks){.before = fail_one, .user = &f});
    found result = walk("m");
    tn_os_set_hooks(NULL);
    return result;
}

static void put_three(void)
{
    put_folder(at("m/one"));
    put_folder(at("m/two"));
    put_text(at("m/a.pt"), "");
    put_text(at("m/one/b.pt"), "");
    put_text(at("m/two/c.pt"), "");
}

static void a_folder_that_cannot_be_read_is_counted_and_the_rest_goes_on(void **state)
{
    (void)state;
    put_three();
    found f = walk_with(TN_OP_FOLDER_OPEN, TN_PERMISSION, "one");
    assert_claims(&f, 2, (const char *const[]){"m/a.pt", "m/two/c.pt"});
    assert_int_equal(f.counts.folders_unreadable, 1);
}

static void a_folder_that_vanishes_during_the_walk_is_counted(void **state)
{
    (void)state;
    put_three();
    found f = walk_with(TN_OP_FOLDER_OPEN, TN_NOT_FOUND, "one");
    assert_int_equal(f.claims, 2);
    assert_int_equal(f.counts.vanished, 1);
}

static void a_file_that_vanishes_during_the_walk_is_counted(void **state)
{
    (void)state;
    put_three();
    found f = walk_with(TN_OP_INFO, TN_NOT_FOUND, "b.pt");
    assert_claims(&f, 2, (const char *const[]){"m/a.pt", "m/two/c.pt"});
    assert_int_equal(f.counts.vanished, 1);
}

static void a_file_that_cannot_be_asked_about_is_still_a_claim(void **state)
{
    (void)state;
    put_three();
    found f = walk_with(TN_OP_INFO, TN_IO, "b.pt");
    assert_int_equal(f.claims, 3);
}

static void a_cancelled_walk_ends(void **state)
{
    (void)state;
    put_three();
    const char *path = spelled("m");
    found f = {.claims = 0};
    const tn_scan_visitor visitor = {on_claim, on_member, on_refused, NULL, &f};
    tn_context_cancel(context);
    assert_int_equal(tn_scan(context, &path, 1, &visitor, &f.counts, NULL), TN_CANCELLED);
    tn_context_resume(context);
    assert_int_equal(f.claims, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, library_setup, library_teardown)
    const struct CMUnitTest tests[] = {
        TEST(suffixes_count_in_any_case_and_other_files_are_only_counted),
        TEST(a_hidden_path_that_is_named_is_walked),
        TEST(unfinished_downloads_of_models_are_claims),
        TEST(loose_checkpoints_beside_a_config_json_are_found),
        TEST(a_config_json_alone_makes_no_model),
        TEST(a_pipeline_is_one_model_with_its_components_and_nothing_else),
        TEST(shards_are_one_claim_by_index_or_by_number),
        TEST(names_that_only_look_like_shards_are_files),
        TEST(a_path_that_is_not_there_is_told_not_failed),
        TEST(folders_are_walked_to_the_limit_of_depth_and_not_past_it),
        TEST(a_folder_that_cannot_be_read_is_counted_and_the_rest_goes_on),
        TEST(a_folder_that_vanishes_during_the_walk_is_counted),
        TEST(a_file_that_vanishes_during_the_walk_is_counted),
        TEST(a_file_that_cannot_be_asked_about_is_still_a_claim),
        TEST(a_cancelled_walk_ends),
    };
    return cmocka_run_group_tests_name("library.scan", tests, NULL, NULL);
}
