/* The language of rules: its test lines hold, its limits are where they are said to be, and what cannot be understood
 * is refused with file and line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>


#include "context/context.h"
#include "identify/facts.h"
#include "identify/match.h"
#include "identify/pattern.h"
#include "identify/rules_parse.h"
#include "support/identify_corpus.h"


enum { FILES_MAX = 64, NAME_BYTES = 128 };

/* The names in rules/, in the order in which the build hands them to the compiler. */
static char files[FILES_MAX][NAME_BYTES];
static size_t file_count;

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void list_files(void)
{
    tn_os_folder *folder;
    tn_os_entry entry;
    bool more;
    assert_int_equal(tn_os_folder_open(&known.context->memory, TEST_DATA "/../../rules", &folder, NULL), TN_OK);
    while (tn_os_folder_next(folder, &entry, &more, NULL) == TN_OK && more) {
        size_t size = strlen(entry.name);
        if (size < 7 || strcmp(entry.name + size - 6, ".rules") != 0)
            continue;
        assert_true(file_count < FILES_MAX && size < NAME_BYTES);
        memcpy(files[file_count++], entry.name, size + 1);
    }
    tn_os_folder_close(folder);
    qsort(files, file_count, sizeof files[0], by_name);
}

static tn_rules_pack *begin(void)
{
    tn_rules_pack *pack;
    assert_int_equal(tn_rules_pack_create(&known.context->memory, &pack, NULL), TN_OK);
    return pack;
}

static tn_status read_one(const char *text, tn_error *err)
{
    const tn_rules *rules;
    tn_rules_pack *pack = begin();
    tn_status status = tn_rules_pack_read(pack, "test.rules", text, strlen(text), err);
    if (status == TN_OK)
        status = tn_rules_pack_finish(pack, &rules, err);
    tn_rules_pack_destroy(pack);
    return status;
}

static void read_file(tn_rules_pack *pack, const char *name)
{
    static char bytes[TN_RULES_FILE_MAX];
    char path[1024];
    tn_error err;
    (void)snprintf(path, sizeof path, "%s/../../rules/%s", TEST_DATA, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    if (tn_rules_pack_read(pack, path, bytes, size, &err) != TN_OK)
        fail_msg("%s: %s", err.file, err.message);
}

/* ---- test lines ---- */

/* NAME[1,2] of a test line. */
static corpus_tensor plus_tensor(tn_text text)
{
    static uint64_t shapes[16][4];
    static unsigned turn;
    uint64_t *shape = shapes[turn++ % 16];
    const char *open = memchr(text.bytes, '[', text.size);
    assert_non_null(open);
    corpus_tensor made = {{text.bytes, (size_t)(open - text.bytes)}, 0, shape};
    uint64_t number = 0;
    bool digits = false;
    for (const char *at = open + 1; at < text.bytes + text.size; at++) {
        if (*at >= '0' && *at <= '9') {
            number = number * 10 + (uint64_t)(*at - '0');
            digits = true;
        } else if (digits) {
            assert_true(made.rank < 4);
            shape[made.rank++] = number;
            number = 0;
            digits = false;
        }
    }
    return made;
}

static void apply(const tn_text *words, corpus_change *change)
{
    tn_text kind = words[0], value = words[1];
    if (text_is(kind, "minus")) {
        for (size_t i = 0; i < 8; i++)
            if (change->minus[i] == NULL) {
                change->minus[i] = value.bytes;
                return;
            }
        fail();
    } else if (text_is(kind, "plus")) {
        change->plus[change->plus_count++] = plus_tensor(value);
    } else if (text_is(kind, "prefix")) {
        change->prefix = value.bytes;
    } else if (text_is(kind, "dtype")) {
        assert_true(tn_dtype_from_name(value.bytes, value.size, &change->dtype));
    } else {
        const char *equals = memchr(value.bytes, '=', value.size);
        assert_non_null(equals);
        size_t key = (size_t)(equals - value.bytes);
        change->metadata[change->metadata_count++] =
            (tn_pair){{value.bytes, key}, {equals + 1, value.size - key - 1}};
    }
}

static bool candidate_listed(const tn_answer *a, tn_text wanted)
{
    for (size_t i = 0; i < a->candidate_count; i++) {
        char name[256];
        (void)snprintf(name, sizeof name, "%s/%s", a->candidates[i].type.bytes, a->candidates[i].base.bytes);
        if (text_is(wanted, name))
            return true;
    }
    return false;
}

static bool as_told(const tn_answer *a, const tn_text *words, uint32_t count)
{
    if (text_is(words[0], "unknown"))
        return a->state == TN_STATE_UNKNOWN;
    if (text_is(words[0], "ambiguous")) {
        bool all = a->state == TN_STATE_AMBIGUOUS && a->candidate_count == count - 1;
        for (uint32_t i = 1; i < count; i++)
            all = all && candidate_listed(a, words[i]);
        return all;
    }
    return a->state == TN_STATE_IDENTIFIED && tn_text_is(a->type, words[0]) && tn_text_is(a->base, words[1]) &&
           (count < 3 ? a->variant.size == 0 : tn_text_is(a->variant, words[2]));
}

static void every_test_line_holds(void **state)
{
    (void)state;
    const tn_rules *rules;
    size_t failed = 0;
    tn_rules_pack *pack = begin();
    for (size_t i = 0; i < file_count; i++)
        read_file(pack, files[i]);
    assert_int_equal(tn_rules_pack_finish(pack, &rules, NULL), TN_OK);
    for (uint32_t i = 0; i < rules->test_count; i++) {
        const tn_rule_test *test = &rules->tests[i];
        corpus_change change = {.prefix = NULL};
        for (uint32_t j = 0; j < test->changes.count; j += 2)
            apply(&rules->texts[test->changes.first + j], &change);
        bool empty = test->header.size == 1 && test->header.bytes[0] == '-';
        const corpus_header *header = empty ? NULL : corpus_find(&known, test->header.bytes, test->header.size);
        if (!empty && header == NULL)
            fail_msg("no header %s", test->header.bytes);
        tn_answer *a = corpus_identify(&known, header, &change);
        if (!as_told(a, &rules->texts[test->answers.first], test->answers.count)) {
            (void)fprintf(stderr, "  line %u, %s: %s %s %s %s\n", (unsigned)test->line, test->header.bytes,
                          tn_state_word(a->state), a->type.bytes, a->base.bytes, a->variant.bytes);
            failed++;
        }
        tn_answer_destroy(a);
    }
    (void)fprintf(stderr, "  %u test lines, %u rows, %u layers\n", (unsigned)rules->test_count,
                  (unsigned)rules->row_count, (unsigned)rules->layer_count);
    assert_true(rules->test_count > 100);
    tn_rules_pack_destroy(pack);
    assert_int_equal(failed, 0);
}

static void the_compiled_tables_are_those_the_parser_makes(void **state)
{
    (void)state;
    const tn_rules *read, *built = &tn_rules_built_in;
    tn_rules_pack *pack = begin();
    for (size_t i = 0; i < file_count; i++)
        read_file(pack, files[i]);
    assert_int_equal(tn_rules_pack_finish(pack, &read, NULL), TN_OK);
    assert_int_equal(read->row_count, built->row_count);
    assert_int_equal(read->condition_count, built->condition_count);
    assert_int_equal(read->step_count, built->step_count);
    assert_int_equal(read->layer_count, built->layer_count);
    assert_int_equal(read->class_slot_count, built->class_slot_count);
    for (uint32_t i = 0; i < read->row_count; i++) {
        assert_true(tn_text_is(read->rows[i].name, built->rows[i].name));
        assert_memory_equal(&read->rows[i].conditions, &built->rows[i].conditions, sizeof(tn_range));
    }
    for (uint32_t i = 0; i < read->condition_count; i++) {
        assert_int_equal(read->conditions[i].kind, built->conditions[i].kind);
        assert_true(tn_text_is(read->conditions[i].name, built->conditions[i].name));
        assert_int_equal(read->conditions[i].shape.rank, built->conditions[i].shape.rank);
    }
    for (uint32_t i = 0; i < read->class_count; i++)
        assert_ptr_equal(tn_rules_class(built, read->classes[i].key.bytes, read->classes[i].key.size),
                         &built->classes[i]);
    tn_rules_pack_destroy(pack);
}

/* ---- refusals ---- */

static void what_cannot_be_understood_is_refused_with_its_line(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "modle main x \"y\"\n",
        "  has a\n",
        "model main\n",
        "model main base \"says\n",
        "model main base variant\n",
        "model main b \"s\"\n  has\n",
        "model main b \"s\"\n  has x [1, 2\n",
        "model main b \"s\"\n  has x [1, ..., 2]\n",
        "model main b \"s\"\n  has x{a,b\n",
        "model main b \"s\"\n  has x{a,{b}}\n",
        "model main b \"s\"\n  count x = 3\n",
        "model main b \"s\"\n  count x.# ~ 3\n",
        "model main b \"s\"\n  dim unknown = 3\n",
        "model main b \"s\"\n  has x [a]\n  dim a+ = 3\n",
        "model main b \"s\"\n  has x [a]\n  dim (a = 3\n",
        "model main b \"s\"\n  has x [a]\n  dim a) = 3\n",
        "model main b \"s\"\n  has x [a]\n  dim a a = 3\n",
        "model main b \"s\"\n  has x [a]\n  let a = 3\n",
        "model main b \"s\"\n  class < x\n",
        "model main b \"s\"\n  meta\n",
        "model main b \"s\"\n  names word=x\n",
        "model main b \"s\"\n  nonsense x\n",
        "model main b \"s\"\n  part denoiser\n",
        "family f\nmodel main b \"s\"\nmodel vae b \"s\"\n",
        "family f\n  part denoiser x\n",
        "layers x\n  name\n",
        "layers x\n  name [a]\n",
        "layers x\n  na#me [1]\n",
        "layers x\n  name.#0 [1]\n",
        "test x\n",
        "test x removing y -> main b\n",
        "test x -> \n",
        "alias\n",
        "adapter lora_\n",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tn_error err = {.status = TN_OK};
        tn_status status = read_one(wrong[i], &err);
        if (status != TN_BAD_RULE)
            fail_msg("not refused: %s", wrong[i]);
        assert_int_equal(err.status, TN_BAD_RULE);
        assert_string_equal(err.file, "test.rules");
        assert_true(err.offset >= 1 && err.offset <= 3);
    }
}

static void layers_that_are_named_must_be_listed(void **state)
{
    (void)state;
    tn_error err;
    assert_int_equal(read_one("model lora b \"s\"\n  part denoiser nowhere\n", &err), TN_BAD_RULE);
    assert_non_null(strstr(err.message, "nowhere"));
    assert_int_equal(read_one("model lora b \"s\"\n  part denoiser here\nlayers here\n  a.#3 [1, 2]\n", NULL), TN_OK);
}

static void a_number_sign_begins_a_comment_or_a_layer(void **state)
{
    (void)state;
    const tn_rules *rules;
    static const char text[] = "#comment\n# comment\nlayers s\n  # comment\n  #48 [1]\n  #.w [1]\n";
    tn_rules_pack *pack = begin();
    assert_int_equal(tn_rules_pack_read(pack, "t", text, sizeof text - 1, NULL), TN_OK);
    assert_int_equal(tn_rules_pack_finish(pack, &rules, NULL), TN_OK);
    assert_int_equal(rules->layer_count, 2);
    tn_rules_pack_destroy(pack);
}

static void a_nul_in_a_line_is_refused(void **state)
{
    (void)state;
    static const char text[] = "model main b\0 \"s\"\n";
    tn_rules_pack *pack = begin();
    assert_int_equal(tn_rules_pack_read(pack, "t", text, sizeof text - 1, NULL), TN_BAD_RULE);
    tn_rules_pack_destroy(pack);
}

/* ---- limits: the last that is taken, and one past it ---- */

static tn_status read_repeated(const char *before, const char *each, size_t count, const char *after)
{
    static char text[1 << 21];
    size_t size = strlen(before), step = strlen(each), end = strlen(after);
    assert_true(size + count * step + end < sizeof text);
    memcpy(text, before, size);
    for (size_t i = 0; i < count; i++, size += step)
        memcpy(text + size, each, step);
    memcpy(text + size, after, end + 1);
    return read_one(text, NULL);
}

static void a_line_has_a_limit(void **state)
{
    (void)state;
    assert_int_equal(read_repeated("# ", "x", TN_RULES_LINE_MAX - 2, "\n"), TN_OK);
    assert_int_equal(read_repeated("# ", "x", TN_RULES_LINE_MAX - 1, "\n"), TN_LIMIT);
}

static void a_file_has_a_limit(void **state)
{
    (void)state;
    static char text[TN_RULES_FILE_MAX + 1];
    memset(text, '\n', sizeof text);
    tn_rules_pack *pack = begin();
    assert_int_equal(tn_rules_pack_read(pack, "t", text, TN_RULES_FILE_MAX, NULL), TN_OK);
    assert_int_equal(tn_rules_pack_read(pack, "t", text, TN_RULES_FILE_MAX + 1, NULL), TN_LIMIT);
    tn_rules_pack_destroy(pack);
}

static void a_table_has_a_limit(void **state)
{
    (void)state;
    assert_int_equal(read_repeated("claims", " k", 1000, "\n"), TN_OK);
    assert_int_equal(read_repeated("", "alias b w\n", TN_RULES_ITEMS_MAX, ""), TN_OK);
    assert_int_equal(read_repeated("", "alias b w\n", TN_RULES_ITEMS_MAX + 1, ""), TN_LIMIT);
}

static void braces_have_a_limit(void **state)
{
    (void)state;
    assert_int_equal(read_repeated("model main b \"s\"\n  has a{", ",", TN_RULES_SPREAD_MAX - 1, "}\n"), TN_OK);
    assert_int_equal(read_repeated("model main b \"s\"\n  has a{", ",", TN_RULES_SPREAD_MAX, "}\n"), TN_LIMIT);
}

static void sets_have_a_limit(void **state)
{
    (void)state;
    for (uint32_t count = TN_RULES_SETS_MAX; count <= TN_RULES_SETS_MAX + 1; count++) {
        char text[8192];
        size_t size = 0;
        for (uint32_t i = 0; i < count; i++)
            size += (size_t)snprintf(text + size, sizeof text - size, "layers s%u\n", (unsigned)i);
        assert_int_equal(read_one(text, NULL), count == TN_RULES_SETS_MAX ? TN_OK : TN_LIMIT);
    }
}

static void variables_have_a_limit(void **state)
{
    (void)state;
    for (uint32_t count = TN_RULES_VARIABLES_MAX; count <= TN_RULES_VARIABLES_MAX + 1; count++) {
        char text[4096] = "model main b \"s\"\n";
        size_t size = strlen(text);
        for (uint32_t i = 0; i < count; i++)
            size += (size_t)snprintf(text + size, sizeof text - size, "  has x [v%u]\n", (unsigned)i);
        assert_int_equal(read_one(text, NULL), count == TN_RULES_VARIABLES_MAX ? TN_OK : TN_LIMIT);
    }
}

static void shapes_indices_and_expressions_have_limits(void **state)
{
    (void)state;
    assert_int_equal(read_repeated("model main b \"s\"\n  has x [1", ",1", TN_RULES_DIMENSIONS_MAX - 1, "]\n"), TN_OK);
    assert_int_equal(read_repeated("model main b \"s\"\n  has x [1", ",1", TN_RULES_DIMENSIONS_MAX, "]\n"), TN_LIMIT);
    assert_int_equal(read_repeated("layers s\n  a", ".0", TN_RULES_INDICES_MAX, " [1]\n"), TN_OK);
    assert_int_equal(read_repeated("layers s\n  a", ".0", TN_RULES_INDICES_MAX + 1, " [1]\n"), TN_LIMIT);
    assert_int_equal(read_repeated("model main b \"s\"\n  tensors = 1", "+1", (TN_RULES_STEPS_MAX - 1) / 2, "\n"),
                     TN_OK);
    assert_int_equal(read_repeated("model main b \"s\"\n  tensors = 1", "+1", TN_RULES_STEPS_MAX / 2, "\n"), TN_LIMIT);
    assert_int_equal(read_repeated("model main b \"s\"\n  tensors = ", "(", TN_RULES_STEPS_MAX + 1, "1\n"), TN_LIMIT);
}

/* ---- meaning ---- */

/* What `text` makes of a file that holds one tensor `name` of that shape: the number of consistent rows. */
static uint32_t matches_of(const char *text, const char *name, uint32_t rank, const uint64_t *shape)
{
    const tn_rules *rules;
    static tn_matches matches;
    tn_facts facts;
    tn_arena arena;
    tn_rules_pack *pack = begin();
    tn_error err;
    if (tn_rules_pack_read(pack, "t", text, strlen(text), &err) != TN_OK)
        fail_msg("%s", err.message);
    assert_int_equal(tn_rules_pack_finish(pack, &rules, NULL), TN_OK);
    corpus_change change = {.plus = {{{name, strlen(name)}, rank, shape}}, .plus_count = 1};
    tn_checkpoint *checkpoint = corpus_checkpoint(&known, NULL, &change);
    tn_arena_init(&arena, &known.context->memory, 1 << 20);
    assert_int_equal(tn_facts_read(&facts, rules, checkpoint, &arena, &known.context->memory, NULL), TN_OK);
    matches.misses = NULL;
    tn_match_all(&facts, &matches);
    tn_arena_free(&arena);
    tn_checkpoint_release(checkpoint);
    tn_rules_pack_destroy(pack);
    return matches.count;
}

static void expressions_mean_what_arithmetic_means(void **state)
{
    (void)state;
    static const struct {
        const char *condition;
        bool holds;
    } cases[] = {
        {"dim a+b*2 = 20", true},     {"dim (a+b)*2 = 28", true},   {"dim a-b = 2", true},
        {"dim b-a = 2", false},       {"dim a/b = 1", false},       {"dim a/2 = 4", true},
        {"dim sqrt(a*2) = 4", true},  {"dim sqrt(a) = 3", false},   {"dim a-b-1 = 1", true},
        {"dim a/2/2 = 2", true},      {"dim a = 7|8|9", true},      {"dim a = 7|9", false},
        {"dim a != 8", false},        {"dim a < 9", true},          {"dim a <= 8", true},
        {"dim a > 8", false},         {"dim a >= 8", true},         {"tensors = 1", true},
        {"let c = a*b\n  dim c = 48", true}, {"dim a*9999999999999999999 > 1", false},
    };
    static const uint64_t shape[] = {8, 6};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        (void)snprintf(text, sizeof text, "model main x \"y\"\n  has w [a, b]\n  %s\n", cases[i].condition);
        if (matches_of(text, "w", 2, shape) != (cases[i].holds ? 1 : 0))
            fail_msg("%s", cases[i].condition);
    }
}

static void names_and_shapes_mean_what_the_manual_says(void **state)
{
    (void)state;
    static const struct {
        const char *condition;
        bool holds;
    } cases[] = {
        {"has a.3.w", true},           {"has a.3.w [8, 6]", true},  {"has a.3.w [8]", false},
        {"has a.3.w [8, ...]", true},  {"has a.3.w [*, 6]", true},  {"has a.3.w [n, n]", false},
        {"has a.#.w", true},           {"has a.*", true},           {"has *.w", true},
        {"has a.#", false},            {"has {b,a}.3.w", true},     {"has {b,c}.3.w", false},
        {"lacks b", true},             {"lacks a.3.w", false},      {"lacks a.3.w [8, 7]", true},
        {"lacks {b,a.3}.w", false},    {"count a.#.w = 0", true},   {"top a.#.w = 4", true},
        {"top a.#.* = 4", true},       {"count a.#.* = 1", true},   {"count a.#.w = n\n  dim n = 0", true},
        {"dtype a.3.w BF16", true},    {"dtype a.3.w F32|F16", false}, {"container safetensors", true},
        {"container gguf", false},     {"meta k", false},           {"meta k ?= v", true},
        {"meta k != v", true},         {"meta k = v", false},       {"class ?= X", true},
        {"class X", false},            {"has @a.3.w", true},        {"dialect kohya", false},
    };
    static const uint64_t shape[] = {8, 6};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        (void)snprintf(text, sizeof text, "model main x \"y\"\n  %s\n", cases[i].condition);
        if (matches_of(text, "a.3.w", 2, shape) != (cases[i].holds ? 1 : 0))
            fail_msg("%s", cases[i].condition);
    }
}

static void a_prefix_is_taken_off_for_its_type_only(void **state)
{
    (void)state;
    static const uint64_t shape[] = {2};
    assert_int_equal(matches_of("prefix main p.\nmodel main x \"y\"\n  has w\n", "p.w", 1, shape), 1);
    assert_int_equal(matches_of("prefix vae p.\nmodel main x \"y\"\n  has w\n", "p.w", 1, shape), 0);
    assert_int_equal(matches_of("prefix main p.\nmodel main x \"y\"\n  has w\n", "w", 1, shape), 1);
    assert_int_equal(matches_of("prefix main p.\nmodel main x \"y\"\n  has @p.w\n", "p.w", 1, shape), 1);
}

/* Time is bounded by the product of the sizes: this one would take for ever if it were not. */
static void a_pattern_of_many_stars_ends(void **state)
{
    (void)state;
    static char name[TN_NAME_MAX], stars[TN_NAME_MAX];
    memset(name, 'a', sizeof name);
    for (size_t i = 0; i < sizeof stars; i++)
        stars[i] = i % 2 == 0 ? '*' : 'a';
    stars[sizeof stars - 1] = 'b';
    assert_false(tn_pattern_matches((tn_text){stars, sizeof stars}, name, sizeof name, NULL));
}

static int open_known(void **state)
{
    (void)corpus_open_known(state);
    corpus_read(&known, "loras.ndjson.gz");
    list_files();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_test_line_holds),
        cmocka_unit_test(the_compiled_tables_are_those_the_parser_makes),
        cmocka_unit_test(what_cannot_be_understood_is_refused_with_its_line),
        cmocka_unit_test(layers_that_are_named_must_be_listed),
        cmocka_unit_test(a_number_sign_begins_a_comment_or_a_layer),
        cmocka_unit_test(a_nul_in_a_line_is_refused),
        cmocka_unit_test(a_line_has_a_limit),
        cmocka_unit_test(a_file_has_a_limit),
        cmocka_unit_test(a_table_has_a_limit),
        cmocka_unit_test(braces_have_a_limit),
        cmocka_unit_test(sets_have_a_limit),
        cmocka_unit_test(variables_have_a_limit),
        cmocka_unit_test(shapes_indices_and_expressions_have_limits),
        cmocka_unit_test(expressions_mean_what_arithmetic_means),
        cmocka_unit_test(names_and_shapes_mean_what_the_manual_says),
        cmocka_unit_test(a_prefix_is_taken_off_for_its_type_only),
        cmocka_unit_test(a_pattern_of_many_stars_ends),
    };
    return cmocka_run_group_tests(tests, open_known, corpus_close_known);
}
