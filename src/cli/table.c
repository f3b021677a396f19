/* Tables (cli/cli.h).
 *
 *   T1  Rows of a batch share their widths; a later batch is never narrower than an earlier one.
 *   T2  With a limit, the first column that may be cut gives way, never below its least width.
 *   T3  Nothing follows the last cell of a row: no blanks at the end of a line.
 */
#include <assert.h>
#include <string.h>

#include "cli/cli.h"
#include "core/utf8.h"

#define GAP 2u

void tn_table_begin(tn_table *table, tn_output *out, const tn_table_column *columns, size_t count, unsigned limit)
{
    assert(count > 0 && count <= TN_TABLE_COLUMNS_MAX);
    *table = (tn_table){.out = out, .columns = columns, .column_count = count, .limit = limit};
    tn_buffer_init(&table->cells, out->text.memory, TN_CLI_LINE_MAX);
    for (size_t i = 0; i < count; i++)
        table->widths[i] = columns[i].title ? strlen(columns[i].title) : 0;
}

/* The widths to print with: as measured, or with one column cut. */
static void fit_widths(const tn_table *table, size_t widths[TN_TABLE_COLUMNS_MAX])
{
    size_t total = (table->column_count - 1) * GAP, cut = table->column_count;
    for (size_t i = 0; i < table->column_count; i++) {
        widths[i] = table->widths[i];
        total += widths[i];
        if (cut == table->column_count && table->columns[i].least)
            cut = i;
    }
    if (!table->limit || total <= table->limit || cut == table->column_count)
        return;
    size_t over = total - table->limit, least = table->columns[cut].least;
    if (widths[cut] > least)
        widths[cut] = widths[cut] - least > over ? widths[cut] - over : least;
}

static void print_cell(tn_table *table, size_t column, size_t width, tn_style style, const char *text)
{
    tn_buffer *out = &table->out->text;
    bool right = table->columns[column].right, last = column + 1 == table->column_count;
    size_t size = strlen(text), wide = tn_utf8_columns(text, size);
    size_t blanks = wide < width ? width - wide : 0;
    if (right)
        tn_buffer_format(out, "%*s", (int)blanks, "");
    bool styled = style != TN_STYLE_PLAIN && size;
    if (styled)
        tn_output_style(table->out, style);
    if (wide > width && table->columns[column].least)
        tn_fit_append(out, text, size, width, false);
    else
        tn_buffer_append(out, text, size);
    if (styled)
        tn_output_style(table->out, TN_STYLE_PLAIN);
    if (!last)
        tn_buffer_format(out, "%*s", (int)((right ? 0 : blanks) + GAP), "");
}

/* End a line without the blanks that empty last cells leave. */
static void end_row(tn_table *table)
{
    tn_buffer *out = &table->out->text;
    while (out->size && out->bytes[out->size - 1] == ' ')
        out->size--;
    tn_output_line(table->out);
}

static void print_titles(tn_table *table, const size_t *widths)
{
    table->titled = true;
    if (!table->columns[0].title)
        return;
    for (size_t i = 0; i < table->column_count; i++)
        print_cell(table, i, widths[i], TN_STYLE_DIM, table->columns[i].title);
    end_row(table);
}

static void print_batch(tn_table *table)
{
    size_t widths[TN_TABLE_COLUMNS_MAX];
    fit_widths(table, widths);
    if (table->rows && !table->titled)
        print_titles(table, widths);
    const char *at = table->cells.bytes;
    for (size_t row = 0; row < table->rows && table->cells.failed == TN_OK; row++) {
        for (size_t i = 0; i < table->column_count; i++) {
            print_cell(table, i, widths[i], (tn_style)at[0], at + 1);
            at += strlen(at + 1) + 2;
        }
        end_row(table);
    }
    if (table->cells.failed != TN_OK)
        table->out->text.failed = table->cells.failed;
    tn_buffer_clear(&table->cells);
    table->rows = 0;
}

void tn_table_cell(tn_table *table, tn_style style, const char *bytes, size_t size)
{
    char head = (char)style;
    tn_buffer_append(&table->cells, &head, 1);
    size_t before = table->cells.size;
    tn_utf8_append_shown(&table->cells, bytes, size);
    if (table->cells.failed == TN_OK) {
        size_t wide = tn_utf8_columns(table->cells.bytes + before, table->cells.size - before);
        if (wide > table->widths[table->cell])
            table->widths[table->cell] = wide;
    }
    tn_buffer_append(&table->cells, "", 1);
    if (++table->cell < table->column_count)
        return;
    table->cell = 0;
    if (++table->rows == TN_TABLE_BATCH)
        print_batch(table);
}

void tn_table_cell_text(tn_table *table, tn_style style, tn_text text)
{
    tn_table_cell(table, style, text.bytes, text.size);
}

static void made_cell(tn_table *table, void (*append)(tn_buffer *out, uint64_t value), uint64_t value)
{
    enum { ROOM = 64 };
    tn_buffer text;
    tn_buffer_init(&text, table->cells.memory, ROOM);
    append(&text, value);
    tn_table_cell(table, TN_STYLE_PLAIN, text.bytes ? text.bytes : "", text.size);
    tn_buffer_free(&text);
}

void tn_table_cell_size(tn_table *table, uint64_t bytes)
{
    made_cell(table, tn_size_append, bytes);
}

void tn_table_cell_count(tn_table *table, uint64_t count)
{
    made_cell(table, tn_count_append, count);
}

void tn_table_end(tn_table *table)
{
    print_batch(table);
    tn_buffer_free(&table->cells);
}
