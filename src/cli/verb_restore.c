/* `tenure restore`: a new library out of what `export` wrote. */
#include <string.h>

#include "cli/cli.h"
#include "os/os.h"

typedef struct restoring {
    tn_cli *cli;
    tn_os_file file; /* not open: stdin */
    uint64_t at, models;
    tn_error failed;
} restoring;

static size_t read_file(void *user, char *bytes, size_t size)
{
    restoring *r = user;
    size_t got = 0;
    r->failed.status = tn_os_read(&r->file, r->at, bytes, size, &got, &r->failed);
    r->at += got;
    return r->failed.status == TN_OK ? got : SIZE_MAX;
}

static size_t read_stdin(void *user, char *bytes, size_t size)
{
    restoring *r = user;
    size_t got = fread(bytes, 1, size, stdin);
    r->at += got;
    return got == 0 && ferror(stdin) ? SIZE_MAX : got;
}

static tn_status restore(restoring *r, tn_library *library, const char *path, bool from_stdin, tn_error *err)
{
    r->failed.status = TN_OK;
    tn_status status = tn_library_restore(library, from_stdin ? read_stdin : read_file, r, &r->models, err);
    if (r->failed.status != TN_OK)
        return tn_fail_as(&r->failed, err);
    if (status != TN_OK && status != TN_EXISTS && !from_stdin)
        tn_error_at_file(err, path);
    return status;
}

static void say(tn_cli *cli, uint64_t models)
{
    if (cli->settings.json) {
        tn_json_writer w;
        tn_json_line(&w, &cli->out);
        tn_json_key(&w, "models");
        tn_json_uint(&w, models);
        tn_json_line_end(&w, &cli->out);
    } else if (!cli->settings.quiet) {
        tn_plural_append(&cli->out.text, models, "model", "models");
        tn_buffer_text(&cli->out.text, " restored; `tenure import` of their folders looks at the files");
        tn_output_line(&cli->out);
    }
}

/* The file is opened before the library, so that a slip of the fingers makes none. */
void tn_verb_restore(tn_cli *cli)
{
    tn_error err;
    tn_library *library = NULL;
    restoring r = {.cli = cli};
    const char *path = cli->settings.arguments[0];
    bool from_stdin = strcmp(path, "-") == 0 && cli->settings.literal_from > 0;
    tn_status status = from_stdin ? TN_OK : tn_os_open(path, TN_OS_READ, &r.file, &err);
    if (status == TN_OK)
        status = tn_cli_library(cli, false, &library, &err);
    if (status == TN_OK)
        status = restore(&r, library, path, from_stdin, &err);
    if (status == TN_OK)
        say(cli, r.models);
    else
        tn_cli_fail(cli, &err);
    tn_library_close(library);
    tn_os_close(&r.file);
}
