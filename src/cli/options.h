/* Every verb and every option of the command, once.
 *
 * Parsing, --help, the man pages and the completion of three shells are all made from these two tables; nothing else
 * knows an option's name. A row that is added here is in all of them.
 */
#ifndef TN_CLI_OPTIONS_H
#define TN_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tenure/status.h>

#include "core/buffer.h"

typedef enum tn_verb_id {
    TN_VERB_NONE = 0,
    TN_VERB_IMPORT,
    TN_VERB_SCAN,
    TN_VERB_ROOTS,
    TN_VERB_RELINK,
    TN_VERB_MISSING,
    TN_VERB_LIST,
    TN_VERB_SHOW,
    TN_VERB_PROBE,
    TN_VERB_INSPECT,
    TN_VERB_HASH,
    TN_VERB_VERIFY,
    TN_VERB_JOBS,
    TN_VERB_SEARCH,
    TN_VERB_TAG,
    TN_VERB_NOTE,
    TN_VERB_RENAME,
    TN_VERB_SET,
    TN_VERB_DUPLICATES,
    TN_VERB_USAGE,
    TN_VERB_EXPORT,
    TN_VERB_RESTORE,
    TN_VERB_MOVE,
    TN_VERB_REMOVE,
    TN_VERB_UNDO,
    TN_VERB_HELP,
    TN_VERB_VERSION,
    TN_VERB_COMPLETION,
    TN_VERB_MAN
} tn_verb_id;

/* What an argument is, for completion. */
typedef enum tn_argument_kind {
    TN_ARGUMENT_NONE,
    TN_ARGUMENT_PATHS,
    TN_ARGUMENT_WORDS,
    TN_ARGUMENT_VERBS
} tn_argument_kind;

typedef struct tn_verb {
    tn_verb_id id;
    const char *name;
    const char *arguments; /* as help shows them: "PATH..." */
    tn_argument_kind kind;
    const char *words;     /* "run|pause": what the first argument may be; NULL: anything */
    size_t arguments_min, arguments_max; /* SIZE_MAX: as many as one likes */
    bool hidden;           /* for the build; not in help, man or completion */
    const char *says;      /* one line */
    const char *about;     /* paragraphs, separated by empty lines */
    const char *examples;  /* a command and what it does on alternating lines */
} tn_verb;

typedef enum tn_option_id {
    TN_OPTION_INTERACTIVE,
    TN_OPTION_COPY_TO,
    TN_OPTION_MOVE_TO,
    TN_OPTION_TO_TRASH,
    TN_OPTION_DELETE,
    TN_OPTION_FOLLOW,
    TN_OPTION_LIST,
    TN_OPTION_YES,
    TN_OPTION_TYPE,
    TN_OPTION_BASE,
    TN_OPTION_VARIANT,
    TN_OPTION_TAG,
    TN_OPTION_STATE,
    TN_OPTION_MISSING,
    TN_OPTION_AUTO,
    TN_OPTION_NEW_WORD,
    TN_OPTION_REMOVE,
    TN_OPTION_BY,
    TN_OPTION_DEPTH,
    TN_OPTION_DISK,
    TN_OPTION_JSON,
    TN_OPTION_LIBRARY,
    TN_OPTION_MEMORY,
    TN_OPTION_JOBS,
    TN_OPTION_QUIET,
    TN_OPTION_NO_COLOR,
    TN_OPTION_PROGRESS,
    TN_OPTION_HELP,
    TN_OPTION_VERSION,
    TN_OPTION_DRY_RUN,
    TN_OPTION_HASH,
    TN_OPTION_LIMIT,
    TN_OPTION_WHY,
    TN_OPTION_LENIENT,
    TN_OPTION_ALGO,
    TN_OPTION_ALL,
    TN_OPTION_QUICK,
    TN_OPTION_WATCH
} tn_option_id;

typedef struct tn_option {
    tn_option_id id;
    const char *name;        /* without its dashes */
    char letter;             /* 0: none */
    const char *value;       /* placeholder of its value; NULL: a switch */
    const char *words;       /* "none|sha256": what the value may be; NULL: anything */
    const char *environment; /* the variable that is read when the option is not given */
    uint64_t verbs;          /* 1 << tn_verb_id of those it belongs to */
    const char *says;
} tn_option;

#define TN_EVERY_VERB (~UINT64_C(0))

/* The tables, each ended by a row whose name is NULL. */
extern const tn_verb tn_verb_table[];
extern const tn_option tn_option_table[];

const tn_verb *tn_verb_named(const char *name); /* NULL when there is none */
const tn_verb *tn_verb_of(tn_verb_id id);       /* NULL for TN_VERB_NONE */
bool tn_option_belongs(const tn_option *option, tn_verb_id verb);
/* Whether `word` of `size` bytes is one of "a|b|c". */
bool tn_cli_words_have(const char *words, const char *word, size_t size);
/* Take the next word off "a|b|c": false at the end. `*words` moves on. */
bool tn_cli_words_next(const char **words, tn_text *out);

/* ---- parsing ---- */

#define TN_CLI_JOBS_MAX 256u
#define TN_CLI_REMOVE_MAX 32u /* times --remove may be given */

/* What the command line said. Texts point into argv, or into `kept` when they came from the environment. */
typedef struct tn_settings {
    tn_verb_id verb;
    bool interactive;       /* of relink */
    bool json, quiet, no_color, progress, help, version, dry_run, why, lenient, watch;
    const char *library;    /* NULL: the default place */
    uint64_t memory_bytes;  /* 0: measured */
    unsigned jobs;          /* 0: one for each core */
    uint64_t limit;         /* 0: all */
    const char *hash;       /* NULL: not given */
    bool all, quick;        /* of verify */
    const char *algo;       /* words of --algo with commas between; NULL: not given */
    const char *type, *base, *variant, *tag, *state; /* NULL: not given */
    bool missing, automatic, new_word, disk;
    const char *by;         /* NULL: not given */
    uint64_t depth;         /* 0: not given */
    const char *remove[TN_CLI_REMOVE_MAX];
    size_t remove_count;
    const char *copy_to, *move_to; /* of import; NULL: not given */
    bool to_trash, delete_files, follow, listing, yes;
    char **arguments;       /* in argv, moved together to its front */
    size_t argument_count;
    size_t literal_from;    /* arguments from this one on stood behind "--": "-" is a file's name there */
} tn_settings;

/* Read argv[1..]. argv is rearranged. TN_INVALID with the one line that helps. */
tn_status tn_settings_parse(int argc, char **argv, tn_settings *out, tn_error *err);
/* Give one option its value, as parsing does; `value` NULL for a switch. For values from the environment. */
tn_status tn_settings_set(tn_settings *settings, const tn_option *option, const char *value, tn_error *err);

/* The nearest of the words given by `next(user)` (NULL ends) to `word`, or NULL when none is near enough to be a slip
 * of the fingers: two edits at most, one for words under five letters, or a beginning of at least three letters. */
const char *tn_nearest(const char *word, size_t size, const char *(*next)(void *user), void *user);

/* ---- what is made from the tables ---- */

void tn_help_short(tn_buffer *out);                     /* `tenure` alone */
void tn_help_all(tn_buffer *out);                       /* `tenure help` */
void tn_help_verb(tn_buffer *out, const tn_verb *verb); /* `tenure VERB --help` */
void tn_man_all(tn_buffer *out);                        /* tenure.1 */
void tn_man_verb(tn_buffer *out, const tn_verb *verb);  /* tenure-VERB.1 */
void tn_complete_bash(tn_buffer *out);
void tn_complete_zsh(tn_buffer *out);
void tn_complete_fish(tn_buffer *out);

#endif
