/* Completion scripts for bash, zsh and fish, made from the tables. */
#include <string.h>

#include "cli/options.h"

/* "a|b|c" as "a b c". */
static void words(tn_buffer *out, const char *text)
{
    tn_text each;
    for (const char *between = ""; tn_cli_words_next(&text, &each); between = " ") {
        tn_buffer_text(out, between);
        tn_buffer_append(out, each.bytes, each.size);
    }
}

static void verb_names(tn_buffer *out)
{
    const char *between = "";
    for (const tn_verb *verb = tn_verb_table; verb->name; verb++) {
        if (verb->hidden)
            continue;
        tn_buffer_format(out, "%s%s", between, verb->name);
        between = " ";
    }
}

/* A sentence inside single quotes. The tables hold no newline in these; a quote is written as the shells need it. */
static void quoted(tn_buffer *out, const char *text, const char *escaped)
{
    for (; *text; text++) {
        if (*text == '\'')
            tn_buffer_text(out, "'\\''");
        else if (strchr(escaped, *text))
            tn_buffer_format(out, "\\%c", *text);
        else
            tn_buffer_append(out, text, 1);
    }
}

/* ---- bash ---- */

static void bash_options(tn_buffer *out, tn_verb_id verb, bool common)
{
    const char *between = "";
    for (const tn_option *option = tn_option_table; option->name; option++) {
        if ((option->verbs == TN_EVERY_VERB) != common || !tn_option_belongs(option, verb))
            continue;
        tn_buffer_format(out, "%s--%s", between, option->name);
        between = " ";
    }
}

/* The patterns of options with a value: "--library|--memory|-j". */
static void bash_valued(tn_buffer *out)
{
    const char *between = "";
    for (const tn_option *option = tn_option_table; option->name; option++) {
        if (!option->value)
            continue;
        tn_buffer_format(out, "%s--%s", between, option->name);
        if (option->letter)
            tn_buffer_format(out, "|-%c", option->letter);
        between = "|";
    }
}

static void bash_values(tn_buffer *out)
{
    tn_buffer_text(out, "    case $previous in\n");
    for (const tn_option *option = tn_option_table; option->name; option++) {
        if (!option->words)
            continue;
        tn_buffer_format(out, "        --%s) COMPREPLY=($(compgen -W '", option->name);
        words(out, option->words);
        tn_buffer_text(out, "' -- \"$current\")); return ;;\n");
    }
    tn_buffer_text(out, "        ");
    bash_valued(out);
    tn_buffer_text(out, ") return ;;\n    esac\n");
}

static void bash_verbs(tn_buffer *out)
{
    tn_buffer_text(out, "    case $verb in\n        '') wanted='");
    verb_names(out);
    tn_buffer_text(out, "' ;;\n");
    for (const tn_verb *verb = tn_verb_table; verb->name; verb++) {
        if (verb->hidden)
            continue;
        tn_buffer_format(out, "        %s) options=\"$options ", verb->name);
        bash_options(out, verb->id, false);
        tn_buffer_text(out, "\" wanted='");
        if (verb->kind == TN_ARGUMENT_WORDS)
            words(out, verb->words);
        else if (verb->kind == TN_ARGUMENT_VERBS)
            verb_names(out);
        tn_buffer_text(out, "' ;;\n");
    }
    tn_buffer_text(out, "    esac\n");
}

void tn_complete_bash(tn_buffer *out)
{
    tn_buffer_text(out, "# bash completion for tenure; written by `tenure completion bash`\n"
                        "_tenure() {\n"
                        "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
                        "    local verb='' wanted='' options='' i\n"
                        "    COMPREPLY=()\n"
                        "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
                        "        case ${COMP_WORDS[i]} in\n            ");
    bash_valued(out);
    tn_buffer_text(out, ") ((i++)) ;;\n"
                        "            -*) ;;\n"
                        "            *) verb=${COMP_WORDS[i]}; break ;;\n"
                        "        esac\n"
                        "    done\n");
    bash_values(out);
    tn_buffer_text(out, "    options='");
    bash_options(out, TN_VERB_HELP, true);
    tn_buffer_text(out, "'\n");
    bash_verbs(out);
    tn_buffer_text(out, "    case $current in\n"
                        "        -*) COMPREPLY=($(compgen -W \"$options\" -- \"$current\")) ;;\n"
                        "        *) COMPREPLY=($(compgen -W \"$wanted\" -- \"$current\")) ;;\n"
                        "    esac\n"
                        "}\n"
                        "complete -o default -o bashdefault -F _tenure tenure\n");
}

/* ---- zsh ---- */

/* "'--jobs[threads to use]:N:'" */
static void zsh_spec(tn_buffer *out, const char *dashes, const char *name, size_t size, const tn_option *option)
{
    tn_buffer_format(out, "            '%s%.*s[", dashes, (int)size, name);
    quoted(out, option->says, "[]:\\");
    tn_buffer_text(out, "]");
    if (option->words) {
        tn_buffer_format(out, ":%s:(", option->value);
        words(out, option->words);
        tn_buffer_text(out, ")");
    } else if (option->value)
        tn_buffer_format(out, ":%s:%s", option->value, option->id == TN_OPTION_LIBRARY ? "_files" : "");
    tn_buffer_text(out, "'\n");
}

static void zsh_options(tn_buffer *out, tn_verb_id verb, bool common)
{
    for (const tn_option *option = tn_option_table; option->name; option++) {
        if ((option->verbs == TN_EVERY_VERB) != common || !tn_option_belongs(option, verb))
            continue;
        zsh_spec(out, "--", option->name, strlen(option->name), option);
        if (option->letter)
            zsh_spec(out, "-", &option->letter, 1, option);
    }
}

static void zsh_arguments(tn_buffer *out, const tn_verb *verb)
{
    if (verb->kind == TN_ARGUMENT_PATHS)
        tn_buffer_text(out, "            '*:path:_files'\n");
    if (verb->kind == TN_ARGUMENT_NONE || verb->kind == TN_ARGUMENT_PATHS)
        return;
    tn_buffer_text(out, "            '1:word:(");
    if (verb->words)
        words(out, verb->words);
    else
        verb_names(out);
    tn_buffer_text(out, ")'\n");
}

void tn_complete_zsh(tn_buffer *out)
{
    tn_buffer_text(out, "#compdef tenure\n# zsh completion for tenure; written by `tenure completion zsh`\n"
                        "_tenure() {\n    local -a verbs common own\n    local context state line\n    verbs=(\n");
    for (const tn_verb *verb = tn_verb_table; verb->name; verb++) {
        if (verb->hidden)
            continue;
        tn_buffer_format(out, "        '%s:", verb->name);
        quoted(out, verb->says, ":\\");
        tn_buffer_text(out, "'\n");
    }
    tn_buffer_text(out, "    )\n    common=(\n");
    zsh_options(out, TN_VERB_HELP, true);
    tn_buffer_text(out, "    )\n"
                        "    _arguments -C $common '1: :->verb' '*:: :->rest'\n"
                        "    if [[ $state == verb ]]; then\n"
                        "        _describe verb verbs\n        return\n    fi\n"
                        "    case $words[1] in\n");
    for (const tn_verb *verb = tn_verb_table; verb->name; verb++) {
        if (verb->hidden)
            continue;
        tn_buffer_format(out, "        %s) own=(\n", verb->name);
        zsh_options(out, verb->id, false);
        zsh_arguments(out, verb);
        tn_buffer_text(out, "        ) ;;\n");
    }
    tn_buffer_text(out, "    esac\n    _arguments $common $own\n}\n_tenure \"$@\"\n");
}

/* ---- fish ---- */

static void fish_option(tn_buffer *out, const tn_option *option, const char *verb)
{
    tn_buffer_text(out, "complete -c tenure");
    if (*verb)
        tn_buffer_format(out, " -n '__fish_seen_subcommand_from %s'", verb);
    tn_buffer_format(out, " -l %s", option->name);
    if (option->letter)
        tn_buffer_format(out, " -s %c", option->letter);
    if (option->words) {
        tn_buffer_text(out, " -x -a '");
        words(out, option->words);
        tn_buffer_text(out, "'");
    } else if (option->value)
        tn_buffer_text(out, option->id == TN_OPTION_LIBRARY ? " -r" : " -x");
    tn_buffer_text(out, " -d '");
    quoted(out, option->says, "\\");
    tn_buffer_text(out, "'\n");
}

static void fish_verb(tn_buffer *out, const tn_verb *verb)
{
    tn_buffer_format(out, "complete -c tenure -n __fish_use_subcommand -f -a %s -d '", verb->name);
    quoted(out, verb->says, "\\");
    tn_buffer_text(out, "'\n");
    if (verb->kind != TN_ARGUMENT_PATHS) {
        tn_buffer_format(out, "complete -c tenure -n '__fish_seen_subcommand_from %s' -f", verb->name);
        tn_buffer_text(out, verb->kind == TN_ARGUMENT_NONE ? "" : " -a '");
        if (verb->kind == TN_ARGUMENT_WORDS)
            words(out, verb->words);
        else if (verb->kind == TN_ARGUMENT_VERBS)
            verb_names(out);
        tn_buffer_text(out, verb->kind == TN_ARGUMENT_NONE ? "\n" : "'\n");
    }
    for (const tn_option *option = tn_option_table; option->name; option++)
        if (option->verbs != TN_EVERY_VERB && tn_option_belongs(option, verb->id))
            fish_option(out, option, verb->name);
}

void tn_complete_fish(tn_buffer *out)
{
    tn_buffer_text(out, "# fish completion for tenure; written by `tenure completion fish`\n");
    for (const tn_verb *verb = tn_verb_table; verb->name; verb++)
        if (!verb->hidden)
            fish_verb(out, verb);
    for (const tn_option *option = tn_option_table; option->name; option++)
        if (option->verbs == TN_EVERY_VERB)
            fish_option(out, option, "");
}
