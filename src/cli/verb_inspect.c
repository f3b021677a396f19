/* `tenure inspect`: what a file's header says, to the last tensor. */
#include <string.h>

#include "cli/cli.h"
#include "core/utf8.h"

#define LABEL_COLUMNS 12u

static uint64_t offset_in_part(const tn_storage *storage, const tn_tensor *tensor)
{
    return storage->offset + tensor->element_offset * tn_dtype_bits(tensor->dtype) / 8;
}

/* How many tensors there are of each type. */
static void count_dtypes(const tn_tensor *tensors, size_t count, uint64_t counts[TN_DTYPE_COUNT])
{
    memset(counts, 0, TN_DTYPE_COUNT * sizeof *counts);
    for (size_t i = 0; i < count; i++)
        counts[tensors[i].dtype]++;
}

static uint64_t count_parameters(const tn_checkpoint *checkpoint)
{
    const tn_logical *logicals;
    size_t count = tn_checkpoint_logicals(checkpoint, &logicals);
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++)
        if (tn_add_overflows(total, logicals[i].elements, &total))
            return TN_NONE;
    return total;
}

/* ---- for people ---- */

static void label(tn_cli *cli, const char *text)
{
    tn_buffer_text(&cli->out.text, "  ");
    tn_output_style(&cli->out, TN_STYLE_DIM);
    tn_buffer_format(&cli->out.text, "%-*s", (int)LABEL_COLUMNS, text);
    tn_output_style(&cli->out, TN_STYLE_PLAIN);
}

static void dtypes_line(tn_cli *cli, const tn_tensor *tensors, size_t count)
{
    uint64_t counts[TN_DTYPE_COUNT];
    count_dtypes(tensors, count, counts);
    label(cli, "tensors");
    tn_count_append(&cli->out.text, count);
    const char *between = " (";
    for (unsigned i = 0; i < TN_DTYPE_COUNT; i++) {
        if (!counts[i])
            continue;
        tn_buffer_format(&cli->out.text, "%s%s ", between, tn_dtype_name((tn_dtype)i));
        tn_count_append(&cli->out.text, counts[i]);
        between = ", ";
    }
    tn_buffer_text(&cli->out.text, count ? ")" : "");
    tn_output_line(&cli->out);
}

static void parts_lines(tn_cli *cli, const tn_checkpoint *checkpoint)
{
    const tn_part *parts;
    size_t count = tn_checkpoint_parts(checkpoint, &parts);
    for (size_t i = 0; i < count && count > 1; i++) {
        label(cli, i ? "" : "parts");
        tn_size_append(&cli->out.text, parts[i].size_bytes);
        tn_buffer_text(&cli->out.text, "  ");
        tn_utf8_append_shown(&cli->out.text, parts[i].path.bytes, parts[i].path.size);
        tn_output_line(&cli->out);
    }
}

static void metadata_lines(tn_cli *cli, const tn_checkpoint *checkpoint)
{
    static const tn_table_column columns[] = {{NULL, false, 0}, {NULL, false, 0}, {NULL, false, 20}};
    const tn_pair *pairs;
    size_t count = tn_checkpoint_metadata(checkpoint, &pairs);
    if (!count)
        return;
    label(cli, "metadata");
    tn_plural_append(&cli->out.text, count, "entry", "entries");
    tn_output_line(&cli->out);
    tn_table table;
    tn_table_begin(&table, &cli->out, columns, 3, cli->out.columns);
    for (size_t i = 0; i < count && tn_output_wanted(&cli->out); i++) {
        tn_table_cell(&table, TN_STYLE_PLAIN, "  ", 2);
        tn_table_cell_text(&table, TN_STYLE_PLAIN, pairs[i].key);
        tn_table_cell_text(&table, TN_STYLE_PLAIN, pairs[i].value);
    }
    tn_table_end(&table);
}

static void finding_line(tn_cli *cli, const tn_finding *finding)
{
    static const char *const words[] = {"note", "warning", "error"};
    tn_buffer *out = &cli->out.text;
    tn_buffer_text(out, "  ");
    tn_output_style(&cli->out, finding->severity == TN_ERROR ? TN_STYLE_BAD : TN_STYLE_WARN);
    tn_buffer_format(out, "%-*s", (int)LABEL_COLUMNS, words[finding->severity]);
    tn_output_style(&cli->out, TN_STYLE_PLAIN);
    tn_buffer_format(out, "%s: ", tn_status_word(finding->status));
    tn_utf8_append_shown(out, finding->message.bytes, finding->message.size);
    if (finding->offset != TN_NONE) {
        tn_buffer_text(out, " at byte ");
        tn_count_append(out, finding->offset);
    }
    if (finding->tensor.size) {
        tn_buffer_text(out, " [");
        tn_utf8_append_shown(out, finding->tensor.bytes, finding->tensor.size);
        tn_buffer_text(out, "]");
    }
    tn_output_line(&cli->out);
}

static void shape_cell(tn_cli *cli, tn_table *table, const tn_tensor *tensor)
{
    tn_buffer text;
    tn_buffer_init(&text, &cli->memory, TN_CLI_LINE_MAX);
    tn_buffer_text(&text, "[");
    for (uint32_t i = 0; i < tensor->rank; i++)
        tn_buffer_format(&text, "%s%llu", i ? ", " : "", (unsigned long long)tensor->shape[i]);
    tn_buffer_text(&text, "]");
    tn_table_cell(table, TN_STYLE_PLAIN, text.bytes ? text.bytes : "", text.size);
    tn_buffer_free(&text);
}

static void number_cell(tn_table *table, tn_style style, uint64_t number)
{
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    tn_table_cell_text(table, style, tn_text_of(text));
}

static void tensor_row(tn_cli *cli, tn_table *table, const tn_tensor *tensor, const tn_storage *storages)
{
    bool is_short = (tensor->flags & TN_TENSOR_SHORT) != 0;
    tn_table_cell_text(table, is_short ? TN_STYLE_BAD : TN_STYLE_PLAIN, tensor->name);
    tn_table_cell_text(table, TN_STYLE_PLAIN, tn_text_of(tn_dtype_name(tensor->dtype)));
    shape_cell(cli, table, tensor);
    number_cell(table, TN_STYLE_DIM, offset_in_part(&storages[tensor->storage], tensor));
    number_cell(table, TN_STYLE_PLAIN, tensor->size_bytes);
    tn_table_cell_text(table, TN_STYLE_BAD, tn_text_of(is_short ? "not all in the file" : ""));
}

static void tensor_table(tn_cli *cli, const tn_checkpoint *checkpoint)
{
    static const tn_table_column columns[] = {{"name", false, 20},  {"dtype", false, 0}, {"shape", false, 0},
                                              {"offset", true, 0}, {"bytes", true, 0},  {"", false, 0}};
    const tn_tensor *tensors;
    const tn_storage *storages;
    size_t count = tn_checkpoint_tensors(checkpoint, &tensors);
    tn_checkpoint_storages(checkpoint, &storages);
    tn_table table;
    tn_table_begin(&table, &cli->out, columns, sizeof columns / sizeof *columns, cli->out.columns);
    for (size_t i = 0; i < count && !tn_cli_stopped(cli); i++)
        tensor_row(cli, &table, &tensors[i], storages);
    tn_table_end(&table);
}

static void print_text(tn_cli *cli, const tn_checkpoint *checkpoint, const char *path)
{
    tn_buffer *out = &cli->out.text;
    const tn_tensor *tensors;
    const tn_finding *findings;
    tn_output_style(&cli->out, TN_STYLE_STRONG);
    tn_utf8_append_shown(out, path, strlen(path));
    tn_output_style(&cli->out, TN_STYLE_PLAIN);
    tn_output_line(&cli->out);
    label(cli, "container");
    tn_buffer_format(out, "%s, ", tn_container_word(tn_checkpoint_container(checkpoint)));
    tn_size_append(out, tn_checkpoint_size_bytes(checkpoint));
    tn_output_line(&cli->out);
    label(cli, "header");
    tn_plural_append(out, tn_checkpoint_header_bytes(checkpoint), "byte", "bytes");
    tn_output_line(&cli->out);
    parts_lines(cli, checkpoint);
    size_t tensor_count = tn_checkpoint_tensors(checkpoint, &tensors);
    dtypes_line(cli, tensors, tensor_count);
    label(cli, "parameters");
    tn_count_append(out, count_parameters(checkpoint));
    tn_output_line(&cli->out);
    metadata_lines(cli, checkpoint);
    size_t finding_count = tn_checkpoint_findings(checkpoint, &findings);
    for (size_t i = 0; i < finding_count; i++)
        finding_line(cli, &findings[i]);
    tn_output_line(&cli->out);
    tensor_table(cli, checkpoint);
}

/* ---- for scripts ---- */

static void json_parts(tn_json_writer *w, const tn_checkpoint *checkpoint)
{
    const tn_part *parts;
    size_t count = tn_checkpoint_parts(checkpoint, &parts);
    tn_json_key(w, "parts");
    tn_json_array(w);
    for (size_t i = 0; i < count; i++) {
        tn_json_object(w);
        tn_json_path(w, parts[i].path.bytes, parts[i].path.size);
        tn_json_amount(w, "size_bytes", parts[i].size_bytes);
        tn_json_amount(w, "header_bytes", parts[i].header_bytes);
        tn_json_text_field(w, "component", parts[i].component);
        tn_json_object_end(w);
    }
    tn_json_array_end(w);
}

static void json_dtypes(tn_json_writer *w, const tn_tensor *tensors, size_t count)
{
    uint64_t counts[TN_DTYPE_COUNT];
    count_dtypes(tensors, count, counts);
    tn_json_key(w, "dtypes");
    tn_json_object(w);
    for (unsigned i = 0; i < TN_DTYPE_COUNT; i++)
        if (counts[i])
            tn_json_amount(w, tn_dtype_name((tn_dtype)i), counts[i]);
    tn_json_object_end(w);
}

static void json_metadata(tn_cli *cli, tn_json_writer *w, const tn_checkpoint *checkpoint)
{
    const tn_pair *pairs;
    size_t count = tn_checkpoint_metadata(checkpoint, &pairs);
    tn_json_key(w, "metadata");
    tn_json_object(w);
    for (size_t i = 0; i < count; i++) {
        tn_json_key_text(w, pairs[i].key.bytes, pairs[i].key.size);
        tn_json_string(w, pairs[i].value.bytes, pairs[i].value.size);
        tn_output_drain(&cli->out);
    }
    tn_json_object_end(w);
}

static void json_findings(tn_json_writer *w, const tn_checkpoint *checkpoint)
{
    const tn_finding *findings;
    size_t count = tn_checkpoint_findings(checkpoint, &findings);
    tn_json_key(w, "findings");
    tn_json_array(w);
    for (size_t i = 0; i < count; i++)
        tn_json_finding(w, &findings[i], true);
    tn_json_array_end(w);
}

static void json_numbers(tn_json_writer *w, const char *key, const uint64_t *numbers, size_t count)
{
    tn_json_key(w, key);
    tn_json_array(w);
    for (size_t i = 0; i < count; i++)
        tn_json_uint(w, numbers[i]);
    tn_json_array_end(w);
}

static void json_flags(tn_json_writer *w, uint32_t flags)
{
    static const char *const words[] = {"conj", "neg", "short", "misaligned"}; /* TN_TENSOR_*, by bit */
    tn_json_key(w, "flags");
    tn_json_array(w);
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        if (flags >> i & 1u)
            tn_json_cstring(w, words[i]);
    tn_json_array_end(w);
}

static void json_tensor(tn_json_writer *w, const tn_tensor *tensor, const tn_storage *storage)
{
    tn_json_object(w);
    tn_json_key(w, "name");
    tn_json_string(w, tensor->name.bytes, tensor->name.size);
    tn_json_key(w, "dtype");
    tn_json_cstring(w, tn_dtype_name(tensor->dtype));
    json_numbers(w, "shape", tensor->shape, tensor->rank);
    if (tensor->strides) {
        tn_json_key(w, "strides");
        tn_json_array(w);
        for (uint32_t i = 0; i < tensor->rank; i++)
            tn_json_int(w, tensor->strides[i]);
        tn_json_array_end(w);
    }
    tn_json_amount(w, "part", storage->part);
    tn_json_amount(w, "offset", offset_in_part(storage, tensor));
    tn_json_amount(w, "size_bytes", tensor->size_bytes);
    if (tensor->flags)
        json_flags(w, tensor->flags);
    if (storage->encoding != TN_RAW) {
        tn_json_key(w, "encoding");
        tn_json_cstring(w, "deflated");
    }
    tn_json_object_end(w);
}

static void json_tensors(tn_cli *cli, tn_json_writer *w, const tn_checkpoint *checkpoint)
{
    const tn_tensor *tensors;
    const tn_storage *storages;
    size_t count = tn_checkpoint_tensors(checkpoint, &tensors);
    tn_checkpoint_storages(checkpoint, &storages);
    json_dtypes(w, tensors, count);
    tn_json_key(w, "tensors");
    tn_json_array(w);
    for (size_t i = 0; i < count; i++) {
        json_tensor(w, &tensors[i], &storages[tensors[i].storage]);
        tn_output_drain(&cli->out);
    }
    tn_json_array_end(w);
}

/* Weights stored in several tensors; the others are as their tensors say. */
static void json_quantised(tn_cli *cli, tn_json_writer *w, const tn_checkpoint *checkpoint)
{
    const tn_logical *logicals;
    size_t count = tn_checkpoint_logicals(checkpoint, &logicals);
    tn_json_key(w, "quantised");
    tn_json_array(w);
    for (size_t i = 0; i < count; i++) {
        if (!logicals[i].scheme.size)
            continue;
        tn_json_object(w);
        tn_json_text_field(w, "name", logicals[i].name);
        tn_json_text_field(w, "scheme", logicals[i].scheme);
        json_numbers(w, "shape", logicals[i].shape, logicals[i].rank);
        tn_json_key(w, "members");
        tn_json_array(w);
        for (uint32_t j = 0; j < logicals[i].member_count; j++)
            tn_json_uint(w, logicals[i].members[j]);
        tn_json_array_end(w);
        tn_json_object_end(w);
        tn_output_drain(&cli->out);
    }
    tn_json_array_end(w);
}

static void print_json(tn_cli *cli, const tn_checkpoint *checkpoint, const char *path)
{
    tn_json_writer w;
    tn_json_line(&w, &cli->out);
    tn_json_path(&w, path, strlen(path));
    tn_json_key(&w, "container");
    tn_json_cstring(&w, tn_container_word(tn_checkpoint_container(checkpoint)));
    tn_json_amount(&w, "size_bytes", tn_checkpoint_size_bytes(checkpoint));
    tn_json_amount(&w, "header_bytes", tn_checkpoint_header_bytes(checkpoint));
    tn_json_amount(&w, "parameters", count_parameters(checkpoint));
    json_parts(&w, checkpoint);
    json_findings(&w, checkpoint);
    json_metadata(cli, &w, checkpoint);
    json_tensors(cli, &w, checkpoint);
    json_quantised(cli, &w, checkpoint);
    tn_json_line_end(&w, &cli->out);
}

/* ---- the verb ---- */

/* What is wrong counts for the exit code; --lenient forgives what is only damaged. */
static void weigh_findings(tn_cli *cli, const tn_checkpoint *checkpoint)
{
    const tn_finding *findings;
    size_t count = tn_checkpoint_findings(checkpoint, &findings);
    for (size_t i = 0; i < count; i++) {
        bool damaged = strcmp(tn_status_state(findings[i].status), "damaged") == 0;
        if (findings[i].severity == TN_ERROR && !(damaged && cli->settings.lenient))
            tn_cli_raise(cli, 1);
    }
}

void tn_verb_inspect(tn_cli *cli)
{
    tn_error err;
    tn_paths paths;
    if (!tn_cli_paths(cli, &paths))
        return;
    for (size_t i = 0; i < paths.count && !tn_cli_stopped(cli); i++) {
        tn_checkpoint *checkpoint;
        if (i && !cli->settings.json)
            tn_output_line(&cli->out);
        if (tn_checkpoint_open(cli->context, paths.items[i], NULL, &checkpoint, &err) != TN_OK) {
            tn_answer_refused(cli, paths.items[i], &err);
            continue;
        }
        if (cli->settings.json)
            print_json(cli, checkpoint, paths.items[i]);
        else
            print_text(cli, checkpoint, paths.items[i]);
        weigh_findings(cli, checkpoint);
        tn_checkpoint_release(checkpoint);
    }
    tn_paths_free(&paths);
}
