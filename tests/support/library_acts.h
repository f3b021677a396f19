/* What the tests of acts share: acts that must succeed, and what is looked at afterwards. */
#ifndef TN_TESTS_SUPPORT_LIBRARY_ACTS_H
#define TN_TESTS_SUPPORT_LIBRARY_ACTS_H

#include "support/library.h"

#include "library/acts.h"
#include "os/os_fault.h"

typedef struct acted {
    size_t count;
    int64_t event, model;
    uint64_t files, bytes;
    char kind[16], from[2048], to[2048];
} acted;

static inline void on_done(void *user, const tn_act *act)
{
    acted *out = user;
    out->count++;
    out->event = act->event;
    out->model = act->model;
    out->files = act->files;
    out->bytes = act->bytes;
    snprintf(out->kind, sizeof out->kind, "%s", act->kind.bytes);
    snprintf(out->from, sizeof out->from, "%s", act->from.bytes);
    snprintf(out->to, sizeof out->to, "%s", act->to.bytes);
}

static inline tn_act_options telling(acted *out)
{
    memset(out, 0, sizeof *out);
    return (tn_act_options){.size = sizeof(tn_act_options), .done = on_done, .user = out};
}

static inline void expect(tn_status found, tn_status wanted, const tn_error *err)
{
    if (found != wanted)
        fail_msg("%s expected, %s came: %s (%s)", tn_status_word(wanted), tn_status_word(found),
                 found == TN_OK ? "" : err->message, found == TN_OK ? "" : err->file);
}

static inline acted moved(tn_library *library, const char *model, const char *folder)
{
    acted said;
    tn_error err;
    const tn_act_options options = telling(&said);
    expect(tn_library_move(library, model, folder, &options, &err), TN_OK, &err);
    assert_int_equal(said.count, 1);
    return said;
}

static inline acted removed(tn_library *library, const char *model, tn_removal how)
{
    acted said;
    tn_error err;
    const tn_act_options options = telling(&said);
    expect(tn_library_remove(library, model, how, &options, &err), TN_OK, &err);
    assert_int_equal(said.count, 1);
    return said;
}

static inline acted undone(tn_library *library, int64_t event)
{
    acted said;
    tn_error err;
    const tn_act_options options = telling(&said);
    expect(tn_library_undo(library, event, &options, &err), TN_OK, &err);
    return said;
}

/* Every rename says that the target is on another disk, but for one whose source is a name aside (".tn-"). */
static inline tn_status other_disk(void *user, const tn_os_call *call)
{
    (void)user;
    bool aside = call->operation == TN_OP_RENAME && strstr(call->path, ".tn-") != NULL;
    return call->operation == TN_OP_RENAME && !aside ? TN_UNAVAILABLE : TN_OK;
}
static const tn_os_hooks across = {.before = other_disk};

/* The library of a test with one imported folder "m". */
static inline tn_library *imported(void)
{
    tn_library *library = open_library(NULL);
    import_quietly(library, "m", NULL);
    return library;
}

static inline int64_t id_at(tn_library *library, const char *name)
{
    char sql[4096];
    snprintf(sql, sizeof sql,
             "SELECT coalesce((SELECT p.model FROM files f JOIN parts p ON p.file = f.id WHERE f.path = CAST('%s' AS BLOB) "
             "AND p.entry = 1 AND f.present = 1), 0)",
             spelled(name));
    return ask(library, sql);
}

/* What the user said about a model, put there as the verbs for words do. */
static inline void say(tn_library *library, int64_t model)
{
    char sql[256];
    snprintf(sql, sizeof sql, "UPDATE models SET note = 'kept' WHERE id = %lld; INSERT INTO tags VALUES (%lld, 'best')",
             (long long)model, (long long)model);
    tn_library_lock(library);
    assert_int_equal(tn_db_script(&library->db, sql, NULL), TN_OK);
    tn_library_unlock(library);
}

static inline void assert_said(tn_library *library, int64_t model)
{
    char sql[256];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM models m JOIN tags t ON t.model = m.id WHERE m.id = %lld AND "
                              "m.note = 'kept' AND t.tag = 'best' AND m.presence = 'present'",
             (long long)model);
    assert_int_equal(ask(library, sql), 1);
}

/* An import of what there is finds nothing that it did not know. */
static inline void assert_nothing_new(tn_library *library, const char *folder)
{
    told events;
    tn_import_summary *summary = import_path(library, folder, &events);
    assert_int_equal(summary->fresh, 0);
    assert_int_equal(summary->changed, 0);
    assert_int_equal(summary->vanished, 0);
    tn_import_summary_destroy(summary);
    assert_verified(library);
}

static inline unsigned leftovers(const char *folder)
{
    tn_os_folder *listing;
    tn_os_entry entry;
    bool more;
    unsigned count = 0;
    assert_int_equal(tn_os_folder_open(&scratch_memory, at(folder), &listing, NULL), TN_OK);
    while (tn_os_folder_next(listing, &entry, &more, NULL) == TN_OK && more)
        count += strncmp(entry.name, ".tn-", 4) == 0;
    tn_os_folder_close(listing);
    return count;
}

static inline int64_t open_acts(tn_library *library)
{
    return ask(library, "SELECT count(*) FROM acts WHERE state IN ('planned', 'placed')");
}

#endif
