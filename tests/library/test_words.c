/* What people say of a model stays: tags, notes, names and corrections, each with its event, whatever an import says later. */
#include "support/library_records.h"
#include "support/library_open.h"

static int setup(void **state)
{
    if (open_setup(state) != 0)
        return -1;
    put_folder(at("m"));
    put_weights(at("m/a.safetensors"), 4);
    put_weights(at("m/b.safetensors"), 5);
    import_quietly(library, "m", NULL);
    return 0;
}

static int teardown(void **state)
{
    assert_indexed(library);
    return verify_teardown(state);
}

static tn_status tag(const char *model, const char *add, const char *remove, tn_error *err)
{
    tn_tag_change change = {.size = sizeof change, .add = &add, .add_count = add != NULL, .remove = &remove,
                            .remove_count = remove != NULL};
    return tn_library_tag(library, model, &change, err);
}

/* ---- tags ---- */

static void a_tag_is_put_on_and_taken_off(void **state)
{
    (void)state;
    assert_int_equal(tag("a", "Anime", NULL, NULL), TN_OK);
    assert_int_equal(tag("a", "needs 24 GB", NULL, NULL), TN_OK);
    kept k = show(library, "a");
    assert_true(holds(library, &k, "$.tags", "json('[\"Anime\",\"needs 24 GB\"]')"));
    assert_int_equal(tag("a", NULL, "anime", NULL), TN_OK);
    k = show(library, "a");
    assert_true(holds(library, &k, "$.tags", "json('[\"needs 24 GB\"]')"));
    assert_int_equal(ask(library, "SELECT count(*) FROM events WHERE what = 'tagged' AND model = 1"), 3);
    assert_int_equal(ask(library, "SELECT detail = '-Anime' FROM events ORDER BY id DESC LIMIT 1"), 1);
}

static void a_tag_is_the_same_in_any_case_of_letters(void **state)
{
    (void)state;
    assert_int_equal(tag("a", "\xc3\x89toile", NULL, NULL), TN_OK); /* É */
    assert_int_equal(tag("a", "\xc3\xa9TOILE", NULL, NULL), TN_OK);
    assert_int_equal(tag("b", "\xc3\xa9toile", NULL, NULL), TN_OK);
    assert_int_equal(ask(library, "SELECT count(*) FROM tags"), 2);
    assert_int_equal(ask(library, "SELECT count(DISTINCT tag) FROM tags"), 1);
    assert_int_equal(ask(library, "SELECT count(*) FROM events WHERE what = 'tagged'"), 2); /* nothing changed, nothing said */
    assert_string_equal(found(library, "tag:\xc3\xa9toile", 0), "1 2");
}

static void a_tag_has_1_to_64_characters_and_no_control_characters(void **state)
{
    (void)state;
    char longest[260] = "", longer[264];
    tn_error err;
    for (int i = 0; i < 64; i++)
        memcpy(longest + 3 * i, "\xe4\xb8\xad", 4);
    snprintf(longer, sizeof longer, "%sx", longest);
    assert_int_equal(tag("a", longest, NULL, &err), TN_OK);
    assert_int_equal(tag("a", longer, NULL, &err), TN_INVALID);
    assert_int_equal(tag("a", "", NULL, &err), TN_INVALID);
    assert_int_equal(tag("a", "a\nb", NULL, &err), TN_INVALID);
    assert_int_equal(tag("a", "a\x7f", NULL, &err), TN_INVALID);
    assert_int_equal(tag("a", "a\xc2\x85", NULL, &err), TN_INVALID); /* NEXT LINE, a C1 control */
    assert_int_equal(tag("a", "\xff", NULL, &err), TN_INVALID);
    assert_int_equal(ask(library, "SELECT count(*) FROM tags"), 1);
}

typedef struct tags_told {
    size_t count;
    char first[64];
    uint64_t first_models;
} tags_told;

static bool on_tag(void *user, const tn_tag *each)
{
    tags_told *t = user;
    if (t->count++ == 0) {
        snprintf(t->first, sizeof t->first, "%s", each->tag.bytes);
        t->first_models = each->models;
    }
    return true;
}

static void all_tags_are_told_with_their_counts(void **state)
{
    (void)state;
    tags_told t = {.count = 0};
    assert_int_equal(tag("a", "x", NULL, NULL), TN_OK);
    assert_int_equal(tag("a", "y", NULL, NULL), TN_OK);
    assert_int_equal(tag("b", "Y", NULL, NULL), TN_OK);
    assert_int_equal(tn_library_tags(library, on_tag, &t, NULL), TN_OK);
    assert_int_equal(t.count, 2);
    assert_string_equal(t.first, "y");
    assert_int_equal(t.first_models, 2);
}

static void a_model_that_is_not_there_changes_nothing(void **state)
{
    (void)state;
    tn_error err;
    assert_int_equal(tag("nobody", "x", NULL, &err), TN_NOT_FOUND);
    assert_int_equal(tn_library_note(library, "nobody", "x", &err), TN_NOT_FOUND);
    assert_int_equal(tn_library_rename(library, "nobody", "x", &err), TN_NOT_FOUND);
    assert_int_equal(ask(library, "SELECT count(*) FROM tags"), 0);
}

/* ---- notes and names ---- */

static void a_note_is_written_and_taken_away(void **state)
{
    (void)state;
    assert_int_equal(tn_library_note(library, "a", "first line\nsecond", NULL), TN_OK);
    kept k = show(library, "a");
    assert_true(holds(library, &k, "$.note", "'first line' || char(10) || 'second'"));
    assert_string_equal(found(library, "second", 0), "1");
    assert_int_equal(tn_library_note(library, "a", "", NULL), TN_OK);
    k = show(library, "a");
    assert_true(holds(library, &k, "$.note", "NULL"));
    assert_string_equal(found(library, "second", 0), "");
}

static void a_note_has_64_kib_at_most(void **state)
{
    (void)state;
    char *note = calloc(1, 65538);
    memset(note, 'x', 65536);
    assert_int_equal(tn_library_note(library, "a", note, NULL), TN_OK);
    note[65536] = 'x';
    assert_int_equal(tn_library_note(library, "a", note, NULL), TN_INVALID);
    assert_int_equal(tn_library_note(library, "a", "\xff", NULL), TN_INVALID);
    assert_int_equal(ask(library, "SELECT length(note) FROM models WHERE id = 1"), 65536);
    free(note);
}

static void a_name_that_was_given_outlives_an_import(void **state)
{
    (void)state;
    assert_int_equal(tn_library_rename(library, "a", "Faces", NULL), TN_OK);
    put_weights(at("m/a.safetensors"), 4); /* touched: read again */
    import_quietly(library, "m", NULL);
    assert_string_equal(show(library, "1").name, "Faces");
    assert_string_equal(found(library, "faces", 0), "1");
    assert_string_equal(found(library, "a.safetensors", 0), "1");
    assert_int_equal(tn_library_rename(library, "1", "", NULL), TN_INVALID);
    assert_int_equal(tn_library_rename(library, "1", "a\tb", NULL), TN_INVALID);
}

/* ---- corrections ---- */

static tn_status set(const char *type, const char *base, const char *variant, bool new_words, tn_error *err)
{
    tn_set_options options = {.size = sizeof options, .type = type, .base = base, .variant = variant,
                              .new_words = new_words};
    return tn_library_set(library, "a", &options, err);
}

static tn_status take_back(void)
{
    tn_set_options options = {.size = sizeof options, .automatic = true};
    return tn_library_set(library, "a", &options, NULL);
}

static void what_is_set_counts_and_is_said_to_be_the_users(void **state)
{
    (void)state;
    kept before = show(library, "a");
    assert_true(holds(library, &before, "$.state", "'unknown'")); /* one tensor "w" is no model that a rule knows */
    assert_int_equal(set("lora", "sdxl", NULL, false, NULL), TN_OK);
    kept k = show(library, "a");
    assert_true(holds(library, &k, "$.type", "'lora'"));
    assert_true(holds(library, &k, "$.base", "'sdxl'"));
    assert_true(holds(library, &k, "$.decided_by", "'user'"));
    assert_true(holds(library, &k, "$.state", "'identified'"));
    assert_string_equal(found(library, "type:lora base:sdxl", 0), "1");
    assert_int_equal(take_back(), TN_OK);
    kept after = show(library, "a");
    assert_string_equal(after.json, before.json);
    assert_string_equal(found(library, "type:lora", 0), "");
}

static void what_is_set_outlives_an_import(void **state)
{
    (void)state;
    assert_int_equal(set("lora", "sdxl", "", false, NULL), TN_OK);
    put_weights(at("m/a.safetensors"), 4);
    import_quietly(library, "m", NULL);
    change(library, "UPDATE models SET type = '', base = '', state = 'unknown' WHERE id = 1"); /* as any writer may */
    kept k = show(library, "a");
    assert_true(holds(library, &k, "$.base", "'sdxl'"));
    assert_true(holds(library, &k, "$.state", "'identified'"));
}

static void words_that_nobody_knows_are_refused_unless_they_are_wanted(void **state)
{
    (void)state;
    tn_error err;
    assert_int_equal(set("lorra", NULL, NULL, true, &err), TN_INVALID);
    assert_non_null(strstr(err.message, "control_lora"));
    assert_int_equal(set(NULL, "sdxxl", NULL, false, &err), TN_INVALID);
    assert_int_equal(set(NULL, NULL, "dreamy", false, &err), TN_INVALID);
    assert_int_equal(set(NULL, "a\x02" "b", NULL, true, &err), TN_INVALID);
    assert_int_equal(ask(library, "SELECT count(*) FROM models WHERE set_base IS NOT NULL"), 0);
    assert_int_equal(set(NULL, "my-base", NULL, true, &err), TN_OK);
    tn_set_options other = {.size = sizeof other, .base = "my-base"};
    assert_int_equal(tn_library_set(library, "b", &other, &err), TN_OK); /* the library knows it now */
}

static void a_damaged_file_stays_damaged_whatever_is_set(void **state)
{
    (void)state;
    change(library, "UPDATE models SET state = 'damaged' WHERE id = 1");
    assert_int_equal(set("lora", "sdxl", NULL, false, NULL), TN_OK);
    kept k = show(library, "a");
    assert_int_equal(k.state, TN_STATE_DAMAGED);
    assert_true(holds(library, &k, "$.base", "'sdxl'"));
}

static bool on_word(void *user, const char *word)
{
    if (strcmp(word, "sdxl") == 0)
        *(bool *)user = true;
    return true;
}

static void known_words_are_told(void **state)
{
    (void)state;
    bool known = false;
    assert_int_equal(tn_library_known_words(library, "base", on_word, &known, NULL), TN_OK);
    assert_true(known);
    assert_int_equal(tn_library_known_words(library, "colour", on_word, &known, NULL), TN_INVALID);
}

/* ---- several threads ---- */

static void say_and_ask(void *user)
{
    bool *good = user;
    *good = true;
    for (int i = 0; i < 20; i++) {
        char word[32];
        kept k = {.count = 0};
        snprintf(word, sizeof word, "tag %d", i % 5);
        const char *add = word;
        tn_tag_change change = {.size = sizeof change, .add = &add, .add_count = 1};
        *good &= tn_library_tag(library, i % 2 ? "a" : "b", &change, NULL) == TN_OK;
        *good &= tn_library_note(library, "a", word, NULL) == TN_OK;
        *good &= tn_library_search(library, word, 0, keep, &k, NULL) == TN_OK && k.count > 0;
    }
}

static void two_threads_may_say_and_ask_at_once(void **state)
{
    (void)state;
    bool good[2] = {false, false};
    tn_os_thread *threads[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++)
        assert_int_equal(tn_os_thread_start(&scratch_memory, say_and_ask, &good[i], &threads[i], NULL), TN_OK);
    for (int i = 0; i < 2; i++)
        tn_os_thread_join(threads[i]);
    assert_true(good[0] && good[1]);
    assert_int_equal(ask(library, "SELECT count(*) FROM tags"), 10);
}

/* ---- places that cannot be written ---- */

static void a_library_opened_to_be_read_refuses_every_word(void **state)
{
    (void)state;
    tn_library *other = NULL;
    tn_library_options options = {.size = sizeof options, .read_only = true};
    tn_tag_change change = {.size = sizeof change};
    assert_int_equal(tn_library_open(context, at("library.db"), &options, &other, NULL), TN_OK);
    assert_int_equal(tn_library_tag(other, "a", &change, NULL), TN_READ_ONLY);
    assert_int_equal(tn_library_note(other, "a", "x", NULL), TN_READ_ONLY);
    assert_int_equal(tn_library_rename(other, "a", "x", NULL), TN_READ_ONLY);
    tn_library_close(other);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_tag_is_put_on_and_taken_off),
        TEST(a_tag_is_the_same_in_any_case_of_letters),
        TEST(a_tag_has_1_to_64_characters_and_no_control_characters),
        TEST(all_tags_are_told_with_their_counts),
        TEST(a_model_that_is_not_there_changes_nothing),
        TEST(a_note_is_written_and_taken_away),
        TEST(a_note_has_64_kib_at_most),
        TEST(a_name_that_was_given_outlives_an_import),
        TEST(what_is_set_counts_and_is_said_to_be_the_users),
        TEST(what_is_set_outlives_an_import),
        TEST(words_that_nobody_knows_are_refused_unless_they_are_wanted),
        TEST(a_damaged_file_stays_damaged_whatever_is_set),
        TEST(known_words_are_told),
        TEST(two_threads_may_say_and_ask_at_once),
        TEST(a_library_opened_to_be_read_refuses_every_word),
    };
    return cmocka_run_group_tests_name("library.words", tests, NULL, NULL);
}
