/* `tenure search`: the models that have some words, the nearest first. */
#include "cli/cli.h"

/* The arguments with blanks between, as if they had been quoted together. */
static tn_status text_of(const tn_settings *settings, tn_buffer *out, tn_error *err)
{
    for (size_t i = 0; i < settings->argument_count; i++) {
        tn_buffer_text(out, i ? " " : "");
        tn_buffer_text(out, settings->arguments[i]);
    }
    return tn_buffer_status(out, err);
}

static tn_status search(tn_cli *cli, tn_library *library, const char *text, tn_error *err)
{
    tn_records records;
    tn_records_begin(&records, cli);
    tn_status status = tn_library_search(library, text, cli->settings.limit, tn_records_tell, &records, err);
    tn_records_end(&records);
    if (status == TN_OK && !records.count)
        tn_cli_note(cli, "nothing is found: every word has to stand in a model's name, path, tags or note");
    return status;
}

void tn_verb_search(tn_cli *cli)
{
    tn_error err;
    tn_buffer text;
    tn_library *library;
    if (!tn_cli_open_library(cli, true, &library))
        return;
    tn_buffer_init(&text, &cli->memory, (size_t)1 << 20);
    tn_status status = text_of(&cli->settings, &text, &err);
    if (status == TN_OK)
        status = search(cli, library, text.bytes, &err);
    if (status != TN_OK)
        tn_cli_fail(cli, &err);
    tn_buffer_free(&text);
    tn_library_close(library);
}
