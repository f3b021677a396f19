/* stdout: buffered by us, so that every write is seen to succeed (cli/cli.h).
 *
 *   O1  After the first failed write nothing more is written.
 *   O2  A reader that went away (`| head`) is told from a disk that is full: the first is no fault.
 */
#include <errno.h>
#include <string.h>

#include "cli/cli.h"
#include "core/encode.h"
#include "core/utf8.h"
#include "os/os.h"

#define FULL ((size_t)32 << 10)
#define LONG_AGO_NS ((uint64_t)100000000)

void tn_output_init(tn_output *out, tn_memory_source *memory, FILE *file)
{
    *out = (tn_output){.file = file};
    tn_buffer_init(&out->text, memory, TN_CLI_LINE_MAX);
    if (file)
        setvbuf(file, NULL, _IONBF, 0);
}

static const char *style_code(tn_style style)
{
    switch (style) {
    case TN_STYLE_GOOD: return "\x1b[32m";
    case TN_STYLE_WARN: return "\x1b[33m";
    case TN_STYLE_BAD: return "\x1b[31m";
    case TN_STYLE_DIM: return "\x1b[2m";
    case TN_STYLE_STRONG: return "\x1b[1m";
    case TN_STYLE_PLAIN: break;
    }
    return "\x1b[0m";
}

void tn_output_style(tn_output *out, tn_style style)
{
    if (out->color)
        tn_buffer_text(&out->text, style_code(style));
}

void tn_output_styled(tn_output *out, tn_style style, const char *text)
{
    tn_output_style(out, style);
    tn_buffer_text(&out->text, text);
    tn_output_style(out, TN_STYLE_PLAIN);
}

bool tn_output_wanted(const tn_output *out)
{
    return !out->closed && !out->failed;
}

static void write_all(tn_output *out, const char *bytes, size_t size)
{
    while (size) {
        errno = 0;
        size_t written = fwrite(bytes, 1, size, out->file);
        bytes += written;
        size -= written;
        if (!size)
            return;
        if (errno == EINTR) {
            clearerr(out->file);
            continue;
        }
        out->closed = errno == EPIPE;
        out->failed = out->closed ? 0 : errno ? errno : EIO;
        return;
    }
}

void tn_output_flush(tn_output *out)
{
    if (!out->file)
        return;
    if (out->text.failed != TN_OK && !out->failed)
        out->failed = ENOMEM;
    if (out->text.size && out->before)
        out->before(out->before_user);
    if (tn_output_wanted(out))
        write_all(out, out->text.bytes, out->text.size);
    tn_buffer_clear(&out->text);
    out->drained_ns = tn_os_monotonic_ns();
}

void tn_output_drain(tn_output *out)
{
    if (out->text.size >= FULL)
        tn_output_flush(out);
}

void tn_output_line(tn_output *out)
{
    tn_buffer_text(&out->text, "\n");
    if (out->columns || out->text.size >= FULL || tn_os_monotonic_ns() - out->drained_ns > LONG_AGO_NS)
        tn_output_flush(out);
}

void tn_output_free(tn_output *out)
{
    tn_buffer_free(&out->text);
}

/* ---- JSON lines ---- */

void tn_json_line(tn_json_writer *w, tn_output *out)
{
    tn_json_writer_init(w, &out->text);
    tn_json_object(w);
    tn_json_key(w, "v");
    tn_json_uint(w, 1);
}

void tn_json_line_end(tn_json_writer *w, tn_output *out)
{
    tn_json_object_end(w);
    tn_output_line(out);
}

void tn_json_text_field(tn_json_writer *w, const char *key, tn_text text)
{
    tn_json_key(w, key);
    if (text.size)
        tn_json_string(w, text.bytes, text.size);
    else
        tn_json_null(w);
}

void tn_json_path(tn_json_writer *w, const char *path, size_t size)
{
    tn_json_key(w, "path");
    tn_json_string(w, path, size);
    if (tn_utf8_valid_prefix(path, size) == size)
        return;
    tn_buffer encoded;
    tn_buffer_init(&encoded, w->out->memory, TN_CLI_LINE_MAX);
    tn_base64_append(&encoded, path, size);
    tn_json_key(w, "path_b64");
    tn_json_string(w, encoded.bytes ? encoded.bytes : "", encoded.size);
    tn_buffer_free(&encoded);
}

void tn_json_amount(tn_json_writer *w, const char *key, uint64_t value)
{
    tn_json_key(w, key);
    if (value == TN_NONE)
        tn_json_null(w);
    else
        tn_json_uint(w, value);
}

static const char *severity_word(tn_severity severity)
{
    return severity == TN_ERROR ? "error" : severity == TN_WARNING ? "warning" : "note";
}

void tn_json_finding(tn_json_writer *w, const tn_finding *finding, bool with_severity)
{
    tn_json_object(w);
    if (with_severity) {
        tn_json_key(w, "severity");
        tn_json_cstring(w, severity_word(finding->severity));
    }
    tn_json_key(w, "status");
    tn_json_cstring(w, tn_status_word(finding->status));
    tn_json_key(w, "message");
    tn_json_string(w, finding->message.bytes, finding->message.size);
    tn_json_text_field(w, "file", finding->file);
    tn_json_text_field(w, "tensor", finding->tensor);
    tn_json_amount(w, "offset", finding->offset);
    tn_json_amount(w, "expected", finding->expected);
    tn_json_amount(w, "found", finding->found);
    tn_json_object_end(w);
}

tn_finding tn_finding_of(const tn_error *err)
{
    return (tn_finding){.severity = TN_ERROR,
                        .status = err->status,
                        .message = tn_text_of(err->message),
                        .file = tn_text_of(err->file),
                        .tensor = tn_text_of(err->tensor),
                        .offset = err->offset,
                        .expected = err->expected,
                        .found = err->found};
}
