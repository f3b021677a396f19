/* What was found out about a file, as a line for people and as a line of JSON (cli/cli.h). */
#include <math.h>
#include <string.h>

#include "cli/cli.h"
#include "core/utf8.h"

#define STATE_COLUMNS 11u  /* "unsupported" */
#define WHAT_COLUMNS 32u
#define SIZE_COLUMNS 8u    /* "999.9 GB" */
#define FORM_COLUMNS 18u
#define CANDIDATES_SHOWN 3u
#define AGAINST_SHOWN 8u

tn_style tn_state_style(tn_state state)
{
    switch (state) {
    case TN_STATE_IDENTIFIED: return TN_STYLE_GOOD;
    case TN_STATE_AMBIGUOUS: return TN_STYLE_WARN;
    case TN_STATE_DAMAGED:
    case TN_STATE_DANGEROUS:
    case TN_STATE_UNREADABLE: return TN_STYLE_BAD;
    case TN_STATE_UNKNOWN:
    case TN_STATE_UNSUPPORTED: break;
    }
    return TN_STYLE_PLAIN;
}

/* ---- what it is ---- */

static void shown(tn_buffer *out, tn_text text)
{
    tn_utf8_append_shown(out, text.bytes, text.size);
}

/* "sdxl main (normal)"; what is empty is left out. */
static void describe_row(tn_buffer *out, tn_text base, tn_text type, tn_text variant)
{
    shown(out, base);
    tn_buffer_text(out, base.size && type.size ? " " : "");
    shown(out, type);
    if (!variant.size)
        return;
    tn_buffer_text(out, " (");
    shown(out, variant);
    tn_buffer_text(out, ")");
}

static void describe_variants(tn_buffer *out, const tn_answer *answer)
{
    const char *before = " (";
    for (size_t i = 0; i < answer->variant_count; i++) {
        tn_buffer_text(out, before);
        shown(out, answer->variants[i]);
        before = " or ";
    }
    tn_buffer_text(out, answer->variant_count ? ")" : "");
}

/* " (kohya, rank 8)", " (lokr, kohya)": the algorithm only where the type does not say it already. */
static void describe_adapter(tn_buffer *out, const tn_answer *answer)
{
    const tn_adapter *adapter = &answer->adapter;
    const char *between = " (";
    if (!tn_cli_text_is(adapter->algorithm, "lora") || !tn_cli_text_is(answer->type, "lora")) {
        tn_buffer_text(out, between);
        shown(out, adapter->algorithm);
        between = ", ";
    }
    if (adapter->dialect.size) {
        tn_buffer_text(out, between);
        shown(out, adapter->dialect);
        between = ", ";
    }
    if (adapter->rank_max) {
        tn_buffer_format(out, "%srank %lu", between, (unsigned long)adapter->rank_min);
        if (adapter->rank_max != adapter->rank_min)
            tn_buffer_format(out, "-%lu", (unsigned long)adapter->rank_max);
        between = ", ";
    }
    tn_buffer_text(out, strcmp(between, ", ") == 0 ? ")" : "");
}

static void describe_candidates(tn_buffer *out, const tn_answer *answer)
{
    if (answer->candidate_count > CANDIDATES_SHOWN) {
        tn_buffer_format(out, "one of %zu: see --why", answer->candidate_count);
        return;
    }
    for (size_t i = 0; i < answer->candidate_count; i++) {
        const tn_candidate *candidate = &answer->candidates[i];
        tn_buffer_text(out, i ? " or " : "");
        describe_row(out, candidate->base, candidate->type, candidate->variant);
    }
}

void tn_answer_describe(tn_buffer *out, const tn_answer *answer)
{
    if (answer->state == TN_STATE_AMBIGUOUS && answer->candidate_count) {
        describe_candidates(out, answer);
        return;
    }
    if (!answer->type.size && !answer->base.size) {
        tn_buffer_text(out, "-");
        return;
    }
    describe_row(out, answer->base, answer->type, answer->variant);
    if (!answer->variant.size)
        describe_variants(out, answer);
    if (answer->adapter.algorithm.size)
        describe_adapter(out, answer);
    if (answer->scale > 1)
        tn_buffer_format(out, " x%lu", (unsigned long)answer->scale);
}

/* "safetensors F16", "gguf Q4_K_M", "safetensors F16+" when another type stands beside it. */
static void describe_form(tn_buffer *out, const tn_answer *answer)
{
    tn_buffer_text(out, tn_container_word(answer->container));
    const tn_dtype_count *most = answer->dtypes;
    for (size_t i = 1; i < answer->dtype_count; i++)
        if (answer->dtypes[i].tensors > most->tensors)
            most = &answer->dtypes[i];
    if (answer->quantization.size) {
        bool named = answer->quantization.size > 5 && memcmp(answer->quantization.bytes, "gguf:", 5) == 0;
        size_t skip = named ? 5 : 0;
        tn_buffer_text(out, " ");
        shown(out, (tn_text){answer->quantization.bytes + skip, answer->quantization.size - skip});
    } else if (answer->dtype_count)
        tn_buffer_format(out, " %s%s", tn_dtype_name(most->dtype), answer->dtype_count > 1 ? "+" : "");
}

/* ---- the line ---- */

static void pad_from(tn_buffer *out, size_t start, size_t columns)
{
    if (out->failed != TN_OK || out->size < start)
        return;
    size_t wide = tn_utf8_columns(out->bytes + start, out->size - start);
    tn_buffer_format(out, "%*s", (int)(wide < columns ? columns - wide : 0) + 2, "");
}

static void append_size_right(tn_buffer *out, uint64_t bytes)
{
    enum { ROOM = 64 };
    tn_buffer size;
    tn_buffer_init(&size, out->memory, ROOM);
    tn_size_append(&size, bytes);
    tn_buffer_format(out, "%*s  ", (int)SIZE_COLUMNS, size.bytes ? size.bytes : "");
    tn_buffer_free(&size);
}

static void append_finding(tn_buffer *out, const tn_finding *finding)
{
    shown(out, finding->message);
    if (finding->tensor.size) {
        tn_buffer_text(out, " [");
        shown(out, finding->tensor);
        tn_buffer_text(out, "]");
    }
}

/* "  for      main/sdxl   its cross attention reads 2048 values" */
static void why_line(tn_cli *cli, tn_style style, const char *label, tn_text name, const char *bytes, size_t size)
{
    tn_buffer *out = &cli->out.text;
    tn_buffer_text(out, "  ");
    tn_output_style(&cli->out, style);
    tn_buffer_format(out, "%-9s", label);
    tn_output_style(&cli->out, TN_STYLE_PLAIN);
    size_t start = out->size;
    shown(out, name);
    if (name.size && size)
        pad_from(out, start, 24);
    tn_utf8_append_shown(out, bytes, size);
    tn_output_line(&cli->out);
}

static void why_findings(tn_cli *cli, const tn_answer *answer)
{
    for (size_t i = 0; i < answer->warning_count; i++)
        why_line(cli, TN_STYLE_WARN, "warning", tn_text_of(tn_status_word(answer->warnings[i].status)),
                 answer->warnings[i].message.bytes, answer->warnings[i].message.size);
}

static void evidence_line(tn_cli *cli, const tn_evidence *evidence)
{
    bool against = evidence->weight < 0;
    why_line(cli, against ? TN_STYLE_DIM : TN_STYLE_GOOD, against ? "against" : "for", evidence->rule,
             evidence->says.bytes, evidence->says.size);
}

/* Whether a rule is about the type that was found: those are the ones a person may have taken it for. */
static bool is_near(const tn_answer *answer, const tn_evidence *evidence)
{
    size_t size = answer->type.size;
    return size && evidence->rule.size > size && memcmp(evidence->rule.bytes, answer->type.bytes, size) == 0 &&
           evidence->rule.bytes[size] == '/';
}

static bool is_shown(const tn_answer *answer, const tn_evidence *evidence)
{
    return evidence->weight < 0 && (answer->type.size == 0 || is_near(answer, evidence));
}

/* What spoke against others a person may have taken it for; the rest is counted, and in the JSON. */
static void against_lines(tn_cli *cli, const tn_answer *answer)
{
    size_t lines = 0, rest = 0;
    for (size_t i = 0; i < answer->evidence_count; i++) {
        const tn_evidence *evidence = &answer->evidence[i];
        if (is_shown(answer, evidence) && lines++ < AGAINST_SHOWN)
            evidence_line(cli, evidence);
        else
            rest += evidence->weight < 0;
    }
    if (rest == 0)
        return;
    char text[64];
    int size = snprintf(text, sizeof text, "%zu %s: --json lists %s", rest, rest == 1 ? "other" : "others",
                        rest == 1 ? "it" : "them");
    why_line(cli, TN_STYLE_DIM, "against", tn_text_of(""), text, (size_t)size);
}

static void why_lines(tn_cli *cli, const tn_answer *answer)
{
    for (size_t i = 0; i < answer->evidence_count; i++)
        if (answer->evidence[i].weight >= 0)
            evidence_line(cli, &answer->evidence[i]);
    against_lines(cli, answer);
    for (size_t i = 0; i < answer->candidate_count; i++) {
        const tn_candidate *candidate = &answer->candidates[i];
        tn_buffer row;
        tn_buffer_init(&row, &cli->memory, 4096);
        describe_row(&row, candidate->base, candidate->type, candidate->variant);
        why_line(cli, TN_STYLE_WARN, "could be", (tn_text){row.bytes ? row.bytes : "", row.size}, "", 0);
        tn_buffer_free(&row);
    }
    if (answer->why.size)
        why_line(cli, TN_STYLE_WARN, "because", tn_text_of(""), answer->why.bytes, answer->why.size);
    why_findings(cli, answer);
}

void tn_answer_line(tn_cli *cli, const tn_answer *answer, bool why)
{
    tn_buffer *out = &cli->out.text;
    tn_output_style(&cli->out, tn_state_style(answer->state));
    tn_buffer_format(out, "%-*s  ", (int)STATE_COLUMNS, tn_state_word(answer->state));
    tn_output_style(&cli->out, TN_STYLE_PLAIN);
    size_t start = out->size;
    tn_answer_describe(out, answer);
    pad_from(out, start, WHAT_COLUMNS);
    append_size_right(out, answer->size_bytes);
    start = out->size;
    describe_form(out, answer);
    pad_from(out, start, FORM_COLUMNS);
    shown(out, answer->path);
    if (answer->has_error) {
        tn_buffer_text(out, "  ");
        tn_output_style(&cli->out, TN_STYLE_BAD);
        append_finding(out, &answer->error);
        tn_output_style(&cli->out, TN_STYLE_PLAIN);
    }
    tn_output_line(&cli->out);
    if (why)
        why_lines(cli, answer);
}

tn_status tn_answer_json_line(tn_cli *cli, const tn_answer *answer, const char *extra, tn_error *err)
{
    char *json;
    size_t size;
    TN_TRY(tn_answer_json(cli->context, answer, &json, &size, err));
    tn_buffer *out = &cli->out.text;
    tn_buffer_format(out, "{\"v\":1,%s%s", extra, *extra ? "," : "");
    tn_buffer_append(out, json + 1, size - 1); /* an answer has members always: its path is one */
    tn_answer_json_destroy(cli->context, json, size);
    tn_output_line(&cli->out);
    return TN_OK;
}

void tn_answer_refused(tn_cli *cli, const char *path, const tn_error *err)
{
    tn_cli_raise(cli, tn_status_exit_code(err->status));
    tn_finding finding = tn_finding_of(err);
    if (cli->settings.json) {
        tn_json_writer w;
        tn_json_line(&w, &cli->out);
        tn_json_path(&w, path, strlen(path));
        tn_json_key(&w, "state");
        tn_json_cstring(&w, *tn_status_state(err->status) ? tn_status_state(err->status) : "unreadable");
        tn_json_key(&w, "error");
        tn_json_finding(&w, &finding, false);
        tn_json_line_end(&w, &cli->out);
        return;
    }
    tn_buffer *out = &cli->out.text;
    const char *state = tn_status_state(err->status);
    tn_output_style(&cli->out, TN_STYLE_BAD);
    tn_buffer_format(out, "%-*s  ", (int)STATE_COLUMNS, *state ? state : "unreadable");
    tn_output_style(&cli->out, TN_STYLE_PLAIN);
    shown(out, tn_text_of(path));
    tn_buffer_text(out, "  ");
    append_finding(out, &finding);
    tn_output_line(&cli->out);
}
