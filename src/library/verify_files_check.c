/* Looking at a batch of models: their structure by several threads, then what is recorded of their bytes. */
#include <stdio.h>
#include <string.h>

#include "library/hash_job_file.h"
#include "library/scan.h"
#include "library/verify_files.h"

#define ARENA_MAX ((size_t)1 << 32) /* bytes; the budget refuses long before */

/* A part whose bytes are compared. */
typedef struct check {
    tn_verify_target *of;
    int64_t position;
    const char *path;
    tn_text algorithm, expected;
    uint64_t size;
    int64_t mtime_ns;
    bool weak;
} check;

typedef struct batch {
    tn_verify *v;
    tn_verify_target *targets;
    size_t count;
    check *checks;
    tn_digest_want *wants;
    size_t check_count, check_capacity;
    uint64_t bytes_before;
} batch;

static bool is_here(const tn_verify_target *t)
{
    return strcmp(t->presence, "present") == 0;
}

static tn_status say_absent(tn_context *context, tn_verify_target *t, tn_error *err)
{
    if (strcmp(t->presence, "crashed") == 0)
        return tn_verify_say(context, t, TN_ERROR, TN_CRASHED, tn_status_text(TN_CRASHED), NULL, err);
    return tn_verify_say(context, t, TN_ERROR, TN_NOT_FOUND,
               strcmp(t->presence, "offline") == 0 ? "the folder it lies in is away"
                                                   : "it is gone from here: `tenure scan` looks for it", NULL, err);
}

static tn_status look_at(void *user, size_t i, tn_error *err)
{
    batch *b = user;
    tn_verify_target *t = &b->targets[i];
    return is_here(t) ? tn_verify_structure(b->v->context, t, err) : say_absent(b->v->context, t, err);
}

/* ---- what is recorded ---- */

static tn_status add_check(batch *b, const check *c, tn_error *err)
{
    void *checks = b->checks;
    TN_TRY(tn_make_room(&b->v->context->memory, &checks, &b->check_capacity, b->check_count, sizeof *b->checks, 64, err));
    b->checks = checks;
    b->checks[b->check_count++] = *c;
    return TN_OK;
}

/* Inside the lock. */
static tn_status find_hash(batch *b, check *c, bool *found, tn_error *err)
{
    tn_verify_target *t = c->of;
    tn_sql s = tn_sql_start(&b->v->library->db, TN_QUERY_VERIFY_HASH);
    tn_sql_int(&s, t->model);
    tn_sql_int(&s, c->position);
    TN_TRY(tn_sql_row(&s, found, err));
    if (!*found)
        return TN_OK;
    c->algorithm = tn_verify_keep(t, tn_sql_get(&s, 0));
    c->expected = tn_verify_keep(t, tn_sql_get(&s, 1));
    c->size = (uint64_t)tn_sql_get_int(&s, 2);
    c->mtime_ns = tn_sql_get_int(&s, 3);
    tn_sql_end(&s);
    return tn_arena_status(&t->arena, err);
}

/* Every part that is here. */
static tn_status add_parts(batch *b, tn_verify_target *t, tn_error *err)
{
    tn_sql s = tn_sql_start(&b->v->library->db, TN_QUERY_VERIFY_PARTS);
    tn_sql_int(&s, t->model);
    for (;;) {
        bool more = false;
        TN_TRY(tn_sql_row(&s, &more, err));
        if (!more)
            return TN_OK;
        check c = {.of = t, .position = tn_sql_get_int(&s, 0), .path = tn_verify_keep(t, tn_sql_get(&s, 1)).bytes,
                   .weak = tn_sql_get_int(&s, 2) != 0};
        tn_status status = add_check(b, &c, err);
        if (status != TN_OK) {
            tn_sql_end(&s);
            return status;
        }
    }
}

/* Every part that a hash is recorded of. Inside the lock. */
static tn_status find_parts(batch *b, tn_verify_target *t, tn_error *err)
{
    size_t first = b->check_count, kept = first;
    TN_TRY(add_parts(b, t, err));
    for (size_t i = first; i < b->check_count; i++) {
        bool found = false;
        TN_TRY(find_hash(b, &b->checks[i], &found, err));
        if (found)
            b->checks[kept++] = b->checks[i];
    }
    bool lacks = kept < b->check_count;
    b->check_count = kept;
    t->parts_left = kept - first;
    return lacks ? tn_verify_say(b->v->context, t, TN_NOTE, TN_NOT_HASHED,
                                 "no hash of it is recorded, so its bytes were not compared: `tenure jobs run`", NULL, err)
                 : TN_OK;
}

/* Inside the lock. */
static tn_status find_model(batch *b, tn_verify_target *t, tn_error *err)
{
    bool found = false;
    tn_sql s = tn_sql_start(&b->v->library->db, TN_QUERY_VERIFY_MODEL);
    tn_sql_int(&s, t->model);
    TN_TRY(tn_sql_row(&s, &found, err));
    if (found) {
        t->path = tn_verify_keep(t, tn_sql_get(&s, 0)).bytes;
        t->presence = tn_verify_keep(t, tn_sql_get(&s, 1)).bytes;
        tn_sql_end(&s);
    } else {
        t->told = true; /* removed meanwhile: there is nothing to say */
        t->path = t->presence = "";
    }
    TN_TRY(tn_arena_status(&t->arena, err));
    return found && is_here(t) && !b->v->options->quick ? find_parts(b, t, err) : TN_OK;
}

static tn_status find_all(batch *b, tn_error *err)
{
    tn_status status = TN_OK;
    if (b->v->library != NULL)
        tn_library_lock(b->v->library);
    for (size_t i = 0; i < b->count && status == TN_OK; i++)
        if (b->targets[i].model != 0)
            status = find_model(b, &b->targets[i], err);
    if (b->v->library != NULL)
        tn_library_unlock(b->v->library);
    return status;
}

/* ---- comparing ---- */

static bool shows(const check *c, uint64_t size, int64_t mtime_ns)
{
    const uint64_t none[2] = {0, 0};
    tn_os_info info = {.size = size, .mtime_ns = mtime_ns, .weak_identity = c->weak};
    return tn_scan_same(&info, c->size, c->mtime_ns, none, c->weak);
}

static tn_status say_changed(batch *b, check *c, tn_error *err)
{
    return tn_verify_say(b->v->context, c->of, TN_WARNING, TN_CHANGED,
               "it is another file than the one that was hashed, so its bytes were not compared: `tenure scan`", c->path,
               err);
}

/* F2, before anything is read: a part that is another file, or not there, needs no reading. */
static tn_status drop_others(batch *b, tn_error *err)
{
    size_t kept = 0;
    for (size_t i = 0; i < b->check_count; i++) {
        check *c = &b->checks[i];
        tn_os_info info;
        tn_error why;
        tn_status asked = tn_os_info_at(c->path, true, &info, &why);
        if (asked == TN_OK && shows(c, info.size, info.mtime_ns)) {
            b->checks[kept++] = *c;
            continue;
        }
        c->of->parts_left--;
        TN_TRY(asked == TN_OK ? say_changed(b, c, err) : tn_verify_say_error(b->v->context, c->of, &why, c->path, err));
    }
    b->check_count = kept;
    return TN_OK;
}

/* F3. A library that cannot be written is looked at all the same. */
static void put_event(batch *b, const check *c, tn_text found)
{
    tn_library *library = b->v->library;
    if (library->read_only || tn_library_begin(library, NULL) != TN_OK)
        return;
    tn_status status = tn_hash_put_rotten(library, 0, c->of->model, c->position, c->algorithm, c->expected, found, NULL);
    tn_library_end(library, status, NULL);
}

static tn_status compare(batch *b, check *c, const tn_digests *digests, tn_error *err)
{
    tn_hash_texts texts;
    char message[512];
    if (!shows(c, digests->size_bytes, digests->mtime_ns))
        return say_changed(b, c, err);
    tn_hash_texts_of(digests, &texts);
    const tn_hash_text *found = tn_hash_texts_find(&texts, c->algorithm);
    if (found == NULL)
        return TN_OK;
    c->of->hashed_bytes += digests->size_bytes;
    if (found->value.size == c->expected.size && memcmp(found->value.bytes, c->expected.bytes, c->expected.size) == 0)
        return TN_OK;
    snprintf(message, sizeof message, "its bytes are not those that were hashed before, though its size and time are the "
                                      "same: fetch it again, or restore it from a copy (%s was %s, is %s)",
             c->algorithm.bytes, c->expected.bytes, found->value.bytes);
    put_event(b, c, found->value);
    return tn_verify_say(b->v->context, c->of, TN_ERROR, TN_BAD_CHECKSUM, message, c->path, err);
}

/* ---- telling ---- */

static void tell(batch *b, tn_verify_target *t)
{
    if (t->told || b->v->stopped)
        return;
    t->told = true;
    b->v->done++;
    tn_verified verified = {.model = t->model, .path = {t->path, strlen(t->path)}, .hashed_bytes = t->hashed_bytes,
                            .count = t->count, .findings = t->findings};
    verified.sound = t->count == 0 || t->findings[0].severity != TN_ERROR;
    b->v->stopped = !b->v->options->each(b->v->options->user, &verified);
}

static tn_status stop_when_told(const batch *b, tn_error *err)
{
    return b->v->stopped ? tn_fail(err, TN_CANCELLED, "%s", tn_status_text(TN_CANCELLED)) : TN_OK;
}

static tn_status ended(void *user, size_t file, const tn_digests *digests, const tn_error *why, tn_error *err)
{
    batch *b = user;
    check *c = &b->checks[file];
    if (digests != NULL)
        TN_TRY(compare(b, c, digests, err));
    else if (why->status == TN_CHANGED)
        TN_TRY(say_changed(b, c, err));
    else
        TN_TRY(tn_verify_say_error(b->v->context, c->of, why, c->path, err));
    if (--c->of->parts_left == 0)
        tell(b, c->of);
    return stop_when_told(b, err);
}

static void tell_progress(batch *b, const char *path, uint64_t bytes_done)
{
    tn_verify *v = b->v;
    uint64_t done = b->bytes_before + bytes_done;
    v->bytes_done = done;
    if (v->options->progress == NULL)
        return;
    tn_import_progress now = {.found = v->count, .done = v->done, .path = path, .bytes = v->bytes > done ? v->bytes : done,
                              .bytes_done = done};
    v->options->progress(v->options->user, &now);
}

static tn_status on_progress(void *user, size_t file, uint64_t done_bytes, tn_error *err)
{
    batch *b = user;
    (void)err;
    tell_progress(b, b->checks[file].path, done_bytes);
    return TN_OK;
}

/* ---- the batch ---- */

static uint32_t bit_of(tn_text algorithm)
{
    return algorithm.bytes[0] == 'b' ? TN_DIGEST_BLAKE3 : algorithm.bytes[0] == 's' ? TN_DIGEST_SHA256 : TN_DIGEST_CRC32;
}

static tn_status compare_all(batch *b, tn_error *err)
{
    void *block = NULL;
    TN_TRY(drop_others(b, err));
    for (size_t i = 0; i < b->count; i++)
        if (b->targets[i].parts_left == 0)
            tell(b, &b->targets[i]);
    TN_TRY(stop_when_told(b, err));
    TN_TRY(tn_take_array(&b->v->context->memory, b->check_count, sizeof *b->wants, &block, err));
    b->wants = block;
    for (size_t i = 0; i < b->check_count; i++)
        b->wants[i] = (tn_digest_want){b->checks[i].path, bit_of(b->checks[i].algorithm)};
    tn_digest_list list = {b->wants, b->check_count, ended, on_progress, b};
    tn_status status = tn_digest_many(b->v->context, &list, err);
    tn_give(&b->v->context->memory, b->wants, b->check_count * sizeof *b->wants);
    return status;
}

static tn_status look(batch *b, tn_error *err)
{
    TN_TRY(find_all(b, err));
    tell_progress(b, b->targets[0].path, 0);
    TN_TRY(tn_context_each(b->v->context, b->count, look_at, b, err));
    tn_status status = compare_all(b, err);
    return status == TN_CANCELLED && b->v->stopped ? TN_OK : status;
}

static void batch_free(batch *b)
{
    tn_memory_source *memory = &b->v->context->memory;
    for (size_t i = 0; i < b->count; i++) {
        tn_verify_target *t = &b->targets[i];
        tn_give(memory, t->findings, t->capacity * sizeof *t->findings);
        tn_arena_free(&t->arena);
    }
    tn_give(memory, b->checks, b->check_capacity * sizeof *b->checks);
    tn_give(memory, b->targets, b->count * sizeof *b->targets);
}

tn_status tn_verify_batch(tn_verify *v, const tn_verify_name *names, size_t count, tn_error *err)
{
    void *block = NULL;
    TN_TRY(tn_take_array(&v->context->memory, count, sizeof(tn_verify_target), &block, err));
    batch b = {.v = v, .targets = block, .count = count, .bytes_before = v->bytes_done};
    for (size_t i = 0; i < count; i++) {
        b.targets[i] = (tn_verify_target){.model = names[i].model, .path = names[i].path, .presence = "present"};
        tn_arena_init(&b.targets[i].arena, &v->context->memory, ARENA_MAX);
    }
    tn_status status = look(&b, err);
    batch_free(&b);
    return status;
}
