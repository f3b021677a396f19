/* Links, sockets and folders without permission, as POSIX has them: loops end, one file is one model. */
#include "support/library_open.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int setup(void **state)
{
    if (open_setup(state) != 0)
        return -1;
    put_folder(at("m"));
    return 0;
}

static void loops_of_links_end_and_each_folder_is_walked_once(void **state)
{
    (void)state;
    told t;
    put_folder(at("m/a"));
    put_weights(at("m/a/x.safetensors"), 4);
    assert_int_equal(symlink(at("m"), at("m/a/up")), 0);
    assert_int_equal(symlink(".", at("m/a/self")), 0);
    assert_int_equal(symlink("a", at("m/0 first in order")), 0);
    import_quietly(library, "m", &t);
    assert_int_equal(t.fresh, 1);
    assert_int_equal(ask(library, "SELECT CAST(path AS TEXT) LIKE '%/m/a/x.safetensors' FROM models"), 1);
    assert_int_equal(ask(library, "SELECT count(*) FROM files"), 1);
}

/* As a Hugging Face cache lays it out: snapshots link to blobs. */
static void one_file_by_several_paths_is_one_model(void **state)
{
    (void)state;
    told t;
    put_folder(at("m/blobs"));
    put_folder(at("m/snapshots/1"));
    put_folder(at("m/snapshots/2"));
    put_weights(at("m/blobs/4f2a"), 4);
    assert_int_equal(symlink("../../blobs/4f2a", at("m/snapshots/1/x.safetensors")), 0);
    assert_int_equal(symlink("../../blobs/4f2a", at("m/snapshots/2/x.safetensors")), 0);
    assert_int_equal(link(at("m/blobs/4f2a"), at("m/hard.safetensors")), 0);
    import_quietly(library, "m", &t);
    assert_int_equal(t.fresh, 1);
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), 1);
    assert_int_equal(ask(library, "SELECT count(*) FROM parts WHERE entry = 1"), 3);
    import_quietly(library, "m", &t);
    assert_int_equal(t.count, 1);
    assert_int_equal(t.unchanged, 1);
}

static void a_link_met_in_a_later_import_joins_the_model_it_leads_to(void **state)
{
    (void)state;
    told t;
    put_weights(at("m/x.safetensors"), 4);
    import_quietly(library, "m", &t);
    put_folder(at("n"));
    assert_int_equal(symlink(at("m/x.safetensors"), at("n/y.safetensors")), 0);
    import_quietly(library, "n", &t);
    assert_int_equal(t.fresh, 0);
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), 1);
    assert_int_equal(ask(library, "SELECT count(*) FROM parts WHERE entry = 1"), 2);
    assert_int_equal(unlink(at("m/x.safetensors")), 0);
    put_weights(at("m/x.safetensors"), 9); /* no longer what y leads to by name, but y leads there again */
    import_quietly(library, "n", &t);
    import_quietly(library, "m", &t);
    assert_int_equal(ask(library, "SELECT count(*) FROM models WHERE presence = 'present'"), 1);
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), 2); /* the bytes of before are missing */
    assert_int_equal(ask(library, "SELECT count(*) FROM parts WHERE entry = 1"), 2);
}

static void paths_that_part_become_two_models(void **state)
{
    (void)state;
    told t;
    put_weights(at("m/x.safetensors"), 4);
    assert_int_equal(link(at("m/x.safetensors"), at("m/y.safetensors")), 0);
    import_quietly(library, "m", &t);
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), 1);
    assert_int_equal(unlink(at("m/x.safetensors")), 0);
    put_weights(at("m/x.safetensors"), 9);
    import_quietly(library, "m", &t);
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), 2);
    assert_int_equal(ask(library, "SELECT count(*) FROM models WHERE presence = 'present'"), 2);
}

static void paths_that_meet_become_one_model(void **state)
{
    (void)state;
    told t;
    put_weights(at("m/x.safetensors"), 4);
    put_weights(at("m/y.safetensors"), 9);
    import_quietly(library, "m", &t);
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), 2);
    assert_int_equal(unlink(at("m/y.safetensors")), 0);
    assert_int_equal(link(at("m/x.safetensors"), at("m/y.safetensors")), 0);
    import_quietly(library, "m", &t);
    assert_int_equal(ask(library, "SELECT count(*) FROM models WHERE presence = 'present'"), 1);
    assert_int_equal(ask(library, "SELECT presence = 'missing' FROM models WHERE name = 'y'"), 1);
    assert_int_equal(ask(library, "SELECT count(*) FROM parts WHERE entry = 1"), 2);
}

static void a_file_that_was_renamed_keeps_its_record(void **state)
{
    (void)state;
    told t;
    put_weights(at("m/x.safetensors"), 4);
    import_quietly(library, "m", &t);
    assert_int_equal(rename(at("m/x.safetensors"), at("m/z.safetensors")), 0);
    import_quietly(library, "m", &t);
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), 1);
    assert_int_equal(ask(library, "SELECT presence = 'present' AND CAST(path AS TEXT) LIKE '%/z.safetensors' FROM models"), 1);
}

static void a_missing_file_that_comes_back_by_another_name_is_present_again(void **state)
{
    (void)state;
    told t;
    put_weights(at("m/x.safetensors"), 4);
    import_quietly(library, "m", &t);
    assert_int_equal(rename(at("m/x.safetensors"), at("away")), 0);
    import_quietly(library, "m", &t);
    assert_int_equal(ask(library, "SELECT presence = 'missing' FROM models"), 1);
    assert_int_equal(rename(at("away"), at("m/z.safetensors")), 0);
    import_quietly(library, "m", &t);
    assert_int_equal(ask(library, "SELECT count(*) FROM models"), 1);
    assert_int_equal(ask(library, "SELECT presence = 'present' AND CAST(path AS TEXT) LIKE '%/z.safetensors' FROM models"), 1);
}

static void sockets_and_pipes_with_a_models_name_are_passed_over(void **state)
{
    (void)state;
    told t;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", at("m/s.safetensors"));
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(mkfifo(at("m/p.safetensors"), 0600), 0);
    assert_int_equal(symlink("nowhere", at("m/broken.safetensors")), 0);
    put_weights(at("m/x.safetensors"), 4);
    import_quietly(library, "m", &t);
    close(fd);
    assert_int_equal(t.count, 1);
}

static void a_name_that_is_not_utf_8_is_kept_byte_for_byte(void **state)
{
    (void)state;
    told t;
    put_weights(at("m/\xff\xfe.safetensors"), 4);
    import_quietly(library, "m", &t);
    assert_int_equal(t.fresh, 1);
    assert_int_equal(ask(library, "SELECT hex(path) LIKE '%2FFFFE2E%' FROM files"), 1);
    assert_int_equal(ask(library, "SELECT name = char(65533, 65533) FROM models"), 1);
}

/* Run in a child that has no rights, since tests may run as root. 0: all well; else the line that failed. */
static int as_nobody(int (*work)(void))
{
    int how = 0;
    pid_t child = fork();
    if (child == 0) {
        if (setgid(65534) != 0 || setuid(65534) != 0)
            _exit(0);
        _exit(work());
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    return WIFEXITED(how) ? WEXITSTATUS(how) : 255;
}

/* The parent's context is not for a child, so it has its own. */
static int import_with_a_closed_folder(void)
{
    tn_context *own = NULL;
    tn_library *l = NULL;
    tn_import_summary *s = NULL;
    const char *paths[] = {at("m")};
    if (tn_context_create(NULL, &own, NULL) != TN_OK || tn_library_open(own, at("w/library.db"), NULL, &l, NULL) != TN_OK)
        return 1;
    if (tn_library_import(l, paths, 1, NULL, &s, NULL) != TN_OK)
        return 2;
    int result = s->folders_unreadable == 1 && s->models == 2 && s->problem_count == 1 &&
                         strstr(s->problems[0].message.bytes, "allow reading it") != NULL
                     ? 0
                     : 3;
    tn_import_summary_destroy(s);
    tn_library_close(l);
    tn_context_destroy(own);
    return result;
}

static void what_may_not_be_read_is_told_and_the_rest_goes_on(void **state)
{
    (void)state;
    put_folder(at("m/closed"));
    put_folder(at("w"));
    put_weights(at("m/closed/a.safetensors"), 4);
    put_weights(at("m/b.safetensors"), 4);
    put_weights(at("m/c.safetensors"), 4);
    assert_int_equal(chmod(scratch_folder, 0755), 0);
    assert_int_equal(chmod(at("m/closed"), 0), 0);
    assert_int_equal(chmod(at("m/c.safetensors"), 0), 0);
    assert_int_equal(chmod(at("w"), 0777), 0);
    int result = as_nobody(import_with_a_closed_folder);
    assert_int_equal(chmod(at("m/closed"), 0700), 0);
    assert_int_equal(result, 0);
}

static bool count_record(void *user, const tn_record *record)
{
    (void)record;
    ++*(int *)user;
    return true;
}

static int list_in_a_read_only_place(void)
{
    tn_context *own = NULL;
    tn_library *l = NULL;
    int records = 0;
    if (tn_context_create(NULL, &own, NULL) != TN_OK || tn_library_open(own, at("w/library.db"), NULL, &l, NULL) != TN_OK)
        return 1;
    if (tn_library_list(l, 0, count_record, &records, NULL) != TN_OK || records != 1)
        return 2;
    tn_library_close(l);
    tn_context_destroy(own);
    return 0;
}

static void put_library_to_read(void)
{
    tn_library *l = NULL;
    put_folder(at("w"));
    put_weights(at("m/b.safetensors"), 4);
    assert_int_equal(tn_library_open(context, at("w/library.db"), NULL, &l, NULL), TN_OK);
    import_quietly(l, "m", NULL);
    tn_library_close(l);
    assert_int_equal(chmod(scratch_folder, 0755), 0);
}

static void a_library_in_a_read_only_folder_is_listed(void **state)
{
    (void)state;
    put_library_to_read();
    assert_int_equal(chmod(at("w/library.db"), 0444), 0);
    assert_int_equal(chmod(at("w"), 0555), 0);
    assert_int_equal(as_nobody(list_in_a_read_only_place), 0);
}

/* As after a kill: records lie in the log alone, and nobody may bring them into the file. */
static void one_whose_log_was_not_written_back_is_listed_from_a_copy(void **state)
{
    (void)state;
    tn_library *l = NULL;
    put_folder(at("live"));
    put_folder(at("w"));
    put_weights(at("m/b.safetensors"), 4);
    assert_int_equal(tn_library_open(context, at("live/library.db"), NULL, &l, NULL), TN_OK);
    import_quietly(l, "m", NULL);
    char copy[4096];
    snprintf(copy, sizeof copy, "cp '%s' '%s-wal' '%s' && chmod -R 0444 '%s'/* && chmod 0555 '%s'", at("live/library.db"),
             tn_library_path(l), at("w"), at("w"), at("w"));
    assert_int_equal(system(copy), 0);
    tn_library_close(l);
    assert_int_equal(chmod(scratch_folder, 0755), 0);
    assert_int_equal(as_nobody(list_in_a_read_only_place), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, verify_teardown)
    const struct CMUnitTest tests[] = {
        TEST(loops_of_links_end_and_each_folder_is_walked_once),
        TEST(one_file_by_several_paths_is_one_model),
        TEST(a_link_met_in_a_later_import_joins_the_model_it_leads_to),
        TEST(paths_that_part_become_two_models),
        TEST(paths_that_meet_become_one_model),
        TEST(a_file_that_was_renamed_keeps_its_record),
        TEST(a_missing_file_that_comes_back_by_another_name_is_present_again),
        TEST(sockets_and_pipes_with_a_models_name_are_passed_over),
        TEST(a_name_that_is_not_utf_8_is_kept_byte_for_byte),
        TEST(what_may_not_be_read_is_told_and_the_rest_goes_on),
        TEST(a_library_in_a_read_only_folder_is_listed),
        TEST(one_whose_log_was_not_written_back_is_listed_from_a_copy),
    };
    return cmocka_run_group_tests_name("library.links", tests, NULL, NULL);
}
