/* Where the program starts on POSIX: arguments are bytes already. */
#include <signal.h>

#include "cli/cli.h"
#include "os/os.h"

int main(int argc, char **argv)
{
    tn_os_begin_program();
    signal(SIGPIPE, SIG_IGN); /* a reader that goes away is an answer to a write, not the end of an import */
    return tn_cli_main(argc, argv);
}
