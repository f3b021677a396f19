/* Man pages in troff's man macros, made from the tables: tenure(1) and one page a verb. */
#include <string.h>

#include "cli/options.h"

/* Text that troff takes literally: backslashes, hyphens, and no line that begins with a dot or quote as a request.
 * `code` quotes of the tables become bold. */
static void literal(tn_buffer *out, const char *text, size_t size)
{
    bool bold = false;
    tn_buffer_text(out, "\\&");
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\\')
            tn_buffer_text(out, "\\e");
        else if (text[i] == '-')
            tn_buffer_text(out, "\\-");
        else if (text[i] == '\'')
            tn_buffer_text(out, "\\(aq");
        else if (text[i] == '~')
            tn_buffer_text(out, "\\(ti");
        else if (text[i] == '`')
            tn_buffer_text(out, (bold = !bold) ? "\\fB" : "\\fR");
        else
            tn_buffer_append(out, &text[i], 1);
    }
    tn_buffer_text(out, bold ? "\\fR\n" : "\n");
}

static void line(tn_buffer *out, const char *text)
{
    literal(out, text, strlen(text));
}

static void paragraphs(tn_buffer *out, const char *text)
{
    while (*text) {
        const char *end = strstr(text, "\n\n");
        size_t size = end ? (size_t)(end - text) : strlen(text);
        tn_buffer_text(out, ".PP\n");
        literal(out, text, size);
        text += size + (end ? 2 : 0);
    }
}

static void title(tn_buffer *out, const char *verb, const char *says)
{
    tn_buffer_format(out, ".TH \"TENURE%s%s\" \"1\" \"\" \"Tenure " TN_VERSION "\" \"User Commands\"\n.SH NAME\n",
                     *verb ? "-" : "", verb);
    tn_buffer_format(out, "tenure%s%s \\- ", *verb ? "\\-" : "", verb);
    line(out, says);
}

static void option_entry(tn_buffer *out, const tn_option *option)
{
    tn_buffer_text(out, ".TP\n");
    if (option->letter)
        tn_buffer_format(out, "\\fB\\-%c\\fR, ", option->letter);
    tn_buffer_text(out, "\\fB\\-\\-");
    for (const char *at = option->name; *at; at++)
        tn_buffer_format(out, *at == '-' ? "\\-" : "%c", *at);
    tn_buffer_text(out, "\\fR");
    if (option->value)
        tn_buffer_format(out, " \\fI%s\\fR", option->value);
    tn_buffer_text(out, "\n");
    line(out, option->says);
    if (option->words || option->environment)
        tn_buffer_text(out, ".br\n");
    if (option->words)
        tn_buffer_format(out, "One of %s.\n", option->words);
    if (option->environment)
        tn_buffer_format(out, "Environment: \\fB%s\\fR.\n", option->environment);
}

static void options_of(tn_buffer *out, tn_verb_id verb, bool common, const char *heading)
{
    bool headed = false;
    for (const tn_option *option = tn_option_table; option->name; option++) {
        if ((option->verbs == TN_EVERY_VERB) != common || !tn_option_belongs(option, verb))
            continue;
        if (!headed)
            tn_buffer_format(out, ".SH %s\n", heading);
        headed = true;
        option_entry(out, option);
    }
}

static void examples(tn_buffer *out, const char *text)
{
    if (*text)
        tn_buffer_text(out, ".SH EXAMPLES\n");
    for (bool command = true; *text; command = !command) {
        size_t size = strcspn(text, "\n");
        tn_buffer_text(out, command ? ".TP\n.B\n" : "");
        literal(out, text, size);
        text += size + (text[size] == '\n');
    }
}

static void exit_codes(tn_buffer *out)
{
    tn_buffer_text(out, ".SH EXIT STATUS\n"
                        ".TP\n0\ndone\n"
                        ".TP\n1\ndone, and something about the inputs must be looked at\n"
                        ".TP\n2\nwrong usage\n"
                        ".TP\n3\nthe work could not be done\n"
                        ".TP\n4\nrefused for lack of memory or space\n"
                        ".TP\n5\nthe library is locked, or newer than this program\n"
                        ".TP\n130\ninterrupted; nothing is lost\n");
}

static void environment(tn_buffer *out)
{
    tn_buffer_text(out, ".SH ENVIRONMENT\n");
    for (const tn_option *option = tn_option_table; option->name; option++)
        if (option->environment)
            tn_buffer_format(out, ".TP\n.B %s\nread where \\fB\\-\\-%s\\fR is not given\n", option->environment,
                             option->id == TN_OPTION_NO_COLOR ? "no\\-color" : option->name);
    tn_buffer_text(out, ".TP\n.B TENURE_LOG\nerror, warn, info or debug: what is told on stderr\n");
}

void tn_man_all(tn_buffer *out)
{
    title(out, "", "know, verify and remember model weights");
    tn_buffer_text(out, ".SH SYNOPSIS\n.B tenure\n.I VERB\n[options] [arguments]\n.SH VERBS\n");
    for (const tn_verb *verb = tn_verb_table; verb->name; verb++) {
        if (verb->hidden)
            continue;
        tn_buffer_format(out, ".TP\n.BR tenure\\-%s (1)\n", verb->name);
        line(out, verb->says);
    }
    options_of(out, TN_VERB_HELP, true, "OPTIONS OF EVERY VERB");
    exit_codes(out);
    environment(out);
}

void tn_man_verb(tn_buffer *out, const tn_verb *verb)
{
    title(out, verb->name, verb->says);
    tn_buffer_format(out, ".SH SYNOPSIS\n.B tenure %s\n[options] ", verb->name);
    line(out, verb->arguments);
    tn_buffer_text(out, ".SH DESCRIPTION\n");
    paragraphs(out, verb->about);
    options_of(out, verb->id, false, "OPTIONS");
    options_of(out, verb->id, true, "OPTIONS OF EVERY VERB");
    examples(out, verb->examples);
    exit_codes(out);
    tn_buffer_text(out, ".SH SEE ALSO\n.BR tenure (1)\n");
}
