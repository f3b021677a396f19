/* Every call that asks the system can be made to fail, and every change of a disk is recorded. */
#include "support/check.h"
#include "support/scratch.h"

#include "os/os_fault.h"

typedef struct faults {
    tn_os_operation operation; /* the one that fails; TN_OP_COUNT: any */
    unsigned passes;           /* before the first failure */
    bool for_good;
    unsigned asked, failed;
    uint64_t write_first;
} faults;

static tn_status fail_some(void *user, const tn_os_call *call)
{
    faults *f = user;
    if (f->operation != TN_OP_COUNT && call->operation != f->operation)
        return TN_OK;
    unsigned turn = f->asked++;
    if (turn < f->passes || (turn > f->passes && !f->for_good))
        return TN_OK;
    f->failed++;
    if (call->write_first != NULL)
        *call->write_first = f->write_first;
    return TN_IO;
}

static tn_os_hooks hooks;

static faults *fail_on(faults *f)
{
    hooks = (tn_os_hooks){.before = fail_some, .user = f};
    tn_os_set_hooks(&hooks);
    return f;
}

static void nothing(void *argument)
{
    (void)argument;
}

static tn_status call_open(void)
{
    tn_os_file file;
    tn_status status = tn_os_open(at("file"), TN_OS_READ, &file, NULL);
    if (status == TN_OK)
        tn_os_close(&file);
    return status;
}

static tn_os_file held;

static tn_status call_info(void)
{
    tn_os_info info;
    return tn_os_info_of(&held, &info, NULL);
}

static tn_status call_info_at(void)
{
    tn_os_info info;
    return tn_os_info_at(at("file"), true, &info, NULL);
}

static tn_status call_stamp(void)
{
    uint64_t size;
    int64_t time;
    return tn_os_stamp_of(&held, &size, &time, NULL);
}

static tn_status call_read(void)
{
    char byte;
    size_t got;
    return tn_os_read(&held, 0, &byte, 1, &got, NULL);
}

static tn_status call_write(void)
{
    return tn_os_write(&held, 0, "x", 1, NULL);
}

static tn_status call_resize(void)
{
    return tn_os_resize(&held, 1, NULL);
}

static tn_status call_sync(void)
{
    return tn_os_sync(&held, NULL);
}

static tn_status call_make_folder(void)
{
    return tn_os_make_folder(at("made"), NULL);
}

static tn_status call_remove_folder(void)
{
    return tn_os_remove_folder(at("made"), NULL);
}

static tn_status call_rename(void)
{
    return tn_os_rename(at("other"), at("renamed"), true, NULL);
}

static tn_status call_remove(void)
{
    return tn_os_remove(at("renamed"), NULL);
}

static tn_status call_sync_folder(void)
{
    return tn_os_sync_folder(scratch_folder, NULL);
}

static tn_status call_folder_open(void)
{
    tn_os_folder *folder;
    tn_status status = tn_os_folder_open(&scratch_memory, scratch_folder, &folder, NULL);
    if (status == TN_OK)
        tn_os_folder_close(folder);
    return status;
}

static tn_status call_folder_next(void)
{
    tn_os_folder *folder;
    tn_os_entry entry;
    bool more;
    assert_int_equal(tn_os_folder_open(&scratch_memory, scratch_folder, &folder, NULL), TN_OK);
    tn_status status = tn_os_folder_next(folder, &entry, &more, NULL);
    tn_os_folder_close(folder);
    return status;
}

static tn_status call_window(void)
{
    tn_os_window window;
    tn_status status = tn_os_window_open(&held, 0, 1, &window, NULL);
    if (status == TN_OK)
        tn_os_window_close(&window);
    return status;
}

static tn_status call_lock(void)
{
    tn_status status = tn_os_lock(&held, 1, NULL);
    tn_os_unlock(&held, 1);
    return status;
}

static tn_status call_thread(void)
{
    tn_os_thread *thread;
    tn_status status = tn_os_thread_start(&scratch_memory, nothing, NULL, &thread, NULL);
    if (status == TN_OK)
        tn_os_thread_join(thread);
    return status;
}

static tn_buffer program;

static tn_status call_run(void)
{
    const char *argv[] = {program.bytes, "--exit-0", NULL};
    tn_os_exit how;
    return tn_os_run(argv, &how, NULL);
}

static tn_status call_real_path(void)
{
    tn_buffer out;
    tn_buffer_init(&out, &scratch_memory, 65536);
    tn_status status = tn_os_real_path(at("file"), &out, NULL);
    tn_buffer_free(&out);
    return status;
}

static tn_status call_absolute_path(void)
{
    tn_buffer out;
    tn_buffer_init(&out, &scratch_memory, 65536);
    tn_status status = tn_os_absolute_path("x", &out, NULL);
    tn_buffer_free(&out);
    return status;
}

static tn_status call_program_path(void)
{
    tn_buffer out;
    tn_buffer_init(&out, &scratch_memory, 65536);
    tn_status status = tn_os_program_path(&out, NULL);
    tn_buffer_free(&out);
    return status;
}

/* What this system or its file system has not: as good as done. */
static tn_status or_unavailable(tn_status status)
{
    return status == TN_UNAVAILABLE ? TN_OK : status;
}

static tn_status call_share_data(void)
{
    tn_os_file empty = {0};
    assert_int_equal(tn_os_open(at("empty"), TN_OS_WRITE | TN_OS_CREATE | TN_OS_TRUNCATE, &empty, NULL), TN_OK);
    tn_status status = or_unavailable(tn_os_share_data(&held, &empty, NULL));
    tn_os_close(&empty);
    return status;
}

static tn_status call_next_data(void)
{
    uint64_t begin, end;
    return tn_os_next_data(&held, 0, &begin, &end, NULL);
}

static tn_status call_keep_attributes(void)
{
    return tn_os_keep_attributes(&held, &held, NULL);
}

static tn_status call_space(void)
{
    uint64_t bytes;
    return tn_os_space(scratch_folder, &bytes, NULL);
}

static tn_status call_make_link(void)
{
    return or_unavailable(tn_os_make_link(at("link"), "file", NULL));
}

static tn_status call_read_link(void)
{
    tn_buffer out;
    tn_buffer_init(&out, &scratch_memory, 65536);
    tn_status status = or_unavailable(tn_os_read_link(at("link"), &out, NULL));
    tn_buffer_free(&out);
    return status;
}

static tn_status call_watch(void)
{
    const char *const folders[] = {scratch_folder};
    tn_os_watch *watch = NULL;
    tn_status status = tn_os_watch_open(&scratch_memory, folders, 1, &watch, NULL);
    tn_os_watch_close(watch);
    return status;
}

static tn_status call_pages(void)
{
    void *pages;
    tn_status status = tn_os_pages_take(4096, &pages, NULL);
    if (status == TN_OK)
        tn_os_pages_give(pages, 4096);
    return status;
}

static tn_status call_read_pieces(void)
{
    char byte;
    size_t got;
    return tn_os_read_pieces(&held, 0, &(tn_os_piece){&byte, 1}, 1, &got, NULL);
}

static const struct {
    tn_os_operation operation;
    tn_status (*call)(void);
} calls[] = {
    {TN_OP_OPEN, call_open}, {TN_OP_INFO, call_info}, {TN_OP_INFO, call_info_at}, {TN_OP_INFO, call_stamp},
    {TN_OP_READ, call_read}, {TN_OP_WRITE, call_write}, {TN_OP_RESIZE, call_resize}, {TN_OP_SYNC, call_sync},
    {TN_OP_MAKE_FOLDER, call_make_folder}, {TN_OP_REMOVE_FOLDER, call_remove_folder}, {TN_OP_RENAME, call_rename},
    {TN_OP_REMOVE, call_remove}, {TN_OP_SYNC_FOLDER, call_sync_folder}, {TN_OP_FOLDER_OPEN, call_folder_open},
    {TN_OP_FOLDER_NEXT, call_folder_next}, {TN_OP_WINDOW, call_window}, {TN_OP_LOCK, call_lock},
    {TN_OP_THREAD, call_thread}, {TN_OP_RUN, call_run}, {TN_OP_PATH, call_real_path},
    {TN_OP_PATH, call_absolute_path}, {TN_OP_PATH, call_program_path},
    {TN_OP_WATCH, call_watch}, {TN_OP_NEXT_DATA, call_next_data}, {TN_OP_ATTRIBUTES, call_keep_attributes},
    {TN_OP_SPACE, call_space}, {TN_OP_SHARE_DATA, call_share_data}, {TN_OP_MAKE_LINK, call_make_link}, {TN_OP_READ_LINK, call_read_link},
    {TN_OP_PAGES, call_pages}, {TN_OP_READ, call_read_pieces},
};

static void every_call_can_be_made_to_fail_once_and_works_again(void **state)
{
    (void)state;
    put_text(at("file"), "content");
    put_text(at("other"), "content");
    assert_int_equal(tn_os_open(at("file"), TN_OS_WRITE, &held, NULL), TN_OK);
    bool covered[TN_OP_COUNT] = {false};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        faults f = {.operation = calls[i].operation};
        fail_on(&f);
        tn_status failing = calls[i].call();
        tn_status working = calls[i].call();
        tn_os_set_hooks(NULL);
        if (failing != TN_IO || working != TN_OK)
            fail_msg("%s, call %u: %s, then %s", tn_os_operation_name(calls[i].operation), (unsigned)i,
                     tn_status_word(failing), tn_status_word(working));
        assert_int_equal(f.failed, 1);
        covered[calls[i].operation] = true;
    }
    for (unsigned i = 0; i < TN_OP_COUNT; i++)
        if (!covered[i] && i != TN_OP_TRASH) /* that is a person's; the library's tests have one of their own */
            fail_msg("no call of %s is tried", tn_os_operation_name((tn_os_operation)i));
    tn_os_close(&held);
}

static void a_call_made_to_fail_changes_nothing(void **state)
{
    (void)state;
    put_text(at("kept"), "kept");
    tn_os_file file;
    assert_int_equal(tn_os_open(at("kept"), TN_OS_WRITE, &file, NULL), TN_OK);
    faults f = {.operation = TN_OP_COUNT, .for_good = true};
    fail_on(&f);
    tn_error err;
    assert_int_equal(tn_os_write(&file, 0, "LOST", 4, NULL), TN_IO);
    assert_int_equal(tn_os_resize(&file, 0, NULL), TN_IO);
    assert_int_equal(tn_os_rename(at("kept"), at("elsewhere"), true, NULL), TN_IO);
    assert_int_equal(tn_os_remove(at("kept"), &err), TN_IO);
    assert_int_equal(tn_os_replace_file(at("kept"), "x", 1, NULL), TN_IO);
    tn_os_set_hooks(NULL);
    tn_os_close(&file);
    assert_string_equal(err.file, at("kept"));
    assert_text(at("kept"), "kept");
}

static void a_write_may_be_torn(void **state)
{
    (void)state;
    put_text(at("torn"), "........");
    tn_os_file file;
    assert_int_equal(tn_os_open(at("torn"), TN_OS_WRITE, &file, NULL), TN_OK);
    faults f = {.operation = TN_OP_WRITE, .write_first = 3};
    fail_on(&f);
    assert_int_equal(tn_os_write(&file, 1, "abcdef", 6, NULL), TN_IO);
    tn_os_set_hooks(NULL);
    tn_os_close(&file);
    assert_text(at("torn"), ".abc....");
}

typedef struct record {
    char text[512];
} record;

static void note(void *user, const tn_os_call *call)
{
    record *r = user;
    size_t size = strlen(r->text);
    snprintf(r->text + size, sizeof r->text - size, "%s ", tn_os_operation_name(call->operation));
    if (call->operation == TN_OP_WRITE)
        assert_memory_equal(call->bytes, "data", 4);
}

/* The order that survives a power cut: bytes flushed before the name points to them. */
static void replacing_is_recorded_in_the_order_that_keeps_it_whole(void **state)
{
    (void)state;
    record r = {""};
    hooks = (tn_os_hooks){.after = note, .user = &r};
    tn_os_set_hooks(&hooks);
    assert_int_equal(tn_os_replace_file(at("recorded"), "data", 4, NULL), TN_OK);
    tn_os_set_hooks(NULL);
    assert_string_equal(r.text, "open write sync rename sync_folder ");
}

static void only_changes_that_happened_are_recorded(void **state)
{
    (void)state;
    record r = {""};
    put_text(at("quiet"), "data");
    tn_os_file file;
    hooks = (tn_os_hooks){.after = note, .user = &r};
    tn_os_set_hooks(&hooks);
    assert_int_equal(tn_os_open(at("quiet"), TN_OS_READ, &file, NULL), TN_OK);
    char byte;
    size_t got;
    assert_int_equal(tn_os_read(&file, 0, &byte, 1, &got, NULL), TN_OK);
    assert_int_equal(tn_os_remove(at("absent"), NULL), TN_NOT_FOUND);
    assert_int_equal(tn_os_rename(at("absent"), at("x"), true, NULL), TN_NOT_FOUND);
    tn_os_set_hooks(NULL);
    tn_os_close(&file);
    assert_string_equal(r.text, "");
}

/* Fail the first, second, ... call, once and for good: the file holds the old bytes or the new ones, whole. */
static void a_replace_that_fails_anywhere_leaves_one_whole_file(void **state)
{
    (void)state;
    assert_int_equal(tn_os_make_folder(at("loop"), NULL), TN_OK);
    for (int for_good = 0; for_good <= 1; for_good++) {
        unsigned passes = 0;
        tn_status status;
        do {
            put_text(at("loop/file"), "old");
            faults f = {.operation = TN_OP_COUNT, .passes = passes++, .for_good = for_good == 1, .write_first = 2};
            fail_on(&f);
            status = tn_os_replace_file(at("loop/file"), "new!", 4, NULL);
            tn_os_set_hooks(NULL);
            char bytes[8] = {0};
            size_t got;
            tn_os_file file;
            assert_int_equal(tn_os_open(at("loop/file"), TN_OS_READ, &file, NULL), TN_OK);
            assert_int_equal(tn_os_read(&file, 0, bytes, sizeof bytes, &got, NULL), TN_OK);
            tn_os_close(&file);
            assert_true(strcmp(bytes, "old") == 0 || strcmp(bytes, "new!") == 0);
            assert_int_equal(entries_in(at("loop")), 1);
        } while (status != TN_OK);
        assert_in_range(passes, 5, 12);
    }
}

static void forge(void *user, const char *path, tn_os_info *info)
{
    (void)user;
    (void)path;
    info->placeholder = true;
    info->weak_identity = true;
}

static void what_is_known_of_a_file_may_be_forged(void **state)
{
    (void)state;
    put_text(at("forged"), "x");
    tn_os_info info;
    hooks = (tn_os_hooks){.alter_info = forge};
    tn_os_set_hooks(&hooks);
    assert_int_equal(tn_os_info_at(at("forged"), true, &info, NULL), TN_OK);
    tn_os_set_hooks(NULL);
    assert_true(info.placeholder && info.weak_identity);
}

static void operations_have_names_and_strangers_do_not_crash(void **state)
{
    (void)state;
    for (unsigned i = 0; i < TN_OP_COUNT; i++)
        assert_string_not_equal(tn_os_operation_name((tn_os_operation)i), "unknown");
    assert_string_equal(tn_os_operation_name(TN_OP_COUNT), "unknown");
}

static int begin(void **state)
{
    if (scratch_begin(state) != 0)
        return -1;
    tn_buffer_init(&program, &scratch_memory, 65536);
    return tn_os_program_path(&program, NULL) == TN_OK ? 0 : -1;
}

static int end(void **state)
{
    tn_buffer_free(&program);
    return scratch_end(state);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--exit-0") == 0)
        return 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_can_be_made_to_fail_once_and_works_again),
        cmocka_unit_test(a_call_made_to_fail_changes_nothing),
        cmocka_unit_test(a_write_may_be_torn),
        cmocka_unit_test(replacing_is_recorded_in_the_order_that_keeps_it_whole),
        cmocka_unit_test(only_changes_that_happened_are_recorded),
        cmocka_unit_test(a_replace_that_fails_anywhere_leaves_one_whole_file),
        cmocka_unit_test(what_is_known_of_a_file_may_be_forged),
        cmocka_unit_test(operations_have_names_and_strangers_do_not_crash),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
