/* Where the program starts on Windows: arguments are UTF-16 with possibly lone surrogates (names of files may hold
 * them) and become WTF-8; output is bytes, not text with other line ends. */
#include <fcntl.h>
#include <io.h>
#include <stdlib.h>
#include <wchar.h>

#include "cli/cli.h"
#include "os/os.h"

int wmain(int argc, wchar_t **argv);

static bool is_high(unsigned unit)
{
    return unit >= 0xd800 && unit < 0xdc00;
}

static bool is_low(unsigned unit)
{
    return unit >= 0xdc00 && unit < 0xe000;
}

/* One code point, or a lone surrogate in the generalised form, as 1 to 4 bytes. */
static size_t encode(unsigned point, char *out)
{
    static const unsigned char leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t size = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (size_t i = size; i-- > 1; point >>= 6)
        out[i] = (char)(0x80 | (point & 0x3f));
    out[0] = (char)(leads[size] | point);
    return size;
}

/* A new text; NULL without memory. Its size is bounded by the system's limit for a command line. */
static char *wtf8_copy(const wchar_t *text)
{
    char *out = malloc(3 * wcslen(text) + 1), *at = out;
    for (; out && *text; text++) {
        unsigned point = *text;
        if (is_high(point) && is_low(text[1]))
            point = 0x10000 + ((point - 0xd800) << 10) + (*++text - 0xdc00u);
        at += encode(point, at);
    }
    if (out)
        *at = '\0';
    return out;
}

static void free_all(int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        free(argv[i]);
    free(argv);
}

int wmain(int argc, wchar_t **argv)
{
    tn_os_begin_program();
    /* Two arrays: parsing moves arguments about, the first keeps what is to be freed. */
    char **owned = calloc((size_t)argc + 1, sizeof *owned), **given = calloc((size_t)argc + 1, sizeof *given);
    bool whole = owned && given;
    for (int i = 0; i < argc && whole; i++)
        whole = (given[i] = owned[i] = wtf8_copy(argv[i])) != NULL;
    _setmode(_fileno(stdout), _O_BINARY);
    int code = whole ? tn_cli_main(argc, given) : tn_status_exit_code(TN_NO_MEMORY);
    free(given);
    if (owned)
        free_all(argc, owned);
    return code;
}
