/* `tenure rename`: another name in the library. */
#include "cli/changing.h"
#include "core/utf8.h"

static tn_status make(tn_changing *c, const char *model, tn_error *err)
{
    return tn_library_rename(c->library, model, c->user, err);
}

static void say(tn_changing *c, const tn_record *record)
{
    tn_buffer *out = &c->cli->out.text;
    tn_text file = tn_base_name(record->path);
    tn_utf8_append_shown(out, record->name.bytes, record->name.size);
    tn_buffer_text(out, ": named so in the library; the file stays ");
    tn_utf8_append_shown(out, file.bytes, file.size);
    tn_output_line(&c->cli->out);
}

void tn_verb_rename(tn_cli *cli)
{
    tn_library *library;
    if (!tn_cli_open_library(cli, false, &library))
        return;
    const char *model = cli->settings.arguments[0];
    tn_changing c = {.cli = cli, .library = library, .make = make, .say = say, .user = cli->settings.arguments[1]};
    tn_change_each(&c, &model, 1);
    tn_library_close(library);
}
