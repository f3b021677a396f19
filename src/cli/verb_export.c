/* `tenure export`: the whole library as JSON lines, to a file that is there whole or not at all, or to stdout. */
#include <inttypes.h>
#include <string.h>

#include "cli/cli.h"
#include "os/os.h"

typedef struct exporting {
    tn_cli *cli;
    tn_os_file file; /* not open: stdout */
    uint64_t written;
    tn_error failed; /* why writing ended, where it did */
} exporting;

/* Rows are collected in the output's buffer and written in pieces. */
static bool flush_file(exporting *e)
{
    tn_buffer *text = &e->cli->out.text;
    e->failed.status = tn_buffer_status(text, &e->failed);
    if (e->failed.status == TN_OK && text->size)
        e->failed.status = tn_os_write(&e->file, e->written, text->bytes, text->size, &e->failed);
    e->written += text->size;
    tn_buffer_clear(text);
    return e->failed.status == TN_OK;
}

static bool write_file(void *user, const char *bytes, size_t size)
{
    exporting *e = user;
    tn_buffer_append(&e->cli->out.text, bytes, size);
    return e->cli->out.text.size < ((size_t)256 << 10) || flush_file(e);
}

static bool write_stdout(void *user, const char *bytes, size_t size)
{
    exporting *e = user;
    tn_buffer_append(&e->cli->out.text, bytes, size);
    tn_output_drain(&e->cli->out);
    return tn_output_wanted(&e->cli->out);
}

static tn_status fill(exporting *e, tn_library *library, tn_error *err)
{
    e->failed.status = TN_OK;
    tn_status status = tn_library_export(library, write_file, e, err);
    if (status == TN_OK && !flush_file(e))
        status = TN_CANCELLED;
    tn_buffer_clear(&e->cli->out.text);
    if (e->failed.status != TN_OK)
        return tn_fail_as(&e->failed, err);
    return status == TN_OK ? tn_os_sync(&e->file, err) : status;
}

/* Under another name first, so that an older export is only replaced by a whole one. */
static tn_status to_file(exporting *e, tn_library *library, const char *path, tn_error *err)
{
    uint64_t draw;
    tn_buffer name;
    tn_buffer_init(&name, &e->cli->memory, (size_t)1 << 20);
    tn_os_random(&draw, sizeof draw);
    tn_buffer_format(&name, "%s.new-%016" PRIx64, path, draw);
    tn_status status = tn_buffer_status(&name, err);
    if (status == TN_OK)
        status = tn_os_open(name.bytes, TN_OS_WRITE | TN_OS_CREATE | TN_OS_EXCLUSIVE, &e->file, err);
    if (status == TN_OK) {
        status = fill(e, library, err);
        tn_os_close(&e->file);
        if (status == TN_OK)
            status = tn_os_rename(name.bytes, path, true, err);
        if (status != TN_OK)
            tn_os_remove(name.bytes, NULL);
        else
            status = tn_os_sync_above(path, err);
    }
    tn_buffer_free(&name);
    return status;
}

static void say(const exporting *e, const char *path)
{
    tn_buffer *out = &e->cli->out.text;
    if (e->cli->settings.json) {
        tn_json_writer w;
        tn_json_line(&w, &e->cli->out);
        tn_json_path(&w, path, strlen(path));
        tn_json_key(&w, "bytes");
        tn_json_uint(&w, e->written);
        tn_json_line_end(&w, &e->cli->out);
    } else if (!e->cli->settings.quiet) {
        tn_buffer_text(out, "exported: ");
        tn_size_append(out, e->written);
        tn_output_line(&e->cli->out);
    }
}

void tn_verb_export(tn_cli *cli)
{
    tn_error err;
    tn_library *library;
    exporting e = {.cli = cli};
    const char *path = cli->settings.argument_count ? cli->settings.arguments[0] : "-";
    bool to_stdout = strcmp(path, "-") == 0 && (!cli->settings.argument_count || cli->settings.literal_from > 0);
    if (!tn_cli_open_library(cli, true, &library)) {
        tn_cli_raise(cli, 3); /* a backup of nothing is no backup */
        return;
    }
    tn_status status = to_stdout ? tn_library_export(library, write_stdout, &e, &err) : to_file(&e, library, path, &err);
    if (status == TN_OK && !to_stdout)
        say(&e, path);
    if (status != TN_OK && !(to_stdout && !tn_output_wanted(&cli->out)))
        tn_cli_fail(cli, &err);
    tn_library_close(library);
}
