/* Progress on stderr (cli/cli.h): redrawn at most ten times a second, so that showing it costs nothing. */
#include <string.h>

#include "cli/cli.h"
#include "core/utf8.h"
#include "os/os.h"

#define REDRAW_NS ((uint64_t)100000000)
#define LINE_NS ((uint64_t)1000000000) /* where lines pile up instead of being rewritten */

void tn_progress_init(tn_progress *progress, tn_memory_source *memory, FILE *file, bool on, bool in_place,
                      unsigned columns)
{
    *progress = (tn_progress){.file = file, .on = on, .in_place = in_place, .columns = columns};
    progress->started_ns = tn_os_monotonic_ns();
    tn_buffer_init(&progress->line, memory, (size_t)1 << 20);
}

static void append_name(tn_buffer *line, const char *path)
{
    if (!path)
        return;
    tn_text name = tn_base_name(tn_text_of(path));
    tn_buffer_text(line, "  ");
    tn_utf8_append_shown(line, name.bytes, name.size);
}

/* "1,240 of 4,512  653/s  flux/some_file.safetensors" */
static void compose(tn_progress *progress, bool walking, const char *path, uint64_t now_ns)
{
    tn_buffer *line = &progress->line;
    tn_buffer_clear(line);
    tn_count_append(line, progress->done);
    tn_buffer_text(line, " of ");
    tn_count_append(line, progress->found);
    tn_buffer_text(line, walking ? " found so far" : "");
    uint64_t ns = now_ns - progress->started_ns;
    if (ns > REDRAW_NS && progress->done)
        tn_buffer_format(line, "  %.0f/s", (double)progress->done * 1e9 / (double)ns);
    append_name(line, path);
}

static void draw(tn_progress *progress)
{
    tn_buffer fitted;
    tn_buffer_init(&fitted, progress->line.memory, (size_t)1 << 20);
    tn_buffer_text(&fitted, progress->in_place ? "\r\x1b[K" : "");
    size_t columns = progress->columns > 1 ? progress->columns - 1 : 79;
    tn_fit_append(&fitted, progress->line.bytes, progress->line.size, columns, false);
    tn_buffer_text(&fitted, progress->in_place ? "" : "\n");
    if (fitted.failed == TN_OK)
        fwrite(fitted.bytes, 1, fitted.size, progress->file);
    tn_buffer_free(&fitted);
}

/* Is it time to draw again? */
static bool is_due(tn_progress *progress, uint64_t now_ns)
{
    if (progress->drawn_ns && now_ns - progress->drawn_ns < (progress->in_place ? REDRAW_NS : LINE_NS))
        return false;
    progress->drawn_ns = now_ns;
    return true;
}

static void draw_composed(tn_progress *progress)
{
    if (progress->line.failed != TN_OK)
        return;
    draw(progress);
    progress->drawn = true;
}

void tn_progress_tell(tn_progress *progress, uint64_t found, uint64_t done, bool walking, const char *path)
{
    progress->found = found;
    progress->done = done;
    if (!progress->on)
        return;
    uint64_t now_ns = tn_os_monotonic_ns();
    if (!is_due(progress, now_ns))
        return;
    compose(progress, walking, path, now_ns);
    draw_composed(progress);
}

static void compose_bytes(tn_progress *progress, const tn_import_progress *now, uint64_t now_ns)
{
    tn_buffer *line = &progress->line;
    uint64_t ns = now_ns - progress->bytes_began_ns, done = now->bytes_done - progress->bytes_before;
    tn_buffer_clear(line);
    tn_size_append(line, now->bytes_done);
    tn_buffer_text(line, " of ");
    tn_size_append(line, now->bytes);
    if (ns > REDRAW_NS && done) {
        tn_buffer_text(line, "  ");
        tn_size_append(line, (uint64_t)((double)done * 1e9 / (double)ns));
        tn_buffer_text(line, "/s");
    }
    append_name(line, now->path);
}

void tn_progress_tell_bytes(tn_progress *progress, const tn_import_progress *now)
{
    uint64_t now_ns = tn_os_monotonic_ns();
    progress->found = now->found;
    progress->done = now->done;
    if (!progress->bytes_began_ns || now->bytes_done < progress->bytes_before) {
        progress->bytes_began_ns = now_ns;
        progress->bytes_before = now->bytes_done;
    }
    if (!progress->on || !is_due(progress, now_ns))
        return;
    compose_bytes(progress, now, now_ns);
    draw_composed(progress);
}

void tn_progress_clear(tn_progress *progress)
{
    if (progress->drawn && progress->in_place)
        fputs("\r\x1b[K", progress->file);
    progress->drawn = false;
}

void tn_progress_free(tn_progress *progress)
{
    tn_progress_clear(progress);
    tn_buffer_free(&progress->line);
}
