/* How an import ends: one line of sums, one line a base, what was also seen, and the list of what needs a look.
 *
 * Each is at most 80 columns wide, or as wide as the terminal. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "core/utf8.h"
#include "os/os.h"

/* ---- the table of bases ---- */

/* In the order of interface.md 3: what is used by itself first, then what is added to it. */
static const char *const type_order[] = {
    "main",           "lora",          "control_lora",    "controlnet",       "t2i_adapter", "ip_adapter",
    "vae",            "text_encoder",  "vision_encoder",  "embedding",        "restorer",    "latent_upscaler",
    "flux_redux",     "llm",           "other",
};

static size_t type_rank(tn_text type)
{
    size_t count = sizeof type_order / sizeof *type_order, rank = 0;
    while (rank < count && !tn_cli_text_is(type, type_order[rank]))
        rank++;
    return rank;
}

typedef struct base_row {
    const tn_base_total *total; /* one of them */
    uint64_t base_bytes;        /* of all with the same base */
} base_row;

static int text_order(tn_text a, tn_text b)
{
    int order = memcmp(a.bytes, b.bytes, a.size < b.size ? a.size : b.size);
    return order ? order : a.size < b.size ? -1 : a.size > b.size;
}

/* Bases with the most bytes first; within a base, by type. */
static int row_order(const void *left, const void *right)
{
    const base_row *a = left, *b = right;
    if (a->base_bytes != b->base_bytes)
        return a->base_bytes > b->base_bytes ? -1 : 1;
    int order = text_order(a->total->base, b->total->base);
    if (order)
        return order;
    size_t a_rank = type_rank(a->total->type), b_rank = type_rank(b->total->type);
    return a_rank != b_rank ? (a_rank < b_rank ? -1 : 1) : text_order(a->total->type, b->total->type);
}

static bool same_base(const base_row *a, const base_row *b)
{
    return text_order(a->total->base, b->total->base) == 0;
}

static void sum_bases(base_row *rows, const tn_import_summary *summary)
{
    for (size_t i = 0; i < summary->total_count; i++)
        rows[i].total = &summary->totals[i];
    for (size_t i = 0; i < summary->total_count; i++)
        for (size_t j = 0; j < summary->total_count; j++)
            if (same_base(&rows[i], &rows[j]))
                rows[i].base_bytes += rows[j].total->bytes;
    qsort(rows, summary->total_count, sizeof *rows, row_order);
}

#define TYPES_COLUMNS 52u /* so that base, types and size stay within 80 columns */

static void flush_types(tn_table *table, tn_buffer *types, tn_text base, const char *size)
{
    tn_table_cell_text(table, TN_STYLE_STRONG, base);
    tn_table_cell(table, TN_STYLE_PLAIN, types->bytes ? types->bytes : "", types->size);
    tn_table_cell(table, TN_STYLE_PLAIN, size, strlen(size));
    tn_buffer_clear(types);
}

/* One base: its types with their counts, on as many rows as they need. */
static size_t base_rows(tn_table *table, const base_row *rows, size_t count, tn_buffer *types)
{
    enum { ROOM = 64 };
    tn_buffer size, one;
    tn_buffer_init(&size, types->memory, ROOM);
    tn_buffer_init(&one, types->memory, 4096);
    tn_size_append(&size, rows[0].base_bytes);
    tn_text base = rows[0].total->base.size ? rows[0].total->base : tn_text_of("no base");
    const char *size_text = size.bytes ? size.bytes : "";
    size_t i = 0;
    for (; i < count && same_base(&rows[0], &rows[i]); i++) {
        tn_text type = rows[i].total->type.size ? rows[i].total->type : tn_text_of("not identified");
        tn_buffer_clear(&one);
        tn_buffer_append(&one, type.bytes, type.size);
        tn_buffer_text(&one, " ");
        tn_count_append(&one, rows[i].total->models);
        if (types->size && types->size + 2 + one.size > TYPES_COLUMNS) {
            flush_types(table, types, base, size_text);
            base = tn_text_of("");
            size_text = "";
        }
        tn_buffer_text(types, types->size ? "  " : "");
        tn_buffer_append(types, one.bytes ? one.bytes : "", one.size);
    }
    flush_types(table, types, base, size_text);
    tn_buffer_free(&size);
    tn_buffer_free(&one);
    return i;
}

static tn_status print_bases(tn_cli *cli, const tn_import_summary *summary, unsigned columns, tn_error *err)
{
    static const tn_table_column layout[] = {{NULL, false, 8}, {NULL, false, 0}, {NULL, true, 0}};
    if (!summary->total_count)
        return TN_OK;
    void *memory;
    TN_TRY(tn_take_array(&cli->memory, summary->total_count, sizeof(base_row), &memory, err));
    base_row *rows = memory;
    sum_bases(rows, summary);
    tn_table table;
    tn_table_begin(&table, &cli->out, layout, 3, columns);
    tn_buffer types;
    tn_buffer_init(&types, &cli->memory, 4096);
    for (size_t at = 0; at < summary->total_count;)
        at += base_rows(&table, rows + at, summary->total_count - at, &types);
    tn_table_end(&table);
    tn_buffer_free(&types);
    tn_give(&cli->memory, rows, summary->total_count * sizeof(base_row));
    return TN_OK;
}

/* ---- what needs a look ---- */

#define NAME_LEAST 20u
#define ROOTS_TRIED 16u /* of more, such as a list from stdin, only the file's name is said */

tn_text tn_summary_below_roots(const tn_paths *roots, tn_text path, tn_buffer *absolute)
{
    if (roots == NULL)
        return path;
    for (size_t i = 0; i < roots->count && roots->count <= ROOTS_TRIED; i++) {
        tn_buffer_clear(absolute);
        if (tn_os_absolute_path(roots->items[i], absolute, NULL) != TN_OK)
            continue;
        size_t size = absolute->size;
        if (size + 1 < path.size && memcmp(absolute->bytes, path.bytes, size) == 0 &&
            (path.bytes[size] == '/' || path.bytes[size] == '\\'))
            return (tn_text){path.bytes + size + 1, path.size - size - 1};
    }
    return tn_base_name(path);
}

static size_t columns_of(const tn_buffer *text)
{
    return tn_utf8_columns(text->bytes ? text->bytes : "", text->size);
}

static void append_fitted(tn_buffer *out, const tn_buffer *text, size_t columns, bool keep_end)
{
    tn_fit_append(out, text->bytes ? text->bytes : "", text->size, columns, keep_end);
}

typedef struct problem {
    const char *state;
    tn_style style;
    tn_text name, message;
} problem;

/* "damaged  wan_i2v.safetensors  short by 1.2 GB: fetch it again". The folders give way first, then the beginning of
 * the name, at last the end of the message. */
static void print_problem(tn_cli *cli, const problem *p, size_t state_columns, unsigned columns)
{
    tn_buffer *out = &cli->out.text, name, message;
    tn_buffer_init(&name, &cli->memory, (size_t)1 << 20);
    tn_buffer_init(&message, &cli->memory, (size_t)1 << 20);
    tn_utf8_append_shown(&name, p->name.bytes, p->name.size);
    tn_utf8_append_shown(&message, p->message.bytes, p->message.size);
    size_t room = columns > state_columns + 4 ? columns - state_columns - 4 : 0;
    if (!tn_os_is_terminal(1))
        room = columns_of(&name) + columns_of(&message); /* a file or a pipe takes the whole line */
    if (columns_of(&name) + columns_of(&message) > room) {
        tn_text base = tn_base_name(p->name);
        tn_buffer_clear(&name);
        tn_utf8_append_shown(&name, base.bytes, base.size);
    }
    size_t name_columns = columns_of(&name), message_columns = columns_of(&message);
    size_t name_room = room > message_columns + NAME_LEAST ? room - message_columns : NAME_LEAST;
    if (name_columns > name_room)
        name_columns = name_room;
    tn_output_style(&cli->out, p->style);
    tn_buffer_format(out, "%-*s", (int)state_columns, p->state);
    tn_output_style(&cli->out, TN_STYLE_PLAIN);
    tn_buffer_text(out, "  ");
    append_fitted(out, &name, name_columns, true);
    tn_buffer_text(out, "  ");
    append_fitted(out, &message, room > name_columns ? room - name_columns : 0, false);
    tn_output_line(&cli->out);
    tn_buffer_free(&name);
    tn_buffer_free(&message);
}

static const char *problem_word(const tn_problem *p)
{
    return tn_cli_text_is(p->presence, "crashed") || tn_cli_text_is(p->presence, "missing") ? p->presence.bytes
                                                                                    : tn_state_word(p->state);
}

static void print_problems(tn_cli *cli, const tn_import_summary *summary, const tn_paths *roots, unsigned columns)
{
    size_t state_columns = 0;
    for (size_t i = 0; i < summary->problem_count; i++) {
        size_t size = strlen(problem_word(&summary->problems[i]));
        state_columns = size > state_columns ? size : state_columns;
    }
    if (summary->problem_count) {
        tn_count_append(&cli->out.text, summary->problem_count);
        tn_buffer_text(&cli->out.text, summary->problem_count == 1 ? " needs a look" : " need a look");
        tn_output_line(&cli->out);
    }
    tn_buffer absolute;
    tn_buffer_init(&absolute, &cli->memory, (size_t)1 << 20);
    for (size_t i = 0; i < summary->problem_count && tn_output_wanted(&cli->out); i++) {
        const tn_problem *each = &summary->problems[i];
        problem shown = {problem_word(each), tn_state_style(each->state),
                         tn_summary_below_roots(roots, each->path, &absolute),
                         each->message};
        print_problem(cli, &shown, state_columns, columns);
    }
    tn_buffer_free(&absolute);
}

/* ---- the end ---- */

#define SECOND_NS ((uint64_t)1000000000)

static void append_part(tn_buffer *out, uint64_t count, const char *word, const char **between)
{
    if (!count)
        return;
    tn_buffer_text(out, *between);
    tn_count_append(out, count);
    tn_buffer_format(out, " %s", word);
    *between = ", ";
}

/* "312 models in 1.9 s (308 new)" */
static void print_headline(tn_cli *cli, const tn_import_summary *summary, uint64_t ns)
{
    tn_buffer *out = &cli->out.text;
    tn_output_style(&cli->out, TN_STYLE_STRONG);
    tn_plural_append(out, summary->models, "model", "models");
    tn_output_style(&cli->out, TN_STYLE_PLAIN);
    tn_buffer_text(out, " in ");
    tn_duration_append(out, ns);
    const char *between = " (";
    if (cli->settings.dry_run) {
        tn_buffer_text(out, " (dry run, nothing is recorded");
        between = ", ";
    }
    append_part(out, summary->fresh, "new", &between);
    append_part(out, summary->changed, "changed", &between);
    append_part(out, summary->vanished, "gone", &between);
    if (strcmp(between, " (") == 0)
        tn_buffer_text(out, summary->models ? " (nothing new" : "");
    tn_buffer_text(out, summary->models || strcmp(between, " (") != 0 ? ")" : "");
    tn_output_line(&cli->out);
}

static void print_others(tn_cli *cli, const tn_import_summary *summary)
{
    tn_buffer *out = &cli->out.text;
    if (summary->others) {
        tn_buffer_text(out, "also seen: ");
        tn_plural_append(out, summary->others, "other file", "other files");
        tn_buffer_text(out, " (pictures, texts, configs)");
        tn_output_line(&cli->out);
    }
}

/* "312 files, 1.4 TB to be hashed, about 25 min: tenure jobs run" */
static void print_queued(tn_cli *cli, const tn_import_summary *summary)
{
    tn_buffer *out = &cli->out.text;
    if (!summary->hash_files)
        return;
    tn_plural_append(out, summary->hash_files, "file, ", "files, ");
    tn_size_append(out, summary->hash_bytes);
    tn_buffer_text(out, " to be hashed");
    if (summary->hash_about_ns >= SECOND_NS) {
        tn_buffer_text(out, ", about ");
        tn_duration_append(out, summary->hash_about_ns / SECOND_NS * SECOND_NS);
    }
    tn_buffer_text(out, summary->hash_paused ? ": paused, tenure jobs resume" : ": tenure jobs run");
    tn_output_line(&cli->out);
}

static void json_queued(tn_json_writer *w, const tn_import_summary *summary)
{
    tn_json_key(w, "to_be_hashed");
    tn_json_object(w);
    tn_json_amount(w, "files", summary->hash_files);
    tn_json_amount(w, "size_bytes", summary->hash_bytes);
    tn_json_key(w, "seconds");
    if (summary->hash_about_ns)
        tn_json_number(w, (double)summary->hash_about_ns / 1e9);
    else
        tn_json_null(w);
    tn_json_object_end(w);
}

static void json_totals(tn_json_writer *w, const tn_import_summary *summary)
{
    tn_json_key(w, "totals");
    tn_json_array(w);
    for (size_t i = 0; i < summary->total_count; i++) {
        tn_json_object(w);
        tn_json_text_field(w, "base", summary->totals[i].base);
        tn_json_text_field(w, "type", summary->totals[i].type);
        tn_json_amount(w, "models", summary->totals[i].models);
        tn_json_amount(w, "size_bytes", summary->totals[i].bytes);
        tn_json_object_end(w);
    }
    tn_json_array_end(w);
}

static void json_problems(tn_json_writer *w, const tn_import_summary *summary)
{
    tn_json_key(w, "problems");
    tn_json_array(w);
    for (size_t i = 0; i < summary->problem_count; i++) {
        const tn_problem *each = &summary->problems[i];
        tn_json_object(w);
        tn_json_path(w, each->path.bytes, each->path.size);
        tn_json_key(w, "state");
        tn_json_cstring(w, tn_state_word(each->state));
        tn_json_text_field(w, "presence", each->presence);
        tn_json_text_field(w, "message", each->message);
        tn_json_object_end(w);
    }
    tn_json_array_end(w);
}

static void json_summary(tn_cli *cli, const tn_import_summary *summary, uint64_t ns)
{
    tn_json_writer w;
    tn_json_line(&w, &cli->out);
    tn_json_key(&w, "summary");
    tn_json_object(&w);
    tn_json_key(&w, "job");
    tn_json_int(&w, summary->job);
    tn_json_key(&w, "resumed");
    tn_json_bool(&w, summary->resumed);
    tn_json_amount(&w, "models", summary->models);
    tn_json_amount(&w, "fresh", summary->fresh);
    tn_json_amount(&w, "changed", summary->changed);
    tn_json_amount(&w, "unchanged", summary->unchanged);
    tn_json_amount(&w, "vanished", summary->vanished);
    tn_json_amount(&w, "others", summary->others);
    tn_summary_json_named(&w, summary);
    tn_json_key(&w, "seconds");
    tn_json_number(&w, (double)ns / 1e9);
    json_queued(&w, summary);
    json_totals(&w, summary);
    json_problems(&w, summary);
    tn_json_object_end(&w);
    tn_json_line_end(&w, &cli->out);
}

tn_status tn_summary_print(tn_cli *cli, const tn_import_summary *summary, const tn_paths *roots, uint64_t ns,
                           tn_error *err)
{
    if (cli->settings.json) {
        json_summary(cli, summary, ns);
        return TN_OK;
    }
    unsigned columns = cli->out.columns ? cli->out.columns : 80;
    if (!cli->settings.quiet) {
        if (summary->resumed) {
            tn_buffer_text(&cli->out.text, "went on with an import that had been interrupted");
            tn_output_line(&cli->out);
        }
        print_headline(cli, summary, ns);
        TN_TRY(print_bases(cli, summary, columns, err));
        print_others(cli, summary);
        tn_summary_print_links(cli, summary);
        print_queued(cli, summary);
    }
    tn_summary_print_named(cli, summary, roots);
    print_problems(cli, summary, roots, columns);
    return TN_OK;
}

