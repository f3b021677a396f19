/* The lines of a summary that name paths: what is gone, which roots are away, which folders could not be read; and what a
 * scan could and could not find again. */
#include "cli/cli.h"
#include "core/utf8.h"

/* ---- for people ---- */

void tn_summary_print_links(tn_cli *cli, const tn_import_summary *summary)
{
    tn_buffer *out = &cli->out.text;
    if (summary->growing) {
        tn_plural_append(out, summary->growing, "model is", "models are");
        tn_buffer_text(out, " still being written, and left for later");
        tn_output_line(&cli->out);
    }
    if (summary->links_outside) {
        tn_plural_append(out, summary->links_outside, "link leads", "links lead");
        tn_buffer_text(out, " to folders outside; they were followed");
        tn_output_line(&cli->out);
    }
    if (summary->links_dangling) {
        tn_plural_append(out, summary->links_dangling, "link leads", "links lead");
        tn_buffer_text(out, " nowhere");
        tn_output_line(&cli->out);
    }
}

/* "gone  old/style.safetensors  another file has its name now" */
static void print_one(tn_cli *cli, const char *word, tn_style style, tn_text path, tn_text message)
{
    tn_buffer *out = &cli->out.text;
    tn_output_styled(&cli->out, style, word);
    tn_buffer_text(out, "  ");
    tn_utf8_append_shown(out, path.bytes, path.size);
    if (message.size) {
        tn_buffer_text(out, "  ");
        tn_utf8_append_shown(out, message.bytes, message.size);
    }
    tn_output_line(&cli->out);
}

static void print_rest(tn_cli *cli, uint64_t all, size_t named, const char *more)
{
    if (all <= named)
        return;
    tn_buffer_text(&cli->out.text, "and ");
    tn_count_append(&cli->out.text, all - named);
    tn_buffer_text(&cli->out.text, more);
    tn_output_line(&cli->out);
}

static void print_gone(tn_cli *cli, const tn_import_summary *summary, const tn_paths *roots)
{
    tn_buffer absolute;
    tn_buffer_init(&absolute, &cli->memory, (size_t)1 << 20);
    for (size_t i = 0; i < summary->vanished_count; i++) {
        const tn_named *each = &summary->vanished_named[i];
        print_one(cli, "gone", TN_STYLE_WARN, tn_summary_below_roots(roots, each->path, &absolute), each->message);
    }
    tn_buffer_free(&absolute);
    print_rest(cli, summary->vanished, summary->vanished_count, " more are gone: tenure missing");
}

static void print_asks(tn_cli *cli, const tn_import_summary *summary)
{
    if (!summary->asks)
        return;
    tn_plural_append(&cli->out.text, summary->asks, "missing model", "missing models");
    tn_buffer_text(&cli->out.text, " may have been found: tenure relink");
    tn_output_line(&cli->out);
}

void tn_summary_print_named(tn_cli *cli, const tn_import_summary *summary, const tn_paths *roots)
{
    if (!cli->settings.quiet && summary->relinked) {
        tn_count_append(&cli->out.text, summary->relinked);
        tn_buffer_text(&cli->out.text, " relinked: moved, and found again");
        tn_output_line(&cli->out);
    }
    if (!cli->settings.quiet) {
        print_gone(cli, summary, roots);
        for (size_t i = 0; i < summary->away_count; i++)
            print_one(cli, "away", TN_STYLE_WARN, summary->away[i].path, summary->away[i].message);
        print_asks(cli, summary);
    }
    if (summary->folders_unreadable) {
        tn_plural_append(&cli->out.text, summary->folders_unreadable, "folder", "folders");
        tn_buffer_text(&cli->out.text, " could not be read");
        tn_output_line(&cli->out);
    }
    for (size_t i = 0; i < summary->unreadable_count; i++)
        print_one(cli, "unreadable", TN_STYLE_BAD, summary->unreadable[i].path, summary->unreadable[i].message);
    print_rest(cli, summary->folders_unreadable, summary->unreadable_count, " more");
}

/* ---- for programs ---- */

static void json_list(tn_json_writer *w, const char *key, const tn_named *items, size_t count)
{
    tn_json_key(w, key);
    tn_json_array(w);
    for (size_t i = 0; i < count; i++) {
        tn_json_object(w);
        tn_json_path(w, items[i].path.bytes, items[i].path.size);
        tn_json_text_field(w, "message", items[i].message);
        tn_json_object_end(w);
    }
    tn_json_array_end(w);
}

void tn_summary_json_named(tn_json_writer *w, const tn_import_summary *summary)
{
    tn_json_amount(w, "relinked", summary->relinked);
    tn_json_amount(w, "asks", summary->asks);
    tn_json_amount(w, "folders_unreadable", summary->folders_unreadable);
    tn_json_amount(w, "links_dangling", summary->links_dangling);
    tn_json_amount(w, "links_outside", summary->links_outside);
    tn_json_amount(w, "growing", summary->growing);
    json_list(w, "gone", summary->vanished_named, summary->vanished_count);
    json_list(w, "away", summary->away, (size_t)summary->away_count);
    json_list(w, "unreadable", summary->unreadable, summary->unreadable_count);
}
