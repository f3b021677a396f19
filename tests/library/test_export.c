/* export and restore: nothing is lost on the way, and what is no whole export makes no library. */
#include "support/library_records.h"
#include "support/library_open.h"

static int setup(void **state)
{
    if (open_setup(state) != 0)
        return -1;
    put_folder(at("m"));
    return 0;
}

/* ---- a file in memory ---- */

typedef struct text {
    char bytes[1 << 20];
    size_t size, at, piece; /* piece: bytes that are given at once; 0: as many as are asked for */
} text;

static text first, second;

static bool write_text(void *user, const char *bytes, size_t size)
{
    text *t = user;
    assert_true(t->size + size < sizeof t->bytes);
    memcpy(t->bytes + t->size, bytes, size);
    t->size += size;
    t->bytes[t->size] = '\0';
    return true;
}

static size_t read_text(void *user, char *bytes, size_t size)
{
    text *t = user;
    size_t left = t->size - t->at, piece = t->piece != 0 && t->piece < size ? t->piece : size;
    size_t got = left < piece ? left : piece;
    memcpy(bytes, t->bytes + t->at, got);
    t->at += got;
    return got;
}

static void export_to(tn_library *from, text *to)
{
    tn_error err;
    to->size = to->at = 0;
    if (tn_library_export(from, write_text, to, &err) != TN_OK)
        fail_msg("%s", err.message);
}

static tn_library *open_other(void)
{
    tn_library *other = NULL;
    assert_int_equal(tn_library_open(context, at("other.db"), NULL, &other, NULL), TN_OK);
    return other;
}

/* Everything a library knows: records of each kind, words of people, hashes, odd paths, big and negative numbers. */
static void fill(void)
{
    put_folder(at("m/p"));
    put_weights(at("m/a.safetensors"), 4);
    put_short_weights(at("m/short.safetensors"), 50, 10);
    put_tensor(at("m/s-00001-of-00002.safetensors"), "v", 6, 0);
    put_tensor(at("m/s-00002-of-00002.safetensors"), "w", 6, 0);
    put_text(at("m/s.safetensors.index.json"),
             "{\"metadata\":{\"total_size\":96},\"weight_map\":{\"v\":\"s-00001-of-00002.safetensors\","
             "\"w\":\"s-00002-of-00002.safetensors\"}}");
    put_text(at("m/p/config.json"), "{\"_class_name\":\"AutoencoderKL\"}");
    put_weights(at("m/p/diffusion_pytorch_model.safetensors"), 7);
    import_quietly(library, "m", NULL);
    tn_tag_change change_tags = {.size = sizeof change_tags, .add = (const char *const[]){"x y", "\"q\""}, .add_count = 2};
    assert_int_equal(tn_library_tag(library, "1", &change_tags, NULL), TN_OK);
    assert_int_equal(tn_library_note(library, "1", "two\nlines \\ and \"quotes\" \xe2\x80\xa8", NULL), TN_OK);
    assert_int_equal(tn_library_rename(library, "2", "{\"b64\":\"no\"}", NULL), TN_OK);
    tn_set_options set = {.size = sizeof set, .type = "lora", .base = "sdxl"};
    assert_int_equal(tn_library_set(library, "1", &set, NULL), TN_OK);
    change(library, "INSERT INTO files (path, size, mtime_ns, device, file_id, links, weak, present) VALUES "
                    "(x'2f6dff2f61', 9223372036854775807, -9223372036854775807 - 1, -5, randomblob(16), 1, 0, 0);"
                    "INSERT INTO hashes SELECT 1, 0, 'sha256', 'ab', size, mtime_ns FROM files LIMIT 1;"
                    "DELETE FROM models WHERE id = (SELECT max(id) FROM models)");
}

static void a_round_trip_is_the_same_to_the_byte(void **state)
{
    (void)state;
    fill();
    export_to(library, &first);
    for (size_t piece = 0; piece < 100; piece += 33) { /* however the bytes arrive */
        tn_error err;
        uint64_t models = 0;
        tn_library *other = open_other();
        first.at = 0;
        first.piece = piece;
        if (tn_library_restore(other, read_text, &first, &models, &err) != TN_OK)
            fail_msg("%s", err.message);
        assert_int_equal(models, ask(library, "SELECT count(*) FROM models"));
        export_to(other, &second);
        assert_int_equal(second.size, first.size);
        assert_memory_equal(second.bytes, first.bytes, first.size);
        assert_verified(other);
        assert_indexed(other);
        assert_string_equal(found(other, "tag:\"x y\"", 0), "1");
        kept was = show(library, "1"), is = show(other, "1");
        assert_string_equal(is.json, was.json);
        tn_library_close(other);
        tn_os_remove(at("other.db"), NULL);
        tn_os_remove(at("other.db-wal"), NULL);
        tn_os_remove(at("other.db-shm"), NULL);
    }
}

/* Every table that is not made out of others is exported, with every column: also one that a later version adds. */
static void no_table_and_no_column_is_left_out(void **state)
{
    (void)state;
    change(library, "CREATE TABLE later (id INTEGER PRIMARY KEY, what TEXT NOT NULL, bytes BLOB) STRICT;"
                    "INSERT INTO later VALUES (1, 'x', x'00ff')");
    fill();
    export_to(library, &first);
    assert_non_null(strstr(first.bytes, "{\"later\":{\"id\":1,\"what\":\"x\",\"bytes\":{\"b64\":\"AP8=\"}}}\n"));
    assert_int_equal(strncmp(first.bytes, "{\"tenure\":\"library\",\"version\":", 30), 0);
    int64_t rows = ask(library, "SELECT (SELECT count(*) FROM models) + (SELECT count(*) FROM files) + (SELECT count(*) FROM "
                                "parts)");
    size_t lines = 0;
    for (const char *line = first.bytes; line != NULL; line = strchr(line + 1, '\n'))
        lines += strncmp(line, "\n{\"models\":", 11) == 0 || strncmp(line, "\n{\"files\":", 10) == 0 ||
                 strncmp(line, "\n{\"parts\":", 10) == 0;
    assert_int_equal(lines, rows);
    assert_null(strstr(first.bytes, "\n{\"words"));
}

static void ids_are_never_given_again_after_a_restore(void **state)
{
    (void)state;
    fill(); /* the last model is gone, its id stays taken */
    int64_t last = ask(library, "SELECT seq FROM sqlite_sequence WHERE name = 'models'");
    export_to(library, &first);
    tn_library *other = open_other();
    assert_int_equal(tn_library_restore(other, read_text, &first, NULL, NULL), TN_OK);
    assert_int_equal(ask(other, "SELECT seq FROM sqlite_sequence WHERE name = 'models'"), last);
    assert_int_equal(ask(other, "SELECT count(*) - count(DISTINCT name) FROM sqlite_sequence"), 0);
    tn_library_close(other);
}

static void a_library_that_holds_something_is_not_restored_into(void **state)
{
    (void)state;
    fill();
    export_to(library, &first);
    assert_int_equal(tn_library_restore(library, read_text, &first, NULL, NULL), TN_EXISTS);
    export_to(library, &second);
    assert_string_equal(second.bytes, first.bytes);
}

/* ---- what is no export ---- */

static tn_status restore_text(const char *bytes, tn_error *err)
{
    tn_library *other = open_other();
    second.size = strlen(bytes);
    second.at = second.piece = 0;
    memcpy(second.bytes, bytes, second.size + 1);
    tn_status status = tn_library_restore(other, read_text, &second, NULL, err);
    if (status != TN_OK) /* nothing of it is there */
        assert_int_equal(ask(other, "SELECT (SELECT count(*) FROM models) + (SELECT count(*) FROM roots) + (SELECT count(*) "
                                    "FROM sqlite_sequence WHERE seq > 0)"), 0);
    tn_library_close(other);
    return status;
}

#define HEAD "{\"tenure\":\"library\",\"version\":2}\n"
#define ROOT "{\"roots\":{\"id\":1,\"path\":\"/m\",\"added_ns\":1,\"scanned_ns\":0,\"away_ns\":0,\"device\":null}}\n"
#define END(rows) "{\"end\":{\"rows\":" #rows "}}\n"

static void every_fault_is_told_with_its_line_and_leaves_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        tn_status status;
        const char *says;
    } cases[] = {
        {"", TN_BAD_LAYOUT, "line 1: this is not what"},
        {"PK\x03\x04", TN_BAD_LAYOUT, "line 1"},
        {"{\"tenure\":\"settings\",\"version\":2}\n", TN_BAD_LAYOUT, "line 1"},
        {"{\"tenure\":\"library\",\"version\":3}\n", TN_NEWER, "newer"},
        {"{\"tenure\":\"library\",\"version\":18446744073709551615}\n", TN_NEWER, "newer"},
        {"{\"tenure\":\"library\",\"version\":1}\n", TN_UNSUPPORTED, "version 1"},
        {HEAD, TN_TRUNCATED, "the end is missing"},
        {HEAD ROOT, TN_TRUNCATED, "line 3"},
        {HEAD ROOT END(2), TN_TRUNCATED, "rows are missing"},
        {HEAD END(0) ROOT, TN_TRAILING_BYTES, "follows the end"},
        {HEAD "{\"nothing\":{}}\n" END(1), TN_BAD_LAYOUT, "no such table"},
        {HEAD "{\"words\":{\"model\":1,\"name\":\"\",\"text\":\"\"}}\n" END(1), TN_BAD_LAYOUT, "no such table"},
        {HEAD "{\"roots\":{\"id\":1}}\n" END(1), TN_BAD_LAYOUT, "a column is missing"},
        {HEAD "{\"roots\":{\"id\":1,\"id\":1}}\n" END(1), TN_BAD_LAYOUT, "stands twice"},
        {HEAD "{\"roots\":{\"colour\":1}}\n" END(1), TN_BAD_LAYOUT, "no such column"},
        {HEAD "{\"roots\":{\"id\":1.5}}\n" END(1), TN_BAD_LAYOUT, "line 2: a number"},
        {HEAD "{\"roots\":{\"id\":9223372036854775808}}\n" END(1), TN_BAD_LAYOUT, "line 2: a number"},
        {HEAD "{\"roots\":{\"id\":-9223372036854775809}}\n" END(1), TN_BAD_LAYOUT, "line 2: a number"},
        {HEAD "{\"roots\":{\"path\":7}}\n" END(1), TN_BAD_LAYOUT, "a text is wanted"},
        {HEAD "{\"roots\":{\"path\":{\"b64\":\"x\"}}}\n" END(1), TN_BAD_JSON, "base64"},
        {HEAD "{\"roots\":{\"path\":{\"b64\":7}}}\n" END(1), TN_BAD_JSON, "line 2"},
        {HEAD ROOT ROOT END(2), TN_BAD_LAYOUT, "line 3"},
        {HEAD "{\"roots\":[]}\n" END(1), TN_BAD_JSON, "line 2"},
        {HEAD "[]\n" END(1), TN_BAD_JSON, "line 2"},
        {HEAD "\n" END(0), TN_BAD_JSON, "line 2"},
        {HEAD "{\"tags\":{\"model\":7,\"tag\":\"x\"}}\n" END(1), TN_BAD_LAYOUT, "not there"},
        {HEAD "{\"tags\":{\"model\":7,\"tag\":\"a\\u0000b\"}}\n" END(1), TN_BAD_LAYOUT, "NUL"},
        {HEAD "{\"roots\":{\"id\":1,\"path\":\"\",\"added_ns\":1,\"scanned_ns\":0,\"away_ns\":0,\"device\":null}}\n" END(1),
         TN_BAD_LAYOUT, "a path is empty"},
        {HEAD "{\"roots\":{\"id\":1,\"path\":\"/a\\u0000b\",\"added_ns\":1,\"scanned_ns\":0,\"away_ns\":0,\"device\":null}}\n"
         END(1), TN_BAD_LAYOUT, "a path is empty"},
        {HEAD "{\"roots\":{\"id\":1,\"path\":null,\"added_ns\":1,\"scanned_ns\":0,\"away_ns\":0,\"device\":null}}\n" END(1),
         TN_BAD_LAYOUT, "line 2"},
        {HEAD "{\"said\":{\"number\":1,\"text\":\"{\"}}\n" END(1), TN_BAD_LAYOUT, "no JSON"},
        {HEAD "{\"sqlite_sequence\":{\"name\":\"models\",\"seq\":9223372036854775807}}\n" END(1), TN_BAD_LAYOUT, "an id"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tn_error err;
        tn_status status = restore_text(cases[i].bytes, &err);
        if (status != cases[i].status || strstr(err.message, cases[i].says) == NULL)
            fail_msg("case %zu: %s: %s", i, tn_status_word(status), err.message);
    }
    assert_int_equal(restore_text(HEAD ROOT END(1), NULL), TN_OK);
}

static size_t read_never_ending(void *user, char *bytes, size_t size)
{
    size_t *done = user;
    memset(bytes, 'x', size);
    *done += size;
    return size;
}

static size_t read_fails(void *user, char *bytes, size_t size)
{
    (void)user;
    (void)bytes;
    (void)size;
    return SIZE_MAX;
}

static void a_line_without_end_is_refused_at_its_limit(void **state)
{
    (void)state;
    size_t done = 0;
    tn_error err;
    tn_library *other = open_other();
    assert_int_equal(tn_library_restore(other, read_never_ending, &done, NULL, &err), TN_LIMIT);
    assert_in_range(done, 1, (size_t)65 << 20);
    assert_int_equal(tn_library_restore(other, read_fails, NULL, NULL, &err), TN_IO);
    tn_library_close(other);
}

static bool write_once(void *user, const char *bytes, size_t size)
{
    (void)bytes;
    (void)size;
    return ++*(int *)user < 3;
}

static void an_export_that_cannot_be_written_ends(void **state)
{
    (void)state;
    int lines = 0;
    fill();
    assert_int_equal(tn_library_export(library, write_once, &lines, NULL), TN_CANCELLED);
    assert_int_equal(lines, 3);
    import_quietly(library, "m", NULL); /* and the library is free again */
}

static size_t read_and_cancel(void *user, char *bytes, size_t size)
{
    text *t = user;
    if (t->at > t->size / 2)
        tn_context_cancel(context);
    t->piece = 1000;
    return read_text(t, bytes, size);
}

static void a_restore_that_is_cancelled_leaves_nothing(void **state)
{
    (void)state;
    static char rows[1 << 19];
    size_t size = (size_t)snprintf(rows, sizeof rows, HEAD);
    for (int i = 1; i <= 2000; i++)
        size += (size_t)snprintf(rows + size, sizeof rows - size, "{\"roots\":{\"id\":%d,\"path\":\"/m%d\",\"added_ns\":1,"
                                 "\"scanned_ns\":0,\"away_ns\":0,\"device\":null}}\n", i, i);
    snprintf(rows + size, sizeof rows - size, END(2000));
    first.size = strlen(rows);
    first.at = 0;
    memcpy(first.bytes, rows, first.size + 1);
    tn_library *other = open_other();
    assert_int_equal(tn_library_restore(other, read_and_cancel, &first, NULL, NULL), TN_CANCELLED);
    assert_int_equal(ask(other, "SELECT count(*) FROM roots"), 0);
    tn_library_close(other);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, close_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_round_trip_is_the_same_to_the_byte),
        TEST(no_table_and_no_column_is_left_out),
        TEST(ids_are_never_given_again_after_a_restore),
        TEST(a_library_that_holds_something_is_not_restored_into),
        TEST(every_fault_is_told_with_its_line_and_leaves_nothing),
        TEST(a_line_without_end_is_refused_at_its_limit),
        TEST(an_export_that_cannot_be_written_ends),
        TEST(a_restore_that_is_cancelled_leaves_nothing),
    };
    return cmocka_run_group_tests_name("library.export", tests, NULL, NULL);
}
