/* `tenure hash`: the digests of files, each file read once. */
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

typedef struct hashing {
    tn_cli *cli;
    uint32_t which;
    uint64_t bytes, done;       /* of all files; of those that are behind us */
    uint64_t size;              /* of this one */
    const char *path;
    tn_buffer label;            /* what the progress line ends with */
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

static void lines(hashing *h, const tn_digests *digests)
{
    tn_output *out = &h->cli->out;
    for (size_t i = 0; i < ALGORITHMS; i++) {
        char digits[DIGITS_MAX] = "-";
        if ((h->which & algorithms[i].bit) == 0)
            continue;
        digits_of(digests, algorithms[i].bit, digits);
        tn_buffer_format(&out->text, "%-8s  %s  ", algorithms[i].word, digits);
        tn_utf8_append_shown(&out->text, h->path, strlen(h->path));
        tn_output_line(out);
    }
}

/* `why`, when not NULL, is what keeps a damaged file from having all that was asked for. */
static void object(hashing *h, const tn_digests *digests, const tn_error *why)
{
    tn_json_writer w;
    tn_json_line(&w, &h->cli->out);
    tn_json_path(&w, h->path, strlen(h->path));
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
static void answer(hashing *h, const tn_digests *digests)
{
    tn_error why;
    bool damaged = digests->absent != TN_OK && digests->absent != TN_UNSUPPORTED;
    if (damaged) {
        tn_fail(&why, digests->absent, "some digests cannot be taken: %s", tn_status_text(digests->absent));
        tn_error_at_file(&why, h->path);
        tn_cli_raise(h->cli, tn_status_exit_code(digests->absent));
    }
    if (h->cli->settings.json)
        object(h, digests, damaged ? &why : NULL);
    else
        lines(h, digests);
    if (damaged)
        tn_cli_note(h->cli, "%s: %s", h->path, why.message);
}

static void refused(hashing *h, const tn_error *err)
{
    if (err->status == TN_CANCELLED)
        return;
    if (h->cli->settings.json)
        tn_answer_refused(h->cli, h->path, err);
    else
        tn_cli_fail(h->cli, err);
}

/* ---- the files ---- */

/* "1,240 of 40,000  653/s  MB, flux.safetensors": of all files, in megabytes. */
static void tell(void *user, uint64_t done, uint64_t total)
{
    hashing *h = user;
    double part = total > 0 ? (double)done / (double)total : 1;
    uint64_t now = h->done + (uint64_t)(part * (double)h->size);
    tn_progress_tell(&h->cli->progress, h->bytes / MEGABYTE, now / MEGABYTE, false,
                     h->label.failed == TN_OK ? h->label.bytes : NULL);
}

static uint64_t size_of(const char *path)
{
    tn_os_info info;
    return tn_os_info_at(path, true, &info, NULL) == TN_OK && info.kind == TN_OS_REGULAR ? info.size : 0;
}

static void hash_one(hashing *h, const char *path)
{
    tn_error err;
    tn_digests digests;
    tn_text name = tn_base_name(tn_text_of(path));
    h->path = path;
    h->size = size_of(path);
    tn_buffer_clear(&h->label);
    tn_buffer_text(&h->label, "MB, ");
    tn_buffer_append(&h->label, name.bytes, name.size);
    if (tn_digest_file(h->cli->context, path, h->which, tell, h, &digests, &err) == TN_OK)
        answer(h, &digests);
    else
        refused(h, &err);
    h->done += h->size;
}

void tn_verb_hash(tn_cli *cli)
{
    tn_error err;
    tn_paths paths;
    if (tn_paths_collect(&paths, &cli->memory, &cli->settings, stdin, &err) != TN_OK) {
        tn_cli_fail(cli, &err);
        return;
    }
    hashing h = {.cli = cli, .which = which_of(cli->settings.algo)};
    tn_buffer_init(&h.label, &cli->memory, (size_t)1 << 20);
    for (size_t i = 0; i < paths.count && cli->progress.on; i++)
        h.bytes += size_of(paths.items[i]);
    for (size_t i = 0; i < paths.count && !tn_cli_stopped(cli); i++)
        hash_one(&h, paths.items[i]);
    if (tn_context_cancelled(cli->context)) {
        tn_cli_raise(cli, tn_status_exit_code(TN_CANCELLED));
        tn_cli_note(cli, "interrupted");
    }
    tn_buffer_free(&h.label);
    tn_paths_free(&paths);
}
