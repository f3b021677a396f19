/* Search finds every model that has all the words, and no other; names come first. */
#include "support/library_records.h"
#include "support/library_open.h"

/* Records made by hand: id, name, path, and what else is said of them. */
static int setup(void **state)
{
    if (open_setup(state) != 0)
        return -1;
    change(library,
           "INSERT INTO models (id, name, path, type, base, variant, container, state, presence, size_bytes, part_count, "
           "message, added_ns, updated_ns, answer) VALUES "
           "(1, 'watercolor portrait', CAST('/m/loras/watercolor portrait.safetensors' AS BLOB), 'lora', 'sdxl', '', 'safetensors', "
           " 'identified', 'present', 10, 1, '', 1, 1, '{\"metadata\":{\"title\":\"Aquarell\"}}'),"
           "(2, 'Portrait of a knight', CAST('/m/loras/x.safetensors' AS BLOB), 'lora', 'sd-1', '', 'safetensors', 'identified', "
           " 'present', 10, 1, '', 1, 1, '{\"metadata\":{\"trigger_words\":\"kn1ght armour\"}}'),"
           "(3, 'dev', CAST('/m/portraits/dev.safetensors' AS BLOB), 'main', 'flux', 'dev', 'safetensors', 'damaged', 'present', 10, 1, "
           " '', 1, 1, '{}'),"
           "(4, '100%_\"quoted\"', CAST('/m/odd/100%_\"quoted\".gguf' AS BLOB), '', '', '', 'gguf', 'unknown', 'missing', 10, 1, '', 1, 1, "
           "'{}'),"
           "(5, '\xc3\x89toile \xe4\xb8\xad\xe6\x96\x87\xe6\xa8\xa1\xe5\x9e\x8b', CAST('/m/etoile.safetensors' AS BLOB), 'vae', 'sdxl', '', "
           " 'safetensors', 'identified', 'present', 10, 1, '', 1, 1, '{}');"
           "INSERT INTO tags VALUES (2, 'a'), (2, 'favourite'), (3, 'Favourites');"
           "UPDATE models SET note = 'wants guidance 3.5' WHERE id = 3;"
           "INSERT INTO files (id, path, size, mtime_ns, device, file_id, links, weak, present) SELECT id, path, 10, 5, 1, "
           "zeroblob(16), 1, 0, 1 FROM models;"
           "INSERT INTO parts SELECT id, id, 0, 1 FROM models;"
           "INSERT INTO hashes VALUES (1, 0, 'sha256', '6ce0161689b3853acaa03779ec93eafe75a02f4ced659bee03f50797806fa2fa', 10, "
           "5), (3, 0, 'content', 'c1:0123456789abcdef', 10, 5), (2, 0, 'blake3', '6ce016168900', 10, 6)");
    return 0;
}

static int teardown(void **state)
{
    assert_indexed(library);
    return close_teardown(state);
}

static void parts_of_words_are_found_in_any_case(void **state)
{
    (void)state;
    assert_string_equal(found(library, "tercol", 0), "1");
    assert_string_equal(found(library, "WATERCOLOR", 0), "1");
    assert_string_equal(found(library, "waterkolor", 0), "");
    assert_string_equal(found(library, "watercolors", 0), "");
    assert_string_equal(found(library, "colwat", 0), ""); /* both trigrams are in the index, but not side by side */
    assert_string_equal(found(library, "\xc3\xa9TOILE", 0), "5");
}

static void every_field_is_looked_into(void **state)
{
    (void)state;
    assert_string_equal(found(library, "aquarell", 0), "1");  /* title */
    assert_string_equal(found(library, "kn1ght", 0), "2");    /* trigger words */
    assert_string_equal(found(library, "guidance", 0), "3");  /* note */
    assert_string_equal(found(library, "favourite", 0), "2 3"); /* tag */
    assert_string_equal(found(library, "flux", 0), "3");      /* base */
    assert_string_equal(found(library, "lora", 0), "1 2");    /* type, and the folder */
    assert_string_equal(found(library, "/odd/", 0), "4");     /* path */
}

static void names_come_before_the_rest(void **state)
{
    (void)state;
    assert_string_equal(found(library, "portrait", 0), "2 1 3"); /* begins with it, has it, has it in its path */
    assert_string_equal(found(library, "portrait", 2), "2 1");
    assert_string_equal(found(library, "portrait", 1), "2");
    assert_string_equal(found(library, "portrait type:lora", 0), "2 1");
    assert_string_equal(found(library, "portrait type:lora", 1), "2");
}

static void all_words_must_be_there(void **state)
{
    (void)state;
    assert_string_equal(found(library, "portrait watercolor", 0), "1");
    assert_string_equal(found(library, "portrait knight armour", 0), "2"); /* in name and trigger words */
    assert_string_equal(found(library, "portrait nowhere", 0), "");
    assert_string_equal(found(library, "\"portrait of\"", 0), "2");
    assert_string_equal(found(library, "\"of portrait\"", 0), "");
}

static void signs_that_mean_something_to_sql_are_plain_here(void **state)
{
    (void)state;
    assert_string_equal(found(library, "100%_", 0), "4");
    assert_string_equal(found(library, "0%_\"q", 0), "4");
    assert_string_equal(found(library, "%%%", 0), "");
    assert_string_equal(found(library, "' OR 1=1 --", 0), "");
    assert_string_equal(found(library, "*", 0), "");
    assert_string_equal(found(library, "C:\\models", 0), "");
    assert_string_equal(found(library, "\xff\xfe\xfd", 0), "");
}

static void short_words_are_found_too(void **state)
{
    (void)state;
    assert_string_equal(found(library, "de", 0), "3");
    assert_string_equal(found(library, "\xe4\xb8\xad\xe6\x96\x87", 0), "5"); /* two characters of six bytes */
    assert_string_equal(found(library, "po kn", 0), "2");
    assert_string_equal(found(library, "kn portrait", 0), "2");
    assert_string_equal(found(library, "DE", 0), "3");
    assert_string_equal(found(library, "zq", 0), "");
    change(library, "UPDATE models SET note = 'Ma\xc5\xbf\xc5\xbfwerk' WHERE id = 5"); /* with long s: CaseFolding.txt */
    assert_string_equal(found(library, "SW", 0), "5");
    assert_string_equal(found(library, "ss", 0), "5");
    assert_string_equal(found(library, "as er", 0), "1 5");
}

static void a_hash_finds_its_model_by_its_first_digits(void **state)
{
    (void)state;
    assert_string_equal(found(library, "6CE01616", 0), "1"); /* the BLAKE3 of 2 is of an older file */
    assert_string_equal(found(library, "6ce0161689", 0), "1"); /* AutoV2 */
    assert_string_equal(found(library, "6ce0161689b3853acaa03779ec93eafe75a02f4ced659bee03f50797806fa2fa", 0), "1");
    assert_string_equal(found(library, "6ce0161689b3853acaa03779ec93eafe75a02f4ced659bee03f50797806fa2fb", 0), "");
    assert_string_equal(found(library, "6ce0161", 0), "");
    assert_string_equal(found(library, "01234567", 0), "3");
    assert_string_equal(found(library, "c1:0123456789ab", 0), "3");
}

static void filters_narrow_a_search_and_stand_alone(void **state)
{
    (void)state;
    assert_string_equal(found(library, "base:sdxl", 0), "1 5");
    assert_string_equal(found(library, "base:sdxl type:vae", 0), "5");
    assert_string_equal(found(library, "tag:favourite", 0), "2"); /* the whole tag */
    assert_string_equal(found(library, "tag:A", 0), "2");
    assert_string_equal(found(library, "state:damaged", 0), "3");
    assert_string_equal(found(library, "is:missing", 0), "4");
    assert_string_equal(found(library, "is:missing portrait", 0), "");
    assert_string_equal(found(library, "portrait base:flux", 0), "3");
    assert_string_equal(found(library, "base:\"sdxl\" aqua", 0), "1");
    assert_string_equal(found(library, "base:sdxl", 1), "1");
}

static tn_status refused(const char *text)
{
    kept k = {.count = 0};
    tn_status status = tn_library_search(library, text, 0, keep, &k, NULL);
    assert_int_equal(k.count, 0);
    return status;
}

static void what_cannot_be_searched_for_is_refused(void **state)
{
    (void)state;
    char text[1100];
    assert_int_equal(refused(""), TN_INVALID);
    assert_int_equal(refused("  \t"), TN_INVALID);
    assert_int_equal(refused("state:broken"), TN_INVALID);
    assert_int_equal(refused("is:here"), TN_INVALID);
    memset(text, 'x', sizeof text);
    text[1000] = '\0';
    assert_int_equal(refused(text), TN_OK);
    text[1000] = 'x';
    text[1001] = '\0';
    assert_int_equal(refused(text), TN_INVALID);
    for (size_t i = 0; i < 64; i += 2)
        memcpy(text + i, "y ", 3);
    assert_int_equal(refused(text), TN_OK); /* 32 words */
    strncat(text, "y", 2);
    assert_int_equal(refused(text), TN_INVALID);
}

static void the_index_follows_every_change(void **state)
{
    (void)state;
    change(library, "UPDATE models SET name = 'renamed', path = CAST('/elsewhere/renamed.gguf' AS BLOB) WHERE id = 4");
    assert_string_equal(found(library, "elsewhere", 0), "4");
    assert_string_equal(found(library, "quoted", 0), "");
    change(library, "UPDATE tags SET tag = 'landscape' WHERE tag = 'favourite'");
    assert_string_equal(found(library, "tag:landscape", 0), "2");
    change(library, "DELETE FROM tags");
    assert_string_equal(found(library, "favourite", 0), "");
    change(library, "DELETE FROM models WHERE id IN (1, 2)");
    assert_string_equal(found(library, "portrait", 0), "3");
    assert_int_equal(ask(library, "SELECT count(*) FROM words"), 3);
}

static void a_change_that_is_rolled_back_leaves_the_index(void **state)
{
    (void)state;
    assert_int_equal(tn_library_begin(library, NULL), TN_OK);
    assert_int_equal(tn_db_script(&library->db, "UPDATE models SET name = 'other' WHERE id = 1", NULL), TN_OK);
    assert_int_equal(tn_library_end(library, TN_CANCELLED, NULL), TN_CANCELLED);
    assert_string_equal(found(library, "watercolor", 0), "1");
}

/* Another program that writes rows leaves a note, which the next transaction of ours works off. */
static void what_others_wrote_is_caught_up_with(void **state)
{
    (void)state;
    sqlite3 *other = NULL;
    assert_int_equal(sqlite3_open(at("library.db"), &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "UPDATE models SET name = 'foreign' WHERE id = 1", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(other);
    assert_int_equal(ask(library, "SELECT count(*) FROM words_stale"), 1);
    change(library, "UPDATE models SET note = 'x' WHERE id = 5");
    assert_string_equal(found(library, "foreign", 0), "1");
}

/* Against a peer: for words cut out of the texts, a plain scan by SQLite's instr finds the same. */
static void the_index_finds_what_a_scan_finds(void **state)
{
    (void)state;
    static const char *const words[] = {"wat", "erc", "portrait", "ight", "/m/", "safetensors", ".gguf", "ora", "dxl", "dev",
                                        "gui", "3.5", "100", "_\"q", "etoile.", "fav", "ites", "armour", "sd-", "ux", "m/l",
                                        "s", "sd", "-1", "k", "q", "0%", "/m", ".s", "a", "es", "x"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        char sql[512];
        kept k = {.count = 0};
        assert_int_equal(tn_library_search(library, words[i], 0, keep, &k, NULL), TN_OK);
        snprintf(sql, sizeof sql, "SELECT count(*) FROM words WHERE instr(lower(name || char(10) || text), '%s') > 0", words[i]);
        assert_int_equal(k.count, ask(library, sql));
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(parts_of_words_are_found_in_any_case),
        TEST(every_field_is_looked_into),
        TEST(names_come_before_the_rest),
        TEST(all_words_must_be_there),
        TEST(signs_that_mean_something_to_sql_are_plain_here),
        TEST(short_words_are_found_too),
        TEST(a_hash_finds_its_model_by_its_first_digits),
        TEST(filters_narrow_a_search_and_stand_alone),
        TEST(what_cannot_be_searched_for_is_refused),
        TEST(the_index_follows_every_change),
        TEST(a_change_that_is_rolled_back_leaves_the_index),
        TEST(what_others_wrote_is_caught_up_with),
        TEST(the_index_finds_what_a_scan_finds),
    };
    return cmocka_run_group_tests_name("library.search", tests, NULL, NULL);
}
