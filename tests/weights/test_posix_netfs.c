/* Leases of a file behind a network: FUSE with latency (tests/support/netfs_posix.c), whose wire fails at a byte, whose server
 * dies, or which is unmounted. What was leased stays; what cannot be read is an error that names the tensor. Skipped with a
 * word where there is no FUSE. */
#include "support/weights.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/os_fault.h"

static const row rows[] = {
    {"a", TN_F32, 1, {600001}}, {"b", TN_U8, 1, {70}}, {"c", TN_U8, 1, {900}}, {"d", TN_U8, 1, {13}},
    {"e", TN_F16, 2, {3000, 1000}},
};
enum { ROWS = sizeof rows / sizeof rows[0], SEED = 3 };

static pid_t server;
static char backing[1100], net[1100], file[1200], wire[1200];
static size_t data_begins;

static bool find_netfs(char out[1024])
{
    ssize_t size = readlink("/proc/self/exe", out, 1000);
    if (size <= 0)
        return false;
    out[size] = '\0';
    snprintf(strrchr(out, '/'), 16, "/netfs");
    return access(out, X_OK) == 0 && access("/dev/fuse", R_OK | W_OK) == 0;
}

static bool is_mounted(void)
{
    struct stat inside, above;
    return stat(net, &inside) == 0 && stat(scratch_folder, &above) == 0 && inside.st_dev != above.st_dev;
}

static void end_server(void)
{
    if (server > 0) {
        kill(server, SIGKILL);
        waitpid(server, NULL, 0);
    }
    server = 0;
    while (umount2(net, MNT_DETACH) == 0)
        continue;
}

/* False, with a word: nothing can be mounted here. */
static bool mount_net(const char *latency, const char *how)
{
    char program[1024];
    if (!find_netfs(program)) {
        print_message("there is no FUSE here\n");
        return false;
    }
    snprintf(backing, sizeof backing, "%s/backing", scratch_folder);
    snprintf(net, sizeof net, "%s/net", scratch_folder);
    snprintf(file, sizeof file, "%s/a.safetensors", net);
    snprintf(wire, sizeof wire, "%s/.netfs-eio", backing);
    assert_int_equal(tn_os_make_folders(backing, NULL), TN_OK);
    assert_int_equal(tn_os_make_folders(net, NULL), TN_OK);
    char path[1200];
    snprintf(path, sizeof path, "%s/a.safetensors", backing);
    data_begins = put_tensors(path, rows, ROWS, SEED, 0);
    server = fork();
    if (server == 0) {
        execl(program, program, backing, net, latency, how, "stays", (char *)NULL);
        _exit(127);
    }
    for (int i = 0; i < 500; i++) {
        if (is_mounted())
            return true;
        if (waitpid(server, NULL, WNOHANG) != 0)
            break;
        usleep(10000);
    }
    print_message("nothing can be mounted here\n");
    server = 0;
    return false;
}

static void assert_row(const tn_lease *lease, size_t number)
{
    assert_int_equal(lease->size_bytes, bytes_of(&rows[number]));
    assert_bytes(lease->data, (size_t)lease->size_bytes, SEED, data_at(rows, number));
}

static tn_status lease_all(const tn_checkpoint *checkpoint, tn_error *err)
{
    tn_lease *all[ROWS];
    TN_TRY(tn_lease_many(checkpoint, NULL, ROWS, NULL, all, err));
    for (size_t i = 0; i < ROWS; i++) {
        assert_true(all[i]->way == TN_WAY_THREADS || all[i]->way == TN_WAY_DIRECT);
        assert_row(all[i], i);
        tn_lease_release(all[i]);
    }
    return TN_OK;
}

static void cut_wire(long long from)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", from);
    put_file(wire, text, strlen(text));
}

static void mend_wire(void)
{
    assert_int_equal(unlink(wire), 0);
}

/* ---- what is told ---- */

static void a_slow_file_is_leased_as_any_other(void **state)
{
    static const tn_index some[] = {{TN_INDEX_RANGE, 100, 2900, 7}, {TN_INDEX_RANGE, 3, 900, 1}};
    (void)state;
    if (!mount_net("3", "cached"))
        return;
    tn_checkpoint *checkpoint = open_weights(file);
    assert_int_equal(lease_all(checkpoint, NULL), TN_OK);
    tn_lease_options options = TN_LEASE_OPTIONS_INIT;
    options.index = some;
    options.index_count = 2;
    tn_lease *lease = lease_with(checkpoint, "e", &options);
    const uint8_t *bytes = lease->data;
    for (uint64_t r = 0; r < 400; r++)
        for (uint64_t i = 0; i < 897 * 2; i++)
            assert_int_equal(bytes[r * 897 * 2 + i],
                             byte_of(SEED, data_at(rows, 4) + (100 + 7 * r) * 2000 + 6 + i));
    tn_lease_release(lease);
    tn_checkpoint_release(checkpoint);
    end_server();
}

static _Atomic unsigned questions, reads;

static tn_status count(void *user, const tn_os_call *call)
{
    (void)user;
    if (call->operation == TN_OP_INFO)
        atomic_fetch_add(&questions, 1);
    if (call->operation == TN_OP_READ)
        atomic_fetch_add(&reads, 1);
    return TN_OK;
}

/* Each question and each read is a round trip. What is asked: the file as it is opened, and when all is read. */
static void a_file_is_asked_few_questions_and_read_in_parts_at_a_time(void **state)
{
    static const tn_os_hooks hooks = {.before = count};
    static const char *const how[] = {"plain", "cached"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        if (!mount_net("1", how[i]))
            return;
        tn_checkpoint *checkpoint = open_weights(file);
        atomic_store(&questions, 0);
        atomic_store(&reads, 0);
        tn_os_set_hooks(&hooks);
        tn_status status = lease_all(checkpoint, NULL);
        tn_os_set_hooks(NULL);
        assert_int_equal(status, TN_OK);
        assert_in_range(atomic_load(&questions), 1, 3);
        assert_in_range(atomic_load(&reads), 16, 80); /* 8.4 MB in pieces of 512 KiB at most, and at least of 128 KiB */
        tn_checkpoint_release(checkpoint);
        end_server();
    }
}

static void a_byte_that_cannot_be_read_is_of_its_tensor(void **state)
{
    (void)state;
    if (!mount_net("1", "plain"))
        return;
    tn_checkpoint *checkpoint = open_weights(file);
    for (size_t i = 0; i < ROWS; i++) {
        tn_error err;
        tn_lease *lease = NULL;
        cut_wire((long long)(data_begins + data_at(rows, i) + bytes_of(&rows[i]) - 1)); /* its last byte */
        assert_int_equal(lease_all(checkpoint, &err), TN_IO);
        assert_string_equal(err.tensor, rows[i].name);
        assert_string_equal(err.file, file);
        assert_int_equal(tn_lease_named(checkpoint, rows[i].name, NULL, &lease, &err), TN_IO);
        assert_string_equal(err.tensor, rows[i].name);
        if (i > 0) { /* all before it can be had */
            lease = lease_of(checkpoint, rows[i - 1].name);
            assert_row(lease, i - 1);
            tn_lease_release(lease);
        }
        mend_wire();
        assert_int_equal(lease_all(checkpoint, &err), TN_OK);
    }
    tn_checkpoint_release(checkpoint);
    end_server();
}

/* ---- what goes ---- */

static void what_was_leased_outlives_the_server_and_the_mount(void **state)
{
    (void)state;
    for (int unmount = 0; unmount < 2; unmount++) {
        if (!mount_net("1", "cached"))
            return;
        tn_checkpoint *checkpoint = open_weights(file);
        tn_lease *held = lease_of(checkpoint, "e"), *lease = NULL;
        tn_error err;
        if (unmount == 1)
            assert_int_equal(umount2(net, MNT_DETACH), 0);
        kill(server, SIGKILL);
        waitpid(server, NULL, 0);
        server = 0;
        assert_row(held, 4);
        assert_int_equal(tn_lease_named(checkpoint, "a", NULL, &lease, &err), TN_IO);
        assert_string_equal(err.tensor, "a");
        assert_non_null(strstr(err.message, "does not answer"));
        assert_null(lease);
        tn_checkpoint *other = NULL;
        assert_int_not_equal(tn_checkpoint_open(context, file, NULL, &other, &err), TN_OK);
        tn_checkpoint_release(checkpoint);
        assert_row(held, 4);
        tn_lease_release(held);
        end_server();
    }
}

static bool kill_server(void *user, uint64_t done, uint64_t total)
{
    (void)user, (void)done, (void)total;
    kill(server, SIGKILL);
    return true;
}

/* In the middle of it: of what is read one piece after the other the rest cannot come; of what is under way it may. */
static void a_server_that_dies_while_it_is_read_from_is_an_error(void **state)
{
    static const uint32_t flags[] = {TN_LEASE_BACKGROUND, 0};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        if (!mount_net("2", "plain"))
            return;
        tn_checkpoint *checkpoint = open_weights(file);
        tn_lease *all[ROWS] = {NULL};
        tn_lease_options options = TN_LEASE_OPTIONS_INIT;
        tn_error err;
        options.flags = flags[i];
        options.progress = kill_server;
        tn_status status = tn_lease_many(checkpoint, NULL, ROWS, &options, all, &err);
        assert_true(status == TN_IO || (status == TN_OK && i == 1));
        for (size_t n = 0; n < ROWS && status == TN_OK; n++)
            assert_row(all[n], n);
        assert_true(status == TN_OK || err.tensor[0] != '\0');
        for (size_t n = 0; n < ROWS; n++)
            tn_lease_release(all[n]);
        tn_checkpoint_release(checkpoint);
        end_server();
    }
}

static bool stop_at_once(void *user, uint64_t done, uint64_t total)
{
    (void)user;
    return done * 4 < total;
}

/* Not every piece that is under way is waited for one after the other: most of the file is never asked for. */
static void a_cancel_does_not_wait_for_the_rest(void **state)
{
    (void)state;
    if (!mount_net("2", "plain"))
        return;
    tn_checkpoint *checkpoint = open_weights(file);
    tn_lease *all[ROWS];
    tn_lease_options options = TN_LEASE_OPTIONS_INIT;
    options.progress = stop_at_once;
    options.flags = TN_LEASE_BACKGROUND; /* one read at a time */
    uint64_t before = tn_context_bytes_read(context), whole = data_at(rows, ROWS);
    assert_int_equal(tn_lease_many(checkpoint, NULL, ROWS, &options, all, NULL), TN_CANCELLED);
    assert_in_range(tn_context_bytes_read(context) - before, whole / 4, whole / 2 + (1 << 20));
    tn_checkpoint_release(checkpoint);
    end_server();
}

static int teardown(void **state)
{
    (void)state;
    end_server();
    return 0;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_slow_file_is_leased_as_any_other),
        TEST(a_file_is_asked_few_questions_and_read_in_parts_at_a_time),
        TEST(a_byte_that_cannot_be_read_is_of_its_tensor),
        TEST(what_was_leased_outlives_the_server_and_the_mount),
        TEST(a_server_that_dies_while_it_is_read_from_is_an_error),
        TEST(a_cancel_does_not_wait_for_the_rest),
    };
    return cmocka_run_group_tests_name("weights.netfs", tests, weights_setup, weights_teardown);
}
