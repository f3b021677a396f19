/* --help and `tenure help`, made from the tables: at most 80 columns, no colours, for people and for pipes. */
#include <string.h>

#include "cli/options.h"

#define WIDTH 80u
#define OPTION_COLUMN 22u /* where an option's sentence begins */
#define VERB_COLUMN 13u

static void spaces(tn_buffer *out, size_t count)
{
    tn_buffer_format(out, "%*s", (int)count, "");
}

/* Words of `text` broken into lines that begin at column `indent`; the first line is at column `at` already. */
static void wrap(tn_buffer *out, const char *text, size_t size, size_t at, size_t indent)
{
    size_t column = at;
    const char *end = text + size;
    while (text < end) {
        size_t word = 0;
        while (text + word < end && text[word] != ' ')
            word++;
        if (column > indent && column + 1 + word > WIDTH) {
            tn_buffer_text(out, "\n");
            column = 0;
        }
        if (column < indent) {
            spaces(out, indent - column);
            column = indent;
        } else if (column > indent) {
            tn_buffer_text(out, " ");
            column++;
        }
        tn_buffer_append(out, text, word);
        column += word;
        text += word;
        while (text < end && *text == ' ')
            text++;
    }
    tn_buffer_text(out, "\n");
}

static void paragraphs(tn_buffer *out, const char *text)
{
    while (*text) {
        const char *end = strstr(text, "\n\n");
        size_t size = end ? (size_t)(end - text) : strlen(text);
        tn_buffer_text(out, "\n");
        wrap(out, text, size, 0, 0);
        text += size + (end ? 2 : 0);
    }
}

/* "  -j, --jobs N       threads to use at most" */
static void option_line(tn_buffer *out, const tn_option *option)
{
    size_t before = out->size;
    if (option->letter)
        tn_buffer_format(out, "  -%c, --%s", option->letter, option->name);
    else
        tn_buffer_format(out, "      --%s", option->name);
    if (option->value)
        tn_buffer_format(out, " %s", option->value);
    size_t column = out->size - before;
    if (column + 2 > OPTION_COLUMN) {
        tn_buffer_text(out, "\n");
        column = 0;
    }
    spaces(out, OPTION_COLUMN - column);
    wrap(out, option->says, strlen(option->says), OPTION_COLUMN, OPTION_COLUMN);
    if (option->environment) {
        spaces(out, OPTION_COLUMN);
        tn_buffer_format(out, "(environment: %s)\n", option->environment);
    }
}

static void options_of(tn_buffer *out, tn_verb_id verb, bool common, const char *title)
{
    bool titled = false;
    for (const tn_option *option = tn_option_table; option->name; option++) {
        if ((option->verbs == TN_EVERY_VERB) != common || !tn_option_belongs(option, verb))
            continue;
        if (!titled)
            tn_buffer_format(out, "\n%s:\n", title);
        titled = true;
        option_line(out, option);
    }
}

static void examples(tn_buffer *out, const char *text)
{
    if (*text)
        tn_buffer_text(out, "\nExamples:\n");
    for (bool command = true; *text; command = !command) {
        size_t size = strcspn(text, "\n");
        tn_buffer_format(out, command ? "  %.*s\n" : "      %.*s\n", (int)size, text);
        text += size + (text[size] == '\n');
    }
}

static void verb_lines(tn_buffer *out)
{
    for (const tn_verb *verb = tn_verb_table; verb->name; verb++) {
        if (verb->hidden)
            continue;
        tn_buffer_format(out, "  %-*s", (int)VERB_COLUMN - 2, verb->name);
        wrap(out, verb->says, strlen(verb->says), VERB_COLUMN, VERB_COLUMN);
    }
}

void tn_help_short(tn_buffer *out)
{
    tn_buffer_text(out, "Tenure knows and remembers model weights.\n\n"
                        "  tenure import ~/models          find, identify and remember the models there\n"
                        "  tenure list                     list them\n"
                        "  tenure probe FILE               say what a file is\n\n"
                        "`tenure help` explains the rest.\n");
}

void tn_help_all(tn_buffer *out)
{
    tn_buffer_text(out, "tenure VERB [options] ARGUMENTS\n\n"
                        "Knows and remembers model weights, and never takes the process down.\n\nVerbs:\n");
    verb_lines(out);
    options_of(out, TN_VERB_HELP, true, "Options of every verb, anywhere before `--`");
    paragraphs(out, "A PATH of `-` reads paths from stdin, separated by NULs or by newlines. Behind `--` everything is "
                    "taken as it stands.");
    tn_buffer_text(out, "\nExit codes:\n"
                        "  0    done\n"
                        "  1    done, and something about the inputs must be looked at\n"
                        "  2    wrong usage\n"
                        "  3    the work could not be done\n"
                        "  4    refused for lack of memory or space\n"
                        "  5    the library is locked, or newer than this program\n"
                        "  130  interrupted; nothing is lost\n"
                        "\n`tenure VERB --help` explains a verb.\n");
}

void tn_help_verb(tn_buffer *out, const tn_verb *verb)
{
    tn_buffer_format(out, "tenure %s [options]%s%s\n", verb->name, *verb->arguments ? " " : "", verb->arguments);
    paragraphs(out, verb->about);
    options_of(out, verb->id, false, "Options");
    options_of(out, verb->id, true, "Options of every verb");
    examples(out, verb->examples);
}
