/* Sources: S1 to S3 of source.h, on every system. */
#include "support/check.h"
#include "support/scratch.h"

#include "io/source.h"
#include "os/os_fault.h"

static tn_context *context;

static int begin_test(void **state)
{
    (void)state;
    tn_context_options options = {.size = sizeof options, .memory_limit_bytes = 1 << 20};
    return tn_context_create(&options, &context, NULL) == TN_OK ? 0 : -1;
}

/* Whatever happened, the budget is back at zero. */
static int end_test(void **state)
{
    (void)state;
    tn_os_set_hooks(NULL);
    uint64_t used = tn_context_memory(context).used_bytes;
    tn_context_destroy(context);
    return used == 0 ? 0 : -1;
}

static tn_source *open_source(const char *path)
{
    tn_source *source = NULL;
    assert_int_equal(tn_source_open(context, path, &source, NULL), TN_OK);
    return source;
}

/* Far enough from the file's last change for the system's clock to show another time. */
static void wait_for_the_clock(void)
{
    tn_os_sleep_ms(30);
}

static void a_read_gives_exactly_the_bytes_asked_for(void **state)
{
    (void)state;
    put_text(at("exact"), "0123456789");
    tn_source *source = open_source(at("exact"));
    assert_int_equal(tn_source_size(source), 10);
    assert_string_equal(tn_source_path(source), at("exact"));
    assert_ptr_equal(tn_source_context(source), context);
    assert_int_equal(tn_source_info(source)->size, 10);
    char bytes[11] = "..........";
    assert_int_equal(tn_source_read(source, 3, bytes, 4, NULL), TN_OK);
    assert_string_equal(bytes, "3456......");
    assert_int_equal(tn_source_read(source, 0, bytes, 10, NULL), TN_OK);
    assert_string_equal(bytes, "0123456789");
    assert_int_equal(tn_source_read(source, 10, bytes, 0, NULL), TN_OK);
    assert_int_equal(tn_context_bytes_read(context), 14);
    tn_source_release(source);
    tn_source_release(NULL);
}

static void a_read_past_the_end_says_what_is_there(void **state)
{
    (void)state;
    put_text(at("short"), "0123456789");
    static const struct {
        uint64_t offset;
        size_t size;
        uint64_t found;
    } cases[] = {{0, 11, 10}, {9, 2, 1}, {10, 1, 0}, {11, 0, 0}, {11, 1, 0}, {UINT64_MAX, 1, 0}, {UINT64_MAX, 0, 0},
                 {5, SIZE_MAX, 5}};
    tn_source *file = open_source(at("short"));
    tn_source *memory = NULL;
    assert_int_equal(tn_source_over(context, "0123456789", 10, at("short"), &memory, NULL), TN_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int of_file = 0; of_file <= 1; of_file++) {
            char byte[16];
            tn_error err;
            tn_source *source = of_file ? file : memory;
            assert_int_equal(tn_source_read(source, cases[i].offset, byte, cases[i].size, &err), TN_TRUNCATED);
            assert_true(err.offset == cases[i].offset);
            assert_true(err.expected == cases[i].size);
            assert_true(err.found == cases[i].found);
            assert_string_equal(err.file, at("short"));
        }
    }
    tn_source_release(file);
    tn_source_release(memory);
}

static void a_file_cut_while_open_is_an_error_that_says_from_and_to(void **state)
{
    (void)state;
    put_text(at("cut"), "0123456789");
    tn_source *source = open_source(at("cut"));
    tn_os_file other;
    assert_int_equal(tn_os_open(at("cut"), TN_OS_WRITE, &other, NULL), TN_OK);
    assert_int_equal(tn_os_resize(&other, 4, NULL), TN_OK);
    char bytes[10] = "---------";
    tn_error err;
    assert_int_equal(tn_source_read(source, 2, bytes, 8, &err), TN_CHANGED);
    assert_int_equal(err.expected, 10);
    assert_int_equal(err.found, 4);
    assert_non_null(strstr(err.message, "from 10 to 4"));
    assert_string_equal(err.file, at("cut"));
    assert_int_equal(tn_source_read(source, 0, bytes, 2, NULL), TN_CHANGED); /* these are still there; not believed */
    assert_int_equal(tn_source_check(source, NULL), TN_CHANGED);
    tn_os_close(&other);
    tn_source_release(source);
}

static void a_file_appended_to_while_open_is_an_error(void **state)
{
    (void)state;
    put_text(at("grow"), "0123");
    tn_source *source = open_source(at("grow"));
    tn_os_file other;
    assert_int_equal(tn_os_open(at("grow"), TN_OS_WRITE, &other, NULL), TN_OK);
    assert_int_equal(tn_os_write(&other, 4, "more", 4, NULL), TN_OK);
    tn_os_close(&other);
    char bytes[4];
    tn_error err;
    assert_int_equal(tn_source_read(source, 0, bytes, 4, &err), TN_CHANGED);
    assert_int_equal(err.expected, 4);
    assert_int_equal(err.found, 8);
    tn_source_release(source);
}

static void a_file_overwritten_in_place_is_an_error(void **state)
{
    (void)state;
    put_text(at("over"), "before");
    wait_for_the_clock();
    tn_source *source = open_source(at("over"));
    tn_os_file other;
    assert_int_equal(tn_os_open(at("over"), TN_OS_WRITE, &other, NULL), TN_OK);
    assert_int_equal(tn_os_write(&other, 0, "after!", 6, NULL), TN_OK);
    tn_os_close(&other);
    char bytes[6];
    tn_error err;
    assert_int_equal(tn_source_read(source, 0, bytes, 6, &err), TN_CHANGED);
    assert_non_null(strstr(err.message, "written to"));
    tn_source_release(source);
}

static void a_file_renamed_away_stays_readable_and_the_check_tells(void **state)
{
    (void)state;
    put_text(at("name"), "old bytes");
    tn_source *source = open_source(at("name"));
    assert_int_equal(tn_source_check(source, NULL), TN_OK);
    assert_int_equal(tn_os_rename(at("name"), at("name.away"), true, NULL), TN_OK);
    tn_error err;
    assert_int_equal(tn_source_check(source, &err), TN_CHANGED);
    assert_non_null(strstr(err.message, "removed or renamed"));
    put_text(at("name"), "new bytes");
    assert_int_equal(tn_source_check(source, &err), TN_CHANGED);
    assert_non_null(strstr(err.message, "another file"));
    char bytes[10] = {0};
    assert_int_equal(tn_source_read(source, 0, bytes, 9, NULL), TN_OK);
    assert_string_equal(bytes, "old bytes");
    tn_source_release(source);
}

static void the_last_hold_closes_and_no_earlier_one(void **state)
{
    (void)state;
    put_text(at("held"), "bytes");
    tn_source *source = open_source(at("held"));
    assert_ptr_equal(tn_source_hold(source), source);
    tn_source_release(source);
    assert_int_equal(tn_os_remove(at("held"), NULL), TN_OK);
    char bytes[6] = {0};
    assert_int_equal(tn_source_read(source, 0, bytes, 5, NULL), TN_OK);
    assert_string_equal(bytes, "bytes");
    assert_true(tn_context_memory(context).used_bytes > 0);
    tn_source_release(source);
    assert_int_equal(tn_context_memory(context).used_bytes, 0);
}

static void what_is_no_file_is_refused_by_name(void **state)
{
    (void)state;
    assert_int_equal(tn_os_make_folders(at("folder"), NULL), TN_OK);
    tn_source *source = NULL;
    tn_error err;
    assert_int_equal(tn_source_open(context, at("folder"), &source, &err), TN_NOT_A_FILE);
    assert_string_equal(err.file, at("folder"));
    assert_int_equal(tn_source_open(context, at("absent"), &source, &err), TN_NOT_FOUND);
    assert_string_equal(err.file, at("absent"));
    assert_null(source);
}

static void as_placeholder(void *user, const char *path, tn_os_info *info)
{
    (void)user;
    (void)path;
    info->placeholder = true;
}

static void a_cloud_placeholder_is_named_and_not_read(void **state)
{
    (void)state;
    put_text(at("cloud"), "x");
    tn_os_hooks hooks = {.alter_info = as_placeholder};
    tn_os_set_hooks(&hooks);
    tn_source *source = NULL;
    tn_error err;
    assert_int_equal(tn_source_open(context, at("cloud"), &source, &err), TN_PLACEHOLDER);
    tn_os_set_hooks(NULL);
    assert_string_equal(err.file, at("cloud"));
    assert_null(source);
    assert_int_equal(tn_context_bytes_read(context), 0);
}

static void with_other_ids(void *user, const char *path, tn_os_info *info)
{
    (void)path;
    info->weak_identity = *(bool *)user;
    info->file_id[0]++;
}

static void file_ids_count_only_where_they_can_be_trusted(void **state)
{
    (void)state;
    put_text(at("weak"), "x");
    tn_source *source = open_source(at("weak"));
    bool weak = true;
    tn_os_hooks hooks = {.alter_info = with_other_ids, .user = &weak};
    tn_os_set_hooks(&hooks);
    assert_int_equal(tn_source_check(source, NULL), TN_OK);
    weak = false;
    assert_int_equal(tn_source_check(source, NULL), TN_CHANGED);
    tn_os_set_hooks(NULL);
    tn_source_release(source);
}

static void a_source_over_memory_reads_like_a_file(void **state)
{
    (void)state;
    tn_source *source = NULL;
    assert_int_equal(tn_source_over(context, "memory", 6, "<memory>", &source, NULL), TN_OK);
    assert_int_equal(tn_source_size(source), 6);
    assert_string_equal(tn_source_path(source), "<memory>");
    char bytes[4] = {0};
    assert_int_equal(tn_source_read(source, 2, bytes, 3, NULL), TN_OK);
    assert_string_equal(bytes, "mor");
    assert_int_equal(tn_source_check(source, NULL), TN_OK);
    tn_source_release(source);
    assert_int_equal(tn_source_over(context, NULL, 0, "", &source, NULL), TN_OK);
    assert_int_equal(tn_source_read(source, 0, bytes, 0, NULL), TN_OK);
    tn_source_release(source);
}

static void a_cancelled_context_reads_nothing(void **state)
{
    (void)state;
    put_text(at("cancel"), "x");
    tn_source *source = open_source(at("cancel"));
    tn_source *other = NULL;
    char byte;
    tn_context_cancel(context);
    assert_int_equal(tn_source_read(source, 0, &byte, 1, NULL), TN_CANCELLED);
    assert_int_equal(tn_source_check(source, NULL), TN_CANCELLED);
    assert_int_equal(tn_source_open(context, at("cancel"), &other, NULL), TN_CANCELLED);
    assert_null(other);
    tn_context_resume(context);
    assert_int_equal(tn_source_read(source, 0, &byte, 1, NULL), TN_OK);
    tn_source_release(source);
}

static tn_status cancel_at_read(void *user, const tn_os_call *call)
{
    unsigned *reads = user;
    if (call->operation == TN_OP_READ && ++*reads == 2)
        tn_context_cancel(context);
    return TN_OK;
}

static void a_long_read_notices_a_cancel_between_its_pieces(void **state)
{
    (void)state;
    const size_t size = (size_t)48 << 20;
    tn_os_file file;
    assert_int_equal(tn_os_open(at("long"), TN_OS_WRITE | TN_OS_CREATE, &file, NULL), TN_OK);
    assert_int_equal(tn_os_resize(&file, size, NULL), TN_OK);
    tn_os_close(&file);
    tn_source *source = open_source(at("long"));
    char *bytes = malloc(size);
    unsigned reads = 0;
    tn_os_hooks hooks = {.before = cancel_at_read, .user = &reads};
    tn_os_set_hooks(&hooks);
    assert_int_equal(tn_source_read(source, 0, bytes, size, NULL), TN_CANCELLED);
    tn_os_set_hooks(NULL);
    assert_int_equal(reads, 2);
    tn_context_resume(context);
    free(bytes);
    tn_source_release(source);
}

typedef struct faults {
    unsigned passes, asked;
    bool for_good;
} faults;

static tn_status fail_some(void *user, const tn_os_call *call)
{
    faults *f = user;
    (void)call;
    unsigned turn = f->asked++;
    return turn == f->passes || (turn > f->passes && f->for_good) ? TN_IO : TN_OK;
}

static tn_status open_read_check(tn_error *err)
{
    char bytes[4];
    tn_source *source = NULL;
    TN_TRY(tn_source_open(context, at("faulty"), &source, err));
    tn_status status = tn_source_read(source, 0, bytes, sizeof bytes, err);
    if (status == TN_OK)
        status = tn_source_check(source, err);
    tn_source_release(source);
    return status;
}

/* Fail the 1st, 2nd, ... call, once and for good: a status that names the file, and nothing is left behind. */
static void a_fault_in_any_call_is_a_status_that_names_the_file(void **state)
{
    (void)state;
    put_text(at("faulty"), "data");
    for (int for_good = 0; for_good <= 1; for_good++) {
        unsigned passes = 0;
        tn_status status;
        do {
            faults f = {.passes = passes++, .for_good = for_good == 1};
            tn_os_hooks hooks = {.before = fail_some, .user = &f};
            tn_error err;
            tn_os_set_hooks(&hooks);
            status = open_read_check(&err);
            tn_os_set_hooks(NULL);
            assert_true(status == TN_OK || status == TN_IO);
            if (status != TN_OK)
                assert_string_equal(err.file, at("faulty"));
            assert_int_equal(tn_context_memory(context).used_bytes, 0);
        } while (status != TN_OK);
        assert_in_range(passes, 6, 8); /* open, info, read, stamp, stamp, info at the path; then none */
    }
}

static void a_budget_too_small_for_a_source_refuses_it(void **state)
{
    (void)state;
    put_text(at("small"), "x");
    tn_context_options options = {.size = sizeof options, .memory_limit_bytes = 10};
    tn_context *tiny = NULL;
    assert_int_equal(tn_context_create(&options, &tiny, NULL), TN_OK);
    tn_source *source = NULL;
    assert_int_equal(tn_source_open(tiny, at("small"), &source, NULL), TN_OVER_BUDGET);
    assert_int_equal(tn_source_over(tiny, "x", 1, "x", &source, NULL), TN_OVER_BUDGET);
    assert_null(source);
    tn_context_destroy(tiny);
}

typedef struct readers {
    tn_source *source;
    _Atomic unsigned wrong;
} readers;

static tn_status read_somewhere(void *user, size_t item, tn_error *err)
{
    readers *r = user;
    uint32_t words[64];
    uint64_t first = item * 37 % (16384 - 64);
    tn_source *hold = tn_source_hold(r->source);
    tn_status status = tn_source_read(hold, first * 4, words, sizeof words, err);
    for (uint32_t i = 0; status == TN_OK && i < 64; i++)
        atomic_fetch_add(&r->wrong, words[i] != first + i);
    tn_source_release(hold);
    return status;
}

static void many_threads_read_one_source_at_once(void **state)
{
    (void)state;
    static uint32_t words[16384];
    for (uint32_t i = 0; i < 16384; i++)
        words[i] = i;
    put_file(at("shared"), words, sizeof words);
    readers r = {.source = open_source(at("shared"))};
    context->jobs = 4;
    assert_int_equal(tn_context_each(context, 2000, read_somewhere, &r, NULL), TN_OK);
    assert_int_equal(atomic_load(&r.wrong), 0);
    tn_source_release(r.source);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_test, end_test)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_read_gives_exactly_the_bytes_asked_for),
        TEST(a_read_past_the_end_says_what_is_there),
        TEST(a_file_cut_while_open_is_an_error_that_says_from_and_to),
        TEST(a_file_appended_to_while_open_is_an_error),
        TEST(a_file_overwritten_in_place_is_an_error),
        TEST(a_file_renamed_away_stays_readable_and_the_check_tells),
        TEST(the_last_hold_closes_and_no_earlier_one),
        TEST(what_is_no_file_is_refused_by_name),
        TEST(a_cloud_placeholder_is_named_and_not_read),
        TEST(file_ids_count_only_where_they_can_be_trusted),
        TEST(a_source_over_memory_reads_like_a_file),
        TEST(a_cancelled_context_reads_nothing),
        TEST(a_long_read_notices_a_cancel_between_its_pieces),
        TEST(a_fault_in_any_call_is_a_status_that_names_the_file),
        TEST(a_budget_too_small_for_a_source_refuses_it),
        TEST(many_threads_read_one_source_at_once),
    };
    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
