/* The inside of the command: what its verbs share.
 *
 *   C1  Results go to stdout, through tn_output; everything else goes to stderr.
 *   C2  Text from outside reaches a terminal only through tn_utf8_append_shown.
 *   C3  The exit code is the worst that happened (tn_cli_raise); a bad input never stops the others.
 * One thread. Uses the public headers, and of the folders below only core and os.
 */
#ifndef TN_CLI_CLI_H
#define TN_CLI_CLI_H

#include <stdio.h>

#include <tenure/tenure.h>

#include "cli/options.h"
#include "core/error.h"
#include "core/json.h"

/* ---- forms: how numbers are said (forms.c) ---- */

void tn_count_append(tn_buffer *out, uint64_t count); /* "4,512" */
/* "1 model", "4,512 models". */
void tn_plural_append(tn_buffer *out, uint64_t count, const char *one, const char *many);
void tn_size_append(tn_buffer *out, uint64_t bytes);  /* "96.1 GB" */
/* "0.04 s", "1.9 s", "75 s", "12 min 5 s", "2 h 5 min". */
void tn_duration_append(tn_buffer *out, uint64_t ns);
/* Shown text shortened to `columns` with an ellipsis: at its end, or at its beginning when the end tells more. */
void tn_fit_append(tn_buffer *out, const char *text, size_t size, size_t columns, bool keep_end);
/* The last component of a path: behind the last "/", or behind the last "\" where there is no "/". */
tn_text tn_base_name(tn_text path);
tn_text tn_text_of(const char *text); /* NULL gives "" */
bool tn_cli_text_is(tn_text text, const char *literal);

/* ---- output (output.c): stdout, buffered, coloured only on a terminal ---- */

typedef enum tn_style {
    TN_STYLE_PLAIN,
    TN_STYLE_GOOD,
    TN_STYLE_WARN,
    TN_STYLE_BAD,
    TN_STYLE_DIM,
    TN_STYLE_STRONG
} tn_style;

typedef struct tn_output {
    FILE *file;        /* NULL: all stays in `text`, for tests */
    tn_buffer text;    /* what is not written yet; append to it freely */
    bool color;
    unsigned columns;  /* of the terminal; 0: no terminal, so that nothing is cut */
    bool closed;       /* the reader has gone: nothing more is written, and that is no fault */
    int failed;        /* errno of the first write that failed otherwise */
    uint64_t drained_ns;
    void (*before)(void *user); /* called before bytes reach a terminal: takes a progress line away */
    void *before_user;
} tn_output;

void tn_output_init(tn_output *out, tn_memory_source *memory, FILE *file);
void tn_output_style(tn_output *out, tn_style style); /* nothing without colour */
void tn_output_styled(tn_output *out, tn_style style, const char *text);
/* End a line and hand the buffer on when it is full, when it is a terminal, or when the last time is long ago. */
void tn_output_line(tn_output *out);
/* In the middle of a long line: hand the buffer on when it is full. */
void tn_output_drain(tn_output *out);
void tn_output_flush(tn_output *out);
void tn_output_free(tn_output *out);
/* Whether it is still worth producing more. */
bool tn_output_wanted(const tn_output *out);

/* Begin an object that has "v":1 in it; end it and its line. */
void tn_json_line(tn_json_writer *w, tn_output *out);
void tn_json_line_end(tn_json_writer *w, tn_output *out);
void tn_json_text_field(tn_json_writer *w, const char *key, tn_text text); /* empty writes null */
/* "path", with "path_b64" beside it when the bytes are not UTF-8. */
void tn_json_path(tn_json_writer *w, const char *path, size_t size);
/* Any number field: TN_NONE writes null. */
void tn_json_amount(tn_json_writer *w, const char *key, uint64_t value);
/* A finding, or an error, as interface.md 3 has it. */
void tn_json_finding(tn_json_writer *w, const tn_finding *finding, bool with_severity);
tn_finding tn_finding_of(const tn_error *err);

/* ---- tables (table.c): rows are kept until the widths are known, in batches ---- */

#define TN_TABLE_COLUMNS_MAX 8u
#define TN_TABLE_BATCH 1000u

typedef struct tn_table_column {
    const char *title; /* NULL in every column: no line of titles */
    bool right;        /* numbers */
    unsigned least;    /* may be cut down to this many columns where the terminal is narrow; 0: never */
} tn_table_column;

typedef struct tn_table {
    tn_output *out;
    const tn_table_column *columns;
    size_t column_count, cell, rows;
    size_t widths[TN_TABLE_COLUMNS_MAX];
    unsigned limit; /* columns a row may take; 0: as many as it needs */
    bool titled;
    tn_buffer cells; /* of this batch: a style byte, the shown text, NUL */
} tn_table;

void tn_table_begin(tn_table *table, tn_output *out, const tn_table_column *columns, size_t count, unsigned limit);
/* The next cell; the row is complete with its last one. */
void tn_table_cell(tn_table *table, tn_style style, const char *bytes, size_t size);
void tn_table_cell_text(tn_table *table, tn_style style, tn_text text);
void tn_table_cell_size(tn_table *table, uint64_t bytes);  /* "96.1 GB" */
void tn_table_cell_count(tn_table *table, uint64_t count); /* "4,512" */
void tn_table_end(tn_table *table); /* prints what is left and frees */

/* ---- progress (progress.c): one line on stderr, rewritten in place ---- */

typedef struct tn_progress {
    FILE *file;
    bool on;       /* shown at all */
    bool in_place; /* a terminal; otherwise a line of its own, at most one a second */
    bool drawn;
    unsigned columns;
    uint64_t started_ns, drawn_ns;
    uint64_t found, done; /* as last told, drawn or not */
    uint64_t bytes_began_ns, bytes_before; /* when bytes were told of first, and how many were done then */
    tn_buffer line;
} tn_progress;

void tn_progress_init(tn_progress *progress, tn_memory_source *memory, FILE *file, bool on, bool in_place,
                      unsigned columns);
void tn_progress_tell(tn_progress *progress, uint64_t found, uint64_t done, bool walking, const char *path);
/* The same of work that is measured in bytes: "41.2 GB of 1.4 TB  1.2 GB/s  flux.safetensors". */
void tn_progress_tell_bytes(tn_progress *progress, const tn_import_progress *now);
void tn_progress_clear(tn_progress *progress);
void tn_progress_free(tn_progress *progress);

/* ---- the run ---- */

/* What the command itself may take for path lists and lines; what models cost is the context's business. */
#define TN_CLI_MEMORY_MAX ((uint64_t)512 << 20)
#define TN_CLI_LINE_MAX ((size_t)64 << 20)  /* bytes of one line that wait to be written */
#define TN_CLI_STDIN_MAX ((size_t)256 << 20) /* bytes of a list of paths */

typedef struct tn_cli {
    tn_budget budget;
    tn_memory_source memory;
    tn_settings settings;
    tn_buffer environment; /* the values that settings point to */
    tn_context *context;
    tn_output out;
    tn_progress progress;
    int code;
} tn_cli;

/* The whole command; main hands argv over, in UTF-8 (POSIX: bytes). Returns the exit code. */
int tn_cli_main(int argc, char **argv);

/* Keep the worst exit code. */
void tn_cli_raise(tn_cli *cli, int code);
/* Tell a failed call on stderr, with --json also as an object with "error" on stdout, and keep its exit code. */
void tn_cli_fail(tn_cli *cli, const tn_error *err);
/* A line on stderr that --quiet silences. */
void tn_cli_note(tn_cli *cli, const char *format, ...) TN_PRINTF(2, 3);
/* Whether a loop over inputs should stop: interrupted, or nobody reads. */
bool tn_cli_stopped(tn_cli *cli);
tn_status tn_cli_library(tn_cli *cli, bool read_only, tn_library **out, tn_error *err);
/* For a dry run: the library to be read, or an empty one that leaves no trace where there is none yet. */
tn_status tn_cli_library_or_none(tn_cli *cli, tn_library **out, tn_error *err);

/* The paths of the command line with "-" replaced by the list on stdin. */
typedef struct tn_paths {
    tn_memory_source *memory;
    const char **items; /* point into argv and `list` */
    size_t count, capacity;
    tn_buffer list;
} tn_paths;
tn_status tn_paths_collect(tn_paths *paths, tn_memory_source *memory, const tn_settings *settings, FILE *input,
                           tn_error *err);
/* Add every path of a list: separated by NULs when there is one in it, else by newlines. Empty ones are left out. */
tn_status tn_paths_add_list(tn_paths *paths, char *list, size_t size, tn_error *err);
void tn_paths_free(tn_paths *paths);
/* The paths of the command line; false when they cannot be had, which is told. */
bool tn_cli_paths(tn_cli *cli, tn_paths *out);

/* ---- answers (answer.c), shared by the verbs that identify ---- */

/* One line a model, and with `why` the evidence below it. */
void tn_answer_line(tn_cli *cli, const tn_answer *answer, bool why);
/* The JSON object with "v":1; `extra`, when not empty, is put behind it: members without braces, such as "\"id\":3". */
tn_status tn_answer_json_line(tn_cli *cli, const tn_answer *answer, const char *extra, tn_error *err);
/* A path about which nothing could be said because the call itself failed. */
void tn_answer_refused(tn_cli *cli, const char *path, const tn_error *err);
/* What it is, in words: "sdxl main (normal)". */
void tn_answer_describe(tn_buffer *out, const tn_answer *answer);
tn_style tn_state_style(tn_state state);

void tn_verb_import(tn_cli *cli);
void tn_verb_scan(tn_cli *cli);
void tn_verb_roots(tn_cli *cli);
void tn_verb_relink(tn_cli *cli);
void tn_verb_missing(tn_cli *cli);
void tn_verb_list(tn_cli *cli);
void tn_verb_show(tn_cli *cli);
void tn_verb_probe(tn_cli *cli);
void tn_verb_inspect(tn_cli *cli);
void tn_verb_hash(tn_cli *cli);
void tn_verb_verify(tn_cli *cli);
void tn_verb_jobs(tn_cli *cli);
void tn_verb_move(tn_cli *cli);
void tn_verb_remove(tn_cli *cli);
void tn_verb_undo(tn_cli *cli);
void tn_verb_search(tn_cli *cli);
void tn_verb_tag(tn_cli *cli);
void tn_verb_note(tn_cli *cli);
void tn_verb_rename(tn_cli *cli);
void tn_verb_set(tn_cli *cli);
void tn_verb_duplicates(tn_cli *cli);
void tn_verb_usage(tn_cli *cli);
void tn_verb_export(tn_cli *cli);
void tn_verb_restore(tn_cli *cli);

/* ---- records (records.c), shared by the verbs that show or change them ---- */

/* A list of records as a table, or as JSON lines: tell it each, then end it. */
typedef struct tn_records {
    tn_cli *cli;
    tn_table table;
    uint64_t count;
} tn_records;
void tn_records_begin(tn_records *records, tn_cli *cli);
/* A callback of tn_library_list and its kind; `user` is a tn_records. */
bool tn_records_tell(void *user, const tn_record *record);
void tn_records_end(tn_records *records);
/* The JSON of a record with "v":1 in front, as a line. */
void tn_record_json_line(tn_cli *cli, const tn_record *record);
/* Open the library to change or read it; where there is none, say how to begin and return false with exit code 0, or tell
 * the failure and return false. */
bool tn_cli_open_library(tn_cli *cli, bool read_only, tn_library **out);
/* Tell that a MODEL cannot be had; where several have the name, list them. */
void tn_cli_no_model(tn_cli *cli, tn_library *library, const char *model, const tn_error *err);

/* Import's callbacks, used by `jobs run` as well: progress, and in JSON a line for each model. */
typedef struct tn_import_view {
    tn_cli *cli;
    tn_library *library;
    uint64_t models, look; /* told about so far; of these, how many need a look */
    tn_import_progress last; /* as it was told last */
    uint64_t hashed, hashed_bytes, unhashed; /* files that were hashed; that could not be, or are damaged */
} tn_import_view;
/* "312 files hashed, 1.4 TB": nothing when none was. */
void tn_import_view_hashed(const tn_import_view *view, tn_buffer *out);
tn_import_options tn_import_view_options(tn_import_view *view);
/* The path as it is found from where the person stands: without the folder that was imported, where `roots` are not
 * NULL. `absolute` is room to work in. */
tn_text tn_summary_below_roots(const tn_paths *roots, tn_text path, tn_buffer *absolute);
/* Lines of a summary (summary_named.c): links; what was found again, is gone, away, unreadable or to be asked about. */
void tn_summary_print_links(tn_cli *cli, const tn_import_summary *summary);
void tn_summary_print_named(tn_cli *cli, const tn_import_summary *summary, const tn_paths *roots);
void tn_summary_json_named(tn_json_writer *w, const tn_import_summary *summary);
/* How an import ends, in the form the settings ask for. `roots` are what was imported. */
tn_status tn_summary_print(tn_cli *cli, const tn_import_summary *summary, const tn_paths *roots, uint64_t ns,
                           tn_error *err);
/* What a scan of roots does at its end: the same, and exit code 1 for what must be asked. `roots` NULL: all. */
void tn_import_view_end(tn_import_view *view, tn_status status, const tn_import_summary *summary, const tn_paths *roots,
                        uint64_t ns, tn_error *err);
/* What to say when an import stopped with `status`. */
void tn_import_stopped(tn_import_view *view, const tn_error *err, const char *resume);

#endif
