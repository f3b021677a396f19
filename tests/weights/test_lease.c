/* What include/tenure/lease.h promises of leases: memory, refusals, lists, views, ways, progress. */
#include "support/weights.h"

#include "os/os_fault.h"

static const row rows[] = {
    {"a", TN_F32, 2, {64, 1000}}, {"b", TN_F16, 1, {7}}, {"empty", TN_F32, 2, {3, 0}},
    {"c", TN_U8, 1, {3}},         {"d", TN_F16, 2, {3000, 1000}}, {"e", TN_U8, 1, {12000000}},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static size_t number_of(tn_text name)
{
    for (size_t i = 0; i < ROWS; i++)
        if (strlen(rows[i].name) == name.size && memcmp(rows[i].name, name.bytes, name.size) == 0)
            return i;
    fail();
    return 0;
}

static tn_checkpoint *open_rows(unsigned spaces)
{
    put_tensors(at("a.safetensors"), rows, ROWS, 1, spaces);
    return open_weights(at("a.safetensors"));
}

static void assert_row(const tn_lease *lease, uint64_t seed)
{
    size_t n = number_of(lease->name);
    assert_int_equal(lease->dtype, rows[n].dtype);
    assert_int_equal(lease->size_bytes, bytes_of(&rows[n]));
    assert_non_null(lease->data);
    if (lease->way != TN_WAY_VIEW)
        assert_int_equal((uintptr_t)lease->data % 64, 0);
    assert_bytes(lease->data, (size_t)lease->size_bytes, seed, data_at(rows, n));
}

static void each_tensor_is_its_bytes_wherever_the_data_begins(void **state)
{
    (void)state;
    for (unsigned spaces = 0; spaces < 8; spaces += 3) {
        tn_checkpoint *checkpoint = open_rows(spaces);
        for (size_t i = 0; i < ROWS; i++) {
            tn_lease *lease = lease_of(checkpoint, rows[i].name);
            assert_row(lease, 1);
            tn_lease_release(lease);
        }
        tn_checkpoint_release(checkpoint);
    }
}

/* ---- lists ---- */

static void many_come_in_the_order_asked_for(void **state)
{
    (void)state;
    tn_checkpoint *checkpoint = open_rows(3);
    const tn_tensor *all;
    assert_int_equal(tn_checkpoint_tensors(checkpoint, &all), ROWS);
    const tn_tensor *wanted[] = {&all[5], &all[0], &all[5], &all[2], &all[1], &all[4], &all[0]};
    static const tn_way ways[] = {TN_WAY_AUTOMATIC, TN_WAY_READ, TN_WAY_THREADS, TN_WAY_DIRECT};
    for (size_t w = 0; w < 8; w++) {
        tn_lease *out[7] = {NULL};
        tn_lease_options options = TN_LEASE_OPTIONS_INIT;
        options.way = ways[w % 4];
        options.flags = w < 4 ? 0 : TN_LEASE_DROP_BEHIND;
        assert_int_equal(tn_lease_many(checkpoint, wanted, 7, &options, out, NULL), TN_OK);
        for (size_t i = 0; i < 7; i++) {
            assert_int_equal(number_of(out[i]->name), wanted[i] - all);
            assert_row(out[i], 1);
        }
        assert_ptr_not_equal(out[0]->data, out[2]->data);
        for (size_t i = 0; i < 7; i++)
            tn_lease_release(out[i]);
    }
    assert_int_equal(tn_lease_many(checkpoint, NULL, 0, NULL, NULL, NULL), TN_INVALID);
    assert_int_equal(tn_lease_many(checkpoint, wanted, 0, NULL, NULL, NULL), TN_OK);
    tn_checkpoint_release(checkpoint);
}

static tn_status count_reads(void *user, const tn_os_call *call)
{
    *(unsigned *)user += call->operation == TN_OP_READ;
    return TN_OK;
}

static void hundreds_of_small_ones_are_read_together(void **state)
{
    (void)state;
    enum { COUNT = 500 };
    static row small[COUNT];
    static char names[COUNT][8];
    for (size_t i = 0; i < COUNT; i++) {
        snprintf(names[i], sizeof names[i], "t%03zu", i);
        small[i] = (row){names[i], TN_U8, 1, {1 + i * 37 % 3001}};
    }
    put_tensors(at("a.safetensors"), small, COUNT, 4, 1);
    tn_checkpoint *checkpoint = open_weights(at("a.safetensors"));
    const tn_tensor *all;
    const tn_tensor *odd[COUNT / 2];
    tn_lease *out[COUNT];
    tn_checkpoint_tensors(checkpoint, &all);
    for (size_t i = 0; i < COUNT / 2; i++)
        odd[i] = &all[COUNT - 1 - 2 * i]; /* backwards, with gaps of at most 3,001 bytes */
    unsigned reads = 0;
    tn_os_hooks hooks = {.before = count_reads, .user = &reads};
    tn_os_set_hooks(&hooks);
    assert_int_equal(tn_lease_many(checkpoint, odd, COUNT / 2, NULL, out, NULL), TN_OK);
    tn_os_set_hooks(NULL);
    assert_true(on_windows() || reads <= COUNT / 2 / 32 + 1); /* 32 at a time */
    for (size_t i = 0; i < COUNT / 2; i++) {
        size_t n = COUNT - 1 - 2 * i;
        assert_int_equal(out[i]->size_bytes, bytes_of(&small[n]));
        assert_bytes(out[i]->data, (size_t)out[i]->size_bytes, 4, data_at(small, n));
        tn_lease_release(out[i]);
    }
    tn_checkpoint_release(checkpoint);
}

/* ---- views ---- */

static tn_lease *view_of(const tn_checkpoint *checkpoint, const char *name)
{
    tn_lease_options options = TN_LEASE_OPTIONS_INIT;
    options.flags = TN_LEASE_VIEW;
    return lease_with(checkpoint, name, &options);
}

static void a_view_reads_nothing_and_costs_a_page_table(void **state)
{
    (void)state;
    tn_checkpoint *checkpoint = open_rows(0);
    uint64_t read = tn_context_bytes_read(context), used = tn_context_memory(context).used_bytes;
    tn_lease *view = view_of(checkpoint, "a");
    assert_int_equal(view->way, TN_WAY_VIEW);
    assert_null(view->owned);
    assert_int_equal(tn_context_bytes_read(context), read);
    assert_in_range(tn_context_memory(context).used_bytes - used, 1, 2048);
    tn_checkpoint_release(checkpoint);
    assert_row(view, 1);
    uint8_t *copy = malloc(view->size_bytes);
    assert_int_equal(tn_lease_copy(view, copy, view->size_bytes, NULL), TN_OK);
    assert_bytes(copy, view->size_bytes, 1, 0);
    assert_int_equal(tn_lease_copy(view, copy, view->size_bytes - 1, NULL), TN_INVALID);
    free(copy);
    tn_lease_release(view);
}

static void what_cannot_be_a_view_is_copied_and_says_why(void **state)
{
    (void)state;
    tn_checkpoint *checkpoint = open_rows(2);
    tn_lease *lease = view_of(checkpoint, "a");
    assert_int_equal(lease->way, TN_WAY_READ);
    assert_non_null(lease->owned);
    assert_non_null(strstr(lease->reason, "multiple of its item size"));
    assert_row(lease, 1);
    tn_lease_release(lease);
    lease = view_of(checkpoint, "empty");
    assert_int_equal(lease->way, TN_WAY_NONE);
    tn_lease_release(lease);
    lease = view_of(checkpoint, "e"); /* bytes are aligned everywhere */
    assert_int_equal(lease->way, TN_WAY_VIEW);
    assert_row(lease, 1);
    tn_lease_release(lease);
    tn_checkpoint_release(checkpoint);
}

static void on_a_network(void *user, const char *path, tn_os_info *info)
{
    (void)user;
    (void)path;
    info->weak_identity = true;
}

static void from_a_network(void *user, tn_os_disk *disk)
{
    (void)user;
    *disk = TN_OS_DISK_NETWORK;
}

static void a_file_on_a_network_is_read_with_several_reads_under_way_and_never_viewed(void **state)
{
    (void)state;
    tn_os_hooks hooks = {.alter_info = on_a_network, .alter_disk = from_a_network};
    tn_os_set_hooks(&hooks);
    tn_checkpoint *checkpoint = open_rows(0);
    tn_lease *lease = view_of(checkpoint, "e");
    assert_int_equal(lease->way, TN_WAY_THREADS);
    assert_non_null(strstr(lease->reason, "network"));
    assert_row(lease, 1);
    tn_lease_release(lease);
    lease = lease_of(checkpoint, "e");
    assert_int_equal(lease->way, TN_WAY_THREADS);
    assert_non_null(strstr(lease->reason, "network"));
    tn_lease_release(lease);
    tn_checkpoint_release(checkpoint);
    tn_os_set_hooks(NULL);
}

static void views_of_many_share_windows(void **state)
{
    (void)state;
    tn_checkpoint *checkpoint = open_rows(0);
    tn_lease *out[ROWS];
    tn_lease_options options = TN_LEASE_OPTIONS_INIT;
    options.flags = TN_LEASE_VIEW;
    assert_int_equal(tn_lease_many(checkpoint, NULL, ROWS, &options, out, NULL), TN_OK);
    tn_checkpoint_release(checkpoint);
    for (size_t i = 0; i < ROWS; i++) {
        bool aligned = i != 4; /* behind an odd number of bytes */
        assert_int_equal(out[i]->way == TN_WAY_VIEW, aligned && out[i]->elements > 0);
        assert_row(out[i], 1);
        tn_lease_release(out[i]);
    }
}

/* ---- the budget ---- */

static void what_does_not_fit_is_refused_with_numbers_before_anything_is_read(void **state)
{
    (void)state;
    tn_context_destroy(context);
    weights_setup_with(8u << 20, 2);
    tn_checkpoint *checkpoint = open_rows(0);
    tn_lease *out[ROWS] = {NULL};
    tn_error err;
    tn_lease_release(lease_of(checkpoint, "b")); /* the file is open from here on */
    uint64_t read = tn_context_bytes_read(context), used = tn_context_memory(context).used_bytes;
    assert_int_equal(tn_lease_many(checkpoint, NULL, ROWS, NULL, out, &err), TN_OVER_BUDGET);
    assert_int_equal(err.expected, 8u << 20);
    assert_int_equal(err.found, 256000 + 14 + 3 + 6000000 + 12000000);
    assert_non_null(strstr(err.message, "18.3 MB of memory are needed"));
    assert_non_null(strstr(err.message, "of the budget of 8.4 MB"));
    assert_non_null(strstr(err.message, "the system has"));
    assert_null(out[0]);
    assert_int_equal(tn_lease_named(checkpoint, "e", NULL, out, &err), TN_OVER_BUDGET);
    assert_string_equal(err.tensor, "e");
    assert_non_null(strstr(err.message, "12.0 MB"));
    assert_int_equal(tn_context_bytes_read(context), read);
    assert_int_equal(tn_context_memory(context).used_bytes, used);
    tn_lease *fits = lease_of(checkpoint, "d"); /* a region of 32 MiB does not fit, one of its own size does */
    assert_row(fits, 1);
    tn_lease_release(fits);
    tn_checkpoint_release(checkpoint);
}

static void memory_of_released_leases_is_kept_and_given_up_before_a_refusal(void **state)
{
    (void)state;
    tn_context_destroy(context);
    weights_setup_with(64u << 20, 1);
    tn_checkpoint *checkpoint = open_rows(0);
    tn_lease *lease = lease_of(checkpoint, "e");
    const void *data = lease->data;
    uint64_t resting = tn_context_memory(context).used_bytes - lease->size_bytes;
    tn_lease_release(lease);
    assert_int_equal(tn_context_memory(context).kept_bytes, 12u << 20); /* 12,000,000 in whole 2 MiB */
    assert_in_range(tn_context_memory(context).used_bytes, 1, resting);
    lease = lease_of(checkpoint, "e");
    assert_ptr_equal(lease->data, data);
    assert_int_equal(tn_context_memory(context).kept_bytes, 0);
    assert_row(lease, 1);
    tn_lease_release(lease);
    assert_int_equal(tn_context_memory(context).refused, 0);
    void *most;
    uint64_t left = tn_context_memory(context).limit_bytes - tn_context_memory(context).used_bytes;
    assert_int_equal(tn_take(&context->memory, (size_t)left, &most, NULL), TN_OK);
    assert_int_equal(tn_context_memory(context).kept_bytes, 0);
    tn_give(&context->memory, most, (size_t)left);
    tn_checkpoint_release(checkpoint);
}

static void the_cost_is_what_is_charged(void **state)
{
    (void)state;
    tn_checkpoint *checkpoint = open_rows(0);
    tn_cost cost;
    tn_lease *out[ROWS];
    uint64_t read = tn_context_bytes_read(context);
    assert_int_equal(tn_cost_of(checkpoint, NULL, ROWS, NULL, &cost, NULL), TN_OK);
    assert_int_equal(tn_context_bytes_read(context), read);
    assert_int_equal(cost.tensors, ROWS);
    assert_int_equal(cost.bytes, 18256017);
    assert_int_equal(cost.bytes_by_dtype[TN_U8], 12000003);
    assert_int_equal(cost.bytes_by_dtype[TN_F16], 6000014);
    assert_int_equal(cost.largest_bytes, 12000000);
    uint64_t ways = 0;
    for (size_t i = 0; i < TN_WAY_COUNT; i++)
        ways += cost.bytes_by_way[i];
    assert_int_equal(ways, cost.bytes);
    uint64_t before = tn_context_memory(context).used_bytes;
    assert_int_equal(tn_lease_many(checkpoint, NULL, ROWS, NULL, out, NULL), TN_OK);
    uint64_t charged = tn_context_memory(context).used_bytes - before;
    assert_in_range(charged, cost.memory_bytes, cost.memory_bytes + (34u << 20));
    for (size_t i = 0; i < ROWS; i++) {
        assert_true(cost.bytes_by_way[out[i]->way] > 0 || out[i]->elements == 0);
        tn_lease_release(out[i]);
    }
    tn_lease_options options = TN_LEASE_OPTIONS_INIT;
    options.flags = TN_LEASE_VIEW;
    assert_int_equal(tn_cost_of(checkpoint, NULL, ROWS, &options, &cost, NULL), TN_OK);
    assert_int_equal(cost.bytes_by_way[TN_WAY_VIEW], 18256017 - 6000000);
    tn_checkpoint_release(checkpoint);
}

/* ---- refusals ---- */

static void wrong_calls_are_refused(void **state)
{
    (void)state;
    tn_checkpoint *checkpoint = open_rows(0);
    const tn_tensor *all;
    tn_tensor other;
    tn_lease *lease = NULL;
    tn_error err;
    tn_checkpoint_tensors(checkpoint, &all);
    other = all[0];
    assert_int_equal(tn_lease_named(checkpoint, "nobody", NULL, &lease, &err), TN_INVALID);
    assert_string_equal(err.tensor, "nobody");
    assert_int_equal(tn_lease_tensor(checkpoint, &other, NULL, &lease, &err), TN_INVALID);
    assert_int_equal(tn_lease_tensor(checkpoint, NULL, NULL, &lease, &err), TN_INVALID);
    tn_lease_options options = TN_LEASE_OPTIONS_INIT;
    options.flags = 1u << 20;
    assert_int_equal(tn_lease_tensor(checkpoint, all, &options, &lease, &err), TN_INVALID);
    options = (tn_lease_options)TN_LEASE_OPTIONS_INIT;
    options.way = TN_WAY_GATHER;
    assert_int_equal(tn_lease_tensor(checkpoint, all, &options, &lease, &err), TN_INVALID);
    options = (tn_lease_options)TN_LEASE_OPTIONS_INIT;
    options.size = 3;
    assert_int_equal(tn_lease_tensor(checkpoint, all, &options, &lease, &err), TN_INVALID);
    tn_index one = {TN_INDEX_AT, 0, 0, 0};
    options = (tn_lease_options)TN_LEASE_OPTIONS_INIT;
    options.index = &one;
    options.index_count = 1;
    const tn_tensor *some[] = {all};
    assert_int_equal(tn_lease_many(checkpoint, some, 1, &options, &lease, &err), TN_INVALID);
    assert_null(lease);
    tn_checkpoint_release(checkpoint);
}

static void a_damaged_file_is_leased_only_when_that_is_asked_for(void **state)
{
    (void)state;
    tn_os_file file;
    size_t head = put_tensors(at("a.safetensors"), rows, ROWS, 1, 0);
    assert_int_equal(tn_os_open(at("a.safetensors"), TN_OS_WRITE, &file, NULL), TN_OK);
    assert_int_equal(tn_os_resize(&file, head + data_at(rows, 5) + 1000, NULL), TN_OK);
    tn_os_close(&file);
    tn_checkpoint *checkpoint = open_weights(at("a.safetensors"));
    tn_lease_options lenient = TN_LEASE_OPTIONS_INIT;
    lenient.flags = TN_LEASE_LENIENT;
    tn_lease *lease = NULL;
    tn_error err;
    assert_int_equal(tn_lease_named(checkpoint, "a", NULL, &lease, &err), TN_TRUNCATED);
    assert_int_equal(tn_lease_named(checkpoint, "e", &lenient, &lease, &err), TN_TRUNCATED);
    assert_string_equal(err.tensor, "e");
    assert_int_equal(err.expected, 12000000);
    assert_int_equal(err.found, 1000);
    assert_non_null(strstr(err.file, "a.safetensors"));
    lease = lease_with(checkpoint, "d", &lenient);
    assert_row(lease, 1);
    tn_lease_release(lease);
    tn_checkpoint_release(checkpoint);
}

/* ---- progress ---- */

typedef struct listener {
    uint64_t calls, last, stop_at;
    bool went_back;
} listener;

static bool listen_to(void *user, uint64_t done, uint64_t total)
{
    listener *l = user;
    l->calls++;
    l->went_back |= done < l->last || done > total;
    l->last = done;
    return l->stop_at == 0 || done < l->stop_at;
}

static void progress_is_told_and_can_end_the_call(void **state)
{
    (void)state;
    tn_checkpoint *checkpoint = open_rows(0);
    tn_lease *out[ROWS] = {NULL};
    listener l = {0};
    tn_lease_options options = TN_LEASE_OPTIONS_INIT;
    options.progress = listen_to;
    options.user = &l;
    options.way = TN_WAY_READ;
    assert_int_equal(tn_lease_many(checkpoint, NULL, ROWS, &options, out, NULL), TN_OK);
    assert_true(l.calls > 3 && !l.went_back);
    assert_int_equal(l.last, 18256017);
    for (size_t i = 0; i < ROWS; i++)
        tn_lease_release(out[i]);
    static const tn_way ways[] = {TN_WAY_READ, TN_WAY_THREADS, TN_WAY_DIRECT};
    for (size_t w = 0; w < 3; w++) {
        tn_error err;
        l = (listener){.stop_at = 5000000};
        options.way = ways[w];
        tn_lease *none = NULL;
        assert_int_equal(tn_lease_named(checkpoint, "e", &options, &none, &err), TN_CANCELLED);
        assert_null(none);
    }
    tn_context_cancel(context);
    assert_int_equal(tn_lease_named(checkpoint, "b", NULL, out, NULL), TN_CANCELLED);
    tn_context_resume(context);
    tn_checkpoint_release(checkpoint);
}

/* ---- the file changes ---- */

static void write_byte(const char *path, uint64_t offset)
{
    tn_os_file file;
    assert_int_equal(tn_os_open(path, TN_OS_WRITE, &file, NULL), TN_OK);
    assert_int_equal(tn_os_write(&file, offset, "!", 1, NULL), TN_OK);
    tn_os_close(&file);
}

static void a_file_written_to_is_an_error_and_old_leases_keep_their_bytes(void **state)
{
    (void)state;
    tn_checkpoint *checkpoint = open_rows(0);
    tn_lease *before = lease_of(checkpoint, "d"), *lease = NULL;
    tn_error err;
    tn_os_sleep_ms(20); /* times of files are coarse */
    write_byte(at("a.safetensors"), 4000);
    static const char *const names[] = {"a", "b", "d", "e"};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(tn_lease_named(checkpoint, names[i], NULL, &lease, &err), TN_CHANGED);
        assert_string_equal(err.tensor, names[i]);
        assert_non_null(strstr(err.file, "a.safetensors"));
    }
    tn_lease *out[ROWS] = {NULL};
    assert_int_equal(tn_lease_many(checkpoint, NULL, ROWS, NULL, out, &err), TN_CHANGED);
    assert_true(err.tensor[0] != '\0'); /* of whichever thread met it first */
    assert_null(out[0]);
    assert_row(before, 1);
    tn_lease_release(before);
    tn_checkpoint_release(checkpoint);
}

static void a_file_changed_before_the_first_lease_is_an_error(void **state)
{
    (void)state;
    tn_error err;
    tn_lease *lease = NULL;
    tn_checkpoint *checkpoint = open_rows(0);
    put_tensors(at("b.safetensors"), rows, ROWS, 2, 0);
    assert_true(replace_file(at("b.safetensors"), at("a.safetensors"))); /* not open */
    assert_int_equal(tn_lease_named(checkpoint, "a", NULL, &lease, &err), TN_CHANGED);
    assert_non_null(strstr(err.message, "another file"));
    assert_string_equal(err.tensor, "a");
    assert_int_equal(tn_checkpoint_keep_files(checkpoint, &err), TN_CHANGED);
    tn_checkpoint_release(checkpoint);
}

static void a_file_that_is_kept_is_read_after_it_was_replaced_and_deleted(void **state)
{
    (void)state;
    tn_checkpoint *checkpoint = open_rows(0);
    assert_int_equal(tn_checkpoint_keep_files(checkpoint, NULL), TN_OK);
    put_tensors(at("b.safetensors"), rows, ROWS, 2, 0);
    (void)replace_file(at("b.safetensors"), at("a.safetensors"));
    tn_lease *lease = lease_of(checkpoint, "d");
    assert_row(lease, 1);
    assert_int_equal(tn_os_remove(at("a.safetensors"), NULL), TN_OK);
    tn_lease *more = lease_of(checkpoint, "e");
    assert_row(more, 1);
    tn_lease_release(more);
    tn_lease_release(lease);
    tn_checkpoint_release(checkpoint);
}

static void a_copy_out_of_a_view_whose_pages_are_gone_is_an_error(void **state)
{
    (void)state;
    tn_os_file file;
    tn_error err;
    tn_checkpoint *checkpoint = open_rows(0);
    tn_lease *view = view_of(checkpoint, "e");
    assert_int_equal(view->way, TN_WAY_VIEW);
    tn_os_sleep_ms(20);
    assert_int_equal(tn_os_open(at("a.safetensors"), TN_OS_WRITE, &file, NULL), TN_OK);
    tn_status cut = tn_os_resize(&file, 5000, NULL); /* Windows does not let a file with views be cut */
    tn_os_close(&file);
    uint8_t *copy = malloc((size_t)view->size_bytes);
    tn_status status = tn_lease_copy(view, copy, (size_t)view->size_bytes, &err);
    if (cut == TN_OK) {
        assert_true(status == TN_CHANGED || status == TN_TRUNCATED);
        assert_string_equal(err.tensor, "e");
    } else {
        assert_int_equal(status, TN_OK);
    }
    free(copy);
    tn_lease_release(view);
    tn_checkpoint_release(checkpoint);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, weights_setup, weights_teardown)
    const struct CMUnitTest tests[] = {
        TEST(each_tensor_is_its_bytes_wherever_the_data_begins),
        TEST(many_come_in_the_order_asked_for),
        TEST(hundreds_of_small_ones_are_read_together),
        TEST(a_view_reads_nothing_and_costs_a_page_table),
        TEST(what_cannot_be_a_view_is_copied_and_says_why),
        TEST(a_file_on_a_network_is_read_with_several_reads_under_way_and_never_viewed),
        TEST(views_of_many_share_windows),
        TEST(what_does_not_fit_is_refused_with_numbers_before_anything_is_read),
        TEST(memory_of_released_leases_is_kept_and_given_up_before_a_refusal),
        TEST(the_cost_is_what_is_charged),
        TEST(wrong_calls_are_refused),
        TEST(a_damaged_file_is_leased_only_when_that_is_asked_for),
        TEST(progress_is_told_and_can_end_the_call),
        TEST(a_file_written_to_is_an_error_and_old_leases_keep_their_bytes),
        TEST(a_file_changed_before_the_first_lease_is_an_error),
        TEST(a_file_that_is_kept_is_read_after_it_was_replaced_and_deleted),
        TEST(a_copy_out_of_a_view_whose_pages_are_gone_is_an_error),
    };
    return cmocka_run_group_tests_name("weights.lease", tests, NULL, NULL);
}
