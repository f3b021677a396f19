/* The run of the command: settings, context, verb, exit code.
 *
 * Starts no thread and opens no library unless a verb needs it, so that `tenure probe FILE` costs its file's header. */
#include <stdarg.h>
#include <string.h>

#include "cli/cli.h"
#include "core/utf8.h"
#include "os/os.h"

void tn_cli_raise(tn_cli *cli, int code)
{
    if (code > cli->code)
        cli->code = code;
}

/* One line on stderr, behind whatever stands on stdout already. */
static void complain(tn_cli *cli, const char *bytes, size_t size)
{
    tn_output_flush(&cli->out);
    tn_progress_clear(&cli->progress);
    tn_buffer line;
    tn_buffer_init(&line, &cli->memory, (size_t)1 << 20);
    tn_buffer_text(&line, "tenure: ");
    tn_utf8_append_shown(&line, bytes, size);
    tn_buffer_text(&line, "\n");
    if (line.failed == TN_OK)
        fwrite(line.bytes, 1, line.size, stderr);
    tn_buffer_free(&line);
}

static void complain_of(tn_cli *cli, const tn_error *err)
{
    tn_buffer text;
    tn_buffer_init(&text, &cli->memory, 8192);
    if (err->file[0])
        tn_buffer_format(&text, "%s: ", err->file);
    tn_buffer_text(&text, err->message);
    if (err->tensor[0])
        tn_buffer_format(&text, " [%s]", err->tensor);
    complain(cli, text.bytes ? text.bytes : err->message, text.bytes ? text.size : strlen(err->message));
    tn_buffer_free(&text);
}

void tn_cli_fail(tn_cli *cli, const tn_error *err)
{
    tn_cli_raise(cli, tn_status_exit_code(err->status));
    if (cli->settings.json) {
        tn_json_writer w;
        tn_finding finding = tn_finding_of(err);
        tn_json_line(&w, &cli->out);
        tn_json_key(&w, "error");
        tn_json_finding(&w, &finding, false);
        tn_json_line_end(&w, &cli->out);
    }
    complain_of(cli, err);
}

void tn_cli_note(tn_cli *cli, const char *format, ...)
{
    if (cli->settings.quiet)
        return;
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (size > 0)
        complain(cli, text, (size_t)size < sizeof text ? (size_t)size : sizeof text - 1);
}

bool tn_cli_stopped(tn_cli *cli)
{
    if (tn_context_cancelled(cli->context))
        tn_cli_raise(cli, tn_status_exit_code(TN_CANCELLED));
    return tn_context_cancelled(cli->context) || !tn_output_wanted(&cli->out);
}

static tn_status open_library(tn_cli *cli, bool read_only, const char *program, tn_library **out, tn_error *err)
{
    tn_library_options options = {.size = sizeof options, .read_only = read_only, .program = program};
    return tn_library_open(cli->context, cli->settings.library, &options, out, err);
}

tn_status tn_cli_library(tn_cli *cli, bool read_only, tn_library **out, tn_error *err)
{
    tn_buffer program;
    tn_buffer_init(&program, &cli->memory, (size_t)64 << 10);
    bool known = tn_os_program_path(&program, NULL) == TN_OK && program.bytes;
    const char *path = known ? program.bytes : NULL;
    tn_status status = open_library(cli, read_only, path, out, err);
    if (status == TN_READ_ONLY && read_only)
        status = open_library(cli, false, path, out, err); /* an older one: it has to be brought up to date first */
    tn_buffer_free(&program);
    if (status != TN_NOT_FOUND && tn_status_exit_code(status) == 1)
        tn_cli_raise(cli, 3); /* as a file it would need a look; as the library it ends the work */
    return status;
}

tn_status tn_cli_library_or_none(tn_cli *cli, tn_library **out, tn_error *err)
{
    tn_library_options options = {.size = sizeof options, .in_memory = true};
    tn_error found;
    tn_status status = tn_cli_library(cli, true, out, &found);
    if (status == TN_NOT_FOUND)
        return tn_library_open(cli->context, cli->settings.library, &options, out, err);
    return status == TN_OK ? TN_OK : tn_fail_as(&found, err);
}

/* ---- settings from the environment ---- */

static const tn_option *option_of(tn_option_id id)
{
    const tn_option *option = tn_option_table;
    while (option->id != id)
        option++;
    return option;
}

/* The value of a variable, kept in cli->environment; NULL when unset or empty. The buffer has room from the start, so
 * that what was kept before does not move. */
static const char *variable(tn_cli *cli, const char *name)
{
    size_t start = cli->environment.size;
    if (!tn_os_environment(name, &cli->environment) || cli->environment.size == start)
        return NULL;
    tn_buffer_append(&cli->environment, "", 1);
    return cli->environment.failed == TN_OK ? cli->environment.bytes + start : NULL;
}

static tn_status from_environment(tn_cli *cli, tn_option_id id, bool given, tn_error *err)
{
    const tn_option *option = option_of(id);
    const char *value = given ? NULL : variable(cli, option->environment);
    if (!value)
        return TN_OK;
    tn_error reason;
    if (tn_settings_set(&cli->settings, option, value, &reason) == TN_OK)
        return TN_OK;
    return tn_fail(err, TN_INVALID, "the environment variable %s cannot be used: %s", option->environment,
                   reason.message);
}

static tn_status read_environment(tn_cli *cli, tn_error *err)
{
    tn_settings *settings = &cli->settings;
    if (!tn_buffer_reserve(&cli->environment, (size_t)64 << 10))
        return tn_buffer_status(&cli->environment, err);
    TN_TRY(from_environment(cli, TN_OPTION_LIBRARY, settings->library != NULL, err));
    TN_TRY(from_environment(cli, TN_OPTION_MEMORY, settings->memory_bytes != 0, err));
    TN_TRY(from_environment(cli, TN_OPTION_JOBS, settings->jobs != 0, err));
    return from_environment(cli, TN_OPTION_NO_COLOR, settings->no_color, err);
}

static const char *const levels[] = {"error", "warn", "info", "debug"};

static void log_line(void *user, tn_log_level level, const char *message)
{
    tn_cli *cli = user;
    tn_progress_clear(&cli->progress);
    tn_buffer line;
    tn_buffer_init(&line, &cli->memory, (size_t)1 << 20);
    tn_buffer_format(&line, "tenure: %s: ", levels[level]);
    tn_utf8_append_shown(&line, message, strlen(message));
    tn_buffer_text(&line, "\n");
    if (line.failed == TN_OK)
        fwrite(line.bytes, 1, line.size, stderr);
    tn_buffer_free(&line);
}

static tn_status read_log_level(tn_cli *cli, tn_context_options *options, tn_error *err)
{
    const char *word = variable(cli, "TENURE_LOG");
    if (!word)
        return TN_OK;
    for (unsigned i = 0; i < 4; i++)
        if (strcmp(word, levels[i]) == 0) {
            options->log = log_line;
            options->log_user = cli;
            options->log_level = (tn_log_level)i;
            return TN_OK;
        }
    return tn_fail(err, TN_INVALID, "TENURE_LOG takes error, warn, info or debug, not `%.64s`", word);
}

static tn_status make_context(tn_cli *cli, tn_error *err)
{
    tn_context_options options = TN_CONTEXT_OPTIONS_INIT;
    options.memory_limit_bytes = cli->settings.memory_bytes;
    options.jobs = cli->settings.jobs;
    TN_TRY(read_log_level(cli, &options, err));
    return tn_context_create(&options, &cli->context, err);
}

/* ---- terminal ---- */

static void clear_progress(void *user)
{
    tn_progress_clear(user);
}

static void prepare_terminal(tn_cli *cli)
{
    bool terminal = tn_os_is_terminal(1), progress_terminal = tn_os_is_terminal(2);
    enum { ROOM = 64 };
    tn_buffer term;
    tn_buffer_init(&term, &cli->memory, ROOM);
    bool dumb = tn_os_environment("TERM", &term) && term.bytes && strcmp(term.bytes, "dumb") == 0;
    tn_buffer_free(&term);
    cli->out.columns = terminal ? tn_os_terminal_columns(1) : 0;
    cli->out.color = terminal && !dumb && !cli->settings.no_color;
    bool on = (progress_terminal && !dumb && !cli->settings.quiet) || cli->settings.progress;
    tn_progress_init(&cli->progress, &cli->memory, stderr, on, progress_terminal && !dumb, tn_os_terminal_columns(2));
    if (terminal) {
        cli->out.before = clear_progress;
        cli->out.before_user = &cli->progress;
    }
}

static void on_interrupt(void *user)
{
    tn_context_cancel(user);
}

/* ---- help, version and what is made for the build ---- */

static void json_text(tn_cli *cli, const char *key, const char *bytes, size_t size)
{
    tn_json_writer w;
    tn_json_line(&w, &cli->out);
    tn_json_key(&w, key);
    tn_json_string(&w, bytes, size);
    tn_json_line_end(&w, &cli->out);
}

static void print_version(tn_cli *cli)
{
    if (cli->settings.json) {
        json_text(cli, "version", tn_version(), strlen(tn_version()));
        return;
    }
    tn_buffer_format(&cli->out.text, "tenure %s", tn_version());
    tn_output_line(&cli->out);
}

/* Print what one of the makers of text made; in JSON as one member. */
static void print_made(tn_cli *cli, const char *key, tn_buffer *made)
{
    if (made->failed != TN_OK)
        cli->out.text.failed = made->failed;
    else if (cli->settings.json)
        json_text(cli, key, made->bytes, made->size);
    else
        tn_buffer_append(&cli->out.text, made->bytes, made->size);
    tn_buffer_free(made);
}

static void print_help(tn_cli *cli, const tn_verb *verb)
{
    tn_buffer made;
    tn_buffer_init(&made, &cli->memory, (size_t)1 << 20);
    if (verb)
        tn_help_verb(&made, verb);
    else
        tn_help_all(&made);
    print_made(cli, "help", &made);
}

static void print_man(tn_cli *cli, const tn_verb *verb)
{
    tn_buffer made;
    tn_buffer_init(&made, &cli->memory, (size_t)1 << 20);
    if (verb)
        tn_man_verb(&made, verb);
    else
        tn_man_all(&made);
    print_made(cli, "man", &made);
}

static void print_completion(tn_cli *cli, const char *shell)
{
    tn_buffer made;
    tn_buffer_init(&made, &cli->memory, (size_t)1 << 20);
    if (strcmp(shell, "bash") == 0)
        tn_complete_bash(&made);
    else if (strcmp(shell, "zsh") == 0)
        tn_complete_zsh(&made);
    else
        tn_complete_fish(&made);
    print_made(cli, "completion", &made);
}

/* What needs neither context nor library. False: it is not one of these. */
static bool run_simple(tn_cli *cli, tn_error *err, tn_status *status)
{
    const tn_settings *settings = &cli->settings;
    const char *word = settings->argument_count ? settings->arguments[0] : NULL;
    const tn_verb *about = word ? tn_verb_named(word) : NULL;
    bool of_verb = settings->verb == TN_VERB_HELP || settings->verb == TN_VERB_MAN;
    *status = TN_OK;
    if (settings->help)
        print_help(cli, tn_verb_of(settings->verb));
    else if (settings->version || settings->verb == TN_VERB_VERSION)
        print_version(cli);
    else if (of_verb && word && !about)
        *status = tn_fail(err, TN_INVALID, "there is no verb `%.64s`: `tenure help` lists them", word);
    else if (settings->verb == TN_VERB_HELP)
        print_help(cli, about);
    else if (settings->verb == TN_VERB_MAN)
        print_man(cli, about);
    else if (settings->verb == TN_VERB_COMPLETION)
        print_completion(cli, word);
    else if (settings->verb == TN_VERB_NONE && settings->json)
        *status = tn_fail(err, TN_INVALID, "a verb is missing: `tenure help` lists them");
    else if (settings->verb == TN_VERB_NONE)
        tn_help_short(&cli->out.text);
    else
        return false;
    return true;
}

/* ---- the run ---- */

static void run_verb(tn_cli *cli)
{
    static void (*const verbs[])(tn_cli *cli) = {
        [TN_VERB_IMPORT] = tn_verb_import,
        [TN_VERB_SCAN] = tn_verb_scan,
        [TN_VERB_ROOTS] = tn_verb_roots,
        [TN_VERB_RELINK] = tn_verb_relink,
        [TN_VERB_MISSING] = tn_verb_missing,
        [TN_VERB_LIST] = tn_verb_list,
        [TN_VERB_SHOW] = tn_verb_show,
        [TN_VERB_PROBE] = tn_verb_probe,
        [TN_VERB_INSPECT] = tn_verb_inspect,
        [TN_VERB_HASH] = tn_verb_hash,
        [TN_VERB_VERIFY] = tn_verb_verify,
        [TN_VERB_JOBS] = tn_verb_jobs,
        [TN_VERB_SEARCH] = tn_verb_search,
        [TN_VERB_TAG] = tn_verb_tag,
        [TN_VERB_NOTE] = tn_verb_note,
        [TN_VERB_RENAME] = tn_verb_rename,
        [TN_VERB_SET] = tn_verb_set,
        [TN_VERB_DUPLICATES] = tn_verb_duplicates,
        [TN_VERB_USAGE] = tn_verb_usage,
        [TN_VERB_EXPORT] = tn_verb_export,
        [TN_VERB_RESTORE] = tn_verb_restore,
        [TN_VERB_MOVE] = tn_verb_move,
        [TN_VERB_REMOVE] = tn_verb_remove,
        [TN_VERB_UNDO] = tn_verb_undo,
    };
    tn_verb_id verb = cli->settings.verb;
    if ((size_t)verb < sizeof verbs / sizeof *verbs && verbs[verb] != NULL)
        verbs[verb](cli);
}

/* Whether --json is asked for, also on a command line that cannot be understood. */
static bool wants_json(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--json") == 0)
            return true;
    return false;
}

static tn_status run(tn_cli *cli, int argc, char **argv, tn_error *err)
{
    cli->settings.json = wants_json(argc, argv);
    TN_TRY(tn_settings_parse(argc, argv, &cli->settings, err));
    tn_status status;
    if (run_simple(cli, err, &status))
        return status;
    TN_TRY(read_environment(cli, err));
    prepare_terminal(cli);
    TN_TRY(make_context(cli, err));
    tn_os_on_interrupt(on_interrupt, cli->context);
    run_verb(cli);
    return TN_OK;
}

/* The last of the output goes out; a disk that is full is told, a reader that went away is not. */
static void finish(tn_cli *cli)
{
    tn_output_flush(&cli->out);
    tn_progress_clear(&cli->progress);
    if (!cli->out.failed)
        return;
    tn_cli_raise(cli, tn_status_exit_code(TN_INTERNAL));
    cli->settings.quiet = false;
    tn_cli_note(cli, "the output could not be written: %s", strerror(cli->out.failed));
}

int tn_cli_main(int argc, char **argv)
{
    tn_cli cli = {.code = 0};
    tn_budget_init(&cli.budget, TN_CLI_MEMORY_MAX);
    cli.memory = (tn_memory_source){tn_allocator_system(), &cli.budget};
    tn_output_init(&cli.out, &cli.memory, stdout);
    tn_buffer_init(&cli.environment, &cli.memory, (size_t)64 << 10);
    tn_progress_init(&cli.progress, &cli.memory, stderr, false, false, 0);
    tn_error err;
    if (run(&cli, argc, argv, &err) != TN_OK)
        tn_cli_fail(&cli, &err);
    finish(&cli);
    tn_progress_free(&cli.progress);
    tn_output_free(&cli.out);
    tn_buffer_free(&cli.environment);
    if (cli.context)
        tn_os_on_interrupt(NULL, NULL);
    tn_context_destroy(cli.context);
    return cli.code;
}
