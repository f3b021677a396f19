/* `tenure hash`: the digests of files, each file read once, several at a time. They are answered in the order in which
 * they were named, so what ends before its turn is kept. */
#include <string.h>

#include "cli/cli.h"
#include "core/encode.h"
#include "core/utf8.h"
#include "os/os.h"

#define DIGITS_MAX 68 /* of the longest digest, with a NUL */
#define MEGABYTE 1000000u

/* Every digest, in the order in which they are printed. */
static const struct {
    const char *word;
    uint32_t bit;
} algorithms[] = {
    {"blake3", TN_DIGEST_BLAKE3}, {"sha256", TN_DIGEST_SHA256}, {"crc32", TN_DIGEST_CRC32},
    {"autov1", TN_DIGEST_AUTOV1}, {"autov2", TN_DIGEST_AUTOV2}, {"autov3", TN_DIGEST_AUTOV3},
    {"key_hash", TN_DIGEST_KEY_HASH}, {"content", TN_DIGEST_CONTENT},
};
#define ALGORITHMS (sizeof algorithms / sizeof *algorithms)

/* What a file came to before its turn: one of both. */
typedef struct early {
    tn_digests *digests;
    tn_error *error;
} early;

typedef struct hashing {
    tn_cli *cli;
    const tn_paths *paths;
    uint32_t which;
    tn_digest_want *wants;
    early *ended;
    size_t turn;     /* the file that is answered next */
    uint64_t bytes;  /* of all files */
    size_t labelled; /* the file that the label names; SIZE_MAX: none */
    tn_buffer label; /* what the progress line ends with */
} hashing;

/* `words` has been read by tn_settings_parse: each is one of ours. */
static uint32_t which_of(const char *words)
{
    uint32_t which = 0;
    if (words == NULL)
        return TN_DIGEST_BLAKE3 | TN_DIGEST_SHA256;
    for (const char *at = words; *at != '\0'; at += *at == ',') {
        size_t size = strcspn(at, ",");
        for (size_t i = 0; i < ALGORITHMS; i++)
            if (strlen(algorithms[i].word) == size && memcmp(algorithms[i].word, at, size) == 0)
                which |= algorithms[i].bit;
        at += size;
    }
    return which;
}

static void crc32_digits(uint32_t crc, char *out)
{
    uint8_t bytes[4] = {(uint8_t)(crc >> 24), (uint8_t)(crc >> 16), (uint8_t)(crc >> 8), (uint8_t)crc};
    tn_hex(bytes, sizeof bytes, out);
}

/* The digits of one digest. False when the file has none. */
static bool digits_of(const tn_digests *digests, uint32_t bit, char out[DIGITS_MAX])
{
    const char *text = NULL;
    if ((digests->have & bit) == 0)
        return false;
    switch (bit) {
    case TN_DIGEST_BLAKE3: tn_hex(digests->blake3, sizeof digests->blake3, out); break;
    case TN_DIGEST_SHA256: tn_hex(digests->sha256, sizeof digests->sha256, out); break;
    case TN_DIGEST_CRC32: crc32_digits(digests->crc32, out); break;
    case TN_DIGEST_AUTOV1: text = digests->autov1; break;
    case TN_DIGEST_AUTOV2: text = digests->autov2; break;
    case TN_DIGEST_AUTOV3: text = digests->autov3; break;
    case TN_DIGEST_KEY_HASH: text = digests->key_hash; break;
    default: text = digests->content; break;
    }
    if (text != NULL)
        memcpy(out, text, strlen(text) + 1);
    return true;
}

/* ---- what is said of a file ---- */

static void lines(hashing *h, const char *path, const tn_digests *digests)
{
    tn_output *out = &h->cli->out;
    for (size_t i = 0; i < ALGORITHMS; i++) {
        char digits[DIGITS_MAX] = "-";
        if ((h->which & algorithms[i].bit) == 0)
            continue;
        digits_of(digests, algorithms[i].bit, digits);
        tn_buffer_format(&out->text, "%-8s  %s  ", algorithms[i].word, digits);
        tn_utf8_append_shown(&out->text, path, strlen(path));
        tn_output_line(out);
    }
}

/* `why`, when not NULL, is what keeps a damaged file from having all that was asked for. */
static void object(hashing *h, const char *path, const tn_digests *digests, const tn_error *why)
{
    tn_json_writer w;
    tn_json_line(&w, &h->cli->out);
    tn_json_path(&w, path, strlen(path));
    for (size_t i = 0; i < ALGORITHMS; i++) {
        char digits[DIGITS_MAX];
        if ((h->which & algorithms[i].bit) == 0)
            continue;
        tn_json_key(&w, algorithms[i].word);
        if (digits_of(digests, algorithms[i].bit, digits))
            tn_json_cstring(&w, digits);
        else
            tn_json_null(&w);
    }
    if (why != NULL) {
        tn_finding finding = tn_finding_of(why);
        tn_json_key(&w, "error");
        tn_json_finding(&w, &finding, false);
    }
    tn_json_line_end(&w, &h->cli->out);
}

/* A file without tensors that can be read is no fault; one that claims them and is damaged needs a look. */
static void answer(hashing *h, const char *path, const tn_digests *digests)
{
    tn_error why;
    bool damaged = digests->absent != TN_OK && digests->absent != TN_UNSUPPORTED;
    if (damaged) {
        tn_fail(&why, digests->absent, "some digests cannot be taken: %s", tn_status_text(digests->absent));
        tn_error_at_file(&why, path);
        tn_cli_raise(h->cli, tn_status_exit_code(digests->absent));
    }
    if (h->cli->settings.json)
        object(h, path, digests, damaged ? &why : NULL);
    else
        lines(h, path, digests);
    if (damaged)
        tn_cli_note(h->cli, "%s: %s", path, why.message);
}

static void refused(hashing *h, const char *path, const tn_error *err)
{
    if (h->cli->settings.json)
        tn_answer_refused(h->cli, path, err);
    else
        tn_cli_fail(h->cli, err);
}

/* ---- in their order ---- */

static void show(hashing *h, size_t file, const tn_digests *digests, const tn_error *why)
{
    if (digests != NULL)
        answer(h, h->paths->items[file], digests);
    else
        refused(h, h->paths->items[file], why);
    h->turn = file + 1;
}

static void forget(hashing *h, early *kept)
{
    tn_give(&h->cli->memory, kept->digests, kept->digests != NULL ? sizeof *kept->digests : 0);
    tn_give(&h->cli->memory, kept->error, kept->error != NULL ? sizeof *kept->error : 0);
    *kept = (early){NULL, NULL};
}

static tn_status keep(hashing *h, early *kept, const tn_digests *digests, const tn_error *why, tn_error *err)
{
    void *block;
    TN_TRY(tn_take(&h->cli->memory, digests != NULL ? sizeof *digests : sizeof *why, &block, err));
    if (digests != NULL) {
        kept->digests = block;
        *kept->digests = *digests;
    } else {
        kept->error = block;
        *kept->error = *why;
    }
    return TN_OK;
}

static bool is_kept(const hashing *h, size_t file)
{
    return file < h->paths->count && (h->ended[file].digests != NULL || h->ended[file].error != NULL);
}

static tn_status ended(void *user, size_t file, const tn_digests *digests, const tn_error *why, tn_error *err)
{
    hashing *h = user;
    if (file != h->turn)
        return keep(h, &h->ended[file], digests, why, err);
    show(h, file, digests, why);
    for (size_t next; is_kept(h, next = h->turn);) {
        show(h, next, h->ended[next].digests, h->ended[next].error);
        forget(h, &h->ended[next]);
    }
    return tn_output_wanted(&h->cli->out) ? TN_OK : tn_fail(err, TN_CANCELLED, "nobody reads the answers");
}

/* ---- progress ---- */

static void put_label(hashing *h, size_t file)
{
    tn_text name = tn_base_name(tn_text_of(h->paths->items[file]));
    if (file == h->labelled)
        return;
    h->labelled = file;
    tn_buffer_clear(&h->label);
    tn_buffer_text(&h->label, "MB, ");
    tn_buffer_append(&h->label, name.bytes, name.size);
}

/* "1,240 of 40,000  653/s  MB, flux.safetensors": of all files, in megabytes. */
static tn_status tell(void *user, size_t file, uint64_t done_bytes, tn_error *err)
{
    hashing *h = user;
    (void)err;
    put_label(h, file);
    tn_progress_tell(&h->cli->progress, h->bytes / MEGABYTE, done_bytes / MEGABYTE, false,
                     h->label.failed == TN_OK ? h->label.bytes : NULL);
    return TN_OK;
}

static uint64_t size_of(const char *path)
{
    tn_os_info info;
    return tn_os_info_at(path, true, &info, NULL) == TN_OK && info.kind == TN_OS_REGULAR ? info.size : 0;
}

/* ---- the files ---- */

static tn_status take_lists(hashing *h, tn_error *err)
{
    void *wants, *kept;
    size_t count = h->paths->count;
    TN_TRY(tn_take_array(&h->cli->memory, count, sizeof *h->wants, &wants, err));
    h->wants = wants;
    TN_TRY(tn_take_array(&h->cli->memory, count, sizeof *h->ended, &kept, err));
    h->ended = kept;
    for (size_t i = 0; i < count; i++) {
        h->wants[i] = (tn_digest_want){h->paths->items[i], h->which};
        h->bytes += h->cli->progress.on ? size_of(h->paths->items[i]) : 0;
    }
    return TN_OK;
}

static void give_lists(hashing *h)
{
    size_t count = h->paths->count;
    for (size_t i = 0; h->ended != NULL && i < count; i++)
        forget(h, &h->ended[i]);
    tn_give(&h->cli->memory, h->ended, h->ended != NULL ? count * sizeof *h->ended : 0);
    tn_give(&h->cli->memory, h->wants, h->wants != NULL ? count * sizeof *h->wants : 0);
}

static void hash_all(hashing *h)
{
    tn_error err;
    tn_status status = take_lists(h, &err);
    if (status == TN_OK) {
        tn_digest_list list = {h->wants, h->paths->count, ended, tell, h};
        status = tn_digest_many(h->cli->context, &list, &err);
    }
    if (tn_context_cancelled(h->cli->context)) {
        tn_cli_raise(h->cli, tn_status_exit_code(TN_CANCELLED));
        tn_cli_note(h->cli, "interrupted");
    } else if (status != TN_OK && tn_output_wanted(&h->cli->out)) {
        tn_cli_fail(h->cli, &err);
    }
    give_lists(h);
}

void tn_verb_hash(tn_cli *cli)
{
    tn_paths paths;
    if (!tn_cli_paths(cli, &paths))
        return;
    hashing h = {.cli = cli, .paths = &paths, .which = which_of(cli->settings.algo), .labelled = SIZE_MAX};
    tn_buffer_init(&h.label, &cli->memory, (size_t)1 << 20);
    hash_all(&h);
    tn_buffer_free(&h.label);
    tn_paths_free(&paths);
}
